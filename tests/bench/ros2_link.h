/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of 6 MiB over Cyclone DDS to a reader that takes typed samples with dds_take(): from the ROS 2 plug-in, and from a plain
 * program that writes the same image with dds_write(). One process each: writers on CPU 0, the reader on CPU 1.
 */
#ifndef ROS2_LINK_H
#define ROS2_LINK_H

#include <dds/dds.h>

#include "bench.h"

enum ros2_writer { ROS2_OURS, ROS2_PLAIN, ROS2_WRITERS, ROS2_LINKED = ROS2_WRITERS, ROS2_ALL };

struct ros2_arena;

struct ros2_link {
	struct ros2_arena *arena;
	pid_t reader, writer[ROS2_ALL];
	const char *plugin;
	const char *linked; /* the link plug-in, in place of the ROS 2 one, from slot to slot; NULL: not */
};

/* As the bridge has them, or, in another domain, Cyclone's own; these where the kernel's net.core.rmem_max is Debian's. */
enum ros2_settings { ROS2_TUNED, ROS2_DEFAULT, ROS2_SMALL };
/* Over loopback. */
dds_entity_t ros2_link_participant(enum ros2_settings settings);

/* With the bridge's network settings at both ends, and its pace. */
int ros2_link_start(struct bench *b, const char *linked, struct ros2_link *ret);
void ros2_link_stop(struct ros2_link *l);

struct ros2_run {
	double latency_ns; /* median, from before the write to behind dds_take() */
	double rate;       /* messages a second */
	double cpu_ns;     /* of the writing process, a message */
};
/* `count` images with at most `window` under way; one at a time they come as from a sensor, 20 ms after the last was taken. */
int ros2_link_run(struct ros2_link *l, enum ros2_writer who, unsigned count, unsigned window, struct ros2_run *ret);

#endif
