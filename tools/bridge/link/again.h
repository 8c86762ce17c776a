/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was sent in the last steps of lock-step, a copy, until all machines have it: who was gone meanwhile, longer than DDS keeps
 * anything for it (lease_ms), gets it again. Of each channel, in order. Thread: with sim_bridge::lock.
 */
#ifndef LINK_AGAIN_H
#define LINK_AGAIN_H

#include "link.h"

/* A message that has been sent. Where there is no room it is not kept, which is logged. */
void link_again_keep(struct sim_bridge *b, struct sim_bridge_topic *t, const struct blob_out *o);
/* If somebody has come (back) since the last call: sends what is kept. */
void link_again_send(struct sim_bridge *b, struct sim_bridge_topic *t);
/* Of the steps up to this one all is where it is to be. */
void link_again_drop(struct sim_bridge *b, struct sim_bridge_topic *t, uint64_t up_to);

#endif
