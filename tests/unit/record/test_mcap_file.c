/* SPDX-License-Identifier: Apache-2.0 */
/* What our writer of MCAP writes, our reader reads: chunks, order, seeks, files that end in any way. */
#include "tests/support/test.h"
#include "tests/unit/record/mcap_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "mem.h"

static char path[TEST_PATH_MAX];
static char why[512];

static struct log_writer *create(enum log_compression c, size_t chunk_bytes)
{
	const struct log_write_options o = {
		.format = LOG_MCAP, .compression = c, .chunk_bytes = chunk_bytes, .profile = "ros2"
	};
	struct log_writer *w;

	unlink(test_path(path, "file.mcap"));
	assert_int_equal(log_writer_create(path, &o, &w, why, sizeof(why)), 0);
	return w;
}

static uint32_t add(struct log_writer *w, const char *topic, const char *schema)
{
	const struct log_pair qos = { "offered_qos_profiles", "- depth: 1" };
	const struct log_channel ch = { .topic = topic,
					.message_encoding = "cdr",
					.schema_name = schema,
					.schema_encoding = "ros2msg",
					.schema = { "int32 x", *schema ? 7 : 0 },
					.metadata = &qos,
					.n_metadata = 1 };
	uint32_t id;

	assert_int_equal(log_writer_add_channel(w, &ch, &id), 0);
	return id;
}

static int put(struct log_writer *w, uint32_t channel, uint32_t sequence, int64_t time, size_t size)
{
	const struct log_message m = {
		.channel = channel, .sequence = sequence, .log_time_ns = time, .publish_time_ns = time / 2
	};
	static uint8_t bytes[200000];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(sequence * 7 + i * (i >> 8));
	return log_writer_put(
		w, &m, (struct iovec[]){ { bytes, size / 3 }, { NULL, 0 }, { bytes + size / 3, size - size / 3 } }, 3);
}

static struct log_reader *open_file(const struct log_read_options *o)
{
	struct log_reader *r;

	if (log_reader_open(path, o, &r, why, sizeof(why)))
		fail_msg("%s", why);
	return r;
}

static struct sample_listing list_file(const struct log_read_options *o)
{
	struct log_reader *r = open_file(o);
	struct sample_listing l;

	sample_list(r, &l);
	log_reader_close(r);
	return l;
}

/* 600 messages of three channels in many chunks, times that go back now and then, finished. */
static void write_many(enum log_compression c)
{
	const struct log_pair pairs[] = { { "who", "simd" }, { "lost", "0" } };
	const struct log_attachment notes = { .name = "notes.txt",
					      .media_type = "text/plain",
					      .log_time_ns = 4000,
					      .create_time_ns = 3000,
					      .data = "hello",
					      .size = 5 };
	struct log_writer *w = create(c, 20000);
	uint32_t id[3] = { add(w, "/a", "pkg/msg/A"), add(w, "/b", "pkg/msg/B"), add(w, "/c", "pkg/msg/A") };

	add(w, "/idle", "pkg/msg/Idle");
	for (uint32_t i = 0; i < 600; i++) {
		assert_int_equal(put(w, id[i % 3], i, 1000 + i * 10 - (i % 7 == 0 ? 65 : 0), i % 50 ? 100 + i : 30000),
				 0);
		if (i == 300) {
			assert_int_equal(log_writer_metadata(w, "simd", pairs, 2), 0);
			assert_int_equal(log_writer_attachment(w, &notes), 0);
		}
	}
	if (log_writer_finish(w, why, sizeof(why)))
		fail_msg("%s", why);
}

TEST(messages_read_back_with_every_compression)
{
	static const char *const words[] = { "none", "lz4", "zstd" };
	struct sample_listing first = { 0 };

	for (int c = LOG_COMPRESSION_NONE; c <= LOG_COMPRESSION_ZSTD; c++) {
		const struct log_info *info;
		struct log_attachment a;
		struct log_reader *r;
		struct sample_listing l;

		write_many((enum log_compression)c);
		r = open_file(NULL);
		info = log_reader_info(r);
		assert_true(info->complete && info->indexed && info->counted);
		assert_int_equal(info->n_messages, 600);
		assert_string_equal(info->compression, words[c]);
		assert_string_equal(info->profile, "ros2");
		assert_true(info->n_chunks > 5);
		assert_int_equal(info->n_channels, 4);
		assert_int_equal(info->channels[0].n_messages, 200);
		assert_int_equal(info->channels[3].n_messages, 0);
		assert_string_equal(info->channels[3].schema_name, "pkg/msg/Idle");
		assert_string_equal(info->channels[2].schema_name, "pkg/msg/A");
		assert_string_equal(info->channels[1].metadata[0].value, "- depth: 1");
		assert_int_equal(info->n_metadata, 1);
		assert_string_equal(info->metadata[0].pairs[1].key, "lost");
		assert_int_equal(info->start_ns, 935);
		assert_int_equal(log_reader_attachment(r, 0, &a), 0);
		assert_string_equal(a.name, "notes.txt");
		assert_memory_equal(a.data, "hello", 5);
		assert_int_equal(a.log_time_ns, 4000);
		assert_int_equal(a.create_time_ns, 3000);
		sample_list(r, &l);
		assert_int_equal(l.messages, 600);
		assert_int_equal(l.errors, 0);
		if (!first.text)
			first = l;
		else {
			assert_string_equal(first.text, l.text);
			free(l.text);
		}
		log_reader_close(r);
	}
	free(first.text);
}

TEST(uncompressed_messages_are_written_without_a_copy)
{
	struct log_writer *w = create(LOG_COMPRESSION_NONE, 0);

	put(w, add(w, "/a", ""), 1, 1, 100000);
	assert_int_equal(w->copied, 0);
	log_writer_abandon(w);
	w = create(LOG_COMPRESSION_LZ4, 0);
	put(w, add(w, "/a", ""), 1, 1, 100000);
	assert_int_equal(w->copied, 100000);
	log_writer_abandon(w);
}

static int64_t time_in(const char *line)
{
	long long t;

	assert_int_equal(sscanf(line, "%*s %*u %lld", &t), 1);
	return t;
}

TEST(messages_are_read_by_time_and_equal_ones_in_file_order)
{
	const struct log_read_options modes[] = { { 0 }, { .scan = true } };
	char *texts[2];

	write_many(LOG_COMPRESSION_LZ4);
	for (int i = 0; i < 2; i++) {
		struct sample_listing l = list_file(&modes[i]);
		int64_t last = 0;

		for (const char *p = l.text; *p; p = strchr(p, '\n') + 1) {
			assert_true(time_in(p) >= last);
			last = time_in(p);
		}
		texts[i] = l.text;
	}
	assert_string_equal(texts[0], texts[1]);
	free(texts[0]);
	free(texts[1]);
}

TEST(overlapping_chunks_are_merged_within_a_budget)
{
	struct log_writer *w = create(LOG_COMPRESSION_ZSTD, 5000);
	struct sample_listing free_hand, tight;
	struct log_reader *r;
	uint32_t id = add(w, "/a", "");

	for (uint32_t i = 0; i < 400; i++) /* each chunk covers all of the time */
		assert_int_equal(put(w, id, i, (i * 7919) % 1000, 700), 0);
	assert_int_equal(log_writer_finish(w, why, sizeof(why)), 0);
	free_hand = list_file(NULL);
	r = open_file(NULL);
	mcap_reader_set_budget(r, 12000);
	sample_list(r, &tight);
	log_reader_close(r);
	assert_int_equal(tight.messages, 400);
	assert_string_equal(free_hand.text, tight.text);
	free(free_hand.text);
	free(tight.text);
}

TEST(a_seek_gives_the_first_message_at_or_after_a_time)
{
	struct log_reader *r;
	struct log_message m;

	write_many(LOG_COMPRESSION_ZSTD);
	for (int scan = 0; scan < 2; scan++) {
		r = open_file(&(struct log_read_options){ .scan = scan });
		assert_int_equal(log_reader_info(r)->indexed, !scan);
		for (int64_t t = 7200; t >= 0; t -= 111) {
			int got;

			assert_int_equal(log_reader_seek(r, t), 0);
			got = log_reader_next(r, &m);
			if (t > 6990) {
				assert_int_equal(got, 0);
				continue;
			}
			assert_int_equal(got, 1);
			assert_true(m.log_time_ns >= t && m.log_time_ns < t + 76 + (t < 935 ? 935 : 0));
		}
		log_reader_close(r);
	}
	r = open_file(&(struct log_read_options){ .file_order = true });
	assert_int_equal(log_reader_seek(r, 1), -ENOTSUP);
	log_reader_close(r);
}

TEST(channels_can_be_selected_and_changed_while_reading)
{
	bool want[4] = { false, true, false, false };
	struct log_reader *r;
	struct log_message m;
	unsigned n = 0;

	write_many(LOG_COMPRESSION_NONE);
	r = open_file(NULL);
	assert_int_equal(log_reader_select(r, want, 4), 0);
	while (n < 100 && log_reader_next(r, &m) == 1) {
		assert_int_equal(m.channel, 1);
		n++;
	}
	assert_int_equal(log_reader_select(r, NULL, 0), 0);
	assert_int_equal(n, 100);
	while (log_reader_next(r, &m) == 1)
		n++;
	assert_true(n > 100 + 300 - 10 && n < 100 + 300 + 10); /* half of all three, but for the ones out of order */
	log_reader_close(r);
}

TEST(chunks_without_a_selected_channel_are_not_read)
{
	struct log_writer *w = create(LOG_COMPRESSION_NONE, 1000);
	uint32_t a = add(w, "/a", ""), b = add(w, "/b", "");
	bool want[2] = { false, true };
	struct sample_listing l;
	struct log_reader *r;
	int fd;

	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(put(w, i < 10 ? a : b, i, i, 1000), 0);
	assert_int_equal(log_writer_finish(w, why, sizeof(why)), 0);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "XXXXXXXX", 8, 600), 8); /* in the first message's data */
	close(fd);
	r = open_file(NULL);
	assert_int_equal(log_reader_select(r, want, 2), 0);
	sample_list(r, &l);
	assert_int_equal(l.messages, 10);
	assert_int_equal(l.errors, 0);
	free(l.text);
	log_reader_close(r);
}

TEST(a_killed_writer_leaves_accepted_messages)
{
	for (int c = LOG_COMPRESSION_NONE; c <= LOG_COMPRESSION_ZSTD; c++) {
		struct log_writer *w = create((enum log_compression)c, 20000);
		uint32_t id = add(w, "/a", "pkg/msg/A");
		struct sample_listing l;
		struct log_reader *r;

		for (uint32_t i = 0; i < 50; i++)
			assert_int_equal(put(w, id, i, i, 1000), 0);
		assert_int_equal(log_writer_flush(w), 0);
		for (uint32_t i = 50; i < 55; i++)
			assert_int_equal(put(w, id, i, i, 1000), 0);
		log_writer_abandon(w);
		r = open_file(NULL);
		assert_false(log_reader_info(r)->complete);
		assert_false(log_reader_info(r)->indexed);
		assert_true(log_reader_info(r)->counted);
		assert_string_equal(log_reader_info(r)->channels[0].schema_name, "pkg/msg/A");
		sample_list(r, &l);
		assert_int_equal(l.errors, 0);
		/* not compressed, the open chunk is there as well: its records stand behind an empty one */
		assert_int_equal(l.messages, c == LOG_COMPRESSION_NONE ? 55 : 50);
		free(l.text);
		log_reader_close(r);
	}
}

TEST(a_growing_file_is_followed)
{
	for (int file_order = 0; file_order < 2; file_order++) {
		struct log_writer *w = create(LOG_COMPRESSION_ZSTD, 3000);
		uint32_t id = add(w, "/a", "");
		struct log_reader *r;
		struct log_message m;
		uint32_t n = 0;

		assert_int_equal(log_writer_flush(w), 0);
		r = open_file(&(struct log_read_options){ .scan = true, .file_order = file_order });
		for (uint32_t i = 0; i < 30; i++) {
			assert_int_equal(put(w, id, i, i, 500), 0);
			if (i % 10 == 9)
				assert_int_equal(log_writer_flush(w), 0);
			while (log_reader_next(r, &m) == 1)
				assert_int_equal(m.sequence, n++);
			if (i % 10 == 9)
				assert_int_equal(n, i + 1);
		}
		assert_int_equal(log_writer_finish(w, why, sizeof(why)), 0);
		assert_int_equal(log_reader_next(r, &m), 0);
		log_reader_close(r);
	}
}

/* Messages until the file may not grow, then its end; how many were taken. */
static uint32_t fill(enum log_compression c, rlim_t limit, int *ret_finish, char sentence[512])
{
	struct log_writer *w = create(c, 20000);
	struct rlimit old, now;
	uint32_t id = add(w, "/a", "pkg/msg/A"), n = 0;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	now = old;
	now.rlim_cur = limit;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	while (n < 1000 && !put(w, id, n, n, 1000))
		n++;
	assert_true(n < 1000);
	assert_true(log_writer_bytes(w) <= limit);
	*ret_finish = log_writer_finish(w, sentence, 512);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	return n;
}

TEST(a_file_at_its_size_limit_keeps_accepted_messages)
{
	for (int c = LOG_COMPRESSION_NONE; c <= LOG_COMPRESSION_ZSTD; c++)
		for (rlim_t limit = 30000; limit < 60000; limit += 1713) {
			struct sample_listing l;
			int finished;
			char sentence[512];
			uint32_t n = fill((enum log_compression)c, limit, &finished, sentence);

			l = list_file(NULL);
			assert_int_equal(l.errors, 0);
			assert_int_equal(finished, 0); /* the limit is seen before anything of a message is written */
			assert_int_equal(l.messages, n);
			free(l.text);
		}
}

TEST(invalid_messages_and_channels_are_refused)
{
	struct log_writer *w = create(LOG_COMPRESSION_NONE, 0);
	struct log_message m = { .channel = 0 };
	uint32_t id = add(w, "/a", "");
	struct log_writer *other;

	m.channel = 1;
	assert_int_equal(log_writer_put(w, &m, NULL, 0), -EINVAL);
	m.channel = id;
	m.log_time_ns = -1;
	assert_int_equal(log_writer_put(w, &m, NULL, 0), -EINVAL);
	m.log_time_ns = 0;
	assert_int_equal(log_writer_put(w, &m, &(struct iovec){ &m, (size_t)1 << 40 }, 1), -EMSGSIZE);
	assert_int_equal(log_writer_put(w, &m, NULL, 0), 0);
	assert_int_equal(log_writer_create(path, &(struct log_write_options){ 0 }, &other, why, sizeof(why)), -EEXIST);
	assert_int_equal(log_writer_finish(w, why, sizeof(why)), 0);
	unlink(path);
	assert_int_equal(log_writer_create(path, &(struct log_write_options){ .compression = LOG_COMPRESSION_BZ2 },
					   &other, why, sizeof(why)),
			 -ENOTSUP);
	assert_int_equal(access(path, F_OK), -1);
}

TEST(the_same_messages_make_the_same_bytes)
{
	size_t n, m;
	uint8_t *a, *b;

	write_many(LOG_COMPRESSION_ZSTD);
	a = sample_read(path, &n);
	write_many(LOG_COMPRESSION_ZSTD);
	b = sample_read(path, &m);
	assert_int_equal(n, m);
	assert_memory_equal(a, b, n);
	free(a);
	free(b);
}

TEST(allocation_failures_are_survived)
{
	struct mem_stats was, is;

	write_many(LOG_COMPRESSION_LZ4);
	mem_stats(&was);
	for (int64_t n = 1; n < 400; n++) {
		struct log_reader *r;
		struct log_message m;
		int err;

		mem_fail_after(n);
		err = log_reader_open(path, &(struct log_read_options){ .scan = n % 2 }, &r, why, sizeof(why));
		if (!err) {
			while ((err = log_reader_next(r, &m)) == 1)
				;
			mem_fail_after(0);
			log_reader_close(r);
		}
		mem_fail_after(0);
		assert_true(err == -ENOMEM || !err);
		mem_stats(&is);
		assert_int_equal(is.bytes, was.bytes);
	}
}
