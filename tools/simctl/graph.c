/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph: which processes publish and subscribe to which channels, and which bridges carry them; as text, as input for
 * dot, or as JSON. Thread: main.
 */
#include <stdio.h>
#include <string.h>

#include "simctl.h"

/*
 * The graph, as --json prints it: nodes {"id", "kind": "process" | "channel" | "bridge", "name", ...} and edges {"from", "to", "kind": "publishes" |
 * "subscribes" | "carries", "as"}, in the direction of the messages.
 */
static json_t *new_graph(void)
{
	return json_pack("{s:[], s:[]}", "nodes", "edges");
}

/* ---- building ---- */

static json_t *node_of(json_t *graph, const char *id)
{
	json_t *n;
	size_t i;

	json_array_foreach(json_object_get(graph, "nodes"), i, n)
		if (!strcmp(json_text(n, "id"), id))
			return n;
	return NULL;
}

static void add_edge(json_t *graph, const char *from, const char *to, const char *kind, const char *as)
{
	json_array_append_new(json_object_get(graph, "edges"),
			      json_pack("{s:s, s:s, s:s, s:s*}", "from", from, "to", to, "kind", kind, "as", as));
}

/* Adds the process once; returns its id, stored in buf. */
static const char *add_process(json_t *graph, const json_t *end, char buf[64])
{
	snprintf(buf, 64, "process:%.0f", json_num(end, "client_id"));
	if (!node_of(graph, buf))
		json_array_append_new(json_object_get(graph, "nodes"),
				      json_pack("{s:s, s:s, s:s, s:O*}", "id", buf, "kind", "process", "name",
						json_text(end, "client"), "pid", json_object_get(end, "pid")));
	return buf;
}

static const char *topic_of(const json_t *channel, const char *bridge)
{
	json_t *t;
	size_t i;

	json_array_foreach(json_object_get(channel, "topics"), i, t)
		if (!strcmp(json_text(t, "bridge"), bridge) && *json_text(t, "name"))
			return json_text(t, "name");
	return NULL;
}

static void add_bridges(json_t *graph, const json_t *channel, const char *id)
{
	char to[300];
	json_t *b;
	size_t i;

	json_array_foreach(json_object_get(channel, "bridges"), i, b) {
		const char *name = json_string_value(b);

		snprintf(to, sizeof(to), "bridge:%s", name);
		if (!node_of(graph, to))
			json_array_append_new(json_object_get(graph, "nodes"),
					      json_pack("{s:s, s:s, s:s}", "id", to, "kind", "bridge", "name", name));
		add_edge(graph, id, to, "carries", topic_of(channel, name));
	}
}

static void add_channel(json_t *graph, const json_t *channel)
{
	char id[300], end[64];
	json_t *e;
	size_t i;

	snprintf(id, sizeof(id), "channel:%s", json_text(channel, "name"));
	json_array_append_new(json_object_get(graph, "nodes"),
			      json_pack("{s:s, s:s, s:s, s:s, s:O*}", "id", id, "kind", "channel", "name",
					json_text(channel, "name"), "type", json_text(channel, "type"), "hz",
					json_object_get(channel, "hz")));
	json_array_foreach(json_object_get(channel, "publishers"), i, e)
		add_edge(graph, add_process(graph, e, end), id, "publishes", NULL);
	json_array_foreach(json_object_get(channel, "subscribers"), i, e)
		add_edge(graph, id, add_process(graph, e, end), "subscribes", NULL);
	add_bridges(graph, channel, id);
}

/*
 * A channel that has no publisher yet, or that disappears before GetChannel, is added from the list's entry, which has
 * no subscribers.
 */
static json_t *read_graph(struct ctl *c)
{
	json_t *list = ctl_channels(c), *graph = list ? new_graph() : NULL, *ch;
	size_t i;

	json_array_foreach(json_object_get(list, "channels"), i, ch) {
		json_t *one = ctl_channel_quiet(c, json_text(ch, "name"));

		add_channel(graph, one ? json_object_get(one, "channel") : ch);
		json_decref(one);
	}
	json_decref(list);
	return graph;
}

/* ---- text ---- */

static bool goes(const json_t *e, const char *end, const char *id)
{
	return !strcmp(json_text(e, end), id);
}

static void print_channel(json_t *graph, const char *arrow, const char *id, const json_t *edge)
{
	const json_t *ch = node_of(graph, id);

	printf("  %s %s", arrow, json_text(ch, "name"));
	if (*json_text(ch, "type"))
		printf("  %s  %.1f Hz", json_text(ch, "type"), json_num(ch, "hz"));
	if (*json_text(edge, "as") && strcmp(json_text(edge, "as"), json_text(ch, "name")))
		printf("  as %s", json_text(edge, "as"));
	putchar('\n');
}

static void print_node(json_t *graph, const json_t *n)
{
	const char *id = json_text(n, "id");
	json_t *e;
	size_t i;

	if (!strcmp(json_text(n, "kind"), "bridge"))
		printf("bridge %s\n", json_text(n, "name"));
	else
		printf("%s (pid %.0f)\n", json_text(n, "name"), json_num(n, "pid"));
	json_array_foreach(json_object_get(graph, "edges"), i, e)
		if (goes(e, "from", id))
			print_channel(graph, "->", json_text(e, "to"), e);
	json_array_foreach(json_object_get(graph, "edges"), i, e)
		if (goes(e, "to", id))
			print_channel(graph, "<-", json_text(e, "from"), e);
}

/* Channels without a publisher or a subscriber are listed apart: they are often mistakes. */
static void print_loose(json_t *graph, const json_t *ch)
{
	bool from = false, to = false;
	json_t *e;
	size_t i;

	json_array_foreach(json_object_get(graph, "edges"), i, e) {
		to |= goes(e, "to", json_text(ch, "id"));
		from |= goes(e, "from", json_text(ch, "id"));
	}
	if (!to)
		printf("%s: nobody publishes it\n", json_text(ch, "name"));
	else if (!from)
		printf("%s: nobody subscribes to it\n", json_text(ch, "name"));
}

static void print_text(json_t *graph)
{
	json_t *n;
	size_t i;

	json_array_foreach(json_object_get(graph, "nodes"), i, n)
		if (strcmp(json_text(n, "kind"), "channel") != 0)
			print_node(graph, n);
	json_array_foreach(json_object_get(graph, "nodes"), i, n)
		if (!strcmp(json_text(n, "kind"), "channel"))
			print_loose(graph, n);
}

/* ---- dot ---- */

static void put_quoted(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_dot_node(const json_t *n)
{
	const char *kind = json_text(n, "kind");
	char label[700];

	if (!strcmp(kind, "channel"))
		snprintf(label, sizeof(label), "%s\n%s, %.1f Hz", json_text(n, "name"), json_text(n, "type"),
			 json_num(n, "hz"));
	else
		snprintf(label, sizeof(label), "%s", json_text(n, "name"));
	printf("  ");
	put_quoted(json_text(n, "id"));
	printf(" [shape=%s, label=", !strcmp(kind, "channel")  ? "box"
				     : !strcmp(kind, "bridge") ? "hexagon"
							       : "ellipse");
	put_quoted(label);
	puts("];");
}

static void print_dot(json_t *graph)
{
	json_t *n;
	size_t i;

	puts("digraph simd {\n  rankdir=LR;");
	json_array_foreach(json_object_get(graph, "nodes"), i, n)
		print_dot_node(n);
	json_array_foreach(json_object_get(graph, "edges"), i, n) {
		printf("  ");
		put_quoted(json_text(n, "from"));
		printf(" -> ");
		put_quoted(json_text(n, "to"));
		if (*json_text(n, "as")) {
			printf(" [label=");
			put_quoted(json_text(n, "as"));
			putchar(']');
		}
		puts(";");
	}
	puts("}");
}

/* ---- the command ---- */

static int graph_once(struct ctl *c)
{
	json_t *graph = read_graph(c);

	if (!graph || c->a.json)
		return ctl_put(c, graph);
	if (c->a.dot)
		print_dot(graph);
	else
		print_text(graph);
	json_decref(graph);
	fflush(stdout);
	return 0;
}

int cmd_graph(struct ctl *c)
{
	if (c->a.json && c->a.dot)
		return fprintf(stderr, "simctl: --dot and --json: one of them\n"), 1;
	return ctl_repeat(c, graph_once);
}
