/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels, with their publishers and subscribers. A channel is made for its first publisher or subscriber (or by a
 * rig's entry) and keeps its number and totals until simd ends, unless its place is needed. It is "open" while dispatch
 * subscribes to it.
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

/* Totals of publishers that no longer exist; in channel_totals() the sum over all. */
struct totals {
	uint64_t messages, bytes, last_mono_ns;
	uint64_t accepted;    /* messages for dispatch */
	uint64_t wait_dur_ns; /* time that publishers waited for credits */
	uint64_t dropped[SIM_REASON_COUNT];
};

struct channel {
	struct list link; /* simd::channels */
	struct simd *s;
	uint32_t id; /* index in the dispatch page */
	char name[CHANNEL_NAME_MAX + 1];
	const struct rig *rig; /* NULL: none */
	struct conf_view view; /* the channel's entry in the rig; .obj NULL: none */

	bool typed; /* a publisher has given it a type */
	char type[SIM_TYPE_NAME_MAX + 1], hash[17];
	char *type_json; /* type definition as it was sent; mem_free */
	uint64_t max_body, slot_size;
	int pool;        /* class of slot_size; -1: unknown yet */
	uint32_t window; /* messages that may be in flight; 0: unknown yet */
	/* cells that can hold its claims, from the first on: the largest window that it can have while it is open */
	uint32_t cells;
	uint32_t shard; /* shard of dispatch */
	bool open;      /* dispatch subscribes to it */
	/* its messages come from bridges, and dispatch gives them only to bridges that connect machines */
	bool inbound;
	bool closing;  /* dispatch is emptying it; channel_freed() follows */
	bool replaced; /* closing, and another channel has its name already */
	bool ordered;
	bool waits_reported; /* the warning about waiting producers was logged */

	struct list publishers;  /* publisher::in_channel */
	struct list subscribers; /* subscriber::in_channel */
	uint32_t n_publishers, n_subscribers;
	uint32_t depth;    /* queue depth of dispatch's subscriber */
	uint32_t reserved; /* slots reserved for its window; 0: not open */
	struct totals closed;
	struct rate rate;
	int64_t renewed_mono_ns; /* when its subscribers were last replaced; 0: never */
	bool renew_due;          /* its subscribers are to be replaced */
	int64_t shrinks_mono_ns; /* when some of its queues were last asked to shrink; 0: never */
	int shrinks_pool;        /* class that the shrinking makes room in */
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
	struct wire_counters *counters;   /* in the client's page: not to be trusted */
};

struct subscriber {
	struct list in_channel, in_client; /* channel::subscribers, client::subscribers */
	struct channel *ch;
	struct client *cl;
	uint32_t id, depth;
	uint32_t wanted;  /* depth that its client requested */
	uint32_t offered; /* depth that its client is asked to change to (queues.h); 0: no change */
	int pool;         /* class in which its queue is reserved; -1: the channel has no class yet */
	uint32_t reserved;
};

/* Calls from channels to the bridges. */
struct channel_events {
	/* The shard of the bridges that list the channel; 0 also if no bridge does. */
	uint32_t (*shard)(const struct channel *ch);
	/* Whether a bridge to other machines lists the channel. */
	bool (*linked)(const struct channel *ch);
	/*
	 * Dispatch has subscribed to the channel: tells dispatch which bridges carry it. Negative: some or all bridges
	 * are missing.
	 */
	int (*opened)(struct simd *s, struct channel *ch);
	/* The channel's number is free again. */
	void (*freed)(struct simd *s, uint32_t id);
};

#define HELD_BY_SUBSCRIBER 2 /* slots that a subscriber is expected to hold beside its queue */

/* The larger of its present queue and the one that its client may be making. */
static inline uint32_t subscriber_holds(const struct subscriber *sub)
{
	return sub->offered > sub->depth ? sub->offered : sub->depth;
}

/* Looks up the full name; NULL: no such channel. */
struct channel *channel_find(struct simd *s, const char *full_name);
/*
 * Finds the channel or makes it. -EINVAL: invalid name; -EMFILE: too many channels; -EAGAIN: idle ones are being
 * closed.
 */
int channel_get(struct simd *s, const struct rig *rig, const char *name, struct channel **ret);
/*
 * Sets the channel's type, or compares it with the present one. type: {"name","hash",...}. -EMEDIUMTYPE, -EINVAL,
 * -E2BIG.
 */
int channel_set_type(struct channel *ch, const json_t *type);
/* Writes the number of subscribers to the layout page, for its publishers. */
void channel_show_subscribers(const struct channel *ch);
/*
 * A channel without publishers may get another type: *ch is then a new channel of that name with the subscribers and
 * totals of the old one, which dispatch empties.
 */
int channel_retype(struct channel **ch, const json_t *type);
/* -EMEDIUMTYPE if the channel is known to have another type or hash. NULL: any. */
int channel_check_type(const struct channel *ch, const char *type, const char *hash);
/*
 * The window that the channel has or will have with slots of that size: the rig's, or the usual one for the size, but
 * never larger than the present one.
 */
uint32_t channel_window(const struct channel *ch, uint64_t slot_size, int cls);
/*
 * The smallest window that can be tried if there is no room: a window set by the rig does not shrink, nor one that is
 * in use and stays in its class.
 */
uint32_t channel_window_least(const struct channel *ch, uint64_t slot_size, int cls);
/* Slots by which a reduced window is smaller than the usual one; 0: none. */
uint32_t channel_missing(const struct channel *ch);
void channel_widen(struct channel *ch, uint32_t more);
/* Size class of the channel if it also carries bodies of max_body. own: the class for max_body alone. */
static inline int channel_class_with(const struct channel *ch, uint64_t max_body, int own)
{
	return ch->pool >= 0 && max_body <= ch->max_body ? ch->pool : own;
}
/*
 * Sets the size class for bodies of max_body. If it has to grow, moves the reservations, also while messages are in
 * flight. -EMSGSIZE, -ENOSPC.
 */
int channel_set_size(struct channel *ch, uint64_t max_body);
/*
 * Makes dispatch subscribe to the channel; inbound: for bridges to other machines only. If it is open already with the
 * same `inbound`, does nothing; with the other one, the channel must have no publishers. -EAGAIN: it is just being
 * closed; -ESTALE, -ENOSPC, -EMFILE.
 */
int channel_open(struct channel *ch, bool inbound);
/* Replaces dispatch's subscriber of an open channel, whose queue may be damaged. Errors as channel_open(). */
int channel_renew(struct channel *ch);
/*
 * Closes channels without publishers and subscribers, to free their slots, except `keep` (may be NULL). Returns how
 * many.
 */
unsigned channel_reclaim(struct simd *s, const struct channel *keep);
/* Reads how many slots of a class are in use, and limits the count of leaving slots to that (admission.h). */
void channel_settle(struct simd *s, int cls);
/* Reserves slots of a class for the channel; if there is no room, reclaims idle channels first. -ENOSPC. */
int channel_reserve(struct channel *ch, int cls, uint32_t slots);
void channel_destroy_all(struct simd *s);
/* Dispatch has emptied a closed channel. */
void channel_freed(struct simd *s, uint32_t id);
/* Makes dispatch subscribe to all open channels in a new generation. */
int channel_resubscribe_all(struct simd *s);

void channel_totals(const struct channel *ch, struct totals *ret);
/* Adds the counters of a publisher that is being removed to the channel's totals. */
void channel_close_totals(struct channel *ch, struct wire_counters *c);
void channel_sample(struct channel *ch, int64_t now_mono_ns);

#endif
