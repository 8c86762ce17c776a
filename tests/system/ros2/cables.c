/* SPDX-License-Identifier: Apache-2.0 */
/* See cables.h. */
#include "cables.h"

#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define GROUP "239.255.0.1" /* of DDS' discovery */

/* Orders to the stranger, which answers with a number. */
struct order {
	enum { SEND, COUNT } what;
	int cable;
	bool multicast;
	uint16_t port;
	unsigned n;
	uint8_t prefix[CABLES_PREFIX];
};

static struct {
	int socket; /* SEQPACKET */
	pid_t pid;
} stranger;

void cables_run(const char *fmt, ...)
{
	char command[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command) != 0)
		fail_msg("%s failed", command);
}

/* ---- the stranger sends ---- */

/* A header of RTPS and a DATA submessage that ends too soon: Cyclone writes a line about it. */
static const uint8_t malformed[] = { 'R', 'T', 'P', 'S', 2,  1,    1,    16, 1, 2, 3, 4, 5, 6, 7, 8,
				     9,   10,  11,  12,  21, 0x05, 0xff, 0,  0, 0, 0, 0, 0, 0, 0, 0 };

static int open_to(const struct order *o)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(o->port) };
	struct in_addr own;
	char text[32];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(text, sizeof(text), "10.77.%d.2", o->cable);
	inet_pton(AF_INET, text, &own);
	snprintf(text, sizeof(text), "10.77.%d.1", o->cable);
	inet_pton(AF_INET, o->multicast ? GROUP : text, &to.sin_addr);
	if (fd >= 0 && setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &own, sizeof(own)) == 0 &&
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Sends; then whether somebody said that nobody is there: an errno. */
static int send_to(const struct order *o)
{
	struct pollfd p = { .fd = open_to(o), .events = POLLERR };
	int err = 0;
	socklen_t len = sizeof(err);

	if (p.fd < 0)
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

/* ---- the stranger listens ---- */

static int listen_on(int cable)
{
	struct sockaddr_ll a = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), room = 32 << 20;
	char name[IF_NAMESIZE];

	snprintf(name, sizeof(name), "far%d", cable);
	a.sll_ifindex = (int)if_nametoindex(name);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0 ||
	    bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		_exit(1);
	return fd;
}

/* Whether an IPv4 packet is RTPS of the participant with that prefix; all zero: of any. */
static bool is_of(const uint8_t *p, size_t n, const uint8_t prefix[CABLES_PREFIX])
{
	static const uint8_t any[CABLES_PREFIX];
	size_t at = n >= sizeof(struct iphdr) ? (size_t)(p[0] & 15) * 4 : n;

	if (at + sizeof(struct udphdr) + 8 + CABLES_PREFIX > n || p[9] != IPPROTO_UDP)
		return false;
	p += at + sizeof(struct udphdr);
	return memcmp(p, "RTPS", 4) == 0 &&
	       (memcmp(prefix, any, CABLES_PREFIX) == 0 || memcmp(p + 8, prefix, CABLES_PREFIX) == 0);
}

/* Of what has come in on the cable since it was asked for last; -1: some of it was lost. */
static int count_in(int fd, const struct order *o)
{
	struct tpacket_stats lost = { 0 };
	socklen_t len = sizeof(lost);
	struct sockaddr_ll from;
	socklen_t from_len = sizeof(from);
	uint8_t packet[2048];
	ssize_t r;
	int n = 0;

	while ((r = recvfrom(fd, packet, sizeof(packet), 0, (struct sockaddr *)&from, &from_len)) >= 0) {
		n += from.sll_pkttype != PACKET_OUTGOING && from.sll_protocol == htons(ETH_P_IP) &&
		     is_of(packet, (size_t)r, o->prefix);
		from_len = sizeof(from);
	}
	if (errno != EAGAIN || getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &lost, &len) < 0 || lost.tp_drops)
		return -1;
	return n;
}

/* ---- the stranger's life ---- */

static _Noreturn void stranger_main(int fd)
{
	int ears[CABLES], answer;
	struct order o;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNET) < 0 || write(fd, "", 1) != 1 || read(fd, &c, 1) != 1)
		_exit(1);
	cables_run("ip link set lo up");
	for (int i = 0; i < CABLES; i++) {
		cables_run("ip address add 10.77.%d.2/24 dev far%d", i, i);
		cables_run("ip link set far%d up", i);
		ears[i] = listen_on(i);
	}
	if (write(fd, "", 1) != 1)
		_exit(1);
	while (read(fd, &o, sizeof(o)) == sizeof(o)) {
		answer = o.what == SEND ? send_to(&o) : count_in(ears[o.cable], &o);
		if (write(fd, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

int cables_lay(void **state)
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
		cables_run("ip link add near%d type veth peer name far%d", i, i);
		cables_run("ip link set far%d netns %d", i, (int)stranger.pid);
		cables_run("ip address add 10.77.%d.1/24 dev near%d", i, i);
		cables_run("ip link set near%d up", i);
	}
	return write(pair[0], "", 1) == 1 && read(pair[0], &c, 1) == 1 ? 0 : -1;
}

int cables_cut(void **state)
{
	(void)state;
	for (int i = 0; i < CABLES; i++)
		cables_run("ip link delete near%d", i);
	kill(stranger.pid, SIGKILL);
	waitpid(stranger.pid, NULL, 0);
	close(stranger.socket);
	return 0;
}

static int give(const struct order *o)
{
	int answer;

	assert_int_equal(write(stranger.socket, o, sizeof(*o)), sizeof(*o));
	assert_int_equal(read(stranger.socket, &answer, sizeof(answer)), sizeof(answer));
	return answer;
}

int cables_send(int cable, uint16_t port, unsigned n)
{
	return give(&(struct order){ .what = SEND, .cable = cable, .port = port, .n = n });
}

int cables_multicast(int cable, uint16_t port, unsigned n)
{
	return give(&(struct order){ .what = SEND, .cable = cable, .port = port, .n = n, .multicast = true });
}

unsigned cables_count(int cable, const uint8_t prefix[CABLES_PREFIX])
{
	struct order o = { .what = COUNT, .cable = cable };
	int n;

	if (prefix)
		memcpy(o.prefix, prefix, CABLES_PREFIX);
	n = give(&o);
	assert_true(n >= 0);
	return (unsigned)n;
}

pid_t cables_stranger(void)
{
	return stranger.pid;
}

/* ---- our sockets ---- */

static bool is_receiver(int fd, struct cables_receiver *ret)
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
unsigned cables_receivers(struct cables_receiver ret[8])
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024 && n < 8; fd++)
		n += is_receiver(fd, &ret[n]);
	return n;
}

/* Packets that the kernel dropped before that port saw them. */
unsigned cables_dropped(uint16_t port)
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
