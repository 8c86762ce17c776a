/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other way round: foreign messages that may come in, as bodies of our types. Units, axes and signs are
 * turned back as in map.h. Pure functions: any thread.
 */
#ifndef MAP_IN_H
#define MAP_IN_H

#include "cdr_reader.h"

struct map_in {
	const char *ros; /* "autoware_control_msgs/Control" */
	const char *sim; /* "sim/VehicleControl" */
	int (*read)(struct sim_dec *d, void *buf, size_t room, size_t *ret_size);
};

extern const struct map_in map_in_table[]; /* ended by a NULL ros */

/* "pkg/Name" or "pkg/msg/Name". NULL: nothing of ours is made of it. */
const struct map_in *map_in_find(const char *ros);

/*
 * Read one message to its end into buf (aligned to 8). 0 and its size; 1: the message says "no command", nothing is to be
 * published. Errors: those of <sim/decode.h>, -ERANGE a number outside what the command allows, -ENOBUFS buf is too small.
 */
int map_in_read(const struct map_in *m, enum wire_format format, const void *data, size_t len, void *buf, size_t room,
		size_t *ret_size);

/* rosgraph_msgs/Clock, which drives time: as map_in_read(); -ERANGE before 0. */
int map_in_clock(enum wire_format format, const void *data, size_t len, int64_t *ret_sim_ns);

#endif
