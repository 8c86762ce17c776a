/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of TR-2016-06 in this world, as its first version by TCP spoke: a code of one byte, then for some a body. Each is a session like any other, held
 * against the same bounds, which this end has in memory (world.h, world/side.h) and speaks for. No sockets, and no clock.
 * Thread: the world's.
 *
 * At first it is sent its number: four bytes in this machine's order, from 0 on. Then from it
 *     2 and a VehicleMessage   its vehicle; the reply: 2 and a VehicleMessage for each other one that it sees, and 3
 *     4 and a number           its vehicle is where it was; the same reply
 *     1                        the end: its vehicle goes
 * and to it, besides, 5 each second of wall time, and 1 as the last.
 * A number is less than 128, so that all messages have the 361 bytes that the original reads. Vehicles of other clients have one as well, from 127 down, for as
 * long as they are seen. Where none is left the oldest client that has never spoken makes room, and without one who comes is closed; vehicles for which there is none are left out, and counted.
 */
#ifndef WORLD_COMPAT_H
#define WORLD_COMPAT_H

#include <stdbool.h>

#include "compat_message.h"
#include "world.h"

struct compat;
struct compat_client;

#define COMPAT_CERTIFICATE "tr2016" /* of its clients, for the access list */

enum compat_code { COMPAT_DISCONNECT = 1, COMPAT_VEHICLE, COMPAT_VEHICLE_END, COMPAT_VEHICLE_KEEP, COMPAT_HEARTBEAT };

struct compat_info {
	uint32_t clients;
	uint64_t updates, foreign; /* foreign: of another one's vehicle: passed over */
	uint64_t left_out;         /* vehicles that had no number */
};

/* fields: kept until destroy, as is w. -ENOMEM. */
int compat_create(struct world *w, const struct compat_fields *fields, int64_t now_mono_ns, struct compat **ret)
	__attribute__((warn_unused_result));
void compat_destroy(struct compat *c); /* clients as well, without a word to them */
/* What the world has for its clients, and theirs for it; heartbeats. now_wall_s: since 1970. Returns when to come again. */
int64_t compat_turn(struct compat *c, int64_t now_mono_ns, int64_t now_wall_s);
void compat_info(const struct compat *c, struct compat_info *ret);

/* -ENOSPC as many as may be; -ENOMEM. With a sentence. */
int compat_open(struct compat *c, int64_t now_mono_ns, struct compat_client **ret) __attribute__((warn_unused_result));
/* Its connection is gone, and its vehicle with it: it would come again under another number, and meet itself. */
void compat_close(struct compat_client *cl, int64_t now_mono_ns);
/* Room for what comes from it; 0: it is to read first what is there for it. */
size_t compat_room(struct compat_client *cl, uint8_t **ret);
void compat_add(struct compat_client *cl, size_t n, int64_t now_mono_ns);
/* What is for it; valid until the next call with it. */
size_t compat_output(const struct compat_client *cl, const uint8_t **ret);
/* n of it are sent; what had to wait for that is looked at. */
void compat_sent(struct compat_client *cl, size_t n, int64_t now_mono_ns);
/* Why it is at an end, for people; NULL: it goes on. One that reads nothing of what waits for it for 10 s, or says nothing for 60 s, is at an end. */
const char *compat_ends(const struct compat_client *cl);
/* It is at an end, and has been sent all, or has not taken it for 2 s: its connection is to be closed. */
bool compat_over(const struct compat_client *cl, int64_t now_mono_ns);
unsigned compat_number(const struct compat_client *cl);

#endif
