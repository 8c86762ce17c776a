/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the decoders: each has a function that opens a channel, and sets a function that decodes. */
#ifndef CODEC_IN_PRIVATE_H
#define CODEC_IN_PRIVATE_H

#include "codec.h"

#include "convert/apollo_in.h"
#include "convert/conversion.h"
#include "convert/dec_pb.h"
#include "convert/pb_type.h"

struct codec_in {
	const struct sim_type *type; /* a reference is held */
	int (*decode)(struct codec_in *c, const struct log_message *m, struct message_in *ret);
	bool is_static; /* sim/Transforms of a channel called tf_static */
	bool whole;     /* the encoding has all fields of the type, so is_static is in the message */
	/* ROS, and new types in Cyber RT's encoding */
	struct conversion_in conv;
	enum wire_format format;
	struct codec_json *json; /* JSON */
	/* Apollo */
	const struct apollo_type *apollo;
	struct dec_pb *pb;
	struct pb_type *defined; /* protobuf with the file's definition; NULL */
	uint64_t n_unknown;      /* messages with fields that the definition lacks */
	uint32_t unknown;        /* the first such field */
	char note[120];
	/* packed: the unpacked message */
	uint8_t *plain;
	size_t plain_room;
};

/* Writes "channel (type): text" into why; returns r. */
int codec_in_fail(int r, char *why, size_t why_size, const struct log_channel *ch, const char *text);

/* Each sets type and decode, or fails with the reason in why. */
int codec_in_open_ros(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size);
int codec_in_open_apollo(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size);
int codec_in_open_json(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size);
void codec_in_json_destroy(struct codec_json *j); /* NULL-safe */
/* As codec_in_note(). */
const char *codec_in_json_note(struct codec_json *j);

/* Finds the type by the channel's metadata, as for native. */
int codec_in_open_type(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size);
/* Apollo's messages from before Cyber RT, in logs of ROS 1. */
int codec_in_open_apollo_ros(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size);

#endif
