/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the scheduler: its configuration in the form in which it is used. */
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
	int prio;   /* SCHED_OTHER: the nice value, else the real-time priority */
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

/* Sentences, one a line, each once; no newline after the last. */
struct sched_said {
	char text[1024];
	bool full; /* its last line is "and more" */
};

struct sched_conf {
	bool choreography;
	struct sched_cpus process;
	struct sched_place intake; /* place of threads that receive */
	bool has_intake;
	uint32_t n_groups, n_tasks;
	uint32_t others; /* the group of tasks without an entry of their own */
	struct sched_group_conf *groups;
	struct sched_task_conf *tasks;
	struct sched_said notes; /* clamped or ignored entries */
};

void sched_note(struct sched_said *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * "0-7,16-23", "0"; -EINVAL. Returns 1 if it left out CPUs beyond CPU_SETSIZE. Does not check which CPUs the machine
 * has.
 */
int sched_cpus_parse(const char *s, struct sched_cpus *ret);
/*
 * Removes CPUs that this machine does not have or this process may not use, and notes them with `what`. 0, or errors of
 * the system.
 */
int sched_cpus_fit(struct sched_cpus *c, const char *what, struct sched_said *notes);
uint32_t sched_cpu_count(void); /* CPUs that this process may use */

/* Places the calling thread. 0, or the negative errno of the setting that was refused; the other settings apply. */
int sched_place_self(const struct sched_place *p);
/* Notes a negative result r of sched_place_self(): which setting was refused, and what to do. who: "group g". */
void sched_place_note(struct sched_said *to, const char *who, const struct sched_place *p, int r);

#endif
