/* SPDX-License-Identifier: Apache-2.0 */
/* Logs that tests write and read again, in any format. Thread: the test's. */
#ifndef RECORD_SAMPLE_H
#define RECORD_SAMPLE_H

#include "tests/support/test.h"

#include <errno.h>
#include <sys/stat.h>

#include "fd.h"
#include "mem.h"
#include "record/log.h"

#define SAMPLE_TEXT "string data\n"

struct sample { /* a message of a sample */
	uint32_t channel;
	int64_t ns;
	const char *text;
};

struct sample_log {
	struct log_write_options options;
	const struct log_channel *channels;
	size_t n_channels;
	const struct sample *messages;
	size_t n;
};

static char sample_why[512];

static inline const char *sample_path(const char *name)
{
	static char path[64][TEST_PATH_MAX]; /* so many at a time */
	static unsigned i;

	return test_path(path[i++ % 64], name);
}

/* The same, where nothing is. */
static inline const char *sample_fresh(const char *name)
{
	const char *path = sample_path(name);

	unlink(path);
	return path;
}

/* false: no memory or room; then the file is as it stands */
static inline bool sample_put(struct log_writer *w, const struct sample_log *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct log_message m = { .channel = s->messages[i].channel, .log_time_ns = s->messages[i].ns };
		const char *text = s->messages[i].text;
		size_t len = strlen(text), half = len / 2;
		struct iovec pieces[] = { { (void *)text, half }, { NULL, 0 }, { (void *)(text + half), len - half } };

		m.publish_time_ns = m.log_time_ns;
		if (log_writer_put(w, &m, pieces, 3) < 0)
			return false;
	}
	return true;
}

static inline struct log_writer *sample_begin(const char *path, const struct sample_log *s)
{
	struct log_writer *w;
	uint32_t id;

	unlink(path);
	if (log_writer_create(path, &s->options, &w, sample_why, sizeof(sample_why)) < 0)
		fail_msg("%s", sample_why);
	for (uint32_t i = 0; i < s->n_channels; i++) {
		assert_int_equal(log_writer_add_channel(w, &s->channels[i], &id), 0);
		assert_int_equal(id, i);
	}
	return w;
}

static inline const char *sample_write(const char *name, const struct sample_log *s)
{
	const char *path = sample_path(name);
	struct log_writer *w = sample_begin(path, s);

	assert_true(sample_put(w, s));
	if (log_writer_finish(w, sample_why, sizeof(sample_why)) < 0)
		fail_msg("%s", sample_why);
	return path;
}

static inline struct log_reader *sample_open(const char *path, const struct log_read_options *o)
{
	struct log_reader *r = NULL;

	if (log_reader_open(path, o, &r, sample_why, sizeof(sample_why)) < 0)
		fail_msg("%s", sample_why);
	return r;
}

/* All that is left, as "channel@ns:text ", and "!" for damage. Reads until the end. */
static inline const char *sample_read(struct log_reader *r)
{
	static char all[1 << 16];
	struct log_message m;
	size_t n = 0;
	int k;

	all[0] = '\0';
	while ((k = log_reader_next(r, &m)) && n < sizeof(all) - 600)
		n += (size_t)(k < 0 ? snprintf(all + n, sizeof(all) - n, "! ")
				    : snprintf(all + n, sizeof(all) - n, "%u@%lld:%.*s ", m.channel,
					       (long long)m.log_time_ns, m.size > 500 ? 500 : (int)m.size,
					       (const char *)m.data));
	return all;
}

/* The file, opened, read to its end and closed. */
static inline const char *sample_all(const char *path, const struct log_read_options *o)
{
	struct log_reader *r = sample_open(path, o);
	const char *all = sample_read(r);

	log_reader_close(r);
	return all;
}

static inline uint8_t *sample_bytes(const char *path, size_t *ret_n)
{
	char *data;

	assert_int_equal(fd_read_file(path, 1 << 26, &data, ret_n), 0);
	return (uint8_t *)data;
}

static inline const char *sample_file(const char *name, const void *data, size_t n)
{
	const char *path = sample_path(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	return path;
}

/* Opening and reading it end, and no more messages come than there were. Returns how many come; -1: it could not be opened. */
static inline int sample_reads(const char *path, size_t most, const struct log_read_options *o)
{
	struct log_reader *r = NULL;
	struct log_message m;
	unsigned calls = 0;
	int count = 0, k;

	sample_why[0] = '\0';
	if (log_reader_open(path, o, &r, sample_why, sizeof(sample_why)) < 0) {
		assert_true(strlen(sample_why) > 10);
		return -1;
	}
	while ((k = log_reader_next(r, &m))) {
		if (k < 0)
			assert_true(strlen(log_reader_why(r)) > 10);
		count += k > 0;
		assert_true(++calls < 10000);
	}
	assert_true((size_t)count <= most);
	log_reader_close(r);
	return count;
}

/* Of these bytes. */
static inline int sample_survives(const void *data, size_t n, size_t most, const struct log_read_options *o)
{
	return sample_reads(sample_file("changed", data, n), most, o);
}

/*
 * Truncated at every offset: messages complete up to there are read, and never more with fewer bytes. The file is lost.
 */
static inline void sample_cut_everywhere(const char *path, size_t n_messages)
{
	int before = (int)n_messages; /* of the last bytes only the index is missing */
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	for (off_t i = st.st_size - 1; i >= 0; i -= TEST_STRIDE) {
		int count;

		assert_int_equal(truncate(path, i), 0);
		count = sample_reads(path, n_messages, NULL);
		assert_true(i < st.st_size - 1 ? count <= before : count == before);
		before = count;
	}
}

/* Each bit of the bytes from `from` on, with and without the index. */
static inline void sample_flip_everywhere(const char *path, size_t from, size_t step)
{
	const struct log_read_options scan = { .scan = true, .max_bytes = 1 << 24 }, o = { .max_bytes = 1 << 24 };
	size_t n;
	uint8_t *data = sample_bytes(path, &n);

	for (size_t i = from; i < n; i += step * TEST_STRIDE) {
		uint8_t bit = (uint8_t)(1u << i % 8);

		data[i] ^= bit;
		sample_survives(data, n, 1000, i % 2 ? &scan : &o);
		data[i] ^= bit;
	}
	mem_free(data);
}

#endif
