/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints tables whose columns are as wide as their widest cell; on a narrow screen texts are shortened, then columns
 * left out. Thread: main.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "number.h"
#include "simctl.h"

#define COLUMNS_MAX 16
#define GAP         2
#define CUT         ".." /* replaces what was cut off a text */

struct table {
	const struct column *column;
	unsigned columns, n, cap;
	int width[COLUMNS_MAX]; /* printed width; 0: left out */
	char **cells;
};

/* ---- the screen ---- */

static int positive(const char *text)
{
	uint64_t v;

	return text && number_u64(text, NUMBER_DEC, 99999, &v) == 0 ? (int)v : 0;
}

struct screen ctl_screen(void)
{
	struct winsize w = { 0 };
	bool terminal = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0;
	struct screen s = { w.ws_col ? w.ws_col : positive(getenv("COLUMNS")), w.ws_row };

	if (terminal && !s.columns)
		s.columns = 80;
	return s;
}

/* ---- cells ---- */

static bool continues(char byte) /* a UTF-8 continuation byte */
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static int characters(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += !continues(*text);
	return n;
}

static bool grow(struct table *t)
{
	unsigned cap = t->cap ? t->cap * 2 : 64;
	char **p = t->n < t->cap ? t->cells : realloc(t->cells, cap * sizeof(*p));

	if (!p)
		return false;
	if (t->n == t->cap)
		t->cap = cap;
	t->cells = p;
	return true;
}

static void __attribute__((format(printf, 2, 3))) table_cell(struct table *t, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int w;

	if (!t || !grow(t))
		return;
	va_start(ap, fmt);
	w = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (w < 0)
		return;
	t->cells[t->n] = text;
	w = characters(text);
	if (w > t->width[t->n % t->columns])
		t->width[t->n % t->columns] = w;
	t->n++;
}

static struct table *table_create(const struct column *column)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->column = column;
	while (t->columns < COLUMNS_MAX && column[t->columns].head)
		t->columns++;
	for (unsigned i = 0; i < t->columns; i++)
		table_cell(t, "%s", column[i].head);
	return t;
}

static void table_destroy(struct table *t)
{
	for (unsigned i = 0; t && i < t->n; i++)
		free(t->cells[i]);
	if (t)
		free(t->cells);
	free(t);
}

/* ---- width ---- */

static int total(const struct table *t)
{
	int sum = -GAP;

	for (unsigned i = 0; i < t->columns; i++)
		sum += t->width[i] ? t->width[i] + GAP : 0;
	return sum;
}

/* By how much texts can be shortened in total. */
static int slack(const struct table *t)
{
	int sum = 0;

	for (unsigned i = 0; i < t->columns; i++)
		if (t->column[i].least && t->width[i] > t->column[i].least)
			sum += t->width[i] - t->column[i].least;
	return sum;
}

static void leave_one_out(struct table *t)
{
	unsigned out = 0;

	for (unsigned i = 1; i < t->columns; i++)
		if (t->width[i] && (!t->width[out] || t->column[i].leave >= t->column[out].leave))
			out = i;
	t->width[out] = 0;
}

/* Shortens the widest text that may be shortened. */
static void shorten_one(struct table *t)
{
	unsigned widest = COLUMNS_MAX;

	for (unsigned i = 0; i < t->columns; i++)
		if (t->column[i].least && t->width[i] > t->column[i].least &&
		    (widest == COLUMNS_MAX || t->width[i] > t->width[widest]))
			widest = i;
	if (widest < COLUMNS_MAX)
		t->width[widest]--;
}

static void fit(struct table *t, int columns)
{
	int left = 0;

	for (unsigned i = 0; i < t->columns; i++)
		left += t->width[i] > 0;
	while (left-- > 1 && total(t) - slack(t) > columns)
		leave_one_out(t);
	while (total(t) > columns && slack(t) > 0)
		shorten_one(t);
}

/* ---- printing ---- */

static const char *skip(const char *text, int n)
{
	for (; *text && (n > 0 || continues(*text)); text++)
		n -= !continues(text[1]);
	return text;
}

static void print_text(FILE *f, const char *text, int width, bool end)
{
	int len = characters(text), keep = width - (int)strlen(CUT);

	if (len <= width || keep < 1)
		fprintf(f, "%.*s", (int)(skip(text, width) - text), text);
	else if (end)
		fprintf(f, CUT "%s", skip(text, len - keep));
	else
		fprintf(f, "%.*s" CUT, (int)(skip(text, keep) - text), text);
}

static void print_row(FILE *f, const struct table *t, unsigned first)
{
	unsigned last = 0;
	bool any = false;

	for (unsigned i = 0; i < t->columns; i++)
		if (t->width[i])
			last = i;
	for (unsigned i = 0; i < t->columns && first + i < t->n; i++) {
		const struct column *c = &t->column[i];
		const char *text = t->cells[first + i];
		int pad = t->width[i] - characters(text);

		if (!t->width[i])
			continue;
		fprintf(f, "%*s", (any ? GAP : 0) + (c->as && pad > 0 ? pad : 0), "");
		print_text(f, text, t->width[i], c->end);
		fprintf(f, "%*s", !c->as && pad > 0 && i != last ? pad : 0, "");
		any = true;
	}
	putc('\n', f);
}

/* ---- from JSON ---- */

double json_amount(const json_t *value)
{
	const char *key;
	json_t *v;
	double n = 0;

	if (json_is_array(value))
		return (double)json_array_size(value);
	json_object_foreach((json_t *)(uintptr_t)value, key, v)
		n += json_number_value(v);
	return n + json_number_value(value);
}

static void add_number(struct table *t, const struct column *c, const json_t *value)
{
	double v = json_amount(value) * (c->scale > 0 ? c->scale : 1);

	if (!value || json_is_null(value))
		table_cell(t, "%s", c->none ? c->none : "never");
	else
		table_cell(t, "%.*f%s", c->as == SPAN ? 3 : (int)c->as - NUM, v, c->as == SPAN ? " s" : "");
}

static void add_cell(struct table *t, const struct column *c, const json_t *obj)
{
	size_t n = strcspn(c->key, ".");
	char first[32];

	if (c->key[n]) {
		snprintf(first, sizeof(first), "%.*s", (int)n, c->key);
		table_cell(t, "%s", json_text(json_object_get(obj, first), c->key + n + 1));
	} else if (c->as == TEXT) {
		table_cell(t, "%s", json_text(obj, c->key));
	} else {
		add_number(t, c, json_object_get(obj, c->key));
	}
}

void table_print(FILE *f, const struct column *columns, const json_t *list, int width)
{
	struct table *t = table_create(columns);
	const json_t *obj;
	size_t i;

	json_array_foreach(list, i, obj)
		for (const struct column *c = columns; c->head; c++)
			add_cell(t, c, obj);
	if (t && width)
		fit(t, width);
	for (unsigned k = 0; t && k < t->n; k += t->columns)
		print_row(f, t, k);
	table_destroy(t);
}

void table_of(const struct column *columns, const json_t *list)
{
	table_print(stdout, columns, list, ctl_screen().columns);
	fflush(stdout);
}
