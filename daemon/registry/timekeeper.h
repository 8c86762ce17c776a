/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects time with the rest of simd: owns the clock page, the time engine and the clock thread, registers /clock as a
 * channel with simd as its publisher, and notifies the engine when no accepted message is outstanding.
 *
 * Thread: simd-main; the sink of /clock runs on simd-clock and touches nothing here.
 */
#ifndef REGISTRY_TIMEKEEPER_H
#define REGISTRY_TIMEKEEPER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct client;
struct sim_clock_page;
struct simd;
struct time_engine;
struct time_wait;
struct timekeeper;

int timekeeper_create(struct simd *s, struct timekeeper **ret);
/* To be called before dispatch is destroyed. NULL is fine. */
void timekeeper_destroy(struct timekeeper *t);

const struct sim_clock_page *timekeeper_page(const struct timekeeper *t);
int timekeeper_page_fd(const struct timekeeper *t);

/* A generation of the data plane begins, or has ended: /clock moves to it, or stops. */
int timekeeper_dataplane_up(struct timekeeper *t);
void timekeeper_dataplane_lost(struct timekeeper *t);

/* The time engine, for pausing, stepping and clients that leave: callers use its own functions (engine.h). */
struct time_engine *timekeeper_engine(const struct timekeeper *t);
/*
 * done() runs once all accepted messages have arrived and no publisher has begun to queue more, or with -ECANCELED when
 * time resumes; never before this returns.
 */
void timekeeper_wait_drained(struct timekeeper *t, struct time_wait *w);
int timekeeper_scale(struct timekeeper *t, double scale); /* -ERANGE, and the engine's errors. */

/* Source by name or number text; keep: continue at the present time. */
int timekeeper_set_source(struct timekeeper *t, const char *name, bool keep);
const char *timekeeper_source(struct timekeeper *t); /* name of the active source; static */
/*
 * Gives the driver lease to a client. Flags as in time_driver_info. ret_fd: the client's end of the socket; the caller
 * closes it.
 */
int timekeeper_acquire(struct timekeeper *t, const struct client *cl, bool freewheel, bool lockstep, int *ret_fd);
/* The driver reports what it waits for, in its own words; "": nothing. -EPERM: the client is not the driver. */
#define TIMEKEEPER_WAITS_MAX 200
int timekeeper_driver_waits(struct timekeeper *t, const struct client *cl, const char *what);
/* Makes a client a participant of lock-step. ret_fd: the client's end of the socket; the caller closes it. */
int timekeeper_join(struct timekeeper *t, const struct client *cl, uint32_t rank, int *ret_fd);
/* The client has made its publishers and subscribers: time need not wait for it (rigs[].wait_for). */
void timekeeper_ready(struct timekeeper *t, struct client *cl);

/* The interface's Clock object. New reference. */
json_t *timekeeper_json(struct timekeeper *t);

#endif
