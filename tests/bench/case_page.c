/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_fps: frames a second of the web page's 3-D view while a cloud of 100 000 points arrives at 10 Hz and the view is
 * being turned, in a headless Chromium that renders with the processor; page_fps_still: the view stands still, and a
 * frame is drawn for each cloud. Skipped without node or chromium.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sim/point_cloud.h>
#include <sim/sim.h>

#include "watch.h"

#define POINTS    100000u
#define PERIOD_NS (100 * NS_PER_MS)

struct page {
	struct bench *b;
	_Atomic bool running, stop;
};

/* Rings, as a lidar sees a plane with something on it. */
static void fill(struct sim_Point *p, unsigned turn)
{
	for (unsigned i = 0; i < POINTS; i++) {
		float a = (float)(i % 2000) * 0.00314159f, d = 3.0f + (float)(i / 2000) * 0.8f;

		p[i] = (struct sim_Point){ .x = d * cosf(a),
					   .y = d * sinf(a),
					   .z = 0.5f * sinf(a * 8 + (float)turn * 0.1f),
					   .intensity = (float)(i % 256),
					   .ring = (uint16_t)(i / 2000) };
	}
}

static int send_cloud(struct sim_publisher *p, unsigned turn)
{
	struct sim_Point *points;
	struct sim_builder b;
	struct sim_slot *s;
	int r = sim_loan(p, sim_point_cloud_size(POINTS), &s);

	if (r < 0)
		return r;
	points = sim_point_cloud_begin(sim_slot_body_mut(s), s->body_size, POINTS, &b);
	if (!points)
		return -EINVAL;
	fill(points, turn);
	return sim_try_queue(p, s, NULL, NULL, NULL);
}

static int clouds_main(void *arg)
{
	struct page *x = arg;
	struct sim_client *c = bench_connect(x->b, "clouds");
	struct sim_publisher_options po = { .size = sizeof(po),
					    .max_body = sim_point_cloud_size(POINTS),
					    .frame_id = "lidar" };
	struct sim_publisher *p;
	int64_t next = mono_now_ns();

	if (sim_advertise(c, "/watch/cloud", &sim_PointCloud_type, &po, &p) < 0) {
		fprintf(stderr, "bench: clouds: %s\n", sim_why());
		return 1;
	}
	bench_await_bridge(p);
	atomic_store(&x->running, true);
	for (unsigned turn = 0; !atomic_load(&x->stop); turn++) {
		(void)!send_cloud(p, turn);
		next += PERIOD_NS;
		mono_sleep_until(next);
	}
	sim_disconnect(c);
	return 0;
}

/* Pairs of turned and still, one for each run. The browser's output goes to stderr. */
static int look(unsigned port, unsigned runs, double seconds, struct bench_pair *turned, struct bench_pair *still)
{
	char command[256];
	unsigned n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "node tests/bench/page_fps.js http://127.0.0.1:%u/ %u %.2f", port, runs,
		 seconds);
	f = popen(command, "r");
	if (!f)
		return -errno;
	while (n < runs && fscanf(f, "%lf %lf", &turned[n].ours, &still[n].ours) == 2)
		n++;
	return pclose(f) == 0 && n == runs ? 0 : -EIO;
}

static bool possible(void)
{
	if (system("command -v node >/dev/null && command -v \"${CHROMIUM:-chromium}\" >/dev/null") == 0)
		return true;
	printf("page_fps is not measured: no node, or no chromium (tools/dev/deps.sh full)\n");
	return false;
}

static int run_page(struct bench *b)
{
	struct bench_pair turned[BENCH_PAIRS_MAX], still[BENCH_PAIRS_MAX];
	struct page *x = bench_arena(sizeof(*x));
	unsigned n = bench_runs(b, 5), port;
	pid_t bridge, clouds;
	int r;

	if (!possible())
		return 0;
	x->b = b;
	r = bench_simd(b, "{\"name\":\"bench\",\"bridges\":[" WATCH_BRIDGE("/watch/*") "]}");
	if (r == 0)
		r = watch_bridge(b, &bridge, &port);
	if (r < 0)
		return r;
	clouds = bench_fork(clouds_main, x);
	BENCH_UNTIL(60, atomic_load(&x->running));
	r = look(port, n, b->smoke ? 0.5 : 4, turned, still);
	atomic_store(&x->stop, true);
	if (bench_wait(clouds))
		r = -EIO;
	if (r == 0) {
		bench_report(b, "page_fps", "/s", NULL, BENCH_LEAST, turned, n, 0);
		bench_report(b, "page_fps_still", "/s", NULL, BENCH_LEAST, still, n, 0);
	}
	bench_arena_free(x, sizeof(*x));
	return r;
}

const struct bench_case bench_page = { "page", run_page, "watch" };
