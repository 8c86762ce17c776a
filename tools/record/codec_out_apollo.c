/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes Apollo's messages of Cyber RT, for .record and for protobuf in MCAP, on Apollo's channels; types that were
 * made from a protobuf definition as that message; other types as a message with the same fields, as the bridge `cyber`
 * sends them. The schema is a FileDescriptorSet; a .record converts it to a ProtoDesc. See codec_out.h.
 */
#include "codec_out_private.h"

#include "convert/enc_pb.h"
#include "convert/pb_proto.h"
#include "proto_desc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- messages ---- */

static int encode_apollo(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why,
			 size_t why_size)
{
	const struct apollo_message in = { .body = m->body,
					   .size = m->body_size,
					   .stamp_sim_ns = m->header.stamp_sim_ns,
					   .sequence = (uint32_t)m->header.sequence,
					   .frame_id = m->header.frame_id };

	iov_buf_reset(out);
	return apollo_encode(c->apollo, &in, out, why, why_size);
}

static int encode_own(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why, size_t why_size)
{
	const struct map_message in = codec_out_message(m);
	struct enc_pb e;
	int r, end;

	iov_buf_reset(out);
	enc_pb_begin(&e, out);
	r = conversion_out_emit(&c->conv, &in, &e.enc, why, why_size);
	end = enc_pb_finish(&e);
	return r < 0 ? r : end;
}

static int encode_defined(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why,
			  size_t why_size)
{
	(void)why;
	(void)why_size;
	iov_buf_reset(out);
	return pb_type_encode(c->defined, m->body, m->body_size, out);
}

/* ---- channel ---- */

/* Joins the files into a FileDescriptorSet, in one piece. */
static int make_set(struct codec_out *c, const struct iovec *files, size_t n)
{
	struct iovec iov[IOV_BUF_PIECES];
	int r;

	iov_buf_reset(&c->plain);
	r = proto_desc_join(files, n, &c->plain);
	if (r < 0)
		return r;
	if (iov_buf_iov(&c->plain, iov) != 1)
		return -ENOMEM;
	c->channel.schema = (struct log_bytes){ iov[0].iov_base, iov[0].iov_len };
	return 0;
}

/* A type without a message of Apollo's: a message with its fields. */
static int open_own(struct codec_out *c, char *why, size_t why_size)
{
	static const struct sim_bridge_host no_converters;
	char name[ROS_GENERIC_NAME_MAX];
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf file;
	int r;

	ros_generic_name(c->type->name, name);
	r = conversion_out_open(&no_converters, ros2_types, c->type, name, &c->conv, why, why_size);
	if (r < 0)
		return r;
	c->encode = encode_own;
	iov_buf_init(&file);
	r = pb_proto_name(c->conv.type, c->schema, sizeof(c->schema));
	if (r == 0)
		r = pb_proto_descriptor(c->conv.type, &file);
	if (r == 0)
		r = make_set(c, iov, iov_buf_iov(&file, iov));
	iov_buf_finish(&file);
	if (r < 0)
		snprintf(why, why_size, "%s cannot be defined in protobuf: %s", c->type->name, strerror(-r));
	return r;
}

/* A type made from a protobuf definition: uses that definition. -ENOENT: not such a type. */
static int open_defined(struct codec_out *c, char *why, size_t why_size)
{
	int r = pb_type_of_sim(c->type, &c->defined, why, why_size);
	size_t size;

	if (r < 0)
		return r;
	c->encode = encode_defined;
	snprintf(c->schema, sizeof(c->schema), "%s", pb_type_name(c->defined));
	c->channel.schema.data = pb_type_set(c->defined, &size);
	c->channel.schema.size = size;
	return 0;
}

static int open_mapped(struct codec_out *c, char *why, size_t why_size)
{
	struct iovec files[APOLLO_FILES_MAX];
	const char *name = apollo_type_channel(c->apollo);
	size_t n = codec_apollo_files(c->of_apollo, c->apollo, files);
	int r;

	if (!sim_type_equal(apollo_type_sim(c->apollo), c->type)) {
		snprintf(why, why_size, "%s has another definition here than in the program that sends it",
			 c->type->name);
		return -ENOTSUP;
	}
	if (!n) {
		snprintf(why, why_size, "the definitions that are given have no %s", apollo_type_name(c->apollo));
		return -ENOTSUP;
	}
	c->encode = encode_apollo;
	if (name && strcmp(name, "/tf") == 0 && codec_out_is_static(c->name))
		name = "/tf_static";
	if (name)
		snprintf(c->name, sizeof(c->name), "%s", name);
	snprintf(c->schema, sizeof(c->schema), "%s", apollo_type_name(c->apollo));
	r = make_set(c, files, n);
	return r < 0 ? codec_out_no_memory(why, why_size) : 0;
}

int codec_out_open_apollo(struct codec_out *c, char *why, size_t why_size)
{
	int r;

	c->channel.message_encoding = "protobuf";
	c->channel.schema_encoding = "protobuf";
	c->apollo = apollo_type_for(c->of_apollo->release, c->type->name, NULL);
	if (c->apollo)
		return open_mapped(c, why, why_size);
	r = open_defined(c, why, why_size);
	return r == -ENOENT ? open_own(c, why, why_size) : r;
}
