/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatcher's figures, for people. Thread: main. */
#include <stdio.h>

#include "simctl.h"

static double sum(const json_t *counts)
{
	const char *key;
	json_t *v;
	double n = 0;

	json_object_foreach((json_t *)(uintptr_t)counts, key, v)
		n += json_number_value(v);
	return n;
}

static void print_spans(const char *what, const json_t *spans)
{
	printf("%s p50 %.1f us, p99 %.1f us\n", what, json_num(spans, "p50") / 1e3, json_num(spans, "p99") / 1e3);
}

static void print_head(const json_t *d)
{
	printf("queue: %.0f deliveries; threads: %.0f; lanes: %.0f of %.0f\n", json_num(d, "queued"),
	       json_num(d, "threads"), json_num(d, "lanes"), json_num(d, "lanes_max"));
	printf("wake-ups: %.0f; packets: %.0f out, %.0f in; invalid slots: %.0f\n", json_num(d, "wakeups"),
	       json_num(d, "packets_out"), json_num(d, "packets_in"), json_num(d, "invalid"));
	print_spans("publish to lane:  ", json_object_get(d, "queue_ns"));
	print_spans("lane to answer:   ", json_object_get(d, "publish_ns"));
}

static void print_channels(const json_t *list)
{
	static const struct column columns[] = {
		{ "CHANNEL", .least = 20, .end = true },
		{ "IN FLIGHT", .right = true, .leave = 2 },
		{ "ACCEPTED", .right = true },
		{ "REFUSED", .right = true },
		{ "COMPLETED", .right = true, .leave = 1 },
		{ "FAILED", .right = true },
		{ "LOCAL", .right = true, .leave = 4 },
		{ "WAITED", .right = true, .leave = 3 },
		{ 0 },
	};
	struct table *t = table_create(columns);
	json_t *ch;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)list, i, ch) {
		table_cell(t, "%s", json_text(ch, "name"));
		table_cell(t, "%.0f", json_num(ch, "in_flight"));
		table_cell(t, "%.0f", json_num(ch, "accepted"));
		table_cell(t, "%.0f", sum(json_object_get(ch, "refused")));
		table_cell(t, "%.0f", json_num(ch, "completed"));
		table_cell(t, "%.0f", sum(json_object_get(ch, "failed")));
		table_cell(t, "%.0f", json_num(ch, "local"));
		table_cell(t, "%.3f s", json_num(ch, "wait_ns") / 1e9);
	}
	table_print(t);
	table_destroy(t);
}

/* "  /lidar: refused, paused: 12": only what is not nothing. */
static void print_reasons(const json_t *ch, const char *what)
{
	const char *reason;
	json_t *v;

	json_object_foreach(json_object_get(ch, what), reason, v)
		printf("  %s: %s, %s: %.0f\n", json_text(ch, "name"), what, reason, json_number_value(v));
}

static int once(struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.GetDispatch", NULL), *d, *ch;
	size_t i;

	if (!reply || c->a.json)
		return ctl_put(c, reply);
	d = json_object_get(reply, "dispatch");
	print_head(d);
	print_channels(json_object_get(d, "channels"));
	json_array_foreach(json_object_get(d, "channels"), i, ch) {
		print_reasons(ch, "refused");
		print_reasons(ch, "failed");
	}
	json_decref(reply);
	return 0;
}

int cmd_dispatch(struct ctl *c)
{
	return ctl_repeat(c, once);
}
