/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-ss2's side towards simd: the driver lease of the `ss2` source, the channels of objects and traffic lights, and
 * those of the vehicle. Implements what the server asks of the world.
 *
 * Thread: main; completions on the library's thread (they only count).
 */
#ifndef SOURCES_SS2_LINK_H
#define SOURCES_SS2_LINK_H

#include <stdint.h>

#include <sim/clock.h>
#include <sim/subscriber.h>

#include "../outlet.h"
#include "server.h"

enum link_channel { LINK_OBJECTS, LINK_SIGNALS, LINK_CHANNELS };

struct link {
	struct sim_client *client;
	struct sim_driver *driver; /* NULL: not held */
	struct outlet out[LINK_CHANNELS];
	struct sim_subscriber *odometry, *can_bus;
	struct vehicle vehicle;
};

extern const struct server_ops link_ops; /* ctx: struct link */

/* Connect, advertise, subscribe. Errors as sim_connect(), sim_advertise(), sim_subscribe(); sim_why(). */
int link_open(struct link *l, const char *name, const char *socket, const struct vehicle_origin *origin);
void link_close(struct link *l);

/* Take the lease if the source is `ss2` and it is not held. Quick; to be called now and then. */
void link_idle(struct link *l);

#endif
