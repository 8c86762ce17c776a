/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other way round: foreign messages that may come in, as bodies of our types. Units, axes and signs are
 * turned back as in map.h. Pure functions: any thread.
 */
#ifndef MAP_IN_H
#define MAP_IN_H

#include "cdr_reader.h"
#include "message_in.h"

struct map_in {
	const char *ros; /* "autoware_control_msgs/Control" */
	const char *sim; /* "sim/VehicleControl" */
	/* as map_in_read(); stamp and frame are cleared before */
	int (*read)(struct sim_dec *d, struct message_in *to);
};

extern const struct map_in map_in_table[]; /* ended by a NULL ros */

/* "pkg/Name" or "pkg/msg/Name": its default. NULL: nothing of ours is made of it. */
const struct map_in *map_in_find(const char *ros);
/* The mapping to that type of ours, where a foreign one may become several: sensor_msgs/Imu also sim/CorrectedImu. */
const struct map_in *map_in_find_to(const char *ros, const char *sim);

/*
 * Read one message to its end. 0, what it says is in *to; 1: the message says "no command", nothing is to be
 * published. Errors: those of <sim/decode.h>, -ERANGE a number outside what the message allows, -ENOBUFS more room is needed.
 */
int map_in_read(const struct map_in *m, enum wire_format format, const void *data, size_t len, struct message_in *to);
/* The same from a decoder, of the message that is open there; whether more stands behind it is the caller's to check. */
int map_in_take(const struct map_in *m, struct sim_dec *d, struct message_in *to);
/*
 * Of what was read from pb_msgs: heights above the sea become those above the ellipsoid, places in UTM those of the map. Both as in map_options.
 */
void map_in_place(const struct map_in *m, struct message_in *to, double undulation, const double *origin);
/* For who reads otherwise: no stamp, no frame, no size. */
void message_in_clear(struct message_in *to);

/* rosgraph_msgs/Clock, which drives time: as map_in_read(); -ERANGE before 0. */
int map_in_clock(enum wire_format format, const void *data, size_t len, int64_t *ret_sim_ns);

#endif
