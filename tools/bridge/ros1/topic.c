/* SPDX-License-Identifier: Apache-2.0 */
/* A channel and the topics that it becomes: opening, converting, sending. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "publication.h"
#include "ros/ros_type.h"
#include "ros1.h"

/*
 * With use_sim_time other nodes give the time, so /clock is not sent. "*" in the rig includes /clock, so that is no
 * error.
 */
static int time_comes_in(struct sim_bridge *b, const struct ros1_topic *t, char *why, size_t why_size)
{
	char clock[NAMES_LEN + 1];

	(void)names_resolve(&b->names, "/clock", clock, why, why_size);
	if (!b->sim_time.far.on || strcmp(t->out.name, clock) != 0)
		return 0;
	return far_time_refuse(&t->out, "other nodes", why, why_size);
}

static int open_publication(struct sim_bridge *b, struct ros1_topic *t, const struct topic_options *w, char *why,
			    size_t why_size)
{
	const struct ros_type *type = t->out.conversion.type;
	bool latch = w->latch < 0 ? topic_is_tf_static(t->out.name) : w->latch;
	int r;

	if (!*type->hash) {
		snprintf(why, why_size, "%s cannot be a message of ROS 1", type->name);
		return -ENOTSUP;
	}
	r = publication_get(b, t->out.name, type, w->depth ? (unsigned)w->depth : (unsigned)b->queue, latch,
			    &t->publication, why, why_size);
	t->out.keeps = latch;
	if (r == 0)
		r = master_want(b, MASTER_PUBLISHES, t->out.name, type->name);
	t->registered = r == 0;
	return r;
}

void ros1_topic_close(void *bridge, struct topic_out *out)
{
	struct ros1_topic *t = (struct ros1_topic *)(void *)out;

	if (t->registered)
		master_unwant(bridge, MASTER_PUBLISHES, out->name);
	if (t->publication)
		publication_unref(t->publication);
	topic_out_close(out);
	free(t);
}

int ros1_topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
		    struct topic_out **ret, char *why, size_t why_size)
{
	struct sim_bridge *b = bridge;
	struct ros1_topic *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	if (w->depth > (int)PUBLICATION_QUEUE_MAX) {
		snprintf(why, why_size, "\"queue\" must be a whole number from 1 to %u", PUBLICATION_QUEUE_MAX);
		free(t);
		return -EINVAL;
	}
	r = topic_out_open(&b->common, ch, w, &t->out, why, why_size);
	if (r == 0)
		r = time_comes_in(b, t, why, why_size);
	if (r == 0)
		r = open_publication(b, t, w, why, why_size);
	if (r < 0)
		ros1_topic_close(b, &t->out);
	else
		*ret = &t->out;
	return r;
}

/* ---- writing ---- */

/* A message_write_fn. */
static int write_one(void *arg, struct topic_out *out, const struct map_message *in, struct sim_task *task,
		     struct sim_task *hold, struct job **job)
{
	struct ros1_topic *t = (struct ros1_topic *)(void *)out;
	struct sim_bridge *b = arg;
	struct iov_buf *o;
	struct message *m;
	int r;

	if (publication_idle(t->publication)) {
		atomic_fetch_add_explicit(&b->skipped, 1, memory_order_relaxed);
		return 0;
	}
	r = topic_out_encode(out, in, &o);
	if (r < 0)
		return r;
	m = message_get(&b->pool);
	if (!m) {
		topics_put_buf(&b->common, o);
		return -ENOMEM;
	}
	r = message_set(m, true, o);
	if (r < 0) {
		struct job *none = NULL;

		message_unref(&b->pool, m, &none);
		return r;
	}
	atomic_fetch_add_explicit(&b->converted, 1, memory_order_relaxed);
	messages_await_turn(&b->common, task);
	return publication_send(t->publication, m, hold, job);
}

int ros1_channel_write(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		       struct sim_task *task)
{
	return messages_publish(&b->common, t, m, task, write_one);
}
