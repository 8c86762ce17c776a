/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An encoder that checks what is encoded against the definition of the message, by name, kind and arity, and hands it on to
 * another one. The first difference stops it, so that what comes from outside, a converter, cannot spoil a stream.
 */
#ifndef ENC_CHECK_H
#define ENC_CHECK_H

#include <stdbool.h>

#include <sim/encode.h>

#include "ros/ros_type.h"

#define ENC_CHECK_DEPTH 24

struct enc_check_level {
	const struct ros_type *type;
	const struct ros_field *list; /* of whose elements this is; NULL: the fields of type */
	uint32_t at;                  /* field that is due */
	uint32_t left;                /* elements that are still to come */
};

struct enc_check {
	struct sim_enc enc;    /* first: what callers use */
	struct sim_enc *inner; /* what it is handed on to */
	struct enc_check_level level[ENC_CHECK_DEPTH];
	unsigned depth;
	char why[256]; /* the first difference, "" for none */
};

/* Borrows type and inner until the end. */
void enc_check_begin(struct enc_check *c, const struct ros_type *type, struct sim_enc *inner);

/* 0, -EPROTO it does not follow the definition: `why` is a sentence; or enc.err. */
int enc_check_end(struct enc_check *c);

#endif
