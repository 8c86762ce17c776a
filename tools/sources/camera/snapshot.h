/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one picture of one camera to a file (--png). Waits for the device. Thread: the one that draws. */
#ifndef CAMERA_SNAPSHOT_H
#define CAMERA_SNAPSHOT_H

#include "cameras.h"
#include "render.h"

/*
 * Reads a camera's image after render_draw(); *ret is from malloc(), rows without gaps. 0, -ENOMEM, or the read-back's
 * error, with the reason in err_why().
 */
int snapshot_read(const struct gpu *g, const struct render *r, size_t camera, const struct camera_spec *spec,
		  void **ret);
/*
 * Converts to viewable colours: depth to grey (near: bright), labels to Cityscapes's colours, instances to a colour
 * each. ret: width * height * 4 bytes.
 */
void snapshot_colours(const struct camera_spec *spec, const void *image, uint8_t *ret);
/* Reads, converts and writes the file. */
int snapshot_write(const struct gpu *g, const struct render *r, size_t camera, const struct camera_spec *spec,
		   const char *path);

#endif
