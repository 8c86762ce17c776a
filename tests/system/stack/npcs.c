/* SPDX-License-Identifier: Apache-2.0 */
/* What the scenario places. See npcs.h. */
#include "npcs.h"

#include <math.h>

#include "test.h"

#define EDGE_M 1e-6 /* a cell that is so near to an edge may be on either side */

enum { FREE = 0, HIDDEN = 50, OCCUPIED = 100 };

const struct npc npcs[NPCS] = {
	{ "car_1", PEER_SPAWN_VEHICLE, 1, 1, 1, 7.5, 4.4, 1.8, 1.5 },
	{ "walker", PEER_SPAWN_PEDESTRIAN, 2, 7, 7, 1.5, 0.8, 0.8, 2.0 },
};

struct peer_pose npc_at(int i, int frame)
{
	if (i == 0)
		return (struct peer_pose){ .x = 130 + frame * 0.25, .y = 220, .z = 5, .qw = 1 };
	return (struct peer_pose){ .x = 112, .y = 213 + frame * 0.05, .z = 5, .qz = 0.6, .qw = 0.8 };
}

struct npc_place npc_center(int i, int frame)
{
	struct peer_pose p = npc_at(i, frame);
	double yaw = 2 * atan2(p.qz, p.qw), half = npcs[i].length / 2; /* its origin is in the middle of its back */

	return (struct npc_place){ p.x + half * cos(yaw), p.y + half * sin(yaw), p.z + npcs[i].height / 2, yaw };
}

/* Whether the way from a to b leads through a box of that size, in the box's axes. */
static bool meets(const double a[2], const double b[2], double half_l, double half_w)
{
	double half[2] = { half_l, half_w }, in = 0, out = 1;

	for (int k = 0; k < 2; k++) {
		double d = b[k] - a[k], t0 = (-half[k] - a[k]) / d, t1 = (half[k] - a[k]) / d;

		if (d == 0 && fabs(a[k]) > half[k])
			return false;
		if (d == 0)
			continue;
		in = fmax(in, fmin(t0, t1));
		out = fmin(out, fmax(t0, t1));
	}
	return in <= out;
}

/* What a place is, of boxes that are larger by `more` on each side. */
static int8_t cell_at(double x, double y, int frame, double ego_x, double ego_y, double more)
{
	int8_t is = FREE;

	for (int i = 0; i < NPCS; i++) {
		struct npc_place p = npc_center(i, frame);
		double c = cos(p.yaw), s = sin(p.yaw), half_l = npcs[i].length / 2 + more,
		       half_w = npcs[i].width / 2 + more;
		double at[2] = { (x - p.x) * c + (y - p.y) * s, (y - p.y) * c - (x - p.x) * s };
		double eye[2] = { (ego_x - p.x) * c + (ego_y - p.y) * s, (ego_y - p.y) * c - (ego_x - p.x) * s };

		if (fabs(at[0]) <= half_l && fabs(at[1]) <= half_w)
			return OCCUPIED;
		if (meets(eye, at, half_l, half_w))
			is = HIDDEN;
	}
	return is;
}

void npcs_check_grid(const struct autoware_grid *g, int frame, double ego_x, double ego_y)
{
	const int8_t *cells = (const int8_t *)g->data._buffer;
	unsigned seen[3] = { 0 };

	assert_int_equal(g->data._length, g->width * g->height);
	for (uint32_t i = 0; i < g->data._length; i++) {
		double x = g->x + (i % g->width + 0.5) * (double)g->resolution;
		double y = g->y + (i / g->width + 0.5) * (double)g->resolution;

		if (cells[i] != cell_at(x, y, frame, ego_x, ego_y, EDGE_M) &&
		    cells[i] != cell_at(x, y, frame, ego_x, ego_y, -EDGE_M))
			fail_msg("frame %d: at %.3f, %.3f the grid has %d, not %d", frame, x, y, cells[i],
				 cell_at(x, y, frame, ego_x, ego_y, 0));
		seen[cells[i] / HIDDEN]++;
	}
	assert_true(seen[0] && seen[1] && seen[2]);
}
