/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time engine: the state machine of simulated time and the only writer of the clock page.
 *
 *            pause / scale 0                step D                    quiet
 *   RUNNING ────────────────► PAUSED ──────────────────► STEPPING ───────────► PAUSED
 *           ◄────────────────        ◄── pause cancels ──         (resume cancels too, and runs)
 *             resume / scale > 0 after scale 0
 *
 * A pause, and the end of a step, wait until the driver asks again: what was granted is published by then.
 *
 * Wall-driven time is integrated piecewise on CLOCK_MONOTONIC in whole millionths of a nanosecond, so it is exact
 * whatever the scale and however often it changes; the page carries the floor. Driven time moves when the
 * holder of the driver lease advances it, on a SEQPACKET socket (schemas/wire/driver.h). A followed source runs by itself at
 * the rate that its driver tells, and is slewed to the time that it tells (slew.h); in lock-step it is driven.
 *
 * Thread: the exec's (in simd: simd-main). Events run inside the call that caused them, when the engine is
 *         consistent again: they may call the engine, but not destroy it.
 * Errors: negative errno with a sentence in err_why().
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

/* Who holds the driver lease. Strings are copied by the engine. */
struct time_driver_info {
	uint32_t client_id;
	int32_t pid;
	uint32_t uid;
	bool freewheel; /* it does not pace: SIM_CLOCK_FREEWHEEL */
	bool lockstep;  /* rounds, of dispatch alone, also without participants */
	const char *name;
};

/* What happens to a participant that has not acknowledged after the deadline. */
enum time_late {
	TIME_LATE_WAIT = 0, /* nothing: it is shown as late */
	TIME_LATE_WARN = 1, /* an event as well */
	TIME_LATE_DROP = 2, /* it is out; the step goes on without it */
};

/* A client that steps wait for. Strings are copied by the engine. */
struct time_participant {
	uint32_t client_id;
	int32_t pid;
	uint32_t uid;
	uint32_t rank;
	const char *name;
	/* of a list: */
	bool awaited, late;    /* the step waits for it now; longer than the deadline */
	int64_t waited_dur_ns; /* if awaited */
};

/* Any may be NULL. */
struct time_engine_events {
	/* Time jumped: source switched, or a driver set it back. The page is written already. */
	void (*jump)(void *ctx, int64_t old_sim_ns, int64_t new_sim_ns, uint32_t clock_generation);
	/* State, scale, source or driver changed. */
	void (*changed)(void *ctx);
	/* Nothing that was accepted is outstanding. NULL: always true. Asked only while stepping. */
	bool (*quiet)(void *ctx);
	/*
	 * Somebody besides driver and participants (time_engine_paces()) publishes for dispatch; *ret_mono_ns: when the last
	 * message that dispatch has accepted was published. NULL: nobody does.
	 */
	bool (*watched)(void *ctx, int64_t *ret_mono_ns);
	/* The driver has not asked for more time for longer than the deadline, and a pause or the end of a step waits for that; not with TIME_LATE_WAIT. */
	void (*driver_late)(void *ctx, const struct time_driver_info *who, int64_t waited_dur_ns, bool cut);
	/* The driver's socket hung up, or it broke the protocol (why). Not called when it released its lease or the source is switched. */
	void (*driver_lost)(void *ctx, const struct time_driver_info *who, const char *why);
	/* The driver released its lease. */
	void (*driver_released)(void *ctx, const struct time_driver_info *who);
	/*
	 * Lock-step begins or ends: while held, dispatch keeps what is published until dispatch() is called. paused: not held,
	 * as time is paused; lock-step goes on with it.
	 */
	void (*hold)(void *ctx, bool held, bool paused);
	/*
	 * All participants have acknowledged: dispatch what has been published. True: there was nothing; false:
	 * time_engine_dispatched() follows when all of it has completed. NULL: true.
	 */
	bool (*dispatch)(void *ctx);
	/* dispatch() would find nothing now. NULL: never. */
	bool (*idle)(void *ctx);
	/*
	 * In lock-step the driver has asked for more time: dispatch what it and the participants have published since its last
	 * grant, without waiting for that. True: there was nothing; false: time_engine_drained() follows. NULL: true.
	 */
	bool (*drain)(void *ctx);
	/* A participant (NULL: dispatch) has been waited for longer than the deadline; not with TIME_LATE_WAIT. */
	void (*late)(void *ctx, const struct time_participant *who, int64_t waited_dur_ns, bool dropped);
	/* A participant's socket hung up, or it broke the protocol (why). */
	void (*participant_lost)(void *ctx, const struct time_participant *who, const char *why);
};

struct time_engine_options {
	struct exec *exec;                   /* keeps until destroy */
	struct sim_clock_page *page;         /* keeps until destroy; zeroed (time_page_create) */
	struct sim_clock_history *history;   /* the same; NULL: nobody looks back */
	const struct sim_source_ops *source; /* NULL: unity */
	int64_t scale_e6;                    /* 0: SIM_RATE_ONE */
	bool paused;      /* start paused, as by scale 0: a scale runs on; ignored by sources without control */
	bool waits;       /* driven time does not begin before time_engine_begin() */
	uint64_t simd_id; /* random per run of simd */
	uint32_t clock_generation; /* of the first stretch; 0: derived from simd_id */
	/*
	 * While events.watched(): how long a step or a pause waits after time has moved or a message was accepted, so that who
	 * merely watches the clock can publish for the new time; 20 times as long at most. < 0: the default, 5 ms.
	 */
	int64_t step_settle_dur_ns;
	int64_t step_deadline_dur_ns; /* of each wait for participants, or for the driver to ask; 0: 10 s */
	enum time_late step_late;
	struct wire_stepper *steppers; /* TIME_PARTICIPANTS_MAX, on the dispatch page; NULL: none. keeps */
	struct wire_turn *turn;        /* on the layout page; NULL: turns go as packets alone. keeps */
	struct wire_grant *grant;      /* on the dispatch page; NULL: the driver's answers go as packets alone. keeps */
	int64_t (*real_now)(void *ctx); /* CLOCK_REALTIME, ns; NULL: the real one */
	struct time_engine_events events;
	void *ctx; /* of real_now and the events */
};

/* Errors: -EINVAL scale out of range, -EPROTO source, -ERANGE its start value, -ENOMEM. Writes the page. */
int time_engine_create(const struct time_engine_options *o, struct time_engine **ret);
/*
 * Notifies the driver (DRIVER_LOST) and closes its socket; an open step is answered with -ECANCELED. The page stays.
 * NULL is fine.
 */
void time_engine_destroy(struct time_engine *e);

/* ---- control ---- */

/*
 * Both idempotent. -EOPNOTSUPP the source has no pause. Both end an open step (-ECANCELED to its caller).
 *
 * What was granted covers all until the driver asks for more: a pause begins then (or when its lease ends; step_late says what
 * happens at the deadline), and when participants are through and who watches has settled. Until then the state is what it
 * was, and the status pausing. Wall-driven time is paused at once, and so is what the driver's own client pauses.
 */
int time_engine_pause(struct time_engine *e);
int time_engine_pause_by(struct time_engine *e, uint32_t client_id); /* asked for by that client */
int time_engine_resume(struct time_engine *e);

/* A caller that waits until time is paused, or all messages have arrived. Its own memory, until done() or time_wait_cancel(). */
struct time_wait {
	struct list link; /* time_engine::waits, timekeeper::drains */
	/* result: 0, or -ECANCELED with err_why(): time was resumed before. May free the wait. */
	void (*done)(struct time_wait *w, int result);
};

bool time_engine_is_pausing(const struct time_engine *e);
/* Only while it is; done() follows, never before it returns. */
void time_engine_wait_paused(struct time_engine *e, struct time_wait *w);
void time_wait_cancel(struct time_wait *w);
void time_waits_done(struct list *from, int result); /* answers all of a list, which is empty then */

/*
 * Millionths, TIME_SCALE_MIN_E6 .. TIME_SCALE_MAX_E6; 0 means pause and keeps the scale. A scale > 0 runs on again
 * if time was paused by scale 0, and ends an open step then (-ECANCELED to its caller), as time_engine_resume() does; not if it was
 * paused by time_engine_pause(). Errors: -ERANGE, -EOPNOTSUPP.
 */
int time_engine_set_scale(struct time_engine *e, int64_t scale_e6);

/*
 * Switch the source. It starts at its own start value, with a jump; keep_time: it carries on where time is
 * (wall-driven sources with control only, else -EINVAL). Selecting the active source changes nothing. The driver
 * loses its lease, an open step is cancelled. A paused engine stays paused, unless the new source has no pause.
 * Errors: -EPROTO, -EINVAL, -ERANGE its start value; nothing has changed then.
 */
int time_engine_set_source(struct time_engine *e, const struct sim_source_ops *source, bool keep_time);

/* result: 0 or negative errno with err_why(). sim_ns: time at the end of the step. */
typedef void (*time_step_fn)(void *arg, int result, int64_t sim_ns);

/*
 * Step by dur_ns, 1 .. TIME_STEP_MAX_DUR_NS. Only while paused. Answers once, with done(), never before it returns.
 * Errors: -ERANGE, -EBUSY time is running, or another step is open; -EOPNOTSUPP; -ENOTCONN the source has no driver.
 * done's results: 0; -ECANCELED paused, resumed (by a scale, too) or switched meanwhile; -ENOTCONN the driver disconnected;
 * -ERANGE a jump has put time so near to its end, 2^63 ns, that the step does not fit.
 */
int time_engine_step(struct time_engine *e, int64_t dur_ns, time_step_fn done, void *arg);
/* The caller of the open step with this arg has disconnected: the step goes on, without an answer. */
void time_engine_step_forget(struct time_engine *e, void *arg);
/* Something completed: look again whether the step has become quiet. Cheap; also when no step is open. */
void time_engine_poke(struct time_engine *e);

/* ---- driver ---- */

/*
 * Give the lease to who is at the other end of fd (SEQPACKET). Takes fd, also on failure.
 * Errors: -EBUSY it is held (by whom is named), -EOPNOTSUPP the source is wall-driven.
 */
int time_engine_attach_driver(struct time_engine *e, int fd, const struct time_driver_info *who);
/* All that driven time has waited for at its start are there: what the driver has asked for is granted from now on. */
void time_engine_begin(struct time_engine *e);
/* It has not been called, and was to be. */
bool time_engine_waits(const struct time_engine *e);
/* The client has disconnected: its lease ends at once, and it takes part no more. Nothing happens if it has neither. */
void time_engine_drop_client(struct time_engine *e, uint32_t client_id);

/* ---- lock-step ---- */

/*
 * Take part in steps from the next one on; fd: SEQPACKET, schemas/wire/step.h. Takes fd, also on failure.
 * Errors: -EBUSY the client takes part already, -EMFILE too many.
 */
int time_engine_join(struct time_engine *e, int fd, const struct time_participant *who);
/* See time_engine_events::dispatch and drain. */
void time_engine_dispatched(struct time_engine *e);
void time_engine_drained(struct time_engine *e);
/* The client drives, or takes part in steps: time waits for it by itself. */
bool time_engine_paces(const struct time_engine *e, uint32_t client_id);
/* Those that take part, in the order of their turns; names borrow until the next call. Returns how many. */
uint32_t time_engine_participants(const struct time_engine *e, struct time_participant *ret, uint32_t max);

/* ---- what it is now ---- */

/* How long time has run so far, without jumps and pauses. */
struct time_run {
	int64_t began_mono_ns; /* when it first moved; 0: it has not */
	int64_t sim_dur_ns;
	int64_t wall_dur_ns; /* of driven time: until it was moved last */
};

struct time_status {
	const struct sim_source_ops *source;
	enum time_state state;
	bool pausing; /* a pause begins when what was granted is over */
	bool driven;  /* moved by a driver only: rate 0 */
	bool started;
	bool driver_lost;
	bool has_driver;
	struct time_driver_info driver; /* if has_driver; name borrows until the next call */
	int64_t sim_ns, mono_ns;
	int64_t scale_e6;
	uint32_t clock_generation;
	uint32_t steps; /* completed */
	int64_t error_dur_ns; /* of a followed source: simulated time is wrong by that at most; -1: not known, or another source */
	double real_time_factor; /* simulated per wall time: of driven sources over the last 0.5 .. 1 s; 0 for 0.1 s after a resume */
	struct time_run run;
};

void time_engine_status(struct time_engine *e, struct time_status *ret);
int64_t time_engine_now(struct time_engine *e); /* simulated ns, as readers of the page see it */

/* ---- the page ---- */

/*
 * A sealed memfd that peers can only map read-only: the page, and its history behind it. ret_page: returns, time_page_destroy(), also of
 * the history; ret_fd: returns, close.
 */
int time_page_create(struct sim_clock_page **ret_page, struct sim_clock_history **ret_history, int *ret_fd);
void time_page_destroy(struct sim_clock_page *page); /* NULL is fine */

#endif
