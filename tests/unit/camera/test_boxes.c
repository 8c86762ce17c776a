/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes around instances, against a plain way to find them. */
#include "support/test.h"

#include "boxes.h"

#define WIDTH  97u
#define HEIGHT 61u

static struct boxes b;
static uint32_t image[HEIGHT][WIDTH + 3];

/* The slow way: each id over the whole image. */
static bool plain(uint32_t id, struct box2 *ret)
{
	*ret = (struct box2){ id, 0, UINT32_MAX, UINT32_MAX, 0, 0 };
	for (uint32_t y = 0; y < HEIGHT; y++) {
		for (uint32_t x = 0; x < WIDTH; x++) {
			if (image[y][x] != id)
				continue;
			ret->pixels++;
			ret->x0 = x < ret->x0 ? x : ret->x0;
			ret->x1 = x > ret->x1 ? x : ret->x1;
			ret->y0 = y < ret->y0 ? y : ret->y0;
			ret->y1 = y > ret->y1 ? y : ret->y1;
		}
	}
	return ret->pixels > 0;
}

static unsigned seed;

static uint32_t chance(uint32_t below)
{
	return (uint32_t)rand_r(&seed) % below;
}

TEST(boxes_match_those_of_a_plain_search)
{
	seed = (unsigned)test_seed(5);

	for (unsigned round = 0; round < 50; round++) {
		unsigned found = 0;

		memset(image, 0, sizeof(image));
		for (unsigned i = 0; i < 40; i++) {
			uint32_t id = 1 + chance(25) * 0x01000193u, x0 = chance(WIDTH), y0 = chance(HEIGHT),
				 w = 1 + chance(20), h = 1 + chance(20);

			for (uint32_t y = y0; y < y0 + h && y < HEIGHT; y++)
				for (uint32_t x = x0; x < x0 + w && x < WIDTH; x++)
					image[y][x] = chance(5) ? id : 0;
		}
		boxes_find(&b, image, sizeof(image[0]), WIDTH, HEIGHT);
		for (unsigned i = 0; i < 25; i++) {
			struct box2 p;

			if (!plain(1 + i * 0x01000193u, &p))
				continue;
			for (unsigned k = 0; k < b.n; k++)
				if (b.at[k].id == p.id) {
					assert_memory_equal(&b.at[k], &p, sizeof(p));
					found++;
				}
		}
		assert_int_equal(found, b.n);
		for (unsigned k = 1; k < b.n; k++)
			assert_true(b.at[k - 1].id < b.at[k].id);
	}
}

TEST(an_empty_image_has_no_boxes)
{
	memset(image, 0, sizeof(image));
	boxes_find(&b, image, sizeof(image[0]), WIDTH, HEIGHT);
	assert_int_equal(b.n, 0);
	assert_int_equal(b.left_out, 0);
}

TEST(boxes_without_room_are_counted)
{
	for (uint32_t y = 0, id = 1; y < HEIGHT; y++)
		for (uint32_t x = 0; x < WIDTH; x++)
			image[y][x] = id++;
	boxes_find(&b, image, sizeof(image[0]), WIDTH, HEIGHT);
	assert_int_equal(b.n, BOXES_MAX);
	assert_int_equal(b.left_out, WIDTH * HEIGHT - BOXES_MAX);
}

/* A pixel at the corner is a box of size 1, whose middle is half a pixel from the edges. */
TEST(box_edges_are_relative_to_the_image)
{
	float x, y, w, h;

	memset(image, 0, sizeof(image));
	image[0][0] = 7;
	image[HEIGHT - 1][WIDTH - 1] = 9;
	image[HEIGHT - 1][WIDTH - 2] = 9;
	boxes_find(&b, image, sizeof(image[0]), WIDTH, HEIGHT);
	assert_int_equal(b.n, 2);
	boxes_rect(&b.at[0], &x, &y, &w, &h);
	assert_true(x == 0.5f && y == 0.5f && w == 1 && h == 1);
	boxes_rect(&b.at[1], &x, &y, &w, &h);
	assert_true(x == WIDTH - 1 && y == HEIGHT - 0.5f && w == 2 && h == 1);
}
