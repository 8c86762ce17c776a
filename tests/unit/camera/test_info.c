/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices of sim/CameraInfo. */
#include "support/test.h"

#include <sim/introspect.h>
#include <sim/msg/CameraInfo.h>

#include "info.h"

static _Alignas(64) uint8_t body[1024];

static const struct sim_CameraInfo *fill(const struct lens_params *p, size_t *ret)
{
	struct lens l;
	char why[200];

	assert_int_equal(lens_init(&l, p, why, sizeof(why)), 0);
	*ret = info_fill(&l, body, sizeof(body));
	assert_true(*ret > 0 && *ret <= info_body_size());
	assert_int_equal(sim_msg_check(&sim_CameraInfo_type, body, *ret), 0);
	return sim_CameraInfo_from(body, *ret);
}

TEST(the_matrices_match_the_definition_of_ros)
{
	struct lens_params p = { LENS_PLUMB_BOB, 640, 480, 500, 510, 321, 239, { 0.1, -0.05, 0.01, -0.02, 0.002 } };
	const double k[9] = { 500, 0, 321, 0, 510, 239, 0, 0, 1 }, r[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 },
		     proj[12] = { 500, 0, 321, 0, 0, 510, 239, 0, 0, 0, 1, 0 };
	uint32_t n;
	size_t size;
	const struct sim_CameraInfo *m = fill(&p, &size);
	const double *d = sim_CameraInfo_d(m, size, &n);

	assert_int_equal(m->width, 640);
	assert_int_equal(m->height, 480);
	assert_string_equal(sim_CameraInfo_distortion_model(m, size), "plumb_bob");
	assert_int_equal(n, 5);
	assert_memory_equal(d, p.d, 5 * sizeof(*d));
	assert_memory_equal(m->k, k, sizeof(k));
	assert_memory_equal(m->r, r, sizeof(r));
	assert_memory_equal(m->p, proj, sizeof(proj));
}

TEST(a_fisheye_has_four_coefficients)
{
	struct lens_params p = lens_from_fov(LENS_EQUIDISTANT, 640, 480, 3);
	uint32_t n;
	size_t size;
	const struct sim_CameraInfo *m = fill(&p, &size);

	assert_string_equal(sim_CameraInfo_distortion_model(m, size), "equidistant");
	(void)sim_CameraInfo_d(m, size, &n);
	assert_int_equal(n, 4);
}

TEST(a_rational_polynomial_has_eight)
{
	struct lens_params p = lens_from_fov(LENS_RATIONAL, 640, 480, 1);
	uint32_t n;
	size_t size;
	const struct sim_CameraInfo *m;
	const double *d;

	memcpy(p.d, (double[]){ 0.1, 0.2, 0.003, 0.004, 0.05, 0.06, 0.07, 0.08 }, sizeof(p.d));
	m = fill(&p, &size);
	d = sim_CameraInfo_d(m, size, &n);
	assert_string_equal(sim_CameraInfo_distortion_model(m, size), "rational_polynomial");
	assert_int_equal(n, 8);
	assert_memory_equal(d, p.d, sizeof(p.d));
}

TEST(with_too_little_room_no_message_is_written)
{
	const struct lens_params p = lens_from_fov(LENS_PLUMB_BOB, 64, 48, 1);
	struct lens l;
	char why[200];

	assert_int_equal(lens_init(&l, &p, why, sizeof(why)), 0);
	assert_int_equal(info_fill(&l, body, 64), 0);
	assert_int_equal(info_fill(&l, body, sizeof(struct sim_CameraInfo) + 12), 0);
}
