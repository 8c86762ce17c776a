/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files whose messages lie in chunks that fit into memory: decides which chunk is loaded when, and merges their
 * messages by log time, equal ones in file order. The format lists its chunks, and loads one on demand. A message
 * outside of its chunk's stated times comes late. Thread: one at a time.
 */
#ifndef RECORD_CHUNKS_H
#define RECORD_CHUNKS_H

#include "channels.h"
#include "log_private.h"

struct chunk_item { /* a message of a loaded chunk */
	int64_t time_ns;
	size_t at, size; /* in chunk.data */
	uint32_t channel;
};

struct chunk {
	uint8_t *data;
	size_t size, room;
	struct chunk_item *items;
	size_t n, cap;
	/* private to chunks.c */
	size_t next, entry;
};

struct chunk_entry {
	uint64_t offset, size;    /* position in the file; interpreted by the format */
	int64_t start_ns, end_ns; /* log times of its messages */
	uint64_t n_messages;
	uint32_t *channels; /* sorted; NULL: unknown, so the chunk is always loaded */
	size_t n_channels;
	uint32_t kind;    /* for the format */
	const char *what; /* not NULL: not a chunk, but damage at that offset, reported in its place; static */
};

struct chunk_reader {
	struct log_reader r; /* must be first, as the reader of each format */
	struct channels channels;
	struct chunk_entry *entries;
	size_t n, cap;
	/*
	 * Loads a chunk into an empty `ret`: data and items. < 0: the reason is in r.why, and ret holds what could be
	 * read.
	 */
	int (*load)(struct chunk_reader *c, const struct chunk_entry *e, struct chunk *ret);
	/* the rest is private to chunks.c */
	size_t *order;
	size_t next;         /* index in order */
	struct chunk **heap; /* loaded chunks; the one with the earliest message is at the top */
	size_t n_heap, heap_cap, bytes;
	struct chunk *spare;
	bool has_given; /* the message at the top has been returned, and is still borrowed */
	int64_t from_ns;
	bool *want;
	size_t n_want;
};

/* ---- for the format ---- */

void chunk_reader_init(struct chunk_reader *c, const struct log_reader_ops *ops, const struct log_opening *o);
void chunk_reader_finish(struct chunk_reader *c);
/* Takes over e->channels, also on failure. 0 or -ENOMEM. */
int chunk_reader_add(struct chunk_reader *c, const struct chunk_entry *e);
/* Adds damage, to be reported after the chunks so far. 0 or -ENOMEM. */
int chunk_reader_damage(struct chunk_reader *c, uint64_t offset, const char *what);
/* Call when all chunks are added: computes numbers and times of info. 0 or -ENOMEM. */
int chunk_reader_ready(struct chunk_reader *c);
/*
 * Loads the chunk once to find times, counts and channels that the file does not state. Returns as load(). counts: adds
 * to the channels' n_messages.
 */
int chunk_reader_measure(struct chunk_reader *c, struct chunk_entry *e, bool counts);

/* For use in load(). 0 or -ENOMEM. */
int chunk_add(struct chunk *k, int64_t time_ns, uint32_t channel, size_t at, size_t size);
int chunk_room(struct chunk *k, size_t size); /* gives data room for `size` bytes */

/* members of log_reader_ops */
int chunk_reader_select(struct log_reader *r, const bool *want, size_t n);
int chunk_reader_seek(struct log_reader *r, int64_t log_time_ns);
int chunk_reader_next(struct log_reader *r, struct log_message *ret);

#endif
