/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: how the body of a slot is laid out, built in place and read in place. Everything here is
 * inline and free of dependencies; the headers that simgen writes from a .msg file use it.
 *
 * A body is one fixed struct followed by its variable-length data. A variable-length array or a
 * string is a span in the fixed struct: offset in bytes from the first byte of the body, and the
 * number of elements. A body therefore means the same at any address, in any process, in any copy.
 * Integers and floats are little-endian; alignment is natural; padding is explicit and zero.
 *
 * Building: T_init() over a buffer, then assign fields, then T_field_alloc() for each array, fill in
 * place; sim_builder_size() is the body size to publish. A builder is used by one thread.
 * Reading: data written by a peer is not trusted. Each accessor reads the span once, checks it against
 * the body size, the bound and the alignment, and gives NULL and 0 if a check fails.
 */
#ifndef SIM_MESSAGE_H
#define SIM_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim/slot.h"
#include "sim/types.h"

#ifdef __cplusplus
extern "C" {
#define SIM_ALIGNOF(t) alignof(t)
#else
#define SIM_ALIGNOF(t) _Alignof(t)
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "message bodies are little-endian and read in place: this machine is not supported"
#endif

#define SIM_TYPE_ABI    1u
#define SIM_ALIGN_ARRAY 8u  /* least alignment of a variable-length array, in bytes from the body's start */
#define SIM_ALIGN_BIG   64u /* alignment of one of SIM_BIG_ARRAY bytes or more */
#define SIM_BIG_ARRAY   1024u
#define SIM_BODY_MAX    UINT32_MAX /* spans are 32 bits wide */

/* Where a variable-length array or string lies in its body. {0, 0} is an empty one. */
struct sim_span {
	uint32_t offset; /* bytes from the first byte of the body */
	uint32_t count;  /* elements; of a string: bytes, the NUL that follows them not counted */
};

SIM_STATIC_ASSERT(sizeof(struct sim_span) == 8, "spans are shared-memory ABI");

/* ---- What simgen knows about a type: the field table ---- */

/* clang-format off */
/* The kinds of a field: X(ID, number, name in .msg files, bytes of one element). Numbers are ABI: append only. */
#define SIM_KINDS(X) \
	X(BOOL,      1, "bool",     1) /* uint8_t in C: 0 false, else true */ \
	X(INT8,      2, "int8",     1) \
	X(UINT8,     3, "uint8",    1) \
	X(INT16,     4, "int16",    2) \
	X(UINT16,    5, "uint16",   2) \
	X(INT32,     6, "int32",    4) \
	X(UINT32,    7, "uint32",   4) \
	X(INT64,     8, "int64",    8) \
	X(UINT64,    9, "uint64",   8) \
	X(FLOAT32,  10, "float32",  4) \
	X(FLOAT64,  11, "float64",  8) \
	X(TIME,     12, "time",     8) /* int64_t, ns of simulated time since its epoch */ \
	X(DURATION, 13, "duration", 8) /* int64_t, ns */ \
	X(STRING,   14, "string",   8) /* struct sim_span of UTF-8 */ \
	X(MESSAGE,  15, "message",  0) /* a nested type, inline */

enum sim_kind {
#define X(id, num, name, bytes) SIM_KIND_##id = num,
	SIM_KINDS(X)
#undef X
	SIM_KIND_END = 16
};
/* clang-format on */

/* How many elements a field has. Variable and bounded arrays are a struct sim_span in the fixed struct. */
enum sim_array {
	SIM_ARRAY_NONE = 0,     /* T x: exactly one, inline */
	SIM_ARRAY_FIXED = 1,    /* T[n] x: count of them, inline */
	SIM_ARRAY_BOUNDED = 2,  /* T[<=n] x: a span of at most count */
	SIM_ARRAY_VARIABLE = 3, /* T[] x: a span */
};

struct sim_type;

/*
 * Tables are defined in the header beside the struct that they describe, so each program carries the tables that its
 * own code was compiled with: it announces what it writes, whatever definition its libsimclient was built from. Compare
 * two types with sim_type_equal(), not by address.
 */
#define SIM_TABLE_ __attribute__((unused)) static const

struct sim_field {
	const char *name;
	const struct sim_type *type; /* for SIM_KIND_MESSAGE, else NULL */
	const char *unit;            /* "m/s", "" if it has none */
	const char *comment;         /* the whole comment of the definition, "" if it has none */
	uint32_t offset;             /* bytes from the start of the struct that the field is in */
	uint32_t count;              /* SIM_ARRAY_FIXED: elements; SIM_ARRAY_BOUNDED: the bound; else 0 */
	uint32_t elem_size;          /* bytes of one element, and the distance between two in an array */
	uint32_t string_max;         /* bytes a bounded string may have; 0: no bound */
	uint8_t kind;                /* enum sim_kind */
	uint8_t array;               /* enum sim_array */
	uint8_t elem_align;          /* bytes */
	uint8_t reserved[5];         /* 0 */
};

struct sim_constant {
	const char *name;
	const char *value;   /* canonical text: decimal number, true, false; a string without quotes */
	uint8_t kind;        /* enum sim_kind */
	uint8_t reserved[7]; /* 0 */
};

enum sim_type_flag {
	SIM_TYPE_COUNTED = 1u << 0, /* made by sim_type_from_json(): lives as long as it is referenced */
};

/*
 * A type. The hash is 64 bits over the canonical definition, nested types included, comments and units
 * not (schemas/msg/typedesc.h defines how): equal hash, equal layout and equal meaning of every number.
 */
struct sim_type {
	uint32_t abi;        /* SIM_TYPE_ABI */
	uint32_t size;       /* sizeof(struct sim_type) when the table was compiled */
	const char *name;    /* "sim/PointCloud" */
	const char *comment; /* the first comment of the definition, "" if it has none */
	uint64_t hash;
	uint32_t fixed_size; /* bytes of the fixed struct */
	uint32_t align;      /* bytes */
	uint32_t n_fields;
	uint32_t n_constants;
	uint32_t flags;    /* enum sim_type_flag */
	uint32_t reserved; /* 0 */
	const struct sim_field *fields;
	const struct sim_constant *constants;
};

/* A service: its request and response types. simgen writes one from a .srv file; see sim/service.h. */
struct sim_service_type {
	uint32_t abi;        /* SIM_TYPE_ABI */
	uint32_t size;       /* sizeof(struct sim_service_type) when the table was compiled */
	const char *name;    /* "sim/SetBool" */
	const char *comment; /* the first comment of the definition, "" if it has none */
	const struct sim_type *request, *response;
};

/* ---- building a body in place ---- */

struct sim_builder {
	uint8_t *base;   /* first byte of the body; borrows the buffer */
	size_t capacity; /* bytes of the buffer */
	size_t used;     /* bytes of the body so far */
	int err; /* 0, or the first failure: -ENOBUFS did not fit, -EMSGSIZE over a bound, -EINVAL another type's setter */
	uint32_t root; /* the body's type, as SIM_ROOT_(); 0: not set */
};

#define SIM_ENOBUFS_  (-105)
#define SIM_EMSGSIZE_ (-90)
#define SIM_EINVAL_   (-22)

#define SIM_ROOT_(hash) ((uint32_t)((hash) ^ (hash) >> 32) | 1u)

/*
 * Starts a body: zeroes the fixed struct. NULL when buf is NULL, misaligned or too small; every later call on b then
 * fails.
 */
SIM_INLINE void *sim_builder_begin(struct sim_builder *b, void *buf, size_t capacity, size_t fixed_size, size_t align)
{
	int ok = buf && capacity >= fixed_size && (uintptr_t)buf % align == 0;

	b->base = (uint8_t *)buf;
	b->capacity = !ok ? 0 : capacity > SIM_BODY_MAX ? SIM_BODY_MAX : capacity;
	b->used = ok ? fixed_size : 0;
	b->err = ok ? 0 : SIM_ENOBUFS_;
	b->root = 0;
	return ok ? memset(buf, 0, fixed_size) : NULL;
}

/* Bytes of the body so far: what to publish. 0 after a failed start. */
SIM_INLINE size_t sim_builder_size(const struct sim_builder *b)
{
	return b->used;
}

/* 0 if everything so far has fit, else the first error (a negative errno). */
SIM_INLINE int sim_builder_error(const struct sim_builder *b)
{
	return b->err;
}

static inline void *sim_builder_fail_(struct sim_builder *b, int err)
{
	if (!b->err)
		b->err = err;
	return NULL;
}

/*
 * Returns the fixed struct of a body whose type has that hash: what ..._set() and ..._alloc() write to. NULL after a
 * failed start, and if the body has another type (b->err is then -EINVAL): elements of a list and nested messages are
 * written with ..._set_in() and ..._alloc_in().
 */
static inline void *sim_builder_root_(struct sim_builder *b, uint64_t hash)
{
	if (!b->used)
		return NULL;
	return b->root == SIM_ROOT_(hash) ? (void *)b->base : sim_builder_fail_(b, SIM_EINVAL_);
}

/*
 * Appends room for n elements; sets *span. The caller fills the data: it is not zeroed unless `zero`, but the gap
 * before it is. bound 0: no bound. Returns NULL, and leaves the span empty, if it does not fit; never NULL for n == 0.
 */
SIM_INLINE void *sim_builder_array(struct sim_builder *b, struct sim_span *span, uint32_t n, size_t elem_size,
				   size_t elem_align, uint32_t bound, int zero)
{
	size_t align = elem_align < SIM_ALIGN_ARRAY ? SIM_ALIGN_ARRAY : elem_align;
	size_t bytes = (size_t)n * elem_size, at;

	span->offset = 0;
	span->count = 0;
	if (bound && n > bound)
		return sim_builder_fail_(b, SIM_EMSGSIZE_);
	if (bytes >= SIM_BIG_ARRAY)
		align = SIM_ALIGN_BIG;
	if (n == 0 && b->base && !b->err)
		return b->base + b->used;
	at = (b->used + align - 1) & ~(align - 1);
	if (!b->used || at > b->capacity || bytes > b->capacity - at)
		return sim_builder_fail_(b, SIM_ENOBUFS_);
	memset(b->base + b->used, 0, at - b->used);
	if (zero)
		memset(b->base + at, 0, bytes);
	span->offset = (uint32_t)at;
	span->count = n;
	b->used = at + bytes;
	return b->base + at;
}

/* Appends room for a string of len bytes and its NUL (which is written); sets *span. NULL if it does not fit. */
SIM_INLINE char *sim_builder_string(struct sim_builder *b, struct sim_span *span, size_t len, uint32_t bound)
{
	char *at;

	span->offset = 0;
	span->count = 0;
	if (bound && len > bound)
		return (char *)sim_builder_fail_(b, SIM_EMSGSIZE_);
	if (!b->used || b->used >= b->capacity || len >= b->capacity - b->used)
		return (char *)sim_builder_fail_(b, SIM_ENOBUFS_);
	at = (char *)b->base + b->used;
	at[len] = '\0';
	span->offset = (uint32_t)b->used;
	span->count = (uint32_t)len;
	b->used += len + 1;
	return at;
}

/* Stores a copy of a NUL-terminated string (NULL: ""). Borrows s. 0, or -ENOBUFS, -EMSGSIZE. */
SIM_INLINE int sim_builder_text(struct sim_builder *b, struct sim_span *span, const char *s, uint32_t bound)
{
	size_t len = s ? strlen(s) : 0;
	char *at = sim_builder_string(b, span, len, bound);

	if (!at)
		return b->err;
	if (len)
		memcpy(at, s, len);
	return 0;
}

/* Bytes that an array or a string needs at most, its alignment included: to add up the size of a loan. */
SIM_INLINE size_t sim_array_size(size_t n, size_t elem_size)
{
	size_t bytes = n * elem_size;

	return bytes + (bytes >= SIM_BIG_ARRAY ? SIM_ALIGN_BIG : SIM_ALIGN_ARRAY) - 1;
}

SIM_INLINE size_t sim_string_size(size_t len)
{
	return len + 1;
}

/* ---- reading a body in place ---- */

/*
 * Returns the data of a span: NULL and 0 if it is empty, or if a peer wrote one that leaves the body or violates the
 * bound or the alignment. The span is read once, so a peer that keeps writing cannot get past the check.
 */
SIM_INLINE const void *sim_span_data(const void *body, size_t body_size, const struct sim_span *span, size_t elem_size,
				     size_t elem_align, uint32_t bound, uint32_t *ret_n)
{
	uint32_t offset = __atomic_load_n(&span->offset, __ATOMIC_RELAXED);
	uint32_t n = __atomic_load_n(&span->count, __ATOMIC_RELAXED);
	const uint8_t *at;

	*ret_n = 0;
	if (n == 0 || (bound && n > bound) || offset > body_size ||
	    (uint64_t)n * elem_size > (uint64_t)(body_size - offset))
		return NULL;
	at = (const uint8_t *)body + offset;
	if ((uintptr_t)at % elem_align)
		return NULL;
	*ret_n = n;
	return at;
}

/* The string of a span, NUL-terminated; "" when it is empty or not a string inside the body. */
SIM_INLINE const char *sim_span_string(const void *body, size_t body_size, const struct sim_span *span, uint32_t bound,
				       uint32_t *ret_len)
{
	uint32_t n;
	const char *s = (const char *)sim_span_data(body, body_size, span, 1, 1, bound, &n);
	size_t end = s ? (size_t)(s - (const char *)body) + n : 0;

	if (!s || end >= body_size || __atomic_load_n(s + n, __ATOMIC_RELAXED) != '\0') {
		s = "";
		n = 0;
	}
	if (ret_len)
		*ret_len = n;
	return s;
}

/* Returns the body as its struct; NULL if it is too short or misaligned. */
SIM_INLINE const void *sim_body_check(const void *body, size_t body_size, size_t fixed_size, size_t align)
{
	return body && body_size >= fixed_size && (uintptr_t)body % align == 0 ? body : NULL;
}

#ifdef __cplusplus
}
#endif
#endif
