/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each fault in each state: at every message of the beginning and at every moment of two steps a host is cut off,
 * restarted, stopped, or lost. Afterwards all take part again and time continues; the rules in model.h hold throughout.
 * Thread: the test's.
 */
#include "unit/linktime/model.h"

#define DELAY_NS    NS_PER_MS
#define RECOVERS_NS (8 * NS_PER_S)

#define FAULTS(X) \
	X(PART_SHORT) /* less than a lease */ \
	X(PART_LONG)  /* more than the deadline */ \
	X(PART_HOST)  /* the time host from all, long */ \
	X(FOLLOWER_RESTARTS) \
	X(HOST_RESTARTS) \
	X(BOTH_RESTART) \
	X(FOLLOWER_STOPS) /* SIGSTOP, longer than the deadline */ \
	X(HOST_STOPS) \
	X(LOSS) /* for a while every other message */ \
	X(FOLLOWER_LEAVES)

enum fault {
#define X(id) id,
	FAULTS(X)
#undef X
		FAULTS_END
};

static const char *const fault_names[] = {
#define X(id) #id,
	FAULTS(X)
#undef X
};

static enum fault fault;
static uint64_t at;
static unsigned seen_states[STEP_CLOSING + 1];
static bool done;

static void begin_fault(struct model *m)
{
	struct node *f = &m->node[1];

	done = true;
	if (f->up)
		seen_states[step_follow_state(f->part)]++;
	switch (fault) {
	case PART_SHORT:
	case PART_LONG:
		model_part(m, 1, 7);
		break;
	case PART_HOST:
		model_part(m, 0, 7);
		break;
	case FOLLOWER_RESTARTS:
		model_crash(m, 1);
		break;
	case HOST_RESTARTS:
		model_crash(m, 0);
		break;
	case BOTH_RESTART:
		model_crash(m, 0);
		model_crash(m, 1);
		break;
	case FOLLOWER_STOPS:
		f->stopped = true;
		break;
	case HOST_STOPS:
		m->node[0].stopped = true;
		break;
	case LOSS:
		m->o.loss = 0.5;
		break;
	default:
		model_leave(m, 1);
	}
}

static void end_fault(struct model *m)
{
	m->o.loss = 0;
	model_heal(m);
	for (uint32_t i = 0; i < 2; i++) {
		struct node *n = &m->node[i];

		if (!n->up) {
			model_start(m, i);
		} else if (n->stopped) {
			n->stopped = false;
			exec_timer_at(&n->tick, exec_now(m->x));
			if (n->gives)
				exec_timer_at(&n->next, exec_now(m->x));
		}
	}
}

static void at_message(struct model *m, uint64_t n, const struct time_msg *msg)
{
	(void)msg;
	if (n == at)
		begin_fault(m);
}

static int64_t lasts(void)
{
	switch (fault) {
	case PART_SHORT:
		return 300 * NS_PER_MS;
	case LOSS:
		return NS_PER_S;
	case PART_LONG:
	case PART_HOST:
	case FOLLOWER_STOPS:
	case HOST_STOPS:
		return 2 * NS_PER_S;
	default:
		return 50 * NS_PER_MS;
	}
}

static bool all_are_in(struct model *m)
{
	return model_all_in(m, 2);
}

/* Where they are stuck. */
static void show(struct model *m)
{
	print_message("step %llu is %s, %llu is committed\n", (unsigned long long)step_host_number(m->node[0].steps),
		      step_host_open(m->node[0].steps) ? "open" : "over",
		      (unsigned long long)step_host_committed(m->node[0].steps));
	for (uint32_t i = 0; i < m->o.hosts; i++) {
		const struct node *n = &m->node[i];

		print_message("%s: %s, step %llu of %llu, in %d, follower's state %d\n", n->name, n->up ? "up" : "down",
			      (unsigned long long)n->ended, (unsigned long long)n->running, n->in,
			      n->part ? (int)step_follow_state(n->part) : -1);
	}
}

/* All take part again, and steps go on with them. */
static void check_recovery(struct model *m)
{
	uint64_t was;

	if (!model_until(m, all_are_in, RECOVERS_NS)) {
		show(m);
		fail_msg("%s at %llu: not all take part again", fault_names[fault], (unsigned long long)at);
	}
	was = m->node[0].ended;
	model_run(m, NS_PER_S);
	if (m->node[0].ended < was + 30) {
		show(m);
		fail_msg("%s at %llu: time does not go on", fault_names[fault], (unsigned long long)at);
	}
	for (uint32_t i = 1; i < m->o.hosts; i++) {
		assert_true(m->node[i].log.steps > 0);
		assert_true(m->node[i].ended + 2 >= m->node[0].ended);
	}
}

static const struct model_options three = { .hosts = 3,
					    .lockstep = true,
					    .deadline_dur_ns = NS_PER_S,
					    .work_dur_ns = 2 * NS_PER_MS,
					    .end_dur_ns = NS_PER_MS,
					    .pace_dur_ns = 20 * NS_PER_MS,
					    .delay_dur_ns = DELAY_NS,
					    .jitter_dur_ns = DELAY_NS / 10,
					    .reorders = true,
					    .drift_e6 = 100 };

static void run_one(uint8_t lookahead, enum step_late late, bool by_message)
{
	struct model_options o = three;
	struct model *m = test_calloc(1, sizeof(*m));

	o.lookahead = lookahead;
	o.late = late;
	o.seed = at + 1000 * fault + 17;
	done = false;
	model_begin(m, &o);
	if (by_message) {
		m->at_message = at_message;
		for (int i = 0; i < 400 && !done; i++)
			model_run(m, 10 * NS_PER_MS);
	} else {
		assert_true(model_until(m, all_are_in, RECOVERS_NS));
		model_run(m, (int64_t)at);
		begin_fault(m);
	}
	assert_true(done);
	model_run(m, lasts());
	end_fault(m);
	check_recovery(m);
	model_end(m);
	test_free(m);
}

static void run_all(uint8_t lookahead, enum step_late late)
{
	unsigned every = test_full() ? 1 : 3;

	for (int f = 0; f < FAULTS_END; f++) {
		fault = (enum fault)f;
		for (at = 1 + (unsigned)f % every; at <= 90; at += every)
			run_one(lookahead, late, true);
		for (at = (unsigned)f % every * 250000; at < 40000000; at += every * 250000)
			run_one(lookahead, late, false);
	}
}

TEST(after_a_fault_in_any_state_all_take_part_again)
{
	run_all(0, STEP_LATE_WAIT);
	for (unsigned i = STEP_OUT; i <= STEP_CLOSING; i++)
		assert_true(seen_states[i] > 0);
}

TEST(after_a_fault_with_late_drop_all_take_part_again)
{
	run_all(0, STEP_LATE_DROP);
}

TEST(after_a_fault_with_lookahead_all_take_part_again)
{
	run_all(2, STEP_LATE_DROP);
}
