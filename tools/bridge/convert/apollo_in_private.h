/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that read incoming messages. */
#ifndef APOLLO_IN_PRIVATE_H
#define APOLLO_IN_PRIVATE_H

#include "apollo_in.h"
#include "apollo_private.h"

struct apollo_stamp { /* of a header; all zero: no header */
	double s;
	const void *frame;
	size_t frame_len;
};

void apollo_read_header(const struct pb_reader *field, struct apollo_stamp *ret);
/* Checks a command's stamp and vehicle against the limits and sets its stamp: 0, -ERANGE, -ETIME, -EXDEV. */
int apollo_check_stamp(struct apollo_in *d, const struct apollo_stamp *h, int64_t *ret_ns);
/* Seconds as ns, rounded; s must fit an int64 of ns. */
int64_t apollo_ns(double s);
#define APOLLO_STAMP_MAX_S 9e9   /* limit of seconds that fit an int64 of ns */
int64_t apollo_dur_ns(double s); /* 0 if the duration is invalid */

/*
 * Declares struct sim_T *m, the zeroed message of d, with its builder; returns from the caller with an earlier error or
 * -ENOBUFS.
 */
#define APOLLO_START(d, error, T) \
	struct sim_builder builder; \
	struct sim_##T *m; \
	if (error) \
		return error; \
	m = sim_##T##_init((d)->body, (d)->room, &builder); \
	if (!m) \
	return -ENOBUFS

static inline int apollo_made(struct apollo_in *d, const struct sim_builder *b)
{
	d->size = sim_builder_size(b);
	return sim_builder_error(b);
}

/* ---- messages as tables: which field goes where ---- */

enum apollo_kind_in {             /* kind of the field on the wire, and of our field */
		      IN_F64,     /* double */
		      IN_F64_F32, /* double to float */
		      IN_F32,     /* float */
		      IN_I32,     /* int32 or an enum */
		      IN_U32,
		      IN_BOOL,  /* to uint8_t */
		      IN_POINT, /* Point3D, PointENU to struct sim_Vector3 */
		      IN_TURN,  /* Quaternion to struct sim_Quaternion */
};

struct apollo_field {
	uint8_t number, kind;
	uint16_t at; /* offset in the struct that it is read into */
};
#define APOLLO_FIELD(number, kind, S, member) \
	{ \
		number, kind, (uint16_t)offsetof(struct S, member) \
	}

/* Stores the field that r has found, if the table lists it. */
void apollo_take(const struct pb_reader *r, const struct apollo_field *t, size_t n, void *to);
/* Stores all listed fields of the nested message that r has found. */
void apollo_take_all(const struct pb_reader *r, const struct apollo_field *t, size_t n, void *to);
#define APOLLO_TAKE(r, table, to)     apollo_take(r, table, sizeof(table) / sizeof((table)[0]), to)
#define APOLLO_TAKE_ALL(r, table, to) apollo_take_all(r, table, sizeof(table) / sizeof((table)[0]), to)

/* Reads stamp and frame of the sensor's header, which is the given field of the message, into d. 0 or d->error. */
int apollo_take_header(struct apollo_in *d, uint32_t field);
/* The same for the header that r has found. */
void apollo_header_here(struct apollo_in *d, const struct pb_reader *r);
/* Starts reading the message at its beginning. */
void apollo_begin(struct apollo_in *d, struct pb_reader *r);
/* Advances to the next nested message with this field number; false: there is none. */
bool apollo_next(struct pb_reader *r, uint32_t field);
uint32_t apollo_count(const struct apollo_in *d, uint32_t field);

/*
 * Sets a string from a text that ends at len or at a NUL. bound: the maximum of bytes in our type; 0: unlimited. 0 or
 * an error of the builder.
 */
int apollo_set_text(struct sim_builder *b, struct sim_span *to, const void *text, size_t len, uint32_t bound);

bool apollo_finite(const struct sim_Vector3 *v);
/* Converts UTM to metres from the map's origin, if the rig has one. */
struct sim_Vector3 apollo_to_origin(const struct apollo_in *d, const struct sim_Vector3 *v);

#endif
