/* SPDX-License-Identifier: Apache-2.0 */
/* The back end that every machine has: memory of the program into slots and into other memory, by the worker. */
#include "tests/support/test.h"

#include <errno.h>

#include <sim/readback.h>

#include "err.h"
#include "slots.h"

#define W 64u
#define H 48u

static uint8_t image[H * 4 * (W + 8)];

static void paint(void)
{
	for (size_t i = 0; i < sizeof(image); i++)
		image[i] = (uint8_t)(i * 13 + i / 251);
}

struct seen {
	struct sim_readback *rb;
	unsigned n;
	struct sim_slot *slot[4];
	struct sim_readback_ticket t[4];
};

static void done(void *arg, struct sim_readback_ticket *t)
{
	struct seen *s = arg;

	s->t[s->n] = *t;
	s->slot[s->n++] = sim_readback_take_slot(s->rb, t);
}

TEST(images_are_copied_into_slots)
{
	struct slots slots = { .max_body = 1 << 20, .now_sim_ns = 5 };
	struct seen seen = { .n = 0 };
	struct sim_readback_options o = {
		.size = sizeof(o),
		.backend = SIM_READBACK_CPU,
		.shape = { .format = SIM_READBACK_RGBA8, .width = W, .height = H },
		.publisher = slots_publisher(&slots),
		.head = 64,
		.done = done,
		.done_arg = &seen,
	};
	struct sim_readback_source s = {
		.size = sizeof(s), .format = SIM_READBACK_BGRA8, .cpu = image, .row_pitch = 4 * (W + 8), .offset = 16
	};
	struct sim_readback_counters n;

	paint();
	assert_ok(sim_readback_create(&o, &seen.rb));
	assert_non_null(strstr(sim_readback_how(seen.rb), "cpu"));
	assert_ok(sim_readback_start(seen.rb, &s, NULL));
	s.format = SIM_READBACK_RGBA8;
	assert_ok(sim_readback_start(seen.rb, &s, NULL));
	s.cpu = NULL;
	assert_int_equal(sim_readback_start(seen.rb, &s, NULL), -EINVAL);
	assert_ok(sim_readback_drain(seen.rb, -1));
	assert_int_equal(seen.n, 2);
	for (size_t y = 0; y < H; y++) {
		const uint8_t *from = image + 16 + y * s.row_pitch;
		const uint8_t *first = (uint8_t *)sim_slot_body_mut(seen.slot[0]) + 64 + y * W * 4;
		const uint8_t *second = (uint8_t *)sim_slot_body_mut(seen.slot[1]) + 64 + y * W * 4;

		assert_memory_equal(second, from, W * 4);
		for (size_t x = 0; x < W * 4; x += 4) {
			assert_int_equal(first[x], from[x + 2]);
			assert_int_equal(first[x + 2], from[x]);
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(seen.t[i].copies, 1);
		assert_int_equal(seen.t[i].capture_sim_ns, 5);
		sim_unloan(o.publisher, seen.slot[i]);
	}
	sim_readback_get_counters(seen.rb, &n);
	assert_int_equal(n.copies, 2);
	sim_readback_destroy(seen.rb);
	assert_int_equal(slots.out, 0);
}

/* The caller's memory is free again once a request has completed, with any result. */
TEST(a_request_may_be_cancelled_at_any_moment)
{
	static uint8_t target[W * H * 4];
	struct seen seen = { .n = 0 };
	struct sim_readback_options o = {
		.size = sizeof(o),
		.shape = { .format = SIM_READBACK_RGBA8, .width = W, .height = H, .flip = true },
		.in_flight = 1,
		.done = done,
		.done_arg = &seen,
	};
	struct sim_readback_source s = {
		.size = sizeof(s), .format = SIM_READBACK_RGBA8, .cpu = image, .memory = target
	};

	assert_ok(sim_readback_create(&o, &seen.rb));
	for (unsigned i = 0; i < 500; i++) {
		seen.n = 0;
		paint();
		assert_ok(sim_readback_start(seen.rb, &s, NULL));
		assert_int_equal(sim_readback_cancel(seen.rb, 0), 1);
		assert_ok(sim_readback_drain(seen.rb, -1));
		assert_int_equal(seen.n, 1);
		assert_int_equal(seen.t[0].result, -ECANCELED);
		memset(target, 0, sizeof(target)); /* a race, if it were still being written */
		memset(image, 0, sizeof(image));
	}
	sim_readback_destroy(seen.rb);
}

TEST(older_requests_are_dropped_for_newer_ones_in_order)
{
	static uint8_t target[16][W * H * 4];
	struct seen seen = { .n = 0 };
	struct sim_readback_options o = {
		.size = sizeof(o),
		.shape = { .format = SIM_READBACK_RGBA8, .width = W, .height = H, .flip = true },
		.in_flight = 2,
		.full = SIM_READBACK_DROP_OLDEST,
	};
	struct sim_readback_source s = { .size = sizeof(s), .format = SIM_READBACK_RGBA8, .cpu = image };
	struct sim_readback_ticket *t;
	uint64_t last = 0, started = 0;
	struct sim_readback_counters n;

	paint();
	assert_ok(sim_readback_create(&o, &seen.rb));
	for (unsigned i = 0; i < 300; i++) {
		int r;

		s.memory = target[i % 16];
		r = sim_readback_start(seen.rb, &s, NULL);
		assert_true(r == 0 || r == 1);
		started += r == 0;
		sim_readback_process(seen.rb);
		while (sim_readback_take(seen.rb, &t) == 0) {
			assert_int_equal(t->number, ++last);
			if (t->result == 0)
				assert_memory_equal(t->data, image + (H - 1) * W * 4, W * 4);
			assert_ok(sim_readback_release(seen.rb, t));
		}
	}
	assert_ok(sim_readback_drain(seen.rb, -1));
	while (sim_readback_take(seen.rb, &t) == 0) {
		assert_int_equal(t->number, ++last);
		assert_ok(sim_readback_release(seen.rb, t));
	}
	assert_int_equal(last, started);
	sim_readback_get_counters(seen.rb, &n);
	assert_int_equal(n.completed + n.failed, started);
	sim_readback_destroy(seen.rb);
}
