/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images to subscribers of ROS 1 on bare sockets, of 6 and 24 MiB: from a publisher through simd and the ROS 1 bridge,
 * from a program that writes the same bytes to a TCP connection, and from one of roscpp. One process each: the senders
 * on CPU 0, with simd and the bridge, the subscribers on CPU 1.
 */
#ifndef ROS1_LINK_H
#define ROS1_LINK_H

#include "bench.h"
#include "ros1_arena.h"

#define ROS1_READERS 8u

struct ros1_link {
	struct bench *b;
	struct ros1_arena *arena;
	int fd;      /* of the arena, for the program of roscpp */
	bool roscpp; /* there is one */
	pid_t reader[ROS1_READERS], writer[ROS1_WRITERS], bridge;
};

int ros1_link_start(struct bench *b, struct ros1_link *ret);
void ros1_link_stop(struct ros1_link *l);

struct ros1_run {
	double latency_ns; /* median, from before the write until the last byte is received */
	double rate;       /* messages a second */
	double cpu_ns;     /* of the bridge, a message and subscriber */
};
/* `count` messages with at most `window` under way. */
int ros1_link_run(struct ros1_link *l, enum ros1_writer who, enum ros1_topic topic, unsigned count, unsigned window,
		  struct ros1_run *ret);

#endif
