/* SPDX-License-Identifier: Apache-2.0 */
/* Channels, clients: what is there and how it flows. Thread: main. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simctl.h"

static double sum_drops(const json_t *channel)
{
	const char *key;
	json_t *v;
	double n = 0;

	json_object_foreach(json_object_get(channel, "drops"), key, v)
		n += json_number_value(v);
	return n;
}

static bool wanted(const struct ctl *c, const json_t *ch)
{
	const char *name = json_text(ch, "name"), *pattern = c->a.channel;

	return (!c->a.type || !fnmatch(c->a.type, json_text(ch, "type"), 0)) &&
	       (!pattern || !fnmatch(pattern, name + (*pattern != '/' && *name == '/'), 0));
}

static void add_channel(struct table *t, const json_t *ch)
{
	json_t *age = json_object_get(ch, "age_ms");

	table_cell(t, "%s", json_text(ch, "name"));
	table_cell(t, "%s", json_text(ch, "type"));
	table_cell(t, "%.1f", json_num(ch, "hz"));
	table_cell(t, "%.2f", json_num(ch, "bytes_per_s") / 1e6);
	table_cell(t, "%zu", json_array_size(json_object_get(ch, "publishers")));
	table_cell(t, "%zu", json_array_size(json_object_get(ch, "subscribers")));
	table_cell(t, "%zu", json_array_size(json_object_get(ch, "bridges")));
	table_cell(t, "%.0f", sum_drops(ch));
	if (json_is_number(age))
		table_cell(t, "%.3f s", json_number_value(age) / 1e3);
	else
		table_cell(t, "never");
}

static void print_channels(const struct ctl *c, const json_t *reply)
{
	static const struct column columns[] = {
		{ "CHANNEL", .least = 20, .end = true },  { "TYPE", .leave = 2, .least = 12, .end = true },
		{ "HZ", .right = true, .leave = 1 },      { "MB/S", .right = true, .leave = 4 },
		{ "PUBS", .right = true, .leave = 5 },    { "SUBS", .right = true, .leave = 6 },
		{ "BRIDGES", .right = true, .leave = 7 }, { "DROPS", .right = true, .leave = 1 },
		{ "AGE", .right = true, .leave = 3 },     { 0 },
	};
	struct table *t = table_create(columns);
	json_t *ch;
	size_t i;

	json_array_foreach(json_object_get(reply, "channels"), i, ch)
		if (wanted(c, ch))
			add_channel(t, ch);
	table_print(t);
	table_destroy(t);
}

static void print_names(const struct ctl *c, const json_t *reply, const char *list)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(reply, list), i, item)
		if (wanted(c, item))
			puts(json_text(item, "name"));
}

/* Channels that --type or the pattern leave out are taken out of the JSON too. */
static void filter(const struct ctl *c, json_t *reply)
{
	json_t *list = json_object_get(reply, "channels");

	for (size_t i = json_array_size(list); i-- > 0;)
		if (!wanted(c, json_array_get(list, i)))
			json_array_remove(list, i);
}

static int list_once(struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.ListChannels", NULL);

	if (!reply)
		return 1;
	filter(c, reply);
	if (c->a.json)
		ctl_print_json(c, reply);
	else if (c->a.names)
		print_names(c, reply, "channels");
	else
		print_channels(c, reply);
	json_decref(reply);
	return 0;
}

int cmd_list(struct ctl *c)
{
	return ctl_repeat(c, list_once);
}

static void print_endpoints(const char *what, const json_t *list)
{
	json_t *e;
	size_t i;

	printf("%s: %zu\n", what, json_array_size(list));
	json_array_foreach(list, i, e)
		printf("  %s (pid %.0f, uid %.0f)\n", json_text(e, "client"), json_num(e, "pid"), json_num(e, "uid"));
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

/* "  ros2: /car/radar/n0, sensor_msgs/msg/Imu", or why not */
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
	print_endpoints("publishers", json_object_get(ch, "publishers"));
	print_endpoints("subscribers", json_object_get(ch, "subscribers"));
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
	json_t *params = json_pack("{s:s}", "name", name);
	json_t *reply = ctl_call(c, "io.simd.Control.GetChannel", params);

	json_decref(params);
	return reply;
}

int cmd_info(struct ctl *c)
{
	json_t *reply = ctl_channel(c, c->a.channel);

	if (!reply)
		return 1;
	if (c->a.json)
		return ctl_put(c, reply);
	print_info(reply);
	json_decref(reply);
	return 0;
}

static void print_clients(const json_t *reply)
{
	static const struct column columns[] = {
		{ "ID", .right = true, .leave = 4 },
		{ "NAME", .least = 16 },
		{ "ROLE", .leave = 2 },
		{ "PID", .right = true, .leave = 1 },
		{ "UID", .right = true, .leave = 5 },
		{ "PUBS", .right = true, .leave = 2 },
		{ "SUBS", .right = true, .leave = 2 },
		{ "EXE", .leave = 3, .least = 16, .end = true },
		{ 0 },
	};
	struct table *t = table_create(columns);
	json_t *k;
	size_t i;

	json_array_foreach(json_object_get(reply, "clients"), i, k) {
		table_cell(t, "%.0f", json_num(k, "id"));
		table_cell(t, "%s", json_text(k, "name"));
		table_cell(t, "%s", json_text(k, "role"));
		table_cell(t, "%.0f", json_num(k, "pid"));
		table_cell(t, "%.0f", json_num(k, "uid"));
		table_cell(t, "%.0f", json_num(k, "publishers"));
		table_cell(t, "%.0f", json_num(k, "subscribers"));
		table_cell(t, "%s", json_text(k, "exe"));
	}
	table_print(t);
	table_destroy(t);
}

int cmd_clients(struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.ListClients", NULL);

	if (!reply || c->a.json)
		return ctl_put(c, reply);
	print_clients(reply);
	json_decref(reply);
	return 0;
}
