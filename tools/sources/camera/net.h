/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of SUMO (*.net.xml), as far as it can be seen: lanes with their shapes and widths, areas of junctions and of footways, crossings.
 * What is foreign in it is bounded: NET_*_MAX; a document type of its own is refused. Thread: one.
 */
#ifndef CAMERA_NET_H
#define CAMERA_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_SHAPES_MAX 200000u  /* lanes and junctions */
#define NET_POINTS_MAX 4000000u /* of all shapes */
#define NET_SHAPE_MAX  4096u    /* points of one; those after them are left out */
#define NET_BYTES_MAX  (1u << 30)
#define NET_ID_MAX     128 /* bytes with the 0; longer ones are cut */

enum net_kind {
	NET_ROAD,     /* a lane of an edge, for vehicles */
	NET_CYCLEWAY, /* for bicycles alone */
	NET_FOOTWAY,  /* for pedestrians alone */
	NET_CROSSING, /* across a street: the line in its middle */
	NET_CORNER,   /* where footways meet: an outline */
	NET_JUNCTION, /* an outline */
};

struct net_shape {
	enum net_kind kind;
	float width;       /* m; 0: it is an outline */
	uint32_t first, n; /* its points: 2 or more, of an outline 3 or more */
	uint32_t edge;     /* lanes of one edge have the same; they follow one another, the rightmost first */
	bool two_way;      /* the edge has another beside it, from its end to its begin */
	bool signalled;    /* a lane that ends at traffic lights */
	bool stops;        /* a lane that ends where one has to stop */
};

struct net {
	struct net_shape *shapes;
	size_t n;
	double *points; /* x, y, z of each, m in the map */
	size_t n_points;
	double low[2], high[2];     /* of all points */
	double latitude, longitude; /* degrees, of the middle; NAN: the file does not say */
};

/* Returns 0; -ENOENT, -EINVAL, -E2BIG, -ENOMEM, with a sentence that names path. */
int net_load(const char *path, struct net *ret);
/* The same of bytes; name is what the sentence calls them. */
int net_parse(const char *name, const void *bytes, size_t size, struct net *ret);
void net_free(struct net *n);

#endif
