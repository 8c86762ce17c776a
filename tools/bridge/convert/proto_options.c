/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a .proto file, with their numbers from google/protobuf/descriptor.proto. */
#include "proto_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct option { /* a known option: its name, its number, and its kind */
	const char *name;
	unsigned number;
	const char *kind; /* "s": string, "b": bool, or "WORD=0 WORD=1": choice */
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
	{ "swift_prefix", 39, "s" },
	{ "php_class_prefix", 40, "s" },
	{ "php_namespace", 41, "s" },
	{ "php_metadata_namespace", 44, "s" },
	{ "ruby_package", 45, "s" },
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
static const struct option service_options[] = { { "deprecated", 33, "b" }, { NULL, 0, NULL } };
static const struct option method_options[] = {
	{ "deprecated", 33, "b" },
	{ "idempotency_level", 34, " IDEMPOTENCY_UNKNOWN=0 NO_SIDE_EFFECTS=1 IDEMPOTENT=2" },
	{ NULL, 0, NULL },
};
static const struct option value_options[] = { { "deprecated", 1, "b" }, { NULL, 0, NULL } };

static const struct option *const options[] = {
	[PROTO_OF_FILE] = file_options,     [PROTO_OF_MESSAGE] = message_options, [PROTO_OF_FIELD] = field_options,
	[PROTO_OF_ENUM] = enum_options,     [PROTO_OF_VALUE] = value_options,     [PROTO_OF_SERVICE] = service_options,
	[PROTO_OF_METHOD] = method_options,
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

void proto_take_option(struct parser *p, const char *name, enum proto_options_of of, struct proto_options *o)
{
	const struct option *known = options[of];
	struct part text, *to = &o->value[o->n];

	while (known->name && strcmp(known->name, name) != 0)
		known++;
	if (!known->name || o->n == PROTO_OPTIONS_MAX)
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

void proto_put_options(struct parser *p, struct part *to, unsigned field, struct proto_options *o)
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

void proto_option_line(struct parser *p, enum proto_options_of of, struct proto_options *o)
{
	char name[128];

	if (proto_is(p, "("))
		proto_fail(p, -EBADMSG, "custom options are not supported");
	proto_expect_name(p, name, sizeof(name));
	proto_expect(p, "=");
	proto_take_option(p, name, of, o);
	proto_expect(p, ";");
}
