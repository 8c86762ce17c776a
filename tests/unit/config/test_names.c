/* SPDX-License-Identifier: Apache-2.0 */
/* Names, prefixes, globs; and rates from sampled totals. */
#include "tests/support/test.h"

#include <errno.h>
#include <string.h>

#include "config/names.h"
#include "err.h"
#include "registry/rate.h"
#include "rnd.h"

TEST(names_are_restricted_and_bounded)
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
	assert_true(channel_name_ok("/lidar/top-1.x~"));
	assert_false(channel_name_ok("/a,b"));
	assert_false(channel_name_ok("/a//b"));
	assert_false(channel_name_ok("/a/"));
	assert_false(channel_name_ok(""));
	assert_true(names_type_ok("sim/Imu"));
	assert_false(names_type_ok("Imu"));
	assert_false(names_type_ok("/Imu"));
	assert_false(names_token_ok("a\nb"));
}

static void refused(const char *text, const char *why)
{
	json_t *def = json_loads(text, 0, NULL);
	const char *name = "kept", *hash = "kept";

	assert_int_equal(names_type_def(def, &name, &hash), -EINVAL);
	assert_non_null(strstr(err_why(), why));
	assert_string_equal(name, "kept");
	json_decref(def);
}

TEST(a_definition_has_a_name_and_a_hash)
{
	json_t *def = json_loads("{\"name\":\"sim/Imu\",\"hash\":\"0123456789abcdef\",\"more\":1}", 0, NULL);
	const char *name, *hash;

	assert_int_equal(names_type_def(def, &name, &hash), 0);
	assert_string_equal(name, "sim/Imu");
	assert_string_equal(hash, "0123456789abcdef");
	json_decref(def);
	refused("{\"hash\":\"0123456789abcdef\"}", "name");
	refused("{\"name\":\"Imu\",\"hash\":\"0123456789abcdef\"}", "\"Imu\" is not a type name, package/Name");
	refused("{\"name\":\"sim/Imu\",\"hash\":\"xyz\"}", "hash \"xyz\" is not 16 hexadecimal digits");
}

TEST(channels_get_their_rigs_prefix)
{
	char full[CHANNEL_NAME_MAX + 1], name[CHANNEL_NAME_MAX + 1];

	assert_int_equal(channel_name_full("", "imu", full), 0);
	assert_string_equal(full, "/imu");
	assert_int_equal(channel_name_full("car1", "imu", full), 0);
	assert_string_equal(full, "/car1/imu");
	assert_int_equal(channel_name_full("/car1", "imu", full), 0);
	assert_string_equal(full, "/car1/imu");
	assert_int_equal(channel_name_full("/car1", "/imu", full), 0);
	assert_string_equal(full, "/imu");
	assert_int_equal(channel_name_full("", "a b", full), -EINVAL);
	assert_string_equal(channel_name_reserved("/rosout"), "the nodes of ROS 2 themselves");
	assert_string_equal(channel_name_reserved("/simd/clock_events"), "simd itself");
	assert_null(channel_name_reserved("/car/rosout"));
	assert_null(channel_name_reserved("/simd"));
	assert_null(channel_name_reserved("/rosout_agg"));
	memset(name, 'x', CHANNEL_NAME_MAX);
	name[CHANNEL_NAME_MAX] = '\0';
	assert_int_equal(channel_name_full("", name, full), -ENAMETOOLONG);
	assert_string_equal(full, "/imu"); /* untouched */
}

TEST(patterns_match_whole_names)
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

/* Held against all names of up to six letters of an alphabet of three. */
static bool meet_slowly(const char *p, const char *q)
{
	char name[7];

	for (unsigned long code = 0; code < 4096; code++) {
		size_t n = 0;

		for (unsigned long c = code; c; c /= 4)
			name[n++] = "?ab/"[c % 4];
		name[n] = '\0';
		if (!strchr(name, '?') && names_glob(p, name) && names_glob(q, name))
			return true;
	}
	return false;
}

TEST(two_patterns_overlap_when_a_name_matches_both)
{
	struct rnd rnd;
	char v[2][4];

	rnd_seed(&rnd, test_seed(7));
	for (unsigned i = 0; i < 3000; i++) {
		for (unsigned k = 0; k < 2; k++) {
			size_t n = rnd_below(&rnd, 4);

			for (size_t j = 0; j < n; j++)
				v[k][j] = "*?ab/"[rnd_below(&rnd, 5)];
			v[k][n] = '\0';
		}
		if (names_globs_meet(v[0], v[1]) != meet_slowly(v[0], v[1]))
			fail_msg("\"%s\" and \"%s\"", v[0], v[1]);
	}
	assert_true(names_globs_meet("/car1/*", "*/raw"));
	assert_false(names_globs_meet("/car1/*", "/car2/*"));
	assert_true(names_globs_meet("*", ""));
}

TEST(patterns_are_relative_to_the_prefix)
{
	char full[PATTERN_MAX + 1];

	names_pattern_full("car1", "cam/*", full);
	assert_string_equal(full, "/car1/cam/*");
	names_pattern_full("/car1", "*", full);
	assert_string_equal(full, "/car1/*");
	names_pattern_full("", "*", full);
	assert_string_equal(full, "/*");
	names_pattern_full("/car1", "/*", full);
	assert_string_equal(full, "/*");
}

TEST(rates_follow_the_traffic)
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
