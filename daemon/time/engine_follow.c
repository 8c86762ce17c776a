/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source that follows the clock of another simd (`link`): its driver reports simulated time at a moment of
 * CLOCK_MONOTONIC, rate and pause. Between two reports time runs by itself, and the difference is slewed (slew.h). In
 * lock-step it is advanced like any driven source, and only pause and scale are reported. Thread: the exec's.
 */
#include "engine_private.h"

#include "slew.h"

#include <errno.h>

#define MOMENT_DUR_NS (60 * NS_PER_S) /* largest distance of a reported moment from now */
#define DRIFT_E6      200             /* drift of two clocks: CLOCK_DRIFT_E6 of the link bridge */

/* Simulated time that passes in dur_ns of wall time. */
static int64_t at_rate(int64_t dur_ns, int64_t rate_e6)
{
	return (int64_t)((int128)dur_ns * rate_e6 / SIM_RATE_ONE);
}

static void on_slewed(void *arg)
{
	struct time_engine *e = arg;

	engine_begin(e);
	e->follow.rate_e6 = e->follow.said.rate_e6;
	e->follow.off_dur_ns = 0;
	engine_commit(e);
}

void follow_init(struct time_engine *e)
{
	e->follow.scale_e6 = SIM_RATE_ONE;
	exec_timer_init(&e->follow.slewed, e->exec, on_slewed, e);
}

void follow_stop(struct time_engine *e)
{
	exec_timer_cancel(&e->follow.slewed);
	if (e->follow.runs)
		e->driven = true;
	e->follow.runs = false;
	e->follow.rate_e6 = e->follow.off_dur_ns = 0;
}

void follow_forget(struct time_engine *e)
{
	follow_stop(e);
	e->follow.known = false;
}

static bool is_scale(int64_t e6)
{
	return e6 >= 0 && e6 <= TIME_SCALE_MAX_E6;
}

int follow_check(const struct time_engine *e, const struct driver_follow_packet *p)
{
	int64_t since_dur_ns;

	if (!engine_is_followed(e))
		return -EOPNOTSUPP;
	if (p->flags &
	    ~(uint32_t)(DRIVER_FOLLOW_JUMP | DRIVER_FOLLOW_PAUSED | DRIVER_FOLLOW_STEPS | DRIVER_FOLLOW_LOST))
		return -EINVAL;
	if (p->flags & DRIVER_FOLLOW_LOST)
		return 0;
	if (!is_scale(p->rate_e6) || !is_scale(p->scale_e6) || p->error_dur_ns < 0)
		return -EINVAL;
	if (p->mono_ns < 0 || p->sim_ns < 0 || p->sim_ns > TIME_START_MAX_NS)
		return -ERANGE;
	if (p->flags & DRIVER_FOLLOW_STEPS)
		return 0;
	since_dur_ns = exec_now(e->exec) - p->mono_ns;
	return since_dur_ns >= -MOMENT_DUR_NS && since_dur_ns <= MOMENT_DUR_NS ? 0 : -ERANGE;
}

/* Inside begin/commit: jumps to the reported time, or begins to slew. Returns true if it jumped. */
static bool go_there(struct time_engine *e)
{
	const struct driver_follow_packet *p = &e->follow.said;
	int64_t own_sim_ns = engine_base_ns(e);
	int64_t should_sim_ns = p->sim_ns + at_rate(e->base_mono_ns - p->mono_ns, p->rate_e6);
	struct slew_plan plan;

	if (should_sim_ns < 0)
		should_sim_ns = 0;
	slew_plan(own_sim_ns, should_sim_ns, p->rate_e6, p->scale_e6, &plan);
	plan.jump |= (p->flags & DRIVER_FOLLOW_JUMP) || (!e->started && should_sim_ns != own_sim_ns);
	if (plan.jump) {
		engine_jump_to(e, should_sim_ns);
		plan = (struct slew_plan){ .jump = true, .rate_e6 = p->rate_e6 };
	}
	engine_add(e, plan.add_dur_ns);
	e->follow.rate_e6 = plan.rate_e6;
	e->follow.off_dur_ns = should_sim_ns - engine_base_ns(e);
	if (plan.for_dur_ns)
		exec_timer_at(&e->follow.slewed, e->base_mono_ns + plan.for_dur_ns);
	else
		exec_timer_cancel(&e->follow.slewed);
	return plan.jump;
}

static void hold(struct time_engine *e)
{
	engine_begin(e);
	follow_forget(e);
	e->driven = e->driver_lost = true;
	engine_commit(e);
	engine_changed(e);
}

int follow_serve(struct time_engine *e)
{
	const struct driver_follow_packet *p = &e->follow.said;
	enum time_state was = e->state;
	int64_t scale_e6 = e->follow.scale_e6;
	bool was_lost = e->driver_lost, jump = false;

	if (p->flags & DRIVER_FOLLOW_LOST) {
		hold(e);
		return 0;
	}
	engine_begin(e);
	if (p->flags & DRIVER_FOLLOW_STEPS) {
		follow_stop(e);
		jump = p->flags & DRIVER_FOLLOW_JUMP;
		if (jump)
			engine_jump_to(e, p->sim_ns);
	} else {
		jump = go_there(e);
		e->driven = false;
		e->follow.runs = true;
	}
	e->driver_lost = false;
	e->follow.known = true;
	e->follow.told_mono_ns = e->base_mono_ns;
	e->follow.scale_e6 = p->scale_e6 ? p->scale_e6 : scale_e6;
	e->state = p->flags & DRIVER_FOLLOW_PAUSED ? TIME_PAUSED : TIME_RUNNING;
	engine_commit(e);
	if (jump)
		engine_jumped(e);
	if (e->state != was || e->follow.scale_e6 != scale_e6 || was_lost)
		engine_changed(e);
	return 0;
}

/* The reported error, plus the drift since then, plus the difference at that time. */
int64_t follow_error(const struct time_engine *e)
{
	int64_t off = e->follow.off_dur_ns < 0 ? -e->follow.off_dur_ns : e->follow.off_dur_ns, age;

	if (!engine_is_followed(e) || !e->follow.known)
		return -1;
	if (!e->follow.runs) /* time is granted: as exact as on the time host itself */
		return 0;
	age = exec_now(e->exec) - e->follow.told_mono_ns;
	return at_rate(e->follow.said.error_dur_ns + at_rate(age, DRIFT_E6), e->follow.scale_e6) + off;
}
