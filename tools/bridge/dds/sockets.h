/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits who can reach us. Call sockets_note() before Cyclone creates its sockets, and sockets_narrow() or
 * sockets_keep_to_machine() after that: then they hear only the interfaces that Cyclone sends to, or only this machine.
 * Also limits floods of Cyclone's log. Thread: that of create(); the sink: any.
 */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <pthread.h>

#include <dds/dds.h>

#include <sim/bridge.h>

#include "limit.h"

#define SOCKETS_FDS_MAX 1024
struct sockets { /* bitmap of the UDP sockets that were open at sockets_note(), by descriptor */
	uint8_t there[SOCKETS_FDS_MAX / 8];
};
void sockets_note(struct sockets *s);
/*
 * from: the only accepted senders, IPv4 in network byte order, at most SOCKETS_FROM_MAX; NULL: any sender on those
 * interfaces. Negative errno: others are heard, too; logged.
 */
#define SOCKETS_FROM_MAX 64u
int sockets_narrow(const struct sim_bridge_host *host, const struct sockets *before, const uint32_t *from,
		   unsigned n_from);
/*
 * Accepts only packets sent by processes of this machine, on any interface; what is sent stays on this machine. The
 * kernel decides by a packet's origin, not by its addresses. -EADDRNOTAVAIL: Cyclone uses more than 127.0.0.1. Errors
 * are not logged.
 */
int sockets_keep_to_machine(const struct sockets *before);

/* The same for a single socket; call it before binding. */
int sockets_hear_machine(int fd);

/* Whether Cyclone sends only from loopback addresses. */
bool sockets_on_loopback(const struct sockets *before);

struct sockets_log { /* for Cyclone's log: lines go to the host's log; excess lines are suppressed and counted */
	const struct sim_bridge_host *host;
	pthread_mutex_t lock; /* guards the members below */
	struct limit lines;
	unsigned long kept_back;
};
void sockets_log_open(struct sockets_log *l, const struct sim_bridge_host *host);
void sockets_log_close(struct sockets_log *l);

#endif
