/* SPDX-License-Identifier: Apache-2.0 */
/* Generated code: layout, constants, building in place, and readers that a faulty peer cannot fool. */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "example/msg/FloatArray.h"
#include "probe/msg/Every.h"
#include "sim/introspect.h"
#include "sim/msg/all.h"
#include "sim/point_cloud.h"

static _Alignas(64) uint8_t buf[65536];

TEST(the_table_matches_the_struct_layout)
{
	const struct sim_type *t = &probe_Every_type;
	uint32_t end = 0;

	assert_int_equal(t->fixed_size, sizeof(struct probe_Every));
	assert_int_equal(t->align, _Alignof(struct probe_Every));
	assert_int_equal(t->hash, PROBE_EVERY_HASH);
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct sim_field *f = &t->fields[i];
		bool span = f->array >= SIM_ARRAY_BOUNDED;

		assert_true(f->offset >= end);
		end = f->offset + (span ? 8 : f->elem_size * (f->array == SIM_ARRAY_FIXED ? f->count : 1));
		assert_int_equal(f->offset % (span ? 4 : f->elem_align), 0);
	}
	assert_true(end <= t->fixed_size);
	assert_int_equal(offsetof(struct probe_Every, i64), 8);
	assert_string_equal(t->fields[1].unit, "m");
	assert_string_equal(t->fields[0].unit, "");
	assert_int_equal(sizeof(struct probe_Empty), 1);
	assert_true(sim_type_equal(t->fields[t->n_fields - 1].type, &sim_Vector3_type));
}

TEST(constants_keep_their_values)
{
	assert_int_equal(PROBE_EVERY_YES, 1);
	assert_int_equal(PROBE_EVERY_NO, 0);
	assert_int_equal(PROBE_EVERY_LOW8, INT8_MIN);
	assert_int_equal(PROBE_EVERY_HIGH8, 255);
	assert_int_equal(PROBE_EVERY_LOW16, INT16_MIN);
	assert_int_equal(PROBE_EVERY_HIGH16, UINT16_MAX);
	assert_int_equal(PROBE_EVERY_LOW32, INT32_MIN);
	assert_int_equal(PROBE_EVERY_HIGH32, INT32_MAX);
	assert_int_equal(PROBE_EVERY_HIGHU32, UINT32_MAX);
	assert_true(PROBE_EVERY_LOW64 == INT64_MIN);
	assert_true(PROBE_EVERY_HIGHU64 == UINT64_MAX);
	assert_true(PROBE_EVERY_HALF == 0.5f);
	assert_true(PROBE_EVERY_THIRD == 0.3333333333333333);
	assert_true(PROBE_EVERY_WHOLE / 2 == 1.5);
	assert_true(PROBE_EVERY_TICK == 10000000);
	assert_string_equal(PROBE_EVERY_TEXT, "a \"quoted\" text ?\?/ # not a comment");
	assert_string_equal(PROBE_EVERY_RAW, "rest of the line # with this");
	assert_int_equal(SIM_GEAR_REVERSE, 2);
	assert_int_equal(SIM_VEHICLE_CONTROL_HAS_JERK, 16384);
}

TEST(every_type_is_valid)
{
	unsigned n = 0;

	for (const struct sim_type *const *t = sim_msg_types; *t; t++, n++) {
		assert_int_equal((*t)->abi, SIM_TYPE_ABI);
		assert_int_equal((*t)->size, sizeof(struct sim_type));
		assert_true((*t)->comment[0]);
		assert_true((*t)->align <= 8);
		assert_true(sim_type_equal(sim_type_builtin((*t)->name), *t));
		for (uint32_t i = 0; i < (*t)->n_fields; i++)
			assert_true((*t)->fields[i].comment[0] == '[');
	}
	assert_true(n >= 40);
	assert_null(sim_type_builtin("sim/Nothing"));
	assert_null(sim_type_builtin(NULL));
}

TEST(a_built_message_reads_back)
{
	static _Alignas(64) uint8_t copy[sizeof(buf)];
	struct sim_builder b;
	struct probe_Every *m = probe_Every_init(buf, sizeof(buf), &b);
	const struct probe_Every *r;
	const struct probe_Leaf *leaves;
	struct probe_Leaf *l;
	const float *f;
	float *v;
	size_t size;
	uint32_t n;

	assert_ptr_equal(m, buf);
	m->i64 = -5;
	assert_int_equal(probe_Every_text_set(&b, "hello"), 0);
	l = probe_Every_leaves_alloc(&b, 2);
	assert_non_null(l);
	assert_int_equal(probe_Leaf_name_set_in(&b, &l[1], "abcde"), 0);
	v = probe_Leaf_values_alloc_in(&b, &l[1], 400);
	assert_non_null(v);
	assert_int_equal((uintptr_t)v % 64, 0); /* 1600 bytes: a big array */
	for (int i = 0; i < 400; i++)
		v[i] = (float)i;
	assert_int_equal(sim_builder_error(&b), 0);
	size = sim_builder_size(&b);
	assert_int_equal(sim_msg_check(&probe_Every_type, buf, size), 0);
	assert_int_equal(sim_msg_size(&probe_Every_type, buf, sizeof(buf)), size);

	memcpy(copy, buf, size); /* a body means the same anywhere */
	memset(buf, 0xaa, sizeof(buf));
	r = probe_Every_from(copy, size);
	assert_non_null(r);
	assert_int_equal(r->i64, -5);
	assert_string_equal(probe_Every_text(r, size), "hello");
	leaves = probe_Every_leaves(r, size, &n);
	assert_int_equal(n, 2);
	assert_string_equal(probe_Leaf_name_in(r, size, &leaves[0]), "");
	assert_string_equal(probe_Leaf_name_in(r, size, &leaves[1]), "abcde");
	f = probe_Leaf_values_in(r, size, &leaves[1], &n);
	assert_int_equal(n, 400);
	assert_true(f[399] == 399.0f);
	assert_null(probe_Every_bytes(r, size, &n));
	assert_int_equal(n, 0);
}

/* The body is the outer type's: what an element's setter wrote there without being told which element would be another field. */
TEST(a_setter_of_a_nested_type_cannot_write_the_body)
{
	struct sim_builder b;
	struct probe_Every *m = probe_Every_init(buf, sizeof(buf), &b);
	struct probe_Every before;

	assert_non_null(m);
	before = *m;
	assert_int_equal(probe_Leaf_name_set(&b, "abc"), -EINVAL);
	assert_null(probe_Leaf_values_alloc(&b, 3));
	assert_memory_equal(m, &before, sizeof(before));
	assert_int_equal(sim_builder_error(&b), -EINVAL);
	assert_int_equal(probe_Leaf_name_set_in(&b, &m->leaf, "abc"), 0); /* that is how */
	assert_non_null(probe_Leaf_init(buf, sizeof(buf), &b));
	assert_int_equal(probe_Leaf_name_set(&b, "abc"), 0);
	assert_non_null(probe_Leaf_values_alloc(&b, 3));
	assert_int_equal(sim_builder_error(&b), 0);
	assert_null(probe_Leaf_init(buf, 1, &b));
	assert_int_equal(probe_Leaf_name_set(&b, "abc"), -ENOBUFS);
}

TEST(building_fails_when_the_buffer_is_too_small)
{
	struct sim_builder b;
	struct probe_Every *m;

	assert_null(probe_Every_init(NULL, 4096, &b));
	assert_null(probe_Every_init(buf, sizeof(struct probe_Every) - 1, &b));
	assert_null(probe_Every_init(buf + 4, 4096, &b));
	assert_int_equal(sim_builder_size(&b), 0);
	assert_null(probe_Every_leaves_alloc(&b, 1)); /* after a failed start: nothing */
	assert_int_equal(probe_Every_text_set(&b, "x"), -ENOBUFS);
	m = probe_Every_init(buf, sizeof(struct probe_Every) + 16, &b);
	assert_non_null(m);
	assert_null(probe_Every_longs_alloc(&b, 3));
	assert_null(probe_Every_longs_alloc(&b, UINT32_MAX));
	assert_int_equal(sim_builder_error(&b), -ENOBUFS);
	assert_int_equal(sim_builder_size(&b), sizeof(struct probe_Every));
	assert_non_null(probe_Every_longs_alloc(&b, 2));
	assert_int_equal(probe_Every_text_set(&b, ""), -ENOBUFS); /* no room for the NUL */
	m = probe_Every_init(buf, 4096, &b);
	assert_null(probe_Every_four_alloc(&b, 5));
	assert_int_equal(sim_builder_error(&b), -EMSGSIZE);
	m = probe_Every_init(buf, 4096, &b);
	assert_int_equal(probe_Leaf_name_set_in(&b, &m->leaf, "abcdef"), -EMSGSIZE);
	assert_null(probe_Every_from(buf, sizeof(struct probe_Every) - 1));
	assert_null(probe_Every_from(buf + 1, 4096));
}

TEST(computed_sizes_are_sufficient)
{
	struct sim_builder b;

	for (uint32_t n = 0; n < 300; n += 7) {
		size_t room = sim_LaserScan_size(n, n);

		assert_true(room <= sizeof(buf));
		assert_non_null(sim_LaserScan_init(buf, room, &b));
		assert_non_null(sim_LaserScan_ranges_alloc(&b, n));
		assert_non_null(sim_LaserScan_intensities_alloc(&b, n));
		room = sim_Image_size(4, n * n);
		if (room > sizeof(buf))
			continue;
		assert_non_null(sim_Image_init(buf, room, &b));
		assert_int_equal(sim_Image_encoding_set(&b, "rgb8"), 0);
		assert_non_null(sim_Image_data_alloc(&b, n * n));
	}
}

TEST(a_user_defined_type_has_its_layout)
{
	struct sim_builder b;
	struct example_FloatArray *m = example_FloatArray_init(buf, example_FloatArray_size(100), &b);
	float *a = example_FloatArray_array_alloc(&b, 100);
	uint32_t n;

	assert_non_null(m);
	assert_non_null(a);
	m->timestamp = 5;
	assert_ptr_equal(example_FloatArray_array(m, sim_builder_size(&b), &n), a);
	assert_int_equal(n, 100);
	assert_string_equal(example_FloatArray_type.name, "example/FloatArray");
}

/* ---- what a faulty peer writes ---- */

TEST(spans_outside_the_body_are_refused)
{
	static const struct sim_span bad[] = {
		{ 0, UINT32_MAX },
		{ UINT32_MAX, 1 },
		{ UINT32_MAX, UINT32_MAX },
		{ 1u << 31, 1u << 31 },
		{ 4096 - 8, 2 },
		{ 4096, 1 },
		{ 4097, 1 },
		{ 8, 512 },
		{ 0x80000000u, 0x20000000u },
	};
	struct sim_builder b;
	struct probe_Every *m = probe_Every_init(buf, 4096, &b);
	uint32_t n = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		m->longs = bad[i];
		assert_null(probe_Every_longs(m, 4096, &n));
		assert_int_equal(n, 0);
		assert_int_equal(sim_msg_check(&probe_Every_type, m, 4096), -EBADMSG);
		m->longs = (struct sim_span){ 0, 0 };
	}
	m->longs = (struct sim_span){ 4096 - 16, 2 }; /* the last bytes are fine */
	assert_non_null(probe_Every_longs(m, 4096, &n));
	m->longs = (struct sim_span){ 4096 - 17, 2 }; /* misaligned is not */
	assert_null(probe_Every_longs(m, 4096, &n));
	m->longs = (struct sim_span){ 0, 0 };
	m->four = (struct sim_span){ 2048, 5 }; /* over the bound */
	assert_null(probe_Every_four(m, 4096, &n));
	m->four.count = 4;
	assert_non_null(probe_Every_four(m, 4096, &n));
}

TEST(strings_outside_the_body_are_refused)
{
	struct sim_builder b;
	struct probe_Every *m = probe_Every_init(buf, 4096, &b);
	const char *s;

	memset(buf + 2048, 'x', 2048);
	buf[4096] = 0;                              /* what lies behind the body does not count */
	m->text = (struct sim_span){ 4096 - 4, 4 }; /* no NUL inside the body */
	s = probe_Every_text(m, 4096);
	assert_string_equal(s, "");
	m->text.count = 3; /* the byte behind it is no NUL */
	assert_string_equal(probe_Every_text(m, 4096), "");
	assert_int_equal(sim_msg_check(&probe_Every_type, m, 4096), -EBADMSG);
	buf[4095] = 0;
	assert_int_equal(sim_msg_check(&probe_Every_type, m, 4096), 0);
	assert_string_equal(probe_Every_text(m, 4096), "xxx");
	m->text = (struct sim_span){ UINT32_MAX, UINT32_MAX };
	assert_string_equal(probe_Every_text(m, 4096), "");
	m->leaf.name = (struct sim_span){ 4096 - 7, 6 }; /* over its bound of 5 */
	assert_string_equal(probe_Leaf_name_in(m, 4096, &m->leaf), "");
}

TEST(overlapping_spans_are_refused)
{
	struct sim_builder b;
	struct probe_Every *m = probe_Every_init(buf, 4096, &b);

	m->bytes = (struct sim_span){ 1024, 2000 };
	assert_int_equal(sim_msg_check(&probe_Every_type, m, 4096), 0);
	m->flags = (struct sim_span){ 1024, 2000 };
	assert_int_equal(sim_msg_check(&probe_Every_type, m, 4096), -EBADMSG);
	assert_int_equal(sim_msg_size(&probe_Every_type, m, 4096), 0);
	assert_int_equal(sim_msg_check(&probe_Every_type, m, sizeof(*m) - 1), -EINVAL);
	assert_int_equal(sim_msg_check(&probe_Every_type, NULL, 4096), -EINVAL);
	assert_int_equal(sim_msg_check(NULL, m, 4096), -EINVAL);
}

/* ---- the default point cloud ---- */

TEST(a_point_cloud_has_its_layout)
{
	struct sim_builder b;
	struct sim_Point *p = sim_point_cloud_begin(buf, sim_point_cloud_size(100), 100, &b);
	const struct sim_PointCloud *m = sim_PointCloud_from(buf, sizeof(buf));
	const struct sim_PointField *fields;
	uint32_t n;

	assert_int_equal(sizeof(*p), 32);
	assert_non_null(p);
	assert_int_equal((uintptr_t)p % 64, 0);
	p[49].ring = 9;
	sim_point_cloud_trim(&b, 50);
	assert_int_equal(sim_msg_check(&sim_PointCloud_type, buf, sim_builder_size(&b)), 0);
	assert_ptr_equal(sim_point_cloud_points(m, sim_builder_size(&b), &n), p);
	assert_int_equal(n, 50);
	assert_int_equal(m->width, 50);
	fields = sim_PointCloud_fields(m, sim_builder_size(&b), &n);
	assert_int_equal(n, SIM_POINT_N_FIELDS);
	assert_string_equal(sim_PointField_name_in(m, sim_builder_size(&b), &fields[4]), "ring");
	((struct sim_PointCloud *)(void *)buf)->width = 51;
	assert_null(sim_point_cloud_points(m, sim_builder_size(&b), &n));
	((struct sim_PointCloud *)(void *)buf)->width = 50;
	((struct sim_PointField *)(uintptr_t)fields)[0].offset = 4;
	assert_null(sim_point_cloud_points(m, sim_builder_size(&b), &n));
	assert_null(sim_point_cloud_begin(buf, 500, 100, &b));
}
