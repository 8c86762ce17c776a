/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Model of `trace`: how long each stage took for the messages of one window, from simd's counts (GetChannel with
 * "stages", asked for twice) and from the messages received here. Does no I/O. Thread: the owner's.
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
	struct histogram receive; /* from publishing to reception here, wall time */
	uint64_t messages;        /* received here */
};

/* Adds a message received here at mono_ns; now: the clock at that moment. */
void trace_add(struct trace_window *w, const struct sim_slot *m, const struct sim_clock_sample *now, int64_t mono_ns);

/*
 * The simulated time at which a message was published, computed from the clock at its reception. Returns 0; -ERANGE:
 * the clock was stale at one of the two moments, has jumped between them, or does not run now (rate 0).
 */
int trace_published(const struct sim_slot *m, const struct sim_clock_sample *now, int64_t *ret_sim_ns);

/*
 * The counts added between two answers' Durations; all of `now` if before is NULL, or if counting has restarted in
 * between.
 */
void trace_between(const json_t *before, const json_t *now, struct histogram *ret);

/*
 * The stages of a window: a list of objects with stage, bridge (for some), clock, from, to, count, p50, p90, p99, max (ns, null if count is 0). before and now: members "stages" of GetChannel, may be NULL. Free with json_decref().
 */
json_t *trace_stages(const struct trace_window *w, const json_t *before, const json_t *now);

/* Formats as "850 ns", "12.3 us", "4.56 ms", "1.20 s". */
#define TRACE_SPAN_MAX 24
const char *trace_span(int64_t dur_ns, char buf[TRACE_SPAN_MAX]);

#endif
