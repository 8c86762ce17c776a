/* SPDX-License-Identifier: Apache-2.0 */
/* Channels of a file, by index and by key. Each is one block of memory, with its texts. Thread: one at a time. */
#include <errno.h>
#include <string.h>

#include "channels.h"
#include "mem.h"
#include "rnd.h"

struct channel_key {
	const void *key; /* points into the channel's block */
	size_t size;
};

struct block { /* a channel's block: metadata pairs, then schema and texts */
	struct log_pair *pair;
	char *at;
};

void channels_finish(struct channels *c)
{
	for (size_t i = 0; i < c->n; i++)
		mem_free((void *)c->list[i].metadata);
	mem_free(c->list);
	table_finish(&c->table);
	*c = (struct channels){ 0 };
}

/* ---- by key ---- */

struct place {
	struct channel_key key;
	uint32_t index;
};

static bool same_key(const void *key, const void *other)
{
	const struct channel_key *a = key, *b = other;

	return a->size == b->size && (!a->size || !memcmp(a->key, b->key, a->size));
}

static uint64_t hash_key(const void *key)
{
	const struct channel_key *k = key;

	return hash64(HASH64_INIT, k->key, k->size);
}

int64_t channels_find(const struct channels *c, const void *key, size_t size)
{
	const struct place *p = table_find(&c->table, &(struct channel_key){ key, size });

	return p ? (int64_t)p->index : -ENOENT;
}

static int grow(struct channels *c)
{
	size_t cap = c->cap ? c->cap * 2 : 16;
	struct log_channel *list = mem_realloc(c->list, cap * sizeof(*list));

	if (!list)
		return -ENOMEM;
	c->list = list;
	c->cap = cap;
	return 0;
}

/* ---- copies ---- */

static const char *text(const char *s)
{
	return s ? s : "";
}

static const void *put_bytes(struct block *b, const void *data, size_t n)
{
	char *at = b->at;

	if (n)
		memcpy(at, data, n);
	b->at += n;
	return at;
}

static const char *put_text(struct block *b, const char *s)
{
	return put_bytes(b, text(s), strlen(text(s)) + 1);
}

static size_t block_size(size_t key, const struct log_channel *ch)
{
	size_t n = ch->n_metadata * sizeof(struct log_pair) + key + ch->schema.size + 4 + strlen(text(ch->topic)) +
		   strlen(text(ch->message_encoding)) + strlen(text(ch->schema_name)) +
		   strlen(text(ch->schema_encoding));

	for (size_t i = 0; i < ch->n_metadata; i++)
		n += strlen(text(ch->metadata[i].key)) + strlen(text(ch->metadata[i].value)) + 2;
	return n;
}

static void fill(struct log_channel *to, struct channel_key *k, struct block b, const void *key, size_t size,
		 const struct log_channel *ch)
{
	struct log_pair *pairs = b.pair;

	for (size_t i = 0; i < ch->n_metadata; i++) {
		pairs[i].key = put_text(&b, ch->metadata[i].key);
		pairs[i].value = put_text(&b, ch->metadata[i].value);
	}
	to->metadata = pairs;
	to->n_metadata = ch->n_metadata;
	to->topic = put_text(&b, ch->topic);
	to->message_encoding = put_text(&b, ch->message_encoding);
	to->schema_name = put_text(&b, ch->schema_name);
	to->schema_encoding = put_text(&b, ch->schema_encoding);
	to->schema.size = ch->schema.size;
	to->schema.data = put_bytes(&b, ch->schema.data, ch->schema.size);
	to->n_messages = ch->n_messages;
	k->key = put_bytes(&b, key, size);
	k->size = size;
}

int64_t channels_add(struct channels *c, const void *key, size_t size, const struct log_channel *ch)
{
	struct channel_key kept;
	struct block b;
	void *place;
	int r;

	if (channels_find(c, key, size) >= 0)
		return -EEXIST;
	if (c->n == CHANNELS_MAX)
		return -ENOSPC;
	if (!c->n)
		c->table = (struct table){ .entry = sizeof(struct place),
					   .key = sizeof(struct channel_key),
					   .same = same_key,
					   .hash = hash_key };
	r = c->n == c->cap ? grow(c) : 0;
	if (r < 0)
		return r;
	b.pair = mem_alloc(block_size(size, ch));
	if (!b.pair)
		return -ENOMEM;
	b.at = (char *)(b.pair + ch->n_metadata);
	c->list[c->n] = (struct log_channel){ .id = (uint32_t)c->n };
	fill(&c->list[c->n], &kept, b, key, size, ch);
	if (table_add(&c->table, &kept, &place) < 0) {
		mem_free(b.pair);
		return -ENOMEM;
	}
	((struct place *)place)->index = (uint32_t)c->n;
	return (int64_t)c->n++;
}

const char *channel_metadata(const struct log_channel *ch, const char *key)
{
	for (size_t i = 0; i < ch->n_metadata; i++)
		if (!strcmp(ch->metadata[i].key, key))
			return ch->metadata[i].value;
	return NULL;
}

bool channel_is_latched(const struct log_channel *ch)
{
	const char *latching = channel_metadata(ch, "latching"), *qos = channel_metadata(ch, "offered_qos_profiles");

	return (latching && strcmp(latching, "1") == 0) ||
	       (qos && (strstr(qos, "durability: transient_local") || strstr(qos, "durability: 1")));
}
