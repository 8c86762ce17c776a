/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the channels in options.confirm: each machine with a reader answers whether its own subscribers have the
 * message. It completes with the last answer, with the first error, when a reader is lost, or with a timeout. Thread:
 * any.
 */
#include <errno.h>

#include "link.h"

int link_confirm_open(struct sim_bridge *b)
{
	return -pthread_mutex_init(&b->confirms.lock, NULL);
}

uint64_t link_confirm_begin(struct sim_bridge *b, struct sim_bridge_topic *t, struct link_sending *s, int needed)
{
	uint64_t number = 0;

	pthread_mutex_lock(&b->confirms.lock);
	for (unsigned i = 0; i < LINK_CONFIRMS_MAX && !number; i++) {
		struct link_confirm *c = &b->confirms.all[(b->confirms.last + 1 + i) % LINK_CONFIRMS_MAX];

		if (c->number)
			continue;
		b->confirms.last += 1 + i;
		number = b->confirms.last;
		*c = (struct link_confirm){ number, t, s, needed, mono_now_ns() + b->confirm_ms * 1000000 };
	}
	pthread_mutex_unlock(&b->confirms.lock);
	if (number)
		waiter_poke(&b->waiter);
	return number;
}

void link_confirm_answer(struct sim_bridge *b, const struct blob_head *h, int result)
{
	struct link_confirm *c = &b->confirms.all[h->confirm % LINK_CONFIRMS_MAX];
	struct link_sending *s = NULL;

	pthread_mutex_lock(&b->confirms.lock);
	if (h->confirm && c->number == h->confirm && (--c->needed == 0 || result < 0)) {
		s = c->sending;
		c->number = 0;
	}
	pthread_mutex_unlock(&b->confirms.lock);
	if (s)
		link_sending_end(s, result);
}

/* Removes one entry and returns its sending: of topic t, or, if t is NULL, one due by until_mono_ns. NULL: none. */
static struct link_sending *take_one(struct sim_bridge *b, const struct sim_bridge_topic *t, int64_t until_mono_ns)
{
	struct link_sending *s = NULL;

	pthread_mutex_lock(&b->confirms.lock);
	for (unsigned i = 0; i < LINK_CONFIRMS_MAX && !s; i++) {
		struct link_confirm *c = &b->confirms.all[i];

		if (!c->number || (t ? c->topic != t : c->due_mono_ns > until_mono_ns))
			continue;
		s = c->sending;
		c->number = 0;
	}
	pthread_mutex_unlock(&b->confirms.lock);
	return s;
}

void link_confirm_lost(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	struct link_sending *s;

	while ((s = take_one(b, t, 0)))
		link_sending_end(s, -ENOTCONN);
}

int64_t link_confirm_tick(struct sim_bridge *b)
{
	int64_t now_mono_ns = mono_now_ns(), next_dur_ns = INT64_MAX;
	struct link_sending *s;

	while ((s = take_one(b, NULL, now_mono_ns)))
		link_sending_end(s, -ETIMEDOUT);
	pthread_mutex_lock(&b->confirms.lock);
	for (unsigned i = 0; i < LINK_CONFIRMS_MAX; i++) {
		const struct link_confirm *c = &b->confirms.all[i];

		if (c->number && c->due_mono_ns - now_mono_ns < next_dur_ns)
			next_dur_ns = c->due_mono_ns - now_mono_ns;
	}
	pthread_mutex_unlock(&b->confirms.lock);
	return next_dur_ns;
}

void link_confirm_close(struct sim_bridge *b)
{
	struct link_sending *s;

	while ((s = take_one(b, NULL, INT64_MAX)))
		link_sending_end(s, -ECANCELED);
	pthread_mutex_destroy(&b->confirms.lock);
}
