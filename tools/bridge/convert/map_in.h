/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inverse of map.h: foreign messages as bodies of our types, with units, axes and signs converted back. Pure
 * functions: any thread.
 */
#ifndef MAP_IN_H
#define MAP_IN_H

#include "cdr_reader.h"
#include "message_in.h"

struct map_in {
	const char *ros; /* "autoware_control_msgs/Control" */
	const char *sim; /* "sim/VehicleControl" */
	/* as map_in_read(); stamp and frame are cleared before the call */
	int (*read)(struct sim_dec *d, struct message_in *to);
};

extern const struct map_in map_in_table[]; /* terminated by a NULL ros */

/* The default mapping of "pkg/Name" or "pkg/msg/Name". NULL: it cannot be converted. */
const struct map_in *map_in_find(const char *ros);
/*
 * The mapping to this type of ours, for foreign types that can become several: sensor_msgs/Imu also sim/CorrectedImu.
 */
const struct map_in *map_in_find_to(const char *ros, const char *sim);

/*
 * Reads one message to its end. 0: its contents are in *to; 1: the message means "no command", publish nothing. Errors:
 * those of <sim/decode.h>, -ERANGE a number outside what the message allows, -ENOBUFS more room is needed.
 */
int map_in_read(const struct map_in *m, enum wire_format format, const void *data, size_t len, struct message_in *to);
/* The same from a decoder positioned in the message; the caller checks whether anything follows. */
int map_in_take(const struct map_in *m, struct sim_dec *d, struct message_in *to);
/*
 * Completes a body read from pb_msgs: heights above sea level become heights above the ellipsoid, UTM positions become
 * positions in the map. Both parameters as in map_options.
 */
void map_in_place(const struct map_in *m, struct message_in *to, double undulation, const double *origin);
/* For other readers: sets no stamp, no frame, size 0. */
void message_in_clear(struct message_in *to);

/* Reads rosgraph_msgs/Clock, for driving time: as map_in_read(); -ERANGE a time before 0. */
int map_in_clock(enum wire_format format, const void *data, size_t len, int64_t *ret_sim_ns);

#endif
