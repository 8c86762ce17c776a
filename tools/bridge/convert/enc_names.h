/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For encoders of formats with names: tracks which field of the definition is encoded next. The definition has the
 * names as a peer knows them (ROS 1 calls `k` of a CameraInfo `K`). Without a definition names are used as given.
 */
#ifndef ENC_NAMES_H
#define ENC_NAMES_H

#include <errno.h>
#include <stdbool.h>

#include <sim/encode.h>

#include "ros/ros_generic.h"
#include "ros/ros_type.h"

#define ENC_NAMES_DEPTH 32

struct enc_names_level {
	const struct ros_type *type; /* of the message, or of the list's elements; NULL: unknown */
	uint32_t at;                 /* index of the next field */
	bool list;
};

struct enc_names {
	struct enc_names_level level[ENC_NAMES_DEPTH];
	unsigned depth; /* 0: in the message itself */
};

static inline void enc_names_begin(struct enc_names *n, const struct ros_type *type)
{
	n->depth = 0;
	n->level[0] = (struct enc_names_level){ .type = type };
}

/* Returns the next field; NULL: an element of a list, or the definition is unknown. */
static inline const struct ros_field *enc_names_next(struct enc_names *n)
{
	struct enc_names_level *l = &n->level[n->depth];

	return !l->list && l->type && l->at < l->type->n_fields ? &l->type->fields[l->at++] : NULL;
}

/* Enters a nested message or a list of them, f from enc_names_next(). Returns its type. */
static inline const struct ros_type *enc_names_push(struct enc_names *n, struct sim_enc *e, const struct ros_field *f,
						    bool list)
{
	const struct enc_names_level *l = &n->level[n->depth];
	const struct ros_type *type = f ? f->type : l->list ? l->type : NULL;

	if (n->depth + 1 == ENC_NAMES_DEPTH)
		sim_enc_fail(e, -EMSGSIZE);
	else
		n->level[++n->depth] = (struct enc_names_level){ .type = type, .list = list };
	return type;
}

static inline void enc_names_pop(struct enc_names *n)
{
	if (n->depth)
		n->depth--;
}

/* A time under the names of JSON and CBOR. -ERANGE: the format cannot represent it. */
struct enc_time {
	int64_t sec;
	uint32_t nsec;
};

static inline struct enc_time enc_time(struct sim_enc *e, enum ros_generic_words words, enum sim_kind kind, int64_t ns)
{
	struct enc_time t = { .sec = ns / 1000000000 };
	bool is_signed = words != ROS_GENERIC_ROS1 || kind == SIM_KIND_DURATION;
	int64_t rest = ns % 1000000000;

	if (rest < 0) {
		t.sec--;
		rest += 1000000000;
	}
	t.nsec = (uint32_t)rest;
	if (t.sec < (is_signed ? INT32_MIN : 0) || t.sec > (is_signed ? INT32_MAX : (int64_t)UINT32_MAX))
		sim_enc_fail(e, -ERANGE);
	return t;
}

#endif
