/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoders of formats that hold values in the order of the definition, without names:
 *
 *   CDR          ROS 2: XCDR1, little-endian, with its header of 4 bytes; naturally aligned, padded to 4 at the end
 *   ROS 1        TCPROS and bags: packed, strings without NUL, headers with seq, times unsigned
 *   POSITIONAL   lgsvl_bridge: packed, each array with its count, also fixed-size ones
 */
#ifndef ENC_WIRE_H
#define ENC_WIRE_H

#include <sim/encode.h>

#include "iov_buf.h"

enum wire_format { WIRE_CDR, WIRE_ROS1, WIRE_POSITIONAL };

struct enc_wire {
	struct sim_enc enc; /* first member; the interface for mappings */
	const struct wire_style *style;
	struct iov_buf *out;
	size_t start;  /* offset of the body in out, from which alignment counts */
	size_t opened; /* where the nested message opened last begins */
};

/* Starts a message: resets out, which it borrows until wire_finish(). */
void wire_begin(struct enc_wire *w, enum wire_format format, struct iov_buf *out);

/*
 * Ends it. 0: out holds the message; else the first error: -ENOMEM, -ERANGE a time that the format cannot represent, or
 * the mapping's.
 */
int wire_finish(struct enc_wire *w);

#endif
