/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for Apollo's cyber_bridge, from the observed behaviour of the real one: a thread that serves clients on a
 * loopback port. It answers nothing and fails silently where the real one does, but keeps the first error in `fault`.
 * Thread: any may query it.
 *
 * Types: those registered file by file, dependencies first, and those linked in (apollo.cyber.proto.*). A writer of an
 * unknown type is not created, and that is a fault except on channels below /simd/knows/, which only ask; a channel
 * that has a writer takes any type. A subscriber gets the newest message of each batch that came in, from other clients
 * and from itself.
 * Frames that a client does not read are queued, up to a cap; then frames are dropped. An unknown op closes the
 * connection.
 */
#ifndef CYBER_SERVER_H
#define CYBER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cyber_server;

struct cyber_server_how {     /* all zero: behaves as the real cyber_bridge */
	const char *greeting; /* sends these bytes to each new client */
	size_t greeting_len;  /* 0: greeting is a string */
	size_t pending_max;   /* bytes queued for a client that does not read; 0: 1 GiB */
	size_t close_after;   /* closes the connection when a client has sent so many bytes; 0: never */
	bool sums;            /* keeps a checksum of published messages */
	const char *mute;     /* subscribers get nothing from this channel, "*": from any; borrows */
	bool no_types;        /* knows only the types that are linked in, whatever is registered */
};

/* port 0: any free one. how NULL: all zero. Returns NULL if it cannot listen. */
struct cyber_server *cyber_server_create(unsigned port, const struct cyber_server_how *how);
void cyber_server_destroy(struct cyber_server *s);
/* for clients that connect from now on */
void cyber_server_set(struct cyber_server *s, const struct cyber_server_how *how);

unsigned cyber_server_port(const struct cyber_server *s);
/* Number of clients so far, and connected now. */
unsigned cyber_server_connections(struct cyber_server *s);
unsigned cyber_server_clients(struct cyber_server *s);
/* Whether the channel has a writer, of that type (NULL: any); whether it has a subscriber. */
bool cyber_server_writer(struct cyber_server *s, const char *channel, const char *type);
bool cyber_server_reader(struct cyber_server *s, const char *channel);
/* Adds a FileDescriptorSet that a running Apollo has, without a client registering it. */
void cyber_server_know(struct cyber_server *s, const void *set, size_t n);
/* Number of files that clients have registered so far. */
unsigned cyber_server_registered(struct cyber_server *s);
/* Whether a file of descriptors is known. */
bool cyber_server_file(struct cyber_server *s, const char *name);
/* Copies a file's FileDescriptorProto into data and returns its length; 0: unknown, or too large for room. */
size_t cyber_server_descriptor(struct cyber_server *s, const char *name, uint8_t *data, size_t room);
/*
 * Number of a channel's messages that its writer took, and that came without a writer, from all clients; the newest is
 * copied into data: returns its length, SIZE_MAX if there is none or no room.
 */
uint64_t cyber_server_count(struct cyber_server *s, const char *channel);
uint64_t cyber_server_refused(struct cyber_server *s, const char *channel);
size_t cyber_server_last(struct cyber_server *s, const char *channel, uint8_t *data, size_t room);
/* Number of frames sent to subscribers; and dropped, since a client does not read. */
uint64_t cyber_server_echoed(struct cyber_server *s);
uint64_t cyber_server_dropped(struct cyber_server *s);
/* Returns the first error and clears it; "": none. */
const char *cyber_server_fault(struct cyber_server *s);
void cyber_server_forgive(struct cyber_server *s);

struct cyber_server_channel {
	char name[256], type[256];
	bool writer, reader;
	uint64_t count, refused, bytes;
	uint64_t sum;                        /* with `sums`: checksum over all messages, in order */
	int64_t first_mono_ns, last_mono_ns; /* arrival of messages */
};
/* The i-th channel, not counting those below /simd/knows/. False: there is none. */
bool cyber_server_channel(struct cyber_server *s, unsigned i, struct cyber_server_channel *ret);

/* ---- commands ---- */

/* Sends a message from Apollo's side to the channel's subscribers; whether there are any. */
bool cyber_server_publish(struct cyber_server *s, const char *channel, const void *message, uint32_t len);
void cyber_server_send(struct cyber_server *s, const void *data, size_t n); /* raw bytes to all clients */
void cyber_server_hold(struct cyber_server *s, bool on);                    /* stops reading from clients */
void cyber_server_drop(struct cyber_server *s);                             /* resets all connections */

#endif
