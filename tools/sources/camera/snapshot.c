/* SPDX-License-Identifier: Apache-2.0 */
/* See snapshot.h. */
#include "snapshot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sim/readback.h>

#include "err.h"
#include "picture.h"

#define WAIT_NS  30000000000 /* for a slow driver on a busy machine */
#define GREY_FAR 80.0f       /* m: distance at half brightness */

int snapshot_read(const struct gpu *g, const struct render *r, size_t camera, const struct camera_spec *spec,
		  void **ret)
{
	struct sim_readback_options o = {
		.size = sizeof(o),
		.backend = SIM_READBACK_VULKAN,
		.shape = { .format = spec->kind == KIND_SEMANTIC ? SIM_READBACK_R8 : SIM_READBACK_R32F,
			   .width = spec->lens.p.width,
			   .height = spec->lens.p.height },
		.vulkan = { .instance = g->instance,
			    .physical_device = g->physical,
			    .device = g->device,
			    .queue = g->queue,
			    .queue_family = g->family },
	};
	struct sim_readback_source s = { .size = sizeof(s), .format = o.shape.format };
	size_t size = (size_t)o.shape.width * o.shape.height * camera_pixel(spec->kind);
	struct sim_readback_ticket *t = NULL;
	struct sim_readback *rb = NULL;
	int e;

	s.memory = malloc(size);
	if (!s.memory)
		return err_set(-ENOMEM, "no memory for the picture");
	s.vulkan.image = (uint64_t)render_image(r, camera);
	s.vulkan.layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
	e = sim_readback_create(&o, &rb);
	if (e == 0)
		e = sim_readback_start(rb, &s, NULL);
	if (e == 0)
		e = sim_readback_drain(rb, WAIT_NS);
	if (e == 0)
		e = sim_readback_take(rb, &t);
	if (e == 0)
		e = t->result;
	if (e < 0)
		e = err_set(e, "reading the picture: %s", t ? t->why : sim_readback_why());
	if (t)
		(void)sim_readback_release(rb, t);
	sim_readback_destroy(rb);
	if (e < 0)
		free(s.memory);
	else
		*ret = s.memory;
	return e;
}

/* Cityscapes's colours. */
static void label_colour(uint8_t label, uint8_t rgb[3])
{
	static const struct {
		uint8_t label, rgb[3];
	} COLOURS[] = {
		{ LABEL_ROAD, { 128, 64, 128 } },   { LABEL_SIDEWALK, { 244, 35, 232 } },
		{ LABEL_BUILDING, { 70, 70, 70 } }, { LABEL_POLE, { 153, 153, 153 } },
		{ LABEL_LIGHT, { 250, 170, 30 } },  { LABEL_TERRAIN, { 152, 251, 152 } },
		{ LABEL_SKY, { 70, 130, 180 } },    { LABEL_PERSON, { 220, 20, 60 } },
		{ LABEL_CAR, { 0, 0, 142 } },       { LABEL_TRUCK, { 0, 0, 70 } },
		{ LABEL_BUS, { 0, 60, 100 } },      { LABEL_MOTORCYCLE, { 0, 0, 230 } },
		{ LABEL_BICYCLE, { 119, 11, 32 } }, { LABEL_DYNAMIC, { 111, 74, 0 } },
	};

	memset(rgb, 0, 3);
	for (size_t i = 0; i < sizeof(COLOURS) / sizeof(*COLOURS); i++) {
		if (COLOURS[i].label == label)
			memcpy(rgb, COLOURS[i].rgb, 3);
	}
}

static void instance_colour(uint32_t id, uint8_t rgb[3])
{
	uint32_t h = id * 0x9E3779B1u;

	for (int i = 0; i < 3; i++)
		rgb[i] = id ? (uint8_t)(64 + (h >> (8 * i + 6)) % 192) : 0;
}

void snapshot_colours(const struct camera_spec *spec, const void *image, uint8_t *ret)
{
	size_t n = (size_t)spec->lens.p.width * spec->lens.p.height;

	for (size_t i = 0; i < n; i++, ret += 4) {
		float depth;
		uint32_t id;

		ret[3] = 255;
		switch (spec->kind) {
		case KIND_COLOUR:
			memcpy(ret, (const uint8_t *)image + 4 * i, 4);
			break;
		case KIND_SEMANTIC:
			label_colour(((const uint8_t *)image)[i], ret);
			break;
		case KIND_INSTANCE:
			memcpy(&id, (const uint8_t *)image + 4 * i, 4);
			instance_colour(id, ret);
			break;
		default:
			memcpy(&depth, (const uint8_t *)image + 4 * i, 4);
			memset(ret, isfinite(depth) ? (int)(255 / (1 + depth / GREY_FAR)) : 0, 3);
		}
	}
}

int snapshot_write(const struct gpu *g, const struct render *r, size_t camera, const struct camera_spec *spec,
		   const char *path)
{
	uint32_t w = spec->lens.p.width, h = spec->lens.p.height;
	char why[ERR_WHY_MAX] = "no memory";
	void *image = NULL;
	uint8_t *rgba;
	int e = snapshot_read(g, r, camera, spec, &image);

	if (e < 0)
		return e;
	rgba = malloc((size_t)w * h * 4);
	e = -ENOMEM;
	if (rgba) {
		snapshot_colours(spec, image, rgba);
		e = picture_write(path, rgba, w, h, (size_t)w * 4, why, sizeof(why));
	}
	free(rgba);
	free(image);
	return e < 0 ? err_set(e, "%s", why) : 0;
}
