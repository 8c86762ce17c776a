/* SPDX-License-Identifier: Apache-2.0 */
/* model.h */
#include "model.h"

#include "mem.h"

#define LEASE_DUR_NS  (NS_PER_S)
#define ASK_DUR_NS    (100 * NS_PER_MS)
#define RESEND_DUR_NS (200 * NS_PER_MS)
#define REAL_NS       INT64_C(1800000000000000000)

static struct step_export room[STEP_ALL_EXPORTS_MAX];

/* ---- clocks ---- */

int64_t model_local(const struct node *n, int64_t mono_ns)
{
	return n->clock_off_ns + mono_ns + mono_ns / 1000000 * n->drift_e6 + mono_ns % 1000000 * n->drift_e6 / 1000000;
}

int64_t model_now(const struct node *n)
{
	return model_local(n, exec_now(n->m->x));
}

/* When its clock will say so. */
static int64_t virtual_at(const struct node *n, int64_t local_ns)
{
	int64_t t = local_ns - n->clock_off_ns;

	t -= t / (1000000 + n->drift_e6) * n->drift_e6;
	while (model_local(n, t) < local_ns)
		t++;
	return t;
}

static int64_t scaled(int64_t dur_ns, int64_t rate_e6)
{
	return dur_ns / 1000000 * rate_e6 + dur_ns % 1000000 * rate_e6 / 1000000;
}

static int64_t host_sim(const struct node *n, int64_t local_ns)
{
	return n->clock.sim_ns + scaled(local_ns - n->clock.mono_ns, n->clock.rate_e6);
}

static int64_t followed_sim(const struct node *n, int64_t local_ns)
{
	int64_t sim_ns = n->base_sim_ns, from_ns = n->base_mono_ns;

	if (n->then_mono_ns && local_ns > n->then_mono_ns) {
		sim_ns += scaled(n->then_mono_ns - from_ns, n->rate_e6);
		return sim_ns + scaled(local_ns - n->then_mono_ns, n->then_rate_e6);
	}
	return sim_ns + scaled(local_ns - from_ns, n->rate_e6);
}

int64_t model_sim(const struct node *n)
{
	if (n->m->o.lockstep)
		return n->sim_ns;
	return n->gives ? host_sim(n, model_now(n)) : followed_sim(n, model_now(n));
}

int64_t model_error(const struct node *n)
{
	return model_sim(n) - model_sim(&n->m->node[0]);
}

/* What is known at the last telling, what a difference of then still is at most, and what clocks have parted since. */
int64_t model_bound(const struct node *n)
{
	int64_t age = model_now(n) - n->told_mono_ns, left = n->told_diff_ns < 0 ? -n->told_diff_ns : n->told_diff_ns;

	return scaled(n->error_dur_ns + age / 1000000 * CLOCK_DRIFT_E6 + age % 1000000 * CLOCK_DRIFT_E6 / 1000000 + 2,
		      n->last.scale_e6) +
	       left + 2;
}

/* ---- the network ---- */

struct packet {
	struct exec_timer timer;
	struct node *to;
	uint64_t life; /* of the receiver: a restarted process does not get it */
	size_t size;
	unsigned char bytes[];
};

static void rearm(struct node *n)
{
	int64_t due = INT64_MAX, d;

	if (!n->up || n->stopped)
		return;
	if (n->host && (d = clock_host_due(n->host)) < due)
		due = d;
	if (n->follow && (d = clock_follow_due(n->follow)) < due)
		due = d;
	if (n->steps && (d = step_host_due(n->steps)) < due)
		due = d;
	if (n->part && (d = step_follow_due(n->part)) < due)
		due = d;
	if (due != INT64_MAX)
		exec_timer_at(&n->tick, virtual_at(n, due));
}

static void got(struct node *n, const struct time_msg *msg)
{
	int64_t now = model_now(n);

	if (n->host)
		clock_host_got(n->host, now, msg);
	if (n->follow)
		clock_follow_got(n->follow, now, msg);
	if (n->steps && n->claim_state == CLOCK_GIVING)
		step_host_got(n->steps, now, msg);
	if (n->part)
		step_follow_got(n->part, now, msg);
	rearm(n);
}

static void deliver(void *arg)
{
	struct packet *p = arg;
	struct node *n = p->to;
	struct time_msg msg;

	assert_int_equal(time_msg_read(p->bytes, p->size, room, &msg), 0);
	n->m->delivered++;
	if (n->m->at_message)
		n->m->at_message(n->m, n->m->delivered, &msg);
	if (n->up && n->life == p->life) {
		if (n->stopped)
			exec_timer_at(&p->timer, exec_now(n->m->x) + 10 * NS_PER_MS);
		else
			got(n, &msg);
	}
	if (!exec_timer_armed(&p->timer))
		mem_free(p);
}

static void carry(struct node *from, struct node *to, const unsigned char *bytes, size_t size)
{
	struct model *m = from->m;
	struct packet *p;
	int64_t delay = m->o.delay_dur_ns + (to->i == 0 ? m->o.asymmetry_dur_ns : 0), at_ns;

	if (!to->up || to->group != from->group || (double)rnd_below(&m->rnd, 1000000) < m->o.loss * 1e6) {
		m->lost++;
		return;
	}
	if (m->o.jitter_dur_ns)
		delay += rnd_below(&m->rnd, (uint32_t)m->o.jitter_dur_ns);
	at_ns = exec_now(m->x) + delay;
	if (!m->o.reorders && at_ns <= m->last_ns[from->i][to->i])
		at_ns = m->last_ns[from->i][to->i] + 1;
	m->last_ns[from->i][to->i] = at_ns;
	p = mem_zalloc(sizeof(*p) + size);
	assert_non_null(p);
	p->to = to;
	p->life = to->life;
	p->size = size;
	memcpy(p->bytes, bytes, size);
	exec_timer_init(&p->timer, m->x, deliver, p);
	exec_timer_at(&p->timer, at_ns);
}

/* One write of one host; DDS brings it to all, or its `to` alone reads it. */
static void on_send(void *ctx, const struct time_msg *msg)
{
	static unsigned char bytes[TIME_MSG_MAX];
	struct node *from = ctx;
	struct model *m = from->m;
	size_t size = time_msg_write(msg, bytes, sizeof(bytes));

	assert_true(size > 0 && size <= sizeof(bytes));
	m->sent[msg->kind]++;
	m->bytes[msg->kind] += size;
	for (uint32_t i = 0; i < m->o.hosts; i++) {
		if (i == from->i || (msg->to && m->node[i].id != msg->to))
			continue;
		carry(from, &m->node[i], bytes, size);
		if ((double)rnd_below(&m->rnd, 1000000) < m->o.repeat * 1e6)
			carry(from, &m->node[i], bytes, size);
	}
}

static void on_tick(void *arg)
{
	struct node *n = arg;
	int64_t now = model_now(n);

	if (!n->up || n->stopped)
		return;
	if (n->host)
		clock_host_tick(n->host, now);
	if (n->follow)
		clock_follow_tick(n->follow, now);
	if (n->steps)
		step_host_tick(n->steps, now);
	if (n->part)
		step_follow_tick(n->part, now);
	rearm(n);
}

/* ---- the time host ---- */

static void on_claim_changed(void *ctx, enum clock_host_state state, const char *other)
{
	struct node *n = ctx;

	n->claim_state = state;
	assert_int_equal(state == CLOCK_REFUSED, other != NULL);
	snprintf(n->refused_by, sizeof(n->refused_by), "%s", other ? other : "");
	if (state == CLOCK_GIVING && n->m->o.lockstep)
		exec_timer_at(&n->next, exec_now(n->m->x));
}

static int64_t work_time(struct node *n)
{
	return n->m->o.work_dur_ns ? rnd_below(&n->m->rnd, (uint32_t)n->m->o.work_dur_ns) : 0;
}

/* Its driver asks for the next step as soon as it may. */
static void on_next(void *arg)
{
	struct node *n = arg;
	struct model *m = n->m;
	int64_t step = m->o.step_dur_ns;
	uint64_t number;

	if (!n->up || n->stopped || n->paused || n->claim_state != CLOCK_GIVING || step_host_open(n->steps) ||
	    m->granted >= m->steps_max)
		return;
	n->sim_ns += step;
	m->begun_mono_ns = exec_now(m->x);
	assert_int_equal(step_host_begin(n->steps, model_now(n), n->sim_ns, step, n->clock.clock_generation, &number),
			 0);
	m->granted++;
	clock_host_step(n->host, number);
	n->running = number;
	exec_timer_at(&n->work, exec_now(m->x) + work_time(n));
	rearm(n);
}

/* What a host has published up to a step: one channel, of which the sequence tells host and step. */
static struct step_export export_of(const struct node *n, uint64_t number)
{
	return (struct step_export){ .host = n->id, .channel = n->id * 7, .last = number * 3 };
}

static void on_work(void *arg)
{
	struct node *n = arg;
	struct step_export e = export_of(n, n->running);

	if (!n->up)
		return;
	if (n->stopped) {
		exec_timer_at(&n->work, exec_now(n->m->x) + 10 * NS_PER_MS);
		return;
	}
	n->sent_last = e.last;
	if (n->gives)
		assert_int_equal(step_host_own(n->steps, model_now(n), &e, 1), 0);
	else
		assert_int_equal(step_follow_own(n->part, model_now(n), &e, 1), 0);
	rearm(n);
}

static void check_exports(struct model *m, uint64_t number, const struct step_export *exports, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct step_export *e = &exports[i];

		assert_true(e->host >= 1 && e->host <= m->o.hosts);
		assert_int_equal(e->channel, e->host * 7);
		assert_int_equal(e->last, number * 3);
		for (uint32_t j = 0; j < i; j++)
			assert_true(exports[j].host != e->host); /* each says it once */
	}
}

static void on_host_committed(void *ctx, uint64_t number, const struct step_export *exports, uint32_t n)
{
	struct node *h = ctx;

	check_exports(h->m, number, exports, n);
	assert_true(n >= 1);
	h->m->committed++;
	h->m->exports += n;
}

static void on_host_over(void *ctx, uint64_t number)
{
	struct node *n = ctx;
	struct model *m = n->m;

	assert_int_equal(number, n->running);
	assert_true(step_host_committed(n->steps) + m->o.lookahead >= number);
	n->ended = number;
	if (m->step_took && m->n_took < m->took_max)
		m->step_took[m->n_took++] = exec_now(m->x) - m->begun_mono_ns;
	exec_timer_at(&n->next, m->o.pace_dur_ns ? m->begun_mono_ns + m->o.pace_dur_ns : exec_now(m->x));
}

static void on_host_event(void *ctx, enum step_event what, const struct step_member *who)
{
	struct node *n = ctx;

	assert_true(who->name[0] == 'h');
	n->m->late_reports += what == STEP_LATE;
	n->m->drops += what == STEP_DROPPED_OUT;
}

/* ---- followers ---- */

static void on_told(void *ctx, const struct clock_told *t)
{
	struct node *n = ctx;
	int64_t own = followed_sim(n, t->mono_ns);
	struct slew_plan p = { .jump = true, .rate_e6 = t->rate_e6 };

	if (n->m->o.lockstep)
		return;
	if (n->told && !t->jump)
		slew_plan(own, t->sim_ns, t->rate_e6, t->scale_e6, &p);
	n->log.jumps += p.jump;
	if (p.jump)
		own = t->sim_ns;
	assert_true(n->rate_e6 >= 0 && p.rate_e6 >= 0 && p.add_dur_ns >= 0);
	n->base_sim_ns = own + p.add_dur_ns;
	n->base_mono_ns = t->mono_ns;
	n->rate_e6 = p.rate_e6;
	n->then_mono_ns = p.for_dur_ns ? t->mono_ns + p.for_dur_ns : 0;
	n->then_rate_e6 = t->rate_e6;
	n->told = true;
	n->last = *t;
	n->error_dur_ns = t->error_dur_ns;
	n->told_mono_ns = t->mono_ns;
	n->told_diff_ns = t->sim_ns - n->base_sim_ns;
}

static void on_found(void *ctx, const struct clock_time_host *host)
{
	struct node *n = ctx;

	n->log.founds++;
	assert_true(host->name[0] == 'h');
	step_follow_host(n->part, model_now(n), host->id, host->epoch, host->lockstep);
}

static void on_lost(void *ctx, const char *why)
{
	struct node *n = ctx;

	n->log.losts++;
	snprintf(n->log.why, sizeof(n->log.why), "%s", why);
	assert_non_null(strstr(why, "time holds"));
	/* it holds */
	n->base_sim_ns = followed_sim(n, model_now(n));
	n->base_mono_ns = model_now(n);
	n->rate_e6 = 0;
	n->then_mono_ns = 0;
}

static void on_joined(void *ctx, uint64_t first, int64_t sim_ns)
{
	struct node *n = ctx;

	(void)sim_ns;
	n->log.joins++;
	n->in = true;
	n->first = first;
	n->ended = first - 1;
}

static void on_out(void *ctx, enum step_reason reason)
{
	struct node *n = ctx;

	assert_true(n->in);
	n->log.outs++;
	n->log.reason = reason;
	n->in = false;
}

static void on_advance(void *ctx, const struct step_turn *t)
{
	struct node *n = ctx;

	assert_true(n->in);
	assert_int_equal(t->number, n->ended + 1); /* no gap, no repetition */
	if (n->sim_ns != t->from_sim_ns) {
		assert_int_equal(t->number, n->first); /* within a membership it goes on from where it is */
		n->log.jumps++;
		n->sim_ns = t->from_sim_ns;
	}
	n->sim_ns += t->dur_ns;
	n->running = t->number;
	exec_timer_at(&n->work, exec_now(n->m->x) + work_time(n));
}

static void on_committed(void *ctx, uint64_t number, const struct step_export *exports, uint32_t n)
{
	struct node *f = ctx;
	bool own = false;

	check_exports(f->m, number, exports, n);
	for (uint32_t i = 0; i < n; i++)
		own |= exports[i].host == f->id;
	assert_true(own || f->m->o.late == STEP_LATE_DROP); /* else it was dropped, and will hear of it */
}

static void on_over(void *ctx, uint64_t number, bool alone)
{
	struct node *n = ctx;

	assert_int_equal(number, n->running);
	assert_true(alone == !n->in);
	n->ended = number;
	n->log.steps += !alone;
	n->log.alone += alone;
	exec_timer_at(&n->end, exec_now(n->m->x) + n->m->o.end_dur_ns);
}

static void on_end(void *arg)
{
	struct node *n = arg;

	if (!n->up)
		return;
	step_follow_ended(n->part, model_now(n));
	rearm(n);
}

/* ---- coming and going ---- */

static void make_host(struct node *n, int64_t now)
{
	struct clock_host_options ho = { .id = n->id,
					 .life = n->life,
					 .name = n->name,
					 .lease_dur_ns = LEASE_DUR_NS,
					 .lockstep = n->m->o.lockstep,
					 .lookahead = n->m->o.lookahead,
					 .send = on_send,
					 .changed = on_claim_changed,
					 .ctx = n };
	struct step_host_options so = { .id = n->id,
					.life = n->life,
					.lookahead = n->m->o.lookahead,
					.deadline_dur_ns = n->m->o.deadline_dur_ns,
					.resend_dur_ns = RESEND_DUR_NS,
					.late = n->m->o.late,
					.send = on_send,
					.committed = on_host_committed,
					.over = on_host_over,
					.event = on_host_event,
					.ctx = n };

	assert_int_equal(clock_host_create(&ho, now, &n->host), 0);
	assert_int_equal(step_host_create(&so, &n->steps), 0);
	n->clock = (struct time_state){ .mono_ns = now,
					.rate_e6 = n->m->o.lockstep ? 0 : 1000000,
					.scale_e6 = 1000000,
					.clock_generation = (uint32_t)n->life,
					.flags = TIME_HAS_STARTED };
	clock_host_set(n->host, now, REAL_NS + now, &n->clock);
}

static void make_follower(struct node *n, int64_t now)
{
	struct clock_follow_options fo = { .id = n->id,
					   .life = n->life,
					   .lease_dur_ns = LEASE_DUR_NS,
					   .ask_dur_ns = ASK_DUR_NS,
					   .send = on_send,
					   .told = on_told,
					   .found = on_found,
					   .lost = on_lost,
					   .ctx = n };
	struct step_follow_options po = { .id = n->id,
					  .life = n->life,
					  .name = n->name,
					  .resend_dur_ns = RESEND_DUR_NS,
					  .send = on_send,
					  .joined = on_joined,
					  .out = on_out,
					  .advance = on_advance,
					  .committed = on_committed,
					  .over = on_over,
					  .ctx = n };

	assert_int_equal(clock_follow_create(&fo, now, &n->follow), 0);
	assert_int_equal(step_follow_create(&po, &n->part), 0);
}

void model_start(struct model *m, uint32_t i)
{
	struct node *n = &m->node[i];
	int64_t now = model_now(n);

	assert_false(n->up);
	n->life = rnd_u64(&m->rnd) | 1;
	n->up = true;
	n->in = n->told = n->paused = n->stopped = false;
	n->sim_ns = 0;
	n->running = n->ended = 0;
	n->rate_e6 = n->then_mono_ns = n->base_sim_ns = 0;
	n->base_mono_ns = now;
	n->claim_state = CLOCK_LISTENING;
	if (n->gives)
		make_host(n, now);
	else
		make_follower(n, now);
	rearm(n);
}

void model_crash(struct model *m, uint32_t i)
{
	struct node *n = &m->node[i];

	clock_host_destroy(n->host);
	clock_follow_destroy(n->follow);
	step_host_destroy(n->steps);
	step_follow_destroy(n->part);
	n->host = NULL;
	n->follow = NULL;
	n->steps = NULL;
	n->part = NULL;
	n->up = n->in = false;
	exec_timer_cancel(&n->tick);
	exec_timer_cancel(&n->work);
	exec_timer_cancel(&n->end);
	exec_timer_cancel(&n->next);
}

void model_leave(struct model *m, uint32_t i)
{
	struct node *n = &m->node[i];

	n->in = false;
	if (n->host)
		clock_host_resign(n->host);
	if (n->part)
		step_follow_leave(n->part, model_now(n));
	model_crash(m, i);
}

void model_part(struct model *m, uint32_t i, uint32_t group)
{
	m->node[i].group = group;
}

void model_heal(struct model *m)
{
	for (uint32_t i = 0; i < m->o.hosts; i++)
		m->node[i].group = 0;
}

static void set_clock(struct node *n)
{
	clock_host_set(n->host, model_now(n), REAL_NS + model_now(n), &n->clock);
	rearm(n);
}

static void integrate(struct node *n)
{
	int64_t now = model_now(n);

	n->clock.sim_ns = host_sim(n, now);
	n->clock.mono_ns = now;
}

void model_pause(struct model *m, bool paused)
{
	struct node *n = &m->node[0];

	integrate(n);
	n->paused = paused;
	n->clock.rate_e6 = paused || m->o.lockstep ? 0 : n->clock.scale_e6;
	n->clock.flags = TIME_HAS_STARTED | (paused ? (uint32_t)TIME_IS_PAUSED : 0);
	set_clock(n);
	if (!paused && m->o.lockstep)
		exec_timer_at(&n->next, exec_now(m->x));
}

void model_scale(struct model *m, int64_t scale_e6)
{
	struct node *n = &m->node[0];

	integrate(n);
	n->clock.scale_e6 = scale_e6;
	n->clock.rate_e6 = n->clock.rate_e6 ? scale_e6 : 0;
	set_clock(n);
}

void model_begin(struct model *m, const struct model_options *o)
{
	memset(m, 0, sizeof(*m));
	m->o = *o;
	m->steps_max = UINT64_MAX;
	if (!m->o.deadline_dur_ns)
		m->o.deadline_dur_ns = 2 * NS_PER_S;
	if (!m->o.step_dur_ns)
		m->o.step_dur_ns = 10 * NS_PER_MS;
	rnd_seed(&m->rnd, o->seed);
	assert_int_equal(exec_sim_create(o->seed, 1000 * NS_PER_S, &m->x), 0);
	for (uint32_t i = 0; i < o->hosts; i++) {
		struct node *n = &m->node[i];

		*n = (struct node){ .m = m, .i = i, .id = i + 1, .gives = i == 0 };
		snprintf(n->name, sizeof(n->name), "h%u", i);
		n->clock_off_ns = (int64_t)rnd_below(&m->rnd, 1000000) * NS_PER_S / 10;
		n->drift_e6 =
			o->drift_e6 ? (int32_t)rnd_below(&m->rnd, 2 * (uint32_t)o->drift_e6 + 1) - o->drift_e6 : 0;
		exec_timer_init(&n->tick, m->x, on_tick, n);
		exec_timer_init(&n->work, m->x, on_work, n);
		exec_timer_init(&n->end, m->x, on_end, n);
		exec_timer_init(&n->next, m->x, on_next, n);
		model_start(m, i);
	}
}

void model_end(struct model *m)
{
	m->at_message = NULL;
	m->o.loss = 0;
	for (uint32_t i = 0; i < m->o.hosts; i++)
		if (m->node[i].up)
			model_crash(m, i);
	/* messages on their way are not delivered */
	assert_true(exec_sim_run(m->x, exec_now(m->x) + 3600 * NS_PER_S) >= 0);
	exec_destroy(m->x);
}

void model_run(struct model *m, int64_t dur_ns)
{
	assert_true(exec_sim_run(m->x, exec_now(m->x) + dur_ns) >= 0);
}

bool model_until(struct model *m, bool (*fn)(struct model *m), int64_t max_dur_ns)
{
	int64_t until = exec_now(m->x) + max_dur_ns;

	while (!fn(m)) {
		if (exec_now(m->x) >= until)
			return false;
		model_run(m, 20 * NS_PER_MS);
	}
	return true;
}

bool model_all_in(struct model *m, uint64_t steps)
{
	const struct node *h = &m->node[0];

	for (uint32_t i = 1; i < m->o.hosts; i++) {
		const struct node *n = &m->node[i];

		if (n->up && n->group == h->group && (!n->in || n->running + steps < h->running))
			return false;
	}
	return h->up && h->claim_state == CLOCK_GIVING;
}
