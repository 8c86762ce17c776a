/* SPDX-License-Identifier: Apache-2.0 */
/* Apollo's side in protobuf-c: it reads our bytes, and writes bytes of its own. A program links one family's code. */
#ifndef APOLLO_PEER_H
#define APOLLO_PEER_H

#include <protobuf-c/protobuf-c.h>

#include "apollo.h"

extern const enum apollo_release apollo_family; /* the program's */

struct apollo_body { /* a message of ours, in the making */
	_Alignas(64) uint8_t bytes[65536];
	struct sim_builder b;
};

/* NULL: the family has no code of it. */
const ProtobufCMessageDescriptor *apollo_peer_descriptor(const char *name);

/*
 * Encode, and let protobuf-c read it: fails where that finds a field it does not know, or would have written other bytes. Freed by
 * the next call.
 */
void *apollo_peer_read(const char *sim_type, const char *name, const struct apollo_message *in);
/* The same of a message that was started in body, with these options or none, of stamp_ns. */
void *apollo_peer_read_body(const struct apollo_body *body, const char *sim_type, const char *name, int64_t stamp_ns,
			    const struct apollo_options *o);

/* Packs m and decodes it as sim_type; returns the result of apollo_decode(). `why` has its error text. */
extern char apollo_peer_why[300];
int apollo_peer_decode(const ProtobufCMessage *m, const char *name, const char *sim_type, const struct apollo_limits *l,
		       struct apollo_body *ret);

#endif
