/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h: pixels of images and clouds, PNG as libpng reads it, PCD. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <png.h>

#include <sim/introspect.h>
#include <sim/point_cloud.h>

#include "picture.h"

static _Alignas(64) uint8_t body[65536];
static char why[PICTURE_WHY];

static const struct sim_Image *image_of(const char *json, size_t *ret_size)
{
	assert_int_equal(sim_msg_from_json(&sim_Image_type, json, strlen(json), body, sizeof(body), ret_size), 0);
	return (const struct sim_Image *)body;
}

static void is_picture(const char *json, unsigned channels, unsigned bits, const uint8_t *pixels, size_t n)
{
	struct picture p;
	size_t size;
	const struct sim_Image *m = image_of(json, &size);

	if (picture_of_image(m, size, why, &p) < 0)
		fail_msg("%s", why);
	assert_int_equal(p.channels, channels);
	assert_int_equal(p.bits, bits);
	assert_int_equal((size_t)p.width * p.height * channels * bits / 8, n);
	assert_memory_equal(p.data, pixels, n);
	picture_finish(&p);
}
#define IS_PICTURE(json, channels, bits, ...) \
	is_picture(json, channels, bits, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

#define IMAGE(encoding, width, height, step, data) \
	"{\"encoding\":\"" encoding "\",\"width\":" #width ",\"height\":" #height ",\"step\":" #step \
	",\"data\":[" data "]}"

TEST(colours_are_in_the_right_order)
{
	IS_PICTURE(IMAGE("rgb8", 2, 1, 6, "1,2,3,4,5,6"), 3, 8, 1, 2, 3, 4, 5, 6);
	IS_PICTURE(IMAGE("bgr8", 2, 1, 6, "1,2,3,4,5,6"), 3, 8, 3, 2, 1, 6, 5, 4);
	IS_PICTURE(IMAGE("rgba8", 1, 1, 4, "1,2,3,4"), 4, 8, 1, 2, 3, 4);
	IS_PICTURE(IMAGE("bgra8", 1, 1, 4, "1,2,3,4"), 4, 8, 3, 2, 1, 4);
	IS_PICTURE(IMAGE("mono8", 2, 1, 2, "7,9"), 1, 8, 7, 9);
	IS_PICTURE(IMAGE("mono16", 1, 1, 2, "1,2"), 1, 16, 2, 1);
}

TEST(rows_may_be_longer_than_their_pixels)
{
	IS_PICTURE(IMAGE("mono8", 2, 2, 4, "1,2,9,9,3,4,9,9"), 1, 8, 1, 2, 3, 4);
	IS_PICTURE(IMAGE("bgr8", 1, 2, 5, "1,2,3,9,9,4,5,6,9,9"), 3, 8, 3, 2, 1, 6, 5, 4);
}

/* Red 200, green 100 and 50, blue 25. */
TEST(a_bayer_pattern_becomes_colours)
{
	IS_PICTURE(IMAGE("bayer_rggb8", 2, 2, 2, "200,100,50,25"), 3, 8, 200, 75, 25, 200, 75, 25, 200, 75, 25, 200, 75,
		   25);
	IS_PICTURE(IMAGE("bayer_bggr8", 2, 2, 2, "25,100,50,200"), 3, 8, 200, 75, 25, 200, 75, 25, 200, 75, 25, 200, 75,
		   25);
	IS_PICTURE(IMAGE("bayer_grbg8", 2, 2, 2, "100,200,25,50"), 3, 8, 200, 75, 25, 200, 75, 25, 200, 75, 25, 200, 75,
		   25);
	IS_PICTURE(IMAGE("bayer_gbrg8", 2, 2, 2, "100,25,200,50"), 3, 8, 200, 75, 25, 200, 75, 25, 200, 75, 25, 200, 75,
		   25);
}

/* 1 m, 0: nothing measured, 3 m. */
TEST(depths_are_colours_from_near_to_far)
{
	struct picture p;
	size_t size;
	const struct sim_Image *m = image_of(IMAGE("16UC1", 3, 1, 6, "232,3,0,0,184,11"), &size);

	assert_int_equal(picture_of_image(m, size, why, &p), 0);
	assert_true(p.coloured && p.least == 1 && p.most == 3);
	assert_true(p.data[0] > 100 && p.data[2] == 0);                  /* red */
	assert_true(p.data[3] == 0 && p.data[4] == 0 && p.data[5] == 0); /* black */
	assert_true(p.data[6] < 50 && p.data[7] == 0 && p.data[8] > 80); /* blue */
	picture_finish(&p);
	m = image_of(IMAGE("32FC1", 2, 1, 8, "0,0,128,63,0,0,128,127"), &size); /* 1.0, infinity */
	assert_int_equal(picture_of_image(m, size, why, &p), 0);
	assert_true(p.coloured && p.least == 1 && p.most == 1);
	assert_true(p.data[0] > 100 && p.data[3] == 0);
	picture_finish(&p);
}

static void is_wrong(const char *json, const char *part)
{
	struct picture p;
	size_t size;
	const struct sim_Image *m = image_of(json, &size);

	assert_int_equal(picture_of_image(m, size, why, &p), -EINVAL);
	if (!strstr(why, part))
		fail_msg("\"%s\", not \"%s\"", why, part);
	picture_finish(&p);
}

TEST(an_inconsistent_image_is_refused)
{
	is_wrong(IMAGE("rgb8", 2, 1, 6, "1,2,3,4,5"), "it has 5");
	is_wrong(IMAGE("rgb8", 2, 1, 5, "1,2,3,4,5,6"), "of 5 a row");
	is_wrong(IMAGE("rgb8", 0, 1, 6, "1,2,3,4,5,6"), "it is 0 x 1");
	is_wrong(IMAGE("rgb8", 4000000000, 4000000000, 4000000000, "1"), "4000000000");
	is_wrong(IMAGE("yuv422", 2, 1, 6, "1,2,3,4,5,6"), "its encoding \"yuv422\" is not known");
	is_wrong("{}", "its encoding \"\" is not known");
}

/* As another PNG reader reads them. */
TEST(a_png_has_the_pixels_of_the_picture)
{
	static uint8_t back[64];
	png_image image = { .version = PNG_IMAGE_VERSION };
	char *file = NULL;
	size_t len = 0, size;
	FILE *f = open_memstream(&file, &len);
	const struct sim_Image *m = image_of(IMAGE("bgr8", 2, 2, 6, "1,2,3,4,5,6,7,8,9,10,11,12"), &size);
	struct picture p;

	assert_int_equal(picture_of_image(m, size, why, &p), 0);
	assert_int_equal(picture_write_png(&p, f), 0);
	fclose(f);
	assert_true(png_image_begin_read_from_memory(&image, file, len));
	image.format = PNG_FORMAT_RGB;
	assert_true(image.width == 2 && image.height == 2);
	assert_true(png_image_finish_read(&image, NULL, back, 0, NULL));
	assert_memory_equal(back, p.data, 12);
	picture_finish(&p);
	free(file);
}

TEST(a_png_on_a_full_disk_fails)
{
	FILE *f = fopen("/dev/full", "w");
	size_t size;
	const struct sim_Image *m = image_of(IMAGE("mono8", 1, 1, 1, "1"), &size);
	struct picture p;

	assert_int_equal(picture_of_image(m, size, why, &p), 0);
	setbuf(f, NULL);
	assert_int_equal(picture_write_png(&p, f), -EIO);
	fclose(f);
	picture_finish(&p);
}

/* ---- clouds ---- */

static size_t cloud_of(const double (*at)[3], uint32_t n)
{
	struct sim_builder b;
	struct sim_Point *p = sim_point_cloud_begin(body, sizeof(body), n, &b);

	assert_non_null(p);
	for (uint32_t i = 0; i < n; i++)
		p[i] = (struct sim_Point){ .x = (float)at[i][0], .y = (float)at[i][1], .z = (float)at[i][2], .ring = 3 };
	return sim_builder_size(&b);
}

static const uint8_t *pixel(const struct picture *p, unsigned x, unsigned y)
{
	return p->data + 3 * (y * p->width + x);
}

static bool is_bright(const uint8_t *rgb)
{
	return rgb[0] > 100 || rgb[1] > 100 || rgb[2] > 100;
}

/* 100 pixels for 40 m: ahead is up, left is left. */
TEST(points_are_seen_from_above)
{
	const double at[][3] = { { 16.2, 0.2, 0 }, { 0.2, 8.2, 2 }, { -4.2, -12.2, 1 } };
	const size_t size = cloud_of(at, 3);
	struct picture p;
	double metres;

	if (picture_of_cloud((const struct sim_PointCloud *)body, size, 100, 20, why, &p, &metres) < 0)
		fail_msg("%s", why);
	assert_true(metres == 20 && p.width == 100 && p.height == 100);
	assert_true(is_bright(pixel(&p, 49, 9)) && is_bright(pixel(&p, 29, 49)) && is_bright(pixel(&p, 80, 60)));
	assert_false(is_bright(pixel(&p, 80, 9)) || is_bright(pixel(&p, 29, 60)));
	assert_true(pixel(&p, 29, 49)[0] > 200 && pixel(&p, 49, 9)[2] > 200); /* high is red, low is blue */
	picture_finish(&p);
}

TEST(an_empty_cloud_or_one_with_invalid_points_gives_a_picture)
{
	const double at[][3] = { { 1e30, 0, 0 }, { 1, 1, 1 }, { 0, 0, 0 } };
	size_t size = cloud_of(at, 3);
	struct picture p;
	double metres;

	((struct sim_Point *)(uintptr_t)sim_PointCloud_data((const struct sim_PointCloud *)body, size,
							    &(uint32_t){ 0 }))
		->y = 0.0F / 0.0F;
	assert_int_equal(picture_of_cloud((const struct sim_PointCloud *)body, size, 64, 0, why, &p, &metres), 0);
	picture_finish(&p);
	size = cloud_of(at, 0);
	assert_int_equal(picture_of_cloud((const struct sim_PointCloud *)body, size, 64, 0, why, &p, &metres), 0);
	picture_finish(&p);
}

TEST(a_pcd_has_all_fields_and_bytes)
{
	const double at[][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
	const size_t size = cloud_of(at, 2);
	const struct sim_PointCloud *m = (const struct sim_PointCloud *)body;
	char *file = NULL, *data;
	uint32_t n;
	size_t len = 0;
	FILE *f = open_memstream(&file, &len);

	assert_int_equal(cloud_write_pcd(m, size, why, f), 0);
	fclose(f);
	data = strstr(file, "DATA binary\n");
	assert_non_null(data);
	data += strlen("DATA binary\n");
	assert_non_null(strstr(file, "FIELDS x y z intensity ring return_type _ time_offset azimuth distance\n"));
	assert_non_null(strstr(file, "SIZE 4 4 4 4 2 1 1 4 4 4\n"));
	assert_non_null(strstr(file, "TYPE F F F F U U U U F F\n"));
	assert_non_null(strstr(file, "COUNT 1 1 1 1 1 1 1 1 1 1\n"));
	assert_non_null(strstr(file, "WIDTH 2\nHEIGHT 1\n"));
	assert_non_null(strstr(file, "POINTS 2\n"));
	assert_int_equal(file + len - data, 64);
	assert_memory_equal(data, sim_PointCloud_data(m, size, &n), 64);
	free(file);
}

static void is_no_cloud(const char *json, const char *part)
{
	struct picture p;
	double metres;
	size_t size;

	assert_int_equal(sim_msg_from_json(&sim_PointCloud_type, json, strlen(json), body, sizeof(body), &size), 0);
	assert_int_equal(picture_of_cloud((const struct sim_PointCloud *)body, size, 64, 0, why, &p, &metres), -EINVAL);
	if (!strstr(why, part))
		fail_msg("\"%s\", not \"%s\"", why, part);
}

#define CLOUD(fields, step, row, data) \
	"{\"width\":1,\"height\":1,\"point_step\":" #step ",\"row_step\":" #row ",\"fields\":[" fields \
	"],\"data\":[" data "]}"
#define FIELD(name, offset, type) "{\"name\":\"" name "\",\"offset\":" #offset ",\"count\":1,\"datatype\":" #type "}"

TEST(an_inconsistent_cloud_is_refused)
{
	is_no_cloud(CLOUD(FIELD("x", 0, 7), 4, 4, "1,2,3"), "do not match its 3 bytes");
	is_no_cloud(CLOUD(FIELD("x", 0, 7), 4, 3, "1,2,3,4"), "do not match its");
	is_no_cloud("{}", "do not match its");
	is_no_cloud(CLOUD(FIELD("x", 2, 7), 4, 4, "1,2,3,4"), "its fields overlap");
	is_no_cloud(CLOUD(FIELD("x", 0, 7) "," FIELD("y", 2, 3), 4, 4, "1,2,3,4"), "its fields overlap");
	is_no_cloud(CLOUD(FIELD("x", 0, 9), 4, 4, "1,2,3,4"), "its fields overlap");
	is_no_cloud(CLOUD(FIELD("a b", 0, 7), 4, 4, "1,2,3,4"), "have no plain name");
	is_no_cloud(CLOUD(FIELD("x", 4294967295, 7), 4, 4, "1,2,3,4"), "its fields overlap");
	is_no_cloud(CLOUD(FIELD("x", 0, 7), 4, 4, "1,2,3,4"), "no fields x, y and z");
}
