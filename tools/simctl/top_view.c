/* SPDX-License-Identifier: Apache-2.0 */
/* See top_view.h: draws the lines. Thread: main. */
#include "top_view.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simctl.h"
#include "timeutil.h"
#include "top_clock.h"

#define BELOW     1 /* lines reserved for the keys */
#define LINE_SIZE 512

static const char *const help[] = {
	"1 2 3 4 5, Tab    channels, processes, pools, bridges, clock",
	"up, down, page    select a row; Enter: all about it",
	"left, right       sort by another column;  r: the other way round",
	"/                 show only rows that contain a text; Escape: all rows again",
	"space             freeze the picture, or continue",
	"q, Ctrl-C         quit",
	"",
	"STATE of a channel: flows; late: nothing for 3 of its periods and a second; silent: for 10 and",
	"5 s; paused: time stands; never: no message yet; unused: nobody publishes it.",
	"NEW counts messages lost since the last picture; drops stay in the second line on every page.",
	NULL,
};

struct drawing {
	struct top_view *v;
	const struct top_model *m;
	const struct top_screen *s;
	int row;
	unsigned skip; /* lines still to be skipped */
};

static bool full(const struct drawing *d)
{
	return d->s->rows && d->row >= d->s->rows - BELOW;
}

static void put(struct drawing *d, const char *text, enum top_tone tone, bool selected)
{
	if (d->skip > 0 && d->skip--)
		return;
	d->s->put(d->s->arg, d->row++, text, tone, selected);
}

static void __attribute__((format(printf, 3, 4))) putf(struct drawing *d, enum top_tone tone, const char *fmt, ...)
{
	char text[LINE_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put(d, text, tone, false);
}

/* ---- title ---- */

static void draw_title(struct drawing *d)
{
	const json_t *info = d->m->now.info, *k = json_object_get(d->m->now.clock, "clock");
	double rtf = json_num(k, "real_time_factor"), scale = json_num(k, "scale");
	bool slow = !json_yes(k, "paused") && rtf < 0.9 * scale;
	char stamp[STAMP_FORMAT_MAX];

	if (*d->v->why) {
		putf(d, TOP_BAD, "DISCONNECTED, retrying: %s", d->v->why);
		return;
	}
	putf(d, slow ? TOP_WARN : TOP_TITLE, "time %s  RTF %.3f of %g  %s: %s  simd %s up %.0f s%s",
	     stamp_format(json_integer_value(json_object_get(k, "sim_ns")), stamp), rtf, scale, json_text(k, "source"),
	     top_clock_state(k), json_text(info, "version"), json_num(info, "uptime_ms") / 1e3,
	     d->v->frozen ? "  HELD" : "");
}

static void draw_totals(struct drawing *d)
{
	const struct top_totals *t = &d->m->totals;
	enum top_tone tone = t->new_drops > 0 ? TOP_BAD : t->drops > 0 ? TOP_WARN : TOP_PLAIN;

	putf(d, tone,
	     "drops %.0f (+%.0f)  channels %u: %u flow, %u late, %u silent  %.0f msg/s  %.1f MB/s  pools %.0f %%",
	     t->drops, t->new_drops, t->channels, t->flow, t->late, t->silent, t->hz, t->bytes_per_s / 1e6,
	     t->pool_percent);
}

static void draw_tabs(struct drawing *d)
{
	const struct top_view *v = d->v;
	char text[LINE_SIZE];
	int n = 0;

	for (int i = 0; i < TOP_TABS; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, i == (int)v->tab ? "[%d %s] " : " %d %s  ", i + 1,
			      top_tab_name((enum top_tab)i));
	if (v->tab != TOP_CLOCK)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " by %s%s", top_columns(v->tab)[v->sort[v->tab]].head,
			      v->descending[v->tab] ? " v" : "");
	if (*v->filter)
		snprintf(text + n, sizeof(text) - (size_t)n, "  /%s", v->filter);
	put(d, text, TOP_TITLE, false);
}

/* ---- rows ---- */

static enum top_tone tone_of(const json_t *row)
{
	if (json_num(row, "new_drops") > 0 || json_num(row, "new_lost") > 0)
		return TOP_BAD;
	return top_tone_of(json_text(row, "state"));
}

static size_t selected_of(const struct top_view *v, const json_t *rows)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (!strcmp(json_text(row, "name"), v->selected))
			return i;
	return 0;
}

/* Keeps the selected row on the screen. */
static void scroll(struct drawing *d, size_t selected, size_t n)
{
	struct top_view *v = d->v;
	int room = d->s->rows - d->row - 1 - BELOW;

	v->page = d->s->rows && room > 0 ? (unsigned)room : (unsigned)n;
	if (selected < v->first)
		v->first = (unsigned)selected;
	if (v->page && selected >= v->first + v->page)
		v->first = (unsigned)(selected - v->page + 1);
	if (v->first + v->page > n)
		v->first = n > v->page ? (unsigned)(n - v->page) : 0;
}

/* Draws a table's text, whose first line is the head. */
static void draw_lines(struct drawing *d, char *text, const json_t *rows)
{
	size_t i = 0, selected = selected_of(d->v, rows);
	char *at = text, *line;

	scroll(d, selected, json_array_size(rows));
	for (; (line = strsep(&at, "\n")) && at && !full(d); i++)
		if (i == 0)
			put(d, line, TOP_HEAD, false);
		else if (i > d->v->first)
			put(d, line, *d->v->why ? TOP_DIM : tone_of(json_array_get(rows, i - 1)),
			    d->s->rows && i == selected + 1 && d->v->tab != TOP_CLOCK);
}

static void draw_rows(struct drawing *d)
{
	json_t *rows = top_rows(d->m, d->v->tab, d->v->filter, d->v->sort[d->v->tab], d->v->descending[d->v->tab]);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f) {
		table_print(f, top_columns(d->v->tab), rows, d->s->columns);
		if (fclose(f) == 0)
			draw_lines(d, text, rows);
	}
	free(text);
	json_decref(rows);
}

/* ---- details of a row ---- */

static void draw_member(struct drawing *d, const char *key, json_t *v)
{
	char *text = json_is_string(v) ? NULL : json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	json_t *item;
	size_t i;

	if (json_array_size(v))
		json_array_foreach(v, i, item) {
			if (!full(d))
				draw_member(d, i ? "" : key, item);
		}
	else
		putf(d, TOP_PLAIN, "%-12s %s", key, text ? text : json_string_value(v));
	free(text);
}

static void draw_detail(struct drawing *d)
{
	json_t *rows = top_rows(d->m, d->v->tab, d->v->filter, d->v->sort[d->v->tab], d->v->descending[d->v->tab]);
	json_t *row = json_array_get(rows, selected_of(d->v, rows)), *v;
	const char *key;

	put(d, json_text(row, "name"), TOP_HEAD, false);
	d->v->page = d->s->rows > d->row + BELOW ? (unsigned)(d->s->rows - d->row - BELOW) : 1;
	d->skip = d->v->skipped;
	json_object_foreach(row, key, v)
		if (!full(d))
			draw_member(d, key, v);
	d->skip = 0;
	json_decref(rows);
}

static void draw_help(struct drawing *d)
{
	for (unsigned i = 0; help[i] && !full(d); i++)
		put(d, help[i], TOP_PLAIN, false);
}

/* ---- keys ---- */

static void draw_keys(struct drawing *d)
{
	while (d->row < d->s->rows - BELOW)
		put(d, "", TOP_PLAIN, false);
	if (d->v->typing)
		putf(d, TOP_HEAD, "rows that hold: %s_   Enter: done  Escape: all rows", d->v->filter);
	else if (d->v->help || d->v->detail)
		put(d, "Escape back  q quit", TOP_HEAD, false);
	else
		put(d, "1-5 tabs  arrows  r reverse  / filter  Enter all  space hold  h help  q quit", TOP_HEAD, false);
}

void top_draw(struct top_view *v, const struct top_model *m, const struct top_screen *s)
{
	struct drawing d = { .v = v, .m = m, .s = s };

	draw_title(&d);
	draw_totals(&d);
	if (s->rows)
		draw_tabs(&d);
	if (v->help)
		draw_help(&d);
	else if (v->detail)
		draw_detail(&d);
	else
		draw_rows(&d);
	if (s->rows)
		draw_keys(&d);
}
