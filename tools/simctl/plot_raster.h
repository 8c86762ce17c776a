/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A drawing area of braille characters, 2 x 4 dots each. A character takes the colour of the line drawn last in it.
 * Thread: the owner's.
 */
#ifndef SIMCTL_PLOT_RASTER_H
#define SIMCTL_PLOT_RASTER_H

#include <stdint.h>

struct plot_raster {
	int columns, rows; /* in characters */
	uint8_t *dots, *owner;
};

/* 0; -EINVAL: no rows or columns; -ENOMEM. */
int plot_raster_init(struct plot_raster *r, int columns, int rows);
void plot_raster_finish(struct plot_raster *r);

/* Positions are in dots, 0 .. 2 columns - 1 and 0 .. 4 rows - 1 from the upper left; dots outside are ignored. */
void plot_raster_dot(struct plot_raster *r, double x, double y, uint8_t owner);
/* dash: one bit for each of 8 dot columns in turn, set: drawn; 0xff: a solid line. */
void plot_raster_line(struct plot_raster *r, double x0, double y0, double x1, double y1, uint8_t owner, uint8_t dash);

/* U+2800 ...; 0: empty. */
uint32_t plot_raster_code(const struct plot_raster *r, int column, int row);
uint8_t plot_raster_owner(const struct plot_raster *r, int column, int row);

#endif
