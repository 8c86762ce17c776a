/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder of JSON as rosbridge has it: uint8[] in base64, times as {"secs","nsecs"} in ROS 1, {"sec","nanosec"} in
 * ROS 2 and {"sec","nsec"} with ROS_GENERIC_OURS, a header's seq in ROS 1. Numbers have the fewest digits that read
 * back as the same value. Invalid UTF-8 in a string becomes U+FFFD. Infinities are 1e999 and -1e999, which is valid
 * JSON, and read as infinity by parsers that use doubles (Python and JavaScript); json_nan selects the form of NaN.
 */
#ifndef ENC_JSON_H
#define ENC_JSON_H

#include "enc_names.h"
#include "iov_buf.h"

enum json_nan {
	JSON_NAN_WORD,  /* NaN: invalid JSON, but accepted by rosbridge_suite, as by Python's json; it refuses null */
	JSON_NAN_NULL,  /* null, also for infinities, for strict servers: it is what rosbridge_suite itself sends */
	JSON_NAN_EXACT, /* null for NaN only, so that json_reader.h reads back the same values */
};

struct enc_json {
	struct sim_enc enc; /* first member; the interface for mappings */
	struct iov_buf *out;
	struct enc_names names;
	enum ros_generic_words words;
	enum json_nan nan;
	bool more;             /* the open object or list is not empty */
	char *end;             /* of the space reserved for a text */
	enum sim_kind pending; /* kind of the numbers being filled in at the end of out; 0: none */
	bool binary;           /* the numbers become base64 */
	uint32_t n_pending;
};

/*
 * Starts the object of a message after what is in out (the caller calls iov_buf_reset() and writes the envelope); type:
 * its definition, borrowed until the end, or NULL.
 */
void json_begin(struct enc_json *j, enum ros_generic_words words, enum json_nan nan, const struct ros_type *type,
		struct iov_buf *out);

/*
 * Ends it. 0: out holds everything, in one piece; else the first error: -ENOMEM, -ERANGE a time that the format cannot
 * represent, or the mapping's.
 */
int json_finish(struct enc_json *j);

/* For envelopes: append text unchanged, or a string, quoted and escaped. 0 or -ENOMEM. */
int json_put(struct iov_buf *out, const char *text);
int json_put_string(struct iov_buf *out, const char *s, size_t len);

#endif
