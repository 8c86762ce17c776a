/* SPDX-License-Identifier: Apache-2.0 */
/* Vulkan's functions, found at run time, and whether a device can serve. Thread: any; loads libraries. */
#ifndef READBACK_VULKAN_LOAD_H
#define READBACK_VULKAN_LOAD_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <sim/readback.h>

/* clang-format off */
#define VULKAN_INSTANCE_CALLS(X) X(GetDeviceProcAddr) X(GetPhysicalDeviceProperties2) X(GetPhysicalDeviceMemoryProperties)
#define VULKAN_DEVICE_CALLS(X) \
	X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers) X(FreeCommandBuffers) X(BeginCommandBuffer) X(EndCommandBuffer) \
	X(CmdPipelineBarrier) X(CmdCopyImageToBuffer) X(CmdCopyBuffer) X(QueueSubmit) \
	X(CreateSemaphore) X(DestroySemaphore) X(GetSemaphoreCounterValue) X(WaitSemaphores) \
	X(CreateBuffer) X(DestroyBuffer) X(GetBufferMemoryRequirements) X(AllocateMemory) X(FreeMemory) X(BindBufferMemory) \
	X(MapMemory)
/* clang-format on */

struct vulkan_calls {
#define X(name) PFN_vk##name name;
	VULKAN_INSTANCE_CALLS(X)
	VULKAN_DEVICE_CALLS(X)
#undef X
	PFN_vkGetMemoryHostPointerPropertiesEXT GetMemoryHostPointerPropertiesEXT; /* NULL: not enabled */
};

/* 0; -ENOENT libvulkan.so.1 is missing; -EOPNOTSUPP the device lacks one of these; with a sentence. */
int vulkan_load(const struct sim_readback_vulkan *v, struct vulkan_calls *ret);
int vulkan_loader(PFN_vkGetInstanceProcAddr *ret);
/* Chooses the first of n devices that can serve. -EOPNOTSUPP: none can. */
int vulkan_choose(PFN_vkGetInstanceProcAddr get, VkInstance i, const VkPhysicalDevice *all, uint32_t n,
		  VkPhysicalDevice *ret);
const char *vulkan_result(VkResult r); /* name of the result */

#endif
