/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of other hosts in a step: held until all of them have arrived, then taken in one order, whatever the order
 * of arrival.
 */
#include "support/test.h"

#include "exec.h"
#include "tools/bridge/link/step_inbox.h"

static struct step_inbox *x;

static int start(void **state)
{
	(void)state;
	return step_inbox_create(&x);
}

static int end(void **state)
{
	(void)state;
	step_inbox_destroy(x);
	x = NULL;
	return 0;
}

TEST_PROCESSES()

/* Message `number` of a host and channel, in a step. */
static bool got(uint64_t step, uint64_t host, const char *channel, uint64_t number, void *what)
{
	const struct step_item item = {
		.step = step, .key = { channel, host, number }, .channel = (uint64_t)channel[1], .what = what
	};

	return step_inbox_got(x, &item);
}

static bool missing(uint64_t up_to)
{
	struct step_need what;
	bool ever;

	return step_inbox_missing(x, up_to, &what, &ever);
}

TEST_WITH(a_step_waits_for_its_published_messages, start, end)
{
	int one, two, next;

	step_inbox_begin(x, 4);
	step_inbox_need(x, &(struct step_need){ 5, 7, 'a', 2 });
	assert_true(missing(5));
	assert_false(missing(4));
	assert_true(got(5, 7, "/a", 1, &one));
	assert_true(missing(5));
	assert_true(got(6, 7, "/a", 3, &next)); /* of the next one already */
	assert_true(got(5, 7, "/a", 2, &two));
	assert_false(missing(5));
	assert_ptr_equal(step_inbox_take(x, 5), &one);
	assert_ptr_equal(step_inbox_take(x, 5), &two);
	assert_null(step_inbox_take(x, 5));
	step_inbox_settled(x, 5);
	assert_false(got(5, 7, "/a", 2, &two)); /* again: it is not held */
	assert_ptr_equal(step_inbox_take(x, 6), &next);
}

TEST_WITH(missing_messages_can_be_given_up, start, end)
{
	struct step_need what;
	bool ever = true;

	step_inbox_begin(x, 0);
	step_inbox_need(x, &(struct step_need){ 1, 7, 'a', 3 });
	assert_true(step_inbox_missing(x, 1, &what, &ever));
	assert_false(ever);
	assert_int_equal(what.last, 3);
	step_inbox_give_up(x, &what);
	assert_false(missing(1));
	step_inbox_settled(x, 1);
	step_inbox_need(x, &(struct step_need){ 2, 7, 'a', 4 });
	assert_true(step_inbox_missing(x, 2, &what, &ever));
	assert_true(ever);
}

TEST_WITH(messages_without_a_subscriber_are_dropped, start, end)
{
	int a, b;

	step_inbox_begin(x, 0);
	assert_true(got(1, 7, "/a", 1, &a));
	assert_true(got(1, 7, "/b", 1, &b));
	assert_ptr_equal(step_inbox_take_of(x, "/a"), &a);
	assert_null(step_inbox_take_of(x, "/a"));
	assert_ptr_equal(step_inbox_take(x, 1), &b);
	assert_null(step_inbox_take(x, 1));
}

/* A joining host may receive the others' first messages before it knows from which step on it takes part. */
TEST_WITH(messages_that_arrive_before_joining_are_kept_for_their_step, start, end)
{
	int old, one, two;

	step_inbox_begin(x, 0);
	assert_true(got(4, 7, "/a", 1, &old));
	assert_true(got(5, 7, "/a", 2, &one));
	assert_ptr_equal(step_inbox_take(x, 4), &old);
	step_inbox_begin(x, 4);
	assert_true(got(5, 7, "/a", 3, &two));
	step_inbox_need(x, &(struct step_need){ 5, 7, 'a', 3 });
	assert_false(missing(5));
	assert_ptr_equal(step_inbox_take(x, 5), &one);
	assert_ptr_equal(step_inbox_take(x, 5), &two);
	assert_null(step_inbox_take(x, UINT64_MAX));
}

/* A message is sent again to hosts that may have missed it: a second copy is recognised. */
TEST_WITH(received_messages_are_recognised, start, end)
{
	const struct step_item first = { .step = 5, .key = { "/a", 7, 1 }, .channel = 'a' },
			       second = { .step = 5, .key = { "/a", 7, 2 }, .channel = 'a' };
	int one;

	step_inbox_begin(x, 4);
	assert_false(step_inbox_had(x, &first));
	assert_true(got(5, 7, "/a", 1, &one));
	assert_true(step_inbox_had(x, &first));
	assert_false(step_inbox_had(x, &second));
	step_inbox_settled(x, 5);
	assert_true(step_inbox_had(x, &second));
}

/* ---- any order of arrival, in virtual time ---- */

#define HOSTS 5u
#define EACH  4u
#define STEPS 6u

static struct message {
	struct exec_timer timer;
	uint64_t step, host, number;
	const char *channel;
} all[STEPS][HOSTS][2][EACH];
static unsigned arrived;

static void on_arrival(void *arg)
{
	struct message *m = arg;

	assert_true(got(m->step, m->host, m->channel, m->number, m));
	arrived++;
}

/* xorshift64* */
static int64_t random_dur_ns(void)
{
	static uint64_t state;

	state = state ? state : test_seed(1) * 2 + 1;
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (int64_t)(state * UINT64_C(0x2545f4914f6cdd1d) >> 32) % 1000000;
}

static void send_step(struct exec *e, uint64_t s)
{
	static const char *const channels[] = { "/a", "/b" };

	for (uint64_t h = 0; h < HOSTS; h++)
		for (unsigned c = 0; c < 2; c++) {
			for (unsigned k = 0; k < EACH; k++) {
				struct message *m = &all[s - 1][h][c][k];

				*m = (struct message){ .step = s,
						       .host = h + 1,
						       .number = (s - 1) * EACH + k + 1,
						       .channel = channels[c] };
				exec_timer_init(&m->timer, e, on_arrival, m);
				exec_timer_at(&m->timer, exec_now(e) + random_dur_ns() + 1);
			}
			step_inbox_need(x, &(struct step_need){ s, h + 1, (uint64_t)channels[c][1], s * EACH });
		}
}

/* Whichever message is late, they are taken in the order of (channel, host, number). */
TEST_WITH(the_order_does_not_depend_on_arrival, start, end)
{
	struct exec *e;

	assert_int_equal(exec_sim_create(test_seed(1), 1, &e), 0);
	step_inbox_begin(x, 0);
	for (uint64_t s = 1; s <= STEPS; s++) {
		send_step(e, s);
		(void)exec_sim_run(e, exec_now(e) + 2000000);
		assert_int_equal(arrived, s * HOSTS * 2 * EACH);
		assert_false(missing(s));
		for (unsigned c = 0; c < 2; c++)
			for (unsigned h = 0; h < HOSTS; h++)
				for (unsigned k = 0; k < EACH; k++)
					assert_ptr_equal(step_inbox_take(x, s), &all[s - 1][h][c][k]);
		assert_null(step_inbox_take(x, s));
		step_inbox_settled(x, s);
	}
	exec_destroy(e);
}
