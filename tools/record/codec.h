/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From channels of a log to channels of simd: decodes messages of an encoding into bodies of simd's types. Thread: one
 * codec may be used by one thread at a time.
 */
#ifndef CODEC_H
#define CODEC_H

#include <sim/message.h>

#include "convert/message_in.h"
#include "log.h"

#define CODEC_PACKED_ENCODING "simd_packed" /* message_encoding of `packed` */

/*
 * Name of the field for stamp and frame that `native` and `json` put before a type's own fields, chosen so that the
 * type has no such field.
 */
const char *codec_header_of(const struct sim_type *t);

struct codec_in; /* decoder of one channel of a log */
/*
 * Creates the decoder for a channel. Its type depends on the encoding: `native` and `packed`: the type in the channel's
 * metadata. "cdr" and "ros1": the type that the ROS type is mapped to, else a new type with the fields of the
 * definition in the file. "protobuf": by the names of Apollo's messages; sim_msgs as codec_out writes them; else a new
 * type of the definition in the file. "json": the type in the metadata, a known type of that name, or a new type of its
 * JSON Schema. A definition that differs from the known type's is refused, as its bytes would be misread. -ENOTSUP: no
 * type of simd's fits, with the channel, the type and the reason in why; -ENOMEM. Keeps no pointer to ch.
 */
int codec_in_create(const struct log_channel *ch, struct codec_in **ret, char *why, size_t why_size);
void codec_in_destroy(struct codec_in *c);                      /* NULL-safe */
const struct sim_type *codec_in_type(const struct codec_in *c); /* valid as long as c */
/* Describes what its messages lose or carry as raw bytes; NULL: nothing, as far as known. */
const char *codec_in_loss(const struct codec_in *c);
bool codec_in_is_static(
	const struct codec_in *c); /* transforms of a channel called tf_static, each valid until the next one */
/*
 * Decodes into ret->buf, which is aligned to 64. 0; 1: the message has nothing for that type. Errors: -ENOBUFS: call
 * again with more room; -EBADMSG and others: malformed. The stamp is that of the message's header, else the log's
 * publish time.
 */
int codec_in_decode(struct codec_in *c, const struct log_message *m, struct message_in *ret);

/*
 * simd's type for a message of ROS ("sensor_msgs/msg/Imu", "sensor_msgs/Imu") or Apollo ("apollo.drivers.Image"); NULL:
 * not mapped.
 */
const char *codec_type_of_foreign(const char *name);
/*
 * For a ROS message that codec_type_of_foreign() does not know: a new type with its fields, by the definition in
 * schemas/ros. Returns a reference in *ret: sim_type_unref(). Errors: -ENOENT: unknown in schemas/ros too; with the
 * reason in why: -ENOTSUP it has no equivalent type, -ENOMEM.
 */
int codec_type_of_ros(const char *name, const struct sim_type **ret, char *why, size_t why_size);
/* The ROS message of a type of simd's by default: "sensor_msgs/Imu"; NULL: one with its own fields. */
const char *codec_ros_of_type(const char *name);

/*
 * Describes what decoded messages have had that was left out: JSON fields without a type, or that the type does not
 * have; protobuf fields that the definition does not have. Without the channel's name. NULL: nothing. Borrowed from c
 * until the next call.
 */
const char *codec_in_note(struct codec_in *c);

/* A buffer for bodies that grows as needed. Zeroed: empty. */
struct codec_room {
	void *data;
	size_t size;
};
/*
 * Decodes into such a buffer; the result is valid until its next use. Further errors: -EMSGSIZE: the body is longer
 * than any message of that size can need; -ENOMEM.
 */
int codec_in_decode_room(struct codec_in *c, const struct log_message *m, struct codec_room *room,
			 struct message_in *ret);
void codec_room_finish(struct codec_room *room);
/* The meaning of a result other than 0: "it is malformed". */
const char *codec_in_reason(int r);

#endif
