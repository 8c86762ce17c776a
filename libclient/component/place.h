/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the places of readers and timers among each other. Each gets the next one; one that is made again, with the same node and the
 * same channel or name, gets the one it had, so that a component that is loaded again changes nobody's order.
 *
 * Thread: any; place_take() under host::lock, place_leave() takes it.
 */
#ifndef COMPONENT_PLACE_H
#define COMPONENT_PLACE_H

#include "host.h"

#define PLACES_MAX 1024u /* remembered of those that are gone, then the one that went first is forgotten */

enum place_kind { PLACE_READER, PLACE_TIMER };

/* > 0, no two alike. Under host::lock. */
uint64_t place_take(struct sim_host *h, enum place_kind kind, const char *node, const char *of);
/* It is gone. Without memory it is forgotten. */
void place_leave(struct sim_host *h, enum place_kind kind, const char *node, const char *of, uint64_t place);
void places_finish(struct sim_host *h);

#endif
