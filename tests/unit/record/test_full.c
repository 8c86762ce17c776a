/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A full disk, in each format and compression: the message is refused, the messages written before are complete and the
 * file is closed properly, and writing continues when there is room again. Each test mounts a small tmpfs.
 */
#include "sample.h"

#include <fcntl.h>
#include <sys/mount.h>

#include "record/copy.h"
#include "rnd.h"

#define PAGE     4096u
#define LEAST    40u /* pages: Apollo's header and a little more */
#define TEXT_MAX 9000u
#define MESSAGES 1000u

static const struct log_channel ros = {
	.topic = "/chat",
	.message_encoding = "ros1",
	.schema_name = "std_msgs/String",
	.schema_encoding = "ros1msg",
	.schema = { SAMPLE_TEXT, sizeof(SAMPLE_TEXT) - 1 },
};
static const struct log_channel apollo = {
	.topic = "/chat", .message_encoding = "protobuf", .schema_name = "apollo.A", .schema_encoding = "apollo"
};

static const struct way {
	const char *name;
	struct log_write_options options;
	const struct log_channel *channel;
} ways[] = {
	{ "none.mcap", { .format = LOG_MCAP, .compression = LOG_COMPRESSION_NONE, .chunk_bytes = 20000 }, &ros },
	{ "lz4.mcap", { .format = LOG_MCAP, .compression = LOG_COMPRESSION_LZ4, .chunk_bytes = 20000 }, &ros },
	{ "zstd.mcap", { .format = LOG_MCAP, .compression = LOG_COMPRESSION_ZSTD, .chunk_bytes = 20000 }, &ros },
	{ "none.bag", { .format = LOG_BAG, .compression = LOG_COMPRESSION_NONE, .chunk_bytes = 20000 }, &ros },
	{ "lz4.bag", { .format = LOG_BAG, .compression = LOG_COMPRESSION_LZ4, .chunk_bytes = 20000 }, &ros },
	{ "bz2.bag", { .format = LOG_BAG, .compression = LOG_COMPRESSION_BZ2, .chunk_bytes = 20000 }, &ros },
	{ "plain.record", { .format = LOG_RECORD, .chunk_bytes = 20000 }, &apollo },
};
#define WAYS (sizeof(ways) / sizeof(*ways))

/* ---- the disk ---- */

static const char *disk(unsigned pages)
{
	static char dir[TEST_PATH_MAX];
	char options[64];

	if (!getenv("SIMD_TESTS_NS"))
		skip(); /* no namespace: the mount would be the machine's */
	if (mkdir(test_path(dir, "disk"), 0755) < 0)
		assert_int_equal(errno, EEXIST);
	snprintf(options, sizeof(options), "size=%u", pages * PAGE);
	if (mount("tmpfs", dir, "tmpfs", 0, options) < 0)
		fail_msg("%s: %s", dir, strerror(errno));
	return dir;
}

static void disk_gone(const char *dir)
{
	assert_int_equal(umount(dir), 0);
}

static const char *on(const char *dir, const char *name)
{
	static char path[2 * TEST_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* ---- the log ---- */

/* The i-th message: of any length, and no compressor makes it smaller. */
static size_t text(unsigned i, char to[TEXT_MAX + 8])
{
	struct rnd x;
	size_t n;

	rnd_seed(&x, i);
	n = (size_t)(rnd_u64(&x) % TEXT_MAX);
	for (size_t k = 0; k < n; k += 8) {
		uint64_t v = rnd_u64(&x);

		memcpy(to + k, &v, 8);
	}
	return n;
}

static int put(struct log_writer *w, unsigned i)
{
	const struct log_message m = { .sequence = i, .log_time_ns = i, .publish_time_ns = i };
	char bytes[TEXT_MAX + 8];
	size_t n = text(i, bytes);

	return log_writer_put(w, &m, (struct iovec[]){ { bytes, n / 2 }, { bytes + n / 2, n - n / 2 } }, 2);
}

static struct log_writer *begin(const char *path, const struct way *way)
{
	struct log_writer *w;
	uint32_t id;

	if (log_writer_create(path, &way->options, &w, sample_why, sizeof(sample_why)) < 0)
		fail_msg("%s: %s", way->name, sample_why);
	assert_int_equal(log_writer_add_channel(w, way->channel, &id), 0);
	assert_int_equal(id, 0);
	return w;
}

/* From the n-th on, until there is no room. Returns the number of the refused one. */
static unsigned fill(struct log_writer *w, unsigned n)
{
	int r;

	while ((r = put(w, n)) == 0 && n < MESSAGES)
		n++;
	assert_int_equal(r, -ENOSPC);
	return n;
}

static void finish(struct log_writer *w, const char *name)
{
	if (log_writer_finish(w, sample_why, sizeof(sample_why)) < 0)
		fail_msg("%s: %s", name, sample_why);
}

/* The file is closed in good order, and has those messages. */
static void holds(const char *path, unsigned n)
{
	struct log_reader *r = sample_open(path, NULL);
	const struct log_info *info = log_reader_info(r);
	char bytes[TEXT_MAX + 8];
	struct log_message m;

	assert_true(info->complete && info->indexed);
	assert_int_equal(info->n_messages, n);
	for (unsigned i = 0; i < n; i++) {
		if (log_reader_next(r, &m) != 1)
			fail_msg("%s: message %u of %u: %s", path, i, n, log_reader_why(r));
		assert_int_equal(m.size, text(i, bytes));
		assert_memory_equal(m.data, bytes, m.size);
	}
	assert_int_equal(log_reader_next(r, &m), 0);
	log_reader_close(r);
}

TEST(a_full_disk_refuses_messages_and_the_file_stays_valid)
{
	for (unsigned pages = LEAST; pages < LEAST + 40; pages++) {
		const char *dir = disk(pages);

		for (size_t i = 0; i < WAYS; i++) {
			const char *path = on(dir, ways[i].name);
			struct log_writer *w = begin(path, &ways[i]);
			unsigned n = fill(w, 0);

			assert_int_equal(put(w, n), -ENOSPC); /* and nothing of it is in the file */
			finish(w, ways[i].name);
			holds(path, n);
			assert_int_equal(unlink(path), 0);
		}
		disk_gone(dir);
	}
}

static void occupy(const char *path, unsigned pages)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	assert_int_equal(posix_fallocate(fd, 0, (off_t)pages * PAGE), 0);
	close(fd);
}

TEST(writing_continues_when_there_is_room_again)
{
	const char *dir = disk(4 * LEAST);

	for (size_t i = 0; i < WAYS; i++) {
		char other[2 * TEST_PATH_MAX];
		struct log_writer *w;
		unsigned n, more;

		snprintf(other, sizeof(other), "%s", on(dir, "other"));
		occupy(other, 3 * LEAST);
		w = begin(on(dir, ways[i].name), &ways[i]);
		n = fill(w, 0);
		assert_int_equal(unlink(other), 0);
		more = fill(w, n);
		assert_true(more > n);
		finish(w, ways[i].name);
		holds(on(dir, ways[i].name), more);
		assert_int_equal(unlink(on(dir, ways[i].name)), 0);
	}
	disk_gone(dir);
}

TEST(flushed_messages_survive_a_kill)
{
	const char *dir = disk(LEAST);

	for (size_t i = 0; i < WAYS; i++) {
		const char *path = on(dir, ways[i].name);
		struct log_writer *w = begin(path, &ways[i]);
		unsigned n = fill(w, 0);

		assert_int_equal(log_writer_flush(w), 0);
		log_writer_abandon(w);
		assert_int_equal(sample_reads(path, n, NULL), (int)n);
		assert_int_equal(unlink(path), 0);
	}
	disk_gone(dir);
}

/* Metadata and attachments leave the end of the file its room too. */
TEST(metadata_and_attachments_are_refused_on_a_full_disk)
{
	const char *dir = disk(LEAST);
	const struct log_pair pair = { "key", "value" };
	static char bytes[2 * PAGE];
	const struct log_attachment a = {
		.name = "a", .media_type = "text/plain", .log_time_ns = 1, .data = bytes, .size = sizeof(bytes)
	};

	for (size_t i = 0; i < 3; i++) {
		const char *path = on(dir, ways[i].name);
		struct log_writer *w = begin(path, &ways[i]);
		unsigned n = fill(w, 0);
		int r;

		while ((r = log_writer_attachment(w, &a)) == 0)
			;
		assert_int_equal(r, -ENOSPC);
		while ((r = log_writer_metadata(w, "m", &pair, 1)) == 0)
			;
		assert_int_equal(r, -ENOSPC);
		finish(w, ways[i].name);
		holds(path, n);
		assert_int_equal(unlink(path), 0);
	}
	disk_gone(dir);
}

TEST(a_file_that_cannot_be_started_is_removed)
{
	const char *dir = disk(4);
	struct log_writer *w;

	occupy(on(dir, "other"), 4);
	for (size_t i = 0; i < WAYS; i++) {
		const char *path = on(dir, ways[i].name);

		assert_int_equal(log_writer_create(path, &ways[i].options, &w, sample_why, sizeof(sample_why)),
				 -ENOSPC);
		assert_non_null(strstr(sample_why, "No space left"));
		assert_int_equal(access(path, F_OK), -1);
	}
	disk_gone(dir);
}

TEST(a_copy_names_the_file_that_found_no_room)
{
	const struct way *way = &ways[0];
	struct copy_options o = { .write = way->options };
	struct copy_result result;
	char from[TEST_PATH_MAX];
	const char *in[] = { test_path(from, "from.mcap"), NULL };
	struct log_writer *w = begin(from, way);
	const char *dir, *to;

	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(put(w, i), 0);
	finish(w, way->name);
	dir = disk(LEAST);
	to = on(dir, "to.mcap");
	assert_int_equal(log_copy(in, 1, to, &o, &result, sample_why, sizeof(sample_why)), -ENOSPC);
	assert_non_null(strstr(sample_why, to));
	assert_non_null(strstr(sample_why, "No space left on device; the messages before it are kept"));
	holds(to, (unsigned)result.n_messages);
	disk_gone(dir);
}
