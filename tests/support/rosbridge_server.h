/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for a rosbridge server, written from the protocol's description, over ws_server.h. It is strict: an error
 * in a frame, an operation or in their order is kept in `fault`. It has no ROS graph: it sends what the test gives it
 * or, as a relay, passes publications, calls and answers between its clients. Thread: any may query it.
 */
#ifndef ROSBRIDGE_SERVER_H
#define ROSBRIDGE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "ws_server.h"

struct rosbridge_server;

struct rosbridge_server_how { /* all zero: a normal server */
	struct ws_server_how ws;
	bool auth;   /* the first operation must be "auth" */
	bool python; /* accepts NaN and 1e999 as numbers, as Python's json does; they read as null */
	bool relay;  /* passes a client's operations to the other clients concerned, as JSON or CBOR */
};

/* port 0: any free one. how NULL: all zero; kept. NULL: it cannot listen. */
struct rosbridge_server *rosbridge_server_create(unsigned port, const struct rosbridge_server_how *how);
void rosbridge_server_destroy(struct rosbridge_server *s);

unsigned rosbridge_server_port(const struct rosbridge_server *s);
/* Over all clients: clients so far, handshakes done so far, and whether one is connected. */
unsigned rosbridge_server_connections(struct rosbridge_server *s);
unsigned rosbridge_server_greeted(struct rosbridge_server *s);
bool rosbridge_server_connected(struct rosbridge_server *s);
unsigned rosbridge_server_cbor(struct rosbridge_server *s); /* messages sent as CBOR so far */

/*
 * Whether a connected client has sent op ("advertise") for a topic or service, with that value of a key ("type"; NULL:
 * any), and has not revoked it.
 */
bool rosbridge_server_heard(struct rosbridge_server *s, const char *op, const char *name, const char *key,
			    const char *value);
/*
 * Number of such operations, over all clients; and the newest, as a reference: json_decref(). NULL: none.
 * "service_response": by its id.
 */
uint64_t rosbridge_server_count(struct rosbridge_server *s, const char *op, const char *name);
json_t *rosbridge_server_last(struct rosbridge_server *s, const char *op, const char *name);
/* The newest as text, byte by byte as received: free(). NULL: none. */
char *rosbridge_server_last_text(struct rosbridge_server *s, const char *op, const char *name);
/* The first error; "": none. */
const char *rosbridge_server_fault(struct rosbridge_server *s);
/* Writes a line for each topic into text. */
void rosbridge_server_list(struct rosbridge_server *s, char *text, size_t size);

/* ---- commands ---- */

void rosbridge_server_text(struct rosbridge_server *s, const char *text); /* a text frame */
void rosbridge_server_binary(struct rosbridge_server *s, const void *data, size_t n);
void rosbridge_server_raw(struct rosbridge_server *s, const void *data, size_t n); /* bytes without a frame */
void rosbridge_server_hold(struct rosbridge_server *s, bool on);                   /* stops reading from clients */
/* sends a close frame, and closes the connection */
void rosbridge_server_close(struct rosbridge_server *s, unsigned code);
void rosbridge_server_drop(struct rosbridge_server *s); /* resets the connection */

#endif
