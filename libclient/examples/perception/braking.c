/* SPDX-License-Identifier: Apache-2.0 */
/* The corridor and the stopping distance. See braking.h. */
#include "braking.h"

#include <errno.h>
#include <math.h>

#define STRAIGHT   1e-4 /* 1/m: a smaller curvature counts as straight */
#define APPROACH   0.4  /* m/s: a slower approach to the corridor is noise */
#define WALK       3.0  /* m/s: a faster object is no pedestrian, and keeps its lane */
#define WALKER_M   1.2  /* m: a larger object is no pedestrian, and keeps its lane */
#define KNOWN_S    0.5  /* an object seen for less has no velocity yet */
#define HOLD_DECEL 1.0  /* m/s^2: least deceleration, so that a stopped vehicle stays stopped */
#define CORNERS    4
#define CLIPPED    (CORNERS + 2)

/* Along the vehicle's path (s, from the front bumper) and to its left (e). */
struct along {
	double s, e;
};

struct in_path {
	struct along corner[CORNERS];
	double s_lo, s_hi, e_lo, e_hi;
	double vs, ve;
};

struct braking_params braking_params_default(void)
{
	return (struct braking_params){
		.front_m = 3.6,
		.wheelbase_m = 2.76,
		.length_m = 4.6,
		.width_m = 2.6,
		.range_m = 60,
		.decel = 6,
		.max_decel = 8,
		.latency_s = 0.2,
		.margin_m = 2,
		.ttc_s = 1,
		.predict_s = 1.5,
		.release_m = 2,
		.clear_s = 0.5,
	};
}

int braking_init(struct braking *b, const struct braking_params *p, const char **ret_why)
{
	*ret_why = NULL;
	if (!(p->wheelbase_m > 0 && p->length_m > 0 && p->width_m > 0 && p->range_m > 0))
		*ret_why = "wheelbase_m, length_m, width_m, range_m: above 0";
	else if (!(p->decel > 0 && p->max_decel >= p->decel))
		*ret_why = "decel: above 0; max_decel: no less than decel";
	else if (!(p->latency_s >= 0 && p->margin_m >= 0 && p->ttc_s >= 0 && p->predict_s >= 0 && p->release_m >= 0 &&
		   p->clear_s >= 0))
		*ret_why = "latency_s, margin_m, ttc_s, predict_s, release_m, clear_s: 0 or more";
	if (*ret_why)
		return -EINVAL;
	*b = (struct braking){ .p = *p };
	return 0;
}

/* ---- the corridor ---- */

/* A quarter circle, then straight on, as behind the vehicle: so no place is on the path twice. */
static struct along along_of(const struct braking *b, double curvature, double x, double y, double *ret_turn)
{
	double side = curvature > 0 ? 1 : -1, r = fabs(1 / curvature),
	       up = r - side * y; /* the centre is at (0, side * r) */

	*ret_turn = 0;
	if (fabs(curvature) < STRAIGHT || x < 0)
		return (struct along){ x - b->p.front_m, y };
	*ret_turn = side * (up > 0 ? atan2(x, up) : M_PI / 2);
	if (up <= 0)
		return (struct along){ r * M_PI / 2 - up - b->p.front_m, side * (r - x) };
	return (struct along){ r * fabs(*ret_turn) - b->p.front_m, side * (r - hypot(x, up)) };
}

static struct in_path in_path_of(const struct braking *b, double curvature, const struct braking_object *o)
{
	double c = cos(o->box.yaw), s = sin(o->box.yaw), turn;
	struct in_path r = { .s_lo = INFINITY, .s_hi = -INFINITY, .e_lo = INFINITY, .e_hi = -INFINITY };

	for (int i = 0; i < CORNERS; i++) { /* corners in order around the box, not crosswise */
		double u = (i == 0 || i == 3 ? 0.5 : -0.5) * o->box.length, v = (i < 2 ? 0.5 : -0.5) * o->box.width;
		struct along a = along_of(b, curvature, o->box.x + c * u - s * v, o->box.y + s * u + c * v, &turn);

		r.corner[i] = a;
		r.s_lo = fmin(r.s_lo, a.s);
		r.s_hi = fmax(r.s_hi, a.s);
		r.e_lo = fmin(r.e_lo, a.e);
		r.e_hi = fmax(r.e_hi, a.e);
	}
	(void)along_of(b, curvature, o->box.x, o->box.y, &turn);
	r.vs = o->vx * cos(turn) + o->vy * sin(turn);
	r.ve = o->vy * cos(turn) - o->vx * sin(turn);
	return r;
}

/* Clips the polygon at `limit` on one side (1: left, -1: right). Returns how many corners are left. */
static int clip(const struct along *in, int n, double limit, double side, struct along *out)
{
	int left = 0;

	for (int i = 0; i < n; i++) {
		const struct along *a = &in[i], *b = &in[(i + 1) % n];
		double da = limit - side * a->e, db = limit - side * b->e;

		if (da >= 0)
			out[left++] = *a;
		if ((da > 0 && db < 0) || (da < 0 && db > 0))
			out[left++] = (struct along){ a->s + (b->s - a->s) * da / (da - db), side * limit };
	}
	return left;
}

/*
 * Distance to the nearest part that lies inside the corridor; less than 0: beside the vehicle, or behind; INFINITY:
 * none does.
 */
static double inside(const struct braking *b, const struct in_path *o)
{
	struct along once[CLIPPED], twice[CLIPPED + 2];
	double near = INFINITY, far = -INFINITY;
	int n = clip(o->corner, CORNERS, b->p.width_m / 2, 1, once);

	n = n ? clip(once, n, b->p.width_m / 2, -1, twice) : 0;
	for (int i = 0; i < n; i++) {
		near = fmin(near, twice[i].s);
		far = fmax(far, twice[i].s);
	}
	return far < 0 ? INFINITY : fmax(near, 0);
}

/*
 * The same for an object that is outside now and walks in: its distance then. INFINITY: it does not, not soon, or
 * behind the vehicle.
 */
static double walks_in(const struct braking *b, const struct braking_object *who, const struct in_path *o, double speed)
{
	double half = b->p.width_m / 2, gap = o->e_lo > half ? o->e_lo - half : -half - o->e_hi;
	double towards = o->e_lo > half ? -o->ve : o->ve, in_s;

	if (gap < 0 || towards < APPROACH || hypot(who->vx, who->vy) > WALK || who->box.length > WALKER_M ||
	    who->age_s < KNOWN_S || !who->box.points)
		return INFINITY;
	in_s = gap / towards;
	if (in_s > b->p.predict_s || o->s_hi < 0)
		return INFINITY;
	if (speed * in_s > o->s_hi + o->vs * in_s + b->p.length_m)
		return INFINITY; /* the vehicle has passed by then */
	return fmax(o->s_lo + fmin(o->vs, 0) * in_s, 0);
}

/* ---- stopping distance ---- */

/*
 * Distance until both have the same speed, or the vehicle stands. An oncoming object is expected to brake, or to keep
 * its lane.
 */
static double needed(const struct braking *b, double v, double vs)
{
	double way = v * b->p.latency_s + b->p.margin_m;

	vs = fmax(vs, 0);
	return v > vs ? way + (v * v - vs * vs) / (2 * b->p.decel) : way - v * b->p.latency_s;
}

static bool demands(const struct braking *b, double distance, double v, double vs)
{
	double need = needed(b, v, vs) + (b->braking ? b->p.release_m : 0);

	return distance < need || (v - vs > 0.1 && distance / (v - vs) < b->p.ttc_s);
}

static double decel_for(const struct braking *b, double distance, double v)
{
	double way = distance - b->p.margin_m, d = way > 0.1 ? v * v / (2 * way)
						   : v > 0.1 ? b->p.max_decel
							     : HOLD_DECEL;

	return fmin(fmax(d, HOLD_DECEL), b->p.max_decel);
}

/* Distance to the nearest object that requires braking; INFINITY: none. */
static double danger(const struct braking *b, double curvature, double v, const struct braking_object *o, size_t n,
		     uint32_t *ret_id)
{
	double nearest = INFINITY;

	for (size_t i = 0; i < n; i++) {
		struct in_path at = in_path_of(b, curvature, &o[i]);
		double distance = fmin(inside(b, &at), walks_in(b, &o[i], &at, v));

		if (!(distance < b->p.range_m) || !demands(b, distance, v, at.vs) || distance >= nearest)
			continue;
		nearest = distance;
		*ret_id = o[i].id;
	}
	return nearest;
}

struct braking_order braking_decide(struct braking *b, int64_t stamp_sim_ns, const struct braking_ego *ego,
				    const struct braking_object *o, size_t n)
{
	double v = fmax(ego->speed, 0), wheel = b->braking ? b->wheel_angle : ego->wheel_angle, distance;
	struct braking_order r = { 0 };
	bool was;

	if (stamp_sim_ns < b->last_sim_ns)
		b->braking = false;
	was = b->braking;
	b->last_sim_ns = stamp_sim_ns;
	distance = danger(b, tan(wheel) / b->p.wheelbase_m, v, o, n, &b->id);
	if (distance < INFINITY) {
		b->braking = true;
		b->wheel_angle = wheel;
		b->danger_sim_ns = stamp_sim_ns;
		b->decel = decel_for(b, distance, v);
	} else if (was && ((double)stamp_sim_ns - (double)b->danger_sim_ns) / 1e9 >= b->p.clear_s) {
		b->braking = false;
	}
	r.brake = b->braking;
	r.began = b->braking && !was;
	r.ended = was && !b->braking;
	r.id = b->id;
	r.decel = b->decel;
	r.wheel_angle = b->wheel_angle;
	r.distance_m = distance;
	return r;
}
