/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes messages of a log for simd. `native`: a std_msgs/Header and the fields of the type, as CDR; the type is in
 * the channel's metadata, as `sim_type` and `sim_hash`, and the definition of a type that simd does not have as
 * `sim_definition`. `packed` is the same, with shuffled arrays. See codec.h.
 */
#include "codec_in_private.h"

#include "convert/apollo.h"
#include "convert/cdr_reader.h"
#include "convert/generic.h"
#include "convert/map.h"
#include "convert/map_in.h"

#include "channels.h"
#include "mem.h"
#include "pack.h"

#include <sim/introspect.h>
#include <sim/msg/Transforms.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int codec_in_fail(int r, char *why, size_t why_size, const struct log_channel *ch, const char *text)
{
	snprintf(why, why_size, "%.100s (%.60s): %s", ch->topic, *ch->schema_name ? ch->schema_name : "no type", text);
	return r;
}

/* ---- names of foreign types ---- */

static const char *sim_of_ros(const char *name)
{
	const struct map_in *in = map_in_find(name);

	for (const struct map *m = map_table; !in && m->sim; m++)
		if (!m->out_only && map_same_ros(m->ros, name))
			return m->sim;
	return in ? in->sim : NULL;
}

const char *codec_type_of_foreign(const char *name)
{
	const char *sim = sim_of_ros(name);

	for (unsigned k = 0; !sim && k < 2; k++) {
		const struct apollo_type *t;

		for (unsigned i = 0; !sim && (t = apollo_type_at(APOLLO_10, k, i)); i++)
			sim = strcmp(apollo_type_name(t), name) ? NULL : apollo_type_sim(t)->name;
	}
	return sim;
}

const char *codec_ros_of_type(const char *name)
{
	const struct map *m = map_find(name, NULL);

	return m ? m->ros : NULL;
}

/* ---- native ---- */

/* Finds a type of simd's, or creates one from the definition in the log. */
static int find_type(const char *name, const char *definition, const struct sim_type **ret)
{
	*ret = sim_type_builtin(name);
	if (*ret)
		return 0;
	return definition ? sim_type_from_json(definition, strlen(definition), ret) : -ENOENT;
}

static int decode_native(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	struct cdr_reader d;
	const char *frame = NULL;
	size_t len = 0;
	int r;

	cdr_reader_begin(&d, WIRE_CDR, m->data, m->size);
	ret->stamp_sim_ns = d.dec.ops->header(&d.dec, "header", &frame, &len);
	message_in_set_frame(ret, frame, len);
	r = generic_read(c->type, &d.dec, ret->buf, ret->room, &ret->size);
	if (r < 0)
		return r;
	return cdr_reader_end(&d);
}

int codec_in_open_type(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	const char *name = channel_metadata(ch, "sim_type"), *hash = channel_metadata(ch, "sim_hash");
	char own[17];
	int r = name && hash ? find_type(name, channel_metadata(ch, "sim_definition"), &c->type) : -ENOENT;

	if (r == -ENOMEM)
		return codec_in_fail(r, why, why_size, ch, "no memory");
	if (r < 0)
		return codec_in_fail(-ENOTSUP, why, why_size, ch,
				     "simd does not know the type, and the log does not define it");
	snprintf(own, sizeof(own), "%016" PRIx64, c->type->hash);
	if (strcmp(own, hash) != 0)
		return codec_in_fail(-ENOTSUP, why, why_size, ch, "the type has changed since it was recorded");
	return 0;
}

static int open_native(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	int r = codec_in_open_type(c, ch, why, why_size);

	c->decode = decode_native;
	c->whole = true;
	return r;
}

/* ---- packed ---- */

static int decode_packed(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	int64_t size = pack_size(m->data, m->size);
	struct log_message plain = *m;

	if (size <= 0) /* an empty message does not even have a header */
		return -EBADMSG;
	if ((size_t)size > c->plain_room) { /* at most m->size */
		uint8_t *more = mem_realloc(c->plain, (size_t)size);

		if (!more)
			return -ENOMEM;
		c->plain = more;
		c->plain_room = (size_t)size;
	}
	plain.data = c->plain;
	plain.size = (size_t)size;
	if (pack_decode(c->plain, m->data, m->size) < 0)
		return -EBADMSG;
	return decode_native(c, &plain, ret);
}

/* ---- all encodings ---- */

static int open_one(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	static const char *const read =
		"the encoding \"%.40s\" cannot be decoded, only cdr, ros1, protobuf, json and %s";
	const char *encoding = ch->message_encoding;
	char text[200];
	int r;

	if (strcmp(encoding, CODEC_PACKED_ENCODING) == 0) {
		r = open_native(c, ch, why, why_size);
		c->decode = decode_packed;
		return r;
	}
	if (strcmp(encoding, "cdr") == 0 && channel_metadata(ch, "sim_type"))
		return open_native(c, ch, why, why_size);
	if (strcmp(encoding, "cdr") == 0 || strcmp(encoding, "ros1") == 0)
		return codec_in_open_ros(c, ch, why, why_size);
	if (strcmp(encoding, "protobuf") == 0)
		return codec_in_open_apollo(c, ch, why, why_size);
	if (strcmp(encoding, "json") == 0)
		return codec_in_open_json(c, ch, why, why_size);
	snprintf(text, sizeof(text), read, encoding, CODEC_PACKED_ENCODING);
	return codec_in_fail(-ENOTSUP, why, why_size, ch, text);
}

static bool is_tf_static(const char *topic)
{
	const char *last = strrchr(topic, '/');

	return strcmp(last ? last + 1 : topic, "tf_static") == 0;
}

int codec_in_create(const struct log_channel *ch, struct codec_in **ret, char *why, size_t why_size)
{
	struct codec_in *c = MEM_NEW(struct codec_in);
	int r;

	if (!c)
		return codec_in_fail(-ENOMEM, why, why_size, ch, "no memory");
	r = open_one(c, ch, why, why_size);
	if (r < 0) {
		codec_in_destroy(c);
		return r;
	}
	c->is_static = sim_type_equal(c->type, &sim_Transforms_type) && is_tf_static(ch->topic);
	*ret = c;
	return 0;
}

void codec_in_destroy(struct codec_in *c)
{
	if (!c)
		return;
	conversion_in_close(&c->conv);
	if (c->pb)
		dec_pb_finish(c->pb);
	mem_free(c->pb);
	pb_type_destroy(c->defined);
	codec_in_json_destroy(c->json);
	mem_free(c->plain);
	sim_type_unref(c->type);
	mem_free(c);
}

const struct sim_type *codec_in_type(const struct codec_in *c)
{
	return c->type;
}

const char *codec_in_loss(const struct codec_in *c)
{
	return c->defined ? pb_type_loss(c->defined) : NULL;
}

bool codec_in_is_static(const struct codec_in *c)
{
	return c->is_static;
}

/* ROS has no field for fixed transforms, only the channel's name tf_static. */
static void set_static(struct message_in *m)
{
	struct sim_Transforms *t = m->buf;

	t->is_static = 1;
}

int codec_in_decode(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	int r;

	ret->sequence = 0;
	r = c->decode(c, m, ret);
	if (r != 0)
		return r;
	if (ret->stamp_sim_ns == MESSAGE_IN_NO_STAMP)
		ret->stamp_sim_ns = m->publish_time_ns;
	if (c->is_static && !c->whole)
		set_static(ret);
	return 0;
}

const char *codec_in_note(struct codec_in *c)
{
	if (c->json)
		return codec_in_json_note(c->json);
	if (!c->n_unknown)
		return NULL;
	snprintf(c->note, sizeof(c->note),
		 "%" PRIu64 " messages have fields that the definition does not have, the first: number %u",
		 c->n_unknown, c->unknown);
	return c->note;
}

/* ---- growing room ---- */

#define ROOM_FIRST    65536u
#define ENCODED_TIMES 64u /* a body larger than this many times its encoded size is malformed */

static int grow(struct codec_room *r, size_t encoded)
{
	size_t size = r->size ? 2 * r->size : ROOM_FIRST;
	void *data;

	if (r->size > ROOM_FIRST && r->size / ENCODED_TIMES > encoded)
		return -EMSGSIZE;
	data = size > SIM_BODY_MAX ? NULL : aligned_alloc(64, size);
	if (!data)
		return -ENOMEM;
	free(r->data);
	r->data = data;
	r->size = size;
	return 0;
}

int codec_in_decode_room(struct codec_in *c, const struct log_message *m, struct codec_room *room,
			 struct message_in *ret)
{
	int r = room->size ? 0 : grow(room, m->size);

	while (r == 0) {
		*ret = (struct message_in){ .buf = room->data, .room = room->size };
		r = codec_in_decode(c, m, ret);
		if (r != -ENOBUFS)
			return r;
		r = grow(room, m->size);
	}
	return r;
}

void codec_room_finish(struct codec_room *room)
{
	free(room->data);
}

const char *codec_in_reason(int r)
{
	switch (r) {
	case 1:
		return "it has nothing for its type";
	case -EBADMSG:
		return "it is malformed";
	case -ERANGE:
		return "a number in it is out of range";
	case -EMSGSIZE:
		return "a text or an array in it is too long";
	case -ENOTSUP:
		return "its form cannot be decoded";
	default:
		return strerror(-r);
	}
}
