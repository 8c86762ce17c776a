/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step: copies of the messages sent in the last steps, per channel in the order of sending, kept until all
 * machines have them. A machine that was cut off for longer than lease_ms, after which DDS keeps nothing for it, is
 * sent them again. Caller holds sim_bridge::lock.
 */
#ifndef LINK_AGAIN_H
#define LINK_AGAIN_H

#include "link.h"

/* Keeps a copy of a message that was sent. Without room it is not kept, which is logged. */
void link_again_keep(struct sim_bridge *b, struct sim_bridge_topic *t, const struct blob_out *o);
/* Sends the copies again if a reader has appeared since the last call. */
void link_again_send(struct sim_bridge *b, struct sim_bridge_topic *t);
/* Frees the copies of steps up to this one: all machines have them. */
void link_again_drop(struct sim_bridge *b, struct sim_bridge_topic *t, uint64_t up_to);

#endif
