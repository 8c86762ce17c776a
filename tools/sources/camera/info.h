/* SPDX-License-Identifier: Apache-2.0 */
/* sim/CameraInfo of a lens: K, D, R and P as sensor_msgs/CameraInfo says. Thread: any. */
#ifndef CAMERA_INFO_H
#define CAMERA_INFO_H

#include <stddef.h>

#include "lens.h"

/* Bytes of the longest body. */
size_t info_body_size(void);
/* Fill a body of cap bytes. Returns the size of the message; 0: it does not fit. */
size_t info_fill(const struct lens *l, void *body, size_t cap);

#endif
