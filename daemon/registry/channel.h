/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels and who is in them: the registry's data side. A channel comes into being with its
 * first publisher or subscriber (or the rig's entry) and keeps its number and totals until simd ends, unless
 * its place is needed; it is "open" while dispatch subscribes to it.
 *
 * Thread: simd-main. All quantities are bounded by struct simd_limits and the admission.
 */
#ifndef REGISTRY_CHANNEL_H
#define REGISTRY_CHANNEL_H

#include "conf.h"
#include "list.h"
#include "names.h"

#include <sim/publisher.h>
#include "rate.h"

#include "wire/pages.h"

#include <jansson.h>
#include <sim/slot.h>
#include <sim/types.h>
#include <stdbool.h>
#include <stdint.h>

struct client;
struct rig;
struct simd;

/* Totals of publishers that no longer exist, and the sum over all when asked for. */
struct totals {
	uint64_t messages, bytes, last_mono_ns;
	uint64_t accepted;    /* of the messages: for dispatch */
	uint64_t wait_dur_ns; /* for credits */
	uint64_t dropped[SIM_REASON_COUNT];
};

struct channel {
	struct list link; /* simd::channels */
	struct simd *s;
	uint32_t id; /* index in the dispatch page */
	char name[CHANNEL_NAME_MAX + 1];
	const struct rig *rig; /* NULL: none */
	struct conf_view view; /* the rig's entry; .obj NULL: none */

	bool typed; /* somebody has advertised it */
	char type[SIM_TYPE_NAME_MAX + 1], hash[17];
	char *type_json; /* the definition as it was sent; mem_free */
	uint64_t max_body, slot_size;
	int pool;        /* class of slot_size; -1: not known yet */
	uint32_t window; /* how many of its messages may be in flight; 0: not known yet */
	uint32_t cells; /* its claims are in the first so many cells: the largest window that it can have while it is open */
	uint32_t shard; /* of dispatch */
	bool open;      /* dispatch takes from it */
	bool inbound;   /* what bridges bring in: dispatched only to those that connect machines */
	bool closing;   /* dispatch is emptying it; channel_freed() follows */
	bool replaced;  /* closing, and another one has its name already */
	bool ordered;
	bool waits_reported; /* that producers wait has been logged */

	struct list publishers;  /* publisher::in_channel */
	struct list subscribers; /* subscriber::in_channel */
	uint32_t n_publishers, n_subscribers;
	uint32_t depth;    /* queue of dispatch's subscriber */
	uint32_t reserved; /* slots of the window in its pool; 0 while it is not open */
	struct totals closed;
	struct rate rate;
	int64_t renewed_mono_ns; /* when its subscribers were last replaced; 0: never */
	bool renew_due;          /* they are to be */
	int64_t shrinks_mono_ns; /* since when its queues are to be shorter, where some are; 0: never */
	int shrinks_pool;        /* the class in which that is to make room */
	int64_t idle_mono_ns;    /* when its last publisher or subscriber left */
};

struct publisher {
	struct list in_channel, in_client; /* channel::publishers, client::publishers */
	struct channel *ch;
	struct client *cl;
	uint32_t id, row, flags;
	int pool; /* class in which its slots are reserved */
	uint64_t max_body;
	char host[SIM_HOST_NAME_MAX + 1]; /* "": this machine */
	struct wire_counters *counters;   /* in the client's page: hostile until proven otherwise */
};

struct subscriber {
	struct list in_channel, in_client; /* channel::subscribers, client::subscribers */
	struct channel *ch;
	struct client *cl;
	uint32_t id, depth;
	uint32_t wanted;  /* the depth that its client has asked for */
	uint32_t offered; /* the one that it is to have (queues.h); 0: that */
	int pool;         /* class in which it is reserved; -1: the channel has none yet */
	uint32_t reserved;
};

/* What the bridges must know of channels. */
struct channel_events {
	/* The shard of all bridges that list it; 0: none does. */
	uint32_t (*shard)(const struct channel *ch);
	/* Whether a bridge to other machines lists it. */
	bool (*linked)(const struct channel *ch);
	/* Dispatch takes from it now: notify dispatch which bridges carry it. Negative errno: it stays without them. */
	int (*opened)(struct simd *s, struct channel *ch);
	/* Its number is free again. */
	void (*freed)(struct simd *s, uint32_t id);
};

#define HELD_BY_SUBSCRIBER 2 /* slots that a subscriber is expected to hold beside its queue */

/* The deeper of the queue that it has and the one that it may be making. */
static inline uint32_t subscriber_holds(const struct subscriber *sub)
{
	return sub->offered > sub->depth ? sub->offered : sub->depth;
}

/* Exact full name, or NULL. */
struct channel *channel_find(struct simd *s, const char *full_name);
/* Find or make. -EINVAL name, -EMFILE. */
int channel_get(struct simd *s, const struct rig *rig, const char *name, struct channel **ret);
/* Give it a type, or compare it with the one it has. type: {"name","hash",...}. -EMEDIUMTYPE, -EINVAL, -E2BIG. */
int channel_set_type(struct channel *ch, const json_t *type);
/* Tell its publishers how many subscribe, in the layout page. */
void channel_show_subscribers(const struct channel *ch);
/*
 * A channel that nobody publishes any more may come back with another type: *ch is then a fresh one of that
 * name with its subscribers and totals, while dispatch empties the old one.
 */
int channel_retype(struct channel **ch, const json_t *type);
/* -EMEDIUMTYPE when it is known to have another. NULL: any. */
int channel_check_type(const struct channel *ch, const char *type, const char *hash);
/* The window that it has, or gets, with slots of that size: the rig's, or what is usual for the size, and never more than before. */
uint32_t channel_window(const struct channel *ch, uint64_t slot_size, int cls);
/* The smallest window where there is no room: a window from the rig does not shrink, nor does one in use that stays in its class. */
uint32_t channel_window_least(const struct channel *ch, uint64_t slot_size, int cls);
/* Slots that a window which gave way lacks of the usual one; 0: none. */
uint32_t channel_missing(const struct channel *ch);
void channel_widen(struct channel *ch, uint32_t more);
/* The size class that the channel has with such messages, too; own: theirs. */
static inline int channel_class_with(const struct channel *ch, uint64_t max_body, int own)
{
	return ch->pool >= 0 && max_body <= ch->max_body ? ch->pool : own;
}
/* Size class for bodies of max_body; moves what is reserved when it has to grow, also while messages are in flight. -EMSGSIZE, -ENOSPC. */
int channel_set_size(struct channel *ch, uint64_t max_body);
/*
 * Dispatch takes from it from now on, for bridges to other machines only if it is inbound. Nothing happens if it does already; with
 * the other kind nobody may publish it. -EAGAIN in a moment, -ESTALE, -ENOSPC, -EMFILE.
 */
int channel_open(struct channel *ch, bool inbound);
/* Another subscriber of simd's own in place of a damaged one, where dispatch takes from it. Errors as channel_open(). */
int channel_renew(struct channel *ch);
/* Close channels that nobody uses any more, for the room they take; not `keep`, which somebody is about to use (NULL: all). How many. */
unsigned channel_reclaim(struct simd *s, const struct channel *keep);
/* Asks the data plane how many slots of a class are in use: no more than these can still be on their way back (admission.h). */
void channel_settle(struct simd *s, int cls);
/* Slots of a class for the channel, after a reclaim if there is no room. -ENOSPC. */
int channel_reserve(struct channel *ch, int cls, uint32_t slots);
void channel_destroy_all(struct simd *s);
/* Dispatch has emptied a closed channel. */
void channel_freed(struct simd *s, uint32_t id);
/* Subscribe dispatch to all open channels in a new generation. */
int channel_resubscribe_all(struct simd *s);

void channel_totals(const struct channel *ch, struct totals *ret);
/* Its publisher is removed: keep what it counted. */
void channel_close_totals(struct channel *ch, struct wire_counters *c);
void channel_sample(struct channel *ch, int64_t now_mono_ns);

#endif
