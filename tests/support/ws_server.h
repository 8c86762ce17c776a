/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for a WebSocket server, written from RFC 6455: a thread that serves up to WS_PEERS_MAX clients on a
 * loopback port. It is strict: errors in a handshake or a frame are reported. Its user handles the messages' content.
 */
#ifndef WS_SERVER_H
#define WS_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_PEERS_MAX 8u
#define WS_ALL       WS_PEERS_MAX /* all connected clients */

struct ws_server;

struct ws_server_how {          /* all zero: a normal server */
	const char *greeting;   /* these bytes instead of a handshake */
	bool deaf;              /* no answer to the handshake */
	bool keeps_open;        /* answers neither close frames nor pings */
	const char *cert, *key; /* PEM: TLS */
};

/* Thread: the server's, under the lock. */
struct ws_events {
	void (*text)(void *arg, unsigned peer, const char *text, size_t n); /* a whole message */
	void (*gone)(void *arg, unsigned peer);
	void (*fault)(void *arg, const char *what);
	void *arg;
};

/* port 0: any free one. NULL: it cannot listen. */
struct ws_server *ws_server_create(unsigned port, const struct ws_server_how *how, const struct ws_events *events);
void ws_server_stop(struct ws_server *s); /* no event comes after it */
void ws_server_destroy(struct ws_server *s);

unsigned ws_server_port(const struct ws_server *s);
void ws_server_lock(struct ws_server *s);
void ws_server_unlock(struct ws_server *s);

/* ---- under the lock ---- */

struct ws_counts {
	unsigned connections, greeted; /* so far: clients, and completed handshakes */
	bool connected;                /* a client is connected */
	unsigned binary;               /* binary messages sent so far */
};
struct ws_counts ws_server_counts(const struct ws_server *s);

/* Sends a frame of that opcode; opcode 0: raw bytes without a frame. */
void ws_server_put(struct ws_server *s, unsigned peer, unsigned opcode, const void *data, size_t n);
void ws_server_hold(struct ws_server *s, bool on); /* stops reading from clients */
void ws_server_drop(struct ws_server *s);          /* resets all connections */

struct ws_bytes { /* that grow */
	uint8_t *data;
	size_t n, room;
};
void ws_append(struct ws_bytes *b, const void *data, size_t n);

#endif
