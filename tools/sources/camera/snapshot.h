/* SPDX-License-Identifier: Apache-2.0 */
/* One picture of one camera into a file (--png). Waits for the device. Thread: the one that draws. */
#ifndef CAMERA_SNAPSHOT_H
#define CAMERA_SNAPSHOT_H

#include "cameras.h"
#include "render.h"

/*
 * What a camera's image holds, after render_draw(): *ret is of malloc(), rows without a gap. 0, -ENOMEM, or what the read-back answers, with a
 * sentence.
 */
int snapshot_read(const struct gpu *g, const struct render *r, size_t camera, const struct camera_spec *spec,
		  void **ret);
/* Colours that people can look at: depth as grey (near: bright), labels as Cityscapes has them, an instance's own. ret: width * height * 4. */
void snapshot_colours(const struct camera_spec *spec, const void *image, uint8_t *ret);
/* Both, and the file. */
int snapshot_write(const struct gpu *g, const struct render *r, size_t camera, const struct camera_spec *spec,
		   const char *path);

#endif
