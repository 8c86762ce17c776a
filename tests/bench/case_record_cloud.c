/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of the demo's lidar into an MCAP file, by one thread, as a recording of them goes: a message of a slot, the encoding, the
 * writer with its compression, fdatasync.
 *
 * record_cloud_ratio       bytes of the points for each of the file, `packed` with zstd
 * record_cloud_rate        their bytes a second, against record_raw in the same repetition
 * record_cloud_plain_*     the same, `native` with zstd
 * record_cloud_lz4_*       the same, `native` with lz4: the defaults of @mcap
 * record_cloud_noisy_*     the same, `packed` with zstd, of a lidar with 2 cm of noise
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sim/point_cloud.h>

#include "bench.h"
#include "record.h"
#include "record/codec_out.h"
#include "sources/scene/scan.h"
#include "sources/scene/scene.h"

#define TURNS     12
#define CARS      16
#define BUILDINGS "config/rigs/demo/town.buildings.json"
#define ALIGN     ((size_t)64)

struct way {
	const char *name;
	enum codec_kind kind;
	struct log_write_options options;
	bool noisy;
	double ratio_bar, rate_bar; /* 0: none */
};

#define ZSTD \
	{ \
		.format = LOG_MCAP, .compression = LOG_COMPRESSION_ZSTD \
	}
#define PACKED \
	{ \
		.format = LOG_MCAP, .compression = LOG_COMPRESSION_ZSTD, .level = CODEC_PACKED_ZSTD_LEVEL \
	}
#define LZ4 \
	{ \
		.format = LOG_MCAP, .compression = LOG_COMPRESSION_LZ4, .chunk_bytes = 1 << 20 \
	}

static const struct way ways[] = {
	{ "record_cloud", CODEC_PACKED, PACKED, false, 1.5, 0.6 },
	{ "record_cloud_noisy", CODEC_PACKED, PACKED, true, 0, 0 },
	{ "record_cloud_plain", CODEC_NATIVE, ZSTD, false, 0, 0 },
	{ "record_cloud_lz4", CODEC_NATIVE, LZ4, false, 0, 0 },
};
#define WAYS (sizeof(ways) / sizeof(*ways))

struct turns {
	struct sim_message message[TURNS];
	uint64_t points[TURNS]; /* bytes of them */
};

static char why[512];

/* ---- turns ---- */

/* The vehicle drives along a street of the town, among others. */
static size_t look(const struct scene_buildings *town, unsigned turn, struct scan_box *boxes)
{
	const struct scene_mount mount = { .x = 1.4, .z = 1.9 };
	const struct scene_pose at = { .x = 130 + 0.8 * turn, .y = 93, .yaw = 0.002 * turn };
	size_t n = 0;

	for (; n < CARS; n++)
		boxes[n] = (struct scan_box){ .x = 8 * (double)n - 60.5 + (n % 2 ? 0.1 : -1.6) * turn,
					      .y = n % 2 ? -3.2 : 3.4,
					      .z = 0.75 - mount.z,
					      .yaw = n % 2 ? 0.01 : 3.13,
					      .length = 4.5,
					      .width = 1.8,
					      .height = 1.5,
					      .reflectivity = 0.65 };
	return scene_add_buildings(town, &at, &mount, 200, boxes, n);
}

static int make_turn(struct scan *s, const struct scene_buildings *town, unsigned turn, struct turns *ret)
{
	static struct scan_box boxes[SCENE_BOXES_MAX];
	uint32_t max = (uint32_t)scan_points_max(s);
	size_t cap = (sim_point_cloud_size(max) + ALIGN - 1) / ALIGN * ALIGN, n;
	struct sim_message *m = &ret->message[turn];
	struct sim_builder b;
	struct sim_Point *points;

	m->body = aligned_alloc(ALIGN, cap);
	if (!m->body)
		return -ENOMEM;
	points = sim_point_cloud_begin((void *)m->body, cap, max, &b);
	n = scan_turn(s, boxes, look(town, turn, boxes), points);
	sim_point_cloud_trim(&b, (uint32_t)n);
	m->body_size = (uint32_t)sim_builder_size(&b);
	strcpy(m->header.frame_id, "lidar_top");
	ret->points[turn] = n * sizeof(*points);
	return 0;
}

static void free_turns(struct turns *t)
{
	for (unsigned i = 0; i < TURNS; i++)
		free((void *)t->message[i].body);
}

static int make_turns(double noise, struct turns *ret)
{
	struct scan_params p = scan_params_default();
	struct scene_buildings town;
	struct scan *s = NULL;
	int r = scene_buildings_load(BUILDINGS, &town, why, sizeof(why));

	if (r < 0)
		return r;
	p.noise_sigma = noise;
	r = scan_create(&p, &s, NULL);
	for (unsigned i = 0; i < TURNS && r == 0; i++)
		r = make_turn(s, &town, i, ret);
	scan_destroy(s);
	scene_buildings_free(&town);
	return r;
}

/* ---- recording ---- */

static int put_turn(struct log_writer *w, uint32_t channel, struct codec_out *c, struct sim_message *m, uint32_t i,
		    struct iov_buf *out)
{
	struct log_message lm = { .channel = channel, .sequence = i, .log_time_ns = i * 100 * NS_PER_MS };
	struct iovec iov[IOV_BUF_PIECES];
	int r;

	lm.publish_time_ns = m->header.stamp_sim_ns = lm.log_time_ns;
	r = codec_out_encode(c, m, out, why, sizeof(why));
	return r < 0 ? r : log_writer_put(w, &lm, iov, (int)iov_buf_iov(out, iov));
}

/* Returns bytes of points, or a negative errno. */
static int64_t write_turns(struct log_writer *w, struct codec_out *c, struct turns *t, uint64_t total)
{
	struct iov_buf out;
	uint64_t bytes = 0;
	uint32_t id;
	int r = log_writer_add_channel(w, codec_out_channel(c), &id);

	iov_buf_init(&out);
	for (uint32_t i = 0; bytes < total && r >= 0; i++) {
		r = put_turn(w, id, c, &t->message[i % TURNS], i, &out);
		bytes += t->points[i % TURNS];
	}
	iov_buf_finish(&out);
	return r < 0 ? r : (int64_t)bytes;
}

/* MB/s, -1: no; ret_ratio: input for each byte of the file. */
static double record(const char *path, const struct way *way, struct turns *t, uint64_t total, double *ret_ratio)
{
	int64_t from, bytes;
	struct codec_out *c = NULL;
	struct log_writer *w;
	struct stat st;
	int r;

	record_begin(path);
	from = mono_now_ns();
	if (log_writer_create(path, &way->options, &w, why, sizeof(why)) < 0)
		return -1;
	r = codec_out_create(way->kind, NULL, "/lidar/top", &sim_PointCloud_type, &c, why, sizeof(why));
	bytes = r < 0 ? r : write_turns(w, c, t, total);
	codec_out_destroy(c);
	if (log_writer_finish(w, why, sizeof(why)) < 0 || bytes < 0 || stat(path, &st) < 0)
		return -1;
	*ret_ratio = (double)bytes / (double)st.st_size;
	return (double)bytes / 1e6 / ((double)(mono_now_ns() - from) / 1e9);
}

/* ---- the case ---- */

struct result {
	struct bench_pair ratio[BENCH_PAIRS_MAX], rate[BENCH_PAIRS_MAX];
};

static void report(struct bench *b, const struct way *way, const struct result *res, unsigned n)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_ratio", way->name);
	bench_report(b, name, "", NULL, BENCH_LEAST, res->ratio, n, way->ratio_bar);
	snprintf(name, sizeof(name), "%s_rate", way->name);
	bench_report(b, name, "MB/s", "record_raw, just before", BENCH_RATE, res->rate, n, way->rate_bar);
}

static int measure(const char *path, const uint8_t *bytes, struct turns *clean, struct turns *noisy, uint64_t total,
		   unsigned n, struct result *res)
{
	for (unsigned i = 0; i < n; i++)
		for (size_t k = 0; k < WAYS; k++) {
			struct bench_pair *p = &res[k].rate[i];
			struct turns *t = ways[k].noisy ? noisy : clean;
			double copied;

			record_begin(path);
			p->reference = record_raw_rate(path, bytes, total, &copied);
			p->ours = record(path, &ways[k], t, total, &res[k].ratio[i].ours);
			if (p->reference <= 0 || p->ours <= 0)
				return -EIO;
		}
	return 0;
}

int record_cloud(struct bench *b, const char *path, const uint8_t *bytes)
{
	struct turns clean = { 0 }, noisy = { 0 };
	struct result *res = calloc(WAYS, sizeof(*res));
	unsigned n = bench_runs(b, 11);
	int r = res ? make_turns(0, &clean) : -ENOMEM;

	if (r == 0)
		r = make_turns(0.02, &noisy);
	if (r == 0)
		r = measure(path, bytes, &clean, &noisy, b->smoke ? 20000000 : 400000000, n, res);
	for (size_t k = 0; k < WAYS && r == 0; k++)
		report(b, &ways[k], &res[k], n);
	if (r < 0)
		fprintf(stderr, "bench: record_cloud: %s\n", *why ? why : strerror(-r));
	unlink(path);
	free_turns(&clean);
	free_turns(&noisy);
	free(res);
	return r;
}
