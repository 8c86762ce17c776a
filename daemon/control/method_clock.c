/* SPDX-License-Identifier: Apache-2.0 */
/* Methods that read and change simulated time. Thread: simd-main. */
#include "conn.h"

#include "simd.h"
#include "timekeeper.h"
#include "err.h"
#include "jsonx.h"
#include "mem.h"

#define STEP_MAX_DUR_NS 3600000000000LL

static int answer(struct call *call, int r)
{
	if (r < 0)
		return r;
	call->reply = json_pack("{s:o}", "clock", timekeeper_json(call->s->time));
	return call->reply ? 0 : err_nomem();
}

static int method_get(struct call *call)
{
	return answer(call, 0);
}

static int method_pause(struct call *call)
{
	return answer(call, timekeeper_pause(call->s->time));
}

static int method_resume(struct call *call)
{
	return answer(call, timekeeper_resume(call->s->time));
}

static int method_scale(struct call *call)
{
	double scale;
	int r = jsonx_real(call->params, "scale", &scale);

	return answer(call, r < 0 ? r : timekeeper_scale(call->s->time, scale));
}

static int method_source(struct call *call)
{
	const char *name;
	bool keep;
	int r = jsonx_string(call->params, "source", 64, &name);

	if (r == 0)
		r = jsonx_opt_bool(call->params, "continue", false, &keep);
	return answer(call, r < 0 ? r : timekeeper_set_source(call->s->time, name, keep));
}

static void on_step(void *arg, int result, int64_t sim_ns)
{
	struct parked *p = (struct parked *)arg;
	json_t *reply = NULL;

	(void)sim_ns;
	if (p->conn && result == 0)
		reply = json_pack("{s:o}", "clock", timekeeper_json(p->conn->s->time));
	call_answer(p, result, reply);
}

static int method_step(struct call *call)
{
	struct parked *p;
	int64_t dur_ns;
	int r = jsonx_int(call->params, "dur_ns", 1, STEP_MAX_DUR_NS, &dur_ns);

	if (r < 0)
		return r;
	p = call_park(call);
	if (!p)
		return err_nomem();
	p->step = true;
	r = timekeeper_step(call->s->time, dur_ns, on_step, p);
	if (r < 0)
		call_unpark(call);
	return r;
}

#define P(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
static const char *const none[] = { NULL };

const struct method clock_methods[] = {
	{ "GetClock", method_get, 0, none },
	{ "PauseClock", method_pause, METHOD_ADMIN, none },
	{ "ResumeClock", method_resume, METHOD_ADMIN, none },
	{ "StepClock", method_step, METHOD_ADMIN, P("dur_ns") },
	{ "SetScale", method_scale, METHOD_ADMIN, P("scale") },
	{ "SetSource", method_source, METHOD_ADMIN, P("source", "continue") },
	{ 0 },
};
