/* SPDX-License-Identifier: Apache-2.0 */
/* top: the tabs' columns; filters and sorts their rows. Thread: main. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "simctl.h"
#include "top_clock.h"
#include "top_model.h"

/* clang-format off */
static const struct column channels[] = {
	{ "CHANNEL", "name", .least = 20, .end = true },
	{ "STATE", "state", .leave = 0 },
	{ "HZ", "hz", NUM1, .leave = 0 },
	{ "MB/S", "bytes_per_s", NUM2, .scale = 1e-6, .leave = 4 },
	{ "DROPS", "drops", NUM, .leave = 0 },
	{ "NEW", "new_drops", NUM, .leave = 0 },
	{ "AGE", "age_ms", SPAN, .scale = 1e-3, .leave = 1 },
	{ "PUBS", "publishers", NUM, .leave = 5 },
	{ "SUBS", "subscribers", NUM, .leave = 6 },
	{ "TYPE", "type", .leave = 2, .least = 10, .end = true },
	{ 0 },
};
static const struct column processes[] = {
	{ "PROCESS", "name", .least = 16 },
	{ "PID", "pid", NUM, .leave = 1, .none = "-" },
	{ "STATE", "state", .leave = 0 },
	{ "CPU%", "cpu", NUM1, .none = "-" },
	{ "MB", "rss", NUM1, .scale = 1e-6, .none = "-" },
	{ "PUBS", "publishers", NUM, .leave = 3, .none = "-" },
	{ "SUBS", "subscribers", NUM, .leave = 3, .none = "-" },
	{ "ROLE", "role", .leave = 2 },
	{ "EXE", "exe", .leave = 4, .least = 12, .end = true },
	{ 0 },
};
static const struct column pools[] = {
	{ "SLOT", "size", NUM, .leave = 0 },
	{ "STATE", "state", .leave = 0 },
	{ "USED", "used", NUM, .leave = 0 },
	{ "FREE", "free", NUM, .leave = 0 },
	{ "USED%", "percent", NUM1, .leave = 0 },
	{ "RESERVED", "reserved", NUM, .leave = 0 },
	{ "SLOTS", "count", NUM, .leave = 0 },
	{ "PEAK", "peak", NUM, .leave = 3 },
	{ "FOR", "for", .leave = 2, .least = 12, .end = true },
	{ 0 },
};
static const struct column bridges[] = {
	{ "BRIDGE", "name", .least = 12 },
	{ "TYPE", "type", .leave = 5 },
	{ "STATE", "state", .leave = 0 },
	{ "SENT/S", "rate", NUM1, .none = "-" },
	{ "QUEUED", "queued", NUM, .leave = 3 },
	{ "LOST", "lost", NUM, .leave = 0 },
	{ "NEW", "new_lost", NUM, .leave = 0 },
	{ "RESTARTS", "restarts", NUM, .leave = 4 },
	{ "CHANNELS", "channels", NUM, .leave = 6 },
	{ "DETAIL", "detail", .leave = 2, .least = 12 },
	{ 0 },
};
static const struct column clock_lines[] = {
	{ "CLOCK", "name", .leave = 0 },
	{ "", "value", .least = 20 },
	{ 0 },
};
/* clang-format on */

static const struct {
	const char *name;
	const struct column *columns;
} tabs[TOP_TABS] = {
	[TOP_CHANNELS] = { "channels", channels }, [TOP_PROCESSES] = { "processes", processes },
	[TOP_POOLS] = { "pools", pools },          [TOP_BRIDGES] = { "bridges", bridges },
	[TOP_CLOCK] = { "clock", clock_lines },
};

const struct column *top_columns(enum top_tab tab)
{
	return tabs[tab].columns;
}

unsigned top_column_count(enum top_tab tab)
{
	unsigned n = 0;

	while (tabs[tab].columns[n].head)
		n++;
	return n;
}

const char *top_tab_name(enum top_tab tab)
{
	return tabs[tab].name;
}

int top_tab_of(const char *name)
{
	for (int i = 0; i < TOP_TABS; i++)
		if (!strcasecmp(tabs[i].name, name))
			return i;
	return -1;
}

int top_column_of(enum top_tab tab, const char *head)
{
	for (int i = 0; tabs[tab].columns[i].head; i++)
		if (!strcasecmp(tabs[tab].columns[i].head, head))
			return i;
	return -1;
}

/* ---- rows ---- */

static json_t *list_of(const struct top_model *m, enum top_tab tab)
{
	switch (tab) {
	case TOP_CHANNELS:
		return json_incref(json_object_get(m->now.channels, "channels"));
	case TOP_PROCESSES:
		return json_incref(json_object_get(m->now.clients, "clients"));
	case TOP_POOLS:
		return json_incref(json_object_get(m->now.info, "pools"));
	case TOP_BRIDGES:
		return json_incref(json_object_get(m->now.bridges, "bridges"));
	default:
		return top_clock_lines(json_object_get(m->now.clock, "clock"));
	}
}

static bool holds(const json_t *row, const char *text)
{
	const char *key;
	json_t *v;

	if (!*text)
		return true;
	json_object_foreach((json_t *)(uintptr_t)row, key, v)
		if (json_is_string(v) && strcasestr(json_string_value(v), text))
			return true;
	return false;
}

struct order {
	const struct column *by;
	bool descending;
};

struct ranked {
	json_t *row;
	size_t at; /* original index: keeps the sort stable */
};

static int compare_values(const json_t *a, const json_t *b, const struct column *by)
{
	double x, y;

	if (by->as == TEXT)
		return strcmp(json_text(a, by->key), json_text(b, by->key));
	a = json_object_get(a, by->key);
	b = json_object_get(b, by->key);
	if (json_is_number(a) != json_is_number(b) && !json_is_object(a) && !json_is_array(a))
		return json_is_number(a) ? 1 : -1; /* "never" is less than any number */
	x = json_amount(a);
	y = json_amount(b);
	return (x > y) - (x < y);
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct ranked *x = a, *y = b;
	const struct order *o = arg;
	int r = compare_values(x->row, y->row, o->by);

	if (r == 0)
		return (x->at > y->at) - (x->at < y->at);
	return o->descending ? -r : r;
}

static json_t *in_order(json_t *rows, struct order *o)
{
	size_t n = json_array_size(rows);
	struct ranked *v = calloc(n ? n : 1, sizeof(*v));
	json_t *sorted = json_array();

	for (size_t i = 0; v && i < n; i++)
		v[i] = (struct ranked){ json_array_get(rows, i), i };
	if (v)
		qsort_r(v, n, sizeof(*v), compare, o);
	for (size_t i = 0; v && i < n; i++)
		json_array_append(sorted, v[i].row);
	free(v);
	json_decref(rows);
	return sorted;
}

json_t *top_rows(const struct top_model *m, enum top_tab tab, const char *text, unsigned sort, bool descending)
{
	json_t *all = list_of(m, tab), *rows = json_array(), *row;
	struct order o = { &tabs[tab].columns[sort], descending };
	size_t i;

	json_array_foreach(all, i, row)
		if (holds(row, text))
			json_array_append(rows, row);
	json_decref(all);
	return tab == TOP_CLOCK ? rows : in_order(rows, &o);
}
