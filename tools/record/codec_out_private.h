/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the encoders: each has a function that opens a channel, and sets a function that encodes. */
#ifndef CODEC_OUT_PRIVATE_H
#define CODEC_OUT_PRIVATE_H

#include "codec.h"
#include "codec_apollo.h"
#include "codec_out.h"

#include "convert/apollo.h"
#include "convert/conversion.h"
#include "convert/pb_type.h"
#include "convert/proto_file.h"
#include "ros/ros_generic.h"
#include "ros/ros_text.h"

#define CODEC_OUT_PAIRS 5

struct codec_out {
	enum codec_kind kind;
	const struct sim_type *type;
	/* Resets out and encodes m into it. why: a reason beyond the errno, or "". */
	int (*encode)(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why,
		      size_t why_size);
	const char *header;         /* native, packed and JSON: name of the header field */
	struct ros_text *made;      /* native: the schema */
	struct conversion_out conv; /* ROS, and new types in Cyber RT's encoding */
	const struct codec_apollo *of_apollo;
	const struct apollo_type *apollo; /* Apollo */
	struct pb_type *defined;          /* protobuf with the definition that the type carries; NULL */
	struct iov_buf plain;             /* packed: the message before packing; Apollo: the schema */
	struct log_channel channel;
	struct log_pair pairs[CODEC_OUT_PAIRS];
	char *definition;  /* of a type that simd does not have; from malloc() */
	char *json_schema; /* JSON; free with mem_free() */
	char hash[17];
	char name[SIM_CHANNEL_MAX + 1];
	char schema[PROTO_NAME_MAX + 1];
};

int codec_out_no_memory(char *why, size_t why_size);
void codec_out_pair(struct codec_out *c, const char *key, const char *value);
bool codec_out_is_static(const char *channel); /* tf_static */
struct map_message codec_out_message(const struct sim_message *m);

/* Each sets encode and the channel, or fails with the reason in why. */
int codec_out_open_native(struct codec_out *c, char *why, size_t why_size);
int codec_out_open_packed(struct codec_out *c, char *why, size_t why_size);
int codec_out_open_ros(struct codec_out *c, char *why, size_t why_size);
int codec_out_open_apollo(struct codec_out *c, char *why, size_t why_size);
int codec_out_open_json(struct codec_out *c, char *why, size_t why_size);

/* Puts the type into the channel's metadata, so that it can be read back. */
int codec_out_say_type(struct codec_out *c, char *why, size_t why_size);

/* Encodes as native; also used by packed. */
int codec_out_encode_native(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why,
			    size_t why_size);

#endif
