/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder of CBOR as rosbridge has it: messages are maps, uint8[] a byte string, other arrays of numbers typed arrays of
 * RFC 8746 (little-endian) that are only pointed to where they are large; times and a header's seq as in enc_json.h. A string
 * that is not UTF-8 has U+FFFD in place of what is not. rosbridge_suite sends CBOR to who asks for it, and reads none.
 */
#ifndef ENC_CBOR_H
#define ENC_CBOR_H

#include "enc_names.h"
#include "iov_buf.h"

struct enc_cbor {
	struct sim_enc enc; /* first: what mappings are given */
	struct iov_buf *out;
	struct enc_names names;
	enum ros_generic_words words;
	uint32_t n_bools; /* that are being filled in, at the end of out */
};

/* Begin the map of a message behind what is in out; type: its definition, borrowed until the end, or NULL. */
void cbor_begin(struct enc_cbor *c, enum ros_generic_words words, const struct ros_type *type, struct iov_buf *out);

/* End it. As json_finish(), but in pieces. */
int cbor_finish(struct enc_cbor *c);

/* For envelopes: a map of n pairs begins; a string. 0 or -ENOMEM. */
int cbor_put_map(struct iov_buf *out, uint32_t n);
int cbor_put_string(struct iov_buf *out, const char *s, size_t len);

#endif
