/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: writes messages of simd's channels into files of one stem, out/run.mcap, out/run.2.mcap, out/run.3.mcap
 * and so on (or .record, .bag). Existing files are never opened for writing: each file gets the number after the
 * highest one, so a second writer of the stem, or one that was restarted, continues in a file of its own.
 *
 * A new file begins when the last one reaches its size or duration, when the index for its end needs 4 MiB (with 20
 * channels and a flush each second after four hours, so memory does not grow with the length of the recording), when
 * time goes back, after the disk was full, and after recording_close_file(). A file without messages is removed again.
 *
 * A latched message (SIM_SLOT_LATCHED) is valid until the publisher's next one: each file except the first begins with
 * the last latched message of each publisher, with the log time of the file's first message, and its own stamp and
 * sequence, up to RECORDING_LATCHED_BYTES in all, and a quarter of split_bytes. They are not counted as recorded again.
 *
 * Order of messages whose moment of publishing is known: each waits window_dur_ns, and of the waiting ones the one
 * published first is written first; so log times in a file never decrease, except for a message that comes later than
 * that, which is written on arrival with its own time. A jump of the clock is recognized by its generation: a file
 * holds one generation, or several through which time only increases; messages of an earlier generation that still
 * arrive get a file of their own. Waiting messages are copies, of window_bytes in all; beyond that the ones published
 * first are written early. Without compression a message above RECORDING_COPY_BYTES does not wait, nor do those
 * published before it: its payload is written directly from the slot.
 *
 * Messages without a generation of the clock are written in order of arrival, after all waiting ones. One that is
 * earlier than the last one by less than RECORDING_BACK_DUR_NS (two threads that overtook one another) gets the last
 * one's time; a greater difference is a jump.
 *
 * Each file has metadata "simd" (version, encoding, recording_options.about), and at its end "simd_losses", for each
 * channel "accepted=N recorded=N lost=N" since the previous file with that channel, then " repeated=N" of latched
 * messages, and "simd_left_out", the channels that are not recorded, and why; if the format has metadata. No wall time
 * and no process id: the same messages with the same log times, flushed and split alike, give the same bytes.
 *
 * Full disk: the file is closed and whole, the message is lost and counted, and say() reports it. A new file is tried
 * after 1 s, 2 s and so on up to RECORDING_TRY_DUR_NS, and in recording_open_file(), but created only if there is room
 * for a chunk; messages that arrive until then are lost and counted.
 *
 * A file that is no longer at its name, which recording_flush() detects: reported, and the next message begins a new
 * file. If it was deleted, its messages count as lost; else (renamed, or its file system unmounted) it is finished
 * where it is.
 *
 * Memory: the window, the ring, the open chunk of a compressed file, and of each message being written its small fields
 * (packed: all of it). Without compression, native and ros2 write payload directly from the slot.
 *
 * Thread: any, several at once, except create and destroy; messages are encoded in parallel and written one after the
 * other. say() is called with the recording's lock held: it must not call back.
 */
#ifndef RECORD_RECORDING_H
#define RECORD_RECORDING_H

#include <sim/clock.h>
#include <sim/slot.h>

#include "codec_out.h"
#include "log.h"

#define RECORDING_STEM_MAX      3800 /* longest stem, bytes */
#define RECORDING_PATH_SIZE     (RECORDING_STEM_MAX + 32)
#define RECORDING_BACK_DUR_NS   INT64_C(100000000)
#define RECORDING_TRY_DUR_NS    INT64_C(10000000000)
#define RECORDING_WINDOW_BYTES  ((size_t)64 << 20)
#define RECORDING_LATCHED_BYTES ((size_t)64 << 20)
#define RECORDING_COPY_BYTES    ((size_t)64 << 10)

/* With a flush each RECORDING_FLUSH_DUR_NS of wall time, a kill loses at most a second of messages. */
#define RECORDING_WINDOW_DUR_NS INT64_C(200000000)
#define RECORDING_FLUSH_DUR_NS  INT64_C(750000000)

struct recording;
struct recording_message; /* an encoded message that is being written */

struct recording_options {
	const char *stem; /* "out/run", without a suffix; copied */
	enum log_format format;
	enum codec_kind kind;              /* .bag: CODEC_ROS1, .record: CODEC_APOLLO */
	const struct codec_apollo *apollo; /* for CODEC_APOLLO; NULL: 10.0's; borrowed until recording_destroy() */
	enum log_compression compression;
	int level;            /* of the compression; 0: its default */
	size_t chunk_bytes;   /* 0: the format's default, or less for small files */
	uint64_t split_bytes; /* begin a new file at this size, which a chunk or message may exceed; 0: never */
	/* begin a new file when a message is this much later than the file's first one; 0: never */
	int64_t split_dur_ns;
	/* log time after which messages survive a kill; 0: only recording_flush() flushes */
	int64_t flush_dur_ns;
	int64_t window_dur_ns;        /* wall time that a message waits for earlier ones; 0: does not wait */
	bool steps_in_order;          /* messages of lock-step are passed in order, so they do not wait */
	size_t window_bytes;          /* limit of waiting messages; 0: RECORDING_WINDOW_BYTES */
	bool ring_only;               /* start with the ring: nothing is written until recording_dump_begin() */
	int64_t ring_dur_ns;          /* log time that the ring covers */
	size_t ring_bytes;            /* memory of the ring; 0: RECORDING_RING_BYTES */
	const struct log_pair *about; /* for metadata "simd"; copied */
	size_t n_about;
	/* level: 0 error, 1 warning, 2 info. May be NULL. */
	void (*say)(void *arg, int level, const char *sentence);
	/* CLOCK_MONOTONIC, for the window and for retries; NULL: the real clock. */
	int64_t (*now)(void *arg);
	void *arg;
};

/* When a message was published. */
struct recording_moment {
	int64_t log_time_ns;       /* simulated time */
	int64_t mono_ns;           /* CLOCK_MONOTONIC: orders publishing across jumps and pauses */
	uint32_t clock_generation; /* of log_time_ns; 0: unknown, like mono_ns */
	bool in_step;              /* published in lock-step, in the step of log_time_ns */
};

/* From the clock's sample at that moment. */
struct recording_moment recording_moment(const struct sim_clock_sample *s);

#define RECORDING_RING_BYTES ((size_t)256 << 20)

/*
 * Writes nothing yet. Errors, with the reason in why: -EINVAL contradictory options, -ENOTSUP the format does not take
 * that encoding or compression, -ENOMEM.
 */
int recording_create(const struct recording_options *o, struct recording **ret, char *why, size_t why_size);
/*
 * Closes the file; the ring's content is discarded. Errors as recording_close_file(), with the reason in why.
 * NULL-safe.
 */
int recording_destroy(struct recording *s, char *why, size_t why_size);

/* Begins a file now instead of with the next message; 0 if one is open. Errors of open(2), with the reason in why. */
int recording_open_file(struct recording *s, char *why, size_t why_size);
/*
 * Writes summary and losses, calls fdatasync(2); the next message begins a new file. 0 if no file is open. Errors of
 * write(2), with the reason in why.
 */
int recording_close_file(struct recording *s, char *why, size_t why_size);

/*
 * Adds a channel. *ret_id, from 0, is the same for the same name and type. Takes a reference to the type. Errors, with
 * the reason in why: -ENOTSUP the encoding cannot hold the type, -ENOSPC too many channels, -ENOMEM.
 */
int recording_add_channel(struct recording *s, const char *name, const struct sim_type *type, unsigned *ret_id,
			  char *why, size_t why_size);

/*
 * Encodes one message, with references into its body, which must stay valid until recording_write_at() has returned.
 * Counts it as accepted. *ret is NULL while paused. Errors: those of codec_out_encode(), counted as lost, and reported
 * by say() the first time for a channel.
 */
int recording_encode(struct recording *s, unsigned id, const struct sim_message *m, struct recording_message **ret);
/*
 * Writes e to the file or the ring, in the order of publishing within the window. Frees e; NULL-safe. Log time:
 * at->log_time_ns, or in lock-step the newest stamp: the message's own or that of an earlier step, whichever is later,
 * but not later than at->log_time_ns. Errors, reported and counted as lost: -ENOSPC and others of write(2), which close
 * the file; -EMSGSIZE, -EINVAL a time before 0, which do not. 0 for a message that waits: it has been copied, and its
 * errors are reported and counted later. 1: likewise, but another message that had waited could not be written.
 */
int recording_write_at(struct recording *s, struct recording_message *e, const struct recording_moment *at);
/* recording_encode(), then recording_write_at(). */
int recording_put_at(struct recording *s, unsigned id, const struct sim_message *m, const struct recording_moment *at);
/*
 * Notes that the channel is not recorded, and why: metadata "simd_left_out" of each file that ends has it, up to and
 * including the file open when it is recorded again (why: NULL). Strings are copied. -ENOMEM.
 */
int recording_left_out(struct recording *s, const char *name, const char *why);
/* Counts n messages of the channel that did not arrive as accepted and lost. */
void recording_lost(struct recording *s, unsigned id, uint64_t n);

/* While paused, messages are neither accepted nor counted; the file stays open. */
void recording_pause(struct recording *s, bool paused);
/*
 * Writes the ring's messages to a file in order, and empties the ring. go_on: recording continues after them, without
 * the ring; else the file is closed, and the ring continues. After a jump back, the ring only has messages from after
 * the jump.
 *
 * The dump is written in pieces, so that messages can be received meanwhile: they come after those of the ring, none of
 * which is dropped for its age; if the ring is full, messages are written to make room. recording_dump_some() writes
 * about that many bytes. 1: more to write, 0: done. Errors of recording_write_at(), with the reason in why, also end
 * the dump; what was not written is counted as lost. One dump at a time.
 */
void recording_dump_begin(struct recording *s, bool go_on);
int recording_dump_some(struct recording *s, size_t bytes, char *why, size_t why_size);

/*
 * Writes the waiting messages; all messages so far then survive a kill of this process. Errors of write(2), reported;
 * they close the file.
 */
int recording_flush(struct recording *s);

struct recording_stats {
	/* messages: written in all files; lost: of all channels; bytes: of all files so far */
	uint64_t messages, lost, bytes;
	uint64_t copied; /* payload that was copied or compressed on the way, bytes */
	unsigned files;
	bool paused, ring_only;
	bool failed;       /* the last file could not be written, and no file is open */
	unsigned failures; /* files that could not be begun or completed, or disappeared while being written */
	uint64_t waiting;  /* messages waiting in the window */
	uint64_t ring_messages, ring_bytes;
	int64_t ring_dur_ns;            /* from its first message to its last */
	char path[RECORDING_PATH_SIZE]; /* of the open file, or the last one; "": no file yet */
};
void recording_stats(struct recording *s, struct recording_stats *ret);

struct recording_channel_stats {
	const char *name;                         /* valid until recording_destroy() */
	uint64_t accepted, recorded, lost, bytes; /* since recording_create(); bytes: encoded, before compression */
};
struct recording_left_out {
	/* the last reason; both valid until recording_destroy() or the next recording_left_out() */
	const char *name, *why;
	bool now; /* still left out */
};
/* The i-th channel that was ever left out; false: no more. */
bool recording_left_out_at(struct recording *s, unsigned i, struct recording_left_out *ret);

/* false: no such id. */
bool recording_channel_stats(struct recording *s, unsigned id, struct recording_channel_stats *ret);

#endif
