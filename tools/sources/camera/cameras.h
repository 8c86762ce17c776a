/* SPDX-License-Identifier: Apache-2.0 */
/* The cameras of one process: what each is, and where it is mounted; of a file or of the command line. Thread: any. */
#ifndef CAMERA_CAMERAS_H
#define CAMERA_CAMERAS_H

#include <stdbool.h>
#include <stddef.h>

#include "lens.h"
#include "materials.h"

#define CAMERAS_MAX  16
#define CAMERAS_NAME 128 /* bytes of a channel's name with the 0 */

struct camera_spec {
	char channel[CAMERAS_NAME];    /* images */
	char info[CAMERAS_NAME];       /* sim/CameraInfo */
	char compressed[CAMERAS_NAME]; /* "": none */
	char boxes[CAMERAS_NAME];      /* of KIND_INSTANCE: sim/Detected2DObjects; "": none */
	char frame_id[40];             /* its optical frame: z forward, x right, y down */
	unsigned kind;                 /* KIND_* */
	struct lens lens;
	double at[3];            /* m, in base_link */
	double roll, pitch, yaw; /* rad: how it is turned, from looking forward */
	double rate_hz;          /* simulated time */
	int quality;             /* of compressed images: 1 to 100 */
};

struct cameras {
	struct camera_spec at[CAMERAS_MAX];
	size_t n;
};

/* What is left out is like here: 640 x 480, a field of view of 90 degrees, behind the windscreen. */
struct camera_spec camera_default(void);
/* "colour", "depth", "semantic", "instance". */
bool camera_kind_from(const char *name, unsigned *ret);
const char *camera_encoding(unsigned kind); /* as sim/Image names it */
size_t camera_pixel(unsigned kind);         /* bytes */

/*
 * {"cameras": [{"channel": ..., ...}, ...]}, as sim-camera(1) says. 0; -ENOENT, -EINVAL, -E2BIG, with a sentence that names the file, the camera
 * and the key.
 */
int cameras_load(const char *path, struct cameras *ret);
/* What one camera has to be; the names that it leaves out follow from the channel. -EINVAL, with a sentence: `where` begins it. */
int camera_complete(struct camera_spec *c, const struct lens_params *p, const char *where);

#endif
