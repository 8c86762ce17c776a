/* SPDX-License-Identifier: Apache-2.0 */
/* The player's producer: reads ahead, and starts again for a loop or a seek. Thread: play-read. */
#include "player_private.h"

#include "mem.h"
#include "timeutil.h"

#include <errno.h>
#include <string.h>

/* minimum duration of a loop, so that a log of a single instant does not loop endlessly at one time */
#define LOOP_MIN_DUR_NS NS_PER_MS

int64_t player_offset(const struct player *p, uint32_t loop)
{
	int64_t dur_ns = p->o.end_ns - p->o.begin_ns;

	return (int64_t)loop * (dur_ns > LOOP_MIN_DUR_NS ? dur_ns : LOOP_MIN_DUR_NS);
}

void player_clear(struct player *p)
{
	while (p->first) {
		struct player_item *item = p->first;

		p->first = item->next;
		mem_free(item);
	}
	p->last = NULL;
	p->bytes = 0;
}

/* Wakes the consumer if it waits for data. Caller holds the lock. */
static void wake_starved(struct player *p)
{
	if (p->starved)
		pthread_cond_broadcast(&p->data);
}

/* Caller holds the lock. */
static bool has_room(struct player *p, size_t size)
{
	if (!p->first)
		return true;
	if (p->bytes + size <= p->o.preload_bytes && p->last->line_ns - p->first->line_ns < p->o.preload_dur_ns)
		return true;
	p->full = p->filled = true;
	wake_starved(p);
	return false;
}

struct player_item *player_copy(const struct player *p, const struct log_message *m, unsigned input, uint32_t loop)
{
	struct player_item *item = mem_alloc(sizeof(*item) + m->size);

	if (!item)
		return NULL;
	*item = (struct player_item){
		.input = input, .loop = loop, .line_ns = m->log_time_ns + player_offset(p, loop), .m = *m
	};
	item->m.data = item + 1;
	if (m->size)
		memcpy(item + 1, m->data, m->size);
	return item;
}

void player_append(struct player *p, struct player_item *item, uint32_t epoch)
{
	pthread_mutex_lock(&p->lock);
	if (epoch != p->epoch) {
		mem_free(item);
	} else {
		if (p->last)
			p->last->next = item;
		else
			p->first = item;
		p->last = item;
		p->bytes += item->m.size;
		wake_starved(p);
	}
	pthread_mutex_unlock(&p->lock);
}

static void set_ended(struct player *p, uint32_t epoch)
{
	pthread_mutex_lock(&p->lock);
	if (epoch == p->epoch)
		p->ended = true;
	wake_starved(p);
	pthread_mutex_unlock(&p->lock);
}

static void damaged(struct player *p, unsigned input)
{
	pthread_mutex_lock(&p->lock);
	p->damages++;
	pthread_mutex_unlock(&p->lock);
	p->in_a_row++;
	if (p->o.sink->damaged)
		p->o.sink->damaged(p->o.ctx, input, merge_why(p->o.merge, input));
}

/* At the end of a loop, or of playing. */
static void at_end(struct player *p, uint32_t epoch)
{
	if (!p->o.loop || !p->any || player_read_from(p, p->o.begin_ns) < 0) {
		set_ended(p, epoch);
		return;
	}
	p->any = false;
	pthread_mutex_lock(&p->lock);
	if (epoch == p->epoch)
		p->read_loop++;
	pthread_mutex_unlock(&p->lock);
}

static void read_one(struct player *p, uint32_t epoch, uint32_t loop)
{
	struct player_item *item;
	struct log_message m;
	unsigned input;
	int r = merge_next(p->o.merge, &m, &input);

	if (r < 0) {
		damaged(p, input);
		if (p->in_a_row > PLAYER_DAMAGES_MAX)
			set_ended(p, epoch);
		return;
	}
	if (r == 0 || m.log_time_ns > p->o.end_ns) {
		at_end(p, epoch);
		return;
	}
	p->in_a_row = 0;
	if (m.log_time_ns < p->o.begin_ns || (p->o.sink->arrives && !p->o.sink->arrives(p->o.ctx, input, &m)))
		return;
	item = player_copy(p, &m, input, loop);
	if (!item) { /* out of memory: ends the reading, like a damaged file */
		set_ended(p, epoch);
		return;
	}
	p->any = true;
	player_append(p, item, epoch);
}

static void read_next(struct player *p, uint32_t epoch, uint32_t loop)
{
	int r = 0;

	if (p->rd.what == PLAYER_READ_ALL)
		read_one(p, epoch, loop);
	else if (p->rd.what == PLAYER_FIND_LATCHED)
		r = player_find_latched(p);
	else
		r = player_give_latched(p, epoch, loop);
	if (r < 0)
		set_ended(p, epoch);
}

int player_fill(struct player *p)
{
	uint32_t epoch, loop;
	int64_t seek_ns;
	bool work, sought;

	pthread_mutex_lock(&p->lock);
	sought = p->epoch != p->read_epoch;
	work = !p->halt && (sought || (!p->ended && has_room(p, 0)));
	p->read_epoch = epoch = p->epoch;
	loop = p->read_loop;
	seek_ns = p->seek_ns;
	pthread_mutex_unlock(&p->lock);
	if (!work)
		return 0;
	if (sought) {
		p->any = true; /* so that it loops again even after a seek to its very end */
		if (player_read_from(p, seek_ns) < 0)
			set_ended(p, epoch);
	} else {
		read_next(p, epoch, loop);
	}
	return 1;
}
