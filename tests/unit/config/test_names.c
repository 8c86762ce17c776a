/* SPDX-License-Identifier: Apache-2.0 */
/* Names, prefixes, globs; and rates from sampled totals. */
#include "tests/support/test.h"

#include <errno.h>
#include <string.h>

#include "config/names.h"
#include "registry/rate.h"

TEST(names)
{
	char longest[NAME_PLAIN_MAX + 2];

	memset(longest, 'a', sizeof(longest));
	longest[NAME_PLAIN_MAX] = '\0';
	assert_true(names_plain_ok(longest));
	longest[NAME_PLAIN_MAX] = 'a';
	longest[NAME_PLAIN_MAX + 1] = '\0';
	assert_false(names_plain_ok(longest));
	assert_false(names_plain_ok(""));
	assert_false(names_plain_ok("a/b"));
	assert_false(names_plain_ok("\xc3\xa9"));
	assert_true(names_channel_ok("/lidar/top-1.x~"));
	assert_false(names_channel_ok("/a,b"));
	assert_false(names_channel_ok("/a//b"));
	assert_false(names_channel_ok("/a/"));
	assert_false(names_channel_ok(""));
	assert_true(names_type_ok("sim/Imu"));
	assert_false(names_type_ok("Imu"));
	assert_false(names_type_ok("/Imu"));
	assert_true(names_hash_ok("0123456789abcdef"));
	assert_false(names_hash_ok("0123456789ABCDEF"));
	assert_false(names_hash_ok("0"));
	assert_false(names_token_ok("a\nb"));
}

TEST(prefixes)
{
	char full[CHANNEL_NAME_MAX + 1], name[CHANNEL_NAME_MAX + 1];

	assert_int_equal(names_channel_full("", "imu", full), 0);
	assert_string_equal(full, "/imu");
	assert_int_equal(names_channel_full("car1", "imu", full), 0);
	assert_string_equal(full, "/car1/imu");
	assert_int_equal(names_channel_full("/car1", "imu", full), 0);
	assert_string_equal(full, "/car1/imu");
	assert_int_equal(names_channel_full("/car1", "/imu", full), 0);
	assert_string_equal(full, "/imu");
	assert_int_equal(names_channel_full("", "a b", full), -EINVAL);
	memset(name, 'x', CHANNEL_NAME_MAX);
	name[CHANNEL_NAME_MAX] = '\0';
	assert_int_equal(names_channel_full("", name, full), -ENAMETOOLONG);
	assert_string_equal(full, "/imu"); /* untouched */
}

TEST(globs)
{
	assert_true(names_glob("*", ""));
	assert_true(names_glob("/cam/*", "/cam/front/raw"));
	assert_true(names_glob("*/raw", "/cam/front/raw"));
	assert_true(names_glob("/c?m", "/cam"));
	assert_true(names_glob("*a*b*", "xxaxxbxx"));
	assert_false(names_glob("/cam/*", "/lidar"));
	assert_false(names_glob("/cam", "/cam2"));
	assert_false(names_glob("", "a"));
	/* the worst that a pattern of this kind can do ends quickly */
	assert_false(names_glob("*a*a*a*a*a*a*a*a*a*b",
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

TEST(rates)
{
	struct rate r = { 0 };
	double hz, bps;

	rate_get(&r, 5, 100, 100, &hz, &bps);
	assert_true(hz == 0);
	for (int i = 0; i <= 20; i++)
		rate_sample(&r, i * 1000000000LL, (uint64_t)i * 30, (uint64_t)i * 3000);
	rate_get(&r, 20500000000LL, 615, 61500, &hz, &bps);
	assert_true(hz > 29.9 && hz < 30.1);
	assert_true(bps > 2990 && bps < 3010);
	/* the total went back: a peer wrote nonsense */
	rate_get(&r, 20500000000LL, 5, 61500, &hz, &bps);
	assert_true(hz == 0);
}
