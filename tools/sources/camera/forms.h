/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of things, in a unit box that stands on the ground: x forward, -0.5 to 0.5, y to the left, z 0 to 1. An
 * instance scales it to the thing's box, so nothing is ever outside that box. Thread: any.
 */
#ifndef CAMERA_FORMS_H
#define CAMERA_FORMS_H

#include "mesh.h"

enum form {
	FORM_BLOCK, /* unknown things */
	FORM_CAR,
	FORM_VAN,
	FORM_TRUCK,
	FORM_BUS,
	FORM_BICYCLE, /* with its rider */
	FORM_MOTORCYCLE,
	FORM_PERSON,
	FORM_SIGNAL,
	FORM_BUILDING,
	FORM_GROUND, /* a square, for the ground */
	FORM_COUNT
};

/*
 * levels of detail: 0: everything; 1: what determines its shape; 2: like 1 with fewer corners; 3: for its shadow. All
 * fill the same box
 */
#define FORM_DETAILS 4
#define FORM_OUTLINE 3

struct forms {
	struct mesh mesh;
	struct {
		uint32_t first, n; /* indices */
	} at[FORM_COUNT][FORM_DETAILS];
};

/* -ENOMEM, with the reason in err_why(). */
int forms_build(struct forms *f);
void forms_free(struct forms *f);

#endif
