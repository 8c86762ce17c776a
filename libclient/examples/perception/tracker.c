/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracker: turns obstacles (input 0, which drives) and odometry (input 1, sim/GpsOdometry) into tracks:
 * sim/Detected3DObjects in base_link with the obstacles' stamp, with ids, and with velocities over ground.
 *
 * Configuration: "output" (channel [tracks]), "frame" [base_link], and tracks.h's parameters by their names.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <sim/component.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/GpsOdometry.h>

#include "objects.h"
#include "settings.h"
#include "tracks.h"

struct tracker {
	struct tracks *tracks;
	struct sim_node_writer *out;
	struct obstacle seen[OBSTACLES_MAX];
	struct track shown[OBSTACLES_MAX];
};

static int init(struct sim_component *c, void *self)
{
	struct tracks_params p = tracks_params_default();
	char output[SETTING_TEXT_MAX] = "tracks", frame[SETTING_TEXT_MAX] = "base_link", why[512];
	const struct setting settings[] = {
		{ "output", SETTING_TEXT, output },
		{ "frame", SETTING_TEXT, frame },
		{ "gate_m", SETTING_NUMBER, &p.gate_m },
		{ "alpha", SETTING_NUMBER, &p.alpha },
		{ "beta", SETTING_NUMBER, &p.beta },
		{ "still_m", SETTING_NUMBER, &p.still_m },
		{ "max_accel", SETTING_NUMBER, &p.max_accel },
		{ "confirm", SETTING_COUNT, &p.confirm },
		{ "misses", SETTING_COUNT, &p.misses },
	};
	struct tracker *s = self;
	const char *fault;
	int r = settings_read(sim_component_config(c), settings, sizeof(settings) / sizeof(*settings), why,
			      sizeof(why));

	if (r < 0)
		return sim_component_fail(c, r, "%s", why);
	r = tracks_create(&p, &s->tracks, &fault);
	if (r < 0)
		return sim_component_fail(c, r, "%s", fault);
	return objects_advertise(c, output, frame, &s->out);
}

static struct tracks_motion motion_of(const struct sim_message *m, const struct sim_GpsOdometry *g)
{
	return (struct tracks_motion){ .stamp_sim_ns = m->header.stamp_sim_ns,
				       .x = g->easting,
				       .y = g->northing,
				       .yaw = objects_yaw(&g->orientation),
				       .vx = g->velocity.x,
				       .vy = g->velocity.y,
				       .yaw_rate = g->angular_velocity.z };
}

static bool usable(const struct tracks_motion *m)
{
	return isfinite(m->x) && isfinite(m->y) && isfinite(m->yaw) && isfinite(m->vx) && isfinite(m->vy) &&
	       isfinite(m->yaw_rate);
}

static size_t read_obstacles(struct tracker *s, const struct sim_message *m, const struct sim_Detected3DObjects *all)
{
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(all, m->body_size, &n);
	size_t seen = 0;

	for (uint32_t i = 0; i < n && seen < OBSTACLES_MAX; i++) {
		struct obstacle one = objects_get_box(&o[i]);

		if (isfinite(one.x) && isfinite(one.y) && isfinite(one.yaw) && isfinite(one.length) &&
		    isfinite(one.width))
			s->seen[seen++] = one;
	}
	return seen;
}

static void fill(const struct track *t, struct sim_Detected3DObject *d)
{
	double c = cos(t->heading), s = sin(t->heading);

	objects_put_box(d, &t->box);
	d->velocity.linear.x = c * t->map_vx + s * t->map_vy;
	d->velocity.linear.y = c * t->map_vy - s * t->map_vx;
	d->map_position = (struct sim_Vector3){ .x = t->map_x, .y = t->map_y, .z = t->box.z };
	d->map_velocity = (struct sim_Vector3){ .x = t->map_vx, .y = t->map_vy };
	d->heading = t->heading;
	d->tracking_time = t->age_dur_ns;
	d->id = t->id;
	d->score = (float)t->score;
}

/* Pedestrian or other object: by its visible size and its speed. */
static const char *label_of(const struct track *t)
{
	return t->box.length <= 1.0 && t->box.height >= 1.0 && t->box.height <= 2.2 && hypot(t->map_vx, t->map_vy) < 3
		       ? "Pedestrian"
		       : "Unknown";
}

static int proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	const struct sim_Detected3DObjects *all = sim_Detected3DObjects_from(m[0]->body, m[0]->body_size);
	const struct sim_GpsOdometry *g = sim_GpsOdometry_from(m[1]->body, m[1]->body_size);
	struct tracker *s = self;
	struct tracks_motion ego;
	struct objects_out out;
	size_t n;
	int r;

	if (!all || !g)
		return sim_component_fail(c, -EBADMSG, "a message that is cut off");
	ego = motion_of(m[1], g);
	if (!usable(&ego))
		return sim_component_fail(c, -EBADMSG, "odometry with values that are no numbers");
	n = read_obstacles(s, m[0], all);
	n = tracks_update(s->tracks, &ego, m[0]->header.stamp_sim_ns, s->seen, n, s->shown);
	r = objects_begin(s->out, n, &out);
	for (size_t i = 0; r == 0 && i < n; i++) {
		fill(&s->shown[i], &out.objects[i]);
		r = objects_label(&out, i, label_of(&s->shown[i]));
	}
	return objects_end(s->out, &out, r, m[0]->header.stamp_sim_ns);
}

static void shutdown(struct sim_component *c, void *self)
{
	struct tracker *s = self;

	(void)c;
	sim_node_writer_destroy(s->out);
	tracks_destroy(s->tracks);
}

SIM_COMPONENT(Tracker) = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(struct sim_component_class),
	.name = "Tracker",
	.self_size = sizeof(struct tracker),
	.n_inputs = 2,
	.inputs = { &sim_Detected3DObjects_type, &sim_GpsOdometry_type },
	.init = init,
	.proc = proc,
	.shutdown = shutdown,
};
