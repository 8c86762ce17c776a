/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All definitions in schemas/ros: what we compute of each against what others do (ros_sums.py), the look-up by name, and the table in
 * the README.
 */

#include "tests/support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ros/ros_definition.h"
#include "ros/ros_release.h"
#include "ros/ros_text.h"

#define SCRIPT "/usr/bin/python3 tests/unit/schemas/ros_sums.py "

/* ---- sums and hashes ---- */

static const char *const halves[] = { "_Request", "_Response" };

/* ROS 1 sums a service up as well. */
static void put_service(FILE *f, const struct ros_definition *d)
{
	size_t len = strlen(d->name) - strlen(halves[0]);
	struct ros_text *half[2] = { NULL, NULL };
	char name[200], why[256], sum[ROS_TEXT_MD5];
	struct ros_definition h;
	int made = 0;

	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%.*s%s", (int)len, d->name, halves[i]);
		assert_true(ros_definition_find(ros1_types, name, &h));
		made += ros_text_create(name, h.text, ros1_types, why, sizeof(why), &half[i]) == 0;
	}
	if (made == 2) {
		assert_int_equal(ros_text_service_md5(half[0], half[1], sum), 0);
		fprintf(f, "%.*s/srv%.*s %s\n", (int)strcspn(name, "/"), name, (int)(len - strcspn(name, "/")),
			strchr(name, '/'), sum);
	}
	ros_text_destroy(half[0]);
	ros_text_destroy(half[1]);
}

static void put_all(FILE *f, const struct ros_type *const *known)
{
	struct ros_definition d;

	for (unsigned i = 0; ros_definition_nth(known, i, &d); i++) {
		const struct ros_type *t = NULL;
		struct ros_text *made = NULL;
		size_t package = strcspn(d.name, "/"), len = strlen(d.name);
		int r = ros_definition_type(known, d.name, &t, &made);

		if (r < 0 && r != -ENOTSUP)
			fail_msg("%s: %s", d.name, strerror(-r));
		fprintf(f, "%.*s/%s%s %s\n", (int)package, d.name, d.kind, d.name + package,
			r == 0 && *t->hash ? t->hash : "-");
		if (r == 0)
			assert_string_equal(t->kind, d.kind);
		ros_text_destroy(made);
		if (known == ros1_types && len > 8 && strcmp(d.name + len - 8, halves[0]) == 0)
			put_service(f, &d);
	}
}

static void compare(const char *command, const struct ros_type *const *known)
{
	FILE *f = popen(command, "w");

	assert_non_null(f);
	put_all(f, known);
	assert_int_equal(pclose(f), 0);
}

TEST(md5_sums_match_genmsg)
{
	compare(SCRIPT "md5", ros1_types);
}

TEST(type_hashes_match_the_rep)
{
	compare(SCRIPT "rihs", ros2_types);
}

TEST(the_readme_has_their_number)
{
	assert_int_equal(system(SCRIPT "readme"), 0);
}

/* The rows of its table are those of ros_release.c. */
TEST(the_readme_names_their_releases)
{
	char line[300], package[100], release[150];
	FILE *f = fopen("schemas/ros/README.md", "re");
	unsigned n = 0, messages;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char want[160], *to = want;

		if (sscanf(line, "| `%99[a-z0-9_]` | %149[^|]| %u |", package, release, &messages) != 3)
			continue;
		for (const char *at = release; *at && !(at[0] == ' ' && !at[1]); at++)
			if (*at != '`')
				*to++ = *at;
		*to = '\0';
		assert_non_null(ros_release_nth(n));
		assert_string_equal(ros_release_nth(n)->package, package);
		assert_string_equal(ros_release_of(package), want);
		n++;
	}
	fclose(f);
	assert_null(ros_release_nth(n));
	assert_string_equal(ros_release_of("nav_msgs/Path"), "Humble 4.2.4");
	assert_null(ros_release_of("nav_msg/Path"));
	assert_null(ros_release_of("nav_msgss"));
	assert_null(ros_release_of(""));
}

TEST(each_type_belongs_to_a_release)
{
	for (int k = 0; k < 2; k++) {
		const struct ros_type *const *known = k ? ros2_types : ros1_types;
		struct ros_definition d;

		for (unsigned i = 0; ros_definition_nth(known, i, &d); i++)
			if (!ros_release_of(d.name))
				fail_msg("ros_release.c does not have the package of %s", d.name);
	}
}

/* ---- look-up ---- */

static const struct ros_type *const *const tables[] = { ros1_types, ros2_types };

TEST(each_type_is_found_by_name)
{
	for (int k = 0; k < 2; k++) {
		struct ros_definition d, found;
		const char *before = "";
		char name[200];

		for (unsigned i = 0; ros_definition_nth(tables[k], i, &d); i++) {
			int package = (int)strcspn(d.name, "/");

			assert_true(strcmp(before, d.name) < 0);
			assert_true(ros_definition_find(tables[k], d.name, &found));
			assert_ptr_equal(found.text, d.text);
			snprintf(name, sizeof(name), "%.*s/%s%s", package, d.name, d.kind, d.name + package);
			assert_true(ros_definition_find(tables[k], name, &found));
			assert_ptr_equal(found.text, d.text);
			before = d.name;
		}
		for (const struct ros_type *const *t = tables[k]; *t; t++)
			assert_true(ros_definition_find(tables[k], (*t)->name, &found));
	}
}

TEST(unknown_names_are_not_found)
{
	static const char *const names[] = { "",
					     "/",
					     "Path",
					     "nav_msgs/",
					     "nav_msgs/Pat",
					     "nav_msgs/Pathy",
					     "nav_msgs/srv/Path",
					     "nav_msgs/msg/x/Path",
					     "a/A",
					     "zz/Z",
					     "nav_msgs//Path",
					     "nav_msgs/GetMap",
					     "std_srvs/srv/Empty_Even" };
	const struct ros_type *t = NULL;
	struct ros_text *made = NULL;
	struct ros_definition d;
	char longest[600];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_false(ros_definition_find(ros2_types, names[i], &d));
		assert_int_equal(ros_definition_type(ros2_types, names[i], &t, &made), -ENOENT);
	}
	memset(longest, 'a', sizeof(longest));
	longest[1] = '/';
	longest[sizeof(longest) - 1] = '\0';
	assert_false(ros_definition_find(ros2_types, longest, &d));
	assert_int_equal(ros_definition_type(ros2_types, longest, &t, &made), -ENOENT);
	assert_null(t);
	assert_null(made);
}

static void is(const struct ros_type *const *known, const char *name, const char *kind, const char *text)
{
	const struct ros_type *t = NULL;
	struct ros_text *made = NULL;

	if (ros_definition_type(known, name, &t, &made) < 0)
		fail_msg("%s", name);
	print_message("%s\n%s", name, t->definition);
	assert_string_equal(t->kind, kind);
	assert_memory_equal(t->definition, text, strlen(text));
	ros_text_destroy(made);
}

TEST(common_types_have_their_fields)
{
	is(ros2_types, "nav_msgs/Path", "msg", "std_msgs/Header header\ngeometry_msgs/PoseStamped[] poses\n====");
	is(ros2_types, "nav_msgs/msg/Path", "msg", "std_msgs/Header header\ngeometry_msgs/PoseStamped[] poses\n====");
	is(ros2_types, "sensor_msgs/msg/JointState", "msg",
	   "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n====");
	is(ros2_types, "geometry_msgs/PoseArray", "msg", "std_msgs/Header header\ngeometry_msgs/Pose[] poses\n====");
	is(ros2_types, "diagnostic_msgs/DiagnosticArray", "msg",
	   "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status\n====");
	is(ros1_types, "rosgraph_msgs/Log", "msg", "byte DEBUG=1\n");
	is(ros1_types, "tf/tfMessage", "msg", "geometry_msgs/TransformStamped[] transforms\n====");
	is(ros1_types, "std_msgs/Time", "msg", "time data\n");
	is(ros1_types, "vision_msgs/ObjectHypothesis", "msg", "int64 id\n");
	is(ros2_types, "vision_msgs/ObjectHypothesis", "msg", "string class_id\n");
	is(ros2_types, "sensor_msgs/Image", "msg", "std_msgs/Header header\nuint32 height\n"); /* of the table */
}

/* What ROS 2 makes of the parts of a service or an action is found, though no file has it. */
TEST(messages_of_services_and_actions_are_derived)
{
	const struct ros_type *t;
	struct ros_text *made;

	is(ros2_types, "nav_msgs/srv/GetMap_Response", "srv", "nav_msgs/OccupancyGrid map\n");
	is(ros2_types, "nav_msgs/srv/GetMap_Event", "srv", "service_msgs/ServiceEventInfo info\n");
	is(ros2_types, "tf2_msgs/action/LookupTransform_Goal", "action", "string target_frame\n");
	is(ros2_types, "tf2_msgs/action/LookupTransform_FeedbackMessage", "action",
	   "unique_identifier_msgs/UUID goal_id\n");
	is(ros2_types, "tf2_msgs/action/LookupTransform_SendGoal_Request", "action",
	   "unique_identifier_msgs/UUID goal_id\n");
	assert_int_equal(ros_definition_type(ros1_types, "rosgraph_msgs/Nothing", &t, &made), -ENOENT);
	assert_int_equal(ros_definition_type(ros2_types, "rosgraph_msgs/Log", &t, &made), -ENOENT);
}
