/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Vulkan 1.3 device for drawing without a screen, found and loaded at run time; buffers that the program writes, and
 * images that it draws into. Thread: one.
 */
#ifndef CAMERA_GPU_H
#define CAMERA_GPU_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define GPU_INSTANCE_CALLS(X) \
	X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties) X(GetPhysicalDeviceFeatures2) \
	X(GetPhysicalDeviceMemoryProperties) X(GetPhysicalDeviceQueueFamilyProperties) X(EnumerateDeviceExtensionProperties) \
	X(CreateDevice) X(GetDeviceProcAddr)
#define GPU_DEVICE_CALLS(X) \
	X(DestroyDevice) X(GetDeviceQueue) X(DeviceWaitIdle) X(QueueSubmit) \
	X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers) X(BeginCommandBuffer) X(EndCommandBuffer) \
	X(CreateFence) X(DestroyFence) X(GetFenceStatus) X(ResetFences) X(WaitForFences) \
	X(CreateBuffer) X(DestroyBuffer) X(GetBufferMemoryRequirements) X(BindBufferMemory) \
	X(AllocateMemory) X(FreeMemory) X(MapMemory) \
	X(CreateImage) X(DestroyImage) X(GetImageMemoryRequirements) X(BindImageMemory) X(CreateImageView) X(DestroyImageView) \
	X(CreateSampler) X(DestroySampler) X(CreateShaderModule) X(DestroyShaderModule) \
	X(CreateDescriptorSetLayout) X(DestroyDescriptorSetLayout) X(CreateDescriptorPool) X(DestroyDescriptorPool) \
	X(AllocateDescriptorSets) X(UpdateDescriptorSets) X(CreatePipelineLayout) X(DestroyPipelineLayout) \
	X(CreateGraphicsPipelines) X(DestroyPipeline) \
	X(CmdPipelineBarrier) X(CmdBeginRendering) X(CmdEndRendering) X(CmdBindPipeline) X(CmdBindDescriptorSets) \
	X(CmdBindVertexBuffers) X(CmdBindIndexBuffer) X(CmdSetViewport) X(CmdSetScissor) X(CmdDraw) X(CmdDrawIndexed) \
	X(CmdCopyBufferToImage)
/* clang-format on */

struct gpu_calls {
#define X(name) PFN_vk##name name;
	GPU_INSTANCE_CALLS(X)
	GPU_DEVICE_CALLS(X)
#undef X
};

struct gpu {
	struct gpu_calls vk;
	PFN_vkGetInstanceProcAddr get;
	VkInstance instance;
	VkPhysicalDevice physical;
	VkDevice device;
	VkQueue queue;
	uint32_t family;
	VkPhysicalDeviceMemoryProperties memory;
	VkFormat depth_format; /* has a stencil */
	bool on_cpu;           /* its driver computes on the CPU */
	char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
};

/* Written by the program through `mapped`, read by the device. */
struct gpu_buffer {
	VkBuffer buffer;
	VkDeviceMemory memory;
	void *mapped;
	size_t size;
};

struct gpu_image {
	VkImage image;
	VkDeviceMemory memory;
	VkImageView view;
	uint32_t width, height;
};

/*
 * wanted: part of the device's name; NULL: prefers a GPU to a driver that computes on the CPU. Returns 0; -ENOENT: no
 * loader, driver or such device; -EOPNOTSUPP: a feature is missing; -EIO: refused. With the reason in err_why().
 */
int gpu_open(struct gpu *g, const char *wanted);
void gpu_close(struct gpu *g); /* destroy all objects made with it first; accepts a zeroed gpu */

/* -ENOMEM, -EIO, with the reason in err_why(); *ret is then zeroed. */
int gpu_buffer_create(const struct gpu *g, size_t size, VkBufferUsageFlags usage, struct gpu_buffer *ret);
void gpu_buffer_destroy(const struct gpu *g, struct gpu_buffer *b);
int gpu_image_create(const struct gpu *g, uint32_t width, uint32_t height, VkFormat format,
		     VkSampleCountFlagBits samples, VkImageUsageFlags usage, struct gpu_image *ret);
void gpu_image_destroy(const struct gpu *g, struct gpu_image *i);

/* 0, or a negative errno with `what` and Vulkan's error in err_why(). */
int gpu_check(VkResult r, const char *what);

#endif
