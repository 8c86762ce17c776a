/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a clock that runs by itself comes to where another one says that it should be: slowly, so that it never goes back and nobody
 * sees a leap, as long as that is possible. Pure.
 *
 *   far behind (more than a second of real time)   it is put forward at once; more than 60 s: a jump
 *   far ahead                                      a jump
 *   the other one stands                           what is missing is put forward; what is too much stays until it runs on
 *   else                                           another rate until the difference is gone: within SLEW_DUR_NS, at most an eighth off
 */
#ifndef TIME_SLEW_H
#define TIME_SLEW_H

#include <stdbool.h>
#include <stdint.h>

#define SLEW_DUR_NS     INT64_C(200000000)   /* in which a small difference is gone */
#define SLEW_FAR_DUR_NS INT64_C(60000000000) /* of simulated time: what leads further is no going on */

struct slew_plan {
	bool jump;          /* to where it should be, at once, as a jump; else: */
	int64_t add_dur_ns; /* put forward at once */
	int64_t rate_e6;    /* then run at that rate ... */
	int64_t for_dur_ns; /* ... for so long, and then at the other's; 0: it is the other's */
};

/*
 * own, should: simulated time, ns. rate_e6: of the other, 0: it stands; scale_e6: that it has when it runs. All >= 0.
 */
void slew_plan(int64_t own_sim_ns, int64_t should_sim_ns, int64_t rate_e6, int64_t scale_e6, struct slew_plan *ret);

#endif
