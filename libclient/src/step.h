/* SPDX-License-Identifier: Apache-2.0 */
/* Private: taking part in lock-step, and messages that are published in a turn but sent at its end. */
#ifndef SRC_STEP_H
#define SRC_STEP_H

#include <sim/step.h>

#include "client.h"
#include "completion.h"
#include "session.h"

struct pub_port;
struct sim_slot;

/* What the counters record of a message; read before it is sent, as afterwards the slot must not be read. */
struct sent {
	uint64_t bytes, stamp_sim_ns, mono_ns;
};

/* A message that is kept back: accepted and filled, but not sent. */
struct kept {
	struct sim_publisher *pub;
	struct pub_port *port; /* referenced */
	struct sim_slot *slot;
	struct record *rec; /* NULL: local */
	struct claim claim;
	struct sent sent;
	uint64_t sequence;
	bool dispatch;
};

/* Takes part again with a new simd. Under setup. */
void step_register(struct sim_client *c, struct session *s);
/* simd is gone: wakes a thread that waits for a turn. */
void step_rouse(const struct session *s);

/* Copies *k. -ENOMEM. In any thread, inside the publisher. */
int step_keep(struct sim_client *c, const struct kept *k);
/* The publisher is being destroyed: its kept messages fail. */
void step_drop_kept(struct sim_client *c, struct sim_publisher *p);

/* Nothing completes before the caller goes on: waiting for a completion would never end. */
bool step_forbids_waiting(const struct sim_client *c);

/* ---- queue.c ---- */

/* Sends it; takes it. Its callback runs here if it cannot be sent. */
void publisher_send_kept(const struct kept *k);
/* Ends a message that is not sent: releases its claims, runs its callback. */
void kept_failed(const struct kept *k, enum sim_reason reason);

#endif
