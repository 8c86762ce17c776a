/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a body that a peer wrote, by the type's table of fields. Each span is read once and checked. The spans together
 * may not claim more bytes than the body has, so that overlapping spans cannot make a small body take forever. Works at
 * any address. Thread: one thread per walk.
 */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>
#include <string.h>

#include "sim/introspect.h"

struct body {
	const uint8_t *at;
	size_t size;
	uint64_t claimed; /* bytes of the fixed struct and of all spans seen so far */
	size_t end;       /* end of the highest byte seen so far */
};

/* -EINVAL: body is NULL or shorter than the type's fixed struct, or type is NULL or has another ABI. */
int body_begin(struct body *b, const struct sim_type *type, const void *body, size_t size);

/*
 * Returns the elements of a field of the struct at s; one for a single value. -EBADMSG: its span is invalid. *ret is
 * NULL only if *ret_n is 0.
 */
int body_field(struct body *b, const uint8_t *s, const struct sim_field *f, const uint8_t **ret, uint32_t *ret_n);

/* Returns the string whose span is at `span` (an element of f). -EBADMSG: the span or the string is invalid. */
int body_string(struct body *b, const uint8_t *span, const struct sim_field *f, const char **ret, uint32_t *ret_len);

/* A number or bool read from any address, in the widest type of its sort. */
struct number {
	enum { NUMBER_SIGNED, NUMBER_UNSIGNED, NUMBER_FLOAT } sort;
	union {
		int64_t i;
		uint64_t u;
		double d;
	};
};

static inline struct number number_load(enum sim_kind kind, const void *at)
{
#define LOAD(type, to, member) \
	do { \
		type v_; \
		memcpy(&v_, at, sizeof(v_)); \
		return (struct number){ .sort = (to), .member = v_ }; \
	} while (0)
	switch (kind) {
	case SIM_KIND_INT8:
		LOAD(int8_t, NUMBER_SIGNED, i);
	case SIM_KIND_INT16:
		LOAD(int16_t, NUMBER_SIGNED, i);
	case SIM_KIND_UINT16:
		LOAD(uint16_t, NUMBER_UNSIGNED, u);
	case SIM_KIND_INT32:
		LOAD(int32_t, NUMBER_SIGNED, i);
	case SIM_KIND_UINT32:
		LOAD(uint32_t, NUMBER_UNSIGNED, u);
	case SIM_KIND_INT64:
	case SIM_KIND_TIME:
	case SIM_KIND_DURATION:
		LOAD(int64_t, NUMBER_SIGNED, i);
	case SIM_KIND_UINT64:
		LOAD(uint64_t, NUMBER_UNSIGNED, u);
	case SIM_KIND_FLOAT32:
		LOAD(float, NUMBER_FLOAT, d);
	case SIM_KIND_FLOAT64:
		LOAD(double, NUMBER_FLOAT, d);
	default:
		LOAD(uint8_t, NUMBER_UNSIGNED, u);
	}
#undef LOAD
}

/*
 * Returns the elements that a resolved path leads to. -EBADMSG: a span is invalid; -ERANGE: an index is beyond the
 * array.
 */
int body_follow(struct body *b, const struct sim_field_path *path, struct sim_field_view *v);

#endif
