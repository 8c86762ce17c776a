/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frequency gate: decides when a sensor of a given rate is due. Due times lie on an exact rational grid (13.4 Hz is
 * 5e12/67 ns), so nothing drifts and rounding never makes a sensor early.
 *
 * The true due time is next_due_sim_ns + rem / den, 0 <= rem < den; the period is num / den. Thread: the owner's.
 */
#include <sim/clock.h>

#include <errno.h>

#include "err.h"
#include "timeutil.h"

#define MHZ_MAX 1000000000u /* 1 MHz */

int sim_gate_init(struct sim_gate *g, uint32_t frequency_mhz)
{
	if (!g)
		return err_set(-EINVAL, "frequency gate: no gate was given");
	if (frequency_mhz == 0 || frequency_mhz > MHZ_MAX)
		return err_set(-EINVAL, "frequency gate: %u millihertz is out of range, 1 to %u (1 Hz is 1000)",
			       frequency_mhz, MHZ_MAX);
	*g = (struct sim_gate){
		.num = 1000 * NS_PER_S,
		.den = frequency_mhz,
		.period_dur_ns = 1000 * NS_PER_S / frequency_mhz,
	};
	return 0;
}

/* Advances the due time by n periods. */
static void gate_advance(struct sim_gate *g, int64_t n)
{
	int128 total = (int128)n * g->num + g->rem;

	/* saturates, as time may be set to its end */
	g->next_due_sim_ns = ns_add(g->next_due_sim_ns, (int64_t)(total / g->den));
	g->rem = (int64_t)(total % g->den);
}

/* Begins a new phase: due now, and every period from here on. */
static bool gate_start(struct sim_gate *g, const struct sim_clock_sample *now)
{
	g->started = 1;
	g->clock_generation = now->clock_generation;
	g->next_due_sim_ns = now->sim_ns;
	g->rem = 0;
	gate_advance(g, 1);
	return true;
}

bool sim_gate_due(struct sim_gate *g, const struct sim_clock_sample *now)
{
	int64_t late;

	if (now->flags & SIM_CLOCK_PAUSED)
		return false;
	if (!g->started || g->clock_generation != now->clock_generation)
		return gate_start(g, now);
	late = now->sim_ns - g->next_due_sim_ns;
	if (late < 0 || (late == 0 && g->rem > 0))
		return false;
	/* One fire however late, then back on the grid: the next due time is the first one after now. */
	gate_advance(g, late == 0 ? 1 : (int64_t)(((int128)late * g->den - g->rem) / g->num) + 1);
	return true;
}
