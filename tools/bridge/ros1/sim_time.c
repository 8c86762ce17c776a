/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_sim_time: /clock of other nodes drives simd's time source `ros2`. Of several publishers the first one heard is
 * followed until it is gone; never one of this simd, whose bridges identify themselves in their headers.
 */
#include "map_in.h"
#include "ros1.h"

void sim_time_take(struct sim_bridge *b, struct link *from, const void *data, size_t len)
{
	struct sim_time *t = &b->sim_time;
	int64_t sim_ns = 0;
	int r = map_in_clock(WIRE_ROS1, data, len, &sim_ns);

	if (r < 0) {
		log_stranger(b, 1, "/clock: a message of %s is dropped: %s", from->connection->node, topics_reason(r));
		return;
	}
	if (!t->followed) {
		t->followed = from;
		log_info(b, "the time is taken from /clock of %s", from->connection->node);
	}
	if (t->followed == from)
		far_time_set(&t->far, sim_ns);
}

void sim_time_lost(struct sim_bridge *b, const struct link *from)
{
	struct sim_time *t = &b->sim_time;

	if (t->followed != from)
		return;
	t->followed = NULL;
	log_warn(b, "lost the publisher of /clock at %s: clock stopped until there is one", from->uri);
	far_time_gone(&t->far);
}
