/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h: the Vulkan device, and whether it writes memory that is shared with other processes. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "describe.h"
#include "err.h"
#include "vulkan_load.h"

#define DEVICES_MAX    16
#define EXTENSIONS_MAX 1024
#define HOST_MEMORY    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT

/* clang-format off */
#define CALLS(X) \
	X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties2) X(EnumerateDeviceExtensionProperties) X(CreateDevice) \
	X(DestroyDevice) X(GetDeviceProcAddr) X(AllocateMemory) X(FreeMemory)
/* clang-format on */

struct looked_at {
	PFN_vkGetInstanceProcAddr get;
	VkInstance instance;
	VkPhysicalDevice physical;
	VkDevice device;
	char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
	VkDeviceSize align;
#define X(call) PFN_vk##call call;
	CALLS(X)
#undef X
};

static int find_calls(struct looked_at *l)
{
#define X(call) \
	l->call = (PFN_vk##call)l->get(l->instance, "vk" #call); \
	if (!l->call) \
		return err_set(-EOPNOTSUPP, "vulkan: the loader has no vk" #call);
	CALLS(X)
#undef X
	return 0;
}

static void name_of(struct looked_at *l)
{
	VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT
	};
	VkPhysicalDeviceProperties2 p = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &host };

	l->GetPhysicalDeviceProperties2(l->physical, &p);
	snprintf(l->name, sizeof(l->name), "%s", p.properties.deviceName);
	l->align = host.minImportedHostPointerAlignment ? host.minImportedHostPointerAlignment : 4096;
}

static bool has_extension(const struct looked_at *l, const char *name)
{
	static VkExtensionProperties all[EXTENSIONS_MAX];
	uint32_t n = EXTENSIONS_MAX;

	if (l->EnumerateDeviceExtensionProperties(l->physical, NULL, &n, all) < 0)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(all[i].extensionName, name) == 0)
			return true;
	return false;
}

static VkResult make_device(struct looked_at *l)
{
	static const char *const extension = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
	const float priority = 1;
	const VkDeviceQueueCreateInfo q = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
					    .queueCount = 1,
					    .pQueuePriorities = &priority };
	const VkDeviceCreateInfo d = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
				       .queueCreateInfoCount = 1,
				       .pQueueCreateInfos = &q,
				       .enabledExtensionCount = 1,
				       .ppEnabledExtensionNames = &extension };

	return l->CreateDevice(l->physical, &d, NULL, &l->device);
}

/* Tries each type of memory that the driver allows for it. */
static VkResult import(const struct looked_at *l, void *memory, size_t size)
{
	PFN_vkGetMemoryHostPointerPropertiesEXT properties =
		(PFN_vkGetMemoryHostPointerPropertiesEXT)l->GetDeviceProcAddr(l->device,
									      "vkGetMemoryHostPointerPropertiesEXT");
	VkMemoryHostPointerPropertiesEXT p = { .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT };
	const VkImportMemoryHostPointerInfoEXT from = { .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
							.handleType = HOST_MEMORY,
							.pHostPointer = memory };
	VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
				      .pNext = &from,
				      .allocationSize = size };
	VkResult r = properties ? properties(l->device, HOST_MEMORY, memory, &p) : VK_ERROR_EXTENSION_NOT_PRESENT;
	VkDeviceMemory got;

	if (r == VK_SUCCESS)
		r = VK_ERROR_INVALID_EXTERNAL_HANDLE;
	for (uint32_t i = 0; i < 32 && r != VK_SUCCESS; i++) {
		info.memoryTypeIndex = i;
		if (p.memoryTypeBits & 1u << i)
			r = l->AllocateMemory(l->device, &info, NULL, &got);
	}
	if (r == VK_SUCCESS)
		l->FreeMemory(l->device, got, NULL);
	return r;
}

/* Memory of a file, like that of slots. */
static VkResult import_shared(const struct looked_at *l)
{
	size_t size = (size_t)l->align * 4;
	int fd = memfd_create("sim-readback", MFD_CLOEXEC);
	void *memory = fd >= 0 && ftruncate(fd, (off_t)size) == 0
			       ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			       : MAP_FAILED;
	VkResult r = VK_ERROR_OUT_OF_HOST_MEMORY;

	if (memory != MAP_FAILED) {
		r = import(l, memory, size);
		munmap(memory, size);
	}
	if (fd >= 0)
		close(fd);
	return r;
}

static void say(struct looked_at *l, char *ret, size_t cap)
{
	VkResult r = VK_ERROR_EXTENSION_NOT_PRESENT;

	name_of(l);
	if (has_extension(l, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
		r = make_device(l);
		if (r == VK_SUCCESS) {
			r = import_shared(l);
			l->DestroyDevice(l->device, NULL);
		}
	}
	if (r == VK_SUCCESS)
		snprintf(ret, cap, "%s: writes slots itself", l->name);
	else if (r == VK_ERROR_EXTENSION_NOT_PRESENT)
		snprintf(ret, cap, "%s: one copy of each image, as it has no VK_EXT_external_memory_host", l->name);
	else
		snprintf(ret, cap, "%s: one copy of each image, as it does not import shared memory (%s)", l->name,
			 vulkan_result(r));
}

int vulkan_describe(char *ret, size_t cap)
{
	VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2 };
	VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app };
	VkPhysicalDevice all[DEVICES_MAX];
	struct looked_at l = { .device = NULL };
	PFN_vkCreateInstance create;
	uint32_t n = DEVICES_MAX;
	int r = vulkan_loader(&l.get);

	if (r < 0)
		return r;
	create = (PFN_vkCreateInstance)l.get(NULL, "vkCreateInstance");
	if (!create || create(&info, NULL, &l.instance) != VK_SUCCESS)
		return err_set(-ENOENT, "vulkan: no instance could be created; is a driver installed?");
	r = find_calls(&l);
	if (r < 0)
		return r; /* without DestroyInstance it cannot be freed */
	if (l.EnumeratePhysicalDevices(l.instance, &n, all) < 0 || n == 0)
		r = err_set(-ENOENT, "vulkan: there is no device");
	else
		r = vulkan_choose(l.get, l.instance, all, n, &l.physical);
	if (r == 0)
		say(&l, ret, cap);
	l.DestroyInstance(l.instance, NULL);
	return r;
}
