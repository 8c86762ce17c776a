/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of MCAP, in four files: mcap_read.c (order of messages), mcap_scan.c (reads a file record by record),
 * mcap_index.c (reads its summary), mcap_load.c (loads a chunk and its definitions). Thread: as log.h.
 */
#ifndef MCAP_READ_PRIVATE_H
#define MCAP_READ_PRIVATE_H

#include "mcap_private.h"

#define MCAP_WINDOW       ((size_t)64 << 10)
#define MCAP_CHANNELS_MAX 131072u /* ids have 16 bits, and each may be redefined */

enum mcap_entry_kind {
	MCAP_CHUNK,
	MCAP_RUN,    /* consecutive schemas, channels and messages outside of chunks */
	MCAP_PART,   /* a chunk truncated by the end of the file */
	MCAP_DAMAGE, /* no content: a report of damage */
};

/* A part of the file that is loaded as a whole. */
struct mcap_entry {
	enum mcap_entry_kind kind;
	uint64_t at, size;   /* position in the file */
	uint64_t start, end; /* log times of its messages, as far as known */
	const uint8_t *ids;  /* ids of its channels, every `stride` bytes; NULL: unknown */
	uint32_t n_ids;
	uint32_t stride;  /* 2: ids are owned; else they point into the summary */
	const char *what; /* the damage */
};

struct mcap_ref {
	uint64_t time;
	size_t offset; /* of the record, in data */
	uint32_t channel;
};

/* A loaded entry, with its wanted messages. */
struct mcap_loaded {
	uint32_t entry;
	uint64_t at;   /* the entry's position */
	uint8_t *data; /* NULL: freed, and loaded again when needed */
	size_t size;
	struct mcap_ref *refs;
	size_t n, cap, next;
	int error; /* reported after its messages, with why */
	char why[LOG_WHY_MAX];
};

struct mcap_position { /* place of a message in the order; later ones are greater */
	uint64_t time, at;
	size_t offset;
};

struct mcap_record_at {
	uint64_t at, size;
};

struct mcap_schema {
	struct log_bytes raw;        /* owned */
	const char *name, *encoding; /* point into strings */
	char *strings;
	struct log_bytes data;
};

struct mcap_channel { /* extends log_info.channels */
	void *raw;    /* content of its record, to recognize a repetition */
	size_t raw_size;
	uint16_t schema;
	bool resolved; /* its schema is known, or it has no schema */
	struct log_pair *pairs;
	char *strings;
};

struct mcap_reader {
	struct log_reader base;
	size_t budget;           /* memory for data of overlapping entries */
	uint64_t bad_summary_at; /* a summary with a wrong checksum, reported after the messages; 0: none */

	/* definitions in the file */
	struct log_channel *channels;
	struct mcap_channel *own;
	uint32_t *channel_of;           /* index + 1, by id */
	struct mcap_schema **schema_of; /* by id */
	struct mcap_schema **schemas;
	size_t n_schemas;
	struct log_metadata *metadata;
	struct mcap_record_at *attachments;
	void *attachment; /* content of the attachment read last */
	char *profile, *library;
	bool seen[3]; /* compressions in use */
	char compression[24];

	/* progress of the scan */
	uint64_t scan_at;
	bool scan_done, scan_metadata, told_truncated;
	uint8_t *window;
	uint64_t window_at;
	size_t window_n;

	struct mcap_inflaters inflaters;

	/* sorted by start, or in file order */
	struct mcap_entry *entries;
	uint32_t n_entries, cap_entries, next_entry;

	/* merging */
	struct mcap_loaded **open; /* heap, by the next message */
	uint32_t n_open, cap_open;
	size_t open_bytes;
	struct mcap_loaded *spent; /* finished entry; may hold the message returned last */
	struct mcap_position last;
	uint8_t *summary; /* entries' ids may point into it */
	bool *there;      /* by id; scratch for mcap_read.c's note_ids() */
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
/* A definition of a known id with other content makes a new channel. Errors: -ENOMEM, -EBADMSG. */
int mcap_define_schema(struct mcap_reader *r, struct mcap_cursor *c);
int mcap_define_channel(struct mcap_reader *r, struct mcap_cursor *c, char *why, size_t why_size);
int mcap_add_metadata(struct mcap_reader *r, struct mcap_cursor *c);
int mcap_load(struct mcap_reader *r, const struct mcap_entry *e, uint32_t entry, struct mcap_loaded **ret);
int mcap_reload(struct mcap_reader *r, const struct mcap_entry *e, struct mcap_loaded *l);
void mcap_unload(struct mcap_loaded *l);
void mcap_definitions_finish(struct mcap_reader *r);
void mcap_note_compression(struct mcap_reader *r, int compression);

/* mcap_scan.c */
/* Finds the next entry from scan_at on. 1; 0: the end so far; -ENOMEM or an errno of reading. */
int mcap_scan_next(struct mcap_reader *r, struct mcap_entry *ret);
const uint8_t *mcap_window(struct mcap_reader *r, uint64_t at, size_t n); /* NULL: the file ends before at + n */
int mcap_add_entry(struct mcap_reader *r, const struct mcap_entry *e);
int mcap_room_for_entries(struct mcap_reader *r, uint32_t cap); /* room for `cap` entries in all */
int mcap_add_attachment(struct mcap_reader *r, uint64_t at, uint64_t size);

/* mcap_index.c */
/* 1: the summary states where all messages are; 0: the file must be scanned; -ENOMEM. */
int mcap_read_summary(struct mcap_reader *r);

#endif
