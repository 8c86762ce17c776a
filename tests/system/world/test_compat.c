/* SPDX-License-Identifier: Apache-2.0 */
/* sim-world --compat tr2016 as a process: clients of TR-2016-06 by TCP, and one of world.md beside them. Thread: the test's; sim-world is a child. */
#include "support/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "server.h"
#include "tests/unit/world/client.h"
#include "tests/unit/world/old_client.h"

static struct server server;
static uint16_t old_port;

static int dial(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* As with the fewest arguments that are needed. */
static void start(void)
{
	static const char said[] = "clients of tr2016 connect to 127.0.0.1:";

	server_start(&server, 0,
		     (const char *const[]){ "--grace", "100ms", "--compat", "tr2016", "--compat-listen", "127.0.0.1:0",
					    NULL });
	server_says(&server, said);
	old_port = (uint16_t)strtoul(strstr(server.text, said) + strlen(said), NULL, 10);
}

struct old {
	int fd;
	struct old_client c;
};

/* False: the connection is over. */
static bool hear(struct old *o)
{
	uint8_t data[4096];
	ssize_t r = recv(o->fd, data, sizeof(data), 0);

	if (r > 0)
		old_take(&o->c, data, (size_t)r);
	return r > 0;
}

static void come(struct old *o)
{
	o->fd = dial(old_port);
	while (!o->c.numbered)
		assert_true(hear(o));
}

/* Sends where it is, a byte and then the rest, and reads until the end of the reply: what the original does. */
static void exchange(struct old *o, double x)
{
	uint8_t data[1 + OLD_SIZE];
	const unsigned before = o->c.replies;

	(void)old_update(&o->c, &(struct old_vehicle){ .x = x, .speed = 1 }, data);
	assert_int_equal(send(o->fd, data, 1, MSG_NOSIGNAL), 1);
	assert_int_equal(send(o->fd, data + 1, OLD_SIZE, MSG_NOSIGNAL), OLD_SIZE);
	while (o->c.replies == before)
		assert_true(hear(o));
}

TEST(clients_of_both_protocols_share_a_world)
{
	static struct old a, b;
	static struct client host;

	start();
	come(&a);
	come(&b);
	client_connect_fd(&host, dial(server.port),
			  &(struct client_options){ .role = SIM__WORLD__ROLE__CONSTRAINED, .identity = 9 });
	assert_true(host.welcome);
	while (a.c.n_seen < 2 || b.c.n_seen < 2 || client_count(&host) < 3) {
		exchange(&a, 10);
		exchange(&b, 20);
		client_object(&host, 0, 30, 0, 1);
		client_done(&host, 1);
		assert_true(client_await(&host, 5));
	}
	assert_true(a.c.number == 0 && b.c.number == 1);
	assert_true(old_find(&a.c, 1)->x >= 20 && old_find(&b.c, 0)->x >= 10 && old_find(&a.c, 127)->x == 30);
	while (!a.c.beats)
		assert_true(hear(&a));
	assert_int_equal(send(a.fd, "\1", 1, MSG_NOSIGNAL), 1);
	while (hear(&a))
		;
	server_says(&server, "tr2016 0: disconnected: it has ended the session");
	close(b.fd);
	server_says(&server, "tr2016 1: disconnected: its connection is lost");
	while (client_count(&host) > 1)
		assert_true(client_await(&host, 5));
	client_lose(&host, 1);
	close(a.fd);
	assert_int_equal(server_stop(&server), 0);
}

/* Acknowledgements that came with the timer for those that nothing else has carried, in this namespace. */
static unsigned long delayed_acks(void)
{
	char names[8192], values[8192];
	char *name, *value, *at_name, *at_value;
	unsigned long n = 0;
	FILE *f = fopen("/proc/net/netstat", "r");

	assert_non_null(f);
	assert_non_null(fgets(names, sizeof(names), f));
	assert_non_null(fgets(values, sizeof(values), f));
	fclose(f);
	name = strtok_r(names, " \n", &at_name);
	value = strtok_r(values, " \n", &at_value);
	for (; name && value; name = strtok_r(NULL, " \n", &at_name), value = strtok_r(NULL, " \n", &at_value))
		if (!strcmp(name, "DelayedACKs"))
			n = strtoul(value, NULL, 10);
	return n;
}

/*
 * The client has no NODELAY, so the rest of a message waits for the acknowledgement of its first byte: the server
 * acknowledges that at once.
 */
TEST(forwarding_a_byte_does_not_wait_for_a_timer)
{
	static struct old a;
	unsigned long before;

	start();
	come(&a);
	for (int i = 0; i < 50; i++) /* at first the system does so by itself */
		exchange(&a, i);
	before = delayed_acks();
	for (int i = 0; i < 100; i++)
		exchange(&a, i);
	assert_in_range(delayed_acks() - before, 0, 50); /* else there is one for each */
	close(a.fd);
	assert_int_equal(server_stop(&server), 0);
}

/* The world ticks as often as such clients want to hear of each other, unless the operator says otherwise. */
TEST(the_default_step_with_compat_clients_is_fine)
{
	static const struct {
		const char *const options[7];
		int64_t step_dur_ns;
	} cases[] = {
		{ { "--compat", "tr2016", "--compat-listen", "127.0.0.1:0", NULL }, 500000 },
		{ { "--compat", "tr2016", "--compat-listen", "127.0.0.1:0", "--step", "20ms", NULL }, 20000000 },
		{ { NULL }, 10000000 },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct client host;

		server_start(&server, 0, cases[i].options);
		client_connect_fd(&host, dial(server.port),
				  &(struct client_options){ .role = SIM__WORLD__ROLE__OBSERVER, .identity = 9 });
		assert_true(client_await(&host, 5));
		assert_int_equal(host.step_dur_ns, cases[i].step_dur_ns);
		client_lose(&host, 1);
		assert_int_equal(server_stop(&server), 0);
	}
}

TEST(a_client_that_sends_another_protocol_is_the_only_one_closed)
{
	static struct old a, b;

	start();
	come(&a);
	come(&b);
	assert_int_equal(send(b.fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
	server_says(&server, "disconnected: unknown code 71: clients of tr2016 do not send it");
	while (hear(&b))
		;
	assert_true(b.c.disconnected);
	exchange(&a, 1);
	close(a.fd);
	close(b.fd);
	assert_int_equal(server_stop(&server), 0);
}

TEST(clients_that_reconnect_all_the_time_do_not_fill_the_log)
{
	pid_t pid;

	start();
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			close(dial(old_port));
	}
	server_says(&server, ": connected (");
	server_says(&server, ": disconnected: its connection is lost (");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(server_stop(&server), 0);
}

TEST(connected_clients_are_notified_when_the_server_stops)
{
	static struct old a;

	start();
	come(&a);
	assert_int_equal(kill(server.pid, SIGTERM), 0);
	while (hear(&a))
		;
	assert_true(a.c.disconnected);
	close(a.fd);
	assert_int_equal(waitpid(server.pid, NULL, 0), server.pid);
	close(server.log);
}

/* Its exit code, and its output. */
static int refused(const char *option, const char *value, char said[1024])
{
	int status, out[2];
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (!pid) {
		dup2(out[1], 2);
		close(out[1]);
		execl(SIM_WORLD, "sim-world", "--listen", "127.0.0.1:0", "--compat",
		      strcmp(option, "--compat") ? "tr2016" : value, strcmp(option, "--compat") ? option : NULL, value,
		      (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	while ((r = read(out[0], said + n, 1023 - n)) > 0)
		n += (size_t)r;
	said[n] = 0;
	close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(invalid_options_are_reported)
{
	char said[1024], path[] = "/tmp/fields-XXXXXX";
	int fd = mkstemp(path);

	assert_int_equal(write(fd, "speed 4\nsped 3\n", 15), 15);
	close(fd);
	assert_int_equal(refused("--compat", "tr2020", said), 2);
	assert_non_null(strstr(said, "--compat can only be tr2016"));
	assert_int_equal(refused("--compat-listen", "0.0.0.0:0", said), 1);
	assert_non_null(strstr(said, "give an address of 127.0.0.0/8"));
	assert_int_equal(refused("--compat-fields", path, said), 1);
	assert_non_null(strstr(said, ":2: sped: no such field"));
	unlink(path);
}
