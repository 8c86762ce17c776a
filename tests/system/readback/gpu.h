/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan device with an image that is cleared and a buffer that is filled. Fails the running test. Thread: the test's. */
#ifndef SYSTEM_READBACK_GPU_H
#define SYSTEM_READBACK_GPU_H

#include "test.h"

#include <vulkan/vulkan.h>

#include <sim/readback.h>

#define GPU_W 64u
#define GPU_H 48u

struct gpu {
	VkInstance instance;
	VkPhysicalDevice physical;
	VkDevice device;
	VkQueue queue;
	VkCommandPool pool;
	VkImage image;   /* RGBA8, GPU_W x GPU_H, in VK_IMAGE_LAYOUT_GENERAL once it is cleared */
	VkBuffer buffer; /* of GPU_BUFFER bytes, mapped */
	VkDeviceMemory image_memory, buffer_memory;
	uint8_t *mapped;
};

#define GPU_BUFFER 65536u

/* false: there is no such driver; skip() then. */
bool gpu_init(struct gpu *g);
void gpu_finish(struct gpu *g);
/* Submits that the image becomes this colour everywhere; does not wait. */
void gpu_clear(struct gpu *g, const uint8_t rgba[4]);
struct sim_readback_vulkan gpu_handles(const struct gpu *g);

#endif
