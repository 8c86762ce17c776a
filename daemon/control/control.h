/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket: Varlink over a Unix stream socket (schemas/wire/io.simd.Control.varlink). Accepts connections,
 * reads the peer's credentials, decodes, checks limits, calls the registry, encodes. No peer can make simd store more
 * than the configured limits; a peer that breaks the protocol, or does not read its replies, is cut off.
 *
 * Thread: simd-main.
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include <stdint.h>

struct control;
struct simd;

/* s: borrowed until destroy. Does not listen yet. */
int control_create(struct simd *s, struct control **ret);
/* Closes all connections, which ends their sessions. NULL is fine. */
void control_destroy(struct control *c);

/*
 * Listens at path (with socket.group and socket.mode of the configuration). -EADDRINUSE: another process listens there.
 */
int control_listen(struct control *c, const char *path);
/* Accepts no new connections; existing ones continue. */
void control_close(struct control *c);

/*
 * Serves a connected stream socket; owns fd, also on failure. -EMFILE: limits.connections, ..._per_user,
 * ..._per_process.
 */
int control_serve(struct control *c, int fd);

uint32_t control_connections(const struct control *c);
/* Sends queued output as far as the sockets take it, before the end. */
void control_flush(struct control *c);

#endif
