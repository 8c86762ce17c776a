/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles that grow. Front: anticlockwise. An allocation that failed makes it `broken`; whoever fills one looks once, at the end. Thread: one. */
#ifndef CAMERA_MESH_H
#define CAMERA_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "materials.h"

struct vertex {
	float at[3];
	int8_t normal[3]; /* 127 is 1 */
	uint8_t material;
};

struct mesh {
	struct vertex *v;
	uint32_t *index; /* three make a triangle */
	uint32_t n, n_index;
	size_t cap, index_cap;
	bool broken; /* no memory, or more than MESH_VERTICES_MAX */
};

#define MESH_VERTICES_MAX 8000000u

typedef float mesh_point[3];

void mesh_finish(struct mesh *m);
/* Corners anticlockwise as seen from outside; all in one plane. */
void mesh_triangle(struct mesh *m, const mesh_point a, const mesh_point b, const mesh_point c, unsigned material);
void mesh_quad(struct mesh *m, const mesh_point a, const mesh_point b, const mesh_point c, const mesh_point d,
	       unsigned material);

/* A body between two rectangles: x from x0 to x1 and y from -y to y (y0 to y1 in mesh_frustum_at), at z. */
struct mesh_rect {
	float x0, x1, y, z;
};
/* side, front (x1), back (x0), top: materials; without a bottom. */
struct mesh_dress {
	uint8_t side, front, back, top;
};
void mesh_frustum(struct mesh *m, const struct mesh_rect *low, const struct mesh_rect *high, struct mesh_dress d);
void mesh_box(struct mesh *m, float x0, float x1, float y0, float y1, float z0, float z1, unsigned material);
/* Its axis is y. rx, rz: radii, alike where x and z are of one scale. Both caps. */
void mesh_wheel(struct mesh *m, float x, float y0, float y1, float z, float rx, float rz, unsigned tyre, unsigned cap);
/* Upright. */
void mesh_pillar(struct mesh *m, const mesh_point foot, float radius, float height, unsigned material);
/* Round, facing +x. */
void mesh_disc(struct mesh *m, float x, float y, float z, float ry, float rz, unsigned material);

#endif
