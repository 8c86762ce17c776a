/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_timing: how late messages leave the player at 1x (p99), against a thread that sleeps to the same absolute deadlines. play_lockstep:
 * messages a second of a log as the demo's would be (two lidars, 100 Hz of small ones), played in lock-step into a bridge that takes
 * all, against reading the same file.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sim/msg/Imu.h>
#include <sim/msg/PointCloud.h>
#include <sim/sim.h>

#include "bench.h"
#include "record/pace.h"
#include "record/player_simd.h"
#include "support/native_log.h"

#define PERIOD_NS (5 * NS_PER_MS)
#define SAMPLES   400
#define BEGIN     (100 * NS_PER_S)
#define SMALL     6 /* channels of 100 Hz */
#define STEPS     200
#define TOP       115200 /* points */
#define FRONT     14400
#define RIG \
	"{\"name\":\"play\",\"channels\":[{\"name\":\"top\",\"window\":4},{\"name\":\"front\",\"window\":4}]," \
	"\"bridges\":[{\"name\":\"null\",\"plugin\":\"null\",\"channels\":[\"*\"]}]}"

struct play_arena {
	unsigned n;
	double sample[SAMPLES];
	double messages, played_s, read_s;
};

static struct bench *bench;
static struct play_arena *arena;
static char path[BENCH_PATH + 32];
static bool lockstep;

/* ---- logs ---- */

static void put_imu(struct native_log *l, uint32_t channel, int64_t at_ns)
{
	uint8_t body[sizeof(struct sim_Imu)] __attribute__((aligned(64)));
	struct sim_builder b;

	sim_Imu_init(body, sizeof(body), &b)->linear_acceleration.z = (double)at_ns;
	native_log_put(l, channel, at_ns, at_ns, "imu", body, sizeof(body));
}

static void write_even(void)
{
	struct native_log *l = native_log_create(path, LOG_COMPRESSION_NONE);
	uint32_t imu;

	imu = native_log_channel(l, "/imu", &sim_Imu_type);
	for (int i = 0; i < SAMPLES; i++)
		put_imu(l, imu, BEGIN + i * PERIOD_NS);
	native_log_finish(l);
}

/* A turn of rays over walls: it compresses about as a lidar does. */
static void put_cloud(struct native_log *l, uint32_t channel, int64_t at_ns, uint32_t points)
{
	size_t cap = sim_PointCloud_size(0, points * 32, 64);
	uint8_t *body = aligned_alloc(64, (cap + 63) / 64 * 64);
	struct sim_PointCloud *c;
	struct sim_builder b;
	uint8_t *data;

	c = sim_PointCloud_init(body, cap, &b);
	c->height = 1;
	c->width = points;
	c->point_step = 32;
	c->row_step = 32 * points;
	data = sim_PointCloud_data_alloc(&b, 32 * points);
	for (uint32_t i = 0; i < points; i++) {
		float yaw = (float)i * 0.0035f,
		      range = 10 + 5 * sinf(yaw * 3) + (float)(at_ns / 100000000 % 50) * 0.01f;
		float v[4] = { range * cosf(yaw), range * sinf(yaw), (float)(i % 64) * 0.1f, 0.5f };

		memset(data + 32 * i, 0, 32);
		memcpy(data + 32 * i, v, sizeof(v));
	}
	native_log_put(l, channel, at_ns, at_ns, "lidar", body, sim_builder_size(&b));
	free(body);
}

static void write_demo(void)
{
	struct native_log *l = native_log_create(path, LOG_COMPRESSION_ZSTD);
	uint32_t top, front, small[SMALL];

	top = native_log_channel(l, "/top", &sim_PointCloud_type);
	front = native_log_channel(l, "/front", &sim_PointCloud_type);
	for (int k = 0; k < SMALL; k++)
		small[k] = native_log_channel(l, (char[]){ '/', (char)('a' + k), '\0' }, &sim_Imu_type);
	for (int i = 0; i < (bench->smoke ? 20 : STEPS); i++) {
		int64_t at_ns = BEGIN + i * 10 * NS_PER_MS;

		for (int k = 0; k < SMALL; k++)
			put_imu(l, small[k], at_ns);
		if (i % 10 == 0) {
			put_cloud(l, top, at_ns, TOP);
			put_cloud(l, front, at_ns, FRONT);
		}
	}
	native_log_finish(l);
}

/* ---- playing ---- */

/* The player's own sink, with a note of when each message had left. */
static int note(void *ctx, const struct player_item *item)
{
	int r = player_simd_sink.publish(ctx, item);

	if (arena->n < SAMPLES)
		arena->sample[arena->n++] = (double)(mono_now_ns() - item->m.log_time_ns);
	return r;
}

static void say(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "bench: play: %s\n", text);
}

static int fail(const char *what)
{
	fprintf(stderr, "bench: play: %s: %s\n", what, sim_why());
	return 1;
}

static int play_log(struct sim_client *c, struct sim_driver *d, struct log_reader *reader)
{
	struct player_simd_options so = { .client = c, .driver = d, .lockstep = lockstep, .say = say };
	struct player_sink sink = player_simd_sink;
	struct player_options o = { .sink = &sink,
				    .rate_e6 = PACE_ONE,
				    .begin_ns = BEGIN,
				    .end_ns = INT64_MAX / 4,
				    .preload_dur_ns = 3 * NS_PER_S,
				    .preload_bytes = 128 << 20,
				    .tick_dur_ns = 10 * NS_PER_MS,
				    .lockstep = lockstep,
				    .spin = true };
	struct player_simd *s;
	struct player *p;
	int64_t start_ns;
	int r;

	sink.publish = note;
	if (player_simd_create(&so, &s) < 0 || merge_create(&o.merge) < 0 || player_simd_add(s, reader, path) < 0 ||
	    player_simd_open(s) < 0 || merge_add(o.merge, &merge_reader_ops, reader) < 0)
		return fail("opening");
	o.ctx = s;
	if (player_create(&o, &p) < 0)
		return fail("the player");
	start_ns = mono_now_ns();
	if (player_start(p) < 0)
		return fail("its threads");
	AWAIT(player_over(p, NS_PER_S));
	player_simd_finish(s);
	arena->played_s = (double)(mono_now_ns() - start_ns) / 1e9;
	r = player_stop(p);
	player_destroy(p);
	merge_destroy(o.merge);
	player_simd_destroy(s);
	return r < 0 ? fail("playing") : 0;
}

static int play_main(void *arg)
{
	struct sim_client *c = bench_connect(bench, "play");
	struct sim_driver *d;
	struct log_reader *reader;
	char why[300];
	int r;

	(void)arg;
	arena->n = 0;
	if (sim_driver_acquire(c, lockstep ? SIM_DRIVER_LOCKSTEP | SIM_DRIVER_FREEWHEEL : 0, &d) < 0)
		return fail("the lease");
	if (log_reader_open(path, NULL, &reader, why, sizeof(why)) < 0)
		return fail(why);
	r = play_log(c, d, reader);
	log_reader_close(reader);
	sim_driver_release(d);
	sim_disconnect(c);
	return r;
}

static int run_play(void)
{
	return bench_wait(bench_fork(play_main, NULL)) == 0 ? 0 : -EIO;
}

/* ---- floors ---- */

static int sleep_main(void *arg)
{
	int64_t start_ns = mono_now_ns() + 10 * NS_PER_MS;

	(void)arg;
	for (int i = 0; i < SAMPLES; i++) {
		int64_t due_ns = start_ns + i * PERIOD_NS;

		mono_sleep_until(due_ns);
		arena->sample[i] = (double)(mono_now_ns() - due_ns);
	}
	return 0;
}

static int read_main(void *arg)
{
	int64_t start_ns = mono_now_ns();
	struct log_reader *reader;
	struct log_message m;
	char why[300];

	(void)arg;
	if (log_reader_open(path, NULL, &reader, why, sizeof(why)) < 0)
		return fail(why);
	for (arena->messages = 0; log_reader_next(reader, &m) > 0;)
		arena->messages++;
	log_reader_close(reader);
	arena->read_s = (double)(mono_now_ns() - start_ns) / 1e9;
	return 0;
}

/* ---- cases ---- */

/* When the line began is when the promptest message left, so that one has no lateness. */
static double lateness_p99(void)
{
	double least = INFINITY;
	unsigned n = arena->n;

	for (unsigned i = 0; i < n; i++)
		least = fmin(least, arena->sample[i]);
	for (unsigned i = 0; i < n; i++)
		arena->sample[i] -= least;
	return bench_percentile(arena->sample, n, 0.99);
}

static int timing(struct bench *b)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 7);

	lockstep = false;
	write_even();
	for (unsigned i = 0; i < n; i++) {
		if (run_play() < 0 || arena->n != SAMPLES)
			return -EIO;
		pairs[i].ours = lateness_p99() / 1e3;
		if (bench_wait(bench_fork(sleep_main, NULL)) != 0)
			return -EIO;
		pairs[i].reference = bench_percentile(arena->sample, SAMPLES, 0.99) / 1e3;
	}
	bench_report(b, "play_timing", "us", "a sleep to absolute deadlines", BENCH_COST, pairs, n, 1.5);
	return 0;
}

static int in_lockstep(struct bench *b)
{
	struct bench_pair pairs[BENCH_PAIRS_MAX];
	unsigned n = bench_runs(b, 7);

	lockstep = true;
	write_demo();
	for (unsigned i = 0; i < n; i++) {
		if (bench_wait(bench_fork(read_main, NULL)) != 0 || run_play() < 0)
			return -EIO;
		pairs[i] = (struct bench_pair){ .ours = arena->messages / arena->played_s,
						.reference = arena->messages / arena->read_s };
	}
	bench_report(b, "play_lockstep", "msg/s", "reading the file", BENCH_RATE, pairs, n, 0.5);
	return 0;
}

static int run(struct bench *b)
{
	int r;

	bench = b;
	arena = bench_arena(sizeof(*arena));
	snprintf(path, sizeof(path), "%s/play.mcap", b->dir);
	r = arena ? bench_simd(b, RIG) : -ENOMEM;
	if (r == 0)
		r = bench_call(b, "io.simd.Control.SetSource", "{\"source\":\"play\"}", NULL);
	if (r == 0)
		r = timing(b);
	if (r == 0)
		r = in_lockstep(b);
	unlink(path);
	bench_arena_free(arena, sizeof(*arena));
	return r;
}

const struct bench_case bench_play = { .name = "play", .run = run };
