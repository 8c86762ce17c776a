/* SPDX-License-Identifier: Apache-2.0 */
/* What picture.c and picture_cloud.c share. */
#ifndef SIMCTL_PICTURE_PRIVATE_H
#define SIMCTL_PICTURE_PRIVATE_H

#include "picture.h"

/* 0: red, over yellow and green, 1: blue. What is no number: black. */
void picture_colour(double part, uint8_t ret[3]);
/* All 0. -ENOMEM. */
int picture_room(uint32_t width, uint32_t height, unsigned channels, unsigned bits, char why[PICTURE_WHY],
		 struct picture *ret);

#endif
