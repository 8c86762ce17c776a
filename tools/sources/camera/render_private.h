/* SPDX-License-Identifier: Apache-2.0 */
/* What render.c and pipelines.c share. */
#ifndef CAMERA_RENDER_PRIVATE_H
#define CAMERA_RENDER_PRIVATE_H

#include "render.h"

#define INSTANCES_MAX 8192u /* of one camera */

/* What is drawn with; VK_NULL_HANDLE: no camera needs it. */
struct pipelines {
	VkDescriptorSetLayout frame_set, bend_set;
	VkPipelineLayout frame_layout, bend_layout;
	VkPipeline group[3], shadow, sky; /* colour: by GROUP_* */
	VkPipeline data[4];               /* by KIND_* */
};

struct instance {
	float place[4], extent[4]; /* as shaders/place.glsl has them */
	uint32_t tag[4];
};

VkFormat pipelines_format(unsigned kind);
/* kinds: a bit for each KIND_* that there is. 0, -ENOMEM, -EIO, with a sentence; what was made then is to be destroyed too. */
int pipelines_create(const struct gpu *g, unsigned kinds, VkSampleCountFlagBits samples, struct pipelines *p);
/* Of one camera's lens: the width is that of its image. */
int pipelines_create_bend(const struct gpu *g, const struct pipelines *p, unsigned kind, uint32_t width,
			  VkPipeline *ret);
void pipelines_destroy(const struct gpu *g, struct pipelines *p);

#endif
