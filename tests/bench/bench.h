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

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include <sim/publisher.h>

#include "timeutil.h"

#include "support/wait.h"

#define BENCH_PAIRS_MAX 32
#define BENCH_PATH      4200

struct stamp_page;

struct bench {
	char dir[BENCH_PATH];    /* scratch folder of this run, absolute */
	char bin[BENCH_PATH];    /* folder of the built programs, absolute */
	char socket[BENCH_PATH]; /* simd's control socket */
	char ros2_plugin[2 * BENCH_PATH];
	struct stamp_page *stamp; /* where bridge_stamp of the first rig below writes */
	pid_t simd_pid;
	bool usual;              /* it has the usual rig */
	const char *ss2_vehicle; /* of the next simd that is started: the ego on board of sim-ss2; NULL: none */
	unsigned lanes;          /* dispatch.lanes of the next simd that is started; 0: as many as there are CPUs */
	bool smoke;              /* as short as it can be: does it run at all? */
	struct bench_result *results;
	unsigned n, cap;
};

/* How the issue states the bar. */
enum bench_form {
	BENCH_COST,  /* ours / reference, an upper bound */
	BENCH_RATE,  /* ours / reference, a lower bound */
	BENCH_TIMES, /* reference / ours: "times faster" */
	BENCH_VALUE, /* no reference: value itself, an upper bound */
	BENCH_LEAST, /* the same, a lower bound */
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
	const char *name; /* of the group; its results begin with it and "_", or with one of these words */
	int (*run)(struct bench *b);
	const char *covers; /* apart by a space; NULL: none */
};

/* In the order in which they run. */
/* clang-format off */
#define BENCH_CASES(X) \
	X(time) X(handover) X(overhead) X(accessors) X(first) X(growth) X(cpu) X(dispatch) X(rate) X(channels) X(isolation) X(shards) X(reattach) \
	X(clock) X(step) X(lockstep) X(ss2) X(ros2) X(link) X(link_64B) X(link_idle) X(link_step) X(link_step_8) X(link_clock) X(link_64B_plugins) X(convert) X(foreign) X(json) X(apollo) X(apollo_messages) X(rig) X(peer) X(default) X(ros2_idle) X(ros2_service) X(beside) X(ros1) X(cyber) X(record) X(play) \
	X(component_fusion) X(component_idle) X(component_wake) X(component_inproc) X(component_timers) X(scheduler) X(top) X(foxglove) X(watch) X(page) X(world) X(world_disturbed) X(world_original) X(rows) X(readback) X(camera)
/* clang-format on */
#define BENCH_CASE(name) extern const struct bench_case bench_##name;
BENCH_CASES(BENCH_CASE)

/* Report one result from its pairs. bar 0: none stated. against NULL with BENCH_VALUE. */
void bench_report(struct bench *b, const char *name, const char *unit, const char *against, enum bench_form form,
		  const struct bench_pair *pairs, unsigned n, double bar);

int bench_write_json(const struct bench *b, const char *path);

/* Where sim-ss2 listens when a case selects its source. */
#define BENCH_SS2_PORT 45556

/*
 * Start simd again for the rest of this case, with those elements of "rigs". NULL: the usual one, which each
 * case finds, with the bridges "null" for /busy/ and "stamp" for /stamp/.
 */
int bench_simd(struct bench *b, const char *rigs);
void bench_stop_simd(struct bench *b);
/*
 * One more bridge_stamp for "bridges" of a rig: its configuration, in ret (of `size` bytes), and the page that it writes. It sleeps so
 * long over each message. NULL: failed.
 */
struct stamp_page *bench_stamp(const struct bench *b, const char *name, const char *channels, int sleep_us, char *ret,
			       size_t size);

/* Repetitions: at least five, one in a smoke run. */
unsigned bench_runs(const struct bench *b, unsigned full);

/* ---- tools for cases ---- */
/*
 * Seconds that a machine with other work may take to start simd, to connect, or for a new data plane: nothing is
 * measured by this limit, it only ends a process that hangs. The runner has none for benches.
 */
#define BENCH_PATIENCE 180

/* Waits until cond is true. On a time-out the calling function prints the condition, and returns -ETIMEDOUT. */
#define BENCH_UNTIL(seconds, cond) \
	do { \
		if (!HOLDS_WITHIN(1000 * (seconds), cond)) { \
			fprintf(stderr, "bench: %s:%d: not within %d s: %.400s\n", __FILE__, __LINE__, (int)(seconds), \
				#cond); \
			return -ETIMEDOUT; \
		} \
	} while (0)

double bench_median(double *v, unsigned n);               /* sorts v */
double bench_percentile(double *v, unsigned n, double p); /* sorts v */
void bench_pin(int cpu);                                  /* this thread; a single-CPU machine: no effect */
void bench_pin_process(pid_t pid, int cpu);               /* all threads of another one; -1: back to everywhere */
void *bench_arena(size_t size);                           /* zeroed, shared with children forked later */
void bench_arena_free(void *arena, size_t size);
pid_t bench_fork(int (*fn)(void *arg), void *arg); /* the child exits with fn's result; dies with the orchestrator */
int bench_wait(pid_t pid);                         /* exit status, or -1 */
int64_t bench_cpu_ns(pid_t pid);                   /* CPU time of all threads of a process so far */

/* A process that computes, for each CPU. */
struct bench_burners {
	pid_t pid[64];
	unsigned n;
};
/*
 * apart: each in a session of its own, as what simd starts: the kernel divides CPUs among sessions, and in the one of simd they
 * would starve bridges for seconds (Linux 6.18).
 */
void bench_burn_start(struct bench_burners *ret, bool apart);
void bench_burn_stop(struct bench_burners *x);

int bench_call(struct bench *b, const char *method, const char *params,
	       char **ret); /* sim_call of a short session; ret may be NULL */

/* In a role: what cannot be done ends it, with a sentence. */
struct sim_client *bench_connect(const struct bench *b, const char *name);
struct sim_publisher *bench_advertise(struct sim_client *c, const char *channel, size_t max_body, unsigned flags);
/* Queue one message of zeros, as sim_try_queue(). *ret_mono_ns: just before that call; may be NULL. */
int bench_queue(struct sim_publisher *p, size_t size, sim_done_fn cb, void *user, int64_t *ret_mono_ns);
/* Until a bridge of its channel is connected, for 20 s. */
void bench_await_bridge(const struct sim_publisher *p);

#endif
