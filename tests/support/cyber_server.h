/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apollo's cyber_bridge as the tests play it, from what the real one was seen to do: a thread that serves clients on a port of loopback. It
 * answers nothing and fails silently where the real one does, but keeps the first thing that went wrong in `fault`. Thread: any may ask.
 *
 * Types: what was registered file by file, dependencies first, and what is linked in (apollo.cyber.proto.*). A writer of an unknown type is
 * none, and held against its client but on channels below /simd/knows/, which ask; a channel that has one takes any type. Who subscribes gets the newest message of what came in at once, from others and from itself.
 * What a client does not read waits for it, up to a cap; then frames are dropped. Another op than its own closes the connection.
 */
#ifndef CYBER_SERVER_H
#define CYBER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cyber_server;

struct cyber_server_how {     /* zeros: a cyber_bridge as it is */
	const char *greeting; /* sends these bytes to whoever connects */
	size_t greeting_len;  /* 0: a text */
	size_t pending_max;   /* bytes that wait for a client that does not read; 0: 1 GiB */
	size_t close_after;   /* hangs up when a client has sent so many bytes; 0: never */
	bool sums;            /* of what is published */
	const char *mute;     /* who subscribes gets nothing of this channel, "*": of any; borrows */
	bool no_types;        /* knows no type but those that are linked in, whatever is registered */
};

/* port 0: one that is free. how NULL: zeros. NULL: it cannot listen. */
struct cyber_server *cyber_server_create(unsigned port, const struct cyber_server_how *how);
void cyber_server_destroy(struct cyber_server *s);
void cyber_server_set(struct cyber_server *s, const struct cyber_server_how *how); /* for who connects from now on */

unsigned cyber_server_port(const struct cyber_server *s);
/* Clients so far, and how many there are now. */
unsigned cyber_server_connections(struct cyber_server *s);
unsigned cyber_server_clients(struct cyber_server *s);
/* Whether there is a writer of that channel, of that type (NULL: any); whether somebody subscribes to it. */
bool cyber_server_writer(struct cyber_server *s, const char *channel, const char *type);
bool cyber_server_reader(struct cyber_server *s, const char *channel);
/* A FileDescriptorSet that a running Apollo has: no client has registered it. */
void cyber_server_know(struct cyber_server *s, const void *set, size_t n);
/* Files that clients have registered so far. */
unsigned cyber_server_registered(struct cyber_server *s);
/* Whether a file of descriptors is known. */
bool cyber_server_file(struct cyber_server *s, const char *name);
/* The FileDescriptorProto of one into data: its length, 0 where there is none or no room. */
size_t cyber_server_descriptor(struct cyber_server *s, const char *name, uint8_t *data, size_t room);
/* Messages of a channel that its writer took, and that had none, of all clients; the newest into data: its length, SIZE_MAX where there is none or no room. */
uint64_t cyber_server_count(struct cyber_server *s, const char *channel);
uint64_t cyber_server_refused(struct cyber_server *s, const char *channel);
size_t cyber_server_last(struct cyber_server *s, const char *channel, uint8_t *data, size_t room);
/* Frames that were sent to clients: to who subscribes; and dropped, since a client does not read. */
uint64_t cyber_server_echoed(struct cyber_server *s);
uint64_t cyber_server_dropped(struct cyber_server *s);
/* The first thing that went wrong; "": nothing. Forgotten. */
const char *cyber_server_fault(struct cyber_server *s);
void cyber_server_forgive(struct cyber_server *s);

struct cyber_server_channel {
	char name[256], type[256];
	bool writer, reader;
	uint64_t count, refused, bytes;
	uint64_t sum;                        /* with `sums`: of all messages, in their order */
	int64_t first_mono_ns, last_mono_ns; /* of messages */
};
/* The i-th channel, without those that ask. False: there is none. */
bool cyber_server_channel(struct cyber_server *s, unsigned i, struct cyber_server_channel *ret);

/* ---- what it does ---- */

/* A message of Apollo's on a channel, to who subscribes; whether somebody does. */
bool cyber_server_publish(struct cyber_server *s, const char *channel, const void *message, uint32_t len);
void cyber_server_send(struct cyber_server *s, const void *data, size_t n); /* to all, as it is */
void cyber_server_hold(struct cyber_server *s, bool on);                    /* reads nothing meanwhile */
void cyber_server_drop(struct cyber_server *s);                             /* resets all connections */

#endif
