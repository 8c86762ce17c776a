/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type of ours for a protobuf message without a mapping, made from its definition, a FileDescriptorSet; and the
 * conversion of such messages to bodies of it and back, byte for byte as protobuf's own code writes them:
 *
 *   apollo.routing.RoutingRequest       apollo_routing/RoutingRequest; one nested in it apollo_routing/RoutingRequest_Name
 *   bool, double, float, string         the same
 *   int32, sint32, sfixed32, enum; ...  int32, int64, uint32, uint64; values of enums are constants of the message that has the field
 *   bytes                               uint8[]
 *   a message                           its own type, T[<=1]: empty if the message is absent
 *   repeated, a map                     T[]; entries of a map are messages of `key` and `value`; of bytes string[], which holds any
 *   optional, required, oneof           the field itself; `present`, the first field, has a bit for each such field,
 *                                       from bit 0 of its first word on. An absent field reads as its default, and is
 *                                       not sent
 *   a message within itself, or nested  uint8[], or string[] if it is repeated: its bytes, unchanged
 *   deeper than our types may be
 *   groups, extensions                  left out
 *
 * Fields are sorted by number. The definition is part of the type: it follows the first line of its comment, "protobuf
 * apollo.routing.RoutingRequest", unchanged (or reduced, if it is too long), compressed by zlib, in base64. So any program
 * that has the type can write the message.
 *
 * Definitions and messages are untrusted. Thread: any; a type is constant once it is made.
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
 * Makes the type. set: a FileDescriptorSet, of which the needed part is copied. name: "apollo.routing.RoutingRequest".
 * Free with pb_type_destroy(). Errors, with a reason: -ENOENT the definition does not have that message, -ENOTSUP it
 * cannot become a type of ours, -EBADMSG it is malformed, -ENOMEM.
 */
int pb_type_create(const void *set, size_t size, const char *name, struct pb_type **ret, char *why, size_t why_size);
/*
 * The same from a type that pb_type_create() has made, in this process or another. Errors also: -ENOENT, without a
 * reason: it is not such a type.
 */
int pb_type_of_sim(const struct sim_type *type, struct pb_type **ret, char *why, size_t why_size);
void pb_type_destroy(struct pb_type *t); /* t may be NULL */

/* Valid as long as t: */
const struct sim_type *pb_type_sim(const struct pb_type *t); /* call sim_type_ref() to keep it */
const char *pb_type_name(const struct pb_type *t);           /* "apollo.routing.RoutingRequest" */
/* The FileDescriptorSet of the needed files, in their original order; unchanged, or reduced by plain_file(). */
const void *pb_type_set(const struct pb_type *t, size_t *ret_size);
/* Text that lists what is left out of its messages, or carried as bytes; NULL: nothing. */
const char *pb_type_loss(const struct pb_type *t);

/*
 * Decodes a message into to->buf, which must be aligned to 64. Stamp and frame come from its header, if that is an
 * apollo.common.Header that has them. d belongs to the caller (dec_pb_init()). 0; -ENOBUFS, -EBADMSG, -E2BIG,
 * -EMSGSIZE, -ENOMEM.
 */
int pb_type_decode(const struct pb_type *t, struct dec_pb *d, const void *data, size_t len, struct message_in *to);
/*
 * Appends a body as its message; data that it references is borrowed (iov_buf.h). 0, -EBADMSG malformed body, -E2BIG,
 * -ENOMEM.
 */
int pb_type_encode(const struct pb_type *t, const void *body, size_t size, struct iov_buf *out);

#endif
