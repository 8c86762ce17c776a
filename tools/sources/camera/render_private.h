/* SPDX-License-Identifier: Apache-2.0 */
/* What render.c, view.c and pipelines.c share. */
#ifndef CAMERA_RENDER_PRIVATE_H
#define CAMERA_RENDER_PRIVATE_H

#include "forms.h"
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

/* ---- the renderer: render.c makes it and records what is drawn, view.c collects what that is ---- */

/* As shaders/frame.glsl has it. */
struct frame {
	float clip[16]; /* column by column */
	float eye[4], sun[4], sun_light[4], ambient[4], zenith[4], horizon[4];
	float ray[4], ray_x[4], ray_y[4];
};

struct camera {
	struct render_camera c;
	bool ideal;
	struct lens_source s;            /* of the picture that is drawn, without the lens */
	struct gpu_image picture, image; /* picture: only with a lens that bends */
	struct gpu_buffer table;
	VkPipeline bend;
	VkDescriptorSet bend_set;
	float planes[4][3]; /* inwards, in the optical frame, of what is in the picture */
};

/* One submission. */
struct flight {
	VkFence fence;
	VkCommandBuffer commands;
	struct gpu_buffer frames, instances; /* of all cameras */
	VkDescriptorSet set;
	bool used;
};

struct render {
	struct gpu *g;
	struct pipelines p;
	VkSampleCountFlagBits samples;
	float haze; /* 1/m, of exp2 */
	struct camera cameras[RENDER_CAMERAS_MAX];
	size_t n;
	struct gpu_image wide, depth, depth_wide; /* shared by all; wide: with the samples of colour */
	struct gpu_buffer vertices, indices;
	struct forms forms;
	uint32_t street_vertex, street_index; /* where the streets' begin */
	const struct streets *streets;
	VkSampler sampler;
	VkDescriptorPool sets;
	VkCommandPool pool;
	struct flight flights[RENDER_IN_FLIGHT];
	unsigned next;
	size_t frame_size; /* of struct frame, as the device wants it aligned */
	uint64_t left_out;
	uint64_t order[STAGE_THINGS_MAX]; /* collecting: what is drawn of a camera, in which order */
};

/* Instances that are drawn one after the other, by form and detail. */
struct form_runs {
	struct {
		uint32_t first, n;
	} at[FORM_COUNT][FORM_DETAILS];
};

/* What a camera draws: its part of the flight's instances. */
struct drawing {
	struct render *r;
	struct flight *f;
	size_t camera;
	const struct pose *view;
	const struct render_moment *m;
	struct instance *instances;
	uint32_t n;
	struct form_runs runs, shadows;
	uint32_t streets;
};

void view_planes(struct camera *c);
bool view_sees(const struct camera *c, const struct pose *view, const double d[3], double radius);
void view_frame(const struct render *r, const struct camera *c, const struct pose *view, const struct render_moment *m,
		struct frame *f);
/* Near things first within each form: what is behind them costs no light. */
void view_collect(struct drawing *d);

#endif
