/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client by TLS for a process of its own that comes to harm: no test's asserts, all of it in one thread, and as little read as is asked for. What the
 * protocol says is written from schemas/wire/world.md with protobuf-c. Thread: the caller's. Errors: negative errno.
 */
#ifndef SYSTEM_WORLD_FAR_H
#define SYSTEM_WORLD_FAR_H

#include <stddef.h>
#include <stdint.h>

#include "wire/world.pb-c.h"
#include "world/frame.h"
#include "loop/tls.h"

struct far {
	int fd;
	struct tls_keys *keys;
	struct tls *tls;
	struct frame_reader in;
	uint32_t connection;
	uint64_t tick;
	int64_t time_sim_ns, step_dur_ns;
	Sim__World__Role role; /* of the newest heartbeat */
	uint8_t cipher[4096];  /* that has come, until it is read */
};

/* Connected, and not a byte sent. dir, name: as tls_keys_load(); host, port: an address. room: bytes that wait for it in the kernel; 0: any. */
int far_dial(struct far *f, const char *dir, const char *name, const char *host, uint16_t port, int room);
uint16_t far_port(const struct far *f); /* its own */
/* A part of its first flight. */
int far_half_greeting(struct far *f);
int far_shake(struct far *f); /* its handshake, to the end */
int far_bytes(struct far *f, const void *data, size_t len);
int far_say(struct far *f, unsigned code, const ProtobufCMessage *m);
int far_hello(struct far *f, const char *name);
/* Until something of a kind has come. */
int far_await(struct far *f, unsigned code);
int far_object(struct far *f, uint32_t number); /* where it is at the next tick */
int far_done(struct far *f);

#endif
