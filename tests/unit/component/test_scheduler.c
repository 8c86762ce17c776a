/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks on workers: order, priorities, no step twice at a time, no wake-up lost. */
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "fd.h"
#include "sched_calls.h"

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

/*
 * Tasks made ready before the start: the highest priority first, and within it in the order of arrival. Without an
 * entry: 0; with one, without prio: 1.
 */
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
	AWAIT(atomic_load(&order_n) == 5);
	assert_string_equal(order, "hnmlz");
	letters_end(l, 5);
	sched_end(s);
}

/* A task with more to do goes to the end of its queue: equals take turns. */
TEST(tasks_of_equal_priority_take_turns)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	struct letter l[3] = { { .again = 2 }, { .again = 1 }, { .again = 2 } };

	letters_new(s, l, "abc");
	for (int i = 0; i < 3; i++)
		sched_notify(l[i].t);
	assert_int_equal(sched_start(s), 0);
	AWAIT(atomic_load(&order_n) == 8);
	assert_string_equal(order, "abcabcac");
	letters_end(l, 3);
	sched_end(s);
}

TEST(a_task_notified_often_runs_once)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	struct letter l[2] = { { 0 } };

	letters_new(s, l, "ab");
	for (int i = 0; i < 100; i++)
		sched_notify(l[0].t);
	sched_notify(l[1].t);
	assert_int_equal(sched_start(s), 0);
	AWAIT(atomic_load(&order_n) == 2);
	assert_string_equal(order, "ab");
	letters_end(l, 2);
	sched_end(s);
}

TEST(a_task_name_is_unique)
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

/* ---- many tasks ---- */

#define TASKS      1000u
#define TASKS_CONF 500u

struct many {
	struct sched_task *t;
	_Atomic unsigned steps;
};

static bool count_step(void *user)
{
	atomic_fetch_add(&((struct many *)user)->steps, 1);
	return false;
}

static const char *task_name(unsigned i)
{
	static char name[24];

	snprintf(name, sizeof(name), "node_%u", i * 7919 % TASKS); /* not in their order */
	return name;
}

/* Half of them are in the configuration, the last one first. */
static struct sched *sched_of_many(void)
{
	static char json[64 * TASKS_CONF];
	size_t n = (size_t)snprintf(json, sizeof(json),
				    "{\"classic_conf\":{\"groups\":[{\"name\":\"rest\"},"
				    "{\"name\":\"named\",\"tasks\":[");

	for (unsigned i = TASKS_CONF; i-- > 0;)
		n += (size_t)snprintf(json + n, sizeof(json) - n, "{\"name\":\"node_%u\",\"prio\":%u}%s", i, i % 20,
				      i ? "," : "]}]}}");
	assert_true(n < sizeof(json));
	return sched_new(json);
}

/* Each task has the place that its name says, no name is used twice, and a destroyed task can be created again. */
TEST(a_thousand_tasks_keep_their_names_apart)
{
	static struct many m[TASKS];
	struct sched *s = sched_of_many();
	struct sched_task *twin = NULL;
	struct sched_task_info info;
	unsigned number;

	for (unsigned i = 0; i < TASKS; i++)
		assert_int_equal(sched_task_create(s, task_name(i), count_step, &m[i], &m[i].t), 0);
	for (unsigned i = 0; i < TASKS; i++) {
		assert_int_equal(sched_task_create(s, task_name(i), count_step, &m[i], &twin), -EEXIST);
		sched_task_info(m[i].t, &info);
		assert_int_equal(sscanf(info.name, "node_%u", &number), 1);
		assert_string_equal(info.group, number < TASKS_CONF ? "named" : "rest");
		assert_int_equal(info.prio, number < TASKS_CONF ? number % 20 : 0);
	}
	assert_int_equal(sched_start(s), 0);
	for (unsigned i = 0; i < TASKS; i++)
		sched_notify(m[i].t);
	for (unsigned i = 0; i < TASKS; i++)
		AWAIT(atomic_load(&m[i].steps) == 1);
	for (unsigned i = 0; i < TASKS; i += 2)
		sched_task_destroy(m[i].t);
	for (unsigned i = 0; i < TASKS; i++) {
		bool gone = i % 2 == 0;

		assert_int_equal(sched_task_create(s, task_name(i), count_step, &m[i], gone ? &m[i].t : &twin),
				 gone ? 0 : -EEXIST);
	}
	for (unsigned i = 0; i < TASKS; i++)
		sched_task_destroy(m[i].t);
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
	AWAIT(atomic_load(&x.done) == NOTIFIERS * ROUNDS);
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
	AWAIT(atomic_load(&waiting) == 4);
	atomic_store(&open_gate, true);
	for (int i = 0; i < 4; i++)
		sched_task_destroy(t[i]);
	sched_end(s);
}

static _Atomic int destroyer; /* its thread's id; 0: it has not begun */

/* The kernel says that the thread sleeps. */
static bool sleeps(int tid)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	return tid && fd_stat_field(path, 4, &state) >= 0 && state == 'S';
}

static void *destroy(void *t)
{
	atomic_store(&destroyer, gettid());
	sched_task_destroy(t);
	atomic_fetch_add(&waiting, 100);
	return NULL;
}

TEST(destroy_waits_for_the_running_step)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	struct sched_task *t;
	pthread_t thread;

	atomic_store(&waiting, 0);
	atomic_store(&open_gate, false);
	assert_int_equal(sched_task_create(s, "t", wait_at_gate, NULL, &t), 0);
	assert_int_equal(sched_start(s), 0);
	sched_notify(t);
	AWAIT(atomic_load(&waiting) == 1);
	sched_notify(t); /* no further step */
	atomic_store(&destroyer, 0);
	assert_int_equal(pthread_create(&thread, NULL, destroy, t), 0);
	AWAIT(sleeps(atomic_load(&destroyer)));
	assert_true(atomic_load(&waiting) < 100);
	atomic_store(&open_gate, true);
	pthread_join(thread, NULL);
	assert_int_equal(waiting, 101);
	sched_end(s);
}

static void *stop(void *s)
{
	sched_stop(s);
	atomic_fetch_add(&waiting, 100);
	return NULL;
}

/* And no step begins after it. */
TEST(stop_waits_for_the_running_step)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	struct letter l[1] = { { 0 } };
	struct sched_task *t;
	pthread_t thread;

	atomic_store(&waiting, 0);
	atomic_store(&open_gate, false);
	letters_new(s, l, "a");
	assert_int_equal(sched_task_create(s, "t", wait_at_gate, NULL, &t), 0);
	assert_int_equal(sched_start(s), 0);
	sched_notify(t);
	AWAIT(atomic_load(&waiting) == 1);
	assert_int_equal(pthread_create(&thread, NULL, stop, s), 0);
	sched_yield();
	assert_true(atomic_load(&waiting) < 100);
	atomic_store(&open_gate, true);
	pthread_join(thread, NULL);
	assert_int_equal(waiting, 101);
	sched_notify(l[0].t);
	assert_int_equal(order_n, 0);
	sched_task_destroy(t);
	letters_end(l, 1);
	sched_end(s);
}

struct threads {
	pthread_t last;
	unsigned n, changes;
};

/* A task that always has more to do runs on and on in one worker; another that sleeps is not woken for that. */
static bool count_threads(void *user)
{
	struct threads *x = user;
	pthread_t self = pthread_self();

	if (x->n && !pthread_equal(self, x->last))
		x->changes++;
	x->last = self;
	return ++x->n < ROUNDS;
}

TEST(a_worker_that_continues_wakes_no_other)
{
	struct sched *s = sched_new("{\"classic_conf\":{\"groups\":[{\"processor_num\":2}]}}");
	struct threads x = { .n = 0 };
	struct sched_task *t;
	struct sched_task_info info = { .steps = 0 };

	assert_int_equal(sched_task_create(s, "t", count_threads, &x, &t), 0);
	assert_int_equal(sched_start(s), 0);
	sched_notify(t);
	AWAIT((sched_task_info(t, &info), info.steps == ROUNDS));
	sched_task_destroy(t);
	sched_end(s);
	assert_int_equal(x.changes, 0);
}

/* ---- tasks that always have more to do ---- */

static _Atomic uint64_t rounds;

static bool go_on(void *user)
{
	(void)user;
	atomic_fetch_add(&rounds, 1);
	return true;
}

static struct sched_task *endless(struct sched *s)
{
	struct sched_task *t;

	atomic_store(&rounds, 0);
	assert_int_equal(sched_task_create(s, "endless", go_on, NULL, &t), 0);
	sched_notify(t);
	AWAIT(atomic_load(&rounds) > 100);
	return t;
}

/* To one of its own priority, and to a higher one. */
TEST(an_endless_task_gives_way)
{
	struct sched *s = sched_new(ONE_WORKER("{\"name\":\"b\",\"prio\":9}"));
	struct letter l[2] = { { 0 } };
	struct sched_task *t;

	letters_new(s, l, "ab");
	assert_int_equal(sched_start(s), 0);
	t = endless(s);
	for (unsigned i = 1; i <= 50; i++) {
		sched_notify(l[i % 2].t);
		AWAIT(atomic_load(&order_n) == i);
	}
	sched_task_destroy(t);
	letters_end(l, 2);
	sched_end(s);
}

TEST(an_endless_task_ends_when_it_is_destroyed)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	struct sched_task *t;
	uint64_t n;

	assert_int_equal(sched_start(s), 0);
	t = endless(s);
	sched_task_destroy(t);
	n = atomic_load(&rounds);
	t = endless(s); /* the worker is free again */
	assert_true(n > 100);
	sched_task_destroy(t);
	sched_end(s);
}

TEST(an_endless_task_ends_when_the_scheduler_stops)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	struct sched_task_info info;
	struct sched_task *t;

	assert_int_equal(sched_start(s), 0);
	t = endless(s);
	sched_stop(s);
	sched_task_info(t, &info);
	assert_int_equal(info.steps, atomic_load(&rounds)); /* all of them are counted */
	sched_task_destroy(t);
	sched_destroy(s);
}

/* Notified in its own step it runs once more, without the end of the queue where there is none. */
static bool notify_itself(void *user)
{
	struct worked *k = user;

	if (atomic_fetch_add(&k->done, 1) < 1000)
		sched_notify(k->t);
	return false;
}

TEST(a_task_notified_while_it_runs_runs_again)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	struct worked k = { 0 };

	assert_int_equal(sched_task_create(s, "t", notify_itself, &k, &k.t), 0);
	assert_int_equal(sched_start(s), 0);
	sched_notify(k.t);
	AWAIT(atomic_load(&k.done) == 1001);
	sched_notify(k.t);
	AWAIT(atomic_load(&k.done) == 1002);
	sched_task_destroy(k.t);
	sched_end(s);
}

/* Four of two groups hand on to each other: one wake-up that is lost ends it. */
struct handed {
	struct handed *next;
	struct sched_task *t;
	unsigned left;
	_Atomic unsigned *done;
};

static bool hand_on(void *user)
{
	struct handed *h = user;

	if (h->left-- > 1)
		sched_notify(h->next->t);
	else
		atomic_fetch_add(h->done, 1);
	return false;
}

TEST(no_wake_up_is_lost_between_workers)
{
	struct sched *s = sched_new(
		"{\"classic_conf\":{\"groups\":[{\"name\":\"a\",\"processor_num\":3,\"tasks\":[{\"name\":\"a\"},"
		"{\"name\":\"b\"}]},{\"name\":\"b\",\"processor_num\":2}]}}");
	static const char *const names[] = { "a", "b", "c", "d" };
	_Atomic unsigned done = 0;
	struct handed h[4];

	assert_int_equal(sched_start(s), 0);
	for (int i = 0; i < 4; i++) {
		h[i] = (struct handed){ .next = &h[(i + 1) % 4], .left = ROUNDS, .done = &done };
		assert_int_equal(sched_task_create(s, names[i], hand_on, &h[i], &h[i].t), 0);
	}
	sched_notify(h[0].t);
	AWAIT(atomic_load(&done) == 1); /* the first that has had its share */
	for (int i = 0; i < 4; i++)
		sched_task_destroy(h[i].t);
	sched_end(s);
}

static struct sched_task *own;

static bool end_itself(void *user)
{
	sched_task_destroy(own);
	atomic_store((_Atomic int *)user, 7);
	return true;
}

TEST(a_task_may_end_itself)
{
	struct sched *s = sched_new(ONE_WORKER(""));
	_Atomic int done = 0;

	assert_int_equal(sched_task_create(s, "t", end_itself, &done, &own), 0);
	assert_int_equal(sched_start(s), 0);
	sched_notify(own);
	AWAIT(atomic_load(&done) == 7);
	sched_end(s);
}
