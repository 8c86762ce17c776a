/* SPDX-License-Identifier: Apache-2.0 */
/* Ray casting of a spinning lidar. See scan.h. */
#include "scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sim/msg/Point.h>

#define NO_BOX UINT16_MAX

struct scan {
	struct scan_params p;
	uint64_t turn;                    /* counts turns, for the noise */
	float *cos_az, *sin_az, *azimuth; /* per column */
	/* per beam: slope = dz per horizontal metre, its inverse (huge for a level beam), cosine and 1 / cosine */
	float slope[SCAN_BEAMS_MAX], inv_slope[SCAN_BEAMS_MAX], cos_el[SCAN_BEAMS_MAX], sec_el[SCAN_BEAMS_MAX];
	float road[SCAN_BEAMS_MAX];       /* horizontal distance to the road, INFINITY beyond range */
	float road_light[SCAN_BEAMS_MAX]; /* intensity of that point */
	float reach[SCAN_BEAMS_MAX];      /* horizontal distance at range_max */
	float *dist;                      /* [columns][beams] horizontal distance of the nearest hit */
	float *light;                     /* [columns][beams] its intensity */
	uint16_t *who;                    /* [columns][beams] index of its box; NULL: not recorded */
};

/* A box for the rays: its outline from above and its height. */
struct footprint {
	float cx, cy, cos_yaw, sin_yaw, half_l, half_w;
	float z_lo, z_hi, reflectivity;
};

struct scan_params scan_params_default(void)
{
	return (struct scan_params){
		.beams = 64,
		.columns = 1800,
		.lowest_rad = -24.8 * M_PI / 180,
		.highest_rad = 2 * M_PI / 180,
		.height = 1.9,
		.range_min = 0.9,
		.range_max = 120,
		.road_reflectivity = 0.25,
	};
}

static double elevation_of(const struct scan_params *p, unsigned b)
{
	if (p->elevations_rad)
		return p->elevations_rad[b];
	return p->lowest_rad + (p->beams > 1 ? (p->highest_rad - p->lowest_rad) * b / (p->beams - 1) : 0);
}

static const char *fault_of(const struct scan_params *p)
{
	if (p->beams < 1 || p->beams > SCAN_BEAMS_MAX)
		return "beams: 1 to 128";
	if (p->columns < 8 || p->columns > SCAN_COLUMNS_MAX)
		return "columns: 8 to 4096";
	if (!(p->lowest_rad > -1.5 && p->highest_rad < 1.5 && p->lowest_rad <= p->highest_rad))
		return "elevations: above -85.9, below 85.9 degrees, the lowest first";
	for (unsigned b = 0; b < p->beams; b++)
		if (!(fabs(elevation_of(p, b)) < 1.5))
			return "elevations: above -85.9, below 85.9 degrees";
	if (!p->no_road && !(p->height > 0 && p->height < 100))
		return "height: above 0, below 100 m";
	if (!(p->range_min >= 0 && p->range_max > p->range_min && p->range_max <= 10000))
		return "ranges: 0 <= minimum < maximum <= 10000 m";
	if (!(p->noise_sigma >= 0 && p->noise_sigma <= 10) || !(p->road_reflectivity >= 0 && p->road_reflectivity <= 1))
		return "noise: 0 to 10 m; reflectivity: 0 to 1";
	return NULL;
}

static void prepare_beam(struct scan *s, unsigned b)
{
	const struct scan_params *p = &s->p;
	double el = elevation_of(p, b);
	double road = el < 0 && !p->no_road ? p->height / tan(-el) : INFINITY, slant = road / cos(el);

	s->slope[b] = (float)tan(el);
	s->inv_slope[b] = fabs(el) < 1e-7 ? 1e9f : (float)(1 / tan(el));
	s->cos_el[b] = (float)cos(el);
	s->sec_el[b] = (float)(1 / cos(el));
	s->reach[b] = (float)(p->range_max * cos(el));
	s->road[b] = slant >= p->range_min && slant <= p->range_max ? (float)road : INFINITY;
	s->road_light[b] = (float)(p->road_reflectivity * fmin(1, 0.25 + sin(fabs(el))));
}

static void prepare_column(struct scan *s, unsigned c)
{
	double az = 2 * M_PI * c / s->p.columns - M_PI;

	s->azimuth[c] = (float)az;
	s->cos_az[c] = (float)cos(az);
	s->sin_az[c] = (float)sin(az);
}

int scan_create(const struct scan_params *p, struct scan **ret, const char **ret_why)
{
	const char *fault = fault_of(p);
	size_t rays = (size_t)p->beams * p->columns;
	struct scan *s;

	if (fault) {
		if (ret_why)
			*ret_why = fault;
		return -EINVAL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->p = *p;
	s->cos_az = calloc(p->columns, sizeof(float));
	s->sin_az = calloc(p->columns, sizeof(float));
	s->azimuth = calloc(p->columns, sizeof(float));
	s->dist = calloc(rays, sizeof(float));
	s->light = calloc(rays, sizeof(float));
	s->who = p->tells ? calloc(rays, sizeof(*s->who)) : NULL;
	if (!s->cos_az || !s->sin_az || !s->azimuth || !s->dist || !s->light || (p->tells && !s->who)) {
		scan_destroy(s);
		return -ENOMEM;
	}
	for (unsigned b = 0; b < p->beams; b++)
		prepare_beam(s, b);
	for (unsigned c = 0; c < p->columns; c++)
		prepare_column(s, c);
	s->p.elevations_rad = NULL;
	*ret = s;
	return 0;
}

void scan_destroy(struct scan *s)
{
	if (!s)
		return;
	free(s->cos_az);
	free(s->sin_az);
	free(s->azimuth);
	free(s->dist);
	free(s->light);
	free(s->who);
	free(s);
}

size_t scan_points_max(const struct scan *s)
{
	return (size_t)s->p.beams * s->p.columns;
}

/*
 * Cut the footprint with the ray of a column. in, out: horizontal distances of entry and exit; facing: cosine of the
 * angle between the ray and the normal of the side that it enters through.
 */
static bool cut(const struct footprint *f, float dx, float dy, float *in, float *out, float *facing)
{
	/* in the box's own axes: the ray starts at o and runs along d */
	float ox = -(f->cx * f->cos_yaw + f->cy * f->sin_yaw), oy = f->cx * f->sin_yaw - f->cy * f->cos_yaw;
	float ux = dx * f->cos_yaw + dy * f->sin_yaw, uy = dy * f->cos_yaw - dx * f->sin_yaw;
	float ix = 1 / (fabsf(ux) < 1e-9f ? copysignf(1e-9f, ux) : ux);
	float iy = 1 / (fabsf(uy) < 1e-9f ? copysignf(1e-9f, uy) : uy);
	float x0 = (-f->half_l - ox) * ix, x1 = (f->half_l - ox) * ix;
	float y0 = (-f->half_w - oy) * iy, y1 = (f->half_w - oy) * iy;
	float xin = fminf(x0, x1), yin = fminf(y0, y1);

	*in = fmaxf(xin, yin);
	*out = fminf(fmaxf(x0, x1), fmaxf(y0, y1));
	*facing = fabsf(xin > yin ? ux : uy);
	return *in <= *out && *in > 0;
}

/*
 * Mark the beams of one column that hit one box: its side, otherwise its top from above, otherwise its bottom from
 * below.
 */
static void mark_column(struct scan *s, unsigned c, const struct footprint *f, float in, float out, float side_light)
{
	float *restrict dist = s->dist + (size_t)c * s->p.beams, *restrict light = s->light + (size_t)c * s->p.beams;
	const float z_lo = f->z_lo, z_hi = f->z_hi, refl = f->reflectivity;
	const unsigned beams = s->p.beams;

	for (unsigned b = 0; b < beams; b++) {
		float z = in * s->slope[b];
		float through = (z > z_hi ? z_hi : z_lo) * s->inv_slope[b];
		bool side = z >= z_lo && z <= z_hi;
		float rho = side ? in : through;
		bool hit = (side || (through >= in && through <= out)) && rho < dist[b] && rho <= s->reach[b];

		dist[b] = hit ? rho : dist[b];
		light[b] = hit ? (side ? side_light * s->cos_el[b] : refl * 0.3f) : light[b];
	}
}

/* The same, and record which box was hit. Separate, so that the loop above stays unchanged. */
static void mark_and_tell(struct scan *s, unsigned c, const struct footprint *f, float in, float out, float side_light,
			  uint16_t box)
{
	const float *dist = s->dist + (size_t)c * s->p.beams;
	uint16_t *who = s->who + (size_t)c * s->p.beams;
	float before[SCAN_BEAMS_MAX];

	memcpy(before, dist, s->p.beams * sizeof(*before));
	mark_column(s, c, f, in, out, side_light);
	for (unsigned b = 0; b < s->p.beams; b++)
		who[b] = dist[b] < before[b] ? box : who[b];
}

static struct footprint footprint_of(const struct scan_box *b)
{
	return (struct footprint){
		.cx = (float)b->x,
		.cy = (float)b->y,
		.cos_yaw = (float)cos(b->yaw),
		.sin_yaw = (float)sin(b->yaw),
		.half_l = (float)(b->length / 2),
		.half_w = (float)(b->width / 2),
		.z_lo = (float)(b->z - b->height / 2),
		.z_hi = (float)(b->z + b->height / 2),
		.reflectivity = (float)b->reflectivity,
	};
}

static bool around_sensor(const struct footprint *f)
{
	float x = f->cx * f->cos_yaw + f->cy * f->sin_yaw, y = f->cy * f->cos_yaw - f->cx * f->sin_yaw;

	return fabsf(x) <= f->half_l && fabsf(y) <= f->half_w;
}

/*
 * Columns first .. first + count - 1 (modulo columns) that can meet the box, from the directions of its corners.
 * Returns count.
 */
static unsigned columns_of(const struct scan *s, const struct footprint *f, unsigned *ret_first)
{
	float centre = atan2f(f->cy, f->cx), lo = 0, hi = 0;
	double per_rad = s->p.columns / (2 * M_PI);
	long first, last;

	for (int i = 0; i < 4; i++) {
		float l = i & 1 ? f->half_l : -f->half_l, w = i & 2 ? f->half_w : -f->half_w;
		float x = f->cx + l * f->cos_yaw - w * f->sin_yaw, y = f->cy + l * f->sin_yaw + w * f->cos_yaw;
		float a = remainderf(atan2f(y, x) - centre, 2 * (float)M_PI);

		lo = fminf(lo, a);
		hi = fmaxf(hi, a);
	}
	first = lround(floor((centre + lo + (float)M_PI) * per_rad)) - 1;
	last = lround(ceil((centre + hi + (float)M_PI) * per_rad)) + 1;
	*ret_first = (unsigned)((first % (long)s->p.columns + (long)s->p.columns) % (long)s->p.columns);
	last -= first;
	return (unsigned)(last + 1 < (long)s->p.columns ? last + 1 : (long)s->p.columns);
}

static bool usable(const struct scan_box *b)
{
	return isfinite(b->x) && isfinite(b->y) && isfinite(b->z) && isfinite(b->yaw) && b->length > 0 &&
	       b->width > 0 && b->height > 0 && isfinite(b->length) && isfinite(b->width) && isfinite(b->height);
}

static void mark_box(struct scan *s, const struct scan_box *box, uint16_t index)
{
	struct footprint f = footprint_of(box);
	unsigned first, count;

	if (!usable(box) || around_sensor(&f) ||
	    hypotf(f.cx, f.cy) - hypotf(f.half_l, f.half_w) > (float)s->p.range_max)
		return;
	count = columns_of(s, &f, &first);
	for (unsigned k = 0, c = first; k < count; k++, c = c + 1 == s->p.columns ? 0 : c + 1) {
		float in, out, facing, side_light;

		if (!cut(&f, s->cos_az[c], s->sin_az[c], &in, &out, &facing) || in < (float)s->p.range_min)
			continue;
		side_light = f.reflectivity * (0.3f + 0.7f * facing);
		if (s->who)
			mark_and_tell(s, c, &f, in, out, side_light, index);
		else
			mark_column(s, c, &f, in, out, side_light);
	}
}

/* A normal deviate (sum of four uniforms), the same for the same seed, turn and ray on every machine. */
static float noise(const struct scan *s, uint64_t ray)
{
	uint64_t x = s->p.seed + s->turn * 0x9e3779b97f4a7c15u + ray * 0xbf58476d1ce4e5b9u;
	float sum = 0;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	for (int i = 0; i < 4; i++)
		sum += (float)(x >> (16 * i) & 0xffff) / 65535;
	return (sum - 2) * 1.7320508f * (float)s->p.noise_sigma;
}

static size_t emit_column(const struct scan *s, unsigned c, struct sim_Point *out)
{
	const float *dist = s->dist + (size_t)c * s->p.beams, *light = s->light + (size_t)c * s->p.beams;
	size_t n = 0;

	for (unsigned b = 0; b < s->p.beams; b++) {
		float rho = dist[b];

		if (!(rho < INFINITY))
			continue;
		if (s->p.noise_sigma > 0)
			rho += noise(s, (uint64_t)c * s->p.beams + b) * s->cos_el[b];
		out[n++] = (struct sim_Point){
			.x = rho * s->cos_az[c],
			.y = rho * s->sin_az[c],
			.z = rho * s->slope[b],
			.intensity = light[b],
			.ring = (uint16_t)b,
			.return_type = SIM_POINT_RETURN_SINGLE_STRONGEST,
			.time_offset = 0, /* nothing moves during a turn, so undistorting the cloud changes nothing */
			.azimuth = s->azimuth[c],
			.distance = rho * s->sec_el[b],
		};
	}
	return n;
}

size_t scan_turn(struct scan *s, const struct scan_box *boxes, size_t n, struct sim_Point *out)
{
	size_t points = 0, row = s->p.beams * sizeof(float);

	for (unsigned c = 0; c < s->p.columns; c++) {
		memcpy(s->dist + (size_t)c * s->p.beams, s->road, row);
		memcpy(s->light + (size_t)c * s->p.beams, s->road_light, row);
	}
	if (s->who)
		memset(s->who, 0xff, (size_t)s->p.beams * s->p.columns * sizeof(*s->who));
	for (size_t i = 0; i < n; i++)
		mark_box(s, &boxes[i], i < NO_BOX ? (uint16_t)i : NO_BOX);
	for (unsigned c = 0; c < s->p.columns; c++)
		points += emit_column(s, c, out + points);
	s->turn++;
	return points;
}

void scan_saw(const struct scan *s, size_t n, bool *ret_seen)
{
	size_t rays = s->who ? (size_t)s->p.beams * s->p.columns : 0;

	memset(ret_seen, 0, n * sizeof(*ret_seen));
	for (size_t i = 0; i < rays; i++)
		if (s->who[i] < n)
			ret_seen[s->who[i]] = true;
}
