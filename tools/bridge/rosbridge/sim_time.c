/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_sim_time: /clock of the server's graph drives simd's time source `ros2`. A server tells neither who has published
 * nor when the last publisher is gone: every message is accepted, and the clock is lost with the connection. Thread:
 * the link's.
 */
#include <errno.h>
#include <stdio.h>

#include "rosbridge.h"

void sim_time_ask(struct sim_bridge *b)
{
	char text[128];

	if (!b->sim_time.on)
		return;
	snprintf(text, sizeof(text), "{\"op\":\"subscribe\",\"topic\":\"/clock\",\"type\":\"rosgraph_msgs/%sClock\"}",
		 b->flavour == FLAVOUR_ROS2 ? "msg/" : "");
	(void)rosbridge_say(b, OUTBOX_LAST, text, NULL);
}

void sim_time_take(struct sim_bridge *b, struct sim_dec *d)
{
	int64_t sim_ns;
	int r;

	sim_dec_begin(d, "msg");
	r = sim_dec_has(d, "clock") ? 0 : -EBADMSG;
	sim_ns = sim_dec_time(d, "clock");
	sim_dec_end(d);
	if (r == 0)
		r = d->err ? d->err : sim_ns < 0 ? -ERANGE : 0;
	if (r < 0) {
		if (rosbridge_worth_saying(++b->n_bad_clocks))
			log_warn(b, "/clock: a message is dropped: %s (%llu so far)", topics_reason(r),
				 (unsigned long long)b->n_bad_clocks);
		return;
	}
	if (!b->clock_followed)
		log_info(b, "the time is taken from /clock of the server");
	b->clock_followed = true;
	far_time_set(&b->sim_time, sim_ns);
}

void sim_time_lost(struct sim_bridge *b)
{
	if (!b->clock_followed)
		return;
	b->clock_followed = false;
	log_warn(b, "lost the server's /clock: clock stopped until there is one");
	far_time_gone(&b->sim_time);
}
