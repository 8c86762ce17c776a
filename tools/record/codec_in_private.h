/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways into simd share: one opens, and then decodes. */
#ifndef CODEC_IN_PRIVATE_H
#define CODEC_IN_PRIVATE_H

#include "codec.h"

#include "convert/apollo_in.h"
#include "convert/conversion.h"
#include "convert/dec_pb.h"
#include "convert/pb_type.h"

struct codec_in {
	const struct sim_type *type; /* referenced */
	int (*decode)(struct codec_in *c, const struct log_message *m, struct message_in *ret);
	bool is_static; /* sim/Transforms of a channel called tf_static */
	bool whole;     /* the encoding has all of the type, so is_static stands in the message */
	/* of ROS, and of one's own types of Cyber RT */
	struct conversion_in conv;
	enum wire_format format;
	struct codec_json *json; /* of JSON */
	/* of Apollo */
	const struct apollo_type *apollo;
	struct dec_pb *pb;
	struct pb_type *defined; /* of protobuf, by the definition in the file; NULL */
	uint64_t n_unknown;      /* messages with fields that it lacks, */
	uint32_t unknown;        /* and the first such field */
	char note[120];
	/* packed: the message as it was */
	uint8_t *plain;
	size_t plain_room;
};

/* Writes "channel (type): text" and returns r. */
int codec_in_fail(int r, char *why, size_t why_size, const struct log_channel *ch, const char *text);

/* They set type and decode, or fail with a sentence. */
int codec_in_open_ros(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size);
int codec_in_open_apollo(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size);
int codec_in_open_json(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size);
void codec_in_json_destroy(struct codec_json *j); /* NULL is fine */
/* As codec_in_note(). */
const char *codec_in_json_note(struct codec_json *j);

/* The type by the channel's metadata, as native has it. */
int codec_in_open_type(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size);
/* Apollo's before Cyber RT, in logs of ROS 1. */
int codec_in_open_apollo_ros(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size);

#endif
