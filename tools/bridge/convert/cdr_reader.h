/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of CDR and ROS 1 wire, in the words of <sim/decode.h>: it needs no names and reads in place. Thread: one's.
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
};

/* format: WIRE_CDR (its header included) or WIRE_ROS1. */
void cdr_reader_begin(struct cdr_reader *d, enum wire_format format, const void *data, size_t len);

/* The message must end here, but for CDR's padding. Returns dec.err. */
int cdr_reader_end(struct cdr_reader *d);

#endif
