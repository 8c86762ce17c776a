/* SPDX-License-Identifier: Apache-2.0 */
/* Private: a timer of a node. */
#ifndef COMPONENT_NODE_TIMER_H
#define COMPONENT_NODE_TIMER_H

#include "host.h"
#include "whose.h"

#define TIMER_NAME_MAX 100

struct sim_node_timer {
	struct list link; /* sim_host::timers */
	uint64_t place;
	struct sim_node *n;
	int64_t period_dur_ns;
	bool one_shot;
	sim_node_timer_fn fn;
	void *user;
	struct whose_call call;
	struct sim_timer *timer; /* reality */
	struct sched_task *task; /* reality */
	bool active;             /* simulation; guarded by host::turn */
	int64_t last_sim_ns;     /* likewise; time of its last call, or of its creation */
	pthread_mutex_t lock;
	int64_t due_sim_ns; /* reality: guarded by lock; simulation: by host::turn */
	/* guarded by lock */
	uint64_t waiting, missed; /* waiting: 1 while a run is due; missed: further periods that this run stands for */
	struct {
		uint64_t fired, missed;
	} stats;
	char name[TIMER_NAME_MAX + 1];
};

void node_timer_stats(struct sim_node_timer *t, uint64_t *ret_fired, uint64_t *ret_missed);

#endif
