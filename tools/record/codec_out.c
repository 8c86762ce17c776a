/* SPDX-License-Identifier: Apache-2.0 */
/* See codec_out.h. */
#include "codec_out_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>

#include "convert/enc_wire.h"
#include "convert/generic.h"
#include "channels.h"
#include "mem.h"

/* QoS that rosbag2 offers when it plays: reliable, and volatile or transient local. */
#define QOS(durability) \
	"- history: 1\n  depth: 10\n  reliability: 1\n  durability: " durability "\n" \
	"  deadline:\n    sec: 9223372036\n    nsec: 854775807\n" \
	"  lifespan:\n    sec: 9223372036\n    nsec: 854775807\n" \
	"  liveliness: 1\n  liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n" \
	"  avoid_ros_namespace_conventions: false"

int codec_out_no_memory(char *why, size_t why_size)
{
	snprintf(why, why_size, "no memory");
	return -ENOMEM;
}

void codec_out_pair(struct codec_out *c, const char *key, const char *value)
{
	c->pairs[c->channel.n_metadata++] = (struct log_pair){ key, value };
}

bool codec_out_is_static(const char *channel)
{
	const char *last = strrchr(channel, '/');

	return strcmp(last ? last + 1 : channel, "tf_static") == 0;
}

struct map_message codec_out_message(const struct sim_message *m)
{
	static const struct map_options as_it_comes;

	return (struct map_message){ .body = m->body,
				     .size = m->body_size,
				     .header = { .stamp_sim_ns = m->header.stamp_sim_ns,
						 .seq = (uint32_t)m->header.sequence,
						 .frame = m->header.frame_id },
				     .options = &as_it_comes };
}

/* ---- native ---- */

const char *codec_header_of(const struct sim_type *t)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (strcmp(t->fields[i].name, "header") == 0)
			return "sim_header";
	return "header";
}

/* The header, the fields and all nested types, in the text format of ROS 2. */
static int make_schema(struct codec_out *c, char *why, size_t why_size)
{
	char *fields = ros_generic_text(c->type, ROS_GENERIC_ROS2), *text = NULL;
	int r;

	if (!fields || asprintf(&text, "std_msgs/Header %s\n%s", c->header, fields) < 0) {
		free(fields);
		return codec_out_no_memory(why, why_size);
	}
	r = ros_text_create(c->schema, text, ros2_types, why, why_size, &c->made);
	free(fields);
	free(text);
	return r == 0 || r == -ENOMEM ? r : -ENOTSUP;
}

/* Adds the definition to the metadata, so that the channel can be read where the type is unknown. */
static int keep_definition(struct codec_out *c, char *why, size_t why_size)
{
	const struct sim_type *builtin = sim_type_builtin(c->type->name);

	if (builtin && sim_type_equal(builtin, c->type))
		return 0;
	if (sim_type_to_json(c->type, &c->definition) < 0)
		return codec_out_no_memory(why, why_size);
	codec_out_pair(c, "sim_definition", c->definition);
	return 0;
}

int codec_out_say_type(struct codec_out *c, char *why, size_t why_size)
{
	snprintf(c->hash, sizeof(c->hash), "%016" PRIx64, c->type->hash);
	codec_out_pair(c, "sim_type", c->type->name);
	codec_out_pair(c, "sim_hash", c->hash);
	return keep_definition(c, why, why_size);
}

int codec_out_encode_native(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why,
			    size_t why_size)
{
	const struct map_message in = codec_out_message(m);
	struct enc_wire w;
	int r, e;

	(void)why;
	(void)why_size;
	wire_begin(&w, WIRE_CDR, out);
	w.enc.ops->header(&w.enc, c->header, &in.header);
	r = generic_emit(c->type, m->body, m->body_size, &w.enc);
	e = wire_finish(&w);
	return r < 0 ? r : e;
}

int codec_out_open_native(struct codec_out *c, char *why, size_t why_size)
{
	int r;

	c->encode = codec_out_encode_native;
	c->header = codec_header_of(c->type);
	ros_generic_name(c->type->name, c->schema);
	r = make_schema(c, why, why_size);
	if (r < 0)
		return r;
	c->channel.message_encoding = "cdr";
	c->channel.schema_encoding = "ros2msg";
	c->channel.schema.data = ros_text_type(c->made)->definition;
	return codec_out_say_type(c, why, why_size);
}

/* ---- ROS messages ---- */

static void name_schema(struct codec_out *c, const char *kind)
{
	const char *name = c->conv.type->name, *slash = strchr(name, '/');

	snprintf(c->schema, sizeof(c->schema), "%.*s/%s%s", (int)(slash - name), name, kind, slash + 1);
}

static int encode_ros(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why, size_t why_size)
{
	const struct map_message in = codec_out_message(m);
	struct enc_wire w;
	int r, e;

	wire_begin(&w, c->kind == CODEC_ROS1 ? WIRE_ROS1 : WIRE_CDR, out);
	r = conversion_out_emit(&c->conv, &in, &w.enc, why, why_size);
	e = wire_finish(&w);
	return r < 0 ? r : e;
}

int codec_out_open_ros(struct codec_out *c, char *why, size_t why_size)
{
	static const struct sim_bridge_host no_converters;
	bool ros2 = c->kind == CODEC_ROS2;
	int r = conversion_out_open(&no_converters, ros2 ? ros2_types : ros1_types, c->type, NULL, &c->conv, why,
				    why_size);

	if (r < 0)
		return r;
	c->encode = encode_ros;
	name_schema(c, ros2 ? "msg/" : "");
	c->channel.message_encoding = ros2 ? "cdr" : "ros1";
	c->channel.schema_encoding = ros2 ? "ros2msg" : "ros1msg";
	c->channel.schema.data = c->conv.type->definition;
	if (ros2) {
		codec_out_pair(c, "offered_qos_profiles", QOS("2"));
		return 0;
	}
	if (!*c->conv.type->hash) {
		snprintf(why, why_size, "ROS 1 has no message %s", c->conv.type->name);
		return -ENOTSUP;
	}
	codec_out_pair(c, "md5sum", c->conv.type->hash);
	codec_out_pair(c, "callerid", "/simd");
	return 0;
}

/* ---- all encodings ---- */

static int (*const open_kind[])(struct codec_out *c, char *why, size_t why_size) = {
	[CODEC_NATIVE] = codec_out_open_native, [CODEC_ROS2] = codec_out_open_ros,
	[CODEC_ROS1] = codec_out_open_ros,      [CODEC_PACKED] = codec_out_open_packed,
	[CODEC_APOLLO] = codec_out_open_apollo, [CODEC_JSON] = codec_out_open_json,
};

int codec_out_create(enum codec_kind kind, const struct codec_apollo *apollo, const char *channel,
		     const struct sim_type *type, struct codec_out **ret, char *why, size_t why_size)
{
	static const struct codec_apollo of_10 = { .release = APOLLO_10 };
	struct codec_out *c = MEM_NEW(struct codec_out);
	int r;

	if (!c)
		return codec_out_no_memory(why, why_size);
	c->kind = kind;
	c->of_apollo = apollo ? apollo : &of_10;
	c->type = type;
	snprintf(c->name, sizeof(c->name), "%s", channel);
	c->channel.topic = c->name;
	c->channel.schema_name = c->schema;
	c->channel.metadata = c->pairs;
	iov_buf_init(&c->plain);
	r = open_kind[kind](c, why, why_size);
	if (r < 0) {
		codec_out_destroy(c);
		return r;
	}
	if (!c->channel.schema.size) /* the schema is a text: its size is the string's length */
		c->channel.schema.size = strlen(c->channel.schema.data);
	if (codec_out_is_static(c->name) && !c->header)
		codec_out_set_latched(c);
	*ret = c;
	return 0;
}

void codec_out_destroy(struct codec_out *c)
{
	if (!c)
		return;
	ros_text_destroy(c->made);
	conversion_out_close(&c->conv);
	iov_buf_finish(&c->plain);
	free(c->definition);
	pb_type_destroy(c->defined);
	mem_free(c->json_schema);
	mem_free(c);
}

void codec_out_set_latched(struct codec_out *c)
{
	if (c->kind == CODEC_APOLLO || channel_is_latched(&c->channel))
		return;
	if (c->kind == CODEC_ROS2)
		c->pairs[0].value = QOS("1");
	else
		codec_out_pair(c, "latching", "1");
}

bool codec_out_goes_before(const char *a, const char *b, const char *name)
{
	return strcmp(b, name) != 0 && (strcmp(a, name) == 0 || strcmp(a, b) < 0);
}

const struct log_channel *codec_out_channel(const struct codec_out *c)
{
	return &c->channel;
}

int codec_out_encode(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why, size_t why_size)
{
	int r;

	why[0] = '\0';
	r = c->encode(c, m, out, why, why_size);
	if (r < 0 && !why[0])
		snprintf(why, why_size, "%s on %s, stamp %" PRId64 " ns: %s", c->type->name, c->name,
			 m->header.stamp_sim_ns,
			 r == -EBADMSG  ? "the body is malformed"
			 : r == -ERANGE ? "a time that the encoding cannot hold"
					: strerror(-r));
	return r;
}
