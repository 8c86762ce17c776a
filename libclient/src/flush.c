/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_flush(): waits until all messages accepted before the call have completed and their callbacks have returned. Each
 * message carries the number of flushes at its acceptance (client::flushes), so that a continuing stream does not
 * prolong the wait.
 *
 * Thread: any but the one that runs callbacks.
 */
#include <errno.h>

#include "completion.h"
#include "err.h"
#include "publisher.h"
#include "step.h"
#include "timeutil.h"

#define SLICE_DUR_NS (20 * NS_PER_MS) /* no wake-up comes when a publisher takes a message back */

struct flush {
	struct sim_client *c;
	struct session *session; /* referenced */
	uint32_t number;
	int64_t until_mono_ns; /* INT64_MAX: for ever */
};

static bool before(const struct flush *f, uint32_t number)
{
	return (int32_t)(number - f->number) <= 0;
}

static bool pub_busy(const struct flush *f, const struct sim_publisher *p)
{
	if (!records_outstanding(&p->records))
		return false;
	for (uint32_t i = 0; i < RECORDS_MAX; i++) {
		const struct record *rec = &p->records.table[i];

		if (atomic_load_explicit(&rec->state, memory_order_acquire) != RECORD_FREE &&
		    before(f, atomic_load_explicit(&rec->flush, memory_order_relaxed)))
			return true;
	}
	return false;
}

static bool list_busy(const struct flush *f, const struct list *pubs)
{
	const struct sim_publisher *p;

	list_for_each(p, pubs, link)
		if (pub_busy(f, p))
			return true;
	return false;
}

/* Whether something is still outstanding. Under lock. */
static bool busy(const struct flush *f)
{
	const struct sim_client *c = f->c;

	return (c->calling.on && before(f, c->calling.flush)) || list_busy(f, &c->pubs) || list_busy(f, &c->zombies);
}

static void wait_slice(const struct flush *f, int64_t left_dur_ns)
{
	struct sim_client *c = f->c;
	int64_t dur_ns = left_dur_ns < SLICE_DUR_NS ? left_dur_ns : SLICE_DUR_NS;
	struct timespec t;

	if (client_pumps(c)) {
		client_idle(c, dur_ns);
		client_work(c);
		completion_run(c);
		return;
	}
	t = timespec_from_ns(ns_add(mono_now_ns(), dur_ns));
	pthread_mutex_lock(&c->lock);
	c->flushers++;
	if (busy(f))
		pthread_cond_timedwait(&c->changed, &c->lock, &t);
	c->flushers--;
	pthread_mutex_unlock(&c->lock);
}

static bool is_done(const struct flush *f)
{
	bool done;

	pthread_mutex_lock(&f->c->lock);
	done = !busy(f);
	pthread_mutex_unlock(&f->c->lock);
	return done;
}

static int wait_done(const struct flush *f)
{
	if (client_pumps(f->c))
		wait_slice(f, 0); /* reads what has already come */
	while (!is_done(f)) {
		int64_t left_dur_ns = f->until_mono_ns - client_now(f->c);

		if (left_dur_ns <= 0)
			return err_set(-ETIMEDOUT, "sim_flush: messages are still with simd or its bridges");
		wait_slice(f, left_dur_ns);
	}
	return 0;
}

static int check_caller(struct sim_client *c)
{
	bool inside;

	pthread_mutex_lock(&c->lock);
	inside = c->calling.on && pthread_equal(pthread_self(), c->calling.thread);
	pthread_mutex_unlock(&c->lock);
	if (inside || (c->io_started && pthread_equal(pthread_self(), c->io)))
		return err_set(-EDEADLK, "sim_flush: not from a callback, which would wait for itself");
	if (step_forbids_waiting(c))
		return err_set(-EDEADLK,
			       "sim_flush: nothing completes before this step ends, which waits for the caller");
	return 0;
}

/* 0 if simd was connected all the time, else the error. */
static int check_session(const struct flush *f)
{
	bool same;

	pthread_mutex_lock(&f->c->lock);
	same = f->session && f->c->session == f->session && !f->session->dead;
	pthread_mutex_unlock(&f->c->lock);
	return same ? 0
		    : err_set(-ENOTCONN,
			      "sim_flush: disconnected from simd; messages that it had not completed have ended as \"%s\"",
			      sim_reason_name(SIM_REASON_LOST));
}

int sim_flush(struct sim_client *c, int64_t timeout_dur_ns)
{
	struct flush f = { .c = c };
	int r = client_guard(c);

	if (r == 0)
		r = check_caller(c);
	if (r < 0)
		return r;
	f.until_mono_ns = timeout_dur_ns < 0 ? INT64_MAX : ns_add(client_now(c), timeout_dur_ns);
	f.number = atomic_fetch_add(&c->flushes, 1);
	if (client_session(c, &f.session) < 0)
		f.session = NULL;
	r = wait_done(&f);
	if (r == 0)
		r = check_session(&f);
	session_unref(f.session);
	return r;
}
