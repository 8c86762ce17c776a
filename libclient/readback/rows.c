/* SPDX-License-Identifier: Apache-2.0 */
/* See rows.h. */
#include "rows.h"

#include <string.h>

size_t sim_readback_pixel_size(enum sim_readback_format format)
{
	switch (format) {
#define X(id, num, bytes) \
	case SIM_READBACK_##id: \
		return bytes;
		SIM_READBACK_FORMATS(X)
#undef X
	}
	return 0;
}

static bool exchanged(enum sim_readback_format from, enum sim_readback_format to)
{
	return (from == SIM_READBACK_RGBA8 && to == SIM_READBACK_BGRA8) ||
	       (from == SIM_READBACK_BGRA8 && to == SIM_READBACK_RGBA8);
}

bool rows_possible(enum sim_readback_format from, enum sim_readback_format to)
{
	if (!sim_readback_pixel_size(from) || !sim_readback_pixel_size(to))
		return false;
	return from == to || exchanged(from, to) || (from == SIM_READBACK_R32F && to == SIM_READBACK_R16);
}

static void exchange_row(const uint8_t *from, uint8_t *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v;

		memcpy(&v, from + 4 * (size_t)i, sizeof(v));
		v = (v & 0xff00ff00u) | (v >> 16 & 0xff) | (v & 0xff) << 16;
		memcpy(to + 4 * (size_t)i, &v, sizeof(v));
	}
}

static void depth_row(const uint8_t *from, uint8_t *to, uint32_t n, float scale)
{
	for (uint32_t i = 0; i < n; i++) {
		uint16_t units = 0;
		float v;

		memcpy(&v, from + 4 * (size_t)i, sizeof(v));
		v = v * scale + 0.5f;
		if (v >= 1.0f && v < 65536.0f) /* not for what is no number */
			units = (uint16_t)v;
		memcpy(to + 2 * (size_t)i, &units, sizeof(units));
	}
}

void rows_copy(const struct rows *r)
{
	size_t row = r->width * sim_readback_pixel_size(r->from_format);
	const uint8_t *from = r->flip ? r->from + (r->height - 1) * r->from_pitch : r->from;
	uint8_t *to = r->to;

	if (r->from_format == r->to_format && !r->flip && r->from_pitch == row && r->to_pitch == row) {
		memcpy(to, from, row * r->height);
		return;
	}
	for (uint32_t y = 0; y < r->height; y++) {
		if (r->from_format == r->to_format)
			memcpy(to, from, row);
		else if (r->to_format == SIM_READBACK_R16)
			depth_row(from, to, r->width, r->depth_scale);
		else
			exchange_row(from, to, r->width);
		from = r->flip ? from - r->from_pitch : from + r->from_pitch;
		to += r->to_pitch;
	}
}
