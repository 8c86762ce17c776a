/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stopper: turns tracks (input 0, which drives; sim/Detected3DObjects in base_link) and odometry (input 1,
 * sim/GpsOdometry) into braking commands (sim/VehicleControl: a deceleration, with the front wheels held). While
 * nothing is in the way it sends none, and the vehicle's own driver controls it.
 *
 * Configuration: "output" (channel [control]) and braking.h's parameters by their names.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include <sim/component.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/VehicleControl.h>

#include "braking.h"
#include "objects.h"
#include "settings.h"

struct stopper {
	struct braking braking;
	struct sim_node_writer *out;
	struct braking_object objects[OBSTACLES_MAX];
};

static int configure(struct sim_component *c, struct stopper *s, char *output)
{
	struct braking_params p = braking_params_default();
	char why[512];
	const struct setting settings[] = {
		{ "output", SETTING_TEXT, output },
		{ "front_m", SETTING_NUMBER, &p.front_m },
		{ "wheelbase_m", SETTING_NUMBER, &p.wheelbase_m },
		{ "length_m", SETTING_NUMBER, &p.length_m },
		{ "width_m", SETTING_NUMBER, &p.width_m },
		{ "range_m", SETTING_NUMBER, &p.range_m },
		{ "decel", SETTING_NUMBER, &p.decel },
		{ "max_decel", SETTING_NUMBER, &p.max_decel },
		{ "latency_s", SETTING_NUMBER, &p.latency_s },
		{ "margin_m", SETTING_NUMBER, &p.margin_m },
		{ "ttc_s", SETTING_NUMBER, &p.ttc_s },
		{ "predict_s", SETTING_NUMBER, &p.predict_s },
		{ "release_m", SETTING_NUMBER, &p.release_m },
		{ "clear_s", SETTING_NUMBER, &p.clear_s },
	};
	const char *fault;
	int r = settings_read(sim_component_config(c), settings, sizeof(settings) / sizeof(*settings), why,
			      sizeof(why));

	if (r < 0)
		return sim_component_fail(c, r, "%s", why);
	r = braking_init(&s->braking, &p, &fault);
	return r < 0 ? sim_component_fail(c, r, "%s", fault) : 0;
}

static int init(struct sim_component *c, void *self)
{
	char output[SETTING_TEXT_MAX] = "control";
	struct stopper *s = self;
	int r = configure(c, s, output);

	if (r < 0)
		return r;
	r = sim_node_writer_create(sim_component_node(c), output, &sim_VehicleControl_type, NULL, &s->out);
	return r < 0 ? sim_component_fail(c, r, "output %s: %s", output, sim_why()) : 0;
}

static size_t read_tracks(struct stopper *s, const struct sim_message *m, const struct sim_Detected3DObjects *all)
{
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(all, m->body_size, &n);
	size_t read = 0;

	for (uint32_t i = 0; i < n && read < OBSTACLES_MAX; i++) {
		struct braking_object one = { .id = o[i].id,
					      .box = objects_get_box(&o[i]),
					      .age_s = (double)o[i].tracking_time / 1e9 };
		double cos_yaw = cos(one.box.yaw), sin_yaw = sin(one.box.yaw);

		one.box.points = o[i].score >= 1; /* seen in the last cloud */
		one.vx = cos_yaw * o[i].velocity.linear.x - sin_yaw * o[i].velocity.linear.y;
		one.vy = sin_yaw * o[i].velocity.linear.x + cos_yaw * o[i].velocity.linear.y;
		if (isfinite(one.box.x) && isfinite(one.box.y) && isfinite(one.box.length) && isfinite(one.box.width) &&
		    isfinite(one.vx) && isfinite(one.vy))
			s->objects[read++] = one;
	}
	return read;
}

static int send(struct stopper *s, const struct braking_order *o, int64_t now_sim_ns)
{
	struct sim_VehicleControl m = { 0 };

	m.present = SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION | SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE |
		    SIM_VEHICLE_CONTROL_HAS_STAMP;
	m.stamp = now_sim_ns;
	m.target_acceleration = (float)-o->decel;
	m.steer_angle = (float)o->wheel_angle;
	return sim_node_write_copy(s->out, &m, sizeof(m), 0);
}

static void tell(const struct sim_component *c, const struct braking_order *o, const struct braking_ego *ego)
{
	if (o->began)
		fprintf(stderr, "%s: braking at %.1f m/s for track %u, %.1f m ahead\n", sim_component_name(c),
			ego->speed, o->id, o->distance_m);
	if (o->ended)
		fprintf(stderr, "%s: the way is free\n", sim_component_name(c));
}

static int proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	const struct sim_Detected3DObjects *all = sim_Detected3DObjects_from(m[0]->body, m[0]->body_size);
	const struct sim_GpsOdometry *g = sim_GpsOdometry_from(m[1]->body, m[1]->body_size);
	struct stopper *s = self;
	struct braking_order order;
	struct braking_ego ego;

	if (!all || !g)
		return sim_component_fail(c, -EBADMSG, "a message that is cut off");
	ego = (struct braking_ego){ .speed = (double)g->forward_speed, .wheel_angle = (double)g->wheel_angle };
	if (!isfinite(ego.speed) || !isfinite(ego.wheel_angle))
		return sim_component_fail(c, -EBADMSG, "odometry with values that are no numbers");
	order = braking_decide(&s->braking, m[0]->header.stamp_sim_ns, &ego, s->objects, read_tracks(s, m[0], all));
	tell(c, &order, &ego);
	return order.brake ? send(s, &order, sim_component_now(c)) : 0;
}

static void shutdown(struct sim_component *c, void *self)
{
	struct stopper *s = self;

	(void)c;
	sim_node_writer_destroy(s->out);
}

SIM_COMPONENT(Stopper) = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(struct sim_component_class),
	.name = "Stopper",
	.self_size = sizeof(struct stopper),
	.n_inputs = 2,
	.inputs = { &sim_Detected3DObjects_type, &sim_GpsOdometry_type },
	.init = init,
	.proc = proc,
	.shutdown = shutdown,
};
