/* SPDX-License-Identifier: Apache-2.0 */
/* sim/CameraInfo of a lens: K, D, R and P as in sensor_msgs/CameraInfo. Thread: any. */
#ifndef CAMERA_INFO_H
#define CAMERA_INFO_H

#include <stddef.h>

#include "lens.h"

/* Size of the longest body, bytes. */
size_t info_body_size(void);
/* Fills a body of cap bytes. Returns the message's size; 0: does not fit. */
size_t info_fill(const struct lens *l, void *body, size_t cap);

#endif
