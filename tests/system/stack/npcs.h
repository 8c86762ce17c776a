/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that the scenario of test_scenario.c places around its ego, and what a sensor should see of them,
 * computed in the simplest way: each cell by itself. Thread: any; pure but for a failing test.
 */
#ifndef TEST_NPCS_H
#define TEST_NPCS_H

#include "../../support/ss2_peer.h"
#include "autoware.h"

#define NPCS 2

struct npc {
	const char *name;
	uint32_t spawn; /* PEER_SPAWN_... */
	int type, subtype;
	uint8_t class; /* Autoware's */
	double speed;
	double length, width, height;
};
extern const struct npc npcs[NPCS];

struct npc_place {
	double x, y, z, yaw;
	double c, s; /* of yaw */
};

struct peer_pose npc_at(int i, int frame);
struct npc_place npc_center(int i, int frame);

/* Each ray, of a cloud around an ego there; those of what peer_attach() asks for. */
void npcs_check_cloud(const struct autoware_cloud *c, int frame, const struct npc_place *ego);

/* Each cell, of a grid around the ego. */
void npcs_check_grid(const struct autoware_grid *g, int frame, double ego_x, double ego_y);

#endif
