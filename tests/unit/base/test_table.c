/* SPDX-License-Identifier: Apache-2.0 */
/* table.h, held against an array that is searched from end to end. Thread: one. */
#include "tests/support/test.h"

#include "mem.h"
#include "rnd.h"
#include "table.h"

#include <errno.h>
#include <string.h>

struct pair {
	uint64_t key;
	uint32_t value;
};

static struct pair *put(struct table *t, uint64_t key, uint32_t value, int expected)
{
	void *e;

	assert_int_equal(table_add(t, &key, &e), expected);
	((struct pair *)e)->value = value;
	return e;
}

TEST(added_entries_are_found)
{
	struct table t = TABLE_OF(struct pair, key);
	uint64_t key = 0;
	struct pair *e;

	assert_null(table_find(&t, &key));
	assert_int_equal(put(&t, 0, 5, 1)->key, 0); /* a key of zeros is one */
	assert_int_equal(put(&t, UINT64_MAX, 6, 1)->key, UINT64_MAX);
	e = table_find(&t, &key);
	assert_non_null(e);
	assert_int_equal(e->value, 5);
	put(&t, 0, 7, 0);
	assert_int_equal(t.n, 2);
	table_remove(&t, table_find(&t, &key));
	assert_null(table_find(&t, &key));
	assert_int_equal(t.n, 1);
	assert_int_equal(put(&t, 0, 0, 1)->value, 0);
	table_clear(&t);
	assert_int_equal(t.n, 0);
	assert_null(table_find(&t, &key));
	assert_null(table_next(&t, &(size_t){ 0 }));
	table_finish(&t);
	table_finish(&t);
}

/* A new entry is zero behind its key, also where an old one was before. */
TEST(a_new_entry_is_zeros)
{
	struct table t = TABLE_OF(struct pair, key);
	void *e;

	for (uint64_t key = 0; key < 12; key++)
		put(&t, key, 77, 1);
	table_clear(&t);
	for (uint64_t key = 0; key < 12; key++) {
		assert_int_equal(table_add(&t, &key, &e), 1);
		assert_int_equal(((struct pair *)e)->value, 0);
	}
	table_finish(&t);
}

TEST(reserved_entries_neither_fail_nor_move)
{
	struct table t = TABLE_OF(struct pair, key);
	struct pair *first;

	assert_int_equal(table_reserve(&t, 1000), 0);
	mem_fail_after(1);
	first = put(&t, 0, 1, 1);
	for (uint64_t key = 1; key < 1000; key++)
		put(&t, key, 1, 1);
	assert_int_equal(table_reserve(&t, 1000), 0);
	assert_ptr_equal(table_find(&t, &(uint64_t){ 0 }), first);
	mem_fail_after(0);
	table_finish(&t);
}

TEST(a_failed_allocation_changes_nothing)
{
	struct table t = TABLE_OF(struct pair, key);
	uint64_t key = 12;
	void *e = &t;

	mem_fail_after(1);
	assert_int_equal(table_add(&t, &key, &e), -ENOMEM);
	mem_fail_after(0);
	for (key = 0; key < 12; key++)
		put(&t, key, (uint32_t)key, 1);
	mem_fail_after(1);
	assert_int_equal(table_add(&t, &key, &e), -ENOMEM);
	assert_int_equal(table_reserve(&t, UINT32_MAX), -ENOMEM);
	mem_fail_after(0);
	assert_ptr_equal(e, &t);
	assert_int_equal(t.n, 12);
	for (key = 0; key < 12; key++)
		assert_int_equal(((struct pair *)table_find(&t, &key))->value, key);
	put(&t, key, 12, 1);
	table_finish(&t);
}

/* ---- keys of one's own ---- */

struct word {
	const char *text;
	int n;
};

static bool same_text(const void *key, const void *other)
{
	return strcmp(*(const char *const *)key, *(const char *const *)other) == 0;
}

static uint64_t hash_text(const void *key)
{
	return strlen(*(const char *const *)key); /* bad on purpose */
}

TEST(keys_may_be_strings)
{
	struct table t = {
		.entry = sizeof(struct word), .key = sizeof(const char *), .same = same_text, .hash = hash_text
	};
	char texts[100][4];
	void *e;

	for (int i = 0; i < 100; i++) {
		const char *text = texts[i];

		snprintf(texts[i], sizeof(texts[i]), "%d", i);
		assert_int_equal(table_add(&t, &text, &e), 1);
		((struct word *)e)->n = i;
	}
	for (int i = 0; i < 100; i++) {
		char other[4];
		const char *text = other;

		snprintf(other, sizeof(other), "%d", i);
		assert_int_equal(table_add(&t, &text, &e), 0);
		assert_int_equal(((struct word *)e)->n, i);
	}
	table_finish(&t);
}

/* ---- against a model ---- */

#define MODEL_MAX 400

struct model {
	struct {
		uint32_t key;
		uint16_t value;
	} at[MODEL_MAX];
	unsigned n;
};

struct small { /* 6 bytes of 8: its hash is bad when the test says so */
	uint32_t key;
	uint16_t value;
};

static int in_model(const struct model *m, uint32_t key)
{
	for (unsigned i = 0; i < m->n; i++)
		if (m->at[i].key == key)
			return (int)i;
	return -1;
}

static uint64_t few(const void *key)
{
	return *(const uint32_t *)key % 3;
}

static void check_walk(const struct table *t, const struct model *m)
{
	bool seen[MODEL_MAX] = { false };
	const struct small *e;
	unsigned n = 0;

	for (size_t at = 0; (e = table_next(t, &at)); n++) {
		int i = in_model(m, e->key);

		assert_true(i >= 0 && !seen[i] && m->at[i].value == e->value);
		seen[i] = true;
	}
	assert_int_equal(n, m->n);
	assert_int_equal(t->n, m->n);
}

/* Removes all items selected by `goes` while walking. */
static void remove_some(struct table *t, struct model *m, uint32_t of)
{
	struct small *e;

	for (size_t at = 0; (e = table_next(t, &at));) {
		int i = in_model(m, e->key);

		assert_true(i >= 0);
		if (e->key % of)
			continue;
		m->at[i] = m->at[--m->n];
		table_remove(t, e);
		at--;
	}
	for (unsigned i = 0; i < m->n; i++)
		assert_true(m->at[i].key % of);
}

static void step(struct table *t, struct model *m, struct rnd *rnd, uint32_t keys)
{
	uint32_t key = rnd_below(rnd, keys), what = rnd_below(rnd, 1000);
	struct small *found = table_find(t, &key);
	int i = in_model(m, key);
	void *e;

	assert_true(found ? i >= 0 && found->key == key && found->value == m->at[i].value : i < 0);
	if (what < 550 && (i >= 0 || m->n < MODEL_MAX)) {
		assert_int_equal(table_add(t, &key, &e), i < 0);
		if (i < 0)
			m->at[i = (int)m->n++].key = key;
		m->at[i].value = ((struct small *)e)->value = (uint16_t)rnd_u64(rnd);
	} else if (what < 990 && found) {
		table_remove(t, found);
		m->at[i] = m->at[--m->n];
	} else if (what >= 998) {
		remove_some(t, m, 2 + rnd_below(rnd, 5));
	} else if (what == 997) {
		table_clear(t);
		m->n = 0;
	}
}

TEST(a_table_behaves_like_an_array)
{
	struct rnd rnd;

	rnd_seed(&rnd, test_seed(11));
	for (unsigned round = 0; round < 40; round++) {
		struct table t = TABLE_OF(struct small, key);
		uint32_t keys = 1 + rnd_below(&rnd, 2 * MODEL_MAX);
		struct model m = { .n = 0 };

		t.hash = round % 4 ? NULL : few; /* all in three heaps, which wrap around */
		for (unsigned i = 0; i < 3000; i++) {
			step(&t, &m, &rnd, keys);
			if (i % 50 == 0)
				check_walk(&t, &m);
		}
		check_walk(&t, &m);
		table_finish(&t);
	}
}
