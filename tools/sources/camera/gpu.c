/* SPDX-License-Identifier: Apache-2.0 */
/* See gpu.h. */
#include "gpu.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

#define DEVICES_MAX    16u
#define FAMILIES_MAX   32u
#define EXTENSIONS_MAX 512u
#define KEPT           (256 * 1024 * 1024) /* bytes that the allocator may keep */
#define KEPT_BLOCK     (32 * 1024 * 1024)  /* larger blocks are freed at once; 32 MiB is glibc's limit */

int gpu_check(VkResult r, const char *what)
{
	if (r == VK_SUCCESS)
		return 0;
	if (r == VK_ERROR_OUT_OF_HOST_MEMORY || r == VK_ERROR_OUT_OF_DEVICE_MEMORY)
		return err_set(-ENOMEM, "Vulkan: %s: no memory; smaller images need less", what);
	if (r == VK_ERROR_DEVICE_LOST)
		return err_set(-ENODEV, "Vulkan: %s: the device is lost; start the program again", what);
	return err_set(-EIO, "Vulkan: %s: VkResult %d", what, (int)r);
}

/* ---- instance ---- */

/* Loaded once and never unloaded, as some drivers crash on unloading. */
static int load(PFN_vkGetInstanceProcAddr *ret)
{
	void *lib = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!lib)
		return err_set(-ENOENT, "no Vulkan: %s; install libvulkan1 and a driver (mesa-vulkan-drivers)",
			       dlerror());
	*(void **)ret = dlsym(lib, "vkGetInstanceProcAddr");
	dlclose(lib);
	return *ret ? 0 : err_set(-ENOENT, "no Vulkan: libvulkan.so.1 has no vkGetInstanceProcAddr");
}

static int open_instance(struct gpu *g)
{
	const VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
					.pApplicationName = "sim-camera",
					.apiVersion = VK_API_VERSION_1_3 };
	const VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app };
	PFN_vkCreateInstance create;
	int r = load(&g->get);

	if (r < 0)
		return r;
	create = (PFN_vkCreateInstance)g->get(NULL, "vkCreateInstance");
	if (!create || create(&info, NULL, &g->instance) != VK_SUCCESS) {
		g->instance = NULL;
		return err_set(-ENOENT, "no Vulkan driver can be used; install one (mesa-vulkan-drivers needs no GPU)");
	}
#define X(name) \
	g->vk.name = (PFN_vk##name)g->get(g->instance, "vk" #name); \
	if (!g->vk.name) \
		return err_set(-EOPNOTSUPP, "Vulkan: the loader has no vk" #name "; a newer libvulkan1 does");
	GPU_INSTANCE_CALLS(X)
#undef X
	return 0;
}

/* ---- choice of the device ---- */

static bool has_extension(const struct gpu *g, VkPhysicalDevice d, const char *name)
{
	static VkExtensionProperties all[EXTENSIONS_MAX];
	uint32_t n = EXTENSIONS_MAX;

	if (g->vk.EnumerateDeviceExtensionProperties(d, NULL, &n, all) < 0)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (strcmp(all[i].extensionName, name) == 0)
			return true;
	}
	return false;
}

static bool graphics_family(const struct gpu *g, VkPhysicalDevice d, uint32_t *ret)
{
	VkQueueFamilyProperties all[FAMILIES_MAX];
	uint32_t n = FAMILIES_MAX;

	g->vk.GetPhysicalDeviceQueueFamilyProperties(d, &n, all);
	for (uint32_t i = 0; i < n; i++) {
		if (all[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* Checks the required features, which every Vulkan 1.3 implementation has. */
static bool can_draw(const struct gpu *g, VkPhysicalDevice d, const VkPhysicalDeviceProperties *p)
{
	VkPhysicalDeviceVulkan13Features f13 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES };
	VkPhysicalDeviceVulkan12Features f12 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
						 .pNext = &f13 };
	VkPhysicalDeviceFeatures2 f = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &f12 };

	if (p->apiVersion < VK_API_VERSION_1_3)
		return false;
	g->vk.GetPhysicalDeviceFeatures2(d, &f);
	return f13.dynamicRendering && f12.timelineSemaphore;
}

static int worth(VkPhysicalDeviceType t)
{
	switch (t) {
	case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
		return 4;
	case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
		return 3;
	case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
		return 2;
	default:
		return 1;
	}
}

static int choose_device(struct gpu *g, const char *wanted)
{
	VkPhysicalDevice all[DEVICES_MAX];
	uint32_t n = DEVICES_MAX;
	int best = 0, weak = 0;

	if (g->vk.EnumeratePhysicalDevices(g->instance, &n, all) < 0 || n == 0)
		return err_set(-ENOENT,
			       "no Vulkan driver is installed: install one (mesa-vulkan-drivers needs no GPU)");
	for (uint32_t i = 0; i < n; i++) {
		VkPhysicalDeviceProperties p;
		uint32_t family;

		g->vk.GetPhysicalDeviceProperties(all[i], &p);
		if (wanted && !strstr(p.deviceName, wanted))
			continue;
		if (!can_draw(g, all[i], &p) || !graphics_family(g, all[i], &family)) {
			weak++;
			continue;
		}
		if (worth(p.deviceType) <= best)
			continue;
		best = worth(p.deviceType);
		g->physical = all[i];
		g->family = family;
		g->on_cpu = p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
		snprintf(g->name, sizeof(g->name), "%s", p.deviceName);
	}
	if (g->physical)
		return 0;
	if (weak)
		return err_set(-EOPNOTSUPP,
			       "Vulkan: %d device(s), none of Vulkan 1.3 with dynamic rendering; "
			       "a newer driver has it",
			       weak);
	return err_set(-ENOENT, "Vulkan: no device has \"%s\" in its name", wanted ? wanted : "");
}

/* ---- device ---- */

static int load_device(struct gpu *g)
{
#define X(call) \
	g->vk.call = (PFN_vk##call)g->vk.GetDeviceProcAddr(g->device, "vk" #call); \
	if (!g->vk.call) \
		return err_set(-EOPNOTSUPP, "Vulkan: %s has no vk" #call "; a newer driver does", g->name);
	GPU_DEVICE_CALLS(X)
#undef X
	return 0;
}

static int open_device(struct gpu *g)
{
	static const char *const host = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
	const float priority = 1.0f;
	const VkDeviceQueueCreateInfo q = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
					    .queueFamilyIndex = g->family,
					    .queueCount = 1,
					    .pQueuePriorities = &priority };
	VkPhysicalDeviceVulkan13Features f13 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
						 .dynamicRendering = VK_TRUE };
	VkPhysicalDeviceVulkan12Features f12 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
						 .pNext = &f13,
						 .timelineSemaphore = VK_TRUE };
	/* with this extension images are copied directly into slots */
	const VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
					  .pNext = &f12,
					  .queueCreateInfoCount = 1,
					  .pQueueCreateInfos = &q,
					  .enabledExtensionCount = has_extension(g, g->physical, host),
					  .ppEnabledExtensionNames = &host };
	int r = gpu_check(g->vk.CreateDevice(g->physical, &info, NULL, &g->device), "opening the device");

	if (r < 0) {
		g->device = NULL;
		return r;
	}
	r = load_device(g);
	if (r < 0)
		return r;
	g->vk.GetDeviceQueue(g->device, g->family, 0, &g->queue);
	g->vk.GetPhysicalDeviceMemoryProperties(g->physical, &g->memory);
	return 0;
}

/* Each device supports one of the two (Vulkan 1.3, 33.3 "Required Format Support"). */
static VkFormat depth_format(const struct gpu *g)
{
	PFN_vkGetPhysicalDeviceFormatProperties get =
		(PFN_vkGetPhysicalDeviceFormatProperties)g->get(g->instance, "vkGetPhysicalDeviceFormatProperties");
	VkFormatProperties p = { 0 };

	if (get)
		get(g->physical, VK_FORMAT_D32_SFLOAT_S8_UINT, &p);
	return p.optimalTilingFeatures & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT ? VK_FORMAT_D32_SFLOAT_S8_UINT
											: VK_FORMAT_D24_UNORM_S8_UINT;
}

/*
 * A driver on the CPU allocates and frees triangles for each frame: lets the allocator keep that memory, or the kernel
 * would clear each page again, 60 times a second.
 */
static void keep_memory(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT);
}

int gpu_open(struct gpu *g, const char *wanted)
{
	int r;

	memset(g, 0, sizeof(*g));
	r = open_instance(g);
	if (r == 0)
		r = choose_device(g, wanted);
	if (r == 0)
		r = open_device(g);
	if (r == 0)
		g->depth_format = depth_format(g);
	if (r == 0 && g->on_cpu)
		keep_memory();
	if (r < 0)
		gpu_close(g);
	return r;
}

void gpu_close(struct gpu *g)
{
	if (g->device && g->vk.DestroyDevice)
		g->vk.DestroyDevice(g->device, NULL);
	if (g->instance && g->vk.DestroyInstance)
		g->vk.DestroyInstance(g->instance, NULL);
	memset(g, 0, sizeof(*g));
}

/* ---- buffers and images ---- */

static int allocate(const struct gpu *g, const VkMemoryRequirements *need, VkMemoryPropertyFlags want,
		    VkDeviceMemory *ret)
{
	for (uint32_t i = 0; i < g->memory.memoryTypeCount; i++) {
		const VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
						    .allocationSize = need->size,
						    .memoryTypeIndex = i };

		if (need->memoryTypeBits & 1u << i && (g->memory.memoryTypes[i].propertyFlags & want) == want)
			return gpu_check(g->vk.AllocateMemory(g->device, &info, NULL, ret), "allocating memory");
	}
	return want ? allocate(g, need, 0, ret) : err_set(-EIO, "Vulkan: %s has no memory of a suitable kind", g->name);
}

int gpu_buffer_create(const struct gpu *g, size_t size, VkBufferUsageFlags usage, struct gpu_buffer *ret)
{
	const VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage };
	const VkMemoryPropertyFlags want = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	struct gpu_buffer b = { .size = size };
	VkMemoryRequirements need;
	int r = gpu_check(g->vk.CreateBuffer(g->device, &info, NULL, &b.buffer), "making a buffer");

	*ret = (struct gpu_buffer){ 0 };
	if (r < 0)
		return r;
	g->vk.GetBufferMemoryRequirements(g->device, b.buffer, &need);
	r = allocate(g, &need, want, &b.memory);
	if (r == 0)
		r = gpu_check(g->vk.BindBufferMemory(g->device, b.buffer, b.memory, 0), "binding a buffer");
	if (r == 0)
		r = gpu_check(g->vk.MapMemory(g->device, b.memory, 0, VK_WHOLE_SIZE, 0, &b.mapped), "mapping a buffer");
	if (r < 0)
		gpu_buffer_destroy(g, &b);
	else
		*ret = b;
	return r;
}

void gpu_buffer_destroy(const struct gpu *g, struct gpu_buffer *b)
{
	if (b->buffer)
		g->vk.DestroyBuffer(g->device, b->buffer, NULL);
	if (b->memory)
		g->vk.FreeMemory(g->device, b->memory, NULL);
	*b = (struct gpu_buffer){ 0 };
}

static int create_view(const struct gpu *g, VkFormat format, struct gpu_image *i)
{
	VkImageAspectFlags aspect = format == g->depth_format ? VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT
							      : VK_IMAGE_ASPECT_COLOR_BIT;
	const VkImageViewCreateInfo info = { .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
					     .image = i->image,
					     .viewType = VK_IMAGE_VIEW_TYPE_2D,
					     .format = format,
					     .subresourceRange = { aspect, 0, 1, 0, 1 } };

	return gpu_check(g->vk.CreateImageView(g->device, &info, NULL, &i->view), "making an image's view");
}

int gpu_image_create(const struct gpu *g, uint32_t width, uint32_t height, VkFormat format,
		     VkSampleCountFlagBits samples, VkImageUsageFlags usage, struct gpu_image *ret)
{
	const VkImageCreateInfo info = { .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
					 .imageType = VK_IMAGE_TYPE_2D,
					 .format = format,
					 .extent = { width, height, 1 },
					 .mipLevels = 1,
					 .arrayLayers = 1,
					 .samples = samples,
					 .usage = usage };
	struct gpu_image i = { .width = width, .height = height };
	VkMemoryRequirements need;
	int r = gpu_check(g->vk.CreateImage(g->device, &info, NULL, &i.image), "making an image");

	*ret = (struct gpu_image){ 0 };
	if (r < 0)
		return r;
	g->vk.GetImageMemoryRequirements(g->device, i.image, &need);
	r = allocate(g, &need, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, &i.memory);
	if (r == 0)
		r = gpu_check(g->vk.BindImageMemory(g->device, i.image, i.memory, 0), "binding an image");
	if (r == 0)
		r = create_view(g, format, &i);
	if (r < 0)
		gpu_image_destroy(g, &i);
	else
		*ret = i;
	return r;
}

void gpu_image_destroy(const struct gpu *g, struct gpu_image *i)
{
	if (i->view)
		g->vk.DestroyImageView(g->device, i->view, NULL);
	if (i->image)
		g->vk.DestroyImage(g->device, i->image, NULL);
	if (i->memory)
		g->vk.FreeMemory(g->device, i->memory, NULL);
	*i = (struct gpu_image){ 0 };
}
