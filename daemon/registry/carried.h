/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one bridge has reported of the channels that its rig lists for it: carried, as which topic of which type over
 * there, or refused, and why. Of which it has reported nothing yet, it is taken to carry all that its globs name.
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
#define CARRIED_NAMED_MAX 512 /* of a bridge */

struct carried {
	struct list link;    /* bridge::carried */
	uint32_t channel_id; /* CARRIED_BY_NAME: channel says which */
	char *channel;       /* mem_free; NULL: by number */
	bool inbound;        /* it brings that in */
	int result;          /* 0: carried; below 0: refused, name is the reason */
	char *name, *type;   /* mem_free */
};

/* Replaces what it had reported of the channel. Texts borrow. -ENOMEM. */
int carried_set(struct list *all, uint32_t channel_id, int result, const char *name, const char *type);
/*
 * Beside dispatch, by the channel's full name: what it brings in, or /clock. Replaces the same topic of the channel in that direction. -ENOSPC,
 * -ENOMEM.
 */
int carried_name(struct list *all, const char *channel, bool inbound, const char *name, const char *type);
/*
 * Another process is that bridge: what the last one has reported, by number or by name, is void. By number that is an event of
 * dispatch, behind what it reported; it may come when the process has named its topics already.
 */
void carried_clear_reported(struct list *all);
void carried_clear_named(struct list *all);
/* The channel's number is free again. */
void carried_forget(struct list *all, uint32_t channel_id);

/* NULL: nothing reported. */
const struct carried *carried_find(const struct list *all, uint32_t channel_id);
bool carried_refused(const struct list *all, uint32_t channel_id);
/* New JSON: {"bridge","channel","name","type","why","inbound"}; why is empty where it is carried. channel: of one by number. */
json_t *carried_json(const struct carried *k, const char *bridge, const char *channel);

#endif
