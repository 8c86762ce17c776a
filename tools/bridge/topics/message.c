/* SPDX-License-Identifier: Apache-2.0 */
/* See message.h. */
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POOL_MAX 32u

void message_pool_init(struct message_pool *p, struct topics *topics)
{
	*p = (struct message_pool){ .topics = topics };
	pthread_mutex_init(&p->lock, NULL);
}

void message_pool_finish(struct message_pool *p)
{
	while (p->free) {
		struct message *m = p->free;

		p->free = m->next;
		free(m);
	}
	pthread_mutex_destroy(&p->lock);
}

struct message *message_get(struct message_pool *p)
{
	struct message *m;

	pthread_mutex_lock(&p->lock);
	m = p->free;
	if (m) {
		p->free = m->next;
		p->n--;
	}
	pthread_mutex_unlock(&p->lock);
	if (!m)
		m = calloc(1, sizeof(*m));
	if (m)
		m->refs = 1;
	return m;
}

static void put(struct message_pool *p, struct message *m)
{
	if (m->out)
		topics_put_buf(p->topics, m->out);
	free(m->own);
	*m = (struct message){ .out = NULL };
	pthread_mutex_lock(&p->lock);
	if (p->n < POOL_MAX) {
		m->next = p->free;
		p->free = m;
		p->n++;
		m = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	free(m);
}

static void put_u32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

int message_set(struct message *m, bool counted, struct iov_buf *out)
{
	m->out = out;
	m->total = out->total;
	if (counted && out->total > UINT32_MAX - 4)
		return -EMSGSIZE;
	if (counted) {
		put_u32(m->head, (uint32_t)out->total);
		m->iov[m->n_iov++] = (struct iovec){ m->head, 4 };
		m->total += 4;
	}
	m->n_iov += iov_buf_iov(out, m->iov + m->n_iov);
	return 0;
}

void message_set_own(struct message *m, uint8_t *data, size_t n)
{
	m->own = data;
	m->iov[0] = (struct iovec){ data, n };
	m->n_iov = 1;
	m->total = n;
}

/* Copies all bytes into one block of malloc(). */
static uint8_t *flatten(const struct message *m)
{
	uint8_t *data = malloc(m->total), *at = data;

	for (unsigned i = 0; data && i < m->n_iov; i++) {
		memcpy(at, m->iov[i].iov_base, m->iov[i].iov_len);
		at += m->iov[i].iov_len;
	}
	return data;
}

int message_own(struct message *m)
{
	uint8_t *data = m->own ? m->own : flatten(m);

	if (!data)
		return -ENOMEM;
	message_set_own(m, data, m->total);
	return 0;
}

struct message *message_copy(struct message_pool *p, const struct message *m)
{
	struct message *copy = message_get(p);
	uint8_t *data = copy ? flatten(m) : NULL;

	if (data)
		message_set_own(copy, data, m->total);
	else if (copy)
		put(p, copy);
	return data ? copy : NULL;
}

bool job_unref(struct job *j, struct job **done)
{
	if (atomic_fetch_sub(&j->left, 1) != 1)
		return false;
	j->next = *done;
	*done = j;
	return true;
}

void message_unref(struct message_pool *p, struct message *m, struct job **done)
{
	if (!m || --m->refs)
		return;
	if (m->job)
		job_unref(m->job, done);
	put(p, m);
}

void jobs_answer(const struct sim_bridge_host *host, struct job *done)
{
	while (done) {
		struct job *j = done;

		done = j->next;
		host->complete(host->ctx, j->task, atomic_load(&j->result));
		free(j);
	}
}

/* ---- holding a slot ---- */

static bool points_into_slot(const struct message *m)
{
	for (unsigned i = 0; m->out && i < m->out->n; i++)
		if (m->out->piece[i].ref)
			return true;
	return false;
}

int message_hold(struct message *m, struct sim_task *task, int64_t now_mono_ns, struct job **job)
{
	struct job *j = *job;

	if (m->own || !points_into_slot(m))
		return 0;
	if (!task || m->total <= MESSAGE_SMALL_MAX)
		return message_own(m);
	if (!j) {
		j = *job = malloc(sizeof(*j));
		if (!j)
			return message_own(m);
		*j = (struct job){ .task = task, .left = 1 };
	}
	atomic_fetch_add(&j->left, 1);
	m->job = j;
	m->since_mono_ns = now_mono_ns;
	return 0;
}

/* ---- publishing ---- */

void messages_await_turn(const struct topics *s, struct sim_task *task)
{
	if (SIM_BRIDGE_HOST_HAS(s->host, in_order))
		s->host->in_order(s->host->ctx, task);
}

static int write_topic(struct topics *s, struct topic_out *t, const struct map_message *in, struct sim_task *task,
		       struct job **job, message_write_fn write)
{
	struct map_message all = *in;
	int r;

	if (!t->static_frames)
		return write(s->arg, t, in, task, task, job);
	messages_await_turn(s, task); /* not under the lock, which lanes with an earlier turn need */
	r = topic_out_begin_frames(t, &all);
	if (r > 0) /* the next message changes its body, so nothing may keep a reference */
		r = write(s->arg, t, &all, NULL, NULL, job);
	topic_out_end_frames(t, r);
	return r;
}

/*
 * Writes all topics, even after a failure. Returns the first failure, or 1 while one of the topics is still being sent.
 */
int messages_publish(struct topics *s, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task,
		     message_write_fn write)
{
	struct map_message in = topic_message(m);
	struct job *job = NULL, *done = NULL;
	int r = 0;

	for (unsigned i = 0; i < t->n; i++) {
		int e = write_topic(s, t->out[i], &in, task, &job, write);

		r = r < 0 ? r : e;
	}
	if (!job)
		return r;
	job->result = r;
	if (!job_unref(job, &done))
		return 1;
	free(job); /* everything was sent already */
	return r;
}
