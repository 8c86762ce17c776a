/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels of simd on their way into a log: native ones come back unchanged, header and all, by their schema; those of
 * ROS are the mapped messages.
 */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>

#include "convert/cdr_reader.h"
#include "convert/conversion.h"
#include "convert/enc_check.h"
#include "convert/generic.h"
#include "record/codec_apollo.h"
#include "record/codec_out.h"
#include "record/pack.h"
#include "ros/ros_text.h"
#include "sim/msg/Image.h"
#include "sim/msg/Imu.h"
#include "sim/msg/LaserScan.h"
#include "sim/msg/PointCloud.h"
#include "unit/convert/random_type.h"
#include "unit/convert/sample.h"

static _Alignas(64) uint8_t body[1 << 16], back[1 << 16];
static uint8_t bytes[1 << 18];
static char why[512];

static size_t flatten(const struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	for (unsigned i = 0, n = iov_buf_iov(o, iov); i < n; i++) {
		assert_true(iov[i].iov_len <= sizeof(bytes) - at);
		memcpy(bytes + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	return at;
}

static struct codec_out *codec(enum codec_kind kind, const char *channel, const struct sim_type *t)
{
	struct codec_out *c = NULL;

	if (codec_out_create(kind, NULL, channel, t, &c, why, sizeof(why)) < 0)
		fail_msg("%s: %s", t->name, why);
	return c;
}

static struct sim_message message(size_t size)
{
	struct sim_message m = { .body = body, .body_size = size };

	m.header.stamp_sim_ns = 1234567890123;
	m.header.sequence = 42;
	strcpy(m.header.frame_id, "lidar_top");
	return m;
}

static const char *pair(const struct codec_out *c, const char *key)
{
	const struct log_channel *ch = codec_out_channel(c);

	for (size_t i = 0; i < ch->n_metadata; i++)
		if (strcmp(ch->metadata[i].key, key) == 0)
			return ch->metadata[i].value;
	return NULL;
}

/* Checks the header of such a message, and the body behind it. */
static void comes_back(const struct sim_type *t, size_t size, size_t len)
{
	const char *frame = NULL;
	size_t n = 0, back_size = 0;
	char *a = NULL, *b = NULL;
	struct cdr_reader d;

	cdr_reader_begin(&d, WIRE_CDR, bytes, len);
	assert_int_equal(d.dec.ops->header(&d.dec, "header", &frame, &n), 1234567890123);
	assert_int_equal(n, 9);
	assert_memory_equal(frame, "lidar_top", n);
	assert_int_equal(generic_read(t, &d.dec, back, sizeof(back), &back_size), 0);
	assert_int_equal(cdr_reader_end(&d), 0);
	assert_int_equal(sim_msg_to_json_alloc(t, body, size, NULL, &a, NULL), 0);
	assert_int_equal(sim_msg_to_json_alloc(t, back, back_size, NULL, &b, NULL), 0);
	assert_string_equal(a, b);
	free(a);
	free(b);
}

/* The schema is one that ROS 2 reads, and describes the bytes. */
static void schema_holds(const struct codec_out *c, const struct sim_type *t)
{
	const struct log_channel *ch = codec_out_channel(c);
	struct ros_text *ros = NULL;

	assert_string_equal(ch->schema_encoding, "ros2msg");
	assert_int_equal(ch->schema.size, strlen(ch->schema.data));
	if (ros_text_create(ch->schema_name, ch->schema.data, ros2_types, why, sizeof(why), &ros) < 0)
		fail_msg("%s: %s", t->name, why);
	assert_int_equal(ros_text_type(ros)->n_fields, t->n_fields + 1);
	assert_string_equal(ros_text_type(ros)->fields[0].type->name, "std_msgs/Header");
	ros_text_destroy(ros);
}

/* A random time may be one that ROS cannot say: that is named then. */
static void there_and_back(const struct sim_type *t, size_t size)
{
	struct codec_out *c = codec(CODEC_NATIVE, "/a", t);
	struct sim_message m = message(size);
	struct iov_buf o;
	int r;

	iov_buf_init(&o);
	r = codec_out_encode(c, &m, &o, why, sizeof(why));
	if (r == 0)
		comes_back(t, size, flatten(&o));
	else if (r != -ERANGE || !strstr(why, "time"))
		fail_msg("%s: %s", t->name, why);
	schema_holds(c, t);
	iov_buf_finish(&o);
	codec_out_destroy(c);
}

TEST(messages_of_every_type_read_back)
{
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
		there_and_back(*t, sample_body(*t, body, sizeof(body)));
}

TEST(messages_of_random_types_read_back)
{
	uint64_t seed = test_seed(17);

	for (int i = 0; i < 200; i++) {
		struct random_type t;

		assert_int_equal(random_type_make(&t, &seed), 0);
		there_and_back(t.type, random_msg(&seed, t.type, body, sizeof(body)));
		random_type_finish(&t);
	}
}

TEST(the_channel_metadata_names_the_type)
{
	struct codec_out *c = codec(CODEC_NATIVE, "/cam", &sim_Image_type);
	char hash[17];

	snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)sim_Image_type.hash);
	assert_string_equal(codec_out_channel(c)->topic, "/cam");
	assert_string_equal(codec_out_channel(c)->message_encoding, "cdr");
	assert_string_equal(codec_out_channel(c)->schema_name, "sim_msgs/msg/Image");
	assert_string_equal(pair(c, "sim_type"), "sim/Image");
	assert_string_equal(pair(c, "sim_hash"), hash);
	assert_null(pair(c, "sim_definition"));
	codec_out_destroy(c);
}

/* A user's own type can be made again from the channel's metadata. */
TEST(the_channel_metadata_has_the_whole_definition)
{
	uint64_t seed = test_seed(18);
	const struct sim_type *again = NULL;
	struct random_type t;
	struct codec_out *c;
	const char *text;

	assert_int_equal(random_type_make(&t, &seed), 0);
	c = codec(CODEC_NATIVE, "/a", t.type);
	text = pair(c, "sim_definition");
	assert_non_null(text);
	assert_int_equal(sim_type_from_json(text, strlen(text), &again), 0);
	assert_true(sim_type_equal(again, t.type));
	sim_type_unref(again);
	codec_out_destroy(c);
	random_type_finish(&t);
}

TEST(a_field_named_header_is_kept)
{
	static const struct sim_field field = {
		.name = "header", .comment = "", .kind = SIM_KIND_UINT32, .elem_size = 4, .elem_align = 4
	};
	static const struct sim_type t = { .abi = SIM_TYPE_ABI,
					   .name = "a/T",
					   .comment = "",
					   .fixed_size = 4,
					   .align = 4,
					   .fields = &field,
					   .n_fields = 1 };
	struct codec_out *c = codec(CODEC_NATIVE, "/a", &t);
	const char *text = codec_out_channel(c)->schema.data;

	assert_non_null(strstr(text, "std_msgs/Header sim_header\n"));
	assert_non_null(strstr(text, "uint32 header\n"));
	codec_out_destroy(c);
}

/* Pixels go from the slot to the file. */
TEST(large_arrays_are_not_copied)
{
	struct codec_out *c = codec(CODEC_NATIVE, "/cam", &sim_Image_type);
	struct sim_builder b;
	struct sim_message m;
	struct iov_buf o;

	assert_non_null(sim_Image_init(body, sizeof(body), &b));
	assert_non_null(sim_Image_data_alloc(&b, 48000));
	m = message(sim_builder_size(&b));
	iov_buf_init(&o);
	assert_int_equal(codec_out_encode(c, &m, &o, why, sizeof(why)), 0);
	assert_int_equal(o.copied, 0);
	assert_int_equal(o.referred, 48000);
	iov_buf_finish(&o);
	codec_out_destroy(c);
}

static void is_mapped(enum codec_kind kind, enum wire_format format, const char *schema, const char *encoding)
{
	struct codec_out *c = codec(kind, "/imu", &sim_Imu_type);
	struct sim_message m = message(sample_body(&sim_Imu_type, body, sizeof(body)));
	struct message_in to = { .buf = back, .room = sizeof(back) };
	static const struct sim_bridge_host no_converters;
	struct conversion_in in;
	struct iov_buf o;

	assert_string_equal(codec_out_channel(c)->schema_name, schema);
	assert_string_equal(codec_out_channel(c)->message_encoding, encoding);
	iov_buf_init(&o);
	assert_int_equal(codec_out_encode(c, &m, &o, why, sizeof(why)), 0);
	assert_int_equal(conversion_in_open(&no_converters, kind == CODEC_ROS2 ? ros2_types : ros1_types, schema, NULL,
					    &in, why, sizeof(why)),
			 0);
	assert_int_equal(conversion_in_read(&in, format, bytes, flatten(&o), &to), 0);
	assert_int_equal(to.stamp_sim_ns, m.header.stamp_sim_ns);
	assert_string_equal(to.frame, "lidar_top");
	conversion_in_close(&in);
	iov_buf_finish(&o);
	codec_out_destroy(c);
}

TEST(types_with_a_ros_mapping_are_mapped)
{
	is_mapped(CODEC_ROS2, WIRE_CDR, "sensor_msgs/msg/Imu", "cdr");
	is_mapped(CODEC_ROS1, WIRE_ROS1, "sensor_msgs/Imu", "ros1");
}

TEST(the_channel_metadata_has_the_ros_qos)
{
	struct codec_out *c = codec(CODEC_ROS2, "/imu", &sim_Imu_type);

	assert_non_null(strstr(pair(c, "offered_qos_profiles"), "durability: 2\n"));
	codec_out_destroy(c);
	c = codec(CODEC_ROS2, "/car/tf_static", sim_type_builtin("sim/Transforms"));
	assert_non_null(strstr(pair(c, "offered_qos_profiles"), "durability: 1\n"));
	codec_out_destroy(c);
	c = codec(CODEC_ROS1, "/tf_static", sim_type_builtin("sim/Transforms"));
	assert_string_equal(pair(c, "latching"), "1");
	assert_int_equal(strlen(pair(c, "md5sum")), 32);
	codec_out_destroy(c);
}

/* ---- packed ---- */

/* The n-th range of a packed message, with its offset behind the header. */
static struct pack_range range_of(size_t size, unsigned of, unsigned n)
{
	struct pack_range r;

	assert_true(size > 8 + 12 * of);
	assert_int_equal(bytes[1], of);
	memcpy(&r, bytes + 8 + 12 * n, sizeof(r));
	r.offset += 8 + 12 * of;
	return r;
}

static size_t packed(const struct sim_type *t, size_t size)
{
	struct codec_out *c = codec(CODEC_PACKED, "/a", t);
	struct sim_message m = message(size);
	struct iov_buf o;

	assert_string_equal(codec_out_channel(c)->message_encoding, "simd_packed");
	assert_string_equal(pair(c, "sim_type"), t->name);
	assert_non_null(strstr(pair(c, "packing"), "u32 bytes of a record"));
	iov_buf_init(&o);
	assert_int_equal(codec_out_encode(c, &m, &o, why, sizeof(why)), 0);
	size = flatten(&o);
	iov_buf_finish(&o);
	codec_out_destroy(c);
	return size;
}

TEST(points_are_shuffled_by_their_bytes)
{
	struct sim_builder b;
	struct sim_PointCloud *m = sim_PointCloud_init(body, sizeof(body), &b);
	uint8_t *data = sim_PointCloud_data_alloc(&b, 32 * 1000);
	struct pack_range r;

	m->point_step = 32;
	for (unsigned i = 0; i < 32 * 1000; i++)
		data[i] = (uint8_t)(i % 32);
	r = range_of(packed(&sim_PointCloud_type, sim_builder_size(&b)), 1, 0);
	assert_int_equal(r.stride, 32);
	assert_int_equal(r.len, 32000);
	for (unsigned i = 0; i < 32 * 1000; i++)
		assert_int_equal(bytes[r.offset + i], i / 1000);
}

TEST(pixels_are_shuffled_by_their_channels)
{
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(body, sizeof(body), &b);
	struct pack_range r;

	assert_non_null(sim_Image_data_alloc(&b, 3 * 100 * 40));
	m->width = 100;
	m->step = 300;
	m->height = 40;
	r = range_of(packed(&sim_Image_type, sim_builder_size(&b)), 1, 0);
	assert_int_equal(r.stride, 3);
	assert_int_equal(r.len, 12000);
}

TEST(arrays_of_numbers_are_shuffled)
{
	struct sim_builder b;
	struct pack_range r;

	assert_non_null(sim_LaserScan_init(body, sizeof(body), &b));
	assert_non_null(sim_LaserScan_ranges_alloc(&b, 500));
	assert_non_null(sim_LaserScan_intensities_alloc(&b, 600));
	r = range_of(packed(&sim_LaserScan_type, sim_builder_size(&b)), 2, 1);
	assert_int_equal(r.stride, 4);
	assert_int_equal(r.len, 2400);
}

/* What a peer wrote: no range, but the message is whole. */
TEST(an_invalid_point_step_disables_packing_only)
{
	static const uint32_t steps[] = { 0, 1, 257, UINT32_MAX };

	for (unsigned i = 0; i < 4; i++) {
		struct sim_builder b;
		struct sim_PointCloud *m = sim_PointCloud_init(body, sizeof(body), &b);

		assert_non_null(sim_PointCloud_data_alloc(&b, 2000));
		m->point_step = steps[i];
		assert_true(packed(&sim_PointCloud_type, sim_builder_size(&b)) > 2000);
		assert_int_equal(bytes[1], 0);
	}
}

/* ---- Apollo's ---- */

TEST(apollo_channel_names_are_used)
{
	static const struct {
		const char *type, *channel, *topic, *schema;
	} want[] = {
		{ "sim/CanBus", "/car/can", "/apollo/canbus/chassis", "apollo.canbus.Chassis" },
		{ "sim/PointCloud", "/car/lidar", "/car/lidar", "apollo.drivers.PointCloud" },
		{ "sim/Transforms", "/tf", "/tf", "apollo.transform.TransformStampeds" },
		{ "sim/Transforms", "/car/tf_static", "/tf_static", "apollo.transform.TransformStampeds" },
		{ "sim/LaserScan", "/scan", "/scan", "apollo.drivers.PointCloud" },
		{ "sim/OccupancyGrid", "/grid", "/grid", "sim_msgs.OccupancyGrid" },
	};

	for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct codec_out *c = codec(CODEC_APOLLO, want[i].channel, sim_type_builtin(want[i].type));
		const struct log_channel *ch = codec_out_channel(c);

		assert_string_equal(ch->topic, want[i].topic);
		assert_string_equal(ch->schema_name, want[i].schema);
		assert_string_equal(ch->message_encoding, "protobuf");
		assert_string_equal(ch->schema_encoding, "protobuf");
		assert_true(ch->schema.size > 100);
		codec_out_destroy(c);
	}
}

static bool schema_has(const struct codec_out *c, const char *text)
{
	const struct log_bytes *schema = &codec_out_channel(c)->schema;

	return memmem(schema->data, schema->size, text, strlen(text)) != NULL;
}

static void say(void *arg, bool fatal, const char *sentence)
{
	(void)arg;
	fail_msg("%d %s", fatal, sentence);
}

#define FILE_OF_5  "modules/drivers/gnss/proto/imu.proto"
#define FILE_OF_10 "modules/common_msgs/sensor_msgs/imu.proto"

TEST(the_apollo_release_and_definitions_can_be_chosen)
{
	static const struct apollo_set_log says = { say, NULL };
	struct codec_apollo of = { .release = APOLLO_5 };
	struct apollo_set *set = NULL;
	struct codec_out *c = codec(CODEC_APOLLO, "/imu", &sim_Imu_type);

	assert_true(schema_has(c, FILE_OF_10) && !schema_has(c, FILE_OF_5));
	codec_out_destroy(c);
	assert_int_equal(codec_out_create(CODEC_APOLLO, &of, "/imu", &sim_Imu_type, &c, why, sizeof(why)), 0);
	assert_true(schema_has(c, FILE_OF_5) && !schema_has(c, FILE_OF_10));
	codec_out_destroy(c);
	assert_int_equal(apollo_set_load("schemas/apollo/5", APOLLO_5, &says, &set), 0);
	of = (struct codec_apollo){ .release = APOLLO_10, .definitions = set };
	assert_int_equal(codec_out_create(CODEC_APOLLO, &of, "/imu", &sim_Imu_type, &c, why, sizeof(why)), 0);
	assert_true(schema_has(c, FILE_OF_5) && !schema_has(c, FILE_OF_10));
	codec_out_destroy(c);
	apollo_set_destroy(set);
}

TEST(types_missing_in_the_users_definitions_are_not_written)
{
	static const char just_a[] = "\x0a\x0b\x0a\x01"
				     "a\x12\x01p\"\x03\x0a\x01M"; /* a file "a" with the message p.M */
	static const struct apollo_set_log says = { say, NULL };
	struct codec_apollo of = { .release = APOLLO_10 };
	struct apollo_set *set = NULL;
	struct codec_out *c = NULL;

	assert_int_equal(apollo_set_read("a", just_a, sizeof(just_a) - 1, &says, &set), 0);
	of.definitions = set;
	assert_int_equal(codec_out_create(CODEC_APOLLO, &of, "/imu", &sim_Imu_type, &c, why, sizeof(why)), -ENOTSUP);
	assert_string_equal(why, "the definitions that are given have no apollo.drivers.gnss.Imu");
	assert_int_equal(codec_out_create(CODEC_APOLLO, &of, "/grid", sim_type_builtin("sim/OccupancyGrid"), &c, why,
					  sizeof(why)),
			 0);
	codec_out_destroy(c);
	apollo_set_destroy(set);
}

TEST(inconsistent_messages_are_named)
{
	struct codec_out *c = codec(CODEC_NATIVE, "/imu", &sim_Imu_type);
	struct sim_message m = message(4);
	struct iov_buf o;

	iov_buf_init(&o);
	assert_int_equal(codec_out_encode(c, &m, &o, why, sizeof(why)), -EBADMSG);
	assert_non_null(strstr(why, "sim/Imu on /imu"));
	iov_buf_finish(&o);
	codec_out_destroy(c);
}
