/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step over several machines, the side of the time host: it grants a step to all member hosts; each answers when
 * its participants have finished; when all have, and this host's own too, the step is committed.
 *
 *   begin() --GRANT--> all ...  own(), DONE from each  ... commit() --COMMIT--> all,  over()
 *
 * DONE and COMMIT list what hosts have published for others, so that each host knows which messages to wait for before
 * it dispatches those of a step, in the same order everywhere (step_order.h). With a lookahead of L, a step may end
 * when the step L before it is committed: grants are sent before all answers are here, and messages of other hosts are
 * dispatched L steps later.
 *
 * A member that does not answer is sent its grants again every resend_dur_ns; after the deadline, `late` decides, as
 * step.late does for participants. Hosts join and leave between two steps. A host that was restarted or dropped must
 * join again.
 *
 * No socket, no clock: the caller passes times and messages. Callbacks run inside the call that caused them and must
 * not call these functions. Thread: one.
 */
#ifndef LINK_STEP_HOST_H
#define LINK_STEP_HOST_H

#include "time_msg.h"

enum step_late { STEP_LATE_WAIT, STEP_LATE_WARN, STEP_LATE_DROP };

struct step_member {
	uint64_t id;
	const char *name; /* borrowed; valid until the next call */
	uint64_t done;    /* the last step it answered */
	bool awaited, late;
	int64_t waited_dur_ns; /* if awaited */
};

enum step_event { STEP_JOINED, STEP_LEFT, STEP_LATE, STEP_DROPPED_OUT };

struct step_host_options {
	uint64_t id, life; /* as in clock_host_options */
	uint8_t lookahead; /* 0 to STEP_LOOKAHEAD_MAX */
	int64_t deadline_dur_ns, resend_dur_ns;
	enum step_late late;
	void (*send)(void *ctx, const struct time_msg *m);
	/*
	 * All messages of this step are known: exports lists the last one of each host and channel. Called for each
	 * step in order; that of step n - lookahead before over() of step n.
	 */
	void (*committed)(void *ctx, uint64_t number, const struct step_export *exports, uint32_t n);
	void (*over)(void *ctx, uint64_t number); /* the step may end here */
	void (*event)(void *ctx, enum step_event what, const struct step_member *who);
	void *ctx;
};

struct step_host;

int step_host_create(const struct step_host_options *o, struct step_host **ret) __attribute__((warn_unused_result));
void step_host_destroy(struct step_host *h);

/* A step begins: time advances by dur_ns to sim_ns. -EBUSY: a step is open; -EINVAL; -ENOMEM. */
int step_host_begin(struct step_host *h, int64_t now_mono_ns, int64_t sim_ns, int64_t dur_ns, uint32_t clock_generation,
		    uint64_t *ret_number) __attribute__((warn_unused_result));
/*
 * Our own participants have finished the step. exports: what they published for others. -EINVAL: no step is open, or
 * already called; -E2BIG; -ENOMEM.
 */
int step_host_own(struct step_host *h, int64_t now_mono_ns, const struct step_export *exports, uint32_t n)
	__attribute__((warn_unused_result));
void step_host_got(struct step_host *h, int64_t now_mono_ns, const struct time_msg *m);
void step_host_tick(struct step_host *h, int64_t now_mono_ns);
int64_t step_host_due(const struct step_host *h); /* INT64_MAX: never */

bool step_host_open(const struct step_host *h);
uint64_t step_host_number(const struct step_host *h);    /* the last step begun */
uint64_t step_host_committed(const struct step_host *h); /* the last step committed */
uint32_t step_host_members(const struct step_host *h, int64_t now_mono_ns, struct step_member *ret, uint32_t max);

#endif
