/* SPDX-License-Identifier: Apache-2.0 */
/* JSON and CBOR: known texts and bytes, every type there and back, and what is malformed. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include "cbor_reader.h"
#include "conversion.h"
#include "enc_cbor.h"
#include "enc_json.h"
#include "generic.h"
#include "json_reader.h"
#include "probe/msg/Every.h"
#include "random_type.h"
#include "ros/ros_text.h"
#include "sample.h"
#include "sim/introspect.h"

static _Alignas(64) uint8_t body[65536], back[65536];
static uint8_t wire[262144];
static struct named_reader reader;

enum format { JSON, CBOR };

static size_t flatten(const struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	for (unsigned i = 0, n = iov_buf_iov(o, iov); i < n; i++) {
		assert_true(iov[i].iov_len < sizeof(wire) - at);
		memcpy(wire + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	wire[at] = '\0';
	return at;
}

static void begin(enum format format, const void *data, size_t len)
{
	if (format == JSON)
		json_reader_begin(&reader, data, len);
	else
		cbor_reader_begin(&reader, data, len);
}

/* ---- there and back ---- */

static int emit(enum format format, const struct sim_type *t, size_t size, const struct ros_type *type,
		enum ros_generic_words words, size_t *ret_len)
{
	struct enc_json j;
	struct enc_cbor c;
	struct iov_buf o;
	int r;

	iov_buf_init(&o);
	if (format == JSON)
		json_begin(&j, words, JSON_NAN_WORD, type, &o);
	else
		cbor_begin(&c, words, type, &o);
	r = generic_emit(t, body, size, format == JSON ? &j.enc : &c.enc);
	if (r == 0)
		r = format == JSON ? json_finish(&j) : cbor_finish(&c);
	*ret_len = r == 0 ? flatten(&o) : 0;
	iov_buf_finish(&o);
	return r;
}

static char *text_of(const struct sim_type *t, const void *from, size_t size)
{
	char *text = NULL;

	assert_int_equal(sim_msg_to_json_alloc(t, from, size, NULL, &text, NULL), 0);
	return text;
}

/* All of it reads back as it was; cut off, none of it does. */
static void read_back(enum format format, const struct sim_type *t, size_t size, size_t len)
{
	struct conversion_in in = { .sim = t };
	char *a = text_of(t, body, size), *b;
	size_t got = 0;
	int r;

	begin(format, wire, len);
	r = conversion_in_take(&in, &reader.dec, back, sizeof(back), &got);
	if (r < 0)
		fail_msg("%s: %s: %s\n%s", t->name, strerror(-r), a, (const char *)wire);
	assert_int_equal(reader.ignored, 0);
	assert_int_equal(sim_msg_check(t, back, got), 0);
	b = text_of(t, back, got);
	assert_string_equal(a, b);
	free(a);
	free(b);
	for (size_t cut = 0; cut < len && len < 4096; cut++) {
		begin(format, wire, cut);
		assert_true(conversion_in_take(&in, &reader.dec, back, sizeof(back), &got) < 0);
	}
}

static void round_trip(const struct sim_type *t, size_t size)
{
	char name[ROS_GENERIC_NAME_MAX], why[256], *text = ros_generic_text(t, ROS_GENERIC_ROS2);
	struct ros_text *ros = NULL;
	size_t len;

	ros_generic_name(t->name, name);
	assert_int_equal(ros_text_create(name, text, ros2_types, why, sizeof(why), &ros), 0);
	free(text);
	for (int i = 0; i < 8; i++) {
		enum format format = i & 1 ? CBOR : JSON;
		int r = emit(format, t, size, i & 2 ? ros_text_type(ros) : NULL,
			     i & 4 ? ROS_GENERIC_ROS1 : ROS_GENERIC_ROS2, &len);

		if (r == 0)
			read_back(format, t, size, len);
		else
			assert_int_equal(r, -ERANGE); /* a random time that ROS cannot say */
	}
	ros_text_destroy(ros);
}

TEST(every_type_there_and_back)
{
	round_trip(&probe_Every_type, sample_body(&probe_Every_type, body, sizeof(body)));
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
		round_trip(*t, sample_body(*t, body, sizeof(body)));
}

TEST(every_shape_there_and_back)
{
	uint64_t seed = test_seed(7);

	for (int i = 0; i < 60; i++) {
		struct random_type t;

		assert_int_equal(random_type_make(&t, &seed), 0);
		for (int k = 0; k < 2; k++)
			round_trip(t.type, random_msg(&seed, t.type, body, sizeof(body)));
		random_type_finish(&t);
	}
}

/* ---- known texts and bytes ---- */

/* What a mapping of a message says, behind an envelope's beginning. */
static const char *said(const char *sim, const char *ros, const struct ros_type *const *known, const char *json,
			enum json_nan nan)
{
	enum ros_generic_words words = known == ros1_types ? ROS_GENERIC_ROS1 : ROS_GENERIC_ROS2;
	const struct map *m = map_find(sim, ros);
	struct map_options options = { 0 };
	struct map_message in = { body, 0, { 1250000000, 7, "a\"b" }, &options };
	struct enc_json j;
	struct iov_buf o;

	assert_non_null(m);
	assert_int_equal(sim_msg_from_json(sim_type_builtin(sim), json, strlen(json), body, sizeof(body), &in.size), 0);
	iov_buf_init(&o);
	assert_int_equal(json_put(&o, "msg:"), 0);
	json_begin(&j, words, nan, ros_type_find(known, ros), &o);
	assert_int_equal(m->emit(&in, &j.enc), 0);
	assert_int_equal(json_finish(&j), 0);
	assert_int_equal(o.n, 1);
	flatten(&o);
	iov_buf_finish(&o);
	return (const char *)wire;
}

TEST(known_texts_of_ros1_and_ros2)
{
	static const char image[] = "{\"height\":1,\"width\":1,\"step\":4,\"encoding\":\"rgb8\",\"data\":\"AQIDCQ==\"}";

	assert_string_equal(said("sim/Clock", "rosgraph_msgs/Clock", ros1_types, "{\"clock\":1250000000}",
				 JSON_NAN_WORD),
			    "msg:{\"clock\":{\"secs\":1,\"nsecs\":250000000}}");
	assert_string_equal(said("sim/Clock", "rosgraph_msgs/Clock", ros2_types, "{\"clock\":1250000000}",
				 JSON_NAN_WORD),
			    "msg:{\"clock\":{\"sec\":1,\"nanosec\":250000000}}");
	assert_string_equal(
		said("sim/Image", "sensor_msgs/Image", ros1_types, image, JSON_NAN_WORD),
		"msg:{\"header\":{\"seq\":7,\"stamp\":{\"secs\":1,\"nsecs\":250000000},\"frame_id\":\"a\\\"b\"},"
		"\"height\":1,\"width\":1,\"encoding\":\"rgb8\",\"is_bigendian\":0,\"step\":4,\"data\":\"AQIDCQ==\"}");
	assert_string_equal(said("sim/Bool", "std_msgs/Bool", ros2_types, "{\"data\":true}", JSON_NAN_WORD),
			    "msg:{\"data\":true}");
}

/* ROS 1 has capitals there, which a peer insists on. */
TEST(names_are_those_of_the_definition)
{
	const char *text = said("sim/CameraInfo", "sensor_msgs/CameraInfo", ros1_types, "{}", JSON_NAN_WORD);

	assert_non_null(strstr(text, "\"D\":[],\"K\":[0,0,0,0,0,0,0,0,0],\"R\":"));
	text = said("sim/CameraInfo", "sensor_msgs/CameraInfo", ros2_types, "{}", JSON_NAN_WORD);
	assert_non_null(strstr(text, "\"d\":[],\"k\":[0,0,0,0,0,0,0,0,0],\"r\":"));
}

TEST(what_json_has_no_number_for)
{
	static const char scan[] = "{\"range_min\":1,\"range_max\":3,\"ranges\":[2,5,0.1],\"intensities\":[1,1,1]}";

	assert_non_null(strstr(said("sim/LaserScan", "sensor_msgs/LaserScan", ros1_types, scan, JSON_NAN_WORD),
			       "\"ranges\":[2,1e999,1e999],\"intensities\":[1,0,0]"));
	assert_non_null(strstr(said("sim/LaserScan", "sensor_msgs/LaserScan", ros1_types, scan, JSON_NAN_NULL),
			       "\"ranges\":[2,null,null],"));
	assert_string_equal(said("sim/Float64", "std_msgs/Float64", ros1_types, "{\"data\":null}", JSON_NAN_WORD),
			    "msg:{\"data\":NaN}");
	assert_string_equal(said("sim/Float64", "std_msgs/Float64", ros1_types, "{\"data\":null}", JSON_NAN_NULL),
			    "msg:{\"data\":null}");
}

static void check_string(const char *s, const char *json, const char *text)
{
	struct iov_buf o;

	iov_buf_init(&o);
	assert_int_equal(json_put_string(&o, s, strlen(s)), 0);
	flatten(&o);
	assert_string_equal((const char *)wire, json);
	iov_buf_reset(&o);
	assert_int_equal(cbor_put_string(&o, s, strlen(s)), 0);
	flatten(&o);
	assert_int_equal(wire[0], 0x60 + strlen(text));
	assert_string_equal((const char *)wire + 1, text);
	iov_buf_finish(&o);
}

TEST(strings_are_escaped_and_mended)
{
	check_string("", "\"\"", "");
	check_string("a\"\\/\n\t\x01\x1f\x7f", "\"a\\\"\\\\/\\n\\t\\u0001\\u001f\x7f\"", "a\"\\/\n\t\x01\x1f\x7f");
	check_string("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"",
		     "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	check_string("a\xff z\xc3", "\"a\xef\xbf\xbd z\xef\xbf\xbd\"", "a\xef\xbf\xbd z\xef\xbf\xbd");
	check_string("\xc0\xaf\xed\xa0", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
		     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

/* A cloud of any size is pointed to, and so is every large array: what stands before it is known. */
TEST(large_arrays_of_cbor_are_not_copied)
{
	static const uint8_t head[] = { 0xa1, 0x64, 'd', 'a', 't', 'a', 0xd8, 85, 0x59, 0x08, 0x00 };
	static float data[512];
	struct enc_cbor c;
	struct iov_buf o;
	struct iovec iov[IOV_BUF_PIECES];

	iov_buf_init(&o);
	assert_int_equal(cbor_put_map(&o, 1), 0);
	assert_int_equal(cbor_put_string(&o, "data", 4), 0);
	iov_buf_reset(&o);
	cbor_begin(&c, ROS_GENERIC_ROS1, NULL, &o);
	sim_enc_array(&c.enc, "data", SIM_KIND_FLOAT32, data, 512);
	assert_int_equal(cbor_finish(&c), 0);
	assert_int_equal(iov_buf_iov(&o, iov), 3);
	assert_int_equal(iov[0].iov_len, sizeof(head));
	assert_memory_equal((uint8_t *)iov[0].iov_base + 1, head + 1, sizeof(head) - 1);
	assert_ptr_equal(iov[1].iov_base, data);
	assert_int_equal(o.copied, 0);
	iov_buf_finish(&o);
}

/* ---- what comes in ---- */

static const char *text(const char *json)
{
	begin(JSON, json, strlen(json));
	return json;
}

/* An envelope, its fields in another order, and one that nobody asked for. */
TEST(an_envelope_is_a_message_too)
{
	const char *frame;
	size_t len;

	text(" {\"msg\": {\"header\":{\"frame_id\":\"a\\u00e4\\n\\ud83d\\ude00\",\"stamp\":{\"nsecs\":5,\"secs\":1}},"
	     "\"x\":-2.5e1, \"more\":[{}], \"n\":null} , \"op\" : \"publish\"}\n");
	assert_memory_equal(sim_dec_string(&reader.dec, "op", 20, &len), "publish", 7);
	assert_true(sim_dec_has(&reader.dec, "msg") && !sim_dec_has(&reader.dec, "id"));
	sim_dec_begin(&reader.dec, "msg");
	assert_true(sim_dec_has(&reader.dec, "x") && !sim_dec_has(&reader.dec, "n"));
	assert_int_equal(reader.dec.ops->header(&reader.dec, "header", &frame, &len), 1000000005);
	assert_int_equal(len, 8);
	assert_memory_equal(frame, "a\xc3\xa4\n\xf0\x9f\x98\x80", 8);
	assert_true(sim_dec_f64(&reader.dec, "x") == -25);
	assert_int_equal(sim_dec_i32(&reader.dec, "n"), 0);
	sim_dec_end(&reader.dec);
	assert_int_equal(reader.dec.err, 0);
	assert_int_equal(reader.ignored, 1);
	assert_string_equal(reader.ignored_one, "more");
}

static int setup(void **state)
{
	(void)state;
	named_reader_init(&reader);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	named_reader_finish(&reader);
	return 0;
}

TEST_GROUP(setup, teardown)
