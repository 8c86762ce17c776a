/* SPDX-License-Identifier: Apache-2.0 */
/* Shaders and pipeline states. See render_private.h. */
#include "render_private.h"

#include <string.h>

#include "camera/bend_colour_frag.h"
#include "camera/bend_data_frag.h"
#include "camera/data_frag.h"
#include "camera/data_vert.h"
#include "camera/scene_frag.h"
#include "camera/scene_vert.h"
#include "camera/screen_vert.h"
#include "camera/shadow_frag.h"
#include "camera/shadow_vert.h"
#include "camera/sky_frag.h"
#include "err.h"

struct code {
	const uint32_t *words;
	size_t size;
};

#define CODE(name) \
	(struct code) \
	{ \
		name, sizeof(name) \
	}

/* The differences between pipelines. */
struct plan {
	struct code vert, frag;
	VkPipelineLayout layout;
	VkFormat colour;
	VkSampleCountFlagBits samples;
	bool instances;           /* vertices and instances as input; else it covers the whole picture */
	bool tests, writes_depth; /* reversed depth: nearer is greater */
	bool shades;              /* multiplies the colour, once per pixel */
	int32_t constants[3];
};

VkFormat pipelines_format(unsigned kind)
{
	return kind == KIND_COLOUR     ? VK_FORMAT_R8G8B8A8_SRGB
	       : kind == KIND_SEMANTIC ? VK_FORMAT_R8_UINT
				       : VK_FORMAT_R32_UINT;
}

static int load(const struct gpu *g, struct code c, VkShaderModule *ret)
{
	const VkShaderModuleCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
						.codeSize = c.size,
						.pCode = c.words };

	return gpu_check(g->vk.CreateShaderModule(g->device, &info, NULL, ret), "loading a shader");
}

static const VkVertexInputBindingDescription BINDINGS[] = {
	{ 0, sizeof(struct vertex), VK_VERTEX_INPUT_RATE_VERTEX },
	{ 1, sizeof(struct instance), VK_VERTEX_INPUT_RATE_INSTANCE },
};

static const VkVertexInputAttributeDescription ATTRIBUTES[] = {
	{ 0, 0, VK_FORMAT_R32G32B32_SFLOAT, offsetof(struct vertex, at) },
	{ 1, 0, VK_FORMAT_R8G8B8A8_SNORM, offsetof(struct vertex, normal) },
	{ 2, 0, VK_FORMAT_R8_UINT, offsetof(struct vertex, material) },
	{ 3, 1, VK_FORMAT_R32G32B32A32_SFLOAT, offsetof(struct instance, place) },
	{ 4, 1, VK_FORMAT_R32G32B32A32_SFLOAT, offsetof(struct instance, extent) },
	{ 5, 1, VK_FORMAT_R32G32B32A32_UINT, offsetof(struct instance, tag) },
};

/* Reversed depth: 1 at the near plane, 0 far away, where floats are most precise. */
static VkPipelineDepthStencilStateCreateInfo depth_state(const struct plan *p)
{
	const VkStencilOpState once = { .failOp = VK_STENCIL_OP_KEEP,
					.passOp = VK_STENCIL_OP_INCREMENT_AND_CLAMP,
					.depthFailOp = VK_STENCIL_OP_KEEP,
					.compareOp = VK_COMPARE_OP_EQUAL,
					.compareMask = 0xFF,
					.writeMask = 0xFF };

	return (VkPipelineDepthStencilStateCreateInfo){
		.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
		.depthTestEnable = p->tests,
		.depthWriteEnable = p->writes_depth,
		.depthCompareOp = VK_COMPARE_OP_GREATER_OR_EQUAL,
		.stencilTestEnable = p->shades,
		.front = once,
		.back = once
	};
}

static VkPipelineColorBlendAttachmentState blend_state(const struct plan *p)
{
	return (VkPipelineColorBlendAttachmentState){ .blendEnable = p->shades,
						      .srcColorBlendFactor = VK_BLEND_FACTOR_ZERO,
						      .dstColorBlendFactor = VK_BLEND_FACTOR_SRC_COLOR,
						      .colorBlendOp = VK_BLEND_OP_ADD,
						      .srcAlphaBlendFactor = VK_BLEND_FACTOR_ZERO,
						      .dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
						      .alphaBlendOp = VK_BLEND_OP_ADD,
						      .colorWriteMask = 0xF };
}

static int build(const struct gpu *g, const struct plan *p, VkShaderModule vert, VkShaderModule frag, VkPipeline *ret)
{
	static const VkSpecializationMapEntry ENTRIES[] = { { 0, 0, 4 }, { 1, 4, 4 }, { 2, 8, 4 } };
	static const VkDynamicState DYNAMIC[] = { VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR };
	const VkSpecializationInfo constants = { 3, ENTRIES, sizeof(p->constants), p->constants };
	const VkPipelineShaderStageCreateInfo stages[2] = {
		{ .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
		  .stage = VK_SHADER_STAGE_VERTEX_BIT,
		  .module = vert,
		  .pName = "main",
		  .pSpecializationInfo = &constants },
		{ .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
		  .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
		  .module = frag,
		  .pName = "main",
		  .pSpecializationInfo = &constants },
	};
	const VkPipelineVertexInputStateCreateInfo input = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
		.vertexBindingDescriptionCount = p->instances ? 2 : 0,
		.pVertexBindingDescriptions = BINDINGS,
		.vertexAttributeDescriptionCount = p->instances ? sizeof(ATTRIBUTES) / sizeof(*ATTRIBUTES) : 0,
		.pVertexAttributeDescriptions = ATTRIBUTES
	};
	const VkPipelineInputAssemblyStateCreateInfo assembly = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
		.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST
	};
	const VkPipelineViewportStateCreateInfo viewport = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1
	};
	const VkPipelineRasterizationStateCreateInfo raster = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
		.polygonMode = VK_POLYGON_MODE_FILL,
		/* a shadow is flattened, so both sides of the thing must be drawn */
		.cullMode = p->instances && !p->shades ? VK_CULL_MODE_BACK_BIT : VK_CULL_MODE_NONE,
		.frontFace = VK_FRONT_FACE_COUNTER_CLOCKWISE,
		.lineWidth = 1
	};
	const VkPipelineMultisampleStateCreateInfo samples = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO, .rasterizationSamples = p->samples
	};
	const VkPipelineDepthStencilStateCreateInfo depth = depth_state(p);
	const VkPipelineColorBlendAttachmentState attachment = blend_state(p);
	const VkPipelineColorBlendStateCreateInfo blend = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
		.attachmentCount = 1,
		.pAttachments = &attachment
	};
	const VkPipelineDynamicStateCreateInfo dynamic = { .sType =
								   VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
							   .dynamicStateCount = 2,
							   .pDynamicStates = DYNAMIC };
	const VkPipelineRenderingCreateInfo into = { .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
						     .colorAttachmentCount = 1,
						     .pColorAttachmentFormats = &p->colour,
						     .depthAttachmentFormat =
							     p->tests ? g->depth_format : VK_FORMAT_UNDEFINED,
						     .stencilAttachmentFormat =
							     p->tests ? g->depth_format : VK_FORMAT_UNDEFINED };
	const VkGraphicsPipelineCreateInfo info = { .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
						    .pNext = &into,
						    .stageCount = 2,
						    .pStages = stages,
						    .pVertexInputState = &input,
						    .pInputAssemblyState = &assembly,
						    .pViewportState = &viewport,
						    .pRasterizationState = &raster,
						    .pMultisampleState = &samples,
						    .pDepthStencilState = &depth,
						    .pColorBlendState = &blend,
						    .pDynamicState = &dynamic,
						    .layout = p->layout };

	return gpu_check(g->vk.CreateGraphicsPipelines(g->device, VK_NULL_HANDLE, 1, &info, NULL, ret),
			 "making a pipeline");
}

static int make(const struct gpu *g, const struct plan *p, VkPipeline *ret)
{
	VkShaderModule vert = VK_NULL_HANDLE, frag = VK_NULL_HANDLE;
	int r = load(g, p->vert, &vert);

	if (r == 0)
		r = load(g, p->frag, &frag);
	if (r == 0)
		r = build(g, p, vert, frag, ret);
	if (vert)
		g->vk.DestroyShaderModule(g->device, vert, NULL);
	if (frag)
		g->vk.DestroyShaderModule(g->device, frag, NULL);
	return r;
}

static int make_layout(const struct gpu *g, const VkDescriptorSetLayoutBinding *b, uint32_t n,
		       VkDescriptorSetLayout *ret_set, VkPipelineLayout *ret)
{
	const VkDescriptorSetLayoutCreateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
						      .bindingCount = n,
						      .pBindings = b };
	const VkPipelineLayoutCreateInfo info = { .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
						  .setLayoutCount = 1,
						  .pSetLayouts = ret_set };
	int r = gpu_check(g->vk.CreateDescriptorSetLayout(g->device, &set, NULL, ret_set), "making a set's layout");

	return r < 0 ? r
		     : gpu_check(g->vk.CreatePipelineLayout(g->device, &info, NULL, ret), "making a pipeline's layout");
}

static int make_layouts(const struct gpu *g, struct pipelines *p)
{
	const VkDescriptorSetLayoutBinding frame[] = { { 0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1,
							 VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT,
							 NULL } };
	const VkDescriptorSetLayoutBinding bend[] = {
		{ 0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, NULL },
		{ 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, NULL },
	};
	int r = make_layout(g, frame, 1, &p->frame_set, &p->frame_layout);

	return r < 0 ? r : make_layout(g, bend, 2, &p->bend_set, &p->bend_layout);
}

static int make_colour(const struct gpu *g, VkSampleCountFlagBits samples, struct pipelines *p)
{
	struct plan plan = { .vert = CODE(scene_vert),
			     .frag = CODE(scene_frag),
			     .layout = p->frame_layout,
			     .colour = pipelines_format(KIND_COLOUR),
			     .samples = samples,
			     .instances = true,
			     .tests = true,
			     .writes_depth = true };
	int r = 0;

	for (int i = 0; i < 3 && r == 0; i++) {
		plan.constants[0] = i;
		r = make(g, &plan, &p->group[i]);
	}
	plan.writes_depth = false;
	plan.shades = true;
	plan.vert = CODE(shadow_vert);
	plan.frag = CODE(shadow_frag);
	if (r == 0)
		r = make(g, &plan, &p->shadow);
	plan.shades = plan.instances = false;
	plan.vert = CODE(screen_vert);
	plan.frag = CODE(sky_frag);
	return r < 0 ? r : make(g, &plan, &p->sky);
}

int pipelines_create(const struct gpu *g, unsigned kinds, VkSampleCountFlagBits samples, struct pipelines *p)
{
	int r = make_layouts(g, p);

	if (r == 0 && kinds & 1u << KIND_COLOUR)
		r = make_colour(g, samples, p);
	for (unsigned kind = KIND_DEPTH; kind <= KIND_INSTANCE && r == 0; kind++) {
		const struct plan plan = { .vert = CODE(data_vert),
					   .frag = CODE(data_frag),
					   .layout = p->frame_layout,
					   .colour = pipelines_format(kind),
					   .samples = VK_SAMPLE_COUNT_1_BIT,
					   .instances = true,
					   .tests = true,
					   .writes_depth = true,
					   .constants = { 0, (int32_t)kind, 0 } };

		if (kinds & 1u << kind)
			r = make(g, &plan, &p->data[kind]);
	}
	return r;
}

int pipelines_create_bend(const struct gpu *g, const struct pipelines *p, unsigned kind, uint32_t width,
			  VkPipeline *ret)
{
	const struct plan plan = { .vert = CODE(screen_vert),
				   .frag = kind == KIND_COLOUR ? CODE(bend_colour_frag) : CODE(bend_data_frag),
				   .layout = p->bend_layout,
				   .colour = pipelines_format(kind),
				   .samples = VK_SAMPLE_COUNT_1_BIT,
				   .constants = { 0, 0, (int32_t)width } };

	return make(g, &plan, ret);
}

void pipelines_destroy(const struct gpu *g, struct pipelines *p)
{
	VkPipeline all[] = { p->group[0], p->group[1], p->group[2], p->shadow,
			     p->sky,      p->data[1],  p->data[2],  p->data[3] };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		g->vk.DestroyPipeline(g->device, all[i], NULL);
	g->vk.DestroyPipelineLayout(g->device, p->frame_layout, NULL);
	g->vk.DestroyPipelineLayout(g->device, p->bend_layout, NULL);
	g->vk.DestroyDescriptorSetLayout(g->device, p->frame_set, NULL);
	g->vk.DestroyDescriptorSetLayout(g->device, p->bend_set, NULL);
	memset(p, 0, sizeof(*p));
}
