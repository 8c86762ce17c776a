/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions as .proto: see pb_proto.h. */
#include "pb_proto.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pb_writer.h"

#define NESTED_MAX     64u
#define PROTO_NAME_MAX 256u

/* Values of google.protobuf.FieldDescriptorProto.Type. */
enum { T_DOUBLE = 1, T_FLOAT, T_INT64, T_UINT64, T_INT32, T_BOOL = 8, T_STRING, T_MESSAGE = 11, T_BYTES, T_UINT32 };

static const char *const words[] = {
	[T_DOUBLE] = "double", [T_FLOAT] = "float",   [T_INT64] = "int64", [T_UINT64] = "uint64", [T_INT32] = "int32",
	[T_BOOL] = "bool",     [T_STRING] = "string", [T_BYTES] = "bytes", [T_UINT32] = "uint32",
};

static const uint8_t types[ROS_PRIM_END] = {
	[ROS_NESTED] = T_MESSAGE, [ROS_BOOL] = T_BOOL,        [ROS_BYTE] = T_UINT32,   [ROS_CHAR] = T_UINT32,
	[ROS_INT8] = T_INT32,     [ROS_UINT8] = T_UINT32,     [ROS_INT16] = T_INT32,   [ROS_UINT16] = T_UINT32,
	[ROS_INT32] = T_INT32,    [ROS_UINT32] = T_UINT32,    [ROS_INT64] = T_INT64,   [ROS_UINT64] = T_UINT64,
	[ROS_FLOAT32] = T_FLOAT,  [ROS_FLOAT64] = T_DOUBLE,   [ROS_STRING] = T_STRING, [ROS_WSTRING] = T_STRING,
	[ROS_TIME] = T_MESSAGE,   [ROS_DURATION] = T_MESSAGE,
};

/* Fields of a time, see enc_pb.h. */
static const struct ros_field time_fields[] = {
	{ .name = "sec", .prim = ROS_INT64 },
	{ .name = "nanosec", .prim = ROS_UINT32 },
};
static const struct ros_type time_type = {
	.name = "builtin_interfaces/Time", .definition = "", .fields = time_fields, .n_fields = 2
};

struct nested {
	const struct ros_type *type;
	char name[PROTO_NAME_MAX]; /* "Pose", or "other_msgs_Pose" if that is taken */
};

struct proto {
	const struct ros_type *type;
	char package[PROTO_NAME_MAX];
	struct nested nested[NESTED_MAX];
	unsigned n;
};

/* ---- nested types ---- */

static const char *base_name(const char *ros)
{
	const char *slash = strrchr(ros, '/');

	return slash ? slash + 1 : ros;
}

static const struct ros_type *type_of(const struct ros_field *f)
{
	return f->prim == ROS_TIME || f->prim == ROS_DURATION ? &time_type : f->type;
}

static bool is_taken(const struct proto *p, const char *name)
{
	for (unsigned i = 0; i < p->n; i++)
		if (strcmp(p->nested[i].name, name) == 0)
			return true;
	for (uint32_t i = 0; i < p->type->n_fields; i++)
		if (strcmp(p->type->fields[i].name, name) == 0)
			return true;
	return strcmp(base_name(p->type->name), name) == 0;
}

static const struct nested *nested_of(const struct proto *p, const struct ros_type *t)
{
	for (unsigned i = 0; i < p->n; i++)
		if (strcmp(p->nested[i].type->name, t->name) == 0)
			return &p->nested[i];
	return NULL;
}

static int add_nested(struct proto *p, const struct ros_type *t)
{
	struct nested *one = &p->nested[p->n];
	const char *base = base_name(t->name);

	if (p->n == NESTED_MAX)
		return -E2BIG;
	one->type = t;
	snprintf(one->name, sizeof(one->name), "%s", base);
	if (is_taken(p, one->name))
		snprintf(one->name, sizeof(one->name), "%.*s_%s", (int)strcspn(t->name, "/"), t->name, base);
	if (is_taken(p, one->name)) /* by a field, for example */
		return -E2BIG;
	p->n++;
	return 0;
}

static int collect(struct proto *p, const struct ros_type *t)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < t->n_fields; i++) {
		const struct ros_type *n = type_of(&t->fields[i]);

		if (!n || nested_of(p, n))
			continue;
		r = add_nested(p, n);
		if (r == 0)
			r = collect(p, n);
	}
	return r;
}

static int proto_make(const struct ros_type *t, struct proto **ret)
{
	struct proto *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->type = t;
	snprintf(p->package, sizeof(p->package), "%.*s", (int)strcspn(t->name, "/"), t->name);
	r = collect(p, t);
	if (r == 0)
		*ret = p;
	else
		free(p);
	return r;
}

int pb_proto_name(const struct ros_type *t, char *out, size_t size)
{
	int n = snprintf(out, size, "%.*s.%s", (int)strcspn(t->name, "/"), t->name, base_name(t->name));

	return n >= 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

static bool is_bytes(const struct ros_field *f)
{
	return f->array != ROS_ONE && (f->prim == ROS_UINT8 || f->prim == ROS_BYTE || f->prim == ROS_CHAR);
}

static unsigned type_number(const struct ros_field *f)
{
	return is_bytes(f) ? (unsigned)T_BYTES : types[f->prim];
}

static bool is_repeated(const struct ros_field *f)
{
	return f->array != ROS_ONE && !is_bytes(f);
}

static bool is_packed(const struct ros_field *f)
{
	unsigned t = type_number(f);

	return is_repeated(f) && t != T_MESSAGE && t != T_STRING;
}

/* ---- the descriptor; field numbers are those of google/protobuf/descriptor.proto ---- */

static void put_text(struct pb_writer *w, uint32_t field, const char *s)
{
	pb_string(w, field, s, strlen(s));
}

/* The JSON name as protoc makes it: "frameId" for frame_id. */
static void put_json_name(struct pb_writer *w, const char *name)
{
	char json[PROTO_NAME_MAX];
	size_t n = 0;
	bool up = false;

	for (; *name && n < sizeof(json); name++) {
		if (*name != '_')
			json[n++] = (char)(up && *name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name);
		up = *name == '_';
	}
	pb_string(w, 10, json, n);
}

static void put_field(struct pb_writer *w, const struct proto *p, const struct ros_field *f, uint32_t number)
{
	char path[4 * PROTO_NAME_MAX];

	pb_open(w, 2);
	put_text(w, 1, f->name);
	pb_u64(w, 3, number);
	pb_u64(w, 4, is_repeated(f) ? 3 : 1);
	pb_u64(w, 5, type_number(f));
	if (type_of(f)) {
		snprintf(path, sizeof(path), ".%s.%s.%s", p->package, base_name(p->type->name),
			 nested_of(p, type_of(f))->name);
		put_text(w, 6, path);
	}
	if (is_packed(f)) {
		pb_open(w, 8);
		pb_bool(w, 2, true);
		pb_close(w);
	}
	put_json_name(w, f->name);
	pb_close(w);
}

static void put_fields(struct pb_writer *w, const struct proto *p, const char *name, const struct ros_type *t)
{
	put_text(w, 1, name);
	for (uint32_t i = 0; i < t->n_fields; i++)
		put_field(w, p, &t->fields[i], i + 1);
}

int pb_proto_descriptor(const struct ros_type *t, struct iov_buf *out)
{
	char file[2 * PROTO_NAME_MAX];
	struct pb_writer w;
	struct proto *p;
	int r = proto_make(t, &p);

	if (r)
		return r;
	snprintf(file, sizeof(file), "%s/%s.proto", p->package, base_name(t->name));
	pb_begin(&w, out);
	put_text(&w, 1, file);
	put_text(&w, 2, p->package);
	pb_open(&w, 4);
	put_fields(&w, p, base_name(t->name), t);
	for (unsigned i = 0; i < p->n; i++) {
		pb_open(&w, 3);
		put_fields(&w, p, p->nested[i].name, p->nested[i].type);
		pb_close(&w);
	}
	pb_close(&w);
	free(p);
	return pb_end(&w);
}

/* ---- the text ---- */

/* Prints the constants of a definition; its own lines end before a line of "=". */
static void print_constants(FILE *f, const char *definition, const char *indent)
{
	for (const char *line = definition; *line && strncmp(line, "====", 4) != 0;) {
		size_t n = strcspn(line, "\n"), code = strcspn(line, "#\n");
		const char *equals = memchr(line, '=', code);

		if (equals && equals > line && equals[-1] != '<')
			fprintf(f, "%s// %.*s\n", indent, (int)n, line);
		line += n + (line[n] == '\n');
	}
}

static void print_fields(FILE *f, const struct proto *p, const struct ros_type *t, const char *indent)
{
	print_constants(f, t->definition ? t->definition : "", indent);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct ros_field *one = &t->fields[i];
		const struct ros_type *type = type_of(one);

		fprintf(f, "%s%s %s %s = %u%s;\n", indent, is_repeated(one) ? "repeated" : "optional",
			type ? nested_of(p, type)->name : words[type_number(one)], one->name, i + 1,
			is_packed(one) ? " [packed = true]" : "");
	}
}

static void print_proto(FILE *f, const struct proto *p)
{
	fprintf(f, "syntax = \"proto2\";\npackage %s;\n\nmessage %s {\n", p->package, base_name(p->type->name));
	print_fields(f, p, p->type, "  ");
	for (unsigned i = 0; i < p->n; i++) {
		fprintf(f, "\n  message %s {\n", p->nested[i].name);
		print_fields(f, p, p->nested[i].type, "    ");
		fputs("  }\n", f);
	}
	fputs("}\n", f);
}

int pb_proto_text(const struct ros_type *t, char **ret)
{
	char *text = NULL;
	size_t size;
	struct proto *p;
	FILE *f;
	int r = proto_make(t, &p);

	if (r)
		return r;
	f = open_memstream(&text, &size);
	if (f)
		print_proto(f, p);
	free(p);
	if (!f || fclose(f) != 0) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
	return 0;
}
