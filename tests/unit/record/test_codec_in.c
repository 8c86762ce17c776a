/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels of logs on their way into simd: each encoding of each type that codec_out writes, types that only the file defines, definitions
 * that are not those known here, files without any.
 */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sim/introspect.h>

#include "convert/apollo_private.h"
#include "record/codec.h"
#include "record/codec_apollo.h"
#include "record/codec_out.h"
#include "record/proto_desc.h"
#include "ros/ros_type.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/Image.h"
#include "sim/msg/Imu.h"
#include "sim/msg/Transforms.h"
#include "unit/convert/random_type.h"
#include "unit/convert/sample.h"

#define STAMP INT64_C(1234567890123)

static _Alignas(64) uint8_t body[1 << 16], back[1 << 16];
static uint8_t bytes[1 << 18], again[1 << 18];
static uint8_t apollo_set[1 << 18], tree_a[1 << 18], tree_b[1 << 18];
static size_t apollo_set_size;
static char why[512];

static size_t flatten(const struct iov_buf *o, uint8_t *to)
{
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	for (unsigned i = 0, n = iov_buf_iov(o, iov); i < n; i++) {
		assert_true(iov[i].iov_len <= sizeof(bytes) - at);
		memcpy(to + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	return at;
}

static struct codec_out *out(enum codec_kind kind, const char *channel, const struct sim_type *t)
{
	struct codec_out *c = NULL;

	if (codec_out_create(kind, NULL, channel, t, &c, why, sizeof(why)) < 0)
		fail_msg("%s: %s", t->name, why);
	return c;
}

static struct codec_in *in(const struct log_channel *ch)
{
	struct codec_in *c = NULL;

	if (codec_in_create(ch, &c, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	return c;
}

/* Encodes a body into `to`: its bytes, or an error. */
static ssize_t encode(struct codec_out *c, const void *b, size_t size, uint8_t *to)
{
	struct sim_message m = { .body = b, .body_size = size };
	struct iov_buf o;
	ssize_t n;

	m.header.stamp_sim_ns = STAMP;
	m.header.sequence = 42;
	strcpy(m.header.frame_id, "lidar_top");
	iov_buf_init(&o);
	n = codec_out_encode(c, &m, &o, why, sizeof(why));
	if (n == 0)
		n = (ssize_t)flatten(&o, to);
	iov_buf_finish(&o);
	return n;
}

static int decode(struct codec_in *c, const void *data, size_t size, struct message_in *to)
{
	const struct log_message m = { .data = data, .size = size, .publish_time_ns = 77, .log_time_ns = 99 };

	*to = (struct message_in){ .buf = back, .room = sizeof(back) };
	return codec_in_decode(c, &m, to);
}

static void same_json(const struct sim_type *t, const void *a, size_t a_size, const void *b, size_t b_size)
{
	char *x = NULL, *y = NULL;

	assert_int_equal(sim_msg_to_json_alloc(t, a, a_size, NULL, &x, NULL), 0);
	assert_int_equal(sim_msg_to_json_alloc(t, b, b_size, NULL, &y, NULL), 0);
	assert_string_equal(x, y);
	free(x);
	free(y);
}

static void says(const struct log_channel *ch, const char *sentence)
{
	struct codec_in *c;

	assert_int_equal(codec_in_create(ch, &c, why, sizeof(why)), -ENOTSUP);
	if (!strstr(why, sentence) || !strstr(why, ch->topic))
		fail_msg("'%s' is not in '%s'", sentence, why);
}

/* ---- what codec_out writes ---- */

/* The type came back, and its message with it: the same message encoded again shows what a mapping loses. */
static bool comes_back(enum codec_kind kind, const struct sim_type *t)
{
	struct codec_out *c = out(kind, "/a", t);
	struct codec_in *d = in(codec_out_channel(c));
	size_t size = sample_body(t, body, sizeof(body));
	ssize_t n = encode(c, body, size, bytes);
	struct message_in to;
	bool same = sim_type_equal(codec_in_type(d), t) && n >= 0 && decode(d, bytes, (size_t)n, &to) == 0;

	if (same) {
		assert_int_equal(sim_msg_check(t, back, to.size), 0);
		assert_int_equal(encode(c, back, to.size, again), n);
	}
	if (same && (kind == CODEC_NATIVE || kind == CODEC_PACKED || kind == CODEC_JSON)) {
		same_json(t, body, size, back, to.size);
		assert_int_equal(to.stamp_sim_ns, STAMP);
		assert_string_equal(to.frame, "lidar_top");
	}
	codec_in_destroy(d);
	codec_out_destroy(c);
	return same;
}

/* All but those: samples with a size that is not that of their data, and a type that comes in as another one. */
static void types_come_back(enum codec_kind kind, const char *but)
{
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++) {
		char name[SIM_TYPE_NAME_MAX + 3];

		snprintf(name, sizeof(name), " %s ", (*t)->name);
		if (comes_back(kind, *t) != !strstr(but, name))
			fail_msg("%s", (*t)->name);
	}
}

TEST(native_messages_read_back)
{
	types_come_back(CODEC_NATIVE, "");
}

TEST(ros_2_messages_read_back)
{
	types_come_back(CODEC_ROS2, " sim/CorrectedImu  sim/Image  sim/OccupancyGrid  sim/PointCloud ");
}

TEST(ros_1_messages_read_back)
{
	types_come_back(CODEC_ROS1, " sim/CorrectedImu  sim/Image  sim/OccupancyGrid  sim/PointCloud ");
}

TEST(packed_messages_read_back)
{
	types_come_back(CODEC_PACKED, "");
}

TEST(apollo_messages_read_back)
{
	types_come_back(CODEC_APOLLO, " sim/Image  sim/LaserScan  sim/PointCloud ");
}

TEST(json_messages_read_back)
{
	types_come_back(CODEC_JSON, "");
}

/* Types of one's own too, by the definition in the channel's metadata. */
static bool any_comes_back(const struct sim_type *t, uint64_t *seed)
{
	size_t size = random_msg(seed, t, body, sizeof(body));
	struct codec_out *c = out(CODEC_JSON, "/a", t);
	struct codec_in *d = in(codec_out_channel(c));
	ssize_t n = encode(c, body, size, bytes);
	struct message_in to;

	assert_true(sim_type_equal(codec_in_type(d), t));
	if (n < 0 && !strstr(why, "a time that the encoding cannot hold"))
		fail_msg("%s", why);
	if (n > 0) {
		assert_int_equal(decode(d, bytes, (size_t)n, &to), 0);
		assert_int_equal(to.stamp_sim_ns, STAMP);
		assert_int_equal(sim_msg_check(t, back, to.size), 0);
		same_json(t, body, size, back, to.size);
		assert_null(codec_in_note(d));
	}
	codec_in_destroy(d);
	codec_out_destroy(c);
	return n > 0;
}

TEST(json_messages_of_random_types_read_back)
{
	uint64_t seed = test_seed(21);
	unsigned n = 0;

	for (int i = 0; i < 300; i++) {
		struct random_type t;

		assert_int_equal(random_type_make(&t, &seed), 0);
		n += any_comes_back(t.type, &seed);
		random_type_finish(&t);
	}
	assert_true(n > 150);
}

/* ---- a file of Cyber RT ---- */

static uint32_t add_to(struct log_writer *w, const struct codec_out *c, const void *data, ssize_t n)
{
	struct log_message m = { .log_time_ns = STAMP };

	assert_int_equal(log_writer_add_channel(w, codec_out_channel(c), &m.channel), 0);
	assert_int_equal(log_writer_put(w, &m, &(struct iovec){ (void *)(uintptr_t)data, (size_t)n }, 1), 0);
	return m.channel;
}

static void write_record(const char *path, const struct sim_type *const *types, unsigned n)
{
	const struct log_write_options o = { .format = LOG_RECORD };
	struct log_writer *w;

	assert_int_equal(log_writer_create(path, &o, &w, why, sizeof(why)), 0);
	for (unsigned i = 0; i < n; i++) {
		char name[16];
		struct codec_out *c;

		snprintf(name, sizeof(name), "/mine/%u", i);
		c = out(CODEC_APOLLO, name, types[i]);
		assert_int_equal(add_to(w, c, bytes, encode(c, body, sample_body(types[i], body, sizeof(body)), bytes)),
				 i);
		codec_out_destroy(c);
	}
	assert_int_equal(log_writer_finish(w, why, sizeof(why)), 0);
}

/* Channels and definitions as Apollo has them; a type without a message of Apollo's keeps its channel. */
TEST(a_cyber_record_reads_back)
{
	const struct sim_type *types[] = { &sim_Imu_type, &sim_Transforms_type, sim_type_builtin("sim/CanBus"),
					   sim_type_builtin("sim/Clock"), sim_type_builtin("sim/OccupancyGrid") };
	static const char *const topics[] = { "/apollo/sensor/gnss/imu", "/tf", "/apollo/canbus/chassis", "/clock",
					      "/mine/4" };
	static const char *const schemas[] = { "apollo.drivers.gnss.Imu", "apollo.transform.TransformStampeds",
					       "apollo.canbus.Chassis", "apollo.cyber.proto.Clock",
					       "sim_msgs.OccupancyGrid" };
	char path[TEST_PATH_MAX];
	struct log_reader *r;
	struct log_message m;

	(void)unlink(test_path(path, "a.record"));
	write_record(path, types, 5);
	assert_int_equal(log_reader_open(path, NULL, &r, why, sizeof(why)), 0);
	for (unsigned i = 0; i < 5; i++) {
		const struct log_channel *ch;
		struct message_in to;
		struct codec_in *c;

		assert_int_equal(log_reader_next(r, &m), 1);
		ch = &log_reader_info(r)->channels[m.channel];
		assert_string_equal(ch->topic, topics[i]);
		assert_string_equal(ch->schema_name, schemas[i]);
		assert_string_equal(ch->schema_encoding, "apollo");
		c = in(ch);
		assert_true(sim_type_equal(codec_in_type(c), types[i]));
		assert_int_equal(decode(c, m.data, m.size, &to), 0);
		codec_in_destroy(c);
	}
	log_reader_close(r);
}

TEST(protobuf_messages_without_a_definition_are_named)
{
	struct codec_out *c = out(CODEC_APOLLO, "/a", sim_type_builtin("sim/OccupancyGrid"));
	struct log_channel ch = *codec_out_channel(c);

	ch.schema_name = "apollo.dreamview.SimulationWorld";
	says(&ch, "its definition does not have apollo.dreamview.SimulationWorld");
	ch.schema_name = "sim_msgs.EmergencyCommand";
	says(&ch, "another one than here");
	ch.schema_name = "apollo.dreamview.SimulationWorld";
	ch.schema.size = 0;
	says(&ch, "the file has no definition of this message");
	codec_out_destroy(c);
}

/* ---- messages of protobuf by the definition in the file ---- */

/* As Cyber RT's routing has it: a header, two waypoints, an explicit false. */
static size_t routing(uint8_t *to)
{
	static const uint8_t lane[] = { 0x0a, 1, 'l', 0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f }; /* id "l", s 1.5 */
	struct pb_writer w;
	struct iov_buf o;
	size_t n;

	iov_buf_init(&o);
	pb_begin(&w, &o);
	pb_open(&w, 1);
	pb_f64(&w, 1, 1234.5);
	pb_string(&w, 2, "routing", 7);
	pb_string(&w, 9, "map", 3);
	pb_close(&w);
	pb_bytes(&w, 2, lane, sizeof(lane));
	pb_bytes(&w, 2, lane, sizeof(lane));
	pb_bool(&w, 5, false);
	assert_int_equal(pb_end(&w), 0);
	n = flatten(&o, to);
	iov_buf_finish(&o);
	return n;
}

/* All files to the byte, each behind those that it needs: in a .record they are the same bytes. */
static void same_definition(const struct log_channel *ch)
{
	struct iov_buf a, b;

	iov_buf_init(&a);
	iov_buf_init(&b);
	assert_int_equal(ch->schema.size, apollo_set_size);
	assert_int_equal(proto_desc_of_set(apollo_set, apollo_set_size, ch->schema_name, &a), 0);
	assert_int_equal(proto_desc_of_set(ch->schema.data, ch->schema.size, ch->schema_name, &b), 0);
	assert_int_equal(flatten(&a, tree_a), flatten(&b, tree_b));
	assert_memory_equal(tree_a, tree_b, a.total);
	iov_buf_finish(&b);
	iov_buf_finish(&a);
}

static void by_its_definition(const struct log_channel *ch)
{
	struct codec_in *c = in(ch);
	const struct sim_type *t = codec_in_type(c);
	struct codec_out *d = out(CODEC_APOLLO, "/apollo/routing_request", t);
	size_t n = routing(bytes);
	struct message_in to;
	char *json = NULL;

	assert_string_equal(t->name, "apollo_routing/RoutingRequest");
	assert_null(codec_in_loss(c));
	assert_int_equal(decode(c, bytes, n, &to), 0);
	assert_int_equal(to.stamp_sim_ns, 1234500000000);
	assert_string_equal(to.frame, "map");
	assert_int_equal(sim_msg_to_json_alloc(t, back, to.size, NULL, &json, NULL), 0);
	assert_non_null(strstr(json, "\"waypoint\":[{\"present\":[3],\"id\":\"l\",\"s\":1.5,\"pose\":[]"));
	assert_non_null(strstr(json, "\"broadcast\":false"));
	free(json);
	assert_string_equal(codec_out_channel(d)->schema_name, "apollo.routing.RoutingRequest");
	assert_string_equal(codec_out_channel(d)->schema_encoding, "protobuf");
	same_definition(codec_out_channel(d));
	assert_int_equal(encode(d, back, to.size, again), n);
	assert_memory_equal(again, bytes, n);
	codec_out_destroy(d);
	codec_in_destroy(c);
}

TEST(unknown_protobuf_messages_use_the_definition_in_the_file)
{
	struct log_channel ch = { .topic = "/apollo/routing_request",
				  .message_encoding = "protobuf",
				  .schema_name = "apollo.routing.RoutingRequest",
				  .schema_encoding = "protobuf" };
	struct iovec files[APOLLO_FILES_MAX], iov[IOV_BUF_PIECES];
	struct iov_buf set, tree;

	iov_buf_init(&set);
	iov_buf_init(&tree);
	assert_int_equal(proto_desc_join(files, apollo_files(APOLLO_10, ch.schema_name, files), &set), 0);
	apollo_set_size = flatten(&set, apollo_set);
	ch.schema = (struct log_bytes){ apollo_set, apollo_set_size };
	by_its_definition(&ch);
	assert_int_equal(proto_desc_of_set(apollo_set, apollo_set_size, ch.schema_name, &tree), 0);
	assert_int_equal(iov_buf_iov(&tree, iov), 1);
	ch.schema_encoding = "apollo"; /* a .record's */
	ch.schema = (struct log_bytes){ iov[0].iov_base, iov[0].iov_len };
	by_its_definition(&ch);
	ch.schema.size--;
	says(&ch, "no type can be made of its definition");
	iov_buf_finish(&tree);
	iov_buf_finish(&set);
}

/* ---- logs of others ---- */

#define RULE "================================================================================\n"
#define HEADER \
	RULE "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n" RULE \
	     "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"

static struct log_channel ros(bool ros1, const char *type, const char *definition)
{
	return (struct log_channel){ .topic = "/a",
				     .message_encoding = ros1 ? "ros1" : "cdr",
				     .schema_name = type,
				     .schema_encoding = ros1 ? "ros1msg" : "ros2msg",
				     .schema = { definition, strlen(definition) } };
}

static void field_is(const struct sim_type *t, size_t size, const char *path, double want)
{
	struct sim_field_path p;
	struct sim_field_view v;
	double have;

	assert_int_equal(sim_field_find(t, path, &p), 0);
	assert_int_equal(sim_field_get(&p, back, size, &v), 0);
	assert_int_equal(sim_field_number(&v, 0, &have), 0);
	assert_true(have == want);
}

/* It goes out again under the name it came with, as the bytes it came as. */
static void goes_out_again(enum codec_kind kind, const struct sim_type *t, const char *name, size_t size,
			   const void *data, size_t n)
{
	struct codec_out *c = out(kind, "/a", t);

	assert_string_equal(codec_out_channel(c)->schema_name, name);
	codec_in_destroy(in(codec_out_channel(c))); /* its definition is one of that ROS */
	assert_int_equal(encode(c, back, size, again), n);
	assert_memory_equal(again, data, n);
	codec_out_destroy(c);
}

TEST(a_ros_2_type_defined_only_in_the_file_is_read)
{
	static const char text[] = "# a thing\nuint8 BIG=3\nstd_msgs/Header header\nbyte b\nchar[2] c # two\n"
				   "Part[] parts\nfloat32 level 1.5\n" RULE "MSG: car_msgs/Part\nint16 n\n"
				   "builtin_interfaces/Duration wait\n" HEADER;
	static const uint8_t data[] = { 0, 1, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 4, 0, 0, 0, 'c', 'a', 'r', 0, 1, 2,
					3, 0, 1, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0,   0,   0,   0, 0, 64 };
	struct log_channel ch = ros(false, "car_msgs/msg/Thing", text);
	struct codec_in *c = in(&ch);
	const struct sim_type *t = codec_in_type(c);
	struct message_in to;

	assert_string_equal(t->name, "car_msgs/Thing");
	assert_int_equal(t->n_constants, 1);
	assert_int_equal(decode(c, data, sizeof(data), &to), 0);
	assert_int_equal(to.stamp_sim_ns, 5000000007);
	assert_string_equal(to.frame, "car");
	field_is(t, to.size, "b", 1);
	field_is(t, to.size, "c[1]", 3);
	field_is(t, to.size, "parts[0].n", 9);
	field_is(t, to.size, "parts[0].wait", 2000000001);
	field_is(t, to.size, "level", 2);
	goes_out_again(CODEC_ROS2, t, "car_msgs/msg/Thing", to.size, data, sizeof(data));
	codec_in_destroy(c);
}

TEST(a_ros_1_type_defined_only_in_the_file_is_read)
{
	static const char text[] = "Header header\nduration wait\nstring name\n" RULE
				   "MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n";
	static const uint8_t data[] = { 0,   0,   0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0,   0,  'c',
					'a', 'r', 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 'h', 'i' };
	/* ROS 2's header has no number */
	static const uint8_t ros2[] = { 0,   1, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 4, 0, 0,   0,   'c', 'a',
					'r', 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 'h', 'i', 0,   0 };
	struct log_channel ch = ros(true, "car_msgs/Wait", text);
	struct codec_in *c = in(&ch);
	struct message_in to;

	assert_int_equal(decode(c, data, sizeof(data), &to), 0);
	assert_int_equal(to.stamp_sim_ns, 5000000007);
	assert_string_equal(to.frame, "car");
	field_is(codec_in_type(c), to.size, "header.stamp", 5000000007);
	field_is(codec_in_type(c), to.size, "wait", 2000000001);
	goes_out_again(CODEC_ROS1, codec_in_type(c), "car_msgs/Wait", to.size, data, sizeof(data));
	goes_out_again(CODEC_ROS2, codec_in_type(c), "car_msgs/msg/Wait", to.size, ros2, sizeof(ros2));
	codec_in_destroy(c);
}

/* Comments, constants, bounds, the order of nested definitions: none of that changes a byte. */
TEST(an_equivalent_definition_in_other_words_is_accepted)
{
	struct log_channel ch =
		ros(false, "sensor_msgs/msg/CompressedImage",
		    "# of a camera\nstd_msgs/Header header # when\nstring format\nuint8[] data\n" HEADER);
	struct codec_in *c = in(&ch);

	assert_string_equal(codec_in_type(c)->name, "sim/CompressedImage");
	codec_in_destroy(c);
}

TEST(another_definition_of_a_type_is_refused)
{
	static const char *const texts[] = {
		"std_msgs/Header header\nuint8[] data\nstring format\n" HEADER,
		"std_msgs/Header header\nstring format\nuint8[] data\nuint8 quality\n" HEADER,
		"std_msgs/Header header\nstring format\n" HEADER,
		"std_msgs/Header header\nstring format\nuint8[4] data\n" HEADER,
		"std_msgs/Header header\nstring format\nuint8[] data\n" RULE
		"MSG: std_msgs/Header\nuint32 seq\nbuiltin_interfaces/Time stamp\nstring frame_id\n",
	};
	static const char *const fields[] = { "\"data\"", "\"quality\"", "\"data\"", "\"data\"", "\"header\"" };

	for (int i = 0; i < 5; i++) {
		struct log_channel ch = ros(false, "sensor_msgs/msg/CompressedImage", texts[i]);

		says(&ch, "another one than here");
		says(&ch, fields[i]);
	}
}

/* Logs of Autoware before autoware_msgs 1.8: the same but for the predictions of each group. */
TEST(traffic_lights_of_earlier_autoware_releases_are_read)
{
	static const char text[] =
		"builtin_interfaces/Time stamp\nautoware_perception_msgs/TrafficLightGroup[] traffic_light_groups\n" RULE
		"MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n" RULE
		"MSG: autoware_perception_msgs/TrafficLightGroup\nint64 traffic_light_group_id\n"
		"autoware_perception_msgs/TrafficLightElement[] elements\n" RULE
		"MSG: autoware_perception_msgs/TrafficLightElement\nuint8 UNKNOWN=0\nuint8 color\nuint8 shape\nuint8 status\n"
		"float32 confidence\n";
	static const uint8_t data[] = { 0, 1, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 0, 0,  0,   0, 9, 0,
					0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 63, 0,   0, 0, 0,
					8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 0, 0, 0,  128, 62 };
	struct log_channel ch = ros(false, "autoware_perception_msgs/msg/TrafficLightGroupArray", text);
	struct codec_in *c = in(&ch);
	struct message_in to;

	assert_string_equal(codec_in_type(c)->name, "sim/TrafficSignals");
	assert_int_equal(decode(c, data, sizeof(data), &to), 0);
	assert_int_equal(to.stamp_sim_ns, 5000000007);
	field_is(codec_in_type(c), to.size, "signals[0].seq_id", 9);
	field_is(codec_in_type(c), to.size, "signals[1].seq_id", 8);
	field_is(codec_in_type(c), to.size, "signals[1].score", 0.25);
	assert_int_equal(decode(c, data, sizeof(data) - 4, &to), -EBADMSG);
	codec_in_destroy(c);
}

/* As in rosbag2's .db3. */
TEST(without_a_definition_types_are_known_by_name)
{
	struct log_channel ch = {
		.topic = "/a", .message_encoding = "cdr", .schema_name = "sensor_msgs/msg/Imu", .schema_encoding = ""
	};
	struct codec_in *c = in(&ch);

	assert_true(sim_type_equal(codec_in_type(c), &sim_Imu_type));
	codec_in_destroy(c);
	ch.schema_name = "geometry_msgs/msg/Accel"; /* without a mapping, but known */
	c = in(&ch);
	assert_string_equal(codec_in_type(c)->name, "geometry_msgs/Accel");
	codec_in_destroy(c);
	ch.schema_name = "sensor_msgs/msg/JointState"; /* of no table */
	c = in(&ch);
	assert_string_equal(codec_in_type(c)->name, "sensor_msgs/JointState");
	assert_int_equal(codec_in_type(c)->n_fields, 5);
	codec_in_destroy(c);
	ch.schema_name = "car_msgs/msg/Thing";
	says(&ch, "no definition of this type");
}

/* A definition of the file is believed, also where schemas/ros has another one: of another release. */
TEST(a_common_type_is_read_as_the_file_defines_it)
{
	struct log_channel ch = ros(false, "diagnostic_msgs/msg/KeyValue", "string key\nstring value\nint8 more\n");
	struct codec_in *c = in(&ch);

	assert_int_equal(codec_in_type(c)->n_fields, 3);
	codec_in_destroy(c);
}

TEST(ros_types_are_created_by_name)
{
	static const char *const names[] = { "nav_msgs/Path",
					     "nav_msgs/msg/Path",
					     "sensor_msgs/JointState",
					     "geometry_msgs/PoseArray",
					     "diagnostic_msgs/DiagnosticArray",
					     "geometry_msgs/Accel" };
	const struct sim_type *t;
	char text[200];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(codec_type_of_ros(names[i], &t, text, sizeof(text)), 0);
		assert_string_equal(strchr(t->name, '/') + 1, strrchr(names[i], '/') + 1);
		sim_type_unref(t);
	}
	assert_int_equal(codec_type_of_ros("sensor_msgs/Image", &t, text, sizeof(text)), -ENOENT); /* it is sim/Image */
	assert_int_equal(codec_type_of_ros("car_msgs/Thing", &t, text, sizeof(text)), -ENOENT);
	assert_int_equal(codec_type_of_ros("autoware_auto_geometry_msgs/RelativePositionWithCovarianceStamped", &t,
					   text, sizeof(text)),
			 -ENOTSUP);
	assert_non_null(strstr(text, "at most 63 characters"));
}

/* rosbag2 and rosbag write the text of a type without fields, which is empty: a message of ROS 2 has a byte all the same. */
TEST(an_empty_definition_is_valid)
{
	static const uint8_t data[] = { 0, 1, 0, 0, 0 }, padded[] = { 0, 1, 0, 0, 0, 0, 0, 0 };
	struct log_channel ch = ros(false, "car_msgs/msg/Empty", "");
	struct codec_in *c = in(&ch);
	struct message_in to;

	assert_string_equal(codec_in_type(c)->name, "car_msgs/Empty");
	assert_int_equal(codec_in_type(c)->n_fields, 0);
	assert_int_equal(decode(c, data, sizeof(data), &to), 0);
	assert_int_equal(to.stamp_sim_ns, 77);
	goes_out_again(CODEC_ROS2, codec_in_type(c), "car_msgs/msg/Empty", to.size, padded, sizeof(padded));
	codec_in_destroy(c);
	ch = ros(true, "car_msgs/Empty", "");
	c = in(&ch);
	assert_int_equal(decode(c, "", 0, &to), 0);
	goes_out_again(CODEC_ROS1, codec_in_type(c), "car_msgs/Empty", to.size, "", 0);
	codec_in_destroy(c);
	ch = ros(false, "sensor_msgs/msg/Imu", ""); /* the recorder did not have it */
	c = in(&ch);
	assert_true(sim_type_equal(codec_in_type(c), &sim_Imu_type));
	codec_in_destroy(c);
	ch.schema_name = "sensor_msgs/msg/JointState";
	c = in(&ch);
	assert_int_equal(codec_in_type(c)->n_fields, 5);
	codec_in_destroy(c);
	ch = ros(false, "car_msgs/msg/Empty", "");
	ch.schema_encoding = "";
	says(&ch, "no definition of this type");
}

/* A call of example_interfaces/srv/AddTwoInts as rosbag2 has recorded it, with the text of its .srv file as the definition. */
TEST(events_of_a_service_are_read)
{
	static const uint8_t data[] = { 0,    1,    0,    0,    1, 0,    0,    0,    0x21, 0x21, 0x2e, 0x65,
					0xbe, 0xda, 0x46, 0x2b, 1, 0x0f, 0xeb, 0x7d, 0x6c, 0x2a, 0xa9, 0xd2,
					0,    0,    0,    0,    0, 0,    0x13, 4,    0,    0,    0,    0,
					1,    0,    0,    0,    0, 0,    0,    0,    1,    0,    0,    0,
					0,    0,    0,    0,    1, 0,    0,    0,    0,    0,    0,    0,
					3,    0,    0,    0,    0, 0,    0,    0,    0,    0,    0,    0 };
	struct log_channel ch =
		ros(false, "example_interfaces/srv/AddTwoInts_Event", "int64 a\nint64 b\n---\nint64 sum\n");
	struct codec_in *c = in(&ch);
	const struct sim_type *t = codec_in_type(c);
	struct message_in to;

	assert_string_equal(t->name, "example_interfaces/AddTwoInts_Event");
	assert_int_equal(decode(c, data, sizeof(data), &to), 0);
	field_is(t, to.size, "info.event_type", 1);
	field_is(t, to.size, "info.sequence_number", 1);
	field_is(t, to.size, "request[0].a", 1);
	field_is(t, to.size, "request[0].b", 3);
	codec_in_destroy(c);
}

/* A feedback of example_interfaces/action/Fibonacci, with the text of its .action file as the definition. */
TEST(messages_of_an_action_are_read)
{
	static const uint8_t data[] = { 0, 1, 0, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8,
					7, 6, 5, 4, 2, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0 };
	struct log_channel ch = ros(false, "example_interfaces/action/Fibonacci_FeedbackMessage",
				    "int32 order\n---\nint32[] sequence\n---\nint32[] sequence\n");
	struct codec_in *c = in(&ch);
	struct message_in to;

	assert_string_equal(codec_in_type(c)->name, "example_interfaces/Fibonacci_FeedbackMessage");
	assert_int_equal(decode(c, data, sizeof(data), &to), 0);
	field_is(codec_in_type(c), to.size, "goal_id.uuid[0]", 9);
	field_is(codec_in_type(c), to.size, "feedback.sequence[1]", 5);
	codec_in_destroy(c);
}

TEST(unreadable_types_are_named)
{
	struct log_channel ch = ros(false, "car_msgs/msg/Thing", "float32 wide\nNothing here\n");

	says(&ch, "its definition cannot be read: ");
	ch = ros(false, "car_msgs/msg/Thing", "wstring text\n");
	says(&ch, "'text' is a wstring");
	ch = ros(false, "a_package_with_a_name_of_forty_characters/msg/AMessageOfThirtyCharacters", "int8 x\n");
	says(&ch,
	     "no type can be made of its definition: its name, or one that it nests, is not a type's name of at most 63");
	ch = ros(false, "car_msgs/msg/Thing",
		 "std_msgs/Header header\n" RULE
		 "MSG: std_msgs/Header\nuint32 seq\nbuiltin_interfaces/Time stamp\nstring frame_id\n");
	says(&ch, "its std_msgs/Header is another one than here");
	ch.message_encoding = "cbor";
	says(&ch, "the encoding \"cbor\" cannot be decoded");
	ch = ros(false, "no name", "int8 x\n");
	says(&ch, "package/msg/Name");
}

TEST(a_message_without_a_header_has_the_time_of_the_log)
{
	struct log_channel ch = ros(true, "std_msgs/UInt8", "uint8 data\n");
	struct codec_in *c = in(&ch);
	struct message_in to;

	assert_int_equal(decode(c, "\7", 1, &to), 0);
	assert_int_equal(to.stamp_sim_ns, 77);
	assert_string_equal(to.frame, "");
	assert_int_equal(decode(c, "\7\7", 2, &to), -EBADMSG);
	codec_in_destroy(c);
}

/* Autoware's command of no gear. */
TEST(an_empty_message_is_skipped)
{
	static const uint8_t none[] = { 0, 1, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 0 };
	struct log_channel ch = { .topic = "/a",
				  .message_encoding = "cdr",
				  .schema_name = "autoware_vehicle_msgs/msg/GearCommand",
				  .schema_encoding = "" };
	struct codec_in *c = in(&ch);
	struct message_in to;

	assert_int_equal(decode(c, none, sizeof(none), &to), 1);
	assert_string_equal(codec_in_reason(1), "it has nothing for its type");
	codec_in_destroy(c);
}

/* ROS says it by the name of the topic. */
TEST(transforms_on_a_static_channel_are_marked_static)
{
	for (int fixed = 0; fixed < 2; fixed++) {
		struct codec_out *c = out(CODEC_ROS2, fixed ? "/car/tf_static" : "/car/tf", &sim_Transforms_type);
		struct codec_in *d = in(codec_out_channel(c));
		ssize_t n = encode(c, body, sample_body(&sim_Transforms_type, body, sizeof(body)), bytes);
		struct message_in to;

		assert_true(n > 0);
		assert_int_equal(decode(d, bytes, (size_t)n, &to), 0);
		assert_int_equal(((struct sim_Transforms *)(void *)back)->is_static, fixed);
		codec_in_destroy(d);
		codec_out_destroy(c);
	}
}

TEST(too_little_room_is_reported)
{
	struct codec_out *c = out(CODEC_ROS2, "/a", &sim_Imu_type);
	struct codec_in *d = in(codec_out_channel(c));
	ssize_t n = encode(c, body, sample_body(&sim_Imu_type, body, sizeof(body)), bytes);
	const struct log_message m = { .data = bytes, .size = (size_t)n };
	struct message_in to = { .buf = back, .room = 16 };

	assert_int_equal(codec_in_decode(d, &m, &to), -ENOBUFS);
	codec_in_destroy(d);
	codec_out_destroy(c);
}

/* ---- JSON of others ---- */

static struct log_channel json(const char *name, const char *schema)
{
	return (struct log_channel){ .topic = "/a",
				     .message_encoding = "json",
				     .schema_name = name,
				     .schema_encoding = *schema ? "jsonschema" : "",
				     .schema = { schema, strlen(schema) } };
}

static int decode_text(struct codec_in *c, const char *text, struct message_in *to)
{
	return decode(c, text, strlen(text), to);
}

#define TIME_ "{\"type\":\"object\",\"properties\":{\"sec\":{\"type\":\"integer\"},\"nsec\":{\"type\":\"integer\"}}}"

TEST(json_is_read_by_its_schema)
{
	struct log_channel ch =
		json("foxglove.Thing", "{\"type\":\"object\",\"properties\":{\"timestamp\":" TIME_
				       ",\"frame_id\":{\"type\":\"string\"},\"x\":{\"type\":\"number\"},"
				       "\"data\":{\"type\":\"string\",\"contentEncoding\":\"base64\"}}}");
	struct codec_in *c = in(&ch);
	struct message_in to;

	assert_string_equal(codec_in_type(c)->name, "foxglove/Thing");
	assert_int_equal(decode_text(c,
				     "{ \"x\": 1.5, \"data\": \"AQI=\", \"frame_id\": \"car\", \"timestamp\": "
				     "{\"nsec\":7,\"sec\":5} }",
				     &to),
			 0);
	assert_int_equal(to.stamp_sim_ns, 5000000007);
	assert_string_equal(to.frame, "car");
	field_is(codec_in_type(c), to.size, "x", 1.5);
	field_is(codec_in_type(c), to.size, "data[1]", 2);
	assert_null(codec_in_note(c));
	assert_int_equal(decode_text(c, "{}", &to), 0); /* missing fields are 0 */
	assert_int_equal(to.stamp_sim_ns, 0);
	field_is(codec_in_type(c), to.size, "x", 0);
	assert_int_equal(decode_text(c, "{\"x\":1", &to), -EBADMSG);
	assert_int_equal(decode_text(c, "{\"x\":\"1\"}", &to), -EBADMSG);
	assert_int_equal(decode_text(c, "", &to), -EBADMSG);
	codec_in_destroy(c);
}

TEST(json_of_a_known_type_is_of_that_type)
{
	struct log_channel ch = json("sensor_msgs/Imu", "{}");
	struct codec_in *c = in(&ch);
	struct message_in to;

	assert_true(sim_type_equal(codec_in_type(c), &sim_Imu_type));
	assert_int_equal(decode_text(c,
				     "{\"header\":{\"stamp\":{\"sec\":5,\"nsec\":7},\"frame_id\":\"imu\"},"
				     "\"angular_velocity\":{\"z\":0.5},\"colour\":1}",
				     &to),
			 0);
	assert_int_equal(to.stamp_sim_ns, 5000000007);
	assert_string_equal(to.frame, "imu");
	field_is(codec_in_type(c), to.size, "angular_velocity.z", 0.5);
	assert_string_equal(codec_in_note(c), "1 messages have fields that the type does not have, the first: colour");
	codec_in_destroy(c);
	ch = json("sim/Imu", ""); /* by its own fields, without a schema, behind a header or not */
	c = in(&ch);
	assert_true(sim_type_equal(codec_in_type(c), &sim_Imu_type));
	assert_int_equal(decode_text(c, "{\"header\":{\"frame_id\":\"imu\"},\"angular_velocity\":{\"z\":0.5}}", &to),
			 0);
	assert_string_equal(to.frame, "imu");
	assert_int_equal(decode_text(c, "{\"angular_velocity\":{\"z\":0.5}}", &to), 0);
	assert_int_equal(to.stamp_sim_ns, 77); /* the log's */
	field_is(codec_in_type(c), to.size, "angular_velocity.z", 0.5);
	assert_null(codec_in_note(c));
	codec_in_destroy(c);
}

TEST(json_without_a_schema_or_without_fields_is_refused)
{
	struct log_channel ch = json("car.Thing", "");

	says(&ch, "its messages are JSON without a schema");
	ch = json("", "");
	says(&ch, "its messages are JSON without a schema");
	ch = json("car.Thing", "{\"type\":\"object\",\"properties\":{\"a\":{}}}");
	says(&ch, "no property of its JSON Schema can be a field: a (anything)");
	ch.schema_encoding = "jsonschema5";
	says(&ch, "with a schema in the encoding jsonschema");
}

TEST(json_properties_that_no_type_can_have_are_named)
{
	struct log_channel ch =
		json("car.Thing", "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{\"type\":\"number\"}}}");
	struct codec_in *c = in(&ch);

	assert_string_equal(codec_in_note(c), "fields that no type can have are left out: a (anything)");
	codec_in_destroy(c);
}

/* NaN and infinities come back too, and so do the largest and the smallest numbers. */
TEST(json_keeps_all_numbers)
{
	const struct sim_type *t = sim_type_builtin("sim/LaserScan");
	struct codec_out *c = out(CODEC_JSON, "/a", t);
	struct codec_in *d = in(codec_out_channel(c));
	struct sim_field_path p;
	struct sim_field_view v;
	struct message_in to;
	size_t size = sample_body(t, body, sizeof(body));
	ssize_t n;

	assert_int_equal(sim_field_find(t, "ranges", &p), 0);
	assert_int_equal(sim_field_get(&p, body, size, &v), 0);
	assert_true(v.count >= 2);
	((float *)(uintptr_t)v.data)[0] = __builtin_nanf("");
	((float *)(uintptr_t)v.data)[1] = -__builtin_inff();
	n = encode(c, body, size, bytes);
	assert_true(n > 0);
	assert_non_null(memmem(bytes, (size_t)n, "[null,-1e999", 12));
	assert_int_equal(decode(d, bytes, (size_t)n, &to), 0);
	assert_int_equal(sim_field_get(&p, back, to.size, &v), 0);
	assert_true(((const float *)v.data)[0] != ((const float *)v.data)[0]);
	assert_true(((const float *)v.data)[1] == -__builtin_inff());
	codec_in_destroy(d);
	codec_out_destroy(c);
}

/* The message says whether frames are fixed, not the channel's name, as in native. */
TEST(json_keeps_the_static_flag_of_transforms)
{
	struct codec_out *c = out(CODEC_JSON, "/car/tf_static", &sim_Transforms_type);
	struct codec_in *d = in(codec_out_channel(c));
	size_t size = sample_body(&sim_Transforms_type, body, sizeof(body));
	struct message_in to;
	ssize_t n;

	((struct sim_Transforms *)(void *)body)->is_static = 0;
	n = encode(c, body, size, bytes);
	assert_true(n > 0);
	assert_int_equal(decode(d, bytes, (size_t)n, &to), 0);
	assert_int_equal(((struct sim_Transforms *)(void *)back)->is_static, 0);
	codec_in_destroy(d);
	codec_out_destroy(c);
}

/* ---- Apollo before Cyber RT ---- */

/* The topic decides which type of Imu is meant. */
TEST(protobuf_in_a_bag_of_apollo_is_read)
{
	static const struct {
		const char *sim, *type, *topic;
	} cases[] = {
		{ "sim/CanBus", "pb_msgs/Chassis", "/apollo/canbus/chassis" },
		{ "sim/Imu", "pb_msgs/Imu", "/apollo/sensor/gnss/imu" },
		{ "sim/CorrectedImu", "pb_msgs/Imu", "/apollo/sensor/gnss/corrected_imu" },
		{ "sim/CorrectedImu", "pb_msgs/CorrectedImu", "/a" },
		{ "sim/GpsOdometry", "pb_msgs/Gps", "/apollo/sensor/gnss/odometry" },
		{ "sim/Gps", "pb_msgs/GnssBestPose", "/apollo/sensor/gnss/best_pose" },
		{ "sim/Detected3DObjects", "pb_msgs/PerceptionObstacles", "/apollo/perception/obstacles" },
	};
	const struct codec_apollo five = { .release = APOLLO_5 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct sim_type *t = sim_type_builtin(cases[i].sim);
		size_t size = sample_body(t, body, sizeof(body)), back_size;
		struct log_channel ch = ros(true, cases[i].type, "protobuf");
		struct codec_out *o;
		struct message_in to;
		struct codec_in *c;
		ssize_t n;

		assert_int_equal(codec_out_create(CODEC_APOLLO, &five, "/a", t, &o, why, sizeof(why)), 0);
		n = encode(o, body, size, bytes + 4);
		assert_true(n > 0);
		memcpy(bytes, &(uint32_t){ (uint32_t)n }, 4);
		ch.topic = cases[i].topic;
		c = in(&ch);
		assert_true(sim_type_equal(codec_in_type(c), t));
		assert_int_equal(decode(c, bytes, (size_t)n + 4, &to), 0);
		back_size = to.size;
		memcpy(body, back, back_size);
		assert_int_equal(decode(c, bytes, (size_t)n + 3, &to), -EBADMSG);
		assert_int_equal(decode(c, bytes, 3, &to), -EBADMSG);
		codec_in_destroy(c);
		ch = *codec_out_channel(o); /* what Cyber RT makes of the same bytes */
		c = in(&ch);
		assert_int_equal(decode(c, bytes + 4, (size_t)n, &to), 0);
		same_json(t, body, back_size, back, to.size);
		codec_in_destroy(c);
		codec_out_destroy(o);
	}
}

/* There is no mapping for it, and the file does not define it: Apollo 5 does. */
TEST(apollo_protobuf_without_a_mapping_has_its_own_type)
{
	static const uint8_t request[] = { 5, 0, 0, 0, 0x12, 3, 0x0a, 1, 'a' };
	struct log_channel ch = ros(true, "pb_msgs/RoutingRequest", "protobuf");
	struct codec_in *c = in(&ch);
	struct message_in to;
	char *text = NULL;

	assert_string_equal(codec_in_type(c)->name, "apollo_routing/RoutingRequest");
	assert_int_equal(decode(c, request, sizeof(request), &to), 0);
	assert_int_equal(sim_msg_to_json_alloc(codec_in_type(c), back, to.size, NULL, &text, NULL), 0);
	assert_non_null(strstr(text, "\"waypoint\":[{"));
	assert_non_null(strstr(text, "\"id\":\"a\""));
	free(text);
	assert_int_equal(decode(c, request, sizeof(request) - 1, &to), -EBADMSG);
	codec_in_destroy(c);
}

/* As from a newer sender: on a waypoint. */
TEST(fields_missing_in_a_definition_are_counted_and_the_first_named)
{
	static const uint8_t newer[] = { 8, 0, 0, 0, 0x12, 6, 0x0a, 1, 'a', 0xb8, 0x3e, 1 };
	static const uint8_t request[] = { 5, 0, 0, 0, 0x12, 3, 0x0a, 1, 'a' };
	struct log_channel ch = ros(true, "pb_msgs/RoutingRequest", "protobuf");
	struct codec_in *c = in(&ch);
	struct message_in to;

	assert_int_equal(decode(c, request, sizeof(request), &to), 0);
	assert_null(codec_in_note(c));
	assert_int_equal(decode(c, newer, sizeof(newer), &to), 0);
	assert_int_equal(decode(c, newer, sizeof(newer), &to), 0);
	assert_int_equal(decode(c, request, sizeof(request), &to), 0);
	assert_string_equal(codec_in_note(c),
			    "2 messages have fields that the definition does not have, the first: number 999");
	codec_in_destroy(c);
}

/* Without the word it is a message of ROS, as rosbridge has it; with it, one of Apollo's that becomes nothing is named. */
TEST(the_definition_decides_whether_a_message_in_a_bag_is_protobuf)
{
	struct log_channel ch = ros(true, "pb_msgs/Monitor", "protobuf");
	struct codec_in *c;

	says(&ch, "/a (pb_msgs/Monitor): this message has no mapping, and Apollo 5 has no message of that name");
	ch.schema_name = "pb_msgs/LatencyStats";
	says(&ch, "Apollo 5 has several messages of that name");
	ch.schema_name = "pb_msgs/";
	says(&ch, "Apollo 5 has no message of that name");
	ch = ros(true, "pb_msgs/Chassis", ros_type_find(ros1_types, "pb_msgs/Chassis")->definition);
	c = in(&ch);
	assert_true(sim_type_equal(codec_in_type(c), &sim_CanBus_type));
	codec_in_destroy(c);
}
