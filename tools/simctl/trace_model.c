/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_model.h. */
#include "trace_model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "simctl.h"
#include "timeutil.h"

/* ---- stages measured here ---- */

int trace_published(const struct sim_slot *m, const struct sim_clock_sample *now, int64_t *ret_sim_ns)
{
	const int64_t since = now->mono_ns - m->publish_mono_ns;

	if ((now->flags & SIM_CLOCK_STALE) || (m->flags & SIM_SLOT_CLOCK_STALE) ||
	    now->clock_generation != m->clock_generation)
		return -ERANGE;
	if (now->rate_e6 <= 0 && since > 0) /* the clock may have stood still since any time before now */
		return -ERANGE;
	*ret_sim_ns = now->sim_ns - (now->rate_e6 > 0 ? sim_scale_dur_(since, now->rate_e6) : 0);
	return 0;
}

void trace_add(struct trace_window *w, const struct sim_slot *m, const struct sim_clock_sample *now, int64_t mono_ns)
{
	int64_t publish_sim_ns;

	histogram_add(&w->receive, mono_ns - m->publish_mono_ns);
	if (trace_published(m, now, &publish_sim_ns) == 0)
		histogram_add(&w->capture, publish_sim_ns - m->stamp_sim_ns);
	w->messages++;
}

/* ---- stages counted by simd ---- */

static void add_all(const json_t *durations, struct histogram *h)
{
	const json_t *up_to = json_object_get(durations, "up_to"), *counts = json_object_get(durations, "counts"), *v;
	size_t i;

	json_array_foreach(counts, i, v)
		histogram_add_many(h, json_integer_value(json_array_get(up_to, i)), (uint64_t)json_integer_value(v));
}

/* False: counting has restarted since. */
static bool grew(const struct histogram *before, const struct histogram *now)
{
	for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++)
		if (histogram_count(before, b) > histogram_count(now, b))
			return false;
	return true;
}

void trace_between(const json_t *before, const json_t *now, struct histogram *ret)
{
	struct histogram old = { 0 }, all = { 0 };
	const int64_t max = json_integer_value(json_object_get(now, "max"));
	bool same;

	*ret = (struct histogram){ 0 };
	add_all(before, &old);
	add_all(now, &all);
	same = grew(&old, &all);
	for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++) {
		const uint64_t n = histogram_count(&all, b) - (same ? histogram_count(&old, b) : 0);
		const int64_t end = histogram_bucket_end(b);

		if (n)
			histogram_add_many(ret, end < max ? end : max, n);
	}
}

/* ---- list of stages ---- */

static void add_stage(json_t *list, const char *stage, const char *bridge, const char *clock, const struct histogram *h)
{
	const bool any = h->total > 0;
	json_t *o = json_pack("{s:s, s:s, s:I}", "stage", stage, "clock", clock, "count", (json_int_t)h->total);
	static const struct {
		const char *key;
		uint32_t q_e6;
	} quantiles[] = { { "p50", 500000 }, { "p90", 900000 }, { "p99", 990000 }, { "max", 1000000 } };

	if (bridge)
		json_object_set_new(o, "bridge", json_string(bridge));
	for (unsigned i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++)
		json_object_set_new(o, quantiles[i].key,
				    any ? json_integer(histogram_quantile(h, quantiles[i].q_e6)) : json_null());
	json_array_append_new(list, o);
}

static const json_t *bridge_of(const json_t *stages, const char *name)
{
	json_t *b;
	size_t i;

	json_array_foreach(json_object_get(stages, "bridges"), i, b)
		if (!strcmp(json_text(b, "bridge"), name))
			return b;
	return NULL;
}

static void add_bridge(json_t *list, const json_t *before, const json_t *now)
{
	const char *name = json_text(now, "bridge");
	struct histogram h;

	trace_between(json_object_get(before, "lane_ns"), json_object_get(now, "lane_ns"), &h);
	add_stage(list, "take-lane", name, "wall", &h);
	trace_between(json_object_get(before, "answer_ns"), json_object_get(now, "answer_ns"), &h);
	add_stage(list, "take-answer", name, "wall", &h);
}

json_t *trace_stages(const struct trace_window *w, const json_t *before, const json_t *now)
{
	json_t *list = json_array(), *b;
	struct histogram h;
	size_t i;

	add_stage(list, "capture-publish", NULL, "simulated", &w->capture);
	if (now) {
		trace_between(json_object_get(before, "take_ns"), json_object_get(now, "take_ns"), &h);
		add_stage(list, "publish-take", NULL, "wall", &h);
	}
	json_array_foreach(json_object_get(now, "bridges"), i, b)
		add_bridge(list, bridge_of(before, json_text(b, "bridge")), b);
	add_stage(list, "publish-receive", NULL, "wall", &w->receive);
	return list;
}

const char *trace_span(int64_t dur_ns, char buf[TRACE_SPAN_MAX])
{
	static const struct {
		int64_t unit;
		const char *name;
	} units[] = { { NS_PER_S, "s" }, { NS_PER_MS, "ms" }, { NS_PER_US, "us" } };

	for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++) {
		const double v = (double)dur_ns / (double)units[i].unit;

		if (dur_ns >= units[i].unit) {
			snprintf(buf, TRACE_SPAN_MAX, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[i].name);
			return buf;
		}
	}
	snprintf(buf, TRACE_SPAN_MAX, "%lld ns", (long long)dur_ns);
	return buf;
}
