/* SPDX-License-Identifier: Apache-2.0 */
/* Copies rows of pixels once, and converts formats, order of rows and pitches on the way. Thread: any. */
#ifndef READBACK_ROWS_H
#define READBACK_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/readback.h>

struct rows {
	const uint8_t *from; /* must not overlap */
	uint8_t *to;
	size_t from_pitch, to_pitch;
	uint32_t width, height;
	enum sim_readback_format from_format, to_format;
	bool flip;
	float depth_scale; /* R32F to R16: units per 1.0 */
};

/* Whether one format can be converted to the other. */
bool rows_possible(enum sim_readback_format from, enum sim_readback_format to);
/* Alignment of a pixel in memory. */
static inline size_t rows_align(enum sim_readback_format format)
{
	size_t size = sim_readback_pixel_size(format);

	return size & -size;
}
void rows_copy(const struct rows *r);
/* The same; wide: use AVX2, which the processor must have. */
void rows_copy_with(const struct rows *r, bool wide);

#endif
