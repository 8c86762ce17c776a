/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoders of formats that are numbers in the order of the definition, without names:
 *
 *   CDR          ROS 2: XCDR1, little-endian, with its header of 4 bytes; naturally aligned, padded to 4 at the end
 *   ROS 1        TCPROS and bags: packed, strings without NUL, headers with seq, times unsigned
 *   POSITIONAL   lgsvl_bridge: packed, every array with its count, also those of fixed size
 */
#ifndef ENC_WIRE_H
#define ENC_WIRE_H

#include <sim/encode.h>

#include "iov_buf.h"

enum wire_format { WIRE_CDR, WIRE_ROS1, WIRE_POSITIONAL };

struct enc_wire {
	struct sim_enc enc; /* first: what mappings are given */
	const struct wire_style *style;
	struct iov_buf *out;
	size_t start;  /* of the body in out: what alignment counts from */
	size_t opened; /* where the nested message that was opened last begins */
};

/* Start a message: resets out, which it borrows until wire_finish(). */
void wire_begin(struct enc_wire *w, enum wire_format format, struct iov_buf *out);

/* End it. 0: out holds the message; else the first error: -ENOMEM, -ERANGE a time that the format cannot hold, or the mapping's. */
int wire_finish(struct enc_wire *w);

#endif
