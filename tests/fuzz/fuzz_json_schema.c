/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON channel of a log: up to the first NUL the name of its schema, up to the second one the schema, and then
 * messages, each up to a NUL. An accepted message is a valid body of its type; a type made from the schema has a schema
 * of its own, from which the same type can be made. Thread: one.
 */
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>

#include "mem.h"
#include "tools/bridge/convert/json_schema.h"
#include "tools/record/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) \
			__builtin_trap(); \
	} while (0)

static void decode(struct codec_in *c, const void *data, size_t size)
{
	static _Alignas(64) uint8_t body[16384];
	struct message_in to = { .buf = body, .room = sizeof(body) };
	const struct log_message m = { .data = data, .size = size };

	if (codec_in_decode(c, &m, &to) != 0)
		return;
	FUZZ_CHECK(sim_msg_check(codec_in_type(c), body, to.size) == 0);
	FUZZ_CHECK(memchr(to.frame, '\0', sizeof(to.frame)));
}

static void again(const struct sim_type *t)
{
	char left_out[JSON_SCHEMA_LEFT_MAX], why[300], *text;
	const struct sim_type *back;

	if (json_schema_text(t, NULL, &text) < 0)
		return;
	FUZZ_CHECK(json_schema_type(t->name, text, strlen(text), &back, left_out, why, sizeof(why)) == 0);
	FUZZ_CHECK(!*left_out && back->n_fields == t->n_fields);
	sim_type_unref(back);
	mem_free(text);
}

/* The next part, NUL-terminated where it is not the last one; *data stands behind it. */
static const uint8_t *part(const uint8_t **data, size_t *size, size_t *ret_len)
{
	const uint8_t *from = *data, *end = memchr(from, '\0', *size);
	size_t used = end ? (size_t)(end - from) + 1 : *size;

	*ret_len = end ? used - 1 : used;
	*data += used;
	*size -= used;
	return from;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct log_channel ch = { .topic = "/a", .message_encoding = "json", .schema_encoding = "jsonschema" };
	const struct sim_type *t;
	char why[700] = "";
	struct codec_in *c;
	size_t len;

	if (!memchr(data, '\0', size))
		return 0;
	ch.schema_name = (const char *)part(&data, &size, &len);
	ch.schema.data = part(&data, &size, &len);
	ch.schema.size = len;
	if (codec_in_create(&ch, &c, why, sizeof(why)) < 0) {
		FUZZ_CHECK(*why);
		return 0;
	}
	t = codec_in_type(c);
	if (!sim_type_builtin(t->name))
		again(t);
	while (size) {
		const uint8_t *m = part(&data, &size, &len);

		decode(c, m, len);
	}
	(void)codec_in_note(c);
	codec_in_destroy(c);
	return 0;
}
