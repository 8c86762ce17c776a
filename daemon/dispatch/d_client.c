/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients and their publishers: doorbells in, completions out.
 *
 * A client that does not read its completion socket delays no other client and loses nothing: its messages stay in
 * `owed`, with their credits, so at most a window of them accumulates. At most one packet of records (LANE_BATCH) has
 * its cells freed and is not sent yet.
 *
 * Thread: the dispatch exec's.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dispatch_private.h"
#include "fd.h"
#include "mem.h"

LOG_TOPIC("dispatch");

/* ---- clients ---- */

struct d_client *d_client_find(struct dispatch *d, uint32_t id)
{
	struct d_client *c;

	list_for_each(c, &d->clients[id % D_HASH], hash_link)
		if (c->id == id)
			return c;
	return NULL;
}

static void doorbell_rang(void *arg, uint32_t events)
{
	struct d_client *c = arg;
	struct dispatch *d = c->d;

	(void)events;
	d_turn_begin(d);
	d->n.wakeups++;
	d_turn_end(d);
}

void d_client_add(struct dispatch *d, struct d_client *c)
{
	int r;

	c->d = d;
	if (d_client_find(d, c->id)) {
		log_error("client number %u is taken: ignoring client %s", c->id, c->name);
		d_client_free(c);
		return;
	}
	r = exec_io_add(d->x, &c->doorbell, c->doorbell_fd, EXEC_BELL, doorbell_rang, c);
	if (r < 0) {
		log_error("client %s: cannot watch its doorbell (%s): its messages are found only when other events "
			  "wake dispatch",
			  c->name, strerror(-r));
		/* it still gets its completions: any wake-up of dispatch finds its messages */
	}
	list_append(&d->clients[c->id % D_HASH], &c->hash_link);
}

void d_client_free(struct d_client *c)
{
	exec_io_del(&c->doorbell);
	exec_io_del(&c->writable);
	fd_close(c->completion_fd);
	fd_close(c->doorbell_fd);
	fd_shared_unref(c->counters);
	list_remove(&c->owing_link);
	list_remove(&c->hash_link);
	mem_free(c);
}

/* Drops completions that no client can get any more. */
static void forgive(struct d_client *c)
{
	while (!list_empty(&c->owed)) {
		struct d_message *m = list_first(&c->owed, struct d_message, link);

		list_remove(&m->link);
		d_message_unreported(c->d, m);
	}
}

void d_client_gone(struct dispatch *d, struct d_client *c)
{
	struct d_publisher *p;

	d_lossless_full(c, false);
	list_for_each(p, &c->pubs, client_link)
		d_publisher_close(d, p);
	while (!list_empty(&c->pubs)) {
		p = list_first(&c->pubs, struct d_publisher, client_link);
		list_remove(&p->client_link);
		p->client = NULL;
		p->counters = NULL;
	}
	forgive(c);
	d_client_free(c);
}

/* ---- completions ---- */

void d_client_owe(struct d_client *c, struct d_message *m)
{
	list_append(&c->owed, &m->link);
	if (!c->stuck && list_empty(&c->owing_link))
		list_append(&c->d->owing, &c->owing_link);
}

static void can_write(void *arg, uint32_t events)
{
	struct d_client *c = arg;
	struct dispatch *d = c->d;

	d_turn_begin(d);
	exec_io_del(&c->writable);
	c->stuck = false;
	c->deaf = c->deaf || (events & (EPOLLHUP | EPOLLERR));
	if (list_empty(&c->owing_link))
		list_append(&d->owing, &c->owing_link);
	d_turn_end(d);
}

/* Fills a packet with owed completions; the cells of these messages are free from here on. */
static unsigned fill(struct d_client *c, struct lane_complete rec[LANE_BATCH])
{
	struct d_message *m;
	unsigned n = 0;

	list_for_each(m, &c->owed, link) {
		if (n == LANE_BATCH)
			break;
		if (!m->held)
			credits_free(c->d, m);
		rec[n++] = (struct lane_complete){ .sequence = m->sequence,
						   .publisher_id = m->pub->id,
						   .reason = m->reason };
	}
	return n;
}

static ssize_t send_records(struct d_client *c, struct lane_complete *rec, unsigned n)
{
	struct lane_head head = { .op = LANE_COMPLETE, .count = (uint16_t)n, .length = n * (uint32_t)sizeof(*rec) };
	struct iovec iov[2] = { { &head, sizeof(head) }, { rec, head.length } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	return sendmsg(c->completion_fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* The socket is full: the rest waits. If it cannot be watched (no memory), keep_house() tries again. */
static void wait_for_room(struct d_client *c)
{
	d_lossless_full(c, true);
	c->stuck = exec_io_add(c->d->x, &c->writable, c->completion_fd, EPOLLOUT, can_write, c) >= 0;
}

void d_client_flush(struct d_client *c)
{
	while (!list_empty(&c->owed) && !c->deaf) {
		struct lane_complete rec[LANE_BATCH];
		unsigned n = fill(c, rec);

		if (send_records(c, rec, n) < 0) {
			if (errno == EINTR)
				continue;
			if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) {
				wait_for_room(c);
				return;
			}
			c->deaf = true; /* the close of the control socket will report that */
			break;
		}
		while (n--) {
			struct d_message *m = list_first(&c->owed, struct d_message, link);

			list_remove(&m->link);
			d_message_answered(c->d, m);
		}
	}
	if (c->deaf)
		forgive(c);
	d_lossless_full(c, false);
}

/* ---- publishers ---- */

/* The low bits of all numbers in a shard are equal. */
static uint32_t bucket(uint32_t publisher_id)
{
	return (publisher_id >> WIRE_SHARD_BITS) % D_HASH;
}

struct d_publisher *d_publisher_find(const struct dispatch *d, uint32_t id)
{
	struct d_publisher *p;

	list_for_each(p, &d->pubs[bucket(id)], hash_link)
		if (p->id == id)
			return p;
	return NULL;
}

void d_publisher_add(struct dispatch *d, struct d_publisher *p, uint32_t channel_id, uint32_t client_id)
{
	struct d_channel *ch = d->by_id[channel_id];
	struct d_client *c = d_client_find(d, client_id);

	if (!ch || !c || d_publisher_find(d, p->id)) {
		log_error("publisher %u: %s: ignoring it", p->id,
			  !ch  ? "no such channel"
			  : !c ? "no such client"
			       : "its number is taken");
		mem_free(p);
		return;
	}
	p->ch = ch;
	p->client = c;
	strcpy(p->client_name, c->name);
	p->proved_generation = d->generation; /* it has no claims of an earlier generation */
	list_append(&d->pubs[bucket(p->id)], &p->hash_link);
	list_append(&c->pubs, &p->client_link);
	list_append(&ch->pubs, &p->channel_link);
	d_lossless_count(d, ch);
}

void d_publisher_free(struct d_publisher *p)
{
	list_remove(&p->hash_link);
	list_remove(&p->client_link);
	list_remove(&p->channel_link);
	list_remove(&p->closing_link);
	mem_free(p);
}

/*
 * Whether the channel has other publishers. One of them may have pushed a slot of this publisher out of the queue and
 * still hold it: shortly before the queue reports that it was full, or, if a death has damaged the queue, even if it
 * was not full.
 */
static bool has_company(const struct d_publisher *p)
{
	const struct d_publisher *other;

	list_for_each(other, &p->ch->pubs, channel_link)
		if (other->id != p->id && !other->again)
			return true;
	return false;
}

/*
 * A replaced feed stays connected until RouDi has removed it: slots pushed there meanwhile are not taken, and are freed
 * with it.
 */
static bool may_have_strays(const struct dispatch *d, const struct d_publisher *p)
{
	const struct d_channel *ch = p->ch;

	return ch->n_replaced || has_company(p) ||
	       (ch->replaced_mono_ns && d->now - ch->replaced_mono_ns < D_REPLACED_NS);
}

/* All that it published is in the feed already: once the feed has been found empty, nothing of it can come any more. */
void d_publisher_close(struct dispatch *d, struct d_publisher *p)
{
	if (p->closing)
		return;
	p->closing = true;
	p->drain_mark = p->ch->drains;
	p->strays = may_have_strays(d, p);
	d_rung_look(d, p->ch);
	list_append(&d->closing_pubs, &p->closing_link);
}

void d_publisher_reap(struct dispatch *d)
{
	struct d_publisher *p, *next;
	struct d_channel *ch;

	list_for_each_safe(p, next, &d->closing_pubs, closing_link) {
		if (p->in_flight || (p->ch->feed && p->ch->drains == p->drain_mark))
			continue;
		ch = p->ch;
		credits_sweep(d, ch, p->id);
		d_event_publisher_reaped(d, p);
		d_publisher_free(p);
		d_lossless_count(d, ch);
	}
}
