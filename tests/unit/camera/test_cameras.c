/* SPDX-License-Identifier: Apache-2.0 */
/* The file of cameras: defaults, and invalid values. */
#include "support/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "cameras.h"
#include "err.h"

static struct cameras all;

static int load(const char *text)
{
	char file[TEST_PATH_MAX];
	FILE *f;

	test_path(file, "cameras.json");
	f = fopen(file, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return cameras_load(file, &all);
}

static void refuses(const char *camera, const char *says)
{
	char text[1000];

	snprintf(text, sizeof(text), "{\"cameras\": [%s]}", camera);
	if (load(text) != -EINVAL)
		fail_msg("taken: %s", camera);
	if (!strstr(err_why(), says))
		fail_msg("\"%s\" does not say \"%s\"", err_why(), says);
}

TEST(defaults_follow_from_the_given_keys)
{
	assert_int_equal(load("{\"cameras\": [{\"channel\": \"camera/left\"}]}"), 0);
	assert_int_equal(all.n, 1);
	assert_string_equal(all.at[0].info, "camera/left/info");
	assert_string_equal(all.at[0].frame_id, "camera_left_optical");
	assert_string_equal(all.at[0].compressed, "");
	assert_int_equal(all.at[0].kind, KIND_COLOUR);
	assert_int_equal(all.at[0].lens.p.width, 640);
	assert_true(fabs(all.at[0].lens.p.fx - 320) < 1e-9 && fabs(all.at[0].lens.p.fy - 320) < 1e-9);
	assert_true(all.at[0].lens.p.cx == 319.5 && all.at[0].lens.p.cy == 239.5);
	assert_true(all.at[0].rate_hz == 10);
}

TEST(each_key_is_accepted)
{
	assert_int_equal(
		load("{\"cameras\": [{\"channel\": \"a\"}, {\"channel\": \"b\", \"info\": \"i\", \"boxes\": \"o\", \"frame_id\": \"f\","
		     "\"kind\": \"instance\", \"width\": 320, \"height\": 200, \"fx\": 300, \"fy\": 310, \"cx\": 150, \"cy\": 90,"
		     "\"distortion_model\": \"equidistant\", \"d\": [0.1, 0.01], \"x\": 1, \"y\": 2, \"z\": 3, \"roll\": 10,"
		     "\"pitch\": 20, \"yaw\": 30, \"rate\": 4, \"quality\": 5}]}"),
		0);
	const struct camera_spec *c = &all.at[1];

	assert_string_equal(c->channel, "b");
	assert_string_equal(c->info, "i");
	assert_string_equal(c->boxes, "o");
	assert_string_equal(c->frame_id, "f");
	assert_int_equal(c->kind, KIND_INSTANCE);
	assert_int_equal(c->lens.p.model, LENS_EQUIDISTANT);
	assert_true(c->lens.p.width == 320 && c->lens.p.height == 200 && c->lens.p.fx == 300 && c->lens.p.fy == 310);
	assert_true(c->lens.p.cx == 150 && c->lens.p.cy == 90 && c->lens.p.d[0] == 0.1 && c->lens.p.d[1] == 0.01);
	assert_true(c->at[0] == 1 && c->at[1] == 2 && c->at[2] == 3);
	assert_true(fabs(c->roll - M_PI / 18) < 1e-9 && fabs(c->pitch - M_PI / 9) < 1e-9 &&
		    fabs(c->yaw - M_PI / 6) < 1e-9);
	assert_true(c->rate_hz == 4 && c->quality == 5);
}

TEST(invalid_cameras_are_refused_with_their_place)
{
	refuses("3", "cameras[0]: an object");
	refuses("{}", "cameras[0]: no channel");
	refuses("{\"channel\": \"a\"}, {\"channel\": 1}", "cameras[1]: channel: a text");
	refuses("{\"channel\": \"a\", \"fov\": 1}", "fov: no such key");
	refuses("{\"channel\": \"a\", \"kind\": \"x\"}", "kind: colour, depth, semantic or instance, not \"x\"");
	refuses("{\"channel\": \"a\", \"width\": 0}", "width: 1 to");
	refuses("{\"channel\": \"a\", \"width\": 10.5}", "width: 1 to");
	refuses("{\"channel\": \"a\", \"height\": \"1\"}", "height: a number");
	refuses("{\"channel\": \"a\", \"hfov\": 180}", "hfov: degrees");
	refuses("{\"channel\": \"a\", \"hfov\": 60, \"fx\": 1}", "hfov and fx: one of them");
	refuses("{\"channel\": \"a\", \"d\": [1, 2, 3, 4, 5, 6]}", "plumb_bob has five coefficients");
	refuses("{\"channel\": \"a\", \"d\": [0, 0, 0, 0, 0, 0, 0, 0, 0]}", "d: a list of up to 8");
	refuses("{\"channel\": \"a\", \"d\": [null]}", "d[0]: a number");
	refuses("{\"channel\": \"a\", \"rate\": 0}", "rate: above 0");
	refuses("{\"channel\": \"a\", \"quality\": 101}", "quality: 1 to 100");
	refuses("{\"channel\": \"a\", \"x\": 51}", "x, y and z");
	refuses("{\"channel\": \"a\", \"boxes\": \"b\"}", "boxes: they are found in an image of kind instance");
	refuses("{\"channel\": \"a\", \"kind\": \"depth\", \"compressed\": \"b\"}", "only colour can be JPEG");
	refuses("{\"channel\": \"a\"}, {\"channel\": \"b\", \"info\": \"a\"}",
		"cameras[1]: channel \"a\" is used twice");
	refuses("{\"channel\": \"a\", \"frame_id\": \"0123456789012345678901234567890123456789\"}", "up to 39 bytes");
	refuses("{\"channel\": \"a\", \"frame_id\": \"f\"}, {\"channel\": \"b\", \"frame_id\": \"f\", \"yaw\": 5}",
		"cameras[1]: frame_id \"f\" has another pose in cameras[0]");
	refuses("", "a list \"cameras\" of 1 to 16");
	assert_int_equal(load("{\"cameras\": ["), -EINVAL);
	assert_int_equal(cameras_load("/nowhere/c.json", &all), -ENOENT);
}
