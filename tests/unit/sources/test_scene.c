/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lidar's boxes: from messages, from the file of buildings, and files that are wrong.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tools/sources/scene/scene.h"

static uint8_t body[4096] __attribute__((aligned(64)));
static struct scan_box boxes[SCENE_BOXES_MAX];
static const struct scene_mount ROOF = { .x = 1, .y = 0, .z = 2 };

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9))
		fail_msg("%.9g is not %.9g", a, b);
}

TEST(objects_are_moved_to_the_sensor)
{
	struct sim_builder b;
	struct sim_Detected3DObjects *m = sim_Detected3DObjects_init(body, sizeof(body), &b);
	struct sim_Detected3DObject *o = sim_Detected3DObjects_objects_alloc(&b, 1);

	assert_non_null(o);
	o->pose.position = (struct sim_Vector3){ .x = 11, .y = 3, .z = 0.75 };
	o->pose.orientation = (struct sim_Quaternion){ .z = sin(0.25), .w = cos(0.25) };
	o->size = (struct sim_Vector3){ .x = 4, .y = 2, .z = 1.5 };
	assert_int_equal(sim_Detected3DObject_label_set_in(&b, o, "Bus"), 0);
	assert_int_equal(scene_add_objects(m, sim_builder_size(&b), &ROOF, boxes, 0), 1);
	near(boxes[0].x, 10);
	near(boxes[0].y, 3);
	near(boxes[0].z, -1.25);
	near(boxes[0].yaw, 0.5);
	near(boxes[0].length, 4);
	near(boxes[0].reflectivity, 0.75);
	/* no more than there is room for; a body that lies gives none */
	assert_int_equal(scene_add_objects(m, sim_builder_size(&b), &ROOF, boxes, SCENE_BOXES_MAX), SCENE_BOXES_MAX);
	assert_int_equal(scene_add_objects(m, 100, &ROOF, boxes, 0), 0);
}

TEST(buildings_are_turned_to_the_sensor)
{
	struct scan_box in_map[2] = {
		{ .x = 100, .y = 80, .z = 5, .length = 10, .width = 4, .height = 10, .reflectivity = 0.3 },
		{ .x = 1000, .y = 80, .z = 5, .length = 10, .width = 4, .height = 10, .reflectivity = 0.3 },
	};
	struct scene_buildings all = { .boxes = in_map, .n = 2 };
	struct scene_pose north = { .x = 100, .y = 50, .yaw = M_PI / 2 };

	assert_int_equal(scene_add_buildings(&all, &north, &ROOF, 200, boxes, 0), 1); /* the other one is far */
	near(boxes[0].x, 29);
	near(boxes[0].y, 0);
	near(boxes[0].z, 3);
	near(boxes[0].yaw, -M_PI / 2);
}

TEST(a_sensor_may_be_mounted_at_any_angle)
{
	const struct scene_mount left = { .x = 1, .y = 1, .z = 0.5, .yaw = M_PI / 2 };
	struct scan_box in_map = { .x = 100, .y = 80, .z = 5, .length = 10, .width = 4, .height = 10 };
	struct scene_buildings all = { .boxes = &in_map, .n = 1 };
	struct scene_pose north = { .x = 100, .y = 50, .yaw = M_PI / 2 };
	struct sim_builder b;
	struct sim_Detected3DObjects *m = sim_Detected3DObjects_init(body, sizeof(body), &b);
	struct sim_Detected3DObject *o = sim_Detected3DObjects_objects_alloc(&b, 1);

	o->pose.position = (struct sim_Vector3){ .x = 3, .y = 11, .z = 1 };
	o->pose.orientation.w = 1;
	assert_int_equal(scene_add_objects(m, sim_builder_size(&b), &left, boxes, 0), 1);
	near(boxes[0].x, 10);
	near(boxes[0].y, -2);
	near(boxes[0].z, 0.5);
	near(boxes[0].yaw, -M_PI / 2);
	assert_int_equal(scene_add_buildings(&all, &north, &left, 200, boxes, 0), 1); /* 30 m ahead of base_link */
	near(boxes[0].x, -1);
	near(boxes[0].y, -29);
	near(boxes[0].z, 4.5);
	near(boxes[0].yaw, -M_PI);
}

TEST(the_pose_is_read_from_the_right_frames)
{
	struct sim_builder b;
	struct sim_Transforms *m = sim_Transforms_init(body, sizeof(body), &b);
	struct sim_Transform *t = sim_Transforms_transforms_alloc(&b, 2);
	struct scene_pose p;

	assert_int_equal(sim_Transform_parent_frame_set_in(&b, &t[0], "map"), 0);
	assert_int_equal(sim_Transform_child_frame_set_in(&b, &t[0], "other"), 0);
	assert_int_equal(sim_Transform_parent_frame_set_in(&b, &t[1], "map"), 0);
	assert_int_equal(sim_Transform_child_frame_set_in(&b, &t[1], "base_link"), 0);
	t[1].translation.x = 7;
	t[1].rotation = (struct sim_Quaternion){ .z = sin(0.5), .w = cos(0.5) };
	assert_int_equal(scene_pose_of(m, sim_builder_size(&b), "map", "base_link", &p), 0);
	near(p.x, 7);
	near(p.yaw, 1);
	assert_int_equal(scene_pose_of(m, sim_builder_size(&b), "map", "nobody", &p), -ENOENT);
}

static void say_frame(struct sim_builder *b, struct sim_Transform *t, const char *parent, const char *child, double x,
		      double yaw)
{
	assert_int_equal(sim_Transform_parent_frame_set_in(b, t, parent), 0);
	assert_int_equal(sim_Transform_child_frame_set_in(b, t, child), 0);
	t->translation.x = x;
	t->rotation = (struct sim_Quaternion){ .z = sin(yaw / 2), .w = cos(yaw / 2) };
}

/* As where there is "odom" between them, in either order; a message that leads round in a circle leads nowhere. */
TEST(the_pose_comes_through_frames_in_between)
{
	for (int i = 0; i < 2; i++) {
		struct sim_builder b;
		struct sim_Transforms *m = sim_Transforms_init(body, sizeof(body), &b);
		struct sim_Transform *t = sim_Transforms_transforms_alloc(&b, 3);
		struct scene_pose p;

		say_frame(&b, &t[i], "map", "odom", 10, M_PI / 2);
		say_frame(&b, &t[1 - i], "odom", "base_link", 3, 0.5);
		say_frame(&b, &t[2], "map", "other", 1, 1);
		assert_int_equal(scene_pose_of(m, sim_builder_size(&b), "map", "base_link", &p), 0);
		near(p.x, 10);
		near(p.y, 3);
		near(p.yaw, M_PI / 2 + 0.5);
		say_frame(&b, &t[i], "base_link", "odom", 10, 0);
		assert_int_equal(scene_pose_of(m, sim_builder_size(&b), "map", "base_link", &p), -ENOENT);
	}
}

TEST(the_demo_has_buildings)
{
	struct scene_buildings b;
	char why[256];

	assert_int_equal(scene_buildings_load("config/rigs/demo/town.buildings.json", &b, why, sizeof(why)), 0);
	assert_true(b.n > 50);
	for (size_t i = 0; i < b.n; i++)
		near(b.boxes[i].z, b.boxes[i].height / 2);
	scene_buildings_free(&b);
}

static void refused(const char *text, int want, const char *words)
{
	struct scene_buildings b = { 0 };
	char path[TEST_PATH_MAX], why[256] = "";
	FILE *f = fopen(test_path(path, "buildings.json"), "w");
	int r;

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	r = scene_buildings_load(path, &b, why, sizeof(why));
	if (r != want || !strstr(why, words))
		fail_msg("%d \"%s\" is not %d \"%s\"", r, why, want, words);
	assert_null(b.boxes);
	remove(path);
}

TEST(invalid_files_are_reported)
{
	struct scene_buildings b;
	char why[256];

	assert_int_equal(scene_buildings_load("no/such.json", &b, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "no/such.json"));
	refused("{\n\"buildings\": [\n}", -EINVAL, ":3:");
	refused("{}", -EINVAL, "buildings");
	refused("{\"buildings\": [{\"x\": 1, \"y\": 2, \"length\": 3, \"width\": 4}]}", -EINVAL, "buildings[0]");
	refused("{\"buildings\": [{\"x\": 1, \"y\": 2, \"length\": -3, \"width\": 4, \"height\": 1}]}", -EINVAL,
		"buildings[0]");
}
