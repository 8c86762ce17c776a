/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes logs of Cyber RT, .record or protobuf in MCAP: Apollo's messages; simd's own types as written by the bridge
 * `cyber` and codec_out, field by field; all others as types of the definitions in the file; and Apollo's older
 * messages in a .bag. See codec.h.
 */
#include "codec_in_private.h"

#include "convert/apollo_ros.h"
#include "convert/pb_proto.h"

#include "channels.h"
#include "mem.h"
#include "proto_desc.h"

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

/* Turns "sim_msgs.LaneLines" into "sim_msgs/LaneLines". 0 or -EINVAL. */
static int ros_name(const char *name, char ret[2 * SIM_TYPE_NAME_MAX])
{
	int n = snprintf(ret, 2 * SIM_TYPE_NAME_MAX, "%s", name);
	char *dot = strrchr(ret, '.');

	if (n >= 2 * SIM_TYPE_NAME_MAX || !dot || strchr(ret, '/'))
		return -EINVAL;
	*dot = '/';
	return 0;
}

/*
 * Whether the definition in the file, a set or a tree of descriptors, contains that of simd's type. A file without
 * definition is trusted.
 */
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

static int make_reader(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	c->pb = mem_alloc(sizeof(*c->pb));
	if (!c->pb)
		return codec_in_fail(-ENOMEM, why, why_size, ch, "no memory");
	dec_pb_init(c->pb);
	return 0;
}

/* -ENOENT: not a type of simd's. */
static int open_own(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	char name[2 * SIM_TYPE_NAME_MAX], text[300];
	int r = ros_name(ch->schema_name, name);

	if (r == 0)
		r = conversion_in_open(NULL, ros2_types, name, NULL, &c->conv, text, sizeof(text));
	if (r == -ENOMEM)
		return codec_in_fail(r, why, why_size, ch, "no memory");
	if (r < 0 || c->conv.map_in)
		return -ENOENT;
	if (!has_descriptor(ch, c->conv.type))
		return codec_in_fail(-ENOTSUP, why, why_size, ch,
				     "its definition in the file is another one than here");
	c->type = sim_type_ref(c->conv.sim);
	c->decode = decode_own;
	return make_reader(c, ch, why, why_size);
}

/* ---- by the definition in the file ---- */

static int decode_defined(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	int r = pb_type_decode(c->defined, c->pb, m->data, m->size, ret);

	if (r == 0 && ret->unknown && !c->n_unknown++)
		c->unknown = ret->unknown;
	return r;
}

/* The definitions as a set, converted if a .record has a tree. Borrows from room. */
static struct log_bytes set_of(const struct log_channel *ch, struct iov_buf *room)
{
	struct iovec iov[IOV_BUF_PIECES];

	if (strcmp(ch->schema_encoding, "apollo") != 0)
		return ch->schema;
	if (proto_desc_to_set(ch->schema.data, ch->schema.size, room) < 0 || iov_buf_iov(room, iov) != 1)
		return (struct log_bytes){ NULL, 0 };
	return (struct log_bytes){ iov[0].iov_base, iov[0].iov_len };
}

static int open_defined(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	char text[400], sentence[500];
	struct log_bytes set;
	struct iov_buf room;
	int r;

	if (!ch->schema.size)
		return codec_in_fail(-ENOTSUP, why, why_size, ch,
				     "the file has no definition of this message, and simd does not know it");
	iov_buf_init(&room);
	set = set_of(ch, &room);
	r = pb_type_create(set.data, set.size, ch->schema_name, &c->defined, text, sizeof(text));
	iov_buf_finish(&room);
	if (r < 0) {
		snprintf(sentence, sizeof(sentence), "no type can be made of its definition: %s", text);
		return codec_in_fail(r == -ENOMEM ? r : -ENOTSUP, why, why_size, ch, sentence);
	}
	c->type = sim_type_ref(pb_type_sim(c->defined));
	c->decode = decode_defined;
	return make_reader(c, ch, why, why_size);
}

int codec_in_open_apollo(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	c->apollo = apollo_in_find(apollo_release_of(ch->schema.data, ch->schema.size), ch->schema_name);
	if (!c->apollo) {
		int r = open_own(c, ch, why, why_size);

		return r == -ENOENT ? open_defined(c, ch, why, why_size) : r;
	}
	c->type = apollo_type_sim(c->apollo);
	c->decode = decode_apollo;
	return 0;
}

/* ---- Apollo before Cyber RT ---- */

static int decode_apollo_ros(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	struct log_message message = *m;
	const void *data;
	int r = apollo_ros_message(m->data, m->size, &data, &message.size);

	message.data = data;
	return r < 0 ? r : decode_apollo(c, &message, ret);
}

static int decode_defined_ros(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	struct log_message message = *m;
	const void *data;
	int r = apollo_ros_message(m->data, m->size, &data, &message.size);

	message.data = data;
	return r < 0 ? r : decode_defined(c, &message, ret);
}

/* Uses Apollo 5's definition of the message of that name, as the file has none. */
static int open_defined_here(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	char text[400];
	int r = apollo_ros_defined(ch->schema_name, ch->topic, &c->defined, text, sizeof(text));

	if (r < 0)
		return codec_in_fail(r, why, why_size, ch, text);
	c->type = sim_type_ref(pb_type_sim(c->defined));
	c->decode = decode_defined_ros;
	return make_reader(c, ch, why, why_size);
}

int codec_in_open_apollo_ros(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	c->apollo = apollo_ros_find(ch->schema_name, ch->topic, NULL);
	if (!c->apollo)
		return open_defined_here(c, ch, why, why_size);
	c->type = apollo_type_sim(c->apollo);
	c->decode = decode_apollo_ros;
	return 0;
}
