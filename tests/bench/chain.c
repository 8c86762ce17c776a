/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of chain.h. Threads: one per process. */
#include "chain.h"

#include <signal.h>

#include "futex.h"

static void hop(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	futex_wake_all(word, FUTEX_BETWEEN_PROCESSES);
}

static void await(_Atomic uint32_t *word, uint32_t n)
{
	uint32_t now;

	while ((int32_t)((now = atomic_load(word)) - n) < 0)
		futex_wait(word, now, INT64_MAX, FUTEX_BETWEEN_PROCESSES);
}

struct role {
	struct chain *c;
	int cpu;
};

static int middle_main(void *arg)
{
	const struct role *role = arg;
	struct chain *c = role->c;

	if (role->cpu >= 0)
		bench_pin(role->cpu);
	for (uint32_t n = 1; !atomic_load_explicit(&c->quit, memory_order_relaxed); n++) {
		await(&c->to_middle, n);
		hop(&c->to_peer);
		await(&c->from_peer, n);
		hop(&c->to_caller);
	}
	return 0;
}

static int peer_main(void *arg)
{
	const struct role *role = arg;
	struct chain *c = role->c;

	if (role->cpu >= 0)
		bench_pin(role->cpu);
	for (uint32_t n = 1; !atomic_load_explicit(&c->quit, memory_order_relaxed); n++) {
		await(&c->to_peer, n);
		atomic_store(&c->peer_mono_ns, mono_now_ns());
		hop(&c->from_peer);
	}
	return 0;
}

void chain_start_on(struct chain *c, int end_cpu, int middle_cpu)
{
	struct role middle = { c, middle_cpu }, peer = { c, end_cpu };

	*c = (struct chain){ 0 };
	c->pid[0] = bench_fork(middle_main, &middle);
	c->pid[1] = bench_fork(peer_main, &peer);
}

void chain_start(struct chain *c, bool pinned)
{
	chain_start_on(c, pinned ? CHAIN_END : -1, pinned ? CHAIN_MID : -1);
}

void chain_stop(struct chain *c)
{
	for (int i = 0; i < 2; i++) {
		kill(c->pid[i], SIGKILL);
		bench_wait(c->pid[i]);
	}
}

void chain_round(struct chain *c, double *ret_half_ns, double *ret_full_ns)
{
	int64_t start = mono_now_ns();

	hop(&c->to_middle);
	await(&c->to_caller, ++c->rounds);
	*ret_full_ns = (double)(mono_now_ns() - start);
	*ret_half_ns = (double)(atomic_load(&c->peer_mono_ns) - start);
}
