/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder to which a converter emits a foreign message: its fields, in the order of its definition. An encoder is a
 * table of functions that turn fields into bytes of the format that the bridge speaks: CDR, the wire format of ROS 1,
 * JSON. Every call carries the field's name, which some formats need and purely positional ones leave out.
 *
 * Errors do not interrupt: the first one stays in `err`, and what was emitted is then discarded.
 * Thread: an encoder is used by one thread.
 */
#ifndef SIM_ENCODE_H
#define SIM_ENCODE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sim/message.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_ENC_ABI 1u

struct sim_enc_header { /* std_msgs/Header */
	int64_t stamp_sim_ns;
	uint32_t seq;      /* ROS 1 only */
	const char *frame; /* borrows */
};

struct sim_enc {
	const struct sim_enc_ops *ops;
	int err; /* 0 or the first failure, a negative errno */
};

/* For an element of a list the name is NULL. `byte` and `char` of ROS are SIM_KIND_UINT8. */
struct sim_enc_ops {
	uint32_t abi, size; /* SIM_ENC_ABI; members beyond size do not exist */
	/* One number or bool at v, at any alignment. */
	void (*value)(struct sim_enc *e, const char *name, enum sim_kind kind, const void *v);
	void (*string)(struct sim_enc *e, const char *name, const char *s, size_t len);
	/* kind: SIM_KIND_TIME or SIM_KIND_DURATION */
	void (*time)(struct sim_enc *e, const char *name, enum sim_kind kind, int64_t ns);
	/*
	 * n numbers in their memory layout. fixed: the definition fixes n. The encoder keeps a pointer to data until
	 * the message is sent: data lies in the body that is being converted, or is constant. Use room() for computed
	 * values.
	 */
	void (*array)(struct sim_enc *e, const char *name, enum sim_kind kind, const void *data, uint32_t n, int fixed);
	/*
	 * Returns room for n such numbers, at any alignment, to be filled before the next call. NULL: the encoder does
	 * not need them.
	 */
	void *(*room)(struct sim_enc *e, const char *name, enum sim_kind kind, uint32_t n, int fixed);
	/* A nested message. */
	void (*begin)(struct sim_enc *e, const char *name);
	void (*end)(struct sim_enc *e);
	/* An array of n messages, strings or times: list, n times begin ... end (or string, or time), list_end. */
	void (*list)(struct sim_enc *e, const char *name, uint32_t n, int fixed);
	void (*list_end)(struct sim_enc *e);
	/* A nested std_msgs/Header. */
	void (*header)(struct sim_enc *e, const char *name, const struct sim_enc_header *h);
};

static inline void sim_enc_fail(struct sim_enc *e, int err)
{
	if (!e->err)
		e->err = err;
}

/* sim_enc_u8(e, "mode", 1) and so on */
#define SIM_ENC_VALUE_(suffix, type, kind) \
	static inline void sim_enc_##suffix(struct sim_enc *e, const char *name, type v) \
	{ \
		e->ops->value(e, name, SIM_KIND_##kind, &v); \
	}
SIM_ENC_VALUE_(i8, int8_t, INT8)
SIM_ENC_VALUE_(u8, uint8_t, UINT8)
SIM_ENC_VALUE_(i16, int16_t, INT16)
SIM_ENC_VALUE_(u16, uint16_t, UINT16)
SIM_ENC_VALUE_(i32, int32_t, INT32)
SIM_ENC_VALUE_(u32, uint32_t, UINT32)
SIM_ENC_VALUE_(i64, int64_t, INT64)
SIM_ENC_VALUE_(u64, uint64_t, UINT64)
SIM_ENC_VALUE_(f32, float, FLOAT32)
SIM_ENC_VALUE_(f64, double, FLOAT64)
#undef SIM_ENC_VALUE_

/* Any byte but 0 is true: a peer may have written any value. */
static inline void sim_enc_bool(struct sim_enc *e, const char *name, uint8_t v)
{
	uint8_t one = v != 0;

	e->ops->value(e, name, SIM_KIND_BOOL, &one);
}
static inline void sim_enc_text(struct sim_enc *e, const char *name, const char *s)
{
	e->ops->string(e, name, s, strlen(s));
}
static inline void sim_enc_time(struct sim_enc *e, const char *name, int64_t ns)
{
	e->ops->time(e, name, SIM_KIND_TIME, ns);
}
static inline void sim_enc_duration(struct sim_enc *e, const char *name, int64_t ns)
{
	e->ops->time(e, name, SIM_KIND_DURATION, ns);
}
/* An array of fixed size, copied. */
static inline void sim_enc_f64s(struct sim_enc *e, const char *name, const double *v, uint32_t n)
{
	void *at = e->ops->room(e, name, SIM_KIND_FLOAT64, n, 1);

	if (at)
		memcpy(at, v, n * sizeof(*v));
}
/* A variable array, not copied: see ops->array. */
static inline void sim_enc_array(struct sim_enc *e, const char *name, enum sim_kind kind, const void *data, uint32_t n)
{
	e->ops->array(e, name, kind, data, n, 0);
}
static inline void sim_enc_begin(struct sim_enc *e, const char *name)
{
	e->ops->begin(e, name);
}
static inline void sim_enc_end(struct sim_enc *e)
{
	e->ops->end(e);
}
static inline void sim_enc_list(struct sim_enc *e, const char *name, uint32_t n)
{
	e->ops->list(e, name, n, 0);
}
static inline void sim_enc_list_end(struct sim_enc *e)
{
	e->ops->list_end(e);
}
static inline void sim_enc_header(struct sim_enc *e, const char *name, const struct sim_enc_header *h)
{
	e->ops->header(e, name, h);
}

#ifdef __cplusplus
}
#endif
#endif
