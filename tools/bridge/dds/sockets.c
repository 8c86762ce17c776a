/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits who can reach the bridge. Cyclone binds its receiving sockets to 0.0.0.0, whatever interfaces it is configured
 * to use, so every network of this machine could send to a bridge that should use only loopback. It binds its sending
 * sockets to the addresses of those interfaces: they show where to listen, also if CYCLONEDDS_URI names other
 * interfaces.
 *
 *   loopback only   the sockets are bound to the device lo
 *   this machine    a filter in the kernel: accepts packets over lo (which this machine uses for all its own addresses), and
 *                   the kernel's local copies of outgoing multicast; sending sockets are bound to lo
 *   otherwise       a filter in the kernel: accepts only packets to these addresses, or to a multicast group
 *
 * Linux: SO_BINDTODEVICE needs no privilege since 5.7; socket(7), packet filters of struct sock_filter.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "number.h"
#include "sockets.h"

#include "option.h"

#define ADDRESSES_MAX 32
#define IP_SRC_AT     12 /* offset in an IPv4 header */
#define IP_DST_AT     16
#define LO_INDEX      1 /* the same in each network namespace */

struct found {
	in_addr_t address[ADDRESSES_MAX]; /* network byte order */
	unsigned n;
	unsigned left_alone;   /* sockets of other address families */
	const in_addr_t *from; /* accept only these senders and the addresses above; NULL: accept any sender */
	unsigned n_from;
};

/* ---- which sockets ---- */

static bool option_of(int fd, int name, int *ret)
{
	socklen_t len = sizeof(*ret);

	return getsockopt(fd, SOL_SOCKET, name, ret, &len) == 0;
}

static bool is_udp(int fd)
{
	int domain, type, protocol;

	return option_of(fd, SO_TYPE, &type) && type == SOCK_DGRAM && option_of(fd, SO_DOMAIN, &domain) &&
	       (domain == AF_INET || domain == AF_INET6) && option_of(fd, SO_PROTOCOL, &protocol) &&
	       protocol == IPPROTO_UDP;
}

static void for_each_udp(void (*fn)(void *arg, int fd), void *arg)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		uint64_t fd;

		if (number_u64(e->d_name, NUMBER_DEC, INT_MAX, &fd) == 0 && is_udp((int)fd))
			fn(arg, (int)fd);
	}
	if (d)
		closedir(d);
}

static void note(void *arg, int fd)
{
	struct sockets *s = arg;

	if (fd < SOCKETS_FDS_MAX)
		s->there[fd / 8] |= (uint8_t)(1u << fd % 8);
}

void sockets_note(struct sockets *s)
{
	memset(s, 0, sizeof(*s));
	for_each_udp(note, s);
}

struct pass { /* state of one walk over the UDP sockets that were opened since sockets_note() */
	const struct sockets *before;
	struct found found;
	int (*close_in)(int fd, const struct found *f);
	int error;
};

static bool is_new(const struct pass *p, int fd)
{
	return fd >= SOCKETS_FDS_MAX || !(p->before->there[fd / 8] >> fd % 8 & 1);
}

/* Its IPv4 address; false: another family. */
static bool address_of(int fd, in_addr_t *ret)
{
	struct sockaddr_in a = { 0 };
	socklen_t len = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0 || a.sin_family != AF_INET)
		return false;
	*ret = a.sin_addr.s_addr;
	return true;
}

static void find(void *arg, int fd)
{
	struct pass *p = arg;
	struct found *f = &p->found;
	in_addr_t a;

	if (!is_new(p, fd))
		return;
	if (!address_of(fd, &a))
		f->left_alone++;
	else if (a != htonl(INADDR_ANY) && f->n < ADDRESSES_MAX)
		f->address[f->n++] = a;
}

static void narrow(void *arg, int fd)
{
	struct pass *p = arg;
	in_addr_t a;
	int r = 0;

	if (is_new(p, fd) && address_of(fd, &a) && a == htonl(INADDR_ANY))
		r = p->close_in(fd, &p->found);
	p->error = p->error < 0 ? p->error : r;
}

/* ---- filters ---- */

static int bind_to_lo(int fd, const struct found *f)
{
	(void)f;
	return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) < 0 ? -errno : 0;
}

/*
 * Independent of the packet's addresses: a packet from outside has another type than PACKET_LOOPBACK in the kernel, and
 * another interface than lo.
 */
int sockets_hear_machine(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_IFINDEX)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LO_INDEX, 2, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_LOOPBACK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0 ? -errno : 0;
}

/* Accepts senders that are listed, or on this machine; drops the rest. */
static unsigned short filter_sources(const struct found *f, struct sock_filter *code)
{
	const unsigned total = f->n_from + f->n;
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_NET_OFF + IP_SRC_AT));
	for (unsigned i = 0; i < total; i++) {
		in_addr_t a = i < f->n_from ? f->from[i] : f->address[i - f->n_from];

		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(a), (uint8_t)(total - i), 0);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	return n;
}

/*
 * Accepts packets to one of the addresses, or to a multicast group, which the socket has joined on one of the
 * interfaces.
 */
static int filter_by_address(int fd, const struct found *f)
{
	struct sock_filter code[2 * ADDRESSES_MAX + SOCKETS_FROM_MAX + 7];
	struct sock_fprog prog = { .filter = code };
	unsigned short n = f->from ? filter_sources(f, code) : 0;
	int off = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_NET_OFF + IP_DST_AT));
	for (unsigned i = 0; i < f->n; i++, n++)
		code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(f->address[i]),
						       (uint8_t)(f->n - i + 1), 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0000000u);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, INADDR_UNSPEC_GROUP, 0, 1);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	prog.len = n;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0 ||
	    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof(off)) < 0)
		return -errno;
	return 0;
}

static bool all_loopback(const struct found *f)
{
	for (unsigned i = 0; i < f->n; i++)
		if (ntohl(f->address[i]) >> 24 != IN_LOOPBACKNET)
			return false;
	return true;
}

bool sockets_on_loopback(const struct sockets *before)
{
	struct pass p = { .before = before };

	for_each_udp(find, &p);
	return all_loopback(&p.found);
}

int sockets_narrow(const struct sim_bridge_host *host, const struct sockets *before, const uint32_t *from,
		   unsigned n_from)
{
	const struct {
		const struct sim_bridge_host *host;
	} at = { host };
	struct pass p = { .before = before, .found = { .from = from, .n_from = n_from } };

	for_each_udp(find, &p);
	if (p.found.n == 0 || p.found.left_alone || n_from > SOCKETS_FROM_MAX) {
		log_warn(&at, "the addresses that Cyclone uses are unknown: it accepts packets from anywhere");
		return -EADDRNOTAVAIL;
	}
	p.close_in = all_loopback(&p.found) ? bind_to_lo : filter_by_address;
	for_each_udp(narrow, &p);
	if (p.error < 0 && p.close_in == bind_to_lo) { /* before Linux 5.7 binding needs privilege */
		p.error = 0;
		p.close_in = filter_by_address;
		for_each_udp(narrow, &p);
	}
	if (p.error < 0)
		log_warn(&at, "its sockets cannot be closed to other networks (%s): it accepts packets from anywhere",
			 strerror(-p.error));
	return p.error;
}

/* A socket bound to 127.0.0.1 cannot reach other machines anyway; before Linux 5.7 it cannot be bound to lo as well. */
static int stay_on_lo(int fd)
{
	int none = 0, r = bind_to_lo(fd, NULL);

	if (r < 0 && r != -EPERM)
		return r;
	return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &none, sizeof(none)) < 0 ? -errno : 0;
}

static void keep(void *arg, int fd)
{
	struct pass *p = arg;
	in_addr_t a;
	int r;

	if (!is_new(p, fd))
		return;
	if (!address_of(fd, &a))
		r = -EAFNOSUPPORT;
	else if (a == htonl(INADDR_ANY))
		r = sockets_hear_machine(fd);
	else
		r = a == htonl(INADDR_LOOPBACK) ? stay_on_lo(fd) : -EADDRNOTAVAIL;
	p->error = p->error < 0 ? p->error : r;
}

int sockets_keep_to_machine(const struct sockets *before)
{
	struct pass p = { .before = before };

	for_each_udp(keep, &p);
	return p.error;
}

/* ---- Cyclone's log ---- */

/* Any program that reaches a socket can flood the log: each packet that is not RTPS is a line. */
static void take_line(void *arg, const dds_log_data_t *d)
{
	struct sockets_log *l = arg;
	size_t n = strnlen(d->message, d->size); /* d->hdrsize bytes of header precede it */
	int level = d->priority & (DDS_LC_FATAL | DDS_LC_ERROR) ? 0 : d->priority & DDS_LC_WARNING ? 1 : 3;
	unsigned long kept_back = 0;
	bool allowed;

	while (n && d->message[n - 1] == '\n')
		n--;
	pthread_mutex_lock(&l->lock);
	allowed = limit_allows(&l->lines);
	if (allowed) {
		kept_back = l->kept_back;
		l->kept_back = 0;
	} else {
		l->kept_back++;
	}
	pthread_mutex_unlock(&l->lock);
	if (kept_back)
		log_warn(l, "Cyclone: %lu lines suppressed: rate limit", kept_back);
	if (allowed)
		log_at(l, level, "Cyclone: %.*s", (int)n, d->message);
}

void sockets_log_open(struct sockets_log *l, const struct sim_bridge_host *host)
{
	l->host = host;
	pthread_mutex_init(&l->lock, NULL);
	dds_set_log_sink(take_line, l);
}

void sockets_log_close(struct sockets_log *l)
{
	if (!l->host)
		return;
	dds_set_log_sink(NULL, NULL);
	pthread_mutex_destroy(&l->lock);
	l->host = NULL;
}
