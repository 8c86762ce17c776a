/* SPDX-License-Identifier: Apache-2.0 */
/* Paths to a field: resolved against a type, followed in a body. */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "err.h"
#include "probe/msg/Every.h"
#include "sim/introspect.h"

static _Alignas(64) uint8_t buf[8192];

static size_t fill(void)
{
	struct sim_builder b;
	struct probe_Every *m = probe_Every_init(buf, sizeof(buf), &b);
	struct probe_Leaf *l = probe_Every_leaves_alloc(&b, 3);
	float *v = probe_Leaf_values_alloc_in(&b, &l[2], 2);

	m->point.y = 2.5;
	m->u16 = 65535;
	m->took = -7;
	v[0] = 1;
	v[1] = 9.5f;
	return sim_builder_size(&b);
}

static void number(const char *path, double expected)
{
	size_t size = fill();
	struct sim_field_path p;
	struct sim_field_view v;
	double d = 0;

	if (sim_field_find(&probe_Every_type, path, &p) < 0 || sim_field_get(&p, buf, size, &v) < 0 ||
	    sim_field_number(&v, 0, &d) < 0)
		fail_msg("%s: %s", path, err_why());
	assert_true(d == expected);
	assert_false(v.is_array);
}

TEST(paths_lead_to_values)
{
	number("point.y", 2.5);
	number("u16", 65535);
	number("took", -7);
	number("leaves[2].values[1]", 9.5);
	number("pair[1].tag", 0);
	number("rgb[2]", 0);
}

TEST(paths_lead_into_arrays)
{
	size_t size = fill();
	struct sim_field_path p;
	struct sim_field_view v;
	double d;

	assert_int_equal(sim_field_find(&probe_Every_type, "leaves[2].values", &p), 0);
	assert_int_equal(sim_field_get(&p, buf, size, &v), 0);
	assert_true(v.is_array);
	assert_int_equal(v.count, 2);
	assert_int_equal(sim_field_number(&v, 1, &d), 0);
	assert_true(d == 9.5);
	assert_int_equal(sim_field_number(&v, 2, &d), -ERANGE);
	assert_int_equal(sim_field_find(&probe_Every_type, "longs", &p), 0);
	assert_int_equal(sim_field_get(&p, buf, size, &v), 0);
	assert_int_equal(v.count, 0);
	assert_null(v.data);
	assert_int_equal(sim_field_find(&probe_Every_type, "pair", &p), 0);
	assert_int_equal(sim_field_get(&p, buf, size, &v), 0);
	assert_int_equal(v.count, 2);
	assert_int_equal(sim_field_number(&v, 0, &d), -EINVAL);
}

TEST(bad_paths_are_refused)
{
	static const struct {
		const char *path;
		int r;
		const char *why;
	} bad[] = {
		{ "", -EINVAL, "lacks a name" },
		{ ".x", -EINVAL, "lacks a name" },
		{ "point.", -EINVAL, "lacks a name" },
		{ "point..x", -EINVAL, "lacks a name" },
		{ "nope", -ENOENT, "it has flag, i64," },
		{ "point.w", -ENOENT, "sim/Vector3 has no field 'w'; it has x, y, z" },
		{ "u16.x", -EINVAL, "'u16' is a uint16: it has no fields" },
		{ "u16[0]", -EINVAL, "not an array" },
		{ "rgb[3]", -ERANGE, "at most 3" },
		{ "four[4]", -ERANGE, "at most 4" },
		{ "rgb[", -EINVAL, "not a number" },
		{ "rgb[-1]", -EINVAL, "not a number" },
		{ "rgb[1", -EINVAL, "not closed" },
		{ "rgb[1]x", -EINVAL, "unexpected 'x'" },
		{ "leaves.tag", -EINVAL, "such as leaves[0]" },
		{ "longs[99999999999]", -ERANGE, "above" },
	};
	struct sim_field_path p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int r = sim_field_find(&probe_Every_type, bad[i].path, &p);

		if (r != bad[i].r || !strstr(err_why(), bad[i].why))
			fail_msg("'%s': %d: %s", bad[i].path, r, err_why());
	}
	assert_int_equal(sim_field_find(NULL, "x", &p), -EINVAL);
	assert_int_equal(sim_field_find(&probe_Every_type, NULL, &p), -EINVAL);
}

TEST(bad_bodies_are_refused)
{
	size_t size = fill();
	struct probe_Every *m = (struct probe_Every *)(void *)buf;
	struct sim_field_path p;
	struct sim_field_view v;

	assert_int_equal(sim_field_find(&probe_Every_type, "leaves[3].tag", &p), 0);
	assert_int_equal(sim_field_get(&p, buf, size, &v), -ERANGE);
	assert_int_equal(sim_field_find(&probe_Every_type, "leaves[0].tag", &p), 0);
	assert_int_equal(sim_field_get(&p, buf, m->leaves.offset, &v), -EBADMSG);
	assert_int_equal(sim_field_get(&p, buf, 16, &v), -EINVAL);
	assert_int_equal(sim_field_get(&p, NULL, size, &v), -EINVAL);
	assert_int_equal(sim_field_find(&probe_Every_type, "point.y", &p), 0);
	memmove(buf + 1, buf, size);
	assert_int_equal(sim_field_get(&p, buf + 1, size, &v), -EINVAL);
}
