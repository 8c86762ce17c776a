/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step: what the lanes convert side by side is written in one order. Each delivery has a ticket that names its
 * predecessor; it may be published once that has passed, and passes when its publish() returns, whatever that returns. simd
 * gives out tickets as it sends, and a lane handles what it has in that order, so the lowest ticket that has not passed is always
 * the first of its lane: nobody waits for ever. But a lane that fails here takes what was sent to it along: then nobody waits
 * whose ticket was given out before simd noticed that, and began a new row of them (schemas/wire/lane.h).
 *
 * Thread: each lane's its own turn; the rest any.
 */
#ifndef ORDER_H
#define ORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sim/lane.h>

#include "list.h"

struct sim_task;

struct host_turn {                   /* a lane's */
	const struct sim_task *task; /* that publish() has; NULL: not in lock-step */
	struct sim_lane_ticket ticket;
	bool mine; /* its predecessor has passed */
	int64_t waited_dur_ns;
	pthread_cond_t came;
	struct list link; /* host_order::waiting; guarded by lock */
};

struct host_order {
	pthread_mutex_t lock;
	uint64_t passed;     /* this ticket and all before it; guarded by lock */
	uint64_t rows;       /* that have ended; guarded by lock */
	uint64_t free_below; /* tickets that wait for nobody; guarded by lock */
	struct list waiting; /* host_turn::link, guarded by lock */
	pthread_mutex_t flush_lock;
	_Atomic bool stepping; /* simd says when to flush; set under flush_lock */
};

void order_init(struct host_order *o);
void order_finish(struct host_order *o);
void order_turn_init(struct host_turn *t);
void order_turn_finish(struct host_turn *t);

/* From here to order_pass() the turn is of that ticket. task: NULL for what no plug-in asks for. */
void order_begin(struct host_order *o, struct host_turn *t, const struct sim_lane_ticket *ticket,
		 const struct sim_task *task);
bool order_is_next(struct host_order *o, const struct host_turn *t); /* it need not wait */
void order_wait(struct host_order *o, struct host_turn *t);
void order_pass(struct host_order *o, struct host_turn *t); /* in its turn, for which it waits */
/* A further lane has ended, and was not closed by simd as one that had no work. fails: what it had been sent may never pass. */
void order_row_ends(struct host_order *o, bool fails);

#endif
