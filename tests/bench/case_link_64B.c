/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_64B: a message of 64 bytes from the link plug-in of one process to that of another, and back, against a ping-pong of two plain
 * Cyclone programs with typed samples and listeners, with the same settings. What simd and the clients add on the way is not in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/msg/String.h>

#include "futex.h"
#include "ros2_link.h"
#include "system/ros2/host.h"
#include "system/ros2/reader.h"

#define SAMPLES 2000u
#define BODY    64u

struct arena {
	_Atomic uint32_t ready, quit, ours, plain; /* ours, plain: pings that have come back */
};

/* ---- the link: what simbridge is to it, at either end ---- */

static struct end {
	struct arena *a;
	bool far; /* answers each ping with a pong */
	struct host host;
	struct sim_bridge *bridge;
	struct sim_bridge_topic *topic;
	struct sim_slot *out;
	_Alignas(64) uint8_t room[256];
} end;

static int on_offer(void *ctx, const char *channel, const struct sim_type *type, size_t max_body, const char *from,
		    unsigned flags)
{
	(void)ctx;
	(void)type;
	(void)max_body;
	(void)from;
	(void)flags;
	end.host.ops->listen(end.bridge, channel, 1);
	return 0;
}

static int on_loan(void *ctx, const char *channel, const struct sim_type *type, size_t room, void **ret_body)
{
	(void)ctx;
	(void)channel;
	(void)type;
	*ret_body = end.room;
	return room <= sizeof(end.room) ? 0 : -EMSGSIZE;
}

static void on_unloan(void *ctx, const char *channel, void *body)
{
	(void)ctx;
	(void)channel;
	(void)body;
}

static int on_publish(void *ctx, const char *channel, void *body, size_t size, const struct sim_bridge_origin *o)
{
	(void)ctx;
	(void)channel;
	(void)body;
	(void)size;
	if (end.far) {
		end.out->stamp_sim_ns = o->stamp_sim_ns;
		return host_publish(&end.host, end.bridge, end.topic, end.out);
	}
	atomic_store(&end.a->ours, (uint32_t)o->stamp_sim_ns);
	futex_wake_all(&end.a->ours, FUTEX_BETWEEN_PROCESSES);
	return 0;
}

static void on_withdraw(void *ctx, const char *channel)
{
	(void)ctx;
	(void)channel;
}

static size_t on_max_body(void *ctx, const struct sim_bridge_channel *ch)
{
	(void)ctx;
	(void)ch;
	return BODY;
}

static void open_end(struct arena *a, const char *plugin, bool far)
{
	static const char *const near_options[] = { "host", "near", NULL }, *const far_options[] = { "host", "far",
												     NULL };

	end.a = a;
	end.far = far;
	end.out = host_slot(BODY, "");
	end.out->type_hash = sim_String_type.hash;
	end.out->sequence = 1;
	host_init(&end.host, plugin, far ? far_options : near_options);
	end.host.host.simd_id = far ? 2 : 1;
	end.host.host.offer_from = on_offer;
	end.host.host.loan = on_loan;
	end.host.host.unloan = on_unloan;
	end.host.host.publish_from = on_publish;
	end.host.host.withdraw = on_withdraw;
	end.host.host.max_body = on_max_body;
	end.bridge = host_create(&end.host);
	end.topic = host_open(&end.host, end.bridge, far ? "/pong" : "/ping", &sim_String_type, "{}");
}

/* ---- plain programs ---- */

static struct plain {
	struct arena *a;
	bool far;
	dds_entity_t writer;
	struct seen_ultrasonic out;
} plain;

static void on_plain(dds_entity_t reader, void *arg)
{
	struct seen_ultrasonic m = { 0 };
	void *sample = &m;
	dds_sample_info_t info;

	(void)arg;
	while (dds_take(reader, &sample, &info, 1, 1) > 0) {
		if (!info.valid_data)
			continue;
		plain.out.stamp = m.stamp;
		if (plain.far) {
			(void)dds_write(plain.writer, &plain.out);
			continue;
		}
		atomic_store(&plain.a->plain, m.stamp.nanosec);
		futex_wake_all(&plain.a->plain, FUTEX_BETWEEN_PROCESSES);
	}
}

static int open_plain(struct arena *a, bool far)
{
	dds_entity_t p = ros2_link_participant(ROS2_TUNED), in, out;
	dds_listener_t *l = dds_create_listener(NULL);
	dds_qos_t *q = dds_create_qos();

	plain.a = a;
	plain.far = far;
	plain.out.frame_id = strdup("frame of this and that, so that all are 64 bytes");
	dds_lset_data_available(l, on_plain);
	dds_qset_reliability(q, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
	dds_qset_history(q, DDS_HISTORY_KEEP_LAST, 16);
	in = dds_create_topic(p, &seen_ultrasonic_desc, far ? "ping" : "pong", NULL, NULL);
	out = dds_create_topic(p, &seen_ultrasonic_desc, far ? "pong" : "ping", NULL, NULL);
	plain.writer = dds_create_writer(p, out, q, NULL);
	if (dds_create_reader(p, in, q, l) < 0)
		return -1;
	dds_delete_qos(q);
	dds_delete_listener(l);
	return plain.writer < 0 ? -1 : 0;
}

/* ---- pings ---- */

static int write_ours(uint32_t n)
{
	end.out->stamp_sim_ns = n;
	return host_publish(&end.host, end.bridge, end.topic, end.out);
}

static int write_plain(uint32_t n)
{
	plain.out.stamp.nanosec = n;
	return dds_write(plain.writer, &plain.out) < 0 ? -EIO : 0;
}

static int await(_Atomic uint32_t *word, uint32_t n, int64_t dur_ns)
{
	int64_t end_mono_ns = mono_now_ns() + dur_ns;
	uint32_t now;

	while ((now = atomic_load(word)) != n) {
		if (mono_now_ns() > end_mono_ns)
			return -ETIMEDOUT;
		futex_wait(word, now, 10 * NS_PER_MS, FUTEX_BETWEEN_PROCESSES);
	}
	return 0;
}

/* The median round trip; the first ones, until both know each other, do not count. */
static int pings(int (*write)(uint32_t n), _Atomic uint32_t *back, uint32_t *n, unsigned count, double *ret_ns)
{
	static double sample[SAMPLES];
	int r = 0;

	for (unsigned i = 0; i < count && r == 0; i++) {
		int64_t start_mono_ns = mono_now_ns();

		r = write(++*n);
		r = r < 0 ? r : await(back, *n, 10 * NS_PER_S);
		sample[i] = (double)(mono_now_ns() - start_mono_ns);
	}
	if (r == 0)
		*ret_ns = bench_median(sample, count);
	return r;
}

static int meet(int (*write)(uint32_t n), _Atomic uint32_t *back, uint32_t *n)
{
	for (unsigned i = 0; i < 2000; i++)
		if (write(++*n) == 0 && await(back, *n, 10 * NS_PER_MS) == 0)
			return 0;
	return -ETIMEDOUT;
}

static char plugin[2 * BENCH_PATH];

static int far_main(void *arg)
{
	struct arena *a = arg;

	bench_pin(1);
	open_end(a, plugin, true);
	if (open_plain(a, true) < 0)
		return 1;
	atomic_store(&a->ready, 1);
	futex_wake_all(&a->ready, FUTEX_BETWEEN_PROCESSES);
	while (!atomic_load(&a->quit))
		futex_wait(&a->quit, 0, 100 * NS_PER_MS, FUTEX_BETWEEN_PROCESSES);
	return 0;
}

struct near_run {
	struct bench *b;
	struct arena *a;
	unsigned n;
	struct bench_pair pair[BENCH_PAIRS_MAX]; /* in the arena's memory */
	_Atomic int result;
};

static int measure(struct near_run *x)
{
	unsigned count = x->b->smoke ? 20 : SAMPLES;
	uint32_t ours = 0, bare = 0;
	int r;

	open_end(x->a, plugin, false);
	r = open_plain(x->a, false);
	r = r < 0 ? r : meet(write_ours, &x->a->ours, &ours);
	r = r < 0 ? r : meet(write_plain, &x->a->plain, &bare);
	for (unsigned i = 0; i < x->n && r == 0; i++) {
		for (unsigned k = 0; k < 2 && r == 0; k++)
			r = (i + k) % 2 ? pings(write_plain, &x->a->plain, &bare, count, &x->pair[i].reference)
					: pings(write_ours, &x->a->ours, &ours, count, &x->pair[i].ours);
		x->pair[i].ours /= 1e3;
		x->pair[i].reference /= 1e3;
	}
	return r;
}

static int near_main(void *arg)
{
	struct near_run *x = arg;

	bench_pin(0);
	atomic_store(&x->result, measure(x));
	return 0;
}

static int run_link_64B(struct bench *b)
{
	struct arena *a = bench_arena(sizeof(*a));
	struct near_run *x = bench_arena(sizeof(*x));
	pid_t far, near;
	int r;

	snprintf(plugin, sizeof(plugin), "%s/../lib/simd/bridge_link.so", b->bin);
	x->b = b;
	x->a = a;
	x->n = bench_runs(b, 9);
	x->result = -EIO;
	far = bench_fork(far_main, a);
	r = await(&a->ready, 1, 20 * NS_PER_S);
	if (r == 0) {
		near = bench_fork(near_main, x);
		bench_wait(near);
		r = atomic_load(&x->result);
	}
	atomic_store(&a->quit, 1);
	futex_wake_all(&a->quit, FUTEX_BETWEEN_PROCESSES);
	bench_wait(far);
	if (r == 0)
		bench_report(b, "link_64B", "us", "plain Cyclone ping-pong", BENCH_COST, x->pair, x->n, 1.3);
	bench_arena_free(x, sizeof(*x));
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_link_64B = { "link_64B", run_link_64B, NULL };
