/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of a scene, by a device of Vulkan: all cameras that are due are drawn by one submission, each into an image of its own, from which it is read
 * back. Nothing waits for the device but destroying, and render_wait(). Thread: one.
 */
#ifndef CAMERA_RENDER_H
#define CAMERA_RENDER_H

#include "gpu.h"
#include "lens.h"
#include "stage.h"
#include "streets.h"
#include "sun.h"

#define RENDER_CAMERAS_MAX 16u
#define RENDER_IN_FLIGHT   3u /* submissions; one more is refused */

struct render_camera {
	unsigned kind; /* KIND_* */
	struct lens lens;
};

struct render_options {
	const struct render_camera *cameras;
	size_t n;
	const struct streets *streets; /* NULL: only the ground */
	unsigned samples; /* of a pixel of colour: 1 or 4; 0: 4 with a GPU, 1 with a driver that computes with the CPU */
	double haze_m;    /* how far one sees: 1/e of the light is left */
};

/* What is the same for all cameras of a moment. */
struct render_moment {
	const struct stage *stage;
	double sun[3]; /* direction, in the map */
	double ground; /* z of the plane below all, in the map */
	/* of each camera: in the map, axes as its optical frame has them (x right, y down, z forward) */
	const struct pose *views;
	uint32_t due; /* a bit for each camera */
};

struct render;

/* g: keeps. 0; -EINVAL, -ERANGE a lens that bends too much, -ENOMEM, -EIO, with a sentence. */
int render_create(struct gpu *g, const struct render_options *o, struct render **ret);
/* Waits for the device. NULL is fine. */
void render_destroy(struct render *r);

/* 0: it is on its way. -EAGAIN: RENDER_IN_FLIGHT are; -ENODEV, -EIO, with a sentence. */
int render_draw(struct render *r, const struct render_moment *m);
int render_wait(struct render *r); /* for all */

/* What a camera's picture is read from, once it is drawn: in VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, 4 bytes a pixel, KIND_SEMANTIC: 1. */
VkImage render_image(const struct render *r, size_t camera);
/* Instances that found no room, since it was created. */
uint64_t render_left_out(const struct render *r);

#endif
