/* SPDX-License-Identifier: Apache-2.0 */
/* sim-world --input-log and --replay as processes. Thread: the test's; sim-world is a child. */
#include "support/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "server.h"
#include "tests/unit/world/client.h"

static struct server server;
static char path[TEST_PATH_MAX], said[4096];

/* Exit code; both outputs are in `said`. */
static int world(const char *options)
{
	char line[512];
	size_t n;
	FILE *f;

	snprintf(line, sizeof(line), SIM_WORLD " --listen 127.0.0.1:0 %s %s 2>&1", options, path);
	f = popen(line, "r");
	assert_non_null(f);
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = 0;
	return WEXITSTATUS(pclose(f));
}

static void has(const char *what)
{
	if (!strstr(said, what))
		fail_msg("\"%s\" is not in: %s", what, said);
}

static void come(struct client *c, uint8_t identity)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(server.port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	client_connect_fd(c, fd,
			  &(struct client_options){ .role = SIM__WORLD__ROLE__REGULATING, .identity = identity });
	assert_true(c->welcome);
}

/* Two clients and their objects; one leaves, and its object moves on and goes. */
static void drive(void)
{
	static struct client c[2];

	for (uint8_t i = 0; i < 2; i++)
		come(&c[i], (uint8_t)(i + 1));
	assert_true(client_await(&c[0], 5));
	while (c[1].tick < c[0].tick)
		assert_true(client_await(&c[1], 5));
	for (unsigned t = 0, n = 2; t < 100; t++) {
		if (t == 50)
			client_lose(&c[--n], 1);
		for (unsigned i = 0; i < n; i++) {
			client_object(&c[i], 0, 30.0 * i + t, 0, 1);
			client_done(&c[i], 1);
		}
		for (unsigned i = 0; i < n; i++)
			assert_true(client_await(&c[i], 5));
	}
	client_lose(&c[0], 1);
}

static int flip(off_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t b;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &b, 1, at), 1);
	b ^= 1;
	assert_int_equal(pwrite(fd, &b, 1, at), 1);
	return close(fd);
}

TEST(a_run_is_reproduced_from_its_input_log)
{
	struct stat st;

	test_path(path, "run.log");
	(void)unlink(path);
	server_start(&server, 0,
		     (const char *const[]){ "--pace", "0", "--step", "60s", "--grace", "10ms", "--input-log", path,
					    NULL });
	drive();
	assert_int_equal(server_stop(&server), 0);
	assert_int_equal(world("--replay"), 0);
	has(" all as they were; hash ");
	assert_true(atoi(strstr(said, "ticks ") + strlen("ticks ")) >= 100);
	assert_int_equal(world("--input-log"), 1); /* a file that is there is kept */
	has("give another name");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 3), 0);
	assert_int_equal(world("--replay"), 0);
	has("its end is cut off");
	assert_int_equal(flip(st.st_size / 2), 0);
	assert_int_equal(world("--replay"), 1);
	has("is not as it was written");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(world("--replay"), 1);
	has("No such file");
}
