/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vulkan: each start records one copy, and submits it to the caller's queue after the drawing commands; it signals the
 * next value of a timeline semaphore. Thread: the owner's.
 */
#include <limits.h>
#include <stdio.h>

#include "err.h"
#include "mem.h"
#include "vulkan_private.h"

#define ROWS_AT_ONCE 64u

static struct vulkan *of(struct device *d)
{
	return (struct vulkan *)(void *)d;
}

static int failed(const char *what, VkResult r)
{
	if (r == VK_ERROR_DEVICE_LOST)
		return err_set(-ENODEV, "vulkan: the device is lost (%s); create another, and another read-back", what);
	return err_set(r == VK_ERROR_OUT_OF_HOST_MEMORY || r == VK_ERROR_OUT_OF_DEVICE_MEMORY ? -ENOMEM : -EIO,
		       "vulkan: %s: %s", what, vulkan_result(r));
}

static int vulkan_add(struct device *d, struct device_request *q)
{
	struct vulkan *v = of(d);
	VkCommandBufferAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
					     .commandPool = v->pool,
					     .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
					     .commandBufferCount = 1 };
	struct vulkan_place *p = MEM_NEW(struct vulkan_place);
	VkResult r;

	if (!p)
		return err_nomem();
	r = v->vk.AllocateCommandBuffers(v->device, &info, &p->commands);
	if (r != VK_SUCCESS) {
		mem_free(p);
		return failed("vkAllocateCommandBuffers", r);
	}
	q->own = p;
	return 0;
}

/* ---- commands ---- */

static void image_layout(struct vulkan *v, const struct device_request *q, bool back)
{
	const VkImageLayout theirs = (VkImageLayout)q->source->vulkan.layout;
	const VkImageLayout ours = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
	VkImageMemoryBarrier b = {
		.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
		.srcAccessMask = back ? VK_ACCESS_TRANSFER_READ_BIT : VK_ACCESS_MEMORY_WRITE_BIT,
		.dstAccessMask =
			back ? VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT : VK_ACCESS_TRANSFER_READ_BIT,
		.oldLayout = back ? ours : theirs,
		.newLayout = back ? theirs : ours,
		.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
		.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
		.image = (VkImage)q->source->vulkan.image,
		.subresourceRange = { .aspectMask = q->source->vulkan.depth ? VK_IMAGE_ASPECT_DEPTH_BIT
									    : VK_IMAGE_ASPECT_COLOR_BIT,
				      .baseMipLevel = q->source->vulkan.level,
				      .levelCount = 1,
				      .baseArrayLayer = q->source->vulkan.layer,
				      .layerCount = 1 },
	};

	v->vk.CmdPipelineBarrier(((struct vulkan_place *)q->own)->commands,
				 back ? VK_PIPELINE_STAGE_TRANSFER_BIT : VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
				 back ? VK_PIPELINE_STAGE_ALL_COMMANDS_BIT : VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL,
				 0, NULL, 1, &b);
}

static void copy_image(struct vulkan *v, const struct device_request *q, VkBuffer to, VkDeviceSize offset)
{
	const VkBufferImageCopy region = {
		.bufferOffset = offset,
		.bufferRowLength = q->direct ? (uint32_t)(q->to_pitch / q->pixel) : 0,
		.imageSubresource = { .aspectMask = q->source->vulkan.depth ? VK_IMAGE_ASPECT_DEPTH_BIT
									    : VK_IMAGE_ASPECT_COLOR_BIT,
				      .mipLevel = q->source->vulkan.level,
				      .baseArrayLayer = q->source->vulkan.layer,
				      .layerCount = 1 },
		.imageExtent = { q->width, q->height, 1 },
	};

	image_layout(v, q, false);
	v->vk.CmdCopyImageToBuffer(((struct vulkan_place *)q->own)->commands, (VkImage)q->source->vulkan.image,
				   VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to, 1, &region);
	image_layout(v, q, true);
}

static void copy_buffer(struct vulkan *v, const struct device_request *q, VkBuffer to, VkDeviceSize offset)
{
	const VkMemoryBarrier drawn = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
					.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
					.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT };
	VkCommandBuffer commands = ((struct vulkan_place *)q->own)->commands;
	const size_t row = q->width * q->pixel, to_pitch = q->direct ? q->to_pitch : row;
	VkBufferCopy region[ROWS_AT_ONCE];
	uint32_t n = 0;

	v->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1,
				 &drawn, 0, NULL, 0, NULL);
	if (to_pitch == row && q->source_pitch == row) {
		region[0] = (VkBufferCopy){ q->source->offset, offset, row * q->height };
		v->vk.CmdCopyBuffer(commands, (VkBuffer)q->source->vulkan.buffer, to, 1, region);
		return;
	}
	for (uint32_t y = 0; y < q->height; y++) {
		region[n++] = (VkBufferCopy){ q->source->offset + y * q->source_pitch, offset + y * to_pitch, row };
		if (n == ROWS_AT_ONCE || y + 1 == q->height) {
			v->vk.CmdCopyBuffer(commands, (VkBuffer)q->source->vulkan.buffer, to, n, region);
			n = 0;
		}
	}
}

static VkResult record(struct vulkan *v, const struct device_request *q, VkBuffer to, VkDeviceSize offset)
{
	const VkMemoryBarrier copied = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
					 .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
					 .dstAccessMask = VK_ACCESS_HOST_READ_BIT };
	const VkCommandBufferBeginInfo once = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
						.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT };
	VkCommandBuffer commands = ((struct vulkan_place *)q->own)->commands;
	VkResult r = v->vk.BeginCommandBuffer(commands, &once);

	if (r != VK_SUCCESS)
		return r;
	if (q->source->vulkan.image)
		copy_image(v, q, to, offset);
	else
		copy_buffer(v, q, to, offset);
	/* later commands in the queue may draw into the source again */
	v->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
				 VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &copied, 0,
				 NULL, 0, NULL);
	return v->vk.EndCommandBuffer(commands);
}

static VkResult submit(struct vulkan *v, struct vulkan_place *p)
{
	const uint64_t value = v->value + 1;
	const VkTimelineSemaphoreSubmitInfo timeline = { .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
							 .signalSemaphoreValueCount = 1,
							 .pSignalSemaphoreValues = &value };
	const VkSubmitInfo info = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				    .pNext = &timeline,
				    .commandBufferCount = 1,
				    .pCommandBuffers = &p->commands,
				    .signalSemaphoreCount = 1,
				    .pSignalSemaphores = &v->timeline };
	VkResult r = v->vk.QueueSubmit(v->queue, 1, &info, VK_NULL_HANDLE);

	if (r == VK_SUCCESS)
		p->value = v->value = value;
	return r;
}

static int check_source(const struct device_request *q)
{
	const struct sim_readback_source *s = q->source;

	if (!s->vulkan.image == !s->vulkan.buffer)
		return err_set(-EINVAL, "vulkan: one of source.vulkan.image and buffer has to be given");
	if (s->vulkan.image && (s->offset || s->row_pitch))
		return err_set(-EINVAL, "vulkan: source.offset and row_pitch are of a buffer, and an image was given");
	if (s->vulkan.image &&
	    (s->vulkan.layout == VK_IMAGE_LAYOUT_UNDEFINED || s->vulkan.layout == VK_IMAGE_LAYOUT_PREINITIALIZED))
		return err_set(
			-EINVAL,
			"vulkan: source.vulkan.layout is UNDEFINED or PREINITIALIZED, which an image with contents cannot keep");
	if (s->vulkan.depth && s->format != SIM_READBACK_R32F)
		return err_set(-EINVAL, "vulkan: depth is read as R32F");
	return 0;
}

static void vulkan_release(struct device *d, struct device_request *q)
{
	struct vulkan_place *p = q->own;

	vulkan_import_unref(of(d), p->import);
	p->import = NULL;
}

static int vulkan_start(struct device *d, struct device_request *q)
{
	struct vulkan *v = of(d);
	VkBuffer to;
	VkDeviceSize offset;
	VkResult vr;
	int r = check_source(q);

	if (r == 0)
		r = vulkan_target(v, q, &to, &offset);
	if (r < 0)
		return r;
	vr = record(v, q, to, offset);
	if (vr == VK_SUCCESS)
		vr = submit(v, q->own);
	if (vr == VK_SUCCESS)
		return 0;
	vulkan_release(d, q);
	return failed("the copy could not be submitted", vr);
}

/* ---- the rest ---- */

static int vulkan_poll(struct device *d, struct device_request *q)
{
	struct vulkan *v = of(d);
	uint64_t value;
	VkResult r = v->vk.GetSemaphoreCounterValue(v->device, v->timeline, &value);

	if (r != VK_SUCCESS)
		return failed("vkGetSemaphoreCounterValue", r);
	return value >= ((struct vulkan_place *)q->own)->value;
}

static bool vulkan_abandon(struct device *d, struct device_request *q)
{
	(void)d;
	(void)q;
	return false; /* the submitted copy will be written */
}

static void vulkan_wait(struct device *d, struct device_request *q, int64_t dur_ns)
{
	struct vulkan *v = of(d);
	const VkSemaphoreWaitInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
					   .semaphoreCount = 1,
					   .pSemaphores = &v->timeline,
					   .pValues = &((struct vulkan_place *)q->own)->value };

	(void)v->vk.WaitSemaphores(v->device, &info, dur_ns < 0 ? UINT64_MAX : (uint64_t)dur_ns);
}

static void vulkan_remove(struct device *d, struct device_request *q, bool writes)
{
	struct vulkan *v = of(d);
	struct vulkan_place *p = q->own;

	if (!writes) {
		vulkan_import_unref(v, p->import);
		vulkan_staging_finish(v, &p->staging);
		v->vk.FreeCommandBuffers(v->device, v->pool, 1, &p->commands);
	}
	mem_free(p);
}

static void vulkan_destroy(struct device *d, bool writes)
{
	struct vulkan *v = of(d);

	vulkan_import_unref(v, v->import);
	if (!writes) {
		v->vk.DestroySemaphore(v->device, v->timeline, NULL);
		v->vk.DestroyCommandPool(v->device, v->pool, NULL);
	}
	mem_free(v);
}

static const struct device_ops vulkan_ops = {
	.name = "vulkan",
	.add = vulkan_add,
	.start = vulkan_start,
	.poll = vulkan_poll,
	.abandon = vulkan_abandon,
	.wait = vulkan_wait,
	.release = vulkan_release,
	.remove = vulkan_remove,
	.destroy = vulkan_destroy,
};

static int create_objects(struct vulkan *v, uint32_t family)
{
	const VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
					       .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
					       .queueFamilyIndex = family };
	const VkSemaphoreTypeCreateInfo timeline = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
						     .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE };
	const VkSemaphoreCreateInfo semaphore = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
						  .pNext = &timeline };
	VkResult r = v->vk.CreateCommandPool(v->device, &pool, NULL, &v->pool);

	if (r == VK_SUCCESS)
		r = v->vk.CreateSemaphore(v->device, &semaphore, NULL, &v->timeline);
	return r == VK_SUCCESS ? 0 : failed("no command pool or timeline semaphore", r);
}

static void look_up_limits(struct vulkan *v, VkPhysicalDevice physical)
{
	VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT
	};
	VkPhysicalDeviceMaintenance3Properties sizes = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
		.pNext = v->vk.GetMemoryHostPointerPropertiesEXT ? &host : NULL
	};
	VkPhysicalDeviceProperties2 p = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &sizes };

	v->vk.GetPhysicalDeviceProperties2(physical, &p);
	v->vk.GetPhysicalDeviceMemoryProperties(physical, &v->memory);
	v->import_align = host.minImportedHostPointerAlignment ? host.minImportedHostPointerAlignment : 4096;
	v->allocation_max = sizes.maxMemoryAllocationSize;
}

int vulkan_create(const struct sim_readback_options *o, struct device **ret)
{
	struct vulkan *v = MEM_NEW(struct vulkan);
	int r;

	if (!v)
		return err_nomem();
	v->d.ops = &vulkan_ops;
	r = vulkan_load(&o->vulkan, &v->vk);
	if (r < 0) {
		mem_free(v);
		return r;
	}
	v->device = o->vulkan.device;
	v->queue = o->vulkan.queue;
	v->region = (struct segment){ (uintptr_t)o->memory, o->memory_size };
	look_up_limits(v, o->vulkan.physical_device);
	snprintf(v->d.how, sizeof(v->d.how), "vulkan: nothing was started yet");
	r = create_objects(v, o->vulkan.queue_family);
	if (r < 0) {
		vulkan_destroy(&v->d, false);
		return r;
	}
	*ret = &v->d;
	return 0;
}
