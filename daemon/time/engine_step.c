/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps: time moves by exactly the step, at once (wall-driven) or as the driver requests it (driven); then the step
 * stays open until it has settled and all accepted messages have completed. Thread: the exec's.
 */
#include "engine_private.h"

#include "err.h"

#include <errno.h>
#include <inttypes.h>

#define SETTLES_MAX       20        /* continuous messages must not keep a step open forever */
#define QUIET_POLL_DUR_NS NS_PER_MS /* credits are freed in shared memory, perhaps without a poke */

/*
 * In lock-step, messages published while the step settled are still held by dispatch, which releases them on request.
 */
static bool is_quiet(struct time_engine *e)
{
	if (!e->held)
		return !e->events.quiet || e->events.quiet(e->ctx);
	if (e->step.dispatching)
		return false;
	e->step.dispatching = e->events.dispatch && !e->events.dispatch(e->ctx);
	return !e->step.dispatching;
}

/* Whether clients that watch the clock have had time to publish for the instant; otherwise checks again later. */
static bool is_settled(struct time_engine *e)
{
	int64_t last_mono_ns = 0, until_mono_ns = e->moved_mono_ns + SETTLES_MAX * e->step.settle_dur_ns;

	if (!e->events.watched || !e->events.watched(e->ctx, &last_mono_ns))
		return true;
	if (last_mono_ns < e->moved_mono_ns)
		last_mono_ns = e->moved_mono_ns;
	if (last_mono_ns + e->step.settle_dur_ns < until_mono_ns)
		until_mono_ns = last_mono_ns + e->step.settle_dur_ns;
	if (exec_now(e->exec) >= until_mono_ns)
		return true;
	exec_timer_at(&e->over, until_mono_ns);
	return false;
}

static void look_at_step(struct time_engine *e)
{
	if (!is_settled(e))
		return;
	if (!is_quiet(e))
		exec_timer_at(&e->over, exec_now(e->exec) + QUIET_POLL_DUR_NS);
	else if (is_settled(e)) /* is_quiet() may have accepted messages */
		step_end(e, 0, TIME_PAUSED);
}

void step_look(struct time_engine *e)
{
	if (!step_over_due(e) || lockstep_busy(e->lock) || e->driver.draining)
		return;
	if (e->driver.working)
		driver_await(e);
	else if (!e->pause_due)
		look_at_step(e);
	else if (!e->driven || !e->driver.held || is_settled(e))
		step_pause(e);
}

static void look(void *arg)
{
	step_look(arg);
}

void step_look_soon(struct time_engine *e)
{
	exec_timer_at(&e->over, exec_now(e->exec));
}

void step_init(struct time_engine *e, int64_t settle_dur_ns)
{
	e->step.settle_dur_ns = settle_dur_ns;
	exec_timer_init(&e->over, e->exec, look, e);
}

void step_finish(struct time_engine *e)
{
	exec_timer_cancel(&e->over);
}

void step_end(struct time_engine *e, int result, enum time_state state)
{
	time_step_fn done = e->step.done;

	if (!e->step.open)
		return;
	e->step.open = e->step.dispatching = false;
	e->step.left_dur_ns = e->step.next_dur_ns = 0;
	e->step.done = NULL;
	engine_begin(e);
	/*
	 * if the step was cut short in the middle of an instant, messages of that instant must not be refused: the
	 * pause begins when the instant is over
	 */
	e->pause_due =
		state == TIME_PAUSED && (e->pause_due || lockstep_busy(e->lock) || (result < 0 && e->driver.held));
	if (!e->pause_due)
		e->state = state;
	e->steps += result >= 0;
	engine_commit(e);
	if (done)
		done(e->step.arg, result, engine_base_ns(e));
	engine_changed(e);
}

void step_dispatched(struct time_engine *e)
{
	e->step.dispatching = false;
	step_look(e);
}

static int check_step(const struct time_engine *e, int64_t dur_ns)
{
	int r = engine_need_control(e, "stepped");

	if (r < 0)
		return r;
	if (dur_ns < 1 || dur_ns > TIME_STEP_MAX_DUR_NS)
		return err_set(-ERANGE, "a step of %" PRId64 " ns is out of range; choose 1 ns .. 1 h", dur_ns);
	if (e->step.open)
		return err_set(-EBUSY, "a step is going on; wait for its end, or end it with `simctl clock pause`");
	if (e->state == TIME_RUNNING && !e->pause_due)
		return err_set(-EBUSY, "time is running; pause it first: `simctl clock pause`");
	if (e->driven && !e->driver.held)
		return err_set(-ENOTCONN,
			       "time source `%s` has no driver, so it cannot be stepped; start the simulator",
			       e->source->name);
	if (engine_at_end(e, dur_ns))
		return err_set(-ERANGE, "time cannot go beyond 2^63 ns");
	return 0;
}

static void step_begin(struct time_engine *e, int64_t dur_ns)
{
	engine_begin(e);
	e->state = TIME_STEPPING;
	e->step.left_dur_ns = e->driven ? dur_ns : 0;
	if (!e->driven)
		engine_add(e, dur_ns);
	engine_commit(e);
	engine_changed(e);
	if (!e->driven)
		engine_round(e, dur_ns);
	else
		driver_go_on(e);
}

static void step_begin_next(struct time_engine *e)
{
	int64_t dur_ns = e->step.next_dur_ns;

	e->step.next_dur_ns = 0;
	if (e->step.open && dur_ns)
		step_begin(e, dur_ns);
}

void step_pause(struct time_engine *e)
{
	e->pause_due = false;
	engine_set_state(e, TIME_PAUSED);
	engine_pause_over(e, 0);
	step_begin_next(e);
	driver_serve(e);
}

int time_engine_step(struct time_engine *e, int64_t dur_ns, time_step_fn done, void *arg)
{
	int r = check_step(e, dur_ns);

	if (r < 0)
		return r;
	e->step.open = true;
	e->step.done = done;
	e->step.arg = arg;
	if (e->pause_due)
		e->step.next_dur_ns = e->step.left_dur_ns = dur_ns;
	else
		step_begin(e, dur_ns);
	return 0;
}

void time_engine_step_forget(struct time_engine *e, void *arg)
{
	if (e->step.open && e->step.arg == arg)
		e->step.done = NULL;
}

void time_engine_poke(struct time_engine *e)
{
	step_look(e);
}
