/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `trace` shows: how long each stage took of the messages of one window, of what simd has counted (GetChannel with "stages", twice) and of
 * what was received here. Asks nobody. Thread: the owner's.
 */
#ifndef SIMCTL_TRACE_MODEL_H
#define SIMCTL_TRACE_MODEL_H

#include <jansson.h>
#include <stdint.h>

#include <sim/clock_page.h>
#include <sim/slot.h>

#include "histogram.h"

struct trace_window {
	struct histogram capture; /* from a message's stamp to its publishing, simulated time */
	struct histogram receive; /* from publishing to here, wall time */
	uint64_t messages;        /* that were received here */
};

/* A message that has been received here at that time, of which the clock says `now`. */
void trace_add(struct trace_window *w, const struct sim_slot *m, const struct sim_clock_sample *now, int64_t mono_ns);

/*
 * The simulated time at which a message was published, as far as the clock still tells: 0; -ERANGE: it has jumped, stood still or been
 * driven on since, or was not there then.
 */
int trace_published(const struct sim_slot *m, const struct sim_clock_sample *now, int64_t *ret_sim_ns);

/* What lies between two answers' Durations; all of `now` where before is NULL, or was of another run of counting. */
void trace_between(const json_t *before, const json_t *now, struct histogram *ret);

/*
 * The stages of a window: a list of objects with stage, bridge (of some), clock, from, to, count, p50, p90, p99, max (ns, null where there
 * was nothing). before and now: members "stages" of GetChannel, NULL where there is none. Returns: json_decref().
 */
json_t *trace_stages(const struct trace_window *w, const json_t *before, const json_t *now);

/* "850 ns", "12.3 us", "4.56 ms", "1.20 s". */
#define TRACE_SPAN_MAX 24
const char *trace_span(int64_t dur_ns, char buf[TRACE_SPAN_MAX]);

#endif
