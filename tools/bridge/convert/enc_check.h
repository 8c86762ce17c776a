/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An encoder that checks calls against the message's definition, by name, kind and number of elements, and passes them
 * on to another one. It stops at the first difference, so that a converter, which is foreign code, cannot corrupt a
 * stream.
 */
#ifndef ENC_CHECK_H
#define ENC_CHECK_H

#include <stdbool.h>

#include <sim/encode.h>

#include "ros/ros_type.h"

#define ENC_CHECK_DEPTH 24

struct enc_check_level {
	const struct ros_type *type;
	const struct ros_field *list; /* the list whose elements these are; NULL: the fields of type */
	uint32_t at;                  /* index of the next field */
	uint32_t left;                /* elements still to come */
};

struct enc_check {
	struct sim_enc enc;    /* first member; the interface for callers */
	struct sim_enc *inner; /* receives the checked calls */
	struct enc_check_level level[ENC_CHECK_DEPTH];
	unsigned depth;
	char why[256]; /* the first difference; "": none */
};

/* Borrows type and inner until the end. */
void enc_check_begin(struct enc_check *c, const struct ros_type *type, struct sim_enc *inner);

/* 0, -EPROTO it does not follow the definition (`why` contains the reason), or enc.err. */
int enc_check_end(struct enc_check *c);

#endif
