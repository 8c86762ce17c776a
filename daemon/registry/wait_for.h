/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What driven time waits for before it begins: rigs[].wait_for. A bridge counts as ready when it is connected; a
 * process, or a client that simd has not started, when it takes part in lock-step, drives time, or has sent Ready.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_WAIT_FOR_H
#define REGISTRY_WAIT_FOR_H

#include "exec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct simd;
struct time_engine;

struct wait_for {
	struct simd *s;
	struct time_engine *e;
	struct exec_timer late;
	int64_t since_mono_ns; /* when a driver came and had to wait; 0: none has */
};

/* Whether any rig lists names: an option of the engine. */
bool wait_for_any(const struct simd *s);
void wait_for_init(struct wait_for *w, struct simd *s, struct time_engine *e);
void wait_for_finish(struct wait_for *w); /* A zeroed one is fine. */
/* A bridge or client has become ready: time begins if it was the last one. */
void wait_for_look(struct wait_for *w);
/* As wait_for_look(), for a driver that has connected: from now on what is missing is late after step.deadline_ms. */
void wait_for_driver(struct wait_for *w);
/* The names that time still waits for: a new JSON array, empty once it has begun; NULL: no memory. */
json_t *wait_for_missing(const struct wait_for *w);

#endif
