/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the visible parts of a SUMO network (*.net.xml): lanes with shapes and widths, areas of junctions and footways,
 * crossings. The file is not trusted: sizes are limited by NET_*_MAX, and a DOCTYPE is refused. Thread: one.
 */
#ifndef CAMERA_NET_H
#define CAMERA_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_SHAPES_MAX 200000u  /* lanes and junctions */
#define NET_POINTS_MAX 4000000u /* of all shapes */
#define NET_SHAPE_MAX  4096u    /* points per shape; further ones are dropped */
#define NET_BYTES_MAX  (1u << 30)
#define NET_ID_MAX     128 /* with NUL; longer ids are truncated */

enum net_kind {
	NET_ROAD,     /* a lane for vehicles */
	NET_CYCLEWAY, /* a lane for bicycles only */
	NET_FOOTWAY,  /* a lane for pedestrians only */
	NET_CROSSING, /* across a street: centre line */
	NET_CORNER,   /* walking area between footways: an outline */
	NET_JUNCTION, /* an outline */
};

struct net_shape {
	enum net_kind kind;
	float width;       /* m; 0: an outline */
	uint32_t first, n; /* its points: at least 2, of an outline at least 3 */
	uint32_t edge;     /* lanes of one edge share this number, and are consecutive, the rightmost first */
	bool two_way;      /* there is an edge in the opposite direction */
	bool signalled;    /* the lane ends at traffic lights */
	bool stops;        /* the lane ends where vehicles must stop */
};

struct net {
	struct net_shape *shapes;
	size_t n;
	double *points; /* x, y, z per point, m in the map */
	size_t n_points;
	double low[2], high[2];     /* bounds of all points */
	double latitude, longitude; /* degrees, of the centre; NAN: not in the file */
};

/* Returns 0; -ENOENT, -EINVAL, -E2BIG, -ENOMEM, with path and reason in err_why(). */
int net_load(const char *path, struct net *ret);
/* Parses bytes; name: for err_why(). */
int net_parse(const char *name, const void *bytes, size_t size, struct net *ret);
void net_free(struct net *n);

#endif
