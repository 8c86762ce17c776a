/* SPDX-License-Identifier: Apache-2.0 */
/* Names that ROS allows, and the names made from those that it does not. */
#include "support/test.h"

#include <string.h>

#include "topic_options.h"

TEST(allowed_names_are_kept)
{
	static const char *const good[] = { "/a", "/a/b_2", "/_x", "/A9" }, *const bad[] = { "",    "/",    "a",
											     "/0",  "/a/0", "/a//b",
											     "/a/", "/a-b", "/~/a" };

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(topic_name_ok(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(topic_name_ok(bad[i]));
}

TEST(a_word_may_begin_with_a_digit_in_ros_1)
{
	assert_true(topic_name_fits("/0/a/2d_boxes", TOPIC_ROS1));
	assert_false(topic_name_fits("/0/a/2d_boxes", TOPIC_QOS));
	assert_false(topic_name_fits("/0/", TOPIC_ROS1) || topic_name_fits("/a//0", TOPIC_ROS1) ||
		     topic_name_fits("/a-0", TOPIC_ROS1) || topic_name_fits("0", TOPIC_ROS1));
}

TEST(automatic_names_are_made)
{
	static const char *const rows[][2] = {
		{ "/car/radar/0", "/car/radar/n0" },
		{ "/0/1/22b", "/n0/n1/n22b" },
		{ "/car-1/lidar.top", "/car_1/lidar_top" },
		{ "/~/imu", "/n_/imu" }, /* a word that begins with '_' is hidden from `ros2 topic list` */
		{ "/-/.5", "/n_/n_5" },
		{ "/a//b/", "/a/b" },
		{ "/_kept", "/_kept" },
		{ "no/slash", "/no/slash" },
		{ "/caf\xc3\xa9", "/caf__" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char name[TOPIC_NAME_MAX + 1];

		assert_true(topic_name_auto(rows[i][0], name));
		assert_string_equal(name, rows[i][1]);
		assert_true(topic_name_ok(name));
	}
}

TEST(names_that_cannot_be_converted_are_refused)
{
	char name[TOPIC_NAME_MAX + 1], many[2 * TOPIC_NAME_MAX];

	assert_false(topic_name_auto("", name));
	assert_false(topic_name_auto("///", name));
	for (size_t n = 1; n < sizeof(many); n++) { /* of all lengths, with as much to add as can be */
		for (size_t i = 0; i < n; i++)
			many[i] = i & 1 ? '0' : '/';
		many[n] = '\0';
		if (topic_name_auto(many, name))
			assert_true(strlen(name) <= TOPIC_NAME_MAX && topic_name_ok(name));
		else
			assert_true(n == 1 || n > TOPIC_NAME_MAX / 2);
	}
}
