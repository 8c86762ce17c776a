/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of lanes. See lanes.h. */
#include "lanes.h"

#include "number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_M   0.5 /* distance between the points that a curve is fitted to */
#define SHORTEST_M 2.0 /* shorter lines are left out */
#define BESIDE_M   0.5 /* how far beside its lane a vehicle still counts as on it */

/* ---- what there is ---- */

int lanes_add(struct lanes *l, const char *id, double width, bool cars, const double (*points)[2], size_t n)
{
	struct lane *p;

	if (n < 2 || strlen(id) >= sizeof(p->id))
		return 0;
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 256;

		if (l->n >= LANES_MAX)
			return -E2BIG;
		p = realloc(l->lane, cap * sizeof(*p));
		if (!p)
			return -ENOMEM;
		l->lane = p;
		l->cap = cap;
	}
	p = &l->lane[l->n];
	*p = (struct lane){ .width = width, .n = n, .cars = cars, .points = malloc(n * sizeof(*points)) };
	if (!p->points)
		return -ENOMEM;
	memcpy(p->points, points, n * sizeof(*points));
	strcpy(p->id, id);
	l->n++;
	return 0;
}

void lanes_free(struct lanes *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->lane[i].points);
	free(l->lane);
	*l = (struct lanes){ 0 };
}

static size_t edge_len(const char *id)
{
	const char *end = strrchr(id, '_');

	return end ? (size_t)(end - id) : strlen(id);
}

/* Returns the index behind the edge: 2 for "edge_2". */
static int64_t lane_of(const char *id, size_t edge)
{
	int64_t n;

	return number_i64(id + edge + (id[edge] == '_'), NUMBER_DEC, 0, INT64_MAX, &n) == 0 ? n : 0;
}

static int by_edge(const void *a, const void *b)
{
	const char *p = ((const struct lane *)a)->id, *q = ((const struct lane *)b)->id;
	size_t np = edge_len(p), nq = edge_len(q);
	int d = strncmp(p, q, np < nq ? np : nq);

	if (d == 0 && np != nq)
		d = np < nq ? -1 : 1;
	if (d == 0)
		d = (lane_of(p, np) > lane_of(q, nq)) - (lane_of(p, np) < lane_of(q, nq));
	return d;
}

void lanes_sort(struct lanes *l)
{
	if (l->n)
		qsort(l->lane, l->n, sizeof(*l->lane), by_edge);
}

static bool same_edge(const struct lane *a, const struct lane *b)
{
	size_t n = edge_len(a->id);

	return n == edge_len(b->id) && strncmp(a->id, b->id, n) == 0;
}

/* ---- the ego's lane ---- */

/* Distance of a point from a lane; INFINITY: no part of the lane runs in its direction. */
static double distance(const struct lane *l, double x, double y, double yaw)
{
	double best = INFINITY;

	for (size_t i = 0; i + 1 < l->n; i++) {
		const double *a = l->points[i], *b = l->points[i + 1];
		double dx = b[0] - a[0], dy = b[1] - a[1], l2 = dx * dx + dy * dy, t;

		if (!(l2 > 0) || dx * cos(yaw) + dy * sin(yaw) < 0.5 * sqrt(l2))
			continue;
		t = fmin(fmax(((x - a[0]) * dx + (y - a[1]) * dy) / l2, 0), 1);
		best = fmin(best, hypot(a[0] + t * dx - x, a[1] + t * dy - y));
	}
	return best;
}

static const struct lane *lane_at(const struct lanes *l, double x, double y, double yaw)
{
	const struct lane *best = NULL;
	double nearest = INFINITY;

	for (size_t i = 0; i < l->n; i++) {
		double d = l->lane[i].cars ? distance(&l->lane[i], x, y, yaw) : INFINITY;

		if (d < nearest && d <= l->lane[i].width / 2 + BESIDE_M) {
			nearest = d;
			best = &l->lane[i];
		}
	}
	return best;
}

/* ---- a line ---- */

/*
 * The observer's pose, and sums for the least-squares curve: of x^0 .. x^6, and of y x^0 .. y x^3, x in units of the
 * reach.
 */
struct curve {
	double x, y, cos_yaw, sin_yaw, reach;
	double xs[7], ys[4];
	double min_x, max_x;
	bool begun, ended;
};

/* Adds a point and the line's direction there, in the map. */
static void take(struct curve *c, double px, double py, double dx, double dy)
{
	double x = c->cos_yaw * (px - c->x) + c->sin_yaw * (py - c->y);
	double y = c->cos_yaw * (py - c->y) - c->sin_yaw * (px - c->x), p = 1;
	bool forward = c->cos_yaw * dx + c->sin_yaw * dy > cos(LANES_TURN_DEG * M_PI / 180);

	if (c->ended || x < 0)
		return;
	if (!forward || x > c->reach) {
		c->ended = c->begun; /* a bend behind base_link does not end the line ahead */
		return;
	}
	if (!c->begun)
		c->min_x = x;
	c->begun = true;
	c->max_x = x;
	x /= c->reach;
	for (int i = 0; i < 7; i++, p *= x) {
		c->xs[i] += p;
		if (i < 4)
			c->ys[i] += y * p;
	}
}

/* The left normal at a corner is the mean of both sides', so that both lines keep their distance. */
static void normal(const struct lane *l, size_t i, double ret[2])
{
	double sum[2] = { 0, 0 }, one[2] = { 0, 0 }, f;

	for (size_t k = i ? i - 1 : 0; k <= i && k + 1 < l->n; k++) {
		double dx = l->points[k + 1][0] - l->points[k][0], dy = l->points[k + 1][1] - l->points[k][1];
		double len = hypot(dx, dy);

		if (len > 0) {
			one[0] = -dy / len;
			one[1] = dx / len;
			sum[0] += one[0];
			sum[1] += one[1];
		}
	}
	f = sum[0] * one[0] + sum[1] * one[1];
	ret[0] = f > 0.1 ? sum[0] / f : one[0];
	ret[1] = f > 0.1 ? sum[1] / f : one[1];
}

/* Adds the whole line beside a lane, `left` metres from its centre line. */
static void take_line(struct curve *c, const struct lane *l, double left)
{
	double n[2], a[2], b[2];

	normal(l, 0, n);
	b[0] = l->points[0][0] + left * n[0];
	b[1] = l->points[0][1] + left * n[1];
	for (size_t i = 1; i < l->n; i++) {
		double len, steps;

		memcpy(a, b, sizeof(a));
		normal(l, i, n);
		b[0] = l->points[i][0] + left * n[0];
		b[1] = l->points[i][1] + left * n[1];
		len = hypot(b[0] - a[0], b[1] - a[1]);
		steps = ceil(len / SAMPLE_M);
		for (double k = i == 1 ? 0 : 1; k <= steps && len > 0; k++)
			take(c, a[0] + (b[0] - a[0]) * k / steps, a[1] + (b[1] - a[1]) * k / steps, (b[0] - a[0]) / len,
			     (b[1] - a[1]) / len);
	}
}

/* Gaussian elimination with pivots; the matrix is positive definite unless the points do not determine a curve. */
static bool solve(double m[4][5], double ret[4])
{
	for (int i = 0; i < 4; i++) {
		int best = i;

		for (int k = i + 1; k < 4; k++)
			best = fabs(m[k][i]) > fabs(m[best][i]) ? k : best;
		if (!(fabs(m[best][i]) > 1e-12))
			return false;
		for (int k = 0; k < 5; k++) {
			double swap = m[i][k];

			m[i][k] = m[best][k];
			m[best][k] = swap;
		}
		for (int k = i + 1; k < 4; k++)
			for (int j = 4; j >= i; j--)
				m[k][j] -= m[i][j] * m[k][i] / m[i][i];
	}
	for (int i = 3; i >= 0; i--) {
		ret[i] = m[i][4];
		for (int k = i + 1; k < 4; k++)
			ret[i] -= m[i][k] * ret[k];
		ret[i] /= m[i][i];
	}
	return true;
}

static bool fit(const struct curve *c, struct lane_line *line)
{
	double m[4][5];

	if (!c->begun || c->max_x - c->min_x < SHORTEST_M)
		return false;
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 4; k++)
			m[i][k] = c->xs[i + k];
		m[i][4] = c->ys[i];
	}
	if (!solve(m, line->c))
		return false;
	for (int i = 1; i < 4; i++)
		line->c[i] /= pow(c->reach, i);
	line->min_x = c->min_x;
	line->max_x = c->max_x;
	return true;
}

/* ---- the street ---- */

size_t lanes_look(const struct lanes *l, double x, double y, double yaw, double ahead_m, struct lane_line *out)
{
	const struct lane *own = lane_at(l, x, y, yaw), *first = own, *last = own, *end = l->lane + l->n;
	size_t n = 0;

	if (!own)
		return 0;
	while (first > l->lane && same_edge(first - 1, own) && first[-1].cars)
		first--;
	while (last + 1 < end && same_edge(last + 1, own) && last[1].cars)
		last++;
	/* line k is right of lane first + k */
	for (const struct lane *k = first; k <= last + 1 && n < LANES_LINES_MAX; k++) {
		struct curve c = { .x = x, .y = y, .cos_yaw = cos(yaw), .sin_yaw = sin(yaw), .reach = ahead_m };
		struct lane_line line = { .dashed = k != first && k != last + 1,
					  .position = (int)(k <= own ? own - k + 1 : own - k) };

		if (k == first)
			take_line(&c, k, -k->width / 2);
		else
			take_line(&c, k - 1, k[-1].width / 2 - (k == last + 1 ? LANES_INSET : 0));
		if (fit(&c, &line))
			out[n++] = line;
	}
	return n;
}
