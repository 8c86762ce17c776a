/* SPDX-License-Identifier: Apache-2.0 */
/* One answer per task, whichever of publish() and complete() comes first. The lane API is the test's own. */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "task.h"

#define DELIVERY(number, size) (&(struct sim_delivery){ .id = (number), .message.body_size = (size) })

static struct sim_lane_result answers[16];
static unsigned n_answers;

int sim_lane_done(struct sim_lane *l, const struct sim_lane_result *r, unsigned count)
{
	(void)l;
	for (unsigned i = 0; i < count && n_answers < 16; i++)
		answers[n_answers++] = r[i];
	return 0;
}

static struct host_lane *new_lane(struct host *h)
{
	struct host_lane *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	memset(h, 0, sizeof(*h));
	l->host = h;
	pthread_mutex_init(&l->lock, NULL);
	list_init(&l->free);
	list_append(&l->free, &l->tasks[0].link);
	n_answers = 0;
	return l;
}

TEST(a_delivery_may_complete_at_once)
{
	struct sim_lane_result res;
	struct host h;
	struct host_lane *l = new_lane(&h);
	struct sim_task *t = task_get(l, DELIVERY(77, 10), 0);

	assert_non_null(t);
	assert_null(task_get(l, DELIVERY(78, 10), 0));
	assert_true(task_returned(t, -EIO, 0, &res));
	assert_int_equal(res.id, 77);
	assert_int_equal(res.result, -EIO);
	assert_ptr_equal(task_get(l, DELIVERY(79, 0), 0), t);
	free(l);
}

TEST(tasks_completed_at_once_stay_with_the_lanes_thread)
{
	struct sim_lane_result res;
	struct host h;
	struct host_lane *l = new_lane(&h);
	struct sim_task *t = task_get(l, DELIVERY(1, 10), 0), *second;

	list_append(&l->free, &l->tasks[1].link);
	assert_true(task_returned(t, 0, 0, &res));
	assert_ptr_equal(list_first(&l->free, struct sim_task, link),
			 &l->tasks[1]); /* not among those of all threads */
	assert_ptr_equal(task_get(l, DELIVERY(2, 10), 0), t);
	second = task_get(l, DELIVERY(3, 10), 0);
	assert_ptr_equal(second, &l->tasks[1]);
	assert_true(task_returned(t, 0, 0, &res) && task_returned(second, 0, 0, &res));
	assert_ptr_equal(task_get(l, DELIVERY(4, 10), 0), t);
	assert_ptr_equal(task_get(l, DELIVERY(5, 10), 0), second);
	free(l);
}

TEST(a_delivery_may_complete_later)
{
	struct sim_lane_result res;
	struct host h;
	struct host_lane *l = new_lane(&h);
	struct sim_task *t = task_get(l, DELIVERY(5, 10), 0);

	assert_false(task_returned(t, 1, 0, &res));
	assert_int_equal(l->pending, 1);
	assert_int_equal(task_complete(t, 0), 1);
	assert_int_equal(task_complete(t, 0), -EALREADY);
	assert_int_equal(n_answers, 1);
	assert_int_equal(answers[0].id, 5);
	assert_int_equal(l->pending, 0);
	assert_int_equal(h.bytes, 10);
	free(l);
}

TEST(a_delivery_may_complete_before_publish_returns)
{
	struct sim_lane_result res;
	struct host h;
	struct host_lane *l = new_lane(&h);
	struct sim_task *t = task_get(l, DELIVERY(6, 10), 0);

	assert_int_equal(task_complete(t, -EBADMSG), 0);
	assert_true(task_returned(t, 1, 0, &res));
	assert_int_equal(res.result, -EBADMSG);
	assert_int_equal(n_answers, 0);
	assert_int_equal(l->pending, 0);
	free(l);
}

TEST(an_invalid_completion_is_an_error)
{
	struct sim_lane_result res;
	struct host h;
	struct host_lane *l = new_lane(&h);

	assert_true(task_returned(task_get(l, DELIVERY(7, 0), 0), 42, 0, &res));
	assert_int_equal(res.result, -EPROTO);
	free(l);
}
