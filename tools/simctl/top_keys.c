/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of `top`. Thread: main. */
#include <stdio.h>
#include <string.h>

#include "simctl.h"
#include "top_view.h"

static void type(struct top_view *v, int key)
{
	size_t n = strlen(v->filter);

	if (key == TOP_KEY_ESCAPE)
		v->filter[0] = '\0';
	if (key == TOP_KEY_ESCAPE || key == TOP_KEY_ENTER)
		v->typing = false;
	else if ((key == 127 || key == '\b') && n)
		v->filter[n - 1] = '\0';
	else if (key >= ' ' && key < 127 && n < TOP_FILTER_MAX)
		snprintf(v->filter + n, 2, "%c", key);
}

static void go_to(struct top_view *v, unsigned tab)
{
	v->tab = (enum top_tab)(tab % TOP_TABS);
	v->selected[0] = '\0';
	v->first = 0;
	v->detail = v->help = false;
}

static void sort_by(struct top_view *v, unsigned column)
{
	v->sort[v->tab] = column % top_column_count(v->tab);
	v->descending[v->tab] = top_columns(v->tab)[v->sort[v->tab]].as != TEXT; /* numbers: greatest first */
}

/* New index of the selected row among n > 0. */
static size_t moved(const struct top_view *v, size_t at, size_t n, int key)
{
	size_t page = v->page ? v->page : 1;

	switch (key) {
	case TOP_KEY_UP:
		return at ? at - 1 : 0;
	case TOP_KEY_DOWN:
		return at + 1 < n ? at + 1 : at;
	case TOP_KEY_PAGE_UP:
		return at > page ? at - page : 0;
	case TOP_KEY_PAGE_DOWN:
		return at + page < n ? at + page : n - 1;
	case TOP_KEY_HOME:
		return 0;
	case TOP_KEY_END:
		return n - 1;
	default:
		return at;
	}
}

static void move(struct top_view *v, const struct top_model *m, int key)
{
	json_t *rows = top_rows(m, v->tab, v->filter, v->sort[v->tab], v->descending[v->tab]), *row;
	size_t i, n = json_array_size(rows), at = 0;

	json_array_foreach(rows, i, row)
		if (!strcmp(json_text(row, "name"), v->selected))
			at = i;
	if (n)
		snprintf(v->selected, sizeof(v->selected), "%s",
			 json_text(json_array_get(rows, moved(v, at, n, key)), "name"));
	json_decref(rows);
}

static void scroll(struct top_view *v, int key)
{
	unsigned by = key == TOP_KEY_PAGE_UP || key == TOP_KEY_PAGE_DOWN ? v->page : 1;

	if (key == TOP_KEY_DOWN || key == TOP_KEY_PAGE_DOWN)
		v->skipped += by;
	else if (key == TOP_KEY_UP || key == TOP_KEY_PAGE_UP)
		v->skipped = v->skipped > by ? v->skipped - by : 0;
	else
		v->skipped = 0;
}

static void command(struct top_view *v, const struct top_model *m, int key)
{
	unsigned columns = top_column_count(v->tab);

	if (key >= '1' && key < '1' + TOP_TABS)
		go_to(v, (unsigned)(key - '1'));
	else if (key == '\t')
		go_to(v, v->tab + 1);
	else if (key == TOP_KEY_RIGHT || key == TOP_KEY_LEFT)
		sort_by(v, v->sort[v->tab] + (key == TOP_KEY_RIGHT ? 1 : columns - 1));
	else if (key == 'r')
		v->descending[v->tab] = !v->descending[v->tab];
	else if (key == '/')
		v->typing = true;
	else if (key == ' ')
		v->frozen = !v->frozen;
	else if (key == 'h' || key == '?')
		v->help = !v->help;
	else if (key == TOP_KEY_ENTER && v->tab != TOP_CLOCK)
		v->detail = !v->detail;
	else if (v->detail)
		scroll(v, key);
	else
		move(v, m, key);
}

void top_key(struct top_view *v, const struct top_model *m, int key)
{
	if (v->typing)
		type(v, key);
	else if (key == 'q')
		v->quit = true;
	else if (key == TOP_KEY_ESCAPE && (v->help || v->detail))
		v->help = v->detail = false;
	else if (key == TOP_KEY_ESCAPE)
		v->filter[0] = '\0';
	else
		command(v, m, key);
	if (!v->detail)
		v->skipped = 0;
}
