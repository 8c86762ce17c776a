/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See proto_file.h. A recursive-descent parser; field numbers are those of google/protobuf/descriptor.proto. A
 * descriptor groups a message's elements by kind, whatever their order in the file, so each kind is collected in a part
 * of its own.
 */
#include "number.h"
#include "proto_private.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static bool known(struct parser *p, const char *name, bool *ret_enum)
{
	*ret_enum = false;
	return !p->ops->find || p->ops->find(p->arg, name, ret_enum);
}

bool proto_resolve(struct parser *p, const char *name, char ret[PROTO_NAME_MAX + 2], bool *ret_enum)
{
	char scope[PROTO_NAME_MAX + 1];
	size_t first = strcspn(name, ".");
	char *dot;
	bool is_enum;

	snprintf(scope, sizeof(scope), "%s", p->scope);
	if (*name == '.') {
		snprintf(ret, PROTO_NAME_MAX + 2, "%s", name);
		return known(p, name + 1, ret_enum);
	}
	for (;;) {
		int n = snprintf(ret, PROTO_NAME_MAX + 2, ".%s%s%.*s", scope, *scope ? "." : "", (int)first, name);

		if (n <= (int)PROTO_NAME_MAX && known(p, ret + 1, &is_enum)) {
			n = snprintf(ret, PROTO_NAME_MAX + 2, ".%s%s%s", scope, *scope ? "." : "", name);
			return n <= (int)PROTO_NAME_MAX && known(p, ret + 1, ret_enum);
		}
		if (!*scope)
			return false;
		dot = strrchr(scope, '.');
		*(dot ? dot : scope) = '\0';
	}
}

void proto_expect_message(struct parser *p, char ret[PROTO_NAME_MAX + 2])
{
	char path[PROTO_NAME_MAX + 1];
	bool is_enum = false;

	*ret = '\0';
	proto_expect_path(p, path);
	if (!p->failed && (!proto_resolve(p, path, ret, &is_enum) || is_enum))
		proto_fail(p, -EBADMSG, "there is no message \"%.200s\" in it or what it imports", path);
}

/* Declares a message or an enum and enters its scope. Returns the length to restore on leaving. */
static size_t enter(struct parser *p, const char *name, bool is_enum)
{
	size_t n = strlen(p->scope);

	if (n + strlen(name) + 2 > PROTO_NAME_MAX || ++p->depth > DEPTH_MAX)
		proto_fail(p, -EBADMSG, "it nests more than %u deep, or a name has more than %u bytes", DEPTH_MAX,
			   PROTO_NAME_MAX);
	if (p->failed)
		return n;
	sprintf(p->scope + n, "%s%s", n ? "." : "", name);
	if (p->ops->declare)
		p->ops->declare(p->arg, p->scope, is_enum, p->l.line);
	return n;
}

static void leave(struct parser *p, size_t scope)
{
	p->scope[scope] = '\0';
	p->depth--;
}

/* ---- fields ---- */

enum type {
	TYPE_DOUBLE = 1,
	TYPE_FLOAT,
	TYPE_BOOL = 8,
	TYPE_STRING,
	TYPE_GROUP,
	TYPE_MESSAGE,
	TYPE_BYTES,
	TYPE_ENUM = 14
};

static int scalar(const char *name)
{
	static const char *const names[] = { "",        "double",   "float",    "int64",  "uint64", "int32", "fixed64",
					     "fixed32", "bool",     "string",   "",       "",       "bytes", "uint32",
					     "",        "sfixed32", "sfixed64", "sint32", "sint64" };

	for (int i = 1; i < (int)(sizeof(names) / sizeof(names[0])); i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return 0;
}

static void put_type(struct parser *p, struct part *o, const char *name, int *ret_type)
{
	char full[PROTO_NAME_MAX + 2];
	bool is_enum = false;

	*ret_type = scalar(name);
	if (!*ret_type && !p->failed && !proto_resolve(p, name, full, &is_enum))
		proto_fail(p, -EBADMSG, "there is no message or enum \"%.200s\" in it or what it imports", name);
	if (*ret_type || p->failed) {
		proto_put_number(p, o, 5, *ret_type);
		return;
	}
	*ret_type = is_enum ? TYPE_ENUM : TYPE_MESSAGE;
	proto_put_number(p, o, 5, *ret_type);
	proto_put_text(p, o, 6, full);
}

/* The value as which a numeric text is read back. */
static double read_back(const char *text)
{
	double v;

	return number_f64(text, &v) < 0 ? (double)NAN : v;
}

/* Writes a default as protobuf does: with the fewer of two numbers of digits that reads back the same. */
static void put_real(struct parser *p, struct part *o, double v, bool is_float)
{
	char text[40];

	if (isnan(v) || isinf(v)) {
		snprintf(text, sizeof(text), "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
	} else if (is_float) {
		snprintf(text, sizeof(text), "%.*g", FLT_DIG, v);
		if ((float)read_back(text) != (float)v)
			snprintf(text, sizeof(text), "%.*g", FLT_DIG + 3, v);
	} else {
		snprintf(text, sizeof(text), "%.*g", DBL_DIG, v);
		if (read_back(text) != v)
			snprintf(text, sizeof(text), "%.*g", DBL_DIG + 2, v);
	}
	proto_put_text(p, o, 7, text);
}

static void real_default(struct parser *p, struct part *o, bool is_float)
{
	bool minus = proto_take(p, "-");
	bool word = proto_is(p, "inf") || proto_is(p, "nan");
	double v = proto_is(p, "inf") ? (double)INFINITY : (double)NAN;
	char text[64];

	snprintf(text, sizeof(text), "%.*s", (int)(p->l.len < 63 ? p->l.len : 63), p->l.text);
	if (!word && (p->l.token != PROTO_NUMBER || number_f64(text, &v) < 0))
		proto_fail(p, -EBADMSG, "a number is expected, not \"%s\"", text);
	else
		proto_next(p);
	v = minus ? -v : v;
	put_real(p, o, is_float ? (double)(float)v : v, is_float);
}

static void whole_default(struct parser *p, struct part *o)
{
	char text[48];
	bool minus = proto_take(p, "-");
	uint64_t v = 0;

	snprintf(text, sizeof(text), "%.*s", (int)(p->l.len < 40 ? p->l.len : 40), p->l.text);
	if (p->l.token != PROTO_NUMBER || number_u64(text, NUMBER_ANY, UINT64_MAX, &v) < 0)
		proto_fail(p, -EBADMSG, "a whole number is expected, not \"%s\"", text);
	else
		proto_next(p);
	snprintf(text, sizeof(text), "%s%" PRIu64, minus ? "-" : "", v);
	proto_put_text(p, o, 7, text);
}

static void take_default(struct parser *p, struct part *o, int type)
{
	char word[256];
	struct part text;

	if (type == TYPE_STRING || type == TYPE_BYTES) {
		text = proto_expect_text(p);
		for (size_t i = 0; type == TYPE_BYTES && i < text.n; i++)
			if (text.data[i] < ' ' || text.data[i] > '~' || strchr("\\'\"", text.data[i]))
				proto_fail(p, -EBADMSG,
					   "a bytes default with other than plain characters is not supported");
		proto_put_bytes(p, o, 7, text.data, text.n);
		free(text.data);
	} else if (type == TYPE_DOUBLE || type == TYPE_FLOAT) {
		real_default(p, o, type == TYPE_FLOAT);
	} else if (type == TYPE_BOOL || type == TYPE_ENUM) {
		proto_expect_name(p, word, sizeof(word));
		proto_put_text(p, o, 7, word);
	} else if (type == TYPE_MESSAGE || type == TYPE_GROUP) {
		if (p->ops->find)
			proto_fail(p, -EBADMSG, "a message has no default");
		proto_next(p);
	} else {
		whole_default(p, o);
	}
}

/* [default = 1, packed = true] */
static void field_brackets(struct parser *p, struct part *o, int type)
{
	struct proto_options given = { .n = 0 };
	char name[128];

	if (proto_take(p, "[")) {
		do {
			if (proto_is(p, "("))
				proto_fail(p, -EBADMSG, "custom options are not supported");
			proto_expect_name(p, name, sizeof(name));
			proto_expect(p, "=");
			if (strcmp(name, "default") == 0)
				take_default(p, o, type);
			else
				proto_take_option(p, name, PROTO_OF_FIELD, &given);
		} while (proto_take(p, ","));
		proto_expect(p, "]");
	}
	proto_put_options(p, o, 8, &given);
}

struct fields {                   /* destination of the fields of a message, or of an extend */
	struct part *to, *nested; /* nested: message types of groups */
	unsigned number, nested_number;
	const char *extendee; /* with the leading dot; NULL: fields of a message */
	/* for proto3: names of all fields and oneofs of the message, and of optional fields; each ends with a NUL */
	struct part names, optional;
	int oneofs, written, optionals; /* oneofs: written ones in total; written: so far */
};

#define LABEL_OPTIONAL 1
#define LABEL_REPEATED 3
#define LABEL_PROTO3   4 /* explicit `optional` in proto3 */

static void message_body(struct parser *p, const char *name, struct part *to, unsigned number);

static void lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text + 32);
}

/* A group declares its own message type. */
static void put_group(struct parser *p, struct part *o, const char *name)
{
	char full[2 * PROTO_NAME_MAX];

	if (*name < 'A' || *name > 'Z')
		proto_fail(p, -EBADMSG, "the name of a group must begin with a capital letter: \"%.100s\"", name);
	snprintf(full, sizeof(full), ".%s%s%s", p->scope, *p->scope ? "." : "", name);
	proto_put_number(p, o, 5, TYPE_GROUP);
	proto_put_text(p, o, 6, full);
}

/* Index of the synthetic oneof of an optional proto3 field, after the written ones; extensions have none (-1). */
static int own_oneof(struct parser *p, struct fields *f, const char *name)
{
	if (f->extendee)
		return -1;
	proto_put(p, &f->optional, name, strlen(name) + 1);
	return f->oneofs + f->optionals++;
}

/* Parses a field from its type on; oneof: its index, or -1. */
static void field(struct parser *p, struct fields *f, int label, int oneof)
{
	struct part o = { NULL, 0, 0 }, typed = { NULL, 0, 0 };
	char type[PROTO_NAME_MAX + 1] = "", group[256] = "", name[256];
	bool is_group = proto_take(p, "group");
	int code = TYPE_GROUP;

	if (!is_group)
		proto_expect_path(p, type);
	proto_expect_name(p, name, sizeof(name));
	if (is_group) {
		snprintf(group, sizeof(group), "%s", name);
		put_group(p, &typed, group);
		lower(name);
	} else {
		put_type(p, &typed, type, &code);
	}
	proto_expect(p, "=");
	proto_put(p, &f->names, name, strlen(name) + 1);
	proto_put_text(p, &o, 1, name);
	if (f->extendee)
		proto_put_text(p, &o, 2, f->extendee);
	proto_put_number(p, &o, 3, proto_expect_number(p, 1, 536870911));
	proto_put_number(p, &o, 4, label == LABEL_PROTO3 ? LABEL_OPTIONAL : label);
	proto_put(p, &o, typed.data, typed.n);
	field_brackets(p, &o, code);
	if (label == LABEL_PROTO3)
		oneof = own_oneof(p, f, name);
	if (oneof >= 0)
		proto_put_number(p, &o, 9, oneof);
	if (label == LABEL_PROTO3)
		proto_put_number(p, &o, 17, 1);
	if (is_group)
		message_body(p, group, f->nested, f->nested_number);
	else
		proto_expect(p, ";");
	proto_put_bytes(p, f->to, f->number, o.data, o.n);
	free(o.data);
	free(typed.data);
}

/* ---- parts of messages ---- */

static void map_half(struct parser *p, struct part *entry, int number, const char *type)
{
	struct part o = { NULL, 0, 0 };
	int code;

	proto_put_text(p, &o, 1, number == 1 ? "key" : "value");
	proto_put_number(p, &o, 3, number);
	proto_put_number(p, &o, 4, 1);
	put_type(p, &o, type, &code);
	proto_put_bytes(p, entry, 2, o.data, o.n);
	free(o.data);
}

/* "NavigationPathEntry" for "navigation_path" */
static void entry_name(const char *field_name, char ret[300])
{
	bool large = true;
	size_t n = 0;

	for (; *field_name && n < 290; field_name++) {
		if (*field_name != '_')
			ret[n++] = large && *field_name >= 'a' && *field_name <= 'z' ? (char)(*field_name - 32)
										     : *field_name;
		large = *field_name == '_';
	}
	memcpy(ret + n, "Entry", 6);
}

/* map<K, V> name = 1; becomes a repeated message of key and value. */
static void map_field(struct parser *p, struct fields *f, struct part parts[PARTS])
{
	char key[PROTO_NAME_MAX + 1], value[PROTO_NAME_MAX + 1], name[256], type[300], full[PROTO_NAME_MAX + 302];
	struct part o = { NULL, 0, 0 }, entry = { NULL, 0, 0 };
	static const uint8_t is_map[] = { 0x38, 1 };
	size_t scope;

	proto_expect(p, "<");
	proto_expect_path(p, key);
	proto_expect(p, ",");
	proto_expect_path(p, value);
	proto_expect(p, ">");
	proto_expect_name(p, name, sizeof(name));
	proto_expect(p, "=");
	entry_name(name, type);
	proto_put(p, &f->names, name, strlen(name) + 1);
	proto_put_text(p, &o, 1, name);
	proto_put_number(p, &o, 3, proto_expect_number(p, 1, 536870911));
	proto_put_number(p, &o, 4, 3);
	proto_put_number(p, &o, 5, TYPE_MESSAGE);
	snprintf(full, sizeof(full), ".%s.%s", p->scope, type);
	proto_put_text(p, &o, 6, full);
	field_brackets(p, &o, TYPE_MESSAGE);
	proto_expect(p, ";");
	proto_put_bytes(p, &parts[2], 2, o.data, o.n);
	proto_put_text(p, &entry, 1, type);
	scope = enter(p, type, false);
	map_half(p, &entry, 1, key);
	map_half(p, &entry, 2, value);
	leave(p, scope);
	proto_put_bytes(p, &entry, 7, is_map, sizeof(is_map));
	proto_put_bytes(p, &parts[3], 3, entry.data, entry.n);
	free(o.data);
	free(entry.data);
}

/* Parses "2, 9 to 11, 40 to max"; end: added to the last number of a range. Or names: "foo", "bar". */
static void reserved(struct parser *p, struct part *ranges, unsigned range, struct part *names, unsigned name,
		     int64_t max, int end)
{
	struct part o;
	int64_t first, last;

	do {
		o = (struct part){ NULL, 0, 0 };
		if (names && p->l.token == PROTO_STRING) {
			o = proto_expect_text(p);
			proto_put_bytes(p, names, name, o.data, o.n);
		} else {
			first = last = proto_expect_number(p, end ? 1 : INT32_MIN, max);
			if (proto_take(p, "to"))
				last = proto_take(p, "max") ? max : proto_expect_number(p, first, max);
			proto_put_number(p, &o, 1, first);
			proto_put_number(p, &o, 2, p->failed ? 0 : last + end);
			proto_put_bytes(p, ranges, range, o.data, o.n);
		}
		free(o.data);
	} while (proto_take(p, ","));
	proto_expect(p, ";");
}

static void enum_value(struct parser *p, struct part *to)
{
	struct proto_options given = { .n = 0 };
	struct part o = { NULL, 0, 0 };
	char name[256];

	proto_expect_name(p, name, sizeof(name));
	proto_expect(p, "=");
	proto_put_text(p, &o, 1, name);
	proto_put_number(p, &o, 2, proto_expect_number(p, INT32_MIN, INT32_MAX));
	if (proto_take(p, "[")) {
		do {
			proto_expect_name(p, name, sizeof(name));
			proto_expect(p, "=");
			proto_take_option(p, name, PROTO_OF_VALUE, &given);
		} while (proto_take(p, ","));
		proto_expect(p, "]");
	}
	proto_put_options(p, &o, 3, &given);
	proto_expect(p, ";");
	proto_put_bytes(p, to, 2, o.data, o.n);
	free(o.data);
}

static void enumeration(struct parser *p, struct part *to, unsigned field_number)
{
	struct proto_options given = { .n = 0 };
	struct part parts[PARTS] = { { NULL, 0, 0 } };
	char name[256];
	size_t scope;

	proto_expect_name(p, name, sizeof(name));
	proto_put_text(p, &parts[1], 1, name);
	scope = enter(p, name, true);
	proto_expect(p, "{");
	while (!p->failed && !proto_is(p, "}")) {
		if (proto_take(p, "option"))
			proto_option_line(p, PROTO_OF_ENUM, &given);
		else if (proto_take(p, "reserved"))
			reserved(p, &parts[4], 4, &parts[5], 5, INT32_MAX, 0);
		else if (!proto_take(p, ";"))
			enum_value(p, &parts[2]);
	}
	proto_expect(p, "}");
	leave(p, scope);
	proto_put_options(p, &parts[3], 3, &given);
	proto_put_parts(p, to, field_number, parts);
}

static void oneof(struct parser *p, struct fields *f, struct part parts[PARTS], int index)
{
	struct part o = { NULL, 0, 0 };
	char name[256];

	proto_expect_name(p, name, sizeof(name));
	proto_put(p, &f->names, name, strlen(name) + 1);
	proto_put_text(p, &o, 1, name);
	proto_put_bytes(p, &parts[8], 8, o.data, o.n);
	free(o.data);
	proto_expect(p, "{");
	while (!p->failed && !proto_is(p, "}"))
		field(p, f, LABEL_OPTIONAL, index);
	proto_expect(p, "}");
}

/* 1 optional, also without a label in proto3; 2 required; 3 repeated; or LABEL_PROTO3. */
static int label(struct parser *p)
{
	if (proto_take(p, "optional"))
		return p->proto3 ? LABEL_PROTO3 : LABEL_OPTIONAL;
	if (proto_take(p, "repeated"))
		return LABEL_REPEATED;
	if (!p->proto3 && proto_take(p, "required"))
		return 2;
	if (!p->proto3)
		proto_fail(p, -EBADMSG, "\"optional\", \"required\" or \"repeated\" is expected, not \"%.*s\"",
			   (int)(p->l.len < 40 ? p->l.len : 40), p->l.text);
	return LABEL_OPTIONAL;
}

/* Counts the oneofs written in the message, whose first token is the current one. */
static int count_oneofs(const struct parser *p)
{
	struct proto_lexer l = p->l;
	bool begins = true;
	unsigned depth = 1;
	int n = 0;

	for (; depth && l.token != PROTO_END && l.token != PROTO_BAD; proto_lexer_next(&l)) {
		n += depth == 1 && begins && proto_lexer_is(&l, "oneof");
		depth += proto_lexer_is(&l, "{");
		depth -= proto_lexer_is(&l, "}");
		begins = proto_lexer_is(&l, "{") || proto_lexer_is(&l, "}") || proto_lexer_is(&l, ";");
	}
	return n;
}

static bool has(const struct part *names, const char *name)
{
	for (size_t i = 0; i < names->n; i += strlen((const char *)names->data + i) + 1)
		if (strcmp((const char *)names->data + i, name) == 0)
			return true;
	return false;
}

/* Writes the synthetic oneofs: "_x" for an optional x, with an X in front for each time that the name is taken. */
static void own_oneofs(struct parser *p, struct fields *f, struct part *to)
{
	struct part o = { NULL, 0, 0 };
	char name[300];

	for (size_t i = 0; i < f->optional.n && !p->failed; i += strlen((char *)f->optional.data + i) + 1) {
		snprintf(name, sizeof(name), "_%s", (char *)f->optional.data + i);
		while (has(&f->names, name) && strlen(name) < sizeof(name) - 1) {
			memmove(name + 1, name, strlen(name) + 1);
			*name = 'X';
		}
		proto_put(p, &f->names, name, strlen(name) + 1);
		o.n = 0;
		proto_put_text(p, &o, 1, name);
		proto_put_bytes(p, to, 8, o.data, o.n);
	}
	free(o.data);
}

/* Parses "extend M { fields }". */
static void extend(struct parser *p, struct fields f)
{
	char full[PROTO_NAME_MAX + 2];

	proto_expect_message(p, full);
	if (p->proto3 && strncmp(full, ".google.protobuf.", 17) != 0)
		proto_fail(p, -EBADMSG, "proto3 extends no messages but those of options");
	f.extendee = full;
	proto_expect(p, "{");
	do
		field(p, &f, label(p), -1);
	while (!p->failed && !proto_is(p, "}"));
	proto_expect(p, "}");
	free(f.names.data);
}

static void message_line(struct parser *p, struct part parts[PARTS], struct fields *f, struct proto_options *given);

static void message_body(struct parser *p, const char *name, struct part *to, unsigned number)
{
	struct proto_options given = { .n = 0 };
	struct part parts[PARTS] = { { NULL, 0, 0 } };
	struct fields f = { .to = &parts[2], .number = 2, .nested = &parts[3], .nested_number = 3 };
	size_t scope;

	proto_put_text(p, &parts[1], 1, name);
	scope = enter(p, name, false);
	proto_expect(p, "{");
	f.oneofs = p->proto3 ? count_oneofs(p) : 0;
	while (!p->failed && !proto_is(p, "}"))
		message_line(p, parts, &f, &given);
	proto_expect(p, "}");
	leave(p, scope);
	own_oneofs(p, &f, &parts[8]);
	free(f.names.data);
	free(f.optional.data);
	proto_put_options(p, &parts[7], 7, &given);
	proto_put_parts(p, to, number, parts);
}

static void message(struct parser *p, struct part *to, unsigned number)
{
	char name[256];

	proto_expect_name(p, name, sizeof(name));
	message_body(p, name, to, number);
}

static void message_line(struct parser *p, struct part parts[PARTS], struct fields *f, struct proto_options *given)
{
	if (proto_take(p, "message"))
		message(p, &parts[3], 3);
	else if (proto_take(p, "enum"))
		enumeration(p, &parts[4], 4);
	else if (proto_take(p, "oneof"))
		oneof(p, f, parts, f->written++);
	else if (proto_take(p, "map"))
		map_field(p, f, parts);
	else if (proto_take(p, "extend"))
		extend(p, (struct fields){ .to = &parts[6], .number = 6, .nested = &parts[3], .nested_number = 3 });
	else if (proto_take(p, "option"))
		proto_option_line(p, PROTO_OF_MESSAGE, given);
	else if (proto_take(p, "reserved"))
		reserved(p, &parts[9], 9, &parts[10], 10, 536870911, 1);
	else if (proto_take(p, "extensions"))
		reserved(p, &parts[5], 5, NULL, 0, 536870911, 1);
	else if (!proto_take(p, ";"))
		field(p, f, label(p), -1);
}

/* ---- file ---- */

static void syntax(struct parser *p)
{
	struct part text;

	proto_expect(p, "=");
	text = proto_expect_text(p);
	p->proto3 = text.n == 6 && memcmp(text.data, "proto3", 6) == 0;
	if (!p->failed && !p->proto3 && (text.n != 6 || memcmp(text.data, "proto2", 6) != 0))
		proto_fail(p, -EBADMSG, "the syntax is neither proto2 nor proto3");
	free(text.data);
	proto_expect(p, ";");
}

/* Parses an import; a public or weak one adds its index to the corresponding list. */
static void import(struct parser *p, struct part parts[PARTS], int index)
{
	unsigned list = proto_take(p, "public") ? 10 : proto_take(p, "weak") ? 11 : 0;
	unsigned line = p->l.line;
	struct part text = proto_expect_text(p);
	char name[PROTO_NAME_MAX + 1];

	proto_put_bytes(p, &parts[3], 3, text.data, text.n);
	if (list)
		proto_put_number(p, &parts[list], list, index);
	if (!p->failed && text.n <= PROTO_NAME_MAX && p->ops->import) {
		snprintf(name, sizeof(name), "%.*s", (int)text.n, text.data ? (const char *)text.data : "");
		p->ops->import(p->arg, name, line);
	}
	free(text.data);
	proto_expect(p, ";");
}

static void declaration(struct parser *p, struct part parts[PARTS], struct proto_options *given, int *imports)
{
	if (proto_take(p, "syntax"))
		syntax(p);
	else if (proto_take(p, "import"))
		import(p, parts, (*imports)++);
	else if (proto_take(p, "package")) {
		proto_expect_path(p, p->scope);
		proto_put_text(p, &parts[2], 2, p->scope);
		proto_expect(p, ";");
	} else if (proto_take(p, "option"))
		proto_option_line(p, PROTO_OF_FILE, given);
	else if (proto_take(p, "message"))
		message(p, &parts[4], 4);
	else if (proto_take(p, "enum"))
		enumeration(p, &parts[5], 5);
	else if (proto_take(p, "service"))
		proto_service(p, &parts[6]);
	else if (proto_take(p, "extend"))
		extend(p, (struct fields){ .to = &parts[7], .number = 7, .nested = &parts[4], .nested_number = 4 });
	else if (!proto_take(p, ";"))
		proto_fail(
			p, -EBADMSG,
			"\"%.*s\" begins nothing: syntax, import, package, option, message, enum, service and extend do",
			(int)(p->l.len < 40 ? p->l.len : 40), p->l.text);
}

int proto_file_describe(const char *name, const char *text, size_t len, const struct proto_ops *ops, void *arg,
			struct iov_buf *out, char *why, size_t why_size)
{
	struct parser p = { .ops = ops, .arg = arg, .name = name, .why = why, .why_size = why_size };
	struct part parts[PARTS] = { { NULL, 0, 0 } }, all = { NULL, 0, 0 };
	struct proto_options given = { .n = 0 };
	int imports = 0;
	void *to;

	proto_lexer_begin(&p.l, text, len);
	if (p.l.token == PROTO_BAD)
		proto_fail(&p, -EBADMSG, "a string or comment is not closed, or a character is invalid");
	proto_put_text(&p, &parts[1], 1, name);
	while (!p.failed && p.l.token != PROTO_END)
		declaration(&p, parts, &given, &imports);
	proto_put_options(&p, &parts[8], 8, &given);
	if (p.proto3)
		proto_put_text(&p, &parts[12], 12, "proto3");
	proto_put_parts(&p, &all, 0, parts);
	to = p.failed ? NULL : iov_buf_room(out, all.n);
	if (to)
		memcpy(to, all.data, all.n);
	else
		proto_fail(&p, -ENOMEM, "no memory");
	free(all.data);
	return p.failed ? p.error : 0;
}
