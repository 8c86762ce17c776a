/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that come in: values and signs, and that nothing malformed gets through. */

#include "tests/support/test.h"

#include <errno.h>
#include <math.h>

#include "map.h"
#include "ros/ros_type.h"
#include "sample.h"
#include "sim/introspect.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/Gear.h"
#include "sim/msg/GearCommand.h"
#include "sim/msg/HazardCommand.h"
#include "sim/msg/Turn.h"
#include "sim/msg/TurnCommand.h"
#include "sim/msg/VehicleControl.h"
#include "map_in.h"

static _Alignas(64) uint8_t body[65536], wire[65536];
static size_t size;

struct message {
	struct enc_wire w;
	struct iov_buf o;
};

static struct sim_enc *begin(struct message *m, enum wire_format format)
{
	iov_buf_init(&m->o);
	wire_begin(&m->w, format, &m->o);
	return &m->w.enc;
}

static size_t end(struct message *m)
{
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	assert_int_equal(wire_finish(&m->w), 0);
	for (unsigned i = 0, n = iov_buf_iov(&m->o, iov); i < n; i++) {
		memcpy(wire + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	iov_buf_finish(&m->o);
	return at;
}

static struct message_in in = { .buf = body, .room = sizeof(body) };

static int get(const char *ros, enum wire_format format, size_t len)
{
	const struct map_in *m = map_in_find(ros);
	int r;

	assert_non_null(m);
	r = map_in_read(m, format, wire, len, &in);
	size = in.size;
	return r;
}

static size_t put_control(enum wire_format format, float angle, bool rate)
{
	struct message m;
	struct sim_enc *e = begin(&m, format);

	sim_enc_time(e, "stamp", 1500000000);
	sim_enc_time(e, "control_time", 0);
	sim_enc_time(e, "stamp", 0);
	sim_enc_time(e, "control_time", 0);
	sim_enc_f32(e, "steering_tire_angle", angle);
	sim_enc_f32(e, "steering_tire_rotation_rate", 0.5f);
	sim_enc_bool(e, "is_defined_steering_tire_rotation_rate", rate);
	sim_enc_time(e, "stamp", 0);
	sim_enc_time(e, "control_time", 0);
	sim_enc_f32(e, "velocity", 7);
	sim_enc_f32(e, "acceleration", -1);
	sim_enc_f32(e, "jerk", 2);
	sim_enc_bool(e, "is_defined_acceleration", 1);
	sim_enc_bool(e, "is_defined_jerk", 0);
	return end(&m);
}

/* A frame that no slot has room for. */
TEST(a_frame_name_that_is_too_long_is_refused)
{
	const struct map_options plain = { .frame = "0123456789012345678901234567890123456789" };
	const struct sim_Detected3DObjects none = { 0 };
	const struct map_message out = { &none, sizeof(none), { 1, 0, "f" }, &plain, false };
	struct message msg;
	size_t len;

	assert_int_equal(map_find("sim/Detected3DObjects", NULL)->emit(&out, begin(&msg, WIRE_CDR)), 0);
	len = end(&msg);
	assert_int_equal(get("lgsvl_msgs/Detection3DArray", WIRE_CDR, len), -EMSGSIZE);
}

TEST(optional_fields_of_autowares_control_are_marked_as_present)
{
	const struct sim_VehicleControl *m = (const struct sim_VehicleControl *)(const void *)body;

	for (int f = WIRE_CDR; f <= WIRE_ROS1; f++) {
		size_t len = put_control((enum wire_format)f, 0.25f, f == WIRE_CDR);

		assert_int_equal(get("autoware_control_msgs/msg/Control", (enum wire_format)f, len), 0);
		assert_int_equal(size, sizeof(*m));
		assert_int_equal(sim_msg_check(&sim_VehicleControl_type, body, size), 0);
		assert_true(m->stamp == 1500000000 && m->steer_angle == 0.25f && m->velocity == 7.0f);
		assert_true(m->target_acceleration == -1.0f);
		assert_int_equal(m->present,
				 SIM_VEHICLE_CONTROL_HAS_STAMP | SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE |
					 SIM_VEHICLE_CONTROL_HAS_VELOCITY |
					 SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION |
					 (f == WIRE_CDR ? SIM_VEHICLE_CONTROL_HAS_STEER_ANGULAR_VELOCITY : 0));
	}
}

TEST(values_that_are_not_finite_are_dropped)
{
	assert_int_equal(get("autoware_control_msgs/Control", WIRE_CDR, put_control(WIRE_CDR, NAN, true)), -EDOM);
	assert_int_equal(get("autoware_control_msgs/Control", WIRE_CDR, put_control(WIRE_CDR, INFINITY, true)), -EDOM);
}

TEST(a_message_with_a_wrong_length_is_dropped)
{
	size_t len = put_control(WIRE_CDR, 1, true);

	for (size_t n = 0; n < len; n++) /* the message ends in two bytes and two of padding */
		assert_int_equal(get("autoware_control_msgs/Control", WIRE_CDR, n), n + 2 < len ? -EBADMSG : 0);
	assert_int_equal(get("autoware_control_msgs/Control", WIRE_CDR, len + 4), -EBADMSG);
	wire[1] = 0;
	assert_int_equal(get("autoware_control_msgs/Control", WIRE_CDR, len), -ENOTSUP);
	wire[1] = 7;
	assert_int_equal(get("autoware_control_msgs/Control", WIRE_CDR, len), -ENOTSUP);
}

static int one_byte(const char *ros, uint8_t v)
{
	struct message m;
	struct sim_enc *e = begin(&m, WIRE_CDR);

	sim_enc_time(e, "stamp", 5);
	sim_enc_u8(e, "command", v);
	return get(ros, WIRE_CDR, end(&m));
}

TEST(command_numbers_are_translated)
{
	static const uint8_t gears[][2] = { { 1, SIM_GEAR_NEUTRAL },  { 2, SIM_GEAR_DRIVE },
					    { 19, SIM_GEAR_DRIVE },   { 20, SIM_GEAR_REVERSE },
					    { 21, SIM_GEAR_REVERSE }, { 22, SIM_GEAR_PARKING },
					    { 23, SIM_GEAR_LOW },     { 24, SIM_GEAR_LOW } };
	static const char gear[] = "autoware_vehicle_msgs/GearCommand",
			  turn[] = "autoware_vehicle_msgs/TurnIndicatorsCommand",
			  hazard[] = "autoware_vehicle_msgs/HazardLightsCommand";

	for (size_t i = 0; i < sizeof(gears) / sizeof(gears[0]); i++) {
		assert_int_equal(one_byte(gear, gears[i][0]), 0);
		assert_int_equal(((const struct sim_GearCommand *)(const void *)body)->gear, gears[i][1]);
	}
	assert_int_equal(one_byte(gear, 0), 1);
	assert_int_equal(one_byte(gear, 25), -ERANGE);
	assert_int_equal(one_byte(turn, 0), 1);
	assert_int_equal(one_byte(turn, 3), 0);
	assert_int_equal(((const struct sim_TurnCommand *)(const void *)body)->turn, SIM_TURN_RIGHT);
	assert_int_equal(one_byte(turn, 4), -ERANGE);
	assert_int_equal(one_byte(hazard, 0), 1);
	assert_int_equal(one_byte(hazard, 1), 0);
	assert_int_equal(((const struct sim_HazardCommand *)(const void *)body)->on, 0);
	assert_int_equal(one_byte(hazard, 2), 0);
	assert_int_equal(((const struct sim_HazardCommand *)(const void *)body)->on, 1);
	assert_int_equal(one_byte(hazard, 3), -ERANGE);
	assert_int_equal(one_byte("autoware_vehicle_msgs/Engage", 2), -EBADMSG);
}

static int lgsvl_control(float throttle, uint8_t gear)
{
	static const struct sim_enc_header h = { 1000000000, 3, "frame" };
	struct message m;
	struct sim_enc *e = begin(&m, WIRE_ROS1);

	sim_enc_header(e, "header", &h);
	sim_enc_f32(e, "acceleration_pct", throttle);
	sim_enc_f32(e, "braking_pct", 0);
	sim_enc_f32(e, "target_wheel_angle", 0.5f);
	sim_enc_f32(e, "target_wheel_angular_rate", 0.25f);
	sim_enc_u8(e, "target_gear", gear);
	return get("lgsvl_msgs/VehicleControlData", WIRE_ROS1, end(&m));
}

TEST(svl_control_is_mirrored_and_clamped)
{
	const struct sim_VehicleControl *m = (const struct sim_VehicleControl *)(const void *)body;

	assert_int_equal(lgsvl_control(1, SIM_GEAR_REVERSE), 0);
	assert_true(m->steer_angle == -0.5f && m->steer_angular_velocity == -0.25f && m->acceleration == 1.0f);
	assert_true(m->stamp == 1000000000 && m->target_gear == SIM_GEAR_REVERSE);
	assert_int_equal(lgsvl_control(1.5f, SIM_GEAR_DRIVE), -ERANGE);
	assert_int_equal(lgsvl_control(-1, SIM_GEAR_DRIVE), -ERANGE);
	assert_int_equal(lgsvl_control(1, 5), -ERANGE);
}

/* What we send can be read back: both halves of the array mappings against one another. */
TEST(detections_read_back)
{
	static const char *const both[][2] = { { "sim/Detected2DObjects", "lgsvl_msgs/Detection2DArray" },
					       { "sim/Detected3DObjects", "lgsvl_msgs/Detection3DArray" } };
	static const struct map_options plain;
	static _Alignas(64) uint8_t sent[8192];
	struct sim_Detected3DObjects *m = (struct sim_Detected3DObjects *)(void *)body;
	const struct sim_Detected3DObject *a, *b;
	uint32_t n, k;

	for (int i = 0; i < 2; i++) {
		const struct sim_type *t = sim_type_builtin(both[i][0]);
		struct message_in small = { .buf = body, .room = 100 };
		struct map_message out = {
			sent, sample_body(t, sent, sizeof(sent)), { 1500000000, 0, "f" }, &plain, false
		};
		struct message msg;
		size_t len;

		assert_int_equal(map_find(both[i][0], both[i][1])->emit(&out, begin(&msg, WIRE_CDR)), 0);
		len = end(&msg);
		assert_int_equal(get(both[i][1], WIRE_CDR, len), 0);
		assert_int_equal(sim_msg_check(t, body, size), 0);
		assert_true(in.stamp_sim_ns == 1500000000);
		assert_string_equal(in.frame, "f");
		for (size_t cut = 0; cut + 4 < len; cut++)
			assert_true(get(both[i][1], WIRE_CDR, cut) < 0);
		assert_int_equal(get(both[i][1], WIRE_CDR, len), 0);
		assert_int_equal(map_in_read(map_in_find(both[i][1]), WIRE_CDR, wire, len, &small), -ENOBUFS);
		assert_int_equal(get(both[i][1], WIRE_CDR, len), 0);
	}
	a = sim_Detected3DObjects_objects((const struct sim_Detected3DObjects *)(const void *)sent, sizeof(sent), &n);
	b = sim_Detected3DObjects_objects(m, size, &k);
	assert_int_equal(n, 2);
	assert_int_equal(k, 2);
	for (int i = 0; i < 2; i++) {
		assert_memory_equal(&a[i].pose, &b[i].pose, sizeof(a[i].pose));
		assert_memory_equal(&a[i].velocity, &b[i].velocity, sizeof(a[i].velocity));
		assert_memory_equal(&a[i].size, &b[i].size, sizeof(a[i].size));
		assert_string_equal(sim_Detected3DObject_label_in(body, size, &b[i]), "s");
		assert_true(a[i].score == b[i].score && a[i].id == b[i].id);
	}
}

/* Sends an object with a NaN in that vector (0: in none) as that message, and reads it back. */
static int nowhere(const char *ros, size_t vector)
{
	static const struct map_options plain;
	static _Alignas(64) uint8_t sent[8192];
	struct map_message out = { sent, 0, { 1500000000, 0, "f" }, &plain, false };
	struct sim_Detected3DObject *o;
	struct sim_builder b;
	struct message msg;

	assert_non_null(sim_Detected3DObjects_init(sent, sizeof(sent), &b));
	o = sim_Detected3DObjects_objects_alloc(&b, 1);
	assert_non_null(o);
	memset(o, 0, sizeof(*o));
	if (vector)
		((struct sim_Vector3 *)(void *)((uint8_t *)o + vector))->y = NAN;
	out.size = sim_builder_size(&b);
	assert_int_equal(map_find("sim/Detected3DObjects", ros)->emit(&out, begin(&msg, WIRE_CDR)), 0);
	return get(ros, WIRE_CDR, end(&msg));
}

#define OF(member) offsetof(struct sim_Detected3DObject, member)

TEST(objects_without_a_finite_position_are_dropped)
{
	static const struct {
		const char *ros;
		size_t vectors[4];
	} all[] = {
		{ "lgsvl_msgs/Detection3DArray",
		  { OF(size), OF(velocity.linear), OF(velocity.angular), OF(pose.orientation) } },
		{ "autoware_perception_msgs/DetectedObjects", { OF(size), OF(velocity.linear), OF(velocity.angular) } },
		{ "autoware_perception_msgs/TrackedObjects", { OF(size), OF(velocity.linear), OF(map_acceleration) } },
		{ "pb_msgs/PerceptionObstacles", { OF(map_position), OF(map_velocity), OF(size) } },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(nowhere(all[i].ros, 0), 0);
		for (size_t k = 0; k < 4 && all[i].vectors[k]; k++)
			assert_int_equal(nowhere(all[i].ros, all[i].vectors[k]), -EDOM);
	}
}

TEST(an_impossible_count_is_dropped)
{
	static const struct sim_enc_header h = { 0, 0, "" };
	struct message m;
	struct sim_enc *e = begin(&m, WIRE_CDR);

	sim_enc_header(e, "header", &h);
	sim_enc_list(e, "detections", UINT32_MAX);
	assert_int_equal(get("lgsvl_msgs/Detection3DArray", WIRE_CDR, end(&m)), -EBADMSG);
}

static size_t put_clock(enum wire_format format, uint32_t sec, uint32_t nanosec)
{
	struct message m;
	struct sim_enc *e = begin(&m, format);

	sim_enc_u32(e, "sec", sec);
	sim_enc_u32(e, "nanosec", nanosec);
	return end(&m);
}

TEST(a_clock_message_is_a_valid_time_or_dropped)
{
	int64_t sim_ns = -7;
	size_t len = put_clock(WIRE_CDR, 12, 999999999);

	assert_int_equal(map_in_clock(WIRE_CDR, wire, len, &sim_ns), 0);
	assert_int_equal(sim_ns, INT64_C(12999999999));
	assert_int_equal(map_in_clock(WIRE_CDR, wire, len - 1, &sim_ns), -EBADMSG);
	assert_int_equal(map_in_clock(WIRE_CDR, wire, len + 4, &sim_ns), -EBADMSG);
	assert_int_equal(map_in_clock(WIRE_CDR, wire, 3, &sim_ns), -EBADMSG);
	assert_int_equal(map_in_clock(WIRE_CDR, wire, 0, &sim_ns), -EBADMSG);
	assert_int_equal(map_in_clock(WIRE_CDR, wire, put_clock(WIRE_CDR, 0, 0), &sim_ns), 0);
	assert_int_equal(sim_ns, 0);
	assert_int_equal(map_in_clock(WIRE_CDR, wire, put_clock(WIRE_CDR, 1, 1000000000), &sim_ns), -EBADMSG);
	assert_int_equal(map_in_clock(WIRE_CDR, wire, put_clock(WIRE_CDR, UINT32_MAX, 0), &sim_ns), -ERANGE);
	assert_int_equal(map_in_clock(WIRE_CDR, wire, put_clock(WIRE_CDR, UINT32_C(1) << 31, 999999999), &sim_ns),
			 -ERANGE);
	assert_int_equal(sim_ns, 0);
	/* ROS 1 counts seconds without a sign */
	assert_int_equal(map_in_clock(WIRE_ROS1, wire, put_clock(WIRE_ROS1, UINT32_MAX, 1), &sim_ns), 0);
	assert_int_equal(sim_ns, INT64_C(4294967295000000001));
}

static void put_headed(struct sim_enc *e, unsigned values)
{
	const struct sim_enc_header h = { 1500000000, 0, "" };

	sim_enc_header(e, "header", &h);
	for (unsigned i = 0; i < values; i++)
		sim_enc_i32(e, "v", 1);
}

static size_t put_vehicle_cmd(uint8_t gear, double yaw_rate)
{
	struct message m;
	struct sim_enc *e = begin(&m, WIRE_CDR);

	put_headed(e, 0);
	for (unsigned i = 0; i < 3; i++)
		put_headed(e, 1); /* steer, accel, brake */
	put_headed(e, 2);
	sim_enc_u8(e, "gear", gear);
	sim_enc_i32(e, "mode", 0);
	put_headed(e, 0);
	for (unsigned i = 0; i < 6; i++)
		sim_enc_f64(e, "twist", i == 5 ? yaw_rate : 0);
	for (unsigned i = 0; i < 3; i++)
		sim_enc_f64(e, "ctrl", 0);
	sim_enc_i32(e, "emergency", 0);
	return end(&m);
}

/* Each type that is made of it refuses what another refuses. */
TEST(a_vehicle_cmd_is_taken_completely_or_not_at_all)
{
	static const char *const types[] = { "sim/VehicleControl", "sim/TurnCommand", "sim/HazardCommand" };

	for (unsigned i = 0; i < 3; i++) {
		const struct map_in *m = map_in_find_to("autoware_msgs/VehicleCmd", types[i]);

		assert_non_null(m);
		assert_int_equal(map_in_read(m, WIRE_CDR, wire, put_vehicle_cmd(5, 1), &in), 0);
		assert_int_equal(map_in_read(m, WIRE_CDR, wire, put_vehicle_cmd(6, 1), &in), -ERANGE);
		assert_int_equal(map_in_read(m, WIRE_CDR, wire, put_vehicle_cmd(5, NAN), &in), -EDOM);
	}
	assert_string_equal(map_in_find("autoware_msgs/VehicleCmd")->sim, types[0]);
}

TEST(only_listed_types_are_received)
{
	assert_null(map_in_find("sensor_msgs/JointState"));
	assert_null(map_in_find("autoware_vehicle_msgs"));
	assert_null(map_in_find("autoware_vehicle_msgs/"));
	assert_null(map_in_find(""));
	for (const struct map_in *m = map_in_table; m->ros; m++) {
		assert_non_null(sim_type_builtin(m->sim));
		assert_non_null(ros_type_find(ros2_types, m->ros));
		assert_ptr_equal(map_in_find_to(m->ros, m->sim), m);
	}
}
