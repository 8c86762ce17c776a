/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a network to triangles: surfaces, kerbs, lines, stop lines, crossings, and the posts of traffic lights.
 * Divided into squares, so that those out of sight need not be drawn. Layers on top of each other are some millimetres
 * apart. Thread: one.
 */
#ifndef CAMERA_STREETS_H
#define CAMERA_STREETS_H

#include "mesh.h"
#include "net.h"

#define STREETS_SQUARE 48.0f /* side length, m */

struct streets_part {
	uint32_t first, n;     /* in the mesh's indices */
	float low[3], high[3]; /* bounds of its vertices */
};

struct streets {
	struct mesh mesh;
	double origin[3]; /* of the vertices, in the map */
	struct streets_part *parts;
	size_t n;
};

/* -ENOMEM, with the reason in err_why(). */
int streets_build(const struct net *net, struct streets *ret);
void streets_free(struct streets *s);

#endif
