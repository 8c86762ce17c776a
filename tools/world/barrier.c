/* SPDX-License-Identifier: Apache-2.0 */
/* See barrier.h. */
#include "barrier.h"

#include <errno.h>
#include <string.h>

#include "mem.h"

#define NS_PER_MS     INT64_C(1000000)
#define RUNG_LEAST_NS (50 * NS_PER_MS)
#define RUNG_STEPS    5
#define TRIP_MAX_NS   (250 * NS_PER_MS) /* limit of a round trip that counts, as a client could lie */
#define PACE_LEAST    100u              /* a tenth of real time */
/* time without a promise after which a participant that must earn its role is disconnected */
#define SILENT_MAX_NS (5000 * NS_PER_MS)
#define RTT_KEPT      8u
/* the newcomers' budget pays for participants in their role for less than this */
#define NEW_DUR_NS (INT64_C(30) * 1000000000)
/* time for which one that joined while the budget was used up must keep pace, once the budget has recovered */
#define HELD_EARN_NS (INT64_C(1) * 1000000000)
#define SHARE_RUNGS  6  /* rungs of waiting that newcomers may cost at once */
#define SHARE_PART   50 /* and one part in this many of all time */
#define HELD_MAX_NS  (INT64_C(3600) * 1000000000)

/* In multiples of rung_dur_ns. */
static const int64_t rung_at[] = {
	[BARRIER_IN_TIME] = 0, [BARRIER_WARNED] = 1, [BARRIER_RESENT] = 3, [BARRIER_DEMOTED] = 6, [BARRIER_OUT] = 10
};

struct trip {
	int64_t rtt_dur_ns, ahead_dur_ns;
};

struct participant {
	uint32_t connection;
	enum barrier_role role; /* the one it joined with */
	bool demoted;
	/*
	 * joined beside others while the budget of newcomers without a promise was used up, and has promised nothing
	 * yet: the world does not wait for it
	 */
	bool silent;
	bool spoke;           /* has sent a promise */
	bool paused, stands;  /* paused: its own time is stopped; stands: and the world does not wait for it */
	bool held;            /* joined while the budget of newcomers with a promise was used up */
	int64_t role_mono_ns; /* since when it is in its role */
	int64_t earn_dur_ns;  /* how long it must keep pace to get its role back; 0: not required */
	int64_t pace_mono_ns; /* since when it keeps pace; INT64_MAX: it does not */
	int64_t said_mono_ns; /* its last effective promise, or its joining */
	uint64_t promised;
	uint64_t lookahead; /* in ticks */
	enum barrier_rung rung;
	int64_t since_mono_ns; /* since when it keeps the world waiting; INT64_MAX: it does not */
	int64_t joined_mono_ns;
	int64_t work_dur_ns; /* -1: unknown */
	struct trip trips[RTT_KEPT];
	uint32_t n_trips; /* counted since joining */
};

struct barrier {
	struct barrier_options o;
	struct participant *all; /* ascending by connection */
	uint32_t n, size;
	uint64_t tick; /* the last tick */
	int64_t ticked_mono_ns;
	int64_t due_mono_ns; /* when the next tick is due, with a pace */
	uint32_t pace, waited_for;
	int64_t share_mono_ns[2]; /* when the newcomers' budgets are full again: without, and with a promise */
	int64_t paid_mono_ns;     /* time up to which waiting has been charged */
};

int barrier_create(const struct barrier_options *o, int64_t now_mono_ns, struct barrier **ret)
{
	struct barrier *b;

	if (o->step_dur_ns < 1 || o->pace_permille > 1000000 || o->rung_dur_ns < 0)
		return -EINVAL;
	b = MEM_NEW(struct barrier);
	if (!b)
		return -ENOMEM;
	b->o = *o;
	b->pace = o->pace_permille;
	b->ticked_mono_ns = b->due_mono_ns = now_mono_ns;
	if (!b->o.rung_dur_ns)
		b->o.rung_dur_ns =
			RUNG_STEPS * o->step_dur_ns > RUNG_LEAST_NS ? RUNG_STEPS * o->step_dur_ns : RUNG_LEAST_NS;
	*ret = b;
	return 0;
}

void barrier_destroy(struct barrier *b)
{
	if (!b)
		return;
	mem_free(b->all);
	mem_free(b);
}

/* ---- participants ---- */

/* Its index, or where it would be inserted. */
static uint32_t place_of(const struct barrier *b, uint32_t connection)
{
	uint32_t low = 0, high = b->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (b->all[mid].connection < connection)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct participant *find(const struct barrier *b, uint32_t connection)
{
	uint32_t i = place_of(b, connection);

	return i < b->n && b->all[i].connection == connection ? &b->all[i] : NULL;
}

static bool regulates(const struct participant *p)
{
	return p->role == BARRIER_REGULATING && !p->demoted && !p->silent && !p->stands;
}

static bool others_regulate(const struct barrier *b, const struct participant *p)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (&b->all[i] != p && regulates(&b->all[i]))
			return true;
	return false;
}

static int room(struct barrier *b)
{
	uint32_t size = b->size < 8 ? 16 : b->size * 2;
	struct participant *all;

	if (b->n < b->size)
		return 0;
	all = mem_realloc(b->all, size * sizeof(*all));
	if (!all)
		return -ENOMEM;
	b->all = all;
	b->size = size;
	return 0;
}

static int64_t share_dur_ns(const struct barrier *b)
{
	return SHARE_RUNGS * b->o.rung_dur_ns;
}

static bool share_is_used_up(const struct barrier *b, bool spoke, int64_t now_mono_ns)
{
	return b->share_mono_ns[spoke] - now_mono_ns >= share_dur_ns(b) * SHARE_PART;
}

int barrier_join(struct barrier *b, uint32_t connection, enum barrier_role role, int64_t lookahead_dur_ns,
		 int64_t now_mono_ns)
{
	uint32_t i = place_of(b, connection);
	int r;

	if (!connection || role < BARRIER_REGULATING || role > BARRIER_OBSERVER || lookahead_dur_ns < 0)
		return -EINVAL;
	if (find(b, connection))
		return -EEXIST;
	r = room(b);
	if (r < 0)
		return r;
	memmove(b->all + i + 1, b->all + i, (b->n - i) * sizeof(*b->all));
	b->n++;
	b->all[i] = (struct participant){ .connection = connection,
					  .role = role,
					  .promised = b->tick ? b->tick - 1 : 0,
					  .lookahead = (uint64_t)(lookahead_dur_ns / b->o.step_dur_ns),
					  .since_mono_ns = INT64_MAX,
					  .pace_mono_ns = INT64_MAX,
					  .said_mono_ns = now_mono_ns,
					  .joined_mono_ns = now_mono_ns,
					  .role_mono_ns = now_mono_ns,
					  .work_dur_ns = -1 };
	b->all[i].silent =
		role == BARRIER_REGULATING && share_is_used_up(b, false, now_mono_ns) && others_regulate(b, &b->all[i]);
	return 0;
}

/* ---- costs of newcomers ---- */

/*
 * Charges the budget for the time that the world has waited for p without getting a promise. Time in which it waited
 * for several is charged once.
 */
static void pay(struct barrier *b, const struct participant *p, int64_t now_mono_ns)
{
	int64_t since = p->since_mono_ns > b->paid_mono_ns ? p->since_mono_ns : b->paid_mono_ns;
	int64_t *share = &b->share_mono_ns[p->spoke];

	if (!regulates(p) || since >= now_mono_ns || now_mono_ns - p->role_mono_ns >= NEW_DUR_NS)
		return;
	if (*share < now_mono_ns)
		*share = now_mono_ns;
	*share += (now_mono_ns - since) * SHARE_PART;
	b->paid_mono_ns = now_mono_ns;
}

/*
 * Handles its first promise: from now on the world waits for it. True: not yet, as the budget of newcomers with a
 * promise is used up.
 */
static bool speaks(struct barrier *b, struct participant *p, int64_t now_mono_ns)
{
	p->spoke = true;
	if (p->silent)
		p->joined_mono_ns = p->role_mono_ns = now_mono_ns;
	p->silent = false;
	if (!regulates(p) || !share_is_used_up(b, true, now_mono_ns) || !others_regulate(b, p))
		return false;
	p->demoted = p->held = true;
	p->rung = BARRIER_DEMOTED;
	p->earn_dur_ns = NEW_DUR_NS;
	p->pace_mono_ns = INT64_MAX;
	return true;
}

void barrier_leave(struct barrier *b, uint32_t connection, int64_t now_mono_ns)
{
	struct participant *p = find(b, connection);

	if (!p)
		return;
	pay(b, p, now_mono_ns);
	b->n--;
	memmove(p, p + 1, (size_t)(b->all + b->n - p) * sizeof(*p));
}

/* ---- promises ---- */

static void note_trip(struct participant *p, const struct barrier_done *d, int64_t now_mono_ns)
{
	int64_t rtt = now_mono_ns - d->echo_mono_ns - d->held_dur_ns;

	if (!d->echo_mono_ns || !d->sent_mono_ns || rtt < 0)
		return;
	p->trips[p->n_trips++ % RTT_KEPT] = (struct trip){ rtt, d->sent_mono_ns + rtt / 2 - now_mono_ns };
}

static void note_work(struct barrier *b, struct participant *p, int64_t now_mono_ns)
{
	int64_t work = now_mono_ns - b->ticked_mono_ns;

	p->work_dur_ns = p->work_dur_ns < 0 ? work : p->work_dur_ns + (work - p->work_dur_ns) / 8;
}

static bool plausible(const struct barrier *b, const struct barrier_done *d, int64_t now_mono_ns)
{
	return d->tick <= b->tick && d->held_dur_ns >= 0 && d->held_dur_ns <= HELD_MAX_NS && d->echo_mono_ns >= 0 &&
	       d->echo_mono_ns <= now_mono_ns && d->sent_mono_ns >= 0 && d->sent_mono_ns <= INT64_MAX / 2;
}

static void pause_it(struct barrier *b, struct participant *p, int64_t now_mono_ns)
{
	pay(b, p, now_mono_ns);
	p->paused = true;
	p->stands = !b->o.wait_for_paused || !p->spoke;
	p->since_mono_ns = p->pace_mono_ns = INT64_MAX;
	if (!p->demoted)
		p->rung = BARRIER_IN_TIME;
}

/* If the world went on without it, it must catch up before the world waits for it again. */
static void resume(struct participant *p, int64_t now_mono_ns)
{
	p->joined_mono_ns = now_mono_ns;
	if (p->stands && !p->silent) {
		p->demoted = true;
		p->rung = BARRIER_DEMOTED;
	}
	p->paused = p->stands = false;
}

int barrier_done(struct barrier *b, uint32_t connection, const struct barrier_done *d, int64_t now_mono_ns)
{
	struct participant *p = find(b, connection);
	bool held = false;

	if (!p)
		return -ENOENT;
	if (!plausible(b, d, now_mono_ns))
		return -EINVAL;
	note_trip(p, d, now_mono_ns);
	p->said_mono_ns = d->paused || p->paused ? now_mono_ns : p->said_mono_ns;
	if (d->paused) {
		pause_it(b, p, now_mono_ns);
		return 0;
	}
	if (p->paused)
		resume(p, now_mono_ns);
	if (!p->spoke)
		held = speaks(b, p, now_mono_ns);
	if (d->tick <= p->promised)
		return held;
	p->promised = d->tick;
	p->said_mono_ns = now_mono_ns;
	if (d->tick == b->tick)
		note_work(b, p, now_mono_ns);
	return held;
}

/* ---- the next tick ---- */

/* Whether its promise allows the next tick. */
static bool has_promised(const struct barrier *b, const struct participant *p)
{
	return p->promised + p->lookahead >= b->tick;
}

/* Shortest of its latest round trips; 0: unknown. */
static int64_t trip_dur_ns(const struct participant *p)
{
	int64_t least = p->n_trips ? TRIP_MAX_NS : 0;

	for (uint32_t i = 0; i < p->n_trips && i < RTT_KEPT; i++)
		least = p->trips[i].rtt_dur_ns < least ? p->trips[i].rtt_dur_ns : least;
	return least;
}

/* Rungs are longer in a slowed world, and for distant participants. */
static int64_t rung_dur_ns(const struct barrier *b, const struct participant *p)
{
	int64_t dur = b->o.rung_dur_ns + trip_dur_ns(p);

	return b->o.dilate && b->pace && b->pace < b->o.pace_permille ? dur * b->o.pace_permille / b->pace : dur;
}

/* When the world began to wait for it: when the next tick was due, and it had joined. */
static int64_t waited_since(const struct barrier *b, const struct participant *p)
{
	int64_t since = b->pace && b->due_mono_ns > b->ticked_mono_ns ? b->due_mono_ns : b->ticked_mono_ns;

	return p->joined_mono_ns > since ? p->joined_mono_ns : since;
}

/* When one that must earn its role is disconnected for silence. */
static int64_t silent_until(const struct barrier *b, const struct participant *p)
{
	int64_t dur = rung_at[BARRIER_OUT] * rung_dur_ns(b, p);

	return p->said_mono_ns + (dur > SILENT_MAX_NS ? dur : SILENT_MAX_NS);
}

static bool is_silent(const struct barrier *b, struct participant *p, int64_t now_mono_ns, struct barrier_next *ret)
{
	if (p->rung == BARRIER_OUT || now_mono_ns < silent_until(b, p))
		return false;
	p->rung = BARRIER_OUT;
	*ret = (struct barrier_next){ .connection = p->connection,
				      .rung = p->rung,
				      .late_dur_ns = now_mono_ns - p->said_mono_ns,
				      .earns = true,
				      .wake_mono_ns = now_mono_ns };
	return true;
}

static bool moves(struct barrier *b, struct participant *p, int64_t now_mono_ns, struct barrier_next *ret)
{
	int64_t since = p->since_mono_ns, late = now_mono_ns - since;

	if (p->earn_dur_ns || p->silent)
		return is_silent(b, p, now_mono_ns, ret);
	if (since == INT64_MAX || p->rung == BARRIER_OUT || late < rung_at[p->rung + 1] * rung_dur_ns(b, p))
		return false;
	p->rung++;
	if (p->rung == BARRIER_DEMOTED) {
		pay(b, p, now_mono_ns);
		p->demoted = true;
	}
	*ret = (struct barrier_next){
		.connection = p->connection, .rung = p->rung, .late_dur_ns = late, .wake_mono_ns = now_mono_ns
	};
	return true;
}

static bool has_earned(const struct barrier *b, struct participant *p, bool alone, int64_t now_mono_ns)
{
	int64_t dur = p->held && !share_is_used_up(b, true, now_mono_ns) ? HELD_EARN_NS : p->earn_dur_ns;

	if (p->pace_mono_ns == INT64_MAX)
		p->pace_mono_ns = now_mono_ns;
	return now_mono_ns - p->pace_mono_ns >= dur || alone;
}

/*
 * Handles a participant that has caught up: back to the lowest rung, and into its role if it was demoted and has kept
 * pace long enough. True: *ret reports that.
 */
static bool returns(struct barrier *b, struct participant *p, bool alone, int64_t now_mono_ns, struct barrier_next *ret)
{
	bool was_demoted = p->demoted;

	if (p->promised < b->tick && (was_demoted || !has_promised(b, p)))
		return false;
	p->since_mono_ns = INT64_MAX;
	if (was_demoted && !has_earned(b, p, alone, now_mono_ns))
		return false;
	p->rung = BARRIER_IN_TIME;
	p->demoted = p->held = false;
	p->earn_dur_ns = 0;
	p->pace_mono_ns = INT64_MAX;
	if (was_demoted)
		p->role_mono_ns = now_mono_ns;
	if (was_demoted)
		*ret = (struct barrier_next){ .connection = p->connection, .rung = BARRIER_IN_TIME };
	return was_demoted;
}

/*
 * A participant that must earn its role is measured too, although the world does not wait for it: if it is late, its
 * time of keeping pace starts again.
 */
static void lose_pace(const struct barrier *b, struct participant *p, int64_t now_mono_ns)
{
	if (p->demoted && p->since_mono_ns != INT64_MAX && now_mono_ns - p->since_mono_ns >= rung_dur_ns(b, p))
		p->pace_mono_ns = INT64_MAX;
}

void barrier_earn(struct barrier *b, uint32_t connection, int64_t dur_ns)
{
	struct participant *p = find(b, connection);

	if (!p || p->role != BARRIER_REGULATING || dur_ns <= 0 || !others_regulate(b, p))
		return;
	p->demoted = true;
	p->silent = p->held = false;
	p->rung = BARRIER_DEMOTED;
	p->earn_dur_ns = dur_ns;
	p->pace_mono_ns = INT64_MAX;
}

int64_t barrier_late_dur_ns(const struct barrier *b, uint32_t connection, int64_t now_mono_ns)
{
	const struct participant *p = find(b, connection);

	return p && regulates(p) && p->since_mono_ns != INT64_MAX ? now_mono_ns - p->since_mono_ns : 0;
}

static int64_t wake_for(const struct barrier *b, const struct participant *p)
{
	if (p->rung == BARRIER_OUT)
		return INT64_MAX;
	if (p->earn_dur_ns || p->silent)
		return silent_until(b, p);
	if (p->since_mono_ns == INT64_MAX)
		return INT64_MAX;
	return p->since_mono_ns + rung_at[p->rung + 1] * rung_dur_ns(b, p);
}

void barrier_next(struct barrier *b, int64_t now_mono_ns, struct barrier_next *ret)
{
	struct barrier_next next = { .tick = true, .wake_mono_ns = INT64_MAX };
	bool alone = !others_regulate(b, NULL); /* a demoted participant would be the only one */

	for (uint32_t i = 0; i < b->n; i++) {
		struct participant *p = &b->all[i];

		if (p->role != BARRIER_REGULATING)
			continue;
		if (p->paused) {
			next.tick &= !regulates(p) || has_promised(b, p);
			continue;
		}
		if (p->silent && alone) {
			p->silent = false;
			p->joined_mono_ns = now_mono_ns;
		}
		lose_pace(b, p, now_mono_ns);
		if ((p->since_mono_ns != INT64_MAX || p->demoted) && returns(b, p, alone, now_mono_ns, ret))
			return;
		if (p->since_mono_ns == INT64_MAX && !p->silent && !has_promised(b, p))
			p->since_mono_ns = waited_since(b, p);
		if (moves(b, p, now_mono_ns, ret))
			return;
		next.tick &= !regulates(p) || has_promised(b, p);
		if (wake_for(b, p) < next.wake_mono_ns)
			next.wake_mono_ns = wake_for(b, p);
	}
	if (next.tick && b->pace && now_mono_ns < b->due_mono_ns) {
		next.tick = false;
		if (b->due_mono_ns < next.wake_mono_ns)
			next.wake_mono_ns = b->due_mono_ns;
	}
	*ret = next;
}

/* ---- pace ---- */

static int64_t wall_of_step(const struct barrier *b, uint32_t pace)
{
	return pace ? b->o.step_dur_ns * 1000 / pace : b->o.step_dur_ns;
}

/* Pace that the slowest participant can keep, with a margin of a tenth; not below PACE_LEAST. */
static uint32_t dilated(const struct barrier *b)
{
	int64_t longest = 0, pace;

	for (uint32_t i = 0; i < b->n; i++)
		if (regulates(&b->all[i]) && b->all[i].work_dur_ns > longest)
			longest = b->all[i].work_dur_ns;
	if (!longest)
		return b->o.pace_permille;
	pace = b->o.step_dur_ns * 1000 / (longest + longest / 10 + 1);
	if (pace >= b->o.pace_permille)
		return b->o.pace_permille;
	return pace < PACE_LEAST ? (b->o.pace_permille < PACE_LEAST ? b->o.pace_permille : PACE_LEAST) : (uint32_t)pace;
}

void barrier_ticked(struct barrier *b, uint64_t tick, int64_t now_mono_ns)
{
	b->waited_for = 0;
	for (uint32_t i = 0; i < b->n; i++)
		b->waited_for += b->all[i].rung >= BARRIER_WARNED && !b->all[i].earn_dur_ns;
	b->tick = tick;
	b->ticked_mono_ns = now_mono_ns;
	if (b->o.dilate && b->o.pace_permille)
		b->pace = dilated(b);
	if (!b->pace)
		return;
	b->due_mono_ns += wall_of_step(b, b->pace);
	if (b->due_mono_ns < now_mono_ns) /* lost time is not made up */
		b->due_mono_ns = now_mono_ns;
}

/* ---- information ---- */

uint32_t barrier_pace(const struct barrier *b)
{
	return b->pace;
}

uint32_t barrier_waited_for(const struct barrier *b)
{
	return b->waited_for;
}

static struct trip best_trip(const struct participant *p)
{
	struct trip best = { -1, 0 };

	for (uint32_t i = 0; i < p->n_trips && i < RTT_KEPT; i++)
		if (best.rtt_dur_ns < 0 || p->trips[i].rtt_dur_ns < best.rtt_dur_ns)
			best = p->trips[i];
	return best;
}

static int32_t advice(const struct barrier *b, const struct participant *p)
{
	int64_t e3;

	if (p->work_dur_ns < 0 || !b->pace)
		return 0;
	e3 = p->work_dur_ns > wall_of_step(b, b->pace) * 10 ? 10000 : p->work_dur_ns * 1000 / wall_of_step(b, b->pace);
	e3 -= 800;
	if (e3 >= -100 && e3 <= 100)
		return 0;
	return e3 > 1000 ? 1000 : (int32_t)e3;
}

bool barrier_client(const struct barrier *b, uint32_t connection, struct barrier_client *ret)
{
	const struct participant *p = find(b, connection);
	struct trip trip;

	if (!p)
		return false;
	trip = best_trip(p);
	*ret = (struct barrier_client){ .role = p->demoted || p->stands ? BARRIER_OBSERVER : p->role,
					.rung = p->rung,
					.promised = p->promised,
					.rtt_dur_ns = trip.rtt_dur_ns,
					.ahead_dur_ns = trip.ahead_dur_ns,
					.work_dur_ns = p->work_dur_ns,
					.step_advice_e6 = advice(b, p) };
	return true;
}
