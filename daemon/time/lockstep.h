/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step: the participants of steps and one round through their ranks.
 *
 *   IDLE --begin--> GATHER --> TURN(rank) --> RELEASE(rank) --> next rank ... --> DISPATCH --> IDLE, ended()
 *
 * GATHER waits for participants that are still busy with an aborted round. A participant that exits or breaks the
 * protocol is removed at once, in any phase.
 *
 * Thread: the exec's. Events run when the object is consistent; they may not destroy it.
 */
#ifndef TIME_LOCKSTEP_H
#define TIME_LOCKSTEP_H

#include "engine.h"

struct lockstep;

struct lockstep_options {
	struct exec *exec;       /* borrowed */
	int64_t deadline_dur_ns; /* for each wait */
	enum time_late late;
	const struct time_engine_events *events; /* borrowed; dispatch, idle, late and participant_lost are called */
	void *events_ctx;
	struct wire_stepper
		/* TIME_PARTICIPANTS_MAX, shared with participants; NULL: all send packets. Borrowed */
		*steppers;
	/* read-only for participants; NULL: turns are sent only as packets. Needs steppers. Borrowed */
	struct wire_turn *turn;
	struct wire_grant *grant; /* where the last participant answers the driver; NULL: it does not. Borrowed */
	/* The round is over. Never called inside lockstep_begin(). */
	void (*ended)(void *ctx);
	/* The first participant has joined, or the last has left. */
	void (*members)(void *ctx);
	void *ctx;
};

int lockstep_create(const struct lockstep_options *o, struct lockstep **ret);
void lockstep_destroy(struct lockstep *l); /* NULL is fine */

/* Owns fd, also on failure. -EBUSY: the client takes part already; -EMFILE. */
int lockstep_join(struct lockstep *l, int fd, const struct time_participant *who);
void lockstep_drop_client(struct lockstep *l, uint32_t client_id);

uint32_t lockstep_members(const struct lockstep *l);
bool lockstep_has(const struct lockstep *l, uint32_t client_id);
bool lockstep_busy(const struct lockstep *l); /* whether a round is open */
/*
 * Time has moved: begins a round. True: ended() follows; false: there is nothing to wait for (no participant and,
 * unless `alone`, no dispatch). Not while a round is open.
 */
bool lockstep_begin(struct lockstep *l, const struct sim_clock_sample *now, int64_t dur_ns, bool alone);
/*
 * Allows the last participant of the rounds that begin from now on to report their end to the driver, with this scale,
 * if dispatch is idle then. 0: not allowed.
 */
void lockstep_let_answer(struct lockstep *l, int64_t scale_e6);
/*
 * A participant has answered the driver, which has then sent its next request: so all messages of the driver for the
 * present instant are published.
 */
void lockstep_answered(struct lockstep *l);
/* Checks in shared memory whether the round is over: may call ended(). */
void lockstep_look(struct lockstep *l);
uint64_t lockstep_number(const struct lockstep *l); /* number of the last round */
/* The dispatch that events.dispatch() started has completed. */
void lockstep_dispatched(struct lockstep *l);
/* Aborts the open round; ended() is not called. */
void lockstep_abort(struct lockstep *l);

uint32_t lockstep_list(const struct lockstep *l, struct time_participant *ret, uint32_t max); /* returns how many */

#endif
