/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host whose time holds for all: it claims to give time, says how its clock stands, and answers who asks what its clock says.
 *
 *   LISTENING ---- nobody claims for as long as a lease ----> GIVING
 *       ^  \                                                    | a claim that comes before ours
 *       |   `------ somebody does ----> REFUSED <---------------'
 *       `---- that one is not heard for a lease, or resigns ---'
 *
 * Of two that claim, both of which a partition let begin, the first one stays: by the moment of its first claim, then by its id. That
 * is written in the claim, so all choose the same, however their clocks disagree. The other one ends its claim and says whose stands.
 *
 * Pure: no socket, no clock; the caller hands in what time it is and what came. Callbacks run inside of the call that caused them,
 * and may not call back. Thread: one.
 */
#ifndef LINK_CLOCK_HOST_H
#define LINK_CLOCK_HOST_H

#include "time_msg.h"

enum clock_host_state { CLOCK_LISTENING, CLOCK_GIVING, CLOCK_REFUSED };

struct clock_host_options {
	uint64_t id, life;    /* of this host, and of its run; not 0 */
	const char *name;     /* copied; letters, digits, _ . - */
	int64_t lease_dur_ns; /* without a sign of it a time host is gone; claims come three times as often */
	bool lockstep;        /* as in the claim */
	uint8_t lookahead;    /* as in the claim */
	void (*send)(void *ctx, const struct time_msg *m);
	/* It has another state; other: whose claim stands, if REFUSED. */
	void (*changed)(void *ctx, enum clock_host_state state, const char *other);
	void *ctx;
};

struct clock_host;

/* -EINVAL: an option cannot be; -ENOMEM. */
int clock_host_create(const struct clock_host_options *o, int64_t now_mono_ns, struct clock_host **ret)
	__attribute__((warn_unused_result));
void clock_host_destroy(struct clock_host *h); /* NULL is fine. Says nothing: clock_host_resign() does */

enum clock_host_state clock_host_state(const struct clock_host *h);
/* The clock has changed; real_ns: CLOCK_REALTIME now. It is told at once, and again with each claim. */
void clock_host_set(struct clock_host *h, int64_t now_mono_ns, int64_t real_ns, const struct time_state *s);
/* The last step that was granted; told with the next claim. */
void clock_host_step(struct clock_host *h, uint64_t number);
/* now_mono_ns: when it came. What is not for it is ignored. */
void clock_host_got(struct clock_host *h, int64_t now_mono_ns, const struct time_msg *m);
void clock_host_tick(struct clock_host *h, int64_t now_mono_ns);
int64_t clock_host_due(const struct clock_host *h); /* when to call tick() */
/* Give time no more; it does not claim again. */
void clock_host_resign(struct clock_host *h);

#endif
