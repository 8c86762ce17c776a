/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type of ours for a message of protobuf that has no mapping, made of its definition, a FileDescriptorSet; and such messages as bodies of it, both
 * ways, byte for byte as protobuf's own code writes them:
 *
 *   apollo.routing.RoutingRequest       apollo_routing/RoutingRequest; one nested in it apollo_routing/RoutingRequest_Name
 *   bool, double, float, string         the same
 *   int32, sint32, sfixed32, enum; ...  int32, int64, uint32, uint64; values of enums are constants of the message that has the field
 *   bytes                               uint8[]
 *   a message                           the type that it is, T[<=1]: empty where it is not there
 *   repeated, a map                     T[]; entries of a map are messages of `key` and `value`; of bytes string[], which holds any
 *   optional, required, one of several  the field itself; `present`, the first field, says which are there: bit 0 of its first word is the
 *                                       first such field. What is not there reads as its default, and is not sent
 *   a message within itself, or deeper  uint8[], or string[] where it is repeated: its bytes as they are
 *   than our types may nest
 *   groups, extensions                  left out
 *
 * Fields stand in the order of their numbers. The definition travels with the type: behind the first line of its comment,
 * "protobuf apollo.routing.RoutingRequest", in the bytes that it came in, by zlib and as base64. So whoever gets the type can write the message.
 *
 * Nothing of a definition or of a message is trusted. Thread: a type is constant once it is made: any.
 */
#ifndef PB_TYPE_H
#define PB_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include <sim/message.h>

#include "dec_pb.h"
#include "iov_buf.h"
#include "message_in.h"

struct pb_type;

/*
 * set: a FileDescriptorSet, of which what the message needs is kept; borrows nothing. name: "apollo.routing.RoutingRequest". returns it:
 * pb_type_destroy(). Errors, with a sentence: -ENOENT the definition has no such message, -ENOTSUP no type of ours can be made of it,
 * -EBADMSG it is damaged, -ENOMEM.
 */
int pb_type_create(const void *set, size_t size, const char *name, struct pb_type **ret, char *why, size_t why_size);
/* The same of a type that pb_type_create() has made, here or elsewhere. Errors also: -ENOENT, without a sentence: it is another one. */
int pb_type_of_sim(const struct sim_type *type, struct pb_type **ret, char *why, size_t why_size);
void pb_type_destroy(struct pb_type *t); /* NULL is fine */

/* While t is there: */
const struct sim_type *pb_type_sim(const struct pb_type *t); /* counted: sim_type_ref() to keep it */
const char *pb_type_name(const struct pb_type *t);           /* "apollo.routing.RoutingRequest" */
/* The FileDescriptorSet of the files that it needs, each as it came in, in that order. */
const void *pb_type_set(const struct pb_type *t, size_t *ret_size);
/* What is left out of its messages, or carried as bytes, as a sentence; NULL: nothing. */
const char *pb_type_loss(const struct pb_type *t);

/*
 * Read a message into to->buf, which is aligned to 64. Stamp and frame are those of its header, where that is an apollo.common.Header that has them.
 * d is the caller's (dec_pb_init()). 0; -ENOBUFS, -EBADMSG, -E2BIG, -EMSGSIZE, -ENOMEM.
 */
int pb_type_decode(const struct pb_type *t, struct dec_pb *d, const void *data, size_t len, struct message_in *to);
/* Append a body as its message; what it refers to is borrowed (iov_buf.h). 0, -EBADMSG the body does not hold together, -E2BIG, -ENOMEM. */
int pb_type_encode(const struct pb_type *t, const void *body, size_t size, struct iov_buf *out);

#endif
