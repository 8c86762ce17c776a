/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the scheduler of reality mode. Tasks are steps that run to completion, one at a time for each task, on
 * workers of the group that the configuration gives it. In a group the highest ready priority runs first, in the order
 * in which tasks became ready. There are no coroutines and no preemption: a task continues in its next step.
 *
 *   classic       groups of workers, each with a run queue of priorities 0..19
 *   choreography  tasks with a processor of their own, by name; all others in a pool
 *
 * Thread:  notify from any thread, but not in signal handlers; create, destroy, start and stop from any, one at a time.
 *          Making a task ready costs O(1), however many there are; an idle worker sleeps and does not poll.
 */
#ifndef COMPONENT_SCHEDULER_H
#define COMPONENT_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sched;
struct sched_task;
struct sched_conf;

/* ---- configuration: scheduler_conf.c ---- */

/*
 * Reads JSON with Cyber's keys, one to one (simhost(1) lists them). NULL: classic, one group "default_grp", a worker
 * per CPU.
 * Returns: 0; -EINVAL, and the sentence has key path, value and what is allowed.
 */
int sched_conf_read(const char *json, struct sched_conf **ret);
void sched_conf_destroy(struct sched_conf *c);
/* Clamped and ignored entries, a line each, with its key; "": none; borrows. */
const char *sched_conf_notes(const struct sched_conf *c);
/*
 * Leaves out, and notes, CPUs that this machine does not have, as a file made for another machine may name some. Errors
 * of the system.
 */
int sched_conf_fit(struct sched_conf *c);

/* ---- tasks ---- */

int sched_create(struct sched_conf *conf,
		 struct sched **ret); /* borrows conf and fits it; as sched_conf_fit(), -ENOMEM */
/*
 * Starts the workers, each in its place before its first step; tasks that were notified before run now. Later calls do
 * nothing. -EAGAIN no thread could be started. Real-time scheduling or a nice value that is not permitted is noted, and
 * the group runs without it.
 */
int sched_start(struct sched *s);
/* No further step begins; waits for those that run. Not in a step. May be called twice. */
void sched_stop(struct sched *s);
void sched_destroy(struct sched *s); /* after stop, and after its tasks are destroyed; NULL is fine */

/* Places the calling thread, which receives, as "shm" under "threads" in the configuration says. NULL is fine. */
void sched_enter_intake(struct sched *s);

/*
 * One step. Returns true if there is more to do: the task goes to the end of its queue again, or on at once while no
 * other task of the group is ready.
 */
typedef bool (*sched_step_fn)(void *user);
/* -EEXIST a task has that name; -ENOMEM. */
int sched_task_create(struct sched *s, const char *name, sched_step_fn step, void *user, struct sched_task **ret);
/*
 * No further step begins; waits for one that runs in another thread. May be called in the task's own step, whose result
 * is then ignored. The task must not be notified from the time of this call on. NULL is fine.
 */
void sched_task_destroy(struct sched_task *t);
/* There is work: the task runs once more after this call, even if it runs now. Lock-free if it is already ready. */
void sched_notify(struct sched_task *t);

struct sched_task_info {
	const char *name, *group; /* with choreography: "processor 3", or "pool" */
	uint32_t prio;
	uint64_t steps;
};
void sched_task_info(const struct sched_task *t, struct sched_task_info *ret);
uint32_t sched_workers(const struct sched *s);
/*
 * Configured settings that are ignored, clamped or not available, a line each; "": none. More may come until the
 * threads are placed.
 */
void sched_notes(struct sched *s, char *ret, size_t size);

#endif
