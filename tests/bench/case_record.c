/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_raw      MB/s of images and clouds into an MCAP file without compression, against plain writes of as many bytes to the
 *                 same file system; both end with fdatasync
 * record_copies   bytes of their payload that the writer copies
 * mcap_open       opening an indexed file of 2 GB against opening one of 100 MB
 *
 * and record_cloud_* of case_record_cloud.c.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "bench.h"
#include "record.h"
#include "record/log.h"
#include "record/log_private.h"

#define MB          1000000.0
#define IMAGE_BYTES ((size_t)1920 * 1080 * 3)
#define CLOUD_BYTES ((size_t)64 * 1800 * 32)

static char why[512];

static struct log_writer *create(const char *path, uint32_t id[2])
{
	const struct log_write_options o = { .format = LOG_MCAP };
	const struct log_channel ch[2] = { { .topic = "/image", .message_encoding = "cdr" },
					   { .topic = "/cloud", .message_encoding = "cdr" } };
	struct log_writer *w;

	unlink(path);
	if (log_writer_create(path, &o, &w, why, sizeof(why)) < 0) {
		fprintf(stderr, "bench: %s\n", why);
		return NULL;
	}
	for (int i = 0; i < 2; i++)
		if (log_writer_add_channel(w, &ch[i], &id[i]) < 0) {
			log_writer_abandon(w);
			return NULL;
		}
	return w;
}

/* Images and clouds in turn, each a header and the slot's array, until there are so many bytes. */
static int fill(struct log_writer *w, const uint32_t id[2], const uint8_t *bytes, uint64_t total)
{
	uint8_t header[64] = { 0 };
	int r = 0;

	for (uint32_t i = 0; log_writer_bytes(w) < total && !r; i++) {
		const struct log_message m = {
			.channel = id[i % 2], .sequence = i, .log_time_ns = i * 1000000, .publish_time_ns = i * 1000000
		};
		struct iovec piece[] = { { header, sizeof(header) },
					 { (void *)bytes, i % 2 ? CLOUD_BYTES : IMAGE_BYTES } };

		r = log_writer_put(w, &m, piece, 2);
	}
	return r;
}

void record_begin(const char *path)
{
	unlink(path);
	sync();
}

double record_raw_rate(const char *path, const uint8_t *bytes, uint64_t total, double *ret_copied)
{
	int64_t from = mono_now_ns();
	uint32_t id[2];
	struct log_writer *w = create(path, id);
	uint64_t size;
	int r;

	if (!w)
		return -1;
	r = fill(w, id, bytes, total);
	size = log_writer_bytes(w);
	*ret_copied = (double)w->copied;
	if (log_writer_finish(w, why, sizeof(why)) < 0 || r < 0)
		return -1;
	return (double)size / MB / ((double)(mono_now_ns() - from) / 1e9);
}

static double plain(const char *path, const uint8_t *bytes, uint64_t total)
{
	int64_t from = mono_now_ns();
	uint64_t size = 0;
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	for (uint32_t i = 0; size < total; i++) {
		ssize_t n = write(fd, bytes, i % 2 ? CLOUD_BYTES : IMAGE_BYTES);

		if (n <= 0)
			break;
		size += (uint64_t)n;
	}
	if (fdatasync(fd) < 0 || size < total) {
		close(fd);
		return -1;
	}
	close(fd);
	return (double)size / MB / ((double)(mono_now_ns() - from) / 1e9);
}

static int raw(struct bench *b, const char *path, const uint8_t *bytes)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX], copied[BENCH_PAIRS_MAX] = { 0 };
	unsigned n = bench_runs(b, 11);
	uint64_t total = b->smoke ? 30000000 : 400000000;
	int r = 0;

	for (unsigned i = 0; i < n && !r; i++) {
		for (int k = 0; k < 2; k++) { /* which is first changes: a disk remembers what came before */
			record_begin(path);
			if ((i + (unsigned)k) % 2)
				pairs[i].reference = plain(path, bytes, total);
			else
				pairs[i].ours = record_raw_rate(path, bytes, total, &copied[i].ours);
		}
		r = pairs[i].reference > 0 && pairs[i].ours > 0 ? 0 : -1;
	}
	unlink(path);
	if (r < 0)
		return -1;
	bench_report(b, "record_raw", "MB/s", "plain writes, then fdatasync", BENCH_RATE, pairs, n, 0.85);
	bench_report(b, "record_copies", "bytes", NULL, BENCH_VALUE, copied, n, 0);
	return 0;
}

static int make(const char *path, uint64_t size)
{
	uint8_t *bytes = calloc(1, IMAGE_BYTES);
	uint32_t id[2];
	struct log_writer *w = bytes ? create(path, id) : NULL;
	int r = w ? fill(w, id, bytes, size) : -1;

	if (w && log_writer_finish(w, why, sizeof(why)) < 0)
		r = -1;
	free(bytes);
	return r;
}

static double open_ns(const char *path)
{
	double ns[32];

	for (unsigned i = 0; i < 32; i++) {
		int64_t from = mono_now_ns();
		struct log_reader *r;

		if (log_reader_open(path, NULL, &r, why, sizeof(why)) < 0 || !log_reader_info(r)->indexed)
			return -1;
		log_reader_close(r);
		ns[i] = (double)(mono_now_ns() - from);
	}
	return bench_median(ns, 32);
}

static int opening(struct bench *b, const char *large, const char *small)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 15);
	int r = make(large, b->smoke ? 100000000 : 2000000000);

	if (r >= 0)
		r = make(small, b->smoke ? 10000000 : 100000000);
	for (unsigned i = 0; i < n && r >= 0; i++) {
		pairs[i] = (struct bench_pair){ .ours = open_ns(large), .reference = open_ns(small) };
		r = pairs[i].ours > 0 && pairs[i].reference > 0 ? 0 : -1;
	}
	unlink(large);
	unlink(small);
	if (r < 0)
		return -1;
	bench_report(b, "mcap_open", "ns", "of a file of a twentieth", BENCH_COST, pairs, n, 1.5);
	return 0;
}

static int run_record(struct bench *b)
{
	char large[BENCH_PATH + 16], small[BENCH_PATH + 16];
	uint8_t *bytes = malloc(IMAGE_BYTES);
	int r;

	for (size_t i = 0; bytes && i < IMAGE_BYTES; i++)
		bytes[i] = (uint8_t)(i * 31 + (i >> 9));
	snprintf(large, sizeof(large), "%s/large.mcap", b->dir);
	snprintf(small, sizeof(small), "%s/small.mcap", b->dir);
	r = bytes ? raw(b, large, bytes) : -1;
	if (r >= 0)
		r = record_cloud(b, large, bytes);
	if (r >= 0)
		r = opening(b, large, small);
	free(bytes);
	if (r < 0)
		fprintf(stderr, "bench: record: %s\n", *why ? why : "a file could not be written");
	return r;
}

const struct bench_case bench_record = { "record", run_record, "mcap_open" };
