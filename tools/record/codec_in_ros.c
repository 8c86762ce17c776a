/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes logs of ROS: messages with a mapping, those of simd's own types, and others by the definition in the file. If
 * a definition differs from that of the known type, the channel is refused. See codec.h.
 */
#include "codec_in_private.h"

#include "convert/apollo_ros.h"
#include "convert/ros_own.h"
#include "ros/ros_definition.h"
#include "ros/ros_text.h"

#include "mem.h"

#include <sim/introspect.h>

#include <errno.h>
#include <string.h>

static const struct ros_type *const *known_of(const struct codec_in *c)
{
	return c->format == WIRE_ROS1 ? ros1_types : ros2_types;
}

/*
 * An empty text in that encoding is the definition of a type without fields; for a type with fields it means that the
 * recorder did not have the definition.
 */
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

/* The definition in the file: free with mem_free(); *ret NULL: none, or not readable. */
static int definition_of(const struct codec_in *c, const struct log_channel *ch, char **ret)
{
	*ret = NULL;
	if (!has_definition(c, ch))
		return 0;
	*ret = mem_strndup(ch->schema.size ? ch->schema.data : "",
			   ch->schema.size < ROS_TEXT_MAX ? ch->schema.size : ROS_TEXT_MAX + 1);
	return *ret ? 0 : -ENOMEM;
}

static int decode_ros(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	return conversion_in_read(&c->conv, c->format, m->data, m->size, ret);
}

int codec_in_open_ros(struct codec_in *c, const struct log_channel *ch, char *why, size_t why_size)
{
	char text[400] = "no memory", *definition;
	int r;

	c->decode = decode_ros;
	c->format = strcmp(ch->message_encoding, "ros1") == 0 ? WIRE_ROS1 : WIRE_CDR;
	if (c->format == WIRE_ROS1 && apollo_ros_is(ch->schema_name, ch->schema.data, ch->schema.size))
		return codec_in_open_apollo_ros(c, ch, why, why_size);
	r = definition_of(c, ch, &definition);
	if (r == 0)
		r = conversion_in_open_text(NULL, known_of(c), ch->schema_name, definition, false, &c->conv, text,
					    sizeof(text));
	mem_free(definition);
	if (r < 0)
		return codec_in_fail(r, why, why_size, ch, text);
	c->type = sim_type_ref(c->conv.sim);
	return 0;
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
