/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points as protobuf: see pb_points.h. Without branches that depend on a point: every value is stored at the place that the ones
 * before it leave, and what a store writes too much the next one writes again.
 */
#include "pb_points_private.h"

#define TAG_X         0x0du
#define TAG_Y         0x15u
#define TAG_Z         0x1du
#define TAG_INTENSITY 0x20u
#define TAG_TIME      0x28u

#define MORE UINT64_C(0x8080808080808080) /* another byte of a varint follows */

static inline uint32_t word(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* 0 to 255, NaN as 0 */
static inline uint32_t level(const uint8_t *p)
{
	float v;

	memcpy(&v, p, sizeof(v));
	v = v > 0.0f ? v : 0.0f;
	return (uint32_t)(int32_t)((v < 1.0f ? v : 1.0f) * 255.0f);
}

/* The low 56 bits, 7 to a byte. */
static inline uint64_t sevens(uint64_t v)
{
	v = (v & 0x000000000fffffff) | (v & 0x00fffffff0000000) << 4;
	v = (v & 0x00003fff00003fff) | (v & 0x0fffc0000fffc000) << 2;
	return (v & 0x007f007f007f007f) | (v & 0x3f803f803f803f80) << 1;
}

/* A varint of v, n bytes: stores ten or eight. */
static inline void put_time(uint8_t *at, uint64_t v, unsigned n)
{
	uint64_t low = sevens(v);

	if (n <= 8) {
		low |= MORE & ((UINT64_C(1) << 8 * (n - 1)) - 1);
		memcpy(at, &low, sizeof(low));
		return;
	}
	low |= MORE;
	memcpy(at, &low, sizeof(low));
	at[8] = (uint8_t)(v >> 56); /* its top bit says whether a tenth follows */
	at[9] = (uint8_t)(v >> 63);
}

static inline bool is_zero(const uint8_t *from, const struct pb_points *p)
{
	const uint8_t *at = from + p->xyz;
	uint32_t bits = word(at) | word(at + 4) | word(at + 8);

	if (p->intensity != PB_POINTS_NONE)
		bits |= word(from + p->intensity);
	return !(bits << 1); /* -0 is 0 too */
}

uint8_t *pb_points_portable(uint8_t *at, uint8_t tag, const struct pb_points *p, uint32_t from, uint32_t to,
			    uint32_t *n)
{
	const struct pb_points q = *p; /* what is stored cannot change it */
	const bool has_level = q.intensity != PB_POINTS_NONE;
	uint32_t skipped = 0;

	for (uint32_t i = from; i < to; i++) {
		const uint8_t *point = q.data + (size_t)i * q.step, *xyz = point + q.xyz;
		uint64_t time = (uint64_t)q.stamp_ns + (q.time == PB_POINTS_NONE ? 0 : word(point + q.time));
		unsigned time_n = q.stamped ? pb_varint_size(time) : 0;
		uint32_t light = has_level ? level(point + q.intensity) : 0, high = light >> 7;
		unsigned len = 15 + (has_level ? 2 + high : 0) + (q.stamped ? 1 + time_n : 0);
		uint32_t z = word(xyz + 8);
		uint64_t first = tag | len << 8 | TAG_X << 16 | (uint64_t)word(xyz) << 24 | (uint64_t)TAG_Y << 56;
		uint64_t second = word(xyz + 4) | (uint64_t)TAG_Z << 32 | (uint64_t)z << 40;
		uint32_t third = z >> 24 | TAG_INTENSITY << 8 | light << 16 | high << 24;

		if (q.skip_zero && is_zero(point, &q)) {
			skipped++;
			continue;
		}
		memcpy(at, &first, sizeof(first));
		memcpy(at + 8, &second, sizeof(second));
		memcpy(at + 16, &third, sizeof(third));
		if (q.stamped) {
			at[len - time_n + 1] = TAG_TIME;
			put_time(at + len - time_n + 2, time, time_n);
		}
		at += 2 + len;
	}
	*n += to - from - skipped;
	return at;
}

uint32_t pb_points_by(pb_points_way *way, struct pb_writer *w, uint32_t field, const struct pb_points *p)
{
	uint8_t *at = p->n ? pb_room(w, (size_t)p->n * PB_POINT_MAX) : NULL;
	uint8_t *end;
	uint32_t n = 0;

	if (!at)
		return 0;
	end = way(at, (uint8_t)(field << 3 | PB_LENGTH), p, 0, p->n, &n);
	w->out->copied += (uint64_t)(end - at);
	pb_wrote(w, end);
	return n;
}

uint32_t pb_points(struct pb_writer *w, uint32_t field, const struct pb_points *p)
{
	pb_points_way *way = pb_points_portable;

#if defined(__x86_64__)
	if (pb_points_vbmi_usable() && pb_points_vbmi_fits(p))
		way = pb_points_vbmi;
#endif
	return pb_points_by(way, w, field, p);
}
