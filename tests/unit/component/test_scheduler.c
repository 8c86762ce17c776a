/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks on workers: order, priorities, no step twice at a time, no wake-up lost. */
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "libclient/component/scheduler.h"

#include "err.h"

static struct sched *sched_new(const char *json)
{
	struct sched_conf *conf;
	struct sched *s;

	assert_int_equal(sched_conf_read(json, &conf), 0);
	assert_int_equal(sched_create(conf, &s), 0);
	sched_conf_destroy(conf);
	return s;
}

static void sched_end(struct sched *s)
{
	sched_stop(s);
	sched_destroy(s);
}

#define ONE_WORKER(tasks) "{\"classic_conf\":{\"groups\":[{\"name\":\"g\",\"processor_num\":1,\"tasks\":[" tasks "]}]}}"

/* ---- order ---- */

static char order[256];
static _Atomic unsigned order_n;

struct letter {
	char c;
	int again; /* further steps that it asks for */
	struct sched_task *t;
};

static bool write_letter(void *user)
{
	struct letter *l = user;

	order[atomic_load(&order_n)] = l->c; /* one worker writes */
	atomic_fetch_add(&order_n, 1);
	return l->again-- > 0;
}

static void letters_new(struct sched *s, struct letter *l, const char *names)
{
	char name[2] = "";

	memset(order, 0, sizeof(order));
	atomic_store(&order_n, 0);
	for (unsigned i = 0; names[i]; i++) {
		l[i].c = name[0] = names[i];
		assert_int_equal(sched_task_create(s, name, write_letter, &l[i], &l[i].t), 0);
	}
}

static void letters_end(struct letter *l, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sched_task_destroy(l[i].t);
}

/* Made ready before it starts: the highest priority first, and in it who came first. Without entry: 0; with one, without prio: 1. */
TEST(the_highest_priority_runs_first)
{
	struct sched *s = sched_new(ONE_WORKER("{\"name\":\"h\",\"prio\":19},{\"name\":\"m\",\"prio\":5},"
					       "{\"name\":\"n\",\"prio\":5},{\"name\":\"l\"}"));
	struct letter l[5] = { { 0 } };
	struct sched_task_info info;

	letters_new(s, l, "zlnmh");
	sched_task_info(l[0].t, &info);
	assert_int_equal(info.prio, 0);
	sched_task_info(l[1].t, &info);
	assert_int_equal(info.prio, 1);
	assert_string_equal(info.group, "g");
	for (int i = 0; i < 5; i++)
		sched_notify(l[i].t);
	assert_int_equal(sched_start(s), 0);
	UNTIL(10000, atomic_load(&order_n) == 5);
	assert_string_equal(order, "hnmlz");
	letters_end(l, 5);
	sched_end(s);
}

/* Who has more to do goes to the end of its queue: equals take turns. */
TEST(equals_take_turns)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	struct letter l[3] = { { .again = 2 }, { .again = 1 }, { .again = 2 } };

	letters_new(s, l, "abc");
	for (int i = 0; i < 3; i++)
		sched_notify(l[i].t);
	assert_int_equal(sched_start(s), 0);
	UNTIL(10000, atomic_load(&order_n) == 8);
	assert_string_equal(order, "abcabcac");
	letters_end(l, 3);
	sched_end(s);
}

TEST(notified_often_it_runs_once)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	struct letter l[2] = { { 0 } };

	letters_new(s, l, "ab");
	for (int i = 0; i < 100; i++)
		sched_notify(l[0].t);
	sched_notify(l[1].t);
	assert_int_equal(sched_start(s), 0);
	UNTIL(10000, atomic_load(&order_n) == 2);
	assert_string_equal(order, "ab");
	letters_end(l, 2);
	sched_end(s);
}

TEST(a_name_is_taken_once)
{
	struct sched *s = sched_new(NULL);
	struct sched_task *a, *b;
	struct letter l = { .c = 'a' };

	assert_int_equal(sched_task_create(s, "a", write_letter, &l, &a), 0);
	assert_int_equal(sched_task_create(s, "a", write_letter, &l, &b), -EEXIST);
	sched_task_destroy(a);
	assert_int_equal(sched_task_create(s, "a", write_letter, &l, &b), 0);
	sched_task_destroy(b);
	sched_task_destroy(NULL);
	sched_end(s);
}

/* ---- many threads ---- */

struct worked {
	_Atomic int inside;
	_Atomic unsigned overlaps;
	_Atomic uint64_t asked, done; /* done: what had been asked for when the last step began */
	struct sched_task *t;
};

static bool work(void *user)
{
	struct worked *x = user;
	uint64_t asked;

	if (atomic_fetch_add(&x->inside, 1))
		atomic_fetch_add(&x->overlaps, 1);
	asked = atomic_load(&x->asked);
	atomic_store(&x->done, asked);
	atomic_fetch_sub(&x->inside, 1);
	return false;
}

#define NOTIFIERS 3
#define ROUNDS    20000

static void *notify_many(void *user)
{
	struct worked *x = user;

	for (int i = 0; i < ROUNDS; i++) {
		atomic_fetch_add(&x->asked, 1);
		sched_notify(x->t);
	}
	return NULL;
}

/* A step begins after each notification, whenever it comes; and never two at a time. */
TEST(no_notification_is_lost)
{
	struct sched *s = sched_new("{\"classic_conf\":{\"groups\":[{\"processor_num\":4}]}}");
	struct worked x = { 0 };
	pthread_t t[NOTIFIERS];

	assert_int_equal(sched_task_create(s, "x", work, &x, &x.t), 0);
	assert_int_equal(sched_start(s), 0);
	assert_int_equal(sched_workers(s), 4);
	for (int i = 0; i < NOTIFIERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, notify_many, &x), 0);
	for (int i = 0; i < NOTIFIERS; i++)
		pthread_join(t[i], NULL);
	UNTIL(10000, atomic_load(&x.done) == NOTIFIERS * ROUNDS);
	assert_int_equal(x.overlaps, 0);
	sched_task_destroy(x.t);
	sched_end(s);
}

static _Atomic int waiting;
static _Atomic bool open_gate;

static bool wait_at_gate(void *user)
{
	(void)user;
	atomic_fetch_add(&waiting, 1);
	AWAIT(atomic_load(&open_gate));
	return false;
}

/* No worker of a group sleeps while a task of it is ready. */
TEST(every_worker_works)
{
	struct sched *s = sched_new("{\"classic_conf\":{\"groups\":[{\"processor_num\":4}]}}");
	struct sched_task *t[4];
	char name[2] = "a";

	atomic_store(&waiting, 0);
	atomic_store(&open_gate, false);
	assert_int_equal(sched_start(s), 0);
	for (int i = 0; i < 4; i++, name[0]++) {
		assert_int_equal(sched_task_create(s, name, wait_at_gate, NULL, &t[i]), 0);
		sched_notify(t[i]);
	}
	UNTIL(10000, atomic_load(&waiting) == 4);
	atomic_store(&open_gate, true);
	for (int i = 0; i < 4; i++)
		sched_task_destroy(t[i]);
	sched_end(s);
}

static void *destroy(void *t)
{
	sched_task_destroy(t);
	atomic_fetch_add(&waiting, 100);
	return NULL;
}

TEST(destroy_waits_for_the_step_that_runs)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	struct sched_task *t;
	pthread_t thread;

	atomic_store(&waiting, 0);
	atomic_store(&open_gate, false);
	assert_int_equal(sched_task_create(s, "t", wait_at_gate, NULL, &t), 0);
	assert_int_equal(sched_start(s), 0);
	sched_notify(t);
	UNTIL(10000, atomic_load(&waiting) == 1);
	sched_notify(t); /* no further step */
	assert_int_equal(pthread_create(&thread, NULL, destroy, t), 0);
	sched_yield();
	assert_true(atomic_load(&waiting) < 100);
	atomic_store(&open_gate, true);
	pthread_join(thread, NULL);
	assert_int_equal(waiting, 101);
	sched_end(s);
}

static struct sched_task *own;

static bool end_itself(void *user)
{
	sched_task_destroy(own);
	atomic_store((_Atomic int *)user, 7);
	return true;
}

TEST(a_task_ends_itself)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	_Atomic int done = 0;

	assert_int_equal(sched_task_create(s, "t", end_itself, &done, &own), 0);
	assert_int_equal(sched_start(s), 0);
	sched_notify(own);
	UNTIL(10000, atomic_load(&done) == 7);
	sched_end(s);
}

/* ---- where ---- */

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
	UNTIL(10000, atomic_load(&p.done));
	assert_int_equal(CPU_COUNT(&p.set), 1);
	assert_true(CPU_ISSET((size_t)first_cpu(), &p.set));
	sched_task_destroy(t);
	sched_end(s);
}

TEST(workers_run_where_they_are_put)
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

/* ---- configuration ---- */

static void refused(const char *json, const char *why)
{
	struct sched_conf *conf;

	assert_int_equal(sched_conf_read(json, &conf), -EINVAL);
	if (!strstr(err_why(), why))
		fail_msg("\"%s\" says nothing of \"%s\"", err_why(), why);
}

TEST(what_is_wrong_is_named_with_its_place)
{
	refused("{", "line 1");
	refused("[]", "object");
	refused("{\"polcy\":1}", "polcy: unknown key");
	refused("{\"policy\":\"fair\"}", "\"fair\" is none of classic, choreography");
	refused("{\"policy\":1}", "policy: a string");
	refused("{\"process_level_cpuset\":\"a\"}", "process_level_cpuset: \"a\" is no list of CPUs");
	refused("{\"process_level_cpuset\":\"3-1\"}", "no list of CPUs");
	refused("{\"process_level_cpuset\":\"0,\"}", "no list of CPUs");
	refused("{\"process_level_cpuset\":\"1023\"}", "this process may use");
	refused("{\"process_level_cpuset\":\"99999\"}", "no list of CPUs");
	refused("{\"classic_conf\":{\"groups\":{}}}", "classic_conf.groups: a list");
	refused("{\"classic_conf\":{\"groups\":[{\"processor_num\":1000}]}}",
		"classic_conf.groups[0].processor_num: a whole number from 0 to 256");
	refused("{\"classic_conf\":{\"groups\":[{\"name\":\"a\"},{\"name\":\"a\"}]}}",
		"groups[1].name: group \"a\" is there already");
	refused("{\"classic_conf\":{\"groups\":[{\"affinity\":\"some\"}]}}",
		"affinity: \"some\" is none of range, 1to1");
	refused("{\"classic_conf\":{\"groups\":[{\"processor_num\":2,\"affinity\":\"1to1\"}]}}",
		"1to1 needs a CPU for each of 2");
	refused("{\"classic_conf\":{\"groups\":[{\"processor_policy\":\"FIFO\"}]}}", "is none of SCHED_OTHER");
	refused("{\"classic_conf\":{\"groups\":[{\"processor_policy\":\"SCHED_FIFO\",\"processor_prio\":0}]}}",
		"from 1 to 99");
	refused("{\"classic_conf\":{\"groups\":[{\"tasks\":[{\"prio\":1}]}]}}", "groups[0].tasks[0].name: missing");
	refused("{\"classic_conf\":{\"groups\":[{\"tasks\":[{\"name\":\"a\",\"prio\":-1}]}]}}", "tasks[0].prio");
	refused("{\"classic_conf\":{\"groups\":[{\"tasks\":[{\"name\":\"a\"},{\"name\":\"a\"}]}]}}",
		"task \"a\" is there already");
	refused("{\"policy\":\"choreography\",\"choreography_conf\":{\"tasks\":[{\"name\":\"a\",\"cpu\":1}]}}",
		"choreography_conf.tasks[0].cpu: unknown key");
}

TEST(a_priority_above_the_highest_is_the_highest)
{
	struct sched_conf *conf;
	struct sched *s = sched_new(ONE_WORKER("{\"name\":\"t\",\"prio\":20}"));
	struct letter l[1] = { { 0 } };
	struct sched_task_info info;

	letters_new(s, l, "t");
	sched_task_info(l[0].t, &info);
	assert_int_equal(info.prio, 19);
	letters_end(l, 1);
	sched_end(s);
	assert_int_equal(sched_conf_read(ONE_WORKER("{\"name\":\"t\",\"prio\":20}"), &conf), 0);
	assert_string_equal(sched_conf_notes(conf),
			    "classic_conf.groups[0].tasks[0].prio: 20 is taken as 19, the highest");
	sched_conf_destroy(conf);
}
