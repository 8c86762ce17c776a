/* SPDX-License-Identifier: Apache-2.0 */
/* Rays to pixels and back, in lenses of all kinds. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include "lens.h"

#define RAD (M_PI / 180)

static void is_near(double is, double to, double by)
{
	if (!(fabs(is - to) <= by))
		fail_msg("%.12g is not %.12g", is, to);
}

static char why[300];

static struct lens lens_of(const struct lens_params *p)
{
	struct lens l;

	if (lens_init(&l, p, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	return l;
}

/* With the coefficients of a webcam, of a wide one, of one whose axis is off the middle, of fisheyes, of a depth camera, of one that is mounted askew. */
static struct lens_params lenses(unsigned i)
{
	struct lens_params all[] = {
		lens_from_fov(LENS_PLUMB_BOB, 640, 480, 60 * RAD),
		lens_from_fov(LENS_PLUMB_BOB, 640, 480, 70 * RAD),
		lens_from_fov(LENS_PLUMB_BOB, 320, 240, 100 * RAD),
		lens_from_fov(LENS_PLUMB_BOB, 320, 200, 50 * RAD),
		lens_from_fov(LENS_EQUIDISTANT, 320, 320, 100 * RAD),
		lens_from_fov(LENS_EQUIDISTANT, 320, 320, 200 * RAD),
		lens_from_fov(LENS_RATIONAL, 320, 288, 75 * RAD),
		lens_from_fov(LENS_PLUMB_BOB, 320, 200, 60 * RAD),
	};

	memcpy(all[1].d, (double[]){ 0.0515, -0.1124, 0.0009, -0.0012, 0.0315 }, 5 * sizeof(double));
	memcpy(all[2].d, (double[]){ -0.12, 0.012, -0.001, 0.002, -0.0004 }, 5 * sizeof(double));
	memcpy(all[3].d, (double[]){ 0.3, 0.05, 0.002, 0.001, 0 }, 5 * sizeof(double));
	all[3].cx += 7.25;
	all[3].cy -= 11.5;
	all[3].fy *= 1.1;
	memcpy(all[6].d, (double[]){ 0.52, -2.4, 0.0007, -0.0002, 1.4, 0.4, -2.2, 1.35 }, sizeof(all[6].d));
	memcpy(all[7].d, (double[]){ -0.08, -0.04, -0.03, -0.05, 0.04 }, 5 * sizeof(double));
	memcpy(all[5].d, (double[]){ -0.01, 0.003, -0.0005, 0.00002 }, 4 * sizeof(double));
	return i < sizeof(all) / sizeof(all[0]) ? all[i] : (struct lens_params){ 0 };
}

TEST(projection_and_unprojection_are_inverse)
{
	for (unsigned i = 0; lenses(i).width; i++) {
		const struct lens_params p = lenses(i);
		const struct lens l = lens_of(&p);

		for (uint32_t y = 0; y < p.height; y += 7) {
			for (uint32_t x = 0; x < p.width; x += 7) {
				double ray[3], px[2];

				if (!lens_unproject(&l, (const double[2]){ x, y }, ray) || !lens_project(&l, ray, px))
					fail_msg("lens %u: (%u, %u) has no ray", i, x, y);
				if (fabs(px[0] - x) > 1e-5 || fabs(px[1] - y) > 1e-5)
					fail_msg("lens %u: (%u, %u) became (%f, %f)", i, x, y, px[0], px[1]);
				is_near(ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2], 1, 1e-9);
			}
		}
	}
}

/* Expected values from OpenCV's formulae, computed by hand. */
TEST(plumb_bob_matches_opencv)
{
	struct lens_params p = { LENS_PLUMB_BOB, 640, 480, 500, 510, 320, 240, { 0.1, -0.05, 0.01, -0.02, 0.002 } };
	const struct lens l = lens_of(&p);
	/* at (0.2, -0.1): r2 = 0.05, radial = 1 + 0.005 - 0.000125 + 0.00000025 */
	const double radial = 1.00487525, x = 0.2 * radial + 2 * 0.01 * 0.2 * -0.1 + -0.02 * (0.05 + 2 * 0.04),
		     y = -0.1 * radial + 0.01 * (0.05 + 2 * 0.01) + 2 * -0.02 * 0.2 * -0.1;
	double px[2];

	assert_true(lens_project(&l, (const double[3]){ 0.4, -0.2, 2 }, px));
	is_near(px[0], 500 * x + 320, 1e-9);
	is_near(px[1], 510 * y + 240, 1e-9);
}

TEST(equidistant_matches_opencv)
{
	struct lens_params p = { LENS_EQUIDISTANT, 400, 400, 120, 120, 200, 200, { 0.02, -0.004, 0.001, -0.0001 } };
	const struct lens l = lens_of(&p);
	const double t = 60 * RAD, t2 = t * t,
		     r = t * (1 + 0.02 * t2 - 0.004 * t2 * t2 + 0.001 * t2 * t2 * t2 - 0.0001 * t2 * t2 * t2 * t2);
	double px[2];

	assert_true(lens_project(&l, (const double[3]){ 0, 3 * sin(t), 3 * cos(t) }, px));
	is_near(px[0], 200, 1e-9);
	is_near(px[1], 120 * r + 200, 1e-9);
}

TEST(rational_polynomial_matches_opencv)
{
	struct lens_params p = { LENS_RATIONAL, 640, 480, 500,
				 510,           320, 240, { 0.1, -0.05, 0.01, -0.02, 0.002, 0.2, -0.03, 0.004 } };
	const struct lens l = lens_of(&p);
	/* at (0.2, -0.1), r2 = 0.05: the numerator of plumb_bob above, over 1 + 0.01 - 0.000075 + 0.0000005 */
	const double radial = 1.00487525 / 1.0099255,
		     x = 0.2 * radial + 2 * 0.01 * 0.2 * -0.1 + -0.02 * (0.05 + 2 * 0.04),
		     y = -0.1 * radial + 0.01 * (0.05 + 2 * 0.01) + 2 * -0.02 * 0.2 * -0.1;
	double px[2];

	assert_true(lens_project(&l, (const double[3]){ 0.4, -0.2, 2 }, px));
	is_near(px[0], 500 * x + 320, 1e-9);
	is_near(px[1], 510 * y + 240, 1e-9);
}

static double chance(unsigned *seed, double by)
{
	return by * (2.0 * (double)rand_r(seed) / RAND_MAX - 1);
}

static struct lens_params any_lens(unsigned *seed)
{
	static const enum lens_model MODEL[] = { LENS_PLUMB_BOB, LENS_RATIONAL, LENS_EQUIDISTANT };
	enum lens_model m = MODEL[rand_r(seed) % 3];
	struct lens_params p = lens_from_fov(m, 64, 48, 1.3 + chance(seed, 1));
	double by = rand_r(seed) % 2 ? 1 : 0.2, tangential = rand_r(seed) % 2 ? 0.3 : 0.01;

	for (unsigned i = 0; i < lens_coefficients(m); i++)
		p.d[i] = chance(seed, m != LENS_EQUIDISTANT && (i == 2 || i == 3) ? tangential : by);
	p.cx += chance(seed, 40);
	p.cy += chance(seed, 30);
	return p;
}

/* Looks around for rays that reach the image: the pixel where one does has no other. */
static void rays_do_not_meet(const struct lens *l, unsigned *seed)
{
	double far = l->p.model == LENS_EQUIDISTANT ? 3 : 10;

	for (unsigned i = 0; i < 300; i++) {
		double z = l->p.model == LENS_EQUIDISTANT ? chance(seed, 1) : 1,
		       ray[3] = { chance(seed, far), chance(seed, far), z }, px[2], back[3];
		double size = sqrt(ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2]);

		if (!lens_project(l, ray, px) || px[0] < -0.5 || px[0] > 63.5 || px[1] < -0.5 || px[1] > 47.5)
			continue;
		assert_true(lens_unproject(l, px, back));
		for (unsigned a = 0; a < 3; a++)
			is_near(back[a], ray[a] / size, 1e-4);
	}
}

/* Coefficients of all kinds: with an accepted lens each pixel has a ray, and each ray a pixel of its own. */
TEST(an_accepted_lens_does_not_fold)
{
	unsigned seed = (unsigned)test_seed(11), taken = 0;

	for (unsigned round = 0; round < 3000; round++) {
		const struct lens_params p = any_lens(&seed);
		struct lens l;

		if (lens_init(&l, &p, why, sizeof(why)) < 0)
			continue;
		taken++;
		for (uint32_t y = 0; y < p.height; y += 3) {
			for (uint32_t x = 0; x < p.width; x += 3) {
				double ray[3], px[2];

				if (!lens_unproject(&l, (const double[2]){ x, y }, ray))
					fail_msg("round %u: (%u, %u) has no ray", round, x, y);
				assert_true(lens_project(&l, ray, px));
				is_near(px[0], x, 1e-5);
				is_near(px[1], y, 1e-5);
			}
		}
		rays_do_not_meet(&l, &seed);
	}
	assert_true(taken > 500);
}

TEST(the_field_of_view_is_as_requested)
{
	const struct lens_params p = lens_from_fov(LENS_PLUMB_BOB, 640, 480, 90 * RAD),
				 f = lens_from_fov(LENS_EQUIDISTANT, 640, 480, 180 * RAD);
	const struct lens l = lens_of(&p), e = lens_of(&f);
	double ray[3];

	assert_true(lens_is_ideal(&l) && !lens_is_ideal(&e));
	assert_true(lens_unproject(&l, (const double[2]){ -0.5, 239.5 }, ray));
	is_near(atan2(ray[0], ray[2]), -45 * RAD, 1e-9);
	assert_true(lens_unproject(&e, (const double[2]){ 639.5, 239.5 }, ray));
	is_near(atan2(ray[0], ray[2]), 90 * RAD, 1e-9);
}

TEST(points_behind_the_camera_are_not_projected)
{
	const struct lens_params p = lens_from_fov(LENS_PLUMB_BOB, 640, 480, 90 * RAD),
				 f = lens_from_fov(LENS_EQUIDISTANT, 640, 640, 200 * RAD);
	const struct lens l = lens_of(&p), e = lens_of(&f);
	double px[2];

	assert_false(lens_project(&l, (const double[3]){ 0.1, 0, -1 }, px));
	assert_false(lens_project(&l, (const double[3]){ 1, 0, 0 }, px));
	assert_true(lens_project(&e, (const double[3]){ 1, 0, -0.1 }, px));
	assert_true(px[0] < 639.5);
	assert_false(lens_project(&e, (const double[3]){ 0, 0, -1 }, px));
}

TEST(a_lens_that_folds_back_is_refused)
{
	struct lens_params p = lens_from_fov(LENS_PLUMB_BOB, 640, 480, 100 * RAD);
	struct lens l;

	p.d[0] = -0.4;
	assert_int_equal(lens_init(&l, &p, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "plumb_bob folds back"));
	p = lens_from_fov(LENS_EQUIDISTANT, 640, 480, 200 * RAD);
	p.d[0] = -0.3;
	assert_int_equal(lens_init(&l, &p, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "equidistant folds back"));
	p = lens_from_fov(LENS_RATIONAL, 640, 480, 90 * RAD);
	p.d[5] = 1.5; /* r / (1 + 1.5 r2) falls from 0.82 on */
	assert_int_equal(lens_init(&l, &p, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "rational_polynomial folds back"));
}

TEST(a_lens_with_too_wide_a_view_gets_the_right_reason)
{
	struct lens_params p = lens_from_fov(LENS_PLUMB_BOB, 640, 480, 174 * RAD);
	struct lens l;

	assert_int_equal(lens_init(&l, &p, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "further than 85 degrees"));
	p = lens_from_fov(LENS_EQUIDISTANT, 640, 640, 300 * RAD);
	assert_int_equal(lens_init(&l, &p, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "further than 180 degrees"));
}

TEST(invalid_lens_parameters_are_refused)
{
	const struct lens_params good = lens_from_fov(LENS_PLUMB_BOB, 64, 48, 1);
	struct lens_params bad[] = { good, good, good, good, good, good, good, good };
	struct lens l;

	bad[0].width = 0;
	bad[1].height = LENS_SIDE_MAX + 1;
	bad[2].fx = NAN;
	bad[3].fy = -1;
	bad[4].cx = INFINITY;
	bad[5].d[2] = NAN;
	bad[6].model = LENS_EQUIDISTANT;
	bad[6].d[4] = 0.1;
	bad[7].d[5] = 0.1;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		*why = 0;
		assert_int_equal(lens_init(&l, &bad[i], why, sizeof(why)), -EINVAL);
		assert_true(*why);
	}
}

/* Each pixel's ray, drawn in the ideal picture, is where the table has it; and the picture has it all. */
TEST(the_lookup_table_finds_each_pixel)
{
	for (unsigned i = 0; i < 5; i++) {
		const struct lens_params p = lenses(i);
		const struct lens l = lens_of(&p);
		float *table = malloc(2 * sizeof(float) * p.width * p.height);
		struct lens_source s;

		assert_int_equal(lens_source(&l, &s, why, sizeof(why)), 0);
		lens_table(&l, &s, table);
		for (uint32_t y = 0; y < p.height; y++) {
			for (uint32_t x = 0; x < p.width; x++) {
				const float *at = table + 2 * (y * (size_t)p.width + x);
				double ray[3] = { (at[0] - s.cx) / s.f, (at[1] - s.cy) / s.f, 1 }, px[2];

				assert_true(at[0] >= 0 && (double)at[0] <= s.width - 1.0 && at[1] >= 0 &&
					    (double)at[1] <= s.height - 1.0);
				assert_true(lens_project(&l, ray, px));
				if (fabs(px[0] - x) > 0.01 || fabs(px[1] - y) > 0.01)
					fail_msg("lens %u: (%u, %u) is at (%f, %f)", i, x, y, at[0], at[1]);
			}
		}
		free(table);
	}
}

TEST(a_lens_too_wide_for_a_flat_picture_is_refused)
{
	const struct lens_params p = lenses(5);
	const struct lens l = lens_of(&p);
	struct lens_source s;

	assert_int_equal(lens_source(&l, &s, why, sizeof(why)), -ERANGE);
	assert_non_null(strstr(why, "75 degrees"));
}

TEST(model_names_match_camera_info)
{
	enum lens_model m;

	assert_true(lens_model_from("plumb_bob", &m) && m == LENS_PLUMB_BOB);
	assert_true(lens_model_from("equidistant", &m) && m == LENS_EQUIDISTANT);
	assert_true(lens_model_from("rational_polynomial", &m) && m == LENS_RATIONAL);
	assert_false(lens_model_from("fisheye", &m));
}
