/* SPDX-License-Identifier: Apache-2.0 */
/* What the scenario places. See npcs.h. */
#include "npcs.h"

#include <math.h>

#include "test.h"

#define EDGE_M  1e-6 /* a cell that is so near to an edge may be on either side */
#define GRAZE_M 1e-4 /* rays are reckoned with 24 bits */
#define NEAR_M  2e-3

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

	double c = cos(yaw), s = sin(yaw);

	return (struct npc_place){ p.x + half * c, p.y + half * s, p.z + npcs[i].height / 2, yaw, c, s };
}

/* How much of the way from a to b there is up to a box of that size, in the box's axes. Above 1: it does not lead there. */
static double way_to(const double a[3], const double b[3], const double half[3])
{
	double in = 0, out = INFINITY;

	for (int k = 0; k < 3; k++) {
		double d = b[k] - a[k], t0 = (-half[k] - a[k]) / d, t1 = (half[k] - a[k]) / d;

		if (d == 0 && fabs(a[k]) > half[k])
			return INFINITY;
		if (d == 0)
			continue;
		in = fmax(in, fmin(t0, t1));
		out = fmin(out, fmax(t0, t1));
	}
	return in <= out ? in : INFINITY;
}

/* A place in the axes of a box. */
static void into(const struct npc_place *box, double x, double y, double z, double ret[3])
{
	double dx = x - box->x, dy = y - box->y;

	ret[0] = dx * box->c + dy * box->s;
	ret[1] = dy * box->c - dx * box->s;
	ret[2] = z - box->z;
}

static void places(int frame, struct npc_place ret[NPCS])
{
	for (int i = 0; i < NPCS; i++)
		ret[i] = npc_center(i, frame);
}

/* What a place is, of boxes that are larger by `more` on each side. */
static int8_t cell_at(double x, double y, const struct npc_place *all, double ego_x, double ego_y, double more)
{
	int8_t is = FREE;

	for (int i = 0; i < NPCS; i++) {
		const struct npc_place *p = &all[i];
		double half[3] = { npcs[i].length / 2 + more, npcs[i].width / 2 + more, 1 }, at[3], eye[3];

		into(p, x, y, p->z, at);
		into(p, ego_x, ego_y, p->z, eye);
		if (fabs(at[0]) <= half[0] && fabs(at[1]) <= half[1])
			return OCCUPIED;
		if (way_to(eye, at, half) <= 1)
			is = HIDDEN;
	}
	return is;
}

void npcs_check_grid(const struct autoware_grid *g, int frame, double ego_x, double ego_y)
{
	const int8_t *cells = (const int8_t *)g->data._buffer;
	struct npc_place all[NPCS];
	unsigned seen[3] = { 0 };

	places(frame, all);
	assert_int_equal(g->data._length, g->width * g->height);
	for (uint32_t i = 0; i < g->data._length; i++) {
		double x = g->x + (i % g->width + 0.5) * (double)g->resolution;
		double y = g->y + (i / g->width + 0.5) * (double)g->resolution;

		/* a cell is what its middle is, or more where it touches a box or its shadow */
		if (cells[i] < cell_at(x, y, all, ego_x, ego_y, -EDGE_M) ||
		    cells[i] > cell_at(x, y, all, ego_x, ego_y, (double)g->resolution))
			fail_msg("frame %d: at %.3f, %.3f the grid has %d, not %d", frame, x, y, cells[i],
				 cell_at(x, y, all, ego_x, ego_y, 0));
		seen[cells[i] / HIDDEN]++;
	}
	assert_true(seen[0] && seen[1] && seen[2]);
}

/* How far a ray of the ego goes, up to boxes that are larger by `more`. INFINITY: for ever. */
static double reach(const struct npc_place *ego, double azimuth, double elevation, const struct npc_place *all,
		    double more)
{
	double yaw = ego->yaw + azimuth, level = cos(elevation), nearest = INFINITY;
	double dx = cos(yaw) * level, dy = sin(yaw) * level, dz = sin(elevation);

	for (int i = 0; i < NPCS; i++) {
		double half[3] = { npcs[i].length / 2 + more, npcs[i].width / 2 + more, npcs[i].height / 2 + more };
		double eye[3], one[3];

		into(&all[i], ego->x, ego->y, ego->z, eye);
		into(&all[i], ego->x + dx, ego->y + dy, ego->z + dz, one);
		nearest = fmin(nearest, way_to(eye, one, half));
	}
	return nearest;
}

/* Points come column by column, anticlockwise from straight back. */
void npcs_check_cloud(const struct autoware_cloud *c, int frame, const struct npc_place *ego)
{
	unsigned columns = (unsigned)(2 * M_PI / PEER_LIDAR_RESOLUTION), at = 0;
	struct npc_place all[NPCS];

	places(frame, all);
	assert_int_equal(c->data._length, c->width * c->point_step);
	for (unsigned ray = 0; ray < columns * PEER_LIDAR_BEAMS; ray++) {
		double azimuth = 2 * M_PI * (ray / PEER_LIDAR_BEAMS) / columns - M_PI;
		double elevation = peer_lidar_elevation((int)(ray % PEER_LIDAR_BEAMS));
		double far = reach(ego, azimuth, elevation, all, GRAZE_M);
		bool must = far < INFINITY && reach(ego, azimuth, elevation, all, -GRAZE_M) < INFINITY;
		float p[3] = { 0 };

		if (!(far < INFINITY))
			continue;
		if (at < c->width)
			memcpy(p, c->data._buffer + (size_t)at * c->point_step, sizeof(p));
		if (hypot((double)p[0] - far * cos(azimuth) * cos(elevation),
			  (double)p[1] - far * sin(azimuth) * cos(elevation)) < NEAR_M &&
		    fabs((double)p[2] - far * sin(elevation)) < NEAR_M)
			at++;
		else if (must)
			fail_msg(
				"frame %d: point %u of %u is at %.3f, %.3f, %.3f; a ray ends %.3f m away at %.3f rad, %.3f up",
				frame, at, c->width, (double)p[0], (double)p[1], (double)p[2], far, azimuth, elevation);
	}
	assert_true(at > 0);
	if (at != c->width)
		fail_msg("frame %d: %u points, of which only %u should be there", frame, c->width, at);
}
