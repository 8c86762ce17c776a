/* SPDX-License-Identifier: Apache-2.0 */
/* Columns as wide as their widest cell. Thread: main. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simctl.h"

#define COLUMNS_MAX 16

struct cell {
	char *text;
	bool right;
};

struct table {
	unsigned columns, n, cap;
	int width[COLUMNS_MAX];
	struct cell *cells;
};

struct table *table_create(unsigned columns)
{
	struct table *t = calloc(1, sizeof(*t));

	if (t)
		t->columns = columns;
	return t;
}

void table_destroy(struct table *t)
{
	for (unsigned i = 0; t && i < t->n; i++)
		free(t->cells[i].text);
	if (t)
		free(t->cells);
	free(t);
}

static bool grow(struct table *t)
{
	unsigned cap = t->cap ? t->cap * 2 : 64;
	struct cell *p = t->n < t->cap ? t->cells : realloc(t->cells, cap * sizeof(*p));

	if (!p)
		return false;
	if (t->n == t->cap)
		t->cap = cap;
	t->cells = p;
	return true;
}

void table_cell(struct table *t, bool right, const char *fmt, ...)
{
	struct cell *c;
	va_list ap;
	int w;

	if (!t || !grow(t))
		return;
	c = &t->cells[t->n];
	va_start(ap, fmt);
	w = vasprintf(&c->text, fmt, ap);
	va_end(ap);
	if (w < 0)
		return;
	c->right = right;
	if (w > t->width[t->n % t->columns])
		t->width[t->n % t->columns] = w;
	t->n++;
}

void table_print(const struct table *t)
{
	for (unsigned i = 0; t && i < t->n; i++) {
		unsigned col = i % t->columns;
		bool last = col + 1 == t->columns || i + 1 == t->n;
		int w = t->cells[i].right ? t->width[col] : last ? 0 : -t->width[col];

		printf("%*s%s", w, t->cells[i].text, last ? "\n" : "  ");
	}
	fflush(stdout);
}
