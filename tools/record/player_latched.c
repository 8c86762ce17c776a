/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the last latched messages from before the beginning or a seek. Their channels are read twice, first to find
 * which messages are the last, then to return those, so that no messages need to be kept. Thread: play-read.
 */
#include "player_private.h"

#include "mem.h"

#include <errno.h>
#include <stdlib.h>

#define CAP_MIN 1024

/* Groups messages that replace each other, oldest first. */
static int by_what_they_replace(const void *a, const void *b)
{
	const struct player_latched *x = a, *y = b;

	if (x->input != y->input)
		return x->input < y->input ? -1 : 1;
	if (x->channel != y->channel)
		return x->channel < y->channel ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->nth < y->nth ? -1 : x->nth > y->nth;
}

static int by_place(const void *a, const void *b)
{
	const struct player_latched *x = a, *y = b;

	return x->nth < y->nth ? -1 : x->nth > y->nth;
}

/* Keeps the last one of each group. */
static void compact(struct player_reading *rd)
{
	size_t n = 0;

	if (!rd->n)
		return;
	qsort(rd->latched, rd->n, sizeof(*rd->latched), by_what_they_replace);
	for (size_t i = 0; i < rd->n; i++) {
		const struct player_latched *l = &rd->latched[i], *next = l + 1;

		if (i + 1 == rd->n || l->input != next->input || l->channel != next->channel || l->key != next->key)
			rd->latched[n++] = *l;
	}
	rd->n = n;
}

static int note(struct player_reading *rd, const struct player_latched *l)
{
	struct player_latched *more;

	if (rd->n == rd->cap)
		compact(rd);
	if (rd->n >= rd->cap / 2) {
		more = mem_realloc(rd->latched, (rd->cap ? 2 * rd->cap : CAP_MIN) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		rd->latched = more;
		rd->cap = rd->cap ? 2 * rd->cap : CAP_MIN;
	}
	rd->latched[rd->n++] = *l;
	return 0;
}

static int read_all(struct player *p)
{
	if (p->rd.what != PLAYER_READ_ALL) /* maybe because of a seek in the middle of it */
		p->o.sink->only_latched(p->o.ctx, false);
	p->rd.what = PLAYER_READ_ALL;
	p->in_a_row = 0;
	return merge_seek(p->o.merge, p->rd.from_ns);
}

int player_read_from(struct player *p, int64_t log_ns)
{
	const struct player_sink *sink = p->o.sink;

	p->rd.from_ns = log_ns;
	p->rd.n = p->rd.nth = 0;
	if (!sink->only_latched || log_ns <= p->o.first_ns || !sink->only_latched(p->o.ctx, true))
		return read_all(p);
	p->rd.what = PLAYER_FIND_LATCHED;
	return merge_seek(p->o.merge, INT64_MIN);
}

static int found_all(struct player *p)
{
	compact(&p->rd);
	if (!p->rd.n)
		return read_all(p);
	qsort(p->rd.latched, p->rd.n, sizeof(*p->rd.latched), by_place);
	p->rd.what = PLAYER_GIVE_LATCHED;
	p->rd.nth = p->rd.given = 0;
	p->in_a_row = 0;
	return merge_seek(p->o.merge, INT64_MIN);
}

/*
 * The next message from before from_ns. 1; 0: no more. Damage is skipped silently: it is reported when the log is
 * played from its beginning.
 */
static int next_before(struct player *p, struct log_message *m, unsigned *input)
{
	int r;

	for (;;) {
		r = merge_next(p->o.merge, m, input);
		if (r < 0 && ++p->in_a_row <= PLAYER_DAMAGES_MAX)
			continue;
		if (r <= 0 || m->log_time_ns >= p->rd.from_ns)
			return 0;
		p->in_a_row = 0;
		return 1;
	}
}

int player_find_latched(struct player *p)
{
	struct player_latched l = { 0 };
	struct log_message m;

	if (next_before(p, &m, &l.input) == 0)
		return found_all(p);
	l.nth = p->rd.nth++;
	l.channel = m.channel;
	return p->o.sink->latched(p->o.ctx, l.input, &m, &l.key) ? note(&p->rd, &l) : 0;
}

int player_give_latched(struct player *p, uint32_t epoch, uint32_t loop)
{
	struct player_item *item;
	struct log_message m;
	unsigned input;

	if (p->rd.given == p->rd.n || next_before(p, &m, &input) == 0)
		return read_all(p);
	if (p->rd.nth++ != p->rd.latched[p->rd.given].nth)
		return 0;
	p->rd.given++;
	m.log_time_ns = p->rd.from_ns; /* it is still valid at that time */
	item = player_copy(p, &m, input, loop);
	if (!item)
		return -ENOMEM;
	player_append(p, item, epoch);
	return 0;
}
