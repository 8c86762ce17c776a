/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step: lanes convert in parallel but write in one order. Each delivery has a ticket that names its predecessor;
 * it may be published once the predecessor has passed, and passes when its publish() returns, whatever the result. simd
 * gives out tickets in the order in which it sends, and a lane handles its deliveries in that order, so the lowest
 * ticket that has not passed is always the first of its lane: no deadlock. If a lane fails, the deliveries sent to it
 * are lost; tickets given out before simd noticed the failure and began a new row of tickets (schemas/wire/lane.h) then
 * wait no longer.
 *
 * Thread: each lane for its own turn; the rest any.
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

struct host_turn {                   /* of one lane */
	const struct sim_task *task; /* the task inside publish(); NULL: not in lock-step */
	struct sim_lane_ticket ticket;
	bool mine; /* its predecessor has passed */
	int64_t waited_dur_ns;
	pthread_cond_t came;
	struct list link; /* host_order::waiting; guarded by lock */
};

struct host_order {
	pthread_mutex_t lock;
	uint64_t passed;     /* this ticket and all before it have passed; guarded by lock */
	uint64_t rows;       /* rows of tickets that have ended; guarded by lock */
	uint64_t free_below; /* tickets below it do not wait; guarded by lock */
	struct list waiting; /* host_turn::link, guarded by lock */
	pthread_mutex_t flush_lock;
	_Atomic bool stepping; /* simd says when to flush; written under flush_lock */
};

void order_init(struct host_order *o);
void order_finish(struct host_order *o);
void order_turn_init(struct host_turn *t);
void order_turn_finish(struct host_turn *t);

/* Starts the turn of `ticket`; order_pass() ends it. task: NULL if no plug-in is called for it. */
void order_begin(struct host_order *o, struct host_turn *t, const struct sim_lane_ticket *ticket,
		 const struct sim_task *task);
bool order_is_next(struct host_order *o, const struct host_turn *t); /* whether it would not block */
void order_wait(struct host_order *o, struct host_turn *t);
void order_pass(struct host_order *o, struct host_turn *t); /* waits for the turn if necessary */
/* A further lane has ended without simd closing it for lack of work. fails: deliveries sent to it may never pass. */
void order_row_ends(struct host_order *o, bool fails);

#endif
