/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time engine: the state machine of simulated time and the only writer of the clock page.
 *
 *            pause / scale 0                step D                    quiet
 *   RUNNING ────────────────► PAUSED ──────────────────► STEPPING ───────────► PAUSED
 *           ◄────────────────        ◄── pause cancels ──         (resume cancels too, and runs)
 *             resume / scale > 0 after scale 0
 *
 * A pause, and the end of a step, wait for the driver's next request: by then it has published for
 * the time that was granted.
 *
 * Wall-driven time is integrated piecewise on CLOCK_MONOTONIC in whole millionths of a nanosecond, so it is exact
 * whatever the scale and however often it changes; the page carries the floor. Driven time moves when the holder of the
 * driver lease advances it, on a SEQPACKET socket (schemas/wire/driver.h). A followed source runs by itself at the rate
 * that its driver reports, and is slewed to the time that it reports (slew.h); in lock-step it is driven.
 *
 * Thread: the exec's (in simd: simd-main). Events run inside the call that caused them, when the engine is
 *         consistent again: they may call the engine, but not destroy it.
 * Errors: negative errno, with err_why() set.
 */
#ifndef TIME_ENGINE_H
#define TIME_ENGINE_H

#include "exec.h"
#include "list.h"
#include "source.h"

#include <sim/clock_page.h>

struct time_engine;

#define TIME_NAME_MAX         100
#define TIME_PARTICIPANTS_MAX 64
#define TIME_SCALE_MIN_E6     10000     /* 0.01 */
#define TIME_SCALE_MAX_E6     100000000 /* 100 */
#define TIME_STEP_MAX_DUR_NS  (3600 * INT64_C(1000000000))

enum time_state {
	TIME_RUNNING = 0,
	TIME_STEPPING = 1,
	TIME_PAUSED = 2,
};

/* The holder of the driver lease. The engine copies the strings. */
struct time_driver_info {
	uint32_t client_id;
	int32_t pid;
	uint32_t uid;
	bool freewheel; /* time does not follow the wall clock: SIM_CLOCK_FREEWHEEL */
	bool lockstep;  /* rounds of lock-step for dispatch, even if there are no participants */
	const char *name;
};

/* What happens to a participant that has not acknowledged by the deadline. */
enum time_late {
	TIME_LATE_WAIT = 0, /* it is only shown as late */
	TIME_LATE_WARN = 1, /* also an event */
	TIME_LATE_DROP = 2, /* it is removed; the step continues without it */
};

/* A client that steps wait for. The engine copies the strings. */
struct time_participant {
	uint32_t client_id;
	int32_t pid;
	uint32_t uid;
	uint32_t rank;
	const char *name;
	/* only in lists: */
	bool awaited, late;    /* awaited: the step waits for it now; late: for longer than the deadline */
	int64_t waited_dur_ns; /* if awaited */
};

/* Any may be NULL. */
struct time_engine_events {
	/* Time has jumped: the source was switched, or a driver has set time back. The page is written already. */
	void (*jump)(void *ctx, int64_t old_sim_ns, int64_t new_sim_ns, uint32_t clock_generation);
	/* State, scale, source or driver changed. */
	void (*changed)(void *ctx);
	/* Whether all accepted messages have completed. NULL: always true. Called only while stepping. */
	bool (*quiet)(void *ctx);
	/*
	 * Whether a client other than driver and participants (time_engine_paces()) publishes for dispatch.
	 * *ret_mono_ns: publish time of the last message that dispatch has accepted. NULL: no such client.
	 */
	bool (*watched)(void *ctx, int64_t *ret_mono_ns);
	/*
	 * The driver has not sent a request for longer than the deadline, and a pause or the end of a step waits for
	 * it; not with TIME_LATE_WAIT. cut: the wait has ended without it.
	 */
	void (*driver_late)(void *ctx, const struct time_driver_info *who, int64_t waited_dur_ns, bool cut);
	/*
	 * The driver's socket was closed, or the driver broke the protocol (why). Not called when it released its lease
	 * or the source is switched.
	 */
	void (*driver_lost)(void *ctx, const struct time_driver_info *who, const char *why);
	/* The driver released its lease. */
	void (*driver_released)(void *ctx, const struct time_driver_info *who);
	/*
	 * Lock-step begins or ends: while held, dispatch keeps all messages until dispatch() is called. paused:
	 * messages flow because time is paused; lock-step continues.
	 */
	void (*hold)(void *ctx, bool held, bool paused);
	/*
	 * All participants have acknowledged: dispatch the published messages. True: there were none; false:
	 * time_engine_dispatched() follows when all have completed. NULL: true.
	 */
	bool (*dispatch)(void *ctx);
	/* Whether there is no published message for dispatch() now. NULL: false. */
	bool (*idle)(void *ctx);
	/*
	 * In lock-step the driver has requested more time: dispatch what it and the participants have published since
	 * its last grant, without waiting for completion. True: there was nothing; false: time_engine_drained()
	 * follows. NULL: true.
	 */
	bool (*drain)(void *ctx);
	/*
	 * A participant (NULL: dispatch) has taken longer than the deadline; not with TIME_LATE_WAIT. dropped: it is
	 * removed.
	 */
	void (*late)(void *ctx, const struct time_participant *who, int64_t waited_dur_ns, bool dropped);
	/* A participant's socket was closed, or it broke the protocol (why). */
	void (*participant_lost)(void *ctx, const struct time_participant *who, const char *why);
};

struct time_engine_options {
	struct exec *exec;                   /* borrowed until destroy */
	struct sim_clock_page *page;         /* borrowed until destroy; zeroed (time_page_create()) */
	struct sim_clock_history *history;   /* borrowed until destroy; NULL: no history */
	const struct sim_source_ops *source; /* NULL: unity */
	int64_t scale_e6;                    /* 0: SIM_RATE_ONE */
	/* start paused, as after scale 0: setting a scale resumes; ignored by sources without control */
	bool paused;
	bool waits;                /* driven time begins only after time_engine_begin() */
	uint64_t simd_id;          /* random number of this run of simd */
	uint32_t clock_generation; /* first clock generation; 0: derived from simd_id */
	/*
	 * If events.watched(): how long a step or a pause waits after time has moved or a message was accepted, so that
	 * clients that watch the clock can publish for the new time; 20 times as long at most. < 0: default, 5 ms.
	 */
	int64_t step_settle_dur_ns;
	int64_t step_deadline_dur_ns; /* of each wait for participants or for the driver's request; 0: 10 s */
	enum time_late step_late;
	struct wire_stepper *steppers; /* TIME_PARTICIPANTS_MAX, in the dispatch page; NULL: none. Borrowed */
	struct wire_turn *turn;        /* in the layout page; NULL: turns are sent only as packets. Borrowed */
	/* in the dispatch page; NULL: the driver's answers are sent only as packets. Borrowed */
	struct wire_grant *grant;
	int64_t (*real_now)(void *ctx); /* CLOCK_REALTIME, ns; NULL: the real one */
	struct time_engine_events events;
	void *ctx; /* passed to real_now and the events */
};

/* Writes the page. -EINVAL: scale out of range; -EPROTO: source; -ERANGE: its start value; -ENOMEM. */
int time_engine_create(const struct time_engine_options *o, struct time_engine **ret);
/*
 * Notifies the driver (DRIVER_LOST) and closes its socket; an open step ends with -ECANCELED. The page stays. NULL is
 * fine.
 */
void time_engine_destroy(struct time_engine *e);

/* ---- control ---- */

/*
 * Both idempotent; both end an open step (-ECANCELED for its caller). -EOPNOTSUPP: the source cannot be paused.
 *
 * A grant covers all that the driver publishes until its next request: a pause begins then (or when its lease ends; at
 * the deadline, step_late decides), and when participants are done and clients that watch the clock have had time to
 * publish. Until then the state is unchanged, and the status shows `pausing`. Wall-driven time pauses at once, and so
 * does driven time if the driver's own client requests it.
 */
int time_engine_pause(struct time_engine *e);
/* As time_engine_pause(), for a request of that client. */
int time_engine_pause_by(struct time_engine *e, uint32_t client_id);
int time_engine_resume(struct time_engine *e);

/*
 * Waits until time is paused, or until all messages have arrived. The caller's memory, until done() or
 * time_wait_cancel().
 */
struct time_wait {
	struct list link; /* time_engine::waits, timekeeper::drains */
	/* result: 0, or -ECANCELED with err_why() set: time was resumed before. May free the wait. */
	void (*done)(struct time_wait *w, int result);
};

bool time_engine_is_pausing(const struct time_engine *e);
/* Only while time_engine_is_pausing(). done() follows, never before this returns. */
void time_engine_wait_paused(struct time_engine *e, struct time_wait *w);
void time_wait_cancel(struct time_wait *w);
void time_waits_done(struct list *from, int result); /* Calls done() of all waits of a list, and empties it. */

/*
 * Sets the scale in millionths, TIME_SCALE_MIN_E6 .. TIME_SCALE_MAX_E6; 0 pauses and keeps the scale. After a pause by
 * scale 0, a scale > 0 resumes, and ends an open step (-ECANCELED for its caller) as time_engine_resume() does; after
 * time_engine_pause() it does not. -ERANGE, -EOPNOTSUPP.
 */
int time_engine_set_scale(struct time_engine *e, int64_t scale_e6);

/*
 * Switches the source. The new one begins at its own start value, with a jump; keep_time: it continues at the present
 * time (only wall-driven sources with control, else -EINVAL). Selecting the active source changes nothing. The driver
 * loses its lease, and an open step is cancelled. A paused engine stays paused, unless the new source cannot be paused.
 * -EPROTO, -EINVAL, -ERANGE: its start value; then nothing has changed.
 */
int time_engine_set_source(struct time_engine *e, const struct sim_source_ops *source, bool keep_time);

/* result: 0 or a negative errno with err_why() set. sim_ns: time at the end of the step. */
typedef void (*time_step_fn)(void *arg, int result, int64_t sim_ns);

/*
 * Steps by dur_ns, 1 .. TIME_STEP_MAX_DUR_NS, only while paused. done() is called once, never before this returns.
 * Errors: -ERANGE; -EBUSY: time is running, or a step is open; -EOPNOTSUPP; -ENOTCONN: the source has no driver.
 * Results for done(): 0; -ECANCELED: time was paused, resumed (also by a scale) or switched meanwhile; -ENOTCONN: the
 * driver disconnected; -ERANGE: after a jump the step would pass the end of time, 2^63 ns.
 */
int time_engine_step(struct time_engine *e, int64_t dur_ns, time_step_fn done, void *arg);
/* The caller of the open step with this arg has disconnected: the step continues, without an answer. */
void time_engine_step_forget(struct time_engine *e, void *arg);
/* A message completed or a credit was freed: checks whether the open step, if any, has become quiet. Cheap. */
void time_engine_poke(struct time_engine *e);

/* ---- driver ---- */

/*
 * Gives the lease to the client at the other end of fd (SEQPACKET). Owns fd, also on failure. -EBUSY: another client
 * holds it (err_why() names it); -EOPNOTSUPP: the source is wall-driven.
 */
int time_engine_attach_driver(struct time_engine *e, int fd, const struct time_driver_info *who);
/* All clients that driven time waited for at its start are ready: grants the driver's requests from now on. */
void time_engine_begin(struct time_engine *e);
/* Whether time still waits for time_engine_begin(). */
bool time_engine_waits(const struct time_engine *e);
/* The client has disconnected: its lease ends at once, and it takes part no longer. Does nothing if it has neither. */
void time_engine_drop_client(struct time_engine *e, uint32_t client_id);

/* ---- lock-step ---- */

/*
 * Makes a client a participant from the next step on. fd: SEQPACKET, schemas/wire/step.h; owned, also on failure.
 * -EBUSY: it takes part already; -EMFILE: too many.
 */
int time_engine_join(struct time_engine *e, int fd, const struct time_participant *who);
/* See time_engine_events::dispatch and drain. */
void time_engine_dispatched(struct time_engine *e);
void time_engine_drained(struct time_engine *e);
/* Whether the client drives or takes part in steps: time waits for it in any case. */
bool time_engine_paces(const struct time_engine *e, uint32_t client_id);
/* The participants in the order of their turns; names are borrowed until the next call. Returns how many. */
uint32_t time_engine_participants(const struct time_engine *e, struct time_participant *ret, uint32_t max);

/* ---- what it is now ---- */

/* How long time has run so far, without jumps and pauses. */
struct time_run {
	int64_t began_mono_ns; /* when it first moved; 0: not yet */
	int64_t sim_dur_ns;
	int64_t wall_dur_ns; /* for driven time: until its last move */
};

struct time_status {
	const struct sim_source_ops *source;
	enum time_state state;
	bool pausing; /* a pause begins when the granted time is over */
	bool driven;  /* moved only by a driver: rate 0 */
	bool started;
	bool driver_lost;
	bool has_driver;
	struct time_driver_info driver; /* if has_driver; name is borrowed until the next call */
	int64_t sim_ns, mono_ns;
	int64_t scale_e6;
	uint32_t clock_generation;
	uint32_t steps; /* completed steps */
	/* of a followed source: upper bound of the error of simulated time; -1: unknown, or another source */
	int64_t error_dur_ns;
	/* simulated per wall time; driven sources: over the last 0.5 .. 1 s; 0 for 0.1 s after a resume */
	double real_time_factor;
	struct time_run run;
};

void time_engine_status(struct time_engine *e, struct time_status *ret);
int64_t time_engine_now(struct time_engine *e); /* simulated ns, as readers of the page see it */

/* ---- the page ---- */

/*
 * A sealed memfd that peers can only map read-only: the page, followed by its history. ret_page: time_page_destroy(),
 * which also frees the history; ret_fd: close().
 */
int time_page_create(struct sim_clock_page **ret_page, struct sim_clock_history **ret_history, int *ret_fd);
void time_page_destroy(struct sim_clock_page *page); /* NULL is fine */

#endif
