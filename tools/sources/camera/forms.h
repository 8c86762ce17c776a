/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What things look like, in a box of length, width and height 1 that stands on the ground: x forward, -0.5 to 0.5, y to the left, z 0 to 1. An instance
 * stretches it to the box that the world says, so nothing is ever outside of that box. Thread: any.
 */
#ifndef CAMERA_FORMS_H
#define CAMERA_FORMS_H

#include "mesh.h"

enum form {
	FORM_BLOCK, /* what is not known */
	FORM_CAR,
	FORM_VAN,
	FORM_TRUCK,
	FORM_BUS,
	FORM_BICYCLE, /* with who rides it */
	FORM_MOTORCYCLE,
	FORM_PERSON,
	FORM_SIGNAL,
	FORM_BUILDING,
	FORM_GROUND, /* a square, to be large */
	FORM_COUNT
};

/* 0: all of it, 1: what gives it its shape, 2: as 1 with fewer corners, 3: what its shadow needs; all fill the same box */
#define FORM_DETAILS 4
#define FORM_OUTLINE 3

struct forms {
	struct mesh mesh;
	struct {
		uint32_t first, n; /* indices */
	} at[FORM_COUNT][FORM_DETAILS];
};

/* -ENOMEM, with a sentence. */
int forms_build(struct forms *f);
void forms_free(struct forms *f);

#endif
