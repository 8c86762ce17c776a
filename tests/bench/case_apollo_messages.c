/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apollo_decode_control: a command of Apollo that comes in, against protobuf-c's unpacking and freeing of it. One thread.
 */
#include <stdlib.h>
#include <string.h>

#include <sim/msg/VehicleControl.h>

#include "apollo.h"
#include "bench.h"
#include "modules/common_msgs/control_msgs/control_cmd.pb-c.h"

#define MESSAGES 2000u /* of a pass */
#define PASSES   8     /* best of: a preempted pass says nothing about the code */

struct message_job {
	uint8_t bytes[1024];
	size_t n;
	const struct apollo_type *type;
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
	char why[256];
	size_t size;

	return apollo_decode(j->type, &limits, j->bytes, j->n, body, sizeof(body), &size, why, sizeof(why));
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

static int run_messages(struct bench *b)
{
	struct message_job j = { .type = apollo_type_named(APOLLO_10, "apollo.control.ControlCommand", NULL) };

	fill_control(&j);
	return measure(b, "apollo_decode_control", "protobuf-c unpack and free", &j, their_control, our_control, 3);
}

const struct bench_case bench_apollo_messages = { "apollo_messages", run_messages, "apollo_decode apollo_obstacles" };
