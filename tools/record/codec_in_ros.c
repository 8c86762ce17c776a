/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From logs of ROS into simd: messages with a mapping, those of simd's own types, and others by the definition that stands in the file. A
 * definition that is not that of the type known here is never guessed at. See codec.h.
 */
#include "codec_in_private.h"

#include "convert/cdr_reader.h"
#include "convert/ros_own.h"
#include "ros/ros_definition.h"
#include "ros/ros_text.h"

#include "mem.h"

#include <sim/introspect.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct ros_type *const *known_of(const struct codec_in *c)
{
	return c->format == WIRE_ROS1 ? ros1_types : ros2_types;
}

/* An empty text of that encoding is the definition of a type without fields; of a type with fields the recorder did not have it. */
static bool has_definition(const struct codec_in *c, const struct log_channel *ch)
{
	const struct ros_type *known;
	struct ros_text *made;
	bool empty;

	if (strcmp(ch->schema_encoding, c->format == WIRE_ROS1 ? "ros1msg" : "ros2msg") != 0)
		return false;
	if (ch->schema.size || ros_definition_type(known_of(c), ch->schema_name, &known, &made) < 0)
		return true;
	empty = !known->n_fields;
	ros_text_destroy(made);
	return empty;
}

/* The definition in the file; *ret NULL: it has none that is read here. */
static int read_definition(struct codec_in *c, const struct log_channel *ch, struct ros_text **ret, char *why,
			   size_t why_size)
{
	char text[300], sentence[400], *definition;
	int r;

	*ret = NULL;
	if (!has_definition(c, ch))
		return 0;
	definition = mem_strndup(ch->schema.size ? ch->schema.data : "",
				 ch->schema.size < ROS_TEXT_MAX ? ch->schema.size : ROS_TEXT_MAX + 1);
	if (!definition)
		return codec_in_fail(-ENOMEM, why, why_size, ch, "no memory");
	r = ros_text_create(ch->schema_name, definition, known_of(c), text, sizeof(text), ret);
	mem_free(definition);
	if (r == 0)
		return 0;
	snprintf(sentence, sizeof(sentence), "its definition cannot be read: %s", text);
	return codec_in_fail(r == -ENOMEM ? r : -ENOTSUP, why, why_size, ch, sentence);
}

/* ---- Autoware's traffic lights before autoware_msgs 1.8 ---- */

struct reader_before_1_8 {
	struct cdr_reader d; /* first: what is read from */
	const struct sim_dec_ops *all;
};

/* There are no predictions yet: of those there are 0, and no byte says so. */
static uint32_t list_before_1_8(struct sim_dec *d, const char *name, uint32_t fixed, size_t min)
{
	const struct reader_before_1_8 *r = (const struct reader_before_1_8 *)(const void *)d;

	return name && strcmp(name, "predictions") == 0 ? 0 : r->all->list(d, name, fixed, min);
}

static int decode_before_1_8(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	struct reader_before_1_8 r;
	struct sim_dec_ops ops;
	int e, end;

	cdr_reader_begin(&r.d, c->format, m->data, m->size);
	r.all = r.d.dec.ops;
	ops = *r.all;
	ops.list = list_before_1_8;
	r.d.dec.ops = &ops;
	e = conversion_in_take(&c->conv, &r.d.dec, ret);
	ret->sequence = r.d.sequence;
	end = cdr_reader_end(&r.d);
	return end < 0 ? end : e;
}

static bool is_before_1_8(const struct codec_in *c, const struct ros_type *theirs)
{
	struct conversion_out out = { .map = map_find(c->conv.sim->name, c->conv.type->name) };
	const char *field;
	bool is = false;
	char why[200];

	is = out.map && conversion_out_before_1_8(&out, known_of(c), &is, why, sizeof(why)) == 0 && is &&
	     ros_type_same(theirs, out.type, &field);
	conversion_out_close(&out);
	return is;
}

/* ---- types that are known here ---- */

static int open_known(struct codec_in *c, const struct log_channel *ch, const struct ros_type *theirs, char *why,
		      size_t why_size)
{
	char text[300];
	const char *field;
	int r = conversion_in_open(NULL, known_of(c), ch->schema_name, NULL, &c->conv, text, sizeof(text));

	if (r == -ENOTSUP)
		return -ENOENT;
	if (r < 0)
		return codec_in_fail(r, why, why_size, ch, text);
	if (theirs && is_before_1_8(c, theirs)) {
		c->decode = decode_before_1_8;
	} else if (theirs && !ros_type_same(theirs, c->conv.type, &field)) {
		snprintf(text, sizeof(text),
			 "its definition in the file is another one than here, from the field \"%.60s\" on", field);
		return codec_in_fail(-ENOTSUP, why, why_size, ch, text);
	}
	c->type = sim_type_ref(c->conv.sim);
	return 0;
}

/* ---- types of the file's alone ---- */

/* What is read field by field says its stamp and frame in its own header. */
static void find_header(struct codec_in *c)
{
	const struct sim_field *f = c->type->fields;

	c->has_header = c->type->n_fields && f->type && f->array == SIM_ARRAY_NONE &&
			strcmp(f->type->name, "std_msgs/Header") == 0;
	if (c->has_header) {
		char path[2 * SIM_IDENT_MAX];

		snprintf(path, sizeof(path), "%s.stamp", f->name);
		c->has_header = sim_field_find(c->type, path, &c->stamp) == 0;
		snprintf(path, sizeof(path), "%s.frame_id", f->name);
		c->has_header = c->has_header && sim_field_find(c->type, path, &c->frame) == 0;
	}
}

static int open_own(struct codec_in *c, const struct log_channel *ch, const struct ros_type *theirs, char *why,
		    size_t why_size)
{
	char text[300], sentence[400];
	int r;

	if (!theirs)
		return codec_in_fail(-ENOTSUP, why, why_size, ch,
				     "the file has no definition of this type, and it is not known here");
	r = ros_own_type(theirs, known_of(c), &c->type, text, sizeof(text));
	if (r < 0) {
		snprintf(sentence, sizeof(sentence), "no type can be made of its definition: %s", text);
		return codec_in_fail(r, why, why_size, ch, sentence);
	}
	c->conv.sim = c->type; /* and nothing else: field by field */
	find_header(c);
	return 0;
}

static void take_header(const struct codec_in *c, struct message_in *m)
{
	struct sim_field_view v;
	const struct sim_span *span;

	if (sim_field_get(&c->stamp, m->buf, m->size, &v) == 0 && v.count == 1)
		memcpy(&m->stamp_sim_ns, v.data, sizeof(m->stamp_sim_ns));
	if (sim_field_get(&c->frame, m->buf, m->size, &v) != 0 || v.count != 1)
		return;
	span = v.data;
	message_in_set_frame(m, (const uint8_t *)m->buf + span->offset, span->count);
}

static int decode_ros(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	int r = conversion_in_read(&c->conv, c->format, m->data, m->size, ret);

	if (r == 0 && c->has_header)
		take_header(c, ret);
	return r;
}

int codec_in_open_ros(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	struct ros_text *text, *made = NULL;
	const struct ros_type *theirs;
	int r;

	c->decode = decode_ros;
	c->format = strcmp(ch->message_encoding, "ros1") == 0 ? WIRE_ROS1 : WIRE_CDR;
	r = read_definition(c, ch, &text, why, why_size);
	if (r < 0)
		return r;
	theirs = text ? ros_text_type(text) : NULL;
	r = open_known(c, ch, theirs, why, why_size);
	if (r == -ENOENT && !theirs)
		(void)ros_definition_type(known_of(c), ch->schema_name, &theirs, &made);
	if (r == -ENOENT)
		r = open_own(c, ch, theirs, why, why_size);
	ros_text_destroy(text);
	ros_text_destroy(made);
	return r;
}

int codec_type_of_ros(const char *name, const struct sim_type **ret, char *why, size_t why_size)
{
	const struct ros_type *t;
	struct ros_text *made;
	int r = codec_type_of_foreign(name) ? -ENOENT : ros_definition_type(ros2_types, name, &t, &made);

	if (r < 0)
		return r;
	r = ros_own_type(t, ros2_types, ret, why, why_size);
	ros_text_destroy(made);
	return r;
}
