/* SPDX-License-Identifier: Apache-2.0 */
/* See weave.h. Locks: none; the baton says which side runs, and handing it over orders all accesses. */
#include "scenario/client/weave.h"

#include "tests/support/test.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#define PAGES  2
#define BUFFER 64

/* A store that the other side does not see yet. */
struct pending {
	volatile void *at; /* NULL: fn(a, b) */
	uint64_t size, v;
	void (*fn)(void *a, void *b);
	void *a, *b;
};

struct side {
	const struct weave_side *def;
	pthread_t thread;
	sem_t baton;
	bool done, idle;
	uint64_t sleeps_on; /* offset() of the word */
	unsigned steps, n;
	struct pending buffer[BUFFER];
};

static struct {
	struct {
		const char *base[2];
		uint64_t size;
	} page[PAGES];
	const struct weave_plan *plan;
	struct weave_result result;
	struct side side[2];
	unsigned at, left; /* the plan's current run, and places left in it */
	sem_t end;
} wv;

static _Thread_local struct side *me;

static struct side *other(void)
{
	return &wv.side[me == &wv.side[0]];
}

/* The page's number and the offset in it, + 1; 0: not of a page that is watched. */
static uint64_t offset(const volatile void *at)
{
	for (unsigned p = 0; p < PAGES; p++)
		for (int i = 0; i < 2; i++) {
			uint64_t off = (uintptr_t)at - (uintptr_t)wv.page[p].base[i];

			if ((uintptr_t)at >= (uintptr_t)wv.page[p].base[i] && off < wv.page[p].size)
				return ((uint64_t)p << 32 | off) + 1;
		}
	return 0;
}

/* ---- memory ---- */

static uint64_t plain_load(const volatile void *at, uint64_t size)
{
	switch (size) {
	case 1:
		return __atomic_load_n((const volatile uint8_t *)at, __ATOMIC_SEQ_CST);
	case 4:
		return __atomic_load_n((const volatile uint32_t *)at, __ATOMIC_SEQ_CST);
	default:
		assert_int_equal(size, 8);
		return __atomic_load_n((const volatile uint64_t *)at, __ATOMIC_SEQ_CST);
	}
}

static void plain_store(volatile void *at, uint64_t size, uint64_t v)
{
	switch (size) {
	case 1:
		__atomic_store_n((volatile uint8_t *)at, (uint8_t)v, __ATOMIC_SEQ_CST);
		break;
	case 4:
		__atomic_store_n((volatile uint32_t *)at, (uint32_t)v, __ATOMIC_SEQ_CST);
		break;
	default:
		assert_int_equal(size, 8);
		__atomic_store_n((volatile uint64_t *)at, v, __ATOMIC_SEQ_CST);
	}
}

static void flush(struct side *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct pending *p = &s->buffer[i];

		if (p->at)
			plain_store(p->at, p->size, p->v);
		else
			p->fn(p->a, p->b);
	}
	s->n = 0;
}

static void push(const struct pending *p)
{
	assert_true(me->n < BUFFER);
	me->buffer[me->n++] = *p;
	if (!wv.plan->lazy)
		flush(me);
}

/* ---- turns ---- */

static void hand_over(void)
{
	sem_post(&other()->baton);
	while (sem_wait(&me->baton) < 0)
		;
}

/* The next of the plan's runs; the last is without end. */
static void next_run(void)
{
	wv.left = wv.at < wv.plan->n ? wv.plan->run[wv.at] : UINT32_MAX;
	wv.at++;
}

/* Returns true if the other side has run. */
static bool step(void)
{
	bool switched = false;

	me->steps++;
	while (wv.left == 0) {
		next_run();
		if (other()->done || other()->sleeps_on)
			continue;
		wv.result.switches++;
		hand_over();
		switched = true;
	}
	if (wv.left != UINT32_MAX)
		wv.left--;
	return switched;
}

void weave_point(void)
{
	if (me)
		step();
}

bool weave_idle(void)
{
	if (step())
		return true;
	flush(me);
	if (other()->done || other()->idle)
		return false;
	me->idle = true;
	hand_over();
	me->idle = false;
	return true;
}

static void *side_main(void *arg)
{
	me = arg;
	while (sem_wait(&me->baton) < 0)
		;
	me->def->fn(me->def->arg);
	step();
	flush(me);
	me->done = true;
	if (other()->done)
		sem_post(&wv.end);
	else
		sem_post(&other()->baton);
	return NULL;
}

void weave_watch(unsigned page, const void *base0, const void *base1, uint64_t size)
{
	assert_true(page < PAGES);
	wv.page[page].base[0] = base0;
	wv.page[page].base[1] = base1;
	wv.page[page].size = size;
}

struct weave_result weave_run(const struct weave_side side[2], const struct weave_plan *plan)
{
	wv.plan = plan;
	wv.at = 0;
	memset(&wv.result, 0, sizeof(wv.result));
	memset(wv.side, 0, sizeof(wv.side));
	next_run();
	sem_init(&wv.end, 0, 0);
	for (int i = 0; i < 2; i++) {
		wv.side[i].def = &side[i];
		sem_init(&wv.side[i].baton, 0, 0);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&wv.side[i].thread, NULL, side_main, &wv.side[i]), 0);
	sem_post(&wv.side[plan->first].baton);
	while (sem_wait(&wv.end) < 0)
		;
	for (int i = 0; i < 2; i++) {
		pthread_join(wv.side[i].thread, NULL);
		sem_destroy(&wv.side[i].baton);
		wv.result.steps[i] = wv.side[i].steps;
	}
	sem_destroy(&wv.end);
	return wv.result;
}

/* ---- operations ---- */

static bool watched(const volatile void *at)
{
	if (!me || !offset(at))
		return false;
	weave_point();
	return true;
}

uint64_t weave_load(const volatile void *at, uint64_t size)
{
	if (watched(at))
		for (unsigned i = me->n; i-- > 0;)
			if (me->buffer[i].at == at)
				return me->buffer[i].v;
	return plain_load(at, size);
}

void weave_store(volatile void *at, uint64_t size, uint64_t v, memory_order order)
{
	if (!watched(at)) {
		plain_store(at, size, v);
		return;
	}
	push(&(struct pending){ .at = at, .size = size, .v = v });
	if (order == memory_order_seq_cst)
		flush(me);
}

void weave_defer(void (*fn)(void *a, void *b), void *a, void *b)
{
	if (!me) {
		fn(a, b);
		return;
	}
	weave_point();
	push(&(struct pending){ .fn = fn, .a = a, .b = b });
}

/* The baton makes it atomic towards the other side; unwatched words are not shared with it meanwhile. */
uint64_t weave_add(volatile void *at, uint64_t size, uint64_t v)
{
	uint64_t old;

	if (watched(at))
		flush(me);
	switch (size) {
	case 4:
		return __atomic_fetch_add((volatile uint32_t *)at, (uint32_t)v, __ATOMIC_SEQ_CST);
	case 8:
		return __atomic_fetch_add((volatile uint64_t *)at, v, __ATOMIC_SEQ_CST);
	default:
		old = plain_load(at, size);
		plain_store(at, size, old + v);
		return old;
	}
}

void weave_or(volatile void *at, uint64_t v)
{
	if (watched(at))
		flush(me);
	__atomic_fetch_or((volatile uint64_t *)at, v, __ATOMIC_SEQ_CST);
}

void weave_and(volatile void *at, uint64_t v)
{
	if (watched(at))
		flush(me);
	__atomic_fetch_and((volatile uint64_t *)at, v, __ATOMIC_SEQ_CST);
}

bool weave_swap(volatile void *at, uint64_t size, volatile void *expected, uint64_t desired)
{
	if (watched(at))
		flush(me);
	if (size == 4)
		return __atomic_compare_exchange_n((volatile uint32_t *)at, (uint32_t *)(uintptr_t)expected,
						   (uint32_t)desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	assert_int_equal(size, 8);
	return __atomic_compare_exchange_n((volatile uint64_t *)at, (uint64_t *)(uintptr_t)expected, desired, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void weave_fence(memory_order order)
{
	if (me)
		weave_point();
	if (me && order == memory_order_seq_cst)
		flush(me);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static long futex_wait(const volatile void *word, uint64_t key, uint32_t value)
{
	weave_point();
	flush(me);
	if (plain_load(word, 4) != value) {
		errno = EAGAIN;
		return -1;
	}
	me->sleeps_on = key;
	while (me->sleeps_on == key) {
		if (weave_idle())
			continue;
		wv.result.lost_wake = true;
		me->sleeps_on = 0;
		errno = ETIMEDOUT;
		return -1;
	}
	return 0;
}

long weave_syscall(long number, const volatile void *word, int op, uint32_t value, const void *timeout, uint32_t bits)
{
	uint64_t key = me ? offset(word) : 0;

	if (!key || number != SYS_futex)
		return syscall(number, word, op, value, timeout, NULL, bits);
	if (op == FUTEX_WAIT)
		return futex_wait(word, key, value);
	assert_int_equal(op, FUTEX_WAKE);
	weave_point();
	if (other()->sleeps_on == key) {
		other()->sleeps_on = 0;
		other()->idle = false; /* ready again: runs when the baton comes */
	}
	return 0;
}
