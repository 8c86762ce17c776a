/* SPDX-License-Identifier: Apache-2.0 */
/* See receivers.h. One request lists all UDP sockets of IPv4 with their memory: 20 to 100 us. */
#include "receivers.h"
#include "timeutil.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SOCKETS_MAX    256u
#define PORT_MIN       7400u
#define PORTS_EACH     250u   /* for each domain: its first port is for discovery only */
#define PORTS_LOCAL    32768u /* from here on the kernel assigns ports to any program */
#define LOOK_DUR_NS    100000
#define STUCK_DUR_NS   20000000
#define STUCK_MAX      3u
#define EXCUSED_DUR_NS 1000000000

struct receiver {
	uint32_t inode;
	uint16_t port;
	uint32_t fill, room; /* as the kernel counts, including its overhead */
	uint32_t drops, drops_begin;
	bool reported;
	bool used;               /* it has received something at least once */
	unsigned seen;           /* number of the last look that listed it */
	unsigned stuck;          /* consecutive messages that waited their maximum for it */
	int64_t read_mono_ns;    /* when it was last empty, or less full than before */
	int64_t excused_mono_ns; /* not waited for before this time */
};

struct receivers {
	int fd;
	unsigned look;
	unsigned hint; /* where the next entry of a listing is expected: their order is constant */
	unsigned n;
	int64_t look_mono_ns;
	int64_t patience_dur_ns; /* maximum wait for a message */
	int64_t left_dur_ns;     /* rest of it for this message */
	bool fresh;              /* a reader has joined: any socket may be its own */
	struct receiver all[SOCKETS_MAX];
	_Alignas(8) char answer[16384];
};

/* ---- asking the kernel ---- */

static struct receiver *find(struct receivers *r, uint32_t inode)
{
	for (unsigned i = 0; i < r->n; i++) {
		unsigned at = (r->hint + i) % r->n;

		if (r->all[at].inode == inode) {
			r->hint = at + 1;
			return &r->all[at];
		}
	}
	if (r->n == SOCKETS_MAX)
		return NULL;
	r->all[r->n] = (struct receiver){ .inode = inode };
	return &r->all[r->n++];
}

static void note_memory(struct receivers *r, struct receiver *s, const uint32_t mem[SK_MEMINFO_VARS])
{
	if (!s->seen || !s->fill || mem[SK_MEMINFO_RMEM_ALLOC] < s->fill) {
		s->read_mono_ns = r->look_mono_ns;
		s->stuck = 0;
	}
	s->fill = mem[SK_MEMINFO_RMEM_ALLOC];
	/* reading leaves part of a page reserved, because the kernel accounts for input in such steps */
	s->used |= s->fill || mem[SK_MEMINFO_FWD_ALLOC];
	s->room = mem[SK_MEMINFO_RCVBUF];
	s->drops_begin = s->seen ? s->drops_begin : mem[SK_MEMINFO_DROPS];
	s->drops = mem[SK_MEMINFO_DROPS];
	s->seen = r->look;
}

/* Whether samples may arrive at the port; not at that of participant discovery, whose receiver may read at any pace. */
static bool takes_samples(unsigned port)
{
	return port >= PORT_MIN && (port >= PORTS_LOCAL || (port - PORT_MIN) % PORTS_EACH != 0);
}

static void note(struct receivers *r, const struct nlmsghdr *h)
{
	const char *at = (const char *)h + NLMSG_SPACE(sizeof(struct inet_diag_msg)),
		   *end = (const char *)h + h->nlmsg_len;
	struct inet_diag_msg m;
	struct receiver *s;

	if (at > end)
		return;
	memcpy(&m, (const char *)h + NLMSG_HDRLEN, sizeof(m));
	s = takes_samples(ntohs(m.id.idiag_sport)) ? find(r, m.idiag_inode) : NULL;
	while (s && (size_t)(end - at) >= sizeof(struct rtattr)) {
		uint32_t mem[SK_MEMINFO_VARS];
		struct rtattr a;

		memcpy(&a, at, sizeof(a));
		if (a.rta_len < sizeof(a) || a.rta_len > end - at)
			break;
		if (a.rta_type == INET_DIAG_SKMEMINFO && a.rta_len >= RTA_LENGTH(sizeof(mem))) {
			memcpy(mem, at + RTA_LENGTH(0), sizeof(mem));
			s->port = ntohs(m.id.idiag_sport);
			note_memory(r, s, mem);
		}
		at += RTA_ALIGN(a.rta_len) < (size_t)(end - at) ? (size_t)RTA_ALIGN(a.rta_len) : (size_t)(end - at);
	}
}

static int ask(const struct receivers *r)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 req;
	} q = { .h = { .nlmsg_len = sizeof(q),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		       .nlmsg_seq = r->look },
		.req = { .sdiag_family = AF_INET,
			 .sdiag_protocol = IPPROTO_UDP,
			 .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
			 .idiag_states = UINT32_MAX } };

	return send(r->fd, &q, sizeof(q), 0) == sizeof(q) ? 0 : -errno;
}

/* Lists all sockets and marks them with the look's number; removes those that were closed. */
static int look(struct receivers *r)
{
	bool more = true;
	int e;

	r->look += r->look == UINT32_MAX ? 2 : 1; /* 0 is not a valid number */
	r->hint = 0;
	r->look_mono_ns = mono_now_ns();
	e = ask(r);
	while (e == 0 && more) {
		ssize_t n = recv(r->fd, r->answer, sizeof(r->answer), 0);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		for (struct nlmsghdr *h = (struct nlmsghdr *)(void *)r->answer; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_seq != r->look)
				continue; /* from an earlier, abandoned listing */
			if (h->nlmsg_type == NLMSG_ERROR)
				e = ((const struct nlmsgerr *)NLMSG_DATA(h))->error;
			if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE)
				more = false;
			else if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY)
				note(r, h);
		}
	}
	for (unsigned i = 0; e == 0 && i < r->n;)
		if (r->all[i].seen != r->look)
			r->all[i] = r->all[--r->n];
		else
			i++;
	return e;
}

/* ---- the contract ---- */

int receivers_open(int64_t patience_dur_ns, struct receivers **ret)
{
	static const struct timeval bound = { .tv_sec = 1 };
	struct receivers *r = calloc(1, sizeof(*r));
	int e = 0;

	if (!r)
		return -ENOMEM;
	r->patience_dur_ns = patience_dur_ns;
	r->fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (r->fd < 0 || setsockopt(r->fd, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound)) < 0)
		e = -errno;
	if (e == 0)
		e = look(r);
	if (e < 0)
		receivers_close(r);
	else
		*ret = r;
	return e;
}

void receivers_close(struct receivers *r)
{
	if (r && r->fd >= 0)
		close(r->fd);
	free(r);
}

void receivers_begin(struct receivers *r, bool fresh)
{
	r->fresh = fresh;
	r->left_dur_ns = r->patience_dur_ns;
	for (unsigned i = 0; i < r->n; i++)
		r->all[i].drops_begin = r->all[i].drops;
}

/* Half of a buffer is left for other senders, and for memory that the kernel still counts a while. */
static bool too_full(const struct receiver *s, uint32_t size)
{
	return s->fill && s->fill + size > s->room / 2;
}

/*
 * The message has waited for its maximum. Sockets that were not read for long, in three messages in a row, are not
 * waited for during EXCUSED_DUR_NS.
 */
static void excuse(struct receivers *r, uint32_t size, int64_t now_mono_ns)
{
	for (unsigned i = 0; i < r->n; i++) {
		struct receiver *s = &r->all[i];

		if (!too_full(s, size) || now_mono_ns - s->read_mono_ns < STUCK_DUR_NS || ++s->stuck < STUCK_MAX)
			continue;
		s->excused_mono_ns = now_mono_ns + EXCUSED_DUR_NS;
		s->stuck = STUCK_MAX - 1;
	}
}

/*
 * Whether the sender has to wait: 0: no buffer is too full; 1: wait, a buffer is too full; -EAGAIN: do not wait, the
 * only buffers that are too full are those that excuse() has exempted because their programs do not read.
 */
static int fullness(const struct receivers *r, uint32_t size, int64_t now_mono_ns)
{
	int e = 0;

	for (unsigned i = 0; i < r->n; i++)
		if (too_full(&r->all[i], size))
			e = e == 1 || now_mono_ns >= r->all[i].excused_mono_ns ? 1 : -EAGAIN;
	return e;
}

/*
 * Number of bytes that fill no buffer above its half. Considers only used sockets, because others may belong to any
 * program.
 */
static int step(const struct receivers *r, int size)
{
	uint32_t least = 2 * RECEIVERS_STEP_MAX;
	bool any = false;

	for (unsigned i = 0; i < r->n; i++) {
		const struct receiver *s = &r->all[i];
		uint32_t room = s->room / 2 > s->fill ? s->room / 2 - s->fill : 0;

		if (!s->used && !r->fresh)
			continue;
		any = true;
		least = room < least ? room : least;
	}
	if (!any || least < (uint32_t)size)
		return size;
	return least < RECEIVERS_STEP_MAX ? (int)least : RECEIVERS_STEP_MAX;
}

int receivers_wait(struct receivers *r, int size)
{
	int64_t start_mono_ns = mono_now_ns();

	for (;;) {
		int64_t now_mono_ns;
		int e = look(r);

		if (e < 0)
			return e;
		now_mono_ns = mono_now_ns();
		e = fullness(r, (uint32_t)size, now_mono_ns);
		if (e <= 0 || now_mono_ns - start_mono_ns >= r->left_dur_ns) {
			if (e > 0 && r->left_dur_ns > 0) /* once per message */
				excuse(r, (uint32_t)size, now_mono_ns);
			r->left_dur_ns -= now_mono_ns - start_mono_ns;
			return e > 0 ? -ETIMEDOUT : e < 0 ? e : step(r, size);
		}
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_DUR_NS }, NULL);
	}
}

int receivers_lost(struct receivers *r, struct receivers_loss *ret)
{
	struct receiver *worst = NULL;

	for (unsigned i = 0; i < r->n; i++) {
		struct receiver *s = &r->all[i];

		if (!s->reported && s->drops != s->drops_begin &&
		    (!worst || s->drops - s->drops_begin > worst->drops - worst->drops_begin))
			worst = s;
	}
	if (!worst)
		return 0;
	*ret = (struct receivers_loss){ worst->port, worst->room, worst->drops - worst->drops_begin,
					r->left_dur_ns <= 0 };
	worst->reported = true;
	return 1;
}
