/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side of the time host, whose simulated time all others use: it sends claims, which have the state of its clock,
 * and answers questions about its CLOCK_MONOTONIC.
 *
 *   LISTENING ---- no claim of another during a lease ------> GIVING
 *       ^  \                                                    | a claim with priority over ours
 *       |   `----- a claim arrives ---> REFUSED <---------------'
 *       `-- the other is not heard for a lease, or resigns ----'
 *
 * If two hosts give time, which a network partition can cause, the one with the earlier first claim stays, then that
 * with the smaller ID. Both are part of the claim, so all hosts decide the same even if their clocks differ. The other
 * one resigns and reports which host it is.
 *
 * No socket, no clock: the caller passes times and messages. Callbacks run inside the call that caused them and must
 * not call back. Thread: one.
 */
#ifndef LINK_CLOCK_HOST_H
#define LINK_CLOCK_HOST_H

#include "time_msg.h"

enum clock_host_state { CLOCK_LISTENING, CLOCK_GIVING, CLOCK_REFUSED };

struct clock_host_options {
	uint64_t id, life;    /* ID of the host; random number of this run; both not 0 */
	const char *name;     /* copied; letters, digits, _ . - */
	int64_t lease_dur_ns; /* a time host not heard for so long is lost; a claim is sent three times per lease */
	bool lockstep;        /* sent in the claim */
	uint8_t lookahead;    /* sent in the claim */
	void (*send)(void *ctx, const struct time_msg *m);
	/* The state has changed; other: in CLOCK_REFUSED, the name of the host that gives time. */
	void (*changed)(void *ctx, enum clock_host_state state, const char *other);
	void *ctx;
};

struct clock_host;

/* -EINVAL: invalid option; -ENOMEM. */
int clock_host_create(const struct clock_host_options *o, int64_t now_mono_ns, struct clock_host **ret)
	__attribute__((warn_unused_result));
void clock_host_destroy(struct clock_host *h); /* h may be NULL. Sends nothing, unlike clock_host_resign() */

enum clock_host_state clock_host_state(const struct clock_host *h);
/* After the clock has changed; real_ns: CLOCK_REALTIME now. Sent at once if it gives time, and with each claim. */
void clock_host_set(struct clock_host *h, int64_t now_mono_ns, int64_t real_ns, const struct time_state *s);
/* The last step granted; sent with the next claim. */
void clock_host_step(struct clock_host *h, uint64_t number);
/* now_mono_ns: when it arrived. Messages for other hosts are ignored. */
void clock_host_got(struct clock_host *h, int64_t now_mono_ns, const struct time_msg *m);
void clock_host_tick(struct clock_host *h, int64_t now_mono_ns);
int64_t clock_host_due(const struct clock_host *h); /* when to call clock_host_tick() */
/* Stops giving time, for good. */
void clock_host_resign(struct clock_host *h);

#endif
