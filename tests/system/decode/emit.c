/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every mapping in CDR, ROS 1's bytes, JSON and CBOR, for independent decoders: one line of JSON a message, with the
 * bytes, and with the values given to the encoder, field by field, from an encoder that only records them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "conversion.h"
#include "support/enc_cbor.h"
#include "enc_json.h"
#include "enc_wire.h"
#include "generic.h"
#include "map.h"
#include "probe/msg/Every.h"
#include "ros/ros_generic.h"
#include "ros/ros_type.h"
#include "sim/introspect.h"
#include "sim/msg/Image.h"
#include "sim/point_cloud.h"
#include "unit/convert/sample.h"

#define STAMP    INT64_C(1640995200123456768)
#define ROOM_MAX 65536u

/* ---- the encoded values, as JSON ---- */

struct said {
	struct sim_enc enc;
	FILE *f;
	bool first;          /* of the object or list that is open */
	const char *pending; /* name of an array whose room the mapping is filling */
	enum sim_kind kind;
	uint32_t n;
	_Alignas(16) uint8_t room[ROOM_MAX];
};

static void put_array(struct said *s, const char *name, enum sim_kind kind, const uint8_t *data, uint32_t n);

static struct said *said_of(struct sim_enc *e)
{
	return (struct said *)(void *)e;
}

static void put_name(struct said *s, const char *name)
{
	fputs(s->first ? "" : ",", s->f);
	if (name)
		fprintf(s->f, "\"%s\":", name);
	s->first = false;
}

/* Before anything else is said: the room that was given out has been filled by now. */
static struct said *next(struct sim_enc *e)
{
	struct said *s = said_of(e);
	const char *name = s->pending;

	s->pending = NULL;
	if (name)
		put_array(s, name, s->kind, s->room, s->n);
	return s;
}

static size_t size_of(enum sim_kind kind)
{
	static const uint8_t sizes[] = {
#define X(id, num, name, bytes) [SIM_KIND_##id] = bytes,
		SIM_KINDS(X)
#undef X
	};

	return sizes[kind];
}

/* JSON cannot express infinity, but reads a too large number as one; NaN is null. */
static void put_real(FILE *f, double v, int digits)
{
	if (isnan(v))
		fputs("null", f);
	else if (isinf(v))
		fputs(v < 0 ? "-1e999" : "1e999", f);
	else
		fprintf(f, "%.*g", digits, v);
}

static void put_number(FILE *f, enum sim_kind kind, const void *v)
{
	int64_t i = 0;
	size_t size = size_of(kind);
	float f32;
	double f64;

	memcpy(&i, v, size);
	memcpy(&f32, v, sizeof(f32) < size ? sizeof(f32) : size);
	memcpy(&f64, v, size);
	switch (kind) {
	case SIM_KIND_BOOL:
		fputs(i ? "true" : "false", f);
		break;
	case SIM_KIND_FLOAT32:
		put_real(f, (double)f32, 9);
		break;
	case SIM_KIND_FLOAT64:
		put_real(f, f64, 17);
		break;
	case SIM_KIND_INT8:
		fprintf(f, "%d", (int8_t)i);
		break;
	case SIM_KIND_INT16:
		fprintf(f, "%d", (int16_t)i);
		break;
	case SIM_KIND_INT32:
		fprintf(f, "%d", (int32_t)i);
		break;
	default:
		fprintf(f, "%lld", (long long)i);
	}
}

static void put_array(struct said *s, const char *name, enum sim_kind kind, const uint8_t *data, uint32_t n)
{
	put_name(s, name);
	putc('[', s->f);
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? "," : "", s->f);
		put_number(s->f, kind, data + i * size_of(kind));
	}
	putc(']', s->f);
}

static void put_text(FILE *f, const char *text, size_t len)
{
	putc('"', f);
	for (size_t i = 0; i < len; i++)
		fprintf(f, "\\u%04x", (uint8_t)text[i]);
	putc('"', f);
}

static void put_time(FILE *f, int64_t ns)
{
	fprintf(f, "{\"sec\":%lld,\"nanosec\":%lld}", (long long)(ns / 1000000000), (long long)(ns % 1000000000));
}

static void said_value(struct sim_enc *e, const char *name, enum sim_kind kind, const void *v)
{
	put_name(next(e), name);
	put_number(said_of(e)->f, kind, v);
}
static void said_string(struct sim_enc *e, const char *name, const char *text, size_t len)
{
	put_name(next(e), name);
	put_text(said_of(e)->f, text, len);
}
static void said_time(struct sim_enc *e, const char *name, enum sim_kind kind, int64_t ns)
{
	(void)kind;
	put_name(next(e), name);
	put_time(said_of(e)->f, ns);
}
static void said_array(struct sim_enc *e, const char *name, enum sim_kind kind, const void *data, uint32_t n, int fixed)
{
	(void)fixed;
	put_array(next(e), name, kind, data, n);
}
static void *said_room(struct sim_enc *e, const char *name, enum sim_kind kind, uint32_t n, int fixed)
{
	struct said *s = next(e);

	(void)fixed;
	if ((size_t)n * size_of(kind) > ROOM_MAX)
		abort();
	s->pending = name;
	s->kind = kind;
	s->n = n;
	return s->room;
}

static void put_open(struct sim_enc *e, const char *name, char bracket)
{
	struct said *s = next(e);

	put_name(s, name);
	putc(bracket, s->f);
	s->first = true;
}
static void put_close(struct sim_enc *e, char bracket)
{
	struct said *s = next(e);

	putc(bracket, s->f);
	s->first = false;
}
static void said_begin(struct sim_enc *e, const char *name)
{
	put_open(e, name, '{');
}
static void said_end(struct sim_enc *e)
{
	put_close(e, '}');
}
static void said_list(struct sim_enc *e, const char *name, uint32_t n, int fixed)
{
	(void)n;
	(void)fixed;
	put_open(e, name, '[');
}
static void said_list_end(struct sim_enc *e)
{
	put_close(e, ']');
}
static void said_header(struct sim_enc *e, const char *name, const struct sim_enc_header *h)
{
	said_begin(e, name);
	said_time(e, "stamp", SIM_KIND_TIME, h->stamp_sim_ns);
	said_string(e, "frame_id", h->frame, strlen(h->frame));
	said_end(e);
}

static const struct sim_enc_ops said_ops = {
	.value = said_value,
	.string = said_string,
	.time = said_time,
	.array = said_array,
	.room = said_room,
	.begin = said_begin,
	.end = said_end,
	.list = said_list,
	.list_end = said_list_end,
	.header = said_header,
};

/* ---- bodies ---- */

static _Alignas(64) uint8_t body[65536];

/* Large enough for pieces that are pointed to, odd enough that alignment behind them matters. */
static size_t image(void)
{
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(body, sizeof(body), &b);
	uint8_t *data;

	m->height = 31;
	m->width = 21;
	m->step = 21 * 3;
	sim_Image_encoding_set(&b, "rgb8");
	data = sim_Image_data_alloc(&b, 31 * 21 * 3);
	for (unsigned i = 0; i < 31 * 21 * 3; i++)
		data[i] = (uint8_t)(i * 7);
	return sim_builder_size(&b);
}

static size_t cloud(void)
{
	struct sim_builder b;
	struct sim_Point *p = sim_point_cloud_begin(body, sizeof(body), 67, &b);

	for (unsigned i = 0; i < 67; i++)
		p[i] = (struct sim_Point){ .x = (float)i,
					   .y = -1.5f,
					   .z = 0.25f,
					   .intensity = 0.5f,
					   .ring = (uint8_t)i,
					   .return_type = 1,
					   .azimuth = 0.125f,
					   .distance = (float)i * 2,
					   .time_offset = i * 1000 };
	return sim_builder_size(&b);
}

static size_t fill(const struct map *m)
{
	if (strcmp(m->sim, "sim/Image") == 0)
		return image();
	if (strcmp(m->sim, "sim/PointCloud") == 0)
		return cloud();
	return sample_body(sim_type_builtin(m->sim), body, sizeof(body));
}

/* ---- lines ---- */

static void put_hex(struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	unsigned n = iov_buf_iov(o, iov);

	for (unsigned i = 0; i < n; i++)
		for (size_t k = 0; k < iov[i].iov_len; k++)
			printf("%02x", ((const uint8_t *)iov[i].iov_base)[k]);
}

static void put_definition(const char *s)
{
	for (; *s; s++)
		if (*s == '\n')
			fputs("\\n", stdout);
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else
			putchar(*s);
}

/* One message: of a mapping, or as it is. */
struct source {
	const struct map *map;
	const struct map_message *in;
	const struct sim_type *own;
	size_t size;
	const struct ros_type *type; /* NULL: names as they are given */
};

static int say(const struct source *s, struct sim_enc *e)
{
	return s->map ? s->map->emit(s->in, e) : generic_emit(s->own, body, s->size, e);
}

/* In the formats that have names, as rosbridge has them in ROS 2: both in hexadecimal, so that nobody mends them on their way. */
static int put_named(const struct source *s)
{
	struct enc_json j;
	struct enc_cbor c;
	struct iov_buf o;
	int r;

	iov_buf_init(&o);
	json_begin(&j, ROS_GENERIC_ROS2, JSON_NAN_WORD, s->type, &o);
	r = say(s, &j.enc) | json_finish(&j);
	fputs("\"json\":\"", stdout);
	put_hex(&o);
	iov_buf_reset(&o);
	cbor_begin(&c, ROS_GENERIC_ROS2, s->type, &o);
	r |= say(s, &c.enc) | cbor_finish(&c);
	fputs("\",\"cbor\":\"", stdout);
	put_hex(&o);
	fputs("\",", stdout);
	iov_buf_finish(&o);
	return r;
}

/* older: the definition is not the one in the folder */
static int put_message(struct iov_buf *o, const struct source *source, const char *from, const char *how,
		       const char *type, const char *definition, bool older)
{
	int r;

	printf("{\"from\":\"%s%s\",\"type\":\"%s\",\"older\":%s,\"cdr\":\"", from, how, type, older ? "true" : "false");
	put_hex(o);
	fputs("\",", stdout);
	r = put_named(source);
	fputs("\"definition\":\"", stdout);
	put_definition(definition);
	fputs("\",\"said\":{", stdout);
	return r;
}

/* As the message that has its fields. */
static int emit_generic(const struct sim_type *t)
{
	static struct said s;
	size_t size = sample_body(t, body, sizeof(body));
	char name[ROS_GENERIC_NAME_MAX], *definition = ros_generic_text(t, ROS_GENERIC_ROS2);
	struct enc_wire w;
	struct iov_buf o;
	int r;

	ros_generic_name(t->name, name);
	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	r = generic_emit(t, body, size, &w.enc);
	if (r == 0)
		r = wire_finish(&w);
	r |= put_message(&o, &(struct source){ .own = t, .size = size }, t->name, " as it is", name, definition, false);
	s = (struct said){ .enc.ops = &said_ops, .f = stdout, .first = true };
	r |= generic_emit(t, body, size, &s.enc);
	next(&s.enc);
	puts("}}");
	iov_buf_finish(&o);
	free(definition);
	return r;
}

/* The encoded values, as JSON. */
static int put_said(const struct map *m, const struct map_message *in)
{
	static struct said s;
	int r;

	s = (struct said){ .enc.ops = &said_ops, .f = stdout, .first = true };
	r = m->emit(in, &s.enc);
	next(&s.enc);
	putchar('}');
	return r;
}

/* The same in ROS 1's bytes, with the definition that goes before them there. */
static int put_ros1(const struct map *m, struct map_message *in)
{
	const struct ros_type *t = ros_type_find(ros1_types, m->ros);
	struct enc_wire w;
	struct iov_buf o;
	int r;

	if (!t || !*t->hash)
		return 0;
	iov_buf_init(&o);
	in->ros1 = true;
	wire_begin(&w, WIRE_ROS1, &o);
	r = m->emit(in, &w.enc);
	if (r == 0)
		r = wire_finish(&w);
	fputs(",\"ros1\":\"", stdout);
	put_hex(&o);
	fputs("\",\"ros1_definition\":\"", stdout);
	put_definition(t->definition);
	putchar('"');
	if (m->out_only) { /* a marker has fewer fields there */
		fputs(",\"ros1_said\":{", stdout);
		r |= put_said(m, in);
	}
	iov_buf_finish(&o);
	return r;
}

/* type: of another form than the one in the folder; NULL: that one. */
static int emit_as(const struct map *m, const char *how, const struct map_options *options, const struct ros_type *type)
{
	struct map_message in = {
		.body = body, .size = fill(m), .header = { .stamp_sim_ns = STAMP, .frame = "frame" }, .options = options
	};
	const struct ros_type *theirs;
	struct enc_wire w;
	struct iov_buf o;
	int r;

	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	r = m->emit(&in, &w.enc);
	if (r == 0)
		r = wire_finish(&w);
	if (r < 0) {
		fprintf(stderr, "%s to %s%s: %s\n", m->sim, m->ros, how, strerror(-r));
		return r;
	}
	theirs = type ? type : ros_type_find(ros2_types, m->ros);
	r = put_message(&o, &(struct source){ .map = m, .in = &in, .type = theirs }, m->sim, how, m->ros,
			theirs->definition, type != NULL);
	r |= put_said(m, &in);
	r |= type ? 0 : put_ros1(m, &in);
	puts("}");
	iov_buf_finish(&o);
	return r;
}

static int emit(const struct map *m, const char *how, const struct map_options *options)
{
	return emit_as(m, how, options, NULL);
}

static int emit_before_1_8(void)
{
	struct conversion_out c = { .map = map_find("sim/TrafficSignals",
						    "autoware_perception_msgs/TrafficLightGroupArray") };
	struct map_options older = { 0 };
	char why[256];
	int r = conversion_out_before_1_8(&c, ros2_types, &older.no_predictions, why, sizeof(why));

	if (r == 0)
		r = emit_as(c.map, " before autoware_msgs 1.8", &older, c.type);
	conversion_out_close(&c);
	return r;
}

int main(void)
{
	static const char *const layouts[] = {
		"", " as AWSIM's 24", " as AWSIM's 48", " as SVL's 32", " as Autoware's 32", " as velodyne's"
	};
	static const struct map_options plain, swap = { .encoding = "bgr8", .frame = "other" };
	int r = 0;

	for (const struct map *m = map_table; m->sim; m++)
		r |= emit(m, "", &plain);
	r |= emit(map_find("sim/Image", NULL), " as bgr8", &swap);
	for (int p = MAP_POINTS_AWSIM24; p <= MAP_POINTS_XYZIR; p++)
		r |= emit(map_find("sim/PointCloud", NULL), layouts[p],
			  &(struct map_options){ .points = (enum map_points)p });
	r |= emit_before_1_8();
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
		if ((*t)->n_fields) /* the decoder takes constants alone for no message */
			r |= emit_generic(*t);
	r |= emit_generic(&probe_Every_type);
	return r != 0;
}
