/* SPDX-License-Identifier: Apache-2.0 */
/* Points as protobuf, every way the CPU has, against protobuf-c: the same bytes for any cloud. */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#include "pb_points_private.h"
#include "sim/msg/Point.h"
#include "unit/convert/pb_every.pb-c.h"
#include "unit/introspect/random_msg.h"

#define MOST 150u /* more than two chunks */

/* ---- as protobuf-c does it ---- */

static void fill(PbTest__Point *m, const struct pb_points *p, const uint8_t *at)
{
	float xyz[3], light = 0;
	uint32_t offset = 0;

	pb_test__point__init(m);
	memcpy(xyz, at + p->xyz, sizeof(xyz));
	m->x = xyz[0];
	m->y = xyz[1];
	m->z = xyz[2];
	m->has_x = m->has_y = m->has_z = true;
	m->has_intensity = p->intensity != PB_POINTS_NONE;
	if (m->has_intensity)
		memcpy(&light, at + p->intensity, sizeof(light));
	if (light >= 1)
		m->intensity = 255;
	else if (light > 0)
		m->intensity = (uint32_t)(light * 255.0f);
	if (p->time != PB_POINTS_NONE)
		memcpy(&offset, at + p->time, sizeof(offset));
	m->has_timestamp = p->stamped;
	m->timestamp = (uint64_t)p->stamp_ns + offset;
}

static bool left_out(const struct pb_points *p, const PbTest__Point *m, const uint8_t *at)
{
	float light = 0;

	if (p->intensity != PB_POINTS_NONE)
		memcpy(&light, at + p->intensity, sizeof(light));
	return p->skip_zero && fpclassify(m->x) == FP_ZERO && fpclassify(m->y) == FP_ZERO &&
	       fpclassify(m->z) == FP_ZERO && fpclassify(light) == FP_ZERO;
}

static void compare(pb_points_way *way, const struct pb_points *p)
{
	PbTest__Point point[MOST], *list[MOST];
	PbTest__Cloud cloud = PB_TEST__CLOUD__INIT;
	static uint8_t want[MOST * 40 + 64];
	struct iov_buf o;
	struct pb_writer w;
	size_t n;

	cloud.point = list;
	for (uint32_t i = 0; i < p->n; i++) {
		PbTest__Point *m = &point[cloud.n_point];

		fill(m, p, p->data + (size_t)i * p->step);
		list[cloud.n_point] = m;
		cloud.n_point += !left_out(p, m, p->data + (size_t)i * p->step);
	}
	cloud.has_is_dense = cloud.has_measurement_time = true;
	n = pb_test__cloud__pack(&cloud, want);
	iov_buf_init(&o);
	pb_begin(&w, &o);
	pb_bool(&w, 3, false);
	assert_int_equal(pb_points_by(way, &w, 4, p), cloud.n_point);
	pb_f64(&w, 5, 0);
	assert_int_equal(pb_end(&w), 0);
	assert_int_equal(o.total, n);
	assert_memory_equal(o.buf, want, n);
	iov_buf_finish(&o);
}

/* ---- clouds ---- */

/* Edges of how many bytes a time takes, and a bit before. */
static int64_t some_stamp(uint64_t *seed)
{
	static const int64_t stamps[] = { 0, 1, 1792000000000000000, 86400000000000, -1, INT64_MIN, INT64_MAX - 5 };
	unsigned i = (unsigned)(random_next(seed) % 16);

	if (i < sizeof(stamps) / sizeof(stamps[0]))
		return stamps[i];
	if (i < 12)
		return (int64_t)((UINT64_C(1) << 7 * (1 + random_next(seed) % 8)) - random_next(seed) % 3000);
	if (i < 14) /* where the upper bytes change with the low ones */
		return (int64_t)((1 + random_next(seed) % (1 << 27)) << 35) - (int64_t)(random_next(seed) % 3000);
	return (int64_t)((1 + random_next(seed) % 126) << 56) - (int64_t)(random_next(seed) % 3000);
}

/* Also those next to which the byte that comes of it is another one. */
static float some_intensity(uint64_t *seed)
{
	float v = (float)(random_next(seed) % 258) / 255.0f;

	switch (random_next(seed) % 4) {
	case 0:
		return (float)(random_next(seed) % 1000) / 999;
	case 1:
		return nextafterf(v, random_next(seed) % 2 ? INFINITY : -INFINITY);
	case 2:
		return v;
	default:
		return (float)(int32_t)random_next(seed);
	}
}

static float some_float(uint64_t *seed)
{
	static const float odd[] = { NAN, -NAN, INFINITY, -INFINITY, 1e-40f, -0.0f, 0.0f, 1.0f };

	return random_next(seed) % 6 ? (float)(int32_t)random_next(seed) / 1e7f : odd[random_next(seed) % 8];
}

static void some_point(uint64_t *seed, struct sim_Point *p, unsigned zeros)
{
	*p = (struct sim_Point){
		.x = some_float(seed),
		.y = some_float(seed),
		.z = some_float(seed),
		.intensity = random_next(seed) % 8 ? some_intensity(seed) : some_float(seed),
		.ring = (uint16_t)random_next(seed),
		.return_type = (uint8_t)random_next(seed),
		.reserved = (uint8_t)random_next(seed),
		.time_offset = (uint32_t)(random_next(seed) >> (32 + random_next(seed) % 32)),
		.azimuth = some_float(seed),
		.distance = some_float(seed),
	};
	if (zeros && random_next(seed) % zeros == 0) {
		p->x = p->z = 0;
		p->y = -0.0f;
		p->intensity = random_next(seed) % 4 ? 0 : 0.5f;
	}
}

static struct pb_points some_cloud(uint64_t *seed, struct sim_Point *point)
{
	unsigned zeros = random_next(seed) % 2 ? 0 : 1 + (unsigned)(random_next(seed) % 20);
	uint32_t n = (uint32_t)(random_next(seed) % MOST);

	for (uint32_t i = 0; i < n; i++)
		some_point(seed, &point[i], zeros);
	return (struct pb_points){
		.data = (const uint8_t *)point,
		.n = n,
		.step = sizeof(*point),
		.xyz = 0,
		.intensity = offsetof(struct sim_Point, intensity),
		.time = offsetof(struct sim_Point, time_offset),
		.stamp_ns = some_stamp(seed),
		.stamped = true,
		.skip_zero = random_next(seed) % 2,
	};
}

TEST(any_cloud_has_the_bytes_of_protobuf_c)
{
	uint64_t seed = test_seed(1);
	struct sim_Point point[MOST];

	for (unsigned i = 0; i < 3000; i++) {
		struct pb_points p = some_cloud(&seed, point);

		compare(pb_points_portable, &p);
#if defined(__x86_64__)
		if (pb_points_vbmi_usable() && pb_points_vbmi_fits(&p))
			compare(pb_points_vbmi, &p);
#endif
	}
}

TEST(any_point_layout_has_the_bytes_of_protobuf_c)
{
	uint64_t seed = test_seed(2);
	uint8_t bytes[MOST * 47];

	for (unsigned i = 0; i < 1000; i++) {
		struct pb_points p = { .data = bytes, .n = (uint32_t)(random_next(&seed) % MOST) };

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = random_next(&seed) % 8 ? (uint8_t)random_next(&seed) : 0;
		p.step = 20 + (uint32_t)(random_next(&seed) % 27);
		p.xyz = (uint32_t)(random_next(&seed) % (p.step - 11));
		p.intensity = random_next(&seed) % 3 ? (uint32_t)(random_next(&seed) % (p.step - 3)) : PB_POINTS_NONE;
		p.time = random_next(&seed) % 3 ? (uint32_t)(random_next(&seed) % (p.step - 3)) : PB_POINTS_NONE;
		p.stamp_ns = some_stamp(&seed);
		p.stamped = random_next(&seed) % 4 != 0;
		p.skip_zero = random_next(&seed) % 2;
		compare(pb_points_portable, &p);
	}
}

/* Points that a fast path does not support take another one. */
TEST(the_fast_path_is_used_where_it_fits)
{
#if defined(__x86_64__)
	uint64_t seed = test_seed(3);
	struct sim_Point point[MOST];
	struct pb_points p = some_cloud(&seed, point);

	p.stamp_ns = 1 << 28;
	assert_true(pb_points_vbmi_fits(&p));
	p.stamp_ns--; /* an offset makes it longer */
	assert_false(pb_points_vbmi_fits(&p));
	p.stamp_ns = -1;
	assert_true(pb_points_vbmi_fits(&p));
	p.stamped = false;
	assert_false(pb_points_vbmi_fits(&p));
	p.stamped = true;
	p.time = PB_POINTS_NONE;
	assert_false(pb_points_vbmi_fits(&p));
	p.time = offsetof(struct sim_Point, time_offset);
	p.step = 36;
	assert_false(pb_points_vbmi_fits(&p));
#endif
}

TEST(too_many_points_are_an_error)
{
	struct pb_points p = { .n = PB_SIZE_MAX / PB_POINT_MAX + 1, .step = 32, .time = PB_POINTS_NONE };
	struct iov_buf o;
	struct pb_writer w;

	iov_buf_init(&o);
	pb_begin(&w, &o);
	assert_int_equal(pb_points(&w, 4, &p), 0);
	assert_true(pb_end(&w) < 0);
	iov_buf_finish(&o);
}
