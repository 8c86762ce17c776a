/* SPDX-License-Identifier: Apache-2.0 */
/* Bridges: their configuration and state. Thread: main. */
#include <stdio.h>
#include <string.h>

#include "simctl.h"

/* clang-format off */
static const struct column columns[] = {
	{ "BRIDGE", "name", .least = 12 },
	{ "RIG", "rig", .leave = 6 },
	{ "TYPE", "type", .leave = 5 },
	{ "PID", "pid", NUM, .leave = 7 },
	{ "STATUS", "status", TEXT, .leave = 0 },
	{ "LANES", "lanes", NUM, .leave = 9 },
	{ "QUEUED", "queued", NUM, .leave = 3 },
	{ "HELD", "held", NUM, .leave = 8 },
	{ "SENT", "sent", NUM, .leave = 1 },
	{ "FAILED", "failed", NUM, .leave = 1 },
	{ "DROPPED", "dropped", NUM, .leave = 1 },
	{ "RESTARTS", "restarts", NUM, .leave = 4 },
	{ "DETAIL", "detail", .leave = 2, .least = 12 },
	{ 0 },
};
/* clang-format on */

static int bridges_once(struct ctl *c)
{
	return ctl_list(c, ctl_call(c, "io.simd.Control.ListBridges", NULL), "bridges", columns);
}

int cmd_bridge_list(struct ctl *c)
{
	return ctl_repeat(c, bridges_once);
}

static json_t *find(const json_t *obj, const char *list, const char *key, const char *value)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(obj, list), i, item)
		if (!strcmp(json_text(item, key), value))
			return item;
	return NULL;
}

/* The bridge's topic for the channel in that direction. NULL: the bridge has reported none. */
static const json_t *topic_of(const json_t *b, const char *channel, bool inbound)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(b, "topics"), i, item)
		if (json_is_true(json_object_get(item, "inbound")) == inbound &&
		    !strcmp(json_text(item, "channel"), channel))
			return item;
	return NULL;
}

static void print_inbound(const json_t *b)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(b, "topics"), i, item)
		if (json_is_true(json_object_get(item, "inbound")))
			printf("  %s <- %s, %s\n", json_text(item, "channel"), json_text(item, "name"),
			       json_text(item, "type"));
}

/*
 * Prints the outgoing channels with their topic, if reported; then the incoming topics; then those that are not
 * carried.
 */
static void print_carried(const json_t *b)
{
	json_t *list = json_object_get(b, "channels"), *item;
	size_t i;

	printf("channels: %zu\n", json_array_size(list));
	json_array_foreach(list, i, item) {
		const char *channel = json_string_value(item);
		const json_t *t = topic_of(b, channel, false);

		if (t)
			printf("  %s -> %s, %s\n", channel, json_text(t, "name"), json_text(t, "type"));
		else if (!topic_of(b, channel, true))
			printf("  %s\n", channel);
	}
	print_inbound(b);
	json_array_foreach(json_object_get(b, "topics"), i, item)
		if (*json_text(item, "why"))
			printf("  %s is not carried: %s\n", json_text(item, "channel"), json_text(item, "why"));
}

static void print_slow(const json_t *b)
{
	const char *channel;
	json_t *n;

	json_object_foreach(json_object_get(b, "slow"), channel, n)
		printf("fell behind: missed %lld messages of %s (bridge-slow)\n", (long long)json_integer_value(n),
		       channel);
}

/* Prints what the table has no room for, one item per line. */
static void print_bridge(const json_t *b)
{
	json_t *ch;
	size_t i;

	printf("%s: %s, rig %s, plug-in %s\n", json_text(b, "name"), json_text(b, "type"), json_text(b, "rig"),
	       json_text(b, "plugin"));
	printf("status: %s%s%s\n", json_text(b, "status"), *json_text(b, "detail") ? ": " : "", json_text(b, "detail"));
	printf("connection: %s\n", *json_text(b, "connection") ? json_text(b, "connection") : "none");
	printf("process: pid %.0f, started by %s, %.0f restarts\n", json_num(b, "pid"),
	       strcmp(json_text(b, "start"), "simd") ? "its own unit" : "simd", json_num(b, "restarts"));
	if (json_yes(b, "lossless"))
		printf("lossless: yes%s\n",
		       json_yes(b, "stalled") ? "; stalled: no answer for dispatch.deadline_ms, messages pass it by"
					      : ": producers wait for it");
	print_slow(b);
	printf("lanes: %.0f; %.0f queued, %.0f with the bridge\n", json_num(b, "lanes"), json_num(b, "queued"),
	       json_num(b, "held"));
	printf("messages: %.0f attempted, %.0f sent (%.0f bytes), %.0f failed, %.0f dropped\n",
	       json_num(b, "attempted"), json_num(b, "sent"), json_num(b, "bytes"), json_num(b, "failed"),
	       json_num(b, "dropped"));
	json_array_foreach(json_object_get(b, "converters"), i, ch)
		printf("converter: %s\n", json_string_value(ch));
	print_carried(b);
}

static void no_bridge(const char *name, const json_t *bridges)
{
	char text[NEAR_TEXT_MAX];

	fprintf(stderr, "simctl: no bridge is called \"%s\"; %s\n", name,
		ctl_near(bridges, "name", name, "`simctl bridge list` shows those there are", text));
}

int cmd_bridge_info(struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.ListBridges", NULL), *b;

	if (!reply)
		return 1;
	b = find(reply, "bridges", "name", c->a.bridge);
	if (!b)
		no_bridge(c->a.bridge, json_object_get(reply, "bridges"));
	else if (c->a.json)
		ctl_print_json(c, b);
	else
		print_bridge(b);
	json_decref(reply);
	return b ? 0 : 1;
}

/* On success prints nothing, except with --json. Exit code as ctl_put(). */
static int done(const struct ctl *c, json_t *reply)
{
	if (!reply || c->a.json)
		return ctl_put(c, reply);
	json_decref(reply);
	return 0;
}

int cmd_bridge_restart(struct ctl *c)
{
	return done(c, ctl_call_named(c, "io.simd.Control.RestartBridge", c->a.bridge));
}

int cmd_bridge_connect(struct ctl *c)
{
	json_t *params = json_pack("{s:s, s:s}", "name", c->a.bridge, "connection", c->a.connection_text);
	json_t *reply = ctl_call(c, "io.simd.Control.SetBridgeConnection", params);

	json_decref(params);
	return done(c, reply);
}

int cmd_process_restart(struct ctl *c)
{
	return done(c, ctl_call_named(c, "io.simd.Control.RestartProcess", c->a.process));
}
