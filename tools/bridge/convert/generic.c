/* SPDX-License-Identifier: Apache-2.0 */
/* See generic.h. The recursion depth is limited by the types, which simgen and sim_type_from_json() limit. */
#include "generic.h"

#include <errno.h>
#include <stdbool.h>

/* Kinds whose arrays are encoded in one piece, as they are in memory. */
static bool is_number(const struct sim_field *f)
{
	return f->kind >= SIM_KIND_INT8 && f->kind <= SIM_KIND_FLOAT64;
}

static bool is_span(const struct sim_field *f)
{
	return f->array == SIM_ARRAY_BOUNDED || f->array == SIM_ARRAY_VARIABLE;
}

/* ROS 1's header has a seq, too; the encoder and decoder handle that. */
static bool is_header(const struct sim_type *t)
{
	return t->n_fields == 2 && strcmp(t->name, "std_msgs/Header") == 0 && t->fields[0].kind == SIM_KIND_TIME &&
	       t->fields[0].array == SIM_ARRAY_NONE && t->fields[1].kind == SIM_KIND_STRING &&
	       t->fields[1].array == SIM_ARRAY_NONE;
}

/* ---- out ---- */

struct walk {
	const uint8_t *body;
	size_t size;
	uint64_t claimed; /* bytes of the fixed struct and of all spans so far: limits the output if spans overlap */
	struct sim_enc *e;
};

/* Finds the data of a span: n elements and `extra` bytes; reads the span only once. */
static int follow(struct walk *w, const uint8_t *at, size_t elem_size, size_t align, uint32_t bound, size_t extra,
		  const uint8_t **ret, uint32_t *ret_n)
{
	const struct sim_span *span = (const struct sim_span *)(const void *)at;
	uint32_t offset = __atomic_load_n(&span->offset, __ATOMIC_RELAXED);
	uint32_t n = __atomic_load_n(&span->count, __ATOMIC_RELAXED);
	uint64_t bytes = (uint64_t)n * elem_size + extra;

	*ret = NULL;
	*ret_n = 0;
	if (n == 0)
		return 0;
	w->claimed += bytes;
	if ((bound && n > bound) || offset > w->size || bytes > w->size - offset || offset % align ||
	    w->claimed > w->size)
		return -EBADMSG;
	*ret = w->body + offset;
	*ret_n = n;
	return 0;
}

static int put_struct(struct walk *w, const struct sim_type *t, const uint8_t *s);

static int put_string(struct walk *w, const struct sim_field *f, const char *name, const uint8_t *at)
{
	const uint8_t *s;
	uint32_t len;
	int r = follow(w, at, 1, 1, f->string_max, 1, &s, &len);

	if (r < 0 || (len && s[len] != '\0'))
		return -EBADMSG;
	w->e->ops->string(w->e, name, len ? (const char *)s : "", len);
	return 0;
}

#define FRAME_MAX 255 /* bytes of a header's frame */

/* Copies the frame, because the publisher may still change it. */
static int put_header(struct walk *w, const struct sim_type *t, const char *name, const uint8_t *at)
{
	char frame[FRAME_MAX + 1];
	struct sim_enc_header h = { .frame = frame };
	const uint8_t *s;
	uint32_t len;

	if (follow(w, at + t->fields[1].offset, 1, 1, FRAME_MAX, 1, &s, &len) < 0)
		return -EBADMSG;
	if (len)
		memcpy(frame, s, len);
	frame[len] = '\0';
	memcpy(&h.stamp_sim_ns, at + t->fields[0].offset, sizeof(h.stamp_sim_ns));
	sim_enc_header(w->e, name, &h);
	return 0;
}

static int put_value(struct walk *w, const struct sim_field *f, const char *name, const uint8_t *at)
{
	int64_t ns;
	int r;

	switch (f->kind) {
	case SIM_KIND_MESSAGE:
		if (is_header(f->type))
			return put_header(w, f->type, name, at);
		sim_enc_begin(w->e, name);
		r = put_struct(w, f->type, at);
		sim_enc_end(w->e);
		return r;
	case SIM_KIND_STRING:
		return put_string(w, f, name, at);
	case SIM_KIND_TIME:
	case SIM_KIND_DURATION:
		memcpy(&ns, at, sizeof(ns));
		w->e->ops->time(w->e, name, (enum sim_kind)f->kind, ns);
		return 0;
	case SIM_KIND_BOOL:
		sim_enc_bool(w->e, name, *at);
		return 0;
	default:
		w->e->ops->value(w->e, name, (enum sim_kind)f->kind, at);
		return 0;
	}
}

/* Any byte except 0 is true: writes them as 0 and 1. */
static void put_bools(struct walk *w, const char *name, const uint8_t *at, uint32_t n, bool fixed)
{
	uint8_t *to = w->e->ops->room(w->e, name, SIM_KIND_BOOL, n, fixed);

	for (uint32_t i = 0; to && i < n; i++)
		to[i] = at[i] != 0;
}

static int put_array(struct walk *w, const struct sim_field *f, const uint8_t *s)
{
	const uint8_t *at = s + f->offset;
	uint32_t n = f->count;
	bool fixed = !is_span(f);
	int r = fixed ? 0 : follow(w, at, f->elem_size, f->elem_align, f->count, 0, &at, &n);

	if (r < 0)
		return r;
	if (is_number(f))
		w->e->ops->array(w->e, f->name, (enum sim_kind)f->kind, at, n, fixed);
	else if (f->kind == SIM_KIND_BOOL)
		put_bools(w, f->name, at, n, fixed);
	if (is_number(f) || f->kind == SIM_KIND_BOOL)
		return 0;
	w->e->ops->list(w->e, f->name, n, fixed);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = put_value(w, f, NULL, at + (size_t)i * f->elem_size);
	sim_enc_list_end(w->e);
	return r;
}

static int put_struct(struct walk *w, const struct sim_type *t, const uint8_t *s)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < t->n_fields; i++) {
		const struct sim_field *f = &t->fields[i];

		r = f->array == SIM_ARRAY_NONE ? put_value(w, f, f->name, s + f->offset) : put_array(w, f, s);
	}
	return r;
}

int generic_emit(const struct sim_type *t, const void *body, size_t size, struct sim_enc *e)
{
	struct walk w = { .body = body, .size = size, .claimed = t->fixed_size, .e = e };

	if (!body || size < t->fixed_size || (uintptr_t)body % t->align)
		return -EBADMSG;
	return put_struct(&w, t, body);
}

/* ---- in ---- */

static void get_struct(struct sim_dec *d, struct sim_builder *b, const struct sim_type *t, uint8_t *s);

static void get_string(struct sim_dec *d, struct sim_builder *b, const struct sim_field *f, const char *name,
		       uint8_t *at)
{
	size_t len;
	const char *s = sim_dec_string(d, name, f->string_max ? f->string_max : SIM_BODY_MAX, &len);
	struct sim_span span;
	char *to = len ? sim_builder_string(b, &span, len, f->string_max) : NULL;

	if (!to)
		return;
	memcpy(to, s, len);
	memcpy(at, &span, sizeof(span));
}

static void get_header(struct sim_dec *d, struct sim_builder *b, const struct sim_type *t, const char *name,
		       uint8_t *at)
{
	const char *frame = NULL;
	size_t len = 0;
	int64_t ns = d->ops->header(d, name, &frame, &len);
	struct sim_span span;
	char *to = frame && len ? sim_builder_string(b, &span, len, t->fields[1].string_max) : NULL;

	memcpy(at + t->fields[0].offset, &ns, sizeof(ns));
	if (!to)
		return;
	memcpy(to, frame, len);
	memcpy(at + t->fields[1].offset, &span, sizeof(span));
}

static void get_value(struct sim_dec *d, struct sim_builder *b, const struct sim_field *f, const char *name,
		      uint8_t *at)
{
	int64_t ns;

	switch (f->kind) {
	case SIM_KIND_MESSAGE:
		if (is_header(f->type)) {
			get_header(d, b, f->type, name, at);
			break;
		}
		sim_dec_begin(d, name);
		get_struct(d, b, f->type, at);
		sim_dec_end(d);
		break;
	case SIM_KIND_STRING:
		get_string(d, b, f, name, at);
		break;
	case SIM_KIND_TIME:
	case SIM_KIND_DURATION:
		ns = d->ops->time(d, name, (enum sim_kind)f->kind);
		memcpy(at, &ns, sizeof(ns));
		break;
	default:
		d->ops->value(d, name, (enum sim_kind)f->kind, at);
	}
}

/* Memory for the elements of an array: in the struct, or after the data so far. */
static uint8_t *place(struct sim_builder *b, const struct sim_field *f, uint8_t *s, uint32_t n, bool zero)
{
	struct sim_span span;
	uint8_t *at;

	if (!is_span(f))
		return s + f->offset;
	at = n ? sim_builder_array(b, &span, n, f->elem_size, f->elem_align, f->count, zero) : NULL;
	if (at)
		memcpy(s + f->offset, &span, sizeof(span));
	return at;
}

static void get_array(struct sim_dec *d, struct sim_builder *b, const struct sim_field *f, uint8_t *s)
{
	uint32_t fixed = is_span(f) ? 0 : f->count, n;
	const void *from;
	uint8_t *to;

	if (is_number(f) || f->kind == SIM_KIND_BOOL) {
		from = d->ops->array(d, f->name, (enum sim_kind)f->kind, fixed, &n);
		to = n ? place(b, f, s, n, false) : NULL;
		if (to)
			memcpy(to, from, (size_t)n * f->elem_size);
		return;
	}
	n = d->ops->list(d, f->name, fixed, 1);
	to = place(b, f, s, n, true);
	for (uint32_t i = 0; to && i < n && !d->err && !b->err; i++)
		get_value(d, b, f, NULL, to + (size_t)i * f->elem_size);
	sim_dec_list_end(d);
}

static void get_struct(struct sim_dec *d, struct sim_builder *b, const struct sim_type *t, uint8_t *s)
{
	for (uint32_t i = 0; i < t->n_fields && !d->err && !b->err; i++) {
		const struct sim_field *f = &t->fields[i];

		if (f->array == SIM_ARRAY_NONE)
			get_value(d, b, f, f->name, s + f->offset);
		else
			get_array(d, b, f, s);
	}
}

int generic_read(const struct sim_type *t, struct sim_dec *d, void *buf, size_t room, size_t *ret_size)
{
	struct sim_builder b;
	uint8_t *s = sim_builder_begin(&b, buf, room, t->fixed_size, t->align);

	if (!s)
		return -ENOBUFS;
	get_struct(d, &b, t, s);
	*ret_size = sim_builder_size(&b);
	return sim_builder_error(&b);
}
