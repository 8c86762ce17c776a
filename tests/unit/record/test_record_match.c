/* SPDX-License-Identifier: Apache-2.0 */
/* The channels that `simctl record` records, and the names of its files. */
#include "support/test.h"

#include "simctl/record_match.h"

static bool included(const char *pattern, const char *name)
{
	struct record_match m = { .include = &pattern, .n_include = 1 };

	return record_wants(&m, name, "sim/Imu");
}

TEST(without_patterns_all_channels_are_selected)
{
	struct record_match m = { 0 };

	assert_true(record_wants(&m, "/imu", "sim/Imu"));
	assert_true(record_wants(&m, "/imu", ""));
	assert_true(record_wants(&m, "/simd/clock_events", "sim/ClockEvent"));
	assert_false(record_wants(&m, "/clock", "sim/Clock"));
}

TEST(patterns_are_shell_patterns)
{
	assert_true(included("/imu", "/imu"));
	assert_true(included("imu", "/imu")); /* the first slash may be missing */
	assert_false(included("imu", "/car/imu"));
	assert_true(included("/car/*", "/car/lidar/top"));
	assert_true(included("*lidar*", "/car/lidar/top"));
	assert_false(included("/car/*", "/bus/imu"));
	assert_true(included("/im[tu]", "/imu"));
	assert_false(included("", "/imu"));
}

TEST(the_clock_is_selected_by_its_name_only)
{
	assert_true(included("/clock", "/clock"));
	assert_true(included("clo?k", "/clock"));
	assert_false(included("*", "/clock"));
	assert_false(included("/*", "/clock"));
	assert_true(included("/*", "/imu"));
}

TEST(exclusion_overrides_inclusion)
{
	const char *const in[] = { "/car/*", "/bus/*" }, *const out[] = { "*camera*", "bus/imu" };
	struct record_match m = { .include = in, .n_include = 2, .exclude = out, .n_exclude = 2 };

	assert_true(record_wants(&m, "/car/imu", "sim/Imu"));
	assert_false(record_wants(&m, "/car/camera/front", "sim/Image"));
	assert_false(record_wants(&m, "/bus/imu", "sim/Imu"));
	assert_false(record_wants(&m, "/tram/imu", "sim/Imu"));
}

TEST(types_restrict_the_selection_further)
{
	const char *const types[] = { "sim/Imu", "sim/*Image" };
	struct record_match m = { .types = types, .n_types = 2 };

	assert_true(record_wants(&m, "/a", "sim/Imu"));
	assert_true(record_wants(&m, "/a", "sim/CompressedImage"));
	assert_false(record_wants(&m, "/a", "sim/PointCloud"));
	assert_false(record_wants(&m, "/a", "")); /* not known yet */
}

TEST(the_stem_is_the_name_without_its_suffix)
{
	assert_int_equal(record_stem("run.mcap"), 3);
	assert_int_equal(record_stem("out/run.1.bag"), 9);
	assert_int_equal(record_stem("run.record"), 3);
	assert_int_equal(record_stem("run"), 3);
	assert_int_equal(record_stem(".mcap"), 5); /* that is its name */
	assert_int_equal(record_stem("a/.mcap"), 7);
	assert_int_equal(record_stem("run.db3"), 7);
}
