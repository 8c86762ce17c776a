/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by picture.c and picture_cloud.c. */
#ifndef SIMCTL_PICTURE_PRIVATE_H
#define SIMCTL_PICTURE_PRIVATE_H

#include "picture.h"

/* Colour for part: 0 red, over yellow and green, to 1 blue; NaN black. */
void picture_colour(double part, uint8_t ret[3]);
/* Allocates a picture of zeros. -ENOMEM. */
int picture_room(uint32_t width, uint32_t height, unsigned channels, unsigned bits, char why[PICTURE_WHY],
		 struct picture *ret);

#endif
