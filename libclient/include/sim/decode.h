/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder from which a converter reads a foreign message: its fields, in the order of its definition. Nothing that
 * comes from a network is trusted: the first error stays in `err`, from then on everything reads as 0 or empty, and
 * what was read is discarded, so a converter need not check `err` before its end.
 *
 * Thread: a decoder is used by one thread. What is returned is borrowed until the next call, arrays until the last
 * call.
 * err: -EBADMSG malformed, -ENOTSUP a variant of the format that is not supported, -EMSGSIZE a string over its bound,
 * -EDOM not a finite number.
 */
#ifndef SIM_DECODE_H
#define SIM_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include <sim/message.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_DEC_ABI   1u
#define SIM_DEC_EDOM_ (-33)

struct sim_dec {
	const struct sim_dec_ops *ops;
	int err; /* 0 or the first failure, a negative errno */
};

/* For an element of a list the name is NULL. `byte` and `char` of ROS are SIM_KIND_UINT8. */
struct sim_dec_ops {
	uint32_t abi, size; /* SIM_DEC_ABI; members beyond size do not exist */
	/* One number or bool, written to *ret in its own size; a bool is 0 or 1. */
	void (*value)(struct sim_dec *d, const char *name, enum sim_kind kind, void *ret);
	/* A string of at most max bytes, not always NUL-terminated. */
	const char *(*string)(struct sim_dec *d, const char *name, size_t max, size_t *ret_len);
	/* ns. kind: SIM_KIND_TIME or SIM_KIND_DURATION */
	int64_t (*time)(struct sim_dec *d, const char *name, enum sim_kind kind);
	/*
	 * Numbers, at any alignment. fixed: how many the definition fixes; 0: a variable array. NULL if there are none.
	 */
	const void *(*array)(struct sim_dec *d, const char *name, enum sim_kind kind, uint32_t fixed, uint32_t *ret_n);
	/* A nested message. */
	void (*begin)(struct sim_dec *d, const char *name);
	void (*end)(struct sim_dec *d);
	/*
	 * An array of messages, strings or times: list returns how many, never more than the message can hold at min
	 * bytes each; then as many times begin ... end (or string, or time), then list_end. fixed: as for array.
	 */
	uint32_t (*list)(struct sim_dec *d, const char *name, uint32_t fixed, size_t min);
	void (*list_end)(struct sim_dec *d);
	/* A nested std_msgs/Header: returns its stamp in ns. ret_frame: as string; NULL: not wanted. */
	int64_t (*header)(struct sim_dec *d, const char *name, const char **ret_frame, size_t *ret_len);
	/*
	 * Whether the message that is being read has the field: formats with names (JSON, CBOR) may leave it out.
	 * Without this function: always.
	 */
	int (*has)(struct sim_dec *d, const char *name);
};

static inline void sim_dec_fail(struct sim_dec *d, int err)
{
	if (!d->err)
		d->err = err;
}

/* sim_dec_u8(d, "mode") and so on */
#define SIM_DEC_VALUE_(suffix, type, kind) \
	static inline type sim_dec_##suffix(struct sim_dec *d, const char *name) \
	{ \
		type v = 0; \
\
		d->ops->value(d, name, SIM_KIND_##kind, &v); \
		return v; \
	}
SIM_DEC_VALUE_(bool, uint8_t, BOOL)
SIM_DEC_VALUE_(i8, int8_t, INT8)
SIM_DEC_VALUE_(u8, uint8_t, UINT8)
SIM_DEC_VALUE_(i16, int16_t, INT16)
SIM_DEC_VALUE_(u16, uint16_t, UINT16)
SIM_DEC_VALUE_(i32, int32_t, INT32)
SIM_DEC_VALUE_(u32, uint32_t, UINT32)
SIM_DEC_VALUE_(i64, int64_t, INT64)
SIM_DEC_VALUE_(u64, uint64_t, UINT64)
#undef SIM_DEC_VALUE_

/* Finite; otherwise 0 and -EDOM, so that a NaN never reaches a vehicle. Call ops->value to read any value. */
static inline float sim_dec_f32(struct sim_dec *d, const char *name)
{
	float v = 0;

	d->ops->value(d, name, SIM_KIND_FLOAT32, &v);
	if (v - v == 0)
		return v;
	sim_dec_fail(d, SIM_DEC_EDOM_);
	return 0;
}
static inline double sim_dec_f64(struct sim_dec *d, const char *name)
{
	double v = 0;

	d->ops->value(d, name, SIM_KIND_FLOAT64, &v);
	if (v - v == 0)
		return v;
	sim_dec_fail(d, SIM_DEC_EDOM_);
	return 0;
}
static inline int64_t sim_dec_time(struct sim_dec *d, const char *name)
{
	return d->ops->time(d, name, SIM_KIND_TIME);
}
static inline int64_t sim_dec_duration(struct sim_dec *d, const char *name)
{
	return d->ops->time(d, name, SIM_KIND_DURATION);
}
static inline const char *sim_dec_string(struct sim_dec *d, const char *name, size_t max, size_t *ret_len)
{
	return d->ops->string(d, name, max, ret_len);
}
static inline const void *sim_dec_array(struct sim_dec *d, const char *name, enum sim_kind kind, uint32_t *ret_n)
{
	return d->ops->array(d, name, kind, 0, ret_n);
}
static inline void sim_dec_begin(struct sim_dec *d, const char *name)
{
	d->ops->begin(d, name);
}
static inline void sim_dec_end(struct sim_dec *d)
{
	d->ops->end(d);
}
static inline uint32_t sim_dec_list(struct sim_dec *d, const char *name, size_t min)
{
	return d->ops->list(d, name, 0, min);
}
static inline void sim_dec_list_end(struct sim_dec *d)
{
	d->ops->list_end(d);
}
static inline int sim_dec_has(struct sim_dec *d, const char *name)
{
	return d->ops->size <= offsetof(struct sim_dec_ops, has) || !d->ops->has || d->ops->has(d, name);
}
/* Returns the stamp, ns; the other members are skipped. */
static inline int64_t sim_dec_header(struct sim_dec *d, const char *name)
{
	return d->ops->header(d, name, NULL, NULL);
}

#ifdef __cplusplus
}
#endif
#endif
