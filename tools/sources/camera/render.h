/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws pictures of a scene with a Vulkan device: all due cameras in one submission, each into its own image, from
 * which it is read back. Only render_wait() and render_destroy() wait for the device. Thread: one.
 */
#ifndef CAMERA_RENDER_H
#define CAMERA_RENDER_H

#include "gpu.h"
#include "lens.h"
#include "stage.h"
#include "streets.h"
#include "sun.h"

#define RENDER_CAMERAS_MAX 16u
#define RENDER_IN_FLIGHT   3u /* limit of pending submissions */

struct render_camera {
	unsigned kind; /* KIND_* */
	struct lens lens;
};

struct render_options {
	const struct render_camera *cameras;
	size_t n;
	const struct streets *streets; /* NULL: only the ground */
	unsigned samples; /* per pixel of colour: 1 or 4; 0: 4 with a GPU, 1 with a driver that computes on the CPU */
	double haze_m;    /* visibility: distance at which 1/e of the light is left */
};

/* One moment's scene, shared by all cameras. */
struct render_moment {
	const struct stage *stage;
	double sun[3]; /* direction to the sun, in the map */
	double ground; /* z of the ground plane, in the map */
	/* of each camera: in the map, with the axes of its optical frame (x right, y down, z forward) */
	const struct pose *views;
	uint32_t due; /* one bit per camera */
};

struct render;

/* Borrows g. 0; -EINVAL, -ERANGE: a lens that bends too much, -ENOMEM, -EIO, with the reason in err_why(). */
int render_create(struct gpu *g, const struct render_options *o, struct render **ret);
/* Waits for the device. NULL-safe. */
void render_destroy(struct render *r);

/* 0: submitted. -EAGAIN: RENDER_IN_FLIGHT submissions are pending; -ENODEV, -EIO, with the reason in err_why(). */
int render_draw(struct render *r, const struct render_moment *m);
int render_wait(struct render *r); /* for all submissions */

/*
 * The image to read a camera's picture from after drawing: in VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, 4 bytes per pixel,
 * for KIND_SEMANTIC 1.
 */
VkImage render_image(const struct render *r, size_t camera);
/* Instances dropped for lack of room since render_create(). */
uint64_t render_left_out(const struct render *r);

#endif
