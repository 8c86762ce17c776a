/* SPDX-License-Identifier: Apache-2.0 */
/* summary: totals since simd's start, as JSON with a stable layout (the demo's summary.json). Thread: main. */
#include <stdio.h>
#include <string.h>

#include "simctl.h"

static json_t *nonzero_drops(const json_t *channel)
{
	json_t *out = json_object(), *v;
	const char *key;

	json_object_foreach(json_object_get(channel, "drops"), key, v)
		if (json_integer_value(v) > 0)
			json_object_set(out, key, v);
	return out;
}

/* The objects of a list, reduced to these keys. keys: ends with NULL. */
static json_t *totals(const json_t *reply, const char *list, const char *const *keys)
{
	json_t *out = json_array(), *item;
	size_t i;

	json_array_foreach(json_object_get(reply, list), i, item) {
		json_t *o = json_object();

		for (unsigned k = 0; keys[k]; k++) {
			if (!strcmp(keys[k], "drops"))
				json_object_set_new(o, "drops", nonzero_drops(item));
			else
				json_object_set(o, keys[k], json_object_get(item, keys[k]));
		}
		json_array_append_new(out, o);
	}
	return out;
}

static void print_summary(const json_t *s)
{
	json_t *item;
	size_t i;

	printf("%.1f s of wall time, %.1f s simulated", json_num(s, "wall_s"), json_num(s, "sim_s"));
	if (json_is_real(json_object_get(s, "real_time_factor")))
		printf("; begun after %.1f s, run for %.1f s at a real-time factor of %.3f\n", json_num(s, "start_s"),
		       json_num(s, "run_s"), json_num(s, "real_time_factor"));
	else
		puts("; time has not run yet");
	json_array_foreach(json_object_get(s, "channels"), i, item)
		printf("  %-24s %-22s %8.0f messages %9.1f kB\n", json_text(item, "name"), json_text(item, "type"),
		       json_num(item, "messages"), json_num(item, "bytes") / 1e3);
	json_array_foreach(json_object_get(s, "bridges"), i, item)
		printf("  bridge %-17s %8.0f sent %5.0f failed %5.0f dropped\n", json_text(item, "name"),
		       json_num(item, "sent"), json_num(item, "failed"), json_num(item, "dropped"));
}

/* Real-time factor of the run, without the time before its start. */
static void add_times(json_t *s, const json_t *info, const json_t *clock)
{
	const json_t *run = json_object_get(clock, "run");
	double wall_s = json_num(info, "uptime_ms") / 1e3, run_s = json_num(run, "wall_ns") / 1e9, start_s = wall_s;

	if (json_is_object(run))
		start_s -= (json_num(clock, "mono_ns") - json_num(run, "began_mono_ns")) / 1e9;
	json_object_set_new(s, "wall_s", json_real(wall_s));
	json_object_set_new(s, "start_s", json_real(start_s > 0 ? start_s : 0));
	json_object_set_new(s, "run_s", json_real(run_s));
	json_object_set_new(s, "sim_s", json_real(json_num(clock, "sim_ns") / 1e9));
	json_object_set_new(s, "real_time_factor",
			    run_s > 0 ? json_real(json_num(run, "sim_ns") / 1e9 / run_s) : json_null());
}

int cmd_summary(struct ctl *c)
{
	static const char *const of_channel[] = { "name",      "type",   "messages",  "bytes",     "drops", "local",
						  "delivered", "failed", "no_bridge", "in_flight", NULL };
	static const char *const of_bridge[] = { "name", "sent", "failed", "dropped", NULL };
	json_t *info = ctl_call(c, "io.simd.Control.GetInfo", NULL);
	json_t *clock = info ? ctl_call(c, "io.simd.Control.GetClock", NULL) : NULL;
	json_t *channels = clock ? ctl_call(c, "io.simd.Control.ListChannels", NULL) : NULL;
	json_t *bridges = channels ? ctl_call(c, "io.simd.Control.ListBridges", NULL) : NULL, *s = NULL;

	if (bridges) {
		s = json_object();
		add_times(s, info, json_object_get(clock, "clock"));
		json_object_set_new(s, "channels", totals(channels, "channels", of_channel));
		json_object_set_new(s, "bridges", totals(bridges, "bridges", of_bridge));
	}
	json_decref(bridges);
	json_decref(channels);
	json_decref(clock);
	json_decref(info);
	return ctl_show(c, s, print_summary);
}
