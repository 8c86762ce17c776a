/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window of a recording: messages wait for those that were published before them. They are sorted by the time of
 * publishing, and leave in that order when the oldest arrival has waited long enough. The caller holds the recording's
 * lock.
 */
#include <errno.h>

#include "mem.h"
#include "recording_private.h"
#include "timeutil.h"

int64_t recording_now(const struct recording *s)
{
	return s->o.now ? s->o.now(s->o.arg) : mono_now_ns();
}

/* Removes the message that was published first. */
static struct ring_entry *take(struct recording *s)
{
	struct ring_entry *e = list_first(&s->by_time, struct ring_entry, by_time);

	list_remove(&e->by_time);
	list_remove(&e->by_arrival);
	s->n_window--;
	s->window_bytes -= sizeof(*e) + e->size;
	return e;
}

/* Searches from the end, where it mostly belongs. Equal times stay in order of arrival. */
static void insert(struct recording *s, struct ring_entry *e)
{
	struct list *pos = s->by_time.prev;

	while (pos != &s->by_time && container_of(pos, struct ring_entry, by_time)->mono_ns > e->mono_ns)
		pos = pos->prev;
	list_insert(pos, &e->by_time);
	list_append(&s->by_arrival, &e->by_arrival);
	s->n_window++;
	s->window_bytes += sizeof(*e) + e->size;
}

static bool is_due(const struct recording *s, int64_t now_mono_ns)
{
	const struct ring_entry *e;

	if (s->window_bytes > s->o.window_bytes)
		return true;
	e = list_first(&s->by_arrival, struct ring_entry, by_arrival);
	return now_mono_ns - e->arrived_mono_ns >= s->o.window_dur_ns;
}

static int deliver_first(struct recording *s, int error)
{
	int r = recording_deliver(s, take(s));

	return error < 0 ? error : r;
}

int recording_window_expire(struct recording *s)
{
	int64_t now_mono_ns = recording_now(s);
	int r = 0;

	while (s->n_window && is_due(s, now_mono_ns))
		r = deliver_first(s, r);
	return r;
}

int recording_window_before(struct recording *s, int64_t mono_ns)
{
	int r = 0;

	while (s->n_window && list_first(&s->by_time, struct ring_entry, by_time)->mono_ns <= mono_ns)
		r = deliver_first(s, r);
	return r;
}

int recording_window_empty(struct recording *s)
{
	return recording_window_before(s, INT64_MAX);
}

int recording_window_put(struct recording *s, struct ring_entry *e)
{
	e->arrived_mono_ns = recording_now(s);
	insert(s, e);
	return recording_window_expire(s);
}

void recording_window_clear(struct recording *s)
{
	while (s->n_window)
		mem_free(take(s));
}
