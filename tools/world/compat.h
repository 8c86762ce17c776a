/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of TR-2016-06, which speak the report's first protocol over TCP: a code of one byte, then for some codes a body.\n * Each is a session like any other, with the same limits (world.h); this module is its host's side, in memory\n * (world/side.h). No sockets, and no clock. Thread: the world's.
 *
 * First the client is sent its number: four bytes in this machine's byte order, from 0 on. Then the client sends
 *     2 and a VehicleMessage   its vehicle; the reply: 2 and a VehicleMessage for each other vehicle that it sees, then 3
 *     4 and a number           its vehicle has not moved; the same reply
 *     1                        the end: its vehicle is removed
 * The server also sends 5 each second of wall time, and 1 last.
 * Numbers are less than 128, so that all messages have the 361 bytes that the original client reads. Other vehicles get\n * numbers as well, from 127 down, while they are seen. If all are taken, the oldest client that has never spoken is\n * disconnected, and without such a client the new one is; vehicles without a number are left out, and counted.
 */
#ifndef WORLD_COMPAT_H
#define WORLD_COMPAT_H

#include <stdbool.h>

#include "compat_message.h"
#include "world.h"

struct compat;
struct compat_client;

#define COMPAT_CERTIFICATE "tr2016" /* name of these clients for the access list */

enum compat_code { COMPAT_DISCONNECT = 1, COMPAT_VEHICLE, COMPAT_VEHICLE_END, COMPAT_VEHICLE_KEEP, COMPAT_HEARTBEAT };

struct compat_info {
	uint32_t clients;
	uint64_t updates, foreign; /* foreign: updates of other clients' vehicles, ignored */
	uint64_t left_out;         /* vehicles for which there was no number */
};

/* Borrows w and fields until compat_destroy(). -ENOMEM. */
int compat_create(struct world *w, const struct compat_fields *fields, int64_t now_mono_ns, struct compat **ret)
	__attribute__((warn_unused_result));
void compat_destroy(struct compat *c); /* closes all clients, without sending them anything */
/*
 * Exchanges data between the world and its clients; sends heartbeats. now_wall_s: since 1970. Returns when to call
 * again.
 */
int64_t compat_turn(struct compat *c, int64_t now_mono_ns, int64_t now_wall_s);
void compat_info(const struct compat *c, struct compat_info *ret);

/* -ENOSPC: too many clients; -ENOMEM. With the reason in err_why(). */
int compat_open(struct compat *c, int64_t now_mono_ns, struct compat_client **ret) __attribute__((warn_unused_result));
/*
 * After its connection was lost. Its vehicle is removed at once: a reconnected client gets another number, and would
 * meet its old vehicle.
 */
void compat_close(struct compat_client *cl, int64_t now_mono_ns);
/* Room for bytes from the client; 0: it must first read what waits for it. */
size_t compat_room(struct compat_client *cl, uint8_t **ret);
void compat_add(struct compat_client *cl, size_t n, int64_t now_mono_ns);
/* Bytes for the client; valid until the next call with it. */
size_t compat_output(const struct compat_client *cl, const uint8_t **ret);
/* n bytes have been sent; handles messages that had to wait for that. */
void compat_sent(struct compat_client *cl, size_t n, int64_t now_mono_ns);
/*
 * Why the client is being closed, as text; NULL: it is not. It is closed if it reads nothing for 10 s while bytes wait
 * for it, or sends nothing for 60 s.
 */
const char *compat_ends(const struct compat_client *cl);
/* Whether to close the connection: the client is at its end, and was sent everything, or has not read it for 2 s. */
bool compat_over(const struct compat_client *cl, int64_t now_mono_ns);
unsigned compat_number(const struct compat_client *cl);

#endif
