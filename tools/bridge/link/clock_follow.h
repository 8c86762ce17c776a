/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side of a host that follows the time host: receives the state of its clock, measures the offset of its
 * CLOCK_MONOTONIC from ours (clock_filter.h), and tells the caller the simulated time at a moment of our clock. Between
 * two such moments simulated time advances at the rate that was told; the receiver slews (daemon/time, source `link`).
 *
 * It follows the first time host that it hears, or the one with the configured name, until that is lost: not heard for
 * a lease, or resigned. Then simulated time stands until it is heard again or, if any host is allowed, another one is.
 *
 * No socket, no clock: the caller passes times and messages. Callbacks run inside the call that caused them and must
 * not call back. Thread: one.
 */
#ifndef LINK_CLOCK_FOLLOW_H
#define LINK_CLOCK_FOLLOW_H

#include "clock_filter.h"
#include "time_msg.h"

struct clock_told {
	int64_t sim_ns, mono_ns; /* simulated time sim_ns at time mono_ns of our clock */
	int64_t rate_e6, scale_e6;
	uint32_t flags;       /* enum time_flag */
	bool jump;            /* the time is not continuous with what was told before */
	bool lockstep;        /* time advances only by grants: this tells pause and scale */
	int64_t error_dur_ns; /* bound of the error of sim_ns, as real time */
};

struct clock_time_host {
	uint64_t id, epoch;
	const char *name; /* borrowed */
	bool lockstep;
	uint8_t lookahead;
};

struct clock_follow_options {
	uint64_t id, life;
	const char *host; /* name of the time host to follow, copied; NULL or "": any */
	int64_t lease_dur_ns;
	int64_t ask_dur_ns; /* between two questions */
	void (*send)(void *ctx, const struct time_msg *m);
	void (*told)(void *ctx, const struct clock_told *t);
	void (*found)(void *ctx, const struct clock_time_host *host);
	void (*lost)(void *ctx, const char *why); /* with the reason; simulated time must stand */
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
uint64_t clock_follow_refused(const struct clock_follow *f);                       /* number of invalid messages */

#endif
