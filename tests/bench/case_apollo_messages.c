/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What messages of many fields cost, by the functions that the bridge calls, against protobuf-c. One thread.
 *
 *   apollo_obstacles_200    200 objects, axes and corners reckoned, against sizing and packing of structs that are filled
 *                           with the same numbers; of the filling only the copies of them are counted
 *   apollo_decode_control   a command that comes in, against unpacking and freeing it
 */
#include <stdlib.h>
#include <string.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/VehicleControl.h>

#include "apollo_in.h"
#include "bench.h"
#include "modules/common_msgs/control_msgs/control_cmd.pb-c.h"
#include "modules/common_msgs/perception_msgs/perception_obstacle.pb-c.h"

#define MESSAGES  100u /* of a pass */
#define OBSTACLES 200u
#define PASSES    8 /* best of: a preempted pass says nothing about the code */

struct message_job {
	const struct apollo_type *type;
	uint8_t bytes[OBSTACLES * 1024]; /* of protobuf-c */
	size_t n;
	_Alignas(64) uint8_t body[OBSTACLES * 512];
	struct apollo_message in;
	struct iov_buf out;
	Apollo__Perception__PerceptionObstacles *filled;
	Apollo__Perception__PerceptionObstacle copy[OBSTACLES];
	Apollo__Common__Point3D point[OBSTACLES][8];
};

/* One message. -1: failed */
typedef int one(struct message_job *j);

/* ns of a message; -1: failed */
static double best(one *f, struct message_job *j)
{
	double least = 1e18;

	for (int i = 0; i < PASSES; i++) {
		int64_t start_mono_ns = mono_now_ns();
		double ns;

		for (unsigned k = 0; k < MESSAGES; k++)
			if (f(j) < 0)
				return -1;
		ns = (double)(mono_now_ns() - start_mono_ns) / MESSAGES;
		least = ns < least ? ns : least;
	}
	return least;
}

static int their_control(struct message_job *j)
{
	Apollo__Control__ControlCommand *c = apollo__control__control_command__unpack(NULL, j->n, j->bytes);
	int r = c && c->throttle > 0 ? 0 : -1;

	if (c)
		apollo__control__control_command__free_unpacked(c, NULL);
	return r;
}

static int our_control(struct message_job *j)
{
	static const struct apollo_limits limits;
	_Alignas(64) uint8_t body[sizeof(struct sim_VehicleControl) + 64];
	struct message_in ret = { .buf = body, .room = sizeof(body) };
	char why[256];

	return apollo_decode(j->type, &limits, NULL, j->bytes, j->n, &ret, why, sizeof(why));
}

/* What Apollo's controller sets in each command. */
static void fill_control(struct message_job *j)
{
	Apollo__Common__Header h = APOLLO__COMMON__HEADER__INIT;
	Apollo__Common__VehicleSignal s = APOLLO__COMMON__VEHICLE_SIGNAL__INIT;
	Apollo__Control__ControlCommand c = APOLLO__CONTROL__CONTROL_COMMAND__INIT;
	Apollo__Common__EngageAdvice advice = APOLLO__COMMON__ENGAGE_ADVICE__INIT;

	h.has_timestamp_sec = h.has_sequence_num = s.has_turn_signal = advice.has_advice = 1;
	h.timestamp_sec = 1792000000.25;
	h.module_name = (char *)(uintptr_t) "control";
	h.sequence_num = 4711;
	advice.advice = APOLLO__COMMON__ENGAGE_ADVICE__ADVICE__READY_TO_ENGAGE;
	c.header = &h;
	c.signal = &s;
	c.engage_advice = &advice;
	c.has_throttle = c.has_brake = c.has_steering_rate = c.has_steering_target = c.has_speed = c.has_acceleration =
		1;
	c.throttle = 23.5;
	c.steering_rate = 20;
	c.steering_target = -4.25;
	c.speed = 8.3;
	c.acceleration = 0.4;
	c.has_gear_location = c.has_driving_mode = c.has_parking_brake = 1;
	c.gear_location = APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_DRIVE;
	c.driving_mode = APOLLO__CANBUS__CHASSIS__DRIVING_MODE__COMPLETE_AUTO_DRIVE;
	j->n = apollo__control__control_command__pack(&c, j->bytes);
}

/* ---- obstacles ---- */

static int fill_obstacles(struct message_job *j)
{
	static const struct apollo_options options;
	struct sim_builder build;
	struct sim_Detected3DObject *d;

	if (!sim_Detected3DObjects_init(j->body, sizeof(j->body), &build))
		return -1;
	d = sim_Detected3DObjects_objects_alloc(&build, OBSTACLES);
	for (unsigned i = 0; d && i < OBSTACLES; i++) {
		struct sim_Vector3 some = { .x = 0.5 * i, .y = 4000000 + i, .z = 1.25 };

		d[i].map_position = d[i].map_velocity = d[i].map_acceleration = some;
		d[i].size = (struct sim_Vector3){ .x = 4.5, .y = 1.8, .z = 1.6 };
		d[i].heading = 0.01 * i;
		d[i].tracking_time = 100000000 * (int64_t)i;
		d[i].id = 1000 + i;
		d[i].score = 1;
		if (sim_Detected3DObject_label_set_in(&build, &d[i], i % 2 ? "Car" : "Pedestrian") < 0)
			return -1;
	}
	j->in = (struct apollo_message){ .body = j->body,
					 .size = sim_builder_size(&build),
					 .stamp_sim_ns = 1792000000250000000,
					 .sequence = 4711,
					 .frame_id = "map",
					 .options = &options };
	return d ? 0 : -1;
}

static int our_obstacles(struct message_job *j)
{
	char why[256];

	iov_buf_reset(&j->out);
	return apollo_encode(j->type, &j->in, &j->out, why, sizeof(why));
}

static int their_obstacles(struct message_job *j)
{
	Apollo__Perception__PerceptionObstacles *m = j->filled;

	for (unsigned i = 0; i < OBSTACLES; i++) {
		const Apollo__Perception__PerceptionObstacle *o = m->perception_obstacle[i];

		j->copy[i] = *o;
		j->point[i][0] = *o->position;
		j->point[i][1] = *o->velocity;
		j->point[i][2] = *o->acceleration;
		j->point[i][3] = *o->anchor_point;
		for (unsigned k = 0; k < 4; k++)
			j->point[i][4 + k] = *o->polygon_point[k];
	}
	__asm__ volatile("" : : "r"(j->copy), "r"(j->point) : "memory");
	if (apollo__perception__perception_obstacles__get_packed_size(m) > sizeof(j->bytes))
		return -1;
	j->n = apollo__perception__perception_obstacles__pack(m, j->bytes);
	return 0;
}

static int measure(struct bench *b, const char *name, const char *against, struct message_job *j, one *theirs,
		   one *ours, double bar)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 11);

	for (unsigned i = 0; i < n; i++) {
		pairs[i] = (struct bench_pair){ .reference = best(theirs, j), .ours = best(ours, j) };
		if (pairs[i].reference < 0 || pairs[i].ours < 0)
			return -1;
	}
	bench_report(b, name, "ns", against, BENCH_TIMES, pairs, n, bar);
	return 0;
}

static int run_obstacles(struct bench *b, struct message_job *j)
{
	int r;

	j->type = apollo_type_for(APOLLO_10, "sim/Detected3DObjects", NULL);
	if (!j->type || fill_obstacles(j) < 0 || our_obstacles(j) < 0 || j->out.n != 1)
		return -1;
	j->filled = apollo__perception__perception_obstacles__unpack(NULL, j->out.total, j->out.buf);
	if (!j->filled || j->filled->n_perception_obstacle != OBSTACLES)
		return -1;
	r = measure(b, "apollo_obstacles_200", "protobuf-c size and pack", j, their_obstacles, our_obstacles, 5);
	if (j->n != j->out.total || memcmp(j->bytes, j->out.buf, j->n) != 0)
		r = -1; /* not the same work */
	apollo__perception__perception_obstacles__free_unpacked(j->filled, NULL);
	return r;
}

static int run_control(struct bench *b, struct message_job *j)
{
	j->type = apollo_type_named(APOLLO_10, "apollo.control.ControlCommand", NULL);
	fill_control(j);
	return measure(b, "apollo_decode_control", "protobuf-c unpack and free", j, their_control, our_control, 3);
}

static int run_messages(struct bench *b)
{
	struct message_job *j = aligned_alloc(64, (sizeof(*j) + 63) & ~(size_t)63);
	int r;

	if (!j)
		return -1;
	memset(j, 0, sizeof(*j));
	iov_buf_init(&j->out);
	r = run_obstacles(b, j);
	if (r == 0)
		r = run_control(b, j);
	iov_buf_finish(&j->out);
	free(j);
	return r;
}

const struct bench_case bench_apollo_messages = { "apollo_messages", run_messages, "apollo_decode apollo_obstacles" };
