/* SPDX-License-Identifier: Apache-2.0 */
/* near.h: words that are similar, and words that are not. Thread: one. */
#include "tests/support/test.h"

#include "near.h"

#include <string.h>

/* NULL-terminated candidates. */
static const char *found(const char *word, bool paths, const char *const *candidates)
{
	struct near n = { .word = word };

	for (; *candidates; candidates++)
		(void)(paths ? near_offer_path(&n, *candidates) : near_offer(&n, *candidates));
	return n.found ? n.found : "";
}

TEST(similar_words_are_found_by_edit_distance)
{
	static const char *const words[] = { "", "simulation", "system", "unity", NULL };

	assert_string_equal(found("simulatoin", false, words), "simulation");
	assert_string_equal(found("sistem", false, words), "system");
	assert_string_equal(found("sundial", false, words), "");
	assert_string_equal(found("ab", false, words), ""); /* two letters more than nothing */
}

TEST(of_names_with_parts_the_last_part_counts)
{
	static const char *const channels[] = { "/clock", "/car/lidar/top", "/car/imu", "/tf", "/x/", NULL };
	static const char *const types[] = { "sim/Int8", "sim/Imu", "sim/PointCloud", "own/Image", "sim/Image", NULL };
	static const struct {
		const char *word, *channel, *type;
	} cases[] = {
		{ "/car/lidar/tpo", "/car/lidar/top", "" },
		{ "/imu", "/car/imu", "sim/Imu" },
		{ "top", "/car/lidar/top", "" },
		{ "foo", "", "" },
		{ "sensor_msgs/msg/Imu", "/car/imu", "sim/Imu" },
		{ "Imu", "/car/imu", "sim/Imu" },
		{ "PointCloud2", "", "sim/PointCloud" },
		{ "sim/Imagee", "", "sim/Image" },
		{ "Image", "", "own/Image" }, /* the first of two that are as near */
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_string_equal(found(cases[i].word, true, channels), cases[i].channel);
		assert_string_equal(found(cases[i].word, true, types), cases[i].type);
	}
}

TEST(the_suggestion_is_a_sentence_or_the_fallback)
{
	struct near n = { .word = "a", .found = "b" };
	char buf[NEAR_TEXT_MAX], longer[2 * NEAR_TEXT_MAX] = "";

	assert_string_equal(near_text(&n, "none", buf), "did you mean b?");
	memset(longer, 'x', sizeof(longer) - 1);
	n.found = longer;
	assert_true(strlen(near_text(&n, "none", buf)) < NEAR_TEXT_MAX);
	n.found = NULL;
	assert_string_equal(near_text(&n, "none", buf), "none");
}
