/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the bounding boxes of instances in an image of ids. One pass, without allocation. Thread: one at a time per
 * `struct boxes`.
 */
#ifndef CAMERA_BOXES_H
#define CAMERA_BOXES_H

#include <stddef.h>
#include <stdint.h>

#define BOXES_MAX 1024u /* instances in one image */

struct box2 {
	uint32_t id;             /* not 0 */
	uint32_t pixels;         /* visible ones */
	uint32_t x0, y0, x1, y1; /* px, both inclusive */
};

struct boxes {
	struct box2 at[BOXES_MAX]; /* ascending by id */
	uint32_t n;
	/* runs of pixels without room for their id, in an image with more than BOXES_MAX instances */
	uint32_t left_out;
	uint16_t table[4 * BOXES_MAX]; /* hash table by id: index in `at` plus 1 */
};

/* ids: rows of width uint32_t, pitch bytes apart; 0: background. */
void boxes_find(struct boxes *b, const void *ids, size_t pitch, uint32_t width, uint32_t height);

/* Centre and size as in sim/Detected2DObject: pixel edges count from 0 at the image's left and top edge. */
static inline void boxes_rect(const struct box2 *b, float *ret_x, float *ret_y, float *ret_width, float *ret_height)
{
	*ret_width = (float)(b->x1 - b->x0 + 1);
	*ret_height = (float)(b->y1 - b->y0 + 1);
	*ret_x = (float)b->x0 + *ret_width / 2;
	*ret_y = (float)b->y0 + *ret_height / 2;
}

#endif
