/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers in simulated time: they stand still while time is paused, follow its scale, and fire after a step as well.
 *
 * Periodic timers keep their phase: due times are start + k x period, exactly. A timer that was held up (a slow
 * callback, a long step) fires once for all the periods that it missed, and reports how many. Jumps are handled as for
 * timers of ROS 2: after a jump forward past the due time the timer fires once; after a jump back before its last call
 * it is due one period after the new time; after a shorter jump back it keeps its due time.
 *
 * Callbacks run one at a time: on the client's thread "sim-timer"; with SIM_CLIENT_NO_THREAD inside sim_process();
 * while the client takes part in steps inside sim_step_wait(), in the order of their due times, so that what they
 * publish belongs to the turn.
 */
#ifndef SIM_TIMER_H
#define SIM_TIMER_H

#include <sim/client.h>
#include <sim/clock_page.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim_timer;

enum sim_timer_flag {
	SIM_TIMER_ONE_SHOT = 1u << 0, /* fires once; sim_timer_start() makes it fire again */
};

struct sim_timer_event {
	struct sim_clock_sample now;
	int64_t due_sim_ns; /* when it should have fired, <= now.sim_ns */
	uint64_t missed;    /* further periods that had passed by then */
};

typedef void (*sim_timer_fn)(void *user, const struct sim_timer_event *event);

/*
 * Creates a timer that is first due one period (> 0) of simulated time from now. The callback may start, stop and
 * destroy timers, this one too.
 * Returns: 0; -EINVAL; -ENOMEM; -EAGAIN no thread could be started.
 */
SIM_API SIM_MUST_CHECK int sim_timer_create(struct sim_client *c, int64_t period_dur_ns, unsigned flags,
					    sim_timer_fn fn, void *user, struct sim_timer **ret);

/* The callback is not called again; waits for one that runs in another thread. NULL is fine. */
SIM_API void sim_timer_destroy(struct sim_timer *t);

SIM_API void sim_timer_stop(struct sim_timer *t);
/* The timer is due one period from now, even if it was running. */
SIM_API void sim_timer_start(struct sim_timer *t);
/* Simulated time until it fires, 0: due; INT64_MAX: stopped. */
SIM_API int64_t sim_timer_left(const struct sim_timer *t);

#ifdef __cplusplus
}
#endif
#endif
