/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes sent to a server: in both flavours, with the mistakes of SVL Simulator, and of values that are not finite.
 */
#include "support/test.h"

#include <math.h>

#include <sim/msg/Clock.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Imu.h>
#include <sim/msg/Transforms.h>
#include <sim/srv/SetBool.h>

#include "line.h"

static void expect_text(const char *op, const char *name, const char *expected)
{
	char *text;

	AWAIT(rosbridge_server_count(line_server, op, name) > 0);
	text = rosbridge_server_last_text(line_server, op, name);
	assert_string_equal(text, expected);
	free(text);
}

/* A channel "imu" or "pose" of that body, once. */
static void send(const char *name, const struct sim_type *type, const void *body, size_t size)
{
	struct sim_bridge_topic *t = host_open(&line_host, line_bridge, name, type, "{}");
	struct sim_slot *s = host_slot(size, "base");

	memcpy(sim_slot_body_mut(s), body, size);
	assert_int_equal(host_publish(&line_host, line_bridge, t, s), 0);
	line_host.ops->close(line_bridge, t); /* queued messages are sent all the same */
	free(s);
}

static void send_imu(double yaw_rate)
{
	struct sim_Imu m = { .orientation = { 0, 0, 0, 1 } };

	m.angular_velocity.z = yaw_rate;
	send("imu", &sim_Imu_type, &m, sizeof(m));
}

#define NINE "[0,0,0,0,0,0,0,0,0]"
#define IMU(header, rate) \
	"{\"op\":\"publish\",\"topic\":\"/imu\",\"msg\":{\"header\":" header \
	",\"orientation\":{\"x\":0,\"y\":0,\"z\":0,\"w\":1},\"orientation_covariance\":" NINE \
	",\"angular_velocity\":{\"x\":0,\"y\":0,\"z\":" rate "},\"angular_velocity_covariance\":" NINE \
	",\"linear_acceleration\":{\"x\":0,\"y\":0,\"z\":0},\"linear_acceleration_covariance\":" NINE "}}"
#define HEADER_2 "{\"stamp\":{\"sec\":1640995200,\"nanosec\":123456768},\"frame_id\":\"base\"}"
#define HEADER_1 "{\"seq\":0,\"stamp\":{\"secs\":1640995200,\"nsecs\":123456768},\"frame_id\":\"base\"}"

static void flavour(const char *word, const char *type, const char *service, const char *imu)
{
	const char *const options[] = { "flavour", word, NULL };
	char text[200];

	line_up(options, NULL);
	line_host.ops->service(line_bridge, "/lights", &sim_SetBool_service);
	send_imu(0.1);
	snprintf(text, sizeof(text), "{\"op\":\"advertise\",\"topic\":\"/imu\",\"type\":\"%s\"}", type);
	expect_text("advertise", "/imu", text);
	snprintf(text, sizeof(text), "{\"op\":\"advertise_service\",\"type\":\"%s\",\"service\":\"/lights\"}", service);
	expect_text("advertise_service", "/lights", text);
	expect_text("publish", "/imu", imu);
	line_down();
}

TEST(ros_2_messages_have_their_form)
{
	flavour("ros2", "sensor_msgs/msg/Imu", "std_srvs/srv/SetBool", IMU(HEADER_2, "0.1"));
}

TEST(ros_1_messages_have_their_form)
{
	flavour("ros", "sensor_msgs/Imu", "std_srvs/SetBool", IMU(HEADER_1, "0.1"));
}

/* ---- fixed frames ---- */

static void repeat_frame(struct sim_bridge_topic *t, const char *child)
{
	struct sim_slot *s = host_slot(512, "base");
	struct sim_builder b;
	struct sim_Transform *f;

	assert_non_null(sim_Transforms_init(sim_slot_body_mut(s), s->body_size, &b));
	f = sim_Transforms_transforms_alloc(&b, 1);
	assert_int_equal(sim_Transform_parent_frame_set_in(&b, f, "base_link"), 0);
	assert_int_equal(sim_Transform_child_frame_set_in(&b, f, child), 0);
	s->body_size = sim_builder_size(&b);
	for (int i = 0; i < 5; i++)
		assert_int_equal(host_publish(&line_host, line_bridge, t, s), 0);
	free(s);
}

static bool last_says(const char *part)
{
	char *text = rosbridge_server_last_text(line_server, "publish", "/tf_static");
	bool says = text && strstr(text, part);

	free(text);
	return says;
}

/* The server keeps the last message for those who come later, so what says nothing new is not sent. */
TEST(fixed_frames_are_sent_once)
{
	static const char *const options[] = { NULL };
	struct sim_bridge_topic *t;

	line_up(options, NULL);
	t = host_open(&line_host, line_bridge, "/tf_static", &sim_Transforms_type, "{}");
	repeat_frame(t, "lidar");
	repeat_frame(t, "camera");
	repeat_frame(t, "lidar");
	repeat_frame(t, "radar");
	AWAIT(rosbridge_server_count(line_server, "publish", "/tf_static") > 0 && last_says("\"radar\""));
	assert_true(last_says("\"lidar\"") && last_says("\"camera\""));
	assert_int_equal(rosbridge_server_count(line_server, "publish", "/tf_static"), 3);
	line_host.ops->close(line_bridge, t);
	line_down();
}

/* ---- SVL Simulator's mistakes ---- */

static void twist(const char *compat, const char *flavour, const char *expected)
{
	const char *const options[] = { "compat", compat, "flavour", flavour, NULL };
	_Alignas(64) uint8_t body[1024];
	struct sim_builder b;
	struct sim_GpsOdometry *m = sim_GpsOdometry_init(body, sizeof(body), &b);
	const char *at;
	char *text;

	m->orientation.w = 1;
	m->angular_velocity.y = 0.25;
	m->angular_velocity.z = 0.5;
	line_up(options, NULL);
	send("pose", &sim_GpsOdometry_type, body, sim_builder_size(&b));
	AWAIT(rosbridge_server_count(line_server, "publish", "/pose") > 0);
	text = rosbridge_server_last_text(line_server, "publish", "/pose");
	at = strstr(text, "\"angular\":");
	assert_non_null(at);
	if (strncmp(at, expected, strlen(expected)) != 0)
		fail_msg("%.80s is not %s", at, expected);
	free(text);
	line_down();
}

TEST(compat_mistakes_are_sent_on_request_only)
{
	twist("none", "ros2", "\"angular\":{\"x\":0,\"y\":0.25,\"z\":0.5}");
	twist("svl2021.3", "ros2", "\"angular\":{\"x\":0,\"y\":0,\"z\":-0.25}");
	twist("none", "ros", "\"angular\":{\"x\":0,\"y\":0.25,\"z\":0.5}");
	twist("svl2021.3", "ros", "\"angular\":{\"x\":0,\"y\":0,\"z\":-0.25}");
}

/* ---- not a number ---- */

static void odd_number(const char *const *options, bool python, double v, const char *imu)
{
	const struct rosbridge_server_how how = { .python = python };

	line_up(options, &how);
	send_imu(v);
	expect_text("publish", "/imu", imu);
	line_down();
}

TEST(nan_and_infinity_are_written_as_the_server_reads_them)
{
	static const char *const usual[] = { NULL }, *const strict[] = { "nan", "null", NULL };

	odd_number(usual, true, NAN, IMU(HEADER_2, "NaN"));
	odd_number(usual, true, INFINITY, IMU(HEADER_2, "1e999"));
	odd_number(strict, false, NAN, IMU(HEADER_2, "null"));
	odd_number(strict, false, -INFINITY, IMU(HEADER_2, "null"));
	line_refused("nan", "0", "options.nan: \"0\" is not one of NaN, null");
}
