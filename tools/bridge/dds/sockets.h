/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who can reach us. note() before Cyclone makes its sockets, narrow() or keep_to_machine() after it: they hear those interfaces alone
 * that Cyclone sends to, or this machine alone. And Cyclone's log, without its floods. Thread: that of create(); the sink: any.
 */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <pthread.h>

#include <dds/dds.h>

#include <sim/bridge.h>

#include "limit.h"

#define SOCKETS_FDS_MAX 1024
struct sockets { /* those that there were before */
	uint8_t there[SOCKETS_FDS_MAX / 8];
};
void sockets_note(struct sockets *s);
/* from: who alone is heard, IPv4 in network byte order, at most SOCKETS_FROM_MAX; NULL: whoever reaches those interfaces. Negative errno: others are heard too, logged. */
#define SOCKETS_FROM_MAX 64u
int sockets_narrow(const struct sim_bridge_host *host, const struct sockets *before, const uint32_t *from,
		   unsigned n_from);
/*
 * Whatever a process of this machine sends is heard, on whichever interface, and nothing else; what is sent stays here. The kernel
 * decides by where a packet came from, not by its addresses. -EADDRNOTAVAIL: Cyclone does not use 127.0.0.1 alone. Errors are not logged.
 */
int sockets_keep_to_machine(const struct sockets *before);

/* The same of one socket of one's own; before it is bound. */
int sockets_hear_machine(int fd);

/* Whether Cyclone sends with addresses of loopback alone. */
bool sockets_on_loopback(const struct sockets *before);

struct sockets_log { /* of Cyclone: its lines go to the host's log, and a flood of them is kept back and counted */
	const struct sim_bridge_host *host;
	pthread_mutex_t lock; /* guards what follows */
	struct limit lines;
	unsigned long kept_back;
};
void sockets_log_open(struct sockets_log *l, const struct sim_bridge_host *host);
void sockets_log_close(struct sockets_log *l);

#endif
