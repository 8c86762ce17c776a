/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A camera of 20 Hz drawn by Vulkan: each image goes into the slot that is then published, written there by the device
 * itself if its driver can. The argument is the number of images; without it the program runs on.
 */
#include <sim/msg/Image.h>
#include <sim/readback.h>
#include <sim/sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define WIDTH     640
#define HEIGHT    480
#define HEAD      64 /* for the message's fixed part and the name of its encoding */
#define IN_FLIGHT 3

static struct sim_client *client;
static struct sim_publisher *publisher;
static struct sim_readback *readback;

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static uint32_t family;
static VkCommandBuffer commands[IN_FLIGHT];
static VkFence drawn[IN_FLIGHT];

enum { SKY, STREET, WALKER, PICTURE, IMAGES };
static VkImage image[IMAGES]; /* an image of one pixel per colour, which is scaled up; the camera's image */

/* The data of each request. */
struct mine {
	unsigned frame;
};

static void on_image(void *arg, struct sim_readback_ticket *t)
{
	struct sim_slot *slot = sim_readback_take_slot(readback, t);
	struct sim_builder b;
	struct sim_Image *m;

	(void)arg;
	if (!slot) {
		fprintf(stderr, "frame %u: %s\n", ((struct mine *)t->user)->frame, t->why);
		return;
	}
	m = sim_Image_init(sim_slot_body_mut(slot), slot->body_size, &b);
	m->width = t->width;
	m->height = t->height;
	m->step = t->row_pitch;
	sim_Image_encoding_set(&b, "rgba8");
	sim_Image_data_alloc(&b, (uint32_t)t->data_size); /* the rows' place: after HEAD bytes */
	if (sim_try_queue(publisher, slot, NULL, NULL, NULL) < 0)
		fprintf(stderr, "%s\n", sim_why());
}

/* ---- Vulkan ---- */

static int has(const char *extension)
{
	VkExtensionProperties all[512];
	uint32_t n = 512;

	vkEnumerateDeviceExtensionProperties(physical, NULL, &n, all);
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(all[i].extensionName, extension) == 0)
			return 1;
	return 0;
}

static int find_family(void)
{
	VkQueueFamilyProperties all[16];
	uint32_t n = 16;

	vkGetPhysicalDeviceQueueFamilyProperties(physical, &n, all);
	for (family = 0; family < n; family++)
		if (all[family].queueFlags & VK_QUEUE_GRAPHICS_BIT)
			return 1;
	return 0;
}

/* With the extension the device can write slots. Without it each image is copied once. */
static int open_device(void)
{
	static const char *const slots = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
	const float priority = 1;
	const VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2 };
	const VkInstanceCreateInfo i = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app };
	VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE
	};
	VkDeviceQueueCreateInfo q = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
				      .queueCount = 1,
				      .pQueuePriorities = &priority };
	VkDeviceCreateInfo d = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
				 .pNext = &timeline,
				 .queueCreateInfoCount = 1,
				 .pQueueCreateInfos = &q,
				 .ppEnabledExtensionNames = &slots };
	uint32_t n = 1;

	if (vkCreateInstance(&i, NULL, &instance) != VK_SUCCESS ||
	    vkEnumeratePhysicalDevices(instance, &n, &physical) < 0 || n == 0 || !find_family())
		return 0;
	q.queueFamilyIndex = family;
	d.enabledExtensionCount = has(slots) ? 1 : 0;
	if (vkCreateDevice(physical, &d, NULL, &device) != VK_SUCCESS)
		return 0;
	vkGetDeviceQueue(device, family, 0, &queue);
	return 1;
}

static int make_image(unsigned i, uint32_t width, uint32_t height)
{
	const VkImageCreateInfo info = { .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
					 .imageType = VK_IMAGE_TYPE_2D,
					 .format = VK_FORMAT_R8G8B8A8_UNORM,
					 .extent = { width, height, 1 },
					 .mipLevels = 1,
					 .arrayLayers = 1,
					 .samples = VK_SAMPLE_COUNT_1_BIT,
					 .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT };
	VkMemoryAllocateInfo need = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkMemoryRequirements m;
	VkDeviceMemory memory;

	if (vkCreateImage(device, &info, NULL, &image[i]) != VK_SUCCESS)
		return 0;
	vkGetImageMemoryRequirements(device, image[i], &m);
	need.allocationSize = m.size;
	while (!(m.memoryTypeBits & 1u << need.memoryTypeIndex))
		need.memoryTypeIndex++;
	return vkAllocateMemory(device, &need, NULL, &memory) == VK_SUCCESS &&
	       vkBindImageMemory(device, image[i], memory, 0) == VK_SUCCESS;
}

static int make_commands(void)
{
	const VkCommandPoolCreateInfo p = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
					    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
					    .queueFamilyIndex = family };
	const VkFenceCreateInfo f = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO,
				      .flags = VK_FENCE_CREATE_SIGNALED_BIT };
	VkCommandBufferAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
					     .commandBufferCount = IN_FLIGHT };

	if (vkCreateCommandPool(device, &p, NULL, &info.commandPool) != VK_SUCCESS ||
	    vkAllocateCommandBuffers(device, &info, commands) != VK_SUCCESS)
		return 0;
	for (unsigned i = 0; i < IN_FLIGHT; i++)
		if (vkCreateFence(device, &f, NULL, &drawn[i]) != VK_SUCCESS)
			return 0;
	return 1;
}

static int open_vulkan(void)
{
	if (!open_device() || !make_commands() || !make_image(PICTURE, WIDTH, HEIGHT))
		return 0;
	for (unsigned i = 0; i < PICTURE; i++)
		if (!make_image(i, 1, 1))
			return 0;
	return 1;
}

/* ---- an image ---- */

/* All commands before it complete before those after it; the image's layout becomes, or stays, the general one. */
static void barrier(VkCommandBuffer c, unsigned i, VkImageLayout from)
{
	const VkImageMemoryBarrier b = { .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
					 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
					 .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
					 .oldLayout = from,
					 .newLayout = VK_IMAGE_LAYOUT_GENERAL,
					 .image = image[i],
					 .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 } };

	vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0,
			     NULL, 1, &b);
}

static void mix(VkCommandBuffer c, unsigned i, float red, float green, float blue)
{
	const VkImageSubresourceRange all = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 };
	const VkClearColorValue colour = { .float32 = { red, green, blue, 1 } };

	barrier(c, i, VK_IMAGE_LAYOUT_UNDEFINED);
	vkCmdClearColorImage(c, image[i], VK_IMAGE_LAYOUT_GENERAL, &colour, 1, &all);
	barrier(c, i, VK_IMAGE_LAYOUT_GENERAL);
}

static void rectangle(VkCommandBuffer c, unsigned colour, int x, int y, int width, int height)
{
	const VkImageSubresourceLayers all = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 };
	const VkImageBlit b = { .srcSubresource = all,
				.srcOffsets = { { 0, 0, 0 }, { 1, 1, 1 } },
				.dstSubresource = all,
				.dstOffsets = { { x, y, 0 }, { x + width, y + height, 1 } } };

	vkCmdBlitImage(c, image[colour], VK_IMAGE_LAYOUT_GENERAL, image[PICTURE], VK_IMAGE_LAYOUT_GENERAL, 1, &b,
		       VK_FILTER_NEAREST);
	barrier(c, PICTURE, VK_IMAGE_LAYOUT_GENERAL);
}

/* Returns 0 if the device has not yet drawn the image of IN_FLIGHT frames ago: then this one is skipped. */
static int draw(unsigned frame)
{
	const VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
	VkCommandBuffer c = commands[frame % IN_FLIGHT];
	VkFence fence = drawn[frame % IN_FLIGHT];
	const VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				      .commandBufferCount = 1,
				      .pCommandBuffers = &c };

	if (vkGetFenceStatus(device, fence) != VK_SUCCESS || vkBeginCommandBuffer(c, &begin) != VK_SUCCESS)
		return 0;
	mix(c, SKY, 0.4f, 0.7f, 1.0f);
	mix(c, STREET, 0.3f, 0.3f, 0.3f);
	mix(c, WALKER, 0.9f, 0.1f, 0.1f);
	barrier(c, PICTURE, VK_IMAGE_LAYOUT_UNDEFINED);
	rectangle(c, SKY, 0, 0, WIDTH, HEIGHT / 2);
	rectangle(c, STREET, 0, HEIGHT / 2, WIDTH, HEIGHT / 2);
	rectangle(c, WALKER, (int)(frame * 4 % (WIDTH - 32)), HEIGHT / 2 - 32, 32, 32);
	return vkEndCommandBuffer(c) == VK_SUCCESS && vkResetFences(device, 1, &fence) == VK_SUCCESS &&
	       vkQueueSubmit(queue, 1, &submit, fence) == VK_SUCCESS;
}

/* ---- the camera ---- */

static int open_all(void)
{
	struct sim_client_options c = { .size = sizeof(c), .name = "my-camera" };
	struct sim_publisher_options p = { .size = sizeof(p) };
	struct sim_readback_options o = {
		.size = sizeof(o),
		.backend = SIM_READBACK_VULKAN,
		.shape = { .format = SIM_READBACK_RGBA8, .width = WIDTH, .height = HEIGHT },
		.in_flight = IN_FLIGHT,
		.full = SIM_READBACK_DROP_NEWEST,
		.head = HEAD,
		.done = on_image,
		.user_size = sizeof(struct mine),
	};

	p.max_body = sim_readback_body_size(&o.shape, HEAD);
	if (sim_connect(&c, &client) < 0 || sim_advertise(client, "my_camera", &sim_Image_type, &p, &publisher) < 0) {
		fprintf(stderr, "%s\n", sim_why());
		return 0;
	}
	if (!open_vulkan()) {
		fprintf(stderr, "no device of Vulkan 1.2; is a driver installed, such as mesa-vulkan-drivers?\n");
		return 0;
	}
	o.publisher = publisher;
	o.vulkan = (struct sim_readback_vulkan){ .instance = instance,
						 .physical_device = physical,
						 .device = device,
						 .queue = queue,
						 .queue_family = family };
	if (sim_readback_create(&o, &readback) < 0) {
		fprintf(stderr, "%s\n", sim_readback_why());
		return 0;
	}
	return 1;
}

/*
 * Returns whether there will be an image. Commands submitted later may draw into it again: the queue keeps the order.
 */
static int take_picture(unsigned frame, int64_t due_sim_ns)
{
	struct sim_readback_source s = { .size = sizeof(s),
					 .format = SIM_READBACK_RGBA8,
					 .capture_sim_ns = due_sim_ns,
					 .vulkan = { .image = (uint64_t)image[PICTURE],
						     .layout = VK_IMAGE_LAYOUT_GENERAL } };
	struct sim_readback_ticket *t;
	int r;

	if (!draw(frame))
		return 0;
	r = sim_readback_start(readback, &s, &t);
	if (r == 0)
		((struct mine *)t->user)->frame = frame;
	else if (r < 0)
		fprintf(stderr, "%s\n", sim_readback_why());
	return r == 0;
}

int main(int argc, char **argv)
{
	unsigned frames = argc > 1 ? (unsigned)atoi(argv[1]) : 0, taken = 0;
	struct sim_readback_counters n;
	int64_t due;

	if (!open_all())
		return 1;
	due = sim_now(client);
	for (unsigned frame = 0; !frames || taken < frames; frame++) {
		if (sim_sleep_until(client, due, 1000000000) < 0) {
			fprintf(stderr, "%s\n", sim_why()); /* no driver yet, paused, a jump, simd is away */
			due = sim_now(client);
		}
		sim_readback_process(readback);
		taken += (unsigned)take_picture(frame, due);
		due += 50000000;
	}
	if (sim_readback_drain(readback, 1000000000) < 0)
		fprintf(stderr, "%s\n", sim_readback_why());
	sim_readback_get_counters(readback, &n);
	printf("%llu images, %llu copies\n", (unsigned long long)n.completed, (unsigned long long)n.copies);
	fprintf(stderr, "%s\n", sim_readback_how(readback));
	vkDeviceWaitIdle(device); /* the program's end frees the rest */
	sim_readback_destroy(readback);
	sim_publisher_destroy(publisher);
	sim_disconnect(client);
	return 0;
}
