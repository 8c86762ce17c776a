/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: where conversion runs. Thread: one per lane ("lane.N"): receives a packet, publishes each message in place,
 * answers in batches. An answer should wait for its batch no longer than ANSWER_DUR_NS: the batch is sent before a
 * message of a channel whose last message took longer.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "err.h"
#include "host.h"
#include "log.h"
#include "mem.h"
#include "task.h"
#include "thread.h"
#include "timeutil.h"

LOG_TOPIC("lane");

#define ANSWER_DUR_NS (NS_PER_MS / 2)
#define BATCH         64

struct batch { /* answers not yet sent */
	struct sim_lane_result r[BATCH];
	unsigned n;
	int64_t first_mono_ns;
};

static void batch_send(struct host_lane *l, struct batch *b)
{
	int r = b->n ? sim_lane_done(l->lane, b->r, b->n) : 0;

	if (r < 0)
		log_warn("lane %u: answers could not be sent: %s", l->number, err_text(r));
	b->n = 0;
}

static void batch_add(struct host_lane *l, struct batch *b, struct sim_lane_result res, uint64_t bytes, int64_t now)
{
	struct host *h = l->host;

	if (!b->n)
		b->first_mono_ns = now;
	b->r[b->n++] = res;
	if (res.result == SIM_LANE_NOT_CARRIED)
		atomic_fetch_add(&h->dropped, 1);
	else
		atomic_fetch_add(res.result ? &h->failed : &h->sent, 1);
	if (!res.result)
		atomic_fetch_add(&h->bytes, bytes);
	if (b->n == BATCH || now - b->first_mono_ns > ANSWER_DUR_NS)
		batch_send(l, b);
}

static int publish(struct host_lane *l, struct host_topic *topic, struct sim_task *t, struct batch *b)
{
	if (atomic_load(&l->host->connection.lost))
		return -ENOTCONN;
	if (!topic || !topic->topic)
		return SIM_LANE_NOT_CARRIED;
	if (b->n && atomic_load_explicit(&topic->slow, memory_order_relaxed))
		batch_send(l, b);
	return l->host->plugin->ops->publish(l->host->bridge, topic->topic, &t->message, t);
}

/* Lock-step: publish() with a ticket. The time waited for other lanes does not count as service time. */
static int publish_in_order(struct host_lane *l, struct host_topic *topic, struct sim_task *t,
			    const struct sim_lane_ticket *ticket, struct batch *b)
{
	struct host_order *o = &l->host->order;
	int r;

	order_begin(o, &l->turn, ticket, t);
	if (b->n && !order_is_next(o, &l->turn))
		batch_send(l, b);
	if (!(plugin_flags(l->host->plugin) & SIM_BRIDGE_IN_ORDER))
		order_wait(o, &l->turn);
	r = publish(l, topic, t, b);
	order_pass(o, &l->turn);
	t->start_mono_ns += l->turn.waited_dur_ns;
	return r;
}

/* Passes the ticket of a delivery for which publish() is not called. */
static void pass_by(struct host_lane *l, const struct sim_lane_ticket *ticket)
{
	order_begin(&l->host->order, &l->turn, ticket, NULL);
	order_pass(&l->host->order, &l->turn);
}

static void flush(struct host_lane *l, const struct sim_lane_packet *p)
{
	struct host_order *o = &l->host->order;

	order_begin(o, &l->turn, p->tickets, NULL);
	order_wait(o, &l->turn);
	pthread_mutex_lock(&o->flush_lock);
	host_flush(l->host);
	if (!p->count)
		atomic_store(&o->stepping, false);
	pthread_mutex_unlock(&o->flush_lock);
	order_pass(o, &l->turn);
}

/* Written only on a change: all lanes read it. */
static void note_slow(struct host_topic *t, bool slow)
{
	if (atomic_load_explicit(&t->slow, memory_order_relaxed) != slow)
		atomic_store_explicit(&t->slow, slow, memory_order_relaxed);
}

/* begin_mono_ns: when the delivery begins; returns when it ended. ticket NULL: not in lock-step. */
static int64_t deliver_one(struct host_lane *l, const struct sim_delivery *d, const struct sim_lane_ticket *ticket,
			   int64_t begin_mono_ns, struct batch *b)
{
	struct host_topic *topic = host_topic_find(l->host, d->channel_id);
	uint64_t bytes = d->message.body_size;
	struct sim_task *t = task_get(l, d, begin_mono_ns);
	struct sim_lane_result res = { .id = d->id, .result = -ENOBUFS };
	int64_t now;
	int r = 0;

	if (t)
		r = ticket ? publish_in_order(l, topic, t, ticket, b) : publish(l, topic, t, b);
	else if (ticket)
		pass_by(l, ticket);
	now = mono_now_ns();
	if (topic)
		note_slow(topic, now - begin_mono_ns > ANSWER_DUR_NS);
	if (!t || task_returned(t, r, now, &res))
		batch_add(l, b, res, bytes, now);
	return now;
}

static void deliver(struct host_lane *l, const struct sim_lane_packet *p)
{
	struct batch b = { 0 };
	int64_t now = mono_now_ns();

	atomic_store(&l->inside, true); /* must precede the check of `lost`: see host_connection_step() */
	for (unsigned i = 0; i < p->count; i++) {
		const struct sim_lane_ticket *ticket = p->tickets ? &p->tickets[i] : NULL;

		if (ticket && !p->deliveries[i].message.body)
			pass_by(l, ticket);
		else
			now = deliver_one(l, &p->deliveries[i], ticket, now, &b);
	}
	atomic_store(&l->inside, false);
	batch_send(l, &b);
}

static void further_lane(struct host_lane *l, struct sim_lane *lane)
{
	int r = host_lane_start(l->host, lane, false);

	if (r < 0) {
		log_error("a further lane cannot be started: %s", err_why());
		order_row_ends(&l->host->order, true);
		sim_lane_destroy(lane);
	}
}

static bool handle(struct host_lane *l, struct sim_lane_packet *p)
{
	switch (p->event) {
	case SIM_LANE_DELIVER:
		deliver(l, p);
		return true;
	case SIM_LANE_CHANNEL:
		host_topic_announce(l->host, l->lane, p->text);
		return true;
	case SIM_LANE_OPEN:
		further_lane(l, p->lane);
		return true;
	case SIM_LANE_CONNECT:
		host_connect(l->host, p->text);
		return true;
	case SIM_LANE_DISCONNECT:
		host_disconnect(l->host);
		return true;
	case SIM_LANE_FLUSH:
		flush(l, p);
		return true;
	case SIM_LANE_CLOSE:
	case SIM_LANE_GONE:
		return false;
	}
	return false;
}

static void leave(struct host_lane *l)
{
	struct host *h = l->host;

	if (l->first) {
		pthread_mutex_lock(&h->lanes_lock);
		h->lane0 = NULL;
		pthread_mutex_unlock(&h->lanes_lock);
		atomic_store(&h->gone, true);
	} else {
		atomic_store(&l->ended, true);
	}
	host_wake(h);
}

static void *lane_main(void *arg)
{
	struct host_lane *l = arg;
	struct sim_lane_packet *p = MEM_NEW(struct sim_lane_packet);
	int r = p ? 0 : err_nomem();

	while (p && (r = sim_lane_recv(l->lane, -1, p)) >= 0)
		if (r > 0 && !handle(l, p))
			break;
	if (r < 0)
		log_at(r == -EPIPE ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, "lane %u ends: %s", l->number, sim_why());
	if (r < 0 || p->event != SIM_LANE_CLOSE)
		order_row_ends(&l->host->order, r < 0);
	mem_free(p);
	leave(l);
	return NULL;
}

int host_lane_start(struct host *h, struct sim_lane *lane, bool first)
{
	struct host_lane *l = MEM_NEW(struct host_lane);
	char name[16];
	int r;

	if (!l)
		return err_nomem();
	l->host = h;
	l->lane = lane;
	l->first = first;
	pthread_mutex_init(&l->lock, NULL);
	order_turn_init(&l->turn);
	list_init(&l->free);
	for (unsigned i = 0; i < LANE_TASKS; i++)
		list_append(&l->free, &l->tasks[i].link);
	pthread_mutex_lock(&h->lanes_lock);
	l->number = h->next_lane++;
	list_append(&h->lanes, &l->link);
	if (first)
		h->lane0 = lane;
	snprintf(name, sizeof(name), "lane.%u", l->number);
	r = thread_start(&l->thread, name, lane_main, l);
	if (r < 0) {
		list_remove(&l->link);
		h->lane0 = first ? NULL : h->lane0;
	}
	pthread_mutex_unlock(&h->lanes_lock);
	if (!r)
		return 0;
	pthread_mutex_destroy(&l->lock);
	order_turn_finish(&l->turn);
	mem_free(l);
	return err_sys(r, "a lane's thread cannot be started");
}

/* Returns the next lane whose thread is not joined yet, or NULL. */
static struct host_lane *next_running(struct host *h)
{
	struct host_lane *found = NULL;

	pthread_mutex_lock(&h->lanes_lock);
	for (struct list *i = h->lanes.next; i != &h->lanes && !found; i = i->next) {
		struct host_lane *l = container_of(i, struct host_lane, link);

		if (!l->joined)
			found = l;
	}
	if (found)
		found->joined = true;
	pthread_mutex_unlock(&h->lanes_lock);
	return found;
}

void host_lanes_join(struct host *h)
{
	struct host_lane *l;

	while ((l = next_running(h))) {
		shutdown(sim_lane_fd(l->lane), SHUT_RD); /* what is queued is still published and answered */
		pthread_join(l->thread, NULL);
	}
}

void host_lanes_drain(struct host *h)
{
	struct sim_lane *lane0;

	pthread_mutex_lock(&h->lanes_lock);
	lane0 = h->lane0;
	if (lane0)
		sim_lane_status(lane0, SIM_BRIDGE_DISCONNECTING, atomic_load(&h->sent), atomic_load(&h->failed),
				atomic_load(&h->dropped), atomic_load(&h->bytes), "");
	pthread_mutex_unlock(&h->lanes_lock);
	host_lanes_join(h);
	pthread_mutex_lock(&h->lanes_lock);
	h->lane0 = lane0; /* lane 0 exists until the end: the final status is sent on it */
	pthread_mutex_unlock(&h->lanes_lock);
}

static void lane_free(struct host_lane *l)
{
	sim_lane_destroy(l->lane);
	pthread_mutex_destroy(&l->lock);
	order_turn_finish(&l->turn);
	mem_free(l);
}

void host_lanes_free(struct host *h)
{
	while (!list_empty(&h->lanes)) {
		struct host_lane *l = container_of(h->lanes.next, struct host_lane, link);

		list_remove(&l->link);
		lane_free(l);
	}
}

/* Unlists and returns a lane that has ended and has no pending task, or NULL. */
static struct host_lane *take_ended(struct host *h)
{
	struct host_lane *l, *found = NULL;

	pthread_mutex_lock(&h->lanes_lock);
	list_for_each(l, &h->lanes, link)
		if (atomic_load(&l->ended) && !atomic_load(&l->pending)) {
			found = l;
			break;
		}
	if (found)
		list_remove(&found->link);
	pthread_mutex_unlock(&h->lanes_lock);
	return found;
}

void host_lanes_reap(struct host *h)
{
	struct host_lane *l;

	while ((l = take_ended(h))) {
		pthread_join(l->thread, NULL);
		lane_free(l);
	}
}
