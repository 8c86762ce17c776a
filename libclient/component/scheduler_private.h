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

/* Where and how a thread runs. */
struct sched_place {
	struct sched_cpus cpus;
	int policy; /* SCHED_OTHER, SCHED_FIFO, SCHED_RR */
	int prio;   /* of SCHED_OTHER the nice value, else the real-time priority */
};

struct sched_group_conf {
	char name[SCHED_NAME_MAX + 1];
	uint32_t workers;
	bool one_to_one; /* worker i on the i-th CPU; else each on all of them */
	struct sched_place place;
};

struct sched_task_conf {
	char *name;
	uint32_t group, prio;
};

/* Sentences, a line each and each once, without an end of line behind the last. */
struct sched_said {
	char text[1024];
	bool full; /* its last line is "and more" */
};

struct sched_conf {
	bool choreography;
	struct sched_cpus process;
	struct sched_place intake; /* of threads that receive */
	bool has_intake;
	uint32_t n_groups, n_tasks;
	uint32_t others; /* the group of tasks that are not named */
	struct sched_group_conf *groups;
	struct sched_task_conf *tasks;
	struct sched_said notes; /* what was clamped or left out */
};

void sched_note(struct sched_said *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "0-7,16-23", "0"; -EINVAL. 1: without those that no set of CPUs can have. Whether the machine has them it does not ask. */
int sched_cpus_parse(const char *s, struct sched_cpus *ret);
/* Without those that this machine does not have, or that this process may not use, which are noted with `what`. 0, or errors of the system. */
int sched_cpus_fit(struct sched_cpus *c, const char *what, struct sched_said *notes);
uint32_t sched_cpu_count(void); /* that this process may use */

/* Put the calling thread there. 0, or the negative errno of what it could not have; it has the rest. */
int sched_place_self(const struct sched_place *p);
/* What that has returned, where it is negative: what could not be had, and what to do. who: "group g". */
void sched_place_note(struct sched_said *to, const char *who, const struct sched_place *p, int r);

#endif
