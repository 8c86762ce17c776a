/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in protobuf: see pb_points.h. There are no branches that depend on a point: each value is stored at the
 * position that the previous ones determine, and excess bytes of a store are overwritten by the next one.
 *
 * First the intensities and times of a chunk are computed, four at a time, then its points are assembled: so no store
 * waits for a computation.
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

/* Intensity from 0 to 255; NaN is 0 */
static inline uint32_t level(const uint8_t *p)
{
	float v;

	memcpy(&v, p, sizeof(v));
	v = v > 0.0f ? v : 0.0f;
	return (uint32_t)(int32_t)((v < 1.0f ? v : 1.0f) * 255.0f);
}

/* -0 counts as 0 */
static inline bool is_zero(const uint8_t *from, const struct pb_points *p)
{
	const uint8_t *at = from + p->xyz;
	uint32_t bits = word(at);

	if (bits << 1) /* nearly always true */
		return false;
	bits |= word(at + 4) | word(at + 8);
	if (p->intensity != PB_POINTS_NONE)
		bits |= word(from + p->intensity);
	return !(bits << 1);
}

/* Writes a point of any layout with any time. */
static uint8_t *put_any(uint8_t *at, uint8_t tag, const struct pb_points *p, const uint8_t *point)
{
	const bool has_level = p->intensity != PB_POINTS_NONE;
	uint64_t time = (uint64_t)p->stamp_ns + (p->time == PB_POINTS_NONE ? 0 : word(point + p->time));
	unsigned time_n = p->stamped ? pb_varint_size(time) : 0;
	uint32_t light = has_level ? level(point + p->intensity) : 0, high = light >> 7;
	unsigned len = 15 + (has_level ? 2 + high : 0) + (p->stamped ? 1 + time_n : 0);
	const uint8_t head[] = { tag, (uint8_t)len, TAG_X }, more[] = { TAG_INTENSITY, (uint8_t)light, 1 };

	memcpy(at, head, sizeof(head));
	memcpy(at + 3, point + p->xyz, 4);
	at[7] = TAG_Y;
	memcpy(at + 8, point + p->xyz + 4, 4);
	at[12] = TAG_Z;
	memcpy(at + 13, point + p->xyz + 8, 4);
	memcpy(at + 17, more, sizeof(more));
	if (p->stamped) {
		at[len - time_n + 1] = TAG_TIME;
		pb_put_varint(at + len - time_n + 2, time);
	}
	return at + 2 + len;
}

static uint8_t *put_all(uint8_t *at, uint8_t tag, const struct pb_points *p, uint32_t from, uint32_t to, uint32_t *n)
{
	for (uint32_t i = from; i < to; i++) {
		const uint8_t *point = p->data + (size_t)i * p->step;

		if (p->skip_zero && is_zero(point, p))
			continue;
		at = put_any(at, tag, p, point);
		++*n;
	}
	return at;
}

/* ---- chunks in the usual layout ---- */

#define CHUNK 64u

typedef uint32_t four_u32 __attribute__((vector_size(16)));
typedef int32_t four_i32 __attribute__((vector_size(16)));
typedef float four_f32 __attribute__((vector_size(16)));

/* Values of a chunk's points, in output order. */
struct chunk {
	union {
		four_u32 by_four[CHUNK / 4];
		/* per point: a byte to be overwritten by z, tag, intensity, and its second byte if it has one */
		uint32_t of[CHUNK];
	} light;
	union {
		four_u32 by_two[CHUNK / 2];
		uint64_t of[CHUNK]; /* per point: tag and seven bytes of the time */
	} time;
	bool late, dark; /* a time has late bits; an intensity is 0 */
};

/* Values common to all points. */
struct usual {
	/* of the time: the low 28 bits, and the following 7 bits and two bytes, with continuation bits */
	uint32_t low, high;
	uint32_t late;
	uint32_t tail;    /* bytes 7 to 9 of the time */
	uint64_t head[2]; /* up to x, and the tag of y; index: whether the intensity takes two bytes */
	unsigned len;
};

static struct usual usual_of(uint8_t tag, const struct pb_points_time *t)
{
	struct usual u = { .low = t->low & 0xfffffff, .late = t->late, .tail = word(t->bytes + 7), .len = 20 + t->n };

	u.high = (uint32_t)(t->low >> 28) | (t->n > PB_POINTS_LOW_BYTES ? 0x80 : 0) | (uint32_t)t->bytes[5] << 8 |
		 (uint32_t)t->bytes[6] << 16;
	for (unsigned bright = 0; bright < 2; bright++)
		u.head[bright] = tag | (uint64_t)(u.len - 2 + bright) << 8 | TAG_X << 16 | (uint64_t)TAG_Y << 56;
	return u;
}

static inline four_u32 four(uint32_t v)
{
	return (four_u32){ v, v, v, v };
}

/* Loads one word of each of four points that are `step` bytes apart. */
static inline four_u32 gather(const uint8_t *at, size_t step)
{
	return (four_u32){ word(at), word(at + step), word(at + 2 * step), word(at + 3 * step) };
}

static inline bool any(four_u32 v)
{
	return v[0] | v[1] | v[2] | v[3];
}

/* 0 to 255, as level() does */
static inline four_u32 levels(four_u32 bits)
{
	const four_u32 one = (four_u32)(four_f32){ 1, 1, 1, 1 };
	four_u32 positive = bits & (four_u32)((four_f32)bits > 0.0f);
	four_u32 below = (four_u32)((four_f32)positive < 1.0f);

	return (four_u32) __builtin_convertvector((four_f32)((positive & below) | (one & ~below)) * 255.0f, four_i32);
}

/* 28 bits as four varint bytes with continuation bits */
static inline four_u32 sevens(four_u32 v)
{
	v = (v & four(0x3fff)) | (v & four(0xfffc000)) << 2;
	return (v & four(0x7f007f)) | (v & four(0x3f803f80)) << 1 | four(0x80808080);
}

/* Computes the values of n points from `points` on; n: a multiple of four. */
static inline void chunk_make(struct chunk *c, const uint8_t *points, unsigned n, const struct pb_points *p,
			      const struct usual *u)
{
	four_u32 late = four(0), dark = four(0);

	for (unsigned i = 0; i < n / 4; i++, points += 4 * (size_t)p->step) {
		four_u32 light = gather(points + p->intensity, p->step), time = gather(points + p->time, p->step);
		four_u32 low, start, end;

		late |= time & four(u->late);
		dark |= (four_u32)(light + light == four(0));
		time += four(u->low);
		low = sevens(time);
		start = four(TAG_TIME) | low << 8;
		end = low >> 24 | ((time >> 28) + four(u->high)) << 8;
		c->light.by_four[i] = levels(light) << 16 | four(1u << 24 | TAG_INTENSITY << 8);
		c->time.by_two[2 * i] = __builtin_shufflevector(start, end, 0, 4, 1, 5);
		c->time.by_two[2 * i + 1] = __builtin_shufflevector(start, end, 2, 6, 3, 7);
	}
	c->late = any(late);
	c->dark = any(dark);
}

/* Writes the points, without those that are zero if requested. */
__attribute__((always_inline)) static inline uint8_t *chunk_put(uint8_t *at, const struct chunk *c,
								const uint8_t *points, unsigned n,
								const struct pb_points *p, const struct usual *u,
								bool look, uint32_t *written)
{
	const struct usual v = *u; /* a copy, which stores cannot alias */
	const size_t step = p->step;
	const uint8_t *xyz = points + p->xyz;
	uint32_t skipped = 0;

	for (unsigned i = 0; i < n; i++, xyz += step) {
		uint32_t light = c->light.of[i], bright = light >> 23 & 1;
		uint64_t x = v.head[bright] | (uint64_t)word(xyz) << 24;
		uint64_t y = word(xyz + 4) | (uint64_t)TAG_Z << 32 | (uint64_t)word(xyz + 8) << 40;

		if (look && is_zero(xyz - p->xyz, p)) {
			skipped++;
			continue;
		}
		light |= xyz[11];
		memcpy(at, &x, sizeof(x));
		memcpy(at + 8, &y, sizeof(y));
		memcpy(at + 16, &light, sizeof(light));
		/* the second byte of a bright point's intensity is where the time would begin */
		memcpy(at + 19 + bright, &c->time.of[i], sizeof(c->time.of[i]));
		memcpy(at + 27 + bright, &v.tail, sizeof(v.tail));
		at += v.len + bright;
	}
	*written += n - skipped;
	return at;
}

uint8_t *pb_points_portable(uint8_t *at, uint8_t tag, const struct pb_points *p, uint32_t from, uint32_t to,
			    uint32_t *n)
{
	const struct pb_points q = *p; /* a copy, which stores cannot alias */
	const struct pb_points_time t = pb_points_time(p);
	const struct usual u = usual_of(tag, &t);
	struct chunk c;
	uint32_t size;

	if (!q.stamped || q.intensity == PB_POINTS_NONE || q.time == PB_POINTS_NONE || t.n < PB_POINTS_LOW_BYTES)
		return put_all(at, tag, &q, from, to, n);
	for (; to - from >= 4; from += size) {
		const uint8_t *points = q.data + (size_t)from * q.step;

		size = to - from < CHUNK ? (to - from) & ~3u : CHUNK;
		chunk_make(&c, points, size, &q, &u);
		if (c.late)
			at = put_all(at, tag, &q, from, from + size, n);
		else if (c.dark && q.skip_zero)
			at = chunk_put(at, &c, points, size, &q, &u, true, n);
		else
			at = chunk_put(at, &c, points, size, &q, &u, false, n);
	}
	return put_all(at, tag, &q, from, to, n);
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
