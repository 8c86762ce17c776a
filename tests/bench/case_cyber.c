/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cyber_6MiB: the latency of an image of 6 MiB from a publisher through simd and the cyber bridge to a reader on a bare
 * socket in cyber_bridge's place, against the same bytes over a bare TCP connection to it. The senders are on CPU 0,
 * with simd and the bridge, the reader on CPU 1.
 */
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <sim/msg/Image.h>
#include <sim/sim.h>

#include "bench.h"
#include "ros1_arena.h"
#include "system/ros1/fake.h"

#define CHANNEL  "/six"
#define HEAD     (1 + 4 + sizeof(CHANNEL) - 1 + 4)
#define BODY_MAX (ROS1_DATA_6 + 4096u)

struct cyber_link {
	struct bench *b;
	struct ros1_arena *arena;
	pid_t reader, writer[2];
};

/* ---- the reader: a frame after the other, of either connection ---- */

static int read_some(int fd, uint8_t *to, size_t n)
{
	while (n) {
		ssize_t got = recv(fd, to, n, 0);

		if (got <= 0)
			return -1;
		to += got;
		n -= (size_t)got;
	}
	return 0;
}

/* A length and so many bytes. */
static int read_text(int fd, uint8_t *to)
{
	uint32_t n;

	return read_some(fd, (uint8_t *)&n, 4) < 0 || n > BODY_MAX ? -1 : read_some(fd, to, n);
}

static int take(struct ros1_arena *a, int fd, uint8_t *buffer)
{
	uint32_t count = 1;
	uint8_t op;
	int r = read_some(fd, &op, 1);

	if (r == 0 && op == 1)
		r = read_some(fd, (uint8_t *)&count, 4);
	for (uint32_t i = 0; r == 0 && i < (op == 1 ? count : 2); i++)
		r = read_text(fd, buffer);
	if (r < 0 || op != 4)
		return r;
	a->sample[ros1_load(&a->taken) % ROS1_SAMPLES] =
		(double)(ros1_now() - __atomic_load_n(&a->sent_mono_ns, __ATOMIC_SEQ_CST));
	ros1_add(&a->taken);
	return 0;
}

static int reader_main(void *arg)
{
	struct cyber_link *l = arg;
	uint8_t *buffer = calloc(1, BODY_MAX);
	struct pollfd p[2];
	unsigned port;
	int door = fake_listen(&port);

	bench_pin(1);
	__atomic_store_n(&l->arena->raw_port, port, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++)
		p[i] = (struct pollfd){ .fd = fake_accept(door), .events = POLLIN };
	for (;;) /* ends with its parent's signal */
		if (poll(p, 2, -1) > 0)
			for (int i = 0; i < 2; i++)
				if (p[i].revents && (!buffer || take(l->arena, p[i].fd, buffer) < 0))
					return 1;
}

/* ---- writers ---- */

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
	struct cyber_link *l = arg;
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

struct raw {
	int fd;
	uint8_t *frame;
};

static int send_raw(void *ctx)
{
	struct raw *w = ctx;
	size_t left = HEAD + ROS1_DATA_6;

	for (const uint8_t *at = w->frame; left;) {
		ssize_t sent = send(w->fd, at, left, MSG_NOSIGNAL);

		if (sent < 0)
			return -errno;
		at += sent;
		left -= (size_t)sent;
	}
	return 0;
}

static int raw_main(void *arg)
{
	struct cyber_link *l = arg;
	struct raw w = { .frame = calloc(1, HEAD + ROS1_DATA_6) };
	uint32_t n = sizeof(CHANNEL) - 1, size = ROS1_DATA_6;

	bench_pin(0);
	if (!w.frame)
		return 1;
	w.frame[0] = 4;
	memcpy(w.frame + 1, &n, 4);
	memcpy(w.frame + 5, CHANNEL, n);
	memcpy(w.frame + 5 + n, &size, 4);
	w.fd = fake_connect(l->arena->raw_port, 0);
	return ros1_serve(l->arena, ROS1_RAW, send_raw, &w) < 0;
}

/* ---- the orchestrator ---- */

/* simd and the bridge beside the others that send. */
static int pin_ours(struct cyber_link *l)
{
	char *text = NULL;
	json_t *reply;
	pid_t bridge;

	if (bench_call(l->b, "io.simd.Control.ListBridges", "{}", &text) < 0)
		return -EIO;
	reply = json_loads(text, 0, NULL);
	bridge =
		(pid_t)json_integer_value(json_object_get(json_array_get(json_object_get(reply, "bridges"), 0), "pid"));
	json_decref(reply);
	free(text);
	if (bridge <= 0)
		return -EIO;
	bench_pin_process(bridge, 0);
	bench_pin_process(l->b->simd_pid, 0);
	return 0;
}

static int start(struct bench *b, struct cyber_link *l)
{
	char rigs[512];
	int r;

	*l = (struct cyber_link){ .b = b };
	l->arena =
		mmap(NULL, sizeof(*l->arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (l->arena == MAP_FAILED)
		return -errno;
	l->reader = bench_fork(reader_main, l);
	BENCH_UNTIL(20, ros1_load(&l->arena->raw_port));
	snprintf(rigs, sizeof(rigs),
		 "{\"name\":\"bench\",\"bridges\":[{\"name\":\"cyber\",\"plugin\":\"cyber\",\"channels\":[\"" CHANNEL
		 "\"],\"connection\":\"127.0.0.1:%u\",\"options\":{\"probe\":\"false\"}}]}",
		 l->arena->raw_port);
	r = bench_simd(b, rigs);
	if (r < 0)
		return r;
	l->writer[0] = bench_fork(ours_main, l);
	l->writer[1] = bench_fork(raw_main, l);
	BENCH_UNTIL(60, ros1_load(&l->arena->ready) == 2 || ros1_load(&l->arena->failed));
	return ros1_load(&l->arena->failed) ? -EIO : pin_ours(l);
}

static void stop(struct cyber_link *l)
{
	const pid_t all[] = { l->reader, l->writer[0], l->writer[1] };

	for (unsigned i = 0; i < 3; i++) {
		if (all[i] <= 0)
			continue;
		kill(all[i], SIGKILL);
		bench_wait(all[i]);
	}
	if (l->arena != MAP_FAILED)
		munmap(l->arena, sizeof(*l->arena));
}

static int run(struct cyber_link *l, enum ros1_writer who, unsigned count, double *ret_us)
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

static int run_cyber(struct bench *b)
{
	unsigned n = bench_runs(b, 9), count = b->smoke ? 4 : 80;
	struct bench_pair pair[BENCH_PAIRS_MAX];
	struct cyber_link l;
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
		bench_report(b, "cyber_6MiB", "us", "bare TCP", BENCH_COST, pair, n, 1.2);
	stop(&l);
	return r;
}

const struct bench_case bench_cyber = { "cyber", run_cyber, NULL };
