/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.json for tests: each mapping by value, and the message of ours that it is made of. A row has "out": "ours to
 * ROS" or "in": "ROS to ours", our message as simctl prints it, the ROS message as a tree (ros_tree.h), the options of
 * the rig; "H" stands for the header and "S" for the stamp of 1.25 s, "points" for the bytes of the default point.
 * Fields that a row omits must be 0 or empty.
 */
#ifndef CONVERT_ROWS_H
#define CONVERT_ROWS_H

#include "support/test.h"

#include "map.h"
#include "sim/introspect.h"
#include "sim/point_cloud.h"
#include "support/ros_tree.h"

#define STAMP INT64_C(1250000000)
#define SEQ   7u
#define ROWS  "tests/unit/convert/rows.json"

static json_t *rows;
static _Alignas(64) uint8_t body[8192];

struct row {
	json_t *j;
	char ours[64], ros[96];
	bool in;
};

/* "a to b" */
static inline struct row row_of(json_t *j)
{
	const char *in = json_string_value(json_object_get(j, "in"));
	const char *text = in ? in : json_string_value(json_object_get(j, "out"));
	struct row r = { .j = j, .in = in != NULL };

	assert_non_null(text);
	assert_int_equal(sscanf(text, in ? "%95s to %63s" : "%63s to %95s", in ? r.ros : r.ours, in ? r.ours : r.ros),
			 2);
	return r;
}

#define FAIL(row, ...) \
	do { \
		print_error("%s %s: ", (row)->in ? "in" : "out", (row)->ros); \
		fail_msg(__VA_ARGS__); \
	} while (0)

static inline struct map_options options_of(const struct row *r)
{
	static const char *const points[] = { "native", "awsim24", "awsim48", "svl32", "xyzircaedt", "xyzir" };
	json_t *o = json_object_get(r->j, "options");
	const char *want = json_string_value(json_object_get(o, "points"));
	const char *compat = json_string_value(json_object_get(o, "compat"));
	const char *sentence = json_string_value(json_object_get(o, "sentence"));
	struct map_options m = { .frame = json_string_value(json_object_get(o, "frame")),
				 .child_frame = json_string_value(json_object_get(o, "child_frame")),
				 .encoding = json_string_value(json_object_get(o, "encoding")),
				 .sentence = sentence && !strcmp(sentence, "insatt") ? MAP_SENTENCE_INSATT
										     : MAP_SENTENCE_GGA,
				 .compat = !compat                       ? MAP_COMPAT_NONE
					   : !strcmp(compat, "svl_ros2") ? MAP_COMPAT_SVL_ROS2
									 : MAP_COMPAT_SVL,
				 .covariance = json_number_value(json_object_get(o, "covariance")) };

	for (unsigned i = 0; want && i < sizeof(points) / sizeof(points[0]); i++)
		if (!strcmp(points[i], want))
			m.points = (enum map_points)i;
	return m;
}

/* ---- the message of ours, into body ---- */

static inline size_t points_body(json_t *points)
{
	size_t n = json_array_size(points);
	struct sim_builder b;
	uint8_t *to = (uint8_t *)sim_point_cloud_begin(body, sizeof(body), (uint32_t)(n / 32), &b);

	assert_int_equal(n % 32, 0);
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)json_integer_value(json_array_get(points, i));
	((struct sim_PointCloud *)(void *)body)->is_dense = 1;
	return sim_builder_size(&b);
}

static inline size_t body_of(const struct row *r)
{
	json_t *points = json_object_get(r->j, "points");
	size_t size = 0;
	char *text;
	int e;

	if (points)
		return points_body(points);
	text = json_dumps(json_object_get(r->j, "body"), JSON_REAL_PRECISION(17));
	e = sim_msg_from_json(sim_type_builtin(r->ours), text, strlen(text), body, sizeof(body), &size);
	if (e < 0)
		FAIL(r, "the body cannot be read: %d: %s", e, text);
	free(text);
	return size;
}

/* ---- a group of tests ---- */

static inline int rows_setup(void **state)
{
	json_error_t err;

	(void)state;
	rows = json_load_file(ROWS, JSON_REJECT_DUPLICATES, &err);
	if (!rows)
		print_error(ROWS ":%d: %s\n", err.line, err.text);
	ros_tree_expand(rows, 1, 250000000);
	return rows ? 0 : -1;
}

static inline int rows_teardown(void **state)
{
	(void)state;
	json_decref(rows);
	return 0;
}

#endif
