/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a body that a peer wrote, by its field table. Spans are read once each and checked; what they
 * claim together may not exceed the body, so that overlapping spans cannot make a small body endless.
 * Works at any address. Thread: a walk is one thread's.
 */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>

#include "sim/introspect.h"

struct body {
	const uint8_t *at;
	size_t size;
	uint64_t claimed; /* bytes of the spans seen so far */
	size_t end;       /* of the last byte seen so far */
};

/* -EINVAL with its sentence when body is NULL or shorter than the type's fixed struct, or the type is none. */
int body_begin(struct body *b, const struct sim_type *type, const void *body, size_t size);

/*
 * Elements of a field of the struct at s: one for a single value. Errors: -EBADMSG with its sentence.
 * ret is not NULL unless *ret_n is 0.
 */
int body_field(struct body *b, const uint8_t *s, const struct sim_field *f, const uint8_t **ret, uint32_t *ret_n);

/* The string whose span is at `span` (an element of f). Errors: -EBADMSG with its sentence. */
int body_string(struct body *b, const uint8_t *span, const struct sim_field *f, const char **ret, uint32_t *ret_len);

/* The elements that a resolved path leads to. Errors: -EBADMSG, -ERANGE with their sentence. */
int body_follow(struct body *b, const struct sim_field_path *path, struct sim_field_view *v);

#endif
