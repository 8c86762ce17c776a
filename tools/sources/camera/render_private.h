/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by render.c, view.c and pipelines.c. */
#ifndef CAMERA_RENDER_PRIVATE_H
#define CAMERA_RENDER_PRIVATE_H

#include "forms.h"
#include "render.h"

#define INSTANCES_MAX 8192u /* per camera */

/* Pipelines; VK_NULL_HANDLE: not needed by any camera. */
struct pipelines {
	VkDescriptorSetLayout frame_set, bend_set;
	VkPipelineLayout frame_layout, bend_layout;
	VkPipeline group[3], shadow, sky; /* colour: by GROUP_* */
	VkPipeline data[4];               /* by KIND_* */
};

struct instance {
	float place[4], extent[4]; /* see shaders/place.glsl */
	uint32_t tag[4];
};

VkFormat pipelines_format(unsigned kind);
/*
 * kinds: one bit for each KIND_* in use. 0, -ENOMEM, -EIO, with the reason in err_why(); call pipelines_destroy() in
 * any case.
 */
int pipelines_create(const struct gpu *g, unsigned kinds, VkSampleCountFlagBits samples, struct pipelines *p);
/* For one camera's lens; width: that of its image. */
int pipelines_create_bend(const struct gpu *g, const struct pipelines *p, unsigned kind, uint32_t width,
			  VkPipeline *ret);
void pipelines_destroy(const struct gpu *g, struct pipelines *p);

/* ---- renderer: render.c creates it and records commands, view.c selects what is drawn ---- */

/* See shaders/frame.glsl. */
struct frame {
	float clip[16]; /* column-major */
	float eye[4], sun[4], sun_light[4], ambient[4], zenith[4], horizon[4];
	float ray[4], ray_x[4], ray_y[4];
};

struct camera {
	struct render_camera c;
	bool ideal;
	struct lens_source s;            /* of the picture drawn without lens distortion */
	struct gpu_image picture, image; /* picture: only with a lens that distorts */
	struct gpu_buffer table;
	VkPipeline bend;
	VkDescriptorSet bend_set;
	float planes[4][3]; /* normals of the picture's border planes, pointing inwards, in the optical frame */
};

/* One submission. */
struct flight {
	VkFence fence;
	VkCommandBuffer commands;
	struct gpu_buffer frames, instances; /* for all cameras */
	VkDescriptorSet set;
	bool used;
};

struct render {
	struct gpu *g;
	struct pipelines p;
	VkSampleCountFlagBits samples;
	float haze; /* 1/m, for exp2 */
	struct camera cameras[RENDER_CAMERAS_MAX];
	size_t n;
	struct gpu_image wide, depth, depth_wide; /* shared by all; wide: multisampled colour */
	struct gpu_buffer vertices, indices;
	struct forms forms;
	uint32_t street_vertex, street_index; /* start of the streets' geometry */
	const struct streets *streets;
	VkSampler sampler;
	VkDescriptorPool sets;
	VkCommandPool pool;
	struct flight flights[RENDER_IN_FLIGHT];
	unsigned next;
	size_t frame_size; /* size of struct frame, aligned as the device requires */
	uint64_t left_out;
	uint64_t order[STAGE_THINGS_MAX]; /* scratch for sorting a camera's things */
};

/* Consecutive instances, by form and level of detail. */
struct form_runs {
	struct {
		uint32_t first, n;
	} at[FORM_COUNT][FORM_DETAILS];
};

/* A camera's drawing: its part of the submission's instances. */
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
/* Selects the visible instances; near ones first within each form, so hidden pixels are not shaded. */
void view_collect(struct drawing *d);

#endif
