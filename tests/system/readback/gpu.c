/* SPDX-License-Identifier: Apache-2.0 */
/* See gpu.h. */
#include "gpu.h"

#define OK(call) assert_int_equal(call, VK_SUCCESS)

static uint32_t type_of(struct gpu *g, uint32_t bits, VkMemoryPropertyFlags want)
{
	VkPhysicalDeviceMemoryProperties m;

	vkGetPhysicalDeviceMemoryProperties(g->physical, &m);
	for (uint32_t i = 0; i < m.memoryTypeCount; i++) {
		if (bits & 1u << i && (m.memoryTypes[i].propertyFlags & want) == want)
			return i;
	}
	fail_msg("no such type of memory");
	return 0;
}

static VkDeviceMemory memory(struct gpu *g, const VkMemoryRequirements *need, VkMemoryPropertyFlags want)
{
	VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
				      .allocationSize = need->size,
				      .memoryTypeIndex = type_of(g, need->memoryTypeBits, want) };
	VkDeviceMemory m;

	OK(vkAllocateMemory(g->device, &info, NULL, &m));
	return m;
}

static void create_device(struct gpu *g)
{
	static const char *const extension = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
	const float priority = 1.0f;
	const VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
						.queueCount = 1,
						.pQueuePriorities = &priority };
	VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE
	};
	const VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
					  .pNext = &timeline,
					  .queueCreateInfoCount = 1,
					  .pQueueCreateInfos = &queue,
					  .enabledExtensionCount = 1,
					  .ppEnabledExtensionNames = &extension };
	const VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };

	OK(vkCreateDevice(g->physical, &info, NULL, &g->device));
	vkGetDeviceQueue(g->device, 0, 0, &g->queue);
	OK(vkCreateCommandPool(g->device, &pool, NULL, &g->pool));
}

static void create_sources(struct gpu *g)
{
	const VkImageCreateInfo image = { .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
					  .imageType = VK_IMAGE_TYPE_2D,
					  .format = VK_FORMAT_R8G8B8A8_UNORM,
					  .extent = { GPU_W, GPU_H, 1 },
					  .mipLevels = 1,
					  .arrayLayers = 1,
					  .samples = VK_SAMPLE_COUNT_1_BIT,
					  .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT };
	const VkBufferCreateInfo buffer = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
					    .size = GPU_BUFFER,
					    .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT };
	VkMemoryRequirements need;

	OK(vkCreateImage(g->device, &image, NULL, &g->image));
	vkGetImageMemoryRequirements(g->device, g->image, &need);
	g->image_memory = memory(g, &need, 0);
	OK(vkBindImageMemory(g->device, g->image, g->image_memory, 0));
	OK(vkCreateBuffer(g->device, &buffer, NULL, &g->buffer));
	vkGetBufferMemoryRequirements(g->device, g->buffer, &need);
	g->buffer_memory = memory(g, &need, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
	OK(vkBindBufferMemory(g->device, g->buffer, g->buffer_memory, 0));
	OK(vkMapMemory(g->device, g->buffer_memory, 0, VK_WHOLE_SIZE, 0, (void **)&g->mapped));
	for (uint32_t i = 0; i < GPU_BUFFER; i++)
		g->mapped[i] = (uint8_t)(i * 37 + i / 256);
}

bool gpu_init(struct gpu *g)
{
	const VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2 };
	const VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app };
	uint32_t n = 1;

	memset(g, 0, sizeof(*g));
	if (sim_readback_probe(SIM_READBACK_VULKAN) < 0) {
		print_message("%s\n", sim_readback_why());
		return false;
	}
	OK(vkCreateInstance(&info, NULL, &g->instance));
	assert_true(vkEnumeratePhysicalDevices(g->instance, &n, &g->physical) >= 0 && n == 1);
	create_device(g);
	create_sources(g);
	return true;
}

void gpu_finish(struct gpu *g)
{
	vkDeviceWaitIdle(g->device);
	vkDestroyImage(g->device, g->image, NULL);
	vkFreeMemory(g->device, g->image_memory, NULL);
	vkDestroyBuffer(g->device, g->buffer, NULL);
	vkFreeMemory(g->device, g->buffer_memory, NULL);
	vkDestroyCommandPool(g->device, g->pool, NULL);
	vkDestroyDevice(g->device, NULL);
	vkDestroyInstance(g->instance, NULL);
}

static void barrier(struct gpu *g, VkCommandBuffer c, VkImageLayout from, VkImageLayout to)
{
	const VkImageMemoryBarrier b = { .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
					 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
					 .dstAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
					 .oldLayout = from,
					 .newLayout = to,
					 .image = g->image,
					 .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 } };

	vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0,
			     NULL, 1, &b);
}

void gpu_clear(struct gpu *g, const uint8_t rgba[4])
{
	const VkCommandBufferAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
						   .commandPool = g->pool,
						   .commandBufferCount = 1 };
	const VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
	const VkImageSubresourceRange all = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 };
	VkClearColorValue colour;
	VkCommandBuffer c;
	VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				.commandBufferCount = 1,
				.pCommandBuffers = &c };

	for (int i = 0; i < 4; i++)
		colour.float32[i] = (float)rgba[i] / 255.0f;
	OK(vkAllocateCommandBuffers(g->device, &info, &c));
	OK(vkBeginCommandBuffer(c, &begin));
	barrier(g, c, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
	vkCmdClearColorImage(c, g->image, VK_IMAGE_LAYOUT_GENERAL, &colour, 1, &all);
	OK(vkEndCommandBuffer(c));
	OK(vkQueueSubmit(g->queue, 1, &submit, VK_NULL_HANDLE)); /* c goes with the pool */
}

struct sim_readback_vulkan gpu_handles(const struct gpu *g)
{
	return (struct sim_readback_vulkan){
		.instance = g->instance, .physical_device = g->physical, .device = g->device, .queue = g->queue
	};
}
