/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a step of lock-step between machines (TIME.md). Out: what participants have published is sent while the step is held open,
 * before simd dispatches it to this bridge. In: it is held until the step may end, and then published, in one order.
 *
 * Thread: "link-gather" sends and settles, Cyclone's hold; begin() and end() the machines' callbacks. `lock` of it is a leaf but for the
 * host's inside.
 */
#ifndef LINK_EXCHANGE_H
#define LINK_EXCHANGE_H

#include <sim/client.h>

#include "link.h"
#include "step_follow.h"

int link_exchange_open(struct sim_bridge *b);
void link_exchange_close(struct sim_bridge *b);

/* It is going to take part, or is not: what comes of steps is held until it is known of which ones. */
void link_exchange_expect(struct sim_bridge *b, bool on);
/* Takes part from the step after `settled` on; it does no more: what is held is published. */
void link_exchange_begin(struct sim_bridge *b, uint64_t settled);
void link_exchange_end(struct sim_bridge *b);

/* Between steps: subscribes to what others listen to. */
void link_exchange_prepare(struct sim_bridge *b, struct sim_client *c);
/* All that participants have published in this step for others, and what that was: of STEP_EXPORTS_MAX, returns how many. */
uint32_t link_exchange_send(struct sim_bridge *b, uint64_t host, uint64_t step, struct step_export *ret);
/* Who was gone when that was sent, and has come back, gets it; up to that step all have had it. */
void link_exchange_again(struct sim_bridge *b);
void link_exchange_through(struct sim_bridge *b, uint64_t up_to);
void link_exchange_forget(struct sim_bridge_topic *t);
/* Of a message that simd dispatches to the bridge: it was sent in its step. */
bool link_exchange_sent(struct sim_bridge_topic *t, const struct sim_slot *header);
void link_exchange_unsubscribe(struct sim_bridge_topic *t);
void link_exchange_stop(struct sim_bridge *b); /* no subscriber is left */

void link_exchange_need(struct sim_bridge *b, uint64_t host, uint64_t step, const struct step_export *exports,
			uint32_t n);
/* Waits until all of the steps up to this one is here, and publishes it. */
void link_exchange_settle(struct sim_bridge *b, uint64_t up_to, int64_t deadline_dur_ns, const _Atomic bool *stop);

/* A message has come: true, it is held, or has been here before, and `in` is empty. */
bool link_exchange_hold(struct sim_bridge *b, struct link_import *i, struct blob_in *in);
void link_exchange_listen(struct sim_bridge *b, struct link_import *i,
			  bool on); /* off: before the reader goes, and after */

int32_t link_exchange_depth(const struct sim_bridge *b); /* history of a reliable channel */

#endif
