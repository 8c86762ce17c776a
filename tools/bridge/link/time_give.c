/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This simd is the time host: its clock page is watched and sent to the others, and in lock-step each of its steps is
 * granted to them and ends when all have finished. Threads: link_time.h.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link_time.h"

#define PARTS_OF_RESEND 10
#define RESEND_MAX_NS   INT64_C(200000000)
#define WATCH_DUR_NS    100000000 /* after so long the thread checks whether it must end */
#define CALM_DUR_NS     5000000   /* minimum interval for sending a clock that is driven */
#define RETRY_DUR_NS    200000000

/* ---- callbacks of the state machines; caller holds link_time::lock ---- */

static void on_changed(void *ctx, enum clock_host_state state, const char *other)
{
	struct link_time *t = ctx;

	if (state == CLOCK_GIVING)
		log_info(t->b, "time: machine %s gives time", t->b->name);
	else if (state == CLOCK_REFUSED)
		log_error(
			t->b,
			"time: machine %s gives time already, so this one does not: set options.time to follow here, or to off there",
			other);
}

static void on_over(void *ctx, uint64_t number)
{
	struct link_time *t = ctx;

	t->over = number;
	t->settle = number > (uint64_t)t->lookahead ? number - (uint64_t)t->lookahead : 0;
	pthread_cond_broadcast(&t->changed);
}

static void on_event(void *ctx, enum step_event what, const struct step_member *who)
{
	struct link_time *t = ctx;

	if (what == STEP_JOINED)
		log_info(t->b, "lock-step: machine %s takes part", who->name);
	else if (what == STEP_LEFT)
		log_info(t->b, "lock-step: machine %s no longer takes part", who->name);
	else
		log_warn(t->b, "lock-step: machine %s has not answered its step for %.1f s (options.deadline_ms)%s",
			 who->name, (double)who->waited_dur_ns / 1e9,
			 what == STEP_DROPPED_OUT ? ": it is out" : "; waiting on");
}

/* ---- steps ---- */

static bool gives_steps(const struct link_time *t)
{
	return t->steps && clock_host_state(t->host) == CLOCK_GIVING;
}

static void grant(struct link_time *t, int64_t sim_ns, int64_t dur_ns, uint32_t clock_generation)
{
	uint64_t number;

	if (step_host_begin(t->steps, mono_now_ns(), sim_ns, dur_ns, clock_generation, &number) < 0)
		return;
	t->step_sim_ns = sim_ns;
	t->step_generation = clock_generation;
	clock_host_step(t->host, number);
}

/*
 * Time has advanced, so a step has begun: it is granted at once, so that the other hosts run it in parallel with our
 * own participants.
 */
static void grant_early(struct link_time *t, const struct time_state *s)
{
	int64_t dur_ns = s->sim_ns - t->step_sim_ns;

	if (!gives_steps(t) || !t->gather_runs || !t->step_sim_ns || step_host_open(t->steps) || s->rate_e6 ||
	    s->clock_generation != t->step_generation || dur_ns < 1)
		return;
	grant(t, s->sim_ns, dur_ns, s->clock_generation);
}

bool link_give_turn(struct link_time *t, const struct sim_step_turn *turn, uint64_t *ret_number)
{
	uint32_t n;

	if (!gives_steps(t) || turn->dur_ns < 1)
		return false;
	if (!step_host_open(t->steps))
		grant(t, turn->now.sim_ns, turn->dur_ns, turn->now.clock_generation);
	if (!step_host_open(t->steps))
		return false;
	*ret_number = step_host_number(t->steps);
	n = link_exchange_send(t->b, t->id, *ret_number, t->exports);
	return step_host_own(t->steps, mono_now_ns(), t->exports, n) == 0;
}

/* ---- the clock ---- */

static bool differs(const struct time_state *a, const struct time_state *b)
{
	return a->rate_e6 != b->rate_e6 || a->scale_e6 != b->scale_e6 || a->clock_generation != b->clock_generation ||
	       a->flags != b->flags;
}

/* Returns how long to wait for a change of the page. */
static int64_t tell(struct link_time *t, const struct time_state *s)
{
	bool moved = !s->rate_e6 && s->sim_ns != t->told.sim_ns;
	int64_t now = mono_now_ns();

	pthread_mutex_lock(&t->lock);
	if (moved)
		grant_early(t, s);
	if (differs(s, &t->told) || (moved && now - t->told_mono_ns >= CALM_DUR_NS)) {
		clock_host_set(t->host, now, real_now_ns(), s);
		t->told = *s;
		t->told_mono_ns = now;
		moved = false;
	}
	link_time_due(t);
	pthread_mutex_unlock(&t->lock);
	return moved ? CALM_DUR_NS : WATCH_DUR_NS;
}

static void *clock_main(void *arg)
{
	struct link_time *t = arg;

	while (!atomic_load(&t->stop) && !link_time_connect(t, "time"))
		nanosleep(&(struct timespec){ .tv_nsec = RETRY_DUR_NS }, NULL);
	if (!atomic_load(&t->stop) && t->lockstep)
		(void)!link_gather_start(t); /* errors are logged */
	while (!atomic_load(&t->stop)) {
		const struct sim_clock_page *p = sim_clock_page(t->client);
		uint32_t seen;
		struct time_state s = link_time_page(p, &seen);
		struct timespec wait = { .tv_nsec = tell(t, &s) };

		syscall(SYS_futex, &p->futex, FUTEX_WAIT, seen, &wait, NULL, 0);
	}
	return NULL;
}

/* ---- messages and what is due ---- */

void link_give_got(struct link_time *t, int64_t now_mono_ns, const struct time_msg *m)
{
	clock_host_got(t->host, now_mono_ns, m);
	if (gives_steps(t))
		step_host_got(t->steps, now_mono_ns, m);
}

void link_give_tick(struct link_time *t, int64_t now_mono_ns)
{
	if (t->client && sim_client_state(t->client) == SIM_CLIENT_CONNECTED &&
	    t->told.rate_e6) { /* so that the claim has the present time */
		uint32_t seen;
		struct time_state s = link_time_page(sim_clock_page(t->client), &seen);

		if (!differs(&s, &t->told) && now_mono_ns >= clock_host_due(t->host) &&
		    clock_host_state(t->host) == CLOCK_GIVING)
			clock_host_set(t->host, now_mono_ns, real_now_ns(), &s);
	}
	clock_host_tick(t->host, now_mono_ns);
	if (t->steps)
		step_host_tick(t->steps, now_mono_ns);
}

int64_t link_give_due(const struct link_time *t)
{
	int64_t due = clock_host_due(t->host), steps = t->steps ? step_host_due(t->steps) : INT64_MAX;

	return steps < due ? steps : due;
}

/* ---- open and close ---- */

static int make_steps(struct link_time *t)
{
	int64_t deadline_dur_ns = t->deadline_ms * INT64_C(1000000), resend_dur_ns = deadline_dur_ns / PARTS_OF_RESEND;
	struct step_host_options o = { .id = t->id,
				       .life = t->life,
				       .lookahead = (uint8_t)t->lookahead,
				       .deadline_dur_ns = deadline_dur_ns,
				       .resend_dur_ns = resend_dur_ns < RESEND_MAX_NS ? resend_dur_ns : RESEND_MAX_NS,
				       .late = t->late,
				       .send = link_time_send,
				       .committed = link_time_committed,
				       .over = on_over,
				       .event = on_event,
				       .ctx = t };

	return step_host_create(&o, &t->steps);
}

int link_give_open(struct link_time *t)
{
	struct clock_host_options o = { .id = t->id,
					.life = t->life,
					.name = t->b->name,
					.lease_dur_ns = t->b->lease_ms * INT64_C(1000000),
					.lockstep = t->lockstep,
					.lookahead = (uint8_t)t->lookahead,
					.send = link_time_send,
					.changed = on_changed,
					.ctx = t };
	int r = clock_host_create(&o, mono_now_ns(), &t->host);

	if (r == 0 && t->lockstep)
		r = make_steps(t);
	if (r == 0 && t->lockstep)
		link_exchange_begin(t->b, 0);
	if (r < 0)
		return r;
	r = -pthread_create(&t->clock, NULL, clock_main, t);
	t->clock_runs = r == 0;
	if (t->clock_runs)
		pthread_setname_np(t->clock, "link-clock");
	return r;
}

void link_give_close(struct link_time *t)
{
	if (t->host)
		clock_host_resign(t->host);
	clock_host_destroy(t->host);
	step_host_destroy(t->steps);
}
