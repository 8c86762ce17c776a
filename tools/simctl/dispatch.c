/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the dispatcher's counters as text. Thread: main. */
#include <stdio.h>

#include "simctl.h"

static void print_spans(const char *what, const json_t *spans)
{
	printf("%s p50 %.1f us, p99 %.1f us\n", what, json_num(spans, "p50") / 1e3, json_num(spans, "p99") / 1e3);
}

/* Only if there are several shards. */
static void print_shards(const json_t *shards)
{
	size_t i, k;
	json_t *s, *rig;

	if (json_array_size(shards) < 2)
		return;
	json_array_foreach(shards, i, s) {
		printf("shard %.0f: rigs", json_num(s, "shard"));
		json_array_foreach(json_object_get(s, "rigs"), k, rig)
			printf(" %s", json_string_value(rig));
		printf("; channels: %.0f; bridges: %.0f; turns: %.0f\n", json_num(s, "channels"),
		       json_num(s, "bridges"), json_num(s, "turns"));
	}
}

static void print_head(const json_t *d)
{
	printf("queue: %.0f deliveries; threads: %.0f; lanes: %.0f of %.0f\n", json_num(d, "queued"),
	       json_num(d, "threads"), json_num(d, "lanes"), json_num(d, "lanes_max"));
	printf("wake-ups: %.0f; packets: %.0f out, %.0f in; invalid slots: %.0f; reclaimed slots: %.0f\n",
	       json_num(d, "wakeups"), json_num(d, "packets_out"), json_num(d, "packets_in"), json_num(d, "invalid"),
	       json_num(d, "reclaimed"));
	print_shards(json_object_get(d, "shards"));
	print_spans("publish to lane:  ", json_object_get(d, "queue_ns"));
	print_spans("lane to answer:   ", json_object_get(d, "publish_ns"));
}

/* clang-format off */
static const struct column columns[] = {
	{ "CHANNEL", "name", .least = 20, .end = true },
	{ "IN FLIGHT", "in_flight", NUM, .leave = 2 },
	{ "ACCEPTED", "accepted", NUM, .leave = 0 },
	{ "REFUSED", "refused", NUM, .leave = 0 },
	{ "COMPLETED", "completed", NUM, .leave = 1 },
	{ "FAILED", "failed", NUM, .leave = 0 },
	{ "LOCAL", "local", NUM, .leave = 4 },
	{ "WAITED", "wait_ns", SPAN, .scale = 1e-9, .leave = 3 },
	{ 0 },
};
/* clang-format on */

/* Prints "  /lidar: refused, paused: 12": reasons whose count is not 0. */
static void print_reasons(const json_t *ch, const char *what)
{
	const char *reason;
	json_t *v;

	json_object_foreach(json_object_get(ch, what), reason, v)
		printf("  %s: %s, %s: %.0f\n", json_text(ch, "name"), what, reason, json_number_value(v));
}

static void print(const json_t *reply)
{
	json_t *d = json_object_get(reply, "dispatch"), *ch;
	size_t i;

	print_head(d);
	table_of(columns, json_object_get(d, "channels"));
	json_array_foreach(json_object_get(d, "channels"), i, ch) {
		print_reasons(ch, "refused");
		print_reasons(ch, "failed");
	}
}

static int once(struct ctl *c)
{
	return ctl_show(c, ctl_call(c, "io.simd.Control.GetDispatch", NULL), print);
}

int cmd_dispatch(struct ctl *c)
{
	return ctl_repeat(c, once);
}
