/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs into another encoding: from any to any other, message for message; messages that need no conversion keep their
 * bytes; those that fail to convert are named and counted. And `simctl bag convert` and `cat`.
 */
#include "sample.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <sim/introspect.h>

#include "record/channels.h"
#include "record/codec.h"
#include "record/codec_out.h"
#include "record/copy.h"
#include "sim/msg/Float64.h"
#include "sim/msg/Image.h"
#include "sim/msg/Imu.h"
#include "unit/convert/sample.h"

#define N     20
#define BEGIN INT64_C(1700000000000000000)
#define STEP  INT64_C(10000000)

static _Alignas(64) uint8_t body[1 << 20];
static char said[4000], text[1 << 16], why[700];

static void say(void *arg, const char *sentence)
{
	(void)arg;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", sentence);
}

/* ---- converted logs ---- */

struct made { /* a native log on its way */
	struct log_writer *w;
	struct codec_out *codec[4];
	struct log_message m[4];
	unsigned n;
};

static void channel(struct made *l, const char *topic, const struct sim_type *t)
{
	unsigned i = l->n++;

	assert_int_equal(codec_out_create(CODEC_NATIVE, NULL, topic, t, &l->codec[i], why, sizeof(why)), 0);
	l->m[i] = (struct log_message){ 0 };
	assert_int_equal(log_writer_add_channel(l->w, codec_out_channel(l->codec[i]), &l->m[i].channel), 0);
}

static void put(struct made *l, unsigned i, unsigned k, size_t size)
{
	struct sim_message m = { .body = body, .body_size = size };
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf o;

	m.header.stamp_sim_ns = BEGIN + k * STEP - 5;
	m.header.sequence = k;
	strcpy(m.header.frame_id, "base_link");
	l->m[i].log_time_ns = BEGIN + k * STEP;
	l->m[i].publish_time_ns = m.header.stamp_sim_ns;
	l->m[i].sequence = k;
	iov_buf_init(&o);
	assert_int_equal(codec_out_encode(l->codec[i], &m, &o, why, sizeof(why)), 0);
	assert_int_equal(log_writer_put(l->w, &l->m[i], iov, (int)iov_buf_iov(&o, iov)), 0);
	iov_buf_finish(&o);
}

static struct made begin(const char *path)
{
	const struct log_write_options o = { .format = LOG_MCAP };
	struct made l = { .n = 0 };

	assert_int_equal(log_writer_create(path, &o, &l.w, why, sizeof(why)), 0);
	return l;
}

static const char *end(struct made *l, const char *path)
{
	while (l->n)
		codec_out_destroy(l->codec[--l->n]);
	assert_int_equal(log_writer_finish(l->w, why, sizeof(why)), 0);
	return path;
}

/* N numbers and N of an IMU. */
static const char *a_log(void)
{
	const char *path = sample_fresh("native.mcap");
	struct made l = begin(path);

	channel(&l, "/car/number", &sim_Float64_type);
	channel(&l, "/car/imu", &sim_Imu_type);
	for (unsigned k = 0; k < N; k++) {
		struct sim_builder b;
		struct sim_Float64 *m = sim_Float64_init(body, sizeof(body), &b);

		m->data = 0.5 + k;
		put(&l, 0, k, sim_builder_size(&b));
		put(&l, 1, k, sample_body(&sim_Imu_type, body, sizeof(body)));
	}
	return end(&l, path);
}

static int convert(const char *in, const char *out, int encoding, struct copy_result *ret)
{
	struct copy_options o = { .convert = true, .encoding = encoding, .say = say };

	o.write.format = (enum log_format)log_format_of(out);
	said[0] = '\0';
	return log_copy(&in, 1, out, &o, ret, why, sizeof(why));
}

/* ---- from any to any ---- */

static const struct { /* each way to write it */
	const char *name;
	int encoding;
	const char *message_encoding, *imu;
} ways[] = {
	{ "native.mcap", CODEC_NATIVE, "cdr", "sim_msgs/msg/Imu" },
	{ "packed.mcap", CODEC_PACKED, "simd_packed", "sim_msgs/msg/Imu" },
	{ "ros2.mcap", CODEC_ROS2, "cdr", "sensor_msgs/msg/Imu" },
	{ "ros1.mcap", CODEC_ROS1, "ros1", "sensor_msgs/Imu" },
	{ "apollo.mcap", CODEC_APOLLO, "protobuf", "apollo.drivers.gnss.Imu" },
	{ "a.bag", -1, "ros1", "sensor_msgs/Imu" },
	{ "a.record", -1, "protobuf", "apollo.drivers.gnss.Imu" },
	{ "json.mcap", CODEC_JSON, "json", "sim/Imu" },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* All numbers in order, as often as an IMU, in the way's encoding. */
static void holds(const char *path, unsigned way)
{
	struct log_reader *r = sample_open(path, NULL);
	struct codec_room room = { 0 };
	unsigned n = 0, imus = 0;
	struct log_message m;

	while (log_reader_next(r, &m) == 1) {
		const struct log_channel *ch = &log_reader_info(r)->channels[m.channel];
		struct message_in in;
		struct codec_in *c;

		assert_string_equal(ch->message_encoding, ways[way].message_encoding);
		if (codec_in_create(ch, &c, why, sizeof(why)) < 0)
			fail_msg("%s", why);
		assert_int_equal(codec_in_decode_room(c, &m, &room, &in), 0);
		if (strstr(ch->schema_name, "Imu")) {
			assert_string_equal(ch->schema_name, ways[way].imu);
			imus++;
			assert_string_equal(in.frame, "base_link");
			assert_true(llabs(in.stamp_sim_ns - m.log_time_ns + 5) < 500); /* Apollo's is a double */
		} else {
			assert_string_equal(codec_in_type(c)->name, "sim/Float64");
			assert_int_equal(m.log_time_ns, BEGIN + n * STEP);
			assert_true(sim_Float64_from(in.buf, in.size)->data == 0.5 + n);
			n++;
		}
		codec_in_destroy(c);
	}
	assert_int_equal(n, N);
	assert_int_equal(imus, N);
	codec_room_finish(&room);
	log_reader_close(r);
}

/* But that a .record has no sequence numbers. */
static void assert_nothing_said(const char *path)
{
	char expected[2 * TEST_PATH_MAX] = "";

	if (log_format_of(path) == LOG_RECORD && *said)
		snprintf(expected, sizeof(expected),
			 "%s: the sequence numbers of messages are left out: a .record has no place for them\n", path);
	assert_string_equal(said, expected);
}

TEST(every_log_format_converts_to_every_other)
{
	char native[TEST_PATH_MAX];

	snprintf(native, sizeof(native), "%s", a_log());
	for (unsigned i = 0; i < WAYS; i++) {
		char first[TEST_PATH_MAX], name[64];
		struct copy_result x;

		snprintf(name, sizeof(name), "first_%s", ways[i].name);
		snprintf(first, sizeof(first), "%s", sample_fresh(name));
		if (convert(native, first, ways[i].encoding, &x) < 0)
			fail_msg("%s", why);
		assert_nothing_said(first);
		holds(first, i);
		for (unsigned k = 0; k < WAYS; k++) {
			const char *second;

			snprintf(name, sizeof(name), "second_%s", ways[k].name);
			second = sample_fresh(name);
			if (convert(first, second, ways[k].encoding, &x) < 0)
				fail_msg("%s to %s: %s", ways[i].name, ways[k].name, why);
			assert_nothing_said(second);
			assert_int_equal(x.n_messages, 2 * N);
			holds(second, k);
		}
	}
}

/* MCAP takes the messages in their own form, but packed, which only our tools read. */
TEST(without_an_encoding_messages_are_copied_unchanged)
{
	static const unsigned from[] = { 5, 6, 2 };
	const char *native = a_log();
	struct copy_result x;

	for (unsigned i = 0; i < 3; i++) {
		char path[TEST_PATH_MAX];
		struct log_reader *a, *b;
		struct log_message m, w;

		snprintf(path, sizeof(path), "%s", sample_fresh(ways[from[i]].name));
		assert_int_equal(convert(native, path, ways[from[i]].encoding, &x), 0);
		assert_int_equal(convert(path, sample_fresh("out.mcap"), -1, &x), 0);
		a = sample_open(path, NULL);
		b = sample_open(sample_path("out.mcap"), NULL);
		while (log_reader_next(a, &m) == 1) {
			assert_int_equal(log_reader_next(b, &w), 1);
			assert_int_equal(w.size, m.size);
			assert_memory_equal(w.data, m.data, m.size);
		}
		assert_string_not_equal(log_reader_info(b)->channels[0].schema_encoding, "apollo");
		log_reader_close(a);
		log_reader_close(b);
	}
	assert_int_equal(convert(native, sample_fresh("packed.mcap"), CODEC_PACKED, &x), 0);
	assert_int_equal(convert(sample_path("packed.mcap"), sample_fresh("out.mcap"), -1, &x), 0);
	holds(sample_path("out.mcap"), 0);
}

/* ---- channels ---- */

/* The names of a .record's channels, sorted, each with the number of its messages. */
static const char *names_of(const char *path)
{
	static char all[500];
	struct log_reader *r = sample_open(path, NULL);
	const struct log_info *info = log_reader_info(r);
	const char *last = "";
	size_t n = 0;

	all[0] = '\0';
	for (size_t k = 0; k < info->n_channels; k++) {
		const struct log_channel *next = NULL;

		for (size_t i = 0; i < info->n_channels; i++)
			if (strcmp(info->channels[i].topic, last) > 0 &&
			    (!next || strcmp(info->channels[i].topic, next->topic) < 0))
				next = &info->channels[i];
		assert_non_null(next);
		last = next->topic;
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s %d; ", last, (int)next->n_messages);
	}
	log_reader_close(r);
	return all;
}

/* An IMU on each of these channels, which come in the order that `turn` picks; of the k-th k + 1 messages. */
static const char *imus(const char *const *topics, unsigned n, unsigned turn)
{
	const char *path = sample_fresh("imus.mcap");
	struct made l = begin(path);

	for (unsigned i = 0; i < n; i++)
		channel(&l, topics[(turn & 1 ? n - 1 - i : i + turn / 2) % n], &sim_Imu_type);
	for (unsigned i = 0; i < n; i++) {
		unsigned k = 0;

		while (strcmp(codec_out_channel(l.codec[i])->topic, topics[k]) != 0)
			k++;
		for (unsigned m = 0; m <= k; m++)
			put(&l, i, 10 * i + m, sample_body(&sim_Imu_type, body, sizeof(body)));
	}
	return end(&l, path);
}

/* Apollo has one name for an IMU: the channel that is first by name gets it, in any order of arrival. */
TEST(of_channels_mapped_to_one_name_the_first_by_name_gets_it)
{
	static const char *const three[] = { "/car/front", "/car/middle", "/car/rear" }, *const own[] = {
		"/car/front", "/apollo/sensor/gnss/imu", "/zoe"
	};
	struct copy_result x;

	for (unsigned turn = 0; turn < 6; turn++) {
		assert_int_equal(convert(imus(three, 3, turn), sample_fresh("three.record"), -1, &x), 0);
		assert_string_equal(names_of(sample_path("three.record")),
				    "/apollo/sensor/gnss/imu 1; /car/middle 2; /car/rear 3; ");
		assert_int_equal(convert(imus(own, 3, turn), sample_fresh("own.record"), -1, &x), 0);
		assert_string_equal(names_of(sample_path("own.record")),
				    "/apollo/sensor/gnss/imu 2; /car/front 1; /zoe 3; ");
	}
}

/* A map that is sent once stays for who comes later, in each encoding that can say so. */
/* Sequence numbers of an IMU: of the log, and of the messages' headers in a bag. */
static void has_sequences(const char *path, bool in_header)
{
	struct log_reader *r = sample_open(path, NULL);
	struct log_message m;
	unsigned k = 0;

	while (log_reader_next(r, &m) > 0) {
		uint32_t seq = m.sequence;

		if (strcmp(log_reader_info(r)->channels[m.channel].topic, "/car/imu") != 0)
			continue;
		if (in_header)
			memcpy(&seq, m.data, sizeof(seq));
		assert_int_equal(seq, k++);
	}
	assert_int_equal(k, N);
	log_reader_close(r);
}

/* ROS 1 has it in the header, the others in the log: there and back. */
TEST(a_sequence_number_is_kept)
{
	static const int kinds[] = { CODEC_NATIVE, CODEC_PACKED, CODEC_ROS2 };
	char bag[TEST_PATH_MAX], log[TEST_PATH_MAX];
	struct copy_result x;

	snprintf(bag, sizeof(bag), "%s", sample_fresh("seq.bag"));
	assert_int_equal(convert(a_log(), bag, -1, &x), 0);
	has_sequences(bag, true);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(log, sizeof(log), "%s", sample_fresh("seq.mcap"));
		assert_int_equal(convert(bag, log, kinds[i], &x), 0);
		assert_string_equal(said, "");
		has_sequences(log, false);
		assert_int_equal(convert(log, sample_fresh("seq2.bag"), -1, &x), 0);
		has_sequences(sample_path("seq2.bag"), true);
	}
	assert_int_equal(convert(bag, sample_fresh("seq.record"), -1, &x), 0);
	assert_non_null(strstr(said, "sequence numbers of messages are left out"));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* once */
}

TEST(the_latched_flag_is_kept)
{
	static const struct log_pair latching = { "latching", "1" };
	const struct log_channel map = { .topic = "/map",
					 .message_encoding = "ros1",
					 .schema_name = "std_msgs/Float64",
					 .schema_encoding = "ros1msg",
					 .schema = { "float64 data\n", 13 },
					 .metadata = &latching,
					 .n_metadata = 1 };
	const struct sample m = { 0, BEGIN, "01234567" };
	const struct sample_log s = {
		.options = { .format = LOG_BAG }, .channels = &map, .n_channels = 1, .messages = &m, .n = 1
	};
	static const int kinds[] = { CODEC_NATIVE, CODEC_PACKED, CODEC_JSON, CODEC_ROS2, CODEC_ROS1 };
	char from[TEST_PATH_MAX];

	snprintf(from, sizeof(from), "%s", sample_write("latched.bag", &s));
	for (unsigned i = 0; i < 5; i++) {
		struct copy_result x;
		struct log_reader *r;

		assert_int_equal(convert(from, sample_fresh("latched.mcap"), kinds[i], &x), 0);
		r = sample_open(sample_path("latched.mcap"), NULL);
		assert_true(channel_is_latched(&log_reader_info(r)->channels[0]));
		log_reader_close(r);
		snprintf(from, sizeof(from), "%s", sample_path("latched.mcap"));
		assert_int_equal(rename(from, sample_fresh("latched_from.mcap")), 0);
		snprintf(from, sizeof(from), "%s", sample_path("latched_from.mcap"));
	}
}

TEST(large_messages_are_converted)
{
	const char *path = sample_fresh("large.mcap");
	struct made l = begin(path);
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(body, sizeof(body), &b);
	struct copy_result x;

	channel(&l, "/camera", &sim_Image_type);
	m->height = 300;
	m->width = 1000;
	m->step = 3000;
	assert_int_equal(sim_Image_encoding_set(&b, "rgb8"), 0);
	assert_non_null(sim_Image_data_alloc(&b, 900000));
	put(&l, 0, 0, sim_builder_size(&b));
	end(&l, path);
	for (unsigned i = 0; i < WAYS; i++) {
		assert_int_equal(convert(path, sample_fresh("large_out.mcap"),
					 ways[i].encoding < 0 ? CODEC_ROS1 : ways[i].encoding, &x),
				 0);
		assert_int_equal(x.n_messages, 1);
		assert_string_equal(said, "");
	}
}

/* A type without fields has an empty text in a bag, and the sum of that; a type whose text is missing has "*". */
TEST(an_empty_type_in_a_bag_is_valid)
{
	static const struct log_channel channels[] = {
		{ .topic = "/go", .message_encoding = "ros1", .schema_name = "own/Go", .schema_encoding = "ros1msg" },
		{ .topic = "/raw", .message_encoding = "ros1", .schema_name = "own/Raw", .schema_encoding = "" },
	};
	static const struct sample messages[] = { { 0, BEGIN, "" }, { 1, BEGIN + 1, "anything" } };
	const struct sample_log s = {
		.options = { .format = LOG_BAG }, .channels = channels, .n_channels = 2, .messages = messages, .n = 2
	};
	const char *path = sample_write("empty.bag", &s);
	struct log_reader *r = sample_open(path, NULL);
	struct copy_result x;

	assert_string_equal(channel_metadata(&log_reader_info(r)->channels[0], "md5sum"),
			    "d41d8cd98f00b204e9800998ecf8427e");
	assert_string_equal(channel_metadata(&log_reader_info(r)->channels[1], "md5sum"), "*");
	log_reader_close(r);
	assert_int_equal(convert(path, sample_fresh("out.mcap"), CODEC_NATIVE, &x), 0);
	assert_int_equal(x.n_messages, 1);
	assert_int_equal(x.n_left_out, 1);
	assert_non_null(strstr(said, "/raw (own/Raw, encoding ros1) is left out: "));
	assert_int_equal(convert(sample_path("out.mcap"), sample_fresh("again.bag"), -1, &x), 0);
	assert_int_equal(x.n_messages, 1);
	assert_string_equal(said, "");
}

/* A foreign bag: a known type with valid messages, one whose messages are invalid, one without a definition. */
static const char *somebodys(void)
{
	static const struct log_channel channels[] = {
		{ .topic = "/number",
		  .message_encoding = "ros1",
		  .schema_name = "std_msgs/Float64",
		  .schema_encoding = "ros1msg",
		  .schema = { "float64 data\n", 13 } },
		{ .topic = "/broken",
		  .message_encoding = "ros1",
		  .schema_name = "std_msgs/String",
		  .schema_encoding = "ros1msg",
		  .schema = { "string data\n", 12 } },
		{ .topic = "/raw", .message_encoding = "ros1", .schema_name = "own/Raw", .schema_encoding = "" },
	};
	static const struct sample messages[] = {
		{ 0, BEGIN, "01234567" }, { 1, BEGIN + 1, "xx" }, { 1, BEGIN + 2, "yy" }, { 2, BEGIN + 3, "anything" }
	};
	const struct sample_log s = {
		.options = { .format = LOG_BAG }, .channels = channels, .n_channels = 3, .messages = messages, .n = 4
	};

	return sample_write("somebodys.bag", &s);
}

TEST(messages_that_cannot_be_converted_are_named_and_counted)
{
	struct copy_result x;

	assert_int_equal(convert(somebodys(), sample_fresh("out.mcap"), CODEC_NATIVE, &x), 0);
	assert_int_equal(x.n_messages, 1);
	assert_int_equal(x.n_left_out, 1);
	assert_int_equal(x.n_refused, 2);
	assert_non_null(strstr(said, "/raw (own/Raw, encoding ros1) is left out: "));
	assert_non_null(strstr(said, "no definition of this type"));
	assert_non_null(strstr(said, "/broken (std_msgs/String): 2 messages are left out, the first: it is malformed"));
}

/*
 * JSON is converted, and the fields that are not are named once for each channel, with the count where messages had to
 * be examined.
 */
TEST(json_fields_that_are_not_converted_are_named)
{
	static const char schema[] = "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"number\"},\"any\":{}}}";
	static const struct log_channel channels[] = {
		{ .topic = "/thing",
		  .message_encoding = "json",
		  .schema_name = "car.Thing",
		  .schema_encoding = "jsonschema",
		  .schema = { schema, sizeof(schema) - 1 } },
		{ .topic = "/number", .message_encoding = "json", .schema_name = "sim/Float64", .schema_encoding = "" },
		{ .topic = "/raw", .message_encoding = "json", .schema_name = "", .schema_encoding = "" },
	};
	static const struct sample messages[] = { { 0, BEGIN, "{\"x\":1,\"any\":2}" },
						  { 1, BEGIN + 1, "{\"data\":1,\"unit\":\"m\"}" },
						  { 1, BEGIN + 2, "{\"data\":2,\"unit\":\"m\"}" },
						  { 2, BEGIN + 3, "{}" } };
	const struct sample_log s = {
		.options = { .format = LOG_MCAP }, .channels = channels, .n_channels = 3, .messages = messages, .n = 4
	};
	struct copy_result x;

	assert_int_equal(convert(sample_write("json.mcap", &s), sample_fresh("out.mcap"), CODEC_NATIVE, &x), 0);
	assert_int_equal(x.n_messages, 3);
	assert_int_equal(x.n_left_out, 1);
	assert_non_null(strstr(said, "/raw (, encoding json) is left out: "));
	assert_non_null(strstr(said, "/thing (car.Thing): fields that no type can have are left out: any (anything)"));
	assert_non_null(
		strstr(said,
		       "/number (sim/Float64): 2 messages have fields that the type does not have, the first: unit"));
	assert_int_equal(convert(sample_path("json.mcap"), sample_fresh("same.mcap"), -1, &x), 0); /* as it is */
	assert_int_equal(x.n_messages, 4);
	assert_string_equal(said, "");
}

/* A message that contains itself: named once, though there are two of them, and no field is lost. */
TEST(protobuf_fields_converted_as_bytes_are_named)
{
	static const char set[] = "\x0a\x26\x0a\x07"
				  "a.proto"
				  "\x12\x01"
				  "a"
				  "\x22\x18\x0a\x01"
				  "B"
				  "\x12\x13\x0a\x05"
				  "again"
				  "\x18\x01\x20\x01\x28\x0b\x32\x04"
				  ".a.B";
	static const struct log_channel channels[] = { { .topic = "/b",
							 .message_encoding = "protobuf",
							 .schema_name = "a.B",
							 .schema_encoding = "protobuf",
							 .schema = { set, sizeof(set) - 1 } } };
	static const struct sample messages[] = { { 0, BEGIN, "" }, { 0, BEGIN + 1, "" } };
	const struct sample_log s = {
		.options = { .format = LOG_MCAP }, .channels = channels, .n_channels = 1, .messages = messages, .n = 2
	};
	const char *sentence = "/b (a.B): a.B.again nests itself, and is carried as bytes\n";
	struct copy_result x;

	assert_int_equal(convert(sample_write("b.mcap", &s), sample_fresh("out.mcap"), CODEC_NATIVE, &x), 0);
	assert_int_equal(x.n_messages, 2);
	assert_int_equal(x.n_left_out + x.n_refused, 0);
	assert_non_null(strstr(said, sentence));
	assert_string_equal(strstr(said, sentence), sentence); /* nothing behind it */
	assert_int_equal(convert(sample_path("b.mcap"), sample_fresh("same.mcap"), CODEC_APOLLO, &x), 0); /* as it is */
	assert_string_equal(said, "");
}

/* ---- the command ---- */

__attribute__((format(printf, 1, 2))) static int simctl(const char *format, ...)
{
	char command[1000], args[700];
	va_list ap;
	FILE *f;
	size_t n;
	int st;

	va_start(ap, format);
	vsnprintf(args, sizeof(args), format, ap);
	va_end(ap);
	snprintf(command, sizeof(command), SIMCTL " bag %s 2>&1", args);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	st = pclose(f);
	return WEXITSTATUS(st);
}

TEST(simctl_bag_convert_converts)
{
	char native[TEST_PATH_MAX];

	snprintf(native, sizeof(native), "%s", a_log());
	assert_int_equal(simctl("convert %s %s --encoding ros2", native, sample_fresh("c.mcap")), 0);
	assert_non_null(strstr(text, "40 messages in 1 file"));
	assert_int_equal(simctl("info %s", sample_path("c.mcap")), 0);
	assert_non_null(strstr(text, "mcap ros2"));
	assert_non_null(strstr(text, "sensor_msgs/msg/Imu"));
	assert_int_equal(simctl("convert %s %s", native, sample_fresh("c.bag")), 0);
	assert_int_equal(simctl("convert %s %s", somebodys(), sample_fresh("c.record")), 1);
	assert_non_null(strstr(text, "simctl: "));
	assert_non_null(strstr(text, "2 messages are left out"));
	assert_int_equal(simctl("convert %s %s --encoding ros2", native, sample_fresh("d.bag")), 2);
	assert_non_null(strstr(text, "a .bag takes the encoding ros1 alone"));
	assert_int_equal(simctl("convert %s %s --encoding xml", native, sample_fresh("d.mcap")), 2);
	assert_non_null(strstr(text, "native, packed, json, ros2, ros1 or apollo"));
}

static bool has_bytes(const char *path, const char *wanted)
{
	size_t n;
	uint8_t *bytes = sample_bytes(path, &n);
	bool has = memmem(bytes, n, wanted, strlen(wanted)) != NULL;

	mem_free(bytes);
	return has;
}

#define OF_5  "modules/drivers/gnss/proto/imu.proto"
#define OF_10 "modules/common_msgs/sensor_msgs/imu.proto"

/*
 * A log that already has Apollo's messages gets other definitions too; its own are kept for types that the new ones
 * lack.
 */
TEST(simctl_bag_convert_writes_the_requested_apollo_release_and_definitions)
{
	char native[TEST_PATH_MAX], first[TEST_PATH_MAX];

	snprintf(native, sizeof(native), "%s", a_log());
	snprintf(first, sizeof(first), "%s", sample_fresh("first.record"));
	assert_int_equal(simctl("convert %s %s", native, first), 0);
	assert_true(has_bytes(first, OF_10) && !has_bytes(first, OF_5));
	assert_int_equal(simctl("convert %s %s --apollo 6.0", native, sample_fresh("c.record")), 0);
	assert_true(has_bytes(sample_path("c.record"), OF_5) && !has_bytes(sample_path("c.record"), OF_10));
	holds(sample_path("c.record"), 6);
	assert_int_equal(simctl("convert %s %s --apollo 5.0 --definitions schemas/apollo/5", native,
				sample_fresh("d.record")),
			 0);
	assert_true(has_bytes(sample_path("d.record"), OF_5) && !has_bytes(sample_path("d.record"), OF_10));
	holds(sample_path("d.record"), 6);
	assert_int_equal(simctl("convert %s %s --apollo 5.0 --definitions schemas/apollo/5", first,
				sample_fresh("e.record")),
			 0);
	assert_true(has_bytes(sample_path("e.record"), OF_5) && !has_bytes(sample_path("e.record"), OF_10));
	holds(sample_path("e.record"), 6);
	assert_int_equal(simctl("convert %s %s --definitions tests/fuzz/corpus/apollo_set/header", first,
				sample_fresh("f.record")),
			 0);
	assert_non_null(strstr(
		text,
		"header: it lacks messages that are sent: apollo.transform.TransformStampeds, apollo.drivers.Image, "));
	assert_non_null(strstr(text, "/apollo/sensor/gnss/imu keeps its own definition of apollo.drivers.gnss.Imu: "
				     "those that are given have none"));
	assert_null(strstr(text, "/car/number"));
	assert_true(has_bytes(sample_path("f.record"), OF_10));
	holds(sample_path("f.record"), 6);
}

TEST(simctl_bag_convert_reports_errors_in_definitions)
{
	char native[TEST_PATH_MAX];

	snprintf(native, sizeof(native), "%s", a_log());
	assert_int_equal(simctl("convert %s %s --apollo 4", native, sample_fresh("c.record")), 2);
	assert_non_null(strstr(text, "--apollo is a release of Apollo: 5.0 to 7.0, 8.0 to 10.0"));
	assert_int_equal(simctl("convert %s %s --apollo 5.0 --encoding ros2", native, sample_fresh("c.mcap")), 2);
	assert_int_equal(simctl("convert %s %s --apollo 5.0", native, sample_fresh("c.bag")), 2);
	assert_non_null(strstr(text, "--apollo and --definitions are for messages in the encoding apollo"));
	assert_int_equal(simctl("convert %s %s --definitions /nowhere/a", native, sample_fresh("c.record")), 1);
	assert_non_null(strstr(text, "/nowhere/a: it cannot be read: No such file or directory"));
	assert_int_equal(access(sample_path("c.record"), F_OK), -1);
	assert_int_equal(simctl("convert %s %s --definitions tests/fuzz/corpus/apollo_set/header", native,
				sample_fresh("c.record")),
			 1);
	assert_non_null(strstr(text, "/car/imu (sim_msgs/msg/Imu, encoding cdr) is left out: "
				     "the definitions that are given have no apollo.drivers.gnss.Imu"));
}

TEST(a_name_ending_in_a_slash_is_a_rosbag2_directory)
{
	char native[TEST_PATH_MAX], in[TEST_PATH_MAX], dir[TEST_PATH_MAX + 8], file[TEST_PATH_MAX + 40];

	snprintf(native, sizeof(native), "%s", a_log());
	snprintf(in, sizeof(in), "%s", sample_path("bag-XXXXXX"));
	assert_non_null(mkdtemp(in));
	snprintf(dir, sizeof(dir), "%s/run", in);
	assert_int_equal(simctl("convert %s %s/", native, dir), 0);
	holds(dir, 2);
	snprintf(file, sizeof(file), "%s/run.mcap", dir);
	holds(file, 2);
	assert_int_equal(simctl("convert %s %s/", native, dir), 1);
	assert_non_null(strstr(text, "it exists, and is kept"));
	holds(dir, 2);
	assert_int_equal(simctl("convert %s %s/x/ --encoding packed", native, in), 2);
	assert_non_null(strstr(text, "the encodings ros2 and native"));
	assert_int_equal(simctl("convert %s.none %s/x/", native, in), 1);
	snprintf(file, sizeof(file), "%s/x", in);
	assert_int_equal(access(file, F_OK), -1);
}

TEST(simctl_bag_cat_prints_messages)
{
	assert_int_equal(simctl("cat %s --include /car/number -n 1", a_log()), 0);
	assert_string_equal(text,
			    "{\"channel\":\"/car/number\",\"type\":\"sim_msgs/msg/Float64\",\"encoding\":\"cdr\","
			    "\"log_time_ns\":1700000000000000000,\"publish_time_ns\":1699999999999999995,\"sequence\":0,"
			    "\"size\":36,\"sim_type\":\"sim/Float64\",\"stamp_sim_ns\":1699999999999999995,"
			    "\"frame_id\":\"base_link\",\"message\":{\"data\":0.5}}\n");
	assert_int_equal(simctl("cat %s --no-arr --include imu -n 1", a_log()), 0);
	assert_int_equal(simctl("cat %s", somebodys()), 0);
	assert_non_null(strstr(text, "\"error\":\"it is malformed\""));
	assert_non_null(strstr(text, "simctl: /raw (own/Raw): there is no definition of this type"));
}
