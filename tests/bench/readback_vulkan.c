/* SPDX-License-Identifier: Apache-2.0 */
/* See readback.h: Vulkan, whose commands are recorded once. */
#include "readback.h"

#include <errno.h>
#include <stdio.h>

#include <vulkan/vulkan.h>

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;
static VkImage image[SCENE_RING + 1];
static VkDeviceMemory memory[SCENE_RING + 1];
static VkCommandBuffer commands[SCENE_RING], copies[SCENE_RING]; /* what draws; what transfers that into buffer */
static VkBuffer buffer[SCENE_RING];
static VkDeviceMemory buffer_memory[SCENE_RING];
static VkFence fence[SCENE_RING];

static VkResult create_device(void)
{
	static const char *const extension = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
	const float priority = 1.0f;
	const VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2 };
	const VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app };
	const VkDeviceQueueCreateInfo q = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
					    .queueCount = 1,
					    .pQueuePriorities = &priority };
	VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE
	};
	const VkDeviceCreateInfo d = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
				       .pNext = &timeline,
				       .queueCreateInfoCount = 1,
				       .pQueueCreateInfos = &q,
				       .enabledExtensionCount = 1,
				       .ppEnabledExtensionNames = &extension };
	const VkCommandPoolCreateInfo p = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };
	uint32_t n = 1;
	VkResult r = vkCreateInstance(&info, NULL, &instance);

	if (r == VK_SUCCESS)
		r = vkEnumeratePhysicalDevices(instance, &n, &physical);
	if (r < 0 || n != 1)
		return VK_ERROR_INITIALIZATION_FAILED;
	r = vkCreateDevice(physical, &d, NULL, &device);
	if (r != VK_SUCCESS)
		return r;
	vkGetDeviceQueue(device, 0, 0, &queue);
	return vkCreateCommandPool(device, &p, NULL, &pool);
}

static VkResult create_image(unsigned i)
{
	const VkImageCreateInfo info = { .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
					 .imageType = VK_IMAGE_TYPE_2D,
					 .format = VK_FORMAT_R8G8B8A8_UNORM,
					 .extent = { SCENE_W, SCENE_H, 1 },
					 .mipLevels = 1,
					 .arrayLayers = 1,
					 .samples = VK_SAMPLE_COUNT_1_BIT,
					 .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT };
	VkMemoryAllocateInfo need = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkMemoryRequirements m;
	VkResult r = vkCreateImage(device, &info, NULL, &image[i]);

	if (r != VK_SUCCESS)
		return r;
	vkGetImageMemoryRequirements(device, image[i], &m);
	need.allocationSize = m.size;
	while (!(m.memoryTypeBits & 1u << need.memoryTypeIndex))
		need.memoryTypeIndex++;
	r = vkAllocateMemory(device, &need, NULL, &memory[i]);
	return r == VK_SUCCESS ? vkBindImageMemory(device, image[i], memory[i], 0) : r;
}

static void barrier(VkCommandBuffer c, VkImage i, VkImageLayout from)
{
	const VkImageMemoryBarrier b = { .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
					 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
					 .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
					 .oldLayout = from,
					 .newLayout = VK_IMAGE_LAYOUT_GENERAL,
					 .image = i,
					 .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 } };

	vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0,
			     NULL, 1, &b);
}

static void blit(VkCommandBuffer c, VkImage from, VkImage to)
{
	const VkImageSubresourceLayers all = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 };
	const VkImageBlit b = { .srcSubresource = all,
				.srcOffsets = { { 0, 0, 0 }, { SCENE_W - 7, SCENE_H - 5, 1 } },
				.dstSubresource = all,
				.dstOffsets = { { 0, 0, 0 }, { SCENE_W, SCENE_H, 1 } } };

	vkCmdBlitImage(c, from, VK_IMAGE_LAYOUT_GENERAL, to, VK_IMAGE_LAYOUT_GENERAL, 1, &b, VK_FILTER_LINEAR);
	barrier(c, to, VK_IMAGE_LAYOUT_GENERAL);
}

static VkResult record(unsigned i)
{
	const VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
	VkCommandBuffer c = commands[i];
	VkResult r = vkBeginCommandBuffer(c, &begin);

	barrier(c, image[i], VK_IMAGE_LAYOUT_UNDEFINED);
	barrier(c, image[SCENE_RING], VK_IMAGE_LAYOUT_UNDEFINED);
	for (int k = 0; k < SCENE_TURNS; k++) {
		blit(c, image[i], image[SCENE_RING]);
		blit(c, image[SCENE_RING], image[i]);
	}
	return r == VK_SUCCESS ? vkEndCommandBuffer(c) : r;
}

static VkResult create_buffer(unsigned i)
{
	const VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
					  .size = SCENE_W * SCENE_H * 4,
					  .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT };
	const VkFenceCreateInfo f = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO,
				      .flags = VK_FENCE_CREATE_SIGNALED_BIT };
	VkMemoryAllocateInfo need = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkPhysicalDeviceMemoryProperties types;
	VkMemoryRequirements m;
	VkResult r = vkCreateBuffer(device, &info, NULL, &buffer[i]);

	if (r != VK_SUCCESS)
		return r;
	vkGetPhysicalDeviceMemoryProperties(physical, &types);
	vkGetBufferMemoryRequirements(device, buffer[i], &m);
	need.allocationSize = m.size;
	while (need.memoryTypeIndex + 1 < types.memoryTypeCount &&
	       (!(m.memoryTypeBits & 1u << need.memoryTypeIndex) ||
		!(types.memoryTypes[need.memoryTypeIndex].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)))
		need.memoryTypeIndex++;
	r = vkAllocateMemory(device, &need, NULL, &buffer_memory[i]);
	if (r == VK_SUCCESS)
		r = vkBindBufferMemory(device, buffer[i], buffer_memory[i], 0);
	return r == VK_SUCCESS ? vkCreateFence(device, &f, NULL, &fence[i]) : r;
}

static VkResult record_copy(unsigned i)
{
	const VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
	const VkBufferImageCopy all = { .imageSubresource = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 },
					.imageExtent = { SCENE_W, SCENE_H, 1 } };
	VkCommandBuffer c = copies[i];
	VkResult r = vkBeginCommandBuffer(c, &begin);

	vkCmdCopyImageToBuffer(c, image[i], VK_IMAGE_LAYOUT_GENERAL, buffer[i], 1, &all);
	return r == VK_SUCCESS ? vkEndCommandBuffer(c) : r;
}

static int init(struct sim_readback_options *o)
{
	VkResult r = create_device();

	for (unsigned i = 0; r == VK_SUCCESS && i <= SCENE_RING; i++)
		r = create_image(i);
	if (r == VK_SUCCESS) {
		const VkCommandBufferAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
							   .commandPool = pool,
							   .commandBufferCount = SCENE_RING };

		r = vkAllocateCommandBuffers(device, &info, commands);
		if (r == VK_SUCCESS)
			r = vkAllocateCommandBuffers(device, &info, copies);
	}
	for (unsigned i = 0; r == VK_SUCCESS && i < SCENE_RING; i++) {
		r = record(i);
		if (r == VK_SUCCESS)
			r = create_buffer(i);
		if (r == VK_SUCCESS)
			r = record_copy(i);
	}
	if (r != VK_SUCCESS) {
		fprintf(stderr, "readback: no device of Vulkan 1.2 with VK_EXT_external_memory_host: %d\n", (int)r);
		return -ENOENT;
	}
	o->backend = SIM_READBACK_VULKAN;
	o->vulkan = (struct sim_readback_vulkan){
		.instance = instance, .physical_device = physical, .device = device, .queue = queue
	};
	return 0;
}

static void draw(unsigned i)
{
	const VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				      .commandBufferCount = 1,
				      .pCommandBuffers = &commands[i] };

	if (vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE) != VK_SUCCESS)
		fprintf(stderr, "readback: nothing could be drawn\n");
}

static int bare(unsigned frame)
{
	unsigned i = frame % SCENE_RING;
	const VkCommandBuffer both[2] = { commands[i], copies[i] };
	const VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				      .commandBufferCount = 2,
				      .pCommandBuffers = both };

	if (vkWaitForFences(device, 1, &fence[i], VK_TRUE, UINT64_MAX) != VK_SUCCESS ||
	    vkResetFences(device, 1, &fence[i]) != VK_SUCCESS)
		return -EIO;
	return vkQueueSubmit(queue, 1, &submit, fence[i]) == VK_SUCCESS ? 0 : -EIO;
}

static void source(unsigned i, struct sim_readback_source *s)
{
	s->vulkan.image = (uint64_t)image[i];
	s->vulkan.layout = VK_IMAGE_LAYOUT_GENERAL;
}

static void finish(void)
{
	vkDeviceWaitIdle(device);
	for (unsigned i = 0; i < SCENE_RING; i++) {
		vkDestroyFence(device, fence[i], NULL);
		vkDestroyBuffer(device, buffer[i], NULL);
		vkFreeMemory(device, buffer_memory[i], NULL);
	}
	for (unsigned i = 0; i <= SCENE_RING; i++) {
		vkDestroyImage(device, image[i], NULL);
		vkFreeMemory(device, memory[i], NULL);
	}
	vkDestroyCommandPool(device, pool, NULL);
	vkDestroyDevice(device, NULL);
	vkDestroyInstance(instance, NULL);
}

const struct scene scene_vulkan = { "vulkan", SCENE_RING, init, draw, bare, source, finish };
