/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes logs of JSON, as Foxglove writes them: messages of types known by name field by field, whatever their schema
 * says; others by their JSON Schema. codec_out puts the type into the channel's metadata. See codec.h.
 */
#include "codec_in_private.h"

#include "convert/json_reader.h"
#include "convert/json_schema.h"

#include "channels.h"
#include "mem.h"

#include <sim/introspect.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct codec_json {
	struct named_reader reader;
	const char *header; /* name of the header with stamp and frame, before the fields; NULL: the type has its own */
	/* the type has fields of its own for the stamp, the frame */
	bool has_stamp, has_frame;
	struct sim_field_path stamp, frame;
	char left_out[JSON_SCHEMA_LEFT_MAX]; /* properties for which the type has no field */
	uint64_t ignored;                    /* messages with fields that the type does not have */
	char ignored_one[64];
	char note[JSON_SCHEMA_LEFT_MAX + 200];
};

/* ---- stamp and frame ---- */

/* Finds a single field of that kind. */
static bool find(const struct sim_type *t, const char *path, enum sim_kind kind, struct sim_field_path *ret)
{
	const struct sim_field *f;

	if (sim_field_find(t, path, ret) != 0)
		return false;
	f = ret->step[ret->n - 1].field;
	return f->kind == kind && f->array == SIM_ARRAY_NONE;
}

/* Finds a std_msgs/Header at the start, or Foxglove's timestamp and frame_id. */
static void find_header(struct codec_json *j, const struct sim_type *t)
{
	const struct sim_field *f = t->fields;
	bool header =
		t->n_fields && f->type && f->array == SIM_ARRAY_NONE && strcmp(f->type->name, "std_msgs/Header") == 0;
	char stamp[2 * SIM_IDENT_MAX] = "timestamp", frame[2 * SIM_IDENT_MAX] = "frame_id";

	if (header) {
		snprintf(stamp, sizeof(stamp), "%s.stamp", f->name);
		snprintf(frame, sizeof(frame), "%s.frame_id", f->name);
	}
	j->has_stamp = find(t, stamp, SIM_KIND_TIME, &j->stamp);
	j->has_frame = j->has_stamp && find(t, frame, SIM_KIND_STRING, &j->frame);
}

static void take_header(const struct codec_json *j, struct message_in *m)
{
	struct sim_field_view v;
	const struct sim_span *span;

	if (j->has_stamp && sim_field_get(&j->stamp, m->buf, m->size, &v) == 0 && v.count == 1)
		memcpy(&m->stamp_sim_ns, v.data, sizeof(m->stamp_sim_ns));
	if (!j->has_frame || sim_field_get(&j->frame, m->buf, m->size, &v) != 0 || v.count != 1)
		return;
	span = v.data;
	message_in_set_frame(m, (const uint8_t *)m->buf + span->offset, span->count);
}

/* ---- messages ---- */

static void take_own_header(const struct codec_json *j, struct sim_dec *d, struct message_in *m)
{
	const char *frame = NULL;
	size_t len = 0;

	if (!j->header || !d->ops->has(d, j->header))
		return;
	m->stamp_sim_ns = d->ops->header(d, j->header, &frame, &len);
	message_in_set_frame(m, frame, len);
}

static void count(struct codec_json *j)
{
	named_reader_end(&j->reader);
	if (j->reader.ignored && !j->ignored++)
		memcpy(j->ignored_one, j->reader.ignored_one, sizeof(j->ignored_one));
}

static int decode_json(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	struct codec_json *j = c->json;
	struct sim_dec *d = &j->reader.dec;
	int r;

	json_reader_begin(&j->reader, m->data, m->size);
	if (d->err)
		return d->err;
	r = conversion_in_take(&c->conv, d, ret);
	if (r != 0)
		return r;
	if (!c->conv.map_in)
		take_own_header(j, d, ret);
	take_header(j, ret);
	count(j);
	return d->err;
}

const char *codec_in_json_note(struct codec_json *j)
{
	if (*j->left_out) /* messages have the left-out properties too, so counting them adds nothing */
		snprintf(j->note, sizeof(j->note), "fields that no type can have are left out: %s", j->left_out);
	else if (j->ignored)
		snprintf(j->note, sizeof(j->note),
			 "%" PRIu64 " messages have fields that the type does not have, the first: %s", j->ignored,
			 j->ignored_one);
	return *j->note ? j->note : NULL;
}

void codec_in_json_destroy(struct codec_json *j)
{
	if (j)
		named_reader_finish(&j->reader);
	mem_free(j);
}

/* ---- channels ---- */

/* A channel written by codec_out. -ENOENT: not one. */
static int open_ours(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	int r = channel_metadata(ch, "sim_type") ? codec_in_open_type(c, ch, why, why_size) : -ENOENT;

	if (r < 0)
		return r;
	c->conv.sim = c->type; /* field by field, without a mapping */
	c->whole = true;
	c->json->header = codec_header_of(c->type);
	return 0;
}

/* A type of simd's, or a message that is mapped to one. -ENOENT: neither. */
static int open_known(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	char text[300];
	int r = conversion_in_open(NULL, ros2_types, ch->schema_name, NULL, &c->conv, text, sizeof(text));

	if (r < 0)
		return r == -ENOMEM ? codec_in_fail(r, why, why_size, ch, "no memory") : -ENOENT;
	c->type = sim_type_ref(c->conv.sim);
	if (strcmp(codec_header_of(c->type), "header") == 0)
		c->json->header = "header";
	if (!c->conv.map_in)
		find_header(c->json, c->type);
	return 0;
}

static int open_schema(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	char text[600];
	int r;

	if (!ch->schema.size)
		return codec_in_fail(-ENOTSUP, why, why_size, ch,
				     "its messages are JSON without a schema, so their fields are unknown");
	if (strcmp(ch->schema_encoding, "jsonschema") != 0)
		return codec_in_fail(-ENOTSUP, why, why_size, ch,
				     "messages in JSON can only be read with a schema in the encoding jsonschema");
	r = json_schema_type(ch->schema_name, ch->schema.data, ch->schema.size, &c->type, c->json->left_out, text,
			     sizeof(text));
	if (r < 0)
		return codec_in_fail(r, why, why_size, ch, text);
	c->conv.sim = c->type;
	find_header(c->json, c->type);
	return 0;
}

int codec_in_open_json(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	int r;

	c->json = MEM_NEW(struct codec_json);
	if (!c->json)
		return codec_in_fail(-ENOMEM, why, why_size, ch, "no memory");
	named_reader_init(&c->json->reader);
	c->decode = decode_json;
	r = open_ours(c, ch, why, why_size);
	if (r == -ENOENT)
		r = open_known(c, ch, why, why_size);
	if (r == -ENOENT)
		r = open_schema(c, ch, why, why_size);
	return r;
}
