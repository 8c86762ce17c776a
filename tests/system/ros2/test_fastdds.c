/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ROS 2 bridge against Fast DDS, which shares no code with Cyclone, over loopback: what the peer discovers and decodes
 * comes back as lines of text, what it writes comes in. Where Fast DDS is not installed there is no peer: a skip, and a failure
 * where FULL=1 asked for everything.
 */
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include <sim/msg/Gear.h>
#include <sim/msg/GearCommand.h>
#include <sim/msg/Image.h>
#include <sim/msg/Imu.h>
#include <sim/msg/VehicleControl.h>
#include <sim/point_cloud.h>

#include "support/message.h"
#include "host.h"
#include "ros/ros_type.h"

#define WIDTH                   1920u
#define HEIGHT                  1080u /* 6.2 MB */
#define POINTS                  20000u
#define STAMP                   "stamp 1640995200.123456768"
#define KEPT                    "\"reliability\":\"reliable\",\"durability\":\"transient_local\",\"depth\":1"
#define PARAM(kind, name, half) " " kind "/sim/car/" name half
/* clang-format off */
#define PARAMS(kind, half) \
	PARAM(kind, "list_parameters", half) PARAM(kind, "get_parameters", half) \
	PARAM(kind, "get_parameter_types", half) PARAM(kind, "describe_parameters", half) \
	PARAM(kind, "set_parameters", half) PARAM(kind, "set_parameters_atomically", half)
/* clang-format on */
#define GEAR "\"/control/command/gear_cmd\":{\"type\":\"autoware_vehicle_msgs/msg/GearCommand\",\"channel\":\"gear\"}"
#define CONTROL \
	"\"/control/command/control_cmd\":{\"type\":\"autoware_control_msgs/msg/Control\",\"channel\":\"control\"}"

/* ---- the peer ---- */

struct peer {
	pid_t pid;
	int in, out;
	char seen[65536];
	size_t n;
};

static void start(struct peer *p, const char *gid_size)
{
	int in[2], out[2];

	*p = (struct peer){ 0 };
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	p->pid = fork();
	if (!p->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(PEER, "fastdds-peer", gid_size, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	p->in = in[1];
	p->out = out[0];
}

static void stop(struct peer *p)
{
	int status = -1;

	close(p->in);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	assert_int_equal(status, 0);
	close(p->out);
}

static void ask(struct peer *p, const char *line)
{
	assert_int_equal(dprintf(p->in, "%s\n", line), (int)strlen(line) + 1);
}

/* Until the peer has said this line, in whatever order. */
static void expect(struct peer *p, const char *line)
{
	char want[1024];

	snprintf(want, sizeof(want), "\n%s\n", line);
	while (!strstr(p->seen, want)) {
		ssize_t r =
			p->n + 1 < sizeof(p->seen) ? read(p->out, p->seen + p->n + 1, sizeof(p->seen) - p->n - 2) : 0;

		if (r <= 0)
			fail_msg("not said: '%s'; the peer said:%s", line, p->n ? p->seen : " nothing");
		p->seen[0] = '\n'; /* so that every line has one before it */
		p->n += (size_t)r;
	}
}

/* A line of discovery: the rest of it follows from the type. */
static void expect_endpoint(struct peer *p, const char *kind, const char *topic, const char *ros, const char *qos)
{
	const struct ros_type *t = ros_type_find(ros2_types, ros);
	char type[128], line[512];

	assert_int_equal(ros_type_dds_name(t, type, sizeof(type)), 0);
	snprintf(line, sizeof(line), "%s %s %s %s partitions 0 typehash=%s;", kind, topic, type, qos, t->hash);
	expect(p, line);
}

/* As the peer hashes what it has decoded. */
static uint32_t fnv(const uint8_t *data, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ data[i]) * 16777619u;
	return h;
}

/* ---- messages: published, and the line that is due ---- */

static void send(struct host *h, struct sim_bridge *b, const char *name, const struct sim_type *type,
		 const char *options, struct sim_slot *slot)
{
	struct sim_bridge_topic *t = host_open(h, b, name, type, options);

	assert_int_equal(h->ops->publish(b, t, MESSAGE_OF(slot), NULL), 0);
	free(slot);
}

/* And what the peer says of it, but for the word before. */
static struct sim_slot *make_image(char line[256])
{
	struct sim_slot *s = host_slot(sim_Image_size(8, WIDTH * HEIGHT * 3), "camera");
	struct sim_builder build;
	struct sim_Image *m = sim_Image_init(sim_slot_body_mut(s), s->body_size, &build);
	uint8_t *data;

	m->height = HEIGHT;
	m->width = WIDTH;
	m->step = WIDTH * 3;
	assert_int_equal(sim_Image_encoding_set(&build, "bgr8"), 0);
	data = sim_Image_data_alloc(&build, m->step * m->height);
	assert_non_null(data);
	for (uint32_t i = 0; i < m->step * m->height; i++)
		data[i] = (uint8_t)(i * 7 + i / 4093);
	s->body_size = sim_builder_size(&build);
	snprintf(line, 256, STAMP " frame camera 1920x1080 bgr8 big 0 step 5760 bytes 6220800 hash %u left 0",
		 fnv(data, WIDTH * HEIGHT * 3));
	return s;
}

static void send_image(struct host *h, struct sim_bridge *b, char line[256])
{
	char what[256];
	struct sim_slot *s = make_image(what);

	snprintf(line, 256, "image %.240s", what);
	send(h, b, "/camera", &sim_Image_type, "{\"ros2\":{" KEPT "}}", s);
}

/* AWSIM's 24 bytes a point. */
static void send_cloud(struct host *h, struct sim_bridge *b, char line[256])
{
	struct sim_slot *s = host_slot(POINTS * sizeof(struct sim_Point) + 4096, "lidar");
	struct sim_builder build;
	struct sim_Point *p = sim_point_cloud_begin(sim_slot_body_mut(s), s->body_size, POINTS, &build);
	uint8_t *want = calloc(POINTS, 24);

	assert_non_null(want);
	for (uint32_t i = 0; i < POINTS; i++) {
		uint16_t ring = (uint16_t)(i % 640);

		p[i] = (struct sim_Point){
			.x = (float)i, .y = 2, .z = -1, .intensity = 0.5f, .ring = ring, .return_type = 3, .reserved = 9
		};
		memcpy(want + i * 24, &p[i].x, 4);
		memcpy(want + i * 24 + 4, &p[i].y, 4);
		memcpy(want + i * 24 + 8, &p[i].z, 4);
		memcpy(want + i * 24 + 16, &p[i].intensity, 4);
		memcpy(want + i * 24 + 20, &ring, 2);
	}
	s->body_size = sim_builder_size(&build);
	snprintf(line, 256,
		 "cloud " STAMP
		 " frame lidar 20000x1 x@0:7*1 y@4:7*1 z@8:7*1 intensity@16:7*1 ring@20:4*1 big 0 step 24 480000 "
		 "bytes 480000 hash %u dense 1 left 3",
		 fnv(want, POINTS * 24));
	free(want);
	send(h, b, "/points", &sim_PointCloud_type, "{\"ros2\":{" KEPT ",\"points\":\"awsim24\"}}", s);
}

static void send_imu(struct host *h, struct sim_bridge *b)
{
	struct sim_slot *s = host_slot(sizeof(struct sim_Imu), "imu");
	struct sim_builder build;
	struct sim_Imu *m = sim_Imu_init(sim_slot_body_mut(s), s->body_size, &build);

	m->orientation.w = 1;
	m->angular_velocity.z = 0.25;
	m->linear_acceleration.x = -9.5;
	m->linear_acceleration_covariance[8] = 3;
	send(h, b, "/imu", &sim_Imu_type, "{\"ros2\":{" KEPT "}}", s);
}

/* ---- the tests ---- */

static int have_peer(void **state)
{
	(void)state;
	if (access(PEER, X_OK) == 0)
		return 0;
	print_message("no Fast DDS when this was built: run tools/dev/deps.sh check\n");
	if (getenv("FULL"))
		return -1;
	exit(77);
}

static void it_sees_a_node(const char *distro, const char *gid_size)
{
	static struct peer p;
	static struct host h;
	const char *const options[] = { "ros_distro", distro,      "node",       "car", "namespace",
					"/sim",       "subscribe", "{" GEAR "}", NULL };
	char image[256], cloud[256];
	struct sim_bridge *b;

	start(&p, gid_size);
	ask(&p, "image rt/camera");
	ask(&p, "cloud rt/points");
	ask(&p, "imu rt/imu");
	ask(&p, "clock rt/clock");
	ask(&p, "graph ros_discovery_info");
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	host_clock_start(&h, b);
	send_image(&h, b, image);
	send_cloud(&h, b, cloud);
	send_imu(&h, b);
	expect(&p, image);
	expect(&p, cloud);
	expect(&p, "imu " STAMP
		   " frame imu 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0.25 0 0 0 0 0 0 0 0 0 -9.5 0 0 0 0 0 0 0 0 0 0 3 "
		   "left 0");
	expect(&p, "clock " STAMP " left 0");
	expect(&p, "participant enclave=/;simd=abcdef0123456789;");
	expect_endpoint(&p, "writer", "rt/camera", "sensor_msgs/Image", "reliable transient-local");
	expect_endpoint(&p, "writer", "rt/points", "sensor_msgs/PointCloud2", "reliable transient-local");
	expect_endpoint(&p, "writer", "rt/clock", "rosgraph_msgs/Clock", "reliable volatile");
	expect_endpoint(&p, "writer", "ros_discovery_info", "rmw_dds_common/ParticipantEntitiesInfo",
			"reliable transient-local");
	expect_endpoint(&p, "reader", "rt/control/command/gear_cmd", "autoware_vehicle_msgs/GearCommand",
			"reliable transient-local");
	expect(&p,
	       "graph participant node /sim car reads rt/control/command/gear_cmd" PARAMS(
		       "rq",
		       "Request") " writes rt/clock rt/camera rt/points rt/imu rt/parameter_events" PARAMS("rr",
													   "Reply"));
	host_clock_stop(&h);
	h.ops->destroy(b);
	stop(&p);
}

#define PICTURES 10

/* Nobody has tuned it: its socket has the kernel's default, three datagrams. The next one goes out when the last has come. */
TEST(large_images_come_to_who_is_not_tuned)
{
	static const char *const options[] = { "ros_distro", "humble", "pacing_ms", "60000", NULL };
	static struct peer p;
	static struct host h;
	char what[256], line[256];
	struct sim_bridge_topic *t;
	struct sim_slot *s = make_image(what);
	struct sim_bridge *b;

	start(&p, "24");
	ask(&p, "picture rt/camera");
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	t = host_open(&h, b, "/camera", &sim_Image_type, "{}");
	expect_endpoint(&p, "writer", "rt/camera", "sensor_msgs/Image", "best-effort volatile");
	for (int i = -5; i < PICTURES; i++) { /* the first ones may find no reader yet */
		s->stamp_sim_ns = HOST_STAMP + i * INT64_C(1000000000);
		assert_int_equal(host_publish(&h, b, t, s), 0);
		snprintf(line, sizeof(line), "picture stamp %lld%.200s", (long long)(1640995200 + i),
			 what + strlen("stamp 1640995200"));
		if (i >= 0)
			expect(&p, line);
		else
			pace_us(200000);
	}
	assert_null(strstr(h.log, "has lost"));
	h.ops->destroy(b);
	stop(&p);
	free(s);
}

TEST(fastdds_sees_a_node_of_humble)
{
	it_sees_a_node("humble", "24");
}
TEST(fastdds_sees_a_node_of_jazzy)
{
	it_sees_a_node("jazzy", "16");
}

TEST(its_commands_come_in)
{
	static struct peer p;
	static struct host h;
	static const char *const options[] = { "ros_distro", "humble", "subscribe", "{" GEAR "," CONTROL "}", NULL };
	const struct sim_VehicleControl *v;
	const struct sim_GearCommand *g;
	struct sim_bridge *b;
	struct host_in in;

	start(&p, "24");
	ask(&p, "gear rt/control/command/gear_cmd 20"); /* before there is a reader: it is kept */
	expect(&p, "ready");
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	in = host_next(&h);
	g = (const struct sim_GearCommand *)(const void *)in.body;
	assert_string_equal(in.channel, "gear");
	assert_int_equal(g->gear, SIM_GEAR_REVERSE);
	assert_int_equal(g->stamp, 1000000002);
	ask(&p, "control rt/control/command/control_cmd -0.125 7.5");
	in = host_next(&h);
	v = (const struct sim_VehicleControl *)(const void *)in.body;
	assert_string_equal(in.channel, "control");
	assert_true(v->steer_angle == -0.125f && v->steer_angular_velocity == 0.5f && v->velocity == 7.5f);
	assert_true(v->target_acceleration == 1.25f);
	assert_int_equal(v->present, SIM_VEHICLE_CONTROL_HAS_STAMP | SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE |
					     SIM_VEHICLE_CONTROL_HAS_STEER_ANGULAR_VELOCITY |
					     SIM_VEHICLE_CONTROL_HAS_VELOCITY |
					     SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION);
	h.ops->destroy(b);
	stop(&p);
}

/* Each is dropped and named; what is right comes in between and after them. */
TEST(what_is_malformed_stays_out)
{
#define RAW_GEAR "raw rt/control/command/gear_cmd autoware_vehicle_msgs::msg::dds_::GearCommand_ "
	static const char *const bad[] = {
		RAW_GEAR "0 000100000100000002000000",            /* ends before the command */
		RAW_GEAR "0 0001",                                /* ends in the encapsulation */
		RAW_GEAR "64 00010000010000000200000014",         /* goes on behind the end */
		RAW_GEAR "5000000 00010000010000000200000014",    /* 5 MB */
		RAW_GEAR "0 000300000100000002000000140000",      /* a parameter list */
		RAW_GEAR "0 00010000010000000200000099",          /* there is no such gear */
		RAW_GEAR "0 0001000001000000ffffffff14",          /* nor so many nanoseconds */
		"gear-be rt/control/command/gear_cmd 20",         /* big-endian */
		"control rt/control/command/control_cmd nan 1",   /* not a number */
		"control rt/control/command/control_cmd 0.5 inf", /* nor this */
	};
	static struct peer p;
	static struct host h;
	static const char *const options[] = { "ros_distro", "humble", "subscribe", "{" GEAR "," CONTROL "}", NULL };
	struct sim_bridge *b;

	start(&p, "24");
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ask(&p, bad[i]);
		ask(&p, "gear rt/control/command/gear_cmd 2");
		assert_string_equal(host_next(&h).channel, "gear");
	}
	for (int warnings = 0; warnings < 4 + 2; warnings++) /* of the 1st, 2nd, 4th and 8th gear, of both controls */
		host_next_drop(&h);
	h.ops->destroy(b);
	stop(&p);
	assert_non_null(strstr(h.log, "gear: a message is dropped: it, or a string in it, is too large (4 so far)"));
	assert_non_null(strstr(h.log, "gear: a message is dropped: it is big-endian, or no plain CDR (8 so far)"));
	assert_non_null(strstr(h.log, "control: a message is dropped: it holds a NaN or an infinity (2 so far)"));
}

#define RAW_CLOCK "raw rt/clock rosgraph_msgs::msg::dds_::Clock_ 0 "

/* As ROS 2 has it: the first stamps go by until both have found each other. */
TEST(its_clock_is_time)
{
	static const char *const options[] = { "ros_distro", "humble", "use_sim_time", "true", NULL };
	static struct peer p;
	static struct host h;
	struct sim_bridge *b;
	struct pollfd driven;

	start(&p, "24");
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	driven = (struct pollfd){ .fd = h.driven[0], .events = POLLIN };
	do
		ask(&p, RAW_CLOCK "00010000640000002a000000");
	while (poll(&driven, 1, 20) == 0);
	assert_int_equal(host_next_drive(&h), INT64_C(100000000042));
	ask(&p, RAW_CLOCK "000100006400000000ca9a3b"); /* 10^9 ns */
	host_next_drop(&h);
	ask(&p, RAW_CLOCK "00000000000000640000002a"); /* big-endian */
	host_next_drop(&h);
	ask(&p, RAW_CLOCK "00010000650000002a000000");
	while (host_next_drive(&h) != INT64_C(101000000042))
		continue;
	h.ops->destroy(b);
	stop(&p);
	assert_non_null(strstr(h.log, "/clock: a message is dropped: Operation not supported (2 so far)"));
}

TEST_GROUP(have_peer, NULL)
TEST_PROCESSES()
