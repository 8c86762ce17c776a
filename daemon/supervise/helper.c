/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper thread; contract in helper.h. Lock: h->lock guards the queue and `stop`, held for a few
 * instructions, never while a job runs.
 */
#include "helper.h"

#include "exec.h"
#include "err.h"
#include "log.h"
#include "mem.h"
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

LOG_TOPIC("helper");

struct helper {
	struct exec *x;
	pthread_t thread;
	bool running; /* the thread exists */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct helper_job *head, **tail; /* guarded by lock */
	bool stop;                       /* guarded by lock */
};

static void on_done(void *arg)
{
	struct helper_job *j = (struct helper_job *)arg;

	j->done(j);
}

static void finish_job(struct helper *h, struct helper_job *j)
{
	if (exec_post(h->x, on_done, j) < 0)
		log_error("no memory: an answer about the data plane is lost");
}

static void *helper_main(void *arg)
{
	struct helper *h = (struct helper *)arg;

	for (;;) {
		struct helper_job *j;
		bool stop;

		pthread_mutex_lock(&h->lock);
		while (!h->head && !h->stop)
			pthread_cond_wait(&h->wake, &h->lock);
		j = h->head;
		if (j && !(h->head = j->next))
			h->tail = &h->head;
		pthread_mutex_unlock(&h->lock);
		if (!j)
			return NULL;
		j->run(j);
		pthread_mutex_lock(&h->lock);
		stop = h->stop;
		pthread_mutex_unlock(&h->lock);
		if (stop) /* the owner waits in helper_destroy(): nobody else touches what done() does */
			j->done(j);
		else
			finish_job(h, j);
	}
}

int helper_create(struct exec *x, struct helper **ret)
{
	struct helper *h = MEM_NEW(struct helper);
	int r;

	if (!h)
		return err_nomem();
	h->x = x;
	h->tail = &h->head;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->wake, NULL);
	if (!exec_is_virtual(x)) {
		r = thread_start(&h->thread, "simd-help", helper_main, h);
		if (r < 0) {
			mem_free(h);
			return err_sys(r, "cannot start the helper thread");
		}
		h->running = true;
	}
	*ret = h;
	return 0;
}

void helper_destroy(struct helper *h)
{
	if (!h)
		return;
	if (h->running) {
		pthread_mutex_lock(&h->lock);
		h->stop = true;
		pthread_cond_signal(&h->wake);
		pthread_mutex_unlock(&h->lock);
		pthread_join(h->thread, NULL);
	}
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->wake);
	mem_free(h);
}

void helper_post(struct helper *h, struct helper_job *j)
{
	j->h = h;
	j->next = NULL;
	if (!h->running) {
		j->run(j);
		finish_job(h, j);
		return;
	}
	pthread_mutex_lock(&h->lock);
	*h->tail = j;
	h->tail = &j->next;
	pthread_cond_signal(&h->wake);
	pthread_mutex_unlock(&h->lock);
}
