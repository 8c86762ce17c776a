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

int message_set(struct message *m, struct iov_buf *out)
{
	m->out = out;
	if (out->total > UINT32_MAX - 4)
		return -EMSGSIZE;
	put_u32(m->head, (uint32_t)out->total);
	m->iov[0] = (struct iovec){ m->head, 4 };
	m->n_iov = 1 + iov_buf_iov(out, m->iov + 1);
	m->total = out->total + 4;
	return 0;
}

void message_set_bare(struct message *m, uint8_t *data, size_t n)
{
	m->bare = true;
	m->own = data;
	m->iov[0] = (struct iovec){ data, n };
	m->n_iov = 1;
	m->total = n;
}

/* All bytes, in one block of malloc(). */
static uint8_t *flatten(const struct message *m)
{
	uint8_t *data = malloc(m->total), *at = data;

	for (unsigned i = 0; data && i < m->n_iov; i++) {
		memcpy(at, m->iov[i].iov_base, m->iov[i].iov_len);
		at += m->iov[i].iov_len;
	}
	return data;
}

static void set_own(struct message *m, uint8_t *data, size_t n)
{
	m->own = data;
	m->iov[0] = (struct iovec){ data, n };
	m->n_iov = 1;
	m->total = n;
}

int message_own(struct message *m)
{
	uint8_t *data = m->own ? m->own : flatten(m);

	if (!data)
		return -ENOMEM;
	set_own(m, data, m->total);
	return 0;
}

struct message *message_copy(struct message_pool *p, const struct message *m)
{
	struct message *copy = message_get(p);
	uint8_t *data = copy ? flatten(m) : NULL;

	if (data)
		set_own(copy, data, m->total);
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
