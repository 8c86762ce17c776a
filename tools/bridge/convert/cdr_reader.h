/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of CDR, the ROS 1 wire format and that of lgsvl_bridge, for <sim/decode.h>: these formats have no names,
 * and it reads in place. Thread: one per reader.
 */
#ifndef CDR_READER_H
#define CDR_READER_H

#include <stdbool.h>

#include <sim/decode.h>

#include "enc_wire.h"

struct cdr_reader {
	/* first member; the interface for reading; err also: -ENOTSUP, not little-endian plain CDR */
	struct sim_dec dec;
	const uint8_t *p; /* borrows */
	size_t len, at;
	size_t opened; /* where the nested message opened last begins */
	bool cdr;
	bool counted; /* fixed-size arrays have a count too: at most that many elements are read, the rest stays 0 */
	bool seq, time_signed;
	uint32_t sequence; /* seq of the header at the beginning of the message */
};

/* WIRE_CDR: data includes the encapsulation header. */
void cdr_reader_begin(struct cdr_reader *d, enum wire_format format, const void *data, size_t len);

/* Checks that the message ends here, except for CDR's padding. Returns dec.err. */
int cdr_reader_end(struct cdr_reader *d);

#endif
