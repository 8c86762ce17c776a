/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of WebSocket as the tests play it, by hand from RFC 6455: a thread that serves up to WS_PEERS_MAX clients on a port of
 * loopback. It is strict: whatever is wrong in a handshake or a frame is reported. What a client's messages mean is its user's.
 */
#ifndef WS_SERVER_H
#define WS_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_PEERS_MAX 8u
#define WS_ALL       WS_PEERS_MAX /* each client that is connected */

struct ws_server;

struct ws_server_how {          /* zeros: a server as it should be */
	const char *greeting;   /* these bytes instead of a handshake */
	bool deaf;              /* no answer to the handshake */
	bool keeps_open;        /* a close frame has no answer, and pings neither */
	const char *cert, *key; /* PEM: TLS */
};

/* Thread: the server's, under the lock. */
struct ws_events {
	void (*text)(void *arg, unsigned peer, const char *text, size_t n); /* a whole message */
	void (*gone)(void *arg, unsigned peer);
	void (*fault)(void *arg, const char *what);
	void *arg;
};

/* port 0: one that is free. NULL: it cannot listen. */
struct ws_server *ws_server_create(unsigned port, const struct ws_server_how *how, const struct ws_events *events);
void ws_server_stop(struct ws_server *s); /* no event comes any more */
void ws_server_destroy(struct ws_server *s);

unsigned ws_server_port(const struct ws_server *s);
void ws_server_lock(struct ws_server *s);
void ws_server_unlock(struct ws_server *s);

/* ---- under the lock ---- */

struct ws_counts {
	unsigned connections, greeted; /* so far: clients, and handshakes done */
	bool connected;                /* somebody is */
	unsigned binary;               /* messages so far, that have been sent as bytes */
};
struct ws_counts ws_server_counts(const struct ws_server *s);

/* A frame of that opcode; opcode 0: the bytes without one. */
void ws_server_put(struct ws_server *s, unsigned peer, unsigned opcode, const void *data, size_t n);
void ws_server_hold(struct ws_server *s, bool on); /* reads nothing meanwhile */
void ws_server_drop(struct ws_server *s);          /* resets all connections */

struct ws_bytes { /* that grow */
	uint8_t *data;
	size_t n, room;
};
void ws_append(struct ws_bytes *b, const void *data, size_t n);

#endif
