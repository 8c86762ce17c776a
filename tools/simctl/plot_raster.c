/* SPDX-License-Identifier: Apache-2.0 */
/* See plot_raster.h. */
#include "plot_raster.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int plot_raster_init(struct plot_raster *r, int columns, int rows)
{
	const size_t n = columns > 0 && rows > 0 ? (size_t)columns * (size_t)rows : 0;

	*r = (struct plot_raster){ .columns = columns, .rows = rows };
	if (!n)
		return -EINVAL;
	r->dots = calloc(2, n);
	if (!r->dots)
		return -ENOMEM;
	r->owner = r->dots + n;
	return 0;
}

void plot_raster_finish(struct plot_raster *r)
{
	free(r->dots);
	r->dots = NULL;
}

/* Bit of the dot within its character. */
static uint8_t bit_of(long x, long y)
{
	static const uint8_t bits[4][2] = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 } };

	return bits[y % 4][x % 2];
}

void plot_raster_dot(struct plot_raster *r, double x, double y, uint8_t owner)
{
	size_t at;
	long column, row;

	if (!(x > -0.5 && x < 2 * r->columns - 0.5 && y > -0.5 && y < 4 * r->rows - 0.5))
		return;
	column = lround(fmax(x, 0));
	row = lround(fmax(y, 0));
	at = (size_t)(row / 4) * (size_t)r->columns + (size_t)(column / 2);
	r->dots[at] |= bit_of(column, row);
	r->owner[at] = owner;
}

/* Clips the line to the left and right edges, and limits its slope to what dots can show. */
static int clip(const struct plot_raster *r, double *x0, double *y0, double *x1, double *y1)
{
	const double right = 2 * r->columns - 1, far = 8.0 * r->rows + 8;
	const double slope = *x1 > *x0 ? (*y1 - *y0) / (*x1 - *x0) : 0;

	if (!(*x0 <= *x1) || *x1 < 0 || *x0 > right)
		return -ERANGE;
	if (*x0 < 0) {
		*y0 -= *x0 * slope;
		*x0 = 0;
	}
	if (*x1 > right) {
		*y1 -= (*x1 - right) * slope;
		*x1 = right;
	}
	*y0 = fmin(fmax(*y0, -far), far);
	*y1 = fmin(fmax(*y1, -far), far);
	return 0;
}

void plot_raster_line(struct plot_raster *r, double x0, double y0, double x1, double y1, uint8_t owner, uint8_t dash)
{
	long n;

	if (clip(r, &x0, &y0, &x1, &y1) < 0)
		return;
	n = lround(ceil(fmax(x1 - x0, fabs(y1 - y0))));
	for (long i = 0; i <= n; i++) {
		const double part = n ? (double)i / (double)n : 0, x = x0 + part * (x1 - x0);

		if (dash >> (lround(x) % 8) & 1)
			plot_raster_dot(r, x, y0 + part * (y1 - y0), owner);
	}
}

uint32_t plot_raster_code(const struct plot_raster *r, int column, int row)
{
	const uint8_t dots = r->dots[row * r->columns + column];

	return dots ? 0x2800u + dots : 0;
}

uint8_t plot_raster_owner(const struct plot_raster *r, int column, int row)
{
	return r->owner[row * r->columns + column];
}
