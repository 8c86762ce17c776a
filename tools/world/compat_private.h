/* SPDX-License-Identifier: Apache-2.0 */
/* What compat.c and compat_vehicle.c share. */
#ifndef WORLD_COMPAT_PRIVATE_H
#define WORLD_COMPAT_PRIVATE_H

#include "compat.h"
#include "compat_message.h"
#include "list.h"
#include "world/side.h"

#define COMPAT_NUMBERS 128u /* of one byte on the wire */
#define COMPAT_QUEUE_MAX \
	65536u /* bytes that wait for a client: nothing of it is taken, and no heartbeat sent, until they are fewer */

struct compat_number {
	struct compat_client *client; /* its own; NULL: of a vehicle of another client of the world */
	uint64_t id;                  /* of that vehicle; 0: a free number */
	int64_t seen_mono_ns;
};

/* A vehicle's message at one tick, made once for all clients that get it. */
struct compat_said {
	uint64_t id, tick; /* id 0: none */
	int64_t wall_s;
	size_t len;
	uint8_t message[COMPAT_SIZE_MAX];
};

struct compat {
	struct world *w;
	const struct compat_fields *fields;
	struct list clients; /* compat_client::link */
	struct compat_number numbers[COMPAT_NUMBERS];
	struct compat_said said[COMPAT_NUMBERS]; /* by number */
	unsigned next, last;                     /* number for a client, if it is free; for another vehicle */
	int64_t beat_mono_ns, wall_s;
	bool wheels_said; /* that a vehicle has more or fewer than four */
	struct compat_info info;
};

struct compat_client {
	struct list link; /* compat::clients */
	struct compat *c;
	uint32_t number;
	char name[32], why[256];
	struct session *s;
	struct side *side;
	struct wire_buf out;
	size_t sent;           /* of out */
	int64_t stuck_mono_ns; /* since when it has read nothing of what waits; INT64_MAX: nothing waits */
	bool ends;
	bool spoken; /* it has said something of its vehicle */
	int64_t heard_mono_ns;
	uint8_t in[4096];
	size_t n_in;
	int64_t now_mono_ns;
};

/* ---- compat.c ---- */

/* What its session has for its side, and the other way round, until neither has. */
void compat_pump(struct compat_client *cl, int64_t now_mono_ns);
/* It is told, and its connection is to be closed. */
void compat_end(struct compat_client *cl, const char *why);
/* It has said so itself: its vehicle goes. */
void compat_bye(struct compat_client *cl, int64_t now_mono_ns);

/* ---- compat_vehicle.c ---- */

/* All messages that are whole, unless too much waits for it. */
void compat_take(struct compat_client *cl, int64_t now_mono_ns);

/* ---- compat_number.c ---- */

/* One for it; -ENOSPC with a sentence. */
int compat_number_of_client(struct compat *c, struct compat_client *cl, int64_t now_mono_ns);
void compat_numbers_forget(struct compat_client *cl);
/* Of a vehicle of the world that is seen now; negative: there is none. */
int compat_number_of(struct compat *c, uint64_t id, uint32_t owner, int64_t now_mono_ns);

#endif
