/* SPDX-License-Identifier: Apache-2.0 */
/* Requests complete in the order of their starts, once; what happens when it is full, resized, cancelled, and inside callbacks. */
#include "fixture.h"

static struct fixture f;

static void create(enum sim_readback_full full)
{
	fixture_options(&f);
	f.o.full = full;
	fixture_create(&f);
}

TEST(requests_complete_in_the_order_of_their_starts)
{
	create(SIM_READBACK_REFUSE);
	for (uint32_t i = 0; i < 3; i++)
		assert_ok(fixture_start(&f, 100 + i));
	assert_int_equal(sim_readback_process(f.rb), 0);
	stand_in_finish(&f.dev, 3);
	stand_in_finish(&f.dev, 2);
	assert_int_equal(sim_readback_process(f.rb), 0);
	stand_in_finish(&f.dev, 1);
	assert_int_equal(sim_readback_process(f.rb), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(f.number[i], i + 1);
		assert_int_equal(f.result[i], 0);
		assert_int_equal(f.mine[i], 100 + i);
		assert_int_equal(f.copies[i], 0);
		assert_int_equal(f.capture_sim_ns[i], 77);
		assert_true(f.good[i]);
		assert_string_equal(f.why[i], "");
	}
	assert_int_equal(fixture_counters(&f).completed, 3);
	assert_int_equal(fixture_counters(&f).copies, 0);
	fixture_destroy(&f);
}

TEST(without_direct_writing_each_request_is_copied_once_in_order)
{
	create(SIM_READBACK_REFUSE);
	f.dev.direct = false;
	for (unsigned round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 3; i++)
			assert_ok(fixture_start(&f, i));
		stand_in_finish(&f.dev, 3 * round + 2);
		sim_readback_process(f.rb);
		stand_in_finish_all(&f.dev);
		assert_ok(sim_readback_drain(f.rb, -1));
		assert_int_equal(f.n, 3);
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(f.number[i], 3 * round + i + 1);
			assert_int_equal(f.copies[i], 1);
			assert_true(f.good[i]);
		}
		f.n = 0;
	}
	assert_int_equal(fixture_counters(&f).copies, 60);
	fixture_destroy(&f);
}

TEST(when_full_refuse_refuses_the_new_request)
{
	create(SIM_READBACK_REFUSE);
	for (uint32_t i = 0; i < 3; i++)
		assert_ok(fixture_start(&f, i));
	assert_int_equal(fixture_start(&f, 3), -EAGAIN);
	assert_non_null(strstr(sim_readback_why(), "3 requests"));
	assert_int_equal(fixture_counters(&f).dropped, 1);
	stand_in_finish_all(&f.dev);
	assert_int_equal(sim_readback_process(f.rb), 3);
	assert_ok(fixture_start(&f, 4));
	fixture_destroy(&f);
}

TEST(when_full_drop_newest_drops_the_newest_request)
{
	create(SIM_READBACK_DROP_NEWEST);
	for (uint32_t i = 0; i < 3; i++)
		assert_ok(fixture_start(&f, i));
	assert_int_equal(fixture_start(&f, 3), 1);
	assert_int_equal(fixture_start(&f, 4), 1);
	assert_int_equal(fixture_counters(&f).dropped, 2);
	assert_int_equal(fixture_counters(&f).started, 3);
	stand_in_finish_all(&f.dev);
	assert_int_equal(sim_readback_process(f.rb), 3);
	assert_int_equal(f.mine[2], 2);
	fixture_destroy(&f);
}

TEST(when_full_drop_oldest_drops_the_oldest_request)
{
	create(SIM_READBACK_DROP_OLDEST);
	f.dev.abandons = true;
	for (uint32_t i = 0; i < 5; i++)
		assert_ok(fixture_start(&f, i));
	assert_int_equal(f.n, 0); /* not inside the start */
	assert_int_equal(f.slots.out, 3);
	stand_in_finish_all(&f.dev);
	assert_int_equal(sim_readback_process(f.rb), 5);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(f.number[i], i + 1);
		assert_int_equal(f.result[i], i < 2 ? -ECANCELED : 0);
	}
	assert_non_null(strstr(f.why[0], "dropped for a newer one"));
	assert_int_equal(fixture_counters(&f).dropped, 2);
	assert_int_equal(fixture_counters(&f).failed, 2);
	fixture_destroy(&f);
}

/* The device still writes the dropped image: its slot stays loaned until that is done. */
TEST(a_dropped_slot_stays_loaned_until_the_device_has_written)
{
	create(SIM_READBACK_DROP_OLDEST);
	for (uint32_t i = 0; i < 6; i++)
		assert_ok(fixture_start(&f, i));
	assert_int_equal(f.slots.out, 6);
	assert_int_equal(sim_readback_process(f.rb), 3);
	assert_int_equal(f.slots.out, 6);
	assert_int_equal(fixture_start(&f, 6), 0);
	assert_int_equal(f.slots.out, 7);
	/* now so many are kept that the newest is dropped */
	assert_int_equal(fixture_start(&f, 7), 1);
	assert_int_equal(fixture_counters(&f).dropped, 5);
	stand_in_finish_all(&f.dev);
	assert_int_equal(sim_readback_process(f.rb), 4);
	assert_int_equal(f.slots.out, 0);
	assert_true(f.good[6]);
	fixture_destroy(&f);
}

TEST(a_resize_keeps_pending_requests)
{
	static const struct sim_readback_shape large = { .format = SIM_READBACK_RGBA8,
							 .width = 2 * W,
							 .height = 2 * H };
	static const struct sim_readback_shape padded = {
		.format = SIM_READBACK_RGBA8, .width = W, .height = H, .row_pitch = 4 * W + 16
	};

	create(SIM_READBACK_REFUSE);
	for (int direct = 0; direct < 2; direct++) {
		f.dev.direct = direct;
		assert_ok(sim_readback_resize(f.rb, &f.o.shape));
		assert_ok(fixture_start(&f, W * H * 4));
		assert_ok(sim_readback_resize(f.rb, &large));
		assert_ok(fixture_start(&f, 0));
		assert_ok(sim_readback_resize(f.rb, &padded));
		assert_ok(fixture_start(&f, 0));
		stand_in_finish_all(&f.dev);
		assert_ok(sim_readback_drain(f.rb, -1));
		assert_int_equal(f.n, 3);
		for (unsigned i = 0; i < 3; i++)
			assert_true(f.result[i] == 0 && f.good[i]);
		f.n = 0;
	}
	fixture_destroy(&f);
}

TEST(one_or_all_requests_can_be_cancelled)
{
	create(SIM_READBACK_REFUSE);
	for (uint32_t i = 0; i < 3; i++)
		assert_ok(fixture_start(&f, i));
	assert_int_equal(sim_readback_cancel(f.rb, 9), -ENOENT);
	assert_int_equal(sim_readback_cancel(f.rb, 2), 1);
	assert_int_equal(sim_readback_cancel(f.rb, 2), -ENOENT);
	assert_int_equal(f.n, 0); /* its turn comes after the first */
	stand_in_finish(&f.dev, 1);
	assert_int_equal(sim_readback_process(f.rb), 2);
	assert_int_equal(f.result[0], 0);
	assert_int_equal(f.result[1], -ECANCELED);
	assert_non_null(strstr(f.why[1], "sim_readback_cancel"));
	assert_int_equal(sim_readback_cancel(f.rb, 0), 1);
	assert_int_equal(f.n, 3);
	assert_int_equal(f.slots.out, 2); /* which the device still writes */
	assert_int_equal(sim_readback_cancel(f.rb, 0), 0);
	stand_in_finish_all(&f.dev);
	sim_readback_process(f.rb);
	assert_int_equal(f.slots.out, 0);
	assert_int_equal(fixture_counters(&f).cancelled, 2);
	fixture_destroy(&f);
}

/* Memory of the caller is not returned while the device, or the worker, may write it. */
TEST(a_cancelled_request_into_the_callers_memory_is_waited_for)
{
	fixture_options(&f);
	f.o.publisher = NULL;
	f.o.head = 0;
	fixture_create(&f);
	assert_ok(fixture_start(&f, 0));
	assert_int_equal(sim_readback_cancel(f.rb, 0), 1);
	assert_int_equal(f.n, 0);
	stand_in_finish_all(&f.dev);
	assert_int_equal(sim_readback_process(f.rb), 1);
	assert_int_equal(f.result[0], -ECANCELED);
	/* into memory of its own: the caller's is not written */
	f.dev.direct = false;
	assert_ok(fixture_start(&f, 1));
	assert_int_equal(sim_readback_cancel(f.rb, 0), 1);
	assert_int_equal(f.n, 2);
	fixture_destroy(&f);
}

static void start_another(struct fixture *x, struct sim_readback_ticket *t)
{
	if (t->number < 5)
		assert_ok(fixture_start(x, 0));
	assert_int_equal(sim_readback_process(x->rb), -EDEADLK);
	assert_int_equal(sim_readback_drain(x->rb, 0), -EDEADLK);
	assert_int_equal(sim_readback_cancel(x->rb, 0), -EDEADLK);
	assert_int_equal(sim_readback_resize(x->rb, &x->o.shape), -EDEADLK);
	sim_readback_destroy(x->rb); /* nothing */
}

TEST(a_callback_may_start_another_request)
{
	create(SIM_READBACK_REFUSE);
	f.o.in_flight = 1;
	f.in_callback = start_another;
	assert_ok(fixture_start(&f, 0));
	for (unsigned i = 1; i <= 5; i++) {
		stand_in_finish_all(&f.dev);
		assert_int_equal(sim_readback_process(f.rb), 1);
		assert_int_equal(f.n, i);
	}
	fixture_destroy(&f);
}

static struct sim_slot *kept;

static void keep(struct fixture *x, struct sim_readback_ticket *t)
{
	kept = sim_readback_take_slot(x->rb, t);
	assert_null(sim_readback_take_slot(x->rb, t));
}

TEST(a_callback_may_keep_the_slot)
{
	struct sim_readback_source s = { .size = sizeof(s), .format = SIM_READBACK_RGBA8, .capture_sim_ns = 1234 };

	create(SIM_READBACK_REFUSE);
	f.in_callback = keep;
	assert_ok(sim_readback_start(f.rb, &s, NULL));
	stand_in_finish_all(&f.dev);
	assert_int_equal(sim_readback_process(f.rb), 1);
	assert_int_equal(f.slots.out, 1);
	assert_int_equal(kept->stamp_sim_ns, 1234);
	assert_int_equal(f.capture_sim_ns[0], 1234);
	assert_int_equal(kept->body_size, 64 + 4 * W * H);
	for (unsigned i = 0; i < 64; i++) /* the head is the caller's */
		assert_int_equal(((uint8_t *)sim_slot_body_mut(kept))[i], 0x5a);
	sim_unloan(f.o.publisher, kept);
	fixture_destroy(&f);
}

TEST(without_a_callback_results_are_taken)
{
	struct sim_readback_ticket *t, *second, none;

	fixture_options(&f);
	f.o.done = NULL;
	fixture_create(&f);
	assert_int_equal(sim_readback_take(f.rb, &t), -EAGAIN);
	for (uint32_t i = 0; i < 3; i++)
		assert_ok(fixture_start(&f, i));
	stand_in_finish(&f.dev, 1);
	assert_int_equal(sim_readback_process(f.rb), 1);
	assert_int_equal(fixture_start(&f, 3), -EAGAIN); /* it counts until it is released */
	assert_ok(sim_readback_take(f.rb, &t));
	assert_int_equal(t->number, 1);
	assert_true(fixture_good(t) && t->slot);
	assert_int_equal(sim_readback_take(f.rb, &second), -EAGAIN);
	assert_int_equal(sim_readback_release(f.rb, &none), -EINVAL);
	assert_ok(sim_readback_release(f.rb, t));
	assert_int_equal(sim_readback_release(f.rb, t), -EINVAL);
	assert_ok(fixture_start(&f, 3));
	/* one that has failed and is still written */
	assert_int_equal(sim_readback_cancel(f.rb, 2), 1);
	assert_ok(sim_readback_take(f.rb, &t));
	assert_int_equal(t->result, -ECANCELED);
	assert_null(t->data);
	assert_ok(sim_readback_release(f.rb, t));
	stand_in_finish_all(&f.dev);
	assert_int_equal(sim_readback_process(f.rb), 2);
	assert_ok(sim_readback_take(f.rb, &t));
	fixture_destroy(&f);
}

TEST(each_request_completes_once_under_any_sequence)
{
	uint64_t seed = test_seed(11);

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	for (unsigned round = 0; round < 200; round++) {
		unsigned seen;

		create((enum sim_readback_full)(rand() % 3));
		f.dev.abandons = rand() % 2;
		for (unsigned step = 0; step < 40 && f.dev.started < 50; step++) {
			int what = rand() % 8;

			f.dev.direct = rand() % 2;
			if (what < 4)
				(void)fixture_start(&f, 0);
			else if (what == 4 && f.dev.started) {
				unsigned n = 1 + (unsigned)rand() % f.dev.started;

				if (f.dev.request[n].q)
					stand_in_finish(&f.dev, n);
			} else if (what == 5)
				(void)sim_readback_cancel(f.rb, 1 + (uint64_t)rand() % 50);
			else if (what == 6)
				(void)sim_readback_process(f.rb);
			else if (rand() % 4 == 0)
				assert_ok(sim_readback_drain(f.rb, -1));
		}
		seen = f.dev.started;
		fixture_destroy(&f);
		assert_int_equal(f.n, seen);
		for (unsigned i = 0; i < f.n; i++) {
			assert_int_equal(f.number[i], i + 1);
			assert_true(f.result[i] < 0 || f.good[i]);
		}
	}
}
