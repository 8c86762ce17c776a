/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Benches: floor, peer and ours in one run, interleaved, as ratios. A case measures pairs, one per repetition;
 * the framework forms the ratio inside each pair and reports medians (DESIGN: never an absolute time alone).
 *
 * Processes: the orchestrator never attaches to the data plane; roles are forked from it, so that each role is
 * a process as a user would have. They meet in an anonymous shared arena.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_PAIRS_MAX 32

struct stamp_page;

struct bench {
	const char *dir;          /* scratch folder of this run */
	const char *socket;       /* simd's control socket */
	const char *bin;          /* folder of the built programs */
	struct stamp_page *stamp; /* where bridge_stamp of simd's rig writes */
	pid_t simd_pid;
	bool smoke; /* as short as it can be: does it run at all? */
	struct bench_result *results;
	unsigned n, cap;
};

/* How the issue states the bar. */
enum bench_form {
	BENCH_COST,  /* ours / reference, an upper bound */
	BENCH_RATE,  /* ours / reference, a lower bound */
	BENCH_TIMES, /* reference / ours: "times faster" */
	BENCH_VALUE, /* no reference: value itself */
};

struct bench_pair {
	double ours, reference;
};

struct bench_result {
	char name[64], unit[16], against[64], note[128];
	double value, reference, ratio, spread, bar;
	double reference_spread; /* largest over smallest; above two the case measures the machine's mood */
	unsigned runs;
	bool has_reference, has_bar, upper;
};

struct bench_case {
	const char *name; /* of the group: one case may report several results, named group_... */
	int (*run)(struct bench *b);
	const char *covers; /* results with other names, for --only; NULL: none */
};

extern const struct bench_case bench_handover, bench_overhead, bench_first, bench_time, bench_cpu, bench_reattach,
	bench_clock, bench_step, bench_dispatch, bench_dispatch_rate, bench_pool, bench_ros2, bench_convert,
	bench_ros2_rig, bench_ros2_peer, bench_ros2_beside;

/* Report one result from its pairs. bar 0: none stated. against NULL with BENCH_VALUE. */
void bench_report(struct bench *b, const char *name, const char *unit, const char *against, enum bench_form form,
		  const struct bench_pair *pairs, unsigned n, double bar);

/* Start simd anew with 256 MiB of small slots; it stays so. */
int bench_plain_simd(struct bench *b);

/* Repetitions: at least five, one in a smoke run. */
unsigned bench_runs(const struct bench *b, unsigned full);

/* ---- tools for cases ---- */
double bench_median(double *v, unsigned n);               /* sorts v */
double bench_percentile(double *v, unsigned n, double p); /* sorts v */
void bench_pin(int cpu);                                  /* this thread; a single-CPU machine: no effect */
void bench_pin_process(pid_t pid, int cpu);               /* all threads of another one; -1: back to everywhere */
void *bench_arena(size_t size);                           /* zeroed, shared with children forked later */
void bench_arena_free(void *arena, size_t size);
pid_t bench_fork(int (*fn)(void *arg), void *arg); /* the child exits with fn's result; dies with the orchestrator */
int bench_wait(pid_t pid);                         /* exit status, or -1 */
int64_t bench_cpu_ns(pid_t pid);                   /* CPU time of all threads of a process so far */
int bench_call(struct bench *b, const char *method, const char *params,
	       char **ret); /* sim_call of a short session; ret may be NULL */

struct sim_publisher;
/* Until a bridge of its channel is connected; -ETIMEDOUT after 20 s. */
int bench_await_bridge(const struct sim_publisher *p);

#endif
