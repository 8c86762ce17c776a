/* SPDX-License-Identifier: Apache-2.0 */
/* summary: totals since simd's start, in a shape that scripts keep (the demo's summary.json). Thread: main. */
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

/* The objects of a list, cut down to these keys. keys: NULL ends. */
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

	printf("%.1f s of wall time, %.1f s simulated\n", json_num(s, "wall_s"), json_num(s, "sim_s"));
	json_array_foreach(json_object_get(s, "channels"), i, item)
		printf("  %-24s %-22s %8.0f messages %9.1f kB\n", json_text(item, "name"), json_text(item, "type"),
		       json_num(item, "messages"), json_num(item, "bytes") / 1e3);
	json_array_foreach(json_object_get(s, "bridges"), i, item)
		printf("  bridge %-17s %8.0f sent %5.0f failed %5.0f dropped\n", json_text(item, "name"),
		       json_num(item, "sent"), json_num(item, "failed"), json_num(item, "dropped"));
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

	if (bridges)
		s = json_pack("{s:f, s:f, s:o, s:o}", "wall_s", json_num(info, "uptime_ms") / 1e3, "sim_s",
			      json_num(json_object_get(clock, "clock"), "sim_ns") / 1e9, "channels",
			      totals(channels, "channels", of_channel), "bridges",
			      totals(bridges, "bridges", of_bridge));
	json_decref(bridges);
	json_decref(channels);
	json_decref(clock);
	json_decref(info);
	return ctl_show(c, s, print_summary);
}
