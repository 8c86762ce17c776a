/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a message definition: a tree that is whole, or a reason with a line. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "gen/arena.h"
#include "gen/msgdef.h"
#include "msg/typedesc.h"

/* A broken promise stops the run, in the fuzzer and in the replay. */
#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) \
			__builtin_trap(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int lines(const uint8_t *data, size_t size)
{
	int n = 1;

	for (size_t i = 0; i < size; i++)
		n += data[i] == '\n';
	return n;
}

static void check_type(const struct msgdef_type *t)
{
	FUZZ_CHECK((t->prim == MSGDEF_NESTED) == (t->name != NULL));
	FUZZ_CHECK(t->array == MSGDEF_ONE || t->array == MSGDEF_VARIABLE || t->count > 0);
	FUZZ_CHECK(t->prim < MSGDEF_PRIM_END);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct msgdef_error err = { 0 };
	struct arena *arena = arena_create();
	struct msgdef *d = NULL;
	int r = msgdef_parse(arena, "pkg", "Name", (const char *)data, size, &err, &d);

	if (r < 0) {
		FUZZ_CHECK(r == -EINVAL && !d && err.text[0] && err.line >= 1 && err.line <= lines(data, size));
		arena_destroy(arena);
		return 0;
	}
	FUZZ_CHECK(d->n_fields <= TYPEDESC_FIELDS_MAX && d->n_constants <= TYPEDESC_FIELDS_MAX);
	for (uint32_t i = 0; i < d->n_fields; i++) {
		check_type(&d->fields[i].type);
		FUZZ_CHECK(typedesc_ident_ok(d->fields[i].name, strlen(d->fields[i].name)) && d->fields[i].comment);
	}
	for (uint32_t i = 0; i < d->n_constants; i++)
		FUZZ_CHECK(d->constants[i].type.prim != MSGDEF_NESTED && d->constants[i].value && d->constants[i].raw);
	arena_destroy(arena);
	return 0;
}
