/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step over machines, at a host that follows (step_host.h): it joins, is granted a step, has its own participants run it, answers
 * once when they are through, and ends the step when all hosts are.
 *
 *   OUT --JOIN, WELCOME--> READY --GRANT: advance()--> RUNNING --own(): DONE--> GATHERED --COMMIT: over()--> CLOSING --ended()--> READY
 *
 * Whatever was lost on the way is said again, each resend. Where the time host is gone, it waits; where another run of it begins, or
 * it says that we are no member, a step that is open is ended here alone, and we join afresh.
 *
 * Pure: no socket, no clock. Callbacks run inside of the call that caused them; of these functions they may call none. Thread: one.
 */
#ifndef LINK_STEP_FOLLOW_H
#define LINK_STEP_FOLLOW_H

#include "time_msg.h"

enum step_follow_state { STEP_OUT, STEP_READY, STEP_RUNNING, STEP_GATHERED, STEP_CLOSING };

struct step_turn {
	uint64_t number;
	int64_t from_sim_ns; /* before it: if that is not the time here, time jumps there first */
	int64_t dur_ns;
	uint32_t clock_generation; /* of the time host */
	uint8_t lookahead;         /* what comes from others is dispatched so many steps later */
};

struct step_follow_options {
	uint64_t id, life;
	const char *name; /* copied; letters, digits, _ . - */
	int64_t resend_dur_ns;
	void (*send)(void *ctx, const struct time_msg *m);
	void (*joined)(void *ctx, uint64_t first, int64_t sim_ns); /* sim_ns: before that step; 0: none has been */
	void (*out)(void *ctx, enum step_reason reason); /* 0: there is another time host, or another run of it */
	void (*advance)(void *ctx, const struct step_turn *t);
	/* As step_host_options::committed. */
	void (*committed)(void *ctx, uint64_t number, const struct step_export *exports, uint32_t n);
	/* The step may end here; alone: without the others, whose output of it is not known. */
	void (*over)(void *ctx, uint64_t number, bool alone);
	void *ctx;
};

struct step_follow;

int step_follow_create(const struct step_follow_options *o, struct step_follow **ret)
	__attribute__((warn_unused_result)); /* -EINVAL, -ENOMEM */
void step_follow_destroy(struct step_follow *f);

/* Whom we follow (clock_follow_options::found); lockstep false: there are no steps to take part in. */
void step_follow_host(struct step_follow *f, int64_t now_mono_ns, uint64_t id, uint64_t epoch, bool lockstep);
/* Our participants are through with the step that advance() began. -EINVAL none is; -E2BIG exports, which are as of step_host_own(). */
int step_follow_own(struct step_follow *f, int64_t now_mono_ns, const struct step_export *exports, uint32_t n)
	__attribute__((warn_unused_result));
void step_follow_ended(struct step_follow *f, int64_t now_mono_ns); /* after over(): it is */
void step_follow_leave(struct step_follow *f, int64_t now_mono_ns); /* for good */

void step_follow_got(struct step_follow *f, int64_t now_mono_ns, const struct time_msg *m);
void step_follow_tick(struct step_follow *f, int64_t now_mono_ns);
int64_t step_follow_due(const struct step_follow *f);

bool step_follow_joins(const struct step_follow *f); /* it has asked to take part, and has no answer */
enum step_follow_state step_follow_state(const struct step_follow *f);

#endif
