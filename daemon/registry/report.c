/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics as JSON; contract in report.h. Thread: simd-main; what dispatch knows is asked of its thread. */
#include "report.h"

#include "bridge.h"
#include "channel.h"
#include "client.h"
#include "err.h"
#include "jsonx.h"
#include "mem.h"
#include "rate.h"
#include "rig.h"
#include "shards.h"
#include "simd.h"
#include "slot_reclaim.h"

#include "dispatch.h"
#include "histogram.h"
#include "pool.h"

#include <stdio.h>
#include <string.h>

struct question;
typedef json_t *(*make_fn)(const struct question *q, const struct dispatch_stats *st);

struct question {
	struct simd *s;
	make_fn make;
	report_fn fn;
	void *arg;
	char channel[CHANNEL_NAME_MAX + 1]; /* the requested channel; "": all */
	json_t *stages;                     /* of that channel; NULL: not requested */
};

static void question_free(struct question *q)
{
	json_decref(q->stages);
	mem_free(q);
}

static void on_stats(void *arg, const struct dispatch_stats *st)
{
	struct question *q = (struct question *)arg;
	int64_t begin = exec_now(q->s->x);

	q->fn(q->arg, st ? q->make(q, st) : NULL, begin);
	question_free(q);
}

/* {"reason": count, ...} without the zeros. New reference. */
static json_t *report_drops(const struct totals *t)
{
	json_t *o = json_object();

	for (unsigned i = 1; i < SIM_REASON_COUNT; i++) {
		if (t->dropped[i])
			json_object_set_new(o, sim_reason_name((enum sim_reason)i),
					    json_integer((json_int_t)t->dropped[i]));
	}
	return o;
}

/* ---- channels ---- */

static const struct dispatch_channel_stats *channel_stats(const struct dispatch_stats *st, const struct channel *ch)
{
	static const struct dispatch_channel_stats nothing;

	for (uint32_t i = 0; ch->open && i < st->n_channels; i++) {
		if (st->channels[i].id == ch->id)
			return &st->channels[i];
	}
	return &nothing;
}

/*
 * Clients count refusals and the false completions that they received; simd counts failures of accepted messages, and
 * those that it could report to no client any more. So the true number is at least as high as each. Messages that no
 * bridge carries are not lost.
 */
static void count_lost(const struct totals *t, const struct dispatch_channel_stats *c, struct totals *ret)
{
	*ret = *t;
	for (unsigned i = 0; i < SIM_REASON_COUNT; i++) {
		ret->dropped[i] += c->unreported[i];
		if (ret->dropped[i] < c->failed[i])
			ret->dropped[i] = c->failed[i];
	}
	ret->dropped[SIM_REASON_NO_BRIDGE] = 0;
}

static uint64_t failed(const struct dispatch_channel_stats *c)
{
	uint64_t n = 0;

	for (unsigned i = 1; i < SIM_REASON_COUNT; i++)
		n += i == SIM_REASON_NO_BRIDGE ? 0 : c->failed[i];
	return n;
}

static json_t *endpoint(const struct client *cl)
{
	return client_endpoint_json(cl->id, cl->name, cl->pid, cl->uid);
}

static json_t *age_json(const struct totals *t, int64_t now_mono_ns)
{
	if (!t->last_mono_ns)
		return json_null();
	return json_integer(now_mono_ns > (int64_t)t->last_mono_ns ? (now_mono_ns - (int64_t)t->last_mono_ns) / 1000000
								   : 0);
}

static void add_host(json_t *hosts, const char *host)
{
	json_t *h;
	size_t i;

	if (!*host)
		return;
	json_array_foreach(hosts, i, h)
		if (!strcmp(json_string_value(h), host))
			return;
	json_array_append_new(hosts, json_string(host));
}

static json_t *channel_json(const struct channel *ch, const struct dispatch_stats *st)
{
	const struct dispatch_channel_stats *c = channel_stats(st, ch);
	json_t *pubs = json_array(), *subs = json_array(), *hosts = json_array();
	int64_t now = exec_now(ch->s->x);
	const struct publisher *p;
	const struct subscriber *sub;
	struct totals t, lost;
	double hz, bps;

	list_for_each(p, &ch->publishers, in_channel) {
		json_t *e = endpoint(p->cl);

		if (*p->host)
			json_object_set_new(e, "host", json_string(p->host));
		json_array_append_new(pubs, e);
		add_host(hosts, p->host);
	}
	list_for_each(sub, &ch->subscribers, in_channel)
		json_array_append_new(subs, endpoint(sub->cl));
	channel_totals(ch, &t);
	count_lost(&t, c, &lost);
	rate_get(&ch->rate, now, t.messages, t.bytes, &hz, &bps);
	return JSONX_MAKE(JX_INT("id", ch->id), JX_STR("name", ch->name), JX_STR("type", ch->type),
			  JX_STR("hash", ch->hash), JX_STR("rig", ch->rig ? ch->rig->name : ""),
			  JX_INT("window", ch->window), JX_INT("slot_size", ch->slot_size),
			  JX_INT("max_body", ch->max_body), JX_REAL("hz", hz), JX_REAL("bytes_per_s", bps),
			  JX_NEW("age_ms", age_json(&t, now)), JX_INT("messages", t.messages), JX_INT("bytes", t.bytes),
			  JX_NEW("drops", report_drops(&lost)),
			  JX_INT("local", t.messages > t.accepted ? t.messages - t.accepted : 0),
			  JX_INT("delivered", c->completed), JX_INT("failed", failed(c)),
			  JX_INT("no_bridge", c->failed[SIM_REASON_NO_BRIDGE]), JX_INT("in_flight", c->in_flight),
			  JX_NEW("publishers", pubs), JX_NEW("subscribers", subs), JX_NEW("hosts", hosts),
			  JX_NEW("bridges", bridge_names_of(ch)), JX_NEW("topics", bridge_topics_of(ch)));
}

static json_t *channels_json(const struct question *q, const struct dispatch_stats *st)
{
	json_t *a = json_array();
	struct channel *ch;

	list_for_each(ch, &q->s->channels, link)
		if (!ch->replaced)
			json_array_append_new(a, channel_json(ch, st));
	return JSONX_MAKE(JX_INT("mono_ns", exec_now(q->s->x)), JX_NEW("channels", a));
}

static json_t *one_channel_json(const struct question *q, const struct dispatch_stats *st)
{
	const struct channel *ch = channel_find(q->s, q->channel);
	json_t *o;

	if (!ch || !ch->typed)
		return NULL;
	o = JSONX_MAKE(JX_NEW("channel", channel_json(ch, st)), JX_NEW("type", json_loads(ch->type_json, 0, NULL)));
	if (o && q->stages)
		json_object_set(o, "stages", q->stages);
	return o;
}

/* ---- bridges ---- */

static const struct dispatch_bridge_stats *stats_of(const struct dispatch_stats *st, uint32_t id)
{
	static const struct dispatch_bridge_stats nothing;

	for (uint32_t i = 0; i < st->n_bridges; i++) {
		if (st->bridges[i].id == id)
			return &st->bridges[i];
	}
	return &nothing;
}

static json_t *channels(const struct bridge *b)
{
	json_t *a = json_array();
	struct channel *ch;

	list_for_each(ch, &b->s->channels, link) {
		if (ch->typed && !ch->replaced && bridge_carries(b, ch))
			json_array_append_new(a, json_string(ch->name));
	}
	return a;
}

/* "bridge_logging.so" and "logging" are both of type logging. */
static void type_of(const struct bridge *b, char *ret, size_t size)
{
	const char *base = strrchr(b->plugin, '/');
	size_t n;

	base = base ? base + 1 : b->plugin;
	if (strncmp(base, "bridge_", 7) == 0)
		base += 7;
	snprintf(ret, size, "%s", base);
	n = strlen(ret);
	if (n > 3 && strcmp(ret + n - 3, ".so") == 0)
		ret[n - 3] = '\0';
}

/* Messages that the bridge missed because it was slow, by channel. */
static json_t *slow_json(const struct bridge *b, const struct dispatch_stats *st)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < st->n_slow; i++) {
		const struct dispatch_slow_stats *p = &st->slow[i];

		if (p->bridge_id == b->id && p->channel_id < WIRE_CHANNELS_MAX && b->s->by_id[p->channel_id])
			json_object_set_new(o, b->s->by_id[p->channel_id]->name, json_integer((json_int_t)p->messages));
	}
	return o;
}

static json_t *bridge_json(const struct bridge *b, const struct dispatch_stats *st)
{
	const struct dispatch_bridge_stats *d = stats_of(st, b->id);
	const struct simd *s = b->s;
	uint32_t restarts =
		s->ops && s->ops->bridge_restarts ? s->ops->bridge_restarts(s->user, b->name) : (uint32_t)d->restarts;
	const char *permanent = s->ops && s->ops->bridge_permanent ? s->ops->bridge_permanent(s->user, b->name) : NULL;
	char type[64];

	type_of(b, type, sizeof(type));
	return JSONX_MAKE(JX_STR("name", b->name), JX_STR("type", type), JX_STR("rig", b->rig->name),
			  JX_STR("plugin", b->plugin), JX_INT("pid", b->pid),
			  JX_STR("status", permanent ? "permanent" : sim_bridge_status_name(b->status)),
			  JX_STR("detail", permanent && !*b->detail ? permanent : b->detail),
			  JX_STR("connection", b->connection), JX_STR("start", b->external ? "external" : "simd"),
			  JX_INT("lanes", d->lanes), JX_INT("queued", d->queued), JX_INT("held", d->held),
			  JX_INT("late", d->late), JX_INT("attempted", d->attempted), JX_INT("sent", d->sent),
			  JX_INT("failed", d->failed), JX_INT("dropped", d->dropped),
			  JX_INT("bytes", d->reported_bytes), JX_INT("restarts", restarts),
			  JX_NEW("channels", channels(b)), JX_NEW("topics", bridge_topics(b)),
			  JX_NEW("converters", json_incref(b->converters)), JX_NEW("slow", slow_json(b, st)),
			  JX_BOOL("lossless", d->lossless), JX_BOOL("stalled", d->stalled));
}

static json_t *bridges_json(const struct question *q, const struct dispatch_stats *st)
{
	json_t *a = json_array();
	struct bridge *b;

	list_for_each(b, &q->s->bridges, link)
		json_array_append_new(a, bridge_json(b, st));
	return JSONX_MAKE(JX_NEW("bridges", a));
}

/* ---- dispatch ---- */

/* Clients count refusals and false completions together; dispatch counts the latter, so the difference is refusals. */
static json_t *refused(const struct totals *all, const uint64_t *failed)
{
	struct totals t = { 0 };

	for (unsigned i = 0; i < SIM_REASON_COUNT; i++)
		t.dropped[i] = all->dropped[i] > failed[i] ? all->dropped[i] - failed[i] : 0;
	return report_drops(&t);
}

static json_t *dispatch_channel_json(const struct channel *ch, const struct dispatch_channel_stats *c)
{
	struct totals failed = { 0 }, all;

	channel_totals(ch, &all);
	memcpy(failed.dropped, c->failed, sizeof(failed.dropped));
	return JSONX_MAKE(JX_STR("name", ch->name), JX_INT("in_flight", c->in_flight), JX_INT("accepted", c->accepted),
			  JX_INT("completed", c->completed), JX_INT("local", c->local),
			  JX_INT("wait_ns", all.wait_dur_ns), JX_NEW("refused", refused(&all, c->failed)),
			  JX_NEW("failed", report_drops(&failed)));
}

static json_t *spans(int64_t p50_dur_ns, int64_t p99_dur_ns)
{
	return JSONX_MAKE(JX_INT("p50", p50_dur_ns), JX_INT("p99", p99_dur_ns));
}

static json_t *shard_json(const struct simd *s, const struct dispatch_shard_stats *st)
{
	json_t *rigs = json_array();

	for (unsigned i = 0; i < s->n_rigs; i++)
		if (s->rigs[i].shard == st->shard)
			json_array_append_new(rigs, json_string(s->rigs[i].name));
	return JSONX_MAKE(JX_INT("shard", st->shard), JX_NEW("rigs", rigs), JX_INT("channels", st->n_channels),
			  JX_INT("bridges", st->n_bridges), JX_INT("turns", st->turns));
}

static json_t *shards_json(const struct simd *s, const struct dispatch_stats *st)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < st->n_shards; i++)
		json_array_append_new(a, shard_json(s, &st->shards[i]));
	return a;
}

static json_t *dispatch_json(const struct simd *s, const struct dispatch_stats *st)
{
	json_t *chans = json_array();
	uint64_t queued = 0;

	for (uint32_t i = 0; i < st->n_bridges; i++)
		queued += st->bridges[i].queued;
	for (uint32_t i = 0; i < st->n_channels; i++) {
		uint32_t id = st->channels[i].id;

		if (id < WIRE_CHANNELS_MAX && s->by_id[id])
			json_array_append_new(chans, dispatch_channel_json(s->by_id[id], &st->channels[i]));
	}
	return JSONX_MAKE(JX_INT("queued", queued), JX_INT("threads", pool_awake(s->pool)),
			  JX_NEW("shards", shards_json(s, st)), JX_INT("lanes", st->lanes),
			  JX_INT("lanes_max", st->lanes_max > st->n_bridges ? st->lanes_max : st->n_bridges),
			  JX_INT("wakeups", st->wakeups), JX_INT("packets_out", st->packets_out),
			  JX_INT("packets_in", st->packets_in), JX_INT("invalid", st->invalid),
			  JX_INT("strange_claims", st->strange_claims), JX_INT("reclaimed", slot_reclaim_count(s)),
			  JX_NEW("queue_ns", spans(st->queue_p50_dur_ns, st->queue_p99_dur_ns)),
			  JX_NEW("publish_ns", spans(st->publish_p50_dur_ns, st->publish_p99_dur_ns)),
			  JX_NEW("channels", chans));
}

static json_t *whole_dispatch_json(const struct question *q, const struct dispatch_stats *st)
{
	return JSONX_MAKE(JX_NEW("dispatch", dispatch_json(q->s, st)));
}

/* ---- stages ---- */

static json_t *durations_json(const struct histogram *h)
{
	json_t *up_to = json_array(), *counts = json_array();

	for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++) {
		const uint64_t n = histogram_count(h, b);

		if (!n)
			continue;
		json_array_append_new(up_to, json_integer(histogram_bucket_end(b)));
		json_array_append_new(counts, json_integer((json_int_t)n));
	}
	return JSONX_MAKE(JX_INT("max", histogram_quantile(h, 1000000)), JX_NEW("up_to", up_to),
			  JX_NEW("counts", counts));
}

static json_t *stages_json(const struct simd *s, const struct dispatch_stages *st)
{
	json_t *bridges = json_array();
	const struct bridge *b;

	list_for_each(b, &s->bridges, link)
		for (uint32_t i = 0; i < st->n_bridges; i++)
			if (st->bridges[i].id == b->id)
				json_array_append_new(
					bridges,
					JSONX_MAKE(JX_STR("bridge", b->name),
						   JX_NEW("lane_ns", durations_json(&st->bridges[i].lane)),
						   JX_NEW("answer_ns", durations_json(&st->bridges[i].answer))));
	return JSONX_MAKE(JX_NEW("take_ns", durations_json(&st->take)), JX_NEW("bridges", bridges));
}

/* ---- asking ---- */

static struct question *question_new(struct simd *s, const char *channel, make_fn make, report_fn fn, void *arg)
{
	struct question *q = MEM_NEW(struct question);

	if (!q)
		return NULL;
	*q = (struct question){ .s = s, .make = make, .fn = fn, .arg = arg };
	snprintf(q->channel, sizeof(q->channel), "%s", channel);
	return q;
}

static int ask(struct simd *s, const char *channel, make_fn make, report_fn fn, void *arg)
{
	struct question *q = question_new(s, channel, make, fn, arg);
	int r = q ? shards_stats(s, on_stats, q) : err_nomem();

	if (q && r < 0)
		question_free(q);
	return r;
}

int report_bridges(struct simd *s, report_fn fn, void *arg)
{
	return ask(s, "", bridges_json, fn, arg);
}

int report_dispatch(struct simd *s, report_fn fn, void *arg)
{
	return ask(s, "", whole_dispatch_json, fn, arg);
}

int report_channels(struct simd *s, report_fn fn, void *arg)
{
	return ask(s, "", channels_json, fn, arg);
}

int report_channel(struct simd *s, const char *name, report_fn fn, void *arg)
{
	return ask(s, name, one_channel_json, fn, arg);
}

static void on_stages(void *arg, const struct dispatch_stages *st)
{
	struct question *q = (struct question *)arg;

	q->stages = st ? stages_json(q->s, st) : NULL;
	if (shards_stats(q->s, on_stats, q) == 0)
		return;
	q->fn(q->arg, NULL, exec_now(q->s->x));
	question_free(q);
}

int report_stages(struct simd *s, const struct channel *ch, report_fn fn, void *arg)
{
	struct question *q = question_new(s, ch->name, one_channel_json, fn, arg);
	int r = q ? dispatch_stages(shard_of(s, ch->shard), ch->id, on_stages, q) : err_nomem();

	if (q && r < 0)
		question_free(q);
	return r;
}
