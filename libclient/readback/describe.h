/* SPDX-License-Identifier: Apache-2.0 */
/* sim_readback_describe() of each back end: a device is made, and asked. Thread: any; loads drivers. */
#ifndef READBACK_DESCRIBE_H
#define READBACK_DESCRIBE_H

#include <stddef.h>

/* 0, with what is there and how it reads; as sim_readback_probe() else, with a sentence. */
int vulkan_describe(char *ret, size_t cap);
int gles_describe(char *ret, size_t cap);
int cuda_describe(char *ret, size_t cap);

#endif
