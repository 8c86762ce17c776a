/* SPDX-License-Identifier: Apache-2.0 */
/* Apollo's .record: the bytes of Cyber RT's writer, by hand; and what can be read of files that are damaged. */
#include "sample.h"

#include "record/record_format.h"

#define DESC \
	"\x0a\x03" \
	"abc"

static const struct log_channel channels[] = {
	{ .topic = "/a",
	  .message_encoding = "protobuf",
	  .schema_name = "apollo.A",
	  .schema_encoding = "apollo",
	  .schema = { DESC, 5 } },
	{ .topic = "/b", .message_encoding = "protobuf", .schema_name = "apollo.B", .schema_encoding = "" },
};

static const struct sample messages[] = { { 0, 300, "one" }, { 1, 1000, "two" }, { 0, 200, "" } };

static const struct sample_log small = {
	.options = { .format = LOG_RECORD }, .channels = channels, .n_channels = 2, .messages = messages, .n = 3
};

/* The file, worked out by hand from cyber.proto's record.proto. The head of a section: type, 4 zeros, length in 8 bytes. */
#define HEAD(type, size) type "\0\0\0\0\0\0\0" size "\0\0\0\0\0\0\0"
static const char header[] = HEAD("\0", "\x32") "\x08\1\x10\0\x18\0"
						"\x20\x80\x90\xdf\xc0\x4a\x28\x80\xb0\x9d\xc2\xdf\1" /* 20 s, 60 s */
						"\x30\xa6\x11\x38\1\x40\2\x48\xc8\1\x50\xe8\7\x58\3\x60\x93\x12\x68\1"
						"\x70\x80\x80\x80\x08\x78\x80\x80\x80\x80\x08" /* 16 MiB, 2 GiB */
						"\x30";
static const char sections[] = HEAD("\4", "\x15") "\x0a\2/a\x12\x08"
						  "apollo.A\x1a\5" DESC /* at 2064: Channel */
							  HEAD("\4", "\x10") "\x0a\2/b\x12\x08"
									     "apollo.B\x1a\0" /* 2101 */
	HEAD("\1", "\x0a") "\x08\xc8\1\x10\xe8\7\x18\3\x20\6"                                 /* 2133: ChunkHeader */
	HEAD("\2",
	     "\x27") "\x0a\x0c\x0a\2/a\x10\xac\2\x1a\3one" /* 2159: ChunkBody */
		     "\x0a\x0c\x0a\2/b\x10\xe8\7\x1a\3two"
		     "\x0a\x09\x0a\2/a\x10\xc8\1\x1a\0" HEAD(
			     "\3",
			     "\x5d") "\x0a\x1f\x08\4\x10\x90\x10\xaa\6\x17\x08\2\x12\2/a\x1a\x08" /* 2214: Index */
				     "apollo.A\x22\5" DESC "\x0a\x1a\x08\4\x10\xb5\x10\xaa\6\x12\x08\1\x12\2/b\x1a\x08"
				     "apollo.B\x22\0"
				     "\x0a\x12\x08\1\x10\xd5\x10\xb2\6\x0a\x08\3\x10\xc8\1\x18\xe8\7\x20\6"
				     "\x0a\x0a\x08\2\x10\xef\x10\xba\6\2\x08\3";

TEST(a_record_has_the_bytes_of_cyber_rt)
{
	size_t n, n_header = sizeof(header) - 1, n_sections = sizeof(sections) - 1;
	uint8_t *p = sample_bytes(sample_write("a.record", &small), &n);

	assert_int_equal(n, 2323);
	assert_int_equal(n, RECORD_FIRST + n_sections);
	assert_memory_equal(p, header, n_header);
	for (size_t i = n_header; i < RECORD_FIRST; i++)
		assert_int_equal(p[i], 0);
	assert_memory_equal(p + RECORD_FIRST, sections, n_sections);
	mem_free(p);
}

TEST(a_file_is_read_by_time_or_in_file_order)
{
	const struct log_read_options as_it_stands = { .file_order = true };
	const char *path = sample_write("a.record", &small);

	assert_string_equal(sample_all(path, NULL), "0@200: 0@300:one 1@1000:two ");
	assert_string_equal(sample_all(path, &as_it_stands), "0@300:one 1@1000:two 0@200: ");
}

TEST(info_describes_the_file)
{
	struct log_reader *r = sample_open(sample_write("a.record", &small), NULL);
	const struct log_info *i = log_reader_info(r);

	assert_int_equal(i->format, LOG_RECORD);
	assert_true(i->complete && i->indexed && i->counted);
	assert_int_equal(i->n_messages, 3);
	assert_int_equal(i->n_chunks, 1);
	assert_int_equal(i->start_ns, 200);
	assert_int_equal(i->end_ns, 1000);
	assert_int_equal(i->n_channels, 2);
	assert_string_equal(i->channels[0].topic, "/a");
	assert_string_equal(i->channels[0].schema_name, "apollo.A");
	assert_string_equal(i->channels[0].schema_encoding, "apollo");
	assert_string_equal(i->channels[0].message_encoding, "protobuf");
	assert_int_equal(i->channels[0].schema.size, 5);
	assert_memory_equal(i->channels[0].schema.data, DESC, 5);
	assert_int_equal(i->channels[0].n_messages, 2);
	assert_int_equal(i->channels[1].n_messages, 1);
	log_reader_close(r);
}

static struct sample many[200];

/* A message each 1 s, out of order by turns: chunks overlap. */
static const struct sample_log *a_long_one(size_t chunk_bytes)
{
	static struct sample_log s;

	s = small;
	for (int i = 0; i < 200; i++)
		many[i] = (struct sample){ (uint32_t)i % 2, ((int64_t)i + (i % 2 ? 5 : 0)) * 1000000000 + i,
					   "twenty bytes of text" };
	s.messages = many;
	s.n = 200;
	s.options.chunk_bytes = chunk_bytes;
	return &s;
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

TEST(chunks_close_by_size_and_by_time_and_are_merged)
{
	struct log_reader *r = sample_open(sample_write("a.record", a_long_one(100)), NULL);

	assert_int_equal(log_reader_info(r)->n_chunks, 40); /* of five messages */
	in_order(r, 200);
	log_reader_close(r);
	r = sample_open(sample_write("a.record", a_long_one(0)), NULL);
	assert_true(log_reader_info(r)->n_chunks >= 8); /* of 20 s */
	assert_true(log_reader_info(r)->n_chunks <= 16);
	in_order(r, 200);
	log_reader_close(r);
}

TEST(a_seek_and_a_channel_selection_work)
{
	struct log_reader *r = sample_open(sample_write("a.record", a_long_one(100)), NULL);
	const bool want[] = { false, true };
	struct log_message m;

	assert_int_equal(log_reader_seek(r, INT64_C(100000000000)), 0);
	assert_int_equal(log_reader_next(r, &m), 1);
	assert_int_equal(m.log_time_ns, INT64_C(100000000095)); /* the 95th, five seconds late */
	assert_int_equal(log_reader_seek(r, 0), 0);
	assert_int_equal(log_reader_select(r, want, 2), 0);
	in_order(r, 100);
	assert_int_equal(log_reader_seek(r, INT64_MAX), 0);
	assert_int_equal(log_reader_next(r, &m), 0);
	log_reader_close(r);
}

TEST(a_file_of_a_killed_writer_is_read)
{
	const char *path = sample_path("a.record");
	struct log_writer *w = sample_begin(path, a_long_one(100));
	struct log_reader *r;

	assert_true(sample_put(w, a_long_one(100)));
	assert_int_equal(log_writer_flush(w), 0);
	log_writer_abandon(w);
	r = sample_open(path, NULL);
	assert_false(log_reader_info(r)->complete);
	assert_false(log_reader_info(r)->indexed);
	assert_int_equal(log_reader_info(r)->n_messages, 200);
	assert_int_equal(log_reader_info(r)->channels[1].n_messages, 100);
	in_order(r, 200);
	log_reader_close(r);
}

TEST(a_damaged_section_costs_one_chunk)
{
	const struct log_read_options scan = { .scan = true };
	const char *path = sample_write("a.record", a_long_one(100));
	size_t n;
	uint8_t *p = sample_bytes(path, &n), *body = memmem(p + RECORD_FIRST, n - RECORD_FIRST, "\2\0\0\0\0\0\0\0", 8);
	const char *all;

	assert_non_null(body);
	body[0] = 77; /* no type of section */
	path = sample_file("broken", p, n);
	all = sample_all(path, &scan);
	assert_int_equal(*all, '!');
	assert_null(strchr(all + 1, '!'));
	assert_int_equal(strtol(strchr(all, '@') + 1, NULL, 10), INT64_C(6000000006)); /* five were lost */
	mem_free(p);
}

TEST(a_damaged_index_is_named_and_not_needed)
{
	size_t n;
	uint8_t *p = sample_bytes(sample_write("a.record", &small), &n);
	struct log_reader *r;
	struct log_message m;

	p[2214] = 2;
	r = sample_open(sample_file("broken", p, n), NULL);
	assert_false(log_reader_info(r)->indexed);
	assert_false(log_reader_info(r)->complete);
	assert_int_equal(log_reader_next(r, &m), -EBADMSG);
	assert_non_null(strstr(log_reader_why(r), "offset 2214: the index"));
	log_reader_close(r);
	mem_free(p);
}

TEST(a_truncated_file_is_read_up_to_the_cut)
{
	sample_cut_everywhere(sample_write("a.record", &small), 3);
}

TEST(flipped_bits_are_survived)
{
	sample_flip_everywhere(sample_write("a.record", &small), 0, 1);
	sample_flip_everywhere(sample_write("a.record", a_long_one(100)), RECORD_FIRST, 7);
}

TEST(channels_that_the_format_cannot_hold_are_refused)
{
	const struct log_channel ros = { .topic = "/r",
					 .message_encoding = "ros1",
					 .schema_name = "std_msgs/String",
					 .schema_encoding = "ros1msg" };
	const struct log_channel other = {
		.topic = "/a", .message_encoding = "protobuf", .schema_name = "apollo.Other", .schema_encoding = ""
	};
	const char *path = sample_path("a.record");
	struct log_writer *w = sample_begin(path, &small);
	struct log_message m = { .log_time_ns = -1 };
	struct log_write_options o = { .format = LOG_RECORD, .compression = LOG_COMPRESSION_ZSTD };
	uint32_t id = 99;

	assert_int_equal(log_writer_add_channel(w, &ros, &id), -ENOTSUP);
	assert_int_equal(log_writer_add_channel(w, &other, &id), -ENOTSUP); /* a name has one type */
	assert_int_equal(log_writer_add_channel(w, &channels[1], &id), 0);
	assert_int_equal(id, 1);
	assert_int_equal(log_writer_put(w, &m, NULL, 0), -ERANGE);
	m = (struct log_message){ .channel = 2 };
	assert_int_equal(log_writer_put(w, &m, NULL, 0), -EINVAL);
	assert_int_equal(log_writer_metadata(w, "x", NULL, 0), -ENOTSUP);
	assert_int_equal(log_writer_finish(w, NULL, 0), 0);
	assert_int_equal(log_writer_create(sample_path("b.record"), &o, &w, sample_why, sizeof(sample_why)), -ENOTSUP);
	assert_non_null(strstr(sample_why, "without compression"));
}
