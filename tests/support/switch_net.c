/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switch_net.h. What is to be done in a new namespace is done by a thread of its own, as a thread cannot be sure to come back
 * from one: it asks the kernel by rtnetlink, so that nothing depends on programs or on a writable /proc/sys.
 */
#include "switch_net.h"

#include "err.h"
#include "fd.h"
#include "thread.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_addr.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEVICE       "port"
#define OWN_NS       "/proc/thread-self/ns/net"
#define QUEUE_BYTES  (8 << 20)
#define REQUEST_MAX  512
#define ADDRESS_MAX  16 /* bytes of an IPv6 address */
#define PREFIX_BITS4 24
#define BROADCAST4   255 /* in place of the host */
#define PREFIX_BITS6 64

/* ---- one request of rtnetlink ---- */

struct request {
	struct nlmsghdr head;
	char body[REQUEST_MAX];
};

static void *request_add(struct request *q, size_t len)
{
	void *at = (char *)q + NLMSG_ALIGN(q->head.nlmsg_len);

	q->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(q->head.nlmsg_len) + len);
	return memset(at, 0, len);
}

static void request_start(struct request *q, uint16_t type, uint16_t flags, const void *fixed, size_t len)
{
	memset(q, 0, sizeof(*q));
	q->head.nlmsg_len = NLMSG_LENGTH(0);
	q->head.nlmsg_type = type;
	q->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	memcpy(request_add(q, len), fixed, len);
}

static struct rtattr *request_attr(struct request *q, unsigned type, const void *data, size_t len)
{
	struct rtattr *a = request_add(q, RTA_LENGTH(len));

	a->rta_type = (uint16_t)type;
	a->rta_len = (uint16_t)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	return a;
}

/* What was added since belongs to it. */
static void attr_end(const struct request *q, struct rtattr *a)
{
	a->rta_len = (uint16_t)((const char *)q + q->head.nlmsg_len - (char *)a);
}

/* Returns the kernel's answer, without a sentence. */
static int request_send(const struct request *q)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr err;
		char rest[REQUEST_MAX];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), e = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (send(fd, q, q->head.nlmsg_len, 0) < 0)
		e = -errno;
	n = e == 0 ? recv(fd, &answer, sizeof(answer), 0) : 0;
	if (e == 0 && n < 0)
		e = -errno;
	else if (e == 0)
		e = answer.head.nlmsg_type == NLMSG_ERROR ? answer.err.error : -EPROTO;
	fd_close(fd);
	return e;
}

/* ---- links and addresses ---- */

/* No addresses of IPv6 come of themselves, and nothing is said about them. */
static void keep_silent(const char *name)
{
	struct ifinfomsg info = { .ifi_index = (int)if_nametoindex(name) };
	unsigned char none = IN6_ADDR_GEN_MODE_NONE;
	struct rtattr *families, *family;
	struct request q;

	request_start(&q, RTM_NEWLINK, 0, &info, sizeof(info));
	families = request_attr(&q, IFLA_AF_SPEC, NULL, 0);
	family = request_attr(&q, AF_INET6, NULL, 0);
	request_attr(&q, IFLA_INET6_ADDR_GEN_MODE, &none, sizeof(none));
	attr_end(&q, family);
	attr_end(&q, families);
	(void)request_send(&q); /* refused where there is no IPv6 */
}

/* ether: the address it gets, or NULL for `lo`. An Ethernet device asks nobody for addresses and tells nobody its own: all are known. */
static int link_up(const char *name, const unsigned char *ether)
{
	unsigned flags = ether ? IFF_UP | IFF_NOARP : IFF_UP;
	struct ifinfomsg info = { .ifi_index = (int)if_nametoindex(name), .ifi_flags = flags, .ifi_change = flags };
	struct request q;
	int e;

	request_start(&q, RTM_NEWLINK, 0, &info, sizeof(info));
	if (ether)
		request_attr(&q, IFLA_ADDRESS, ether, ETH_ALEN);
	e = request_send(&q);
	return e < 0 ? err_sys(e, "the device %s cannot be brought up", name) : 0;
}

/* The number of an address's bytes. */
static size_t host_address(int family, unsigned host, unsigned char ret[ADDRESS_MAX])
{
	memset(ret, 0, ADDRESS_MAX);
	ret[0] = family == AF_INET ? 10 : 0xfd;
	ret[family == AF_INET ? 3 : 15] = (unsigned char)host;
	return family == AF_INET ? 4 : 16;
}

static void host_ether(unsigned host, unsigned char ret[ETH_ALEN])
{
	memcpy(ret, (const unsigned char[ETH_ALEN]){ 2, 0, 0, 0, 0, (unsigned char)host }, ETH_ALEN);
}

static int add_address(int family, unsigned host)
{
	struct ifaddrmsg info = {
		.ifa_family = (unsigned char)family,
		.ifa_prefixlen = family == AF_INET ? PREFIX_BITS4 : PREFIX_BITS6,
		.ifa_flags = IFA_F_NODAD,
		.ifa_index = if_nametoindex(DEVICE),
	};
	unsigned char address[ADDRESS_MAX];
	size_t len = host_address(family, host, address);
	struct request q;

	request_start(&q, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
	request_attr(&q, IFA_LOCAL, address, len);
	request_attr(&q, IFA_ADDRESS, address, len);
	return request_send(&q);
}

static int add_neighbour(int family, unsigned host, const unsigned char *ether)
{
	struct ndmsg info = {
		.ndm_family = (unsigned char)family,
		.ndm_ifindex = (int)if_nametoindex(DEVICE),
		.ndm_state = NUD_PERMANENT,
	};
	unsigned char address[ADDRESS_MAX];
	size_t len = host_address(family, host, address);
	struct request q;

	request_start(&q, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &info, sizeof(info));
	request_attr(&q, NDA_DST, address, len);
	request_attr(&q, NDA_LLADDR, ether, ETH_ALEN);
	return request_send(&q);
}

static int add_family(int family, unsigned host)
{
	unsigned char ether[ETH_ALEN];
	int e = add_address(family, host);

	for (unsigned i = 1; e == 0 && i <= SWITCH_NET_HOSTS; i++) {
		host_ether(i, ether);
		if (i != host)
			e = add_neighbour(family, i, ether);
	}
	if (e == 0 && family == AF_INET) /* the kernel takes it for a host like others where it asks nobody */
		e = add_neighbour(family, BROADCAST4, memset(ether, 0xff, sizeof(ether)));
	return e;
}

static int set_up(unsigned host)
{
	unsigned char ether[ETH_ALEN];
	int e = link_up("lo", NULL);

	host_ether(host, ether);
	keep_silent(DEVICE);
	if (e == 0)
		e = link_up(DEVICE, ether);
	if (e < 0)
		return e;
	e = add_family(AF_INET, host);
	if (e < 0)
		return err_sys(e, "10.0.0.%u cannot be added", host);
	(void)add_family(AF_INET6, host); /* refused where there is no IPv6 */
	return 0;
}

/* ---- the two kinds ---- */

static int open_tap(int *ret_frames)
{
	struct ifreq r = { .ifr_name = DEVICE, .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), e;

	if (fd < 0)
		return err_sys(-errno, "/dev/net/tun");
	if (ioctl(fd, TUNSETIFF, &r) < 0) {
		e = err_sys(-errno, "/dev/net/tun: TUNSETIFF");
		fd_close(fd);
		return e;
	}
	*ret_frames = fd;
	return 0;
}

/* A pair: DEVICE here, another of that name in the other namespace. */
static int add_pair(int other_ns)
{
	struct ifinfomsg info = { 0 };
	struct rtattr *kind, *data, *peer;
	struct request q;
	int e;

	request_start(&q, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
	request_attr(&q, IFLA_IFNAME, DEVICE, sizeof(DEVICE));
	kind = request_attr(&q, IFLA_LINKINFO, NULL, 0);
	request_attr(&q, IFLA_INFO_KIND, "veth", strlen("veth"));
	data = request_attr(&q, IFLA_INFO_DATA, NULL, 0);
	peer = request_attr(&q, VETH_INFO_PEER, NULL, 0);
	request_add(&q, sizeof(info));
	request_attr(&q, IFLA_IFNAME, DEVICE, sizeof(DEVICE));
	request_attr(&q, IFLA_NET_NS_FD, &other_ns, sizeof(other_ns));
	attr_end(&q, peer);
	attr_end(&q, data);
	attr_end(&q, kind);
	e = request_send(&q);
	return e < 0 ? err_sys(e, "a veth pair cannot be made") : 0;
}

/* So that what leaves is as it would be on a wire. */
static int offload_off(void)
{
	static const uint32_t commands[] = { ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SSG };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), e = 0;

	if (fd < 0)
		return err_sys(-errno, "socket");
	for (unsigned i = 0; e == 0 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct ethtool_value v = { .cmd = commands[i], .data = 0 };
		struct ifreq r = { .ifr_name = DEVICE, .ifr_data = (char *)&v };

		/* what a kernel does not know here it does not do; checksums are what matters */
		if (ioctl(fd, SIOCETHTOOL, &r) < 0 && commands[i] == ETHTOOL_STXCSUM)
			e = err_sys(-errno, "checksum offload of veth cannot be turned off");
	}
	fd_close(fd);
	return e;
}

/* In the other namespace. */
static int open_packet(int *ret_frames)
{
	static const unsigned char any[ETH_ALEN] = { 2, 0xff };
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int size = QUEUE_BYTES, yes = 1, e, fd;

	keep_silent(DEVICE);
	e = link_up(DEVICE, any);
	if (e < 0)
		return e;
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(-errno, "a packet socket cannot be made");
	at.sll_ifindex = (int)if_nametoindex(DEVICE);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)); /* a smaller one does, too */
	/*
	 * What the kernel itself sends here is not the namespace's. And the device's own queue drops what is written until the kernel has
	 * got round to its carrier, up to a second after the other end has come up.
	 */
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &yes, sizeof(yes)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		e = err_sys(-errno, "a packet socket cannot be set up");
		fd_close(fd);
		return e;
	}
	*ret_frames = fd;
	return 0;
}

/* ---- in a thread of its own ---- */

struct making {
	enum switch_device device;
	unsigned host;
	int frames, ns, other_ns; /* -1: not yet */
	int result;
	char why[ERR_WHY_MAX];
};

static int new_ns(int *ret)
{
	if (unshare(CLONE_NEWNET) < 0)
		return err_sys(-errno, "a network namespace cannot be made; run the test by tests/support/ns.sh");
	*ret = open(OWN_NS, O_RDONLY | O_CLOEXEC);
	return *ret < 0 ? err_sys(-errno, OWN_NS) : 0;
}

static int make_tap(struct making *m)
{
	int e = new_ns(&m->ns);

	if (e == 0)
		e = open_tap(&m->frames);
	if (e == 0)
		e = set_up(m->host);
	return e;
}

static int make_veth(struct making *m)
{
	int e = new_ns(&m->other_ns);

	if (e == 0)
		e = new_ns(&m->ns);
	if (e == 0)
		e = add_pair(m->other_ns);
	if (e == 0)
		e = offload_off();
	if (e == 0)
		e = switch_net_enter(m->other_ns);
	if (e == 0)
		e = open_packet(&m->frames);
	if (e == 0)
		e = switch_net_enter(m->ns);
	if (e == 0)
		e = set_up(m->host); /* last: nothing leaves before somebody reads it */
	return e;
}

static void forget(struct making *m)
{
	m->frames = fd_close(m->frames);
	m->ns = fd_close(m->ns);
	m->other_ns = fd_close(m->other_ns);
}

static void *make(void *arg)
{
	struct making *m = arg;

	m->result = m->device == SWITCH_VETH ? make_veth(m) : make_tap(m);
	if (m->result < 0)
		snprintf(m->why, sizeof(m->why), "%s", err_why());
	return NULL;
}

static int make_in_thread(struct making *m)
{
	pthread_t thread;
	int e = thread_start(&thread, "switch-net", make, m);

	if (e < 0)
		return err_sys(e, "a thread cannot be started");
	pthread_join(thread, NULL);
	m->other_ns = fd_close(m->other_ns); /* its socket keeps it */
	if (m->result < 0) {
		forget(m);
		return err_set(m->result, "%s", m->why);
	}
	return 0;
}

int switch_net_open(enum switch_device device, unsigned host, int *ret_frames, int *ret_ns)
{
	struct making m = { .device = device, .host = host, .frames = -1, .ns = -1, .other_ns = -1 };
	char why_not_tap[ERR_WHY_MAX];
	int e;

	if (host < 1 || host > SWITCH_NET_HOSTS)
		return err_set(-EINVAL, "host %u; 1 to %d are possible", host, SWITCH_NET_HOSTS);
	e = make_in_thread(&m);
	if (e < 0 && device == SWITCH_ANY) {
		snprintf(why_not_tap, sizeof(why_not_tap), "%s", err_why());
		m.device = SWITCH_VETH;
		e = make_in_thread(&m);
		if (e < 0)
			e = err_set(e, "neither TAP (%.200s) nor veth (%.200s)", why_not_tap, m.why);
	}
	if (e < 0)
		return e;
	*ret_frames = m.frames;
	*ret_ns = m.ns;
	return 0;
}

int switch_net_enter(int ns)
{
	return setns(ns, CLONE_NEWNET) < 0 ? err_sys(-errno, "a network namespace cannot be entered") : 0;
}

int switch_net_socket(int ns, int domain, int type)
{
	int home = open(OWN_NS, O_RDONLY | O_CLOEXEC), fd, e;

	if (home < 0)
		return err_sys(-errno, OWN_NS);
	e = switch_net_enter(ns);
	if (e < 0) {
		fd_close(home);
		return e;
	}
	fd = socket(domain, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fd = err_sys(-errno, "socket");
	e = switch_net_enter(home);
	fd_close(home);
	if (e < 0 && fd >= 0)
		fd_close(fd);
	return e < 0 ? e : fd;
}
