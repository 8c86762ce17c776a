/* SPDX-License-Identifier: Apache-2.0 */
/* See sample.h: numbers count up, strings are "s", arrays have SAMPLE_ELEMENTS. */
#include "sample.h"

static void fill(struct sim_builder *b, const struct sim_type *t, uint8_t *at, unsigned *count);

static void fill_one(struct sim_builder *b, const struct sim_field *f, uint8_t *at, unsigned *count)
{
	double d = ++*count;
	float f32 = (float)d;
	int64_t i64 = (int64_t)*count;

	if (f->kind == SIM_KIND_MESSAGE)
		fill(b, f->type, at, count);
	else if (f->kind == SIM_KIND_STRING)
		sim_builder_text(b, (struct sim_span *)(void *)at, "s", f->string_max);
	else if (f->kind == SIM_KIND_FLOAT64)
		memcpy(at, &d, sizeof(d));
	else if (f->kind == SIM_KIND_FLOAT32)
		memcpy(at, &f32, sizeof(f32));
	else if (f->kind == SIM_KIND_BOOL)
		*at = 2; /* true, although not 1 */
	else
		memcpy(at, &i64, f->elem_size); /* little-endian */
}

static void fill(struct sim_builder *b, const struct sim_type *t, uint8_t *at, unsigned *count)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *f = &t->fields[i];
		uint8_t *first = at + f->offset;
		uint32_t n = f->array == SIM_ARRAY_FIXED ? f->count : 1;

		if (f->array == SIM_ARRAY_BOUNDED || f->array == SIM_ARRAY_VARIABLE) {
			n = SAMPLE_ELEMENTS;
			first = sim_builder_array(b, (struct sim_span *)(void *)first, n, f->elem_size, f->elem_align,
						  f->count, 1);
		}
		for (uint32_t k = 0; first && k < n; k++)
			fill_one(b, f, first + (size_t)k * f->elem_size, count);
	}
}

size_t sample_body(const struct sim_type *t, void *buf, size_t capacity)
{
	struct sim_builder b;
	unsigned count = 0;
	uint8_t *at = sim_builder_begin(&b, buf, capacity, t->fixed_size, t->align);

	if (at)
		fill(&b, t, at, &count);
	return sim_builder_error(&b) ? 0 : sim_builder_size(&b);
}
