/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where time meets the rest of simd: owns the clock page, the time engine and the clock thread, registers
 * /clock as a channel with simd as its publisher, notifies the engine when nothing accepted is outstanding.
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
/* Before dispatch is destroyed. NULL is fine. */
void timekeeper_destroy(struct timekeeper *t);

const struct sim_clock_page *timekeeper_page(const struct timekeeper *t);
int timekeeper_page_fd(const struct timekeeper *t);

/* A generation of the data plane begins, or is over: /clock moves to it, or stops. */
int timekeeper_dataplane_up(struct timekeeper *t);
void timekeeper_dataplane_lost(struct timekeeper *t);

/* Pausing, stepping and who leaves are the engine's own (engine.h). */
struct time_engine *timekeeper_engine(const struct timekeeper *t);
/*
 * done() follows once all that was accepted has arrived and no publisher has begun to queue more, or -ECANCELED when time goes on; never
 * before it returns.
 */
void timekeeper_wait_drained(struct timekeeper *t, struct time_wait *w);
int timekeeper_scale(struct timekeeper *t, double scale); /* -ERANGE, and the engine's errors */

/* Source by name or number text; keep: carry on where time is. */
int timekeeper_set_source(struct timekeeper *t, const char *name, bool keep);
const char *timekeeper_source(struct timekeeper *t); /* name of the active one; static */
/* Hand the lease to a client. As in time_driver_info. ret_fd: its end of the socket, caller closes. */
int timekeeper_acquire(struct timekeeper *t, const struct client *cl, bool freewheel, bool lockstep, int *ret_fd);
/* The driver says for what it waits, in a sentence of its own; "": for nothing. -EPERM: the client is not the driver. */
#define TIMEKEEPER_WAITS_MAX 200
int timekeeper_driver_waits(struct timekeeper *t, const struct client *cl, const char *what);
/* A client takes part in steps. ret_fd: its end of the socket, caller closes. */
int timekeeper_join(struct timekeeper *t, const struct client *cl, uint32_t rank, int *ret_fd);
/* A client has made what it publishes and subscribes to: time need not wait for it (rigs[].wait_for). */
void timekeeper_ready(struct timekeeper *t, struct client *cl);

/* The interface's Clock object. New reference. */
json_t *timekeeper_json(struct timekeeper *t);

#endif
