/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when the next tick comes: which participants the world waits for, how long, and what happens to those that
 * keep it waiting ("Time" in schemas/wire/world.md). Reads no clock and sends nothing: the caller passes the time, and
 * carries out what barrier_next() returns. Thread: that of the ticks.
 */
#ifndef WORLD_BARRIER_H
#define WORLD_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

enum barrier_role { BARRIER_REGULATING = 1, BARRIER_CONSTRAINED = 2, BARRIER_OBSERVER = 3 };

enum barrier_rung { BARRIER_IN_TIME, BARRIER_WARNED, BARRIER_RESENT, BARRIER_DEMOTED, BARRIER_OUT };

struct barrier_options {
	int64_t step_dur_ns;    /* simulated time between ticks */
	uint32_t pace_permille; /* simulated per real time, in thousandths; 0: as fast as possible */
	int64_t rung_dur_ns;    /* duration of a rung of the ladder; 0: the protocol's */
	bool dilate;            /* slow down for slow participants; only with a pace */
	/* wait without limit for a paused participant that has sent a promise; else it is an observer while paused */
	bool wait_for_paused;
};

struct barrier;

int barrier_create(const struct barrier_options *o, int64_t now_mono_ns, struct barrier **ret)
	__attribute__((warn_unused_result)); /* -EINVAL; -ENOMEM */
void barrier_destroy(struct barrier *b);

/*
 * Adds a participant, identified by its connection number; the next tick is the first that waits for it.
 * lookahead_dur_ns: 0 or more.
 * The time that newcomers cost the others is limited for all of them together. While the world stood still for a
 * participant that left, was paused or was made an observer within 30 s of joining, that time is taken from a budget of
 * 6 rungs at once and a fiftieth of all time. There are two budgets. While the one for newcomers without a promise is
 * used up, the world waits for a newcomer only from its first promise on, if others regulate. While the one for
 * newcomers with a promise is used up, a newcomer that sends its first promise is an observer until it has kept pace:
 * for at least 1 s and until the budget has recovered, or for 30 s.
 * -EEXIST; -EINVAL; -ENOMEM.
 */
int barrier_join(struct barrier *b, uint32_t connection, enum barrier_role role, int64_t lookahead_dur_ns,
		 int64_t now_mono_ns) __attribute__((warn_unused_result));
void barrier_leave(struct barrier *b, uint32_t connection, int64_t now_mono_ns);
/*
 * A regulating participant must keep pace for dur_ns before the world waits for it (again). Until then it is treated as
 * demoted, and disconnected if it promises nothing for 5 s, or as long as any other (ten rungs). Has no effect on the
 * only regulating participant.
 */
void barrier_earn(struct barrier *b, uint32_t connection, int64_t dur_ns);
/* How long it has kept the world waiting so far; 0: it does not. */
int64_t barrier_late_dur_ns(const struct barrier *b, uint32_t connection, int64_t now_mono_ns);

struct barrier_done {
	uint64_t tick;
	int64_t echo_mono_ns, held_dur_ns, sent_mono_ns; /* 0: not given */
	bool paused;                                     /* its own time is stopped: not a promise, tick is ignored */
};
/*
 * Handles a participant's Done, in any role. 1: the first promise of a newcomer that must keep pace before the world
 * waits for it. -ENOENT; -EINVAL: a tick that has not been made, or a duration or time stamp out of range. A promise
 * that is not later than the last one has no effect.
 */
int barrier_done(struct barrier *b, uint32_t connection, const struct barrier_done *d, int64_t now_mono_ns)
	__attribute__((warn_unused_result));

struct barrier_next {
	bool tick; /* make the next tick now, then call barrier_ticked() */
	/* otherwise: call again at that time, or after a promise or a leave; INT64_MAX: only then */
	int64_t wake_mono_ns;
	uint32_t connection;    /* this participant has changed its rung; 0: none. Call again at once */
	enum barrier_rung rung; /* its new rung; BARRIER_OUT: disconnect it; BARRIER_IN_TIME: back in its own role */
	int64_t late_dur_ns;    /* how long it has kept the world waiting; with `earns`: has promised nothing */
	bool earns;             /* the world did not wait for it, as it must earn its role */
};
void barrier_next(struct barrier *b, int64_t now_mono_ns, struct barrier_next *ret);
/* Notes that tick `tick` was made, and its heartbeats are sent now. */
void barrier_ticked(struct barrier *b, uint64_t tick, int64_t now_mono_ns);

/* ---- values for heartbeats ---- */

uint32_t barrier_pace(const struct barrier *b); /* in thousandths; 0: as fast as possible */
/* participants that the last tick waited for beyond the first rung */
uint32_t barrier_waited_for(const struct barrier *b);

struct barrier_client {
	enum barrier_role role; /* its present role */
	enum barrier_rung rung;
	uint64_t promised;    /* the last tick promised */
	int64_t rtt_dur_ns;   /* round trip; -1: unknown */
	int64_t ahead_dur_ns; /* by how much its clock is ahead of the server's; 0 if rtt is unknown */
	int64_t work_dur_ns;  /* from heartbeat to promise, smoothed; -1: unknown */
	int32_t step_advice_e6;
};
/* False: no such participant. */
bool barrier_client(const struct barrier *b, uint32_t connection, struct barrier_client *ret);

#endif
