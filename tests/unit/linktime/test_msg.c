/* SPDX-License-Identifier: Apache-2.0 */
/* time_msg.h: written messages are read, and no others. Thread: the test's. */
#include "support/test.h"

#include "rnd.h"
#include "tools/bridge/link/step_order.h"
#include "tools/bridge/link/time_msg.h"

#include <errno.h>

static struct step_export room[STEP_ALL_EXPORTS_MAX], given[STEP_ALL_EXPORTS_MAX + 1];
static unsigned char bytes[TIME_MSG_MAX], again[TIME_MSG_MAX];

static int64_t some_time(struct rnd *r)
{
	return (int64_t)(rnd_u64(r) & ((UINT64_C(1) << 62) - 1));
}

static struct time_state some_state(struct rnd *r)
{
	return (struct time_state){ .sim_ns = some_time(r),
				    .mono_ns = some_time(r),
				    .rate_e6 = rnd_below(r, 100000001),
				    .scale_e6 = rnd_below(r, 100000001),
				    .clock_generation = (uint32_t)rnd_u64(r),
				    .flags = rnd_below(r, 16) };
}

static struct time_msg some_msg(struct rnd *r, uint32_t kind)
{
	struct time_msg m = {
		.kind = kind, .from = rnd_u64(r) | 1, .life = rnd_u64(r) | 1, .to = rnd_u64(r), .epoch = rnd_u64(r)
	};
	uint32_t max = kind == TIME_DONE ? STEP_EXPORTS_MAX : STEP_ALL_EXPORTS_MAX;

	if (kind == TIME_CLAIM) {
		strcpy(m.claim.name, "car-3.lab_B");
		m.claim.since_real_ns = some_time(r);
		m.claim.lockstep = rnd_below(r, 2);
		m.claim.lookahead = (uint8_t)rnd_below(r, STEP_LOOKAHEAD_MAX + 1);
		m.claim.number = rnd_u64(r) >> 1;
		m.claim.at = some_state(r);
	} else if (kind == TIME_ASK) {
		m.ask.seq = rnd_u64(r);
		m.ask.sent_mono_ns = some_time(r);
	} else if (kind == TIME_ANSWER) {
		m.answer.seq = rnd_u64(r);
		m.answer.sent_mono_ns = some_time(r);
		m.answer.came_mono_ns = some_time(r);
		m.answer.left_mono_ns = some_time(r);
	} else if (kind == TIME_JOIN) {
		memset(m.join.name, 'x', TIME_NAME_SIZE - 1);
		m.join.attempt = (uint32_t)rnd_u64(r);
	} else if (kind == TIME_WELCOME) {
		m.welcome.attempt = (uint32_t)rnd_u64(r);
		m.welcome.first = (rnd_u64(r) >> 1) | 1;
		m.welcome.sim_ns = some_time(r);
	} else if (kind == TIME_GRANT) {
		m.grant.number = (rnd_u64(r) >> 1) | 1;
		m.grant.dur_ns = 1 + rnd_below(r, 1000000000);
		m.grant.sim_ns = m.grant.dur_ns + (some_time(r) >> 1);
		m.grant.clock_generation = (uint32_t)rnd_u64(r);
		m.grant.lookahead = (uint8_t)rnd_below(r, STEP_LOOKAHEAD_MAX + 1);
	} else if (kind == TIME_DONE || kind == TIME_COMMIT) {
		m.done.number = (rnd_u64(r) >> 1) | 1;
		m.done.n = rnd_below(r, 4) ? rnd_below(r, 20) : max;
		m.done.exports = given;
		for (uint32_t i = 0; i < m.done.n; i++)
			given[i] =
				(struct step_export){ kind == TIME_DONE ? m.from : rnd_u64(r), rnd_u64(r), rnd_u64(r) };
	} else if (kind == TIME_DROPPED) {
		m.dropped.reason = STEP_UNKNOWN + rnd_below(r, 4);
	}
	return m;
}

TEST(written_messages_read_back)
{
	struct rnd r;

	rnd_seed(&r, test_seed(1));
	for (int i = 0; i < 2000; i++) {
		uint32_t kind = TIME_CLAIM + (uint32_t)i % (TIME_MSG_KINDS_END - TIME_CLAIM);
		struct time_msg m = some_msg(&r, kind), back;
		size_t n = time_msg_write(&m, bytes, sizeof(bytes)), n_again;

		assert_in_range(n, 35, TIME_MSG_MAX);
		if (kind != TIME_COMMIT)
			assert_true(n <= TIME_MSG_SMALL_MAX);
		memset(room, 0xee, sizeof(room));
		assert_int_equal(time_msg_read(bytes, n, room, &back), 0);
		assert_int_equal(back.kind, kind);
		assert_int_equal(back.from, m.from);
		assert_int_equal(back.epoch, m.epoch);
		if (kind == TIME_DONE || kind == TIME_COMMIT)
			assert_memory_equal(room, given, m.done.n * sizeof(*room));
		n_again = time_msg_write(&back, again, sizeof(again));
		assert_int_equal(n_again, n);
		assert_memory_equal(again, bytes, n);
	}
}

TEST(a_truncated_or_overlong_message_is_refused)
{
	struct rnd r;

	rnd_seed(&r, 2);
	for (uint32_t kind = TIME_CLAIM; kind < TIME_MSG_KINDS_END; kind++) {
		struct time_msg m = some_msg(&r, kind), back = { .kind = 99 };
		size_t n;

		if (kind == TIME_DONE || kind == TIME_COMMIT)
			m.done.n = 3;
		n = time_msg_write(&m, bytes, sizeof(bytes));
		for (size_t cut = 0; cut < n; cut++)
			assert_int_equal(time_msg_read(bytes, cut, room, &back), -EINVAL);
		assert_int_equal(time_msg_read(bytes, n + 1, room, &back), -EINVAL);
		assert_int_equal(back.kind, 99); /* only on success */
		bytes[2]++;
		assert_int_equal(time_msg_read(bytes, n, room, &back), -EPROTO);
	}
}

static void is_refused(const struct time_msg *m)
{
	assert_int_equal(time_msg_write(m, bytes, sizeof(bytes)), 0);
}

TEST(invalid_messages_are_not_written)
{
	struct rnd r;
	struct time_msg m, good;

	rnd_seed(&r, 3);
	m = some_msg(&r, TIME_GRANT);
	m.grant.dur_ns = 0;
	is_refused(&m);
	m.grant.dur_ns = m.grant.sim_ns + 1; /* time before 0 */
	is_refused(&m);
	m = some_msg(&r, TIME_GRANT);
	m.grant.number = 0;
	is_refused(&m);
	m = some_msg(&r, TIME_GRANT);
	m.grant.lookahead = STEP_LOOKAHEAD_MAX + 1;
	is_refused(&m);
	good = some_msg(&r, TIME_CLAIM);
	m = good;
	m.claim.at.rate_e6 = -1;
	is_refused(&m);
	m = good;
	m.claim.at.flags = 1u << 20;
	is_refused(&m);
	m = good;
	strcpy(m.claim.name, "a name");
	is_refused(&m);
	m = good;
	m.claim.name[0] = 0;
	is_refused(&m);
	m = good;
	m.life = 0;
	is_refused(&m);
	m = some_msg(&r, TIME_DONE);
	m.done.n = STEP_EXPORTS_MAX + 1;
	is_refused(&m);
	m = some_msg(&r, TIME_COMMIT);
	m.commit.n = STEP_ALL_EXPORTS_MAX + 1;
	is_refused(&m);
	m.kind = TIME_MSG_KINDS_END;
	is_refused(&m);
	assert_string_equal(time_msg_name(m.kind), "?");
	assert_string_equal(time_msg_name(TIME_GRANT), "grant");
}

/* A count is believed only as far as there are bytes. */
TEST(a_count_larger_than_the_message_is_refused)
{
	struct time_msg m = { .kind = TIME_COMMIT, .from = 1, .life = 2, .epoch = 2 }, back;
	size_t n;

	m.commit.number = 1;
	n = time_msg_write(&m, bytes, sizeof(bytes));
	for (uint32_t count = 1; count < 70000; count += 97) {
		memcpy(bytes + n - 4, &count, 4);
		assert_int_equal(time_msg_read(bytes, n, room, &back), -EINVAL);
	}
}

TEST(with_too_little_room_the_size_is_returned_and_nothing_written)
{
	struct rnd r;
	struct time_msg m;
	size_t n;

	rnd_seed(&r, 4);
	m = some_msg(&r, TIME_CLAIM);
	n = time_msg_write(&m, NULL, 0);
	memset(bytes, 0x5a, sizeof(bytes));
	assert_int_equal(time_msg_write(&m, bytes, n - 1), n);
	assert_int_equal(bytes[0], 0x5a);
}

TEST(messages_of_a_step_have_one_order)
{
	static const struct step_key sorted[] = {
		{ "/a", 1, 2 }, { "/a", 1, 3 }, { "/a", 2, 1 }, { "/b", 1, 1 }, { "/z", 2, 9 },
	};

	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 5; j++) {
			int c = step_order(&sorted[i], &sorted[j]);

			assert_int_equal((c > 0) - (c < 0), (i > j) - (i < j));
		}
}
