/* SPDX-License-Identifier: Apache-2.0 */
/* See lookup.h. */
#include "lookup.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "mem.h"
#include "thread.h"

struct lookup_ask {
	struct lookup_ask *next; /* list lookup::first */
	struct lookup *lookup;
	enum { WAITS, AT_WORK, DONE } state; /* guarded by the lookup's lock, as are the fields below */
	bool cancelled;
	struct exec_post done;
	lookup_fn fn;
	void *arg;
	int r;
	struct addrinfo *all;
	char port[8];
	char host[];
};

struct lookup {
	const char *name;
	pthread_t thread;
	pthread_mutex_t lock; /* a leaf lock; guards the fields below, except for running, which belongs to the exec */
	pthread_cond_t more;
	struct lookup_ask *first, **end;
	bool running, stop;
};

/* ---- the thread; lock is held ---- */

static void ask_free(struct lookup_ask *a)
{
	if (a->all)
		freeaddrinfo(a->all);
	mem_free(a);
}

static void look_up(struct lookup *l, struct lookup_ask *a)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };

	a->state = AT_WORK;
	pthread_mutex_unlock(&l->lock);
	a->r = getaddrinfo(a->host, a->port, &hints, &a->all);
	pthread_mutex_lock(&l->lock);
	a->state = DONE;
	if (a->cancelled)
		ask_free(a);
	else
		exec_post(&a->done); /* with the lock held, so that a cancel finds it posted */
}

static struct lookup_ask *take_first(struct lookup *l)
{
	struct lookup_ask *a = l->first;

	l->first = a->next;
	if (!l->first)
		l->end = &l->first;
	return a;
}

static void *lookup_main(void *arg)
{
	struct lookup *l = arg;

	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		if (l->first)
			look_up(l, take_first(l));
		else
			pthread_cond_wait(&l->more, &l->lock);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* ---- the exec's thread ---- */

static void on_done(void *arg)
{
	struct lookup_ask *a = arg;
	struct addrinfo *all = a->all;

	pthread_mutex_lock(&a->lookup->lock); /* waits for the resolver thread, which posted it with the lock held */
	pthread_mutex_unlock(&a->lookup->lock);
	a->all = NULL;
	a->fn(a->arg, a->r, all);
	ask_free(a);
}

int lookup_start(struct lookup *l, struct exec *x, const char *host, unsigned port, lookup_fn fn, void *arg,
		 struct lookup_ask **ret)
{
	size_t n = strlen(host) + 1;
	struct lookup_ask *a = mem_zalloc(sizeof(*a) + n);
	int r = !a ? -ENOMEM : l->running ? 0 : thread_start(&l->thread, l->name, lookup_main, l);

	if (r < 0) {
		mem_free(a);
		return r;
	}
	l->running = true;
	a->lookup = l;
	a->fn = fn;
	a->arg = arg;
	exec_post_init(&a->done, x, on_done, a);
	snprintf(a->port, sizeof(a->port), "%u", port);
	memcpy(a->host, host, n);
	pthread_mutex_lock(&l->lock);
	*l->end = a;
	l->end = &a->next;
	pthread_cond_signal(&l->more);
	pthread_mutex_unlock(&l->lock);
	*ret = a;
	return 0;
}

static void unlist(struct lookup *l, struct lookup_ask *a)
{
	struct lookup_ask **at = &l->first;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	if (!*at)
		l->end = at;
}

void lookup_cancel(struct lookup_ask *a)
{
	struct lookup *l = a ? a->lookup : NULL;

	if (!a)
		return;
	pthread_mutex_lock(&l->lock);
	a->cancelled = true;
	if (a->state == WAITS)
		unlist(l, a);
	else if (a->state == DONE)
		exec_post_cancel(&a->done);
	if (a->state != AT_WORK)
		ask_free(a);
	pthread_mutex_unlock(&l->lock);
}

int lookup_create(const char *thread, struct lookup **ret)
{
	struct lookup *l = MEM_NEW(struct lookup);

	if (!l)
		return -ENOMEM;
	l->name = thread;
	l->end = &l->first;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->more, NULL);
	*ret = l;
	return 0;
}

void lookup_destroy(struct lookup *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_signal(&l->more);
	pthread_mutex_unlock(&l->lock);
	if (l->running)
		pthread_join(l->thread, NULL);
	pthread_cond_destroy(&l->more);
	pthread_mutex_destroy(&l->lock);
	mem_free(l);
}
