/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of time once more, as a model that fits on two pages: states, steps, scales, sources, a driver and a participant; and all sequences
 * of five out of eight operations, against the engine with both at the other ends of their sockets. How often the driver asks in
 * between is one of three rhythms. Shorter ones also with a participant that leaves and joins.
 */
#include "rig.h"

#include "wire/step.h"

#define MS          NS_PER_MS
#define ASKS_NS     (10 * MS)
#define STEP_NS     (15 * MS)
#define JUMP_NS     (5 * MS)
#define DEADLINE_NS (10 * NS_PER_S)
#define LATE_NS     (30 * NS_PER_S)
#define FASTER_E6   (2 * SIM_RATE_ONE)

enum op { PAUSE, RESUME, STEP, SCALE, SOURCE, JUMP, GONE, LATE, LEAVE, OPS };

#define EIGHT LEAVE /* those before it */

static const char op_letters[] = "PRTSOJGLX";

/* ---- the model ---- */

enum asked { NOTHING, ADVANCE, SET };

struct model {
	bool driven; /* the source is `play`; else `simulation` */
	enum time_state state;
	bool pausing, by_scale;
	int64_t sim_ns, scale_e6;
	unsigned jumps, steps;

	bool driver, lost;
	enum asked asked; /* the driver waits for time to move */
	bool owed;        /* ... and for the round that this has begun */
	bool working;     /* it was granted something, and has not asked since */
	bool awaited, overdue;
	int64_t granted;
	unsigned answers, driver_lates;
	int64_t answer; /* the last one */

	bool open; /* a step */
	int64_t left, queued;
	int result; /* of the last step; 1: it has none yet */

	bool present, awake, turn, named; /* the participant; a round waits for it; it was reported as late */
	unsigned lates;
};

static void look(struct model *m);
static void serve(struct model *m);

static void tell_driver(struct model *m, int64_t answer)
{
	m->answers++;
	m->answer = answer;
}

static void round_over(struct model *m)
{
	m->turn = false;
	if (m->owed)
		tell_driver(m, m->granted);
	m->owed = false;
	look(m);
	serve(m);
}

static void round_begin(struct model *m)
{
	m->turn = true;
	m->named = false;
	if (m->awake || !m->present)
		round_over(m);
}

static void end_step(struct model *m, int result)
{
	m->open = false;
	m->left = m->queued = 0;
	m->result = result;
	m->steps += result == 0;
}

static void begin_step(struct model *m, int64_t ns)
{
	m->state = TIME_STEPPING;
	m->queued = 0;
	m->left = m->driven ? ns : 0;
	if (m->driven) {
		serve(m);
	} else {
		m->sim_ns += ns;
		round_begin(m);
	}
}

/* Granted time is published, and the participants have finished: a pause begins, a step ends. */
static void look(struct model *m)
{
	if ((!m->pausing && !(m->open && !m->left)) || m->turn)
		return;
	if (m->working && m->overdue && m->pausing) {
		m->working = false;
		m->driver_lates++;
	}
	if (m->working) {
		m->awaited = true;
		return;
	}
	m->state = TIME_PAUSED;
	if (!m->pausing) {
		end_step(m, 0);
		return;
	}
	m->pausing = false;
	if (m->queued)
		begin_step(m, m->queued);
}

static void move(struct model *m, int64_t to_ns, int64_t granted)
{
	m->sim_ns = to_ns;
	m->granted = granted;
	m->asked = NOTHING;
	m->owed = m->working = true;
	round_begin(m);
}

static void serve(struct model *m)
{
	int64_t ns = m->state == TIME_STEPPING && m->left < ASKS_NS ? m->left : ASKS_NS;

	if (m->pausing || m->turn)
		return;
	if (m->asked == ADVANCE && m->state != TIME_PAUSED && ns) {
		m->left -= m->open ? ns : 0;
		move(m, m->sim_ns + ns, ns);
	} else if (m->asked == SET && (m->state == TIME_RUNNING || (m->state == TIME_STEPPING && m->left))) {
		m->jumps++; /* no part of the step */
		move(m, JUMP_NS, 0);
	}
}

static bool may_ask(const struct model *m)
{
	return m->driver && !m->asked && !m->owed;
}

static void ask(struct model *m, enum asked what)
{
	m->asked = what;
	m->working = m->awaited = m->overdue = false;
	look(m);
	serve(m);
}

static int pause_it(struct model *m)
{
	m->by_scale = false;
	m->pausing = m->pausing || m->open || m->state != TIME_PAUSED;
	if (m->open)
		end_step(m, -ECANCELED);
	look(m);
	return 0;
}

static int resume_it(struct model *m)
{
	if (m->open)
		end_step(m, -ECANCELED);
	m->by_scale = m->pausing = m->awaited = m->overdue = false;
	m->state = TIME_RUNNING;
	serve(m);
	return 0;
}

static int step_it(struct model *m)
{
	if (m->open || (m->state == TIME_RUNNING && !m->pausing))
		return -EBUSY;
	if (m->driven && !m->driver)
		return -ENOTCONN;
	m->open = true;
	m->result = 1;
	m->left = m->queued = STEP_NS;
	if (!m->pausing)
		begin_step(m, STEP_NS);
	return 0;
}

static int scale_it(struct model *m, int64_t scale_e6)
{
	bool halted = m->state != TIME_RUNNING || m->pausing, ours = !halted || m->by_scale;

	if (!scale_e6) {
		pause_it(m);
		m->by_scale = ours;
		return 0;
	}
	m->scale_e6 = scale_e6;
	return halted && m->by_scale ? resume_it(m) : 0;
}

static void drop_driver(struct model *m)
{
	m->driver = m->owed = m->working = m->awaited = m->overdue = false;
	m->asked = NOTHING;
}

static int switch_it(struct model *m)
{
	if (m->open || m->pausing)
		m->state = TIME_PAUSED;
	if (m->open)
		end_step(m, -ECANCELED);
	drop_driver(m);
	m->pausing = m->turn = m->lost = false;
	m->driven = !m->driven;
	m->sim_ns = 0;
	m->jumps++;
	return 0;
}

static void lose_driver(struct model *m)
{
	if (!m->driver)
		return;
	drop_driver(m);
	m->lost = true;
	m->pausing = m->pausing || m->open;
	if (m->open)
		end_step(m, -ENOTCONN);
	look(m);
}

/* Nothing happens for longer than all deadlines; then the participant falls asleep, or wakes up. */
static void wait_for_late(struct model *m)
{
	if (!m->driven && m->state == TIME_RUNNING)
		m->sim_ns += LATE_NS / SIM_RATE_ONE * m->scale_e6;
	m->lates += m->turn && !m->named;
	m->named = true;
	if (m->awaited && !m->overdue) {
		m->overdue = true;
		m->driver_lates += !m->pausing; /* a step waits on; a pause does not, see look() */
		look(m);
	}
	m->awake = !m->awake;
	if (m->awake && m->turn)
		round_over(m);
}

/* It leaves, or joins. */
static void leave(struct model *m)
{
	m->present = !m->present;
	m->awake = true;
	if (!m->present && m->turn)
		round_over(m);
}

/* ---- the engine, its driver and its participant ---- */

struct real {
	struct rig r;
	int driver, part;
	bool asks;   /* the driver waits for an answer */
	bool asleep; /* the participant */
	uint64_t turn;
	unsigned answers;
	int64_t answer;
};

static void read_driver(struct real *e)
{
	struct driver_packet p;
	int n = e->driver >= 0 ? rig_recv(e->driver, &p) : 0;

	if (n < 0 || (n > 0 && p.op == DRIVER_LOST)) {
		close(e->driver);
		e->driver = -1;
		e->asks = false;
	} else if (n > 0) {
		e->asks = false;
		e->answers++;
		e->answer = p.result < 0 ? p.result : p.dur_ns;
	}
}

static bool read_part(struct real *e)
{
	struct step_packet p;

	if (e->part >= 0 && recv(e->part, &p, sizeof(p), MSG_DONTWAIT) == (ssize_t)sizeof(p)) {
		assert_int_equal(p.op, STEP_TURN);
		e->turn = p.number;
	}
	if (!e->turn || e->asleep)
		return false;
	p = (struct step_packet){ .op = STEP_DONE, .number = e->turn };
	assert_int_equal(send(e->part, &p, sizeof(p), MSG_NOSIGNAL), sizeof(p));
	e->turn = 0;
	return true;
}

static void settle(struct real *e)
{
	do {
		assert_true(exec_sim_settle(e->r.x) >= 0);
		read_driver(e);
	} while (read_part(e));
}

static void attach(struct real *e)
{
	int result;

	e->driver = rig_attach(&e->r, 9, &result);
	assert_int_equal(result, 0);
}

static void send_driver(struct real *e, uint32_t op)
{
	if (e->driver < 0 || e->asks)
		return;
	e->asks = true;
	rig_send(&e->r, e->driver, op, ASKS_NS, JUMP_NS);
}

static void join(struct real *e)
{
	struct time_participant who = { .client_id = 1, .pid = 1, .name = "camera" };
	int fds[2];

	assert_int_equal(fd_packet_pair(fds, 0), 0);
	assert_int_equal(time_engine_join(e->r.e, fds[0], &who), 0);
	e->part = fds[1];
}

static void begin(struct real *e)
{
	*e = (struct real){ .driver = -1 };
	rig_init(&e->r, 1, "play",
		 (struct time_engine_options){ .step_deadline_dur_ns = DEADLINE_NS, .step_late = TIME_LATE_WARN });
	e->r.watched = false;
	join(e);
}

static void end(struct real *e)
{
	if (e->driver >= 0)
		close(e->driver);
	if (e->part >= 0)
		close(e->part);
	rig_finish(&e->r);
}

/* ---- both ---- */

static char story[64];

static void same(int64_t real, int64_t model, const char *what)
{
	if (real != model)
		fail_msg("after %s: %s: the engine has %lld, the model %lld", story, what, (long long)real,
			 (long long)model);
}

static void compare(struct real *e, const struct model *m)
{
	struct time_status s;

	time_engine_status(e->r.e, &s);
	same(s.state, m->state, "state");
	same(s.pausing, m->pausing, "pausing");
	same(s.sim_ns, m->sim_ns, "time");
	same(s.scale_e6, m->scale_e6, "scale");
	same(s.steps, m->steps, "steps");
	same(s.has_driver, m->driver, "driver");
	same(s.driver_lost, m->lost, "driver lost");
	same(e->r.jumps, m->jumps, "jumps");
	same(e->r.step_result, m->result, "answer to the step");
	same(e->answers, m->answers, "answers to the driver");
	same(e->answer, m->answer, "last answer to the driver");
	same(e->r.lates, m->lates, "participants named");
	same(e->r.driver_lates, m->driver_lates, "drivers named");
	same(e->r.held, m->present && (m->state == TIME_STEPPING || (m->state == TIME_RUNNING && m->driver)), "hold");
}

static int do_step(struct real *e)
{
	int r = time_engine_step(e->r.e, STEP_NS, rig_step_done, &e->r);

	e->r.step_result = r < 0 ? e->r.step_result : 1;
	return r;
}

static int do_late(struct real *e)
{
	rig_run(&e->r, LATE_NS);
	e->asleep = !e->asleep;
	return 0;
}

static int do_gone(struct real *e)
{
	if (e->driver >= 0)
		close(e->driver);
	e->driver = -1;
	e->asks = false;
	return 0;
}

static int do_leave(struct real *e)
{
	e->asleep = false;
	e->turn = 0;
	if (e->part < 0) {
		join(e);
		return 0;
	}
	close(e->part);
	e->part = -1;
	return 0;
}

static int do_real(struct real *e, enum op op, int64_t scale_e6, bool to_driven)
{
	switch (op) {
	case PAUSE:
		return time_engine_pause(e->r.e);
	case RESUME:
		return time_engine_resume(e->r.e);
	case STEP:
		return do_step(e);
	case SCALE:
		return time_engine_set_scale(e->r.e, scale_e6);
	case SOURCE:
		return time_engine_set_source(e->r.e, source(to_driven ? "play" : "simulation"), false);
	case JUMP:
		send_driver(e, DRIVER_JUMP);
		return 0;
	case GONE:
		return do_gone(e);
	case LATE:
		return do_late(e);
	default:
		return do_leave(e);
	}
}

static int do_model(struct model *m, enum op op, int64_t scale_e6)
{
	switch (op) {
	case PAUSE:
		return pause_it(m);
	case RESUME:
		return resume_it(m);
	case STEP:
		return step_it(m);
	case SCALE:
		return scale_it(m, scale_e6);
	case SOURCE:
		return switch_it(m);
	case JUMP:
		if (may_ask(m))
			ask(m, SET);
		return 0;
	case GONE:
		lose_driver(m);
		return 0;
	case LATE:
		wait_for_late(m);
		return 0;
	default:
		leave(m);
		return 0;
	}
}

/* A driver connects where there is none, and sends a request where it has its answer. */
static void beat(struct real *e, struct model *m)
{
	strcat(story, ".");
	if (m->driven && !m->driver) {
		attach(e);
		m->driver = true;
		m->lost = false;
	}
	send_driver(e, DRIVER_ADVANCE);
	settle(e);
	if (may_ask(m))
		ask(m, ADVANCE);
	compare(e, m);
}

static void play(unsigned sequence, unsigned length, unsigned ops, unsigned beats)
{
	struct model m = { .driven = true, .scale_e6 = SIM_RATE_ONE, .present = true, .awake = true };
	unsigned scales = 0;
	struct real e;

	story[0] = 0;
	begin(&e);
	beat(&e, &m);
	for (unsigned i = 0; i < length; i++, sequence /= ops) {
		enum op op = (enum op)(sequence % ops);
		int64_t scale_e6 = op == SCALE && scales++ % 2 ? FASTER_E6 : 0;
		int r;

		strncat(story, &op_letters[op], 1);
		r = do_real(&e, op, scale_e6, !m.driven);
		settle(&e);
		same(r, do_model(&m, op, scale_e6), "result");
		compare(&e, &m);
		if (beats >> i & 1)
			beat(&e, &m);
	}
	for (unsigned i = 0; i < 3; i++)
		beat(&e, &m);
	end(&e);
}

/* beats: bit n: the driver asks after the operation n. */
static void play_all(unsigned length, unsigned ops, unsigned beats)
{
	unsigned all = 1;

	for (unsigned i = 0; i < length; i++)
		all *= ops;
	for (unsigned sequence = 0; sequence < all; sequence++)
		play(sequence, length, ops, beats);
}

TEST(the_engine_agrees_with_the_model)
{
	play_all(5, EIGHT, 0x08);
}

TEST(a_participant_may_leave_and_join_in_every_state)
{
	for (unsigned beats = 0; beats < 8; beats++)
		play_all(3, OPS, beats);
}

TEST_FULL(the_engine_agrees_with_the_model_with_a_slow_driver)
{
	play_all(5, EIGHT, 0);
}

TEST_FULL(the_engine_agrees_with_the_model_with_a_fast_driver)
{
	play_all(5, EIGHT, 0x1f);
}

TEST_FULL(a_participant_may_leave_and_join_in_further_states)
{
	for (unsigned beats = 0; beats < 16; beats += 5)
		play_all(4, OPS, beats);
}
