/* SPDX-License-Identifier: Apache-2.0 */
/* Service calls and clock events as channels; contract in journal.h. Thread: simd-main. */
#include "journal.h"

#include "channel.h"
#include "client.h"
#include "err.h"
#include "ipc.h"
#include "log.h"
#include "mem.h"
#include "pubsub.h"
#include "simd.h"
#include "timeutil.h"

#include <errno.h>
#include <sim/clock_page.h>
#include <sim/introspect.h>
#include <sim/msg/ClockEvent.h>
#include <sim/msg/ServiceCall.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

LOG_TOPIC("journal");

#define RETRY_DUR_NS (NS_PER_S / 5)
#define BODY_MAX     (132 * 1024) /* of a call: request and response of 64 KiB each, and names */

struct line {
	struct publisher *pub; /* NULL: no subscribers */
	struct ipc_pub *port;  /* NULL: no subscribers, or no generation */
};

struct journal {
	struct simd *s;
	struct client *self;
	const struct sim_clock_page *page;
	struct line lines[JOURNAL_CHANNELS];
	struct exec_timer look; /* next check for subscribers, and retry after a failure */
	struct log_limit limit;
};

static const struct {
	const char *channel, *type;
	int64_t max_body;
} about[JOURNAL_CHANNELS] = {
	[JOURNAL_CALLS] = { JOURNAL_CALLS_CHANNEL, "sim/ServiceCall", BODY_MAX },
	[JOURNAL_CLOCK] = { JOURNAL_CLOCK_CHANNEL, "sim/ClockEvent", 512 },
};

/* ---- the channels ---- */

static json_t *type_json(const char *name)
{
	const struct sim_type *type = sim_type_builtin(name);
	json_t *j = NULL;
	char *text;

	if (type && sim_type_to_json(type, &text) == 0) {
		j = json_loads(text, 0, NULL);
		free(text);
	}
	return j;
}

/* Limited to the largest slot of the pools; larger messages are dropped then. */
static int64_t body_of(const struct pools *p, int i)
{
	int64_t largest = p->n ? (int64_t)p->c[p->n - 1].size - POOL_SLOT_ALIGN - (int64_t)sizeof(struct sim_slot) : 0;

	return about[i].max_body < largest ? about[i].max_body : largest;
}

static int advertise(struct journal *j, int i)
{
	struct advertise a = { .channel = about[i].channel,
			       .max_body = body_of(&j->s->pools, i),
			       .flags = ADVERTISE_LOCAL };
	int r, bell;

	a.type = type_json(about[i].type);
	if (!a.type)
		return err_set(-ENOENT, "the type %s is not built in", about[i].type);
	r = pubsub_advertise(j->self, &a, &j->lines[i].pub, &bell);
	json_decref(a.type);
	return r;
}

static int make_port(struct journal *j, int i)
{
	struct ipc_pub_options o = { .history = 0 };
	int r = ipc_pub_create(j->s->dataplane.ipc, about[i].channel, &o, &j->lines[i].port);

	return r < 0 ? err_set(r, "%s", *ipc_why() ? ipc_why() : err_text(r)) : 0;
}

static void line_open(struct journal *j, int i)
{
	struct line *l = &j->lines[i];
	int r = l->pub ? 0 : advertise(j, i);

	if (r == 0 && !l->port)
		r = make_port(j, i);
	if (r == 0)
		return;
	exec_timer_at(&j->look, exec_now(j->s->x) + RETRY_DUR_NS);
	if (r != -EAGAIN)
		log_limited(&j->limit, exec_now(j->s->x), LOG_LEVEL_WARN, "simd cannot publish %s, trying again: %s",
			    about[i].channel, err_why());
}

static void line_close(struct journal *j, int i)
{
	struct line *l = &j->lines[i];

	ipc_pub_destroy(l->port);
	l->port = NULL;
	if (l->pub)
		(void)pubsub_unadvertise(j->self, l->pub->id);
	l->pub = NULL;
}

static void on_look(void *arg)
{
	struct journal *j = (struct journal *)arg;

	for (int i = 0; i < JOURNAL_CHANNELS; i++) {
		const struct channel *ch = channel_find(j->s, about[i].channel);

		if (!ch || ch->n_subscribers == 0)
			line_close(j, i);
		else if (j->s->dataplane.ready)
			line_open(j, i);
	}
}

/*
 * Opens the channel before its first subscriber, whose queue can then be as deep as slots of that size allow. Closing
 * is left to the timer, because the last subscriber leaves inside other calls.
 */
static void on_subscribers(struct simd *s, const struct channel *ch, bool comes)
{
	struct journal *j = s->journal;

	for (int i = 0; i < JOURNAL_CHANNELS; i++) {
		if (strcmp(ch->name, about[i].channel) != 0)
			continue;
		if (comes)
			line_open(j, i);
		exec_timer_at(&j->look, exec_now(s->x) + (comes ? RETRY_DUR_NS : 0));
		return;
	}
}

/* ---- messages ---- */

/* Loans a slot with the body behind the header. NULL: not published; a failed loan is counted as dropped. */
static struct sim_slot *begin(const struct line *l, size_t body_max)
{
	void *slot;

	if (!l->port)
		return NULL;
	if (body_max > l->pub->max_body || ipc_loan(l->port, sizeof(struct sim_slot) + body_max, &slot) < 0) {
		atomic_fetch_add_explicit(&l->pub->counters->dropped[SIM_REASON_POOL], 1, memory_order_relaxed);
		return NULL;
	}
	memset(slot, 0, sizeof(struct sim_slot));
	return slot;
}

static void fill_header(const struct journal *j, const struct line *l, struct sim_slot *slot, uint64_t type_hash,
			size_t body_size)
{
	struct sim_clock_sample now = { 0 };

	(void)!sim_clock_read(j->page, &now);
	slot->magic = SIM_SLOT_MAGIC;
	slot->version = SIM_SLOT_VERSION;
	slot->type_hash = type_hash;
	slot->channel_id = l->pub->ch->id;
	slot->publisher_id = l->pub->id;
	slot->sequence = atomic_load_explicit(&l->pub->counters->messages, memory_order_relaxed) + 1;
	slot->stamp_sim_ns = now.sim_ns;
	slot->publish_mono_ns = exec_now(j->s->x);
	slot->iox_generation = j->s->dataplane.generation;
	slot->clock_generation = now.clock_generation;
	slot->body_size = body_size;
}

static void publish(struct journal *j, const struct line *l, struct sim_slot *slot, uint64_t type_hash,
		    const struct sim_builder *b)
{
	struct wire_counters *row = l->pub->counters;
	int64_t stamp_sim_ns, at_mono_ns;

	fill_header(j, l, slot, type_hash, sim_builder_size(b));
	stamp_sim_ns = slot->stamp_sim_ns;
	at_mono_ns = slot->publish_mono_ns;
	if (sim_builder_error(b) < 0 || ipc_publish(l->port, slot) < 0) {
		ipc_unloan(l->port, slot);
		atomic_fetch_add_explicit(&row->dropped[SIM_REASON_INVALID], 1, memory_order_relaxed);
		return;
	}
	atomic_fetch_add_explicit(&row->messages, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&row->bytes, sim_builder_size(b), memory_order_relaxed);
	atomic_store_explicit(&row->last_mono_ns, (uint64_t)at_mono_ns, memory_order_relaxed);
	atomic_store_explicit(&row->last_stamp_sim_ns, (uint64_t)stamp_sim_ns, memory_order_relaxed);
}

bool journal_wanted(const struct simd *s, enum journal_channel channel)
{
	return s->journal && s->journal->lines[channel].port;
}

int64_t journal_now(const struct simd *s)
{
	struct sim_clock_sample now = { 0 };

	if (s->journal)
		(void)!sim_clock_read(s->journal->page, &now);
	return now.sim_ns;
}

void journal_put_call(struct simd *s, const struct journal_call *c)
{
	size_t size = sim_ServiceCall_size(strlen(c->service), strlen(c->type), strlen(c->provider), strlen(c->caller),
					   strlen(c->request), strlen(c->response), strlen(c->why));
	struct journal *j = s->journal;
	const struct line *l = &j->lines[JOURNAL_CALLS];
	struct sim_slot *slot = begin(l, size);
	struct sim_ServiceCall *m;
	struct sim_builder b;

	if (!slot)
		return;
	m = sim_ServiceCall_init(sim_slot_body_mut(slot), size, &b);
	m->called = c->called_sim_ns;
	m->took = journal_now(s) - c->called_sim_ns;
	m->took_wall = c->took_wall_dur_ns;
	m->result = c->result;
	(void)!sim_ServiceCall_service_set(&b, c->service);
	(void)!sim_ServiceCall_service_type_set(&b, c->type);
	(void)!sim_ServiceCall_provider_set(&b, c->provider);
	(void)!sim_ServiceCall_caller_set(&b, c->caller);
	(void)!sim_ServiceCall_request_set(&b, c->request);
	(void)!sim_ServiceCall_response_set(&b, c->response);
	(void)!sim_ServiceCall_why_set(&b, c->why);
	publish(j, l, slot, SIM_SERVICE_CALL_HASH, &b);
}

void journal_put_clock(struct simd *s, const struct journal_clock *c)
{
	size_t size = sim_ClockEvent_size(strlen(c->source), strlen(c->driver));
	struct journal *j = s->journal;
	const struct line *l = &j->lines[JOURNAL_CLOCK];
	struct sim_slot *slot = begin(l, size);
	struct sim_ClockEvent *m;
	struct sim_builder b;

	if (!slot)
		return;
	m = sim_ClockEvent_init(sim_slot_body_mut(slot), size, &b);
	m->from = c->from_sim_ns;
	m->to = c->to_sim_ns;
	m->scale = c->scale;
	m->generation = c->generation;
	m->kind = c->kind;
	(void)!sim_ClockEvent_source_set(&b, c->source);
	(void)!sim_ClockEvent_driver_set(&b, c->driver);
	publish(j, l, slot, SIM_CLOCK_EVENT_HASH, &b);
}

/* ---- making ---- */

int journal_create(struct simd *s, struct client *self, const struct sim_clock_page *page)
{
	struct journal *j = MEM_NEW(struct journal);

	if (!j)
		return err_nomem();
	j->s = s;
	j->self = self;
	j->page = page;
	j->limit = (struct log_limit)LOG_LIMIT(60 * NS_PER_S, 2);
	exec_timer_init(&j->look, s->x, on_look, j);
	s->journal = j;
	s->subscribers_changed = on_subscribers;
	return 0;
}

void journal_destroy(struct simd *s)
{
	struct journal *j = s->journal;

	if (!j)
		return;
	for (int i = 0; i < JOURNAL_CHANNELS; i++)
		line_close(j, i);
	exec_timer_cancel(&j->look);
	s->journal = NULL;
	s->subscribers_changed = NULL;
	mem_free(j);
}

void journal_dataplane_up(struct simd *s)
{
	on_look(s->journal);
}

void journal_dataplane_lost(struct simd *s)
{
	struct journal *j = s->journal;

	for (int i = 0; j && i < JOURNAL_CHANNELS; i++) {
		ipc_pub_destroy(j->lines[i].port);
		j->lines[i].port = NULL;
	}
}
