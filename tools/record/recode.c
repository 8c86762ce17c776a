/* SPDX-License-Identifier: Apache-2.0 */
/* See recode.h. */
#include "recode.h"

#include "channels.h"
#include "codec.h"
#include "mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct recode {
	struct codec_in *in;
	struct codec_out *out;
	struct log_channel channel;
	char topic[SIM_CHANNEL_MAX + 1];
	struct codec_room room;
	struct iov_buf buf;
	uint32_t sequence; /* of the last message */
	char note[800];
};

/* ---- encodings ---- */

static const char *const names[] = { [CODEC_NATIVE] = "native", [CODEC_ROS2] = "ros2",     [CODEC_ROS1] = "ros1",
				     [CODEC_PACKED] = "packed", [CODEC_APOLLO] = "apollo", [CODEC_JSON] = "json" };

const char *recode_kind_name(enum codec_kind kind)
{
	return (size_t)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

int recode_kind_named(const char *name)
{
	for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -EINVAL;
}

int recode_kind_of(const struct log_channel *ch)
{
	if (strcmp(ch->message_encoding, CODEC_PACKED_ENCODING) == 0)
		return CODEC_PACKED;
	if (strcmp(ch->message_encoding, "cdr") == 0)
		return channel_metadata(ch, "sim_type") ? CODEC_NATIVE : CODEC_ROS2;
	if (strcmp(ch->message_encoding, "ros1") == 0)
		return CODEC_ROS1;
	if (strcmp(ch->message_encoding, "json") == 0)
		return CODEC_JSON;
	return strcmp(ch->message_encoding, "protobuf") == 0 ? CODEC_APOLLO : -ENOTSUP;
}

/* ---- channels ---- */

int recode_create(enum codec_kind kind, const struct codec_apollo *apollo, const struct log_channel *ch,
		  struct recode **ret, char *why, size_t why_size)
{
	struct recode *r = MEM_NEW(struct recode);
	int e;

	if (!r) {
		snprintf(why, why_size, "no memory");
		return -ENOMEM;
	}
	iov_buf_init(&r->buf);
	e = codec_in_create(ch, &r->in, why, why_size);
	if (e == 0) {
		snprintf(r->topic, sizeof(r->topic), "%s", ch->topic);
		e = codec_out_create(kind, apollo, r->topic, codec_in_type(r->in), &r->out, why, why_size);
	}
	if (e < 0) {
		recode_destroy(r);
		return e;
	}
	if (channel_is_latched(ch))
		codec_out_set_latched(r->out);
	r->channel = *codec_out_channel(r->out);
	*ret = r;
	return 0;
}

void recode_destroy(struct recode *r)
{
	if (!r)
		return;
	codec_out_destroy(r->out);
	codec_in_destroy(r->in);
	iov_buf_finish(&r->buf);
	codec_room_finish(&r->room);
	mem_free(r);
}

const struct log_channel *recode_channel(const struct recode *r)
{
	return &r->channel;
}

void recode_set_topic(struct recode *r, const char *topic)
{
	r->channel.topic = topic;
}

/* ---- messages ---- */

int recode_message(struct recode *r, const struct log_message *m, struct iovec *ret, unsigned *ret_n, char *why,
		   size_t why_size)
{
	struct message_in in;
	struct sim_message out;
	int e = codec_in_decode_room(r->in, m, &r->room, &in);

	if (e != 0) {
		snprintf(why, why_size, "%s", codec_in_reason(e));
		return e == 1 ? -EBADMSG : e;
	}
	memset(&out.header, 0, sizeof(out.header));
	out.header.stamp_sim_ns = in.stamp_sim_ns;
	r->sequence = in.sequence ? in.sequence : m->sequence;
	out.header.sequence = r->sequence;
	out.header.body_size = in.size;
	memcpy(out.header.frame_id, in.frame, sizeof(out.header.frame_id));
	out.body = in.buf;
	out.body_size = in.size;
	e = codec_out_encode(r->out, &out, &r->buf, why, why_size);
	if (e == 0)
		*ret_n = iov_buf_iov(&r->buf, ret);
	return e;
}

const char *recode_note(struct recode *r)
{
	const char *note = codec_in_note(r->in), *loss = codec_in_loss(r->in);

	if (!note || !loss)
		return note ? note : loss;
	snprintf(r->note, sizeof(r->note), "%s; %s", loss, note);
	return r->note;
}

uint32_t recode_sequence(const struct recode *r)
{
	return r->sequence;
}
