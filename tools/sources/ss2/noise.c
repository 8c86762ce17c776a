/* SPDX-License-Identifier: Apache-2.0 */
/* Noise of detections. See noise.h. */
#include "noise.h"

#include <math.h>

#include "../scene/chance.h"
#include "../space.h"
#include "noise_file.h"
#include "sensors.h"

#define TOO_NEAR_M 1e-6 /* m: below that the direction from the ego is undefined */

/* Position of an object relative to the ego, and the time since it was last looked at. */
struct sight {
	const struct noise_group *g;
	double x, y; /* m, in the ego's axes */
	double dt_s; /* INFINITY: never looked at */
};

void noise_reset(struct noise *n)
{
	n->n = n->next = 0;
}

/* ---- drawing ---- */

static double phi_of(const struct noise_phi *p, double dt_s)
{
	double phi = p->amplitude * exp(-p->decay * dt_s) + p->offset;

	return isinf(dt_s) || !(phi > 0) ? 0 : phi < 1 ? phi : 1;
}

static double value_of(const struct sight *s, const struct noise_curve *c)
{
	double d = hypot(s->x / c->x_ratio, s->y);

	for (uint32_t i = 0; i < s->g->n_radii; i++)
		if (d < s->g->radius[i])
			return c->value[i];
	return 0;
}

static double go_on(struct rnd *r, const struct sight *s, const struct noise_walk *w, double before)
{
	double phi = phi_of(&w->phi, s->dt_s), mean = value_of(s, &w->mean);

	return mean + phi * (before - mean) + chance_normal(r, value_of(s, &w->deviation) * sqrt(1 - phi * phi));
}

static bool decide(struct rnd *r, double phi, bool before, double rate)
{
	return chance_unit(r) < (before ? phi : 0) + (1 - phi) * rate;
}

static void draw(struct rnd *r, const struct sight *s, double speed, struct noise_state *n)
{
	const struct noise_group *g = s->g;

	n->across = go_on(r, s, &g->across, n->across);
	n->along = go_on(r, s, &g->along, n->along);
	n->yaw = go_on(r, s, &g->yaw, n->yaw);
	n->flip = decide(r, phi_of(&g->flip_phi, s->dt_s), n->flip, g->flip_rate) && speed < g->flip_below;
	n->positive = decide(r, phi_of(&g->positive_phi, s->dt_s), n->positive, value_of(s, &g->positive));
}

/* ---- moving ---- */

static void turn(struct scene_entity *e, double angle)
{
	struct sim_Quaternion q = { .z = sin(angle / 2), .w = cos(angle / 2) };

	e->pose.orientation = space_mul(e->pose.orientation, q);
}

static void move_2(struct scene_entity *e, const struct sim_Pose *ego, const struct noise_state *n)
{
	struct sim_Vector3 d = space_sub(e->pose.position, ego->position);
	double angle = atan2(d.y, d.x);

	e->pose.position.x += n->along * cos(angle);
	e->pose.position.y += n->along * sin(angle);
	turn(e, n->yaw + (n->flip ? M_PI : 0));
}

/* The point of its box, from above, that is nearest to the ego. */
static struct sim_Vector3 nearest_point(const struct scene_entity *e, const struct sim_Pose *ego)
{
	struct sim_Vector3 at = space_sub(ego->position, e->pose.position);
	double half_x = e->box_size.x / 2, half_y = e->box_size.y / 2;

	at = space_rotate(space_inverse(e->pose.orientation), at);
	at.x = fmin(fmax(at.x, e->box_center.x - half_x), e->box_center.x + half_x);
	at.y = fmin(fmax(at.y, e->box_center.y - half_y), e->box_center.y + half_y);
	at.z = 0;
	return space_add(e->pose.position, space_rotate(e->pose.orientation, at));
}

static void move_4(struct scene_entity *e, const struct sim_Pose *ego, const struct noise_state *n)
{
	struct sim_Vector3 at = nearest_point(e, ego), way = space_sub(at, ego->position);
	double far = hypot(way.x, way.y), c = cos(n->yaw), s = sin(n->yaw), dx, dy;

	if (far < TOO_NEAR_M)
		return;
	way.x /= far;
	way.y /= far;
	dx = e->pose.position.x - at.x;
	dy = e->pose.position.y - at.y;
	e->pose.position.x = at.x + dx * c - dy * s + n->along * way.x + n->across * way.y;
	e->pose.position.y = at.y + dx * s + dy * c + n->along * way.y - n->across * way.x;
	turn(e, n->yaw + (n->flip ? M_PI : 0));
}

/* ---- states ---- */

static int32_t group_for(const struct noise_model *m, const struct scene_entity *e)
{
	for (size_t i = 0; i < m->n_groups; i++)
		if (m->version == 2 || noise_file_names(m->group[i].conf, e))
			return (int32_t)i;
	return -1;
}

static struct noise_state *oldest(struct noise *n)
{
	struct noise_state *s = &n->state[0];

	for (size_t i = 1; i < n->n; i++)
		if (n->state[i].run_ns < s->run_ns)
			s = &n->state[i];
	return s;
}

/* Every look has the objects in the same order, so the state most likely follows the one found last. */
static struct noise_state *state_of(struct noise *n, const struct noise_model *m, const struct scene_entity *e)
{
	struct noise_state *s;

	for (size_t i = 0; i < n->n; i++) {
		size_t k = (n->next + i) % n->n;

		if (n->state[k].id == e->id) {
			n->next = k + 1;
			return &n->state[k];
		}
	}
	s = n->n < NOISE_STATES ? &n->state[n->n++] : oldest(n);
	n->next = n->n;
	*s = (struct noise_state){ .id = e->id, .group = group_for(m, e), .run_ns = INT64_MIN };
	return s;
}

/* Whether the object is seen. */
static bool disturb(struct noise *n, const struct noise_model *m, struct rnd *r, const struct sensors_look *look,
		    struct scene_entity *e)
{
	struct noise_state *s = state_of(n, m, e);
	struct sim_Vector3 d = space_sub(e->pose.position, look->ego.position);
	double yaw = space_yaw(look->ego.orientation), dt_s = INFINITY;

	if (s->group < 0)
		return true;
	if (s->run_ns != INT64_MIN && s->run_ns <= look->run_ns)
		dt_s = (double)(look->run_ns - s->run_ns) / 1e9;
	s->run_ns = look->run_ns;
	draw(r,
	     &(struct sight){ .g = &m->group[s->group],
			      .x = d.x * cos(yaw) + d.y * sin(yaw),
			      .y = d.y * cos(yaw) - d.x * sin(yaw),
			      .dt_s = dt_s },
	     hypot(e->twist.linear.x, e->twist.linear.y), s);
	if (s->positive)
		(m->version == 4 ? move_4 : move_2)(e, &look->ego, s);
	return s->positive;
}

void noise_apply(struct noise *n, const struct noise_model *m, struct rnd *r, struct sensors_look *look)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < look->n; i++) {
		struct scene_entity *e = &look->object[i];

		if (disturb(n, m, r, look, e))
			look->object[seen++] = *e;
	}
	look->n = seen;
}
