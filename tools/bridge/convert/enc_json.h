/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder of JSON as rosbridge has it: uint8[] in base64, times as {"secs","nsecs"} in ROS 1, {"sec","nanosec"} in ROS 2 and {"sec","nsec"} in our words, a
 * header's seq in ROS 1. Numbers have the fewest digits that are read back as the same. A string that is not UTF-8 has U+FFFD in
 * place of what is not. Infinities are 1e999 and -1e999, which is JSON, and read as infinity by who reads doubles (Python and
 * JavaScript); NaN is what json_nan says.
 */
#ifndef ENC_JSON_H
#define ENC_JSON_H

#include "enc_names.h"
#include "iov_buf.h"

enum json_nan {
	JSON_NAN_WORD,  /* NaN: no JSON, but what rosbridge_suite takes, as Python's json does; it refuses null */
	JSON_NAN_NULL,  /* null, for strict servers; infinities too: it is what rosbridge_suite itself sends */
	JSON_NAN_EXACT, /* NaN is null, infinities stay: JSON that json_reader.h reads back as what it was */
};

struct enc_json {
	struct sim_enc enc; /* first: what mappings are given */
	struct iov_buf *out;
	struct enc_names names;
	enum ros_generic_words words;
	enum json_nan nan;
	bool more;             /* something precedes in the object or list that is open */
	char *end;             /* of the room that text is being written to */
	enum sim_kind pending; /* of numbers that are being filled in, at the end of out; 0: none */
	bool binary;           /* they become base64 */
	uint32_t n_pending;
};

/*
 * Begin the object of a message behind what is in out (iov_buf_reset() and the envelope are the caller's); type: its
 * definition, borrowed until the end, or NULL.
 */
void json_begin(struct enc_json *j, enum ros_generic_words words, enum json_nan nan, const struct ros_type *type,
		struct iov_buf *out);

/*
 * End it. 0: all is in out, in one piece; else the first error: -ENOMEM, -ERANGE a time that the format cannot hold, or the
 * mapping's.
 */
int json_finish(struct enc_json *j);

/* For envelopes: text as it is, and a string in quotes, escaped. 0 or -ENOMEM. */
int json_put(struct iov_buf *out, const char *text);
int json_put_string(struct iov_buf *out, const char *s, size_t len);

#endif
