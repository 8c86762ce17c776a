/* SPDX-License-Identifier: Apache-2.0 */
/* lens.h */
#include "lens.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RADIUS_MAX   11.43 /* tan(85 degrees): further out a pinhole sees nothing useful */
#define STEP         0.002 /* how finely it is looked for where a polynomial turns back */
#define NEWTON_MAX   30
#define BISECT_MAX   60
#define CLOSE        1e-10 /* at distance 1; a thousandth of a thousandth of a pixel */
#define FOCAL_MAX_PX 1e6
#define COEFF_MAX    1e3

/* ---- the models ---- */

const char *lens_model_name(enum lens_model model)
{
	return model == LENS_EQUIDISTANT ? "equidistant" : "plumb_bob";
}

bool lens_model_from(const char *name, enum lens_model *ret)
{
	for (int m = LENS_PLUMB_BOB; m <= LENS_EQUIDISTANT; m++) {
		if (strcmp(name, lens_model_name((enum lens_model)m)) == 0) {
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

/* The radius r becomes, in both models without the tangential part, and its slope there. */
static double bent(const struct lens_params *p, double r, double *ret_slope)
{
	const double *d = p->d, r2 = r * r;
	double k[4] = { d[0], d[1], p->model == LENS_EQUIDISTANT ? d[2] : d[4],
			p->model == LENS_EQUIDISTANT ? d[3] : 0 };

	*ret_slope = 1 + r2 * (3 * k[0] + r2 * (5 * k[1] + r2 * (7 * k[2] + r2 * 9 * k[3])));
	return r * (1 + r2 * (k[0] + r2 * (k[1] + r2 * (k[2] + r2 * k[3]))));
}

/* The first radius at which the polynomial no longer rises. */
static double limit_of(const struct lens_params *p)
{
	double max = p->model == LENS_EQUIDISTANT ? M_PI : RADIUS_MAX, low = 0, slope;

	for (double r = STEP; r < max; r += STEP) {
		(void)bent(p, r, &slope);
		if (slope <= 0)
			return low;
		low = r;
	}
	return max;
}

/* r with bent(r) = to, within [0, limit]; negative: there is none. */
static double unbent(const struct lens *l, double to)
{
	double low = 0, high = l->limit, slope;

	if (to > bent(&l->p, high, &slope))
		return -1;
	for (unsigned i = 0; i < BISECT_MAX; i++) {
		double r = (low + high) / 2;

		if (bent(&l->p, r, &slope) < to)
			low = r;
		else
			high = r;
	}
	return (low + high) / 2;
}

/* x, y at distance 1 as an ideal lens has them, to where plumb_bob has them; j: the four derivatives. */
static void distort(const double d[LENS_D_MAX], double x, double y, double ret[2], double j[4])
{
	double r2 = x * x + y * y, radial = 1 + r2 * (d[0] + r2 * (d[1] + r2 * d[4]));
	double slope = d[0] + r2 * (2 * d[1] + r2 * 3 * d[4]); /* of radial, by r2 */

	ret[0] = x * radial + 2 * d[2] * x * y + d[3] * (r2 + 2 * x * x);
	ret[1] = y * radial + d[2] * (r2 + 2 * y * y) + 2 * d[3] * x * y;
	j[0] = radial + 2 * x * x * slope + 2 * d[2] * y + 6 * d[3] * x;
	j[1] = 2 * x * y * slope + 2 * d[2] * x + 2 * d[3] * y;
	j[2] = j[1];
	j[3] = radial + 2 * y * y * slope + 6 * d[2] * y + 2 * d[3] * x;
}

/* By Newton, from where the radial part alone would have it. */
static bool undistort(const struct lens *l, const double to[2], double ret[2])
{
	double r = hypot(to[0], to[1]), from = unbent(l, r), scale = r > 0 ? from / r : 1, at[2], j[4];

	if (from < 0)
		from = l->limit;
	if (from == l->limit)
		scale = r > 0 ? from / r : 1;
	ret[0] = to[0] * scale;
	ret[1] = to[1] * scale;
	for (unsigned i = 0; i < NEWTON_MAX; i++) {
		double e[2], det;

		distort(l->p.d, ret[0], ret[1], at, j);
		det = j[0] * j[3] - j[1] * j[2];
		if (!(det > 0))
			return false;
		e[0] = to[0] - at[0];
		e[1] = to[1] - at[1];
		if (hypot(e[0], e[1]) < CLOSE)
			return hypot(ret[0], ret[1]) <= l->limit;
		ret[0] += (j[3] * e[0] - j[1] * e[1]) / det;
		ret[1] += (j[0] * e[1] - j[2] * e[0]) / det;
	}
	return false;
}

/* ---- rays and pixels ---- */

static bool project_plumb_bob(const struct lens *l, const double ray[3], double ret[2])
{
	double j[4];

	if (!(ray[2] > 0) || hypot(ray[0], ray[1]) > l->limit * ray[2])
		return false;
	distort(l->p.d, ray[0] / ray[2], ray[1] / ray[2], ret, j);
	return true;
}

static bool project_equidistant(const struct lens *l, const double ray[3], double ret[2])
{
	double side = hypot(ray[0], ray[1]), angle = atan2(side, ray[2]), slope, r;

	if (!(angle <= l->limit))
		return false;
	r = bent(&l->p, angle, &slope);
	ret[0] = side > 0 ? ray[0] / side * r : 0;
	ret[1] = side > 0 ? ray[1] / side * r : 0;
	return side > 0 || ray[2] > 0;
}

bool lens_project(const struct lens *l, const double ray[3], double ret_px[2])
{
	double at[2];

	if (!(l->p.model == LENS_EQUIDISTANT ? project_equidistant(l, ray, at) : project_plumb_bob(l, ray, at)))
		return false;
	ret_px[0] = l->p.fx * at[0] + l->p.cx;
	ret_px[1] = l->p.fy * at[1] + l->p.cy;
	return true;
}

bool lens_unproject(const struct lens *l, const double px[2], double ret_ray[3])
{
	double to[2] = { (px[0] - l->p.cx) / l->p.fx, (px[1] - l->p.cy) / l->p.fy }, at[2], r, angle;

	if (l->p.model == LENS_PLUMB_BOB) {
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
	return l->p.model == LENS_PLUMB_BOB;
}

/* ---- what can be one ---- */

/* The i-th point of the image's border, from pixel edge to pixel edge; false: there are no more. */
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
	if (p->model == LENS_EQUIDISTANT && p->d[4] != 0)
		return "an equidistant one has four coefficients";
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
	l->p = *p;
	l->limit = limit_of(p);
	for (uint32_t i = 0; border(p, i, px); i++) {
		if (lens_unproject(l, px, ray))
			continue;
		snprintf(why, cap,
			 "the lens: no ray reaches (%.1f, %.1f): so far out %s folds back with these coefficients",
			 px[0], px[1], lens_model_name(p->model));
		return -EINVAL;
	}
	return 0;
}

/* ---- out of an ideal picture ---- */

#define MARGIN 1.0 /* px around, so that a look between pixels finds four */

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

			(void)lens_unproject(l, (const double[2]){ x, y }, ray); /* the border does, so all do */
			ret[0] = (float)(s->f * ray[0] / ray[2] + s->cx);
			ret[1] = (float)(s->f * ray[1] / ray[2] + s->cy);
		}
	}
}
