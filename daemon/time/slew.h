/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a clock that runs by itself is brought to the time of another one: slowly, so that it never goes back, and
 * without a jump if possible. Pure.
 *
 *   far behind (more than a second of real time)   it is put forward at once; more than 60 s: a jump
 *   far ahead                                      a jump
 *   the other one stands still                     put forward by what is missing; a lead stays until it runs
 *   else                                           another rate until the difference is gone: within SLEW_DUR_NS, at most an eighth off
 */
#ifndef TIME_SLEW_H
#define TIME_SLEW_H

#include <stdbool.h>
#include <stdint.h>

#define SLEW_DUR_NS     INT64_C(200000000)   /* a small difference is gone within that time */
#define SLEW_FAR_DUR_NS INT64_C(60000000000) /* of simulated time: a larger lead of the other clock is a jump */

struct slew_plan {
	bool jump;          /* jump to the other's time at once; otherwise: */
	int64_t add_dur_ns; /* put forward at once */
	int64_t rate_e6;    /* then run at this rate ... */
	int64_t for_dur_ns; /* ... for so long, then at the other's; 0: it is the other's */
};

/*
 * own, should: simulated time in ns. rate_e6: the other's, 0: it stands still; scale_e6: its rate when it runs. All >=
 * 0.
 */
void slew_plan(int64_t own_sim_ns, int64_t should_sim_ns, int64_t rate_e6, int64_t scale_e6, struct slew_plan *ret);

#endif
