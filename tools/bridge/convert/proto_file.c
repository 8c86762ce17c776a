/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See proto_file.h. By recursive descent; numbers of fields are those of google/protobuf/descriptor.proto. What a message has of one kind stands
 * together in its descriptor, whatever its order in the file, so each kind is collected in a part of its own.
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

#define OPTIONS_MAX 16u

/* ---- options ---- */

struct option { /* known: the name, its number, and whether it is a text, true or false, or one of words */
	const char *name;
	unsigned number;
	const char *kind; /* "s", "b", or "WORD=0 WORD=1" */
};

static const struct option file_options[] = {
	{ "java_package", 1, "s" },
	{ "java_outer_classname", 8, "s" },
	{ "optimize_for", 9, " SPEED=1 CODE_SIZE=2 LITE_RUNTIME=3" },
	{ "java_multiple_files", 10, "b" },
	{ "go_package", 11, "s" },
	{ "cc_generic_services", 16, "b" },
	{ "java_generic_services", 17, "b" },
	{ "py_generic_services", 18, "b" },
	{ "java_generate_equals_and_hash", 20, "b" },
	{ "deprecated", 23, "b" },
	{ "java_string_check_utf8", 27, "b" },
	{ "cc_enable_arenas", 31, "b" },
	{ "objc_class_prefix", 36, "s" },
	{ "csharp_namespace", 37, "s" },
	{ NULL, 0, NULL },
};
static const struct option message_options[] = { { "deprecated", 3, "b" }, { NULL, 0, NULL } };
static const struct option field_options[] = {
	{ "ctype", 1, " STRING=0 CORD=1 STRING_PIECE=2" },
	{ "packed", 2, "b" },
	{ "deprecated", 3, "b" },
	{ "lazy", 5, "b" },
	{ "jstype", 6, " JS_NORMAL=0 JS_STRING=1 JS_NUMBER=2" },
	{ NULL, 0, NULL },
};
static const struct option enum_options[] = { { "allow_alias", 2, "b" }, { "deprecated", 3, "b" }, { NULL, 0, NULL } };
static const struct option value_options[] = { { "deprecated", 1, "b" }, { NULL, 0, NULL } };

struct options { /* that were given, by their numbers */
	unsigned number[OPTIONS_MAX];
	struct part value[OPTIONS_MAX];
	unsigned n;
};

static int64_t option_word(struct parser *p, const char *words)
{
	char name[64], word[70];
	const char *at;

	proto_expect_name(p, name, sizeof(name));
	snprintf(word, sizeof(word), " %s=", name);
	at = strstr(words, word);
	if (!at)
		proto_fail(p, -EBADMSG, "\"%s\" is none of%s", name, words);
	return at ? at[strlen(word)] - '0' : 0;
}

/* Its value is looked at. */
static void take_option(struct parser *p, const char *name, const struct option *known, struct options *o)
{
	struct part text, *to = &o->value[o->n];

	while (known->name && strcmp(known->name, name) != 0)
		known++;
	if (!known->name || o->n == OPTIONS_MAX)
		proto_fail(p, -EBADMSG, "the option \"%.60s\" is not known here", name);
	if (p->failed)
		return;
	o->number[o->n++] = known->number;
	*to = (struct part){ NULL, 0, 0 };
	if (*known->kind == 's') {
		text = proto_expect_text(p);
		proto_put_bytes(p, to, known->number, text.data, text.n);
		free(text.data);
	} else {
		proto_put_number(p, to, known->number,
				 option_word(p, *known->kind == 'b' ? " false=0 true=1" : known->kind));
	}
}

/* In the order of their numbers, as a field of `to`. */
static void put_options(struct parser *p, struct part *to, unsigned field, struct options *o)
{
	struct part all = { NULL, 0, 0 };

	for (unsigned number = 0; number < 64; number++)
		for (unsigned i = 0; i < o->n; i++)
			if (o->number[i] == number)
				proto_put(p, &all, o->value[i].data, o->value[i].n);
	for (unsigned i = 0; i < o->n; i++)
		free(o->value[i].data);
	if (o->n)
		proto_put_bytes(p, to, field, all.data, all.n);
	o->n = 0;
	free(all.data);
}

/* option NAME = VALUE; */
static void option_line(struct parser *p, const struct option *known, struct options *o)
{
	char name[128];

	if (proto_is(p, "("))
		proto_fail(p, -EBADMSG, "an option of one's own is not read here");
	proto_expect_name(p, name, sizeof(name));
	proto_expect(p, "=");
	take_option(p, name, known, o);
	proto_expect(p, ";");
}

/* ---- names ---- */

static bool known(struct parser *p, const char *name, bool *ret_enum)
{
	*ret_enum = false;
	return !p->ops->find || p->ops->find(p->arg, name, ret_enum);
}

/* As protoc looks for it: from the innermost scope on, by its first part. ret: with the dot before it. */
static bool resolve(struct parser *p, const char *name, char ret[PROTO_NAME_MAX + 2], bool *ret_enum)
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

/* Into the scope of a message or an enum, which is declared. The length to go back to. */
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

enum type { TYPE_DOUBLE = 1, TYPE_FLOAT, TYPE_BOOL = 8, TYPE_STRING, TYPE_MESSAGE = 11, TYPE_BYTES, TYPE_ENUM = 14 };

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
	if (!*ret_type && !p->failed && !resolve(p, name, full, &is_enum))
		proto_fail(p, -EBADMSG, "there is no message or enum \"%.200s\" in it or what it imports", name);
	if (*ret_type || p->failed) {
		proto_put_number(p, o, 5, *ret_type);
		return;
	}
	*ret_type = is_enum ? TYPE_ENUM : TYPE_MESSAGE;
	proto_put_number(p, o, 5, *ret_type);
	proto_put_text(p, o, 6, full);
}

/* What a text is read as, which is a number. */
static double read_back(const char *text)
{
	double v;

	return number_f64(text, &v) < 0 ? (double)NAN : v;
}

/* As protobuf writes them: the fewest digits of two choices that read back. */
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
					   "a default of bytes that are no plain letters is not read here");
		proto_put_bytes(p, o, 7, text.data, text.n);
		free(text.data);
	} else if (type == TYPE_DOUBLE || type == TYPE_FLOAT) {
		real_default(p, o, type == TYPE_FLOAT);
	} else if (type == TYPE_BOOL || type == TYPE_ENUM) {
		proto_expect_name(p, word, sizeof(word));
		proto_put_text(p, o, 7, word);
	} else if (type == TYPE_MESSAGE) {
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
	struct options given = { .n = 0 };
	char name[128];

	if (proto_take(p, "[")) {
		do {
			if (proto_is(p, "("))
				proto_fail(p, -EBADMSG, "an option of one's own is not read here");
			proto_expect_name(p, name, sizeof(name));
			proto_expect(p, "=");
			if (strcmp(name, "default") == 0)
				take_default(p, o, type);
			else
				take_option(p, name, field_options, &given);
		} while (proto_take(p, ","));
		proto_expect(p, "]");
	}
	put_options(p, o, 8, &given);
}

/* From the type on; oneof: its index, or -1. */
static void field(struct parser *p, struct part *to, int label, int oneof)
{
	struct part o = { NULL, 0, 0 }, typed = { NULL, 0, 0 };
	char type[PROTO_NAME_MAX + 1], name[256];
	int code;

	if (proto_is(p, "group"))
		proto_fail(p, -EBADMSG, "a group is not read here");
	proto_expect_path(p, type);
	proto_expect_name(p, name, sizeof(name));
	proto_expect(p, "=");
	proto_put_text(p, &o, 1, name);
	proto_put_number(p, &o, 3, proto_expect_number(p, 1, 536870911));
	proto_put_number(p, &o, 4, label);
	put_type(p, &typed, type, &code);
	proto_put(p, &o, typed.data, typed.n);
	field_brackets(p, &o, code);
	if (oneof >= 0)
		proto_put_number(p, &o, 9, oneof);
	proto_expect(p, ";");
	proto_put_bytes(p, to, 2, o.data, o.n);
	free(o.data);
	free(typed.data);
}

/* ---- what messages have ---- */

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

/* "NavigationPathEntry" of "navigation_path" */
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

/* map<K, V> name = 1; a message of pairs. */
static void map_field(struct parser *p, struct part parts[PARTS])
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

/* 2, 9 to 11, 40 to max; end: what is added to the last one. Names: "foo", "bar". */
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
	struct options given = { .n = 0 };
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
			take_option(p, name, value_options, &given);
		} while (proto_take(p, ","));
		proto_expect(p, "]");
	}
	put_options(p, &o, 3, &given);
	proto_expect(p, ";");
	proto_put_bytes(p, to, 2, o.data, o.n);
	free(o.data);
}

static void enumeration(struct parser *p, struct part *to, unsigned field_number)
{
	struct options given = { .n = 0 };
	struct part parts[PARTS] = { { NULL, 0, 0 } };
	char name[256];
	size_t scope;

	proto_expect_name(p, name, sizeof(name));
	proto_put_text(p, &parts[1], 1, name);
	scope = enter(p, name, true);
	proto_expect(p, "{");
	while (!p->failed && !proto_is(p, "}")) {
		if (proto_take(p, "option"))
			option_line(p, enum_options, &given);
		else if (proto_take(p, "reserved"))
			reserved(p, &parts[4], 4, &parts[5], 5, INT32_MAX, 0);
		else if (!proto_take(p, ";"))
			enum_value(p, &parts[2]);
	}
	proto_expect(p, "}");
	leave(p, scope);
	put_options(p, &parts[3], 3, &given);
	proto_put_parts(p, to, field_number, parts);
}

static void oneof(struct parser *p, struct part parts[PARTS], int index)
{
	struct part o = { NULL, 0, 0 };
	char name[256];

	proto_expect_name(p, name, sizeof(name));
	proto_put_text(p, &o, 1, name);
	proto_put_bytes(p, &parts[8], 8, o.data, o.n);
	free(o.data);
	proto_expect(p, "{");
	while (!p->failed && !proto_is(p, "}"))
		field(p, &parts[2], 1, index);
	proto_expect(p, "}");
}

/* 1 optional, 2 required, 3 repeated. */
static int label(struct parser *p)
{
	static const char *const labels[] = { "optional", "required", "repeated" };

	for (int i = p->proto3 ? 2 : 0; i < 3; i++)
		if (proto_take(p, labels[i]))
			return i + 1;
	if (!p->proto3)
		proto_fail(p, -EBADMSG, "\"optional\", \"required\" or \"repeated\" is expected, not \"%.*s\"",
			   (int)(p->l.len < 40 ? p->l.len : 40), p->l.text);
	return 1;
}

static void message(struct parser *p, struct part *to, unsigned field_number)
{
	struct options given = { .n = 0 };
	struct part parts[PARTS] = { { NULL, 0, 0 } };
	int oneofs = 0;
	char name[256];
	size_t scope;

	proto_expect_name(p, name, sizeof(name));
	proto_put_text(p, &parts[1], 1, name);
	scope = enter(p, name, false);
	proto_expect(p, "{");
	while (!p->failed && !proto_is(p, "}")) {
		if (proto_take(p, "message"))
			message(p, &parts[3], 3);
		else if (proto_take(p, "enum"))
			enumeration(p, &parts[4], 4);
		else if (proto_take(p, "oneof"))
			oneof(p, parts, oneofs++);
		else if (proto_take(p, "map"))
			map_field(p, parts);
		else if (proto_take(p, "option"))
			option_line(p, message_options, &given);
		else if (proto_take(p, "reserved"))
			reserved(p, &parts[9], 9, &parts[10], 10, 536870911, 1);
		else if (proto_take(p, "extensions"))
			reserved(p, &parts[5], 5, NULL, 0, 536870911, 1);
		else if (!proto_take(p, ";"))
			field(p, &parts[2], label(p), -1);
	}
	proto_expect(p, "}");
	leave(p, scope);
	put_options(p, &parts[7], 7, &given);
	proto_put_parts(p, to, field_number, parts);
}

/* ---- the file ---- */

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

/* The index of it goes into a list of those that are public, or weak. */
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

static void declaration(struct parser *p, struct part parts[PARTS], struct options *given, int *imports)
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
		option_line(p, file_options, given);
	else if (proto_take(p, "message"))
		message(p, &parts[4], 4);
	else if (proto_take(p, "enum"))
		enumeration(p, &parts[5], 5);
	else if (!proto_take(p, ";"))
		proto_fail(p, -EBADMSG,
			   "\"%.*s\" is not read here: syntax, import, package, option, message and enum are",
			   (int)(p->l.len < 40 ? p->l.len : 40), p->l.text);
}

int proto_file_describe(const char *name, const char *text, size_t len, const struct proto_ops *ops, void *arg,
			struct iov_buf *out, char *why, size_t why_size)
{
	struct parser p = { .ops = ops, .arg = arg, .name = name, .why = why, .why_size = why_size };
	struct part parts[PARTS] = { { NULL, 0, 0 } }, all = { NULL, 0, 0 };
	struct options given = { .n = 0 };
	int imports = 0;
	void *to;

	proto_lexer_begin(&p.l, text, len);
	if (p.l.token == PROTO_BAD)
		proto_fail(&p, -EBADMSG, "a text or a comment has no end, or there is a character that no word has");
	proto_put_text(&p, &parts[1], 1, name);
	while (!p.failed && p.l.token != PROTO_END)
		declaration(&p, parts, &given, &imports);
	put_options(&p, &parts[8], 8, &given);
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
