/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by vulkan.c and vulkan_memory.c. Thread: the owner's. */
#ifndef READBACK_VULKAN_PRIVATE_H
#define READBACK_VULKAN_PRIVATE_H

#include "device.h"
#include "segment.h"
#include "vulkan_load.h"

/* Memory of the program that the device writes, as one buffer. */
struct vulkan_import {
	unsigned refs;
	uintptr_t base;
	size_t size;
	VkBuffer buffer;
	VkDeviceMemory memory;
};

/* Device memory that the worker reads. */
struct vulkan_staging {
	VkBuffer buffer;
	VkDeviceMemory memory;
	void *mapped;
	size_t size; /* 0: none */
};

struct vulkan_place { /* device_request::own */
	VkCommandBuffer commands;
	struct vulkan_staging staging;
	struct vulkan_import *import; /* a reference while the device writes there; NULL: staging */
	uint64_t value;               /* value of the timeline when it is done */
};

struct vulkan {
	struct device d;
	struct vulkan_calls vk;
	VkDevice device;
	VkQueue queue;
	VkCommandPool pool;
	VkSemaphore timeline;
	uint64_t value; /* value of the newest submission */
	VkPhysicalDeviceMemoryProperties memory;
	VkDeviceSize import_align, allocation_max;
	struct segment region; /* options.memory, rounded inwards */
	/* the newest import, with a reference of its own; NULL: none */
	struct vulkan_import *import;
	/* importing was tried for this generation, or for the region: import and why_not have the result */
	bool tried;
	uint32_t generation; /* of the data plane that import belongs to */
	char why_not[400];   /* set if import is NULL */
};

/*
 * Chooses where the device writes this request: place->import and *ret_offset, or place->staging, and sets d.how.
 * Returns 0; -ENOMEM, -EIO with a sentence.
 */
int vulkan_target(struct vulkan *v, struct device_request *q, VkBuffer *ret, VkDeviceSize *ret_offset);
void vulkan_import_unref(struct vulkan *v, struct vulkan_import *i);
void vulkan_staging_finish(struct vulkan *v, struct vulkan_staging *s);

#endif
