/* SPDX-License-Identifier: Apache-2.0 */
/* What the messages that come in share. */
#ifndef APOLLO_IN_PRIVATE_H
#define APOLLO_IN_PRIVATE_H

#include "apollo_in.h"
#include "apollo_private.h"

struct apollo_stamp { /* of a header; zeros: there is none */
	double s;
	const void *frame;
	size_t frame_len;
};

void apollo_read_header(const struct pb_reader *field, struct apollo_stamp *ret);
/* Of a command: its stamp, and whether the message is for us and new enough: 0, -ERANGE, -ETIME, -EXDEV. */
int apollo_check_stamp(struct apollo_in *d, const struct apollo_stamp *h, int64_t *ret_ns);
/* Seconds as ns, rounded; s must be one that int64 ns can hold. */
int64_t apollo_ns(double s);
#define APOLLO_STAMP_MAX_S 9e9   /* what int64 ns can hold */
int64_t apollo_dur_ns(double s); /* 0 where it is none */

/* struct sim_T *m: the zeroed message of d, with its builder; an error of before or -ENOBUFS is returned */
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

enum apollo_kind_in {             /* of the field on the wire, and of ours */
		      IN_F64,     /* double */
		      IN_F64_F32, /* double, float of ours */
		      IN_F32,     /* float */
		      IN_I32,     /* int32 or an enum */
		      IN_U32,
		      IN_BOOL,  /* uint8_t of ours */
		      IN_POINT, /* Point3D, PointENU: struct sim_Vector3 */
		      IN_TURN,  /* Quaternion: struct sim_Quaternion */
};

struct apollo_field {
	uint8_t number, kind;
	uint16_t at; /* offset in what it is read into */
};
#define APOLLO_FIELD(number, kind, S, member) \
	{ \
		number, kind, (uint16_t)offsetof(struct S, member) \
	}

/* The field that r has found, where the table has it. */
void apollo_take(const struct pb_reader *r, const struct apollo_field *t, size_t n, void *to);
/* All fields of the message in the field that r has found. */
void apollo_take_all(const struct pb_reader *r, const struct apollo_field *t, size_t n, void *to);
#define APOLLO_TAKE(r, table, to)     apollo_take(r, table, sizeof(table) / sizeof((table)[0]), to)
#define APOLLO_TAKE_ALL(r, table, to) apollo_take_all(r, table, sizeof(table) / sizeof((table)[0]), to)

/* The stamp and frame of a sensor's header, which is that field of the whole message: into d. 0 or d->error. */
int apollo_take_header(struct apollo_in *d, uint32_t field);
/* Of the header that r has found. */
void apollo_header_here(struct apollo_in *d, const struct pb_reader *r);
/* The whole message from its beginning. */
void apollo_begin(struct apollo_in *d, struct pb_reader *r);
/* To the next message that is that field; false: there is none. */
bool apollo_next(struct pb_reader *r, uint32_t field);
uint32_t apollo_count(const struct apollo_in *d, uint32_t field);

/* A text of the message, to its end or a NUL. bound: bytes that ours may have; 0: any. 0 or an error of the builder. */
int apollo_set_text(struct sim_builder *b, struct sim_span *to, const void *text, size_t len, uint32_t bound);

bool apollo_finite(const struct sim_Vector3 *v);
/* UTM as metres from the map's origin, where the rig has one. */
struct sim_Vector3 apollo_to_origin(const struct apollo_in *d, const struct sim_Vector3 *v);

#endif
