/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This simd follows a time host: its clock is passed to the time source `link`, and in lock-step its steps are run
 * here, each held open until all machines have finished. Threads: link_time.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "link_time.h"

#define ASK_DUR_NS    INT64_C(100000000)
#define RESEND_DUR_NS INT64_C(200000000)
#define RETRY_DUR_NS  INT64_C(200000000) /* pause before simd is asked again for the driver lease */

/* ---- callbacks of the state machines; caller holds link_time::lock ---- */

static void on_told(void *ctx, const struct clock_told *told)
{
	struct link_time *t = ctx;
	const struct clock_told *was = &t->tell;
	bool same = told->lockstep && was->lockstep && !told->jump && told->flags == was->flags &&
		    told->scale_e6 == was->scale_e6;

	bool jump = told->jump || (t->tell_due && was->jump); /* keeps a jump that simd was not told yet */

	t->tell_due |= !same;
	t->tell = *told;
	t->tell.jump = jump;
	t->lost_due = false;
	pthread_cond_broadcast(&t->changed);
}

static void join_steps(struct link_time *t)
{
	if (t->has_lease && t->found.epoch)
		step_follow_host(t->part, mono_now_ns(), t->found.id, t->found.epoch, t->found.lockstep);
}

static void on_found(void *ctx, const struct clock_time_host *host)
{
	struct link_time *t = ctx;

	snprintf(t->found_name, sizeof(t->found_name), "%s", host->name);
	t->found = *host;
	t->found.name = t->found_name;
	t->tell = (struct clock_told){ 0 }; /* so that on_told() passes on the next state */
	log_info(t->b, "time: follows machine %s%s", host->name, host->lockstep ? ", in lock-step" : "");
	join_steps(t);
}

static void on_lost(void *ctx, const char *why)
{
	struct link_time *t = ctx;

	log_warn(t->b, "%s", why);
	t->lost_due = true;
	t->tell_due = false;
	pthread_cond_broadcast(&t->changed);
}

static void on_joined(void *ctx, uint64_t first, int64_t sim_ns)
{
	struct link_time *t = ctx;

	(void)sim_ns;
	link_exchange_begin(t->b, first - 1);
	log_info(t->b, "lock-step: takes part from step %llu on", (unsigned long long)first);
}

static void on_out(void *ctx, enum step_reason reason)
{
	static const char *const why[] = { "it was restarted, or is another one",
					   "it does not know this machine, which was away",
					   "this machine was late (deadline_ms of the time host)",
					   "this machine exports too many channels in one step",
					   "the largest number of machines takes part" };
	struct link_time *t = ctx;

	link_exchange_end(t->b);
	log_warn(t->b, "lock-step: no longer in the steps of machine %s: %s", t->found_name,
		 why[(unsigned)reason < sizeof(why) / sizeof(why[0]) ? reason : 0]);
}

static void on_advance(void *ctx, const struct step_turn *turn)
{
	struct link_time *t = ctx;

	t->turn = *turn;
	t->turn_due = true;
	t->running = turn->number;
	t->ahead = turn->lookahead;
	t->over = 0;
	pthread_cond_broadcast(&t->changed);
}

static void on_over(void *ctx, uint64_t number, bool alone)
{
	struct link_time *t = ctx;

	t->over = number;
	t->settle = !alone && number > t->ahead ? number - t->ahead : 0;
	pthread_cond_broadcast(&t->changed);
}

/* ---- driving simd ---- */

bool link_follow_turn(struct link_time *t, uint64_t *ret_number)
{
	uint32_t n;

	*ret_number = t->running;
	if (!t->running)
		return false;
	n = link_exchange_send(t->b, t->id, t->running, t->exports);
	return step_follow_own(t->part, mono_now_ns(), t->exports, n) == 0;
}

static int make_part(struct link_time *t)
{
	struct step_follow_options o = { .id = t->id,
					 .life = t->life,
					 .name = t->b->name,
					 .resend_dur_ns = RESEND_DUR_NS,
					 .send = link_time_send,
					 .joined = on_joined,
					 .out = on_out,
					 .advance = on_advance,
					 .committed = link_time_committed,
					 .over = on_over,
					 .ctx = t };

	return step_follow_create(&o, &t->part);
}

/* simd no longer lets us drive it, so the other hosts must not wait for it. Caller holds link_time::lock. */
static void give_up_steps(struct link_time *t)
{
	struct step_follow *old = t->part;

	t->has_lease = t->turn_due = false;
	t->running = 0;
	step_follow_leave(old, mono_now_ns());
	link_exchange_end(t->b);
	t->life += 2; /* another ID of this run for the time host; the clock_follow may keep the old one */
	if (make_part(t) == 0)
		step_follow_destroy(old);
	else /* t->part is still the one that has left, and takes no further part */
		log_error(t->b, "lock-step: no memory");
	pthread_cond_broadcast(&t->changed);
}

/* In lock-step, grants set the time; but during a pause there may be no grant for long. */
static bool jumps(struct link_time *t, const struct clock_told *told)
{
	if (!told->lockstep)
		return told->jump;
	return told->jump && told->flags & TIME_IS_PAUSED && sim_now(t->client) != told->sim_ns;
}

static int tell_simd(struct link_time *t, struct sim_driver *d, const struct clock_told *told, bool lost)
{
	struct sim_followed f = { .sim_ns = told->sim_ns,
				  .mono_ns = told->mono_ns,
				  .rate_e6 = told->rate_e6,
				  .scale_e6 = told->scale_e6,
				  .error_dur_ns = told->error_dur_ns,
				  .flags = (told->flags & TIME_IS_PAUSED ? (uint32_t)SIM_FOLLOW_PAUSED : 0) |
					   (told->lockstep ? (uint32_t)SIM_FOLLOW_STEPS : 0) |
					   (jumps(t, told) ? (uint32_t)SIM_FOLLOW_JUMP : 0) |
					   (lost ? (uint32_t)SIM_FOLLOW_LOST : 0) };

	return sim_driver_follow(d, &f);
}

static int advance_simd(struct link_time *t, struct sim_driver *d, const struct step_turn *turn)
{
	int64_t left_dur_ns = turn->dur_ns, granted_dur_ns = 0;
	int r = 0;

	if (sim_now(t->client) != turn->from_sim_ns) {
		struct sim_followed f = { .sim_ns = turn->from_sim_ns, .flags = SIM_FOLLOW_STEPS | SIM_FOLLOW_JUMP };

		r = sim_driver_follow(d, &f);
	}
	while (r == 0 && left_dur_ns > 0) {
		r = sim_driver_advance(d, left_dur_ns, &granted_dur_ns);
		left_dur_ns -= r == 0 ? granted_dur_ns : 0;
	}
	return r;
}

/* Does one thing that is due. Caller holds link_time::lock, which is released meanwhile. */
static int do_one(struct link_time *t, struct sim_driver *d)
{
	struct clock_told told = t->tell;
	struct step_turn turn = t->turn;
	bool lost = t->lost_due, tells = t->tell_due || lost, advances = !tells && t->turn_due;
	int r;

	if (tells)
		t->lost_due = t->tell_due = false;
	if (advances)
		t->turn_due = false;
	pthread_mutex_unlock(&t->lock);
	r = tells ? tell_simd(t, d, &told, lost) : advance_simd(t, d, &turn);
	pthread_mutex_lock(&t->lock);
	if (r == 0 && advances) {
		t->running = 0;
		/* the advance has ended simd's pause */
		t->tell_due |= t->tell.lockstep && t->tell.flags & TIME_IS_PAUSED;
		step_follow_ended(t->part, mono_now_ns());
		link_time_due(t);
	}
	return r;
}

static void wait_a_while(struct link_time *t, int64_t dur_ns)
{
	int64_t until = mono_now_ns() + dur_ns;
	struct timespec at = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };

	pthread_mutex_lock(&t->lock);
	while (!atomic_load(&t->stop) && pthread_cond_timedwait(&t->changed, &t->lock, &at) == 0)
		;
	pthread_mutex_unlock(&t->lock);
}

/* Runs until the driver lease is lost. */
static void drive(struct link_time *t, struct sim_driver *d)
{
	int r = 0;

	pthread_mutex_lock(&t->lock);
	t->has_lease = true;
	join_steps(t);
	link_time_due(t);
	while (r == 0 && !atomic_load(&t->stop)) {
		if (t->lost_due || t->tell_due || t->turn_due)
			r = do_one(t, d);
		else
			pthread_cond_wait(&t->changed, &t->lock);
		if (r == -ERANGE || r == -EINVAL) { /* simd refuses this value; the next one may be valid */
			if (limit_allows(&t->lines))
				log_warn(t->b, "time: %s", sim_why());
			r = t->running ? r : 0;
		}
	}
	give_up_steps(t);
	pthread_mutex_unlock(&t->lock);
}

static void *drive_main(void *arg)
{
	struct link_time *t = arg;
	int refused = 0;

	while (!atomic_load(&t->stop)) {
		struct sim_driver *d;
		int r;

		if (!link_time_connect(t, "time")) {
			wait_a_while(t, RETRY_DUR_NS);
			continue;
		}
		r = strcmp(sim_time_source_name((enum sim_time_source)SIM_LOAD_(&sim_clock_page(t->client)->source,
										__ATOMIC_RELAXED)),
			   "link") == 0
			    ? sim_driver_acquire(t->client, SIM_DRIVER_LOCKSTEP, &d)
			    : -EOPNOTSUPP;
		if (r < 0 && r != refused)
			log_warn(t->b, "time: this simd does not follow: %s",
				 r == -EOPNOTSUPP ? "its time source is not `link`; set \"TimeSource\": \"link\""
						  : sim_why());
		refused = r;
		if (r == 0 && link_gather_start(t) == 0)
			drive(t, d);
		if (r == 0)
			sim_driver_release(d);
		wait_a_while(t, RETRY_DUR_NS);
	}
	return NULL;
}

/* ---- messages and what is due ---- */

void link_follow_got(struct link_time *t, int64_t now_mono_ns, const struct time_msg *m)
{
	clock_follow_got(t->follow, now_mono_ns, m);
	step_follow_got(t->part, now_mono_ns, m);
	if (m->kind == TIME_DROPPED && step_follow_state(t->part) == STEP_OUT && m->dropped.reason == STEP_FULL)
		link_exchange_expect(t->b, false);
}

void link_follow_tick(struct link_time *t, int64_t now_mono_ns)
{
	clock_follow_tick(t->follow, now_mono_ns);
	step_follow_tick(t->part, now_mono_ns);
	if (!step_follow_joins(t->part))
		link_exchange_expect(t->b, false);
}

int64_t link_follow_due(const struct link_time *t)
{
	int64_t due = clock_follow_due(t->follow), part = step_follow_due(t->part);

	return part < due ? part : due;
}

/* ---- open and close ---- */

int link_follow_open(struct link_time *t)
{
	struct clock_follow_options o = { .id = t->id,
					  .life = t->life,
					  .host = t->from,
					  .lease_dur_ns = t->b->lease_ms * INT64_C(1000000),
					  .ask_dur_ns = ASK_DUR_NS,
					  .send = link_time_send,
					  .told = on_told,
					  .found = on_found,
					  .lost = on_lost,
					  .ctx = t };
	int r = clock_follow_create(&o, mono_now_ns(), &t->follow);

	if (r == 0)
		r = make_part(t);
	if (r < 0)
		return r;
	r = -pthread_create(&t->drive, NULL, drive_main, t);
	t->drive_runs = r == 0;
	if (t->drive_runs)
		pthread_setname_np(t->drive, "link-drive");
	return r;
}

void link_follow_close(struct link_time *t)
{
	if (t->part)
		step_follow_leave(t->part, mono_now_ns());
	step_follow_destroy(t->part);
	clock_follow_destroy(t->follow);
}
