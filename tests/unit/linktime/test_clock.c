/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock over machines: the filter, the choice of the host to follow, and the choice of one among several time
 * hosts. Thread: the test's.
 */
#include "unit/linktime/model.h"

#include <errno.h>

#define MS NS_PER_MS

/* ---- the filter ---- */

TEST(four_stamps_give_offset_and_bound)
{
	struct clock_filter f = { 0 };
	struct clock_trip t = {
		.sent_mono_ns = 1000, .came_mono_ns = 501200, .left_mono_ns = 501300, .back_mono_ns = 1500
	};
	struct clock_offset off;

	assert_false(clock_filter_offset(&f, 2000, &off));
	assert_int_equal(clock_filter_add(&f, &t), 0);
	assert_true(clock_filter_offset(&f, 1500, &off));
	assert_int_equal(off.delay_dur_ns, 400); /* 500 there and back, 100 of it in there */
	assert_int_equal(off.ahead_dur_ns, 500000);
	assert_int_equal(off.error_dur_ns, 201);
	assert_true(clock_filter_offset(&f, 1500 + NS_PER_S, &off));
	assert_int_equal(off.error_dur_ns, 201 + 200000); /* 200 us a second */
}

TEST(impossible_stamps_are_refused)
{
	static const struct clock_trip bad[] = { { 10, 5, 5, 9 }, { -1, 5, 5, 9 },        { 1, 5, 4, 9 },
						 { 1, -5, 5, 9 }, { 1, 5, INT64_MAX, 9 }, { 1, 5, 5, INT64_MAX } };
	struct clock_filter f = { 0 };
	struct clock_offset off;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(clock_filter_add(&f, &bad[i]), -EINVAL);
	assert_false(clock_filter_offset(&f, 0, &off));
}

TEST(the_shortest_round_trip_counts_until_it_is_old)
{
	struct clock_filter f = { 0 };
	struct clock_offset off;

	for (int i = 0; i < 200; i++) {
		/* the first one is the best; the others took 1 ms more on the way back */
		int64_t sent = i * 100 * MS, late = i ? MS : 0;
		struct clock_trip t = { sent, sent + 7 * NS_PER_S + 100000, sent + 7 * NS_PER_S + 100000,
					sent + 200000 + late };

		assert_int_equal(clock_filter_add(&f, &t), 0);
		assert_true(clock_filter_offset(&f, t.back_mono_ns, &off));
		/* 0.1 ms + 200 us for each second, against 0.6 ms */
		assert_int_equal(off.delay_dur_ns, i <= 24 ? 200000 : 200000 + MS);
		assert_true(off.error_dur_ns >= llabs(off.ahead_dur_ns - 7 * NS_PER_S));
	}
}

/* With any delays of the network, and with clocks that keep their drift limit, the bound holds. */
TEST(the_offset_stays_within_its_bound)
{
	struct rnd r;

	rnd_seed(&r, test_seed(11));
	for (int run = 0; run < 200; run++) {
		int64_t ahead = (int64_t)rnd_below(&r, 2000000000) - 1000000000 + 100 * NS_PER_S, now = NS_PER_S;
		int32_t drift = (int32_t)rnd_below(&r, 2 * CLOCK_DRIFT_E6 + 1) - CLOCK_DRIFT_E6;
		uint32_t worst = 1 + rnd_below(&r, 20000000);
		struct clock_filter f = { 0 };

		for (int i = 0; i < 200; i++) {
			int64_t there = now + rnd_below(&r, worst), back = there + rnd_below(&r, worst);
			struct clock_trip t = { .sent_mono_ns = now,
						.came_mono_ns = ahead + there + there / 1000000 * drift,
						.back_mono_ns = back };
			struct clock_offset off;

			t.left_mono_ns = t.came_mono_ns;
			assert_int_equal(clock_filter_add(&f, &t), 0);
			now = back + rnd_below(&r, 300000000);
			assert_true(clock_filter_offset(&f, now, &off));
			assert_true(llabs(ahead + now / 1000000 * drift - off.ahead_dur_ns) <=
				    off.error_dur_ns + drift + 2 * CLOCK_DRIFT_E6);
		}
	}
}

/* ---- time hosts ---- */

struct heard {
	struct time_msg last;
	unsigned n[TIME_MSG_KINDS_END];
	struct clock_told told;
	unsigned n_told, n_found, n_lost, n_changed;
	enum clock_host_state state;
	char other[TIME_NAME_SIZE], why[160], host[TIME_NAME_SIZE];
};

static void h_send(void *ctx, const struct time_msg *m)
{
	struct heard *h = ctx;

	h->last = *m;
	h->n[m->kind]++;
}

static void h_changed(void *ctx, enum clock_host_state state, const char *other)
{
	struct heard *h = ctx;

	h->state = state;
	h->n_changed++;
	snprintf(h->other, sizeof(h->other), "%s", other ? other : "");
}

static void h_told(void *ctx, const struct clock_told *t)
{
	struct heard *h = ctx;

	h->told = *t;
	h->n_told++;
}

static void h_found(void *ctx, const struct clock_time_host *host)
{
	struct heard *h = ctx;

	h->n_found++;
	snprintf(h->host, sizeof(h->host), "%s", host->name);
}

static void h_lost(void *ctx, const char *why)
{
	struct heard *h = ctx;

	h->n_lost++;
	snprintf(h->why, sizeof(h->why), "%s", why);
}

static struct clock_host *make_host(struct heard *h, uint64_t id, const char *name)
{
	const struct clock_host_options o = { .id = id,
					      .life = id * 10,
					      .name = name,
					      .lease_dur_ns = NS_PER_S,
					      .send = h_send,
					      .changed = h_changed,
					      .ctx = h };
	struct clock_host *ret;

	assert_int_equal(clock_host_create(&o, 0, &ret), 0);
	return ret;
}

static struct clock_follow *make_follow(struct heard *h, const char *host)
{
	const struct clock_follow_options o = { .id = 9,
						.life = 90,
						.host = host,
						.lease_dur_ns = NS_PER_S,
						.ask_dur_ns = 100 * MS,
						.send = h_send,
						.told = h_told,
						.found = h_found,
						.lost = h_lost,
						.ctx = h };
	struct clock_follow *ret;

	assert_int_equal(clock_follow_create(&o, 0, &ret), 0);
	return ret;
}

static const struct time_state runs = { .sim_ns = 5 * NS_PER_S,
					.rate_e6 = 1000000,
					.scale_e6 = 1000000,
					.clock_generation = 3,
					.flags = TIME_HAS_STARTED };

TEST(a_time_host_listens_before_it_claims_and_resigns_at_its_end)
{
	struct heard h = { 0 };
	struct clock_host *c = make_host(&h, 1, "a");

	clock_host_set(c, 10 * MS, 77, &runs);
	assert_int_equal(h.n[TIME_CLAIM], 0);
	clock_host_tick(c, 999 * MS);
	assert_int_equal(clock_host_state(c), CLOCK_LISTENING);
	assert_int_equal(clock_host_due(c), NS_PER_S);
	clock_host_tick(c, NS_PER_S);
	assert_int_equal(h.state, CLOCK_GIVING);
	assert_int_equal(h.n[TIME_CLAIM], 1);
	assert_string_equal(h.last.claim.name, "a");
	assert_int_equal(h.last.claim.at.sim_ns, 5 * NS_PER_S);
	clock_host_tick(c, clock_host_due(c));
	assert_int_equal(h.n[TIME_CLAIM], 2);
	clock_host_set(c, 1500 * MS, 77, &runs); /* a change is reported at once */
	assert_int_equal(h.n[TIME_CLAIM], 3);
	clock_host_resign(c);
	assert_int_equal(h.n[TIME_RESIGN], 1);
	clock_host_tick(c, 100 * NS_PER_S);
	assert_int_equal(h.n[TIME_CLAIM], 3);
	assert_true(clock_host_due(c) == INT64_MAX);
	clock_host_destroy(c);
}

TEST(a_second_time_host_is_refused_by_name)
{
	struct heard ha = { 0 }, hb = { 0 };
	struct clock_host *a = make_host(&ha, 1, "lab"), *b = make_host(&hb, 2, "car");

	clock_host_set(a, 0, 500, &runs);
	clock_host_set(b, 0, 500, &runs);
	clock_host_tick(a, NS_PER_S);
	clock_host_got(b, NS_PER_S - 1, &ha.last);
	assert_int_equal(hb.state, CLOCK_REFUSED);
	assert_string_equal(hb.other, "lab");
	clock_host_got(b, 1500 * MS, &ha.last);
	clock_host_tick(b, 2400 * MS); /* it is still heard */
	assert_int_equal(hb.n_changed, 1);
	assert_int_equal(hb.n[TIME_CLAIM], 0);
	clock_host_resign(a);
	clock_host_got(b, 2450 * MS, &ha.last);
	assert_int_equal(hb.state, CLOCK_LISTENING);
	clock_host_tick(b, 3450 * MS);
	assert_int_equal(hb.state, CLOCK_GIVING);
	clock_host_destroy(a);
	clock_host_destroy(b);
}

/* Both began while they did not receive each other. Their clocks disagree, but their claims can be compared. */
TEST(of_two_claiming_hosts_the_first_stays)
{
	for (int later = 0; later < 2; later++) {
		struct heard ha = { 0 }, hb = { 0 };
		struct clock_host *a = make_host(&ha, 7, "a"), *b = make_host(&hb, 8, "b");
		struct time_msg from_a, from_b;

		clock_host_set(a, 0, 1000, &runs);
		clock_host_set(b, 0, later ? 900 : 1000, &runs); /* earlier by its own clock, or at the same moment */
		clock_host_tick(a, NS_PER_S);
		clock_host_tick(b, NS_PER_S);
		from_a = ha.last;
		from_b = hb.last;
		clock_host_got(a, 5 * NS_PER_S, &from_b);
		clock_host_got(b, 5 * NS_PER_S, &from_a);
		assert_int_equal(ha.state, later ? CLOCK_REFUSED : CLOCK_GIVING);
		assert_int_equal(hb.state, later ? CLOCK_GIVING : CLOCK_REFUSED);
		assert_string_equal(later ? ha.other : hb.other, later ? "b" : "a");
		assert_int_equal((later ? ha : hb).n[TIME_RESIGN], 1); /* its followers are notified */
		clock_host_destroy(a);
		clock_host_destroy(b);
	}
}

/* ---- followers ---- */

static struct time_msg a_claim(uint64_t id, uint64_t life, const char *name, const struct time_state *at)
{
	struct time_msg m = { .kind = TIME_CLAIM, .from = id, .life = life, .epoch = life };

	snprintf(m.claim.name, sizeof(m.claim.name), "%s", name);
	m.claim.since_real_ns = (int64_t)life;
	m.claim.at = *at;
	return m;
}

/* It asked at its last ask; the answer has come now. */
static void answer(struct clock_follow *f, struct heard *h, int64_t now, int64_t ahead)
{
	struct time_msg m = {
		.kind = TIME_ANSWER, .from = h->last.to, .life = h->last.epoch, .to = 9, .epoch = h->last.epoch
	};

	assert_int_equal(h->last.kind, TIME_ASK);
	m.answer.seq = h->last.ask.seq;
	m.answer.sent_mono_ns = h->last.ask.sent_mono_ns;
	m.answer.came_mono_ns = m.answer.left_mono_ns = (h->last.ask.sent_mono_ns + now) / 2 + ahead;
	clock_follow_got(f, now, &m);
}

TEST(a_follower_reports_its_hosts_time_on_its_own_clock)
{
	struct heard h = { 0 };
	struct clock_follow *f = make_follow(&h, NULL);
	struct time_state at = runs;
	struct time_msg claim;

	at.mono_ns = 900 * NS_PER_S;
	claim = a_claim(1, 10, "lab", &at);
	clock_follow_got(f, 10 * MS, &claim);
	assert_string_equal(h.host, "lab");
	assert_int_equal(h.n_told, 0); /* it does not know what those 900 s are here */
	answer(f, &h, 12 * MS, 900 * NS_PER_S - 5 * MS);
	assert_int_equal(h.n_told, 1);
	assert_true(h.told.jump);
	assert_int_equal(h.told.mono_ns, 12 * MS);
	assert_int_equal(h.told.sim_ns, 5 * NS_PER_S + 7 * MS);
	assert_int_equal(h.told.error_dur_ns, MS + 1);
	clock_follow_tick(f, clock_follow_due(f));
	answer(f, &h, 114 * MS, 900 * NS_PER_S - 5 * MS);
	assert_false(h.told.jump);
	assert_int_equal(h.told.sim_ns, 5 * NS_PER_S + 109 * MS);

	/* its time jumps; half as fast from then on */
	at.clock_generation++;
	at.sim_ns = NS_PER_S;
	at.rate_e6 = 500000;
	at.mono_ns += 200 * MS;
	claim = a_claim(1, 10, "lab", &at);
	clock_follow_got(f, 207 * MS, &claim);
	assert_true(h.told.jump);
	assert_int_equal(h.told.sim_ns, NS_PER_S + MS);
	at.mono_ns -= 50 * MS; /* overtaken on its way */
	at.rate_e6 = 1000000;
	claim = a_claim(1, 10, "lab", &at);
	clock_follow_got(f, 209 * MS, &claim);
	assert_int_equal(h.told.rate_e6, 500000);
	clock_follow_destroy(f);
}

TEST(unsolicited_answers_are_refused)
{
	struct heard h = { 0 };
	struct clock_follow *f = make_follow(&h, NULL);
	struct time_msg claim = a_claim(1, 10, "lab", &runs),
			m = { .kind = TIME_ANSWER, .from = 1, .life = 10, .to = 9, .epoch = 10 };

	clock_follow_got(f, 10 * MS, &claim);
	m.answer.seq = h.last.ask.seq + 8;
	clock_follow_got(f, 11 * MS, &m);
	assert_int_equal(h.n_told, 0);
	m.answer.seq = h.last.ask.seq;
	m.answer.sent_mono_ns = h.last.ask.sent_mono_ns - 1; /* not what we have sent */
	clock_follow_got(f, 11 * MS, &m);
	assert_int_equal(h.n_told, 0);
	assert_int_equal(clock_follow_refused(f), 1);
	m.answer.sent_mono_ns++;
	clock_follow_got(f, 11 * MS, &m); /* the question is answered already */
	assert_int_equal(h.n_told, 0);
	clock_follow_destroy(f);
}

TEST(a_lost_host_stops_time_with_a_log_line)
{
	struct heard h = { 0 };
	struct clock_follow *f = make_follow(&h, NULL);
	struct time_msg lab = a_claim(1, 10, "lab", &runs), car = a_claim(2, 20, "car", &runs), bye = lab;

	clock_follow_got(f, 0, &lab);
	answer(f, &h, MS, 0);
	clock_follow_got(f, 500 * MS, &car); /* it follows one */
	assert_string_equal(h.host, "lab");
	clock_follow_tick(f, 1000 * MS);
	assert_int_equal(h.n_lost, 0);
	clock_follow_tick(f, 1001 * MS);
	assert_int_equal(h.n_lost, 1);
	assert_string_equal(h.why, "the time host lab is not heard: time holds until it is back");
	clock_follow_got(f, 1100 * MS, &lab); /* it is back: no jump */
	assert_int_equal(h.n_found, 2);
	assert_false(h.told.jump);
	bye.kind = TIME_RESIGN;
	clock_follow_got(f, 1200 * MS, &bye);
	assert_string_equal(h.why, "the time host lab no longer gives time: time holds until it is back");
	clock_follow_got(f, 1300 * MS, &car); /* any may be followed: another time begins */
	assert_string_equal(h.host, "car");
	answer(f, &h, 1301 * MS, 0);
	assert_true(h.told.jump);
	clock_follow_destroy(f);
}

TEST(only_the_configured_host_is_followed)
{
	struct heard h = { 0 };
	struct clock_follow *f = make_follow(&h, "car");
	struct time_msg lab = a_claim(1, 10, "lab", &runs), car = a_claim(2, 20, "car", &runs);

	clock_follow_got(f, 0, &lab);
	assert_int_equal(h.n_found, 0);
	assert_true(clock_follow_due(f) == INT64_MAX);
	clock_follow_got(f, 0, &car);
	assert_string_equal(h.host, "car");
	clock_follow_tick(f, 2 * NS_PER_S);
	clock_follow_got(f, 2 * NS_PER_S, &lab);
	assert_string_equal(h.host, "car");
	clock_follow_destroy(f);
}

/* It runs again before its lease has ended; late messages of its earlier run are ignored. */
TEST(a_restarted_host_is_a_new_one)
{
	struct heard h = { 0 };
	struct clock_follow *f = make_follow(&h, NULL);
	struct time_msg first = a_claim(1, 10, "lab", &runs), second = a_claim(1, 11, "lab", &runs);

	clock_follow_got(f, 0, &first);
	answer(f, &h, MS, 0);
	clock_follow_got(f, 100 * MS, &second);
	assert_int_equal(h.n_found, 2);
	answer(f, &h, 101 * MS, 0);
	assert_true(h.told.jump);
	clock_follow_got(f, 102 * MS, &first);
	assert_int_equal(h.n_found, 2);
	clock_follow_destroy(f);
}

/* A claim with a time that the answering clock cannot have had. */
TEST(impossible_times_are_refused)
{
	struct heard h = { 0 };
	struct clock_follow *f = make_follow(&h, NULL);
	struct time_state at = runs;
	struct time_msg claim;

	at.mono_ns = TIME_AT_MAX_NS;
	at.rate_e6 = 100000000;
	claim = a_claim(1, 10, "lab", &at);
	clock_follow_got(f, 0, &claim);
	answer(f, &h, MS, 0);
	assert_int_equal(h.n_told, 0);
	assert_int_equal(clock_follow_refused(f), 1);
	at.mono_ns = 0;
	at.sim_ns = TIME_AT_MAX_NS;
	claim = a_claim(1, 12, "lab", &at);
	clock_follow_got(f, 2 * MS, &claim);
	answer(f, &h, 3 * MS, 0);
	assert_int_equal(h.n_told, 0);
	clock_follow_destroy(f);
}

TEST(invalid_options_are_refused)
{
	struct clock_host_options ho = { .id = 1, .life = 1, .name = "a", .lease_dur_ns = 1 };
	struct clock_follow_options fo = { .id = 1, .life = 1, .lease_dur_ns = 1, .ask_dur_ns = 1 };
	struct clock_follow *f;
	struct clock_host *h;

	ho.name = "";
	assert_int_equal(clock_host_create(&ho, 0, &h), -EINVAL);
	ho.name = "0123456789012345678901234567890123456789";
	assert_int_equal(clock_host_create(&ho, 0, &h), -EINVAL);
	ho.name = "a";
	ho.lookahead = STEP_LOOKAHEAD_MAX + 1;
	assert_int_equal(clock_host_create(&ho, 0, &h), -EINVAL);
	fo.ask_dur_ns = 0;
	assert_int_equal(clock_follow_create(&fo, 0, &f), -EINVAL);
	fo.ask_dur_ns = 1;
	fo.life = 0;
	assert_int_equal(clock_follow_create(&fo, 0, &f), -EINVAL);
	clock_host_destroy(NULL);
	clock_follow_destroy(NULL);
}
