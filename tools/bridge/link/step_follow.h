/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step over several machines, the side of a host that follows (see also step_host.h): it joins; for each granted
 * step, its own participants run, it answers when they have finished, and ends the step when all hosts have.
 *
 *   OUT --JOIN, WELCOME--> READY --GRANT: advance()--> RUNNING --own(): DONE--> GATHERED --COMMIT: over()--> CLOSING --ended()--> READY
 *
 * Messages are repeated every resend_dur_ns until answered. While the time host is away, it waits. If the time host was
 * restarted, or says that we are not a member, an open step is ended without the others and we join again.
 *
 * No socket, no clock: the caller passes times and messages. Callbacks run inside the call that caused them and must
 * not call these functions. Thread: one.
 */
#ifndef LINK_STEP_FOLLOW_H
#define LINK_STEP_FOLLOW_H

#include "time_msg.h"

enum step_follow_state { STEP_OUT, STEP_READY, STEP_RUNNING, STEP_GATHERED, STEP_CLOSING };

struct step_turn {
	uint64_t number;
	int64_t from_sim_ns; /* time before the step; if it differs from the time here, time jumps to it first */
	int64_t dur_ns;
	uint32_t clock_generation; /* the time host's */
	uint8_t lookahead;         /* messages of other hosts are dispatched this many steps later */
};

struct step_follow_options {
	uint64_t id, life;
	const char *name; /* copied; letters, digits, _ . - */
	int64_t resend_dur_ns;
	void (*send)(void *ctx, const struct time_msg *m);
	void (*joined)(void *ctx, uint64_t first, int64_t sim_ns); /* sim_ns: time before the first step; 0: unknown */
	void (*out)(void *ctx, enum step_reason reason); /* reason 0: another time host, or it was restarted */
	void (*advance)(void *ctx, const struct step_turn *t);
	/* See step_host_options::committed. */
	void (*committed)(void *ctx, uint64_t number, const struct step_export *exports, uint32_t n);
	/* The step may end here; alone: without the other hosts, whose messages of it are not known. */
	void (*over)(void *ctx, uint64_t number, bool alone);
	void *ctx;
};

struct step_follow;

int step_follow_create(const struct step_follow_options *o, struct step_follow **ret)
	__attribute__((warn_unused_result)); /* -EINVAL, -ENOMEM */
void step_follow_destroy(struct step_follow *f);

/* Sets the time host to follow (clock_follow_options::found); lockstep false: it grants no steps. */
void step_follow_host(struct step_follow *f, int64_t now_mono_ns, uint64_t id, uint64_t epoch, bool lockstep);
/*
 * Our participants have finished the step begun by advance(). exports: as for step_host_own(). -EINVAL: no step is
 * running; -E2BIG: too many exports.
 */
int step_follow_own(struct step_follow *f, int64_t now_mono_ns, const struct step_export *exports, uint32_t n)
	__attribute__((warn_unused_result));
void step_follow_ended(struct step_follow *f, int64_t now_mono_ns); /* after over(), when the step has ended */
void step_follow_leave(struct step_follow *f, int64_t now_mono_ns); /* leaves for good: it does not join again */

void step_follow_got(struct step_follow *f, int64_t now_mono_ns, const struct time_msg *m);
void step_follow_tick(struct step_follow *f, int64_t now_mono_ns);
int64_t step_follow_due(const struct step_follow *f);

bool step_follow_joins(const struct step_follow *f); /* it has sent JOIN and has no answer yet */
enum step_follow_state step_follow_state(const struct step_follow *f);

#endif
