/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a bridge has reported of the channels that its rig lists for it: carried, as which topic and type on the other
 * side, or refused, and why. A channel that it has not reported yet counts as carried.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_CARRIED_H
#define REGISTRY_CARRIED_H

#include "list.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define CARRIED_BY_NAME   UINT32_MAX
#define CARRIED_NAMED_MAX 512 /* per bridge */

struct carried {
	struct list link;    /* bridge::carried */
	uint32_t channel_id; /* CARRIED_BY_NAME: identified by `channel` */
	char *channel;       /* mem_free; NULL: identified by number */
	bool inbound;        /* the bridge brings messages in on it */
	int result;          /* 0: carried; negative: refused, and name is the reason */
	char *name, *type;   /* mem_free */
};

/* Replaces what the bridge had reported of the channel. Copies the texts. -ENOMEM. */
int carried_set(struct list *all, uint32_t channel_id, int result, const char *name, const char *type);
/*
 * Stores a topic that does not go through dispatch, under the channel's full name: an inbound channel, or /clock.
 * Replaces the entry with the same channel, direction and topic. -ENOSPC, -ENOMEM.
 */
int carried_name(struct list *all, const char *channel, bool inbound, const char *name, const char *type);
/*
 * Both drop the reports of the process that ran the bridge before. carried_clear_reported() drops those identified by
 * number, on an event of dispatch, so in order with the bridge's reports; the new process may have named topics by
 * then. carried_clear_named() drops those identified by name, when the new process attaches.
 */
void carried_clear_reported(struct list *all);
void carried_clear_named(struct list *all);
/* Removes the entry of a channel whose number is free again. */
void carried_forget(struct list *all, uint32_t channel_id);

/* NULL: not reported. */
const struct carried *carried_find(const struct list *all, uint32_t channel_id);
bool carried_refused(const struct list *all, uint32_t channel_id);
/*
 * New JSON: {"bridge","channel","name","type","why","inbound"}; "why" is empty if it is carried. channel: name of a
 * channel that is identified by number.
 */
json_t *carried_json(const struct carried *k, const char *bridge, const char *channel);

#endif
