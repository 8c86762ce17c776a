/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the scheduler: what its configuration says, in the form in which it is used. */
#ifndef COMPONENT_SCHEDULER_PRIVATE_H
#define COMPONENT_SCHEDULER_PRIVATE_H

#include <sched.h>

#include "scheduler.h"

#define SCHED_PRIOS       20u
#define SCHED_GROUPS_MAX  64u
#define SCHED_WORKERS_MAX 256u /* of one group */
#define SCHED_TASKS_MAX   1024u
#define SCHED_NAME_MAX    63

struct sched_cpus {
	cpu_set_t set;
	uint32_t n; /* 0: any */
};

struct sched_group_conf {
	char name[SCHED_NAME_MAX + 1];
	uint32_t workers;
	bool one_to_one; /* worker i on the i-th CPU; else each on all of them */
	struct sched_cpus cpus;
	int policy; /* SCHED_OTHER, SCHED_FIFO, SCHED_RR */
	int prio;   /* of SCHED_OTHER the nice value, else the real-time priority */
};

struct sched_task_conf {
	char *name;
	uint32_t group, prio;
};

struct sched_conf {
	bool choreography;
	struct sched_cpus process;
	uint32_t n_groups, n_tasks;
	uint32_t others; /* the group of tasks that are not named */
	struct sched_group_conf *groups;
	struct sched_task_conf *tasks;
	char notes[512]; /* what was clamped, a sentence each; "": nothing */
};

/* "0-7,16-23", "0"; -EINVAL. A CPU that this machine does not have, or this process may not use: -EINVAL too. */
int sched_cpus_parse(const char *s, struct sched_cpus *ret);
uint32_t sched_cpu_count(void); /* that this process may use */

#endif
