/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a recording: channels and encoding in recording.c, files in recording_file.c, the ring in recording_ring.c, times of lock-step in recording_step.c. */
#ifndef RECORDING_PRIVATE_H
#define RECORDING_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "list.h"
#include "recording.h"

#define RECORDING_INDEX_BYTES \
	((uint64_t)4 << 20) /* of a file's index in memory, some hours with a flush a second: a new file */
#define RECORDING_CHUNK_BYTES ((size_t)4 << 20) /* where the options do not say, and files are not small */

struct recording_message { /* one encoder; of its channel, used again */
	struct recording_message *next;
	struct codec_out *codec;
	struct iov_buf out;
	unsigned id;
	uint32_t sequence, publisher_id;
	bool latched;
	int64_t stamp_ns;
	uint64_t copied; /* of out, as far as it is counted */
};

struct recording_count {
	uint64_t recorded, lost;
	uint64_t repeated; /* written once more at the beginning of a file, and not counted as recorded */
};

struct recording_channel {
	char name[SIM_CHANNEL_MAX + 1];
	char topic[SIM_CHANNEL_MAX + 12]; /* in the files: recording_topic(); "": not chosen yet */
	const struct sim_type *type;
	struct codec_out *codec;         /* says what the channel is in a file; encodes nothing */
	struct recording_message *spare; /* encoders that are not in use */
	struct recording_count all, due; /* since create; since the last metadata that has them */
	uint64_t accepted, bytes;
	struct ring_entry *latched; /* the last message of each publisher that latches, in the order of their coming */
	bool said;                  /* why one of its messages was lost */
	unsigned number;            /* of the file that has it as log_id; 0: none */
	uint32_t log_id;
	uint64_t in_file; /* its messages in that file */
};

/* A message, copied: in the window, then perhaps in the ring. */
struct ring_entry {
	struct ring_entry *next; /* in the ring */
	struct list by_time;     /* in: recording::by_time */
	struct list by_arrival;  /* in: recording::by_arrival */
	int64_t arrived_mono_ns;
	unsigned id;
	uint32_t sequence, publisher_id;
	bool latched;
	int64_t log_time_ns, stamp_ns;
	int64_t mono_ns;     /* when it was published */
	uint32_t generation; /* of the clock; 0: not known, and neither is mono_ns */
	size_t size;
	uint8_t data[];
};

struct left_out {
	char *name, *why;
	bool now, due; /* still so; since the last metadata that has it */
};

/* Of lock-step: when the last message was published, the newest stamp, and that of the steps before. All simulated time. */
struct recording_step {
	int64_t published_ns, newest_ns, before_ns;
	uint32_t generation;
};

struct recording {
	struct recording_options o;
	struct log_pair *about; /* o's, copied */
	char *stem;
	struct log_write_options write;
	pthread_mutex_t lock; /* guards all below; not the encoder that a thread has */
	struct recording_channel **channels;
	unsigned n_channels;
	struct left_out *left_out; /* channels that are not recorded, or were not for a while */
	unsigned n_left_out;

	struct log_writer *w; /* NULL: no file is open */
	unsigned number;      /* of the last file; 0: there has been none */
	unsigned serial;      /* of files that were begun */
	char path[RECORDING_PATH_SIZE];
	uint64_t file_messages;
	int64_t first_ns, last_ns, flushed_ns; /* log times of the file: first message, highest, at the last flush */
	int64_t last_mono_ns;                  /* when the last published message of it was published */
	uint32_t generation;                   /* of the clock, of its last message; 0: not known */
	uint64_t too_large;                    /* bytes of a message for which no file is large enough; 0: not known */
	int64_t looked_mono_ns;                /* at the file's name, last */
	int64_t try_dur_ns;                    /* the last pause between tries */
	int64_t try_mono_ns;                   /* after a failure: not before */
	int error;                             /* negative errno: why no file is open */
	bool paused, ring_only;
	struct recording_step step;

	struct list by_time, by_arrival; /* the window */
	uint64_t n_window, window_bytes;
	size_t latched_bytes, latched_most;

	struct ring_entry *oldest, *newest;
	uint64_t n_ring, ring_bytes;
	uint64_t dump_left; /* messages of the ring that are to be written, while dumping */
	int dump_error;     /* the first one */
	bool dumping, dump_goes_on;

	uint64_t messages, lost, closed_bytes, copied;
	unsigned files, failures;
};

void recording_say(struct recording *s, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

int64_t recording_now(const struct recording *s); /* CLOCK_MONOTONIC */

/* All under the lock. */
int recording_file_open(struct recording *s, char *why, size_t why_size);
int recording_file_close(struct recording *s, char *why, size_t why_size);
int recording_file_flush(struct recording *s);
int recording_file_put(struct recording *s, const struct ring_entry *head, const struct iovec *pieces, int n);
void recording_count_lost(struct recording *s, unsigned id, uint64_t n); /* not accepted: only lost */
/* A copy, of which the head is as given; NULL: no memory. Not under the lock. */
struct ring_entry *recording_entry_new(const struct ring_entry *head, const struct iovec *pieces, int n);
/* Takes e, if it fails too. */
int recording_ring_put(struct recording *s, struct ring_entry *e);
/* Takes e. 0, or the first error of those that were written: each is counted. */
int recording_window_put(struct recording *s, struct ring_entry *e);
int recording_window_before(struct recording *s, int64_t mono_ns); /* writes what was published before that */
int recording_window_expire(struct recording *s);                  /* writes what has waited long enough */
int recording_window_empty(struct recording *s);                   /* writes all */
/* Without counting it as recorded: a channel that the file does not know is added. Fails as log_writer_put(). */
int recording_file_write(struct recording *s, struct recording_channel *c, const struct ring_entry *h,
			 int64_t log_time_ns, const struct iovec *pieces, int n);
/* The log time of a message that was published in a step. */
int64_t recording_step_time(struct recording *s, int64_t stamp_ns, const struct recording_moment *at);
/* What the channel is called in the files; chosen by the first call. */
const char *recording_topic(struct recording *s, struct recording_channel *c);
/* Of a message that is in a file, or has fallen out of the ring; nothing, if its publisher does not latch. */
void recording_latched_keep(struct recording *s, const struct ring_entry *h, const struct iovec *pieces, int n);
/* All that is kept, with that log time, before h, the first message of a file. */
int recording_latched_write(struct recording *s, const struct ring_entry *h, int64_t log_time_ns);
void recording_latched_clear(struct recording *s, struct recording_channel *c);
void recording_left_out_write(struct recording *s); /* at the end of a file; what finds no room stands in the next one */
void recording_left_out_clear(struct recording *s);
void recording_window_clear(struct recording *s);
int recording_deliver(struct recording *s, struct ring_entry *e); /* into the ring or the file; takes e, counts it */
void recording_ring_clear(struct recording *s);
struct ring_entry *recording_ring_take(struct recording *s); /* the oldest, to be freed; NULL: it is empty */
void recording_ring_write(struct recording *s,
			  uint64_t bytes); /* while dumping: the oldest, about so many bytes of them */

#endif
