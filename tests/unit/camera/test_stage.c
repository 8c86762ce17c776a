/* SPDX-License-Identifier: Apache-2.0 */
/* Messages as objects in the map: position, kind, and lights that are on. */
#include "support/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "err.h"
#include "stage.h"

static struct stage stage;
static _Alignas(64) uint8_t body[65536];

/* At 100, 50 and 2 m up, looking north. */
static struct pose base(void)
{
	return pose_from_rpy((const double[]){ 100, 50, 2 }, 0, 0, M_PI / 2);
}

static void is_near(double is, double to)
{
	if (!(fabs(is - to) < 1e-6))
		fail_msg("%.9g is not %.9g", is, to);
}

static size_t objects(uint32_t n, const char *const labels[], struct sim_Detected3DObject **ret,
		      struct sim_Detected3DObjects **ret_all)
{
	struct sim_builder b;

	*ret_all = sim_Detected3DObjects_init(body, sizeof(body), &b);
	*ret = sim_Detected3DObjects_objects_alloc(&b, n);
	for (uint32_t i = 0; i < n; i++) {
		(*ret)[i].size = (struct sim_Vector3){ 4, 2, 1.5 };
		(*ret)[i].pose.orientation.w = 1;
		assert_int_equal(sim_Detected3DObject_label_set_in(&b, &(*ret)[i], labels[i]), 0);
	}
	return sim_builder_size(&b);
}

TEST(objects_stand_at_their_map_positions)
{
	static const char *const LABELS[] = { "Car", "Car", "Pedestrian", "Dragon" };
	struct sim_Detected3DObjects *m;
	struct sim_Detected3DObject *o;
	size_t size = objects(4, LABELS, &o, &m);
	struct pose p = base();

	o[0].id = 7;
	o[0].pose.position.x = 10; /* ahead: north */
	o[0].pose.position.y = 3;  /* left: west */
	o[0].pose.position.z = 0.75;
	o[0].map_acceleration.x = -2;
	o[1].size.z = 2.5;
	o[2].size.z = NAN;
	stage.n = stage.left_out = 0;
	stage_add_objects(&stage, m, size, &p);
	assert_int_equal(stage.n, 3);
	assert_int_equal(stage.left_out, 1);
	is_near(stage.things[0].at[0], 97);
	is_near(stage.things[0].at[1], 60);
	is_near(stage.things[0].at[2], 2);
	is_near(stage.things[0].yaw, M_PI / 2);
	assert_int_equal(stage.things[0].id, 7);
	assert_int_equal(stage.things[0].label, LABEL_CAR);
	assert_int_equal(stage.things[0].lit, LIT_BRAKE);
	assert_int_equal(stage.things[0].form, FORM_CAR);
	assert_int_equal(stage.things[1].form, FORM_VAN);
	assert_int_equal(stage.things[1].lit, 0);
	assert_int_equal(stage.things[2].label, LABEL_DYNAMIC);
	assert_string_equal(stage_label_name(LABEL_PERSON), "Pedestrian");
	assert_string_equal(stage_label_name(LABEL_DYNAMIC), "Unknown");
}

TEST(lights_of_a_lane_hang_side_by_side_with_their_lamps_grouped)
{
	static const char *const IDS[] = { "a", "a", "b" };
	struct sim_builder b;
	struct sim_TrafficSignals *m = sim_TrafficSignals_init(body, sizeof(body), &b);
	struct sim_TrafficSignal *s = sim_TrafficSignals_signals_alloc(&b, 3);
	struct pose p = base();

	for (int i = 0; i < 3; i++) {
		s[i].pose = (struct sim_Pose){ .position = { 20, 0, 5 }, .orientation = { .z = 1 } };
		s[i].size = (struct sim_Vector3){ 0.3, 0.3, 0.9 };
		s[i].color = i == 1 ? SIM_TRAFFIC_SIGNAL_COLOR_YELLOW : SIM_TRAFFIC_SIGNAL_COLOR_RED;
		assert_int_equal(sim_TrafficSignal_id_set_in(&b, &s[i], IDS[i]), 0);
	}
	stage.n = 0;
	stage_add_signals(&stage, m, sim_builder_size(&b), &p);
	assert_int_equal(stage.n, 2);
	assert_int_equal(stage.things[0].lit, LIT_RED | LIT_YELLOW);
	assert_int_equal(stage.things[1].lit, LIT_RED);
	is_near(stage.things[0].at[0], 100);
	is_near(stage.things[0].at[1], 70);
	is_near(stage.things[0].at[2], 2 + 5 - 0.45);
	assert_true(fabs(stage.things[1].at[0] - 100) > 0.3);
	is_near(stage.things[1].at[1], 70);
}

TEST(points_hidden_from_the_sun_are_in_shade)
{
	const double evening[3] = { -cos(0.3), 0, sin(0.3) }, noon[3] = { 0, 0, 1 }, night[3] = { 1, 0, -0.1 };
	char file[TEST_PATH_MAX];
	FILE *f;

	test_path(file, "b.json");
	f = fopen(file, "w");
	assert_non_null(f);
	fputs("{\"buildings\": [{\"x\": 0, \"y\": 0, \"length\": 10, \"width\": 20, \"height\": 12}]}", f);
	fclose(f);
	stage.n = 0;
	assert_int_equal(stage_add_buildings(&stage, file), 0);
	assert_int_equal(stage.things[0].label, LABEL_BUILDING);
	for (int i = 0; i < 3; i++) {
		/* behind it, further away than its shadow reaches, beside it */
		stage.things[stage.n++] = (struct thing){ .at = { i == 1 ? 60 : 15, i == 2 ? 15 : 0, 0 },
							  .size = { 4, 2, 1.5 },
							  .form = FORM_CAR };
	}
	stage_light(&stage, evening);
	assert_int_equal(stage.things[1].lit, IN_SHADE);
	assert_int_equal(stage.things[2].lit, 0);
	assert_int_equal(stage.things[3].lit, 0);
	stage_light(&stage, noon);
	assert_int_equal(stage.things[1].lit, 0);
	stage_light(&stage, night);
	assert_int_equal(stage.things[1].lit, IN_SHADE | LIT_NIGHT);
	assert_int_equal(stage.things[0].lit, LIT_NIGHT);
	assert_int_equal(stage_add_buildings(&stage, "/nowhere/b.json"), -ENOENT);
	assert_non_null(strstr(err_why(), "/nowhere/b.json"));
}

TEST(a_pose_and_its_quaternion_agree)
{
	static const double ANGLES[][3] = {
		{ 0, 0, 0 }, { 0.1, -0.2, 3.1 }, { 3.0, 0.2, 0.1 }, { 0.1, 3.0, 0.2 }, { -1.5, 0.3, -2 }
	};

	for (size_t i = 0; i < sizeof(ANGLES) / sizeof(*ANGLES); i++) {
		struct pose a = pose_from_rpy((const double[]){ 1, 2, 3 }, ANGLES[i][0], ANGLES[i][1], ANGLES[i][2]), b;
		struct sim_builder w;
		struct sim_Transforms *m = sim_Transforms_init(body, sizeof(body), &w);
		struct sim_Transform *t = sim_Transforms_transforms_alloc(&w, 1);

		t->translation = (struct sim_Vector3){ 1, 2, 3 };
		pose_quaternion(&a, &t->rotation);
		assert_int_equal(sim_Transform_parent_frame_set_in(&w, t, "p"), 0);
		assert_int_equal(sim_Transform_child_frame_set_in(&w, t, "c"), 0);
		assert_true(pose_find(m, sim_builder_size(&w), "p", "c", &b));
		assert_false(pose_find(m, sim_builder_size(&w), "c", "p", &b));
		for (int k = 0; k < 9; k++)
			is_near(b.axes[k], a.axes[k]);
		t->rotation = (struct sim_Quaternion){ 0 };
		assert_false(pose_find(m, sim_builder_size(&w), "p", "c", &b));
	}
}

/* As where there is "odom" between the map and the vehicle. */
TEST(a_pose_comes_through_frames_in_between)
{
	struct pose a = pose_from_rpy((const double[]){ 1, 2, 3 }, 0, 0, 1), b, whole;
	struct sim_builder w;
	struct sim_Transforms *m = sim_Transforms_init(body, sizeof(body), &w);
	struct sim_Transform *t = sim_Transforms_transforms_alloc(&w, 2);

	for (int i = 0; i < 2; i++) {
		t[i].translation = (struct sim_Vector3){ 1, 2, 3 };
		pose_quaternion(&a, &t[i].rotation);
		assert_int_equal(sim_Transform_parent_frame_set_in(&w, &t[i], i ? "map" : "odom"), 0);
		assert_int_equal(sim_Transform_child_frame_set_in(&w, &t[i], i ? "odom" : "base_link"), 0);
	}
	assert_true(pose_find(m, sim_builder_size(&w), "map", "base_link", &b));
	whole = pose_in(&a, &a);
	for (int k = 0; k < 9; k++)
		is_near(b.axes[k], whole.axes[k]);
	for (int k = 0; k < 3; k++)
		is_near(b.at[k], whole.at[k]);
}

TEST(forms_stay_in_their_box)
{
	struct forms f;

	assert_int_equal(forms_build(&f), 0);
	for (int i = 0; i < FORM_COUNT * FORM_DETAILS; i++) {
		int form = i / FORM_DETAILS, detail = i % FORM_DETAILS;
		uint32_t first = f.at[form][detail].first, n = f.at[form][detail].n;

		assert_true(n > 0);
		assert_true(detail == 0 || n <= f.at[form][detail - 1].n);
		for (uint32_t k = first; k < first + n; k++) {
			const float *v = f.mesh.v[f.mesh.index[k]].at;

			if (!(fabsf(v[0]) <= 0.5f && fabsf(v[1]) <= 0.5f && v[2] >= 0 && v[2] <= 1))
				fail_msg("form %d, detail %d: %g %g %g", form, detail, (double)v[0], (double)v[1],
					 (double)v[2]);
		}
	}
	forms_free(&f);
}
