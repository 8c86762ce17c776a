/* SPDX-License-Identifier: Apache-2.0 */
/* See render.h. */
#include "render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "render_private.h"

#define STREETS_M 900.0f

/* ---- creation ---- */

static int copy_in(const struct gpu *g, size_t a_size, const void *a, size_t b_size, const void *b,
		   VkBufferUsageFlags usage, struct gpu_buffer *ret)
{
	int r = gpu_buffer_create(g, a_size + b_size, usage, ret);

	if (r < 0)
		return r;
	memcpy(ret->mapped, a, a_size);
	if (b_size)
		memcpy((uint8_t *)ret->mapped + a_size, b, b_size);
	return 0;
}

static int create_geometry(struct render *r)
{
	const struct mesh *f = &r->forms.mesh, *s = r->streets ? &r->streets->mesh : NULL;
	int e = copy_in(r->g, f->n * sizeof(*f->v), f->v, s ? s->n * sizeof(*s->v) : 0, s ? s->v : NULL,
			VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, &r->vertices);

	if (e == 0)
		e = copy_in(r->g, f->n_index * sizeof(*f->index), f->index, s ? s->n_index * sizeof(*s->index) : 0,
			    s ? s->index : NULL, VK_BUFFER_USAGE_INDEX_BUFFER_BIT, &r->indices);
	r->street_vertex = f->n;
	r->street_index = f->n_index;
	return e;
}

static int create_table(struct render *r, struct camera *c)
{
	const struct lens_params *p = &c->c.lens.p;
	int e = gpu_buffer_create(r->g, sizeof(float) * 2 * p->width * p->height, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
				  &c->table);

	if (e < 0)
		return e;
	lens_table(&c->c.lens, &c->s, c->table.mapped);
	return pipelines_create_bend(r->g, &r->p, c->c.kind, p->width, &c->bend);
}

static int create_camera(struct render *r, struct camera *c)
{
	const struct lens_params *p = &c->c.lens.p;
	VkFormat format = pipelines_format(c->c.kind);
	char why[ERR_WHY_MAX];
	int e = 0;

	c->ideal = lens_is_ideal(&c->c.lens);
	if (c->ideal)
		c->s = (struct lens_source){
			.width = p->width, .height = p->height, .f = p->fx, .cx = p->cx, .cy = p->cy
		};
	else
		e = lens_source(&c->c.lens, &c->s, why, sizeof(why));
	if (e < 0)
		return err_set(e, "%s", why);
	view_planes(c);
	e = gpu_image_create(r->g, p->width, p->height, format, VK_SAMPLE_COUNT_1_BIT,
			     VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT, &c->image);
	if (e < 0 || c->ideal)
		return e;
	e = gpu_image_create(r->g, c->s.width, c->s.height, format, VK_SAMPLE_COUNT_1_BIT,
			     VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_SAMPLED_BIT, &c->picture);
	return e < 0 ? e : create_table(r, c);
}

/* Intermediate attachments of all cameras, in the size of the largest. */
static int create_shared(struct render *r, unsigned kinds)
{
	uint32_t w = 1, h = 1;
	int e = 0;

	for (size_t i = 0; i < r->n; i++) {
		w = w > r->cameras[i].s.width ? w : r->cameras[i].s.width;
		h = h > r->cameras[i].s.height ? h : r->cameras[i].s.height;
	}
	if (kinds & 1u << KIND_COLOUR && r->samples != VK_SAMPLE_COUNT_1_BIT) {
		e = gpu_image_create(r->g, w, h, pipelines_format(KIND_COLOUR), r->samples,
				     VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT,
				     &r->wide);
		if (e == 0)
			e = gpu_image_create(r->g, w, h, r->g->depth_format, r->samples,
					     VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT |
						     VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT,
					     &r->depth_wide);
		kinds &= ~(1u << KIND_COLOUR);
	}
	if (e < 0 || kinds == 0)
		return e;
	return gpu_image_create(r->g, w, h, r->g->depth_format, VK_SAMPLE_COUNT_1_BIT,
				VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, &r->depth);
}

static int create_sampler(struct render *r)
{
	const VkSamplerCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
					   .magFilter = VK_FILTER_LINEAR,
					   .minFilter = VK_FILTER_LINEAR,
					   .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
					   .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
					   .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE };

	return gpu_check(r->g->vk.CreateSampler(r->g->device, &info, NULL, &r->sampler), "making a sampler");
}

static int create_sets(struct render *r)
{
	const uint32_t n = RENDER_IN_FLIGHT + RENDER_CAMERAS_MAX;
	const VkDescriptorPoolSize sizes[] = { { VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, RENDER_IN_FLIGHT },
					       { VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, RENDER_CAMERAS_MAX },
					       { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, RENDER_CAMERAS_MAX } };
	const VkDescriptorPoolCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
						  .maxSets = n,
						  .poolSizeCount = 3,
						  .pPoolSizes = sizes };

	return gpu_check(r->g->vk.CreateDescriptorPool(r->g->device, &info, NULL, &r->sets), "making a pool of sets");
}

static int allocate_set(struct render *r, const VkDescriptorSetLayout *layout, VkDescriptorSet *ret)
{
	const VkDescriptorSetAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
						   .descriptorPool = r->sets,
						   .descriptorSetCount = 1,
						   .pSetLayouts = layout };

	return gpu_check(r->g->vk.AllocateDescriptorSets(r->g->device, &info, ret), "making a set");
}

static int create_bend_set(struct render *r, struct camera *c)
{
	const VkDescriptorImageInfo image = { r->sampler, c->picture.view, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL };
	const VkDescriptorBufferInfo buffer = { c->table.buffer, 0, VK_WHOLE_SIZE };
	int e = allocate_set(r, &r->p.bend_set, &c->bend_set);
	const VkWriteDescriptorSet writes[] = {
		{ .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
		  .dstSet = c->bend_set,
		  .dstBinding = 0,
		  .descriptorCount = 1,
		  .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
		  .pImageInfo = &image },
		{ .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
		  .dstSet = c->bend_set,
		  .dstBinding = 1,
		  .descriptorCount = 1,
		  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
		  .pBufferInfo = &buffer },
	};

	if (e == 0)
		r->g->vk.UpdateDescriptorSets(r->g->device, 2, writes, 0, NULL);
	return e;
}

static int create_flight(struct render *r, struct flight *f)
{
	const VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	const VkCommandBufferAllocateInfo commands = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
						       .commandPool = r->pool,
						       .commandBufferCount = 1 };
	VkDescriptorBufferInfo buffer = { .range = sizeof(struct frame) };
	VkWriteDescriptorSet write = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
				       .descriptorCount = 1,
				       .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
				       .pBufferInfo = &buffer };
	int e = gpu_check(r->g->vk.CreateFence(r->g->device, &fence, NULL, &f->fence), "making a fence");

	if (e == 0)
		e = gpu_check(r->g->vk.AllocateCommandBuffers(r->g->device, &commands, &f->commands),
			      "making a command buffer");
	if (e == 0)
		e = gpu_buffer_create(r->g, r->n * r->frame_size, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, &f->frames);
	if (e == 0)
		e = gpu_buffer_create(r->g, r->n * INSTANCES_MAX * sizeof(struct instance),
				      VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, &f->instances);
	if (e == 0)
		e = allocate_set(r, &r->p.frame_set, &f->set);
	if (e < 0)
		return e;
	buffer.buffer = f->frames.buffer;
	write.dstSet = f->set;
	r->g->vk.UpdateDescriptorSets(r->g->device, 1, &write, 0, NULL);
	return 0;
}

static int create_flights(struct render *r)
{
	const VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
					       .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
					       .queueFamilyIndex = r->g->family };
	VkPhysicalDeviceProperties p;
	size_t align;
	int e = gpu_check(r->g->vk.CreateCommandPool(r->g->device, &pool, NULL, &r->pool), "making a command pool");

	r->g->vk.GetPhysicalDeviceProperties(r->g->physical, &p);
	align = p.limits.minUniformBufferOffsetAlignment ? p.limits.minUniformBufferOffsetAlignment : 1;
	r->frame_size = (sizeof(struct frame) + align - 1) / align * align;
	for (unsigned i = 0; i < RENDER_IN_FLIGHT && e == 0; i++)
		e = create_flight(r, &r->flights[i]);
	return e;
}

static int create_all(struct render *r, const struct render_options *o)
{
	unsigned kinds = 0;
	int e;

	for (size_t i = 0; i < o->n; i++) {
		r->cameras[i].c = o->cameras[i];
		kinds |= 1u << o->cameras[i].kind;
	}
	e = forms_build(&r->forms);
	if (e == 0)
		e = pipelines_create(r->g, kinds, r->samples, &r->p);
	if (e == 0)
		e = create_geometry(r);
	if (e == 0)
		e = create_sampler(r);
	if (e == 0)
		e = create_sets(r);
	for (size_t i = 0; i < r->n && e == 0; i++) {
		e = create_camera(r, &r->cameras[i]);
		if (e == 0 && !r->cameras[i].ideal)
			e = create_bend_set(r, &r->cameras[i]);
	}
	if (e == 0)
		e = create_shared(r, kinds);
	return e < 0 ? e : create_flights(r);
}

int render_create(struct gpu *g, const struct render_options *o, struct render **ret)
{
	struct render *r;
	int e;

	if (o->n == 0 || o->n > RENDER_CAMERAS_MAX || (o->samples > 1 && o->samples != 4) || !(o->haze_m > 0))
		return err_set(-EINVAL, "1 to %u cameras, 0, 1 or 4 samples, haze above 0", RENDER_CAMERAS_MAX);
	r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(-ENOMEM, "no memory for the cameras");
	r->g = g;
	r->n = o->n;
	r->streets = o->streets;
	r->samples = o->samples == 4 || (o->samples == 0 && !g->on_cpu) ? VK_SAMPLE_COUNT_4_BIT : VK_SAMPLE_COUNT_1_BIT;
	r->haze = (float)(M_LOG2E / o->haze_m);
	e = create_all(r, o);
	if (e < 0)
		render_destroy(r);
	else
		*ret = r;
	return e;
}

void render_destroy(struct render *r)
{
	struct gpu *g;

	if (!r)
		return;
	g = r->g;
	(void)g->vk.DeviceWaitIdle(g->device);
	for (unsigned i = 0; i < RENDER_IN_FLIGHT; i++) {
		g->vk.DestroyFence(g->device, r->flights[i].fence, NULL);
		gpu_buffer_destroy(g, &r->flights[i].frames);
		gpu_buffer_destroy(g, &r->flights[i].instances);
	}
	for (size_t i = 0; i < r->n; i++) {
		g->vk.DestroyPipeline(g->device, r->cameras[i].bend, NULL);
		gpu_buffer_destroy(g, &r->cameras[i].table);
		gpu_image_destroy(g, &r->cameras[i].picture);
		gpu_image_destroy(g, &r->cameras[i].image);
	}
	gpu_image_destroy(g, &r->wide);
	gpu_image_destroy(g, &r->depth);
	gpu_image_destroy(g, &r->depth_wide);
	gpu_buffer_destroy(g, &r->vertices);
	gpu_buffer_destroy(g, &r->indices);
	g->vk.DestroySampler(g->device, r->sampler, NULL);
	g->vk.DestroyDescriptorPool(g->device, r->sets, NULL);
	g->vk.DestroyCommandPool(g->device, r->pool, NULL);
	pipelines_destroy(g, &r->p);
	forms_free(&r->forms);
	free(r);
}

/* ---- commands ---- */

static void image_barrier(const struct render *r, VkCommandBuffer c, VkImage image, VkImageAspectFlags aspect,
			  VkImageLayout from, VkImageLayout to)
{
	const VkImageMemoryBarrier b = { .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
					 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
					 .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
					 .oldLayout = from,
					 .newLayout = to,
					 .image = image,
					 .subresourceRange = { aspect, 0, 1, 0, 1 } };

	r->g->vk.CmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
				    NULL, 0, NULL, 1, &b);
}

static void draw_form(const struct drawing *d, int form, const struct form_runs *runs)
{
	for (int detail = 0; detail < FORM_DETAILS; detail++) {
		if (runs->at[form][detail].n)
			d->r->g->vk.CmdDrawIndexed(d->f->commands, d->r->forms.at[form][detail].n,
						   runs->at[form][detail].n, d->r->forms.at[form][detail].first, 0,
						   runs->at[form][detail].first);
	}
}

static bool sees_part(const struct drawing *d, const struct streets_part *p)
{
	const double *origin = d->r->streets->origin;
	double mid[3], radius = 0;

	for (int k = 0; k < 3; k++) {
		mid[k] = origin[k] + (double)(p->low[k] + p->high[k]) / 2 - d->view->at[k];
		radius += (double)((p->high[k] - p->low[k]) * (p->high[k] - p->low[k])) / 4;
	}
	radius = sqrt(radius);
	return hypot(mid[0], mid[1]) - radius < STREETS_M && view_sees(&d->r->cameras[d->camera], d->view, mid, radius);
}

/* Parts are consecutive: each run of visible ones is drawn with one command. */
static void draw_streets(const struct drawing *d)
{
	const struct streets *s = d->r->streets;

	for (size_t i = 0; s && i < s->n; i++) {
		uint32_t first = s->parts[i].first, n = 0;

		for (; i < s->n && sees_part(d, &s->parts[i]); i++)
			n += s->parts[i].n;
		if (n)
			d->r->g->vk.CmdDrawIndexed(d->f->commands, n, 1, d->r->street_index + first,
						   (int32_t)d->r->street_vertex, d->streets);
	}
}

/* The ground is drawn after what stands on it, so hidden pixels are not shaded. */
static void draw_colour(const struct drawing *d)
{
	const struct gpu_calls *vk = &d->r->g->vk;
	const struct pipelines *p = &d->r->p;
	VkCommandBuffer c = d->f->commands;

	vk->CmdBindPipeline(c, VK_PIPELINE_BIND_POINT_GRAPHICS, p->group[GROUP_THINGS]);
	for (int form = 0; form < FORM_BUILDING; form++)
		draw_form(d, form, &d->runs);
	vk->CmdBindPipeline(c, VK_PIPELINE_BIND_POINT_GRAPHICS, p->group[GROUP_FACADES]);
	draw_form(d, FORM_BUILDING, &d->runs);
	vk->CmdBindPipeline(c, VK_PIPELINE_BIND_POINT_GRAPHICS, p->group[GROUP_GROUND]);
	draw_streets(d);
	draw_form(d, FORM_GROUND, &d->runs);
	vk->CmdBindPipeline(c, VK_PIPELINE_BIND_POINT_GRAPHICS, p->shadow);
	for (int form = 0; form < FORM_GROUND; form++)
		draw_form(d, form, &d->shadows);
	vk->CmdBindPipeline(c, VK_PIPELINE_BIND_POINT_GRAPHICS, p->sky);
	vk->CmdDraw(c, 3, 1, 0, 0);
}

static void draw_data(const struct drawing *d, unsigned kind)
{
	d->r->g->vk.CmdBindPipeline(d->f->commands, VK_PIPELINE_BIND_POINT_GRAPHICS, d->r->p.data[kind]);
	for (int form = 0; form < FORM_COUNT; form++)
		draw_form(d, form, &d->runs);
	draw_streets(d);
}

static VkClearColorValue clear_of(unsigned kind)
{
	const union {
		float f;
		uint32_t u;
	} nothing = { .f = INFINITY }; /* REP 117: infinity where nothing was in range */

	return (VkClearColorValue){ .uint32 = { kind == KIND_DEPTH      ? nothing.u
						: kind == KIND_SEMANTIC ? LABEL_SKY
									: 0 } };
}

static void set_area(const struct drawing *d, uint32_t w, uint32_t h)
{
	const VkViewport viewport = { 0, 0, (float)w, (float)h, 0, 1 };
	const VkRect2D all = { { 0, 0 }, { w, h } };

	d->r->g->vk.CmdSetViewport(d->f->commands, 0, 1, &viewport);
	d->r->g->vk.CmdSetScissor(d->f->commands, 0, 1, &all);
}

static void draw_picture(const struct drawing *d, const struct gpu_image *to)
{
	const struct render *r = d->r;
	const struct camera *c = &r->cameras[d->camera];
	bool wide = c->c.kind == KIND_COLOUR && r->samples != VK_SAMPLE_COUNT_1_BIT;
	const struct gpu_image *depth = wide ? &r->depth_wide : &r->depth;
	VkCommandBuffer commands = d->f->commands;
	VkDeviceSize zero = 0, own = d->camera * INSTANCES_MAX * sizeof(struct instance);
	uint32_t at = (uint32_t)(d->camera * r->frame_size);
	const VkRenderingAttachmentInfo colour = {
		.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
		.imageView = wide ? r->wide.view : to->view,
		.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
		.resolveMode = wide ? VK_RESOLVE_MODE_AVERAGE_BIT : VK_RESOLVE_MODE_NONE,
		.resolveImageView = wide ? to->view : VK_NULL_HANDLE,
		.resolveImageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
		.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
		.storeOp = wide ? VK_ATTACHMENT_STORE_OP_DONT_CARE : VK_ATTACHMENT_STORE_OP_STORE,
		.clearValue.color = clear_of(c->c.kind)
	};
	const VkRenderingAttachmentInfo deep = { .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
						 .imageView = depth->view,
						 .imageLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
						 .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
						 .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE };
	const VkRenderingInfo info = { .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
				       .renderArea = { { 0, 0 }, { to->width, to->height } },
				       .layerCount = 1,
				       .colorAttachmentCount = 1,
				       .pColorAttachments = &colour,
				       .pDepthAttachment = &deep,
				       .pStencilAttachment = &deep };

	image_barrier(r, commands, to->image, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_UNDEFINED,
		      VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
	if (wide)
		image_barrier(r, commands, r->wide.image, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_UNDEFINED,
			      VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
	image_barrier(r, commands, depth->image, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT,
		      VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
	r->g->vk.CmdBeginRendering(commands, &info);
	set_area(d, to->width, to->height);
	r->g->vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, r->p.frame_layout, 0, 1, &d->f->set,
				       1, &at);
	r->g->vk.CmdBindVertexBuffers(commands, 0, 1, &r->vertices.buffer, &zero);
	r->g->vk.CmdBindVertexBuffers(commands, 1, 1, &d->f->instances.buffer, &own);
	r->g->vk.CmdBindIndexBuffer(commands, r->indices.buffer, 0, VK_INDEX_TYPE_UINT32);
	if (c->c.kind == KIND_COLOUR)
		draw_colour(d);
	else
		draw_data(d, c->c.kind);
	r->g->vk.CmdEndRendering(commands);
}

static void bend(const struct drawing *d)
{
	const struct render *r = d->r;
	const struct camera *c = &r->cameras[d->camera];
	VkCommandBuffer commands = d->f->commands;
	const VkRenderingAttachmentInfo colour = { .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
						   .imageView = c->image.view,
						   .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
						   .loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
						   .storeOp = VK_ATTACHMENT_STORE_OP_STORE };
	const VkRenderingInfo info = { .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
				       .renderArea = { { 0, 0 }, { c->image.width, c->image.height } },
				       .layerCount = 1,
				       .colorAttachmentCount = 1,
				       .pColorAttachments = &colour };

	image_barrier(r, commands, c->picture.image, VK_IMAGE_ASPECT_COLOR_BIT,
		      VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
	image_barrier(r, commands, c->image.image, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_UNDEFINED,
		      VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
	r->g->vk.CmdBeginRendering(commands, &info);
	set_area(d, c->image.width, c->image.height);
	r->g->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, c->bend);
	r->g->vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, r->p.bend_layout, 0, 1, &c->bend_set,
				       0, NULL);
	r->g->vk.CmdDraw(commands, 3, 1, 0, 0);
	r->g->vk.CmdEndRendering(commands);
}

static void draw_camera(struct render *r, struct flight *f, size_t i, const struct render_moment *m)
{
	const struct camera *c = &r->cameras[i];
	struct drawing d = { .r = r, .f = f, .camera = i, .view = &m->views[i], .m = m };
	struct frame *frame = (struct frame *)(void *)((uint8_t *)f->frames.mapped + i * r->frame_size);

	d.instances = (struct instance *)f->instances.mapped + i * INSTANCES_MAX;
	view_frame(r, c, d.view, m, frame);
	view_collect(&d);
	draw_picture(&d, c->ideal ? &c->image : &c->picture);
	if (!c->ideal)
		bend(&d);
	image_barrier(r, f->commands, c->image.image, VK_IMAGE_ASPECT_COLOR_BIT,
		      VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
}

/* The next submission slot; -EAGAIN: the device still uses it. */
static int take_flight(struct render *r, struct flight **ret)
{
	struct flight *f = &r->flights[r->next];
	VkResult v = f->used ? r->g->vk.GetFenceStatus(r->g->device, f->fence) : VK_SUCCESS;

	if (v == VK_NOT_READY)
		return -EAGAIN;
	*ret = f;
	return gpu_check(v, "drawing");
}

int render_draw(struct render *r, const struct render_moment *m)
{
	const VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
						 .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT };
	VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1 };
	struct flight *f = NULL;
	int e = take_flight(r, &f);

	if (e < 0)
		return e;
	if (f->used)
		e = gpu_check(r->g->vk.ResetFences(r->g->device, 1, &f->fence), "drawing");
	f->used = false;
	if (e == 0)
		e = gpu_check(r->g->vk.BeginCommandBuffer(f->commands, &begin), "drawing");
	if (e < 0)
		return e;
	for (size_t i = 0; i < r->n; i++) {
		if (m->due & 1u << i)
			draw_camera(r, f, i, m);
	}
	e = gpu_check(r->g->vk.EndCommandBuffer(f->commands), "drawing");
	submit.pCommandBuffers = &f->commands;
	if (e == 0)
		e = gpu_check(r->g->vk.QueueSubmit(r->g->queue, 1, &submit, f->fence), "drawing");
	if (e < 0)
		return e;
	f->used = true;
	r->next = (r->next + 1) % RENDER_IN_FLIGHT;
	return 0;
}

int render_wait(struct render *r)
{
	return gpu_check(r->g->vk.DeviceWaitIdle(r->g->device), "waiting for the device");
}

VkImage render_image(const struct render *r, size_t camera)
{
	return r->cameras[camera].image.image;
}

uint64_t render_left_out(const struct render *r)
{
	return r->left_out;
}
