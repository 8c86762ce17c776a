/* SPDX-License-Identifier: Apache-2.0 */
/* What of the connections outlives this process. See peers.h. */
#include "peers_private.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "err.h"
#include "fd.h"
#include "listen.h"
#include "timeutil.h"

LOG_TOPIC("peers");

#define MAGIC    UINT64_C(0x313065656b327373) /* "ss2kee01" */
#define FD_FIRST 2                            /* the descriptors of the memory and of the listening socket come first */
#define TRIES    100

enum {
	STATE_ESTABLISHED = 1,
	STATE_CLOSE_WAIT = 8
}; /* of TCP; <netinet/tcp.h>, which names them, has an older tcp_info */
enum { WORD_MAGIC, WORD_FDS, WORD_FIRST };

_Static_assert(FD_FIRST + PEERS_MAX <= KEEP_FDS && WORD_FIRST + PEERS_MAX <= KEEP_WORDS, "one message carries it");

static uint64_t word_of(unsigned i, uint64_t id)
{
	return id << 8 | i;
}

void peers_keep(struct peers *p)
{
	struct keep_set set = { .word = { MAGIC }, .fd = { p->memory.fd, p->listen_fd }, .n = FD_FIRST };

	if (p->keep.in < 0 || p->listen_fd < 0)
		return;
	for (unsigned i = 0; i < PEERS_MAX; i++) {
		if (p->peer[i].fd < 0)
			continue;
		set.word[WORD_FIRST + set.n - FD_FIRST] = word_of(i, peers_memory_line(&p->memory, i).id);
		set.fd[set.n++] = p->peer[i].fd;
	}
	set.word[WORD_FDS] = set.n;
	if (keep_put(&p->keep, &set) < 0)
		log_limited(&p->limit, mono_now_ns(), LOG_LEVEL_WARN,
			    "%s: clients are lost if this sim-ss2 is killed; ignoring", err_why());
}

/* ---- what an earlier process has left ---- */

static int count(int fd, uint64_t *ret_received, uint64_t *ret_acked)
{
	struct tcp_info t = { 0 };
	socklen_t len = sizeof(t);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &t, &len) < 0)
		return -errno;
	if (t.tcpi_state != STATE_ESTABLISHED && t.tcpi_state != STATE_CLOSE_WAIT)
		return -ENOTCONN;
	*ret_received = t.tcpi_bytes_received - (t.tcpi_state == STATE_CLOSE_WAIT); /* its FIN counts as a byte */
	*ret_acked = t.tcpi_bytes_acked;
	return 0;
}

/*
 * How far processes have read and written a connection: a received byte has been read, or waits in the kernel; a
 * written byte has been acknowledged, or waits there. Bytes may arrive or be acknowledged between the two queries, so
 * the first query is repeated until nothing has changed.
 */
static int kernel_says(int fd, uint64_t *ret_read, uint64_t *ret_written)
{
	uint64_t received = 0, acked = 0, received_then, acked_then;
	int waits_in, waits_out, r = count(fd, &received, &acked);

	for (int tries = 0; r == 0 && tries < TRIES; tries++) {
		received_then = received;
		acked_then = acked;
		if (ioctl(fd, SIOCINQ, &waits_in) < 0 || ioctl(fd, SIOCOUTQ, &waits_out) < 0)
			return -errno;
		r = count(fd, &received, &acked);
		if (r == 0 && received == received_then && acked == acked_then) {
			*ret_read = received - (uint64_t)waits_in;
			*ret_written = acked + (uint64_t)waits_out;
			return 0;
		}
	}
	return r < 0 ? r : -EAGAIN;
}

static bool fits(const struct peers_line *l, const struct peers_peer *c)
{
	return l->phase <= PEERS_OPEN && l->in_base <= l->done && l->done <= c->in_to &&
	       c->in_to - l->done <= PEERS_RING && l->out_base <= c->sent && c->sent <= l->out_to &&
	       l->out_to - c->sent <= PEERS_RING;
}

static bool adopt(struct peers *p, uint64_t word, int fd)
{
	unsigned i = word & 0xff;
	struct peers_peer *c = &p->peer[i];
	struct peers_line l;

	if (i >= PEERS_MAX || c->fd >= 0)
		return false;
	l = peers_memory_line(&p->memory, i);
	if (!l.id || word_of(i, l.id) != word)
		return false;
	peers_meet(p, i, fd);
	if (kernel_says(fd, &c->in_to, &c->sent) == 0 && fits(&l, c))
		return true;
	c->fd = -1;
	return false;
}

static void adopt_all(struct peers *p, struct keep_set *set)
{
	unsigned n = 0;

	for (unsigned k = FD_FIRST; k < set->n; k++) {
		if (adopt(p, set->word[WORD_FIRST + k - FD_FIRST], set->fd[k]))
			n++;
		else
			fd_close(set->fd[k]);
	}
	for (unsigned i = 0; i < PEERS_MAX; i++) {
		if (p->peer[i].fd < 0 && peers_memory_line(&p->memory, i).id) {
			peers_change(p, i, &(struct peers_line){ 0 });
			peers_memory_forget(&p->memory, i);
		}
	}
	log_info("continuing with %u connections of the previous sim-ss2", n);
}

static bool listens(int fd)
{
	int yes = 0;
	socklen_t len = sizeof(yes);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &len) == 0 && yes;
}

/* Takes ownership of the descriptors of the set. */
static int take_over(struct peers *p, struct keep_set *set)
{
	int r = 0;

	if (set->word[WORD_MAGIC] != MAGIC || set->word[WORD_FDS] != set->n || set->n < FD_FIRST ||
	    !listens(set->fd[1]))
		r = err_set(-EINVAL, "what the previous process has left is not from a sim-ss2");
	if (r == 0)
		r = peers_memory_open(&p->memory, fd_steal(&set->fd[0]));
	if (r == 0) {
		p->listen_fd = set->fd[1];
		p->taken = true;
		adopt_all(p, set);
		peers_keep(p);
		return 0;
	}
	for (unsigned k = 0; k < set->n; k++)
		fd_close(set->fd[k]);
	return r;
}

/* ---- life ---- */

int peers_open(struct peers *p)
{
	struct keep_set set;
	int r;

	*p = (struct peers){ .memory.fd = -1,
			     .listen_fd = -1,
			     .in_hand = -1,
			     .last = PEERS_MAX - 1,
			     .limit = LOG_LIMIT(INT64_C(1000000000), 5) };
	for (unsigned i = 0; i < PEERS_MAX; i++)
		p->peer[i].fd = -1;
	if (!keep_open(&p->keep))
		return peers_memory_open(&p->memory, -1);
	r = keep_look(&p->keep, &set);
	if (r == 1)
		r = take_over(p, &set);
	if (r < 0)
		log_warn("%s; ignoring", err_why());
	if (!p->taken)
		keep_clear(&p->keep);
	return p->taken ? 0 : peers_memory_open(&p->memory, -1);
}

int peers_listen(struct peers *p, const char *bind_to, int port)
{
	if (p->listen_fd >= 0)
		return 0;
	p->listen_fd = listen_at(bind_to, port);
	if (p->listen_fd < 0)
		return p->listen_fd;
	peers_keep(p);
	return 0;
}

void peers_close(struct peers *p)
{
	peers_linger(p);
	for (unsigned i = 0; i < PEERS_MAX; i++)
		p->peer[i].fd = fd_close(p->peer[i].fd);
	p->listen_fd = fd_close(p->listen_fd);
	keep_close(&p->keep);
	peers_memory_close(&p->memory);
}
