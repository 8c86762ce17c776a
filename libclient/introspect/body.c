/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a body that a peer wrote: see body.h. */
#include "body.h"

#include <errno.h>
#include <string.h>

#include "err.h"
#include "msg/typedesc.h"

int body_begin(struct body *b, const struct sim_type *type, const void *body, size_t size)
{
	if (!type || type->abi != SIM_TYPE_ABI)
		return err_set(-EINVAL, "no type, or one of another ABI than %u: run simgen again", SIM_TYPE_ABI);
	if (!body || size < type->fixed_size)
		return err_set(-EINVAL, "a body of %zu bytes is too short for %s, which takes %u", body ? size : 0,
			       type->name, type->fixed_size);
	*b = (struct body){ .at = body, .size = size, .claimed = type->fixed_size, .end = type->fixed_size };
	return 0;
}

static struct sim_span read_span(const uint8_t *at)
{
	struct sim_span s;

	memcpy(&s, at, sizeof(s));
	/* The peer may still write to shared memory: make the compiler use this copy and not read it again. */
	__asm__ volatile("" : "+r"(s.offset), "+r"(s.count));
	return s;
}

/* Checks that the bytes from offset to offset + bytes are within the body, and adds them to those claimed. */
static int claim(struct body *b, const struct sim_field *f, uint32_t offset, uint64_t bytes)
{
	if (offset > b->size || bytes > b->size - offset)
		return err_set(-EBADMSG, "field '%s': its data would end at byte %llu of a body of %zu", f->name,
			       (unsigned long long)offset + bytes, b->size);
	b->claimed += bytes;
	if (b->claimed > b->size)
		return err_set(-EBADMSG, "field '%s': the arrays of this message overlap", f->name);
	if (offset + bytes > b->end)
		b->end = (size_t)(offset + bytes);
	return 0;
}

int body_field(struct body *b, const uint8_t *s, const struct sim_field *f, const uint8_t **ret, uint32_t *ret_n)
{
	struct sim_span span;
	int r;

	if (!typedesc_is_span(f)) {
		*ret = s + f->offset;
		*ret_n = f->array == SIM_ARRAY_FIXED ? f->count : 1;
		return 0;
	}
	span = read_span(s + f->offset);
	*ret = NULL;
	*ret_n = 0;
	if (span.count == 0)
		return 0;
	if (f->array == SIM_ARRAY_BOUNDED && span.count > f->count)
		return err_set(-EBADMSG, "field '%s': %u elements where %u are allowed", f->name, span.count, f->count);
	if (span.offset % f->elem_align)
		return err_set(-EBADMSG, "field '%s': its data are not aligned to %u bytes", f->name, f->elem_align);
	r = claim(b, f, span.offset, (uint64_t)span.count * f->elem_size);
	if (r < 0)
		return r;
	*ret = b->at + span.offset;
	*ret_n = span.count;
	return 0;
}

int body_string(struct body *b, const uint8_t *at, const struct sim_field *f, const char **ret, uint32_t *ret_len)
{
	struct sim_span span = read_span(at);
	int r;

	*ret = "";
	*ret_len = 0;
	if (span.count == 0)
		return 0;
	if (f->string_max && span.count > f->string_max)
		return err_set(-EBADMSG, "field '%s': a string of %u bytes where %u are allowed", f->name, span.count,
			       f->string_max);
	r = claim(b, f, span.offset, (uint64_t)span.count + 1);
	if (r < 0)
		return r;
	if (b->at[span.offset + span.count] != '\0')
		return err_set(-EBADMSG, "field '%s': its string is not followed by a NUL", f->name);
	*ret = (const char *)b->at + span.offset;
	*ret_len = span.count;
	return 0;
}

int body_follow(struct body *b, const struct sim_field_path *path, struct sim_field_view *v)
{
	const uint8_t *s = b->at;

	for (uint32_t i = 0; i < path->n; i++) {
		const struct sim_field *f = path->step[i].field;
		int64_t index = path->step[i].index;
		const uint8_t *at;
		uint32_t n;
		int r = body_field(b, s, f, &at, &n);

		if (r < 0)
			return r;
		*v = (struct sim_field_view){ f, n ? at : NULL, n, f->array != SIM_ARRAY_NONE };
		if (index >= (int64_t)n)
			return err_set(-ERANGE, "'%s' has %u elements here: there is no [%lld]", f->name, n,
				       (long long)index);
		if (index >= 0)
			*v = (struct sim_field_view){ f, at + (size_t)index * f->elem_size, 1, false };
		s = v->data;
	}
	return 0;
}
