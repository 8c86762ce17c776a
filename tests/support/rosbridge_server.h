/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rosbridge server as the tests play it, by hand from the protocol's description, over ws_server.h. It is strict: whatever a server could
 * stumble over, in a frame, in an operation or in their order, is kept in `fault`. There is no graph behind it: it sends what the test says
 * or, as a relay, to its clients what they publish, call and answer among each other. Thread: any may ask.
 */
#ifndef ROSBRIDGE_SERVER_H
#define ROSBRIDGE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "ws_server.h"

struct rosbridge_server;

struct rosbridge_server_how { /* zeros: a server as it should be */
	struct ws_server_how ws;
	bool auth;   /* the first operation must be "auth" */
	bool python; /* NaN and 1e999 are numbers, as Python's json has them; they read as null */
	bool relay;  /* what a client sends goes to the others it is for, as JSON or CBOR */
};

/* port 0: one that is free. how NULL: zeros; kept. NULL: it cannot listen. */
struct rosbridge_server *rosbridge_server_create(unsigned port, const struct rosbridge_server_how *how);
void rosbridge_server_destroy(struct rosbridge_server *s);

unsigned rosbridge_server_port(const struct rosbridge_server *s);
/* Of all clients together. Clients so far, handshakes done so far, and whether one is being served. */
unsigned rosbridge_server_connections(struct rosbridge_server *s);
unsigned rosbridge_server_greeted(struct rosbridge_server *s);
bool rosbridge_server_connected(struct rosbridge_server *s);
unsigned rosbridge_server_cbor(struct rosbridge_server *s); /* messages sent as CBOR so far */

/*
 * Whether this client has said op ("advertise") of a topic or service, with that value of a key ("type"; NULL: any), and has not taken it back.
 */
bool rosbridge_server_heard(struct rosbridge_server *s, const char *op, const char *name, const char *key,
			    const char *value);
/* How often, of all clients; and the newest, as a reference: json_decref(). NULL: there is none. "service_response": by its id. */
uint64_t rosbridge_server_count(struct rosbridge_server *s, const char *op, const char *name);
json_t *rosbridge_server_last(struct rosbridge_server *s, const char *op, const char *name);
/* The newest as it came, byte by byte: free(). NULL: there is none. */
char *rosbridge_server_last_text(struct rosbridge_server *s, const char *op, const char *name);
/* The first thing that was wrong; "": nothing. */
const char *rosbridge_server_fault(struct rosbridge_server *s);
/* A line for each topic, into text. */
void rosbridge_server_list(struct rosbridge_server *s, char *text, size_t size);

/* ---- what it does ---- */

void rosbridge_server_text(struct rosbridge_server *s, const char *text); /* a text frame */
void rosbridge_server_binary(struct rosbridge_server *s, const void *data, size_t n);
void rosbridge_server_raw(struct rosbridge_server *s, const void *data, size_t n); /* no frame */
void rosbridge_server_hold(struct rosbridge_server *s, bool on);                   /* reads nothing meanwhile */
void rosbridge_server_close(struct rosbridge_server *s, unsigned code);            /* says so, and hangs up */
void rosbridge_server_drop(struct rosbridge_server *s);                            /* resets the connection */

#endif
