/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of CDR, ROS 1 wire and lgsvl_bridge's, in the words of <sim/decode.h>: it needs no names and reads in place. Thread: one's.
 */
#ifndef CDR_READER_H
#define CDR_READER_H

#include <stdbool.h>

#include <sim/decode.h>

#include "enc_wire.h"

struct cdr_reader {
	struct sim_dec dec; /* first: what is read from; err: also -ENOTSUP, not little-endian plain CDR */
	const uint8_t *p;   /* borrows */
	size_t len, at;
	size_t opened; /* where the nested message that was opened last begins */
	bool cdr;
	bool counted; /* arrays of fixed size have their count too: no more than that, the rest stays 0 */
	bool seq, time_signed;
	uint32_t sequence; /* of a header with which the message begins */
};

/* WIRE_CDR: its header included. */
void cdr_reader_begin(struct cdr_reader *d, enum wire_format format, const void *data, size_t len);

/* The message must end here, but for CDR's padding. Returns dec.err. */
int cdr_reader_end(struct cdr_reader *d);

#endif
