/* SPDX-License-Identifier: Apache-2.0 */
/* Clock, frames, inertial and satellite navigation. See apollo.h. */
#include "apollo_private.h"
#include "sim/msg/Clock.h"

int apollo_out_clock(struct apollo_out *o)
{
	const struct sim_Clock *m = APOLLO_BODY(o, Clock);

	if (m->clock < 0)
		return apollo_refuse(o, -ENOTSUP, "Cyber RT's clock begins at 1970");
	pb_u64(&o->w, 1, (uint64_t)m->clock);
	return 0;
}
