/* SPDX-License-Identifier: Apache-2.0 */
/* The cameras of one process: their parameters and mounting positions, from a file or the command line. Thread: any. */
#ifndef CAMERA_CAMERAS_H
#define CAMERA_CAMERAS_H

#include <stdbool.h>
#include <stddef.h>

#include "lens.h"
#include "materials.h"

#define CAMERAS_MAX  16
#define CAMERAS_NAME 128 /* size of a channel's name with its NUL */

struct camera_spec {
	char channel[CAMERAS_NAME];    /* images */
	char info[CAMERAS_NAME];       /* sim/CameraInfo */
	char compressed[CAMERAS_NAME]; /* "": not published */
	char boxes[CAMERAS_NAME];      /* for KIND_INSTANCE: sim/Detected2DObjects; "": not published */
	char frame_id[40];             /* optical frame: z forward, x right, y down */
	unsigned kind;                 /* KIND_* */
	struct lens lens;
	double at[3];            /* position in base_link, m */
	double roll, pitch, yaw; /* rotation from looking forward, rad */
	double rate_hz;          /* simulated time */
	int quality;             /* JPEG quality of compressed images: 1 to 100 */
};

struct cameras {
	struct camera_spec at[CAMERAS_MAX];
	size_t n;
};

/* Defaults: 640 x 480, a field of view of 90 degrees, behind the windscreen. */
struct camera_spec camera_default(void);
/* name: "colour", "depth", "semantic", "instance". False: unknown. */
bool camera_kind_from(const char *name, unsigned *ret);
const char *camera_encoding(unsigned kind); /* encoding in sim/Image */
size_t camera_pixel(unsigned kind);         /* bytes per pixel */

/*
 * Loads {"cameras": [{"channel": ..., ...}, ...]}, see sim-camera(1). 0; -ENOENT, -EINVAL, -E2BIG, with file, camera,
 * key and reason in err_why().
 */
int cameras_load(const char *path, struct cameras *ret);
/*
 * Checks a camera, and derives the names that are missing from its channel. -EINVAL, with the reason in err_why(),
 * after `where`.
 */
int camera_complete(struct camera_spec *c, const struct lens_params *p, const char *where);

#endif
