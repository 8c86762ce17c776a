/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a recording: channels and encoding in recording.c, files in recording_file.c, the ring in recording_ring.c, times of lock-step in recording_step.c. */
#ifndef RECORDING_PRIVATE_H
#define RECORDING_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "list.h"
#include "recording.h"

#define RECORDING_INDEX_BYTES \
	((uint64_t)4 << 20) /* index memory at which a new file begins; lasts some hours with a flush each second */
#define RECORDING_CHUNK_BYTES ((size_t)4 << 20) /* default, unless files are small */

struct recording_message { /* one encoder of its channel; reused */
	struct recording_message *next;
	struct codec_out *codec;
	struct iov_buf out;
	unsigned id;
	uint32_t sequence, publisher_id;
	bool latched;
	int64_t stamp_ns;
	uint64_t copied; /* part of out.copied that is in recording.copied already */
};

struct recording_count {
	uint64_t recorded, lost;
	uint64_t repeated; /* latched messages repeated at the beginning of a file, not counted as recorded */
};

struct recording_channel {
	char name[SIM_CHANNEL_MAX + 1];
	char topic[SIM_CHANNEL_MAX + 12]; /* topic in the files, see recording_topic(); "": not chosen yet */
	const struct sim_type *type;
	struct codec_out *codec;         /* describes the channel in a file; encodes no messages */
	struct recording_message *spare; /* unused encoders */
	/* all: since recording_create(); due: since the last metadata with the channel */
	struct recording_count all, due;
	uint64_t accepted, bytes;
	struct ring_entry *latched; /* the last message of each latching publisher, in order of arrival */
	bool said;                  /* the reason for a loss has been reported */
	unsigned number;            /* of the file that has it as log_id; 0: no file */
	uint32_t log_id;
	uint64_t in_file; /* messages in that file */
};

/* A copied message: in the window, then maybe in the ring. */
struct ring_entry {
	struct ring_entry *next; /* next in the ring */
	struct list by_time;     /* in: recording::by_time */
	struct list by_arrival;  /* in: recording::by_arrival */
	int64_t arrived_mono_ns;
	unsigned id;
	uint32_t sequence, publisher_id;
	bool latched;
	int64_t log_time_ns, stamp_ns;
	int64_t mono_ns;     /* time of publishing */
	uint32_t generation; /* of the clock; 0: unknown, like mono_ns */
	size_t size;
	uint8_t data[];
};

struct left_out {
	char *name, *why;
	bool now, due; /* now: still left out; due: to be written in the next metadata */
};

/*
 * State of lock-step: time of the last publishing, newest stamp, and newest stamp of the earlier steps. All simulated
 * time.
 */
struct recording_step {
	int64_t published_ns, newest_ns, before_ns;
	uint32_t generation;
};

struct recording {
	struct recording_options o;
	struct log_pair *about; /* copy of o.about */
	char *stem;
	struct log_write_options write;
	pthread_mutex_t lock; /* guards all below, except an encoder that is in use by a thread */
	struct recording_channel **channels;
	unsigned n_channels;
	struct left_out *left_out; /* channels that are or were left out */
	unsigned n_left_out;

	struct log_writer *w; /* NULL: no file is open */
	unsigned number;      /* of the last file; 0: no file yet */
	unsigned serial;      /* counts the files that were begun */
	char path[RECORDING_PATH_SIZE];
	uint64_t file_messages;
	/* log times in the file: of the first message, the highest, at the last flush */
	int64_t first_ns, last_ns, flushed_ns;
	int64_t last_mono_ns;   /* publishing of the file's latest published message */
	uint32_t generation;    /* of the clock, at its last message; 0: unknown */
	uint64_t too_large;     /* size of a message that no file can take; 0: unknown */
	int64_t looked_mono_ns; /* last check of the file's name */
	int64_t try_dur_ns;     /* the last pause before a retry */
	int64_t try_mono_ns;    /* no retry before that time */
	int error;              /* negative errno: why no file is open */
	bool paused, ring_only;
	struct recording_step step;

	struct list by_time, by_arrival; /* the window */
	uint64_t n_window, window_bytes;
	size_t latched_bytes, latched_most;

	struct ring_entry *oldest, *newest;
	uint64_t n_ring, ring_bytes;
	uint64_t dump_left; /* messages of the ring still to be written */
	int dump_error;     /* the first error */
	bool dumping, dump_goes_on;

	uint64_t messages, lost, closed_bytes, copied;
	unsigned files, failures;
};

void recording_say(struct recording *s, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

int64_t recording_now(const struct recording *s); /* CLOCK_MONOTONIC */

/* The caller holds the lock for all that follows. */
int recording_file_open(struct recording *s, char *why, size_t why_size);
int recording_file_close(struct recording *s, char *why, size_t why_size);
int recording_file_flush(struct recording *s);
int recording_file_put(struct recording *s, const struct ring_entry *head, const struct iovec *pieces, int n);
void recording_count_lost(struct recording *s, unsigned id, uint64_t n); /* counts lost, but not accepted */
/* A copy with the given head; NULL: out of memory. Called without the lock. */
struct ring_entry *recording_entry_new(const struct ring_entry *head, const struct iovec *pieces, int n);
/* Takes over e, also on failure. */
int recording_ring_put(struct recording *s, struct ring_entry *e);
/* Takes over e. Returns 0, or the first error of the messages written, each of which is counted. */
int recording_window_put(struct recording *s, struct ring_entry *e);
int recording_window_before(struct recording *s, int64_t mono_ns); /* writes messages published before mono_ns */
int recording_window_expire(struct recording *s);                  /* writes messages that have waited long enough */
int recording_window_empty(struct recording *s);                   /* writes all */
/*
 * Writes a message without counting it as recorded; adds the channel to the file if needed. Errors as log_writer_put().
 */
int recording_file_write(struct recording *s, struct recording_channel *c, const struct ring_entry *h,
			 int64_t log_time_ns, const struct iovec *pieces, int n);
/* Log time of a message published in lock-step. */
int64_t recording_step_time(struct recording *s, int64_t stamp_ns, const struct recording_moment *at);
/* The channel's topic in the files; chosen at the first call. */
const char *recording_topic(struct recording *s, struct recording_channel *c);
/* Keeps a message that was written, or dropped from the ring, if its publisher latches. */
void recording_latched_keep(struct recording *s, const struct ring_entry *h, const struct iovec *pieces, int n);
/* Writes all kept messages with that log time, before h, the first message of a file. */
int recording_latched_write(struct recording *s, const struct ring_entry *h, int64_t log_time_ns);
void recording_latched_clear(struct recording *s, struct recording_channel *c);
void recording_left_out_write(struct recording *s); /* at the end of a file; what has no room goes into the next one */
void recording_left_out_clear(struct recording *s);
void recording_window_clear(struct recording *s);
/* into the ring or the file; takes over and counts e */
int recording_deliver(struct recording *s, struct ring_entry *e);
void recording_ring_clear(struct recording *s);
struct ring_entry *recording_ring_take(struct recording *s); /* the oldest; the caller frees it; NULL: empty */
void recording_ring_write(struct recording *s,
			  uint64_t bytes); /* while dumping: writes the oldest messages, about that many bytes */

#endif
