/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From logs of Cyber RT into simd, .record or protobuf in MCAP: Apollo's messages, and simd's own types as the bridge `cyber` and codec_out
 * write them, field by field. See codec.h.
 */
#include "codec_in_private.h"

#include "convert/pb_proto.h"

#include "channels.h"
#include "mem.h"

#include <sim/introspect.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int decode_apollo(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	const struct apollo_options o = { .is_static = c->is_static };
	char why[1];

	return apollo_in_read(c->apollo, &o, m->data, m->size, ret, why, 0);
}

/* ---- field by field ---- */

static int decode_own(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	int r;

	dec_pb_begin(c->pb, m->data, m->size);
	r = conversion_in_take(&c->conv, &c->pb->dec, ret);
	return r;
}

/* "sim_msgs/LaneLines" of "sim_msgs.LaneLines". 0 or -EINVAL. */
static int ros_name(const char *name, char ret[2 * SIM_TYPE_NAME_MAX])
{
	int n = snprintf(ret, 2 * SIM_TYPE_NAME_MAX, "%s", name);
	char *dot = strrchr(ret, '.');

	if (n >= 2 * SIM_TYPE_NAME_MAX || !dot || strchr(ret, '/'))
		return -EINVAL;
	*dot = '/';
	return 0;
}

/* Whether the definition of the file, a set or a tree of descriptors, has that of our type in it. Without any it is believed. */
static bool has_descriptor(const struct log_channel *ch, const struct ros_type *t)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf file;
	bool found = !ch->schema.size;

	iov_buf_init(&file);
	if (!found && pb_proto_descriptor(t, &file) == 0 && iov_buf_iov(&file, iov) == 1)
		found = memmem(ch->schema.data, ch->schema.size, iov[0].iov_base, iov[0].iov_len);
	iov_buf_finish(&file);
	return found;
}

static int open_own(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	char name[2 * SIM_TYPE_NAME_MAX], text[300];
	int r = ros_name(ch->schema_name, name);

	if (r == 0)
		r = conversion_in_open(NULL, ros2_types, name, NULL, &c->conv, text, sizeof(text));
	if (r == -ENOMEM)
		return codec_in_fail(r, why, why_size, ch, "no memory");
	if (r < 0 || c->conv.map_in)
		return codec_in_fail(-ENOTSUP, why, why_size, ch, "nothing of simd's is made of this message");
	if (!has_descriptor(ch, c->conv.type))
		return codec_in_fail(-ENOTSUP, why, why_size, ch,
				     "its definition in the file is another one than here");
	c->pb = mem_alloc(sizeof(*c->pb));
	if (!c->pb)
		return codec_in_fail(-ENOMEM, why, why_size, ch, "no memory");
	dec_pb_init(c->pb);
	c->type = sim_type_ref(c->conv.sim);
	c->decode = decode_own;
	return 0;
}

int codec_in_open_apollo(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	c->apollo = apollo_in_find(apollo_release_of(ch->schema.data, ch->schema.size), ch->schema_name);
	if (!c->apollo)
		return open_own(c, ch, why, why_size);
	c->type = apollo_type_sim(c->apollo);
	c->decode = decode_apollo;
	return 0;
}
