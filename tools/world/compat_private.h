/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by compat.c, compat_vehicle.c and compat_number.c. */
#ifndef WORLD_COMPAT_PRIVATE_H
#define WORLD_COMPAT_PRIVATE_H

#include "compat.h"
#include "compat_message.h"
#include "list.h"
#include "world/side.h"

#define COMPAT_NUMBERS 128u /* that take one byte on the wire */
#define COMPAT_QUEUE_MAX \
	65536u /* bytes waiting for a client at which its input is no longer read, and no heartbeat sent */

struct compat_number {
	struct compat_client *client; /* the client with that number; NULL: another vehicle */
	uint64_t id;                  /* of that vehicle; 0: the number is free */
	int64_t seen_mono_ns;
};

/* A vehicle's message at one tick, encoded once for all clients. */
struct compat_said {
	uint64_t id, tick; /* id 0: empty */
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
	/* where to search for the next free number: for a client; for another vehicle */
	unsigned next, last;
	int64_t beat_mono_ns, wall_s;
	bool wheels_said; /* a vehicle without exactly four wheels has been reported */
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
	size_t sent;           /* bytes of out already sent */
	int64_t stuck_mono_ns; /* since when it has read nothing of what waits; INT64_MAX: nothing waits */
	bool ends;
	bool spoken; /* it has sent a message about its vehicle */
	int64_t heard_mono_ns;
	uint8_t in[4096];
	size_t n_in;
	int64_t now_mono_ns;
};

/* ---- compat.c ---- */

/* Passes data between its session and its side, until neither has more. */
void compat_pump(struct compat_client *cl, int64_t now_mono_ns);
/* Sends it the end; its connection is then to be closed. */
void compat_end(struct compat_client *cl, const char *why);
/* The client has ended itself: its vehicle is removed. */
void compat_bye(struct compat_client *cl, int64_t now_mono_ns);

/* ---- compat_vehicle.c ---- */

/* Handles all complete messages, unless too much waits for the client. */
void compat_take(struct compat_client *cl, int64_t now_mono_ns);

/* ---- compat_number.c ---- */

/* Gives the client a number; -ENOSPC, with the reason in err_why(). */
int compat_number_of_client(struct compat *c, struct compat_client *cl, int64_t now_mono_ns);
void compat_numbers_forget(struct compat_client *cl);
/* The number of a vehicle that is in view now; negative: none is free. */
int compat_number_of(struct compat *c, uint64_t id, uint32_t owner, int64_t now_mono_ns);

#endif
