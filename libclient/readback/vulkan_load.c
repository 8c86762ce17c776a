/* SPDX-License-Identifier: Apache-2.0 */
/* See vulkan_load.h; and sim_readback_probe(). */
#include "vulkan_load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "err.h"

#define DEVICES_MAX 16

/* Loaded once and never unloaded: not all drivers support unloading. */
int vulkan_loader(PFN_vkGetInstanceProcAddr *ret)
{
	void *lib = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!lib)
		return err_set(-ENOENT, "vulkan: %s; install the loader (libvulkan1) and a driver", dlerror());
	*(void **)ret = dlsym(lib, "vkGetInstanceProcAddr");
	dlclose(lib);
	return *ret ? 0 : err_set(-ENOENT, "vulkan: libvulkan.so.1 has no vkGetInstanceProcAddr");
}

const char *vulkan_result(VkResult r)
{
	switch (r) {
	case VK_SUCCESS:
		return "VK_SUCCESS";
	case VK_ERROR_OUT_OF_HOST_MEMORY:
		return "VK_ERROR_OUT_OF_HOST_MEMORY";
	case VK_ERROR_OUT_OF_DEVICE_MEMORY:
		return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
	case VK_ERROR_DEVICE_LOST:
		return "VK_ERROR_DEVICE_LOST";
	case VK_ERROR_INVALID_EXTERNAL_HANDLE:
		return "VK_ERROR_INVALID_EXTERNAL_HANDLE";
	case VK_ERROR_INCOMPATIBLE_DRIVER:
		return "VK_ERROR_INCOMPATIBLE_DRIVER";
	case VK_ERROR_INITIALIZATION_FAILED:
		return "VK_ERROR_INITIALIZATION_FAILED";
	default:
		return "another VkResult";
	}
}

int vulkan_load(const struct sim_readback_vulkan *v, struct vulkan_calls *ret)
{
	PFN_vkGetInstanceProcAddr get = NULL;
	struct vulkan_calls c = { .GetDeviceProcAddr = NULL };
	int r = 0;

	if (!v->instance || !v->physical_device || !v->device || !v->queue)
		return err_set(-EINVAL, "vulkan: instance, physical_device, device or queue is NULL");
	if (v->get_instance_proc_addr)
		*(void **)&get = v->get_instance_proc_addr;
	else
		r = vulkan_loader(&get);
	if (r < 0)
		return r;
#define X(name) \
	c.name = (PFN_vk##name)get(v->instance, "vk" #name); \
	if (!c.name) \
		return err_set(-EOPNOTSUPP, \
			       "vulkan: the instance has no vk" #name "; make it one of Vulkan 1.2 or later");
	VULKAN_INSTANCE_CALLS(X)
#undef X
#define X(name) \
	c.name = (PFN_vk##name)c.GetDeviceProcAddr(v->device, "vk" #name); \
	if (!c.name) \
		return err_set(-EOPNOTSUPP, \
			       "vulkan: the device has no vk" #name "; make it one of Vulkan 1.2 or later");
	VULKAN_DEVICE_CALLS(X)
#undef X
	c.GetMemoryHostPointerPropertiesEXT =
		(PFN_vkGetMemoryHostPointerPropertiesEXT)c.GetDeviceProcAddr(v->device,
									     "vkGetMemoryHostPointerPropertiesEXT");
	*ret = c;
	return 0;
}

/* ---- probe ---- */

static bool serves(VkPhysicalDevice d, PFN_vkGetPhysicalDeviceProperties2 properties,
		   PFN_vkGetPhysicalDeviceFeatures2 features)
{
	VkPhysicalDeviceProperties2 p = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 };
	VkPhysicalDeviceTimelineSemaphoreFeatures t = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES
	};
	VkPhysicalDeviceFeatures2 f = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &t };

	properties(d, &p);
	if (p.properties.apiVersion < VK_API_VERSION_1_2)
		return false;
	features(d, &f);
	return t.timelineSemaphore;
}

int vulkan_choose(PFN_vkGetInstanceProcAddr get, VkInstance i, const VkPhysicalDevice *all, uint32_t n,
		  VkPhysicalDevice *ret)
{
	PFN_vkGetPhysicalDeviceProperties2 properties =
		(PFN_vkGetPhysicalDeviceProperties2)get(i, "vkGetPhysicalDeviceProperties2");
	PFN_vkGetPhysicalDeviceFeatures2 features =
		(PFN_vkGetPhysicalDeviceFeatures2)get(i, "vkGetPhysicalDeviceFeatures2");

	for (uint32_t k = 0; properties && features && k < n; k++) {
		if (serves(all[k], properties, features)) {
			*ret = all[k];
			return 0;
		}
	}
	return err_set(-EOPNOTSUPP, "vulkan: none of %u devices has Vulkan 1.2 with timeline semaphores", n);
}

static int probe_instance(PFN_vkGetInstanceProcAddr get, VkInstance i)
{
	PFN_vkEnumeratePhysicalDevices list = (PFN_vkEnumeratePhysicalDevices)get(i, "vkEnumeratePhysicalDevices");
	VkPhysicalDevice all[DEVICES_MAX], one;
	uint32_t n = DEVICES_MAX;
	VkResult r;

	if (!list)
		return err_set(-EOPNOTSUPP, "vulkan: the loader has no vkEnumeratePhysicalDevices");
	r = list(i, &n, all);
	if ((r != VK_SUCCESS && r != VK_INCOMPLETE) || n == 0)
		return err_set(-ENOENT, "vulkan: there is no device; install a driver, mesa-vulkan-drivers has one "
					"that needs no GPU");
	return vulkan_choose(get, i, all, n, &one);
}

int vulkan_probe(void)
{
	VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2 };
	VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app };
	PFN_vkGetInstanceProcAddr get = NULL;
	PFN_vkCreateInstance create;
	PFN_vkDestroyInstance destroy;
	VkInstance i;
	VkResult vr;
	int r = vulkan_loader(&get);

	if (r < 0)
		return r;
	create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
	vr = create ? create(&info, NULL, &i) : VK_ERROR_INITIALIZATION_FAILED;
	if (vr != VK_SUCCESS)
		return err_set(-ENOENT, "vulkan: no instance could be created: %s; is a driver installed?",
			       vulkan_result(vr));
	r = probe_instance(get, i);
	destroy = (PFN_vkDestroyInstance)get(i, "vkDestroyInstance");
	if (destroy)
		destroy(i, NULL);
	return r;
}
