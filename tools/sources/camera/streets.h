/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network as triangles: surfaces, kerbs, lines, stop lines, crossings, and the posts that carry traffic lights. It is cut into squares, so that what
 * is out of sight need not be drawn. What lies on something else is some millimetres above it. Thread: one.
 */
#ifndef CAMERA_STREETS_H
#define CAMERA_STREETS_H

#include "mesh.h"
#include "net.h"

#define STREETS_SQUARE 48.0f /* m, of a side */

struct streets_part {
	uint32_t first, n;     /* among the mesh's indices */
	float low[3], high[3]; /* of its vertices */
};

struct streets {
	struct mesh mesh;
	double origin[3]; /* in the map, what the vertices count from */
	struct streets_part *parts;
	size_t n;
};

/* -ENOMEM, with a sentence. */
int streets_build(const struct net *net, struct streets *ret);
void streets_free(struct streets *s);

#endif
