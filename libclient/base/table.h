/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash table: entries of one size, found by a key at their beginning. Open addressing with linear probing, at most
 * three quarters full. All zero except `entry` and `key` it is empty and holds no memory:
 *
 *     struct seat { uint64_t id; struct person *who; };
 *     struct table seats = TABLE_OF(struct seat, id);
 *
 * A key is compared byte by byte, so it has no padding; with `same` and `hash` set it may be anything, such as a
 * pointer to a text. An entry's address is valid until the next table_add() that creates one, and the next
 * table_remove().
 *
 * Thread: the owner's. Bounds: code that adds names from a peer checks table.n first.
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
	uint32_t n; /* number of entries */
	/* private */
	uint32_t places; /* a power of 2, or 0 */
	char *at;        /* the entries, followed by the lower half of the hash of each place, 0: free */
};

/* The key must be the first member. */
#define TABLE_OF(type, member) \
	{ \
		.entry = sizeof(type), \
		.key = sizeof(((type *)NULL)->member) + 0 * sizeof(char[offsetof(type, member) ? -1 : 1]) \
	}

void table_finish(struct table *t); /* frees its memory; it is empty again */
void table_clear(struct table *t);  /* empty, but keeps its memory */

/* Makes room for n entries in total: until then table_add() does not fail and moves nothing. 0 or -ENOMEM. */
int table_reserve(struct table *t, uint32_t n) __attribute__((warn_unused_result));

void *table_find(const struct table *t, const void *key); /* NULL: no such entry */

/*
 * Finds an entry or creates one, all zero but the key. Returns 0: it existed, 1: it is new. -ENOMEM: nothing has
 * changed.
 */
int table_add(struct table *t, const void *key, void **ret) __attribute__((warn_unused_result));

/* A later entry may move into its place, so a loop with table_next() decrements its `at`. */
void table_remove(struct table *t, void *entry);

/* for (size_t at = 0; (e = table_next(t, &at));): each entry once, in no order; NULL: no more. */
void *table_next(const struct table *t, size_t *at);

#endif
