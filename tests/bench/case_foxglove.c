/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foxglove_6MiB: an image of 6 MiB from a publisher through simd and the bridge of foxglove to a client of WebSocket on a bare socket, against the
 * same bytes that a plain server of libwebsockets sends it from its memory. Those that send are on CPU 0, with simd and the bridge, the
 * client on CPU 1; it is the same for both.
 */
#include <libwebsockets.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <sim/msg/Image.h>
#include <sim/sim.h>

#include "ros1_arena.h"
#include "watch.h"

#define CHANNEL "/six"
#define BEFORE  84u /* bytes of a message before the pixels: its operation, and the image's fields */
#define SIZE    (BEFORE + ROS1_DATA_6)

struct link6 {
	struct bench *b;
	struct ros1_arena *arena;
	unsigned port;
	pid_t reader, writer[2];
};

/* ---- the client, of both ---- */

static int take(struct ros1_arena *a, struct watcher *w)
{
	do {
		size_t size = 0;
		int r = watcher_take(w, &size);

		if (r < 0)
			return r;
		if (size < ROS1_DATA_6) /* the time */
			continue;
		a->sample[ros1_load(&a->taken) % ROS1_SAMPLES] =
			(double)(ros1_now() - __atomic_load_n(&a->sent_mono_ns, __ATOMIC_SEQ_CST));
		ros1_add(&a->taken);
	} while (watcher_has(w));
	return 0;
}

static int reader_main(void *arg)
{
	struct link6 *l = arg;
	struct watcher w[2];
	struct pollfd p[2];

	bench_pin(1);
	if (watcher_open(&w[0], l->port, "foxglove.websocket.v1", CHANNEL) < 0 || watcher_await(&w[0], 1) < 0 ||
	    watcher_open(&w[1], l->arena->raw_port, "", NULL) < 0) {
		ros1_add(&l->arena->failed);
		return 1;
	}
	ros1_add(&l->arena->ready);
	for (int i = 0; i < 2; i++)
		p[i] = (struct pollfd){ .fd = w[i].fd, .events = POLLIN };
	for (;;) /* ends with its parent's signal */
		if (poll(p, 2, -1) > 0)
			for (int i = 0; i < 2; i++)
				if (p[i].revents && take(l->arena, &w[i]) < 0)
					return 1;
}

/* ---- the publisher ---- */

/* The image is what the slot held before: filling it is the sensor's. */
static int send_ours(void *ctx)
{
	struct sim_publisher *p = ctx;
	struct sim_Image *m;
	struct sim_builder b;
	struct sim_slot *s;
	int r = sim_loan(p, sim_Image_size(4, ROS1_DATA_6), &s);

	if (r < 0)
		return r;
	m = sim_Image_init(sim_slot_body_mut(s), s->body_size, &b);
	m->width = ROS1_WIDTH;
	m->height = ROS1_HEIGHT_6;
	m->step = ROS1_WIDTH * 3;
	r = sim_Image_encoding_set(&b, "rgb8");
	if (r < 0 || !sim_Image_data_alloc(&b, ROS1_DATA_6))
		return -EINVAL;
	return sim_try_queue(p, s, NULL, NULL, NULL);
}

static int ours_main(void *arg)
{
	struct link6 *l = arg;
	struct sim_client *c = bench_connect(l->b, "images");
	struct sim_publisher_options po = { .size = sizeof(po),
					    .max_body = sim_Image_size(4, ROS1_DATA_6),
					    .frame_id = "camera" };
	struct sim_publisher *p;
	int e;

	bench_pin(0);
	e = sim_advertise(c, CHANNEL, &sim_Image_type, &po, &p);
	if (e == 0) {
		bench_await_bridge(p);
		e = ros1_serve(l->arena, ROS1_OURS, send_ours, p);
	}
	if (e < 0)
		fprintf(stderr, "bench: images: %s\n", strerror(-e));
	sim_disconnect(c);
	return e < 0;
}

/* ---- the floor ---- */

struct floor {
	struct lws_context *context;
	struct lws *wsi;
	uint8_t *data; /* LWS_PRE, then SIZE */
	bool written;
};

/* In one frame, which is faster than fragments of 64 KiB to 1 MiB. What the socket does not take, libwebsockets keeps a copy of. */
static int floor_write(struct floor *f)
{
	f->written = true;
	return lws_write(f->wsi, f->data + LWS_PRE, SIZE, LWS_WRITE_BINARY) < (int)SIZE ? -1 : 0;
}

static int on_floor(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct floor *f = lws_context_user(lws_get_context(wsi));

	(void)user;
	(void)in;
	(void)len;
	if (reason == LWS_CALLBACK_ESTABLISHED)
		f->wsi = wsi;
	return reason == LWS_CALLBACK_SERVER_WRITEABLE && !f->written ? floor_write(f) : 0;
}

static int send_floor(void *ctx)
{
	struct floor *f = ctx;

	f->written = false;
	lws_callback_on_writable(f->wsi);
	while (!f->written || lws_partial_buffered(f->wsi))
		if (lws_service(f->context, 0) < 0)
			return -EIO;
	return 0;
}

static int floor_main(void *arg)
{
	static const struct lws_protocols protocols[] = { { "floor", on_floor, 0, 0, 0, NULL, SIZE },
							  { NULL, NULL, 0, 0, 0, NULL, 0 } };
	struct link6 *l = arg;
	struct floor f = { .data = malloc(LWS_PRE + SIZE), .written = true };
	struct lws_context_creation_info info = { .iface = "127.0.0.1",
						  .protocols = protocols,
						  .gid = -1,
						  .uid = -1,
						  .user = &f,
						  .options = LWS_SERVER_OPTION_DISABLE_IPV6 |
							     LWS_SERVER_OPTION_EXPLICIT_VHOSTS };
	struct lws_vhost *v;

	bench_pin(0);
	if (f.data) /* pages of its own, as a slot has; those of zeros would all be one */
		memset(f.data, 7, LWS_PRE + SIZE);
	lws_set_log_level(0, NULL);
	f.context = lws_create_context(&info);
	v = f.context && f.data ? lws_create_vhost(f.context, &info) : NULL;
	if (!v) {
		ros1_add(&l->arena->failed);
		return 1;
	}
	__atomic_store_n(&l->arena->raw_port, (uint32_t)lws_get_vhost_listen_port(v), __ATOMIC_SEQ_CST);
	while (!f.wsi)
		if (lws_service(f.context, 0) < 0)
			return 1;
	return ros1_serve(l->arena, ROS1_RAW, send_floor, &f) < 0;
}

/* ---- the orchestrator ---- */

static int start(struct bench *b, struct link6 *l)
{
	static const char rigs[] = "{\"name\":\"bench\",\"bridges\":[" WATCH_BRIDGE(CHANNEL) "]}";
	pid_t bridge;
	int r;

	*l = (struct link6){ .b = b, .arena = bench_arena(sizeof(*l->arena)) };
	r = bench_simd(b, rigs);
	if (r == 0)
		r = watch_bridge(b, &bridge, &l->port);
	if (r < 0)
		return r;
	l->writer[0] = bench_fork(ours_main, l);
	l->writer[1] = bench_fork(floor_main, l);
	BENCH_UNTIL(60, ros1_load(&l->arena->raw_port) || ros1_load(&l->arena->failed));
	l->reader = bench_fork(reader_main, l);
	BENCH_UNTIL(60, ros1_load(&l->arena->ready) == 3 || ros1_load(&l->arena->failed));
	bench_pin_process(bridge, 0);
	bench_pin_process(b->simd_pid, 0);
	return ros1_load(&l->arena->failed) ? -EIO : 0;
}

static void stop(struct link6 *l)
{
	const pid_t all[] = { l->reader, l->writer[0], l->writer[1] };

	for (unsigned i = 0; i < 3; i++) {
		if (all[i] <= 0)
			continue;
		kill(all[i], SIGKILL);
		bench_wait(all[i]);
	}
	bench_arena_free(l->arena, sizeof(*l->arena));
}

static int run(struct link6 *l, enum ros1_writer who, unsigned count, double *ret_us)
{
	struct ros1_arena *a = l->arena;
	uint32_t done = ros1_load(&a->done);

	a->count = count;
	a->window = a->readers = 1;
	__atomic_store_n(&a->taken, 0, __ATOMIC_SEQ_CST);
	ros1_add(&a->command[who]);
	BENCH_UNTIL(60, ros1_load(&a->done) != done || ros1_load(&a->failed));
	*ret_us = bench_median(a->sample, count) / 1e3;
	return ros1_load(&a->failed) ? -EIO : 0;
}

static int run_foxglove(struct bench *b)
{
	unsigned n = bench_runs(b, 9), count = b->smoke ? 4 : 80;
	struct bench_pair pair[BENCH_PAIRS_MAX];
	struct link6 l;
	double us[2] = { 0, 0 };
	int r = start(b, &l);

	for (unsigned i = 0; i < n && r == 0; i++) {
		for (unsigned k = 0; k < 2 && r == 0; k++) {
			unsigned which = (k + i) % 2;

			r = run(&l, which ? ROS1_RAW : ROS1_OURS, count, &us[which]);
		}
		pair[i] = (struct bench_pair){ us[0], us[1] };
	}
	if (r == 0)
		bench_report(b, "foxglove_6MiB", "us", "raw frames by libwebsockets", BENCH_COST, pair, n, 1.1);
	stop(&l);
	return r;
}

const struct bench_case bench_foxglove = { "foxglove", run_foxglove, "watch" };
