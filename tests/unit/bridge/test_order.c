/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which lanes write in lock-step, with threads for lanes: tickets, lanes that fail, a row that begins again. */
#include "support/test.h"

#include <pthread.h>
#include <string.h>

#include "order.h"
#include "support/wait.h"
#include "timeutil.h"

#define LANES   4
#define TICKETS 2000
#define ROW     (UINT64_C(1) << SIM_LANE_ROW_SHIFT) /* the second one */

static struct host_order order;

static struct lane {
	pthread_t thread;
	struct host_turn turn;
	uint64_t first, last; /* tickets: every LANES-th of them */
	uint64_t base;        /* the ticket that has no predecessor */
	unsigned number;
} lanes[LANES];

static uint64_t written[2 * TICKETS];
static _Atomic unsigned n_written;
static _Atomic unsigned n_asked;

/* Some take long, so that all have to wait for them; some fail before they ask for their turn. */
static void *lane_main(void *arg)
{
	struct lane *l = arg;

	for (uint64_t k = l->first; k <= l->last; k += LANES) {
		struct sim_lane_ticket t = { k, k == l->base ? 0 : k - 1 };

		order_begin(&order, &l->turn, &t, NULL);
		if (k % 97 == 0)
			moment_us(200);
		atomic_fetch_add(&n_asked, 1);
		if (k % 5 != 3) {
			order_wait(&order, &l->turn);
			written[atomic_fetch_add(&n_written, 1)] = k;
		}
		order_pass(&order, &l->turn);
	}
	return NULL;
}

static void start(unsigned i, uint64_t first, uint64_t last, uint64_t base)
{
	lanes[i].first = first + i;
	lanes[i].last = last;
	lanes[i].base = base;
	assert_int_equal(pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]), 0);
}

static void begin(void)
{
	memset(&order, 0, sizeof(order));
	order_init(&order);
	for (unsigned i = 0; i < LANES; i++)
		order_turn_init(&lanes[i].turn);
	n_written = 0;
	n_asked = 0;
}

static void end(void)
{
	for (unsigned i = 0; i < LANES; i++)
		order_turn_finish(&lanes[i].turn);
	order_finish(&order);
}

static void expect_rising(unsigned from)
{
	for (unsigned i = from + 1; i < n_written; i++)
		assert_true(written[i] > written[i - 1]);
}

TEST(lanes_write_in_order)
{
	begin();
	for (unsigned i = LANES; i-- > 0;)
		start(i, 1001, 1000 + TICKETS, 1001);
	for (unsigned i = 0; i < LANES; i++)
		pthread_join(lanes[i].thread, NULL);
	assert_int_equal(n_written, TICKETS * 4 / 5);
	expect_rising(0);
	assert_true(atomic_load(&order.stepping));
	end();
}

/*
 * Messages sent to the last lane are lost with it: the other lanes do not wait for them, and from the next row on all
 * messages are in order again.
 */
TEST(a_failed_lane_is_not_waited_for)
{
	unsigned before;

	begin();
	for (unsigned i = 0; i < LANES - 1; i++)
		start(i, 1, TICKETS, 1);
	AWAIT(atomic_load(&n_asked) >= 5); /* 1, 2, 3; then 5 and 6 behind 4 */
	order_row_ends(&order, true);
	for (unsigned i = 0; i < LANES - 1; i++)
		pthread_join(lanes[i].thread, NULL);
	before = n_written;
	for (unsigned i = LANES; i-- > 0;)
		start(i, ROW + 1, ROW + TICKETS, ROW + 1);
	for (unsigned i = 0; i < LANES; i++)
		pthread_join(lanes[i].thread, NULL);
	assert_int_equal(n_written - before, TICKETS * 4 / 5);
	expect_rising(before);
	end();
}

/* Out of the row: the time that a lane waited is known, and a lane that is next does not wait. */
TEST(the_waiting_time_is_reported)
{
	struct sim_lane_ticket first = { 7, 0 }, second = { 8, 7 };

	begin();
	order_begin(&order, &lanes[1].turn, &second, NULL);
	assert_false(order_is_next(&order, &lanes[1].turn));
	order_begin(&order, &lanes[0].turn, &first, NULL);
	assert_true(order_is_next(&order, &lanes[0].turn));
	order_pass(&order, &lanes[0].turn);
	assert_int_equal(lanes[0].turn.waited_dur_ns, 0);
	assert_true(order_is_next(&order, &lanes[1].turn));
	order_pass(&order, &lanes[1].turn);
	assert_int_equal(lanes[1].turn.waited_dur_ns, 0);
	start(0, 10, 13, 1); /* behind 9 */
	AWAIT(atomic_load(&n_asked) == 1);
	moment_us(2000);
	order_begin(&order, &lanes[1].turn, &(struct sim_lane_ticket){ 9, 8 }, NULL);
	order_pass(&order, &lanes[1].turn);
	pthread_join(lanes[0].thread, NULL);
	assert_true(lanes[0].turn.waited_dur_ns > 0);
	assert_int_equal(written[0], 10);
	end();
}
