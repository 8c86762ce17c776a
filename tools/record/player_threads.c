/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the player and its two threads, which call player_fill() and player_turn(), and wait between calls. */
#include "player_private.h"

#include "mem.h"
#include "thread.h"
#include "timeutil.h"

#include <errno.h>

#define STANDS_DUR_NS (100 * NS_PER_MS) /* interval of the sink's idle() while paused */

/* ---- threads ---- */

static void *read_main(void *arg)
{
	struct player *p = arg;
	bool halt = false;

	while (!halt) {
		if (player_fill(p))
			continue;
		pthread_mutex_lock(&p->lock);
		while (!p->halt && p->epoch == p->read_epoch && (p->ended || p->full))
			pthread_cond_wait(&p->room, &p->lock);
		halt = p->halt;
		pthread_mutex_unlock(&p->lock);
	}
	return NULL;
}

/* Caller holds the lock. */
static bool has_data(const struct player *p)
{
	return p->ended || (p->started ? p->first != NULL : p->filled);
}

/* Waits until that time, for the data that the consumer is starved of, or for an order. */
static void wait_for(struct player *p, int turn, int64_t until_ns)
{
	int64_t until_mono_ns =
		turn == PLAYER_WAIT ? p->o.sink->wake(p->o.ctx, until_ns) : mono_now_ns() + STANDS_DUR_NS;
	struct timespec t = timespec_from_ns(until_mono_ns);
	int r = 0;

	pthread_mutex_lock(&p->lock);
	p->starved = turn == PLAYER_STARVED;
	while (r == 0 && !p->ordered && !(p->starved && has_data(p)))
		r = pthread_cond_timedwait(&p->data, &p->lock, &t);
	p->ordered = p->starved = false;
	pthread_mutex_unlock(&p->lock);
}

static void *out_main(void *arg)
{
	struct player *p = arg;
	int64_t until_ns = 0;
	int turn;

	do {
		turn = player_turn(p, &until_ns);
		if (turn > PLAYER_AGAIN && turn != PLAYER_OVER)
			wait_for(p, turn, until_ns);
	} while (turn >= 0 && turn != PLAYER_OVER);
	pthread_mutex_lock(&p->lock);
	p->over = true;
	p->result = turn < 0 ? turn : 0;
	pthread_cond_broadcast(&p->data);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- creation ---- */

int player_create(const struct player_options *o, struct player **ret)
{
	struct player *p;

	if (o->rate_e6 < PACE_MIN || o->rate_e6 > PACE_MAX || o->end_ns < o->begin_ns)
		return -EINVAL;
	p = MEM_NEW(struct player);
	if (!p)
		return -ENOMEM;
	p->o = *o;
	p->rate_e6 = p->pace.rate_e6 = o->rate_e6;
	p->paused = o->paused;
	p->at_log_ns = o->begin_ns;
	p->lead_ns = o->spin ? LEAD_MAX_NS : 0;
	/* as after a seek: the producer starts at the beginning */
	p->epoch = 1;
	p->seek_ns = o->begin_ns;
	pthread_mutex_init(&p->lock, NULL);
	thread_cond_init(&p->data);
	pthread_cond_init(&p->room, NULL);
	*ret = p;
	return 0;
}

void player_destroy(struct player *p)
{
	if (!p)
		return;
	player_clear(p);
	if (p->item && p->o.sink->forget)
		p->o.sink->forget(p->o.ctx);
	mem_free(p->item);
	mem_free(p->rd.latched);
	pthread_cond_destroy(&p->room);
	pthread_cond_destroy(&p->data);
	pthread_mutex_destroy(&p->lock);
	mem_free(p);
}

int player_start(struct player *p)
{
	int r = thread_start(&p->reader, "play-read", read_main, p);

	p->reading = r == 0;
	if (r == 0)
		r = thread_start(&p->out, "play-out", out_main, p);
	p->giving = r == 0;
	return r;
}

void player_halt(struct player *p)
{
	pthread_mutex_lock(&p->lock);
	p->halt = true;
	player_ordered(p);
	pthread_cond_broadcast(&p->room);
	pthread_mutex_unlock(&p->lock);
}

int player_stop(struct player *p)
{
	player_halt(p);
	if (p->giving)
		pthread_join(p->out, NULL);
	if (p->reading)
		pthread_join(p->reader, NULL);
	p->giving = p->reading = false;
	return p->result;
}

bool player_over(struct player *p, int64_t wall_dur_ns)
{
	struct timespec t = timespec_from_ns(mono_now_ns() + wall_dur_ns);
	bool over;
	int r = 0;

	pthread_mutex_lock(&p->lock);
	while (!p->over && r == 0)
		r = pthread_cond_timedwait(&p->data, &p->lock, &t);
	over = p->over;
	pthread_mutex_unlock(&p->lock);
	return over;
}
