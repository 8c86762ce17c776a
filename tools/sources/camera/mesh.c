/* SPDX-License-Identifier: Apache-2.0 */
/* See mesh.h. */
#include "mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDES 12 /* of round shapes */

static bool grow(void **p, size_t *cap, size_t need, size_t each)
{
	size_t to = *cap ? *cap : 256;
	void *q;

	if (need <= *cap)
		return true;
	while (to < need)
		to *= 2;
	q = realloc(*p, to * each);
	if (!q)
		return false;
	*p = q;
	*cap = to;
	return true;
}

void mesh_finish(struct mesh *m)
{
	free(m->v);
	free(m->index);
	*m = (struct mesh){ .v = NULL };
}

static bool room(struct mesh *m, uint32_t vertices, uint32_t indices)
{
	if (m->broken || m->n + vertices > MESH_VERTICES_MAX ||
	    !grow((void **)&m->v, &m->cap, m->n + vertices, sizeof(*m->v)) ||
	    !grow((void **)&m->index, &m->index_cap, m->n_index + indices, sizeof(*m->index)))
		m->broken = true;
	return !m->broken;
}

static void normal_of(const mesh_point a, const mesh_point b, const mesh_point c, int8_t ret[3])
{
	float u[3], v[3], n[3], l;

	for (int i = 0; i < 3; i++) {
		u[i] = b[i] - a[i];
		v[i] = c[i] - a[i];
	}
	for (int i = 0; i < 3; i++)
		n[i] = u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3];
	l = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
	for (int i = 0; i < 3; i++)
		ret[i] = l > 0 ? (int8_t)lrintf(127 * n[i] / l) : (int8_t)(i == 2 ? 127 : 0);
}

static void put(struct mesh *m, const mesh_point at, const int8_t normal[3], unsigned material)
{
	struct vertex *v = &m->v[m->n++];

	memcpy(v->at, at, sizeof(v->at));
	memcpy(v->normal, normal, sizeof(v->normal));
	v->material = (uint8_t)material;
}

static void link_up(struct mesh *m, uint32_t a, uint32_t b, uint32_t c)
{
	m->index[m->n_index++] = a;
	m->index[m->n_index++] = b;
	m->index[m->n_index++] = c;
}

void mesh_triangle(struct mesh *m, const mesh_point a, const mesh_point b, const mesh_point c, unsigned material)
{
	uint32_t first = m->n;
	int8_t normal[3];

	if (!room(m, 3, 3))
		return;
	normal_of(a, b, c, normal);
	put(m, a, normal, material);
	put(m, b, normal, material);
	put(m, c, normal, material);
	link_up(m, first, first + 1, first + 2);
}

void mesh_quad(struct mesh *m, const mesh_point a, const mesh_point b, const mesh_point c, const mesh_point d,
	       unsigned material)
{
	uint32_t first = m->n;
	int8_t normal[3];

	if (!room(m, 4, 6))
		return;
	normal_of(a, b, c, normal);
	put(m, a, normal, material);
	put(m, b, normal, material);
	put(m, c, normal, material);
	put(m, d, normal, material);
	link_up(m, first, first + 1, first + 2);
	link_up(m, first, first + 2, first + 3);
}

static void corners(const struct mesh_rect *r, mesh_point ret[4])
{
	const mesh_point c[4] = {
		{ r->x0, -r->y, r->z }, { r->x1, -r->y, r->z }, { r->x1, r->y, r->z }, { r->x0, r->y, r->z }
	};

	memcpy(ret, c, sizeof(c));
}

void mesh_frustum(struct mesh *m, const struct mesh_rect *low, const struct mesh_rect *high, struct mesh_dress d)
{
	mesh_point l[4], h[4];

	corners(low, l);
	corners(high, h);
	mesh_quad(m, l[0], l[1], h[1], h[0], d.side);
	mesh_quad(m, l[1], l[2], h[2], h[1], d.front);
	mesh_quad(m, l[2], l[3], h[3], h[2], d.side);
	mesh_quad(m, l[3], l[0], h[0], h[3], d.back);
	mesh_quad(m, h[0], h[1], h[2], h[3], d.top);
}

void mesh_box(struct mesh *m, float x0, float x1, float y0, float y1, float z0, float z1, unsigned material)
{
	const struct mesh_rect low = { x0, x1, (y1 - y0) / 2, z0 }, high = { x0, x1, (y1 - y0) / 2, z1 };
	uint32_t first = m->n;

	mesh_frustum(m, &low, &high,
		     (struct mesh_dress){ (uint8_t)material, (uint8_t)material, (uint8_t)material, (uint8_t)material });
	for (uint32_t i = first; i < m->n; i++)
		m->v[i].at[1] += (y0 + y1) / 2;
}

static void round_point(unsigned i, float a, float b, float *ret_a, float *ret_b)
{
	float w = 2 * (float)M_PI * (float)i / SIDES;

	*ret_a = a * cosf(w);
	*ret_b = b * sinf(w);
}

void mesh_wheel(struct mesh *m, float x, float y0, float y1, float z, float rx, float rz, unsigned tyre, unsigned cap)
{
	for (unsigned i = 0; i < SIDES; i++) {
		mesh_point a = { 0, y0, 0 }, b = { 0, y0, 0 }, c = { 0, y1, 0 }, d = { 0, y1, 0 };
		mesh_point hub0 = { x, y0, z }, hub1 = { x, y1, z };

		round_point(i, rx, rz, &a[0], &a[2]);
		round_point(i + 1, rx, rz, &b[0], &b[2]);
		a[0] = d[0] = a[0] + x;
		a[2] = d[2] = a[2] + z;
		b[0] = c[0] = b[0] + x;
		b[2] = c[2] = b[2] + z;
		mesh_quad(m, a, d, c, b, tyre);
		mesh_triangle(m, hub0, a, b, cap);
		mesh_triangle(m, hub1, c, d, cap);
	}
}

void mesh_pillar(struct mesh *m, const mesh_point foot, float radius, float height, unsigned material)
{
	for (unsigned i = 0; i < SIDES; i += 2) {
		mesh_point a = { 0, 0, foot[2] }, b = { 0, 0, foot[2] }, c, d;

		round_point(i, radius, radius, &a[0], &a[1]);
		round_point(i + 2, radius, radius, &b[0], &b[1]);
		for (int k = 0; k < 2; k++) {
			d[k] = a[k] += foot[k];
			c[k] = b[k] += foot[k];
		}
		c[2] = d[2] = foot[2] + height;
		mesh_quad(m, a, b, c, d, material);
	}
}

void mesh_disc(struct mesh *m, float x, float y, float z, float ry, float rz, unsigned material)
{
	const mesh_point hub = { x, y, z };

	for (unsigned i = 0; i < SIDES; i++) {
		mesh_point a = { x, 0, 0 }, b = { x, 0, 0 };

		round_point(i, ry, rz, &a[1], &a[2]);
		round_point(i + 1, ry, rz, &b[1], &b[2]);
		a[1] += y;
		a[2] += z;
		b[1] += y;
		b[2] += z;
		mesh_triangle(m, hub, a, b, material);
	}
}
