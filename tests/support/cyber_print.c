/* SPDX-License-Identifier: Apache-2.0 */
/* See cyber_print.h. */
#include "cyber_print.h"

#include <protobuf-c/protobuf-c.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define TYPES(X) \
	X(apollo__canbus__chassis) X(apollo__common__detection2_darray) X(apollo__control__control_command) \
	X(apollo__control__pad_message) X(apollo__cyber__proto__clock) X(apollo__drivers__compressed_image) \
	X(apollo__drivers__conti_radar) X(apollo__drivers__gnss__gnss_best_pose) X(apollo__drivers__gnss__imu) \
	X(apollo__drivers__gnss__ins_stat) X(apollo__drivers__image) X(apollo__drivers__point_cloud) \
	X(apollo__drivers__ultrasonic) X(apollo__localization__corrected_imu) X(apollo__localization__gps) \
	X(apollo__localization__localization_estimate) X(apollo__perception__perception_lanes) \
	X(apollo__perception__perception_obstacles) X(apollo__perception__traffic_light_detection) \
	X(apollo__planning__adctrajectory) X(apollo__transform__transform_stampeds)
/* clang-format on */
#define X(name) extern const ProtobufCMessageDescriptor name##__descriptor;
TYPES(X)
#undef X

#define DEPTH 3

struct out {
	char *text;
	size_t size, n;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (o->n + 1 >= o->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(o->text + o->n, o->size - o->n, fmt, ap);
	va_end(ap);
	o->n = o->n + (size_t)n < o->size ? o->n + (size_t)n : o->size - 1;
}

static void put_message(struct out *o, const ProtobufCMessage *m, unsigned depth);

static void put_enum(struct out *o, const ProtobufCFieldDescriptor *f, int v)
{
	const ProtobufCEnumValue *name = protobuf_c_enum_descriptor_get_value(f->descriptor, v);

	if (name)
		put(o, "%s", name->name);
	else
		put(o, "%d", v);
}

static void put_value(struct out *o, const ProtobufCFieldDescriptor *f, const void *at, unsigned depth)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
		put(o, "%.10g", *(const double *)at);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		put(o, "%.6g", (double)*(const float *)at);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		put_enum(o, f, *(const int *)at);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		put(o, "%s", *(const protobuf_c_boolean *)at ? "true" : "false");
		break;
	case PROTOBUF_C_TYPE_STRING:
		put(o, "\"%.60s\"", *(const char *const *)at);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		put(o, "<%zu bytes>", ((const ProtobufCBinaryData *)at)->len);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		put_message(o, *(const ProtobufCMessage *const *)at, depth + 1);
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		put(o, "%llu", (unsigned long long)*(const uint64_t *)at);
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		put(o, "%u", *(const uint32_t *)at);
		break;
	default:
		put(o, "%d", *(const int32_t *)at);
	}
}

static bool is_there(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	const char *base = (const char *)m;

	if (f->type == PROTOBUF_C_TYPE_MESSAGE || f->type == PROTOBUF_C_TYPE_STRING) {
		const void *p = *(const void *const *)(const void *)(base + f->offset);

		return p && p != f->default_value;
	}
	return f->label == PROTOBUF_C_LABEL_REQUIRED ||
	       *(const protobuf_c_boolean *)(const void *)(base + f->quantifier_offset);
}

/* Of a repeated one how many, and the first. */
static void put_list(struct out *o, const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, unsigned depth)
{
	const char *base = (const char *)m;
	size_t n = *(const size_t *)(const void *)(base + f->quantifier_offset);
	const void *items = *(const void *const *)(const void *)(base + f->offset);

	if (!n)
		return;
	put(o, " %s[%zu]: ", f->name, n);
	put_value(o, f, items, depth);
}

static void put_message(struct out *o, const ProtobufCMessage *m, unsigned depth)
{
	put(o, "{");
	for (unsigned i = 0; i < m->descriptor->n_fields && depth <= DEPTH; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];

		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			put_list(o, m, f, depth);
		} else if (is_there(m, f)) {
			put(o, " %s: ", f->name);
			put_value(o, f, (const char *)m + f->offset, depth);
		}
	}
	put(o, " }");
}

bool cyber_print(const char *type, const uint8_t *data, size_t n, char *text, size_t size)
{
	static const ProtobufCMessageDescriptor *const all[] = {
#define X(name) &name##__descriptor,
		TYPES(X)
#undef X
	};
	struct out o = { text, size, 0 };
	ProtobufCMessage *m = NULL;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && !m; i++)
		if (strcmp(all[i]->name, type) == 0)
			m = protobuf_c_message_unpack(all[i], NULL, n, data);
	if (!m)
		return false;
	text[0] = '\0';
	put_message(&o, m, 0);
	protobuf_c_message_free_unpacked(m, NULL);
	return true;
}
