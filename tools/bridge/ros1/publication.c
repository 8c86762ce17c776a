/* SPDX-License-Identifier: Apache-2.0 */
/* See publication.h. */
#include "publication.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ros/ros_type.h"
#include "ros1.h"

/* ---- a publication ---- */

static void publication_free(struct publication *p)
{
	if (!p)
		return;
	pthread_mutex_destroy(&p->lock);
	free(p->name);
	free(p->type);
	free(p->md5);
	free(p->definition);
	free(p);
}

static int create(struct sim_bridge *b, const char *name, const struct ros_type *t, struct publication **ret)
{
	struct publication *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->bridge = b;
	pthread_mutex_init(&p->lock, NULL);
	p->name = strdup(name);
	p->type = strdup(t->name);
	p->md5 = strdup(t->hash);
	p->definition = strdup(t->definition);
	if (!p->name || !p->type || !p->md5 || !p->definition) {
		publication_free(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

static struct publication *find(struct sim_bridge *b, const char *name)
{
	struct publication *p = b->publications;

	while (p && strcmp(p->name, name) != 0)
		p = p->next;
	return p;
}

int publication_get(struct sim_bridge *b, const char *name, const struct ros_type *t, unsigned queue, bool latch,
		    struct publication **ret, char *why, size_t why_size)
{
	struct publication *p;
	int r = 0;

	pthread_mutex_lock(&b->lock);
	p = find(b, name);
	if (p && (strcmp(p->type, t->name) != 0 || strcmp(p->md5, t->hash) != 0)) {
		snprintf(why, why_size, "%s is published as %s already", name, p->type);
		r = -EEXIST;
	}
	if (!p && (r = create(b, name, t, &p)) == 0) {
		p->next = b->publications;
		b->publications = p;
	}
	if (r == 0) {
		pthread_mutex_lock(&p->lock);
		p->refs++;
		p->queue = queue > p->queue ? queue : p->queue;
		p->latch |= latch;
		pthread_mutex_unlock(&p->lock);
		*ret = p;
	}
	pthread_mutex_unlock(&b->lock);
	return r;
}

void publication_end_subscribers(struct publication *p)
{
	while (p->subscribers) {
		io_close(p->bridge->io, &p->subscribers->io);
		publication_remove(p->subscribers);
	}
}

static void end_on_io(void *arg)
{
	struct publication *p = arg;
	struct job *done = NULL;

	publication_end_subscribers(p);
	pthread_mutex_lock(&p->lock);
	message_unref(&p->bridge->pool, p->latched, &done);
	p->latched = NULL;
	pthread_mutex_unlock(&p->lock);
	jobs_answer(p->bridge->host, done);
}

void publication_unref(struct publication *p)
{
	struct sim_bridge *b = p->bridge;
	struct publication **at = &b->publications;
	bool last;

	pthread_mutex_lock(&b->lock);
	last = --p->refs == 0;
	while (last && *at != p)
		at = &(*at)->next;
	if (last)
		*at = p->next;
	pthread_mutex_unlock(&b->lock);
	if (!last)
		return;
	io_call(b->io, end_on_io, p);
	publication_free(p);
}

/* ---- subscribers of it ---- */

static int check(const struct publication *p, const struct tcpros_header *h, char *why, size_t why_size)
{
	char theirs[64];

	if (!tcpros_is(h, "md5sum", "*") && !tcpros_is(h, "md5sum", p->md5)) {
		tcpros_get(h, "md5sum", theirs, sizeof(theirs));
		snprintf(why, why_size, "%s is %s with md5sum %s, not %.40s", p->name, p->type, p->md5, theirs);
		return -EINVAL;
	}
	if (!tcpros_is(h, "type", "*") && !tcpros_is(h, "type", p->type) &&
	    tcpros_get(h, "type", theirs, sizeof(theirs))) {
		snprintf(why, why_size, "%s is %s, not %.60s", p->name, p->type, theirs);
		return -EINVAL;
	}
	return 0;
}

/* Our half of the header, then what is latched. */
static int welcome(struct publication *p, struct subscriber *s)
{
	struct message *m = message_get(&p->bridge->pool);
	struct tcpros_writer w = { .data = NULL };
	struct job *done = NULL;

	tcpros_put(&w, "callerid", p->bridge->names.node);
	tcpros_put(&w, "latching", p->latch ? "1" : "0");
	tcpros_put(&w, "md5sum", p->md5);
	tcpros_put(&w, "message_definition", p->definition);
	tcpros_put(&w, "simd", p->bridge->mark);
	tcpros_put(&w, "topic", p->name);
	tcpros_put(&w, "type", p->type);
	s->room = p->queue + 2; /* what is being sent, and our header */
	s->ring = calloc(s->room, sizeof(struct message *));
	if (!m || !s->ring || tcpros_end(&w) < 0) {
		message_unref(&p->bridge->pool, m, &done);
		tcpros_writer_finish(&w);
		return -ENOMEM;
	}
	message_set_own(m, w.data, w.len);
	m->bare = true;
	subscriber_queue(s, m, &done);
	message_unref(&p->bridge->pool, m, &done);
	if (p->latched)
		subscriber_queue(s, p->latched, &done);
	return 0;
}

int publication_add(struct sim_bridge *b, const char *name, const struct tcpros_header *h, struct subscriber *s,
		    char *why, size_t why_size)
{
	struct publication *p;
	int r;

	pthread_mutex_lock(&b->lock);
	p = find(b, name);
	snprintf(why, why_size, "%s does not publish %.200s", b->names.node, name);
	r = p ? check(p, h, why, why_size) : -ENOENT;
	if (r == 0) {
		pthread_mutex_lock(&p->lock);
		s->publication = p;
		r = welcome(p, s);
		if (r == 0) {
			s->next = p->subscribers;
			p->subscribers = s;
			atomic_fetch_add(&p->n_subscribers, 1);
		} else {
			s->publication = NULL;
		}
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&b->lock);
	return r;
}

void publication_remove(struct subscriber *s)
{
	struct publication *p = s->publication;
	struct subscriber **at = &p->subscribers;
	struct job *done = NULL;

	pthread_mutex_lock(&p->lock);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	atomic_fetch_sub(&p->n_subscribers, 1);
	s->publication = NULL;
	for (; s->n; s->n--, s->first = (s->first + 1) % s->room)
		message_unref(&p->bridge->pool, s->ring[s->first], &done);
	pthread_mutex_unlock(&p->lock);
	jobs_answer(p->bridge->host, done);
}

/* ---- sending ---- */

/* Newer than what was latched, for those who come later. */
static void latch(struct publication *p, const struct message *m, struct job **done)
{
	struct message *copy = message_copy(&p->bridge->pool, m);

	if (!copy)
		return;
	message_unref(&p->bridge->pool, p->latched, done);
	p->latched = copy;
}

/* Somebody waits for the rest of it. */
static int hold(struct publication *p, struct message *m, struct sim_task *task, struct job **job)
{
	int r = message_hold(m, task, io_mono_ns(), job);

	if (m->job && !atomic_exchange(&p->bridge->holding, true))
		io_wake(p->bridge->io);
	return r;
}

int publication_send(struct publication *p, struct message *m, struct sim_task *task, struct job **job)
{
	struct job *done = NULL;
	int r = 0;

	pthread_mutex_lock(&p->lock);
	p->bytes += m->total;
	for (struct subscriber *s = p->subscribers; s; s = s->next) {
		if (s->ending)
			continue;
		subscriber_queue(s, m, &done);
		if (subscriber_write(s, &done) < 0)
			shutdown(s->io.fd, SHUT_RDWR); /* the I/O thread closes it */
	}
	if (p->latch)
		latch(p, m, &done);
	if (m->refs > 1)
		r = hold(p, m, task, job);
	message_unref(&p->bridge->pool, m, &done);
	pthread_mutex_unlock(&p->lock);
	jobs_answer(p->bridge->host, done);
	return r;
}

/* Copies what is held since before then, one that a subscriber waits for. Returns since when it is held otherwise. */
static int64_t release_one(struct message *m, int64_t before_mono_ns, struct job **done)
{
	if (!m->job)
		return INT64_MAX;
	if (m->since_mono_ns > before_mono_ns || message_own(m) < 0)
		return m->since_mono_ns;
	job_unref(m->job, done);
	m->job = NULL;
	return INT64_MAX;
}

static int64_t release(const struct publication *p, int64_t before_mono_ns, struct job **done)
{
	int64_t oldest = INT64_MAX;

	for (const struct subscriber *s = p->subscribers; s; s = s->next)
		for (unsigned i = 0; i < s->n; i++) {
			int64_t since = release_one(s->ring[(s->first + i) % s->room], before_mono_ns, done);

			oldest = since < oldest ? since : oldest;
		}
	return oldest;
}

int64_t publications_release(struct sim_bridge *b)
{
	int64_t before = io_mono_ns() - PUBLICATION_HOLD_DUR_NS, oldest = INT64_MAX;
	struct job *done = NULL;

	if (!atomic_exchange(&b->holding, false))
		return INT64_MAX;
	pthread_mutex_lock(&b->lock);
	for (struct publication *p = b->publications; p; p = p->next) {
		int64_t since;

		pthread_mutex_lock(&p->lock);
		since = release(p, before, &done);
		pthread_mutex_unlock(&p->lock);
		oldest = since < oldest ? since : oldest;
	}
	pthread_mutex_unlock(&b->lock);
	jobs_answer(b->host, done);
	if (oldest == INT64_MAX)
		return INT64_MAX;
	atomic_store(&b->holding, true);
	before = io_mono_ns() - PUBLICATION_HOLD_DUR_NS / 2; /* no memory: not at once again */
	return (oldest > before ? oldest : before) + PUBLICATION_HOLD_DUR_NS;
}
