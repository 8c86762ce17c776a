/* SPDX-License-Identifier: Apache-2.0 */
/* The player in virtual time: order of several logs, when each message is given out, loops, seeks, rates, pauses, bounds. */
#include "support/test.h"

#include "merge.h"
#include "pace.h"
#include "player.h"
#include "rnd.h"
#include "timeutil.h"

#include <errno.h>

#define MS    NS_PER_MS
#define ALL   4096
#define START (1000 * NS_PER_S) /* of the sink's clock */

/* ---- a log in memory ---- */

struct tape {
	int64_t at_ns[ALL];
	size_t size;               /* of each message */
	unsigned n, next, damaged; /* before that message once; 0: none */
	bool said;
	unsigned latched; /* its messages are: so many in turn replace each other; 0: they are not */
	bool off;         /* not wanted now */
};

static uint8_t payload[1 << 16];

static int tape_next(void *input, struct log_message *ret)
{
	struct tape *t = input;

	if (t->damaged && t->next == t->damaged && !t->said) {
		t->said = true;
		return -EBADMSG;
	}
	if (t->next >= t->n || t->off)
		return 0;
	*ret = (struct log_message){
		.channel = 7, .sequence = t->next, .log_time_ns = t->at_ns[t->next], .data = payload, .size = t->size
	};
	t->next++;
	return 1;
}

static int tape_seek(void *input, int64_t log_time_ns)
{
	struct tape *t = input;

	for (t->next = 0; t->next < t->n && t->at_ns[t->next] < log_time_ns; t->next++)
		;
	return 0;
}

static const char *tape_why(void *input)
{
	(void)input;
	return "torn";
}

static const struct merge_input_ops tape_ops = { .next = tape_next, .seek = tape_seek, .why = tape_why };

/* ---- a sink that writes down ---- */

enum what { JUMP, ADVANCE, MESSAGE };

struct event {
	enum what what;
	int64_t log_ns, now_ns, clock_ns;
	uint32_t loop, sequence;
	unsigned input;
};

struct rig {
	struct tape tape[3];
	struct merge *merge;
	struct player *p;
	int64_t now_ns, clock_ns, cost_ns, held_ns; /* of a publish; of the next advance */
	int64_t look_ns, move_ns;                   /* of a look at the clock; of each advance */
	struct rnd rnd;
	int64_t jitter_ns;
	struct event events[4 * ALL];
	unsigned n, messages, ticks, jumps, damages;
};

static struct event *note(struct rig *r, enum what what, int64_t log_ns)
{
	assert_true(r->n < 4 * ALL);
	r->events[r->n] =
		(struct event){ .what = what, .log_ns = log_ns, .now_ns = r->now_ns, .clock_ns = r->clock_ns };
	return &r->events[r->n++];
}

static int64_t sink_now(void *ctx)
{
	struct rig *r = ctx;

	return r->now_ns += r->look_ns;
}

static int64_t sink_wake(void *ctx, int64_t until_ns)
{
	(void)ctx;
	return until_ns;
}

static int sink_jump(void *ctx, int64_t log_ns)
{
	struct rig *r = ctx;

	r->clock_ns = log_ns;
	r->jumps++;
	note(r, JUMP, log_ns);
	return 0;
}

static int sink_advance(void *ctx, int64_t from_ns, int64_t log_ns)
{
	struct rig *r = ctx;

	assert_int_equal(from_ns, r->clock_ns);
	assert_true(log_ns > from_ns);
	r->clock_ns = log_ns;
	r->now_ns += r->held_ns + r->move_ns;
	r->held_ns = 0;
	r->ticks++;
	note(r, ADVANCE, log_ns);
	return 0;
}

static int sink_publish(void *ctx, const struct player_item *item)
{
	struct rig *r = ctx;
	struct event *e;

	assert_true(r->clock_ns >= item->m.log_time_ns);
	e = note(r, MESSAGE, item->m.log_time_ns);
	e->loop = item->loop;
	e->input = item->input;
	e->sequence = item->m.sequence;
	r->messages++;
	r->now_ns += r->cost_ns;
	return 0;
}

static void sink_damaged(void *ctx, unsigned input, const char *why)
{
	struct rig *r = ctx;

	assert_int_equal(input, 1);
	assert_string_equal(why, "torn");
	r->damages++;
}

static bool sink_only_latched(void *ctx, bool only)
{
	struct rig *r = ctx;
	bool any = false;

	for (unsigned i = 0; i < 3; i++)
		any |= only && r->tape[i].latched;
	for (unsigned i = 0; i < 3; i++)
		r->tape[i].off = any && !r->tape[i].latched;
	return any;
}

static bool sink_latched(void *ctx, unsigned input, const struct log_message *m, uint64_t *ret_key)
{
	const struct tape *t = &((struct rig *)ctx)->tape[input];

	assert_true(t->latched && !t->off);
	*ret_key = m->sequence % t->latched;
	return true;
}

static const struct player_sink sink = { .now = sink_now,
					 .wake = sink_wake,
					 .jump = sink_jump,
					 .advance = sink_advance,
					 .publish = sink_publish,
					 .damaged = sink_damaged,
					 .only_latched = sink_only_latched,
					 .latched = sink_latched };

static struct rig *rig(void)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->now_ns = START;
	rnd_seed(&r->rnd, test_seed(17));
	assert_int_equal(merge_create(&r->merge), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(merge_add(r->merge, &tape_ops, &r->tape[i]), 0);
	return r;
}

static void tape_even(struct rig *r, unsigned tape, unsigned n, int64_t first_ns, int64_t period_ns)
{
	for (unsigned i = 0; i < n; i++)
		r->tape[tape].at_ns[i] = first_ns + (int64_t)i * period_ns;
	r->tape[tape].n = n;
}

static void play(struct rig *r, struct player_options o)
{
	o.merge = r->merge;
	o.sink = &sink;
	o.ctx = r;
	o.rate_e6 = o.rate_e6 ? o.rate_e6 : PACE_ONE;
	o.preload_dur_ns = o.preload_dur_ns ? o.preload_dur_ns : 3 * NS_PER_S;
	o.preload_bytes = o.preload_bytes ? o.preload_bytes : 1 << 20;
	assert_int_equal(player_create(&o, &r->p), 0);
}

static void done(struct rig *r)
{
	player_destroy(r->p);
	merge_destroy(r->merge);
	free(r);
}

/* Turn after turn, each wait as long as it should be and up to jitter_ns longer, until something else is to be done. */
static int run(struct rig *r, unsigned messages)
{
	int64_t until_ns = 0;

	for (unsigned i = 0; i < 1000000; i++) {
		int turn;

		if (r->messages >= messages)
			return PLAYER_AGAIN;
		turn = player_turn(r->p, &until_ns);
		assert_true(turn >= 0);
		if (turn == PLAYER_STANDS || turn == PLAYER_OVER)
			return turn;
		if (turn == PLAYER_STARVED)
			while (player_fill(r->p))
				;
		if (turn == PLAYER_WAIT) {
			assert_true(until_ns > r->now_ns);
			r->now_ns =
				until_ns + (r->jitter_ns ? (int64_t)(rnd_u64(&r->rnd) % (uint64_t)r->jitter_ns) : 0);
		}
	}
	fail_msg("it plays without end");
	return 0;
}

static const struct event *message(const struct rig *r, unsigned i)
{
	for (unsigned k = 0; k < r->n; k++)
		if (r->events[k].what == MESSAGE && i-- == 0)
			return &r->events[k];
	fail_msg("no such message");
	return NULL;
}

/* ---- pace ---- */

TEST(a_log_time_is_due_at_one_moment)
{
	struct rnd rnd;

	rnd_seed(&rnd, test_seed(3));
	for (int i = 0; i < 20000; i++) {
		struct pace p = { .base_now_ns = (int64_t)(rnd_u64(&rnd) >> 4),
				  .base_log_ns = (int64_t)(rnd_u64(&rnd) >> 4),
				  .rate_e6 = 1 +
					     (int64_t)(rnd_u64(&rnd) % (uint64_t)(i % 2 ? PACE_ONE : 100 * PACE_ONE)) };
		int64_t log_ns = p.base_log_ns + (int64_t)(rnd_u64(&rnd) >> 30), due_ns = pace_due(&p, log_ns);

		assert_true(pace_log(&p, due_ns) >= log_ns);
		assert_true(pace_log(&p, due_ns - 1) < log_ns);
	}
}

TEST(a_rate_changes_from_the_current_position)
{
	struct pace p = { .base_now_ns = START, .base_log_ns = 50, .rate_e6 = 2 * PACE_ONE };

	pace_set_rate(&p, START + 100, PACE_ONE / 2);
	assert_int_equal(pace_log(&p, START + 100), 250);
	assert_int_equal(pace_due(&p, 300), START + 200);
	pace_shift(&p, 1000);
	assert_int_equal(pace_due(&p, 300), START + 1200);
	assert_int_equal(pace_due(&p, INT64_MAX), INT64_MAX);
	p.rate_e6 = PACE_MAX;
	assert_int_equal(pace_log(&p, INT64_MAX), INT64_MAX);
}

/* ---- merge ---- */

TEST(messages_of_all_logs_are_merged_in_order)
{
	struct rig *r = rig();
	struct log_message m;
	int64_t last_ns = -1;
	unsigned input, last_input = 0, n = 0;

	for (unsigned t = 0; t < 3; t++) {
		int64_t at_ns = 0;

		for (unsigned i = 0; i < 1000; i++)
			r->tape[t].at_ns[i] = at_ns += (int64_t)(rnd_u64(&r->rnd) % 3);
		r->tape[t].n = 1000;
	}
	r->tape[1].damaged = 500;
	for (int got; (got = merge_next(r->merge, &m, &input)) != 0;) {
		if (got < 0) {
			assert_int_equal(got, -EBADMSG);
			assert_int_equal(input, 1);
			assert_string_equal(merge_why(r->merge, input), "torn");
			continue;
		}
		assert_true(m.log_time_ns > last_ns || (m.log_time_ns == last_ns && input >= last_input));
		last_ns = m.log_time_ns;
		last_input = input;
		n++;
	}
	assert_int_equal(n, 3000);
	assert_int_equal(merge_seek(r->merge, 500), 0);
	assert_int_equal(merge_next(r->merge, &m, &input), 1);
	assert_true(m.log_time_ns >= 500 && m.log_time_ns < 520);
	done(r);
}

/* ---- playing ---- */

static void due_when_they_should(int64_t rate_e6)
{
	struct rig *r = rig();

	tape_even(r, 0, 700, 5 * NS_PER_S, 7 * MS);
	tape_even(r, 1, 500, 5 * NS_PER_S + 3, 11 * MS);
	r->jitter_ns = 2 * MS;
	play(r,
	     (struct player_options){
		     .rate_e6 = rate_e6, .begin_ns = 5 * NS_PER_S, .end_ns = 99 * NS_PER_S, .tick_dur_ns = 10 * MS });
	assert_int_equal(run(r, ALL), PLAYER_OVER);
	assert_int_equal(r->messages, 1200);
	assert_int_equal(r->events[0].what, JUMP);
	for (unsigned i = 0; i < 1200; i++) {
		const struct event *e = message(r, i);
		int64_t due_ns = START + (int64_t)((int128)(e->log_ns - 5 * NS_PER_S) * PACE_ONE / rate_e6);

		assert_true(e->now_ns >= due_ns &&
			    e->now_ns <= due_ns + 2 * MS + 1); /* the last as exact as the first */
	}
	done(r);
}

TEST(each_message_is_played_when_it_is_due)
{
	due_when_they_should(PACE_ONE);
	due_when_they_should(PACE_ONE / 3);
	due_when_they_should(5 * PACE_ONE / 2);
}

/*
 * Waking takes up to 60 us, moving time 40, now and then a wake-up a millisecond: a player that wakes early enough is
 * not late for that.
 */
TEST(the_player_wakes_in_time_for_each_message)
{
	struct rig *r = rig();
	unsigned late = 0, first_late = 0;
	int64_t least_ns = INT64_MAX;

	tape_even(r, 0, 2000, 0, 5 * MS);
	r->jitter_ns = 60000;
	r->move_ns = 40000;
	r->look_ns = 50;
	play(r, (struct player_options){ .end_ns = NS_PER_S * 60, .spin = true });
	while (r->messages < 2000) {
		run(r, r->messages + 200);
		r->now_ns += MS;
	}
	for (unsigned i = 0; i < 2000; i++) {
		const struct event *e = message(r, i);

		least_ns = e->now_ns - e->log_ns < least_ns ? e->now_ns - e->log_ns : least_ns;
	}
	for (unsigned i = 0; i < 2000; i++) {
		const struct event *e = message(r, i);
		bool is_late = e->now_ns - e->log_ns - least_ns > 5000;

		late += is_late;
		first_late += is_late && i < 100;
	}
	assert_true(first_late <= 1); /* not: until it is known how long that takes */
	assert_true(late <= 20);
	done(r);
}

TEST(time_moves_between_messages)
{
	struct rig *r = rig();

	tape_even(r, 0, 3, 0, NS_PER_S);
	play(r, (struct player_options){ .end_ns = 2 * NS_PER_S, .tick_dur_ns = 10 * MS });
	assert_int_equal(run(r, ALL), PLAYER_OVER);
	assert_in_range(r->ticks, 190, 210);
	for (unsigned i = 1; i < r->n; i++) /* at the pace of the log */
		if (r->events[i].what == ADVANCE)
			assert_int_equal(r->events[i].now_ns - START, r->events[i].log_ns);
	done(r);
}

TEST(late_messages_are_played_at_once_and_counted)
{
	struct player_status st;
	struct rig *r = rig();

	tape_even(r, 0, 100, 0, MS);
	play(r, (struct player_options){ .end_ns = NS_PER_S, .tick_dur_ns = 10 * MS });
	run(r, 50);
	r->now_ns += 200 * MS; /* the machine was busy elsewhere */
	assert_int_equal(run(r, ALL), PLAYER_OVER);
	assert_int_equal(r->messages, 100);
	player_status(r->p, &st);
	assert_int_equal(st.published, 100);
	assert_int_equal(st.late, 50);
	assert_in_range(st.latest_dur_ns, 199 * MS, 200 * MS);
	assert_true(r->ticks < 60); /* time was moved once for all of them */
	done(r);
}

TEST(time_held_by_others_makes_no_message_late)
{
	struct player_status st;
	struct rig *r = rig();

	tape_even(r, 0, 100, 0, 20 * MS);
	play(r, (struct player_options){ .end_ns = 2 * NS_PER_S, .tick_dur_ns = 10 * MS });
	run(r, 50);
	r->held_ns = 5 * NS_PER_S; /* clock pause */
	assert_int_equal(run(r, ALL), PLAYER_OVER);
	player_status(r->p, &st);
	assert_true(st.late <= 1); /* the one that was due */
	assert_int_equal(message(r, 99)->now_ns, START + 99 * 20 * MS + 5 * NS_PER_S);
	done(r);
}

TEST(a_new_rate_applies_from_the_current_position)
{
	struct rig *r = rig();

	tape_even(r, 0, 101, 0, 10 * MS);
	play(r, (struct player_options){ .end_ns = 2 * NS_PER_S });
	run(r, 51);
	assert_int_equal(message(r, 50)->now_ns, START + 500 * MS);
	assert_int_equal(player_set_rate(r->p, 4 * PACE_ONE), 0);
	assert_int_equal(player_set_rate(r->p, 0), -ERANGE);
	assert_int_equal(run(r, ALL), PLAYER_OVER);
	assert_int_equal(message(r, 100)->now_ns, START + 500 * MS + 125 * MS);
	done(r);
}

TEST(a_pause_makes_nothing_late_and_next_plays_one_message)
{
	struct player_status st;
	struct rig *r = rig();

	tape_even(r, 0, 10, 0, 100 * MS);
	tape_even(r, 1, 10, 0, 100 * MS);
	play(r, (struct player_options){ .end_ns = NS_PER_S, .paused = true });
	assert_int_equal(run(r, ALL), PLAYER_STANDS);
	assert_int_equal(r->messages, 0);
	assert_int_equal(player_next(r->p), 0);
	assert_int_equal(run(r, ALL), PLAYER_STANDS);
	assert_int_equal(r->messages, 1); /* of two of one time */
	player_next(r->p);
	player_next(r->p);
	assert_int_equal(run(r, ALL), PLAYER_STANDS);
	assert_int_equal(r->messages, 3);
	assert_int_equal(r->clock_ns, 100 * MS);
	r->now_ns += 77 * NS_PER_S;
	player_pause(r->p, false);
	assert_int_equal(player_next(r->p), -EBUSY);
	assert_int_equal(run(r, ALL), PLAYER_OVER);
	assert_int_equal(message(r, 3)->now_ns, START + 77 * NS_PER_S);
	assert_int_equal(message(r, 19)->now_ns, START + 77 * NS_PER_S + 800 * MS);
	player_status(r->p, &st);
	assert_int_equal(st.late, 0);
	player_pause(r->p, true);
	assert_int_equal(player_next(r->p), -ENODATA);
	done(r);
}

TEST(a_loop_is_a_jump_and_loses_no_time)
{
	struct rig *r = rig();

	tape_even(r, 0, 11, 30 * NS_PER_S, 10 * MS);
	r->jitter_ns = MS;
	play(r, (struct player_options){ .begin_ns = 30 * NS_PER_S,
					 .end_ns = 30 * NS_PER_S + 100 * MS,
					 .loop = true,
					 .tick_dur_ns = 10 * MS });
	run(r, 1000);
	assert_int_equal(r->jumps, 1 + 999 / 11);
	for (unsigned i = 0; i < 1000; i++) {
		const struct event *e = message(r, i);
		int64_t due_ns = START + (i / 11) * 100 * MS + (i % 11) * 10 * MS;

		assert_int_equal(e->loop, i / 11);
		assert_true(e->now_ns >= due_ns && e->now_ns <= due_ns + MS);
	}
	done(r);
}

TEST(logs_of_one_instant_or_without_messages_can_loop)
{
	struct rig *r = rig();

	tape_even(r, 0, 1, 5, 0);
	play(r, (struct player_options){ .begin_ns = 5, .end_ns = 5, .loop = true });
	run(r, 3);
	assert_int_equal(message(r, 2)->now_ns, START + 2 * MS);
	done(r);
	r = rig();
	play(r, (struct player_options){ .end_ns = 5, .loop = true });
	assert_int_equal(run(r, 1), PLAYER_OVER);
	done(r);
}

TEST(a_seek_is_immediate_also_back_and_in_a_pause)
{
	struct rig *r = rig();

	tape_even(r, 0, 100, 0, 10 * MS);
	play(r, (struct player_options){ .end_ns = 990 * MS, .loop = true });
	run(r, 150); /* in the second loop */
	assert_int_equal(player_seek(r->p, 100 * MS), 0);
	run(r, 151);
	assert_int_equal(message(r, 150)->log_ns, 100 * MS);
	assert_int_equal(message(r, 150)->now_ns, message(r, 149)->now_ns);
	assert_int_equal(r->events[r->n - 2].what, JUMP);
	player_pause(r->p, true);
	assert_int_equal(run(r, ALL), PLAYER_STANDS);
	assert_int_equal(player_seek(r->p, 555 * MS), 0);
	assert_int_equal(run(r, ALL), PLAYER_STANDS);
	assert_int_equal(r->clock_ns, 555 * MS);
	player_pause(r->p, false);
	run(r, 152);
	assert_int_equal(message(r, 151)->log_ns, 560 * MS);
	assert_int_equal(player_seek(r->p, 990 * MS + 1), -ERANGE);
	assert_int_equal(player_seek(r->p, -1), -ERANGE);
	run(r, 152 + 43 + 1); /* on into the next loop */
	assert_int_equal(message(r, 152 + 43)->log_ns, 0);
	done(r);
}

TEST(begin_and_end_may_lie_within_the_log)
{
	struct rig *r = rig();

	tape_even(r, 0, 100, 0, 10 * MS);
	play(r, (struct player_options){ .begin_ns = 205 * MS, .end_ns = 400 * MS, .delay_dur_ns = NS_PER_S });
	assert_int_equal(run(r, ALL), PLAYER_OVER);
	assert_int_equal(r->messages, 20);
	assert_int_equal(message(r, 0)->log_ns, 210 * MS);
	assert_int_equal(message(r, 0)->now_ns, START + NS_PER_S + 5 * MS);
	assert_int_equal(message(r, 19)->log_ns, 400 * MS);
	done(r);
}

/* The next message given out. */
static void comes(struct rig *r, unsigned input, uint32_t sequence, int64_t log_ns)
{
	const struct event *e;

	run(r, r->messages + 1);
	e = message(r, r->messages - 1);
	assert_int_equal(e->input, input);
	assert_int_equal(e->sequence, sequence);
	assert_int_equal(e->log_ns, log_ns);
	assert_int_equal(r->clock_ns, log_ns);
}

TEST(latched_messages_are_played_first_after_begin_loop_and_seek)
{
	struct rig *r = rig();

	tape_even(r, 0, 100, 0, 10 * MS);
	tape_even(r, 1, 4, 15 * MS, 100 * MS); /* 15, 115, 215, 315 */
	tape_even(r, 2, 30, MS, 5 * MS);       /* 1 to 146, of three publishers, say */
	r->tape[1].latched = 1;
	r->tape[2].latched = 3;
	play(r,
	     (struct player_options){ .begin_ns = 205 * MS, .end_ns = 220 * MS, .loop = true, .preload_dur_ns = MS });
	for (unsigned i = 0; i < 2; i++) {
		comes(r, 1, 1, 205 * MS);
		comes(r, 2, 27, 205 * MS);
		comes(r, 2, 28, 205 * MS);
		comes(r, 2, 29, 205 * MS);
		comes(r, 0, 21, 210 * MS);
		comes(r, 1, 2, 215 * MS); /* in its place */
		comes(r, 0, 22, 220 * MS);
	}
	assert_int_equal(message(r, 3)->now_ns, START);
	assert_int_equal(message(r, 4)->now_ns, START + 5 * MS);
	assert_int_equal(player_seek(r->p, 216 * MS), 0);
	comes(r, 2, 27, 216 * MS);
	comes(r, 2, 28, 216 * MS);
	comes(r, 2, 29, 216 * MS);
	comes(r, 1, 2, 216 * MS);
	comes(r, 0, 22, 220 * MS);
	done(r);
}

TEST(before_the_first_message_nothing_is_latched_even_after_an_interrupted_seek)
{
	struct rig *r = rig();

	tape_even(r, 0, 100, 0, 10 * MS);
	tape_even(r, 1, 100, 5 * MS, 10 * MS);
	r->tape[1].latched = 1;
	play(r, (struct player_options){ .end_ns = 990 * MS });
	comes(r, 0, 0, 0);
	comes(r, 1, 0, 5 * MS);
	for (unsigned fills = 0; fills < 60; fills++) { /* where the producer is with it */
		assert_int_equal(player_seek(r->p, 205 * MS), 0);
		for (unsigned i = 0; i < fills; i++)
			(void)player_fill(r->p);
		assert_int_equal(player_seek(r->p, 0), 0);
		comes(r, 0, 0, 0);
		assert_int_equal(player_seek(r->p, 305 * MS), 0);
		for (unsigned i = 0; i < fills; i++)
			(void)player_fill(r->p);
		assert_int_equal(player_seek(r->p, 25 * MS), 0);
		comes(r, 1, 1, 25 * MS);
		comes(r, 1, 2, 25 * MS);
		comes(r, 0, 3, 30 * MS);
	}
	done(r);
}

TEST(held_latched_messages_are_bounded)
{
	struct player_status st;
	struct rig *r = rig();

	tape_even(r, 0, 10, 3000 * MS, MS);
	tape_even(r, 1, 3000, 0, MS);
	r->tape[1].latched = 1500;
	r->tape[1].size = 1000;
	play(r, (struct player_options){ .begin_ns = 3000 * MS, .end_ns = 4000 * MS, .preload_bytes = 50000 });
	while (player_fill(r->p))
		;
	player_status(r->p, &st);
	assert_in_range(st.ahead_bytes, 49000, 51000);
	for (unsigned i = 0; i < 1500; i++)
		comes(r, 1, 1500 + i, 3000 * MS);
	comes(r, 0, 0, 3000 * MS);
	done(r);
}

TEST(in_lockstep_nothing_waits_and_no_tick_is_skipped)
{
	struct rig *r = rig();
	int64_t clock_ns = 0;

	tape_even(r, 0, 50, 0, 35 * MS);
	tape_even(r, 1, 50, 0, 35 * MS);
	play(r, (struct player_options){ .end_ns = 10 * NS_PER_S, .lockstep = true, .tick_dur_ns = 10 * MS });
	assert_int_equal(run(r, ALL), PLAYER_OVER);
	assert_int_equal(r->now_ns, START);
	assert_int_equal(r->messages, 100);
	assert_int_equal(r->ticks, 49 * 4);
	for (unsigned i = 0; i < r->n; i++) {
		const struct event *e = &r->events[i];

		assert_true(e->what != ADVANCE || e->log_ns - clock_ns <= 10 * MS);
		assert_true(e->what != MESSAGE || e->log_ns == clock_ns);
		clock_ns = e->log_ns;
	}
	done(r);
}

TEST(damage_is_named_and_later_messages_are_played)
{
	struct player_status st;
	struct rig *r = rig();

	tape_even(r, 1, 10, 0, MS);
	r->tape[1].damaged = 4;
	play(r, (struct player_options){ .end_ns = NS_PER_S });
	assert_int_equal(run(r, ALL), PLAYER_OVER);
	assert_int_equal(r->messages, 10);
	assert_int_equal(r->damages, 1);
	player_status(r->p, &st);
	assert_int_equal(st.damages, 1);
	done(r);
}

TEST(read_ahead_is_bounded)
{
	struct player_status st;
	struct rig *r = rig();
	unsigned n = 0;

	tape_even(r, 0, 1000, 0, MS);
	r->tape[0].size = 1000;
	play(r, (struct player_options){ .end_ns = NS_PER_S, .preload_bytes = 50000 });
	while (player_fill(r->p))
		n++;
	player_status(r->p, &st);
	assert_in_range(st.ahead_bytes, 49000, 51000);
	assert_int_equal(run(r, ALL), PLAYER_OVER);
	assert_int_equal(r->messages, 1000);
	done(r);

	r = rig();
	tape_even(r, 0, 1000, 0, MS);
	r->tape[0].size = 1000;
	play(r, (struct player_options){ .end_ns = NS_PER_S, .preload_dur_ns = 100 * MS });
	while (player_fill(r->p))
		;
	player_status(r->p, &st);
	assert_in_range(st.ahead_bytes, 99000, 103000);
	done(r);

	r = rig(); /* one that is larger than all */
	tape_even(r, 0, 5, 0, MS);
	r->tape[0].size = sizeof(payload);
	play(r, (struct player_options){ .end_ns = NS_PER_S, .preload_bytes = 1 });
	assert_int_equal(run(r, ALL), PLAYER_OVER);
	assert_int_equal(r->messages, 5);
	done(r);
}

/* ---- threads ---- */

static _Atomic int64_t given;

static int64_t real_now(void *ctx)
{
	(void)ctx;
	return mono_now_ns();
}

static int count_one(void *ctx, const struct player_item *item)
{
	(void)ctx;
	(void)item;
	given++;
	return 0;
}

static int let(void *ctx, int64_t log_ns)
{
	(void)ctx;
	(void)log_ns;
	return 0;
}

static const struct player_sink counter = { .now = real_now, .wake = sink_wake, .jump = let, .publish = count_one };

TEST(other_threads_may_control_the_player)
{
	struct rig *r = rig();
	struct player_options o = { .merge = r->merge,
				    .sink = &counter,
				    .rate_e6 = 20 * PACE_ONE,
				    .end_ns = 4 * NS_PER_S,
				    .preload_dur_ns = 200 * MS,
				    .preload_bytes = 100000,
				    .loop = true };

	for (unsigned t = 0; t < 3; t++) {
		tape_even(r, t, ALL, 0, MS);
		r->tape[t].size = 100;
	}
	given = 0;
	assert_int_equal(player_create(&o, &r->p), 0);
	assert_int_equal(player_start(r->p), 0);
	for (int i = 0; i < 300; i++) {
		assert_int_equal(player_seek(r->p, (int64_t)(rnd_u64(&r->rnd) % 4000) * MS), 0);
		player_pause(r->p, i % 7 == 0);
		(void)player_next(r->p);
		pace_us(500);
	}
	player_pause(r->p, true);
	assert_false(player_over(r->p, 0));
	player_pause(r->p, false);
	AWAIT(given > 2000);
	assert_int_equal(player_stop(r->p), 0);
	assert_true(player_over(r->p, 0));
	done(r);
}

TEST(the_player_thread_ends_at_the_end_of_the_log)
{
	struct rig *r = rig();
	struct player_options o = { .merge = r->merge,
				    .sink = &counter,
				    .rate_e6 = PACE_MAX,
				    .end_ns = 4 * NS_PER_S,
				    .preload_dur_ns = 20 * MS,
				    .preload_bytes = 100000 };

	tape_even(r, 0, 3000, 0, MS);
	given = 0;
	assert_int_equal(player_create(&o, &r->p), 0);
	assert_int_equal(player_start(r->p), 0);
	assert_true(player_over(r->p, 20 * NS_PER_S));
	assert_int_equal(given, 3000);
	assert_int_equal(player_stop(r->p), 0);
	done(r);
}

TEST(invalid_options_are_refused)
{
	struct player *p;

	assert_int_equal(player_create(&(struct player_options){ .rate_e6 = 0 }, &p), -EINVAL);
	assert_int_equal(player_create(&(struct player_options){ .rate_e6 = 1, .begin_ns = 2, .end_ns = 1 }, &p),
			 -EINVAL);
}
