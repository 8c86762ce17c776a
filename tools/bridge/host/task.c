/* SPDX-License-Identifier: Apache-2.0 */
/* Exactly one answer per task, whichever of publish() and complete() comes first. Thread: see task.h. */
#include "task.h"

#include <errno.h>

#include "host.h"
#include "timeutil.h"

static struct sim_task *take_free(struct host_lane *l)
{
	struct sim_task *t = l->spare;

	if (t) {
		l->spare = NULL;
		return t;
	}
	pthread_mutex_lock(&l->lock);
	if (!list_empty(&l->free)) {
		t = container_of(l->free.next, struct sim_task, link);
		list_remove(&t->link);
	}
	pthread_mutex_unlock(&l->lock);
	return t;
}

struct sim_task *task_get(struct host_lane *l, const struct sim_delivery *d, int64_t now_mono_ns)
{
	struct sim_task *t = take_free(l);

	if (!t)
		return NULL;
	t->lane = l;
	t->id = d->id;
	t->message = d->message;
	t->result = 0;
	t->start_mono_ns = now_mono_ns;
	atomic_store_explicit(&t->state, TASK_RUNNING, memory_order_relaxed); /* no other thread can see it yet */
	return t;
}

static void task_put(struct sim_task *t)
{
	struct host_lane *l = t->lane;

	atomic_store_explicit(&t->state, TASK_FREE, memory_order_release);
	pthread_mutex_lock(&l->lock);
	list_prepend(&l->free, &t->link); /* first, so that the same few tasks stay in the cache */
	pthread_mutex_unlock(&l->lock);
}

/* For tasks answered before publish() returned, the common case: the lane's next message reuses it. */
static void spare_put(struct sim_task *t)
{
	atomic_store_explicit(&t->state, TASK_FREE, memory_order_release);
	t->lane->spare = t;
}

static struct sim_lane_result answer(const struct sim_task *t, int result, int64_t now_mono_ns)
{
	int64_t us = (now_mono_ns - t->start_mono_ns) / NS_PER_US;

	return (struct sim_lane_result){ .id = t->id,
					 .result = result,
					 .service_us = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us };
}

bool task_returned(struct sim_task *t, int r, int64_t now_mono_ns, struct sim_lane_result *ret)
{
	int expected = TASK_RUNNING;

	if (r == 1) {
		atomic_fetch_add(&t->lane->pending, 1);
		if (atomic_compare_exchange_strong(&t->state, &expected, TASK_PENDING))
			return false;
		atomic_fetch_sub(&t->lane->pending, 1);
		r = t->result; /* complete() was called before publish() returned */
	} else if (r > 0) {
		r = -EPROTO; /* neither done, pending nor an errno */
	}
	*ret = answer(t, r, now_mono_ns);
	if (t->lane->spare)
		task_put(t);
	else
		spare_put(t);
	return true;
}

int task_complete(struct sim_task *t, int result)
{
	struct host_lane *l = t->lane;
	struct sim_lane_result res;
	int expected = TASK_RUNNING;

	t->result = result > 0 ? -EPROTO : result;
	if (atomic_compare_exchange_strong(&t->state, &expected, TASK_DONE))
		return 0;
	if (expected != TASK_PENDING || !atomic_compare_exchange_strong(&t->state, &expected, TASK_DONE))
		return -EALREADY;
	res = answer(t, t->result, mono_now_ns());
	sim_lane_done(l->lane, &res, 1);
	if (!t->result)
		atomic_fetch_add(&l->host->bytes, t->message.body_size);
	task_put(t);
	atomic_fetch_sub(&l->pending, 1);
	return 1;
}

void task_count(struct host *h, int sent_now, int result)
{
	if (sent_now)
		atomic_fetch_add(result ? &h->failed : &h->sent, 1);
}
