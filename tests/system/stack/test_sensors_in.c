/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sensors of a real car: rospy publishes an image of 6 MiB, a cloud, an IMU and a fix, and the ROS 1 bridge makes channels of them,
 * with the stamp and the frame that they have there.
 */
#include "peer.h"
#include "ros_master.h"
#include "stack.h"

#include <sim/msg/CorrectedImu.h>
#include <sim/msg/Gps.h>
#include <sim/msg/Image.h>
#include <sim/msg/PointCloud.h>
#include <sys/mount.h>

#define STAMP INT64_C(1700000000000000000)

static pid_t simd, sensors;

/* pools: further ones, beside two of small slots; NULL: as simd has them. rows: of the image, of 6 KiB each. */
static void start(const char *pools, const char *rows, const char *subscribe)
{
#define SMALL_POOLS "\"pools\":[{\"size\":\"4KiB\",\"count\":300},{\"size\":\"128KiB\",\"count\":60}"
	static char conf[4096];

	ros_master_start();
	setenv("CAMERA_ROWS", rows, 1);
	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"system\",%s%s%s"
		 "\"rigs\":[{\"name\":\"car\",\"inbound\":[\"/camera\",\"/points\",\"/imu\",\"/fix\"],"
		 "\"bridges\":[{\"name\":\"ros1\",\"plugin\":\"ros1\",\"options\":{\"subscribe\":{%s}}}]}]",
		 pools ? SMALL_POOLS : "", pools ? pools : "", pools ? "]," : "", subscribe);
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("ros1", "status"), "connected"));
	sensors = fork();
	if (sensors == 0) {
		execl("/bin/sh", "sh", "-c", "exec /usr/bin/python3 tests/system/ros1/sensors.py >/dev/null 2>&1",
		      (char *)NULL);
		_exit(127);
	}
}

static int stop(void **state)
{
	kill(sensors, SIGKILL);
	stack_wait(sensors);
	ros_master_kill();
	return stack_sweep(state);
}

/* The first message of a channel, its header checked; keeps it in *ret. */
static struct sim_subscriber *first_of(struct peer *p, struct sim_client *c, const char *channel,
				       const struct sim_type *type, int number, const char *frame,
				       const struct sim_message **ret)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 2 };
	struct sim_subscriber *s;

	PEER(p, sim_subscribe(c, channel, type, &o, &s) == 0);
	while (sim_take(s, ret) != 0)
		PEER(p, sim_wait(s, -1) == 1);
	PEER(p, (*ret)->header.stamp_sim_ns == STAMP + number);
	PEER(p, strcmp((*ret)->header.frame_id, frame) == 0);
	return s;
}

static void see_image(struct peer *p, struct sim_client *c)
{
	const struct sim_message *msg;
	struct sim_subscriber *s = first_of(p, c, "/camera", &sim_Image_type, 1, "camera_front", &msg);
	const struct sim_Image *m = msg->body;
	const uint8_t *data;
	uint32_t n;

	data = sim_Image_data(m, msg->body_size, &n);
	PEER(p,
	     n == 6144 * p->number && m->width == 2048 && strcmp(sim_Image_encoding(m, msg->body_size), "bgr8") == 0);
	for (uint32_t i = 0; i < n; i++)
		if (data[i] != (uint8_t)(i % 6144 * 7))
			PEER(p, false);
	sim_release(s, msg);
	sim_subscriber_destroy(s);
}

static void see_cloud(struct peer *p, struct sim_client *c)
{
	const struct sim_message *msg;
	struct sim_subscriber *s = first_of(p, c, "/points", &sim_PointCloud_type, 2, "velodyne", &msg);
	const struct sim_PointCloud *m = msg->body;
	const uint8_t *data;
	uint16_t ring;
	uint32_t n;

	data = sim_PointCloud_data(m, msg->body_size, &n);
	PEER(p, n == 440000 && m->width == 20000 && m->point_step == 22);
	memcpy(&ring, data + 22u * 12345 + 16, sizeof(ring));
	PEER(p, ring == 12345 % 64);
	sim_release(s, msg);
	sim_subscriber_destroy(s);
}

static void see_small(struct peer *p, struct sim_client *c)
{
	const struct sim_message *msg;
	struct sim_subscriber *s = first_of(p, c, "/imu", &sim_CorrectedImu_type, 3, "imu_link", &msg);
	const struct sim_CorrectedImu *imu = msg->body;
	const struct sim_Gps *fix;

	PEER(p, imu->imu.linear_acceleration.z == 9.75 && imu->imu.orientation_covariance[0] == 0);
	sim_release(s, msg);
	sim_subscriber_destroy(s);
	s = first_of(p, c, "/fix", &sim_Gps_type, 4, "gps", &msg);
	fix = msg->body;
	PEER(p, fix->latitude == 48.5 && fix->longitude == -11.25 && fix->status == SIM_GPS_STATUS_GBAS_FIX);
	sim_release(s, msg);
	sim_subscriber_destroy(s);
}

static int see_all(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "stack");

	see_image(p, c);
	see_cloud(p, c);
	see_small(p, c);
	sim_disconnect(c);
	return 0;
}

#define CAMERA "\"/camera\":{\"type\":\"sensor_msgs/Image\",\"channel\":\"/camera\"},"
#define POINTS "\"/points\":{\"type\":\"sensor_msgs/PointCloud2\",\"channel\":\"/points\",\"max_body\":"
#define IMU    "\"/imu\":{\"type\":\"sensor_msgs/Imu\",\"channel\":\"/imu\",\"as\":\"sim/CorrectedImu\"},"
#define FIX    "\"/fix\":{\"type\":\"sensor_msgs/NavSatFix\",\"channel\":\"/fix\"}"

TEST_WITH(sensor_messages_of_a_car_become_channels, NULL, stop)
{
	struct peer *p = peer_new();
	pid_t stack;

	p->number = 1024;
	start(",{\"size\":\"9MiB\",\"count\":60}", "1024", CAMERA POINTS "1048576}," IMU FIX);
	stack = peer_fork(p, see_all);
	peer_join(p, stack);
	peer_free(p);
	stack_stop(simd);
}

static int see_only_the_image(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "stack");

	see_image(p, c);
	sim_disconnect(c);
	return 0;
}

/* 24 MiB; no size is configured for the image. */
TEST_WITH(a_4k_image_is_received, NULL, stop)
{
	struct peer *p = peer_new();
	pid_t stack;

	p->number = 4096;
	start(NULL, "4096", "\"/camera\":{\"type\":\"sensor_msgs/Image\",\"channel\":\"/camera\"}");
	stack = peer_fork(p, see_only_the_image);
	peer_join(p, stack);
	peer_free(p);
	stack_stop(simd);
}

/* Listens to the cloud and the camera, of which nothing may come, and to the fix, which does. */
static int see_the_fix(struct peer *p)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 2 };
	struct sim_client *c = peer_connect(p, "stack");
	const struct sim_message *msg;
	struct sim_subscriber *points, *camera, *fix;

	PEER(p, sim_subscribe(c, "/points", &sim_PointCloud_type, &o, &points) == 0);
	PEER(p, sim_subscribe(c, "/camera", &sim_Image_type, &o, &camera) == 0);
	fix = first_of(p, c, "/fix", &sim_Gps_type, 4, "gps", &msg);
	sim_release(fix, msg);
	while (!atomic_load(&p->stop))
		PEER(p, sim_wait(fix, 20 * NS_PER_MS) >= 0);
	PEER(p, sim_take(points, &msg) != 0);
	PEER(p, sim_take(camera, &msg) != 0);
	sim_subscriber_destroy(points);
	sim_subscriber_destroy(camera);
	sim_subscriber_destroy(fix);
	sim_disconnect(c);
	return 0;
}

/* No pool has slots for the camera; the cloud is larger than the rig says. The others do not mind. */
TEST_WITH(messages_that_are_too_large_are_named, NULL, stop)
{
	struct peer *p = peer_new();
	pid_t stack;

	start("", "1024", CAMERA POINTS "65536}," FIX);
	stack = peer_fork(p, see_the_fix);
	AWAIT(stack_said("/points: a message is dropped: it, or a string in it, is too large (1 so far)"));
	AWAIT(stack_said("/camera: a message is dropped: it, or a string in it, is too large (1 so far)"));
	atomic_store(&p->stop, 1);
	peer_join(p, stack);
	peer_free(p);
	stack_stop(simd);
}

static int stop_and_enlarge(void **state)
{
	(void)mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, "size=2g");
	return stop(state);
}

static int see_small_ones(struct peer *p)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 2 };
	struct sim_client *c = peer_connect(p, "stack");
	struct sim_subscriber *camera;

	PEER(p, sim_subscribe(c, "/camera", &sim_Image_type, &o, &camera) == 0);
	see_small(p, c);
	see_cloud(p, c);
	while (!atomic_load(&p->stop))
		PEER(p, sim_wait(camera, 20 * NS_PER_MS) >= 0);
	sim_subscriber_destroy(camera);
	sim_disconnect(c);
	return 0;
}

/* Docker's default /dev/shm: the camera's slots do not fit, and it takes no memory; the others are received. */
TEST_WITH(sensor_messages_are_received_with_little_memory, NULL, stop_and_enlarge)
{
	struct peer *p = peer_new();
	pid_t stack;

	if (getpid() != 1)
		skip();
	assert_int_equal(mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, "size=64m"), 0);
	start(NULL, "1024",
	      CAMERA "\"/points\":{\"type\":\"sensor_msgs/PointCloud2\",\"channel\":\"/points\"}," IMU FIX);
	stack = peer_fork(p, see_small_ones);
	AWAIT(stack_said("/camera: a message is dropped: No space left on device (1 so far)"));
	atomic_store(&p->stop, 1);
	peer_join(p, stack);
	peer_free(p);
	stack_stop(simd);
}

TEST_GROUP(ros_master_group, NULL)
