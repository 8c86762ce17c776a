/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device of Vulkan 1.3 to draw with, without a screen; found and loaded at run time. And the few things that are made with it:
 * buffers that the program writes, images that it draws into. Thread: one.
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
	VkFormat depth_format; /* with a stencil */
	bool on_cpu;           /* its driver computes with the CPU */
	char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
};

/* Written by the program at `mapped`, read by the device. */
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
 * wanted: a part of the device's name; NULL: a GPU before a driver that computes with the CPU. Returns 0; -ENOENT no loader, driver or such
 * device; -EOPNOTSUPP it lacks something; -EIO it refused; with a sentence.
 */
int gpu_open(struct gpu *g, const char *wanted);
void gpu_close(struct gpu *g); /* what was made with it is gone before; fine for zeroes */

/* -ENOMEM, -EIO, with a sentence; *ret is zeroes then. */
int gpu_buffer_create(const struct gpu *g, size_t size, VkBufferUsageFlags usage, struct gpu_buffer *ret);
void gpu_buffer_destroy(const struct gpu *g, struct gpu_buffer *b);
int gpu_image_create(const struct gpu *g, uint32_t width, uint32_t height, VkFormat format,
		     VkSampleCountFlagBits samples, VkImageUsageFlags usage, struct gpu_image *ret);
void gpu_image_destroy(const struct gpu *g, struct gpu_image *i);

/* 0, or a sentence that ends with what the device said. */
int gpu_check(VkResult r, const char *what);

#endif
