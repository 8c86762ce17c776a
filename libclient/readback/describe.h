/* SPDX-License-Identifier: Apache-2.0 */
/* sim_readback_describe() of each back end: creates a device and queries it. Thread: any; loads drivers. */
#ifndef READBACK_DESCRIBE_H
#define READBACK_DESCRIBE_H

#include <stddef.h>

/* Returns 0 and the device's name and way of reading; else as sim_readback_probe(), with a sentence. */
int vulkan_describe(char *ret, size_t cap);
int gles_describe(char *ret, size_t cap);
int cuda_describe(char *ret, size_t cap);

#endif
