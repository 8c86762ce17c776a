/* SPDX-License-Identifier: Apache-2.0 */
/* Leading time: pause, resume, scale and step, which simd does when it is asked to. Thread: any. */
#include <sim/clock.h>

#include <errno.h>

#include "client.h"
#include "err.h"
#include "jsonx.h"
#include "session.h"
#include "timeutil.h"

#define STEP_MAX_DUR_NS (3600 * NS_PER_S)

/* All answer with the clock as it then is. Takes params. ret_sim_ns may be NULL. */
static int lead(struct sim_client *c, const char *method, json_t *params, int64_t wall_timeout_dur_ns,
		int64_t *ret_sim_ns)
{
	struct varlink_msg m;
	struct session *s;
	json_t *reply;
	int64_t sim_ns;
	int r = client_session(c, &s);

	if (r < 0) {
		json_decref(params);
		return r;
	}
	r = session_call_within(c, s, method, params, wall_timeout_dur_ns, &m, &reply);
	session_unref(s);
	if (r < 0)
		return r;
	r = jsonx_int(json_object_get(reply, "clock"), "sim_ns", 0, INT64_MAX, &sim_ns);
	if (r == 0 && ret_sim_ns)
		*ret_sim_ns = sim_ns;
	varlink_msg_finish(&m);
	return r;
}

/* What only asks is answered in the time of any call. */
static int lead_now(struct sim_client *c, const char *method, json_t *params)
{
	return lead(c, method, params, CALL_DUR_NS, NULL);
}

int sim_clock_pause(struct sim_client *c, int64_t wall_timeout_dur_ns)
{
	int r = client_guard(c);

	if (r == 0 && !wall_timeout_dur_ns)
		return lead_now(c, "PauseClock", NULL);
	if (r == 0)
		r = lead(c, "PauseClock", json_pack("{s:b}", "wait", 1), wall_timeout_dur_ns, NULL);
	if (r == -ETIMEDOUT)
		err_set(r,
			"sim_clock_pause: the driver has not asked for more time: the clock is pausing until it does");
	return r;
}

int sim_clock_resume(struct sim_client *c)
{
	int r = client_guard(c);

	return r == 0 ? lead_now(c, "ResumeClock", NULL) : r;
}

int sim_clock_set_scale(struct sim_client *c, int64_t scale_e6)
{
	int r = client_guard(c);

	return r == 0 ? lead_now(c, "SetScale", json_pack("{s:f}", "scale", (double)scale_e6 / SIM_RATE_ONE)) : r;
}

int sim_clock_step(struct sim_client *c, int64_t dur_ns, int64_t wall_timeout_dur_ns, int64_t *ret_sim_ns)
{
	int r = client_guard(c);

	if (r < 0)
		return r;
	if (dur_ns < 1 || dur_ns > STEP_MAX_DUR_NS)
		return err_set(-ERANGE, "sim_clock_step: %lld ns is out of range, 1 ns to 1 h", (long long)dur_ns);
	r = lead(c, "StepClock", json_pack("{s:I}", "dur_ns", (json_int_t)dur_ns), wall_timeout_dur_ns, ret_sim_ns);
	if (r == -ETIMEDOUT)
		err_set(r,
			"sim_clock_step: the step goes on: its driver, participants or bridges have not come to its end");
	return r;
}
