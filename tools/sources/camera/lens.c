/* SPDX-License-Identifier: Apache-2.0 */
/* See lens.h. */
#include "lens.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RADIUS_MAX   11.43 /* tan(85 degrees): limit of a pinhole's useful field of view */
#define STEP         0.002 /* step of the search for the usable radius */
#define DIRECTIONS   32    /* and number of directions checked at each radius, over half a turn */
#define NEWTON_MAX   60
#define SHORTEST     1e-9  /* of a Newton step: with shorter ones it gives up */
#define CLOSE        1e-10 /* tolerance at distance 1: a millionth of a pixel */
#define FOCAL_MAX_PX 1e6
#define COEFF_MAX    1e3

/* ---- the models ---- */

static const struct {
	const char *name;
	unsigned coefficients;
	const char *too_many;
	double far;
	const char *too_far;
} MODELS[] = {
	[LENS_PLUMB_BOB] = { "plumb_bob", 5, "plumb_bob has five coefficients", RADIUS_MAX, "85 degrees" },
	[LENS_EQUIDISTANT] = { "equidistant", 4, "equidistant has four coefficients", M_PI, "180 degrees" },
	[LENS_RATIONAL] = { "rational_polynomial", 8, "rational_polynomial has eight coefficients", RADIUS_MAX,
			    "85 degrees" },
};

#define N_MODELS (sizeof(MODELS) / sizeof(MODELS[0]))

const char *lens_model_name(enum lens_model model)
{
	return MODELS[model].name;
}

unsigned lens_coefficients(enum lens_model model)
{
	return MODELS[model].coefficients;
}

bool lens_model_from(const char *name, enum lens_model *ret)
{
	for (unsigned m = 0; m < N_MODELS; m++) {
		if (strcmp(name, MODELS[m].name) == 0) {
			*ret = (enum lens_model)m;
			return true;
		}
	}
	return false;
}

struct lens_params lens_from_fov(enum lens_model model, uint32_t width, uint32_t height, double hfov_rad)
{
	double half = model == LENS_EQUIDISTANT ? hfov_rad / 2 : tan(hfov_rad / 2);
	double f = width / 2.0 / half;

	return (struct lens_params){ .model = model,
				     .width = width,
				     .height = height,
				     .fx = f,
				     .fy = f,
				     .cx = (width - 1) / 2.0,
				     .cy = (height - 1) / 2.0 };
}

static void set_parts(struct lens *l)
{
	const double *d = l->p.d;

	if (l->p.model == LENS_EQUIDISTANT) {
		memcpy(l->over, d, sizeof(l->over));
		return;
	}
	l->over[0] = d[0];
	l->over[1] = d[1];
	l->over[2] = d[4];
	l->p1 = d[2];
	l->p2 = d[3];
	memcpy(l->under, d + 5, sizeof(l->under));
}

/* Factor of the radial part for a squared radius r2, and its derivative by r2. Below 0: beyond a pole. */
static double radial(const struct lens *l, double r2, double *ret_by_r2)
{
	const double *o = l->over, *u = l->under;
	double over = 1 + r2 * (o[0] + r2 * (o[1] + r2 * (o[2] + r2 * o[3]))), under, by_r2;

	*ret_by_r2 = o[0] + r2 * (2 * o[1] + r2 * (3 * o[2] + r2 * 4 * o[3]));
	if (l->p.model != LENS_RATIONAL)
		return over;
	under = 1 + r2 * (u[0] + r2 * (u[1] + r2 * u[2]));
	by_r2 = u[0] + r2 * (2 * u[1] + r2 * 3 * u[2]);
	if (!(under > 0))
		return -1;
	*ret_by_r2 = (*ret_by_r2 * under - over * by_r2) / (under * under);
	return over / under;
}

/* Distorted radius of r without the tangential part, and its derivative. */
static double bent(const struct lens *l, double r, double *ret_slope)
{
	double by_r2, k = radial(l, r * r, &by_r2);

	*ret_slope = k + 2 * r * r * by_r2;
	return r * k;
}

/*
 * Whether the Jacobian is positive definite everywhere on the circle of radius r. In radial and transverse components,
 * at an angle a from (p2, p1), it is slope + 3 t cos a, t sin a; t sin a, k + t cos a, with t = 2 r |(p1, p2)|. So the
 * tangential part changes its eigenvalues by 3 t at most.
 */
static bool is_one_to_one(const struct lens *l, double r)
{
	double by_r2, k = radial(l, r * r, &by_r2), slope = k + 2 * r * r * by_r2, t = 2 * r * hypot(l->p1, l->p2);

	if (!(k > 0) || !(slope > 0))
		return false;
	if (fmin(k, slope) > 3 * t)
		return true;
	for (unsigned i = 0; i <= DIRECTIONS; i++) {
		double c = cos(M_PI * i / DIRECTIONS), along = slope + 3 * t * c, across = k + t * c;

		if (!(along > 0) || !(along * across > t * t * (1 - c * c)))
			return false;
	}
	return true;
}

static double limit_of(const struct lens *l)
{
	double max = MODELS[l->p.model].far, low = 0;

	for (double r = STEP; r < max; r += STEP) {
		if (!is_one_to_one(l, r))
			return low;
		low = r;
	}
	return max;
}

/*
 * Solves bent(r) = to within [0, limit]; negative: no solution. Newton's method, with bisection if a step leaves the
 * bracket.
 */
static double unbent(const struct lens *l, double to)
{
	double low = 0, high = l->limit, slope, r = fmin(to, high / 2);

	if (!(to <= bent(l, high, &slope)))
		return -1;
	for (unsigned i = 0; i < NEWTON_MAX; i++) {
		double e = bent(l, r, &slope) - to, next = r - e / slope;

		if (fabs(next - r) < 1e-15)
			break;
		if (e > 0)
			high = r;
		else
			low = r;
		r = next > low && next < high ? next : (low + high) / 2;
	}
	return r;
}

/* Distorts x, y of an ideal lens at distance 1; j: Jacobian xx, xy, yy. */
static void distort(const struct lens *l, const double at[2], double ret[2], double j[3])
{
	double x = at[0], y = at[1], r2 = x * x + y * y, by_r2, k = radial(l, r2, &by_r2), p1 = l->p1, p2 = l->p2;

	ret[0] = x * k + 2 * p1 * x * y + p2 * (r2 + 2 * x * x);
	ret[1] = y * k + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y;
	j[0] = k + 2 * x * x * by_r2 + 2 * p1 * y + 6 * p2 * x;
	j[1] = 2 * x * y * by_r2 + 2 * p1 * x + 2 * p2 * y;
	j[2] = k + 2 * y * y * by_r2 + 6 * p1 * y + 2 * p2 * x;
}

/* Distance of the distorted `at` from `to`; e: the difference, j: the Jacobian there. */
static double miss(const struct lens *l, const double to[2], const double at[2], double e[2], double j[3])
{
	distort(l, at, e, j);
	e[0] = to[0] - e[0];
	e[1] = to[1] - e[1];
	return hypot(e[0], e[1]);
}

/*
 * Newton's method, starting at the solution without the tangential part; a step that leaves the circle or increases the
 * error is halved. Within the circle there is at most one solution, and a short enough step always improves.
 */
static bool undistort(const struct lens *l, const double to[2], double ret[2])
{
	double r = hypot(to[0], to[1]), from = unbent(l, r), scale = r > 0 ? (from < 0 ? l->limit : from) / r : 1;
	double at[2] = { to[0] * scale, to[1] * scale }, e[2], j[3], far = miss(l, to, at, e, j);

	for (unsigned i = 0; i < NEWTON_MAX && far >= CLOSE; i++) {
		double det = j[0] * j[2] - j[1] * j[1], part = 1, was = far;
		double step[2] = { (j[2] * e[0] - j[1] * e[1]) / det, (j[0] * e[1] - j[1] * e[0]) / det };

		for (; part > SHORTEST; part /= 2) {
			double next[2] = { at[0] + part * step[0], at[1] + part * step[1] };

			if (hypot(next[0], next[1]) > l->limit)
				continue;
			far = miss(l, to, next, e, j);
			if (!(far < was))
				continue;
			memcpy(at, next, sizeof(at));
			break;
		}
		if (!(part > SHORTEST))
			return false;
	}
	memcpy(ret, at, sizeof(at));
	return far < CLOSE;
}

/* ---- rays and pixels ---- */

static bool project_flat(const struct lens *l, const double ray[3], double ret[2])
{
	double j[3];

	if (!(ray[2] > 0) || hypot(ray[0], ray[1]) > l->limit * ray[2])
		return false;
	distort(l, (const double[2]){ ray[0] / ray[2], ray[1] / ray[2] }, ret, j);
	return true;
}

static bool project_equidistant(const struct lens *l, const double ray[3], double ret[2])
{
	double side = hypot(ray[0], ray[1]), angle = atan2(side, ray[2]), slope, r;

	if (!(angle <= l->limit))
		return false;
	r = bent(l, angle, &slope);
	ret[0] = side > 0 ? ray[0] / side * r : 0;
	ret[1] = side > 0 ? ray[1] / side * r : 0;
	return side > 0 || ray[2] > 0;
}

bool lens_project(const struct lens *l, const double ray[3], double ret_px[2])
{
	double at[2];

	if (!(l->p.model == LENS_EQUIDISTANT ? project_equidistant(l, ray, at) : project_flat(l, ray, at)))
		return false;
	ret_px[0] = l->p.fx * at[0] + l->p.cx;
	ret_px[1] = l->p.fy * at[1] + l->p.cy;
	return true;
}

bool lens_unproject(const struct lens *l, const double px[2], double ret_ray[3])
{
	double to[2] = { (px[0] - l->p.cx) / l->p.fx, (px[1] - l->p.cy) / l->p.fy }, at[2], r, angle;

	if (l->p.model != LENS_EQUIDISTANT) {
		if (!undistort(l, to, at))
			return false;
		r = sqrt(at[0] * at[0] + at[1] * at[1] + 1);
		memcpy(ret_ray, (double[3]){ at[0] / r, at[1] / r, 1 / r }, 3 * sizeof(double));
		return true;
	}
	r = hypot(to[0], to[1]);
	angle = unbent(l, r);
	if (angle < 0)
		return false;
	ret_ray[0] = r > 0 ? to[0] / r * sin(angle) : 0;
	ret_ray[1] = r > 0 ? to[1] / r * sin(angle) : 0;
	ret_ray[2] = cos(angle);
	return true;
}

bool lens_is_ideal(const struct lens *l)
{
	for (unsigned i = 0; i < LENS_D_MAX; i++)
		if (l->p.d[i] != 0)
			return false;
	return l->p.model != LENS_EQUIDISTANT;
}

/* ---- creation ---- */

/* The i-th point of the image's border, along pixel edges; false: no more. */
static bool border(const struct lens_params *p, uint32_t i, double ret[2])
{
	uint32_t w = p->width + 1, h = p->height + 1;

	if (i < 2 * w) {
		ret[0] = i % w - 0.5;
		ret[1] = i < w ? -0.5 : p->height - 0.5;
		return true;
	}
	i -= 2 * w;
	ret[0] = i < h ? -0.5 : p->width - 0.5;
	ret[1] = i % h - 0.5;
	return i < 2 * h;
}

static const char *what_is_wrong(const struct lens_params *p)
{
	if (!p->width || p->width > LENS_SIDE_MAX || !p->height || p->height > LENS_SIDE_MAX)
		return "its image has 1 to 8192 pixels each way";
	if (!(p->fx > 0) || !(p->fx <= FOCAL_MAX_PX) || !(p->fy > 0) || !(p->fy <= FOCAL_MAX_PX))
		return "its focal lengths are above 0 and at most 1000000 pixels";
	if (!(fabs(p->cx) <= FOCAL_MAX_PX) || !(fabs(p->cy) <= FOCAL_MAX_PX))
		return "its principal point is out of range";
	for (unsigned i = 0; i < LENS_D_MAX; i++)
		if (!(fabs(p->d[i]) <= COEFF_MAX))
			return "its coefficients are between -1000 and 1000";
	for (unsigned i = MODELS[p->model].coefficients; i < LENS_D_MAX; i++)
		if (p->d[i] != 0)
			return MODELS[p->model].too_many;
	return NULL;
}

int lens_init(struct lens *l, const struct lens_params *p, char *why, size_t cap)
{
	const char *wrong = what_is_wrong(p);
	double px[2], ray[3];

	if (wrong) {
		snprintf(why, cap, "the lens: %s", wrong);
		return -EINVAL;
	}
	*l = (struct lens){ .p = *p };
	set_parts(l);
	l->limit = limit_of(l);
	/* The circle's image has no holes, so if it contains the border it contains the whole image. */
	for (uint32_t i = 0; border(p, i, px); i++) {
		if (lens_unproject(l, px, ray))
			continue;
		if (l->limit < MODELS[p->model].far)
			snprintf(
				why, cap,
				"the lens: no ray reaches (%.1f, %.1f): so far out %s folds back with these coefficients",
				px[0], px[1], lens_model_name(p->model));
		else
			snprintf(why, cap,
				 "the lens: (%.1f, %.1f) looks further than %s from the axis; narrow its field of view",
				 px[0], px[1], MODELS[p->model].too_far);
		return -EINVAL;
	}
	return 0;
}

/* ---- rectification ---- */

#define MARGIN 1.0 /* px around the picture, so that interpolation always finds four pixels */

int lens_source(const struct lens *l, struct lens_source *ret, char *why, size_t cap)
{
	double f = fmax(l->p.fx, l->p.fy), low[2] = { INFINITY, INFINITY }, high[2] = { -INFINITY, -INFINITY };
	double px[2], ray[3], width, height;

	for (uint32_t i = 0; border(&l->p, i, px); i++) {
		if (!lens_unproject(l, px, ray) || atan2(hypot(ray[0], ray[1]), ray[2]) > LENS_OFF_MAX_RAD) {
			snprintf(why, cap, "the lens: (%.1f, %.1f) looks further than 75 degrees from the axis", px[0],
				 px[1]);
			return -ERANGE;
		}
		for (unsigned a = 0; a < 2; a++) {
			low[a] = fmin(low[a], ray[a] / ray[2]);
			high[a] = fmax(high[a], ray[a] / ray[2]);
		}
	}
	width = ceil(f * (high[0] - low[0]) + 2 * MARGIN);
	height = ceil(f * (high[1] - low[1]) + 2 * MARGIN);
	if (width > LENS_GROWN_MAX * l->p.width + 2 * MARGIN || height > LENS_GROWN_MAX * l->p.height + 2 * MARGIN) {
		snprintf(why, cap, "the lens: a picture of %.0f by %.0f pixels would have to be drawn for %u by %u",
			 width, height, l->p.width, l->p.height);
		return -ERANGE;
	}
	*ret = (struct lens_source){ .width = (uint32_t)width,
				     .height = (uint32_t)height,
				     .f = f,
				     .cx = MARGIN - 0.5 - f * low[0],
				     .cy = MARGIN - 0.5 - f * low[1] };
	return 0;
}

void lens_table(const struct lens *l, const struct lens_source *s, float *ret)
{
	for (uint32_t y = 0; y < l->p.height; y++) {
		for (uint32_t x = 0; x < l->p.width; x++, ret += 2) {
			double ray[3] = { 0, 0, 1 };

			/* cannot fail, as it works for the border */
			(void)lens_unproject(l, (const double[2]){ x, y }, ray);
			ret[0] = (float)(s->f * ray[0] / ray[2] + s->cx);
			ret[1] = (float)(s->f * ray[1] / ray[2] + s->cy);
		}
	}
}
