/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: one message in the hands of the plug-in. A task exists from its delivery to its one answer; what a
 * plug-in keeps pending stays in the lane's table. Thread: delivered by the lane's thread, answered from any.
 */
#ifndef TASK_H
#define TASK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <sim/lane.h>

#include "list.h"
#include "order.h"

struct host;
struct host_lane;

enum task_state { TASK_FREE, TASK_RUNNING, TASK_PENDING, TASK_DONE };

struct sim_task {
	_Atomic int state; /* enum task_state */
	int result;        /* of an answer that came while publish() still ran */
	struct host_lane *lane;
	uint64_t id;
	struct sim_message message; /* what the plug-in is given, until it has answered */
	int64_t start_mono_ns;
	struct list link; /* host_lane::free; guarded by the lane's lock */
};

#define LANE_TASKS 1024 /* tasks one lane can have pending; simd's window keeps far below */

struct host_lane {
	struct host *host;
	struct sim_lane *lane;
	bool first;
	bool joined; /* guarded by host::lanes_lock */
	unsigned number;
	pthread_t thread;
	pthread_mutex_t lock; /* guards free */
	struct list free;
	struct sim_task *spare;   /* free too, the one used last; by the lane's thread, without the lock. NULL: none */
	struct list link;         /* host::lanes */
	_Atomic unsigned pending; /* tasks; counted down with the last look at the lane */
	_Atomic bool ended;       /* a further one: its thread is about to return */
	_Atomic bool inside;      /* in a packet whose messages may be with the plug-in */
	struct host_turn turn;    /* its thread's */
	struct sim_task tasks[LANE_TASKS];
};

struct sim_task *task_get(struct host_lane *l, const struct sim_delivery *d, int64_t now_mono_ns);
/*
 * publish() returned r (0, 1 or negative). True: the task is finished, its answer is *ret (to be batched by
 * the lane's thread), and it is free again. False: it is pending.
 */
bool task_returned(struct sim_task *t, int r, int64_t now_mono_ns, struct sim_lane_result *ret);
/*
 * The plug-in's own answer. Returns 1 it was sent from here, 0 publish() still runs and will send it, -EALREADY
 * it was answered before. The task is free again after 1.
 */
int task_complete(struct sim_task *t, int result);
/* Count an answer into the host's totals (sent_now as task_complete() returned it). */
void task_count(struct host *h, int sent_now, int result);

#endif
