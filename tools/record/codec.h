/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between channels of simd and channels of a log: bytes of an encoding become a message of ours.
 * Thread: one codec is one thread's at a time.
 */
#ifndef CODEC_H
#define CODEC_H

#include <sim/message.h>

#include "convert/message_in.h"
#include "log.h"

#define CODEC_PACKED_ENCODING "simd_packed" /* message_encoding of `packed` */

/* What the header of stamp and frame is called that `native` and `json` put in front of the fields of a type: one that it does not have. */
const char *codec_header_of(const struct sim_type *t);

struct codec_in; /* one channel of a log on its way into simd */
/*
 * By encoding: `native` and `packed` by the type in the channel's metadata; "cdr" and "ros1" by the mapping of their type, else as a type
 * of one's own with the fields of the definition in the file; "protobuf" by Apollo's names, as codec_out writes types of ours without one, else
 * as a type of its definition in the file; "json" by the same metadata, by the name of a type that is known, or by its JSON Schema. A definition
 * that differs from that of the type known here is refused: its bytes would be misread.
 * -ENOTSUP: nothing of ours is made of it, with a sentence that names channel and type; -ENOMEM. Keeps nothing of ch.
 */
int codec_in_create(const struct log_channel *ch, struct codec_in **ret, char *why, size_t why_size);
void codec_in_destroy(struct codec_in *c);                      /* NULL is fine */
const struct sim_type *codec_in_type(const struct codec_in *c); /* while c is there */
/* What of its messages is left out or carried as bytes, as a sentence; NULL: nothing is known to be. */
const char *codec_in_loss(const struct codec_in *c);
bool codec_in_is_static(
	const struct codec_in *c); /* transforms of a channel called tf_static: each holds until the next one */
/*
 * 0; 1: the message says nothing of that type. Errors: -ENOBUFS: call again with more room; -EBADMSG and what else a malformed message
 * is. Stamp: of the message's header, else the log's publish time. Straight into ret->buf, which is aligned to 64.
 */
int codec_in_decode(struct codec_in *c, const struct log_message *m, struct message_in *ret);

/* The type of ours that a message of ROS ("sensor_msgs/msg/Imu", "sensor_msgs/Imu") or of Apollo ("apollo.drivers.Image") is; NULL: none. */
const char *codec_type_of_foreign(const char *name);
/*
 * The type that a message of ROS is where codec_type_of_foreign() has none: one with its fields. returns a counted type: sim_type_unref().
 * Errors: -ENOENT it is not in schemas/ros either; with a sentence: -ENOTSUP there is no such type of ours, -ENOMEM.
 */
int codec_type_of_ros(const char *name, const struct sim_type **ret, char *why, size_t why_size);
/* What a type of ours becomes in ROS, where nothing else is asked for: "sensor_msgs/Imu"; NULL: a message of its own. */
const char *codec_ros_of_type(const char *name);

/*
 * What of the channel does not come over although it is read, as a sentence without its name: fields of JSON for which there is no type, or that the
 * type does not have, fields of protobuf that the definition does not have, as far as messages were decoded. NULL: nothing. Borrows from c, until the next call.
 */
const char *codec_in_note(struct codec_in *c);

/* Room for bodies that grows with them. Zeros: none yet. */
struct codec_room {
	void *data;
	size_t size;
};
/* The same into such a room, valid until its next use. Errors also: -EMSGSIZE the body needs more than any of so few bytes; -ENOMEM. */
int codec_in_decode_room(struct codec_in *c, const struct log_message *m, struct codec_room *room,
			 struct message_in *ret);
void codec_room_finish(struct codec_room *room);
/* What a result other than 0 means: "it is malformed". */
const char *codec_in_reason(int r);

#endif
