/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing lists of triangles. Front faces are anticlockwise. A failed allocation sets `broken`, which is checked once,
 * at the end. Thread: one.
 */
#ifndef CAMERA_MESH_H
#define CAMERA_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "materials.h"

struct vertex {
	float at[3];
	int8_t normal[3]; /* 127 stands for 1 */
	uint8_t material;
};

struct mesh {
	struct vertex *v;
	uint32_t *index; /* three per triangle */
	uint32_t n, n_index;
	size_t cap, index_cap;
	bool broken; /* out of memory, or more than MESH_VERTICES_MAX */
};

#define MESH_VERTICES_MAX 8000000u

typedef float mesh_point[3];

void mesh_finish(struct mesh *m);
/* Planar; corners anticlockwise as seen from outside. */
void mesh_triangle(struct mesh *m, const mesh_point a, const mesh_point b, const mesh_point c, unsigned material);
void mesh_quad(struct mesh *m, const mesh_point a, const mesh_point b, const mesh_point c, const mesh_point d,
	       unsigned material);

/*
 * A rectangle at height z: x from x0 to x1, y from -y to y (mesh_frustum_at: y0 to y1). A frustum connects two of them.
 */
struct mesh_rect {
	float x0, x1, y, z;
};
/* Materials of side, front (x1), back (x0) and top; there is no bottom. */
struct mesh_dress {
	uint8_t side, front, back, top;
};
void mesh_frustum(struct mesh *m, const struct mesh_rect *low, const struct mesh_rect *high, struct mesh_dress d);
void mesh_box(struct mesh *m, float x0, float x1, float y0, float y1, float z0, float z1, unsigned material);
/* A cylinder along y, with both caps. rx, rz: radii, different if x and z are scaled differently. */
void mesh_wheel(struct mesh *m, float x, float y0, float y1, float z, float rx, float rz, unsigned tyre, unsigned cap);
/* A vertical cylinder. */
void mesh_pillar(struct mesh *m, const mesh_point foot, float radius, float height, unsigned material);
/* A disc that faces +x. */
void mesh_disc(struct mesh *m, float x, float y, float z, float ry, float rz, unsigned material);

#endif
