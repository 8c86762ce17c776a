/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash table: entries of one size, found by a key that they begin with. Open addressing with linear probing, three quarters
 * full at most. All zero but `entry` and `key` it is empty and holds no memory:
 *
 *     struct seat { uint64_t id; struct person *who; };
 *     struct table seats = TABLE_OF(struct seat, id);
 *
 * A key is compared byte by byte, so it has no padding; with `same` and `hash` set it may be anything, such as a pointer to a text.
 * Where an entry lies holds until the next table_add() that makes one, and the next table_remove().
 *
 * Thread: the owner's. Bounds: whoever adds what a peer names asks table.n first.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
	size_t entry, key; /* bytes of an entry, and of its key */
	bool (*same)(const void *key, const void *other);
	uint64_t (*hash)(const void *key);
	uint32_t n; /* entries */
	/* the table's own */
	uint32_t places; /* a power of 2, or 0 */
	char *at;        /* entries; behind them of each place the lower half of its hash, 0: it is free */
};

/* The member comes first. */
#define TABLE_OF(type, member) \
	{ \
		.entry = sizeof(type), \
		.key = sizeof(((type *)NULL)->member) + 0 * sizeof(char[offsetof(type, member) ? -1 : 1]) \
	}

void table_finish(struct table *t); /* empty again, without memory */
void table_clear(struct table *t);  /* keeps its memory */

/* Room for n entries in all: until there are so many, table_add() does not fail and moves nothing. 0 or -ENOMEM. */
int table_reserve(struct table *t, uint32_t n) __attribute__((warn_unused_result));

void *table_find(const struct table *t, const void *key); /* NULL: there is none */

/* Finds it or makes one, all zero but the key: 0: it was there, 1: it is new. -ENOMEM: nothing has changed. */
int table_add(struct table *t, const void *key, void **ret) __attribute__((warn_unused_result));

/* An entry behind it may move into its place, so a loop with table_next() steps its `at` back by one. */
void table_remove(struct table *t, void *entry);

/* for (size_t at = 0; (e = table_next(t, &at));): each entry once, in no order; NULL: that was all. */
void *table_next(const struct table *t, size_t *at);

#endif
