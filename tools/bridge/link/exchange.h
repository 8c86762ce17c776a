/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that belong to a lock-step step over several machines (TIME.md). Sending: what participants published is
 * sent while the step is still open, before simd dispatches it to this bridge. Receiving: a message is held until the
 * step may end, and then published, in a fixed order.
 *
 * Threads: "link-gather" sends and settles; Cyclone's holds messages; begin() and end() are called by callbacks of the
 * state machines. While link_exchange::lock is held, only locks of the bridge host are taken.
 */
#ifndef LINK_EXCHANGE_H
#define LINK_EXCHANGE_H

#include <sim/client.h>

#include "link.h"
#include "step_follow.h"

int link_exchange_open(struct sim_bridge *b);
void link_exchange_close(struct sim_bridge *b);

/* on: it has asked to take part: messages of steps are held until the first step is known. */
void link_exchange_expect(struct sim_bridge *b, bool on);
/* begin: it takes part in steps after `settled`. end: no longer; held messages are published. */
void link_exchange_begin(struct sim_bridge *b, uint64_t settled);
void link_exchange_end(struct sim_bridge *b);

/* Between steps: subscribes to the channels that other machines listen to. */
void link_exchange_prepare(struct sim_bridge *b, struct sim_client *c);
/*
 * Sends all that participants published in this step for other machines. Returns the number of channels, up to
 * STEP_EXPORTS_MAX, with the last number of each in ret.
 */
uint32_t link_exchange_send(struct sim_bridge *b, uint64_t host, uint64_t step, struct step_export *ret);
/*
 * again: sends messages again to machines that have come back. through: all machines have the messages up to that step.
 * forget: drops what is kept of a topic.
 */
void link_exchange_again(struct sim_bridge *b);
void link_exchange_through(struct sim_bridge *b, uint64_t up_to);
void link_exchange_forget(struct sim_bridge_topic *t);
/* Whether a message that simd dispatches to the bridge was already sent within its step. */
bool link_exchange_sent(struct sim_bridge_topic *t, const struct sim_slot *header);
void link_exchange_unsubscribe(struct sim_bridge_topic *t);
void link_exchange_stop(struct sim_bridge *b); /* destroys all subscribers */

void link_exchange_need(struct sim_bridge *b, uint64_t host, uint64_t step, const struct step_export *exports,
			uint32_t n);
/* Waits until all messages of steps up to this one are here, and publishes them. */
void link_exchange_settle(struct sim_bridge *b, uint64_t up_to, int64_t deadline_dur_ns, const _Atomic bool *stop);

/* For each received message. True: it is held, or was received before; `in` then has no body. */
bool link_exchange_hold(struct sim_bridge *b, struct link_import *i, struct blob_in *in);
void link_exchange_listen(struct sim_bridge *b, struct link_import *i,
			  bool on); /* on: before the reader is created; off: after it is deleted */

int32_t link_exchange_depth(const struct sim_bridge *b); /* history depth of a reliable channel */

#endif
