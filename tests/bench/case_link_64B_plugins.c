/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_64B_plugins: a message of 64 bytes from the link plug-in of one process to that of another, and back, against a ping-pong of two plain
 * Cyclone programs with typed samples and listeners, with the same settings. What simd and the clients add on the way is not in it:
 * link_64B has that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/msg/String.h>

#include "futex.h"
#include "pings.h"
#include "ros2_link.h"
#include "system/ros2/host.h"

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
	pings_tell(&end.a->ours, (uint32_t)o->stamp_sim_ns);
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

/* ---- pings ---- */

static int write_ours(uint32_t n)
{
	end.out->stamp_sim_ns = n;
	return host_publish(&end.host, end.bridge, end.topic, end.out);
}

static char plugin[2 * BENCH_PATH];

static int far_main(void *arg)
{
	struct arena *a = arg;

	bench_pin(1);
	open_end(a, plugin, true);
	if (pings_plain_open(ros2_link_participant(ROS2_TUNED), true, &a->plain) < 0)
		return 1;
	pings_tell(&a->ready, 1);
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
	r = pings_plain_open(ros2_link_participant(ROS2_TUNED), false, &x->a->plain);
	r = r < 0 ? r : pings_meet(write_ours, &x->a->ours, &ours);
	r = r < 0 ? r : pings_meet(pings_plain_write, &x->a->plain, &bare);
	for (unsigned i = 0; i < x->n && r == 0; i++) {
		for (unsigned k = 0; k < 2 && r == 0; k++)
			r = (i + k) % 2
				    ? pings_run(pings_plain_write, &x->a->plain, &bare, count, &x->pair[i].reference)
				    : pings_run(write_ours, &x->a->ours, &ours, count, &x->pair[i].ours);
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

static int run_link_64B_plugins(struct bench *b)
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
	r = pings_await(&a->ready, 1, 20 * NS_PER_S);
	if (r == 0) {
		near = bench_fork(near_main, x);
		bench_wait(near);
		r = atomic_load(&x->result);
	}
	pings_tell(&a->quit, 1);
	bench_wait(far);
	if (r == 0)
		bench_report(b, "link_64B_plugins", "us", "plain Cyclone ping-pong", BENCH_COST, x->pair, x->n, 1.3);
	bench_arena_free(x, sizeof(*x));
	bench_arena_free(a, sizeof(*a));
	return r;
}

const struct bench_case bench_link_64B_plugins = { "link_64B_plugins", run_link_64B_plugins, NULL };
