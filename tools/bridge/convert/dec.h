/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading foreign messages, CDR and ROS 1 wire: nothing that comes from a network is trusted. The first error
 * stays in `err`, and from then on everything reads as 0. Thread: one's.
 */
#ifndef DEC_H
#define DEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "enc_wire.h"

struct dec {
	const uint8_t *p; /* borrows */
	size_t len, at;
	bool cdr;
	int err; /* -EBADMSG malformed, -ENOTSUP not little-endian plain CDR, -EMSGSIZE a string over its bound, -EDOM no number */
};

/* format: WIRE_CDR (its header included) or WIRE_ROS1. */
void dec_begin(struct dec *d, enum wire_format format, const void *data, size_t len);

/* The message must end here, but for CDR's padding. Returns d->err. */
int dec_end(struct dec *d);

uint8_t dec_u8(struct dec *d);
uint32_t dec_u32(struct dec *d);
float dec_f32(struct dec *d);  /* finite, else -EDOM */
double dec_f64(struct dec *d); /* finite, else -EDOM */
bool dec_bool(struct dec *d);
int64_t dec_time(struct dec *d); /* ns */

/* A string of at most max bytes without a NUL inside: NUL-terminated only in CDR. returns a place in the message. */
const char *dec_string(struct dec *d, size_t max, size_t *ret_len);

/* Number of elements of a list, each of at least min bytes: never more than the message can hold. */
uint32_t dec_count(struct dec *d, size_t min);

/* std_msgs/Header: its stamp; the rest is left out. */
int64_t dec_header(struct dec *d);

void dec_fail(struct dec *d, int err);

#endif
