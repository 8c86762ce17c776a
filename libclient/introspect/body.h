/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a body that a peer wrote, by its field table. Spans are read once each and checked; what they
 * claim together may not exceed the body, so that overlapping spans cannot make a small body endless.
 * Works at any address. Thread: a walk is one thread's.
 */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>
#include <string.h>

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

/* A value of any kind but strings and messages, at any address, in the widest type of its sort. */
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

/* The elements that a resolved path leads to. Errors: -EBADMSG, -ERANGE with their sentence. */
int body_follow(struct body *b, const struct sim_field_path *path, struct sim_field_view *v);

#endif
