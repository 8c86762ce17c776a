/* SPDX-License-Identifier: Apache-2.0 */
/* list, info, find, clients: channels and attached processes. Thread: main. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "record/codec.h"
#include "simctl.h"

static bool wanted(const struct ctl *c, const json_t *ch)
{
	const char *name = json_text(ch, "name"), *pattern = c->a.channel;

	return (!c->a.type || !fnmatch(c->a.type, json_text(ch, "type"), 0)) &&
	       (!pattern || !fnmatch(pattern, name + (*pattern != '/' && *name == '/'), 0));
}

/* clang-format off */
static const struct column channel_columns[] = {
	{ "HOST", "host", .leave = 8, .least = 4 }, /* only shown if a channel comes from another machine */
	{ "CHANNEL", "name", .least = 20, .end = true },
	{ "TYPE", "type", .leave = 2, .least = 12, .end = true },
	{ "HZ", "hz", NUM1, .leave = 1 },
	{ "MB/S", "bytes_per_s", NUM2, .scale = 1e-6, .leave = 4 },
	{ "PUBS", "publishers", NUM, .leave = 5 },
	{ "SUBS", "subscribers", NUM, .leave = 6 },
	{ "BRIDGES", "bridges", NUM, .leave = 7 },
	{ "DROPS", "drops", NUM, .leave = 1 },
	{ "AGE", "age_ms", SPAN, .scale = 1e-3, .leave = 3 },
	{ 0 },
};
/* clang-format on */

/* Removes the channels that the pattern or --type leave out, from the JSON as well. */
static void filter(const struct ctl *c, json_t *reply)
{
	json_t *list = json_object_get(reply, "channels");

	for (size_t i = json_array_size(list); i-- > 0;)
		if (!wanted(c, json_array_get(list, i)))
			json_array_remove(list, i);
}

/* Sets each channel's cell HOST to the names of its publishers' machines. Returns whether there are any. */
static bool name_hosts(json_t *reply)
{
	bool any = false;
	json_t *ch, *h;
	size_t i, k;

	json_array_foreach(json_object_get(reply, "channels"), i, ch) {
		char text[128] = "";

		json_array_foreach(json_object_get(ch, "hosts"), k, h)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", k ? "," : "",
				 json_string_value(h));
		any = any || *text;
		json_object_set_new(ch, "host", json_string(text));
	}
	return any;
}

static int print_channels(struct ctl *c, json_t *reply)
{
	bool any = !c->a.json && name_hosts(reply);

	return ctl_list(c, reply, "channels", any ? channel_columns : channel_columns + 1);
}

const char *ctl_near(const json_t *list, const char *key, const char *written, const char *otherwise,
		     char text[NEAR_TEXT_MAX])
{
	struct near n = { .word = written, .found = strcmp(key, "type") ? NULL : codec_type_of_foreign(written) };
	const json_t *item;
	size_t i;

	if (!n.found)
		json_array_foreach(list, i, item)
			near_offer_path(&n, json_text(item, key));
	return near_text(&n, otherwise, text);
}

static void say_none(const struct ctl *c, const json_t *channels)
{
	const char *what = c->a.type ? "has a type" : "is called";
	const char *written = c->a.type ? c->a.type : c->a.channel;
	char text[NEAR_TEXT_MAX];

	if (c->a.type && c->a.channel) {
		fprintf(stderr,
			"simctl: no channel is called like \"%s\" and has a type like \"%s\"; `simctl list` shows those there are\n",
			c->a.channel, c->a.type);
		return;
	}
	fprintf(stderr, "simctl: no channel %s like \"%s\"; %s\n", what, written,
		ctl_near(channels, c->a.type ? "type" : "name", written, "`simctl list` shows those there are", text));
}

json_t *ctl_channels(struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.ListChannels", NULL);
	json_t *all = json_copy(json_object_get(reply, "channels"));

	filter(c, reply);
	if (json_array_size(all) && !json_array_size(json_object_get(reply, "channels")) && !c->a.watch)
		say_none(c, all);
	json_decref(all);
	return reply;
}

static int list_once(struct ctl *c)
{
	return print_channels(c, ctl_channels(c));
}

int cmd_list(struct ctl *c)
{
	return ctl_repeat(c, list_once);
}

int cmd_find(struct ctl *c)
{
	json_t *reply = ctl_channels(c);
	const bool none = reply && !json_array_size(json_object_get(reply, "channels"));

	c->a.names = true;
	return print_channels(c, reply) || none;
}

static void print_endpoints(const char *what, const json_t *list)
{
	json_t *e;
	size_t i;

	printf("%s: %zu\n", what, json_array_size(list));
	json_array_foreach(list, i, e)
		printf("  %s (pid %.0f, uid %.0f)%s%s\n", json_text(e, "client"), json_num(e, "pid"),
		       json_num(e, "uid"), *json_text(e, "host") ? ", of machine " : "", json_text(e, "host"));
}

static void print_drops(const json_t *ch)
{
	const char *key;
	json_t *v;

	json_object_foreach(json_object_get(ch, "drops"), key, v)
		if (json_number_value(v) > 0)
			printf("  dropped, %s: %.0f\n", key, json_number_value(v));
}

static void print_field(const struct sim_field *f)
{
	char array[24] = "";

	if (f->array == SIM_ARRAY_FIXED || f->array == SIM_ARRAY_BOUNDED)
		snprintf(array, sizeof(array), f->array == SIM_ARRAY_FIXED ? "[%u]" : "[<=%u]", f->count);
	else if (f->array == SIM_ARRAY_VARIABLE)
		snprintf(array, sizeof(array), "[]");
	printf("  %s%s %s%s%s%s\n", f->type ? f->type->name : sim_kind_name((enum sim_kind)f->kind), array, f->name,
	       *f->unit ? " [" : "", f->unit, *f->unit ? "]" : "");
}

void ctl_print_fields(const json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	const struct sim_type *type = NULL;

	if (text && sim_type_from_json(text, strlen(text), &type) == 0)
		for (uint32_t i = 0; i < type->n_fields; i++)
			print_field(&type->fields[i]);
	else
		printf("  (%s)\n", sim_why());
	sim_type_unref(type);
	free(text);
}

/* Prints "  ros2: /car/radar/n0, sensor_msgs/msg/Imu" per bridge, or why it does not carry the channel. */
static void print_topics(const json_t *list)
{
	json_t *t;
	size_t i;

	json_array_foreach(list, i, t)
		if (*json_text(t, "why"))
			printf("  not carried by %s: %s\n", json_text(t, "bridge"), json_text(t, "why"));
		else
			printf("  %s: %s, %s\n", json_text(t, "bridge"), json_text(t, "name"), json_text(t, "type"));
}

/* How messages get to and from nodes: within their process, or in slots. */
static void print_nodes(const json_t *nodes)
{
	json_t *n;
	size_t i;

	json_array_foreach(json_object_get(nodes, "writers"), i, n)
		printf("written by node %s: %.0f messages, %.0f of them inside its process (transport %s)\n",
		       json_text(n, "node"), json_num(n, "written"), json_num(n, "intra"), json_text(n, "transport"));
	json_array_foreach(json_object_get(nodes, "readers"), i, n)
		printf("read by node %s: %.0f messages, by %s\n", json_text(n, "node"), json_num(n, "received"),
		       *json_text(n, "delivery") ? json_text(n, "delivery") : "none yet");
}

static void print_info(const json_t *reply)
{
	json_t *ch = json_object_get(reply, "channel"), *b;
	size_t i;

	printf("%s: %s (hash %s)\n", json_text(ch, "name"), json_text(ch, "type"), json_text(ch, "hash"));
	printf("rate: %.1f Hz, %.2f MB/s; %.0f messages, %.0f bytes\n", json_num(ch, "hz"),
	       json_num(ch, "bytes_per_s") / 1e6, json_num(ch, "messages"), json_num(ch, "bytes"));
	if (json_num(ch, "no_bridge") > 0)
		printf("  for no bridge: %.0f (not counted as dropped)\n", json_num(ch, "no_bridge"));
	print_drops(ch);
	printf("window: %.0f messages in flight; slots of %.0f bytes, messages up to %.0f\n", json_num(ch, "window"),
	       json_num(ch, "slot_size"), json_num(ch, "max_body"));
	json_array_foreach(json_object_get(ch, "hosts"), i, b)
		printf("from another machine: %s\n", json_string_value(b));
	print_endpoints("publishers", json_object_get(ch, "publishers"));
	print_endpoints("subscribers", json_object_get(ch, "subscribers"));
	print_nodes(json_object_get(reply, "nodes"));
	printf("bridges:");
	json_array_foreach(json_object_get(ch, "bridges"), i, b)
		printf(" %s", json_string_value(b));
	printf("%s\n", i ? "" : " none");
	print_topics(json_object_get(ch, "topics"));
	printf("fields:\n");
	ctl_print_fields(json_object_get(reply, "type"));
}

json_t *ctl_channel(struct ctl *c, const char *name)
{
	return ctl_call_named(c, "io.simd.Control.GetChannel", name);
}

json_t *ctl_channel_quiet(struct ctl *c, const char *name)
{
	json_t *params = json_pack("{s:s}", "name", name), *reply;
	char *text = params ? json_dumps(params, JSON_COMPACT) : NULL, *answer = NULL;

	if (!text || sim_call(c->client, "io.simd.Control.GetChannel", text, &answer) < 0)
		answer = NULL;
	reply = answer ? json_loads(answer, 0, NULL) : NULL;
	if (!c->a.json)
		ctl_make_fit(reply);
	free(answer);
	free(text);
	json_decref(params);
	return reply;
}

int cmd_info(struct ctl *c)
{
	json_t *reply = ctl_channel(c, c->a.channel), *nodes;

	nodes = reply ? ctl_nodes_at(c, json_text(json_object_get(reply, "channel"), "name")) : NULL;
	if (nodes)
		json_object_set_new(reply, "nodes", nodes);
	return ctl_show(c, reply, print_info);
}

int cmd_clients(struct ctl *c)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "ID", "id", NUM, .leave = 4 },
		{ "NAME", "name", .least = 16 },
		{ "ROLE", "role", .leave = 2 },
		{ "PID", "pid", NUM, .leave = 1 },
		{ "UID", "uid", NUM, .leave = 5 },
		{ "PUBS", "publishers", NUM, .leave = 2 },
		{ "SUBS", "subscribers", NUM, .leave = 2 },
		{ "EXE", "exe", .leave = 3, .least = 16, .end = true },
		{ 0 },
	};
	/* clang-format on */

	return ctl_list(c, ctl_call(c, "io.simd.Control.ListClients", NULL), "clients", columns);
}
