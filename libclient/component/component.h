/* SPDX-License-Identifier: Apache-2.0 */
/* Private: a component. */
#ifndef COMPONENT_COMPONENT_H
#define COMPONENT_COMPONENT_H

#include <sim/component.h>

#include "reader.h"
#include "whose.h"

#define WAIT_MIN 16u /* least number of messages that wait for partners, or may still become the nearest */

struct sim_component {
	const struct sim_component_class *cls;
	struct sim_node *node;
	void *self;
	char *config;
	bool initialised;       /* init was called: shutdown must be */
	_Atomic bool said;      /* a function of the component has set the reason of its failure */
	struct whose_call call; /* proc */
	_Atomic bool closing;
	struct fusion *fusion;             /* NULL: no inputs */
	_Atomic uint32_t clock_generation; /* newest generation of the messages held */
	struct sim_node_reader *reader[SIM_COMPONENT_INPUTS];
	struct sim_node_timer *timer;
	struct sched_task *task; /* reality, with inputs */
	pthread_mutex_t lock;
	char last_failure[256]; /* guarded by lock */
	_Atomic uint64_t n_proc, n_failed;
	_Atomic int64_t busy_dur_ns, longest_dur_ns, since_mono_ns;
};

#endif
