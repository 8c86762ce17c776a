/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs into logs: merged by time, a part of them, in pieces, into another format, past damage. Messages go over as they are, unless they
 * are to be converted; what a format or an encoding cannot hold is left out, named and counted. Metadata and attachments go into the first
 * file, and those that are found behind the messages of a log without an index into the last one. Nothing that is there is written over.
 * Thread: one's.
 */
#ifndef RECORD_COPY_H
#define RECORD_COPY_H

#include "codec_out.h"
#include "log.h"

struct copy_options {
	struct log_write_options write;
	struct log_read_options read;
	const char *const *include; /* patterns of topics, as in a shell; none: all */
	unsigned n_include;
	const char *const *exclude; /* these of them not */
	unsigned n_exclude;
	int64_t start_dur_ns,
		end_dur_ns;   /* of the time since the first message of all files; an end of 0: to the last */
	uint64_t split_bytes; /* a new file above that; 0: never */
	int64_t split_dur_ns; /* and when a message is so much later than the first one of its file; 0: never */
	bool convert;         /* into another encoding, each channel that has not got it */
	int encoding; /* enum codec_kind; -1: what the format takes: ROS 1's for .bag, Apollo's for .record; MCAP all but packed */
	const struct codec_apollo *
		apollo; /* of Apollo's encoding; NULL: 10.0's. What has that encoding keeps its bytes, and gets its definitions */
	void (*say)(void *arg, const char *sentence); /* what was damaged or left out */
	bool (*stopped)(void *arg);                   /* true: the rest is left out, and that is said; NULL: never */
	void *arg;
};

struct copy_result {
	uint64_t n_messages;
	unsigned n_files;    /* that were written */
	uint64_t n_damaged;  /* places that could not be read, and attachments */
	unsigned n_left_out; /* channels that the format does not take, or the encoding cannot say */
	uint64_t n_refused;  /* messages of other channels: a time before 1970, malformed ones, ... */
};

/*
 * All of in[], at most MERGE_INPUTS_MAX, into out; when it is split, out.mcap becomes out_0000.mcap and so on. -EEXIST and other errors of files with a sentence; what
 * was written until then is closed in good order.
 */
int log_copy(const char *const *in, unsigned n_in, const char *out, const struct copy_options *o,
	     struct copy_result *ret, char *why, size_t why_size);

/* The format that a name ends in: .mcap, .bag, .record; else -EINVAL. Apollo's may go on behind it: .record.00001. */
int log_format_of(const char *path);
/* Whether a topic matches; a pattern may leave out the first slash. */
bool log_topic_matches(const char *topic, const char *pattern);

#endif
