/* SPDX-License-Identifier: Apache-2.0 */
/* Types of any shape, from a number: definitions are written and read as simgen reads them. Thread: the test's. */
#ifndef RANDOM_TYPE_H
#define RANDOM_TYPE_H

#include <stdio.h>
#include <string.h>

#include "gen/typeset.h"
#include "unit/introspect/random_msg.h"

#define RANDOM_TYPES 4 /* T0 nests some of T1..T3, and so on */

struct random_type {
	struct typeset *set;
	char text[RANDOM_TYPES][2048];
	const struct sim_type *type; /* T0 */
};

static inline const char *random_type_source(void *arg, const char *package, const char *name, size_t *ret_len)
{
	struct random_type *t = arg;

	(void)package;
	*ret_len = strlen(t->text[name[1] - '0']);
	return t->text[name[1] - '0'];
}

static inline void random_type_write(uint64_t *seed, int level, char *at, size_t room)
{
	static const char *const kinds[] = {
		"bool",  "int8",   "uint8",   "int16",   "uint16",   "int32",  "uint32",
		"int64", "uint64", "float32", "float64", "duration", "string", "string<=9"
	};
	static const char *const arrays[] = { "", "", "", "[3]", "[<=4]", "[]", "[]" };
	unsigned fields = (unsigned)(random_next(seed) % 7);

	at[0] = '\0';
	for (unsigned i = 0; i < fields; i++) {
		const char *array = arrays[random_next(seed) % 7];
		unsigned kind = (unsigned)(random_next(seed) % 18);
		int nested = level + 1 + (int)(random_next(seed) % 3);
		size_t n = strlen(at);

		if (kind < 14 || nested >= RANDOM_TYPES)
			snprintf(at + n, room - n, "%s%s f%u\n", kinds[kind % 14], array, i);
		else
			snprintf(at + n, room - n, "T%d%s f%u\n", nested, array, i);
	}
}

/* 0, or -1: a test that needs it fails. */
static inline int random_type_make(struct random_type *t, uint64_t *seed)
{
	const struct typeset_entry *e = NULL;

	t->set = typeset_create();
	for (int i = 0; i < RANDOM_TYPES; i++)
		random_type_write(seed, i, t->text[i], sizeof(t->text[i]));
	if (!t->set)
		return -1;
	typeset_source(t->set, random_type_source, t, false);
	if (typeset_take(t->set, "random", "T0", &e) < 0)
		return -1;
	t->type = &e->type;
	return 0;
}

static inline void random_type_finish(struct random_type *t)
{
	typeset_destroy(t->set);
}

#endif
