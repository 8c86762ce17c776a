/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane lines around the ego, from the network's lanes: those of the ego's street, in its direction, up to the street's
 * end.
 *
 * SUMO has no lane markings. They are chosen as in a town: dashed between two lanes for cars, solid at the sides. A
 * line lies where two lanes meet; the one at the left side of the street is LANES_INSET inside it, because the opposite
 * direction has a line of its own.
 *
 * In the axes of base_link a line is y = c0 + c1 x + c2 x^2 + c3 x^3 from min_x to max_x: a least-squares cubic through
 * its points, from base_link forwards, until the line ends, is too far away, or turns by more than LANES_TURN_DEG.
 *
 * Thread: the owner's. Looking allocates nothing; the same lanes and pose give the same bits.
 */
#ifndef SOURCES_SUMO_LANES_H
#define SOURCES_SUMO_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANES_MAX       65536u /* lanes of a network; further lanes are left out */
#define LANES_LINES_MAX 16     /* lines of a street */
#define LANES_INSET     0.18   /* m */
#define LANES_WIDTH     0.12   /* m, width of a line */
#define LANES_TURN_DEG  70

struct lane {
	char id[64]; /* SUMO's id: "EDGE_INDEX", index 0 is the rightmost */
	double width;
	double (*points)[2]; /* m, map: centre line, in driving direction */
	size_t n;
	bool cars; /* passenger cars may use it */
};

struct lanes {
	struct lane *lane;
	size_t n, cap;
};

struct lane_line {
	double c[4], min_x, max_x;
	bool dashed;
	int position; /* -1: left of the ego's lane, -2: further left, ...; 1: right of it, ... */
};

/* Copies the points. -ENOMEM; -E2BIG: there are already LANES_MAX, and the lane is left out. */
int lanes_add(struct lanes *l, const char *id, double width, bool cars, const double (*points)[2], size_t n);
/* Call it after the last lanes_add(): puts the lanes of an edge next to one another. */
void lanes_sort(struct lanes *l);
void lanes_free(struct lanes *l);

/*
 * Writes the lines around a vehicle at x, y (map), from right to left; at most LANES_LINES_MAX. 0: it is on no lane for
 * cars.
 */
size_t lanes_look(const struct lanes *l, double x, double y, double yaw, double ahead_m, struct lane_line *out);

#endif
