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

/* The low 56 bits, 7 to a byte: the upper half goes up by 4 bits, then that of each half by 2, then of each quarter by 1. */
static inline uint64_t sevens(uint64_t v)
{
	v &= 0x00ffffffffffffff;
	v += (v & 0x00fffffff0000000) * 15;
	v += (v & 0x0fffc0000fffc000) * 3;
	return v + (v & 0x3f803f803f803f80);
}

/* -0 is 0 too */
static inline bool is_zero(const uint8_t *from, const struct pb_points *p)
{
	const uint8_t *at = from + p->xyz;
	uint32_t bits = word(at);

	if (bits << 1) /* nearly always */
		return false;
	bits |= word(at + 4) | word(at + 8);
	if (p->intensity != PB_POINTS_NONE)
		bits |= word(from + p->intensity);
	return !(bits << 1);
}

/* x, y and z with their tags, behind a tag and a length. */
static inline void put_xyz(uint8_t *at, const uint8_t *xyz, uint64_t head, uint64_t tail)
{
	uint64_t z = word(xyz + 8), first = head | (uint64_t)word(xyz) << 24, second = word(xyz + 4) | z << 40;

	first |= TAG_X << 16 | (uint64_t)TAG_Y << 56;
	second |= (uint64_t)TAG_Z << 32;
	tail = tail << 8 | z >> 24;
	memcpy(at, &first, sizeof(first));
	memcpy(at + 8, &second, sizeof(second));
	memcpy(at + 16, &tail, 4);
}

/* With its tag. */
static inline void put_time(uint8_t *at, uint64_t low, uint64_t ninth)
{
	uint64_t first = TAG_TIME | low << 8, rest = low >> 56 | ninth << 8;

	memcpy(at, &first, sizeof(first));
	memcpy(at + 8, &rest, 2);
}

/* A point of any layout at any time. */
static uint8_t *put_any(uint8_t *at, uint8_t tag, const struct pb_points *p, const uint8_t *point)
{
	const bool has_level = p->intensity != PB_POINTS_NONE;
	uint64_t time = (uint64_t)p->stamp_ns + (p->time == PB_POINTS_NONE ? 0 : word(point + p->time));
	unsigned time_n = p->stamped ? pb_varint_size(time) : 0;
	uint32_t light = has_level ? level(point + p->intensity) : 0, high = light >> 7;
	unsigned len = 15 + (has_level ? 2 + high : 0) + (p->stamped ? 1 + time_n : 0);

	put_xyz(at, point + p->xyz, tag | len << 8, TAG_INTENSITY | light << 8 | high << 16);
	if (p->stamped) {
		at[len - time_n + 1] = TAG_TIME;
		pb_put_varint(at + len - time_n + 2, time);
	}
	return at + 2 + len;
}

uint8_t *pb_points_portable(uint8_t *at, uint8_t tag, const struct pb_points *p, uint32_t from, uint32_t to,
			    uint32_t *n)
{
	const struct pb_points q = *p; /* what is stored cannot change it */
	const struct pb_points_time t = pb_points_time(p);
	const bool usual = q.stamped && q.intensity != PB_POINTS_NONE && q.time != PB_POINTS_NONE;
	const unsigned len = 18 + t.n;
	uint32_t skipped = 0;

	for (uint32_t i = from; i < to; i++) {
		const uint8_t *point = q.data + (size_t)i * q.step;
		uint64_t time = usual ? (uint64_t)q.stamp_ns + word(point + q.time) : UINT64_MAX, low;
		uint32_t light, high;

		if (q.skip_zero && is_zero(point, &q)) {
			skipped++;
			continue;
		}
		if (time >= t.limit) {
			at = put_any(at, tag, &q, point);
			continue;
		}
		light = level(point + q.intensity);
		high = light >> 7;
		low = sevens(time) | t.more;
		/* the second byte of an intensity of one is where the time begins */
		put_xyz(at, point + q.xyz, tag | (len + high) << 8, TAG_INTENSITY | light << 8 | 1u << 16);
		at += 19 + high;
		put_time(at, low, t.ninth);
		at += 1 + t.n;
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
