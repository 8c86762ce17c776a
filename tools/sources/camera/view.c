/* SPDX-License-Identifier: Apache-2.0 */
/* Selects what a camera sees, and how it is drawn. See render_private.h. */
#include "render_private.h"

#include <math.h>
#include <string.h>

#define NEAR_M      0.1f    /* m: near plane */
#define FAR_M       2000.0f /* things further away are not drawn */
#define GROUND_M    3000.0f /* side of the plane below all */
#define GROUND_DROP 0.03    /* m below the streets */
#define SHADOW_M    160.0f  /* m: shadows further away are not drawn */
#define SHADE       0.78f   /* part of the sun's light that a shadow removes on a clear day */
#define SUN_LOW     0.05    /* sun's z below which there are no shadows: they would be endless */

#define FINE_PX        45.0f /* apparent radius from which on a thing is drawn with all details */
#define COARSE_PX      14.0f /* below it: coarsest details */
#define SHADOW_PX      1.0f  /* below it: no shadow */
#define SHADOW_FINE_PX 60.0  /* above it, gaps between a thing's wheels are visible in its shadow */

void view_planes(struct camera *c)
{
	float fx = (float)(c->ideal ? c->c.lens.p.fx : c->s.f), fy = (float)(c->ideal ? c->c.lens.p.fy : c->s.f);
	float low_x = (float)(-0.5 - c->s.cx) / fx, high_x = (float)(c->s.width - 0.5 - c->s.cx) / fx;
	float low_y = (float)(-0.5 - c->s.cy) / fy, high_y = (float)(c->s.height - 0.5 - c->s.cy) / fy;
	const float planes[4][3] = { { 1, 0, -low_x }, { -1, 0, high_x }, { 0, 1, -low_y }, { 0, -1, high_y } };

	for (int i = 0; i < 4; i++) {
		float l =
			sqrtf(planes[i][0] * planes[i][0] + planes[i][1] * planes[i][1] + planes[i][2] * planes[i][2]);

		for (int k = 0; k < 3; k++)
			c->planes[i][k] = planes[i][k] / l;
	}
}

/* From the map, relative to the eye, to the optical frame. */
static void to_optical(const struct pose *view, const double d[3], float ret[3])
{
	for (int i = 0; i < 3; i++)
		ret[i] = (float)(view->axes[i] * d[0] + view->axes[3 + i] * d[1] + view->axes[6 + i] * d[2]);
}

bool view_sees(const struct camera *c, const struct pose *view, const double d[3], double radius)
{
	float o[3];

	to_optical(view, d, o);
	if (o[2] + radius < NEAR_M)
		return false;
	for (int i = 0; i < 4; i++) {
		if (c->planes[i][0] * o[0] + c->planes[i][1] * o[1] + c->planes[i][2] * o[2] < -radius)
			return false;
	}
	return true;
}

static void set4(float ret[4], const float *v, float w)
{
	memcpy(ret, v, 3 * sizeof(float));
	ret[3] = w;
}

/*
 * Projection matrix: x, y and 1 of the optical frame to -w..w; depth is NEAR_M / z. The centre of pixel 0 is half a
 * pixel from the edge.
 */
static void set_clip(const struct camera *c, const struct pose *view, struct frame *f)
{
	double w = c->s.width, h = c->s.height;
	double fx = c->ideal ? c->c.lens.p.fx : c->s.f, fy = c->ideal ? c->c.lens.p.fy : c->s.f;
	double sx = 2 * fx / w, sy = 2 * fy / h, ox = 2 * (c->s.cx + 0.5) / w - 1, oy = 2 * (c->s.cy + 0.5) / h - 1;

	memset(f->clip, 0, sizeof(f->clip));
	for (int k = 0; k < 3; k++) { /* map axis */
		const double *o = &view->axes[3 * k];

		f->clip[4 * k] = (float)(sx * o[0] + ox * o[2]);
		f->clip[4 * k + 1] = (float)(sy * o[1] + oy * o[2]);
		f->clip[4 * k + 3] = (float)o[2];
		/* fragment coordinates count from the edge */
		f->ray[k] = (float)(o[2] - o[0] * (c->s.cx + 0.5) / fx - o[1] * (c->s.cy + 0.5) / fy);
		f->ray_x[k] = (float)(o[0] / fx);
		f->ray_y[k] = (float)(o[1] / fy);
	}
	f->clip[14] = NEAR_M;
}

void view_frame(const struct render *r, const struct camera *c, const struct pose *view, const struct render_moment *m,
		struct frame *f)
{
	float sun[3], eye[3];
	struct sun_light l;

	sun_light(m->sun[2], &l);
	for (int i = 0; i < 3; i++) {
		sun[i] = (float)m->sun[i];
		eye[i] = (float)(view->at[i] - (r->streets ? r->streets->origin[i] : 0));
	}
	set_clip(c, view, f);
	set4(f->eye, eye, 0);
	set4(f->sun, sun, m->sun[2] > SUN_LOW ? SHADE : 0);
	set4(f->sun_light, l.sun, 0);
	set4(f->ambient, l.ambient, 0);
	set4(f->zenith, l.zenith, 0);
	set4(f->horizon, l.horizon, r->haze);
}

static void put(struct instance *i, const double d[3], double yaw, const double size[3], const uint32_t tag[4])
{
	for (int k = 0; k < 3; k++) {
		i->place[k] = (float)d[k];
		i->extent[k] = (float)size[k];
	}
	i->place[3] = (float)cos(yaw);
	i->extent[3] = (float)sin(yaw);
	memcpy(i->tag, tag, sizeof(i->tag));
}

static void from_eye(const struct drawing *d, const struct thing *t, double ret[3])
{
	for (int i = 0; i < 3; i++)
		ret[i] = t->at[i] - d->view->at[i];
}

static bool put_thing(struct drawing *d, const struct thing *t, const double at[3])
{
	const uint32_t tag[4] = { t->colour, t->id, t->label, t->lit };

	if (d->n == INSTANCES_MAX) {
		d->r->left_out++;
		return false;
	}
	put(&d->instances[d->n++], at, t->yaw, t->size, tag);
	return true;
}

/* Length of a shadow, which may be visible although its thing is not. */
static double shadow_reach(const struct drawing *d, const struct thing *t)
{
	double up = t->lit & IN_SHADE ? 1 : d->m->sun[2];

	return t->size[2] * sqrt(1 - fmin(up * up, 1)) / fmax(up, SUN_LOW);
}

/* Sort key: form, then detail, then distance, then index in the stage. */
static uint64_t order_of(enum form form, unsigned detail, float far, size_t i)
{
	uint32_t bits; /* floats >= 0 sort like their bits */

	memcpy(&bits, &far, sizeof(bits));
	return (uint64_t)form << 50 | (uint64_t)detail << 48 | (uint64_t)bits << 16 | i;
}

_Static_assert(STAGE_THINGS_MAX <= 1u << 16, "a thing's place has 16 bits");

static void sift(uint64_t *a, size_t i, size_t n)
{
	for (size_t k; (k = 2 * i + 1) < n; i = k) {
		uint64_t t = a[i];

		k += k + 1 < n && a[k + 1] > a[k];
		if (a[k] <= t)
			return;
		a[i] = a[k];
		a[k] = t;
	}
}

/* Heapsort: no allocation, no bad worst case. */
static void sort(uint64_t *a, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(a, i, n);
	for (size_t i = n; i-- > 1;) {
		uint64_t t = a[0];

		a[0] = a[i];
		a[i] = t;
		sift(a, 0, i);
	}
}

static unsigned detail_of(float px)
{
	return px > FINE_PX ? 0 : px > COARSE_PX ? 1 : 2;
}

/* Whether a thing is drawn, and with which detail. */
static bool chosen(const struct drawing *d, const struct thing *t, bool shadow, unsigned *ret_detail, float *ret_far)
{
	const struct camera *c = &d->r->cameras[d->camera];
	double at[3], px, far, f = c->ideal ? c->c.lens.p.fx : c->s.f;
	double radius = sqrt(t->size[0] * t->size[0] + t->size[1] * t->size[1] + t->size[2] * t->size[2]) / 2;

	from_eye(d, t, at);
	if (hypot(at[0], at[1]) - radius > (shadow ? SHADOW_M : FAR_M))
		return false;
	at[2] += t->size[2] / 2;
	far = sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]);
	px = radius * f / fmax(far - radius, NEAR_M);
	if (shadow && px < SHADOW_PX)
		return false;
	*ret_far = (float)far;
	*ret_detail = !shadow ? detail_of((float)px) : px > SHADOW_FINE_PX ? 1 : FORM_OUTLINE;
	return view_sees(c, d->view, at, shadow ? radius + shadow_reach(d, t) : radius);
}

static void collect(struct drawing *d, bool shadows, struct form_runs *runs)
{
	const struct stage *s = d->m->stage;
	uint64_t *order = d->r->order;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct thing *t = &s->things[i];
		unsigned detail;
		float far;

		if (t->form >= FORM_GROUND || (shadows && t->form == FORM_SIGNAL))
			continue;
		if (chosen(d, t, shadows, &detail, &far))
			order[n++] = order_of(t->form, detail, far, i);
	}
	sort(order, n);
	for (size_t i = 0; i < n; i++) {
		const struct thing *t = &s->things[order[i] & 0xFFFF];
		unsigned detail = order[i] >> 48 & 3;
		double at[3];

		from_eye(d, t, at);
		if (!runs->at[t->form][detail].n)
			runs->at[t->form][detail].first = d->n;
		runs->at[t->form][detail].n += put_thing(d, t, at);
	}
}

void view_collect(struct drawing *d)
{
	const double side[3] = { GROUND_M, GROUND_M, 1 }, one[3] = { 1, 1, 1 };
	const uint32_t tag[4] = { 0, 0, LABEL_OF_VERTEX, 0 };
	double at[3] = { 0, 0, d->m->ground - GROUND_DROP - d->view->at[2] };
	bool shadows = d->r->cameras[d->camera].c.kind == KIND_COLOUR && d->m->sun[2] > SUN_LOW;

	d->runs.at[FORM_GROUND][0].first = d->n;
	d->runs.at[FORM_GROUND][0].n = 1;
	put(&d->instances[d->n++], at, 0, side, tag);
	for (int i = 0; i < 3 && d->r->streets; i++)
		at[i] = d->r->streets->origin[i] - d->view->at[i];
	d->streets = d->n;
	put(&d->instances[d->n++], at, 0, one, tag);
	collect(d, false, &d->runs);
	if (shadows)
		collect(d, true, &d->shadows);
}
