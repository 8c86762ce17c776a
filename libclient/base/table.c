/* SPDX-License-Identifier: Apache-2.0 */
/* The hash table, see table.h. Thread: the owner's. */
#include "table.h"

#include <errno.h>
#include <string.h>

#include "mem.h"

#define PLACES_MIN 16u

static uint32_t *marks(const struct table *t)
{
	return (uint32_t *)(void *)(t->at + t->places * t->entry); /* aligned: there are at least 16 entries */
}

static void *entry_at(const struct table *t, uint32_t place)
{
	return t->at + place * t->entry;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

/* Not 0. Its low bits give the entry's home place. */
static uint32_t mark_of(const struct table *t, const void *key)
{
	const char *p = key;
	size_t n = t->hash ? 0 : t->key;
	uint64_t h = t->hash ? mix(0, t->hash(key)) : 0, word = 0;

	for (; n >= sizeof(word); p += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = mix(h, word);
	}
	if (n) {
		word = 0;
		memcpy(&word, p, n);
		h = mix(h, word);
	}
	return (uint32_t)h ? (uint32_t)h : 1;
}

static bool same(const struct table *t, const void *key, const void *other)
{
	if (t->same)
		return t->same(key, other);
	return t->key == sizeof(uint64_t) ? memcmp(key, other, sizeof(uint64_t)) == 0 : memcmp(key, other, t->key) == 0;
}

/* The entry's place, or the free place where it would be. There must be places. */
static uint32_t place_of(const struct table *t, const void *key, uint32_t mark)
{
	const uint32_t *m = marks(t);
	uint32_t i = mark & (t->places - 1);

	while (m[i] && (m[i] != mark || !same(t, key, entry_at(t, i))))
		i = (i + 1) & (t->places - 1);
	return i;
}

void table_finish(struct table *t)
{
	mem_free(t->at);
	t->at = NULL;
	t->n = t->places = 0;
}

void table_clear(struct table *t)
{
	if (t->places)
		memset(marks(t), 0, t->places * sizeof(uint32_t));
	t->n = 0;
}

int table_reserve(struct table *t, uint32_t n)
{
	struct table to = *t;
	uint32_t place;

	for (to.places = t->places ? t->places : PLACES_MIN; to.places / 4 * 3 < n; to.places *= 2)
		if (to.places > UINT32_MAX / 2)
			return -ENOMEM;
	if (to.places == t->places)
		return 0;
	to.at = mem_calloc(to.places, t->entry + sizeof(uint32_t));
	if (!to.at)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->places; i++) {
		if (!marks(t)[i])
			continue;
		place = place_of(&to, entry_at(t, i), marks(t)[i]);
		memcpy(entry_at(&to, place), entry_at(t, i), t->entry);
		marks(&to)[place] = marks(t)[i];
	}
	mem_free(t->at);
	*t = to;
	return 0;
}

void *table_find(const struct table *t, const void *key)
{
	uint32_t place;

	if (!t->n)
		return NULL;
	place = place_of(t, key, mark_of(t, key));
	return marks(t)[place] ? entry_at(t, place) : NULL;
}

int table_add(struct table *t, const void *key, void **ret)
{
	uint32_t mark = mark_of(t, key), place = t->places ? place_of(t, key, mark) : 0;

	if (t->places && marks(t)[place]) {
		*ret = entry_at(t, place);
		return 0;
	}
	if (t->n >= t->places / 4 * 3) {
		if (table_reserve(t, t->n + 1) < 0)
			return -ENOMEM;
		place = place_of(t, key, mark);
	}
	marks(t)[place] = mark;
	*ret = memset(entry_at(t, place), 0, t->entry);
	memcpy(*ret, key, t->key);
	t->n++;
	return 1;
}

void table_remove(struct table *t, void *entry)
{
	uint32_t *m = marks(t), last = t->places - 1, hole = (uint32_t)((size_t)((char *)entry - t->at) / t->entry);

	t->n--;
	for (uint32_t i = (hole + 1) & last; m[i]; i = (i + 1) & last) {
		if (((i - m[i]) & last) < ((i - hole) & last)) /* its home place lies after the hole: it stays */
			continue;
		memcpy(entry_at(t, hole), entry_at(t, i), t->entry);
		m[hole] = m[i];
		hole = i;
	}
	m[hole] = 0;
}

void *table_next(const struct table *t, size_t *at)
{
	while (*at < t->places)
		if (marks(t)[(*at)++])
			return entry_at(t, (uint32_t)(*at - 1));
	return NULL;
}
