/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step over machines, at the time host: it grants a step to all hosts that take part, each gathers its own participants and
 * answers once, and when all have, this host's too, the step is committed.
 *
 *   begin() --GRANT--> all ...  own(), DONE from each  ... commit() --COMMIT--> all,  over()
 *
 * What hosts have published for others goes with DONE and COMMIT, so that each knows what it is to wait for before it dispatches a
 * step's messages, all in one order (step_order.h). With a lookahead of L a step may be over when the one L before it is committed:
 * grants run ahead of answers, and what comes from another host is dispatched L steps later.
 *
 * Who is not heard gets its grants again, each resend; after the deadline the ladder says what becomes of it, as of participants
 * (step.late). Hosts join and leave between two steps. One that has begun again, or was away, is another one: it joins afresh.
 *
 * Pure: no socket, no clock. Callbacks run inside of the call that caused them; of these functions they may call none. Thread: one.
 */
#ifndef LINK_STEP_HOST_H
#define LINK_STEP_HOST_H

#include "time_msg.h"

enum step_late { STEP_LATE_WAIT, STEP_LATE_WARN, STEP_LATE_DROP };

struct step_member {
	uint64_t id;
	const char *name; /* borrowed, until the next call */
	uint64_t done;    /* the last step that it has answered */
	bool awaited, late;
	int64_t waited_dur_ns; /* if awaited */
};

enum step_event { STEP_JOINED, STEP_LEFT, STEP_LATE, STEP_DROPPED_OUT };

struct step_host_options {
	uint64_t id, life; /* as of clock_host_options */
	uint8_t lookahead; /* 0 .. STEP_LOOKAHEAD_MAX */
	int64_t deadline_dur_ns, resend_dur_ns;
	enum step_late late;
	void (*send)(void *ctx, const struct time_msg *m);
	/*
	 * All output of this step is known: exports are what hosts have published up to it for others. Steps come one after the other;
	 * before over() of a step the commit of the one `lookahead` before it has been.
	 */
	void (*committed)(void *ctx, uint64_t number, const struct step_export *exports, uint32_t n);
	void (*over)(void *ctx, uint64_t number); /* the step may end here */
	void (*event)(void *ctx, enum step_event what, const struct step_member *who);
	void *ctx;
};

struct step_host;

int step_host_create(const struct step_host_options *o, struct step_host **ret) __attribute__((warn_unused_result));
void step_host_destroy(struct step_host *h);

/* A step begins: time has moved by dur_ns, to sim_ns. *ret_number: which. -EBUSY one is open; -EINVAL; -ENOMEM. */
int step_host_begin(struct step_host *h, int64_t now_mono_ns, int64_t sim_ns, int64_t dur_ns, uint32_t clock_generation,
		    uint64_t *ret_number) __attribute__((warn_unused_result));
/* Our own participants are through with it. exports: what they have published for others. -EINVAL none is open, or again; -E2BIG; -ENOMEM. */
int step_host_own(struct step_host *h, int64_t now_mono_ns, const struct step_export *exports, uint32_t n)
	__attribute__((warn_unused_result));
void step_host_got(struct step_host *h, int64_t now_mono_ns, const struct time_msg *m);
void step_host_tick(struct step_host *h, int64_t now_mono_ns);
int64_t step_host_due(const struct step_host *h); /* INT64_MAX: never */

bool step_host_open(const struct step_host *h);
uint64_t step_host_number(const struct step_host *h);    /* of the last step that began */
uint64_t step_host_committed(const struct step_host *h); /* the last one */
uint32_t step_host_members(const struct step_host *h, int64_t now_mono_ns, struct step_member *ret, uint32_t max);

#endif
