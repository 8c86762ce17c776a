/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of pixels from one place to another, once: formats, order of rows and pitches change on the way. Thread: any. */
#ifndef READBACK_ROWS_H
#define READBACK_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/readback.h>

struct rows {
	const uint8_t *from; /* the two do not overlap */
	uint8_t *to;
	size_t from_pitch, to_pitch;
	uint32_t width, height;
	enum sim_readback_format from_format, to_format;
	bool flip;
	float depth_scale; /* R32F to R16: units of 1.0 */
};

/* Whether there is a way from one format to the other. */
bool rows_possible(enum sim_readback_format from, enum sim_readback_format to);
/* What a pixel's address is a multiple of. */
static inline size_t rows_align(enum sim_readback_format format)
{
	size_t size = sim_readback_pixel_size(format);

	return size & -size;
}
void rows_copy(const struct rows *r);
/* The same; wide: with AVX2, which the processor has. */
void rows_copy_with(const struct rows *r, bool wide);

#endif
