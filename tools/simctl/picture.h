/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes pictures of messages: images in their own colours, depths and other numbers in colours from the least (red) to
 * the greatest (blue), clouds seen from above. A picture owns its memory. Sizes that a message gives are checked
 * against its data. Errors: -EINVAL with the reason in why; -ENOMEM. Thread: the owner's.
 */
#ifndef SIMCTL_PICTURE_H
#define SIMCTL_PICTURE_H

#include <stdbool.h>
#include <stdio.h>

#include <sim/msg/Image.h>
#include <sim/msg/PointCloud.h>

#define PICTURE_WHY 200

struct picture {
	uint32_t width, height;
	unsigned channels;  /* 1 grey, 3 RGB, 4 RGBA */
	unsigned bits;      /* 8 or 16; 16 is big-endian, as in PNG */
	uint8_t *data;      /* rows without padding; owned */
	double least, most; /* if coloured: range of the numbers shown */
	bool coloured;      /* numbers are shown as colours */
};

/*
 * Encodings, by their ROS names: rgb8 bgr8 rgba8 bgra8 mono8 8UC1 8UC3 8UC4 mono16 bayer_*8; in colours: 16UC1 and
 * 32FC1.
 */
int picture_of_image(const struct sim_Image *m, size_t size, char why[PICTURE_WHY], struct picture *ret);
/*
 * From above: x to the top, y to the left, `pixels` wide and high, with grid lines every 10 m (every 100 m if that were
 * too many); coloured by z. metres: from the centre to an edge; 0: far enough for 49 of 50 points.
 */
int picture_of_cloud(const struct sim_PointCloud *m, size_t size, uint32_t pixels, double metres, char why[PICTURE_WHY],
		     struct picture *ret, double *ret_metres);
/* 0; -EIO. */
int picture_write_png(const struct picture *p, FILE *to);
void picture_finish(struct picture *p);

/* ---- a cloud's points ---- */

/* Writes PCD 0.7, binary: all fields; the bytes between fields as "_". */
int cloud_write_pcd(const struct sim_PointCloud *m, size_t size, char why[PICTURE_WHY], FILE *to);

#endif
