/* SPDX-License-Identifier: Apache-2.0 */
/* The implementations of pb_points(): for pb_points.c, its test and its bench. */
#ifndef PB_POINTS_PRIVATE_H
#define PB_POINTS_PRIVATE_H

#include "pb_points.h"

#define PB_POINT_MAX 32u /* bytes of a point, and how far a store may reach */

#define PB_POINTS_LOW       35u /* low bits in which times may differ from point to point: five bytes of a varint */
#define PB_POINTS_LOW_BYTES 5u

/*
 * Times of a cloud are one stamp plus small offsets: nearly always they differ in their low bits only, namely for
 * points whose offset has none of the bits `late`.
 */
struct pb_points_time {
	unsigned n;   /* bytes of each time as a varint; if below PB_POINTS_LOW_BYTES, some may need more */
	uint64_t low; /* low bits of the stamp */
	uint32_t late;
	uint8_t bytes[16]; /* the stamp as a varint, padded with zeros */
};

static inline struct pb_points_time pb_points_time(const struct pb_points *p)
{
	uint64_t stamp_ns = (uint64_t)p->stamp_ns;
	struct pb_points_time t = { .n = pb_varint_size(stamp_ns),
				    .low = stamp_ns & ((UINT64_C(1) << PB_POINTS_LOW) - 1) };
	uint64_t room = (UINT64_C(1) << PB_POINTS_LOW) - t.low;

	pb_put_varint(t.bytes, stamp_ns);
	if (room > 0xf0000000) /* so that 28 bits plus an offset fit into 32 */
		room = 0xf0000000;
	t.late = ~((1u << (31 - __builtin_clz((unsigned)room))) - 1);
	return t;
}

/*
 * Writes points `from` to `to` - 1. tag: of the field. Returns the end of the output; stores reach at most PB_POINT_MAX
 * bytes for each point. *n is increased by the points written.
 */
typedef uint8_t *pb_points_way(uint8_t *at, uint8_t tag, const struct pb_points *p, uint32_t from, uint32_t to,
			       uint32_t *n);

pb_points_way pb_points_portable;
#if defined(__x86_64__)
pb_points_way pb_points_vbmi; /* needs pb_points_vbmi_usable(), and points laid out as struct sim_Point */
bool pb_points_vbmi_usable(void);
bool pb_points_vbmi_fits(const struct pb_points *p);
#endif

uint32_t pb_points_by(pb_points_way *way, struct pb_writer *w, uint32_t field, const struct pb_points *p);

#endif
