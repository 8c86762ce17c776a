/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: messages of channels of simd become files of one stem, out/run.mcap, then out/run.2.mcap, out/run.3.mcap and so on
 * (or .record, .bag). What is there is never opened for writing: each file is a new one, with the number after the highest one,
 * so that a second writer of the stem, or one that was started again, goes on in a file of its own.
 *
 * A new file begins when the last one has its size or its duration, when the index that is to stand at its end has 4 MiB (with 20 channels and a
 * flush a second after four hours: so memory does not grow with the length of a recording), when time goes back, when it was closed because the disk
 * was full, and after recording_close_file(). A file holds messages: one that would have none is removed again.
 *
 * What a publisher latches (SIM_SLOT_LATCHED) holds until its next message: each file but the first begins with the last one of each such publisher,
 * with the log time of the file's first message, and its own stamp and sequence; of RECORDING_LATCHED_BYTES in all, and of a quarter of split_bytes. They are not counted as
 * recorded again.
 *
 * Order, of messages whose moment of publishing is known: each waits window_dur_ns, and of those that wait the one
 * that was published first is written first; so in a file log times only rise, unless a message comes later than that, which is written
 * when it comes, with its own time. Time that jumps is told by its generation: a file holds one, or several through which time only
 * rises; what is still to come of an earlier generation gets a file of its own. What waits is a copy, of window_bytes in all: with more,
 * those that were published first wait shorter. Without compression a message above RECORDING_COPY_BYTES does not wait, nor do those
 * that were published before it: its payload goes from the slot into the file.
 *
 * Of others, without a generation of the clock: as they come, behind all that wait. One that is earlier than the last one by less than
 * RECORDING_BACK_DUR_NS (two threads that overtook one another) is written with the last one's time, an earlier one is a jump.
 *
 * In each file: metadata "simd" (version, encoding, what recording_options.about says), and at its end "simd_losses": of each channel
 * "accepted=N recorded=N lost=N" since the last file that has it, behind it " repeated=N" of latched ones, and "simd_left_out": channels that are not recorded, and why; where the
 * format has metadata. No wall time, no number of
 * a process: the same messages with the same log times, flushed and split alike, make the same bytes.
 *
 * A full disk: the file is closed and whole, the message is lost and counted, and a sentence goes to say(). After pauses of 1 s, of twice
 * that, and so on up to RECORDING_TRY_DUR_NS, and in recording_open_file(), a new file is tried, but while there is no room for a chunk none is
 * made; what comes until then is lost, and counted.
 *
 * A file that is not at its name any more, found out by recording_flush(): said, and the next message begins a new one. Deleted, its
 * messages count as lost; else (renamed, its folder unmounted) it is finished where it is.
 *
 * Memory: what the window and the ring may have, the open chunk of a compressed file, and of each message that is on its way its small fields
 * (packed: all of it). Without compression, native and ros2 payload goes from the slot into the file.
 *
 * Thread: any, several at once, but for create and destroy; messages are encoded side by side and written one after the other. say()
 * is called with the recording's lock held: it must not call back.
 */
#ifndef RECORD_RECORDING_H
#define RECORD_RECORDING_H

#include <sim/clock.h>
#include <sim/slot.h>

#include "codec_out.h"
#include "log.h"

#define RECORDING_STEM_MAX      3800 /* characters of a stem */
#define RECORDING_PATH_SIZE     (RECORDING_STEM_MAX + 32)
#define RECORDING_BACK_DUR_NS   INT64_C(100000000)
#define RECORDING_TRY_DUR_NS    INT64_C(10000000000)
#define RECORDING_WINDOW_BYTES  ((size_t)64 << 20)
#define RECORDING_LATCHED_BYTES ((size_t)64 << 20)
#define RECORDING_COPY_BYTES    ((size_t)64 << 10)

/* With a flush each RECORDING_FLUSH_DUR_NS of wall time a kill takes a second at most. */
#define RECORDING_WINDOW_DUR_NS INT64_C(200000000)
#define RECORDING_FLUSH_DUR_NS  INT64_C(750000000)

struct recording;
struct recording_message; /* encoded, on its way into the file */

struct recording_options {
	const char *stem; /* "out/run", without a suffix; copied */
	enum log_format format;
	enum codec_kind kind;              /* .bag: CODEC_ROS1, .record: CODEC_APOLLO */
	const struct codec_apollo *apollo; /* of CODEC_APOLLO; NULL: 10.0's; kept until recording_destroy() */
	enum log_compression compression;
	int level;                    /* of the compression; 0: its default */
	size_t chunk_bytes;           /* 0: the format's default, or less where files are small */
	uint64_t split_bytes;         /* a new file at that size, exceeded by a chunk or a message at most; 0: never */
	int64_t split_dur_ns;         /* and when a message is so much later than the first one of its file; 0: never */
	int64_t flush_dur_ns;         /* of log time: what is older survives a kill; 0: only recording_flush() */
	int64_t window_dur_ns;        /* of wall time: how long a message waits for earlier ones; 0: it does not */
	bool steps_in_order;          /* messages of lock-step are given in their order: they do not wait */
	size_t window_bytes;          /* and how many bytes wait at most; 0: RECORDING_WINDOW_BYTES */
	bool ring_only;               /* begin with the ring: nothing is written until recording_dump_begin() */
	int64_t ring_dur_ns;          /* what the ring keeps, of log time */
	size_t ring_bytes;            /* and of memory at most; 0: RECORDING_RING_BYTES */
	const struct log_pair *about; /* for metadata "simd"; copied */
	size_t n_about;
	/* level: 0 error, 1 warning, 2 info. NULL: nobody listens. */
	void (*say)(void *arg, int level, const char *sentence);
	/* CLOCK_MONOTONIC, for the window and for tries; NULL: the real one. */
	int64_t (*now)(void *arg);
	void *arg;
};

/* When a message was published. */
struct recording_moment {
	int64_t log_time_ns; /* simulated time */
	int64_t mono_ns;     /* CLOCK_MONOTONIC: what was published earlier has less, across jumps and pauses too */
	uint32_t clock_generation; /* of log_time_ns; 0: not known, and neither is mono_ns */
	bool in_step;              /* in lock-step, in the step of log_time_ns */
};

/* As it is told by the clock's sample of that moment. */
struct recording_moment recording_moment(const struct sim_clock_sample *s);

#define RECORDING_RING_BYTES ((size_t)256 << 20)

/* Writes nothing yet. Errors, with a sentence: -EINVAL the options contradict one another, -ENOTSUP the format does not take that encoding or compression, -ENOMEM. */
int recording_create(const struct recording_options *o, struct recording **ret, char *why, size_t why_size);
/* Closes the file; what is in the ring is gone. Errors as recording_close_file(), with a sentence. NULL is fine. */
int recording_destroy(struct recording *s, char *why, size_t why_size);

/* Begin a file now, not with the next message; 0 where one is open. Errors of open(2), with a sentence. */
int recording_open_file(struct recording *s, char *why, size_t why_size);
/* Summary, losses, fdatasync; the next message begins a new file. 0 where none is open. Errors of write(2), with a sentence. */
int recording_close_file(struct recording *s, char *why, size_t why_size);

/*
 * A channel, by which its messages are given: its number, from 0, is the same for the same name and type. The type is kept
 * (sim_type_ref()). Errors, with a sentence: -ENOTSUP it has no form in the encoding, -ENOSPC too many, -ENOMEM.
 */
int recording_add_channel(struct recording *s, const char *name, const struct sim_type *type, unsigned *ret_id,
			  char *why, size_t why_size);

/*
 * One message: encoded, with references into its body, which must stay until recording_write_at() has returned.
 * Counts it as accepted. *ret is NULL while paused. Errors: those of codec_out_encode(), said to say() the first time for a
 * channel, and counted as lost.
 */
int recording_encode(struct recording *s, unsigned id, const struct sim_message *m, struct recording_message **ret);
/*
 * Into the file or the ring, in the order of publishing within the window; frees e, NULL is fine. Log time: log_time_ns, or in lock-step the newest
 * stamp: the message's own, or where one of an earlier step has a later stamp that, but none later than log_time_ns. Errors, said and
 * counted as lost: -ENOSPC and others of write(2), the file is closed then; -EMSGSIZE, -EINVAL a time before 0, which close nothing. A message that
 * waits has been copied: 0, and what becomes of it is said and counted later. 1: so it is, but another one that has waited could not be written.
 */
int recording_write_at(struct recording *s, struct recording_message *e, const struct recording_moment *at);
/* recording_encode() and that. */
int recording_put_at(struct recording *s, unsigned id, const struct sim_message *m, const struct recording_moment *at);
/*
 * The channel is not recorded, for that reason: named in metadata "simd_left_out" of each file that ends until it is (why: NULL), and of the
 * one that ends then. Copied. -ENOMEM.
 */
int recording_left_out(struct recording *s, const char *name, const char *why);
/* n messages of the channel did not arrive: accepted and lost. */
void recording_lost(struct recording *s, unsigned id, uint64_t n);

/* While paused nothing is accepted, nothing counted; the file stays open. */
void recording_pause(struct recording *s, bool paused);
/*
 * What the ring has goes into a file, in order, and the ring is empty. go_on: recording continues behind it, the ring is not filled any more;
 * else the file is closed, and the ring goes on. Of time that jumps back, what was before it is not kept in the ring.
 * In pieces, for who receives messages meanwhile: they come behind those that were in the ring, of which none goes for being old; where there is
 * no room, some is made by writing. recording_dump_some(): about so many bytes; 1: there is more, 0: done. Errors of recording_write_at(), with a
 * sentence, when it is done; what was not written is lost and counted. One dump at a time.
 */
void recording_dump_begin(struct recording *s, bool go_on);
int recording_dump_some(struct recording *s, size_t bytes, char *why, size_t why_size);

/* What has waited for its window is written, and all that was so far survives a kill of this process. Errors of write(2), said; the file is closed then. */
int recording_flush(struct recording *s);

struct recording_stats {
	uint64_t messages, lost, bytes; /* written in all files; lost ones of all channels; of all files so far */
	uint64_t copied;                /* bytes of payload that were copied or compressed on the way */
	unsigned files;
	bool paused, ring_only;
	bool failed; /* the last file could not be written; none is open */
	unsigned failures; /* files that could not be written to their end, could not be begun, or went away while they were written */
	uint64_t waiting; /* messages in the window */
	uint64_t ring_messages, ring_bytes;
	int64_t ring_dur_ns;            /* from its first message to its last */
	char path[RECORDING_PATH_SIZE]; /* of the file that is open, or was last; "": none yet */
};
void recording_stats(struct recording *s, struct recording_stats *ret);

struct recording_channel_stats {
	const char *name;                         /* until recording_destroy() */
	uint64_t accepted, recorded, lost, bytes; /* since create; bytes: encoded, before compression */
};
struct recording_left_out {
	const char *name, *why; /* the last reason; until recording_destroy() or the next recording_left_out() */
	bool now;               /* it still is */
};
/* The i-th channel of all that were left out, if only for a while; false: there are fewer. */
bool recording_left_out_at(struct recording *s, unsigned i, struct recording_left_out *ret);

/* false: there is no channel of that number. */
bool recording_channel_stats(struct recording *s, unsigned id, struct recording_channel_stats *ret);

#endif
