/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who can reach the bridge: a stranger in a network of his own, at the other end of two cables, sends to each address of
 * ours. And what he sends does not fill the log. Runs in a network namespace of its own.
 */
#include "test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "support/wait.h"
#include "host.h"

#define CABLES 2 /* here 10.77.N.1, there 10.77.N.2 */
#define BURST  500

/* What the stranger is told to do; he answers with an errno. */
struct order {
	int cable;
	uint16_t port;
	unsigned n;
};

static struct {
	int socket; /* SEQPACKET */
	pid_t pid;
} stranger;

__attribute__((format(printf, 1, 2))) static void run(const char *fmt, ...)
{
	char command[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command) != 0)
		fail_msg("%s failed", command);
}

/* ---- the stranger ---- */

/* A header of RTPS and a DATA submessage that ends too soon: Cyclone writes a line about it. */
static const uint8_t malformed[] = { 'R', 'T', 'P', 'S', 2,  1,    1,    16, 1, 2, 3, 4, 5, 6, 7, 8,
				     9,   10,  11,  12,  21, 0x05, 0xff, 0,  0, 0, 0, 0, 0, 0, 0, 0 };

/* Sends; then whether somebody said that nobody is there. */
static int send_to(const struct order *o)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(o->port) };
	struct pollfd p = { .events = POLLERR };
	char text[32];
	int err = 0;
	socklen_t len = sizeof(err);

	snprintf(text, sizeof(text), "10.77.%d.1", o->cable);
	inet_pton(AF_INET, text, &to.sin_addr);
	p.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p.fd < 0 || connect(p.fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return errno;
	for (unsigned i = 0; i < o->n; i++)
		if (send(p.fd, malformed, sizeof(malformed), 0) < 0)
			break;
	while (o->n == 1 && poll(&p, 1, 1000) == 0)
		(void)send(p.fd, malformed, sizeof(malformed), 0); /* it, or the answer, was lost */
	getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &err, &len);
	close(p.fd);
	return err;
}

static _Noreturn void stranger_main(int fd)
{
	struct order o;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNET) < 0 || write(fd, "", 1) != 1 || read(fd, &o, sizeof(o)) != 1)
		_exit(1);
	for (int i = 0; i < CABLES; i++) {
		run("ip address add 10.77.%d.2/24 dev far%d", i, i);
		run("ip link set far%d up", i);
	}
	if (write(fd, "", 1) != 1)
		_exit(1);
	while (read(fd, &o, sizeof(o)) == sizeof(o)) {
		int err = send_to(&o);

		if (write(fd, &err, sizeof(err)) != sizeof(err))
			break;
	}
	_exit(0);
}

static int lay_cables(void **state)
{
	int pair[2];
	char c;

	(void)state;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	stranger.pid = fork();
	if (stranger.pid == 0)
		stranger_main(pair[1]);
	close(pair[1]);
	stranger.socket = pair[0];
	if (read(pair[0], &c, 1) != 1)
		return -1;
	for (int i = 0; i < CABLES; i++) {
		run("ip link add near%d type veth peer name far%d", i, i);
		run("ip link set far%d netns %d", i, (int)stranger.pid);
		run("ip address add 10.77.%d.1/24 dev near%d", i, i);
		run("ip link set near%d up", i);
	}
	return write(pair[0], "", 1) == 1 && read(pair[0], &c, 1) == 1 ? 0 : -1;
}

static int cut_cables(void **state)
{
	(void)state;
	for (int i = 0; i < CABLES; i++)
		run("ip link delete near%d", i);
	kill(stranger.pid, SIGKILL);
	waitpid(stranger.pid, NULL, 0);
	close(stranger.socket);
	return 0;
}

static int order(int cable, uint16_t port, unsigned n)
{
	struct order o = { cable, port, n };
	int err;

	assert_int_equal(write(stranger.socket, &o, sizeof(o)), sizeof(o));
	assert_int_equal(read(stranger.socket, &err, sizeof(err)), sizeof(err));
	return err;
}

/* ---- our sockets ---- */

struct receiver {
	uint16_t port;
	char device[16];
};

static bool is_receiver(int fd, struct receiver *ret)
{
	struct sockaddr_in a = { 0 };
	socklen_t len = sizeof(a), dev_len = sizeof(ret->device), type_len = sizeof(int);
	int type = 0;

	memset(ret, 0, sizeof(*ret));
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) < 0 || type != SOCK_DGRAM ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0 || a.sin_family != AF_INET ||
	    a.sin_addr.s_addr != htonl(INADDR_ANY))
		return false;
	ret->port = ntohs(a.sin_port);
	return getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, ret->device, &dev_len) == 0;
}

/* The sockets on which Cyclone receives. */
static unsigned receivers(struct receiver ret[8])
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024 && n < 8; fd++)
		n += is_receiver(fd, &ret[n]);
	return n;
}

/* Packets that the kernel dropped before that port saw them. */
static unsigned dropped(uint16_t port)
{
	unsigned local, drops, sum = 0;
	char line[256];
	FILE *f = fopen("/proc/net/udp", "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %*u: %*x:%x %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %u", &local, &drops) == 2 &&
		    local == port)
			sum += drops;
	fclose(f);
	return sum;
}

static unsigned lines(struct host *h, const char *text)
{
	unsigned n = 0;

	pthread_mutex_lock(&h->log_lock);
	for (const char *at = h->log; (at = strstr(at, text)); at++)
		n++;
	pthread_mutex_unlock(&h->log_lock);
	return n;
}

TEST_WITH(over_loopback_nobody_else_is_heard, lay_cables, cut_cables)
{
	static const char *const options[] = { "localhost", "true", NULL };
	static struct host h;
	struct receiver r[8];
	struct sim_bridge *b;
	unsigned n;

	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	n = receivers(r);
	assert_in_range(n, 2, 4);
	for (unsigned i = 0; i < n; i++) {
		assert_string_equal(r[i].device, "lo");
		for (int cable = 0; cable < CABLES; cable++)
			assert_int_equal(order(cable, r[i].port, 1), ECONNREFUSED);
	}
	h.ops->destroy(b);
}

TEST_WITH(on_a_network_that_one_alone_is_heard, lay_cables, cut_cables)
{
	static const char *const options[] = { "localhost", "false", "interface", "near1", NULL };
	static struct host h;
	struct receiver r[8];
	struct sim_bridge *b;
	uint16_t port;

	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	assert_in_range(receivers(r), 2, 4);
	port = r[0].port == 7400 ? r[1].port : r[0].port;
	AWAIT(order(0, port, BURST) == 0 &&
	      dropped(port) >= BURST); /* some are lost before the cable's ends know each other */
	assert_int_equal(lines(&h, "malformed packet"), 0);
	AWAIT(order(1, port, BURST) == 0 && lines(&h, "malformed packet"));
	h.ops->destroy(b);
}

TEST_WITH(a_flood_is_counted_and_not_written, lay_cables, cut_cables)
{
	static const char *const options[] = { "localhost", "false", "interface", "10.77.0.1", NULL };
	static struct host h;
	struct receiver r[8];
	struct sim_bridge *b;
	unsigned sent = 0;

	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	assert_in_range(receivers(r), 2, 4);
	/* a line of its own tells how many were not written, once there is room again */
	AWAIT((sent += BURST, order(0, r[0].port == 7400 ? r[1].port : r[0].port, BURST)) == 0 &&
	      lines(&h, "were kept back"));
	assert_in_range(lines(&h, "malformed packet"), 1, sent - 1);
	h.ops->destroy(b);
}

static const char *refused_as(const char *const *options)
{
	static struct host h;
	struct sim_bridge *b;

	host_init(&h, PLUGIN, options);
	assert_true(h.ops->create(&h.host, &b) < 0);
	return h.log;
}

TEST(a_bad_interface_is_named)
{
	static const char *const twice[] = { "localhost", "true", "interface", "near0", NULL };
	static const char *const quoted[] = { "localhost", "false", "interface", "\"/><x y=\"", NULL };
	static const char *const missing[] = { "localhost", "false", "interface", "none7", NULL };

	assert_non_null(strstr(refused_as(twice), "set options.localhost to false"));
	assert_non_null(strstr(refused_as(quoted), "not the name or the IPv4 address of a network interface"));
	assert_non_null(strstr(refused_as(missing), "no network interface none7 with an IPv4 address is up"));
}

/* Nothing but a loopback that is down. */
TEST(a_network_without_an_interface_is_named)
{
	static const char *const local[] = { NULL }, *const far[] = { "localhost", "false", NULL };

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_non_null(strstr(refused_as(local), "loopback has no address 127.0.0.1 here: ip link set lo up"));
	assert_non_null(strstr(refused_as(far), "no network interface with an IPv4 address is up"));
}

TEST_PROCESSES()
