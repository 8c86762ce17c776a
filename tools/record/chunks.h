/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a file whose messages lie in chunks that fit into memory: which chunk is loaded when, and the messages of all of
 * them in the order of their log time, equal ones in file order. The format lists its chunks, and loads one when asked.
 * A chunk lies between its times; one that says otherwise gives its messages late. Thread: one's.
 */
#ifndef RECORD_CHUNKS_H
#define RECORD_CHUNKS_H

#include "channels.h"
#include "log_private.h"

struct chunk_item { /* a message of a chunk in memory */
	int64_t time_ns;
	size_t at, size; /* in chunk.data */
	uint32_t channel;
};

struct chunk {
	uint8_t *data;
	size_t size, room;
	struct chunk_item *items;
	size_t n, cap;
	/* the rest belongs to chunks.c */
	size_t next, entry;
};

struct chunk_entry {
	uint64_t offset, size;    /* in the file; what it means is the format's */
	int64_t start_ns, end_ns; /* log times of its messages */
	uint64_t n_messages;
	uint32_t *channels; /* sorted; NULL: not known, so that it is always loaded */
	size_t n_channels;
	uint32_t kind;    /* the format's */
	const char *what; /* not NULL: no chunk, but damage at that offset, which is reported in its place; lasts */
};

struct chunk_reader {
	struct log_reader r; /* first: the format's reader begins with this */
	struct channels channels;
	struct chunk_entry *entries;
	size_t n, cap;
	/* Fills a chunk that is empty: data, items; < 0 with a sentence in r.why, and what there is of it. */
	int (*load)(struct chunk_reader *c, const struct chunk_entry *e, struct chunk *ret);
	/* the rest belongs to chunks.c */
	size_t *order;
	size_t next;         /* of order */
	struct chunk **heap; /* loaded ones, the earliest message at the top */
	size_t n_heap, heap_cap, bytes;
	struct chunk *spare;
	bool has_given; /* the message at the top was given and is borrowed */
	int64_t from_ns;
	bool *want;
	size_t n_want;
};

/* ---- for the format ---- */

void chunk_reader_init(struct chunk_reader *c, const struct log_reader_ops *ops, const struct log_opening *o);
void chunk_reader_finish(struct chunk_reader *c);
/* Takes e->channels, also when it fails. 0 or -ENOMEM. */
int chunk_reader_add(struct chunk_reader *c, const struct chunk_entry *e);
/* Damage, to be reported behind the chunks so far. 0 or -ENOMEM. */
int chunk_reader_damage(struct chunk_reader *c, uint64_t offset, const char *what);
/* All chunks are listed: numbers and times of info. 0 or -ENOMEM. */
int chunk_reader_ready(struct chunk_reader *c);
/* Loads the chunk once, for times, counts and channels that the file does not say: as load() answers. counts: added to the channels. */
int chunk_reader_measure(struct chunk_reader *c, struct chunk_entry *e, bool counts);

/* For load(). 0 or -ENOMEM. */
int chunk_add(struct chunk *k, int64_t time_ns, uint32_t channel, size_t at, size_t size);
int chunk_room(struct chunk *k, size_t size); /* data has room for so many bytes */

/* members of log_reader_ops */
int chunk_reader_select(struct log_reader *r, const bool *want, size_t n);
int chunk_reader_seek(struct log_reader *r, int64_t log_time_ns);
int chunk_reader_next(struct log_reader *r, struct log_message *ret);

#endif
