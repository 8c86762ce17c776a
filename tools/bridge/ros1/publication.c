/* SPDX-License-Identifier: Apache-2.0 */
/* See publication.h. */
#include "publication.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ros/ros_type.h"
#include "ros1.h"

void message_drop(struct sim_bridge *b, struct message *m)
{
	struct job *done = NULL;

	message_unref(&b->pool, m, &done);
	jobs_answer(b->host, done);
}

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

static struct publication *publication_new(struct sim_bridge *b, const char *name, const struct ros_type *t)
{
	struct publication *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->bridge = b;
	pthread_mutex_init(&p->lock, NULL);
	list_init(&p->subscribers);
	p->name = strdup(name);
	p->type = strdup(t->name);
	p->md5 = strdup(t->hash);
	p->definition = strdup(t->definition);
	if (p->name && p->type && p->md5 && p->definition)
		return p;
	publication_free(p);
	return NULL;
}

struct publication *publication_find(struct sim_bridge *b, const char *name)
{
	struct publication *p = b->publications;

	while (p && strcmp(p->name, name) != 0)
		p = p->next;
	return p;
}

struct getting {
	struct sim_bridge *bridge;
	const char *name;
	const struct ros_type *type;
	unsigned queue;
	bool latch, other_type;
	struct publication *publication; /* NULL: none */
};

static void get_on_loop(void *arg)
{
	struct getting *g = arg;
	struct publication *p = publication_find(g->bridge, g->name);

	g->publication = p;
	g->other_type = p && (strcmp(p->type, g->type->name) != 0 || strcmp(p->md5, g->type->hash) != 0);
	if (!p && (p = publication_new(g->bridge, g->name, g->type))) {
		p->next = g->bridge->publications;
		g->bridge->publications = g->publication = p;
	}
	if (!p || g->other_type)
		return;
	p->refs++;
	p->queue = g->queue > p->queue ? g->queue : p->queue;
	p->latch |= g->latch;
}

int publication_get(struct sim_bridge *b, const char *name, const struct ros_type *t, unsigned queue, bool latch,
		    struct publication **ret, char *why, size_t why_size)
{
	struct getting g = { .bridge = b, .name = name, .type = t, .queue = queue, .latch = latch };

	exec_call(b->x, get_on_loop, &g);
	if (!g.publication)
		return -ENOMEM;
	if (g.other_type) {
		snprintf(why, why_size, "%s is published as %s already", name, g.publication->type);
		return -EEXIST;
	}
	*ret = g.publication;
	return 0;
}

void publication_end_subscribers(struct publication *p)
{
	while (!list_empty(&p->subscribers))
		subscriber_end(list_first(&p->subscribers, struct subscriber, link));
}

static void unref_on_loop(void *arg)
{
	struct publication *p = arg, **at = &p->bridge->publications;

	if (--p->refs)
		return;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	publication_end_subscribers(p);
	message_drop(p->bridge, p->latched);
	publication_free(p);
}

void publication_unref(struct publication *p)
{
	exec_call(p->bridge->x, unref_on_loop, p);
}

/* ---- its subscribers ---- */

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

/* Writes the header that we send. */
static int write_header(const struct publication *p, struct tcpros_writer *w)
{
	tcpros_put(w, "callerid", p->bridge->names.node);
	tcpros_put(w, "latching", p->latch ? "1" : "0");
	tcpros_put(w, "md5sum", p->md5);
	tcpros_put(w, "message_definition", p->definition);
	tcpros_put(w, "simd", p->bridge->mark);
	tcpros_put(w, "topic", p->name);
	tcpros_put(w, "type", p->type);
	return tcpros_end(w);
}

/* Sends the header and the latched message, and adds the subscriber, so that it gets every message from now on. */
static int welcome(struct publication *p, struct subscriber *s)
{
	const struct outbox_topic_options o = { .max = p->queue };
	struct tcpros_writer w = { .data = NULL };
	int r = write_header(p, &w);

	if (r == 0)
		r = outbox_topic_create(&s->outbox, p->name, &o, &s->topic);
	if (r == 0) {
		list_remove(&s->link);
		s->publication = p;
		pthread_mutex_lock(&p->lock);
		list_prepend(&p->subscribers, &s->link);
		atomic_fetch_add(&p->n_subscribers, 1);
		(void)stream_send(s->stream, w.data, w.len); /* on failure the stream's `ended` follows */
		if (p->latched)
			subscriber_put(s, p->latched);
		pthread_mutex_unlock(&p->lock);
	}
	s->bytes = w.len;
	tcpros_writer_finish(&w);
	return r;
}

int publication_add(struct sim_bridge *b, const char *name, const struct tcpros_header *h, struct subscriber *s,
		    char *why, size_t why_size)
{
	struct publication *p = publication_find(b, name);
	int r;

	snprintf(why, why_size, "%s does not publish %.200s", b->names.node, name);
	r = p ? check(p, h, why, why_size) : -ENOENT;
	if (r == 0 && (r = welcome(p, s)) < 0)
		snprintf(why, why_size, "%s", strerror(-r));
	return r;
}

/* ---- sending ---- */

/* Keeps a copy of the message for later subscribers. */
static void latch(struct publication *p, const struct message *m)
{
	struct message *copy = message_copy(&p->bridge->pool, m);

	if (!copy)
		return;
	message_drop(p->bridge, p->latched);
	p->latched = copy;
}

int publication_send(struct publication *p, struct message *m, struct sim_task *task, struct job **job)
{
	struct sim_bridge *b = p->bridge;
	struct subscriber *s;
	bool held;
	int r = 0;

	pthread_mutex_lock(&p->lock);
	atomic_fetch_add(&p->bytes, m->total);
	if (p->latch)
		latch(p, m);
	if (!list_empty(&p->subscribers))
		r = message_hold(m, task, exec_now(b->x), job);
	held = m->job; /* read before it is queued: the loop may release it afterwards */
	if (r == 0)
		list_for_each(s, &p->subscribers, link)
			subscriber_put(s, m);
	if (held) /* publications_release() can find it now */
		exec_post(&b->holds);
	pthread_mutex_unlock(&p->lock);
	message_drop(b, m);
	return r;
}

/* ---- holding ---- */

struct releasing {
	int64_t before_mono_ns, oldest_mono_ns; /* messages held since before that are released; oldest: of the rest */
	struct job *done;
};

static void release_one(void *arg, void *body)
{
	struct releasing *r = arg;
	struct message *m = body;

	if (!m->job)
		return;
	if (m->since_mono_ns <= r->before_mono_ns && message_own(m) == 0) {
		job_unref(m->job, &r->done);
		m->job = NULL;
	} else if (m->since_mono_ns < r->oldest_mono_ns) {
		r->oldest_mono_ns = m->since_mono_ns;
	}
}

void publications_release(void *bridge)
{
	struct sim_bridge *b = bridge;
	int64_t now = exec_now(b->x);
	struct releasing r = { .before_mono_ns = now - PUBLICATION_HOLD_DUR_NS, .oldest_mono_ns = INT64_MAX };
	struct subscriber *s;

	for (struct publication *p = b->publications; p; p = p->next)
		list_for_each(s, &p->subscribers, link) {
			if (s->item)
				release_one(&r, s->item->body);
			outbox_each(&s->outbox, s->topic, release_one, &r);
		}
	jobs_answer(b->host, r.done);
	if (r.oldest_mono_ns == INT64_MAX)
		return;
	if (r.oldest_mono_ns <= r.before_mono_ns) /* out of memory: not immediately again */
		r.oldest_mono_ns = now - PUBLICATION_HOLD_DUR_NS / 2;
	exec_timer_at(&b->release, r.oldest_mono_ns + PUBLICATION_HOLD_DUR_NS);
}
