/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages in their own form: the encoding follows the definition that the other side gets, for every kind and shape of
 * field, and reads back to the same message; and the choice of converter, mapping or own fields for a type.
 */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conversion.h"
#include "enc_check.h"
#include "generic.h"
#include "probe/msg/Every.h"
#include "random_type.h"
#include "ros/ros_generic.h"
#include "ros/ros_text.h"
#include "sample.h"
#include "sim/msg/Imu.h"
#include "sim/msg/LaneLines.h"

static _Alignas(64) uint8_t body[65536], back[65536];
static uint8_t wire[262144];

static size_t flatten(const struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	for (unsigned i = 0, n = iov_buf_iov(o, iov); i < n; i++) {
		assert_true(iov[i].iov_len <= sizeof(wire) - at);
		memcpy(wire + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	return at;
}

/* Behind the check against the definition that the other side gets; the bytes are in wire. */
static int emit(const struct sim_type *t, enum wire_format format, size_t size, size_t *ret_len)
{
	char name[ROS_GENERIC_NAME_MAX], why[256], *text = ros_generic_text(t, ROS_GENERIC_ROS2);
	struct ros_text *ros = NULL;
	struct enc_check c;
	struct enc_wire w;
	struct iov_buf o;
	int r, said;

	ros_generic_name(t->name, name);
	assert_int_equal(ros_text_create(name, text, ros2_types, why, sizeof(why), &ros), 0);
	free(text);
	iov_buf_init(&o);
	wire_begin(&w, format, &o);
	enc_check_begin(&c, ros_text_type(ros), &w.enc);
	r = generic_emit(t, body, size, &c.enc);
	said = enc_check_end(&c);
	if (r == 0 && said < 0)
		fail_msg("%s: %s\n%s", t->name, c.why, ros_text_type(ros)->definition);
	if (r == 0)
		r = wire_finish(&w);
	*ret_len = r == 0 ? flatten(&o) : 0;
	iov_buf_finish(&o);
	ros_text_destroy(ros);
	return r;
}

static char *json_of(const struct sim_type *t, const void *from, size_t size)
{
	char *text = NULL;

	assert_int_equal(sim_msg_to_json_alloc(t, from, size, NULL, &text, NULL), 0);
	return text;
}

/* Out and in again: the same message. */
static void round_trip(const struct sim_type *t, enum wire_format format, size_t size)
{
	struct conversion_in in = { .sim = t };
	char *a = json_of(t, body, size), *b;
	struct message_in to = { .buf = back, .room = sizeof(back) };
	size_t len;
	int r = emit(t, format, size, &len);

	if (r == -ERANGE) { /* a random time that ROS cannot say */
		free(a);
		return;
	}
	if (r == 0)
		r = conversion_in_read(&in, format, wire, len, &to);
	if (r < 0)
		fail_msg("%s: %s: %s", t->name, strerror(-r), a);
	assert_int_equal(sim_msg_check(t, back, to.size), 0);
	b = json_of(t, back, to.size);
	assert_string_equal(a, b);
	free(a);
	free(b);
	for (size_t cut = 0; cut < len && len < 4096; cut++) {
		r = conversion_in_read(&in, format, wire, cut, &to);
		assert_true(r < 0 || cut + 4 > len);
	}
}

TEST(messages_of_every_field_kind_read_back)
{
	for (int format = WIRE_CDR; format <= WIRE_POSITIONAL; format++) {
		round_trip(&probe_Every_type, (enum wire_format)format,
			   sample_body(&probe_Every_type, body, sizeof(body)));
		for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
			round_trip(*t, (enum wire_format)format, sample_body(*t, body, sizeof(body)));
	}
}

TEST(messages_of_random_types_read_back)
{
	uint64_t seed = test_seed(7);

	for (int i = 0; i < 300; i++) {
		struct random_type t;

		assert_int_equal(random_type_make(&t, &seed), 0);
		for (int k = 0; k < 3; k++)
			round_trip(t.type, WIRE_CDR, random_msg(&seed, t.type, body, sizeof(body)));
		random_type_finish(&t);
	}
}

TEST(known_bytes_are_written)
{
	/* sim/LaneLines would do as well; this one has an empty message inside */
	static const uint8_t want[] = { 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0 };
	static const struct sim_type empty = {
		.abi = SIM_TYPE_ABI, .name = "a/Empty", .comment = "", .fixed_size = 1, .align = 1
	};
	static const struct sim_field fields[] = {
		{ .name = "n", .comment = "", .kind = SIM_KIND_UINT8, .elem_size = 1, .elem_align = 1 },
		{ .name = "e",
		  .comment = "",
		  .kind = SIM_KIND_MESSAGE,
		  .type = &empty,
		  .offset = 1,
		  .elem_size = 1,
		  .elem_align = 1 },
		{ .name = "v",
		  .comment = "",
		  .kind = SIM_KIND_FLOAT32,
		  .array = SIM_ARRAY_VARIABLE,
		  .offset = 4,
		  .elem_size = 4,
		  .elem_align = 4 },
	};
	static const struct sim_type t = { .abi = SIM_TYPE_ABI,
					   .name = "a/T",
					   .comment = "",
					   .fixed_size = 12,
					   .align = 4,
					   .fields = fields,
					   .n_fields = 3 };
	size_t len;

	memset(body, 0, 16);
	body[0] = 1;
	assert_int_equal(emit(&t, WIRE_CDR, 12, &len), 0);
	assert_int_equal(len, sizeof(want));
	assert_memory_equal(wire, want, len);
}

/* Big arrays of numbers are pointed to, not copied. */
TEST(large_arrays_are_referenced_not_copied)
{
	static const struct sim_field field = { .name = "v",
						.comment = "",
						.kind = SIM_KIND_FLOAT64,
						.array = SIM_ARRAY_FIXED,
						.count = 4096,
						.elem_size = 8,
						.elem_align = 8 };
	static const struct sim_type t = { .abi = SIM_TYPE_ABI,
					   .name = "a/T",
					   .comment = "",
					   .fixed_size = 32768,
					   .align = 8,
					   .fields = &field,
					   .n_fields = 1 };
	struct iovec iov[IOV_BUF_PIECES];
	struct enc_wire w;
	struct iov_buf o;

	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	assert_int_equal(generic_emit(&t, body, 32768, &w.enc), 0);
	assert_int_equal(wire_finish(&w), 0);
	assert_int_equal(o.referred, 32768);
	assert_int_equal(iov_buf_iov(&o, iov), 2);
	assert_ptr_equal(iov[1].iov_base, body);
	iov_buf_finish(&o);
}

/* What the rules of bodies refuse is refused here too, and nothing else. */
TEST(invalid_bodies_are_refused_as_by_the_body_check)
{
	uint64_t seed = test_seed(7);
	unsigned refused = 0;

	for (int i = 0; i < 20000; i++) {
		size_t size = random_msg(&seed, &probe_Every_type, body, sizeof(body)), len;
		uint64_t at = random_next(&seed) % (probe_Every_type.fixed_size / 4) * 4, bits = random_next(&seed);
		struct enc_wire w;
		struct iov_buf o;
		int r;

		memcpy(body + at, &bits, 4);
		iov_buf_init(&o);
		wire_begin(&w, WIRE_ROS1, &o);
		r = generic_emit(&probe_Every_type, body, size, &w.enc);
		len = o.total;
		iov_buf_finish(&o);
		assert_int_equal(r, sim_msg_check(&probe_Every_type, body, size) < 0 ? -EBADMSG : 0);
		assert_true(len < size * 8 + 4096);
		refused += r < 0;
	}
	assert_true(refused > 1000);
	assert_int_equal(generic_emit(&probe_Every_type, NULL, 0, NULL), -EBADMSG);
	assert_int_equal(generic_emit(&probe_Every_type, body, probe_Every_type.fixed_size - 1, NULL), -EBADMSG);
}

/* Spans that lie over one another may not make much of a small body. */
TEST(overlapping_spans_are_refused)
{
	static const struct sim_field fields[] = {
		{ .name = "v",
		  .comment = "",
		  .kind = SIM_KIND_FLOAT32,
		  .array = SIM_ARRAY_VARIABLE,
		  .elem_size = 4,
		  .elem_align = 4 },
		{ .name = "w", .comment = "", .kind = SIM_KIND_STRING, .offset = 8, .elem_size = 8, .elem_align = 4 },
	};
	static const struct sim_type t = { .abi = SIM_TYPE_ABI,
					   .name = "a/T",
					   .comment = "",
					   .fixed_size = 16,
					   .align = 4,
					   .fields = fields,
					   .n_fields = 2 };
	struct sim_span *span = (struct sim_span *)(void *)body;
	size_t len;

	memset(body, 0, 128);
	span[0] = (struct sim_span){ 16, 8 };
	span[1] = (struct sim_span){ 48, 15 };
	assert_int_equal(emit(&t, WIRE_CDR, 64, &len), 0);
	span[1] = (struct sim_span){ 47, 16 };
	assert_int_equal(sim_msg_check(&t, body, 64), -EBADMSG);
	assert_int_equal(emit(&t, WIRE_CDR, 64, &len), -EBADMSG);
}

/* ---- the ways ---- */

static int nothing(const struct sim_converter_in *in, struct sim_enc *e)
{
	(void)in;
	(void)e;
	return 0;
}

static struct sim_converter converters[3];

static const struct sim_converter *converter(void *ctx, const char *sim_type, const char *foreign, unsigned i)
{
	(void)ctx;
	for (unsigned k = 0; k < 3 && converters[k].type; k++)
		if ((!sim_type || !strcmp(sim_type, converters[k].type->name)) &&
		    (!foreign || !strcmp(foreign, converters[k].foreign)) && i-- == 0)
			return &converters[k];
	return NULL;
}

static const struct sim_bridge_host host = { .abi = SIM_BRIDGE_ABI, .size = sizeof(host), .converter = converter };

static void goes_by(const struct sim_type *t, const char *foreign, const char *how, const char *as)
{
	struct conversion_out c;
	char why[256];

	if (conversion_out_open(&host, ros2_types, t, foreign, &c, why, sizeof(why)) < 0)
		fail_msg("%s to %s: %s", t->name, foreign ? foreign : "(any)", why);
	assert_string_equal(conversion_out_how(&c), how);
	assert_string_equal(c.type->name, as);
	conversion_out_close(&c);
	conversion_out_close(&c);
}

static void no_way(const struct sim_type *t, const char *foreign, int want, const char *word)
{
	struct conversion_out c;
	char why[256] = "";

	assert_int_equal(conversion_out_open(&host, ros2_types, t, foreign, &c, why, sizeof(why)), want);
	if (!strstr(why, word))
		fail_msg("\"%s\" does not say \"%s\"", why, word);
}

/* A marker has other fields in ROS 1: a conversion says those of the table that it was opened with. */
static void shown(const struct ros_type *const *known)
{
	static const struct map_options plain;
	struct map_message in = { .body = body,
				  .size = sample_body(&sim_LaneLines_type, body, sizeof(body)),
				  .header.frame = "camera",
				  .options = &plain };
	struct conversion_out c;
	struct enc_check check;
	struct enc_wire w;
	struct iov_buf o;
	char why[256];

	assert_int_equal(conversion_out_open(NULL, known, &sim_LaneLines_type, "visualization_msgs/msg/MarkerArray", &c,
					     why, sizeof(why)),
			 0);
	iov_buf_init(&o);
	wire_begin(&w, known == ros1_types ? WIRE_ROS1 : WIRE_CDR, &o);
	enc_check_begin(&check, c.type, &w.enc);
	assert_int_equal(conversion_out_emit(&c, &in, &check.enc, why, sizeof(why)), 0);
	if (enc_check_end(&check) < 0)
		fail_msg("%s", check.why);
	iov_buf_finish(&o);
	conversion_out_close(&c);
}

TEST(types_for_display_have_the_fields_of_either_ros)
{
	shown(ros1_types);
	shown(ros2_types);
	assert_null(conversion_out_preferred(NULL, &sim_LaneLines_type, "visualization_msgs"));
}

TEST(converters_take_precedence_over_mappings)
{
	struct sim_type other = sim_Imu_type;
	struct conversion_out c;
	char why[256];

	assert_int_equal(conversion_out_open(&host, ros1_types, &probe_Every_type, NULL, &c, why, sizeof(why)), 0);
	assert_int_equal(strlen(c.type->hash), 32); /* an md5 sum, although ROS 1 has no bounds */
	conversion_out_close(&c);
	memset(converters, 0, sizeof(converters));
	goes_by(&sim_Imu_type, NULL, "mapping", "sensor_msgs/Imu");
	assert_string_equal(conversion_out_preferred(&host, &sim_Imu_type, "pb_msgs"), "pb_msgs/Imu");
	assert_null(conversion_out_preferred(&host, &sim_Imu_type, "pb"));
	assert_null(conversion_out_preferred(&host, &sim_LaneLines_type, "pb_msgs"));
	goes_by(&sim_LaneLines_type, NULL, "own fields", "sim_msgs/LaneLines");
	goes_by(&sim_Imu_type, "sim_msgs/msg/Imu", "own fields", "sim_msgs/Imu");
	goes_by(&probe_Every_type, NULL, "own fields", "probe/Every");
	no_way(&sim_Imu_type, "sensor_msgs/msg/Image", -ENOTSUP,
	       "sim/Imu has no mapping and no converter to sensor_msgs/msg/Image");
	other.hash++;
	no_way(&other, NULL, -ENOTSUP, "another definition");
	converters[0] = (struct sim_converter){ .type = &sim_Imu_type, .foreign = "a/Out" }; /* does not emit */
	converters[1] = (struct sim_converter){ .type = &sim_Imu_type,
						.foreign = "a/B",
						.definition = "C c\n===\nMSG: a/C\nstd_msgs/Header h\n",
						.emit = nothing };
	converters[2] = (struct sim_converter){ .type = &sim_Imu_type, .foreign = "a/D", .emit = nothing };
	goes_by(&sim_Imu_type, NULL, "converter", "a/B");
	assert_null(conversion_out_preferred(&host, &sim_Imu_type, "pb_msgs"));
	goes_by(&sim_Imu_type, "sensor_msgs/Imu", "mapping", "sensor_msgs/Imu");
	no_way(&sim_Imu_type, "a/D", -ELIBBAD, "gives no definition of a/D");
	no_way(&other, NULL, -ELIBBAD, "was built with another definition of sim/Imu");
	converters[1].definition = "C c\n";
	no_way(&sim_Imu_type, NULL, -ELIBBAD, "a/B:1: type 'a/C' is not defined");
}

static void comes_by(const char *foreign, const char *sim)
{
	struct conversion_in c;
	char why[256] = "";
	int r = conversion_in_open(&host, ros2_types, foreign, NULL, &c, why, sizeof(why));

	assert_int_equal(r, sim ? 0 : -ENOTSUP);
	if (!sim) {
		assert_non_null(strstr(why, foreign));
		return;
	}
	assert_string_equal(c.sim->name, sim);
	assert_non_null(c.type);
	conversion_in_close(&c);
}

TEST(an_inbound_type_is_mapped_or_defined)
{
	memset(converters, 0, sizeof(converters));
	comes_by("autoware_vehicle_msgs/msg/GearCommand", "sim/GearCommand");
	comes_by("sim_msgs/msg/LaneLines", "sim/LaneLines");
	comes_by("sensor_msgs/msg/Image", "sim/Image");
	comes_by("sensor_msgs/msg/JointState", NULL);
	comes_by("probe/msg/Every", NULL);
	converters[0] = (struct sim_converter){ .type = &probe_Every_type, .foreign = "a/B", .emit = nothing };
	comes_by("probe/msg/Every", "probe/Every"); /* its fields are known through the converter */
	comes_by("a/B", NULL);
}

/* ---- messages of schemas/ros that nothing here is for ---- */

static void goes_out_as(const struct ros_type *const *known, const struct sim_type *t, const char *hash)
{
	struct conversion_out c;
	char why[256];

	assert_int_equal(conversion_out_open(NULL, known, t, NULL, &c, why, sizeof(why)), 0);
	assert_string_equal(conversion_out_how(&c), "own fields");
	assert_string_equal(c.type->name, t->name);
	assert_string_equal(c.type->hash, hash);
	conversion_out_close(&c);
}

/* In and out again it is the same message, though a byte is a uint8 here. */
TEST(common_ros_messages_are_received_and_sent_unchanged)
{
	static const uint8_t feedback[] = { 0, 1, 0, 0, 2, 3, 0, 0, 0, 0, 128, 63 };
	struct message_in to = { .buf = back, .room = sizeof(back) };
	struct conversion_in c;
	char why[256] = "as it was", *json;

	assert_int_equal(conversion_in_open_common(ros2_types, false, "sensor_msgs/msg/JoyFeedback", &c, why,
						   sizeof(why)),
			 0);
	assert_string_equal(c.sim->name, "sensor_msgs/JoyFeedback");
	assert_int_equal(conversion_in_read(&c, WIRE_CDR, feedback, sizeof(feedback), &to), 0);
	json = json_of(c.sim, back, to.size);
	assert_string_equal(json, "{\"type\":2,\"id\":3,\"intensity\":1.0}");
	free(json);
	conversion_in_close(&c);
	assert_int_equal(conversion_in_open_common(ros2_types, false, "diagnostic_msgs/DiagnosticStatus", &c, why,
						   sizeof(why)),
			 0);
	goes_out_as(ros1_types, c.sim, "d0ce08bc6e5ba34c7754f563a9cabaf1");
	goes_out_as(ros2_types, c.sim, c.type->hash);
	conversion_in_close(&c);
	assert_int_equal(conversion_in_open_common(ros2_types, false, "a/B", &c, why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "as it was");
	assert_int_equal(conversion_in_open_common(ros2_types, false,
						   "autoware_auto_geometry_msgs/RelativePositionWithCovarianceStamped",
						   &c, why, sizeof(why)),
			 -ENOTSUP);
	assert_non_null(strstr(why, "at most 63 characters"));
}

/* Messages whose fields differ in Jazzy; the others are those of Humble. */
TEST(a_jazzy_message_has_its_fields)
{
	static const uint8_t range[] = { 0, 1, 0,   0,  5, 0, 0, 0,  6, 0, 0,   0,  2, 0, 0,  0,  'u', 0, 1, 0,
					 0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 128, 64, 0, 0, 64, 64, 0,   0, 0, 63 };
	struct message_in to = { .buf = back, .room = sizeof(back) };
	struct conversion_in c;
	char why[256], *json;

	assert_int_equal(conversion_in_open_common(ros2_types, true, "sensor_msgs/msg/Range", &c, why, sizeof(why)), 0);
	assert_int_equal(conversion_in_read(&c, WIRE_CDR, range, sizeof(range), &to), 0);
	json = json_of(c.sim, back, to.size);
	assert_non_null(strstr(json, "\"range\":3.0,\"variance\":0.5}"));
	free(json);
	goes_out_as(ros2_types, c.sim, c.type->hash);
	conversion_in_close(&c);
	assert_int_equal(conversion_in_open_common(ros2_types, false, "sensor_msgs/Range", &c, why, sizeof(why)), 0);
	assert_null(strstr(c.type->definition, "variance"));
	assert_int_equal(conversion_in_read(&c, WIRE_CDR, range, sizeof(range), &to), -EBADMSG);
	conversion_in_close(&c);
	assert_int_equal(conversion_in_open_common(ros2_types, true, "sensor_msgs/JoyFeedback", &c, why, sizeof(why)),
			 0);
	conversion_in_close(&c);
}

/* ---- definitions that come with the messages ---- */

#define THING "Header header\nuint8 level\n===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"

static void opens(const char *foreign, const char *definition, bool raw, const char *sim, struct conversion_in *ret)
{
	char why[256] = "";

	assert_int_equal(conversion_in_open_text(&host, ros1_types, foreign, definition, raw, ret, why, sizeof(why)),
			 0);
	assert_string_equal(ret->sim->name, sim);
}

static void does_not_open(const char *foreign, const char *definition, bool raw, const char *text)
{
	struct conversion_in c;
	char why[256] = "";

	assert_int_equal(conversion_in_open_text(&host, ros1_types, foreign, definition, raw, &c, why, sizeof(why)),
			 -ENOTSUP);
	assert_non_null(strstr(why, text));
}

/* A mapping where the definition is the known one, else a type of its name, with its fields. */
TEST(a_type_is_opened_by_its_definition)
{
	const char *imu = ros_type_find(ros1_types, "sensor_msgs/Imu")->definition;
	struct conversion_in c;

	memset(converters, 0, sizeof(converters));
	opens("sensor_msgs/Imu", imu, false, "sim/Imu", &c);
	assert_non_null(c.map_in);
	conversion_in_close(&c);
	opens("sensor_msgs/Imu", NULL, false, "sim/Imu", &c);
	conversion_in_close(&c);
	opens("sensor_msgs/Imu", imu, true, "sensor_msgs/Imu", &c);
	assert_null(c.map_in);
	assert_string_equal(c.type->hash, ros_type_find(ros1_types, "sensor_msgs/Imu")->hash);
	conversion_in_close(&c);
	opens("sensor_msgs/Imu", NULL, true, "sensor_msgs/Imu", &c);
	conversion_in_close(&c);
	opens("car_msgs/Thing", THING, false, "car_msgs/Thing", &c);
	assert_string_equal(c.type->name, "car_msgs/Thing");
	conversion_in_close(&c);
	does_not_open("sensor_msgs/Imu", "int8 x\n", false, "another one than here, from the field \"x\" on");
	does_not_open("car_msgs/Thing", NULL, false, "there is no definition of this type");
	does_not_open("car_msgs/Thing", NULL, true, "there is no definition of this type");
	does_not_open("car_msgs/Thing", "Nothing here\n", false, "its definition cannot be read: ");
	does_not_open("car_msgs/Thing", "wstring w\n", false, "");
	does_not_open("car msgs/Thing", "int8 x\n", false, "its definition cannot be read: ");
}

TEST(a_generated_type_has_the_stamp_and_frame_of_its_header)
{
	static const uint8_t thing[] = { 9, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 'c', 'a', 'r', 4 };
	struct message_in to = { .buf = back, .room = sizeof(back) };
	struct conversion_in c;

	opens("car_msgs/Thing", THING, false, "car_msgs/Thing", &c);
	assert_int_equal(conversion_in_read(&c, WIRE_ROS1, thing, sizeof(thing), &to), 0);
	assert_int_equal(to.stamp_sim_ns, 5000000007);
	assert_string_equal(to.frame, "car");
	conversion_in_close(&c);
	opens("car_msgs/Thing", "uint8 level\n", false, "car_msgs/Thing", &c);
	assert_int_equal(conversion_in_read(&c, WIRE_ROS1, thing, 1, &to), 0);
	assert_true(to.stamp_sim_ns == MESSAGE_IN_NO_STAMP);
	assert_string_equal(to.frame, "");
	conversion_in_close(&c);
}

/* In and out again: of that definition, word for word, though a byte is a uint8 here and 0x10 is 16. */
TEST(a_generated_type_is_sent_with_the_md5_sum_of_its_definition)
{
	static const char thing[] =
		"byte OK=0\nbyte BAD=-1\nchar LETTER=0x41\nbool YES=True\nfloat32 RATE=0.1\nfloat64 G=9.80665\n"
		"int32 PLUS=+7\nstring NAME=a thing  # of % it\nstring QUOTED=\"a\\tb\"\nstring NOTED='c' # d\nstring NONE=\n"
		"Header header\nbyte level\nchar[] letters\nbyte[4] four\nPart[] parts\ntime when\n"
		"===\nMSG: car_msgs/Part\nbyte kind\nfloat32 HALF=0.50\nstring name\n"
		"===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n";
	static const char thing2[] =
		"byte OK=0\nbyte level 3\nchar[<=2] letters\nbyte[4] four\nstring<=7 name \"x\"\nstring<=3 S='q'\n";
	struct conversion_in c;
	char why[256], *text;

	memset(converters, 0, sizeof(converters));
	opens("car_msgs/Thing", thing, false, "car_msgs/Thing", &c);
	goes_out_as(ros1_types, c.sim, c.type->hash);
	text = ros_generic_text(c.sim, ROS_GENERIC_ROS2); /* where a byte has no sign */
	assert_non_null(strstr(text, "byte OK=0\n"));
	assert_non_null(strstr(text, "\nint8 BAD=-1\n"));
	free(text);
	conversion_in_close(&c);
	assert_int_equal(conversion_in_open_text(NULL, ros2_types, "car_msgs/msg/Thing", thing2, false, &c, why,
						 sizeof(why)),
			 0);
	assert_string_equal(c.sim->comment, "ROS: OK:byte level:byte letters:char four:byte");
	goes_out_as(ros2_types, c.sim, c.type->hash);
	conversion_in_close(&c);
}

/* Any program may write the comment of a type: the comment adds at most a word or a value to the definition. */
TEST(a_comment_of_a_type_adds_nothing_to_its_definition)
{
	static const struct sim_field fields[] = {
		{ .name = "a", .unit = "", .comment = "", .elem_size = 1, .kind = SIM_KIND_UINT8, .elem_align = 1 },
		{ .name = "b",
		  .unit = "",
		  .comment = "",
		  .offset = 1,
		  .elem_size = 1,
		  .kind = SIM_KIND_INT8,
		  .elem_align = 1 }
	};
	static const struct sim_constant constants[] = { { .name = "C", .value = "1", .kind = SIM_KIND_UINT8 } };
	static const struct {
		const char *comment, *text;
	} cases[] = {
		{ "ROS: a:byte b:byte C:char=0x01", "char C=0x01\nbyte a\nint8 b\n" },
		{ "ROS: a:int64 C:=%0Aint8%20x=1", "uint8 C=1\nuint8 a\nint8 b\n" },
		{ "ROS: a: C:=%4", "uint8 C=1\nuint8 a\nint8 b\n" },
		{ "ROS: a C:=%zz", "uint8 C=1\nuint8 a\nint8 b\n" },
		{ "ROS:  aa:byte =:= a", "uint8 C=1\nuint8 a\nint8 b\n" },
		{ "ROS", "# ROS\n\nuint8 C=1\nuint8 a\nint8 b\n" },
	};
	struct sim_type t = { .abi = SIM_TYPE_ABI,
			      .size = sizeof(t),
			      .name = "car_msgs/Thing",
			      .n_fields = 2,
			      .n_constants = 1,
			      .fields = fields,
			      .constants = constants };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text;

		t.comment = cases[i].comment;
		text = ros_generic_text(&t, ROS_GENERIC_ROS1);
		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

/* A type with the name of a ROS message and other fields is sent in its own form. */
TEST(a_type_with_the_name_of_a_ros_message_keeps_its_own_fields)
{
	static const struct sim_type taken = {
		.abi = SIM_TYPE_ABI, .size = sizeof(taken), .name = "sensor_msgs/JoyFeedback", .comment = ""
	};
	struct conversion_out c;
	char why[256];

	assert_int_equal(conversion_out_open(NULL, ros2_types, &taken, NULL, &c, why, sizeof(why)), 0);
	assert_int_equal(c.type->n_fields, 0);
	conversion_out_close(&c);
}

/* The converter gives no definition, and the bridge has its own. */
TEST(converters_of_common_messages_need_no_definition)
{
	memset(converters, 0, sizeof(converters));
	converters[0] = (struct sim_converter){ .type = &sim_Imu_type, .foreign = "nav_msgs/Path", .emit = nothing };
	goes_by(&sim_Imu_type, "nav_msgs/Path", "converter", "nav_msgs/Path");
	memset(converters, 0, sizeof(converters));
}

/* How a converter that reads may be wrong: `fault` says it. */
static int fault;

static int read_wrongly(struct sim_dec *d, void *to, size_t capacity, size_t *ret_size)
{
	memset(to, 0, sizeof(struct sim_Imu));
	*ret_size = fault == 1 ? capacity + 1 : sizeof(struct sim_Imu);
	if (fault != 2)
		sim_dec_u64(d, "a");
	if (fault == 3)
		sim_dec_u64(d, "more than there is");
	return fault == 4 ? -EDOM : fault == 5 ? 1 : 0;
}

static int read_headed(struct sim_dec *d, void *to, size_t capacity, size_t *ret_size)
{
	(void)capacity;
	memset(to, 0, sizeof(struct sim_Imu));
	*ret_size = sizeof(struct sim_Imu);
	sim_dec_begin(d, "part"); /* what is nested has a header of its own */
	sim_dec_header(d, "header");
	sim_dec_end(d);
	assert_true(sim_dec_header(d, "header") == INT64_C(1250000000));
	assert_true(sim_dec_header(d, "second") == (d->err ? 0 : INT64_C(3000000000)));
	return 0;
}

static size_t put_headed(const char *frame)
{
	const struct sim_enc_header nested = { .stamp_sim_ns = 7, .frame = "nested" };
	const struct sim_enc_header header = { .stamp_sim_ns = 1250000000, .frame = frame };
	const struct sim_enc_header second = { .stamp_sim_ns = 3000000000, .frame = "second" };
	struct enc_wire w;
	struct iov_buf o;
	size_t len;

	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	sim_enc_header(&w.enc, "header", &nested);
	sim_enc_header(&w.enc, "header", &header);
	sim_enc_header(&w.enc, "second", &second);
	assert_int_equal(wire_finish(&w), 0);
	len = flatten(&o);
	iov_buf_finish(&o);
	return len;
}

/* The first header that is not nested is the message's. */
TEST(the_header_that_a_converter_reads_gives_stamp_and_frame)
{
	const struct sim_converter one = { .type = &sim_Imu_type, .foreign = "a/B", .read = read_headed };
	struct conversion_in c = { .sim = &sim_Imu_type, .converter = &one };
	struct message_in to = { .buf = back, .room = sizeof(back) };

	assert_int_equal(conversion_in_read(&c, WIRE_CDR, wire, put_headed("lidar"), &to), 0);
	assert_true(to.stamp_sim_ns == INT64_C(1250000000));
	assert_string_equal(to.frame, "lidar");
	assert_int_equal(conversion_in_read(&c, WIRE_CDR, wire, put_headed("0123456789012345678901234567890123456789"),
					    &to),
			 -EMSGSIZE);
	c.converter = NULL;
	(void)conversion_in_read(&c, WIRE_CDR, wire, sizeof(wire), &to);
	assert_true(to.stamp_sim_ns == MESSAGE_IN_NO_STAMP);
	assert_string_equal(to.frame, "");
}

TEST(converters_that_read_out_of_order_are_stopped)
{
	static const int want[] = { 0, -ENOBUFS, -EBADMSG, -EBADMSG, -EDOM, 1 };
	static const uint8_t message[12] = { 0, 1 };
	struct conversion_in c;
	struct message_in to = { .buf = back, .room = sizeof(back) };
	char why[256];

	memset(converters, 0, sizeof(converters));
	converters[0] = (struct sim_converter){
		.type = &sim_Imu_type, .foreign = "a/B", .definition = "uint64 a\n", .read = read_wrongly
	};
	assert_int_equal(conversion_in_open(&host, ros2_types, "a/B", NULL, &c, why, sizeof(why)), 0);
	for (fault = 5; fault >= 0; fault--)
		assert_int_equal(conversion_in_read(&c, WIRE_CDR, message, sizeof(message), &to), want[fault]);
	assert_int_equal(to.size, sizeof(struct sim_Imu));
	conversion_in_close(&c);
}

static void from_file(const char *foreign, const char *path, int want, const char *word)
{
	struct conversion_in c;
	char why[256] = "";
	int r = conversion_in_open(&host, ros2_types, foreign, path, &c, why, sizeof(why));

	if (r != want || (r < 0 && !strstr(why, word)))
		fail_msg("%s: %d, \"%s\"", path, r, why);
	if (r < 0)
		return;
	assert_true(sim_type_equal(c.sim, &probe_Every_type)); /* what simgen made of the same file */
	assert_string_equal(c.type->name, "probe/Every");
	conversion_in_close(&c);
}

TEST(a_definition_file_gives_the_fields)
{
	memset(converters, 0, sizeof(converters));
	from_file("probe/msg/Every", "tests/unit/schemas/probe/Every.msg", 0, NULL);
	from_file("probe/msg/Every", "/nonexistent/Every.msg", -ENOENT, "/nonexistent/Every.msg: cannot be read");
	from_file("other/msg/Every", "tests/unit/schemas/probe/Every.msg", -ENOENT, "type 'probe/Leaf' is not defined");
	from_file("probe", "tests/unit/schemas/probe/Every.msg", -EINVAL, "the form package/msg/Name");
	from_file("probe/Every", "tests/unit/convert/test_generic.c", -EINVAL, "probe/Every:1:");
	from_file("probe/Every", "tests", -ENOENT, "tests: cannot be read");
}
