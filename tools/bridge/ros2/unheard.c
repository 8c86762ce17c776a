/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Participants of our domain that use a network interface of this machine, while we use loopback alone. Participants
 * announce themselves to a multicast group, at a port that only their domain uses. They have joined the group at their
 * interface, so the kernel copies each announcement to every socket of this machine that is bound to group and port.
 * Our socket joins nothing, so no packet reveals it, and its filter drops packets of other machines. A participant that
 * is heard here but not discovered within some seconds cannot take part.
 *
 * A participant that announces itself without multicast, as with ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST, is not found.
 *
 * Thread: "ros2-graph".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ros2.h"

#define GROUP        "239.255.0.1"
#define PORT_FROM    7400u /* RTPS: domain N has the ports from 7400 + 250 N */
#define PORTS_EACH   250u
#define PREFIX_AT    8u
#define HEADER       (PREFIX_AT + ROS2_PREFIX)
#define LO_INDEX     1                    /* the same in every network namespace */
#define APART_DUR_NS INT64_C(4000000000)  /* a participant that takes part is discovered within this time */
#define KEPT_DUR_NS  INT64_C(70000000000) /* participants announce themselves every 3 to 30 s */
#define PACKETS      4096                 /* the most that one look reads */

/* ---- the socket ---- */

static int open_socket(uint32_t domain)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)(PORT_FROM + PORTS_EACH * domain)),
				 .sin_addr.s_addr = inet_addr(GROUP) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, r;

	if (fd < 0)
		return -errno;
	r = sockets_hear_machine(fd);
	if (r == 0 && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		       setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) < 0 ||
		       bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0))
		r = -errno;
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

void ros2_unheard_open(struct sim_bridge *b)
{
	struct ros2_unheard *u = &b->unheard;

	if (!b->localhost || b->machine)
		return;
	u->fd = open_socket(b->domain_id);
	if (u->fd < 0)
		log_info(b, "participants on network interfaces cannot be named: %s", strerror(-u->fd));
}

void ros2_unheard_close(struct ros2_unheard *u)
{
	if (u->fd >= 0)
		close(u->fd);
	u->fd = -1;
}

/* ---- participants that are heard ---- */

static void drop(struct ros2_unheard *u, unsigned i)
{
	u->one[i] = u->one[--u->n];
}

void ros2_unheard_found(struct ros2_unheard *u, const dds_guid_t *participant)
{
	for (unsigned i = 0; i < u->n;)
		if (memcmp(u->one[i].prefix, participant->v, ROS2_PREFIX) == 0)
			drop(u, i);
		else
			i++;
}

/* Whether a process has joined the group at the interface. If not, no participant is left there. */
static bool is_joined(unsigned interface)
{
	FILE *f = fopen("/proc/net/igmp", "re");
	unsigned at = 0, group;
	bool joined = false;
	char line[256];

	while (f && !joined && fgets(line, sizeof(line), f)) {
		if (line[0] != '\t')
			at = sscanf(line, "%u", &at) == 1 ? at : 0;
		else
			joined = at == interface && sscanf(line, "%x", &group) == 1 && group == inet_addr(GROUP);
	}
	if (f)
		fclose(f);
	return joined;
}

static void forget_those_who_left(struct ros2_unheard *u, dds_time_t now)
{
	for (unsigned i = 0; i < u->n;)
		if (now - u->one[i].last > KEPT_DUR_NS || !is_joined(u->one[i].interface))
			drop(u, i);
		else
			i++;
}

static void note(struct ros2_unheard *u, const uint8_t *prefix, unsigned interface, dds_time_t now)
{
	unsigned i = 0;

	while (i < u->n && (u->one[i].interface != interface || memcmp(u->one[i].prefix, prefix, ROS2_PREFIX) != 0))
		i++;
	if (i == ROS2_UNHEARD_MAX)
		return;
	if (i == u->n) {
		u->n++;
		memcpy(u->one[i].prefix, prefix, ROS2_PREFIX);
		u->one[i].interface = interface;
		u->one[i].first = now;
	}
	u->one[i].last = now;
}

/* Returns the interface index that an RTPS packet came in on. 0: not RTPS, or over loopback; -1: no packet. */
static int receive(int fd, uint8_t header[HEADER])
{
	struct iovec iov = { .iov_base = header, .iov_len = HEADER };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in_pktinfo))];
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct in_pktinfo info = { .ipi_ifindex = 0 };
	ssize_t r = recvmsg(fd, &m, 0);
	struct cmsghdr *c;

	if (r < 0)
		return errno == EINTR ? 0 : -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO)
		memcpy(&info, CMSG_DATA(c), sizeof(info));
	return r == HEADER && memcmp(header, "RTPS", 4) == 0 && info.ipi_ifindex != LO_INDEX ? info.ipi_ifindex : 0;
}

static void take(struct ros2_unheard *u, dds_time_t now)
{
	uint8_t header[HEADER];
	int at = 0;

	for (unsigned i = 0; i < PACKETS && (at = receive(u->fd, header)) >= 0; i++)
		if (at > 0)
			note(u, header + PREFIX_AT, (unsigned)at, now);
}

/* ---- log and status ---- */

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at++)
		if ((at == list || at[-1] == ' ') && (at[n] == ',' || !at[n]))
			return true;
	return false;
}

static void print_interfaces(const struct ros2_unheard *u, dds_time_t now, char ret[ROS2_UNHEARD_TEXT])
{
	char name[IF_NAMESIZE];
	size_t n = 0;

	ret[0] = '\0';
	for (unsigned i = 0; i < u->n; i++)
		if (now - u->one[i].first > APART_DUR_NS && if_indextoname(u->one[i].interface, name) &&
		    !has_word(ret, name) && n + strlen(name) + 3 < ROS2_UNHEARD_TEXT)
			n += (size_t)snprintf(ret + n, ROS2_UNHEARD_TEXT - n, "%s%s", n ? ", " : "", name);
}

static void log_them(struct sim_bridge *b)
{
	if (limit_allows(&b->missed.lines))
		log_warn(b,
			 "participants on %s in domain %u are not heard: this bridge is on loopback alone (options.localhost, or "
			 "another Cyclone DDS than Debian's), where nodes of Humble need ROS_LOCALHOST_ONLY=1",
			 b->unheard.on, b->domain_id);
}

void ros2_unheard_look(struct sim_bridge *b)
{
	struct ros2_unheard *u = &b->unheard;
	char before[ROS2_UNHEARD_TEXT];
	dds_time_t now = dds_time();

	if (u->fd < 0)
		return;
	forget_those_who_left(u, now);
	take(u, now);
	strcpy(before, u->on);
	print_interfaces(u, now, u->on);
	if (*u->on && strcmp(u->on, before) != 0)
		log_them(b);
}
