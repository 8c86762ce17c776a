/* SPDX-License-Identifier: Apache-2.0 */
/* See exchange.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sim/subscriber.h>

#include "again.h"
#include "exchange.h"
#include "link_time.h"
#include "step_inbox.h"

#define QUEUE        64u                 /* messages of a channel per step, like the window of a channel */
#define CONNECTS_NS  INT64_C(200000000)  /* after this time a subscriber is assumed to receive all messages */
#define FIRST_DUR_NS INT64_C(1000000000) /* for a channel of which no message was received yet */
#define LOOK_NS      INT64_C(100000000)

struct link_exchange {
	pthread_mutex_t lock;
	pthread_cond_t came;
	bool on, expects;
	struct step_inbox *inbox;
	struct listened {
		uint64_t channel;
		const struct link_import *import;
	} listened[LINK_IMPORTS_MAX];
	unsigned n_listened;
	struct limit lines;
};

struct held {
	struct link_import *import;
	struct blob_in in;
};

int link_exchange_open(struct sim_bridge *b)
{
	struct link_exchange *x = calloc(1, sizeof(*x));
	pthread_condattr_t attr;

	if (!x || step_inbox_create(&x->inbox) < 0) {
		free(x);
		return -ENOMEM;
	}
	pthread_mutex_init(&x->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&x->came, &attr);
	pthread_condattr_destroy(&attr);
	b->exchange = x;
	return 0;
}

void link_exchange_close(struct sim_bridge *b)
{
	struct link_exchange *x = b->exchange;

	if (!x)
		return;
	step_inbox_destroy(x->inbox);
	pthread_cond_destroy(&x->came);
	pthread_mutex_destroy(&x->lock);
	free(x);
	b->exchange = NULL;
}

int32_t link_exchange_depth(const struct sim_bridge *b)
{
	bool steps = b->time && b->time->role != LINK_TIME_OFF;

	return (int32_t)(steps && b->depth < (long)QUEUE ? QUEUE : b->depth);
}

/* ---- sending ---- */

/* Caller holds link_early::lock. */
static struct link_early_publisher *publisher_of(struct link_early *e, uint32_t id)
{
	for (unsigned i = 0; i < e->n; i++)
		if (e->of[i].id == id)
			return &e->of[i];
	if (e->n == LINK_EARLY_PUBLISHERS_MAX)
		return NULL;
	e->of[e->n] = (struct link_early_publisher){ .id = id };
	return &e->of[e->n++];
}

bool link_exchange_sent(struct sim_bridge_topic *t, const struct sim_slot *header)
{
	struct link_early *e = &t->early;
	struct link_early_publisher *p;
	bool sent;

	if (!atomic_load(&e->on))
		return false;
	pthread_mutex_lock(&e->lock);
	p = publisher_of(e, header->publisher_id);
	sent = p && header->sequence <= p->early;
	if (p && !sent && header->sequence > p->dispatched)
		p->dispatched = header->sequence;
	pthread_mutex_unlock(&e->lock);
	return sent;
}

/*
 * Large channels and those that may lose messages are not part of a step. A topic that had a reader stays included: the
 * reader may come back.
 */
static bool goes_early(const struct sim_bridge_topic *t)
{
	return t->writer > 0 && t->reliable && !t->confirm && t->max_body <= BLOB_COPIED_MAX &&
	       (t->keep || t->early.sub || atomic_load(&t->readers) > 0);
}

static void subscribe(struct sim_bridge *b, struct sim_client *c, struct sim_bridge_topic *t)
{
	const struct sim_subscriber_options o = { .size = sizeof(o), .depth = QUEUE };

	if (sim_subscribe(c, t->name, t->type, &o, &t->early.sub) < 0) {
		t->early.sub = NULL;
		if (limit_allows(&b->exchange->lines))
			log_warn(b, "%s: it is not sent to other machines within a step: %s", t->name, sim_why());
		return;
	}
	t->early.since_mono_ns = mono_now_ns();
	atomic_store(&t->early.on, true);
}

void link_exchange_unsubscribe(struct sim_bridge_topic *t)
{
	sim_subscriber_destroy(t->early.sub);
	t->early.sub = NULL;
	atomic_store(&t->early.on, false);
}

void link_exchange_stop(struct sim_bridge *b)
{
	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->n_exports; i++)
		link_exchange_unsubscribe(b->exports[i]);
	pthread_mutex_unlock(&b->lock);
}

static void say_who_listens(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	int readers = atomic_load(&t->readers);

	if (readers != t->early.told && readers > 0)
		log_info(b, "lock-step: %s is part of the steps of other machines: %d listen", t->name, readers);
	t->early.told = readers;
}

void link_exchange_prepare(struct sim_bridge *b, struct sim_client *c)
{
	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->n_exports; i++) {
		struct sim_bridge_topic *t = b->exports[i];

		if (!t->early.sub && goes_early(t)) {
			subscribe(b, c, t);
		} else if (t->early.sub && mono_now_ns() > t->early.since_mono_ns + CONNECTS_NS) {
			say_who_listens(b, t);
		}
	}
	pthread_mutex_unlock(&b->lock);
}

/* Each message is sent once: here, or when it is dispatched. */
static bool is_ours_to_send(struct link_early *e, const struct sim_slot *h)
{
	struct link_early_publisher *p;

	if (!(h->flags & SIM_SLOT_DISPATCH) || h->origin_host || h->publish_mono_ns < e->since_mono_ns ||
	    h->body_size > BLOB_COPIED_MAX)
		return false;
	p = publisher_of(e, h->publisher_id);
	if (!p || h->sequence <= p->dispatched)
		return false;
	p->early = h->sequence;
	return true;
}

static bool send_topic(struct sim_bridge *b, struct sim_bridge_topic *t, uint64_t host, uint64_t step)
{
	struct link_early *e = &t->early;
	uint64_t before = e->number;
	const struct sim_message *m;

	link_again_send(b, t);
	while (sim_take(e->sub, &m) == 0) {
		bool ours;

		pthread_mutex_lock(&e->lock);
		ours = is_ours_to_send(e, &m->header);
		pthread_mutex_unlock(&e->lock);
		if (ours) {
			struct blob_out o = { .head = link_head(b, &m->header, m->body_size), .body = m->body };

			o.head.exporter = host;
			o.head.number = ++e->number;
			o.head.step = step;
			atomic_fetch_add(&b->sent, 1);
			if (dds_write(t->writer, &o) < 0 && limit_allows(&b->exchange->lines))
				log_warn(b, "%s: a message is not sent", t->name);
			link_again_keep(b, t, &o);
		}
		(void)sim_release(e->sub, m);
	}
	return e->number != before;
}

uint32_t link_exchange_send(struct sim_bridge *b, uint64_t host, uint64_t step, struct step_export *ret)
{
	uint32_t n = 0;

	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->n_exports && n < STEP_EXPORTS_MAX; i++) {
		struct sim_bridge_topic *t = b->exports[i];

		if (t->early.sub && goes_early(t) && send_topic(b, t, host, step))
			ret[n++] = (struct step_export){ host, link_hash(t->name), t->early.number };
	}
	pthread_mutex_unlock(&b->lock);
	return n;
}

void link_exchange_again(struct sim_bridge *b)
{
	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->n_exports; i++)
		link_again_send(b, b->exports[i]);
	pthread_mutex_unlock(&b->lock);
}

void link_exchange_through(struct sim_bridge *b, uint64_t up_to)
{
	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->n_exports; i++)
		link_again_drop(b, b->exports[i], up_to);
	pthread_mutex_unlock(&b->lock);
}

void link_exchange_forget(struct sim_bridge_topic *t)
{
	pthread_mutex_lock(&t->bridge->lock);
	link_again_drop(t->bridge, t, UINT64_MAX);
	pthread_mutex_unlock(&t->bridge->lock);
}

/* ---- receiving ---- */

/* Caller holds link_exchange::lock. */
static void publish_held(struct held *h)
{
	link_import_publish(h->import, &h->in);
	free(h->in.body);
	free(h);
}

static void publish_up_to(struct link_exchange *x, uint64_t step)
{
	struct held *h;

	while ((h = step_inbox_take(x->inbox, step)))
		publish_held(h);
}

void link_exchange_begin(struct sim_bridge *b, uint64_t settled)
{
	struct link_exchange *x = b->exchange;

	pthread_mutex_lock(&x->lock);
	publish_up_to(x, settled);
	x->on = true;
	step_inbox_begin(x->inbox, settled);
	pthread_mutex_unlock(&x->lock);
}

void link_exchange_expect(struct sim_bridge *b, bool on)
{
	struct link_exchange *x = b->exchange;

	pthread_mutex_lock(&x->lock);
	if (!on && !x->on)
		publish_up_to(x, UINT64_MAX);
	x->expects = on;
	pthread_mutex_unlock(&x->lock);
}

void link_exchange_end(struct sim_bridge *b)
{
	struct link_exchange *x = b->exchange;

	link_exchange_through(b, UINT64_MAX);
	pthread_mutex_lock(&x->lock);
	publish_up_to(x, UINT64_MAX);
	x->on = false;
	step_inbox_begin(x->inbox, 0);
	pthread_cond_broadcast(&x->came);
	pthread_mutex_unlock(&x->lock);
}

bool link_exchange_hold(struct sim_bridge *b, struct link_import *i, struct blob_in *in)
{
	struct link_exchange *x = b->exchange;
	struct held *h = in->head.step && in->r == 0 && !in->placed ? malloc(sizeof(*h)) : NULL;
	struct step_item item = { .step = in->head.step,
				  .key = { i->name, in->head.exporter, in->head.number },
				  .channel = link_hash(i->name),
				  .what = h };
	bool holds, had;

	if (!h)
		return false;
	*h = (struct held){ i, *in };
	pthread_mutex_lock(&x->lock);
	had = in->head.flags & BLOB_AGAIN && ((!x->on && !x->expects) || step_inbox_had(x->inbox, &item));
	holds = !had && (x->on || x->expects) && step_inbox_got(x->inbox, &item);
	pthread_cond_broadcast(&x->came);
	pthread_mutex_unlock(&x->lock);
	if (!holds)
		free(h);
	if (had)
		free(in->body);
	if (holds || had)
		in->body = NULL;
	return holds || had;
}

void link_exchange_listen(struct sim_bridge *b, struct link_import *i, bool on)
{
	struct link_exchange *x = b->exchange;
	struct held *h;

	pthread_mutex_lock(&x->lock);
	for (unsigned k = 0; k < x->n_listened; k++)
		if (x->listened[k].import == i)
			x->listened[k--] = x->listened[--x->n_listened];
	if (on && x->n_listened < LINK_IMPORTS_MAX)
		x->listened[x->n_listened++] = (struct listened){ link_hash(i->name), i };
	while (!on && (h = step_inbox_take_of(x->inbox, i->name))) {
		free(h->in.body);
		free(h);
	}
	pthread_cond_broadcast(&x->came);
	pthread_mutex_unlock(&x->lock);
}

static const struct link_import *listened(const struct link_exchange *x, uint64_t channel)
{
	for (unsigned k = 0; k < x->n_listened; k++)
		if (x->listened[k].channel == channel)
			return x->listened[k].import;
	return NULL;
}

void link_exchange_need(struct sim_bridge *b, uint64_t host, uint64_t step, const struct step_export *exports,
			uint32_t n)
{
	struct link_exchange *x = b->exchange;

	pthread_mutex_lock(&x->lock);
	for (uint32_t i = 0; i < n; i++)
		if (exports[i].host != host && listened(x, exports[i].channel))
			step_inbox_need(x->inbox, &(struct step_need){ step, exports[i].host, exports[i].channel,
								       exports[i].last });
	pthread_mutex_unlock(&x->lock);
}

/* Waits until all messages are here that have a listener, or the deadline is over. Caller holds link_exchange::lock. */
static void await_all(struct sim_bridge *b, uint64_t up_to, int64_t deadline_dur_ns, const _Atomic bool *stop)
{
	struct link_exchange *x = b->exchange;
	int64_t start = mono_now_ns();
	struct step_need what;
	bool ever;

	while (x->on && !atomic_load(stop) && step_inbox_missing(x->inbox, up_to, &what, &ever)) {
		int64_t most = ever || deadline_dur_ns < FIRST_DUR_NS ? deadline_dur_ns : FIRST_DUR_NS;
		int64_t now = mono_now_ns(), until = now + LOOK_NS < start + most ? now + LOOK_NS : start + most;
		struct timespec at = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };
		const struct link_import *i = listened(x, what.channel);

		if (i && now < start + most) {
			pthread_cond_timedwait(&x->came, &x->lock, &at);
			continue;
		}
		if (i && limit_allows(&x->lines))
			log_warn(b, "lock-step: %s: not all messages of another machine in step %llu have arrived",
				 i->name, (unsigned long long)what.step);
		step_inbox_give_up(x->inbox, &what);
	}
}

void link_exchange_settle(struct sim_bridge *b, uint64_t up_to, int64_t deadline_dur_ns, const _Atomic bool *stop)
{
	struct link_exchange *x = b->exchange;

	pthread_mutex_lock(&x->lock);
	await_all(b, up_to, deadline_dur_ns, stop);
	publish_up_to(x, up_to);
	step_inbox_settled(x->inbox, up_to);
	pthread_mutex_unlock(&x->lock);
}
