/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: the list, one node's state, and who reads and writes a channel. simd is asked for the list, each node for its
 * state. Thread: main.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/srv/NodeInfo.h>

#include "ask.h"

#define INFO "node_info"

/* clang-format off */
static const struct column columns[] = {
	{ "NODE", "name", .least = 12, .end = true },
	{ "PROCESS", "process", .leave = 3, .least = 8 },
	{ "PID", "pid", NUM, .leave = 4 },
	{ "MODE", "mode", .leave = 1 },
	{ "READERS", "n_readers", NUM, .leave = 2 },
	{ "WRITERS", "n_writers", NUM, .leave = 2 },
	{ 0 },
};
static const struct column reader_columns[] = {
	{ "READS", "channel", .least = 16, .end = true },
	{ "TYPE", "channel_type", .leave = 4, .least = 12, .end = true },
	{ "BY", "delivery", .leave = 1 },
	{ "RECEIVED", "received", NUM, .leave = 0 },
	{ "PROCESSED", "processed", NUM, .leave = 2 },
	{ "OVERRUN", "overrun", NUM, .leave = 3 },
	{ "LOST", "lost", NUM, .leave = 3 },
	{ "DEPTH", "depth", NUM, .leave = 6 },
	{ "PENDING", "pending", NUM, .leave = 5 },
	{ 0 },
};
static const struct column writer_columns[] = {
	{ "WRITES", "channel", .least = 16, .end = true },
	{ "TYPE", "channel_type", .leave = 4, .least = 12, .end = true },
	{ "TRANSPORT", "transport", .leave = 1 },
	{ "WRITTEN", "written", NUM, .leave = 0 },
	{ "IN PROCESS", "intra", NUM, .leave = 2 },
	{ "REFUSED", "refused", NUM, .leave = 3 },
	{ 0 },
};
static const struct column timer_columns[] = {
	{ "TIMER", "name", .least = 16, .end = true },
	{ "PERIOD", "period", SPAN, 1e-9, .leave = 2 },
	{ "FIRED", "fired", NUM, .leave = 0 },
	{ "MISSED", "missed", NUM, .leave = 1 },
	{ 0 },
};
/* clang-format on */

/*
 * Asks all nodes; each answer is named as the node's service is, which shows its rig. A node that did not answer has
 * only "error".
 */
static json_t *ask_nodes(struct ctl *c)
{
	json_t *nodes = ctl_nodes(c, INFO, &sim_NodeInfo_service), *node, *all = NULL;
	size_t i, n = json_array_size(nodes);
	struct ask *a = nodes ? calloc(n + 1, sizeof(*a)) : NULL;

	json_array_foreach(nodes, i, node) {
		if (!a)
			break;
		a[i].type = &sim_NodeInfo_service;
		snprintf(a[i].service, sizeof(a[i].service), "%s/" INFO, json_text(node, "name"));
	}
	if (a && ctl_ask_all(c, a, n, ASK_DUR_NS))
		all = json_array();
	for (i = 0; all && i < n; i++) {
		json_t *j = a[i].response ? json_incref(a[i].response) : json_pack("{s:s}", "error", a[i].why);

		if (a[i].result == -ENOENT || a[i].result == -EPIPE) { /* it has exited since */
			json_decref(j);
			continue;
		}
		json_object_set(j, "name", json_object_get(json_array_get(nodes, i), "name"));
		json_array_append_new(all, j);
	}
	ask_finish(a, a ? n : 0);
	json_decref(nodes);
	return all;
}

/* ---- list ---- */

static void count(json_t *node)
{
	if (*json_text(node, "error"))
		json_object_set_new(node, "mode", json_string("no answer"));
	else {
		json_object_set_new(node, "n_readers",
				    json_real((double)json_array_size(json_object_get(node, "readers")) +
					      json_num(node, "more_readers")));
		json_object_set_new(node, "n_writers",
				    json_real((double)json_array_size(json_object_get(node, "writers")) +
					      json_num(node, "more_writers")));
	}
}

static int list_once(struct ctl *c)
{
	json_t *all, *node;
	size_t i;

	all = c->a.names ? ctl_nodes(c, INFO, &sim_NodeInfo_service) : ask_nodes(c);
	if (!all)
		return 1;
	json_array_foreach(all, i, node)
		if (!c->a.names && !c->a.json)
			count(node);
	return ctl_list(c, json_pack("{s:o}", "nodes", all), "nodes", columns);
}

int cmd_node_list(struct ctl *c)
{
	return ctl_repeat(c, list_once);
}

/* ---- info ---- */

static void print_component(const json_t *n)
{
	const json_t *unmatched = json_object_get(n, "unmatched");

	if (!*json_text(n, "component"))
		return;
	printf("component: %s; %.0f proc, %.0f failed, %.0f overrun; %.3f s in proc, the longest %.3f ms\n",
	       json_text(n, "component"), json_num(n, "proc"), json_num(n, "failed"), json_num(n, "overrun"),
	       json_num(n, "busy") / 1e9, json_num(n, "longest") / 1e6);
	for (size_t i = 0; i < json_array_size(unmatched); i++)
		if (json_number_value(json_array_get(unmatched, i)) > 0)
			printf("  without input %zu: %.0f messages of input 0 were dropped\n", i,
			       json_number_value(json_array_get(unmatched, i)));
	if (json_num(n, "in_proc") > 0)
		printf("  in proc for %.3f s\n", json_num(n, "in_proc") / 1e9);
}

static void print_part(const json_t *n, const char *list, const char *more, const struct column *part_columns)
{
	const json_t *items = json_object_get(n, list);

	if (json_array_size(items))
		table_of(part_columns, items);
	if (json_num(n, more) > 0)
		printf("and %.0f more\n", json_num(n, more));
}

static void print_info(const json_t *n)
{
	printf("%s: %s, process %s (pid %.0f), client %s\n", json_text(n, "name"), json_text(n, "mode"),
	       json_text(n, "process"), json_num(n, "pid"), json_text(n, "host"));
	print_component(n);
	printf("parameters: %.0f\n", json_num(n, "parameters"));
	print_part(n, "readers", "more_readers", reader_columns);
	print_part(n, "writers", "more_writers", writer_columns);
	print_part(n, "timers", "more_timers", timer_columns);
}

static int info_once(struct ctl *c)
{
	int r;
	json_t *n = ctl_ask(c, c->a.node, INFO, &sim_NodeInfo_service, NULL, &r);

	if (!n)
		return r == -ENOENT ? ctl_no_node(c, c->a.node, INFO, &sim_NodeInfo_service, "node list") : 1;
	return ctl_show(c, n, print_info);
}

int cmd_node_info(struct ctl *c)
{
	return ctl_repeat(c, info_once);
}

/* ---- nodes of a channel ---- */

static void add_of(const json_t *node, const char *list, const char *channel, json_t *to)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(node, list), i, item) {
		if (strcmp(json_text(item, "channel"), channel) != 0)
			continue;
		json_object_set(item, "node", json_object_get(node, "name"));
		json_array_append(to, item);
	}
}

json_t *ctl_nodes_at(struct ctl *c, const char *channel)
{
	json_t *all = ask_nodes(c), *readers = json_array(), *writers = json_array(), *node;
	size_t i;

	json_array_foreach(all, i, node) {
		add_of(node, "readers", channel, readers);
		add_of(node, "writers", channel, writers);
	}
	json_decref(all);
	if (json_array_size(readers) + json_array_size(writers))
		return json_pack("{s:o, s:o}", "readers", readers, "writers", writers);
	json_decref(readers);
	json_decref(writers);
	return NULL;
}
