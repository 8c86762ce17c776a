/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the order of readers and timers. Each gets the next place; one that is re-created for the same node and the
 * same channel or name gets its old place, so that reloading a component does not change the order of others.
 *
 * Thread: any; place_take() under host::lock, place_leave() takes it.
 */
#ifndef COMPONENT_PLACE_H
#define COMPONENT_PLACE_H

#include "host.h"

#define PLACES_MAX 1024u /* places remembered after their owner is gone; beyond that the oldest is forgotten */

enum place_kind { PLACE_READER, PLACE_TIMER };

/* Greater than 0, unique. Under host::lock. */
uint64_t place_take(struct sim_host *h, enum place_kind kind, const char *node, const char *of);
/* The owner is gone; its place is remembered if memory allows. */
void place_leave(struct sim_host *h, enum place_kind kind, const char *node, const char *of, uint64_t place);
void places_finish(struct sim_host *h);

#endif
