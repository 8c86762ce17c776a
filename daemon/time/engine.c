/* SPDX-License-Identifier: Apache-2.0 */
/* The time engine: integration, states and the page; see engine.h. Thread: the exec's. */
#include "engine_private.h"

#include "page.h"

#include "err.h"
#include "mem.h"

#include <errno.h>
#include <inttypes.h>

#define STEP_SETTLE_DEFAULT_DUR_NS   (5 * NS_PER_MS)
#define STEP_DEADLINE_DEFAULT_DUR_NS (10 * NS_PER_S)
#define RATE_WINDOW_DUR_NS           (NS_PER_S / 2)
/* a shorter time after a resume would give a factor of thousands */
#define RATE_LEAST_DUR_NS (NS_PER_S / 10)

static bool has_control(const struct time_engine *e)
{
	return e->source->flags & SIM_SOURCE_CONTROL;
}

/* The configured scale applies to sources with control. A followed source has the reported scale, others have 1. */
static int64_t scale_in_force(const struct time_engine *e)
{
	if (engine_is_followed(e))
		return e->follow.scale_e6;
	return has_control(e) ? e->scale_e6 : SIM_RATE_ONE;
}

static int64_t rate_in_force(const struct time_engine *e)
{
	if (e->driven || e->state != TIME_RUNNING)
		return 0;
	return engine_is_followed(e) ? e->follow.rate_e6 : scale_in_force(e);
}

/* Whether the source counts as driven until its driver reports otherwise. */
static bool begins_driven(const struct sim_source_ops *s)
{
	return s->kind == SIM_SOURCE_DRIVEN || s->kind == SIM_SOURCE_FOLLOWED;
}

/* ---- how long it has run ---- */

/* Adds to the run: time ran by itself from base_mono_ns on. */
static void run_by_itself(struct time_engine *e, int64_t to_mono_ns)
{
	if (!e->run.began_mono_ns)
		e->run.began_mono_ns = e->base_mono_ns;
	e->run.wall_dur_ns += to_mono_ns - e->base_mono_ns;
	e->run.sim_dur_fs += (int128)(to_mono_ns - e->base_mono_ns) * e->rate_e6;
	e->run.to_mono_ns = to_mono_ns;
}

/* Adds to the run: time was moved. The first move of a stretch has no preceding wall time to compare with. */
static void run_by_move(struct time_engine *e, int64_t dur_ns)
{
	if (!e->run.began_mono_ns)
		e->run.began_mono_ns = e->base_mono_ns;
	if (e->run.to_mono_ns) {
		e->run.wall_dur_ns += e->base_mono_ns - e->run.to_mono_ns;
		e->run.sim_dur_fs += (int128)dur_ns * FS_PER_NS;
	}
	e->run.to_mono_ns = e->base_mono_ns;
}

static struct time_run run_until_now(const struct time_engine *e)
{
	int64_t more_dur_ns = e->rate_e6 > 0 ? exec_now(e->exec) - e->base_mono_ns : 0;
	int128 sim_dur_fs = e->run.sim_dur_fs + (int128)more_dur_ns * e->rate_e6;

	return (struct time_run){
		.began_mono_ns = e->run.began_mono_ns || e->rate_e6 <= 0 ? e->run.began_mono_ns : e->base_mono_ns,
		.sim_dur_ns = (int64_t)(sim_dur_fs / FS_PER_NS),
		.wall_dur_ns = e->run.wall_dur_ns + more_dur_ns,
	};
}

/* ---- the page ---- */

int64_t engine_begin(struct time_engine *e)
{
	int64_t now_mono_ns = page_write_begin(e->page, e->exec, e->rate_e6 > 0);

	if (now_mono_ns > e->base_mono_ns) {
		if (e->rate_e6 > 0)
			run_by_itself(e, now_mono_ns);
		e->base_fs += (int128)(now_mono_ns - e->base_mono_ns) * e->rate_e6;
		e->base_mono_ns = now_mono_ns;
	}
	if (e->base_fs > (int128)INT64_MAX * FS_PER_NS)
		e->base_fs = (int128)INT64_MAX * FS_PER_NS;
	return now_mono_ns;
}

static uint32_t flags_now(const struct time_engine *e)
{
	return (e->state == TIME_PAUSED ? (uint32_t)SIM_CLOCK_PAUSED : 0) |
	       (e->state == TIME_STEPPING ? (uint32_t)SIM_CLOCK_STEPPING : 0) |
	       (e->driver.held && e->driver.info.freewheel ? (uint32_t)SIM_CLOCK_FREEWHEEL : 0) |
	       (e->driven ? (uint32_t)SIM_CLOCK_DRIVEN : 0) | (e->driver_lost ? (uint32_t)SIM_CLOCK_DRIVER_LOST : 0) |
	       (e->started ? (uint32_t)SIM_CLOCK_STARTED : 0) | (e->held ? (uint32_t)SIM_CLOCK_LOCKSTEP : 0) |
	       (e->driven && (!e->driver.held || e->driver_lost) ? (uint32_t)SIM_CLOCK_NO_DRIVER : 0);
}

/* Whether the driver uses lock-step without participants. */
static bool driver_alone(const struct time_engine *e)
{
	return e->driven && e->driver.held && e->driver.info.lockstep;
}

/*
 * Whether rounds will come, at whose end dispatch releases held messages (unless time is paused). Without rounds
 * nothing may be held.
 */
static bool has_lockstep(const struct time_engine *e)
{
	if (!lockstep_members(e->lock) && !driver_alone(e))
		return false;
	return e->state == TIME_STEPPING || (e->driven ? e->driver.held : e->state == TIME_PAUSED);
}

void engine_commit(struct time_engine *e)
{
	engine_commit_quietly(e);
	page_wake(e->page);
}

static void note_piece(struct time_engine *e)
{
	struct sim_clock_piece p = {
		.mono_ns = e->base_mono_ns,
		.sim_ns = engine_base_ns(e),
		.rate_e6 = e->rate_e6,
		.clock_generation = e->clock_generation,
		.flags = flags_now(e),
	};

	if (e->history)
		page_note_piece(e->history, &p);
}

void engine_commit_quietly(struct time_engine *e)
{
	struct sim_clock_page *p = e->page;
	bool steps = has_lockstep(e), hold = steps && e->state != TIME_PAUSED, paused = steps && !hold;
	bool notify = hold != e->held || paused != e->hold_paused;

	e->held = hold;
	e->hold_paused = paused;
	e->rate_e6 = rate_in_force(e);
	note_piece(e);
	page_store(&p->abi, SIM_CLOCK_PAGE_ABI);
	page_store(&p->magic, SIM_CLOCK_PAGE_MAGIC);
	if (e->state == TIME_PAUSED)
		e->run.to_mono_ns = 0;
	if (e->state == TIME_PAUSED && !(p->flags & SIM_CLOCK_PAUSED))
		page_store(&p->pause_mono_ns, e->base_mono_ns);
	/* after pause_mono_ns: dispatch reads that once it has seen the flag */
	__atomic_store_n(&p->flags, flags_now(e), __ATOMIC_RELEASE);
	page_store(&p->sim_ns, engine_base_ns(e));
	page_store(&p->mono_ns, e->base_mono_ns);
	/* after sim_ns: sim_clock_now() uses sim_ns alone once it has seen rate 0 */
	__atomic_store_n(&p->rate_e6, e->rate_e6, __ATOMIC_RELEASE);
	page_store(&p->clock_generation, e->clock_generation);
	page_store(&p->source, e->source->id);
	page_store(&p->scale_e6, scale_in_force(e));
	page_store(&p->step, e->steps);
	page_store(&p->simd_id, e->simd_id);
	page_store(&p->jump_old_sim_ns, e->jump_old_sim_ns);
	page_store(&p->jump_new_sim_ns, e->jump_new_sim_ns);
	page_write_end(p);
	if (notify && e->events.hold)
		e->events.hold(e->ctx, hold, paused);
}

void engine_changed(struct time_engine *e)
{
	if (e->events.changed)
		e->events.changed(e->ctx);
}

/* ---- real-time factor ---- */

void engine_rate_restart(struct time_engine *e)
{
	e->anchor[1] = (struct rate_anchor){ .mono_ns = e->base_mono_ns, .at_sim_ns = engine_base_ns(e) };
	e->anchor[0] = e->anchor[1];
	e->run.to_mono_ns = 0; /* a jump, or time without a driver, is not part of the run */
}

static void rate_note(struct time_engine *e)
{
	if (e->base_mono_ns - e->anchor[1].mono_ns < RATE_WINDOW_DUR_NS)
		return;
	e->anchor[0] = e->anchor[1];
	e->anchor[1] = (struct rate_anchor){ .mono_ns = e->base_mono_ns, .at_sim_ns = engine_base_ns(e) };
}

/*
 * If a driver moves the clock that is followed, its reported rate is 0: so the rate is measured over the distance
 * covered.
 */
static double rate_measured(struct time_engine *e)
{
	int64_t wall_dur_ns = exec_now(e->exec) - e->anchor[0].mono_ns, now_sim_ns;

	if (!e->driven && !e->follow.runs)
		return (double)e->rate_e6 / SIM_RATE_ONE;
	if (e->state == TIME_PAUSED || wall_dur_ns < RATE_LEAST_DUR_NS)
		return 0;
	now_sim_ns = e->driven ? engine_base_ns(e) : time_engine_now(e);
	return (double)(now_sim_ns - e->anchor[0].at_sim_ns) / (double)wall_dur_ns;
}

/* ---- moving time ---- */

void engine_add(struct time_engine *e, int64_t dur_ns)
{
	e->base_fs += (int128)dur_ns * FS_PER_NS;
	e->moved_mono_ns = e->base_mono_ns;
	e->started = true;
	run_by_move(e, dur_ns);
	rate_note(e);
}

void engine_jump_to(struct time_engine *e, int64_t to_sim_ns)
{
	e->jump_old_sim_ns = engine_base_ns(e);
	e->jump_new_sim_ns = to_sim_ns;
	e->base_fs = (int128)to_sim_ns * FS_PER_NS;
	e->clock_generation++;
	engine_rate_restart(e);
}

void engine_jumped(struct time_engine *e)
{
	if (e->events.jump)
		e->events.jump(e->ctx, e->jump_old_sim_ns, e->jump_new_sim_ns, e->clock_generation);
}

static int64_t real_now_default(void *ctx)
{
	(void)ctx;
	return real_now_ns();
}

/* ---- rounds of lock-step ---- */

static void round_over(struct time_engine *e)
{
	driver_round_over(e);
	if (step_over_due(e))
		step_look_soon(e);
}

void engine_round(struct time_engine *e, int64_t dur_ns)
{
	struct sim_clock_sample now = {
		.sim_ns = engine_base_ns(e),
		.mono_ns = e->base_mono_ns,
		.clock_generation = e->clock_generation,
	};

	bool on_page = e->driver.owed && e->driver.on_page && e->state == TIME_RUNNING;

	lockstep_let_answer(e->lock, on_page ? e->scale_e6 : 0);
	if (!lockstep_begin(e->lock, &now, dur_ns, driver_alone(e)))
		round_over(e);
}

static void on_ended(void *ctx)
{
	round_over(ctx);
}

/* Updates the page, which shows whether there is lock-step. */
static void on_members(void *ctx)
{
	struct time_engine *e = ctx;

	engine_begin(e);
	engine_commit(e);
	engine_changed(e);
}

int time_engine_join(struct time_engine *e, int fd, const struct time_participant *who)
{
	return lockstep_join(e->lock, fd, who);
}

void time_engine_dispatched(struct time_engine *e)
{
	if (e->step.dispatching)
		step_dispatched(e);
	else
		lockstep_dispatched(e->lock);
}

bool time_engine_paces(const struct time_engine *e, uint32_t client_id)
{
	return (e->driver.held && e->driver.info.client_id == client_id) || lockstep_has(e->lock, client_id);
}

uint32_t time_engine_participants(const struct time_engine *e, struct time_participant *ret, uint32_t max)
{
	return lockstep_list(e->lock, ret, max);
}

/* ---- making ---- */

static int lock_create(struct time_engine *e, const struct time_engine_options *o)
{
	struct lockstep_options lo = {
		.exec = o->exec,
		.deadline_dur_ns = e->deadline_dur_ns,
		.late = o->step_late,
		.steppers = o->steppers,
		.turn = o->turn,
		.grant = o->grant,
		.events = &e->events,
		.events_ctx = e->ctx,
		.ended = on_ended,
		.members = on_members,
		.ctx = e,
	};

	return lockstep_create(&lo, &e->lock);
}

static int check_scale(int64_t scale_e6)
{
	if (scale_e6 >= TIME_SCALE_MIN_E6 && scale_e6 <= TIME_SCALE_MAX_E6)
		return 0;
	return err_set(-ERANGE, "scale %" PRId64 ".%06" PRId64 " is out of range; choose 0.01 .. 100, or 0 to pause",
		       scale_e6 / SIM_RATE_ONE, scale_e6 < 0 ? -(scale_e6 % SIM_RATE_ONE) : scale_e6 % SIM_RATE_ONE);
}

static int check_options(const struct time_engine_options *o)
{
	if (o->scale_e6 && check_scale(o->scale_e6) < 0)
		return -EINVAL;
	return o->source ? time_source_check(o->source) : 0;
}

/* Writes the first state of the page. */
static void first_write(struct time_engine *e, const struct time_engine_options *o, int64_t start_sim_ns)
{
	e->driven = begins_driven(e->source);
	e->started = !e->driven;
	e->state = o->paused && has_control(e) ? TIME_PAUSED : TIME_RUNNING;
	e->paused_by_scale = e->state == TIME_PAUSED;
	e->base_mono_ns = INT64_MAX; /* nothing to integrate yet */
	e->base_mono_ns = engine_begin(e);
	e->base_fs = (int128)start_sim_ns * FS_PER_NS;
	engine_rate_restart(e);
	engine_commit(e);
}

int time_engine_create(const struct time_engine_options *o, struct time_engine **ret)
{
	struct time_engine *e;
	int64_t start_sim_ns;
	int r = check_options(o);

	if (r < 0)
		return r;
	e = MEM_NEW(struct time_engine);
	if (!e)
		return err_nomem();
	e->exec = o->exec;
	e->page = o->page;
	e->history = o->history;
	e->events = o->events;
	e->ctx = o->ctx;
	e->real_now = o->real_now ? o->real_now : real_now_default;
	e->simd_id = o->simd_id;
	e->source = o->source;
	if (!e->source)
		time_source_by_number(SIM_SOURCE_UNITY, &e->source);
	e->scale_e6 = o->scale_e6 ? o->scale_e6 : SIM_RATE_ONE;
	e->clock_generation = o->clock_generation ? o->clock_generation : (uint32_t)(o->simd_id ^ o->simd_id >> 32) | 1;
	e->deadline_dur_ns = o->step_deadline_dur_ns ? o->step_deadline_dur_ns : STEP_DEADLINE_DEFAULT_DUR_NS;
	e->late = o->step_late;
	e->not_begun = o->waits;
	e->grant = o->grant;
	list_init(&e->waits);
	driver_init(e);
	follow_init(e);
	step_init(e, o->step_settle_dur_ns < 0 ? STEP_SETTLE_DEFAULT_DUR_NS : o->step_settle_dur_ns);
	r = time_source_start(e->source, e->real_now(e->ctx), &start_sim_ns);
	if (r >= 0)
		r = lock_create(e, o);
	if (r < 0) {
		mem_free(e);
		return r;
	}
	first_write(e, o, start_sim_ns);
	*ret = e;
	return 0;
}

void time_engine_destroy(struct time_engine *e)
{
	if (!e)
		return;
	err_set(-ECANCELED, "simd is ending");
	lockstep_abort(e->lock);
	step_end(e, -ECANCELED, TIME_PAUSED);
	engine_pause_over(e, -ECANCELED);
	driver_dismiss(e);
	exec_timer_cancel(&e->follow.slewed);
	step_finish(e);
	lockstep_destroy(e->lock);
	mem_free(e);
}

/* ---- control ---- */

int engine_need_control(const struct time_engine *e, const char *what)
{
	if (has_control(e))
		return 0;
	if (engine_is_followed(e))
		return err_set(
			-EOPNOTSUPP,
			"time source `%s` follows the time host and cannot be %s here; do it there, and it holds for all",
			e->source->name, what);
	return err_set(-EOPNOTSUPP,
		       "time source `%s` follows another clock and cannot be %s; `simctl clock source simulation` "
		       "selects one that can",
		       e->source->name, what);
}

void engine_set_state(struct time_engine *e, enum time_state state)
{
	engine_begin(e);
	e->state = state;
	engine_rate_restart(e);
	engine_commit(e);
	engine_changed(e);
}

/* Time resumes, whatever was in progress. */
static void resumed(struct time_engine *e)
{
	err_set(-ECANCELED, "time was resumed before it was paused");
	engine_pause_over(e, -ECANCELED);
	driver_go_on(e);
}

void engine_pause_over(struct time_engine *e, int result)
{
	e->pause_due = false;
	time_waits_done(&e->waits, result);
}

bool time_engine_is_pausing(const struct time_engine *e)
{
	return e->pause_due;
}

void time_engine_wait_paused(struct time_engine *e, struct time_wait *w)
{
	list_append(&e->waits, &w->link);
}

void time_waits_done(struct list *from, int result)
{
	struct list waits;

	list_init(&waits);
	list_splice(&waits, from);
	while (!list_empty(&waits)) { /* each done() may cancel other waits */
		struct time_wait *w = list_first(&waits, struct time_wait, link);

		list_remove(&w->link);
		w->done(w, result);
	}
}

void time_wait_cancel(struct time_wait *w)
{
	list_remove(&w->link);
}

int time_engine_pause(struct time_engine *e)
{
	return time_engine_pause_by(e, 0);
}

int time_engine_pause_by(struct time_engine *e, uint32_t client_id)
{
	bool own = client_id && e->driver.held && e->driver.info.client_id == client_id;
	int r = engine_need_control(e, "paused");

	if (r < 0)
		return r;
	lockstep_look(e->lock);
	e->paused_by_scale = false;
	if (own)
		e->driver.working = false; /* the driver's client knows what it has published */
	if (e->step.open) {
		err_set(-ECANCELED, "time was paused before the step had ended");
		step_end(e, -ECANCELED, TIME_PAUSED);
	} else if (e->state != TIME_PAUSED && !e->pause_due) {
		e->pause_due = true;
		engine_changed(e);
	}
	if (own && e->pause_due && !lockstep_busy(e->lock))
		step_pause(e);
	else
		step_look(e);
	return 0;
}

int time_engine_resume(struct time_engine *e)
{
	bool was_due = e->pause_due;
	int r = engine_need_control(e, "paused or resumed");

	if (r < 0)
		return r;
	e->paused_by_scale = e->pause_due = false;
	if (e->step.open) {
		err_set(-ECANCELED, "time was resumed before the step had ended");
		step_end(e, -ECANCELED, TIME_RUNNING);
	} else if (e->state != TIME_RUNNING) {
		engine_set_state(e, TIME_RUNNING);
	} else if (was_due) {
		engine_changed(e);
	}
	resumed(e);
	return 0;
}

static int scale_to_zero(struct time_engine *e)
{
	bool was_paused = (e->state != TIME_RUNNING || e->pause_due) && !e->paused_by_scale;
	int r = time_engine_pause(e);

	e->paused_by_scale = r >= 0 && !was_paused;
	return r;
}

int time_engine_set_scale(struct time_engine *e, int64_t scale_e6)
{
	bool run_on = (e->state != TIME_RUNNING || e->pause_due) && e->paused_by_scale;
	int r = engine_need_control(e, "scaled");

	if (r < 0)
		return r;
	if (!scale_e6)
		return scale_to_zero(e);
	r = check_scale(scale_e6);
	if (r < 0 || (scale_e6 == e->scale_e6 && !run_on))
		return r;
	engine_begin(e);
	e->scale_e6 = scale_e6;
	engine_rate_restart(e);
	engine_commit(e);
	engine_changed(e);
	return run_on ? time_engine_resume(e) : 0;
}

static int check_switch(const struct sim_source_ops *s, bool keep_time)
{
	int r = time_source_check(s);

	if (r < 0)
		return r;
	if (keep_time && (s->kind != SIM_SOURCE_WALL || !(s->flags & SIM_SOURCE_CONTROL)))
		return err_set(-EINVAL,
			       "time source `%s` cannot carry on another source's time; only `system` and `simulation` "
			       "can",
			       s->name);
	return 0;
}

int time_engine_set_source(struct time_engine *e, const struct sim_source_ops *source, bool keep_time)
{
	int64_t start_sim_ns = 0;
	int r = check_switch(source, keep_time);

	if (r < 0 || source == e->source)
		return r;
	if (!keep_time)
		r = time_source_start(source, e->real_now(e->ctx), &start_sim_ns);
	if (r < 0)
		return r;
	lockstep_abort(e->lock);
	if (e->step.open) {
		err_set(-ECANCELED, "the time source was switched before the step had ended");
		step_end(e, -ECANCELED, TIME_PAUSED);
	}
	driver_dismiss(e);
	engine_begin(e);
	if (e->pause_due)
		e->state = TIME_PAUSED;
	e->pause_due = false;
	e->source = source;
	follow_forget(e);
	e->driven = begins_driven(source);
	e->started = !e->driven;
	e->driver_lost = false;
	if (!has_control(e)) {
		e->state = TIME_RUNNING;
		e->paused_by_scale = false;
	}
	if (!keep_time)
		engine_jump_to(e, start_sim_ns);
	engine_commit(e);
	if (!keep_time)
		engine_jumped(e);
	engine_changed(e);
	err_set(-ECANCELED, "the time source was switched to one that has no pause");
	engine_pause_over(e, e->state == TIME_PAUSED ? 0 : -ECANCELED);
	return 0;
}

/* ---- status ---- */

int64_t time_engine_now(struct time_engine *e)
{
	int64_t dur_ns = exec_now(e->exec) - e->base_mono_ns;

	/* as readers compute it from the page: up to 1 ns behind the exact time, never ahead */
	return engine_base_ns(e) + (e->rate_e6 > 0 && dur_ns > 0 ? sim_scale_dur_(dur_ns, e->rate_e6) : 0);
}

void time_engine_status(struct time_engine *e, struct time_status *ret)
{
	*ret = (struct time_status){
		.source = e->source,
		.state = e->state,
		.pausing = e->pause_due,
		.driven = e->driven,
		.started = e->started,
		.driver_lost = e->driver_lost,
		.has_driver = e->driver.held,
		.driver = e->driver.info,
		.sim_ns = time_engine_now(e),
		.mono_ns = exec_now(e->exec),
		.scale_e6 = scale_in_force(e),
		.error_dur_ns = follow_error(e),
		.clock_generation = e->clock_generation,
		.steps = e->steps,
		.real_time_factor = rate_measured(e),
		.run = run_until_now(e),
	};
}
