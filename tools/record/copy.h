/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies logs: merges them by time, filters, splits, converts, and skips damage. Messages are copied unchanged unless
 * converted; what a format or an encoding cannot hold is left out, reported and counted. Metadata and attachments go
 * into the first output file; those that are found after the messages of a log without index into the last one. Never
 * overwrites a file. Thread: one at a time.
 */
#ifndef RECORD_COPY_H
#define RECORD_COPY_H

#include "codec_out.h"
#include "log.h"

struct copy_options {
	struct log_write_options write;
	struct log_read_options read;
	const char *const *include; /* shell patterns of topics; none: all */
	unsigned n_include;
	const char *const *exclude; /* patterns of topics to leave out of these */
	unsigned n_exclude;
	int64_t start_dur_ns, end_dur_ns; /* since the first message of all files; end 0: to the last */
	uint64_t split_bytes;             /* begin a new file above this size; 0: never */
	/* begin a new file when a message is this much later than the file's first one; 0: never */
	int64_t split_dur_ns;
	bool convert; /* re-encode channels that have another encoding */
	/* enum codec_kind; -1: the format's: ROS 1 for .bag, Apollo for .record; MCAP keeps all but packed */
	int encoding;
	const struct codec_apollo *
		/*
		 * options of the encoding apollo; NULL: 10.0's. Channels in that encoding keep their bytes, and get its
		 * definitions
		 */
		apollo;
	void (*say)(void *arg, const char *sentence); /* reports what was damaged or left out */
	bool (*stopped)(void *arg);                   /* true: stops the copy, which is reported; NULL: never */
	void *arg;
};

struct copy_result {
	uint64_t n_messages;
	unsigned n_files;    /* files written */
	uint64_t n_damaged;  /* places and attachments that could not be read */
	unsigned n_left_out; /* channels that the format does not take, or the encoding cannot hold */
	uint64_t n_refused;  /* messages of other channels that were left out: time before 1970, malformed, ... */
};

/*
 * Copies all of in[], at most MERGE_INPUTS_MAX, to out; when split, out.mcap becomes out_0000.mcap and so on. -EEXIST
 * and other errors of files, with the reason in why; the files written so far are closed in order.
 */
int log_copy(const char *const *in, unsigned n_in, const char *out, const struct copy_options *o,
	     struct copy_result *ret, char *why, size_t why_size);

/*
 * The format by the name's suffix: .mcap, .bag, .record; else -EINVAL. .record may be followed by a number:
 * .record.00001.
 */
int log_format_of(const char *path);
/* Whether a topic matches; a pattern may omit the first slash. */
bool log_topic_matches(const char *topic, const char *pattern);

#endif
