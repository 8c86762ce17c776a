/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as ROS 1 resolves them: expected values are the answers of rospy.resolve_name(), and of roscpp where rospy
 * fails ("~/a").
 */
#include "support/test.h"

#include <errno.h>

#include "names.h"

static struct names n;
static char why[300];

static int init(const char *list)
{
	why[0] = '\0';
	return names_init(&n, "simd", "/rig", list, why, sizeof(why));
}

static void expect(const char *name, const char *resolved)
{
	char ret[NAMES_LEN + 1];

	assert_int_equal(names_resolve(&n, name, ret, why, sizeof(why)), 0);
	assert_string_equal(ret, resolved);
}

TEST(names_are_global_relative_or_private)
{
	assert_int_equal(init("[]"), 0);
	assert_string_equal(n.node, "/rig/simd");
	expect("/camera", "/camera");
	expect("camera", "/rig/camera");
	expect("front/camera", "/rig/front/camera");
	expect("~camera", "/rig/simd/camera");
	expect("~/camera", "/rig/simd/camera");
	expect("front//camera/", "/rig/front/camera");
	expect("//camera", "/camera");
	assert_int_equal(names_init(&n, "simd", "/", "", why, sizeof(why)), 0);
	assert_string_equal(n.node, "/simd");
	expect("camera", "/camera");
	expect("~camera", "/simd/camera");
}

TEST(names_are_remapped_once_as_they_are_resolved)
{
	assert_int_equal(init("[\"camera:=/front\", \"/imu:=~imu\", \"/front:=/back\", \"~a:=b\"]"), 0);
	expect("camera", "/front");
	expect("/rig/camera", "/front");
	expect("/camera", "/camera");
	expect("/imu", "/rig/simd/imu");
	expect("/front", "/back");
	expect("~a", "/rig/b");
	expect("/rig/simd/a", "/rig/b");
	expect("/rig/simd/a/b", "/rig/simd/a/b"); /* a whole name, not its beginning */
}

TEST(the_node_can_be_renamed)
{
	assert_int_equal(init("[\"~a:=b\", \"__name:=car\", \"__ns:=/one/two\"]"), 0);
	assert_string_equal(n.node, "/one/two/car");
	expect("/one/two/car/a", "/one/two/b");
	assert_int_equal(init("[\"__ns:=three\"]"), 0);
	assert_string_equal(n.node, "/three/simd");
	assert_int_equal(init("[\"__ns:=/\"]"), 0);
	assert_string_equal(n.node, "/simd");
}

static void refused(const char *list, const char *sentence)
{
	assert_int_equal(init(list), -EINVAL);
	if (!strstr(why, sentence))
		fail_msg("\"%s\" does not say \"%s\"", why, sentence);
}

TEST(invalid_names_and_remappings_are_named)
{
	char ret[NAMES_LEN + 1], longest[300], list[400];

	refused("{}", "options.remap: a list is needed");
	refused("[7]", "options.remap[0]: \"\" is not of the form");
	refused("[\"a:=b\", \"a=b\"]", "options.remap[1]: \"a=b\" is not of the form");
	refused("[\"a:=\"]", "options.remap[0]: \"\" is not a name of ROS");
	refused("[\"1a:=b\"]", "\"1a\" is not a name of ROS");
	refused("[\"a:=/b c\"]", "\"/b c\" is not a name of ROS");
	refused("[\"_rate:=5\"]", "of the special names only \"__name\" and \"__ns\"");
	refused("[\"__name:=a/b\"]", "options.remap: \"a/b\" is not a ROS name");
	refused("[\"__ns:=1\"]", "options.remap: \"/1\" is not a ROS name");
	assert_int_equal(names_init(&n, "a b", "/", "[]", why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "options.node: "));
	assert_int_equal(names_init(&n, "a", "b c", "[]", why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "options.namespace: "));
	assert_int_equal(init("[]"), 0);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(names_resolve(&n, longest, ret, why, sizeof(why)), -EINVAL);
	longest[NAMES_LEN - 5] = '\0';
	assert_int_equal(names_resolve(&n, longest, ret, why, sizeof(why)), 0);
	assert_int_equal(strlen(ret), NAMES_LEN);
	longest[NAMES_LEN - 5] = 'a';
	longest[NAMES_LEN - 4] = '\0';
	assert_int_equal(names_resolve(&n, longest, ret, why, sizeof(why)), -EINVAL);
	snprintf(list, sizeof(list), "[\"%s:=b\"]", longest);
	assert_int_equal(init(list), -EINVAL);
	assert_int_equal(names_resolve(&n, "", ret, why, sizeof(why)), -EINVAL);
	assert_int_equal(names_resolve(&n, "a~b", ret, why, sizeof(why)), -EINVAL);
}
