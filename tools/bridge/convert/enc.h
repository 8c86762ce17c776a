/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mapping says its message to: the fields of one foreign message, in the order of its definition. An encoder is a
 * table of functions that turns them into bytes: enc_wire.h for the ROS formats; text and map formats need
 * the names that the wire formats leave out, which is why every call carries one.
 *
 * Errors do not interrupt: the first one stays in `err`, and what follows it is ignored by whoever reads the result.
 * Thread: one encoder is one thread's.
 */
#ifndef ENC_H
#define ENC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ros/ros_type.h"

struct enc_header { /* std_msgs/Header */
	int64_t stamp_sim_ns;
	uint32_t seq;      /* ROS 1 only */
	const char *frame; /* borrows */
};

struct enc {
	const struct enc_ops *ops;
	int err; /* 0 or the first failure, a negative errno */
};

struct enc_ops {
	void (*value)(struct enc *e, const char *name, enum ros_prim prim, const void *v);
	void (*string)(struct enc *e, const char *name, const char *s, size_t len);
	/* prim: ROS_TIME or ROS_DURATION */
	void (*time)(struct enc *e, const char *name, enum ros_prim prim, int64_t ns);
	/* n numbers as they lie in memory. fixed: as many as the definition says, copied at once; else keeps data until the message is sent. */
	void (*array)(struct enc *e, const char *name, enum ros_prim prim, const void *data, uint32_t n, bool fixed);
	/* Room for n numbers of a variable array, at any alignment, for the caller to fill before its next call. NULL: none is wanted. */
	void *(*room)(struct enc *e, const char *name, enum ros_prim prim, uint32_t n);
	/* A nested message; of an element of a list the name is NULL. */
	void (*begin)(struct enc *e, const char *name);
	void (*end)(struct enc *e);
	/* A variable array of n messages: list, n times begin ... end, list_end. */
	void (*list)(struct enc *e, const char *name, uint32_t n);
	void (*list_end)(struct enc *e);
	void (*header)(struct enc *e, const char *name, const struct enc_header *h);
};

static inline void enc_fail(struct enc *e, int err)
{
	if (!e->err)
		e->err = err;
}

/* enc_u8(e, "mode", 1) and so on */
#define ENC_VALUE(suffix, type, prim) \
	static inline void enc_##suffix(struct enc *e, const char *name, type v) \
	{ \
		e->ops->value(e, name, ROS_##prim, &v); \
	}
ENC_VALUE(i8, int8_t, INT8)
ENC_VALUE(u8, uint8_t, UINT8)
ENC_VALUE(u16, uint16_t, UINT16)
ENC_VALUE(i32, int32_t, INT32)
ENC_VALUE(u32, uint32_t, UINT32)
ENC_VALUE(i64, int64_t, INT64)
ENC_VALUE(f32, float, FLOAT32)
ENC_VALUE(f64, double, FLOAT64)
#undef ENC_VALUE

/* Any byte but 0 is true: a peer may have written any. */
static inline void enc_bool(struct enc *e, const char *name, uint8_t v)
{
	uint8_t one = v != 0;

	e->ops->value(e, name, ROS_BOOL, &one);
}
static inline void enc_text(struct enc *e, const char *name, const char *s)
{
	e->ops->string(e, name, s, strlen(s));
}
static inline void enc_time(struct enc *e, const char *name, int64_t ns)
{
	e->ops->time(e, name, ROS_TIME, ns);
}
static inline void enc_f64s(struct enc *e, const char *name, const double *v, uint32_t n)
{
	e->ops->array(e, name, ROS_FLOAT64, v, n, true);
}
static inline void enc_begin(struct enc *e, const char *name)
{
	e->ops->begin(e, name);
}
static inline void enc_end(struct enc *e)
{
	e->ops->end(e);
}
static inline void enc_list(struct enc *e, const char *name, uint32_t n)
{
	e->ops->list(e, name, n);
}
static inline void enc_list_end(struct enc *e)
{
	e->ops->list_end(e);
}

#endif
