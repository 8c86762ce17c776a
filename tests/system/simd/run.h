/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real simd with a real RouDi, as a test drives it. Only under tests/support/ns.sh: RouDi's names are
 * fixed, and "nothing is left" is only true in a private /tmp and /dev/shm.
 */
#ifndef SYSTEM_SIMD_RUN_H
#define SYSTEM_SIMD_RUN_H

#include "tests/support/test.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include <sim/sim.h>

#define POOLS   "\"pools\": [{\"size\": 512, \"count\": 2000}, {\"size\": 65536, \"count\": 100}]"
#define RUN_DIR "/tmp/run"

struct simd_run {
	pid_t pid;
	int ready_fd; /* a line when it is ready, end of file when it ends before */
	int err_fd;   /* its stderr; kept in a file, read by run_errors() */
};

/* The program under test, beside this one; name: "simd", "simbridge". */
const char *run_program(const char *name);

/* Start simd with this configuration text over the deadlines of patient.h; extra: one more option, NULL. Does not wait. */
void run_start(struct simd_run *r, const char *config, const char *const *extra);
/* Until it says that it is ready (true), or ends. */
bool run_ready(struct simd_run *r);
/* Wait for its end: wait status. */
int run_wait(struct simd_run *r);
/* SIGTERM, wait, and expect exit code 0. */
void run_stop(struct simd_run *r);
/* Its output on stderr so far. Static buffer. */
const char *run_errors(struct simd_run *r);
/* Whether the process lives; a zombie does not. */
bool run_alive(pid_t pid);
/* Fail unless nothing of simd or RouDi is left in /dev/shm, /tmp or among the processes. */
void run_nothing_left(void);

/* A tool's call; the reply is a new reference. Fails the test when refused. */
json_t *run_call(const char *method, const char *params);
int64_t run_number(const char *method, const char *key);
/* Until the value of key is `want`. */
void run_until(const char *method, const char *key, int64_t want);

/* A client in this process. */
struct sim_client *run_client(const char *name);
/* Publish until one message comes out at sub. */
void run_until_through(struct sim_publisher *p, struct sim_subscriber *s);
void run_pair(struct sim_client *c, const char *channel, struct sim_publisher **p, struct sim_subscriber **s);

#endif
