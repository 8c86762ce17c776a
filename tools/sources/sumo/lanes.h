/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the lanes around the ego, out of the network's lanes: of the street that it is on, in its direction, as far as that goes.
 *
 * SUMO has lanes, no paint. Painted as a town's are: dashed between two lanes for cars, solid at the sides. A line lies where two
 * lanes meet; the one at the left side of the street is LANES_INSET inside of it, as the other direction has its own.
 *
 * In the axes of base_link a line is y = c0 + c1 x + c2 x^2 + c3 x^3 from min_x to max_x: the cubic of least squares through points of it, from
 * base_link forwards, up to where the line ends, is too far away, or turns by more than LANES_TURN_DEG.
 *
 * Thread: the owner's. Looking allocates nothing; the same lanes and pose give the same bits.
 */
#ifndef SOURCES_SUMO_LANES_H
#define SOURCES_SUMO_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANES_MAX       65536u /* of a network; those after them are left out */
#define LANES_LINES_MAX 16     /* of a street */
#define LANES_INSET     0.18   /* m */
#define LANES_WIDTH     0.12   /* m, of a line */
#define LANES_TURN_DEG  70

struct lane {
	char id[64]; /* SUMO's: "EDGE_INDEX", the rightmost is 0 */
	double width;
	double (*points)[2]; /* m, map: the middle, in driving direction */
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

/* Takes a copy of the points. -ENOMEM; -E2BIG: LANES_MAX, it is left out. */
int lanes_add(struct lanes *l, const char *id, double width, bool cars, const double (*points)[2], size_t n);
/* Once all are there: the lanes of an edge follow one another. */
void lanes_sort(struct lanes *l);
void lanes_free(struct lanes *l);

/* The lines around somebody at x, y (map), from the right to the left; at most LANES_LINES_MAX. 0: it is on no lane for cars. */
size_t lanes_look(const struct lanes *l, double x, double y, double yaw, double ahead_m, struct lane_line *out);

#endif
