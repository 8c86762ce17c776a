/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to write points, one by one: for pb_points.c, its test and its bench. */
#ifndef PB_POINTS_PRIVATE_H
#define PB_POINTS_PRIVATE_H

#include "pb_points.h"

#define PB_POINT_MAX 32u /* bytes of a point, and what a store may reach */

/*
 * The times of a cloud: nearly always all of them have as many bytes as the stamp, of which none behind the eighth differs.
 * That is so for those below `limit`.
 */
struct pb_points_time {
	uint64_t limit; /* 0: for none */
	unsigned n;     /* bytes: 1 to 9 */
	uint64_t more;  /* of the first eight: where another follows */
	uint8_t ninth;
};

static inline struct pb_points_time pb_points_time(const struct pb_points *p)
{
	uint64_t stamp_ns = (uint64_t)p->stamp_ns;
	struct pb_points_time t = { .n = pb_varint_size(stamp_ns), .ninth = (uint8_t)(stamp_ns >> 56) };

	if (p->stamp_ns < 0)
		return t;
	t.limit = t.n < 9 ? UINT64_C(1) << 7 * t.n : (uint64_t)(t.ninth + 1) << 56;
	t.more = UINT64_C(0x8080808080808080);
	if (t.n <= 8)
		t.more &= (UINT64_C(1) << 8 * (t.n - 1)) - 1;
	return t;
}

/*
 * Write points `from` to `to` - 1. tag: of the field. Returns the place behind them; stores reach PB_POINT_MAX bytes for each
 * point at most. *n grows by those that were written.
 */
typedef uint8_t *pb_points_way(uint8_t *at, uint8_t tag, const struct pb_points *p, uint32_t from, uint32_t to,
			       uint32_t *n);

pb_points_way pb_points_portable;
#if defined(__x86_64__)
pb_points_way pb_points_vbmi; /* needs pb_points_vbmi_usable(), and points that lie as struct sim_Point */
bool pb_points_vbmi_usable(void);
bool pb_points_vbmi_fits(const struct pb_points *p);
#endif

uint32_t pb_points_by(pb_points_way *way, struct pb_writer *w, uint32_t field, const struct pb_points *p);

#endif
