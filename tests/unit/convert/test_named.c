/* SPDX-License-Identifier: Apache-2.0 */
/* JSON and CBOR: known texts and bytes, every type both ways, and malformed input. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include "cbor_reader.h"
#include "conversion.h"
#include "support/enc_cbor.h"
#include "enc_json.h"
#include "generic.h"
#include "json_reader.h"
#include "map_in.h"
#include "probe/msg/Every.h"
#include "random_type.h"
#include "ros/ros_text.h"
#include "sample.h"
#include "sim/introspect.h"
#include "sim/msg/VehicleControl.h"

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
	struct message_in to = { .buf = back, .room = sizeof(back) };
	int r;

	begin(format, wire, len);
	r = conversion_in_take(&in, &reader.dec, &to);
	if (r < 0)
		fail_msg("%s: %s: %s\n%s", t->name, strerror(-r), a, (const char *)wire);
	assert_int_equal(reader.ignored, 0);
	assert_int_equal(sim_msg_check(t, back, to.size), 0);
	b = text_of(t, back, to.size);
	assert_string_equal(a, b);
	free(a);
	free(b);
	for (size_t cut = 0; cut < len && len < 4096; cut++) {
		begin(format, wire, cut);
		assert_true(conversion_in_take(&in, &reader.dec, &to) < 0);
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

TEST(messages_of_every_type_read_back)
{
	round_trip(&probe_Every_type, sample_body(&probe_Every_type, body, sizeof(body)));
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
		round_trip(*t, sample_body(*t, body, sizeof(body)));
}

TEST(messages_of_random_types_read_back)
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

/* The output of a mapping for a message, behind an envelope's beginning. */
static const char *said(const char *sim, const char *ros, const struct ros_type *const *known, const char *json,
			enum json_nan nan)
{
	enum ros_generic_words words = known == ros1_types ? ROS_GENERIC_ROS1 : ROS_GENERIC_ROS2;
	const struct map *m = map_find(sim, ros);
	struct map_options options = { 0 };
	struct map_message in = { body, 0, { 1250000000, 7, "a\"b" }, &options, false };
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
TEST(field_names_match_the_ros_release)
{
	const char *text = said("sim/CameraInfo", "sensor_msgs/CameraInfo", ros1_types, "{}", JSON_NAN_WORD);

	assert_non_null(strstr(text, "\"D\":[],\"K\":[0,0,0,0,0,0,0,0,0],\"R\":"));
	text = said("sim/CameraInfo", "sensor_msgs/CameraInfo", ros2_types, "{}", JSON_NAN_WORD);
	assert_non_null(strstr(text, "\"d\":[],\"k\":[0,0,0,0,0,0,0,0,0],\"r\":"));
}

TEST(infinite_and_nan_values_are_written_as_json_allows)
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

TEST(strings_are_escaped_and_repaired)
{
	check_string("", "\"\"", "");
	check_string("a\"\\/\n\t\x01\x1f\x7f", "\"a\\\"\\\\/\\n\\t\\u0001\\u001f\x7f\"", "a\"\\/\n\t\x01\x1f\x7f");
	check_string("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"",
		     "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	check_string("a\xff z\xc3", "\"a\xef\xbf\xbd z\xef\xbf\xbd\"", "a\xef\xbf\xbd z\xef\xbf\xbd");
	check_string("\xc0\xaf\xed\xa0", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
		     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

/* A cloud of any size is sent in place, and so is every large array: the bytes before it are known. */
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

/* ---- inbound messages ---- */

static const char *text(const char *json)
{
	begin(JSON, json, strlen(json));
	return json;
}

/* An envelope, its fields in another order, and one without a request. */
TEST(a_message_in_an_envelope_is_read)
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

/* ---- malformed messages ---- */

/* The result of reading one f64 `x` of the message. */
static int read_x(enum format format, const void *data, size_t len)
{
	begin(format, data, len);
	(void)sim_dec_f64(&reader.dec, "x");
	return reader.dec.err;
}

TEST(malformed_json_is_refused)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"1",
		"null",
		"{\"x\":1",
		"{\"x\":1}}",
		"{\"x\"}",
		"{\"x\":}",
		"{\"x\":1,}",
		"{,}",
		"{x:1}",
		"{\"x\":01}",
		"{\"x\":1.}",
		"{\"x\":.5}",
		"{\"x\":1e}",
		"{\"x\":+1}",
		"{\"x\":-}",
		"{\"x\":nul}",
		"{\"x\":\"1\"}",
		"{\"x\":true}",
		"{\"x\":[1]}",
		"{\"x\":{}}",
		"{\"x\":1 2}",
		"{\"x\":0x1}",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\\u12g4\"}",
		"{\"a\":\"\n\"}",
		"{\"a\":\"\xff\"}",
		"{\"a\":\"\xc0\x80\"}",
		"{\"\xff\":1}",
		"{\"x\":1,\"x\":1}",
		"{\"x\":1,\"\\u0078\":1}",
		"{\"a\":[1,]}",
		"{\"a\":[1 2]}",
		"{\"a\":[}",
		"{\"a\":-Infinit}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (read_x(JSON, bad[i], strlen(bad[i])) != -EBADMSG)
			fail_msg("%s: %d", bad[i], read_x(JSON, bad[i], strlen(bad[i])));
	assert_int_equal(read_x(JSON, "{\"x\":1}\0", 8), -EBADMSG);
}

TEST(malformed_cbor_is_refused)
{
	static const struct {
		const char *bytes;
		size_t len;
		int err;
	} bad[] = {
#define ROW(bytes, err) { bytes, sizeof(bytes) - 1, err }
		ROW("", -EBADMSG),
		ROW("\x80", -EBADMSG),
		ROW("\xa1", -EBADMSG),
		ROW("\xa1\x61x", -EBADMSG),
		ROW("\xa1\x61x\x01\x00", -EBADMSG),
		ROW("\xa1\x01\x01", -EBADMSG),              /* a key that is a number */
		ROW("\xa2\x61x\x01\x61x\x01", -EBADMSG),    /* twice */
		ROW("\xa1\x61x\x1c", -EBADMSG),             /* no such head */
		ROW("\xa1\x61x\x1b\x00\x00\x00", -EBADMSG), /* cut */
		ROW("\xa1\x61x\x61"
		    "1",
		    -EBADMSG),                  /* a string */
		ROW("\xa1\x61x\xc1", -EBADMSG), /* a tag of nothing */
		ROW("\xa1\x61"
		    "a\x5b\xff\xff\xff\xff\xff\xff\xff\xff",
		    -EBADMSG),
		ROW("\xa1\x61"
		    "a\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
		    -EBADMSG),
		ROW("\xbf\x61x\x01", -EBADMSG), /* no end */
		ROW("\xa1\x61x\xff", -EBADMSG), /* an end of nothing */
		ROW("\xa1\x61"
		    "a\x7f\x61"
		    "b\xff",
		    -ENOTSUP),                                                  /* a string in pieces */
		ROW("\xa1\x61x\x3b\xff\xff\xff\xff\xff\xff\xff\xff", -EBADMSG), /* below int64 */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (read_x(CBOR, bad[i].bytes, bad[i].len) != bad[i].err)
			fail_msg("row %zu: %d", i, read_x(CBOR, bad[i].bytes, bad[i].len));
	assert_int_equal(read_x(CBOR, "\xbf\x61x\xf9\x3c\x00\xff", 7), 0);
}

/* Depth, fields of a message, and that neither takes long. */
TEST(the_input_of_a_peer_is_bounded)
{
	size_t n = 1 << 20, at;
	char *big = malloc(n + 1);

	assert_non_null(big);
	memset(big, '[', n);
	memcpy(big, "{\"a\":", 5);
	assert_int_equal(read_x(JSON, big, n), -EMSGSIZE);
	memset(big, '\x81', n);
	memcpy(big,
	       "\xa1\x61"
	       "a",
	       3);
	assert_int_equal(read_x(CBOR, big, n), -EMSGSIZE);
	at = (size_t)sprintf(big, "{\"a\":1");
	for (unsigned i = 0; i < NAMED_FIELDS; i++)
		at += (size_t)sprintf(big + at, ",\"f%u\":%u", i, i);
	at += (size_t)sprintf(big + at, "}");
	assert_int_equal(read_x(JSON, big, at), -EMSGSIZE);
	free(big);
}

TEST(numbers_that_do_not_fit_are_refused)
{
	static const struct {
		const char *json;
		enum sim_kind kind;
		int err;
	} rows[] = {
		{ "{\"x\":255}", SIM_KIND_UINT8, 0 },
		{ "{\"x\":256}", SIM_KIND_UINT8, -EBADMSG },
		{ "{\"x\":-1}", SIM_KIND_UINT8, -EBADMSG },
		{ "{\"x\":-128}", SIM_KIND_INT8, 0 },
		{ "{\"x\":-129}", SIM_KIND_INT8, -EBADMSG },
		{ "{\"x\":128}", SIM_KIND_INT8, -EBADMSG },
		{ "{\"x\":18446744073709551615}", SIM_KIND_UINT64, 0 },
		{ "{\"x\":18446744073709551616}", SIM_KIND_UINT64, -EBADMSG },
		{ "{\"x\":-9223372036854775808}", SIM_KIND_INT64, 0 },
		{ "{\"x\":-9223372036854775809}", SIM_KIND_INT64, -EBADMSG },
		{ "{\"x\":9223372036854775808}", SIM_KIND_INT64, -EBADMSG },
		{ "{\"x\":7.0}", SIM_KIND_UINT16, 0 },
		{ "{\"x\":7e2}", SIM_KIND_UINT16, 0 },
		{ "{\"x\":7.5}", SIM_KIND_UINT16, -EBADMSG },
		{ "{\"x\":true}", SIM_KIND_BOOL, 0 },
		{ "{\"x\":1}", SIM_KIND_BOOL, 0 },
		{ "{\"x\":2}", SIM_KIND_BOOL, -EBADMSG },
		{ "{\"x\":true}", SIM_KIND_UINT8, -EBADMSG },
		{ "{\"x\":NaN}", SIM_KIND_INT32, -EBADMSG },
		{ "{\"x\":NaN}", SIM_KIND_FLOAT32, 0 },
		{ "{\"x\":null}", SIM_KIND_FLOAT32, 0 },
	};
	uint64_t v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(JSON, rows[i].json, strlen(rows[i].json));
		reader.dec.ops->value(&reader.dec, "x", rows[i].kind, &v);
		if (reader.dec.err != rows[i].err)
			fail_msg("%s: %d", rows[i].json, reader.dec.err);
	}
	begin(JSON, "{\"x\":NaN}", 9);
	(void)sim_dec_f64(&reader.dec, "x"); /* what drives a vehicle is a number */
	assert_int_equal(reader.dec.err, -EDOM);
}

TEST(real_numbers_are_read_exactly)
{
	static const char *const texts[] = { "0.1",
					     "-0.0",
					     "1e-7",
					     "123456789012345678",
					     "0.30000000000000004",
					     "5e-324",
					     "1.7976931348623157e308",
					     "9007199254740993",
					     "1e22",
					     "1e23",
					     "3.5e-310",
					     "179769313486231580793728971405301e276",
					     "-2.2250738585072011e-308" };
	char json[80];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(json, sizeof(json), "{\"x\":%s}", texts[i]);
		begin(JSON, json, strlen(json));
		if (sim_dec_f64(&reader.dec, "x") != strtod(texts[i], NULL) || reader.dec.err)
			fail_msg("%s", texts[i]);
	}
}

/* Typed arrays: read in place where they have the requested type, converted where they do not. */
TEST(typed_arrays_of_every_form_are_read)
{
	static const uint8_t floats[] = { 0xa1, 0x61, 'x', 0xd8, 85, 0x48, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0 };
	static const uint8_t big_shorts[] = { 0xa1, 0x61, 'x', 0xd8, 73, 0x44, 0xff, 0xfe, 0x01, 0x00 };
	static const uint8_t odd[] = { 0xa1, 0x61, 'x', 0xd8, 85, 0x43, 0, 0, 0 };
	const float *f;
	const int16_t *s;
	const double *d;
	uint32_t n;

	begin(CBOR, floats, sizeof(floats));
	f = sim_dec_array(&reader.dec, "x", SIM_KIND_FLOAT32, &n);
	assert_ptr_equal(f, floats + 6);
	assert_int_equal(n, 2);
	begin(CBOR, floats, sizeof(floats));
	d = sim_dec_array(&reader.dec, "x", SIM_KIND_FLOAT64, &n);
	assert_true(n == 2 && d[0] == 1 && d[1] == -2);
	begin(CBOR, big_shorts, sizeof(big_shorts));
	s = sim_dec_array(&reader.dec, "x", SIM_KIND_INT16, &n);
	assert_true(n == 2 && s[0] == -2 && s[1] == 256);
	begin(CBOR, big_shorts, sizeof(big_shorts));
	assert_null(sim_dec_array(&reader.dec, "x", SIM_KIND_UINT16, &n));
	assert_int_equal(reader.dec.err, -EBADMSG);
	begin(CBOR, odd, sizeof(odd));
	assert_null(sim_dec_array(&reader.dec, "x", SIM_KIND_FLOAT32, &n));
	assert_int_equal(reader.dec.err, -EBADMSG);
}

/* Fields that Apollo's control omits stay unset; a stop is not taken for a missing pedal. */
TEST(fields_missing_in_a_command_stay_unset)
{
	const struct map_in *m = map_in_find("pb_msgs/ControlCommand");
	const struct sim_VehicleControl *c = (const void *)body;
	struct message_in to = { .buf = body, .room = sizeof(body) };

	text("{\"brake\":100,\"throttle\":0}");
	assert_int_equal(m->read(&reader.dec, &to), 0);
	assert_int_equal(reader.dec.err, 0);
	assert_int_equal(c->present, SIM_VEHICLE_CONTROL_HAS_ACCELERATION | SIM_VEHICLE_CONTROL_HAS_BRAKING);
	assert_true(c->braking == 1 && c->acceleration == 0);
	text("{\"brake\":101}");
	(void)m->read(&reader.dec, &to);
	assert_int_equal(reader.dec.err, -ERANGE);
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
