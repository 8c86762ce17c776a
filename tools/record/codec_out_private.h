/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways into a log share: one opens, and then encodes. */
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
	/* Resets out and encodes m into it. why is "" or, where it knows more than the error, a sentence. */
	int (*encode)(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why,
		      size_t why_size);
	const char *header;         /* native, packed and JSON: the name of the field in front */
	struct ros_text *made;      /* native: the schema */
	struct conversion_out conv; /* of ROS, and of one's own types of Cyber RT */
	const struct codec_apollo *of_apollo;
	const struct apollo_type *apollo; /* of Apollo */
	struct pb_type *defined;          /* of protobuf, by the definition that its type carries; NULL */
	struct iov_buf plain;             /* packed: the message as it was; of Apollo: the schema */
	struct log_channel channel;
	struct log_pair pairs[CODEC_OUT_PAIRS];
	char *definition;  /* of one's own type; of malloc() */
	char *json_schema; /* of JSON; mem_free() */
	char hash[17];
	char name[SIM_CHANNEL_MAX + 1];
	char schema[PROTO_NAME_MAX + 1];
};

int codec_out_no_memory(char *why, size_t why_size);
void codec_out_pair(struct codec_out *c, const char *key, const char *value);
bool codec_out_is_static(const char *channel); /* tf_static */
struct map_message codec_out_message(const struct sim_message *m);

/* They set encode and the channel, or fail with a sentence. */
int codec_out_open_native(struct codec_out *c, char *why, size_t why_size);
int codec_out_open_packed(struct codec_out *c, char *why, size_t why_size);
int codec_out_open_ros(struct codec_out *c, char *why, size_t why_size);
int codec_out_open_apollo(struct codec_out *c, char *why, size_t why_size);
int codec_out_open_json(struct codec_out *c, char *why, size_t why_size);

/* Which type it is, in the channel's metadata, so that it is read back as that. */
int codec_out_say_type(struct codec_out *c, char *why, size_t why_size);

/* A message as native, for packed too. */
int codec_out_encode_native(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why,
			    size_t why_size);

#endif
