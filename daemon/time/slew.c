/* SPDX-License-Identifier: Apache-2.0 */
/* slew.h. Thread: any. */
#include "slew.h"

#define ONE_E6       1000000
#define LARGE_DUR_NS INT64_C(1000000000) /* of real time */
#define SLEW_PART    8                   /* the rate may differ by 1/8 */

__extension__ typedef __int128 wide;

static int64_t large(int64_t scale_e6)
{
	return scale_e6 > ONE_E6 ? (int64_t)((wide)LARGE_DUR_NS * scale_e6 / ONE_E6) : LARGE_DUR_NS;
}

static void slew(int64_t diff_ns, int64_t rate_e6, struct slew_plan *ret)
{
	int64_t size_ns = diff_ns < 0 ? -diff_ns : diff_ns;
	int64_t by_e6 = (int64_t)((wide)size_ns * ONE_E6 / SLEW_DUR_NS), most_e6 = rate_e6 / SLEW_PART;

	if (by_e6 > most_e6)
		by_e6 = most_e6;
	if (by_e6 < 1) /* below the resolution of a rate */
		return;
	ret->rate_e6 = diff_ns < 0 ? rate_e6 - by_e6 : rate_e6 + by_e6;
	ret->for_dur_ns = (int64_t)((wide)size_ns * ONE_E6 / by_e6);
}

void slew_plan(int64_t own_sim_ns, int64_t should_sim_ns, int64_t rate_e6, int64_t scale_e6, struct slew_plan *ret)
{
	int64_t diff_ns = should_sim_ns - own_sim_ns, large_ns = large(scale_e6);

	*ret = (struct slew_plan){ .rate_e6 = rate_e6 };
	if (diff_ns > SLEW_FAR_DUR_NS || diff_ns < -large_ns)
		ret->jump = true;
	else if (diff_ns > large_ns || (diff_ns > 0 && !rate_e6))
		ret->add_dur_ns = diff_ns;
	else if (rate_e6)
		slew(diff_ns, rate_e6, ret);
}
