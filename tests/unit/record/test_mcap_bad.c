/* SPDX-License-Identifier: Apache-2.0 */
/* MCAP files that are truncated, damaged, or inconsistent: an error text, no crash, and the valid messages are read. */
#include "tests/support/test.h"
#include "tests/unit/record/mcap_sample.h"

#include <errno.h>
#include <sys/mman.h>

#include "mem.h"

static char path[TEST_PATH_MAX];
static char why[512];

/* Twelve messages in four chunks, a metadata and an attachment. */
static uint8_t *write_small(enum log_compression c, size_t *ret_n)
{
	const struct log_write_options o = { .format = LOG_MCAP, .compression = c };
	const struct log_channel ch = { .topic = "/a",
					.message_encoding = "cdr",
					.schema_name = "pkg/msg/A",
					.schema_encoding = "ros2msg",
					.schema = { "int32 x", 7 } };
	const struct log_pair pair = { "a", "b" };
	const struct log_attachment note = {
		.name = "t", .media_type = "text/plain", .log_time_ns = 1, .data = "xyz", .size = 3
	};
	struct log_writer *w;
	uint32_t id;

	unlink(test_path(path, "file.mcap"));
	assert_int_equal(log_writer_create(path, &o, &w, why, sizeof(why)), 0);
	assert_int_equal(log_writer_add_channel(w, &ch, &id), 0);
	for (uint32_t i = 0; i < 12; i++) {
		const struct log_message m = {
			.channel = id, .sequence = i, .log_time_ns = 100 + i, .publish_time_ns = 100
		};

		assert_int_equal(log_writer_put(w, &m, &(struct iovec){ (char *)"0123456789abcdef", 16 }, 1), 0);
		if (i % 3 == 2)
			assert_int_equal(log_writer_flush(w), 0);
		if (i == 5) {
			assert_int_equal(log_writer_metadata(w, "m", &pair, 1), 0);
			assert_int_equal(log_writer_attachment(w, &note), 0);
		}
	}
	assert_int_equal(log_writer_finish(w, why, sizeof(why)), 0);
	return sample_read(path, ret_n);
}

static bool list(const struct log_read_options *o, struct sample_listing *ret)
{
	struct log_attachment a;
	struct log_reader *r;

	*ret = (struct sample_listing){ 0 };
	why[0] = '\0';
	if (log_reader_open(path, o, &r, why, sizeof(why)) < 0) {
		assert_true(*why);
		return false;
	}
	sample_list(r, ret);
	for (uint32_t i = 0; i < log_reader_info(r)->n_attachments && i < 10; i++)
		if (log_reader_attachment(r, i, &a) < 0)
			assert_true(*log_reader_why(r));
	log_reader_close(r);
	return true;
}

/* From here on the file is in memory: thousands of them on a disk take minutes. */
static void in_memory(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("mcap", MFD_CLOEXEC);
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
}

static const struct log_read_options modes[] = {
	{ 0 }, { .file_order = true }, { .scan = true }, { .scan = true, .file_order = true }
};

/* Where the chunks of a file end, from its bytes. */
static unsigned whole_chunks(const uint8_t *p, size_t n)
{
	unsigned chunks = 0;

	for (size_t at = MCAP_MAGIC_SIZE; at + MCAP_HEAD <= n; at += MCAP_HEAD + (size_t)log_u64(p + at + 1)) {
		if (log_u64(p + at + 1) > n - at - MCAP_HEAD)
			break;
		chunks += p[at] == MCAP_OP_CHUNK;
	}
	return chunks;
}

TEST(a_file_truncated_at_any_byte_gives_all_complete_chunks)
{
	const size_t step = TEST_STRIDE > 1 ? 19 : 1; /* each file takes milliseconds with a sanitizer */

	for (int c = LOG_COMPRESSION_NONE; c <= LOG_COMPRESSION_ZSTD; c++) {
		size_t n;
		uint8_t *p = write_small((enum log_compression)c, &n);

		assert_int_equal(whole_chunks(p, n), 4);
		in_memory();
		for (size_t cut = 0; cut < n; cut += step) {
			sample_write(path, p, cut);
			for (int mode = 0; mode < 4; mode++) {
				struct sample_listing l;

				if (!list(&modes[mode], &l)) {
					assert_true(cut < MCAP_MAGIC_SIZE);
					continue;
				}
				if (l.messages < 3 * whole_chunks(p, cut) || l.messages > 12)
					fail_msg("cut at %zu, mode %d: %u messages: %s", cut, mode, l.messages,
						 l.first_error);
				free(l.text);
			}
		}
		free(p);
	}
}

TEST(any_flipped_bit_is_named_or_harmless)
{
	const size_t step = TEST_STRIDE > 1 ? 95 : 1; /* odd, and no multiple of 3: each bit of a byte, each mode */

	for (int c = LOG_COMPRESSION_NONE; c <= LOG_COMPRESSION_ZSTD; c++) {
		struct sample_listing good;
		size_t n;
		uint8_t *p = write_small((enum log_compression)c, &n);

		assert_true(list(NULL, &good));
		in_memory();
		for (size_t bit = 0; bit < n * 8; bit += step) {
			p[bit / 8] ^= (uint8_t)(1 << bit % 8);
			sample_write(path, p, n);
			for (int k = 0; k < 2; k++) { /* by the index, and in one of the other ways */
				int mode = k ? 1 + (int)(bit % 3) : 0;
				struct sample_listing l;

				if (!list(&modes[mode], &l))
					continue;
				/*
				 * By the index one bit costs one chunk at most, and is named. A scan may be led past some by a wrong
				 * length, and another opcode makes a message of an index.
				 */
				if (l.messages > 13 || (mode < 2 && (l.messages < 9 || (l.messages < 12 && !l.errors))))
					fail_msg("bit %zu (byte %zu), mode %d: %u messages: %s", bit, bit / 8, mode,
						 l.messages, l.first_error);
				if (!l.errors && mode < 2)
					assert_string_equal(l.text, good.text);
				if (l.errors)
					assert_non_null(strstr(l.first_error, "offset "));
				free(l.text);
			}
			p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		free(good.text);
		free(p);
	}
}

TEST(a_wrong_checksum_is_named_with_its_offset_and_costs_one_chunk)
{
	struct sample_listing l;
	char offset[64];
	size_t n, at = MCAP_MAGIC_SIZE;
	uint8_t *p = write_small(LOG_COMPRESSION_NONE, &n);

	while (p[at] != MCAP_OP_CHUNK)
		at += MCAP_HEAD + (size_t)log_u64(p + at + 1);
	p[at + MCAP_HEAD + log_u64(p + at + 1) - 1] ^= 1; /* the last byte of the last message */
	sample_write(path, p, n);
	assert_true(list(NULL, &l));
	snprintf(offset, sizeof(offset), "offset %zu: the checksum", at);
	assert_non_null(strstr(l.first_error, offset));
	assert_int_equal(l.messages, 9);
	assert_int_equal(l.errors, 1);
	free(l.text);
	assert_true(list(&(struct log_read_options){ .no_crc = true }, &l));
	assert_int_equal(l.messages, 12);
	free(l.text);
	free(p);
}

/* A file of one chunk that is given by its fields, without a summary. */
static void write_chunk(uint64_t uncompressed, const char *compression, const void *records, size_t n, uint64_t says)
{
	struct mcap_buf b = { 0 };
	size_t at;

	mcap_put(&b, MCAP_MAGIC, MCAP_MAGIC_SIZE);
	at = mcap_begin(&b, MCAP_OP_HEADER);
	mcap_put_str(&b, "");
	mcap_put_str(&b, "");
	mcap_end(&b, at);
	at = mcap_begin(&b, MCAP_OP_CHUNK);
	mcap_put_int(&b, 0, 8);
	mcap_put_int(&b, 0, 8);
	mcap_put_int(&b, uncompressed, 8);
	mcap_put_int(&b, 0, 4);
	mcap_put_str(&b, compression);
	mcap_put_int(&b, says, 8);
	mcap_put(&b, records, n);
	mcap_end(&b, at);
	sample_write(test_path(path, "file.mcap"), b.p, b.n);
	mcap_buf_finish(&b);
}

static void expect(const char *sentence)
{
	for (int mode = 0; mode < 4; mode++) {
		struct sample_listing l;

		assert_true(list(&modes[mode], &l));
		assert_int_equal(l.messages, 0);
		if (!strstr(l.first_error, sentence))
			fail_msg("\"%s\" is not in \"%s\"", sentence, l.first_error);
		free(l.text);
	}
}

TEST(a_chunk_larger_than_it_declares_is_read_no_further)
{
	static const uint8_t zeroes[1 << 18];

	for (int c = LOG_COMPRESSION_LZ4; c <= LOG_COMPRESSION_ZSTD; c++) {
		const char *name = mcap_compression_name(c);
		struct mcap_deflate *d;
		struct mcap_buf b = { 0 };
		struct mem_stats was, is;

		assert_int_equal(mcap_deflate_create((enum log_compression)c, 0, &d), 0);
		assert_int_equal(mcap_deflate_begin(d, &b), 0);
		for (int i = 0; i < 64; i++)
			assert_int_equal(mcap_deflate_add(d, zeroes, sizeof(zeroes), &b), 0);
		assert_int_equal(mcap_deflate_end(d, &b), 0);
		write_chunk(1000, name, b.p, b.n, b.n);
		expect("holds more than the 1000 bytes that it says");
		write_chunk((uint64_t)1 << 33, name, b.p, b.n, b.n);
		expect("at most 4294967295 are read at once");
		mem_stats(&was);
		/* its header says 4 GiB: only as much is allocated as is read */
		write_chunk(UINT32_MAX, name, b.p, b.n, b.n);
		expect("holds 16777216 bytes, and it says 4294967295");
		mem_stats(&is);
		assert_int_equal(is.bytes, was.bytes);
		write_chunk((uint64_t)16 << 20, name, b.p, b.n - 20, b.n - 20);
		expect("ends too early");
		write_chunk((uint64_t)16 << 20, name, "not compressed", 14, 14);
		expect(" is damaged");
		mcap_buf_finish(&b);
		mcap_deflate_destroy(d);
	}
}

TEST(invalid_lengths_are_reported)
{
	write_chunk(10, "", "0123456789", 10, 11);
	expect("sizes contradict each other");
	write_chunk(11, "", "0123456789", 10, 10);
	expect("says 11 bytes and has 10");
	write_chunk(10, "brotli", "0123456789", 10, 10);
	expect("compression \"brotli\", which is not read");
	write_chunk(10, "", "\x05\xff\xff\xff\xff\xff\xff\xff\xff!", 10, 10);
	expect("is longer than it");
	write_chunk(9, "", "\x05\0\0\0\0\0\0\0\0", 9, 9);
	expect("a message is too short");
	write_chunk(31, "", "\x05\x16\0\0\0\0\0\0\0\x07\0................................", 31, 31);
	expect("channel 7, which the file does not define");
}

TEST(the_limit_on_chunk_sizes_is_enforced)
{
	struct sample_listing l;
	uint8_t *p;
	size_t n;

	p = write_small(LOG_COMPRESSION_ZSTD, &n);
	assert_true(list(&(struct log_read_options){ .max_bytes = 100 }, &l));
	assert_int_equal(l.messages, 0);
	free(l.text);
	free(p);
}

TEST(behind_a_broken_record_the_next_chunk_is_found)
{
	struct sample_listing l;
	uint8_t *p;
	size_t n, at = MCAP_MAGIC_SIZE;

	p = write_small(LOG_COMPRESSION_LZ4, &n);
	while (p[at] != MCAP_OP_CHUNK)
		at += MCAP_HEAD + (size_t)log_u64(p + at + 1);
	p[at + 7] = 0x7f; /* its length: more than the file has */
	sample_write(path, p, n);
	assert_true(list(&(struct log_read_options){ .scan = true }, &l));
	assert_int_equal(l.errors, 1);
	assert_int_equal(l.messages, 9); /* the summary has the channel that was defined there */
	assert_non_null(strstr(l.first_error, "no record starts here"));
	free(l.text);
	assert_true(list(NULL, &l)); /* the index knows the others */
	assert_int_equal(l.messages, 9);
	assert_int_equal(l.errors, 1);
	free(l.text);
	free(p);
}

TEST(another_file_version_is_named)
{
	struct log_reader *r;

	sample_write(test_path(path, "file.mcap"), "\x89MCAP1\r\n-----------------", 20);
	assert_int_equal(log_reader_open(path, NULL, &r, why, sizeof(why)), -ENOTSUP);
	assert_non_null(strstr(why, "version"));
}
