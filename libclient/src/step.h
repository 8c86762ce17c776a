/* SPDX-License-Identifier: Apache-2.0 */
/* Private: taking part in lock-step, and what is published in a turn but sent at its end. */
#ifndef SRC_STEP_H
#define SRC_STEP_H

#include <sim/step.h>

#include "client.h"
#include "completion.h"
#include "session.h"

struct pub_port;
struct sim_slot;

/* What the counters record of a message; read before it is sent, afterwards the slot is not ours to read. */
struct sent {
	uint64_t bytes, stamp_sim_ns, mono_ns;
};

/* A message that is kept back: accepted, filled, not sent. */
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

/* Take part again with a new simd. Under setup. */
void step_register(struct sim_client *c, struct session *s);
/* simd is gone: who waits for a turn is to look. */
void step_rouse(const struct session *s);

/* Copies *k. -ENOMEM. By any thread, inside the publisher. */
int step_keep(struct sim_client *c, const struct kept *k);
/* The publisher is being destroyed: what it has kept back fails. */
void step_drop_kept(struct sim_client *c, struct sim_publisher *p);

/* Nothing completes before the caller has gone on: waiting for it would not end. */
bool step_forbids_waiting(const struct sim_client *c);

/* ---- queue.c ---- */

/* Send it; takes it. Its callback runs here if it cannot be sent. */
void publisher_send_kept(const struct kept *k);
/* It is not sent: claims back, callback. */
void kept_failed(const struct kept *k, enum sim_reason reason);

#endif
