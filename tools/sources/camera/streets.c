/* SPDX-License-Identifier: Apache-2.0 */
/* See streets.h. */
#include "streets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

/* layers, m above the network's lanes */
#define Z_JUNCTION 0.0f
#define Z_LANE     0.002f
#define Z_FOOTWAY  0.004f
#define Z_KERB     0.006f
#define Z_MARKING  0.008f

#define LINE_WIDTH  0.12f
#define DASH        3.0f /* m of a dash; the gap is GAP */
#define GAP         6.0f
#define STOP_WIDTH  0.5f
#define STOP_BEFORE 0.4f /* m before the lane's end */
#define ZEBRA       0.5f /* m of a stripe, and between two */
#define KERB_WIDTH  0.15f
#define POST_HEIGHT 5.75f
#define POST_RADIUS 0.09f
#define ARM_RADIUS  0.06f
#define POST_BESIDE 0.7f     /* m from the road's edge */
#define MITRE_MAX   2.0f     /* limits the spike at a sharp bend */
#define PIECE_MAX   50000.0f /* m: a longer segment gets no dashes */
#define EAR_POINTS  512u     /* outlines with more points are drawn as a fan */

struct work {
	const struct net *net;
	struct streets *to;
};

/* ---- lines ---- */

struct line {
	mesh_point *p;
	float *width;     /* mitre length to the left; 1 on a straight line */
	mesh_point *left; /* unit vector to the left */
	uint32_t n;
};

static struct line line_scratch(uint32_t n)
{
	struct line l = { .n = n };

	l.p = calloc(n, sizeof(*l.p));
	l.left = calloc(n, sizeof(*l.left));
	l.width = calloc(n, sizeof(*l.width));
	return l;
}

static void line_free(struct line *l)
{
	free(l->p);
	free(l->left);
	free(l->width);
}

static void direction(const mesh_point a, const mesh_point b, float ret[2])
{
	float l = hypotf(b[0] - a[0], b[1] - a[1]);

	ret[0] = l > 0 ? (b[0] - a[0]) / l : 1;
	ret[1] = l > 0 ? (b[1] - a[1]) / l : 0;
}

static void mitres(struct line *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		float a[2], b[2], m[2], len;

		direction(l->p[i ? i - 1 : 0], l->p[i ? i : 1], a);
		direction(l->p[i + 1 < l->n ? i : i - 1], l->p[i + 1 < l->n ? i + 1 : i], b);
		m[0] = -(a[1] + b[1]);
		m[1] = a[0] + b[0];
		len = hypotf(m[0], m[1]);
		if (len < 1e-3f) {
			m[0] = -b[1];
			m[1] = b[0];
			len = 1;
		}
		l->left[i][0] = m[0] / len;
		l->left[i][1] = m[1] / len;
		/* lengthened by the half angle, so that the line's width is constant */
		l->width[i] = fminf(2 / fmaxf(len, 1), MITRE_MAX);
	}
}

static bool line_open(const struct work *w, const struct net_shape *s, struct line *ret)
{
	*ret = line_scratch(s->n);
	if (!ret->p || !ret->left || !ret->width) {
		w->to->mesh.broken = true;
		line_free(ret);
		return false;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		for (int k = 0; k < 3; k++)
			ret->p[i][k] = (float)(w->net->points[3 * (s->first + i) + (uint32_t)k] - w->to->origin[k]);
	}
	mitres(ret);
	return true;
}

static void beside(const struct line *l, uint32_t i, float to_left, float up, mesh_point ret)
{
	for (int k = 0; k < 2; k++)
		ret[k] = l->p[i][k] + l->left[i][k] * l->width[i] * to_left;
	ret[2] = l->p[i][2] + up;
}

static float length_of(const struct line *l, uint32_t i)
{
	return hypotf(l->p[i + 1][0] - l->p[i][0], l->p[i + 1][1] - l->p[i][1]);
}

/* A strip along the line, between the offsets `right` and `left` of its middle. */
static void ribbon(const struct work *w, const struct line *l, float right, float left, float up, unsigned material)
{
	for (uint32_t i = 0; i + 1 < l->n; i++) {
		mesh_point a, b, c, d;

		beside(l, i, right, up, a);
		beside(l, i + 1, right, up, b);
		beside(l, i + 1, left, up, c);
		beside(l, i, left, up, d);
		mesh_quad(&w->to->mesh, a, b, c, d, material);
	}
}

static void between(const mesh_point a, const mesh_point b, float f, mesh_point ret)
{
	for (int k = 0; k < 3; k++)
		ret[k] = a[k] + (b[k] - a[k]) * f;
}

/* A dashed ribbon: `on` metres drawn, then `off` metres not. */
static void dashes(const struct work *w, const struct line *l, float right, float left, float on, float off,
		   unsigned material)
{
	float phase = 0; /* m since the last dash began */

	for (uint32_t i = 0; i + 1 < l->n; i++) {
		float len = length_of(l, i), at = 0;
		mesh_point a, b, c, d;

		if (!(len < PIECE_MAX) || w->to->mesh.broken)
			continue;
		beside(l, i, right, Z_MARKING, a);
		beside(l, i + 1, right, Z_MARKING, b);
		beside(l, i + 1, left, Z_MARKING, c);
		beside(l, i, left, Z_MARKING, d);
		while (at < len) {
			bool drawn = phase < on;
			float to = fminf(len, at + (drawn ? on : on + off) - phase);
			mesh_point q[4];

			if (drawn) {
				between(a, b, at / len, q[0]);
				between(a, b, to / len, q[1]);
				between(d, c, to / len, q[2]);
				between(d, c, at / len, q[3]);
				mesh_quad(&w->to->mesh, q[0], q[1], q[2], q[3], material);
			}
			phase += to - at + 1e-4f;
			at = to + 1e-4f;
			if (phase >= on + off)
				phase = 0;
		}
	}
}

/* ---- outlines ---- */

static float turn(const mesh_point a, const mesh_point b, const mesh_point c)
{
	return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

static bool inside(const mesh_point p, const mesh_point a, const mesh_point b, const mesh_point c)
{
	return turn(a, b, p) > 0 && turn(b, c, p) > 0 && turn(c, a, p) > 0;
}

static bool is_ear(const struct line *l, const uint32_t *at, uint32_t n, uint32_t i)
{
	uint32_t a = at[(i + n - 1) % n], b = at[i], c = at[(i + 1) % n];

	if (turn(l->p[a], l->p[b], l->p[c]) <= 0)
		return false;
	for (uint32_t k = 0; k < n; k++) {
		if (at[k] != a && at[k] != b && at[k] != c && inside(l->p[at[k]], l->p[a], l->p[b], l->p[c]))
			return false;
	}
	return true;
}

/* Ear clipping; if there is no ear (the outline crosses itself), cuts off the next corner anyway. */
static void fill(const struct work *w, const struct line *l, float up, unsigned material)
{
	uint32_t at[EAR_POINTS], n = l->n < EAR_POINTS ? l->n : EAR_POINTS;
	float area = 0;

	for (uint32_t i = 0; i < n; i++)
		area += turn(l->p[0], l->p[i], l->p[(i + 1) % n]);
	for (uint32_t i = 0; i < n; i++) {
		at[i] = area > 0 ? i : n - 1 - i;
		l->p[i][2] += up;
	}
	for (uint32_t i = 0, tried = 0; n >= 3; i = (i + 1) % n) {
		uint32_t a, b, c;

		if (!is_ear(l, at, n, i) && tried++ < n)
			continue;
		tried = 0;
		a = at[(i + n - 1) % n], b = at[i], c = at[(i + 1) % n];
		if (turn(l->p[a], l->p[b], l->p[c]) > 0)
			mesh_triangle(&w->to->mesh, l->p[a], l->p[b], l->p[c], material);
		memmove(&at[i], &at[i + 1], (--n - i) * sizeof(*at));
		if (n == 0)
			return;
		i = (i + n - 1) % n;
	}
}

/* ---- lanes ---- */

static bool same_edge(const struct net *n, size_t i, size_t k)
{
	return k < n->n && n->shapes[k].edge == n->shapes[i].edge && n->shapes[k].width > 0;
}

static bool drives(const struct net_shape *s)
{
	return s->kind == NET_ROAD || s->kind == NET_CYCLEWAY;
}

/* The line on the left of a lane, and on the right of the first lane. */
static void mark_lane(const struct work *w, const struct line *l, size_t i)
{
	const struct net_shape *s = &w->net->shapes[i];
	const struct net_shape *next = same_edge(w->net, i, i + 1) ? s + 1 : NULL;
	float left = s->width / 2, half = LINE_WIDTH / 2;

	if (next && next->kind == NET_ROAD && s->kind == NET_ROAD)
		dashes(w, l, left - half, left + half, DASH, GAP, MAT_MARKING);
	else if (next && drives(next))
		ribbon(w, l, left - half, left + half, Z_MARKING, MAT_MARKING);
	else if (!next && s->two_way) /* the opposite direction draws its own line */
		ribbon(w, l, left - 2 * LINE_WIDTH, left - LINE_WIDTH, Z_MARKING, MAT_MARKING);
	else if (!next)
		ribbon(w, l, left - 2.5f * LINE_WIDTH, left - 1.5f * LINE_WIDTH, Z_MARKING, MAT_MARKING);
	if (i == 0 || !same_edge(w->net, i, i - 1)) /* without a footway: the road's edge line */
		ribbon(w, l, 1.5f * LINE_WIDTH - left, 2.5f * LINE_WIDTH - left, Z_MARKING, MAT_MARKING);
}

/* A stripe from `from` to `to` metres before the lane's end. */
static void across_end(const struct work *w, const struct line *l, float width, float from, float to)
{
	uint32_t last = l->n - 2;
	float len = length_of(l, last);
	mesh_point a, b, c, d, q[4];

	if (len < from)
		return;
	beside(l, last, -width / 2, Z_MARKING, a);
	beside(l, last + 1, -width / 2, Z_MARKING, b);
	beside(l, last + 1, width / 2, Z_MARKING, c);
	beside(l, last, width / 2, Z_MARKING, d);
	between(a, b, 1 - from / len, q[0]);
	between(a, b, 1 - to / len, q[1]);
	between(d, c, 1 - to / len, q[2]);
	between(d, c, 1 - from / len, q[3]);
	mesh_quad(&w->to->mesh, q[0], q[1], q[2], q[3], MAT_MARKING);
}

/* A horizontal arm between two points. */
static void arm(const struct work *w, const mesh_point from, const mesh_point to)
{
	float d[2];
	mesh_point c[8];

	direction(from, to, d);
	for (int i = 0; i < 8; i++) {
		const float *p = i & 1 ? to : from;
		float side = i & 2 ? ARM_RADIUS : -ARM_RADIUS;

		c[i][0] = p[0] - d[1] * side;
		c[i][1] = p[1] + d[0] * side;
		c[i][2] = p[2] + (i & 4 ? ARM_RADIUS : -ARM_RADIUS);
	}
	mesh_quad(&w->to->mesh, c[0], c[1], c[5], c[4], MAT_POLE);
	mesh_quad(&w->to->mesh, c[3], c[2], c[6], c[7], MAT_POLE);
	mesh_quad(&w->to->mesh, c[4], c[5], c[7], c[6], MAT_POLE);
	mesh_quad(&w->to->mesh, c[2], c[3], c[1], c[0], MAT_POLE);
	mesh_quad(&w->to->mesh, c[1], c[3], c[7], c[5], MAT_POLE);
}

/* A post beside the rightmost driving lane, with an arm to the middle of the leftmost one. */
static void post(const struct work *w, const struct line *l, size_t i)
{
	const struct net_shape *s = &w->net->shapes[i];
	uint32_t end = l->n - 1;
	float to = 0;
	mesh_point foot, tip;

	for (size_t k = i; same_edge(w->net, i, k + 1); k++)
		to += (w->net->shapes[k].width + w->net->shapes[k + 1].width) / 2;
	beside(l, end, -s->width / 2 - POST_BESIDE, 0, foot);
	beside(l, end, to + 0.5f, POST_HEIGHT - 2 * ARM_RADIUS, tip);
	mesh_pillar(&w->to->mesh, foot, POST_RADIUS, POST_HEIGHT, MAT_POLE);
	foot[2] = tip[2];
	arm(w, foot, tip);
}

static void lane(const struct work *w, const struct line *l, size_t i)
{
	const struct net_shape *s = &w->net->shapes[i];
	bool first = i == 0 || !same_edge(w->net, i, i - 1);
	float half = s->width / 2;

	if (s->kind == NET_FOOTWAY) {
		ribbon(w, l, -half, half, Z_FOOTWAY, MAT_SIDEWALK);
		if (same_edge(w->net, i, i + 1))
			ribbon(w, l, half - KERB_WIDTH, half, Z_KERB, MAT_KERB);
		return;
	}
	ribbon(w, l, -half, half, Z_LANE, s->kind == NET_CYCLEWAY ? MAT_CYCLEWAY : MAT_ASPHALT);
	mark_lane(w, l, i);
	if (s->stops)
		across_end(w, l, s->width - LINE_WIDTH, STOP_BEFORE + STOP_WIDTH, STOP_BEFORE);
	if (s->signalled && (first || s[-1].kind == NET_FOOTWAY))
		post(w, l, i);
}

static void shape(const struct work *w, size_t i)
{
	const struct net_shape *s = &w->net->shapes[i];
	struct line l;

	if (!line_open(w, s, &l))
		return;
	switch (s->kind) {
	case NET_JUNCTION:
		fill(w, &l, Z_JUNCTION, MAT_ASPHALT);
		break;
	case NET_CORNER:
		fill(w, &l, Z_FOOTWAY, MAT_SIDEWALK);
		break;
	case NET_CROSSING:
		dashes(w, &l, -s->width / 2, s->width / 2, ZEBRA, ZEBRA, MAT_MARKING);
		break;
	default:
		lane(w, &l, i);
	}
	line_free(&l);
}

/* ---- squares ---- */

struct piece {
	int64_t square;
	uint32_t index[3];
};

static int by_square(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->square < y->square ? -1 : x->square > y->square;
}

static void part_add(struct streets_part *p, const struct vertex *v)
{
	for (int k = 0; k < 3; k++) {
		p->low[k] = fminf(p->low[k], v->at[k]);
		p->high[k] = fmaxf(p->high[k], v->at[k]);
	}
}

static void cut(struct streets *s, struct piece *pieces, size_t n)
{
	const struct mesh *m = &s->mesh;

	for (size_t i = 0; i < n; i++) {
		const float *p = m->v[m->index[3 * i]].at;

		memcpy(pieces[i].index, &m->index[3 * i], sizeof(pieces[i].index));
		pieces[i].square =
			(int64_t)floorf(p[0] / STREETS_SQUARE) * 0x100000000 + (int64_t)floorf(p[1] / STREETS_SQUARE);
	}
	qsort(pieces, n, sizeof(*pieces), by_square);
	for (size_t i = 0; i < n; i++) {
		struct streets_part *p;

		if (i == 0 || pieces[i].square != pieces[i - 1].square)
			s->parts[s->n++] = (struct streets_part){ .first = (uint32_t)(3 * i),
								  .low = { INFINITY, INFINITY, INFINITY },
								  .high = { -INFINITY, -INFINITY, -INFINITY } };
		p = &s->parts[s->n - 1];
		for (int k = 0; k < 3; k++) {
			m->index[p->first + p->n++] = pieces[i].index[k];
			part_add(p, &m->v[pieces[i].index[k]]);
		}
	}
}

int streets_build(const struct net *net, struct streets *ret)
{
	struct streets s = { .origin = { floor((net->low[0] + net->high[0]) / 2),
					 floor((net->low[1] + net->high[1]) / 2) } };
	const struct work w = { net, &s };
	struct piece *pieces = NULL;
	size_t n;

	for (size_t i = 0; i < net->n; i++)
		shape(&w, i);
	n = s.mesh.n_index / 3;
	pieces = calloc(n ? n : 1, sizeof(*pieces));
	s.parts = calloc(n ? n : 1, sizeof(*s.parts));
	if (s.mesh.broken || !pieces || !s.parts) {
		free(pieces);
		streets_free(&s);
		return err_set(-ENOMEM, "no memory for the streets, or more than %u corners", MESH_VERTICES_MAX);
	}
	cut(&s, pieces, n);
	free(pieces);
	*ret = s;
	return 0;
}

void streets_free(struct streets *s)
{
	mesh_finish(&s->mesh);
	free(s->parts);
	*s = (struct streets){ .parts = NULL };
}
