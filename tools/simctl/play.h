/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the command `play` and its services. */
#ifndef SIMCTL_PLAY_H
#define SIMCTL_PLAY_H

#include "record/player.h"
#include "simctl.h"

#define PLAY_SERVICES 7

struct play_services {
	struct player *player; /* borrowed */
	int64_t begin_ns, end_ns;
	_Atomic int64_t rate_e6; /* as requested; play.c derives the player's rate from it */
	struct sim_service *offered[PLAY_SERVICES];
};

/*
 * Offers /NAME/pause and the other services; their handlers run on thread sim-service. Thread: main. Returns 0, or a
 * negative errno with the reason in sim_why(): then no service is offered.
 */
int play_services_offer(struct play_services *s, struct sim_client *c, const char *name);
void play_services_withdraw(struct play_services *s);

#endif
