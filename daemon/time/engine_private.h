/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the time engine, shared by its files engine*.c. Thread: the exec's. */
#ifndef TIME_ENGINE_PRIVATE_H
#define TIME_ENGINE_PRIVATE_H

#include "engine.h"

#include "timeutil.h"
#include "lockstep.h"
#include "wire/driver.h"

#define FS_PER_NS 1000000 /* a femtosecond is a millionth of a nanosecond: the unit that scales in millionths need */

struct rate_anchor {
	int64_t mono_ns, at_sim_ns;
};

struct time_engine {
	struct exec *exec;
	struct sim_clock_page *page;
	struct sim_clock_history *history; /* NULL: no history */
	struct time_engine_events events;
	int64_t (*real_now)(void *ctx);
	void *ctx;
	uint64_t simd_id;

	const struct sim_source_ops *source;
	enum time_state state;
	int64_t scale_e6;     /* as requested */
	bool paused_by_scale; /* setting a scale > 0 resumes */
	bool driven;          /* only a driver moves time: rate 0 */
	bool started;
	bool driver_lost;
	bool not_begun; /* no grants before time_engine_begin() */
	bool set_seen;  /* the driver has set the time since it attached */
	uint32_t clock_generation;
	uint32_t steps;
	int64_t jump_old_sim_ns, jump_new_sim_ns;

	int128 base_fs; /* exact simulated time at base_mono_ns */
	int64_t base_mono_ns;
	int64_t rate_e6;              /* rate from then on, as in the page */
	struct rate_anchor anchor[2]; /* [0] older, [1] newer: for the real-time factor */

	/* Total run of time, without pauses and jumps. */
	struct {
		int64_t began_mono_ns; /* 0: time has not moved yet */
		int64_t to_mono_ns;    /* end of the time counted so far; 0: the next move begins a new stretch */
		int64_t wall_dur_ns;
		int128 sim_dur_fs;
	} run;

	struct {
		bool open;
		int64_t left_dur_ns;   /* part of the step that a driver may still be granted */
		int64_t settle_dur_ns; /* configured */
		time_step_fn done;     /* NULL: no caller waits */
		void *arg;
		bool dispatching;    /* messages published while it settled are being dispatched */
		int64_t next_dur_ns; /* step requested while a pause was due: it begins after that */
	} step;

	struct {
		bool held;
		int fd;
		struct exec_io io;
		struct time_driver_info info;
		char name[TIME_NAME_MAX];
		enum driver_op asked;   /* open request; 0: none */
		int64_t asked_ns;       /* of the request: by how much, or to when */
		bool draining;          /* messages published before the request are being dispatched */
		bool on_page;           /* it waits on the page, and reads its socket only after being woken there */
		bool owed;              /* time has moved: it gets its answer when the round is over */
		int64_t granted_dur_ns; /* with owed */
		bool working;           /* it publishes for the granted time, and has sent no request since */
		struct exec_timer late; /* deadline for its next request, while a pause or a step waits for that */
		int64_t awaited_mono_ns;
	} driver;

	/* A source that follows another clock (engine_follow.c). */
	struct {
		struct driver_follow_packet said; /* last packet, still to be served if driver.asked is DRIVER_FOLLOW */
		bool known;               /* a time was reported since the source was selected or its clock was lost */
		bool runs;                /* time runs by itself, at rate_e6 */
		int64_t rate_e6;          /* including the slew */
		int64_t scale_e6;         /* as reported */
		struct exec_timer slewed; /* end of the slew: then the reported rate applies */
		int64_t off_dur_ns, told_mono_ns; /* difference to the reported time at told_mono_ns */
	} follow;

	struct lockstep *lock;
	struct wire_grant *grant; /* NULL: no answers through the page */
	bool held, hold_paused;   /* last values passed to events.hold() */
	bool pause_due;           /* a pause begins when this instant is over */
	struct list waits;        /* time_wait::link: wait for that */
	struct exec_timer over;   /* when to check again */
	int64_t moved_mono_ns;    /* when time was last moved */
	int64_t deadline_dur_ns;
	enum time_late late;
};

/* ---- engine.c ---- */

/*
 * All changes of the page's content go between engine_begin() and engine_commit(); begin integrates up to the time that
 * it returns.
 */
int64_t engine_begin(struct time_engine *e);
void engine_commit(struct time_engine *e);
/* As engine_commit(), without page_wake(): in lock-step the participants are notified first. */
void engine_commit_quietly(struct time_engine *e);
void engine_changed(struct time_engine *e);
/* Moves time, inside begin/commit. */
void engine_add(struct time_engine *e, int64_t dur_ns);
/* Jumps, inside begin/commit; engine_jumped() then notifies. */
void engine_jump_to(struct time_engine *e, int64_t to_sim_ns);
void engine_jumped(struct time_engine *e);
/* Time has moved by dur_ns: the participants get their turns, if there are any, then the driver its answer. */
void engine_round(struct time_engine *e, int64_t dur_ns);
/* A due pause has begun (0), or will not (-ECANCELED): answers the waits. */
void engine_pause_over(struct time_engine *e, int result);
void engine_set_state(struct time_engine *e, enum time_state state);
/* Restarts the measurement of the real-time factor. */
void engine_rate_restart(struct time_engine *e);
static inline int64_t engine_base_ns(const struct time_engine *e)
{
	return (int64_t)(e->base_fs / FS_PER_NS);
}
/* Whether advancing by dur_ns would overflow int64_t. */
static inline bool engine_at_end(const struct time_engine *e, int64_t dur_ns)
{
	return engine_base_ns(e) > INT64_MAX - dur_ns;
}

/*
 * Returns 0 if the source can be controlled, else -EOPNOTSUPP, with err_why() set. what: what it cannot be, for the
 * error ("paused").
 */
int engine_need_control(const struct time_engine *e, const char *what);

/* ---- engine_follow.c ---- */

static inline bool engine_is_followed(const struct time_engine *e)
{
	return e->source->kind == SIM_SOURCE_FOLLOWED;
}
void follow_init(struct time_engine *e);
/* A followed clock stops running by itself: it stands still, or is driven. Inside begin/commit, as follow_forget(). */
void follow_stop(struct time_engine *e);
/* As follow_stop(), and forgets what was reported. */
void follow_forget(struct time_engine *e);
/* Serves the driver's DRIVER_FOLLOW request; the return value is for answer(). */
int follow_serve(struct time_engine *e);
/* Whether a packet may be served: 0, or a negative errno for the answer. */
int follow_check(const struct time_engine *e, const struct driver_follow_packet *p);
int64_t follow_error(const struct time_engine *e); /* time_status::error_dur_ns */

/* ---- engine_step.c ---- */

void step_init(struct time_engine *e, int64_t settle_dur_ns);
void step_finish(struct time_engine *e);
/* Ends the open step, if any: sets the state and the page, and notifies the caller. result < 0: err_why() is set. */
void step_end(struct time_engine *e, int result, enum time_state state);
/* The dispatch that is_quiet() started has completed. */
void step_dispatched(struct time_engine *e);
/* Checks whether a due pause begins or the step ends; to be called after each event that they may have waited for. */
void step_look(struct time_engine *e);
/* Calls step_look() from the event loop. */
void step_look_soon(struct time_engine *e);
/* Begins the due pause. */
void step_pause(struct time_engine *e);
/* Whether a pause or a step waits for this instant to be over. */
static inline bool step_over_due(const struct time_engine *e)
{
	return e->pause_due || (e->step.open && !e->step.left_dur_ns);
}

/* ---- engine_driver.c ---- */

void driver_init(struct time_engine *e);
/* Serves the driver's open request if that is possible now. */
void driver_serve(struct time_engine *e);
/* As driver_serve(), after a halt: messages published in or before the halt are dispatched first. */
void driver_go_on(struct time_engine *e);
/* The round of its last request is over: answers it, or serves the next request if the page has answered it. */
void driver_round_over(struct time_engine *e);
/* A pause or step waits for the driver's next request from now on. */
void driver_await(struct time_engine *e);
/*
 * Ends the lease because the source or the engine ends: notifies the driver and closes the socket. The caller updates
 * the page.
 */
void driver_dismiss(struct time_engine *e);

#endif
