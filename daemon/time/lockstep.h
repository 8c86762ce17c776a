/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step: the participants of steps and one round through their ranks.
 *
 *   IDLE --begin--> GATHER --> TURN(rank) --> RELEASE(rank) --> next rank ... --> DISPATCH --> IDLE, ended()
 *
 * GATHER waits for participants that are still busy with a round that was given up. A participant that dies or
 * breaks the protocol is out at once, whatever was waited for.
 *
 * Thread: the exec's. Events run when the object is consistent; they may not destroy it.
 */
#ifndef TIME_LOCKSTEP_H
#define TIME_LOCKSTEP_H

#include "engine.h"

struct lockstep;

struct lockstep_options {
	struct exec *exec;       /* keeps */
	int64_t deadline_dur_ns; /* of each wait */
	enum time_late late;
	const struct time_engine_events *events; /* keeps; dispatch, late and participant_lost are called */
	void *events_ctx;
	struct wire_stepper
		*steppers;        /* TIME_PARTICIPANTS_MAX, shared with participants; NULL: all send packets. keeps */
	struct wire_turn *turn;   /* read-only to participants; NULL: turns go as packets alone. With steppers. keeps */
	struct wire_grant *grant; /* where the last participant answers the driver; NULL: it does not. keeps */
	/* The round is over. Never from inside lockstep_begin(). */
	void (*ended)(void *ctx);
	/* The first has joined, or the last has left. */
	void (*members)(void *ctx);
	void *ctx;
};

int lockstep_create(const struct lockstep_options *o, struct lockstep **ret);
void lockstep_destroy(struct lockstep *l); /* NULL is fine */

/* Takes fd, also on failure. -EBUSY the client takes part already, -EMFILE. */
int lockstep_join(struct lockstep *l, int fd, const struct time_participant *who);
void lockstep_drop_client(struct lockstep *l, uint32_t client_id);

uint32_t lockstep_members(const struct lockstep *l);
bool lockstep_has(const struct lockstep *l, uint32_t client_id);
bool lockstep_busy(const struct lockstep *l); /* a round is open */
/*
 * Time has moved. True: ended() follows; false: there is nothing to wait for, no participant and, unless `alone`, no dispatch. Not
 * while a round is open.
 */
bool lockstep_begin(struct lockstep *l, const struct sim_clock_sample *now, int64_t dur_ns, bool alone);
/*
 * The last participant of the rounds that begin from now on may tell the driver of their end, and this scale, if dispatch is idle
 * then. 0: not.
 */
void lockstep_let_answer(struct lockstep *l, int64_t scale_e6);
/* It has, and the driver has asked for more: all that it published is there. */
void lockstep_answered(struct lockstep *l);
/* Look in shared memory whether the round is over: ended() may be called. */
void lockstep_look(struct lockstep *l);
uint64_t lockstep_number(const struct lockstep *l); /* of the round that began last */
/* What dispatch() started has completed. */
void lockstep_dispatched(struct lockstep *l);
/* Give the open round up; ended() is not called. */
void lockstep_abort(struct lockstep *l);

uint32_t lockstep_list(const struct lockstep *l, struct time_participant *ret, uint32_t max); /* returns how many */

#endif
