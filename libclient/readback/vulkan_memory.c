/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the device writes: into the data plane's segment, which is imported as a whole, once for each generation, or
 * into the caller's region, or into memory of its own (staging). The driver's rules of alignment are checked here, as
 * not every driver refuses a violation. Thread: the owner's.
 */
#include "vulkan_private.h"

#include <stdio.h>

#include "err.h"
#include "mem.h"

#define HOST_MEMORY VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT

static int memory_type(const struct vulkan *v, uint32_t bits, VkMemoryPropertyFlags want)
{
	for (uint32_t i = 0; i < v->memory.memoryTypeCount; i++) {
		if (bits & 1u << i && (v->memory.memoryTypes[i].propertyFlags & want) == want)
			return (int)i;
	}
	return -1;
}

static int refused(const char *what, VkResult r)
{
	return err_set(r == VK_ERROR_DEVICE_LOST            ? -ENODEV
		       : r == VK_ERROR_OUT_OF_HOST_MEMORY   ? -ENOMEM
		       : r == VK_ERROR_OUT_OF_DEVICE_MEMORY ? -ENOMEM
							    : -EIO,
		       "vulkan: %s: %s", what, vulkan_result(r));
}

/* ---- imports ---- */

static void import_free(struct vulkan *v, struct vulkan_import *i)
{
	v->vk.DestroyBuffer(v->device, i->buffer, NULL);
	v->vk.FreeMemory(v->device, i->memory, NULL);
	mem_free(i);
}

void vulkan_import_unref(struct vulkan *v, struct vulkan_import *i)
{
	if (i && --i->refs == 0)
		import_free(v, i);
}

static int import_memory(struct vulkan *v, struct vulkan_import *i)
{
	VkMemoryHostPointerPropertiesEXT p = { .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT };
	VkImportMemoryHostPointerInfoEXT host = { .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
						  .handleType = HOST_MEMORY,
						  .pHostPointer = (void *)i->base };
	VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
				      .pNext = &host,
				      .allocationSize = i->size };
	VkMemoryRequirements need;
	VkResult r = v->vk.GetMemoryHostPointerPropertiesEXT(v->device, HOST_MEMORY, host.pHostPointer, &p);
	int type;

	if (r != VK_SUCCESS)
		return refused("the driver refuses this memory", r);
	v->vk.GetBufferMemoryRequirements(v->device, i->buffer, &need);
	type = memory_type(v, p.memoryTypeBits & need.memoryTypeBits,
			   VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
	if (type < 0)
		return err_set(-EIO, "vulkan: no coherent type of memory goes with this memory");
	if (need.size > i->size)
		return err_set(-EIO, "vulkan: a buffer over this memory would need %llu bytes, and it has %zu",
			       (unsigned long long)need.size, i->size);
	info.memoryTypeIndex = (uint32_t)type;
	r = v->vk.AllocateMemory(v->device, &info, NULL, &i->memory);
	if (r != VK_SUCCESS)
		return refused("the driver does not import this memory", r);
	r = v->vk.BindBufferMemory(v->device, i->buffer, i->memory, 0);
	return r == VK_SUCCESS ? 0 : refused("no buffer lies over this memory", r);
}

static int import_create(struct vulkan *v, uintptr_t base, size_t size, struct vulkan_import **ret)
{
	VkExternalMemoryBufferCreateInfo outside = { .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
						     .handleTypes = HOST_MEMORY };
	VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
				    .pNext = &outside,
				    .size = size,
				    .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT };
	struct vulkan_import *i = MEM_NEW(struct vulkan_import);
	VkResult vr;
	int r;

	if (!i)
		return err_nomem();
	i->refs = 1;
	i->base = base;
	i->size = size;
	vr = v->vk.CreateBuffer(v->device, &info, NULL, &i->buffer);
	r = vr == VK_SUCCESS ? import_memory(v, i) : refused("no buffer of that size", vr);
	if (r < 0) {
		import_free(v, i);
		return r;
	}
	v->d.imports++;
	*ret = i;
	return 0;
}

/* Rounds inwards to the driver's alignment of addresses and sizes. */
static int import_segment(struct vulkan *v, const struct segment *s, struct vulkan_import **ret)
{
	uintptr_t a = (uintptr_t)v->import_align, base = (s->base + a - 1) / a * a, end = (s->base + s->size) / a * a;

	if (!v->vk.GetMemoryHostPointerPropertiesEXT)
		return err_set(-EOPNOTSUPP, "vulkan: VK_EXT_external_memory_host is not enabled");
	if (end <= base)
		return err_set(-EOPNOTSUPP, "vulkan: the memory has no %zu bytes at a multiple of that", (size_t)a);
	if (end - base > v->allocation_max)
		return err_set(-EOPNOTSUPP, "vulkan: the memory has %zu bytes, above the driver's %llu",
			       (size_t)(end - base), (unsigned long long)v->allocation_max);
	return import_create(v, base, end - base, ret);
}

static bool lies_in(const struct vulkan_import *i, const struct device_request *q)
{
	uintptr_t to = (uintptr_t)q->to;

	return to >= i->base && to - i->base <= i->size && q->to_size <= i->size - (to - i->base);
}

static void import_anew(struct vulkan *v, const struct device_request *q)
{
	struct segment s = v->region;
	int r = 0;

	vulkan_import_unref(v, v->import); /* pending requests have references of their own */
	v->import = NULL;
	v->tried = true;
	v->generation = q->generation;
	if (q->in_slot)
		r = segment_find(q->to, &s);
	else if (!s.size)
		r = err_set(-ENOENT, "the target is not in options.memory");
	if (r == 0)
		r = import_segment(v, &s, &v->import);
	if (r < 0)
		snprintf(v->why_not, sizeof(v->why_not), "%s", err_why());
}

/* Whether the device can write the target itself; else d.how says why not. */
static bool direct(struct vulkan *v, const struct device_request *q)
{
	size_t offset;

	if (q->convert) {
		snprintf(v->d.how, sizeof(v->d.how),
			 "vulkan: memory of the device's, and one copy, which changes the format or the order of rows");
		return false;
	}
	if (!v->tried || (q->in_slot && v->generation != q->generation))
		import_anew(v, q);
	if (!v->import) {
		snprintf(v->d.how, sizeof(v->d.how), "vulkan: memory of the device's, and one copy: %s", v->why_not);
		return false;
	}
	if (!lies_in(v->import, q)) {
		snprintf(v->d.how, sizeof(v->d.how),
			 "vulkan: memory of the device's, and one copy: the target is not in the imported memory");
		return false;
	}
	offset = (uintptr_t)q->to - v->import->base;
	if (offset % 4 || offset % q->pixel || q->to_pitch % q->pixel) {
		snprintf(
			v->d.how, sizeof(v->d.how),
			"vulkan: memory of the device's, and one copy: the target is not aligned to 4 bytes and a pixel");
		return false;
	}
	snprintf(v->d.how, sizeof(v->d.how), "vulkan: the device writes the target itself, in %zu imported bytes",
		 v->import->size);
	return true;
}

/* ---- staging ---- */

void vulkan_staging_finish(struct vulkan *v, struct vulkan_staging *s)
{
	v->vk.DestroyBuffer(v->device, s->buffer, NULL);
	v->vk.FreeMemory(v->device, s->memory, NULL); /* also unmaps it */
	*s = (struct vulkan_staging){ .size = 0 };
}

static VkResult staging_memory(struct vulkan *v, struct vulkan_staging *s)
{
	const VkMemoryPropertyFlags needed = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkMemoryRequirements need;
	VkResult r;
	int type;

	v->vk.GetBufferMemoryRequirements(v->device, s->buffer, &need);
	/* preferably cached, as the CPU reads it */
	type = memory_type(v, need.memoryTypeBits, needed | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
	if (type < 0)
		type = memory_type(v, need.memoryTypeBits, needed);
	if (type < 0)
		return VK_ERROR_OUT_OF_DEVICE_MEMORY;
	info.allocationSize = need.size;
	info.memoryTypeIndex = (uint32_t)type;
	r = v->vk.AllocateMemory(v->device, &info, NULL, &s->memory);
	if (r == VK_SUCCESS)
		r = v->vk.BindBufferMemory(v->device, s->buffer, s->memory, 0);
	if (r == VK_SUCCESS)
		r = v->vk.MapMemory(v->device, s->memory, 0, VK_WHOLE_SIZE, 0, &s->mapped);
	return r;
}

static int staging_init(struct vulkan *v, struct vulkan_staging *s, size_t size)
{
	VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
				    .size = size,
				    .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT };
	VkResult r;

	if (s->size >= size)
		return 0;
	vulkan_staging_finish(v, s);
	r = v->vk.CreateBuffer(v->device, &info, NULL, &s->buffer);
	if (r == VK_SUCCESS)
		r = staging_memory(v, s);
	if (r != VK_SUCCESS) {
		vulkan_staging_finish(v, s);
		return refused("no memory for an image", r);
	}
	s->size = size;
	return 0;
}

int vulkan_target(struct vulkan *v, struct device_request *q, VkBuffer *ret, VkDeviceSize *ret_offset)
{
	struct vulkan_place *p = q->own;
	int r;

	q->direct = direct(v, q);
	if (q->direct) {
		p->import = v->import;
		p->import->refs++;
		*ret = p->import->buffer;
		*ret_offset = (uintptr_t)q->to - p->import->base;
		return 0;
	}
	r = staging_init(v, &p->staging, q->width * q->pixel * q->height);
	if (r < 0)
		return r;
	q->from = p->staging.mapped;
	q->from_pitch = q->width * q->pixel;
	*ret = p->staging.buffer;
	*ret_offset = 0;
	return 0;
}
