/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket: Varlink over a Unix stream socket (schemas/wire/io.simd.Control.varlink). Accepts,
 * asks for the peer's credentials, decodes, checks limits, calls the registry, encodes. Nothing a peer sends can make
 * simd keep more than the configured limits; a peer that breaks the protocol, or does not read what it asked
 * for, is cut off.
 *
 * Thread: simd-main.
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include <stdint.h>

struct control;
struct simd;

/* s: keeps until destroy. Nothing is accepted yet. */
int control_create(struct simd *s, struct control **ret);
/* All connections are dropped, and with them their sessions. NULL is fine. */
void control_destroy(struct control *c);

/* Listen at path (socket.group and socket.mode of the configuration apply). -EADDRINUSE somebody answers there. */
int control_listen(struct control *c, const char *path);
/* No new connections; those there go on. */
void control_close(struct control *c);

/* Serve one connected stream socket; takes fd, also on failure. -EMFILE limits.connections, ..._per_user, ..._per_process. */
int control_serve(struct control *c, int fd);

uint32_t control_connections(const struct control *c);
/* Send what is queued as far as the sockets take it: the last word before the end. */
void control_flush(struct control *c);

#endif
