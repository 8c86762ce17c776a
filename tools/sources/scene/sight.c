/* SPDX-License-Identifier: Apache-2.0 */
/* What is in view, and how near. See sight.h. */
#include "sight.h"

#include <math.h>

#define INSET    0.98 /* part of half a box: for a point exactly on the edge rounding would decide whether it is seen */
#define INSET_UP 0.90
#define CORNERS  8 /* a rectangle that was cut twice has up to 6 */

/* ---- in view and not hidden ---- */

/* Whether the box is on the line from the sensor to p; computed in the box's own axes. */
static bool blocks(const struct scan_box *b, const double p[3])
{
	double c = cos(b->yaw), s = sin(b->yaw), in = 0, out = 1;
	const double from[3] = { -(c * b->x + s * b->y), s * b->x - c * b->y, -b->z };
	const double way[3] = { c * p[0] + s * p[1], c * p[1] - s * p[0], p[2] };
	const double half[3] = { b->length / 2, b->width / 2, b->height / 2 };
	bool inside = true;

	for (int i = 0; i < 3; i++) {
		double near, far;

		inside = inside && fabs(from[i]) <= half[i];
		if (way[i] == 0) {
			if (fabs(from[i]) > half[i])
				return false;
			continue;
		}
		near = (copysign(half[i], -way[i]) - from[i]) / way[i];
		far = (copysign(half[i], way[i]) - from[i]) / way[i];
		in = fmax(in, near);
		out = fmin(out, far);
	}
	return !inside && in < out;
}

/* A cheap test: the box is further from the line to p than its own radius. */
static bool aside(const struct scan_box *b, const double p[3], double dist)
{
	double r2 = (b->length * b->length + b->width * b->width + b->height * b->height) / 4;
	double along = (b->x * p[0] + b->y * p[1] + b->z * p[2]) / dist;
	double t = fmin(fmax(along, 0), dist) / dist;
	double dx = b->x - t * p[0], dy = b->y - t * p[1], dz = b->z - t * p[2];

	return dx * dx + dy * dy + dz * dz > r2;
}

static bool in_view(const struct sight *s, const double p[3], double dist)
{
	return dist >= s->range_min && dist <= s->range_max && fabs(atan2(p[1], p[0])) <= s->half_rad &&
	       fabs(atan2(p[2], hypot(p[0], p[1]))) <= s->half_up_rad;
}

static bool point_seen(const struct sight *s, const struct scan_box *boxes, size_t n, size_t i, const double p[3])
{
	double dist = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);

	if (!(dist > 0) || !in_view(s, p, dist))
		return false;
	for (size_t k = 0; k < n; k++)
		if (k != i && !aside(&boxes[k], p, dist) && blocks(&boxes[k], p))
			return false;
	return true;
}

bool sight_sees(const struct sight *s, const struct scan_box *boxes, size_t n, size_t i)
{
	const struct scan_box *b = &boxes[i];
	double c = cos(b->yaw), sn = sin(b->yaw);

	for (int k = 0; k < 27; k++) { /* the middle first, since it mostly suffices */
		int at = (k + 13) % 27;
		double l = (at % 3 - 1) * INSET * b->length / 2, w = (at / 3 % 3 - 1) * INSET * b->width / 2;
		double p[3] = { b->x + c * l - sn * w, b->y + sn * l + c * w,
				b->z + (at / 9 - 1) * INSET_UP * b->height / 2 };

		if (point_seen(s, boxes, n, i, p))
			return true;
	}
	return false;
}

/* ---- distance ---- */

struct flat {
	double x, y;
};

/* Cut a polygon to its part with nx x + ny y >= 0. Returns the number of corners of that part. */
static int cut(const struct flat *in, int n, double nx, double ny, struct flat *out)
{
	int m = 0;

	for (int i = 0; i < n; i++) {
		struct flat a = in[i], b = in[(i + 1) % n];
		double da = nx * a.x + ny * a.y, db = nx * b.x + ny * b.y;

		if (da >= 0)
			out[m++] = a;
		if ((da >= 0) != (db >= 0))
			out[m++] =
				(struct flat){ a.x + (b.x - a.x) * da / (da - db), a.y + (b.y - a.y) * da / (da - db) };
	}
	return m;
}

static double to_side(struct flat a, struct flat b)
{
	double dx = b.x - a.x, dy = b.y - a.y, l2 = dx * dx + dy * dy;
	double t = l2 > 0 ? fmin(fmax(-(a.x * dx + a.y * dy) / l2, 0), 1) : 0;

	return hypot(a.x + t * dx, a.y + t * dy);
}

static bool within(const struct scan_box *b)
{
	double c = cos(b->yaw), s = sin(b->yaw);

	return fabs(c * b->x + s * b->y) <= b->length / 2 && fabs(c * b->y - s * b->x) <= b->width / 2;
}

/* Nearest and furthest distance, from above, of the part of a box that is in the sector. False: no part is. */
static bool reach(const struct sight *s, const struct scan_box *b, double *ret_near, double *ret_far)
{
	static const int sign[4][2] = { { 1, -1 }, { 1, 1 }, { -1, 1 }, { -1, -1 } };
	double c = cos(b->yaw), sn = sin(b->yaw), ch = cos(s->half_rad), sh = sin(s->half_rad);
	struct flat box[CORNERS], half[CORNERS];
	int n;

	for (int i = 0; i < 4; i++) {
		double l = sign[i][0] * b->length / 2, w = sign[i][1] * b->width / 2;

		box[i] = (struct flat){ b->x + c * l - sn * w, b->y + sn * l + c * w };
	}
	n = cut(box, 4, sh, -ch, half); /* right of the left edge of the view */
	n = cut(half, n, sh, ch, box);
	*ret_near = within(b) ? 0 : INFINITY;
	*ret_far = 0;
	for (int i = 0; i < n; i++) {
		*ret_near = fmin(*ret_near, to_side(box[i], box[(i + 1) % n]));
		*ret_far = fmax(*ret_far, hypot(box[i].x, box[i].y));
	}
	return n > 0;
}

double sight_nearest(const struct sight *s, const struct scan_box *b)
{
	/* distance of the box above or below the sensor */
	double up = fmax(fmax(b->z - b->height / 2, -(b->z + b->height / 2)), 0);
	double near, far, dist;

	if (!reach(s, b, &near, &far))
		return INFINITY;
	if (up > 0)
		near = fmax(near, up / tan(s->half_up_rad)); /* where the sector is high enough */
	dist = hypot(near, up);
	return near <= far && dist <= s->range_max ? dist : INFINITY;
}
