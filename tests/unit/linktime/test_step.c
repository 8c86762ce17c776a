/* SPDX-License-Identifier: Apache-2.0 */
/* Steps over machines, message by message: order, ladder, joins, leaves, limits. Thread: the test's. */
#include "support/test.h"

#include "timeutil.h"
#include "tools/bridge/link/step_follow.h"
#include "tools/bridge/link/step_host.h"

#include <errno.h>

#define MS NS_PER_MS

struct side {
	struct time_msg sent[64]; /* since it was last looked at; exports are none of its own */
	unsigned n;
	uint64_t over, committed, joined_first, advanced;
	unsigned overs, n_exports, alone, outs, lates, drops, joins, lefts;
	uint32_t reason;
	struct step_turn turn;
	char who[TIME_NAME_SIZE];
};

static void on_send(void *ctx, const struct time_msg *m)
{
	struct side *s = ctx;

	assert_true(s->n < 64);
	s->sent[s->n++] = *m;
}

static void on_committed(void *ctx, uint64_t number, const struct step_export *exports, uint32_t n)
{
	struct side *s = ctx;

	assert_int_equal(number, s->committed + 1);
	s->committed = number;
	s->n_exports = n;
	assert_true(!n || exports);
}

static void on_host_over(void *ctx, uint64_t number)
{
	struct side *s = ctx;

	s->over = number;
	s->overs++;
}

static void on_event(void *ctx, enum step_event what, const struct step_member *who)
{
	struct side *s = ctx;

	snprintf(s->who, sizeof(s->who), "%s", who->name);
	s->lates += what == STEP_LATE;
	s->drops += what == STEP_DROPPED_OUT;
	s->joins += what == STEP_JOINED;
	s->lefts += what == STEP_LEFT;
}

static struct side hs;
static struct step_host *host;

static void begin_host(uint8_t lookahead, enum step_late late)
{
	const struct step_host_options o = { .id = 1,
					     .life = 100,
					     .lookahead = lookahead,
					     .deadline_dur_ns = NS_PER_S,
					     .resend_dur_ns = 200 * MS,
					     .late = late,
					     .send = on_send,
					     .committed = on_committed,
					     .over = on_host_over,
					     .event = on_event,
					     .ctx = &hs };

	hs = (struct side){ 0 };
	assert_int_equal(step_host_create(&o, &host), 0);
}

static int end_host(void **state)
{
	(void)state;
	step_host_destroy(host);
	host = NULL;
	return 0;
}

static struct time_msg says(uint64_t id, uint32_t kind)
{
	return (struct time_msg){ .kind = kind, .from = id, .life = id * 1000, .to = 1, .epoch = 100 };
}

static void join(uint64_t id, int64_t now)
{
	struct time_msg m = says(id, TIME_JOIN);

	snprintf(m.join.name, sizeof(m.join.name), "h%d", (int)id);
	m.join.attempt = 1;
	step_host_got(host, now, &m);
}

static void done(uint64_t id, uint64_t number, int64_t now, const struct step_export *e, uint32_t n)
{
	struct time_msg m = says(id, TIME_DONE);

	m.done.number = number;
	m.done.exports = e;
	m.done.n = n;
	step_host_got(host, now, &m);
}

static uint64_t begin_step(int64_t now)
{
	uint64_t number;

	assert_int_equal(step_host_begin(host, now, 10 * MS * (int64_t)(step_host_number(host) + 1), 10 * MS, 5,
					 &number),
			 0);
	return number;
}

static unsigned sent(struct side *s, uint32_t kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++)
		n += s->sent[i].kind == kind;
	return n;
}

TEST_WITH(a_step_ends_when_all_are_done, NULL, end_host)
{
	static const struct step_export e = { .host = 99, .channel = 4, .last = 8 };

	begin_host(0, STEP_LATE_WAIT);
	join(2, 0);
	join(3, 0);
	assert_int_equal(hs.joins, 2);
	assert_int_equal(sent(&hs, TIME_WELCOME), 2);
	assert_int_equal(hs.sent[1].welcome.first, 1);
	assert_int_equal(begin_step(0), 1);
	assert_int_equal(sent(&hs, TIME_GRANT), 1); /* one for all */
	done(2, 1, 1, &e, 1);
	assert_int_equal(step_host_own(host, 2, NULL, 0), 0);
	assert_int_equal(hs.overs, 0);
	done(2, 1, 3, &e, 1); /* again: it does not count twice */
	assert_int_equal(hs.overs, 0);
	done(3, 1, 4, &e, 1);
	assert_int_equal(hs.over, 1);
	assert_int_equal(hs.committed, 1);
	assert_int_equal(hs.n_exports, 2);
	assert_int_equal(hs.sent[hs.n - 1].kind, TIME_COMMIT);
	assert_int_equal(hs.sent[hs.n - 1].commit.exports[0].host, 2); /* whatever host it claimed to be */
	assert_int_equal(hs.sent[hs.n - 1].commit.exports[1].host, 3);
}

TEST_WITH(steps_run_one_after_the_other, NULL, end_host)
{
	uint64_t number;

	begin_host(0, STEP_LATE_WAIT);
	assert_int_equal(step_host_own(host, 0, NULL, 0), -EINVAL);
	assert_int_equal(begin_step(0), 1);
	assert_int_equal(step_host_begin(host, 0, 20 * MS, 10 * MS, 5, &number), -EBUSY);
	assert_int_equal(step_host_own(host, 0, NULL, 0), 0);
	assert_int_equal(hs.over, 1); /* alone it waits for no other host */
	assert_int_equal(step_host_own(host, 0, NULL, 0), -EINVAL);
	assert_int_equal(step_host_begin(host, 0, 5, 10, 5, &number), -EINVAL);
	assert_int_equal(step_host_begin(host, 0, 5, 0, 5, &number), -EINVAL);
}

TEST_WITH(a_host_that_joins_during_a_step_takes_part_from_the_next_on, NULL, end_host)
{
	begin_host(0, STEP_LATE_WAIT);
	begin_step(0);
	join(2, 0);
	join(2, 0); /* said again */
	assert_int_equal(sent(&hs, TIME_WELCOME), 0);
	assert_int_equal(step_host_own(host, 0, NULL, 0), 0);
	assert_int_equal(hs.over, 1);
	assert_int_equal(sent(&hs, TIME_WELCOME), 1);
	assert_int_equal(hs.sent[hs.n - 1].welcome.first, 2);
	assert_int_equal(hs.sent[hs.n - 1].welcome.sim_ns, 10 * MS);
	begin_step(0);
	assert_int_equal(step_host_own(host, 0, NULL, 0), 0);
	assert_int_equal(hs.over, 1);
	done(2, 2, 0, NULL, 0);
	assert_int_equal(hs.over, 2);
}

TEST_WITH(a_host_that_leaves_is_not_waited_for, NULL, end_host)
{
	struct time_msg bye = says(2, TIME_LEAVE);

	begin_host(0, STEP_LATE_WAIT);
	join(2, 0);
	begin_step(0);
	assert_int_equal(step_host_own(host, 0, NULL, 0), 0);
	bye.life++; /* of another run of it */
	step_host_got(host, 0, &bye);
	assert_int_equal(hs.overs, 0);
	bye.life--;
	step_host_got(host, 0, &bye);
	assert_int_equal(hs.over, 1);
	assert_int_equal(hs.lefts, 1);
}

TEST_WITH(lost_messages_are_sent_again, NULL, end_host)
{
	begin_host(0, STEP_LATE_WAIT);
	join(2, 0);
	begin_step(0);
	hs.n = 0;
	assert_int_equal(step_host_due(host), 200 * MS);
	step_host_tick(host, 199 * MS);
	assert_int_equal(hs.n, 0);
	step_host_tick(host, 200 * MS);
	assert_int_equal(sent(&hs, TIME_GRANT), 1);
	assert_int_equal(hs.sent[0].to, 2);
	assert_int_equal(step_host_own(host, 0, NULL, 0), 0);
	done(2, 1, 300 * MS, NULL, 0);
	assert_true(step_host_due(host) == INT64_MAX);
	hs.n = 0;
	done(2, 1, 400 * MS, NULL, 0); /* it has not heard of the commit */
	assert_int_equal(hs.n, 1);
	assert_int_equal(hs.sent[0].kind, TIME_COMMIT);
	assert_int_equal(hs.sent[0].to, 2);
}

static void be_late(enum step_late late)
{
	begin_host(0, late);
	join(2, 0);
	begin_step(0);
	assert_int_equal(step_host_own(host, 0, NULL, 0), 0);
	step_host_tick(host, NS_PER_S - 1);
	assert_int_equal(hs.lates + hs.drops, 0);
	step_host_tick(host, NS_PER_S);
	step_host_tick(host, 3 * NS_PER_S);
}

static struct step_member member(int64_t now)
{
	struct step_member m;

	assert_int_equal(step_host_members(host, now, &m, 1), 1);
	return m;
}

TEST_WITH(with_late_wait_a_late_host_is_shown, NULL, end_host)
{
	be_late(STEP_LATE_WAIT);
	assert_int_equal(hs.lates + hs.drops + hs.overs, 0);
	assert_true(member(3 * NS_PER_S).late);
	assert_int_equal(member(3 * NS_PER_S).waited_dur_ns, 3 * NS_PER_S);
	done(2, 1, 4 * NS_PER_S, NULL, 0);
	assert_false(member(4 * NS_PER_S).late);
	assert_int_equal(hs.over, 1);
}

TEST_WITH(with_late_warn_a_late_host_is_reported_once, NULL, end_host)
{
	be_late(STEP_LATE_WARN);
	assert_int_equal(hs.lates, 1);
	assert_string_equal(hs.who, "h2");
	assert_int_equal(hs.overs, 0);
}

TEST_WITH(with_late_drop_a_late_host_is_dropped_and_notified, NULL, end_host)
{
	be_late(STEP_LATE_DROP);
	assert_int_equal(hs.drops, 1);
	assert_int_equal(hs.over, 1);
	assert_int_equal(sent(&hs, TIME_DROPPED), 1);
	hs.n = 0;
	done(2, 1, 4 * NS_PER_S, NULL, 0); /* too late */
	assert_int_equal(hs.sent[0].kind, TIME_DROPPED);
	assert_int_equal(hs.sent[0].dropped.reason, STEP_UNKNOWN);
}

TEST_WITH(a_lookahead_lets_grants_run_ahead_of_answers, NULL, end_host)
{
	begin_host(2, STEP_LATE_WAIT);
	join(2, 0);
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(begin_step(0), i);
		assert_int_equal(step_host_own(host, 0, NULL, 0), 0);
		assert_int_equal(hs.over, i);
	}
	begin_step(0);
	assert_int_equal(step_host_own(host, 0, NULL, 0), 0);
	assert_int_equal(hs.over, 2); /* 1 is not committed */
	hs.n = 0;
	done(2, 2, 0, NULL, 0); /* 1 was lost: it is asked for */
	assert_int_equal(sent(&hs, TIME_GRANT), 2);
	done(2, 1, 0, NULL, 0);
	assert_int_equal(hs.over, 3);
	assert_int_equal(hs.committed, 1);
	done(2, 2, 0, NULL, 0);
	assert_int_equal(hs.committed, 2);
}

TEST_WITH(a_host_that_exports_too_much_is_dropped_by_name, NULL, end_host)
{
	static struct step_export many[STEP_EXPORTS_MAX + 1];

	begin_host(0, STEP_LATE_WAIT);
	for (uint64_t id = 2; id < 2 + STEP_ALL_EXPORTS_MAX / STEP_EXPORTS_MAX + 1; id++)
		join(id, 0);
	begin_step(0);
	assert_int_equal(step_host_own(host, 0, many, STEP_EXPORTS_MAX + 1), -E2BIG);
	assert_int_equal(step_host_own(host, 0, NULL, 0), 0);
	hs.n = 0;
	for (uint64_t id = 2; id < 2 + STEP_ALL_EXPORTS_MAX / STEP_EXPORTS_MAX + 1; id++)
		done(id, 1, 0, many, STEP_EXPORTS_MAX);
	assert_int_equal(hs.drops, 1);
	assert_string_equal(hs.who, "h18");
	assert_int_equal(sent(&hs, TIME_DROPPED), 1);
	assert_int_equal(hs.over, 1);
	assert_int_equal(hs.n_exports, STEP_ALL_EXPORTS_MAX);
}

TEST_WITH(the_number_of_hosts_is_bounded, NULL, end_host)
{
	begin_host(0, STEP_LATE_WAIT);
	for (uint64_t id = 2; id < 2 + TIME_HOSTS_MAX; id++) {
		hs.n = 0;
		join(id, 0);
	}
	hs.n = 0;
	join(500, 0);
	assert_int_equal(hs.sent[0].kind, TIME_DROPPED);
	assert_int_equal(hs.sent[0].dropped.reason, STEP_FULL);
}

TEST_WITH(messages_about_another_run_are_ignored, NULL, end_host)
{
	struct time_msg m = says(2, TIME_JOIN);

	begin_host(0, STEP_LATE_WAIT);
	strcpy(m.join.name, "h2");
	m.epoch = 99;
	step_host_got(host, 0, &m);
	m.epoch = 100;
	m.to = 3;
	step_host_got(host, 0, &m);
	m.to = 1;
	m.from = 1; /* our own id */
	step_host_got(host, 0, &m);
	assert_int_equal(hs.n, 0);
}

/* ---- the follower ---- */

static struct side fs;
static struct step_follow *part;

static void on_joined(void *ctx, uint64_t first, int64_t sim_ns)
{
	struct side *s = ctx;

	(void)sim_ns;
	s->joined_first = first;
	s->joins++;
	s->committed = first - 1;
}

static void on_out(void *ctx, enum step_reason reason)
{
	struct side *s = ctx;

	s->outs++;
	s->reason = reason;
}

static void on_advance(void *ctx, const struct step_turn *t)
{
	struct side *s = ctx;

	s->turn = *t;
	s->advanced = t->number;
}

static void on_over(void *ctx, uint64_t number, bool alone)
{
	struct side *s = ctx;

	s->over = number;
	s->alone += alone;
	s->overs++;
}

static int begin_follow(void **state)
{
	const struct step_follow_options o = { .id = 2,
					       .life = 2000,
					       .name = "h2",
					       .resend_dur_ns = 200 * MS,
					       .send = on_send,
					       .joined = on_joined,
					       .out = on_out,
					       .advance = on_advance,
					       .committed = on_committed,
					       .over = on_over,
					       .ctx = &fs };

	(void)state;
	fs = (struct side){ 0 };
	return step_follow_create(&o, &part);
}

static int end_follow(void **state)
{
	(void)state;
	step_follow_destroy(part);
	part = NULL;
	return 0;
}

static struct time_msg from_host(uint32_t kind, uint64_t to)
{
	return (struct time_msg){ .kind = kind, .from = 1, .life = 100, .to = to, .epoch = 100 };
}

static void welcome(uint64_t first)
{
	struct time_msg m = from_host(TIME_WELCOME, 2);

	step_follow_host(part, 0, 1, 100, true);
	assert_int_equal(fs.sent[fs.n - 1].kind, TIME_JOIN);
	m.welcome.attempt = fs.sent[fs.n - 1].join.attempt;
	m.welcome.first = first;
	step_follow_got(part, 0, &m);
	assert_int_equal(fs.joined_first, first);
}

static void granted_ahead(uint64_t number, uint8_t lookahead)
{
	struct time_msg m = from_host(TIME_GRANT, 0);

	m.grant.number = number;
	m.grant.sim_ns = 10 * MS * (int64_t)number;
	m.grant.dur_ns = 10 * MS;
	m.grant.lookahead = lookahead;
	step_follow_got(part, 0, &m);
}

static void granted(uint64_t number)
{
	granted_ahead(number, 0);
}

static void committed(uint64_t number)
{
	struct time_msg m = from_host(TIME_COMMIT, 0);

	m.commit.number = number;
	step_follow_got(part, 0, &m);
}

static void told(uint32_t reason)
{
	struct time_msg m = from_host(TIME_DROPPED, 2);

	m.dropped.reason = reason;
	step_follow_got(part, 0, &m);
}

TEST_WITH(a_follower_answers_once_a_step, begin_follow, end_follow)
{
	welcome(8);
	granted(8);
	assert_int_equal(fs.advanced, 8);
	assert_int_equal(fs.turn.from_sim_ns, 70 * MS);
	assert_int_equal(fs.turn.dur_ns, 10 * MS);
	committed(8); /* it has not answered: these are not its own */
	assert_int_equal(fs.overs, 0);
	fs.n = 0;
	assert_int_equal(step_follow_own(part, 0, NULL, 0), 0);
	assert_int_equal(fs.n, 1);
	assert_int_equal(fs.sent[0].kind, TIME_DONE);
	assert_int_equal(fs.overs, 0);
	granted(9); /* so fast is the time host; it has to wait */
	assert_int_equal(fs.advanced, 8);
	committed(8);
	assert_int_equal(fs.over, 8);
	assert_int_equal(fs.advanced, 8);
	step_follow_ended(part, 0);
	assert_int_equal(fs.advanced, 9);
	assert_int_equal(fs.alone, 0);
}

TEST_WITH(a_follower_repeats_messages_that_may_be_lost, begin_follow, end_follow)
{
	step_follow_host(part, 0, 1, 100, true);
	fs.n = 0;
	step_follow_tick(part, 200 * MS);
	assert_int_equal(sent(&fs, TIME_JOIN), 1);
	fs.n = 0;
	step_follow_host(part, 0, 1, 100, true); /* nothing new */
	assert_int_equal(fs.n, 0);
	step_follow_tick(part, 400 * MS);
	welcome(1);
	granted(1);
	assert_true(step_follow_due(part) == INT64_MAX);
	assert_int_equal(step_follow_own(part, NS_PER_S, NULL, 0), 0);
	fs.n = 0;
	assert_int_equal(step_follow_due(part), 1200 * MS);
	step_follow_tick(part, 1200 * MS);
	assert_int_equal(sent(&fs, TIME_DONE), 1);
	granted(1); /* the time host has not heard it either */
	assert_int_equal(sent(&fs, TIME_DONE), 2);
	assert_int_equal(fs.advanced, 1);
}

TEST_WITH(a_dropped_follower_ends_its_step_alone_and_joins_again, begin_follow, end_follow)
{
	for (enum step_follow_state s = STEP_READY; s <= STEP_CLOSING; s++) {
		void *none = NULL;

		end_follow(&none);
		begin_follow(&none);
		welcome(1);
		if (s >= STEP_RUNNING)
			granted(1);
		if (s >= STEP_GATHERED)
			assert_int_equal(step_follow_own(part, 0, NULL, 0), 0);
		if (s >= STEP_CLOSING)
			committed(1);
		assert_int_equal(step_follow_state(part), s);
		fs.n = 0;
		told(STEP_TOO_LATE);
		told(STEP_UNKNOWN);
		assert_int_equal(fs.outs, 1);
		assert_int_equal(fs.reason, STEP_TOO_LATE);
		if (s == STEP_RUNNING)
			assert_int_equal(step_follow_own(part, 0, NULL, 0), 0);
		assert_int_equal(fs.overs, s >= STEP_RUNNING);
		assert_int_equal(fs.alone, s == STEP_RUNNING || s == STEP_GATHERED);
		assert_int_equal(sent(&fs, TIME_DONE), 0);
		step_follow_ended(part, 0);
		assert_int_equal(step_follow_state(part), STEP_OUT);
		assert_int_equal(sent(&fs, TIME_JOIN), 1);
	}
}

TEST_WITH(a_follower_that_exported_too_much_does_not_join_again, begin_follow, end_follow)
{
	welcome(1);
	fs.n = 0;
	told(STEP_TOO_MUCH);
	assert_int_equal(fs.reason, STEP_TOO_MUCH);
	step_follow_tick(part, 100 * NS_PER_S);
	assert_int_equal(fs.n, 0);
	step_follow_host(part, 0, 1, 101, true); /* another run of the time host */
	assert_int_equal(sent(&fs, TIME_JOIN), 1);
}

TEST_WITH(a_grant_for_a_later_step_tells_a_follower_it_is_no_member, begin_follow, end_follow)
{
	welcome(1);
	granted(2);
	assert_int_equal(fs.outs, 1);
	assert_int_equal(step_follow_state(part), STEP_OUT);
}

TEST_WITH(commits_that_arrive_out_of_order_are_kept, begin_follow, end_follow)
{
	welcome(1);
	granted_ahead(1, 2);
	granted_ahead(2, 2);
	granted_ahead(3, 2);
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(step_follow_own(part, 0, NULL, 0), 0);
		assert_int_equal(fs.over, i);
		step_follow_ended(part, 0);
	}
	assert_int_equal(step_follow_own(part, 0, NULL, 0), 0);
	assert_int_equal(fs.over, 2);
	fs.n = 0;
	committed(2); /* 1 is asked for */
	assert_int_equal(fs.committed, 0);
	assert_int_equal(sent(&fs, TIME_DONE), 1);
	assert_int_equal(fs.sent[0].done.number, 1);
	committed(1);
	assert_int_equal(fs.committed, 2);
	assert_int_equal(fs.over, 3);
}

TEST_WITH(without_lock_step_a_follower_does_not_join, begin_follow, end_follow)
{
	step_follow_host(part, 0, 1, 100, false);
	step_follow_tick(part, 10 * NS_PER_S);
	assert_int_equal(fs.n, 0);
	assert_int_equal(fs.outs, 0);
}

TEST_WITH(a_follower_that_leaves_says_so_and_ends_its_step, begin_follow, end_follow)
{
	welcome(1);
	granted(1);
	assert_int_equal(step_follow_own(part, 0, NULL, 0), 0);
	fs.n = 0;
	step_follow_leave(part, 0);
	assert_int_equal(sent(&fs, TIME_LEAVE), 1);
	assert_int_equal(fs.overs, 1);
	step_follow_ended(part, 0);
	step_follow_tick(part, 10 * NS_PER_S);
	assert_int_equal(sent(&fs, TIME_JOIN), 0);
}

TEST(invalid_options_are_refused)
{
	struct step_host_options ho = { .id = 1, .life = 1, .deadline_dur_ns = 1, .resend_dur_ns = 1 };
	struct step_follow_options fo = { .id = 1, .life = 1, .name = "a", .resend_dur_ns = 1 };
	struct step_host *h;
	struct step_follow *f;

	ho.lookahead = STEP_LOOKAHEAD_MAX + 1;
	assert_int_equal(step_host_create(&ho, &h), -EINVAL);
	ho.lookahead = 0;
	ho.deadline_dur_ns = 0;
	assert_int_equal(step_host_create(&ho, &h), -EINVAL);
	fo.resend_dur_ns = 0;
	assert_int_equal(step_follow_create(&fo, &f), -EINVAL);
	fo.resend_dur_ns = 1;
	fo.name = "";
	assert_int_equal(step_follow_create(&fo, &f), -EINVAL);
	step_host_destroy(NULL);
	step_follow_destroy(NULL);
}
