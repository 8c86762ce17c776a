/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the next tick may come: whom it waits for, how long, and what becomes of those who keep it waiting ("Time" in
 * schemas/wire/world.md). It reads no clock and sends nothing: the caller says what time it is, and does what barrier_next() says.
 * Thread: one, that of the ticks.
 */
#ifndef WORLD_BARRIER_H
#define WORLD_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

enum barrier_role { BARRIER_REGULATING = 1, BARRIER_CONSTRAINED = 2, BARRIER_OBSERVER = 3 };

enum barrier_rung { BARRIER_IN_TIME, BARRIER_WARNED, BARRIER_RESENT, BARRIER_DEMOTED, BARRIER_OUT };

struct barrier_options {
	int64_t step_dur_ns;    /* of simulated time between ticks */
	uint32_t pace_permille; /* simulated for real time, in thousandths; 0: as fast as it goes */
	int64_t rung_dur_ns;    /* 0: as the protocol says */
	bool dilate;            /* slow down for the slow, with a pace alone */
	bool wait_for_paused; /* time waits for one that has promised and is paused, without bound; else it is an observer meanwhile */
};

struct barrier;

int barrier_create(const struct barrier_options *o, int64_t now_mono_ns, struct barrier **ret)
	__attribute__((warn_unused_result)); /* -EINVAL; -ENOMEM */
void barrier_destroy(struct barrier *b);

/*
 * A participant, known by its connection number from now on; the tick that is next is the first one that waits for it. lookahead_dur_ns: 0 or more.
 * What newcomers cost those who are there is bounded for all of them together: where time stood for one, until it left, was paused or became an observer
 * within 30 s of its coming, that is taken from a share, of 6 rungs at once and a fiftieth of all time. There is one for those that have not promised
 * anything: while it is used up time waits for a newcomer beside others from its first promise on. And there is one for those that have: while it is used
 * up whoever promises something for the first time has to keep pace before it is waited for: until there is some share again, and for 1 s at least, or for 30 s.
 * -EEXIST; -EINVAL; -ENOMEM.
 */
int barrier_join(struct barrier *b, uint32_t connection, enum barrier_role role, int64_t lookahead_dur_ns,
		 int64_t now_mono_ns) __attribute__((warn_unused_result));
void barrier_leave(struct barrier *b, uint32_t connection, int64_t now_mono_ns);
/*
 * One that regulates has to keep pace for so long before it is waited for (again): while it has not, it is as if it had been demoted, and it is
 * put out when it has promised nothing for 5 s, or for as long as any other. Not asked of the only one that regulates, whom nobody else waits with.
 */
void barrier_earn(struct barrier *b, uint32_t connection, int64_t dur_ns);
/* How long it has kept time waiting by now; 0: it does not. */
int64_t barrier_late_dur_ns(const struct barrier *b, uint32_t connection, int64_t now_mono_ns);

struct barrier_done {
	uint64_t tick;
	int64_t echo_mono_ns, held_dur_ns, sent_mono_ns; /* 0: not said */
	bool paused;                                     /* its own time stands: no promise, and tick means nothing */
};
/*
 * Its promise, whatever its role. 1: it is a newcomer's first, and the newcomer has to keep pace before it is waited for. -ENOENT; -EINVAL a tick that
 * has not been made yet, or a duration or time stamp out of range. A promise that is not later than the last one changes nothing.
 */
int barrier_done(struct barrier *b, uint32_t connection, const struct barrier_done *d, int64_t now_mono_ns)
	__attribute__((warn_unused_result));

struct barrier_next {
	bool tick;              /* make the next tick now, then call barrier_ticked() */
	int64_t wake_mono_ns;   /* else: look again then, or after a promise or a leave; INT64_MAX: only then */
	uint32_t connection;    /* somebody is on another rung; 0: nobody. Call again at once */
	enum barrier_rung rung; /* where; BARRIER_OUT: it is to leave. BARRIER_IN_TIME: back in its own role */
	int64_t late_dur_ns;    /* how long it has kept time waiting, or */
	bool earns;             /* has promised nothing, while time did not wait for it */
};
void barrier_next(struct barrier *b, int64_t now_mono_ns, struct barrier_next *ret);
/* Tick `tick` was made, and its heartbeats go out now. */
void barrier_ticked(struct barrier *b, uint64_t tick, int64_t now_mono_ns);

/* ---- what a heartbeat says ---- */

uint32_t barrier_pace(const struct barrier *b);       /* in thousandths; 0: as fast as it goes */
uint32_t barrier_waited_for(const struct barrier *b); /* by the last tick, beyond the first rung */

struct barrier_client {
	enum barrier_role role; /* the one it has now */
	enum barrier_rung rung;
	uint64_t promised;    /* tick */
	int64_t rtt_dur_ns;   /* -1: not known */
	int64_t ahead_dur_ns; /* its clock before ours; 0 where rtt is not known */
	int64_t work_dur_ns;  /* from heartbeat to promise, smoothed; -1: not known */
	int32_t step_advice_e6;
};
/* False: no such participant. */
bool barrier_client(const struct barrier *b, uint32_t connection, struct barrier_client *ret);

#endif
