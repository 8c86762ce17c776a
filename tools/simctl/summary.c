/* SPDX-License-Identifier: Apache-2.0 */
/* summary: totals since simd's start, in a shape that scripts keep (the demo's summary.json). Thread: main. */
#include <stdio.h>
#include <stdlib.h>

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

static json_t *channel_totals(const json_t *reply)
{
	json_t *out = json_array(), *ch;
	size_t i;

	json_array_foreach(json_object_get(reply, "channels"), i, ch)
		json_array_append_new(out, json_pack("{s:O, s:O, s:O, s:O, s:o, s:O, s:O, s:O, s:O, s:O}", "name",
						     json_object_get(ch, "name"), "type", json_object_get(ch, "type"),
						     "messages", json_object_get(ch, "messages"), "bytes",
						     json_object_get(ch, "bytes"), "drops", nonzero_drops(ch), "local",
						     json_object_get(ch, "local"), "delivered",
						     json_object_get(ch, "delivered"), "failed",
						     json_object_get(ch, "failed"), "no_bridge",
						     json_object_get(ch, "no_bridge"), "in_flight",
						     json_object_get(ch, "in_flight")));
	return out;
}

static json_t *bridge_totals(const json_t *reply)
{
	json_t *out = json_array(), *b;
	size_t i;

	json_array_foreach(json_object_get(reply, "bridges"), i, b)
		json_array_append_new(out, json_pack("{s:O, s:O, s:O, s:O}", "name", json_object_get(b, "name"), "sent",
						     json_object_get(b, "sent"), "failed", json_object_get(b, "failed"),
						     "dropped", json_object_get(b, "dropped")));
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
	json_t *info = ctl_call(c, "io.simd.Control.GetInfo", NULL);
	json_t *clock = info ? ctl_call(c, "io.simd.Control.GetClock", NULL) : NULL;
	json_t *channels = clock ? ctl_call(c, "io.simd.Control.ListChannels", NULL) : NULL;
	json_t *bridges = channels ? ctl_call(c, "io.simd.Control.ListBridges", NULL) : NULL, *s = NULL;

	if (bridges)
		s = json_pack("{s:f, s:f, s:o, s:o}", "wall_s", json_num(info, "uptime_ms") / 1e3, "sim_s",
			      json_num(json_object_get(clock, "clock"), "sim_ns") / 1e9, "channels",
			      channel_totals(channels), "bridges", bridge_totals(bridges));
	if (s && c->a.json)
		ctl_print_json(c, s);
	else if (s)
		print_summary(s);
	json_decref(s);
	json_decref(bridges);
	json_decref(channels);
	json_decref(clock);
	json_decref(info);
	return s ? 0 : 1;
}
