/* SPDX-License-Identifier: Apache-2.0 */
/* sim-world's control socket as simctl uses it. Thread: the test's; sim-world and simctl are children. */
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "server.h"
#include "tests/unit/world/client.h"

static struct server server;
static char path[TEST_PATH_MAX], said[65536];

/* Runs simctl world ...; its output of both kinds is in `said`; returns its exit code. */
static int simctl(const char *arguments)
{
	char line[512];
	size_t n;
	FILE *f;

	snprintf(line, sizeof(line), SIMCTL " world %s 2>&1", arguments);
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

static int begin(void **state)
{
	(void)state;
	test_path(path, "world");
	return setenv("SIM_WORLD_SOCKET", path, 1);
}

static void come(struct client *c, const char *name, Sim__World__Role role, uint8_t identity)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(server.port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	client_connect_fd(c, fd, &(struct client_options){ .name = name, .role = role, .identity = identity });
	assert_true(c->welcome);
}

/* With steps so long that no client is late, however long simctl takes. */
static void start(void)
{
	server_start(&server, 0, (const char *const[]){ "--pace", "0", "--step", "60s", NULL });
}

TEST_WITH(simctl_shows_a_world_and_its_clients, begin, NULL)
{
	static struct client a, b;

	start();
	come(&a, "town", SIM__WORLD__ROLE__REGULATING, 1);
	come(&b, "screen", SIM__WORLD__ROLE__OBSERVER, 2);
	assert_true(client_await(&a, 5));
	client_object(&a, 0, 1, 2, 1);
	client_done(&a, 1);
	assert_true(client_await(&a, 5));
	assert_int_equal(simctl("status"), 0);
	has("tick 2 at ");
	has("as fast as it goes");
	has("clients 2, regulating 1, connections 2; objects 1\n");
	assert_int_equal(simctl("status --json"), 0);
	has("\"clients\":2");
	assert_int_equal(simctl("clients"), 0);
	has("CONN  NAME ");
	has("1  town    regulating  in_time ");
	has("2  screen  observer    in_time ");
	assert_int_equal(simctl("clients --json"), 0);
	has("{\"clients\":[{\"connection\":1,\"name\":\"town\",\"role\":\"regulating\"");
	assert_int_equal(simctl("metrics"), 0);
	has("\nsimworld_clients 2\n");
	has("\nsimworld_client_objects{connection=\"1\",name=\"town\"} 1\n");
	client_lose(&a, 1);
	client_lose(&b, 1);
	assert_int_equal(server_stop(&server), 0);
}

TEST_WITH(top_continues_until_its_reader_closes, begin, NULL)
{
	char line[4096];
	FILE *f;

	start();
	f = popen(SIMCTL " world top --json", "r");
	assert_non_null(f);
	for (int i = 0; i < 2; i++) {
		assert_non_null(fgets(line, sizeof(line), f));
		assert_non_null(strstr(line, "{\"world\":{"));
		assert_non_null(strstr(line, "\"clients\":[]"));
	}
	(void)pclose(f);
	assert_int_equal(server_stop(&server), 0);
}

TEST_WITH(simctl_kicks_a_client, begin, NULL)
{
	static struct client a, b;

	start();
	come(&a, "a", SIM__WORLD__ROLE__REGULATING, 1);
	come(&b, "b", SIM__WORLD__ROLE__REGULATING, 2);
	assert_int_equal(simctl("kick 2 --reason 'it is old'"), 0);
	assert_string_equal(said, "b is being disconnected\n");
	while (client_await(&b, 1) && !b.bye)
		;
	assert_int_equal(b.reason, SIM__WORLD__BYE__REASON__KICKED);
	assert_string_equal(b.sentence, "the operator has ended its session: it is old");
	assert_false(client_await(&b, 1)); /* and it is closed */
	server_says(&server, "client 2 b: disconnected: the operator has ended its session: it is old");
	assert_int_equal(simctl("kick 2"), 1);
	has("no client with connection 2 takes part");
	assert_int_equal(simctl("kick 0"), 2);
	assert_true(client_await(&a, 5));
	client_done(&a, 1);
	assert_true(client_await(&a, 5)); /* the other one goes on */
	client_lose(&a, 1);
	client_lose(&b, 1);
	assert_int_equal(server_stop(&server), 0);
}

TEST_WITH(the_control_socket_is_private_and_ends_with_the_server, begin, NULL)
{
	static struct server other;
	struct stat st;

	assert_int_equal(simctl("status"), 1);
	has("no world answers there");
	start();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	server_start(&other, 0, NULL); /* where it is taken a world goes on without */
	assert_non_null(strstr(other.text, "no control socket"));
	assert_int_equal(server_stop(&other), 0);
	assert_int_equal(simctl("status"), 0);
	assert_int_equal(server_stop(&server), 0);
	assert_int_equal(stat(path, &st), -1);
}

TEST_WITH(a_control_socket_that_cannot_be_created_ends_the_server, begin, NULL)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (freopen("/dev/null", "w", stderr))
			execl(SIM_WORLD, "sim-world", "--listen", "127.0.0.1:0", "--control", "/nowhere/world",
			      (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}
