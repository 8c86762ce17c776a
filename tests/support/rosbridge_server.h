/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rosbridge server as the tests play it, by hand from RFC 6455 and the protocol's description: a thread that serves one client after the other on a
 * port of loopback. It is strict: whatever a server could stumble over, in a frame, in an operation or in their order, is kept in `fault`.
 * It publishes nothing in any graph, and sends what the test says. Thread: any may ask.
 */
#ifndef ROSBRIDGE_SERVER_H
#define ROSBRIDGE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct rosbridge_server;

struct rosbridge_server_how {   /* zeros: a server as it should be */
	const char *greeting;   /* these bytes instead of a handshake */
	bool deaf;              /* no answer to the handshake */
	bool keeps_open;        /* a close frame has no answer, and pings neither */
	bool auth;              /* the first operation must be "auth" */
	bool python;            /* NaN and 1e999 are numbers, as Python's json has them; they read as null */
	const char *cert, *key; /* PEM: TLS */
};

/* port 0: one that is free. how NULL: zeros; kept. NULL: it cannot listen. */
struct rosbridge_server *rosbridge_server_create(unsigned port, const struct rosbridge_server_how *how);
void rosbridge_server_destroy(struct rosbridge_server *s);

unsigned rosbridge_server_port(const struct rosbridge_server *s);
/* Clients so far, handshakes done so far, and whether one is being served. */
unsigned rosbridge_server_connections(struct rosbridge_server *s);
unsigned rosbridge_server_greeted(struct rosbridge_server *s);
bool rosbridge_server_connected(struct rosbridge_server *s);

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
