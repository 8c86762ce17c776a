/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the time engine, shared by engine.c (integration, states, page), engine_step.c and
 * engine_driver.c. Thread: the exec's.
 */
#ifndef TIME_ENGINE_PRIVATE_H
#define TIME_ENGINE_PRIVATE_H

#include "engine.h"

#include "timeutil.h"
#include "lockstep.h"
#include "wire/driver.h"

#define FS_PER_NS 1000000 /* one femtosecond is one millionth of a nanosecond: what a scale in millionths needs */

struct rate_anchor {
	int64_t mono_ns, at_sim_ns;
};

struct time_engine {
	struct exec *exec;
	struct sim_clock_page *page;
	struct sim_clock_history *history; /* NULL: none */
	struct time_engine_events events;
	int64_t (*real_now)(void *ctx);
	void *ctx;
	uint64_t simd_id;

	const struct sim_source_ops *source;
	enum time_state state;
	int64_t scale_e6;     /* as requested */
	bool paused_by_scale; /* a scale > 0 runs on */
	bool driven;          /* a driver moves time: rate 0 */
	bool started;
	bool driver_lost;
	bool not_begun; /* until time_engine_begin() no driver is granted anything */
	bool set_seen;  /* the driver has set the time since it attached */
	uint32_t clock_generation;
	uint32_t steps;
	int64_t jump_old_sim_ns, jump_new_sim_ns;

	int128 base_fs; /* exact simulated time at base_mono_ns */
	int64_t base_mono_ns;
	int64_t rate_e6;              /* from there on; as on the page */
	struct rate_anchor anchor[2]; /* older, newer: for the real-time factor of driven sources */

	/* All that time has run, without pauses and jumps. */
	struct {
		int64_t began_mono_ns; /* 0: it has not moved yet */
		int64_t to_mono_ns;    /* counted up to there; 0: the next move begins a stretch */
		int64_t wall_dur_ns;
		int128 sim_dur_fs;
	} run;

	struct {
		bool open;
		int64_t left_dur_ns;   /* what a driver may still be granted */
		int64_t settle_dur_ns; /* configured */
		time_step_fn done;     /* NULL: forgotten */
		void *arg;
		bool dispatching;    /* what was published while it settled is being dispatched */
		int64_t next_dur_ns; /* requested while a pause was due: begins then */
	} step;

	struct {
		bool held;
		int fd;
		struct exec_io io;
		struct time_driver_info info;
		char name[TIME_NAME_MAX];
		enum driver_op asked;   /* 0: it is not waiting for time to move */
		int64_t asked_ns;       /* with asked: by how much, or to when */
		bool draining;          /* with asked: what it has published before is on its way out of dispatch */
		bool on_page;           /* it waits on the page, and for packets only behind a wake there */
		bool owed;              /* time has moved: it gets its answer when the round is over */
		int64_t granted_dur_ns; /* with owed */
		bool working;           /* time has moved for it, and it has not asked again */
		struct exec_timer late; /* it is waited for: it is to ask by then */
		int64_t awaited_mono_ns;
	} driver;

	/* A source that follows another clock (engine_follow.c). */
	struct {
		struct driver_follow_packet
			said;     /* the last one, which waits to be served if driver.asked is DRIVER_FOLLOW */
		bool known;       /* it has been told the time since the source was selected or its clock lost */
		bool runs;        /* by itself, at rate_e6 */
		int64_t rate_e6;  /* slewed */
		int64_t scale_e6; /* as told */
		struct exec_timer slewed;         /* then the difference is gone: as told from then on */
		int64_t off_dur_ns, told_mono_ns; /* the difference at that moment */
	} follow;

	struct lockstep *lock;
	struct wire_grant *grant; /* NULL: none */
	bool held, hold_paused;   /* as events.hold() was notified */
	bool pause_due;           /* pause when this instant is over */
	struct list waits;        /* time_wait::link: for that */
	struct exec_timer over;   /* look again whether it is */
	int64_t moved_mono_ns;    /* when time was last moved by somebody */
	int64_t deadline_dur_ns;
	enum time_late late;
};

/* ---- engine.c ---- */

/* All changes of what the page shows go between these two; begin integrates up to the returned time. */
int64_t engine_begin(struct time_engine *e);
void engine_commit(struct time_engine *e);
/* The same, but page_wake() is left to the caller: who is waited for in lock-step is notified first. */
void engine_commit_quietly(struct time_engine *e);
void engine_changed(struct time_engine *e);
/* Move time inside begin/commit. */
void engine_add(struct time_engine *e, int64_t dur_ns);
/* A jump inside begin/commit; engine_jumped() notifies afterwards. */
void engine_jump_to(struct time_engine *e, int64_t to_sim_ns);
void engine_jumped(struct time_engine *e);
/* Time has moved by dur_ns: the participants get their turns, then the driver its answer, also if there are none. */
void engine_round(struct time_engine *e, int64_t dur_ns);
/* No pause is under way any more: it has begun (0), or it will not (-ECANCELED). */
void engine_pause_over(struct time_engine *e, int result);
void engine_set_state(struct time_engine *e, enum time_state state);
/* Measure the real-time factor from here on. */
void engine_rate_restart(struct time_engine *e);
static inline int64_t engine_base_ns(const struct time_engine *e)
{
	return (int64_t)(e->base_fs / FS_PER_NS);
}
/* True when time could not go on by dur_ns within int64_t. */
static inline bool engine_at_end(const struct time_engine *e, int64_t dur_ns)
{
	return engine_base_ns(e) > INT64_MAX - dur_ns;
}

/* -EOPNOTSUPP with a sentence: the source cannot be `what`. */
int engine_need_control(const struct time_engine *e, const char *what);

/* ---- engine_follow.c ---- */

static inline bool engine_is_followed(const struct time_engine *e)
{
	return e->source->kind == SIM_SOURCE_FOLLOWED;
}
void follow_init(struct time_engine *e);
/* A followed clock does not run by itself any more: it holds, or is driven. Inside begin/commit, as the next one. */
void follow_stop(struct time_engine *e);
/* The same, and nothing that was told counts any more. */
void follow_forget(struct time_engine *e);
/* What the driver has asked with DRIVER_FOLLOW, and then answer() it with what this returns. */
int follow_serve(struct time_engine *e);
/* A packet may be served: 0, or negative errno for the answer. */
int follow_check(const struct time_engine *e, const struct driver_follow_packet *p);
int64_t follow_error(const struct time_engine *e); /* time_status::error_dur_ns */

/* ---- engine_step.c ---- */

void step_init(struct time_engine *e, int64_t settle_dur_ns);
void step_finish(struct time_engine *e);
/* End the open step, if any: state becomes `state`, with the page; the caller is notified. result < 0: err_why() is set. */
void step_end(struct time_engine *e, int result, enum time_state state);
/* What step_check() requested of dispatch has completed. */
void step_dispatched(struct time_engine *e);
/* Something has happened that a pause which is due, or the end of a step, may have waited for. */
void step_look(struct time_engine *e);
/* The same from the event loop. */
void step_look_soon(struct time_engine *e);
/* The pause that is due begins. */
void step_pause(struct time_engine *e);
/* Something waits for this instant to be over. */
static inline bool step_over_due(const struct time_engine *e)
{
	return e->pause_due || (e->step.open && !e->step.left_dur_ns);
}

/* ---- engine_driver.c ---- */

void driver_init(struct time_engine *e);
/* Give the waiting driver what may be given now. */
void driver_serve(struct time_engine *e);
/* The same where time goes on after a halt: what was published in that halt, and before it, goes out first. */
void driver_go_on(struct time_engine *e);
/* The round that its request began is over: answer it, or work on the next request if the page has answered it. */
void driver_round_over(struct time_engine *e);
/* It is waited for from now on, until it asks. */
void driver_await(struct time_engine *e);
/* The lease ends because the source or the engine does: notify, close. The page is the caller's. */
void driver_dismiss(struct time_engine *e);

#endif
