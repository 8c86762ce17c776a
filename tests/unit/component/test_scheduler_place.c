/* SPDX-License-Identifier: Apache-2.0 */
/* Placement of workers: CPUs, processors, policies; unavailable settings. */
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sched_calls.h"

#include "err.h"

static _Atomic int waiting;

/* ---- CPUs ---- */

struct place {
	cpu_set_t set;
	_Atomic bool done;
};

static bool look(void *user)
{
	struct place *p = user;

	sched_getaffinity(0, sizeof(p->set), &p->set);
	atomic_store(&p->done, true);
	return false;
}

static int first_cpu(void)
{
	cpu_set_t set;
	int cpu = 0;

	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET((size_t)cpu, &set))
		cpu++;
	return cpu;
}

static void expect_cpu(const char *json, const char *group)
{
	struct sched *s = sched_new(json);
	struct sched_task_info info;
	struct place p = { .done = false };
	struct sched_task *t;

	assert_int_equal(sched_task_create(s, "t", look, &p, &t), 0);
	sched_task_info(t, &info);
	assert_string_equal(info.group, group);
	assert_int_equal(sched_start(s), 0);
	sched_notify(t);
	AWAIT(atomic_load(&p.done));
	assert_int_equal(CPU_COUNT(&p.set), 1);
	assert_true(CPU_ISSET((size_t)first_cpu(), &p.set));
	sched_task_destroy(t);
	sched_end(s);
}

TEST(workers_run_on_their_cpus)
{
	char json[400];

	snprintf(json, sizeof(json),
		 "{\"classic_conf\":{\"groups\":[{\"processor_num\":1,\"cpuset\":\"%d\",\"affinity\":\"1to1\"}]}}",
		 first_cpu());
	expect_cpu(json, "default_grp");
	snprintf(json, sizeof(json), "{\"process_level_cpuset\":\"%d\"}", first_cpu());
	expect_cpu(json, "default_grp");
	snprintf(json, sizeof(json),
		 "{\"policy\":\"choreography\",\"choreography_conf\":{\"choreography_processor_num\":1,\"choreography_cpuset\":\"%d\","
		 "\"tasks\":[{\"name\":\"t\",\"processor\":0}]}}",
		 first_cpu());
	expect_cpu(json, "processor 0");
	snprintf(json, sizeof(json),
		 "{\"policy\":\"choreography\",\"choreography_conf\":{\"choreography_processor_num\":1,\"pool_processor_num\":1,"
		 "\"pool_cpuset\":\"%d\",\"tasks\":[{\"name\":\"t\",\"processor\":1}]}}",
		 first_cpu());
	expect_cpu(json, "pool"); /* beyond the processors */
}

/* Both workers have one. */
static bool look_with_the_other(void *user)
{
	atomic_fetch_add(&waiting, 1);
	AWAIT(atomic_load(&waiting) == 2);
	return look(user);
}

static int online_cpus(void)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	return CPU_ISSET((size_t)first_cpu() + 1, &set) ? 2 : 1;
}

/* Before the first step, though the task was notified before the start; 1to1: each on a CPU of its own. */
TEST(each_worker_is_placed_before_its_first_step)
{
	char json[200];
	struct place p[2] = { { .done = false } };
	struct sched_task *t[2];
	struct sched *s;
	cpu_set_t both;

	if (online_cpus() < 2)
		skip();
	snprintf(json, sizeof(json),
		 "{\"classic_conf\":{\"groups\":[{\"processor_num\":2,\"cpuset\":\"%d-%d\",\"affinity\":\"1to1\"}]}}",
		 first_cpu(), first_cpu() + 1);
	s = sched_new(json);
	assert_int_equal(sched_task_create(s, "a", look_with_the_other, &p[0], &t[0]), 0);
	assert_int_equal(sched_task_create(s, "b", look_with_the_other, &p[1], &t[1]), 0);
	atomic_store(&waiting, 0);
	sched_notify(t[0]);
	sched_notify(t[1]);
	assert_int_equal(sched_start(s), 0);
	AWAIT(atomic_load(&p[0].done) && atomic_load(&p[1].done));
	CPU_OR(&both, &p[0].set, &p[1].set);
	assert_int_equal(CPU_COUNT(&p[0].set), 1);
	assert_int_equal(CPU_COUNT(&p[1].set), 1);
	assert_int_equal(CPU_COUNT(&both), 2);
	sched_task_destroy(t[0]);
	sched_task_destroy(t[1]);
	sched_end(s);
}

struct thread_seen {
	_Atomic int tid;
};

static bool note_thread(void *user)
{
	atomic_store(&((struct thread_seen *)user)->tid, gettid());
	return false;
}

/*
 * Choreography: a task with a processor runs in its thread, however busy the others are; a task without one runs in the
 * pool.
 */
TEST(a_task_stays_on_its_processor)
{
	struct sched *s = sched_new(
		"{\"policy\":\"choreography\",\"choreography_conf\":{\"choreography_processor_num\":2,"
		"\"pool_processor_num\":1,\"tasks\":[{\"name\":\"a\",\"processor\":0},{\"name\":\"b\",\"processor\":0},"
		"{\"name\":\"c\",\"processor\":1},{\"name\":\"e\",\"prio\":3}]}}");
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	static const uint32_t prios[] = { 1, 1, 1, 0, 3 };
	struct thread_seen seen[5] = { { 0 } };
	struct sched_task *t[5];

	assert_int_equal(sched_workers(s), 3);
	assert_int_equal(sched_start(s), 0);
	for (int i = 0; i < 5; i++) {
		struct sched_task_info info;

		assert_int_equal(sched_task_create(s, names[i], note_thread, &seen[i], &t[i]), 0);
		sched_task_info(t[i], &info);
		assert_int_equal(info.prio, prios[i]);
		sched_notify(t[i]);
		AWAIT(atomic_load(&seen[i].tid));
	}
	assert_int_equal(seen[0].tid, seen[1].tid);
	assert_int_not_equal(seen[0].tid, seen[2].tid);
	assert_int_equal(seen[3].tid, seen[4].tid);
	assert_true(seen[3].tid != seen[0].tid && seen[3].tid != seen[2].tid);
	for (int i = 0; i < 5; i++)
		sched_task_destroy(t[i]);
	sched_end(s);
}

/* A conf file made for a larger machine: available CPUs are used, and missing ones are noted. */
TEST(missing_cpus_are_left_out)
{
	static const struct {
		const char *json, *note;
	} all[] = {
		{ "{\"process_level_cpuset\":\"1023\"}",
		  "process_level_cpuset: there is no CPU 1023 for this process: none is left, so all are taken: " },
		{ "{\"classic_conf\":{\"groups\":[{\"name\":\"g\",\"cpuset\":\"0-1023\"}]}}",
		  "cpuset of group g: there is no CPU " },
		{ "{\"threads\":[{\"name\":\"shm\",\"cpuset\":\"1022\"}]}",
		  "cpuset of thread shm: there is no CPU 1022 " },
		{ "{\"policy\":\"choreography\",\"choreography_conf\":{\"pool_cpuset\":\"1021\"}}",
		  "cpuset of group pool: there is no CPU 1021 " },
		{ "{\"classic_conf\":{\"groups\":[{\"processor_num\":2,\"affinity\":\"1to1\",\"cpuset\":\"1022,1023\"}]}}",
		  "affinity of group default_grp: its 2 threads share these, as with range" },
	};
	char notes[1100];
	struct sched *s;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct place p = { .done = false };
		struct sched_task *t;

		s = sched_new(all[i].json);
		sched_notes(s, notes, sizeof(notes));
		if (!strstr(notes, all[i].note))
			fail_msg("\"%s\" says nothing of \"%s\"", notes, all[i].note);
		assert_ok(sched_task_create(s, "t", look, &p, &t));
		assert_ok(sched_start(s));
		sched_notify(t);
		AWAIT(atomic_load(&p.done));
		sched_task_destroy(t);
		sched_end(s);
	}
}

/* ---- missing rights ---- */

static void take_rights(void)
{
	struct rlimit none = { 0 };

	assert_int_equal(setpriority(PRIO_PROCESS, 0, 0), 0); /* whatever it was started with */
	if (geteuid() == 0)
		assert_int_equal(setresuid(65534, 65534, 65534), 0);
	setrlimit(RLIMIT_RTPRIO, &none);
	setrlimit(RLIMIT_NICE, &none);
}

/* It runs all the same, and names each unavailable thing once. */
TEST(settings_that_are_not_permitted_are_noted)
{
	struct sched *s;
	struct thread_seen seen = { 0 };
	struct sched_task *t;
	char notes[600];

	take_rights();
	s = sched_new(
		"{\"threads\":[{\"name\":\"shm\",\"policy\":\"SCHED_RR\",\"prio\":3}],\"classic_conf\":{\"groups\":["
		"{\"name\":\"fast\",\"processor_num\":2,\"processor_policy\":\"SCHED_FIFO\",\"processor_prio\":7},"
		"{\"name\":\"nice\",\"processor_num\":1,\"processor_prio\":-5},{\"name\":\"usual\"}]}}");
	assert_int_equal(sched_task_create(s, "t", note_thread, &seen, &t), 0);
	assert_int_equal(sched_start(s), 0);
	for (int i = 0; i < 3; i++) /* of each thread that receives */
		sched_enter_intake(s);
	sched_notes(s, notes, sizeof(notes));
	assert_string_equal(
		notes,
		"group fast: real-time scheduling is not permitted, so it runs as others do; give the process CAP_SYS_NICE, or a "
		"limit RTPRIO of 7\ngroup nice: nice -5 is not permitted; give the process CAP_SYS_NICE, or a limit NICE of 25\n"
		"thread shm: real-time scheduling is not permitted, so it runs as others do; give the process CAP_SYS_NICE, or a "
		"limit RTPRIO of 3");
	sched_notify(t);
	AWAIT(atomic_load(&seen.tid));
	sched_task_destroy(t);
	sched_end(s);
}

struct policy_seen {
	int policy, prio, nice;
	_Atomic bool done;
};

static bool look_at_policy(void *user)
{
	struct policy_seen *p = user;
	struct sched_param param;

	pthread_getschedparam(pthread_self(), &p->policy, &param);
	p->prio = param.sched_priority;
	p->nice = getpriority(PRIO_PROCESS, 0);
	atomic_store(&p->done, true);
	return false;
}

static struct policy_seen policy_under(const char *group)
{
	char json[200];
	struct policy_seen p = { .done = false };
	struct sched_task *t;
	struct sched *s;

	snprintf(json, sizeof(json), "{\"classic_conf\":{\"groups\":[{\"processor_num\":1,%s}]}}", group);
	s = sched_new(json);
	assert_int_equal(sched_task_create(s, "t", look_at_policy, &p, &t), 0);
	sched_notify(t);
	assert_int_equal(sched_start(s), 0);
	AWAIT(atomic_load(&p.done));
	sched_task_destroy(t);
	sched_end(s);
	return p;
}

/* A nice value belongs to the group's threads alone. Real-time: where this process may. */
TEST(a_policy_applies_to_the_threads_of_the_group)
{
	struct policy_seen p = policy_under("\"processor_prio\":19");
	struct sched_param param = { .sched_priority = 1 };

	assert_int_equal(p.policy, SCHED_OTHER);
	assert_int_equal(p.nice, 19);
	assert_int_not_equal(getpriority(PRIO_PROCESS, 0), 19);
	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		return;
	param.sched_priority = 0;
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &param), 0);
	p = policy_under("\"processor_policy\":\"SCHED_FIFO\",\"processor_prio\":2");
	assert_int_equal(p.policy, SCHED_FIFO);
	assert_int_equal(p.prio, 2);
	p = policy_under("\"processor_policy\":\"SCHED_RR\"");
	assert_int_equal(p.policy, SCHED_RR);
	assert_int_equal(p.prio, 1);
}
