/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of messages: images as they are, depths and other numbers in colours from the least (red) to the greatest (blue), clouds from above. Memory is the picture's own.
 * All that a message says is checked. Errors: -EINVAL with a sentence in `why`; -ENOMEM. Thread: the owner's.
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
	unsigned bits;      /* 8; 16: big-endian, as PNG has them */
	uint8_t *data;      /* rows without gaps; owned */
	double least, most; /* of a picture in colours: of the numbers there were */
	bool coloured;      /* numbers are shown as colours: least and most are there */
};

/* Encodings as ROS names them: rgb8 bgr8 rgba8 bgra8 mono8 8UC1 8UC3 8UC4 mono16, bayer_*8; 16UC1 and 32FC1 in colours. */
int picture_of_image(const struct sim_Image *m, size_t size, char why[PICTURE_WHY], struct picture *ret);
/*
 * From above, x to the top, y to the left, `pixels` wide and high, with lines each 10 m (each 100 m where that would be too many); coloured by z. metres: from the
 * middle to an edge; 0: as far as all but one in fifty points are.
 */
int picture_of_cloud(const struct sim_PointCloud *m, size_t size, uint32_t pixels, double metres, char why[PICTURE_WHY],
		     struct picture *ret, double *ret_metres);
/* 0; -EIO. */
int picture_write_png(const struct picture *p, FILE *to);
void picture_finish(struct picture *p);

/* ---- a cloud's points ---- */

/* PCD 0.7, binary: all fields, bytes between them as "_". */
int cloud_write_pcd(const struct sim_PointCloud *m, size_t size, char why[PICTURE_WHY], FILE *to);

#endif
