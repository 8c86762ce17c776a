/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that follows the time host: it hears how that one's clock stands, measures how far that one's CLOCK_MONOTONIC is from its own
 * (clock_filter.h), and says what that means here: simulated time at a moment of its own clock. Between two of these time runs by
 * itself, at the rate that was told; whoever is told slews (daemon/time, source `link`).
 *
 * It follows the first that it hears, or the one with the configured name, and that one until it is gone: not heard for a lease, or
 * resigned. Then time holds, with a sentence, until it is heard again, or, if it may be any, another one.
 *
 * Pure: no socket, no clock. Callbacks run inside of the call that caused them, and may not call back. Thread: one.
 */
#ifndef LINK_CLOCK_FOLLOW_H
#define LINK_CLOCK_FOLLOW_H

#include "clock_filter.h"
#include "time_msg.h"

struct clock_told {
	int64_t sim_ns, mono_ns; /* simulated time at that moment of our clock */
	int64_t rate_e6, scale_e6;
	uint32_t flags;       /* enum time_flag */
	bool jump;            /* time does not go on from what was told before */
	bool lockstep;        /* time moves by grants: this says pause and scale alone */
	int64_t error_dur_ns; /* sim_ns is wrong by that at most, in real time */
};

struct clock_time_host {
	uint64_t id, epoch;
	const char *name; /* borrowed */
	bool lockstep;
	uint8_t lookahead;
};

struct clock_follow_options {
	uint64_t id, life;
	const char *host; /* the name of the one to follow, copied; NULL or "": any */
	int64_t lease_dur_ns;
	int64_t ask_dur_ns; /* between two questions */
	void (*send)(void *ctx, const struct time_msg *m);
	void (*told)(void *ctx, const struct clock_told *t);
	void (*found)(void *ctx, const struct clock_time_host *host);
	void (*lost)(void *ctx, const char *why); /* a sentence; time is to hold */
	void *ctx;
};

struct clock_follow;

int clock_follow_create(const struct clock_follow_options *o, int64_t now_mono_ns, struct clock_follow **ret)
	__attribute__((warn_unused_result)); /* -EINVAL, -ENOMEM */
void clock_follow_destroy(struct clock_follow *f);

void clock_follow_got(struct clock_follow *f, int64_t now_mono_ns, const struct time_msg *m);
void clock_follow_tick(struct clock_follow *f, int64_t now_mono_ns);
int64_t clock_follow_due(const struct clock_follow *f);

bool clock_follow_host(const struct clock_follow *f, struct clock_time_host *ret); /* false: none, or lost */
uint64_t clock_follow_refused(const struct clock_follow *f);                       /* messages that could not be */

#endif
