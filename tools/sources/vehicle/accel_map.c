/* SPDX-License-Identifier: Apache-2.0 */
/* A table of accelerations. See accel_map.h. */
#include "accel_map.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "number.h"

#define LINE_MAX_ 1024
#define MOST      1000.0 /* m/s^2, m/s: larger values are taken for mistakes */

struct reader {
	const char *path;
	unsigned line;
};

static int wrong(const struct reader *r, const char *what)
{
	return err_set(-EINVAL, "%s:%u: %s", r->path, r->line, what);
}

/* Reads the next number of a line; moves *at behind its comma, to NULL at the end. */
static int number(const struct reader *r, char **at, double *ret)
{
	char *comma = strchr(*at, ',');
	const char *s = *at + strspn(*at, " \t\r\n");

	if (comma)
		*comma = '\0';
	if (number_take_f64(&s, ret) < 0 || s[strspn(s, " \t\r\n")] || fabs(*ret) > MOST)
		return wrong(r, "this must be numbers between commas, up to 1000");
	*at = comma ? comma + 1 : NULL;
	return 0;
}

static int rises(const struct reader *r, const double *x, uint32_t i)
{
	return i == 0 || x[i] > x[i - 1] ? 0
					 : wrong(r, "orders rise from line to line, and speeds from column to column");
}

static int read_speeds(const struct reader *r, char *text, struct accel_map *m)
{
	char *at = strchr(text, ',');
	int e = 0;

	for (at = at ? at + 1 : NULL; e == 0 && at; m->n_speeds++) {
		if (m->n_speeds == ACCEL_MAP_MAX)
			return wrong(r, "more than 32 speeds");
		e = number(r, &at, &m->speed[m->n_speeds]);
		if (e == 0)
			e = rises(r, m->speed, m->n_speeds);
	}
	return e == 0 && m->n_speeds == 0 ? wrong(r, "a name and the speeds stand in the first line") : e;
}

static int read_order(const struct reader *r, char *text, struct accel_map *m)
{
	uint32_t i = m->n_orders;
	char *at = text;
	int e;

	if (i == ACCEL_MAP_MAX)
		return wrong(r, "more than 32 orders");
	e = number(r, &at, &m->order[i]);
	if (e == 0)
		e = rises(r, m->order, i);
	for (uint32_t k = 0; e == 0 && k < m->n_speeds; k++)
		e = at ? number(r, &at, &m->accel[i][k]) : wrong(r, "fewer accelerations than there are speeds");
	if (e == 0 && at)
		e = wrong(r, "more accelerations than there are speeds");
	m->n_orders++;
	return e;
}

static int read_all(FILE *f, struct reader *r, struct accel_map *m)
{
	char text[LINE_MAX_];
	int e = 0;

	while (e == 0 && fgets(text, sizeof(text), f)) {
		r->line++;
		if (strlen(text) == sizeof(text) - 1)
			e = wrong(r, "the line is too long");
		else if (text[strspn(text, " \t\r\n")])
			e = m->n_speeds ? read_order(r, text, m) : read_speeds(r, text, m);
	}
	if (e == 0 && ferror(f))
		e = err_sys(-EIO, "%s", r->path);
	if (e == 0 && m->n_orders == 0)
		e = err_set(-EINVAL, "%s: there are no accelerations in it", r->path);
	return e;
}

int accel_map_load(const char *path, struct accel_map *ret)
{
	struct reader r = { .path = path };
	struct accel_map m = { 0 };
	FILE *f = fopen(path, "re");
	int e;

	if (!f)
		return err_sys(-errno, "%s", path);
	e = read_all(f, &r, &m);
	fclose(f);
	if (e == 0)
		*ret = m;
	return e;
}

/* Finds the two of n rising numbers between which x lies: *i and *i + 1. Returns the share of the second. */
static double between(const double *v, uint32_t n, double x, uint32_t *i)
{
	*i = 0;
	if (n == 1 || !(x > v[0]))
		return 0;
	while (*i + 2 < n && x > v[*i + 1])
		++*i;
	return x >= v[*i + 1] ? 1 : (x - v[*i]) / (v[*i + 1] - v[*i]);
}

static double along(const struct accel_map *m, uint32_t line, uint32_t column, double share)
{
	const double *a = m->accel[line];

	return share > 0 ? a[column] + share * (a[column + 1] - a[column]) : a[column];
}

double accel_map_at(const struct accel_map *m, double order, double speed)
{
	uint32_t line, column;
	double down = between(m->order, m->n_orders, order, &line),
	       right = between(m->speed, m->n_speeds, speed, &column);
	double low = along(m, line, column, right);

	return down > 0 ? low + down * (along(m, line + 1, column, right) - low) : low;
}
