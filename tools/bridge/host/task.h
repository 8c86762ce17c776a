/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: one message in the plug-in's hands. A task exists from its delivery to its one answer; pending ones stay in
 * the lane's table. Thread: delivered by the lane's thread, answered from any.
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
	int result;        /* passed to complete() while publish() still ran */
	struct host_lane *lane;
	uint64_t id;
	struct sim_message message; /* lent to the plug-in until it has answered */
	int64_t start_mono_ns;
	struct list link; /* host_lane::free; guarded by the lane's lock */
};

#define LANE_TASKS 1024 /* tasks that one lane can have pending; simd's window is far smaller */

struct host_lane {
	struct host *host;
	struct sim_lane *lane;
	bool first;
	bool joined; /* guarded by host::lanes_lock */
	unsigned number;
	pthread_t thread;
	pthread_mutex_t lock; /* guards free */
	struct list free;
	/* the free task used last, not in `free`; used by the lane's thread without the lock; NULL: none */
	struct sim_task *spare;
	struct list link;         /* host::lanes */
	_Atomic unsigned pending; /* tasks; decremented after the last access to the lane */
	_Atomic bool ended;       /* a further lane: its thread is about to return */
	_Atomic bool inside;      /* handling a packet whose messages may be inside the plug-in */
	struct host_turn turn;    /* used by its thread only */
	struct sim_task tasks[LANE_TASKS];
};

struct sim_task *task_get(struct host_lane *l, const struct sim_delivery *d, int64_t now_mono_ns);
/*
 * publish() returned r (0, 1 or negative). True: the task is finished and free again, and the lane's thread must send
 * its answer, *ret. False: it is pending.
 */
bool task_returned(struct sim_task *t, int r, int64_t now_mono_ns, struct sim_lane_result *ret);
/*
 * The plug-in's own answer. Returns 1 if it was sent (the task is free again), 0 if publish() still runs and its return
 * sends it, -EALREADY if the task was answered before.
 */
int task_complete(struct sim_task *t, int result);
/* Counts an answer in the host's totals (sent_now: what task_complete() returned). */
void task_count(struct host *h, int sent_now, int result);

#endif
