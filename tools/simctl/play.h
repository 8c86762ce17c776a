/* SPDX-License-Identifier: Apache-2.0 */
/* What the command `play` and its services share. */
#ifndef SIMCTL_PLAY_H
#define SIMCTL_PLAY_H

#include "record/player.h"
#include "simctl.h"

#define PLAY_SERVICES 7

struct play_services {
	struct player *player; /* keeps */
	int64_t begin_ns, end_ns;
	_Atomic int64_t rate_e6; /* that was asked for; play.c makes the player's of it */
	struct sim_service *offered[PLAY_SERVICES];
};

/*
 * Offer /NAME/pause and so on. Thread: main; they run on sim-service. 0, or a negative errno and a sentence: then none is offered.
 */
int play_services_offer(struct play_services *s, struct sim_client *c, const char *name);
void play_services_withdraw(struct play_services *s);

#endif
