/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendered images, pixel by pixel, against geometry: depths of a plane and of a wall, ids and classes, the light of
 * lamps, shadows, lenses that distort. With any driver of Vulkan; Mesa's lavapipe needs no GPU.
 */
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "boxes.h"
#include "err.h"
#include "render.h"
#include "snapshot.h"

#define W      160u
#define H      120u
#define HEIGHT 1.5  /* m of the eye above the ground */
#define DROP   0.03 /* m that the plane lies below it: render.c */

static struct gpu gpu;
static struct stage stage;
static struct streets streets;
static bool has_streets;
static double sun[3] = { -0.6, 0, 0.8 }; /* behind who looks east */
static double place[2];                  /* of all, in the map */

static bool opened(void)
{
	if (gpu_open(&gpu, NULL) < 0) {
		print_message("%s\n", err_why());
		return false;
	}
	memset(&stage, 0, sizeof(stage));
	has_streets = false;
	place[0] = place[1] = 0;
	return true;
}

static void finish(void)
{
	if (has_streets)
		streets_free(&streets);
	gpu_close(&gpu);
}

/* Looks east, from (0, 0) and HEIGHT, turned down by that. */
static struct pose view(double pitch)
{
	const struct pose optical = { .axes = { 0, 0, 1, -1, 0, 0, 0, -1, 0 } };
	const double at[3] = { place[0], place[1], HEIGHT };
	struct pose mount = pose_from_rpy(at, 0, pitch, 0);

	return pose_in(&mount, &optical);
}

static struct camera_spec camera_of(unsigned kind, const struct lens_params *lens)
{
	const struct lens_params ideal = lens_from_fov(LENS_PLUMB_BOB, W, H, M_PI / 2);
	struct camera_spec c = camera_default();

	c.kind = kind;
	assert_ok(camera_complete(&c, lens ? lens : &ideal, "test"));
	return c;
}

/* n cameras of one place; rets: their images, of malloc(). */
static void draw_all(const struct camera_spec *specs, size_t n, double pitch, unsigned samples, void **rets)
{
	struct render_camera cameras[4];
	struct render_options o = {
		.cameras = cameras, .n = n, .streets = has_streets ? &streets : NULL, .samples = samples, .haze_m = 1e6
	};
	struct pose views[4];
	struct render_moment m = { .stage = &stage, .views = views, .due = (1u << n) - 1 };
	struct render *r;

	for (size_t i = 0; i < n; i++) {
		cameras[i] = (struct render_camera){ specs[i].kind, specs[i].lens };
		views[i] = view(pitch);
	}
	memcpy(m.sun, sun, sizeof(m.sun));
	stage_light(&stage, sun);
	assert_ok(render_create(&gpu, &o, &r));
	assert_ok(render_draw(r, &m));
	for (size_t i = 0; i < n; i++)
		assert_ok(snapshot_read(&gpu, r, i, &specs[i], &rets[i]));
	assert_ok(render_wait(r));
	render_destroy(r);
}

static void *draw(unsigned kind, const struct lens_params *lens, double pitch)
{
	struct camera_spec c = camera_of(kind, lens);
	void *ret;

	draw_all(&c, 1, pitch, 1, &ret);
	return ret;
}

/* In the map, its floor's middle at x, y. */
static struct thing *put(enum form form, uint8_t label, uint32_t id, double x, double y, double l, double w, double h)
{
	struct thing *t = &stage.things[stage.n++];

	*t = (struct thing){ .at = { place[0] + x, place[1] + y, 0 },
			     .size = { l, w, h },
			     .id = id,
			     .form = (uint8_t)form,
			     .label = label,
			     .colour = 0x808080 };
	return t;
}

static void is_near(double is, double to, double by)
{
	if (!(fabs(is - to) <= by))
		fail_msg("%.9g is not %.9g", is, to);
}

/* ---- depth ---- */

static double ground_depth(const struct lens *l, uint32_t x, uint32_t y)
{
	double ray[3];

	assert_true(lens_unproject(l, (const double[]){ x, y }, ray));
	return (HEIGHT + DROP) / ray[1] * ray[2];
}

static void check_ground(const float *depth, const struct camera_spec *c, double limit)
{
	uint32_t seen = 0;

	for (uint32_t y = 0; y < c->lens.p.height; y++) {
		for (uint32_t x = 0; x < c->lens.p.width; x++) {
			double is = depth[y * c->lens.p.width + x], to = ground_depth(&c->lens, x, y);

			if (to < 0 || to > 1000) {
				if (to < 0 && !isinf(is))
					fail_msg("%u, %u: the sky is %g m away", x, y, is);
				continue;
			}
			if (to < 100) {
				is_near(is, to, limit * to * to);
				seen++;
			}
		}
	}
	assert_true(seen > c->lens.p.width * c->lens.p.height / 4);
}

TEST(depth_of_the_ground_is_exact)
{
	struct camera_spec c = camera_of(KIND_DEPTH, NULL);
	float *depth;

	if (!opened())
		skip();
	depth = draw(KIND_DEPTH, NULL, 0);
	check_ground(depth, &c, 1e-4);
	free(depth);
	finish();
}

/* The nearest pixel of the picture before the lens is up to 0.71 away: at 1 m of depth that is 1 / f / HEIGHT of it. */
TEST(with_distorting_lenses_each_pixel_sees_what_its_ray_hits)
{
	struct lens_params lenses[2] = { lens_from_fov(LENS_PLUMB_BOB, W, H, 1.4),
					 lens_from_fov(LENS_EQUIDISTANT, W, H, 1.6) };

	memcpy(lenses[0].d, (const double[]){ -0.12, 0.012, -0.001, 0.002, -0.0004 }, 5 * sizeof(double));
	memcpy(lenses[1].d, (const double[]){ -0.01, 0.003 }, 2 * sizeof(double));
	if (!opened())
		skip();
	for (int i = 0; i < 2; i++) {
		struct camera_spec c = camera_of(KIND_DEPTH, &lenses[i]);
		float *depth = draw(KIND_DEPTH, &lenses[i], 0);

		check_ground(depth, &c, 0.71 / c.lens.p.fx / HEIGHT * 1.2);
		free(depth);
	}
	finish();
}

TEST(depth_and_edges_of_a_wall_are_exact)
{
	struct camera_spec c = camera_of(KIND_DEPTH, NULL);
	double f = c.lens.p.fx;
	float *depth;

	if (!opened())
		skip();
	put(FORM_BUILDING, LABEL_BUILDING, 1, 25, 0, 10, 8, 30);
	depth = draw(KIND_DEPTH, NULL, 0);
	/* its face at 20 m is 4 m to either side: 4 / 20 * f pixels from the middle */
	for (uint32_t x = 0; x < W; x++) {
		double off = fabs(x - c.lens.p.cx), edge = 4.0 / 20 * f;
		double is = depth[(H / 2 - 10) * W + x];

		if (off < edge - 0.01)
			is_near(is, 20, 1e-4 * 20);
		else if (off > edge + 0.01)
			assert_true(isinf(is));
	}
	free(depth);
	finish();
}

/* With the map origin as far away as UTM coordinates are from 0, the depth does not jitter. */
TEST(depth_does_not_depend_on_the_map_origin)
{
	float *here, *there;

	if (!opened())
		skip();
	put(FORM_CAR, LABEL_CAR, 1, 9, 1, 4.5, 1.8, 1.5)->yaw = 0.7;
	here = draw(KIND_DEPTH, NULL, 0.1);
	stage.n = 0;
	place[0] = 691500.25;
	place[1] = 5335500.75;
	put(FORM_CAR, LABEL_CAR, 1, 9, 1, 4.5, 1.8, 1.5)->yaw = 0.7;
	there = draw(KIND_DEPTH, NULL, 0.1);
	for (uint32_t i = 0; i < W * H; i++) {
		if (!isinf(here[i]) && here[i] < 100)
			is_near(there[i], here[i], 1e-4 * here[i]);
	}
	free(here);
	free(there);
	finish();
}

/* ---- ids and classes ---- */

/* Where a box of the map may be seen: its corners' pixels. */
static void rect_of(const struct thing *t, const struct lens *l, double ret[4])
{
	ret[0] = ret[1] = 1e9;
	ret[2] = ret[3] = -1e9;
	for (int i = 0; i < 8; i++) {
		double x = t->size[0] * ((i & 1) - 0.5), y = t->size[1] * ((i >> 1 & 1) - 0.5),
		       z = t->size[2] * (i >> 2);
		double ray[3] = { -(t->at[1] + sin(t->yaw) * x + cos(t->yaw) * y), HEIGHT - z,
				  t->at[0] + cos(t->yaw) * x - sin(t->yaw) * y };
		double px[2];

		assert_true(lens_project(l, ray, px));
		for (int k = 0; k < 2; k++) {
			ret[k] = fmin(ret[k], px[k]);
			ret[2 + k] = fmax(ret[2 + k], px[k]);
		}
	}
}

TEST(instance_ids_match_the_objects_and_fill_their_boxes)
{
	struct camera_spec c = camera_of(KIND_INSTANCE, NULL);
	static struct boxes found;
	uint32_t *ids;

	if (!opened())
		skip();
	put(FORM_CAR, LABEL_CAR, 4000000001u, 12, 4, 4.5, 1.8, 1.5)->yaw = 2;
	put(FORM_BUS, LABEL_BUS, 17, 25, -6, 12, 2.5, 3.2);
	put(FORM_PERSON, LABEL_PERSON, 3, 8, -1, 0.5, 0.6, 1.8);
	put(FORM_TRUCK, LABEL_TRUCK, 99, 40, -10, 8, 2.4, 3); /* behind the bus */
	put(FORM_BUILDING, LABEL_BUILDING, 5, 60, 0, 10, 8, 10);
	put(FORM_CAR, LABEL_CAR, 6, -10, 0, 4.5, 1.8, 1.5); /* behind the camera */
	ids = draw(KIND_INSTANCE, NULL, 0);
	boxes_find(&found, ids, 4 * W, W, H);
	assert_int_equal(found.n, 3);
	assert_true(found.at[0].id == 3 && found.at[1].id == 17 && found.at[2].id == 4000000001u);
	for (uint32_t i = 0; i < 3; i++) {
		const struct box2 *b = &found.at[i];
		const struct thing *t = &stage.things[i == 0 ? 2 : i == 1 ? 1 : 0];
		double r[4];

		rect_of(t, &c.lens, r);
		assert_true(b->x0 >= r[0] - 1 && b->y0 >= r[1] - 1 && b->x1 <= r[2] + 1 && b->y1 <= r[3] + 1);
		/* a car's roof is narrower than its box, and its wheels end before it does */
		assert_true(b->x1 - b->x0 > 0.8 * (r[2] - r[0]) - 2 && b->y1 - b->y0 > 0.8 * (r[3] - r[1]) - 2);
	}
	free(ids);
	finish();
}

static uint8_t at(const uint8_t *labels, uint32_t x, uint32_t y)
{
	return labels[y * W + x];
}

TEST(semantic_classes_match_the_objects)
{
	static const char STREET[] =
		"<net><edge id=\"a\" from=\"x\" to=\"y\"><lane id=\"a_0\" allow=\"pedestrian\" width=\"2\" shape=\"-50,-5 400,-5\"/>"
		"<lane id=\"a_1\" width=\"8\" shape=\"-50,0 400,0\"/></edge></net>";
	struct net net;
	uint8_t *labels;

	if (!opened())
		skip();
	assert_ok(net_parse("street", STREET, sizeof(STREET) - 1, &net));
	assert_ok(streets_build(&net, &streets));
	has_streets = true;
	net_free(&net);
	put(FORM_BUILDING, LABEL_BUILDING, 1, 30, 20, 10, 10, 10);
	put(FORM_SIGNAL, LABEL_LIGHT, 2, 15, -2, 0.3, 0.3, 0.9)->at[2] = 4;
	put(FORM_BICYCLE, LABEL_BICYCLE, 3, 8, 1, 1.7, 0.7, 1.7);
	labels = draw(KIND_SEMANTIC, NULL, 0);
	/* f is 80 px: what is y to the left and z below at x is y / x * 80 left of and z / x * 80 below the middle */
	assert_int_equal(at(labels, W / 2, 5), LABEL_SKY);
	assert_int_equal(at(labels, W / 2, H - 1), LABEL_ROAD);
	assert_int_equal(at(labels, 80 + 40, 60 + 12), LABEL_SIDEWALK); /* 10 m ahead, 5 m right */
	assert_int_equal(at(labels, 80 + 70, 60 + 12), LABEL_TERRAIN);
	assert_int_equal(at(labels, 80 - 60, 60 - 10), LABEL_BUILDING);
	assert_int_equal(at(labels, 80 + 11, 60 - 15), LABEL_LIGHT);
	assert_int_equal(at(labels, 80 - 10, 60), LABEL_BICYCLE);
	free(labels);
	finish();
}

/* ---- light ---- */

static const uint8_t *pixel(const uint8_t *rgba, uint32_t x, uint32_t y)
{
	return &rgba[4 * (y * W + x)];
}

static int brightness(const uint8_t *p)
{
	return p[0] + p[1] + p[2];
}

/* 9 m ahead; the lamps are 0.18, 0.5 and 0.82 of its height up. */
TEST(the_lit_lamp_of_a_traffic_light_shines)
{
	static const uint8_t LIT[3] = { LIT_GREEN, LIT_YELLOW, LIT_RED };

	if (!opened())
		skip();
	put(FORM_SIGNAL, LABEL_LIGHT, 2, 9, 0, 0.6, 1.5, 4.5)->yaw = M_PI;
	stage.things[0].at[2] = -0.75;
	for (int lit = 0; lit < 3; lit++) {
		uint8_t *rgba;

		stage.things[0].lit = LIT[lit];
		rgba = draw(KIND_COLOUR, NULL, 0);
		for (int lamp = 0; lamp < 3; lamp++) {
			double up = -0.75 + 4.5 * (0.18 + 0.32 * lamp) - HEIGHT;
			const uint8_t *p = pixel(rgba, W / 2, (uint32_t)(59.5 - up / 8.8 * 80));

			if (lamp != lit) {
				assert_true(p[0] < 140 && p[1] < 140);
				continue;
			}
			assert_true(lit == 0 ? p[1] > 230 && p[1] > p[0] + 60 : p[0] > 230 && p[0] > p[1] + 15);
			assert_true(lit != 2 || p[1] < 120);
		}
		free(rgba);
	}
	finish();
}

TEST(the_sun_lights_faces_towards_it_and_casts_shadows_away_from_it)
{
	uint8_t *day, *back, *night;

	if (!opened())
		skip();
	put(FORM_BUILDING, LABEL_BUILDING, 1, 30, 0, 10, 10, 8)->colour = 0x808080;
	memcpy(sun, (const double[]){ -0.6, 0, 0.8 }, sizeof(sun));
	day = draw(KIND_COLOUR, NULL, 0);
	memcpy(sun, (const double[]){ 0.8, 0, 0.6 }, sizeof(sun));
	back = draw(KIND_COLOUR, NULL, 0);
	memcpy(sun, (const double[]){ 0.6, 0, -0.8 }, sizeof(sun));
	night = draw(KIND_COLOUR, NULL, 0);
	memcpy(sun, (const double[]){ -0.6, 0, 0.8 }, sizeof(sun));
	/* the wall's cornice: no window there */
	assert_true(brightness(pixel(day, 80, 60 - 20)) > brightness(pixel(back, 80, 60 - 20)) + 60);
	/* 19 m ahead the shadow of 8 m lies when the sun is behind it, and beside it none */
	assert_true(brightness(pixel(back, 80, 66)) < brightness(pixel(back, 80 + 45, 66)) - 60);
	assert_true(brightness(pixel(day, 80, 66)) > brightness(pixel(back, 80, 66)) + 60);
	assert_true(brightness(pixel(night, 80, 10)) < 150 && brightness(pixel(day, 80, 10)) > 300);
	assert_int_equal(pixel(day, 3, 3)[3], 255);
	free(day);
	free(back);
	free(night);
	finish();
}

/* Cameras of all kinds at once are as each alone; edges are smooth with 4 samples. */
TEST(cameras_of_one_submission_do_not_affect_one_another)
{
	static const unsigned KINDS[4] = { KIND_COLOUR, KIND_DEPTH, KIND_SEMANTIC, KIND_INSTANCE };
	struct lens_params small = lens_from_fov(LENS_PLUMB_BOB, W / 2, H / 2, 1);
	struct camera_spec specs[4];
	void *together[4], *alone;
	unsigned greys = 0;

	if (!opened())
		skip();
	put(FORM_CAR, LABEL_CAR, 1, 9, 1, 4.5, 1.8, 1.5)->yaw = 0.7;
	for (int i = 0; i < 4; i++)
		specs[i] = camera_of(KINDS[i], i == 1 ? &small : NULL);
	draw_all(specs, 4, 0, 4, together);
	for (int i = 0; i < 4; i++) {
		size_t size = (size_t)specs[i].lens.p.width * specs[i].lens.p.height * camera_pixel(KINDS[i]);

		draw_all(&specs[i], 1, 0, 4, &alone);
		assert_memory_equal(alone, together[i], size);
		free(alone);
	}
	alone = draw(KIND_COLOUR, NULL, 0);
	for (uint32_t i = 0; i < W * H; i++)
		greys += abs(brightness((uint8_t *)alone + 4 * i) - brightness((uint8_t *)together[0] + 4 * i)) > 30;
	assert_true(greys > 20);
	free(alone);
	for (int i = 0; i < 4; i++)
		free(together[i]);
	finish();
}

TEST(cameras_that_cannot_be_rendered_are_refused_with_the_reason)
{
	struct lens_params wide = lens_from_fov(LENS_EQUIDISTANT, W, W, M_PI);
	struct camera_spec c = camera_of(KIND_COLOUR, &wide);
	struct render_camera rc = { KIND_COLOUR, c.lens };
	struct render_options o = { .cameras = &rc, .n = 1, .samples = 1, .haze_m = 100 };
	struct render *r = NULL;
	struct gpu none;

	if (!opened())
		skip();
	assert_int_equal(render_create(&gpu, &o, &r), -ERANGE);
	assert_true(strlen(err_why()) > 20);
	o.samples = 3;
	assert_int_equal(render_create(&gpu, &o, &r), -EINVAL);
	assert_int_equal(gpu_open(&none, "no such device"), -ENOENT);
	assert_non_null(strstr(err_why(), "no such device"));
	gpu_close(&none);
	finish();
}
