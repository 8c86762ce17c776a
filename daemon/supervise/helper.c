/* SPDX-License-Identifier: Apache-2.0 */
/* The helper thread: an event loop that runs posted jobs; contract in helper.h. */
#include "helper.h"

#include "err.h"
#include "log.h"
#include "mem.h"
#include "thread.h"

#include <pthread.h>
#include <stdatomic.h>

LOG_TOPIC("helper");

struct helper {
	struct exec *owner;
	struct exec *x; /* the thread's; NULL: no thread */
	pthread_t thread;
	atomic_bool stop;
	struct exec_post last;
};

static void on_done(void *arg)
{
	struct helper_job *j = arg;

	j->done(j);
}

static void on_run(void *arg)
{
	struct helper_job *j = arg;
	struct helper *h = j->h;

	j->run(j);
	if (atomic_load(&h->stop)) { /* the owner waits in helper_destroy(), so done() may run on this thread */
		j->done(j);
		return;
	}
	exec_post_init(&j->post, h->owner, on_done, j);
	exec_post(&j->post);
}

static void on_last(void *arg)
{
	exec_quit(arg);
}

static void *helper_main(void *arg)
{
	struct helper *h = arg;

	if (exec_run(h->x) < 0)
		log_error("simd-help: %s", err_why());
	return NULL;
}

int helper_create(struct exec *x, struct helper **ret)
{
	struct helper *h = MEM_NEW(struct helper);
	int r = 0;

	if (!h)
		return err_nomem();
	h->owner = x;
	if (!exec_is_virtual(x))
		r = exec_threads_create(&h->x);
	if (r == 0 && h->x) {
		r = thread_start(&h->thread, "simd-help", helper_main, h);
		if (r < 0)
			err_sys(r, "cannot start the helper thread");
	}
	if (r < 0) {
		exec_destroy(h->x);
		mem_free(h);
		return r;
	}
	*ret = h;
	return 0;
}

void helper_destroy(struct helper *h)
{
	if (!h)
		return;
	if (h->x) {
		atomic_store(&h->stop, true);
		exec_post_init(&h->last, h->x, on_last, h->x);
		exec_post(&h->last);
		pthread_join(h->thread, NULL);
		exec_destroy(h->x);
	}
	mem_free(h);
}

void helper_post(struct helper *h, struct helper_job *j)
{
	j->h = h;
	if (!h->x) {
		on_run(j);
		return;
	}
	exec_post_init(&j->post, h->x, on_run, j);
	exec_post(&j->post);
}
