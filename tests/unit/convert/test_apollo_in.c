/* SPDX-License-Identifier: Apache-2.0 */
/* Inbound messages of Apollo: commands, by protobuf-c's bytes. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include "apollo_in.h"
#include "apollo_peer.h"
#include "modules/common_msgs/control_msgs/control_cmd.pb-c.h"
#include "modules/common_msgs/perception_msgs/perception_obstacle.pb-c.h"
#include "modules/common_msgs/planning_msgs/planning.pb-c.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/EngageCommand.h"
#include "sim/msg/Gear.h"
#include "sim/msg/GearCommand.h"
#include "sim/msg/HazardCommand.h"
#include "sim/msg/Trajectory.h"
#include "sim/msg/Turn.h"
#include "sim/msg/TurnCommand.h"
#include "sim/msg/VehicleControl.h"
#include "sim/msg/VehicleState.h"

const enum apollo_release apollo_family = APOLLO_10;

static struct apollo_body body;
static Apollo__Common__Header header;
static Apollo__Common__VehicleSignal signals;
static Apollo__Control__ControlCommand command;

#define NAME "apollo.control.ControlCommand"

/* What Apollo's controller sends all the time. */
static int start(void **state)
{
	(void)state;
	apollo__common__header__init(&header);
	header.has_timestamp_sec = true;
	header.timestamp_sec = 100.5;
	header.module_name = (char *)(uintptr_t) "control";
	apollo__common__vehicle_signal__init(&signals);
	apollo__control__control_command__init(&command);
	command.header = &header;
	command.has_throttle = command.has_brake = command.has_steering_target = command.has_steering_rate = true;
	command.throttle = 25;
	command.steering_target = 50;
	command.steering_rate = 100;
	command.has_gear_location = true;
	command.gear_location = APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_DRIVE;
	command.has_acceleration = true;
	command.acceleration = 0.5;
	return 0;
}

static int decode(const char *sim_type, const struct apollo_limits *l)
{
	return apollo_peer_decode(&command.base, NAME, sim_type, l, &body);
}

static bool near(float a, double b)
{
	return fabs((double)a - b) < 1e-6;
}

TEST_WITH(percent_become_fractions_and_left_stays_positive, start, NULL)
{
	const struct sim_VehicleControl *c;

	assert_int_equal(decode("sim/VehicleControl", NULL), 0);
	c = sim_VehicleControl_from(body.bytes, body.b.used);
	assert_non_null(c);
	assert_int_equal(c->stamp, 100500000000);
	assert_true(near(c->acceleration, 0.25) && near(c->braking, 0));
	assert_true(near(c->steer_target, 0.5) && near(c->steer_rate, 1));
	assert_int_equal(c->target_gear, SIM_GEAR_DRIVE);
	assert_int_equal(c->present, SIM_VEHICLE_CONTROL_HAS_STAMP | SIM_VEHICLE_CONTROL_HAS_ACCELERATION |
					     SIM_VEHICLE_CONTROL_HAS_BRAKING | SIM_VEHICLE_CONTROL_HAS_STEER_TARGET |
					     SIM_VEHICLE_CONTROL_HAS_STEER_RATE | SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR);
}

TEST_WITH(without_a_pedal_acceleration_and_speed_count, start, NULL)
{
	const struct sim_VehicleControl *c;

	command.has_throttle = command.has_brake = false;
	command.has_speed = true;
	command.speed = 7;
	assert_int_equal(decode(NULL, NULL), 0);
	c = sim_VehicleControl_from(body.bytes, body.b.used);
	assert_true(c->present & SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION);
	assert_true(c->present & SIM_VEHICLE_CONTROL_HAS_VELOCITY);
	assert_false(c->present & SIM_VEHICLE_CONTROL_HAS_ACCELERATION);
	assert_true(near(c->target_acceleration, 0.5) && near(c->velocity, 7));
}

TEST_WITH(the_parking_brake_is_a_full_brake, start, NULL)
{
	const struct sim_VehicleControl *c;

	command.has_parking_brake = command.parking_brake = true;
	assert_int_equal(decode(NULL, NULL), 0);
	c = sim_VehicleControl_from(body.bytes, body.b.used);
	assert_true(near(c->acceleration, 0) && near(c->braking, 1));
	assert_int_equal(decode("sim/VehicleState", NULL), 0);
	assert_true(sim_VehicleState_from(body.bytes, body.b.used)->hand_brake);
}

TEST_WITH(gear_turn_signal_and_hazard_become_separate_messages, start, NULL)
{
	command.gear_location = APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_REVERSE;
	assert_int_equal(decode("sim/GearCommand", NULL), 0);
	assert_int_equal(sim_GearCommand_from(body.bytes, body.b.used)->gear, SIM_GEAR_REVERSE);
	assert_int_equal(decode("sim/TurnCommand", NULL), 1); /* nothing said */
	assert_int_equal(decode("sim/HazardCommand", NULL), 1);

	command.signal = &signals;
	signals.has_turn_signal = true;
	signals.turn_signal = APOLLO__COMMON__VEHICLE_SIGNAL__TURN_SIGNAL__TURN_RIGHT;
	assert_int_equal(decode("sim/TurnCommand", NULL), 0);
	assert_int_equal(sim_TurnCommand_from(body.bytes, body.b.used)->turn, SIM_TURN_RIGHT);
	assert_int_equal(decode("sim/HazardCommand", NULL), 0);
	assert_false(sim_HazardCommand_from(body.bytes, body.b.used)->on);

	signals.turn_signal = APOLLO__COMMON__VEHICLE_SIGNAL__TURN_SIGNAL__TURN_HAZARD_WARNING;
	assert_int_equal(decode("sim/TurnCommand", NULL), 0);
	assert_int_equal(sim_TurnCommand_from(body.bytes, body.b.used)->turn, SIM_TURN_OFF);
	assert_int_equal(decode("sim/HazardCommand", NULL), 0);
	assert_true(sim_HazardCommand_from(body.bytes, body.b.used)->on);
}

TEST_WITH(lights_and_mode_become_the_vehicle_state, start, NULL)
{
	const struct sim_VehicleState *s;

	command.signal = &signals;
	signals.has_low_beam = signals.low_beam = signals.has_horn = signals.horn = true;
	signals.has_emergency_light = signals.emergency_light = true;
	assert_int_equal(decode("sim/VehicleState", NULL), 0);
	s = sim_VehicleState_from(body.bytes, body.b.used);
	assert_int_equal(s->headlight, SIM_VEHICLE_STATE_HEADLIGHT_LOW);
	assert_int_equal(s->blinker, SIM_TURN_HAZARD);
	assert_int_equal(s->gear, SIM_GEAR_DRIVE);
	assert_true(s->horn && s->autonomous && !s->hand_brake);
	command.gear_location = APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_NONE;
	assert_int_equal(decode("sim/VehicleState", NULL), 1);
	assert_int_equal(decode("sim/GearCommand", NULL), 1);
}

TEST_WITH(numbers_that_are_not_finite_or_out_of_range_are_named, start, NULL)
{
	command.throttle = NAN;
	assert_int_equal(decode(NULL, NULL), -ERANGE);
	assert_string_equal(apollo_peer_why, "throttle is nan: 0 to 100 is allowed");
	start(NULL);
	command.steering_target = -100.5;
	assert_int_equal(decode(NULL, NULL), -ERANGE);
	assert_non_null(strstr(apollo_peer_why, "steering_target is -100.5"));
	start(NULL);
	command.gear_location = 7;
	assert_int_equal(decode("sim/GearCommand", NULL), -ERANGE);
	assert_int_equal(decode("sim/TurnCommand", NULL), -ERANGE); /* whole, or not at all */
	start(NULL);
	header.timestamp_sec = INFINITY;
	assert_int_equal(decode(NULL, NULL), -ERANGE);
}

TEST_WITH(old_commands_and_those_for_another_vehicle_are_dropped, start, NULL)
{
	struct apollo_limits l = { .now_sim_ns = 101000000000, .max_age_ns = 500000000, .vehicle = "mkz" };

	assert_int_equal(decode(NULL, &l), 0);
	l.now_sim_ns++;
	assert_int_equal(decode(NULL, &l), -ETIME);
	assert_string_equal(apollo_peer_why, "it is 0.5 s old, and 0.5 s are allowed");
	l.now_sim_ns = 99000000000;
	assert_int_equal(decode(NULL, &l), -ETIME);
	assert_non_null(strstr(apollo_peer_why, "MODE_MOCK"));
	l.max_age_ns = 0;
	header.frame_id = (char *)(uintptr_t) "mkz";
	assert_int_equal(decode(NULL, &l), 0);
	header.frame_id = (char *)(uintptr_t) "other";
	assert_int_equal(decode(NULL, &l), -EXDEV);
	assert_string_equal(apollo_peer_why, "it is for the vehicle other, not for mkz");
}

TEST_WITH(bytes_that_are_not_a_command_are_refused, start, NULL)
{
	static const uint8_t bad[] = { 0x19, 1, 2, 3 };
	const struct apollo_type *t = apollo_type_named(APOLLO_10, NAME, NULL);
	struct apollo_limits l = { 0 };
	struct message_in ret = { .buf = body.bytes, .room = 1000 };
	char why[200];

	assert_int_equal(apollo_decode(t, &l, NULL, bad, sizeof(bad), &ret, why, sizeof(why)), -EBADMSG);
	assert_string_equal(why, "4 bytes that are not a valid " NAME);
	ret.room = 4;
	assert_int_equal(apollo_decode(t, &l, NULL, bad, 0, &ret, why, sizeof(why)), -ENOBUFS);
}

/* ---- pad, obstacles, plan ---- */

TEST_WITH(start_and_reset_of_the_pad_engage_and_disengage, start, NULL)
{
	Apollo__Control__PadMessage pad = APOLLO__CONTROL__PAD_MESSAGE__INIT;

	pad.header = &header;
	assert_int_equal(apollo_peer_decode(&pad.base, "apollo.control.PadMessage", NULL, NULL, &body), 1);
	pad.has_action = true;
	pad.action = APOLLO__CONTROL__DRIVING_ACTION__START;
	assert_int_equal(apollo_peer_decode(&pad.base, "apollo.control.PadMessage", NULL, NULL, &body), 0);
	assert_true(sim_EngageCommand_from(body.bytes, body.b.used)->engage);
	assert_int_equal(sim_EngageCommand_from(body.bytes, body.b.used)->stamp, 100500000000);
	pad.action = APOLLO__CONTROL__DRIVING_ACTION__RESET;
	assert_int_equal(apollo_peer_decode(&pad.base, "apollo.control.PadMessage", NULL, NULL, &body), 0);
	assert_false(sim_EngageCommand_from(body.bytes, body.b.used)->engage);
	pad.action = APOLLO__CONTROL__DRIVING_ACTION__VIN_REQ;
	assert_int_equal(apollo_peer_decode(&pad.base, "apollo.control.PadMessage", NULL, NULL, &body), 1);
}

static Apollo__Common__Point3D point(double x, double y, double z)
{
	Apollo__Common__Point3D p = APOLLO__COMMON__POINT3_D__INIT;

	p.has_x = p.has_y = p.has_z = true;
	p.x = x;
	p.y = y;
	p.z = z;
	return p;
}

TEST_WITH(obstacles_become_objects_in_the_map, start, NULL)
{
	Apollo__Common__Point3D at = point(10, 20, 1), velocity = point(3, NAN, 0);
	Apollo__Perception__PerceptionObstacle o = APOLLO__PERCEPTION__PERCEPTION_OBSTACLE__INIT, *list[] = { &o, &o };
	Apollo__Perception__PerceptionObstacles all = APOLLO__PERCEPTION__PERCEPTION_OBSTACLES__INIT;
	const struct sim_Detected3DObject *d;
	uint32_t n;

	o.has_id = o.has_theta = o.has_length = o.has_width = o.has_height = o.has_tracking_time = true;
	o.has_type = o.has_sub_type = o.has_confidence = true;
	o.id = 9;
	o.position = &at;
	o.velocity = &velocity;
	o.theta = 1.5;
	o.length = 4;
	o.width = 2;
	o.height = 1.5;
	o.tracking_time = 2.5;
	o.confidence = 0.75;
	o.type = APOLLO__PERCEPTION__PERCEPTION_OBSTACLE__TYPE__VEHICLE;
	o.sub_type = APOLLO__PERCEPTION__PERCEPTION_OBSTACLE__SUB_TYPE__ST_BUS;
	all.header = &header;
	all.n_perception_obstacle = 2;
	all.perception_obstacle = list;
	assert_int_equal(apollo_peer_decode(&all.base, "apollo.perception.PerceptionObstacles", NULL, NULL, &body), 0);
	d = sim_Detected3DObjects_objects(sim_Detected3DObjects_from(body.bytes, body.b.used), body.b.used, &n);
	assert_int_equal(n, 2);
	assert_int_equal(d[1].id, 9);
	assert_true(near((float)d[1].map_position.y, 20) && near((float)d[1].map_velocity.x, 0)); /* not known */
	assert_true(near((float)d[1].heading, 1.5) && near((float)d[1].size.x, 4) && near(d[1].score, 0.75));
	assert_int_equal(d[1].tracking_time, 2500000000);
	assert_string_equal(sim_Detected3DObject_label_in(body.bytes, body.b.used, &d[1]), "Bus");

	at.x = NAN;
	assert_int_equal(apollo_peer_decode(&all.base, "apollo.perception.PerceptionObstacles", NULL, NULL, &body),
			 -ERANGE);
	assert_non_null(strstr(apollo_peer_why, "obstacle 9"));
}

TEST_WITH(a_plan_keeps_its_points, start, NULL)
{
	Apollo__Common__PathPoint at = APOLLO__COMMON__PATH_POINT__INIT;
	Apollo__Common__TrajectoryPoint p = APOLLO__COMMON__TRAJECTORY_POINT__INIT, *list[] = { &p };
	Apollo__Planning__EStop stop = APOLLO__PLANNING__ESTOP__INIT;
	Apollo__Planning__ADCTrajectory plan = APOLLO__PLANNING__ADCTRAJECTORY__INIT;
	const struct sim_Trajectory *t;
	const struct sim_TrajectoryPoint *got;
	uint32_t n;

	at.has_x = at.has_y = at.has_theta = at.has_kappa = at.has_s = true;
	at.x = 5;
	at.y = 6;
	at.theta = 0.5;
	at.kappa = 0.01;
	at.s = 7;
	p.path_point = &at;
	p.has_v = p.has_a = p.has_relative_time = true;
	p.v = 8;
	p.a = -1;
	p.relative_time = -0.5;
	stop.has_is_estop = stop.is_estop = true;
	plan.header = &header;
	plan.estop = &stop;
	plan.has_gear = plan.has_total_path_length = plan.has_total_path_time = true;
	plan.gear = APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_DRIVE;
	plan.total_path_length = 60;
	plan.total_path_time = 8;
	plan.n_trajectory_point = 1;
	plan.trajectory_point = list;
	assert_int_equal(apollo_peer_decode(&plan.base, "apollo.planning.ADCTrajectory", NULL, NULL, &body), 0);
	t = sim_Trajectory_from(body.bytes, body.b.used);
	got = sim_Trajectory_points(t, body.b.used, &n);
	assert_int_equal(n, 1);
	assert_true(near((float)got->position.y, 6) && near((float)got->heading, 0.5) && near((float)got->speed, 8));
	assert_true(near((float)got->curvature, 0.01) && near((float)got->distance, 7));
	assert_int_equal(got->time_from_start, -500000000);
	assert_true(t->emergency_stop && !t->replanned && t->gear == SIM_GEAR_DRIVE);
	assert_int_equal(t->duration, 8000000000);
	assert_true(near((float)t->length, 60));
	at.y = INFINITY;
	assert_int_equal(apollo_peer_decode(&plan.base, "apollo.planning.ADCTrajectory", NULL, NULL, &body), -ERANGE);
}

/* A byte after the other, cut off or turned: an answer, never more. */
TEST_WITH(any_bytes_are_survived, start, NULL)
{
	static uint8_t bytes[1000], copy[1000];
	struct message_in ret = { .buf = body.bytes, .room = 4096 };
	struct apollo_limits l = { 0 };
	const struct apollo_type *t;
	size_t len;
	char why[200];

	command.signal = &signals;
	signals.has_horn = true;
	len = apollo__control__control_command__pack(&command, bytes);
	for (unsigned k = 0; (t = apollo_type_at(APOLLO_10, true, k)); k++)
		for (size_t i = 0; i < len * 256; i++) {
			memcpy(copy, bytes, len);
			copy[i / 256] = (uint8_t)i;
			apollo_decode(t, &l, NULL, copy, i % 3 ? len : i / 256, &ret, why, sizeof(why));
		}
}
