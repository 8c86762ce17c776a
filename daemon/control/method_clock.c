/* SPDX-License-Identifier: Apache-2.0 */
/* Methods that read and change simulated time. Thread: simd-main. */
#include "conn.h"

#include "client.h"
#include "simd.h"
#include "timekeeper.h"
#include "engine.h"
#include "err.h"
#include "jsonx.h"
#include "timeutil.h"

#define STEP_MAX_DUR_NS 3600000000000LL

static json_t *clock_json(struct simd *s)
{
	return JSONX_MAKE(JX_NEW("clock", timekeeper_json(s->time)));
}

static int answer(struct call *call, int r)
{
	return r < 0 ? r : call_reply(call, clock_json(call->s));
}

static int method_get(struct call *call)
{
	return answer(call, 0);
}

static void on_pause(struct time_wait *w, int result)
{
	struct parked *p = container_of(w, struct parked, pause);

	if (result == 0 && p->drain) {
		p->drain = false;
		timekeeper_wait_drained(p->conn->s->time, w);
		return;
	}
	call_answer(p, result, result == 0 ? clock_json(p->conn->s) : NULL);
}

static int method_pause(struct call *call)
{
	struct time_engine *e = timekeeper_engine(call->s->time);
	const struct client *cl = call->conn->cl;
	int r = time_engine_pause_by(e, cl ? cl->id : 0);
	bool pausing = r == 0 && time_engine_is_pausing(e);
	struct parked *p;

	if (r < 0 || !(call->a.drain || (call->a.wait && pausing)))
		return answer(call, r);
	p = call_park(call);
	if (!p)
		return err_nomem();
	p->pause.done = on_pause;
	p->drain = call->a.drain && pausing;
	if (pausing)
		time_engine_wait_paused(e, &p->pause);
	else
		timekeeper_wait_drained(call->s->time, &p->pause);
	return 0;
}

static int method_resume(struct call *call)
{
	return answer(call, time_engine_resume(timekeeper_engine(call->s->time)));
}

static int method_scale(struct call *call)
{
	return answer(call, timekeeper_scale(call->s->time, call->a.scale));
}

static int method_source(struct call *call)
{
	return answer(call, timekeeper_set_source(call->s->time, call->a.source, call->a.keep));
}

static void on_step(void *arg, int result, int64_t sim_ns)
{
	struct parked *p = (struct parked *)arg;
	json_t *reply = NULL;

	(void)sim_ns;
	if (p->conn && result == 0)
		reply = clock_json(p->conn->s);
	call_answer(p, result, reply);
}

static void on_step_due(void *arg)
{
	struct parked *p = (struct parked *)arg;

	time_engine_step_forget(timekeeper_engine(p->conn->s->time), p);
	call_answer(p,
		    err_set(-ETIMEDOUT,
			    "the step goes on: its driver, participants or bridges have not come to its end"),
		    NULL);
}

static int method_step(struct call *call)
{
	struct parked *p = call_park(call);

	if (!p)
		return err_nomem();
	p->step = true;
	exec_timer_init(&p->due, call->s->x, on_step_due, p);
	if (call->a.timeout_ns >= 0)
		exec_timer_at(&p->due, ns_add(exec_now(call->s->x), call->a.timeout_ns));
	return call_parked(call, time_engine_step(timekeeper_engine(call->s->time), call->a.dur_ns, on_step, p));
}

const struct method clock_methods[] = {
	{ "GetClock", method_get, 0, NULL },
	{ "PauseClock", method_pause, METHOD_ADMIN | RIGHT(PAUSE),
	  PARAMS(OPT_BOOL("wait", wait), OPT_BOOL("drain", drain)) },
	{ "ResumeClock", method_resume, METHOD_ADMIN | RIGHT(PAUSE), NULL },
	{ "StepClock", method_step, METHOD_ADMIN | RIGHT(PAUSE),
	  PARAMS(ARG_INT("dur_ns", dur_ns, 1, STEP_MAX_DUR_NS), OPT_INT("timeout_ns", timeout_ns, 0, INT64_MAX, -1)) },
	{ "SetScale", method_scale, METHOD_ADMIN | RIGHT(PAUSE), PARAMS(ARG_REAL("scale", scale)) },
	{ "SetSource", method_source, METHOD_ADMIN | RIGHT(PAUSE),
	  PARAMS(ARG_STR("source", source, 64), OPT_BOOL("continue", keep)) },
	{ 0 },
};
