/* SPDX-License-Identifier: Apache-2.0 */
/* type list --ros: the ROS messages that are known by name: by package, or one by one with a pattern. Thread: main. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "record/codec.h"
#include "ros/ros_definition.h"
#include "ros/ros_release.h"
#include "simctl.h"

/*
 * Iterates over the messages of ROS 1 and ROS 2 in order of their names, each name once. at[]: positions in the two
 * lists, initially zero. ret_ros1: only ROS 1 has it. False: end.
 */
static bool next(unsigned at[2], struct ros_definition *ret, bool *ret_ros1)
{
	struct ros_definition a, b;
	bool has_a = ros_definition_nth(ros1_types, at[0], &a), has_b = ros_definition_nth(ros2_types, at[1], &b);
	int order = has_a && has_b ? strcmp(a.name, b.name) : has_b - has_a;

	if (!has_a && !has_b)
		return false;
	*ret_ros1 = order < 0;
	*ret = *ret_ros1 ? a : b;
	at[0] += order <= 0;
	at[1] += order >= 0;
	return true;
}

static unsigned count(const char *package)
{
	size_t n = strlen(package);
	struct ros_definition d;
	unsigned at[2] = { 0, 0 }, found = 0;
	bool ros1;

	while (next(at, &d, &ros1))
		found += !*package || (strncmp(d.name, package, n) == 0 && d.name[n] == '/');
	return found;
}

unsigned ctl_ros_count(void)
{
	return count("");
}

static json_t *packages(void)
{
	json_t *list = json_array();
	const struct ros_release *r;

	for (unsigned i = 0; (r = ros_release_nth(i)); i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:i}", "name", r->package, "release", r->release,
						      "messages", (int)count(r->package)));
	return list;
}

/* pattern: such as "nav_msgs", "nav_msgs/Get*", "nav_msgs/msg/Path" */
static bool is_wanted(const char *pattern, const struct ros_definition *d, const char *full)
{
	size_t package = strcspn(d->name, "/");

	return (strlen(pattern) == package && strncmp(pattern, d->name, package) == 0) ||
	       fnmatch(pattern, d->name, 0) == 0 || fnmatch(pattern, full, 0) == 0;
}

static json_t *messages(const char *pattern)
{
	json_t *list = json_array();
	struct ros_definition d;
	unsigned at[2] = { 0, 0 };
	char full[300];
	bool ros1;

	while (next(at, &d, &ros1)) {
		int package = (int)strcspn(d.name, "/");

		snprintf(full, sizeof(full), "%.*s/%s%s", package, d.name, d.kind, d.name + package);
		if (is_wanted(pattern, &d, full))
			json_array_append_new(list, json_pack("{s:s, s:s, s:s?}", "name", full, "release",
							      ros1 ? "ROS 1" : ros_release_of(d.name), "simd",
							      codec_type_of_foreign(full)));
	}
	return list;
}

/* Reports that no message matches, with a similar package. Returns 1. */
static int none_matches(const char *pattern)
{
	json_t *all = packages();
	char text[NEAR_TEXT_MAX];
	const char *near = ctl_near(all, "name", pattern, "`simctl type list --ros` shows its packages", text);

	fprintf(stderr, "simctl: no message of ROS that is known by name matches '%s'; %s\n", pattern, near);
	json_decref(all);
	return 1;
}

int ctl_ros_list(const struct ctl *c)
{
	/* clang-format off */
	static const struct column of_packages[] = {
		{ "PACKAGE", "name", .least = 16 },
		{ "RELEASE", "release", .leave = 1, .least = 12 },
		{ "MESSAGES", "messages", NUM, .leave = 2 },
		{ 0 },
	};
	static const struct column of_messages[] = {
		{ "TYPE", "name", .least = 16 },
		{ "RELEASE", "release", .leave = 2, .least = 12 },
		{ "SIMD", "simd", .leave = 1, .least = 12, .none = "" },
		{ 0 },
	};
	/* clang-format on */
	json_t *list;

	if (!c->a.type)
		return ctl_list(c, json_pack("{s:o}", "packages", packages()), "packages", of_packages);
	list = messages(c->a.type);
	if (json_array_size(list))
		return ctl_list(c, json_pack("{s:o}", "types", list), "types", of_messages);
	json_decref(list);
	return none_matches(c->a.type);
}
