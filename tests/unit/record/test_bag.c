/* SPDX-License-Identifier: Apache-2.0 */
/* ROS 1's .bag: read and written, whole and damaged. That ROS's own tools read and write the same: tests/system/ros1. */
#include "sample.h"

#include "record/bag_format.h"

static const struct log_pair latched[] = { { "callerid", "/simd" }, { "latching", "1" } };
static const struct log_channel channels[] = {
	{ .topic = "/chat",
	  .message_encoding = "ros1",
	  .schema_name = "std_msgs/String",
	  .schema_encoding = "ros1msg",
	  .schema = { SAMPLE_TEXT, sizeof(SAMPLE_TEXT) - 1 },
	  .metadata = latched,
	  .n_metadata = 2 },
	{ .topic = "/raw", .message_encoding = "ros1", .schema_name = "own/Raw", .schema_encoding = "" },
};

static const struct sample messages[] = { { 0, 2500000001, "one" }, { 1, 3000000000, "two" }, { 0, 2000000000, "" } };

static struct sample_log small_of(enum log_compression c)
{
	return (struct sample_log){ .options = { .format = LOG_BAG, .compression = c },
				    .channels = channels,
				    .n_channels = 2,
				    .messages = messages,
				    .n = 3 };
}

static const enum log_compression compressions[] = { LOG_COMPRESSION_NONE, LOG_COMPRESSION_LZ4, LOG_COMPRESSION_BZ2 };
static const char *const names[] = { "none", "lz4", "bz2" };

#define SORTED   "0@2000000000: 0@2500000001:one 1@3000000000:two "
#define UNSORTED "0@2500000001:one 1@3000000000:two 0@2000000000: "

TEST(a_bag_of_each_compression_reads_back)
{
	const struct log_read_options as_it_stands = { .file_order = true }, scan = { .scan = true };

	for (int i = 0; i < 3; i++) {
		struct sample_log s = small_of(compressions[i]);
		const char *path = sample_write("a.bag", &s);
		struct log_reader *r = sample_open(path, NULL);

		assert_string_equal(log_reader_info(r)->compression, names[i]);
		assert_string_equal(sample_read(r), SORTED);
		log_reader_close(r);
		assert_string_equal(sample_all(path, &as_it_stands), UNSORTED);
		assert_string_equal(sample_all(path, &scan), SORTED);
	}
}

static const char *metadata(const struct log_channel *ch, const char *key)
{
	for (size_t i = 0; i < ch->n_metadata; i++)
		if (!strcmp(ch->metadata[i].key, key))
			return ch->metadata[i].value;
	return "";
}

TEST(info_describes_the_file)
{
	struct sample_log s = small_of(LOG_COMPRESSION_NONE);
	struct log_reader *r = sample_open(sample_write("a.bag", &s), NULL);
	const struct log_info *i = log_reader_info(r);

	assert_int_equal(i->format, LOG_BAG);
	assert_true(i->complete && i->indexed && i->counted);
	assert_string_equal(i->profile, "ros1");
	assert_int_equal(i->n_messages, 3);
	assert_int_equal(i->start_ns, 2000000000);
	assert_int_equal(i->end_ns, 3000000000);
	assert_int_equal(i->n_channels, 2);
	assert_string_equal(i->channels[0].topic, "/chat");
	assert_string_equal(i->channels[0].schema_name, "std_msgs/String");
	assert_int_equal(i->channels[0].schema.size, strlen(SAMPLE_TEXT));
	assert_int_equal(i->channels[0].n_messages, 2);
	assert_string_equal(metadata(&i->channels[0], "callerid"), "/simd");
	assert_string_equal(metadata(&i->channels[0], "latching"), "1");
	assert_string_equal(metadata(&i->channels[0], "md5sum"), "992ce8a1687cec8c8bd883ec73ca41d1"); /* ROS's own */
	assert_string_equal(metadata(&i->channels[1], "md5sum"), "*");
	log_reader_close(r);
}

TEST(the_first_record_is_4096_bytes_and_names_the_index)
{
	struct sample_log s = small_of(LOG_COMPRESSION_NONE);
	size_t n;
	uint8_t *p = sample_bytes(sample_write("a.bag", &s), &n);
	struct bag_head h;
	uint32_t len;

	assert_memory_equal(p, "#ROSBAG V2.0\n", 13);
	memcpy(&len, p + 13, 4);
	assert_true(bag_head_parse(p + 17, len, &h));
	assert_int_equal(h.op, BAG_HEADER);
	assert_int_equal(h.conn_count.data[0], 2);
	assert_int_equal(h.chunk_count.data[0], 1);
	assert_int_equal(p[17 + len] + p[18 + len] * 256u + len, 4096); /* header and padding */
	assert_memory_equal(p + 13 + 8 + 4096 + 4,
			    "\x10\0\0\0"
			    "compression=none",
			    20);
	mem_free(p);
}

static struct sample many[300];

static struct sample_log a_long_one(enum log_compression c)
{
	struct sample_log s = small_of(c);

	for (int i = 0; i < 300; i++)
		many[i] = (struct sample){ (uint32_t)i % 2, ((int64_t)i + (i % 2 ? 5 : 0)) * 1000000 + i,
					   "twenty bytes of text" };
	s.messages = many;
	s.n = 300;
	s.options.chunk_bytes = 500;
	return s;
}

static void in_order(struct log_reader *r, size_t n)
{
	struct log_message m;
	int64_t before = INT64_MIN;
	size_t i = 0;

	for (; log_reader_next(r, &m) > 0; i++, before = m.log_time_ns)
		assert_true(m.log_time_ns >= before);
	assert_int_equal(i, n);
}

TEST(chunks_are_merged_sought_and_filtered)
{
	struct sample_log s = a_long_one(LOG_COMPRESSION_LZ4);
	struct log_reader *r = sample_open(sample_write("a.bag", &s), NULL);
	const bool want[] = { false, true };
	struct log_message m;

	assert_true(log_reader_info(r)->n_chunks > 20);
	in_order(r, 300);
	assert_int_equal(log_reader_seek(r, 100000000), 0);
	assert_int_equal(log_reader_next(r, &m), 1);
	assert_int_equal(m.log_time_ns, 100000095);
	assert_int_equal(log_reader_seek(r, 0), 0);
	assert_int_equal(log_reader_select(r, want, 2), 0);
	in_order(r, 150);
	log_reader_close(r);
}

/* As a killed writer leaves it: no index, and a last chunk with its messages, but without its length. */
TEST(a_bag_of_a_killed_writer_is_read)
{
	for (int i = 0; i < 3; i++) {
		struct sample_log s = a_long_one(compressions[i]);
		const char *path = sample_path("a.bag");
		struct log_writer *w = sample_begin(path, &s);
		struct log_reader *r;

		assert_true(sample_put(w, &s));
		assert_int_equal(log_writer_flush(w), 0);
		log_writer_abandon(w);
		r = sample_open(path, NULL);
		assert_false(log_reader_info(r)->complete);
		assert_int_equal(log_reader_info(r)->n_messages, 300);
		assert_int_equal(log_reader_info(r)->channels[0].n_messages, 150);
		in_order(r, 300);
		log_reader_close(r);
	}
}

static uint32_t zero_u32(uint8_t *at)
{
	uint32_t was;

	memcpy(&was, at, 4);
	memset(at, 0, 4);
	return was;
}

/* The only chunk of a small bag: its length and that of its contents are made 0, what is behind it is cut off. */
static const char *unclosed(enum log_compression c, size_t missing)
{
	struct sample_log s = small_of(c);
	size_t n, at = 13 + 8 + 4096;
	uint8_t *p = sample_bytes(sample_write("a.bag", &s), &n), *size = memmem(p + at, 100, "size=", 5);
	const char *path;
	uint32_t len, data;

	memcpy(&len, p + at, 4);
	zero_u32(size + 5);
	data = zero_u32(p + at + 4 + len);
	memset(memmem(p, 200, "index_pos=", 10) + 10, 0, 8);
	path = sample_file("unclosed.bag", p, at + 8 + len + data - missing);
	mem_free(p);
	return path;
}

TEST(messages_of_an_open_chunk_are_read)
{
	for (int i = 0; i < 3; i++)
		assert_string_equal(sample_all(unclosed(compressions[i], 0), NULL), SORTED);
	assert_string_equal(sample_all(unclosed(LOG_COMPRESSION_NONE, 5), NULL),
			    "! 0@2500000001:one 1@3000000000:two ");
}

TEST(damage_costs_only_the_damaged_part)
{
	const struct log_read_options scan = { .scan = true };
	struct sample_log s = a_long_one(LOG_COMPRESSION_NONE);
	size_t n;
	uint8_t *p = sample_bytes(sample_write("a.bag", &s), &n), *chunk = p + 13 + 8 + 4096;
	const char *all, *second;

	chunk = memmem(chunk + 100, n - 5000, "compression=none", 16); /* the second one */
	assert_non_null(chunk);
	chunk[0] = '?';
	all = sample_all(sample_file("broken.bag", p, n), &scan);
	second = strchr(all, '!');
	assert_non_null(second);
	assert_null(strchr(second + 1, '!'));
	assert_non_null(strstr(second, "1@304000299:")); /* the message behind it is read */
	mem_free(p);
}

TEST(a_damaged_compressed_chunk_is_named)
{
	for (int i = 1; i < 3; i++) {
		struct sample_log s = small_of(compressions[i]);
		size_t n;
		uint8_t *p = sample_bytes(sample_write("a.bag", &s), &n);
		struct log_reader *r;
		struct log_message m;

		p[13 + 8 + 4096 + 70 + 40] ^= 0xff;
		r = sample_open(sample_file("broken.bag", p, n), NULL);
		assert_int_equal(log_reader_next(r, &m), -EBADMSG);
		assert_non_null(strstr(log_reader_why(r), "offset 4117: the compressed chunk is damaged"));
		log_reader_close(r);
		mem_free(p);
	}
}

TEST(a_chunk_that_unpacks_to_too_much_is_refused)
{
	const struct log_read_options o = { .max_bytes = 5 << 20 };
	char *zeros = mem_zalloc(32 << 20);
	const struct sample big = { 0, 1, "" };
	struct sample_log s = small_of(LOG_COMPRESSION_BZ2);
	const char *path = sample_path("bomb.bag");
	struct log_message m = { .log_time_ns = 1 };
	struct log_writer *w;
	struct log_reader *r;

	s.messages = &big;
	w = sample_begin(path, &s);
	assert_non_null(zeros);
	assert_int_equal(log_writer_put(w, &m, &(struct iovec){ zeros, 32 << 20 }, 1), 0);
	assert_int_equal(log_writer_finish(w, NULL, 0), 0);
	r = sample_open(path, &o);
	assert_int_equal(log_reader_next(r, &m), -EMSGSIZE);
	assert_non_null(strstr(log_reader_why(r), "unpacks to more"));
	assert_int_equal(log_reader_next(r, &m), 0);
	log_reader_close(r);
	r = sample_open(path, NULL);
	assert_int_equal(log_reader_next(r, &m), 1);
	assert_int_equal(m.size, 32 << 20);
	log_reader_close(r);
	mem_free(zeros);
}

TEST(a_truncated_file_is_read_up_to_the_cut)
{
	for (int i = 0; i < 3; i++) {
		struct sample_log s = small_of(compressions[i]);

		sample_cut_everywhere(sample_write("a.bag", &s), 3);
	}
}

TEST(flipped_bits_are_survived)
{
	for (int i = 0; i < 3; i++) {
		struct sample_log s = small_of(compressions[i]), many_chunks = a_long_one(compressions[i]);

		sample_flip_everywhere(sample_write("a.bag", &s), 4100, 1);
		sample_flip_everywhere(sample_write("a.bag", &many_chunks), 4100, TEST_STRIDE > 1 ? 47 : 11);
	}
}

TEST(channels_that_the_format_cannot_hold_are_refused)
{
	const struct log_channel cdr = { .topic = "/r",
					 .message_encoding = "cdr",
					 .schema_name = "std_msgs/msg/String",
					 .schema_encoding = "ros2msg" };
	struct sample_log s = small_of(LOG_COMPRESSION_NONE);
	struct log_writer *w = sample_begin(sample_path("a.bag"), &s);
	struct log_write_options o = { .format = LOG_BAG, .compression = LOG_COMPRESSION_ZSTD };
	struct log_message m = { .log_time_ns = INT64_C(5000000000) * 1000000000 };
	struct log_reader *r;
	uint32_t id;

	assert_int_equal(log_writer_add_channel(w, &cdr, &id), -ENOTSUP);
	assert_int_equal(log_writer_put(w, &m, NULL, 0), -ERANGE); /* of the year 2128 */
	assert_int_equal(log_writer_finish(w, NULL, 0), 0);
	assert_int_equal(log_writer_create(sample_path("b.bag"), &o, &w, sample_why, sizeof(sample_why)), -ENOTSUP);
	assert_non_null(strstr(sample_why, "lz4 and bz2"));
	assert_int_equal(log_reader_open(sample_file("c.bag", "#ROSBAG V1.2\n....", 17), NULL, &r, sample_why,
					 sizeof(sample_why)),
			 -ENOTSUP);
	assert_non_null(strstr(sample_why, "rosbag fix"));
}
