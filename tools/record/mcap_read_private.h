/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of MCAP, in four files: mcap_read.c (order of messages), mcap_scan.c (a file record by record), mcap_index.c (its
 * summary), mcap_load.c (one chunk with what it defines). Thread: as log.h.
 */
#ifndef MCAP_READ_PRIVATE_H
#define MCAP_READ_PRIVATE_H

#include "mcap_private.h"

#define MCAP_WINDOW       ((size_t)64 << 10)
#define MCAP_CHANNELS_MAX 131072u /* ids are of 16 bits; each may be defined again */

enum mcap_entry_kind {
	MCAP_CHUNK,
	MCAP_RUN,    /* schemas, channels and messages outside of chunks, one behind the other */
	MCAP_PART,   /* a chunk that the end of the file cuts off */
	MCAP_DAMAGE, /* nothing: a sentence */
};

/* A part of the file that is read at once. */
struct mcap_entry {
	enum mcap_entry_kind kind;
	uint64_t at, size;   /* in the file */
	uint64_t start, end; /* log times of its messages, as far as they are known */
	const uint8_t *ids;  /* of its channels, every `stride` bytes; NULL: not known */
	uint32_t n_ids;
	uint32_t stride;  /* 2: they are the entry's own; else of the summary */
	const char *what; /* of damage */
};

struct mcap_ref {
	uint64_t time;
	size_t offset; /* of the record in the data */
	uint32_t channel;
};

/* An entry in memory, with those of its messages that are wanted. */
struct mcap_loaded {
	uint32_t entry;
	uint64_t at;   /* of the entry */
	uint8_t *data; /* NULL: freed, and read again when it comes next */
	size_t size;
	struct mcap_ref *refs;
	size_t n, cap, next;
	int error; /* after its messages, with why */
	char why[LOG_WHY_MAX];
};

struct mcap_position { /* of a message: what comes later is greater */
	uint64_t time, at;
	size_t offset;
};

struct mcap_record_at {
	uint64_t at, size;
};

struct mcap_schema {
	struct log_bytes raw;        /* owned */
	const char *name, *encoding; /* in strings */
	char *strings;
	struct log_bytes data;
};

struct mcap_channel { /* beside log_info.channels */
	void *raw;    /* the record's content, to know it again */
	size_t raw_size;
	uint16_t schema;
	bool resolved; /* its schema is known, or it has none */
	struct log_pair *pairs;
	char *strings;
};

struct mcap_reader {
	struct log_reader base;
	size_t budget;           /* bytes of data that overlapping entries may keep */
	uint64_t bad_summary_at; /* a summary whose sum is wrong: named at the end of the messages; 0: none */

	/* what the file has defined */
	struct log_channel *channels;
	struct mcap_channel *own;
	uint32_t *channel_of;           /* by id: index + 1 */
	struct mcap_schema **schema_of; /* by id */
	struct mcap_schema **schemas;
	size_t n_schemas;
	struct log_metadata *metadata;
	struct mcap_record_at *attachments;
	void *attachment; /* content of the last one */
	char *profile, *library;
	bool seen[3]; /* compressions */
	char compression[24];

	/* the file from here on has not been looked at */
	uint64_t scan_at;
	bool scan_done, scan_metadata, told_truncated;
	uint8_t *window;
	uint64_t window_at;
	size_t window_n;

	struct mcap_inflaters inflaters;

	/* entries by start, or in file order */
	struct mcap_entry *entries;
	uint32_t n_entries, cap_entries, next_entry;

	/* order of messages */
	struct mcap_loaded **open; /* a heap by the next message */
	uint32_t n_open, cap_open;
	size_t open_bytes;
	struct mcap_loaded *spent; /* the message that was given last may be in it */
	struct mcap_position last;
	uint8_t *summary; /* ids of entries are in it */
	bool *there;      /* by id, for mcap_read.c's note_ids() */
	bool *want;
	size_t n_want;
};

static inline uint16_t mcap_entry_id(const struct mcap_entry *e, uint32_t i)
{
	return log_u16(e->ids + (size_t)i * e->stride);
}

void mcap_entry_finish(struct mcap_entry *e);

/* mcap_load.c */
bool mcap_wanted(const struct mcap_reader *r, uint32_t channel);
/* Definitions of an id that is there with other content make a new channel. Errors: -ENOMEM, -EBADMSG. */
int mcap_define_schema(struct mcap_reader *r, struct mcap_cursor *c);
int mcap_define_channel(struct mcap_reader *r, struct mcap_cursor *c, char *why, size_t why_size);
int mcap_add_metadata(struct mcap_reader *r, struct mcap_cursor *c);
int mcap_load(struct mcap_reader *r, const struct mcap_entry *e, uint32_t entry, struct mcap_loaded **ret);
int mcap_reload(struct mcap_reader *r, const struct mcap_entry *e, struct mcap_loaded *l);
void mcap_unload(struct mcap_loaded *l);
void mcap_definitions_finish(struct mcap_reader *r);
void mcap_note_compression(struct mcap_reader *r, int compression);

/* mcap_scan.c */
/* The next entry of the file from scan_at on: 1, 0 (the end so far), or -ENOMEM, or an errno of reading. */
int mcap_scan_next(struct mcap_reader *r, struct mcap_entry *ret);
const uint8_t *mcap_window(struct mcap_reader *r, uint64_t at, size_t n); /* NULL: the file ends before that */
int mcap_add_entry(struct mcap_reader *r, const struct mcap_entry *e);
int mcap_room_for_entries(struct mcap_reader *r, uint32_t cap); /* so many in all */
int mcap_add_attachment(struct mcap_reader *r, uint64_t at, uint64_t size);

/* mcap_index.c */
/* 1: the summary tells where all messages are; 0: the file has to be scanned; -ENOMEM. */
int mcap_read_summary(struct mcap_reader *r);

#endif
