/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The player: which message comes next and when, and the orders of callers; see player.h. `lock` guards what both
 * threads and callers share; the sink and the merge are called without it.
 */
#include "player.h"
#include "player_private.h"

#include "mem.h"
#include "thread.h"
#include "timeutil.h"

#include <errno.h>

#define NEAR_DUR_NS (2 * NS_PER_MS) /* a tick this shortly before a message is left out */
#define GAP_DUR_NS  (60 * NS_PER_S) /* in lock-step a gap of this length (between two logs) is passed in one step */
/* an advance that took longer was blocked by others, and does not count as lateness */
#define BLOCKED_DUR_NS (20 * NS_PER_MS)

/* ---- orders ---- */

static int64_t now_of(const struct player *p)
{
	return p->o.sink->now(p->o.ctx);
}

/* Drops the item that was prepared or read before a seek. */
static void drop_item(struct player *p)
{
	if (p->item && p->o.sink->forget)
		p->o.sink->forget(p->o.ctx);
	mem_free(p->item);
	p->item = NULL;
	p->prepared = false;
}

static void player_at(struct player *p, int64_t log_ns)
{
	p->clock_ns = log_ns;
	pthread_mutex_lock(&p->lock);
	p->at_log_ns = log_ns;
	pthread_mutex_unlock(&p->lock);
}

static int jump(struct player *p, int64_t log_ns)
{
	int r = p->o.sink->jump ? p->o.sink->jump(p->o.ctx, log_ns) : 0;

	player_at(p, log_ns);
	p->tick_ns = ns_add(now_of(p), p->o.tick_dur_ns);
	return r;
}

/* Carries out a seek, where a new line begins. */
static int sought(struct player *p, int64_t log_ns, uint32_t loop)
{
	int r;

	drop_item(p);
	r = jump(p, log_ns);
	p->loop = loop;
	p->offset_ns = player_offset(p, loop);
	p->line_ns = log_ns + p->offset_ns;
	p->pace = (struct pace){ .base_now_ns = now_of(p), .base_log_ns = p->line_ns, .rate_e6 = p->pace.rate_e6 };
	return r < 0 ? r : PLAYER_AGAIN;
}

/* Current position on the line, at most that of the next message. */
static int64_t line_now(const struct player *p)
{
	int64_t line_ns = pace_log(&p->pace, now_of(p));

	if (p->item && line_ns > p->item->line_ns)
		line_ns = p->item->line_ns;
	return line_ns > p->line_ns ? line_ns : p->line_ns;
}

static void stand(struct player *p, bool stands)
{
	if (stands == p->stands)
		return;
	if (stands)
		p->line_ns = line_now(p);
	p->stands = stands;
	p->pace = (struct pace){ .base_now_ns = now_of(p), .base_log_ns = p->line_ns, .rate_e6 = p->pace.rate_e6 };
}

/* ---- time ---- */

/* Advances to a log time. Shifts the deadlines by the time in which others have blocked it. */
static int advance(struct player *p, int64_t log_ns)
{
	int64_t before_ns = now_of(p), blocked_dur_ns;
	int r = 0;

	if (log_ns <= p->clock_ns)
		return 0;
	if (p->o.sink->advance)
		r = p->o.sink->advance(p->o.ctx, p->clock_ns, log_ns);
	if (r < 0)
		return r;
	player_at(p, log_ns);
	if (p->line_ns < log_ns + p->offset_ns)
		p->line_ns = log_ns + p->offset_ns;
	blocked_dur_ns = now_of(p) - before_ns;
	if (p->o.sink->advance && blocked_dur_ns > BLOCKED_DUR_NS)
		pace_shift(&p->pace, blocked_dur_ns);
	p->tick_ns = ns_add(now_of(p), p->o.tick_dur_ns);
	return 0;
}

/*
 * The time to advance to for a late message: the time that is due by now, so that the messages after it need not
 * advance separately.
 */
static int64_t due_by_now(const struct player *p)
{
	int64_t log_ns = pace_log(&p->pace, now_of(p)) - p->offset_ns;

	if (log_ns > p->o.end_ns)
		log_ns = p->o.end_ns;
	return log_ns > p->item->m.log_time_ns ? log_ns : p->item->m.log_time_ns;
}

/*
 * lead_ns is the recent maximum of what waking up and advancing took. It decays so slowly that about 99 of 100 messages
 * are ready when due. It starts at its limit, so that the first messages are not late.
 */
static void learn(struct player *p, int64_t took_ns)
{
	if (took_ns > p->lead_ns)
		p->lead_ns = took_ns < LEAD_MAX_NS ? took_ns : LEAD_MAX_NS;
	else
		p->lead_ns -= (p->lead_ns - took_ns) / LEAD_FADES;
}

/* ---- messages ---- */

static void count(struct player *p, int64_t late_dur_ns)
{
	pthread_mutex_lock(&p->lock);
	p->published++;
	p->input = p->item->input;
	if (late_dur_ns > PLAYER_LATE_DUR_NS)
		p->late++;
	if (late_dur_ns > p->latest_dur_ns)
		p->latest_dur_ns = late_dur_ns;
	pthread_mutex_unlock(&p->lock);
}

static int give_out(struct player *p, int64_t late_dur_ns)
{
	int r = p->o.sink->publish(p->o.ctx, p->item);

	if (r < 0)
		return r;
	if (p->line_ns < p->item->line_ns)
		p->line_ns = p->item->line_ns;
	count(p, late_dur_ns);
	mem_free(p->item);
	p->item = NULL;
	p->prepared = false;
	return PLAYER_AGAIN;
}

static int next_loop(struct player *p)
{
	p->loop = p->item->loop;
	p->offset_ns = player_offset(p, p->loop);
	pthread_mutex_lock(&p->lock);
	p->loops = p->loop;
	pthread_mutex_unlock(&p->lock);
	p->line_ns = p->o.begin_ns + p->offset_ns;
	return jump(p, p->o.begin_ns);
}

/* As fast as possible, but in steps of at most tick_dur_ns, so as not to skip others' timers. */
static int turn_lockstep(struct player *p)
{
	int64_t to_ns = p->item->m.log_time_ns;
	bool part;
	int r = p->item->loop != p->loop ? next_loop(p) : 0;

	if (r < 0)
		return r;
	part = p->o.tick_dur_ns && to_ns - p->clock_ns > p->o.tick_dur_ns && to_ns - p->clock_ns < GAP_DUR_NS;
	r = advance(p, part ? p->clock_ns + p->o.tick_dur_ns : to_ns);
	if (r < 0)
		return r;
	return part ? PLAYER_AGAIN : give_out(p, 0);
}

/* Publishes one message on request (player_next()), whenever it is due. */
static int turn_next(struct player *p)
{
	int r = p->item->loop != p->loop ? next_loop(p) : 0;

	if (r == 0)
		r = advance(p, p->item->m.log_time_ns);
	return r < 0 ? r : give_out(p, 0);
}

static int publish_due(struct player *p, int64_t due_ns)
{
	bool waited = p->waited;
	int64_t asked_ns = due_ns - p->lead_ns, now_ns;
	int r = advance(p, due_by_now(p));

	p->waited = false;
	if (r < 0)
		return r;
	now_ns = now_of(p);
	if (p->o.spin && waited && now_ns - asked_ns < BLOCKED_DUR_NS)
		learn(p, now_ns - asked_ns);
	while (p->o.spin && now_ns < due_ns)
		now_ns = now_of(p);
	return give_out(p, now_ns - due_ns);
}

/* No message is due: prepares the next one, and advances time by ticks. */
static int wait_due(struct player *p, int64_t due_ns, int64_t now_ns, int64_t *ret_until_ns)
{
	bool ticks = p->o.tick_dur_ns && p->o.sink->advance && due_ns - now_ns > NEAR_DUR_NS;
	int64_t log_ns;

	if (!p->prepared && p->o.sink->prepare) {
		p->o.sink->prepare(p->o.ctx, p->item);
		p->prepared = true;
		return PLAYER_AGAIN;
	}
	p->waited = true;
	if (ticks && now_ns >= p->tick_ns) {
		log_ns = pace_log(&p->pace, now_ns) - p->offset_ns;
		p->tick_ns = ns_add(now_ns, p->o.tick_dur_ns);
		if (p->item->loop == p->loop)
			return advance(p, log_ns);
	}
	*ret_until_ns = due_ns - p->lead_ns;
	if (ticks && p->tick_ns < *ret_until_ns)
		*ret_until_ns = p->tick_ns;
	return PLAYER_WAIT;
}

static int turn_paced(struct player *p, int64_t *ret_until_ns)
{
	int64_t begin_line_ns = p->item->line_ns - (p->item->m.log_time_ns - p->o.begin_ns), due_ns, now_ns = now_of(p);
	bool loops = p->item->loop != p->loop;
	int r;

	due_ns = pace_due(&p->pace, loops ? begin_line_ns : p->item->line_ns);
	if (now_ns < due_ns - p->lead_ns)
		return wait_due(p, due_ns, now_ns, ret_until_ns);
	if (!loops)
		return publish_due(p, due_ns);
	r = next_loop(p);
	return r < 0 ? r : PLAYER_AGAIN;
}

/* ---- a turn ---- */

struct orders {
	bool halt, seek, ended, ready, paused;
	bool next; /* publish one message although paused */
	int64_t seek_ns, rate_e6;
	uint32_t seek_loop;
};

/* The producer then continues; it reads in long runs. */
static bool has_half_room(const struct player *p)
{
	return !p->first ||
	       (p->bytes <= p->o.preload_bytes / 2 && p->last->line_ns - p->first->line_ns <= p->o.preload_dur_ns / 2);
}

/* Caller holds the lock. */
static struct player_item *take(struct player *p)
{
	struct player_item *item = p->first;

	if (!item)
		return NULL;
	p->first = item->next;
	if (!p->first)
		p->last = NULL;
	p->bytes -= item->m.size;
	if (p->full && has_half_room(p)) {
		p->full = false;
		pthread_cond_signal(&p->room);
	}
	return item;
}

static struct orders read_orders(struct player *p)
{
	struct orders o;

	pthread_mutex_lock(&p->lock);
	o = (struct orders){
		.halt = p->halt,
		.seek = p->seek,
		.ended = p->ended && !p->first,
		.ready = p->ended || p->filled,
		.paused = p->paused,
		.seek_ns = p->seek_ns,
		.seek_loop = p->seek_loop,
		.rate_e6 = p->rate_e6,
	};
	p->seek = false;
	if (!p->item && !o.seek && (p->started || o.ready))
		p->item = take(p);
	o.next = p->paused && p->next;
	pthread_mutex_unlock(&p->lock);
	return o;
}

static int begin(struct player *p)
{
	int r = jump(p, p->o.begin_ns);

	p->line_ns = p->o.begin_ns;
	p->pace = (struct pace){ .base_now_ns = ns_add(now_of(p), p->o.delay_dur_ns),
				 .base_log_ns = p->o.begin_ns,
				 .rate_e6 = p->pace.rate_e6 };
	pthread_mutex_lock(&p->lock);
	p->started = true;
	pthread_mutex_unlock(&p->lock);
	return r < 0 ? r : PLAYER_AGAIN;
}

static void next_done(struct player *p)
{
	pthread_mutex_lock(&p->lock);
	if (p->next)
		p->next--;
	pthread_mutex_unlock(&p->lock);
}

static int over(struct player *p)
{
	pthread_mutex_lock(&p->lock);
	p->over = true;
	pthread_cond_broadcast(&p->data);
	pthread_mutex_unlock(&p->lock);
	return PLAYER_OVER;
}

static int turn(struct player *p, const struct orders *o, int64_t *ret_until_ns)
{
	int r;

	if (!p->started)
		return o->ready ? begin(p) : PLAYER_STARVED;
	if (o->seek)
		return sought(p, o->seek_ns, o->seek_loop);
	if (o->rate_e6 != p->pace.rate_e6)
		pace_set_rate(&p->pace, now_of(p), o->rate_e6);
	stand(p, o->paused);
	if (o->paused && !o->next)
		return p->o.sink->idle && (r = p->o.sink->idle(p->o.ctx)) < 0 ? r : PLAYER_STANDS;
	if (!p->item)
		return o->ended ? over(p) : PLAYER_STARVED;
	if (o->next) {
		next_done(p);
		return turn_next(p);
	}
	return p->o.lockstep ? turn_lockstep(p) : turn_paced(p, ret_until_ns);
}

int player_turn(struct player *p, int64_t *ret_until_ns)
{
	struct orders o = read_orders(p);

	return o.halt ? over(p) : turn(p, &o, ret_until_ns);
}

/* ---- callers ---- */

void player_ordered(struct player *p)
{
	p->ordered = true;
	pthread_cond_broadcast(&p->data);
}

void player_pause(struct player *p, bool pause)
{
	pthread_mutex_lock(&p->lock);
	p->paused = pause;
	if (!pause)
		p->next = 0;
	player_ordered(p);
	pthread_mutex_unlock(&p->lock);
}

int player_set_rate(struct player *p, int64_t rate_e6)
{
	if (rate_e6 < PACE_MIN || rate_e6 > PACE_MAX)
		return -ERANGE;
	pthread_mutex_lock(&p->lock);
	p->rate_e6 = rate_e6;
	player_ordered(p);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

int player_seek(struct player *p, int64_t log_ns)
{
	if (log_ns < p->o.begin_ns || log_ns > p->o.end_ns)
		return -ERANGE;
	pthread_mutex_lock(&p->lock);
	p->seek = true;
	p->seek_ns = p->at_log_ns = log_ns;
	p->seek_loop = p->read_loop = p->loops;
	p->epoch++;
	player_clear(p);
	p->ended = p->full = false;
	player_ordered(p);
	pthread_cond_signal(&p->room);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

int player_next(struct player *p)
{
	int r = 0;

	pthread_mutex_lock(&p->lock);
	if (!p->paused)
		r = -EBUSY;
	else if (p->over)
		r = -ENODATA;
	else
		p->next++;
	player_ordered(p);
	pthread_mutex_unlock(&p->lock);
	return r;
}

void player_status(struct player *p, struct player_status *ret)
{
	pthread_mutex_lock(&p->lock);
	*ret = (struct player_status){
		.log_ns = p->at_log_ns,
		.rate_e6 = p->rate_e6,
		.published = p->published,
		.late = p->late,
		.latest_dur_ns = p->latest_dur_ns,
		.loops = p->loops,
		.input = p->input,
		.damages = p->damages,
		.ahead_bytes = p->bytes,
		.paused = p->paused,
		.over = p->over,
		.started = p->started,
	};
	pthread_mutex_unlock(&p->lock);
}
