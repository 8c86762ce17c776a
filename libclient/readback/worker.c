/* SPDX-License-Identifier: Apache-2.0 */
/* See worker.h. Thread: body() is the worker's. */
#include "worker.h"

#include "err.h"
#include "futex.h"
#include "thread.h"

static void ring(_Atomic uint32_t *bell)
{
	atomic_fetch_add(bell, 1);
	futex_wake_all((void *)bell, FUTEX_PRIVATE_FLAG);
}

static void do_job(struct worker *w, struct job *j)
{
	if (!atomic_load_explicit(&j->cancelled, memory_order_acquire)) {
		rows_copy(&j->rows);
		j->copied = true;
	}
	atomic_store_explicit(&j->done, true, memory_order_release);
	ring(&w->done_bell);
}

static void *body(void *arg)
{
	struct worker *w = arg;

	for (;;) {
		uint32_t seen = atomic_load(&w->bell);
		bool stop = atomic_load(&w->stop);
		struct inbox_item *i = inbox_take(&w->jobs);

		if (!i && stop)
			return NULL;
		if (!i)
			futex_wait((void *)&w->bell, seen, INT64_MAX, FUTEX_PRIVATE_FLAG);
		while (i) {
			struct inbox_item *next = i->next;

			do_job(w, (struct job *)(void *)i); /* its first member */
			i = next;
		}
	}
}

int worker_start(struct worker *w)
{
	int r = thread_start(&w->thread, "sim-readback", body, w);

	if (r < 0)
		return err_sys(r, "read-back: no thread could be started");
	w->started = true;
	return 0;
}

void worker_stop(struct worker *w)
{
	if (!w->started)
		return;
	atomic_store(&w->stop, true);
	ring(&w->bell);
	pthread_join(w->thread, NULL);
	w->started = false;
}

void worker_put(struct worker *w, struct job *j)
{
	j->copied = false;
	atomic_store_explicit(&j->done, false, memory_order_relaxed);
	atomic_store_explicit(&j->cancelled, false, memory_order_relaxed);
	(void)inbox_put(&w->jobs, &j->item);
	ring(&w->bell);
}

void worker_wait(struct worker *w, uint32_t seen, int64_t dur_ns)
{
	futex_wait((void *)&w->done_bell, seen, dur_ns < 0 ? INT64_MAX : dur_ns, FUTEX_PRIVATE_FLAG);
}
