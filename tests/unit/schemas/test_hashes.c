/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type hashes are on the wire and in recordings: they may not change unless the definition does. The golden
 * list is tests/unit/schemas/hashes.golden; a type that is meant to change gets a new line there.
 */
#include "support/test.h"

#include <inttypes.h>
#include <string.h>

#include "msg/typedesc.h"
#include "probe/msg/Every.h"
#include "sim/introspect.h"

#define GOLDEN "tests/unit/schemas/hashes.golden"

/* A type, or half a service. */
static const struct sim_type *find(const char *name)
{
	if (strcmp(name, "probe/Every") == 0)
		return &probe_Every_type;
	for (const struct sim_service_type *const *v = sim_service_type_builtins(); *v; v++) {
		if (strcmp((*v)->request->name, name) == 0)
			return (*v)->request;
		if (strcmp((*v)->response->name, name) == 0)
			return (*v)->response;
	}
	return sim_type_builtin(name);
}

TEST(hashes_match_the_golden_file)
{
	FILE *f = fopen(GOLDEN, "re");
	char name[128];
	unsigned n = 0, known = 0, size;
	uint64_t hash;

	assert_non_null(f);
	while (fscanf(f, "%127s %" SCNx64 " %u", name, &hash, &size) == 3) {
		const struct sim_type *t = find(name);

		if (!t)
			fail_msg("%s is in " GOLDEN " but there is no such type", name);
		if (t->hash != hash || t->fixed_size != size)
			fail_msg("%s has changed: %016" PRIx64 " %u", name, t->hash, t->fixed_size);
		n++;
	}
	fclose(f);
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++)
		known++;
	for (const struct sim_service_type *const *v = sim_service_type_builtins(); *v; v++)
		known += 2;
	assert_int_equal(n, known + 1);
}

TEST(each_hash_matches_its_table)
{
	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++) {
		if (typedesc_hash(*t) != (*t)->hash)
			fail_msg("%s: the table and its hash differ", (*t)->name);
		for (const struct sim_type *const *u = sim_type_builtins(); *u != *t; u++)
			assert_true((*u)->hash != (*t)->hash);
	}
}

/* The hash of one field or constant, given in pieces. */
static uint64_t hash_of(const char *name, const struct sim_field *f, const struct sim_constant *c)
{
	struct sim_type t = { .name = name, .fields = f, .constants = c };

	t.n_fields = f ? 1 : 0;
	t.n_constants = c ? 1 : 0;
	return typedesc_hash(&t);
}

TEST(a_hash_covers_the_relevant_parts)
{
	const struct sim_field a = { .name = "x", .kind = SIM_KIND_UINT8, .unit = "m", .comment = "[m] c", .offset = 0 };
	const struct sim_constant k = { .name = "K", .kind = SIM_KIND_UINT8, .value = "1" };
	struct sim_field f = a;
	struct sim_constant c = k;
	uint64_t h = hash_of("p/T", &a, &k);

	f.unit = "", f.comment = "other", f.offset = 8;
	assert_true(hash_of("p/T", &f, &k) == h);
	assert_true(hash_of("p/U", &a, &k) != h);
	assert_true(hash_of("p/T", &a, NULL) != h);
	assert_true(hash_of("p/T", NULL, &k) != h);
	f = a, f.kind = SIM_KIND_INT8;
	assert_true(hash_of("p/T", &f, &k) != h);
	f = a, f.name = "y";
	assert_true(hash_of("p/T", &f, &k) != h);
	f = a, f.array = SIM_ARRAY_VARIABLE;
	assert_true(hash_of("p/T", &f, &k) != h);
	f = a, f.array = SIM_ARRAY_FIXED, f.count = 2;
	assert_true(hash_of("p/T", &f, &k) != h);
	f = a, f.string_max = 2;
	assert_true(hash_of("p/T", &f, &k) != h);
	c.value = "2";
	assert_true(hash_of("p/T", &a, &c) != h);
	c = k, c.name = "L";
	assert_true(hash_of("p/T", &a, &c) != h);
}

TEST(a_hash_covers_nested_types)
{
	struct sim_type in = { .name = "p/In", .hash = 1 };
	const struct sim_field f = { .name = "x", .kind = SIM_KIND_MESSAGE, .type = &in };
	uint64_t h = hash_of("p/T", &f, NULL);

	in.hash = 2;
	assert_true(hash_of("p/T", &f, NULL) != h);
}
