/* SPDX-License-Identifier: Apache-2.0 */
/* Controlling time: pause, resume, scale and step, by calls to simd. Thread: any. */
#include <sim/clock.h>

#include <errno.h>

#include "client.h"
#include "err.h"
#include "jsonx.h"
#include "session.h"
#include "timeutil.h"

#define STEP_MAX_DUR_NS (3600 * NS_PER_S)
#define LOOK_DUR_NS     (5 * NS_PER_MS) /* interval at which it checks whether a pause has begun */

/* The clock after simd has done what was asked. */
struct led {
	int64_t sim_ns;
	bool paused, pausing;
};

static bool yes(const json_t *clock, const char *key)
{
	return json_is_true(json_object_get(clock, key));
}

/* Takes params. */
static int lead(struct sim_client *c, const char *method, json_t *params, int64_t wall_timeout_dur_ns, struct led *ret)
{
	struct varlink_msg m;
	struct session *s;
	json_t *reply;
	const json_t *clock;
	int r = client_session(c, &s);

	if (r < 0) {
		json_decref(params);
		return r;
	}
	r = session_call_within(c, s, method, params, wall_timeout_dur_ns, &m, &reply);
	session_unref(s);
	if (r < 0)
		return r;
	clock = json_object_get(reply, "clock");
	ret->pausing = yes(clock, "pausing");
	ret->paused =
		yes(clock, "paused") || (yes(clock, "stepping") && !ret->pausing); /* a clock that steps is paused */
	r = jsonx_int(clock, "sim_ns", 0, INT64_MAX, &ret->sim_ns);
	varlink_msg_finish(&m);
	return r;
}

/*
 * Polls the clock instead of waiting in a call: simd answers the calls of a connection in their order, so a call that
 * waited there would hold up the resume that ends the wait.
 */
static int wait_paused(struct sim_client *c, int64_t until_mono_ns, struct led *led)
{
	int r = 0;

	while (r == 0 && !led->paused) {
		int64_t left_dur_ns = until_mono_ns - client_now(c);

		if (!led->pausing)
			return err_set(-ECANCELED, "sim_clock_pause: time was resumed before it was paused");
		if (left_dur_ns <= 0)
			return err_set(-ETIMEDOUT, "sim_clock_pause: the driver has not asked for more time: the clock "
						   "is pausing until it does");
		(void)!client_sleep(c, -1, 0, left_dur_ns < LOOK_DUR_NS ? left_dur_ns : LOOK_DUR_NS);
		r = lead(c, "GetClock", NULL, CALL_DUR_NS, led);
	}
	return r;
}

int sim_clock_pause(struct sim_client *c, int64_t wall_timeout_dur_ns)
{
	int64_t until = INT64_MAX;
	struct led led;
	int r = client_guard(c);

	if (r == 0 && wall_timeout_dur_ns >= 0)
		until = ns_add(client_now(c), wall_timeout_dur_ns);
	if (r == 0)
		r = lead(c, "PauseClock", NULL, CALL_DUR_NS, &led);
	return r == 0 && wall_timeout_dur_ns ? wait_paused(c, until, &led) : r;
}

int sim_clock_resume(struct sim_client *c)
{
	struct led led;
	int r = client_guard(c);

	return r == 0 ? lead(c, "ResumeClock", NULL, CALL_DUR_NS, &led) : r;
}

int sim_clock_set_scale(struct sim_client *c, int64_t scale_e6)
{
	struct led led;
	int r = client_guard(c);

	if (r < 0)
		return r;
	return lead(c, "SetScale", json_pack("{s:f}", "scale", (double)scale_e6 / SIM_RATE_ONE), CALL_DUR_NS, &led);
}

int sim_clock_step(struct sim_client *c, int64_t dur_ns, int64_t wall_timeout_dur_ns, int64_t *ret_sim_ns)
{
	struct led led;
	int r = client_guard(c);

	if (r < 0)
		return r;
	if (dur_ns < 1 || dur_ns > STEP_MAX_DUR_NS)
		return err_set(-ERANGE, "sim_clock_step: %lld ns is out of range, 1 ns to 1 h", (long long)dur_ns);
	/* simd itself applies the timeout, because it reads nothing from this client until it has answered the step */
	r = lead(c, "StepClock",
		 json_pack("{s:I, s:o*}", "dur_ns", (json_int_t)dur_ns, "timeout_ns",
			   wall_timeout_dur_ns < 0 ? NULL : json_integer(wall_timeout_dur_ns)),
		 wall_timeout_dur_ns < 0 ? -1 : ns_add(wall_timeout_dur_ns, CALL_DUR_NS), &led);
	if (r == 0 && ret_sim_ns)
		*ret_sim_ns = led.sim_ns;
	return r;
}
