/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Service calls and clock events for recorders, as two channels that simd publishes for local subscribers. Without
 * subscribers the channels do not exist and cost nothing.
 *
 *   /simd/service_calls  sim/ServiceCall  a call and its answer, when it is answered
 *   /simd/clock_events   sim/ClockEvent   jumps, pauses, steps, another scale, source or driver
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_JOURNAL_H
#define REGISTRY_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct journal;
struct sim_clock_page;
struct simd;

#define JOURNAL_CALLS_CHANNEL "/simd/service_calls"
#define JOURNAL_CLOCK_CHANNEL "/simd/clock_events"

enum journal_channel { JOURNAL_CALLS, JOURNAL_CLOCK, JOURNAL_CHANNELS };

/* Makes simd::journal. self: simd as a publisher. Borrows both until journal_destroy(). */
int journal_create(struct simd *s, struct client *self, const struct sim_clock_page *page);
void journal_destroy(struct simd *s); /* Later messages are ignored. */

/* A generation of the data plane begins, or has ended. */
void journal_dataplane_up(struct simd *s);
void journal_dataplane_lost(struct simd *s);

/* Whether the channel has subscribers; to be asked before a message is built. */
bool journal_wanted(const struct simd *s, enum journal_channel channel);
int64_t journal_now(const struct simd *s); /* Simulated time in ns. */

struct journal_call {
	const char *service, *type, *provider, *caller;
	const char *request, *response, *why; /* response: "" if result is negative */
	int64_t called_sim_ns, took_wall_dur_ns;
	int result;
};

struct journal_clock {
	uint8_t kind; /* a constant of sim/ClockEvent */
	int64_t from_sim_ns, to_sim_ns;
	double scale;
	uint32_t generation;
	const char *source, *driver;
};

void journal_put_call(struct simd *s, const struct journal_call *call);
void journal_put_clock(struct simd *s, const struct journal_clock *event);

#endif
