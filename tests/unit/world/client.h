/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of a world in memory, or by TCP, written from schemas/wire/world.md with protobuf-c: it sends Hello, objects
 * and Done, and stores the frames that it gets. Thread: the test's.
 */
#ifndef WORLD_TEST_CLIENT_H
#define WORLD_TEST_CLIENT_H

#include "tools/world/world.h"
#include "wire/world.pb-c.h"
#include "world/frame.h"

#define CLIENT_SECTIONS 256u

struct client {
	struct session *s; /* NULL: not connected */
	int fd;            /* or by TCP: a socket that blocks; 0: not */
	struct frame_reader in;
	struct section *sections[CLIENT_SECTIONS];
	unsigned n_sections;
	uint32_t connection;
	uint64_t tick; /* of the newest heartbeat */
	int64_t time_sim_ns, step_dur_ns, sent_mono_ns;
	Sim__World__Role role; /* of the newest heartbeat */
	uint32_t pace, waited_for;
	int32_t advice;
	bool welcome, again, bye;
	Sim__World__Role welcome_role; /* and below: of Welcome */
	uint32_t objects_max;
	unsigned n_types;
	uint32_t type_code; /* of the first one */
	char type_name[64], type_proto[256];
	unsigned last_code; /* of the newest frame */
	int reason;         /* of Bye */
	char sentence[256];
	unsigned n_gone, n_notes, n_stale, n_leaves;
	uint64_t last_gone, last_note_from;
	struct {
		unsigned code; /* 38 or 39; 0: none */
		uint64_t id;
		uint32_t connection;
		bool refused;
	} ownership;
};

struct client_options {
	const char *name;
	Sim__World__Role role;
	uint16_t identity; /* eight times */
	const char *token;
	int64_t lookahead_ns;
	uint32_t level;
	double radius;
	uint8_t own_code; /* the code of its own type; 0: none */
};

void client_connect(struct client *c, struct world *w, const struct client_options *o, int64_t now_mono_ns);
/* certificate: its name, that it has shown; "": none. */
void client_connect_as(struct client *c, struct world *w, const char *certificate, const struct client_options *o,
		       int64_t now_mono_ns);
/* By TCP: takes fd. Returns when it has a Welcome or a Bye. */
void client_connect_fd(struct client *c, int fd, const struct client_options *o);
/* Until something of a kind has come, or the connection is closed: false. code: of its frame. */
bool client_await(struct client *c, unsigned code);
/* Loses its connection, and all that it knew. */
void client_lose(struct client *c, int64_t now_mono_ns);
void client_send(struct client *c, unsigned code, const ProtobufCMessage *m, int64_t now_mono_ns);
void client_send_bytes(struct client *c, const void *data, size_t len, int64_t now_mono_ns);
/* An object of its own, in generation 0: where it is at its newest time and one step. */
void client_object(struct client *c, uint32_t number, double x, double y, int64_t now_mono_ns);
void client_done(struct client *c, int64_t now_mono_ns);
/* Takes what waits for it, up to max bytes; after Bye it is closed. True: a heartbeat was among it. */
bool client_receive(struct client *c, size_t max, int64_t now_mono_ns);
/* Over all objects that it sees, as a world's. */
uint64_t client_hash(const struct client *c);
unsigned client_count(const struct client *c);
const struct object_state *client_find(const struct client *c, uint64_t id);

#endif
