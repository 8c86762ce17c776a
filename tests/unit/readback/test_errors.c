/* SPDX-License-Identifier: Apache-2.0 */
/* What fails, with its sentence: options, sources, a publisher that refuses, a hostile device. */
#include "fixture.h"

#include "tests/support/sizes.h"

#include <pthread.h>

static struct fixture f;

static void says(int r, int error, const char *words)
{
	assert_int_equal(r, error);
	if (!strstr(sim_readback_why(), words))
		fail_msg("\"%s\" does not say \"%s\"", sim_readback_why(), words);
}

static int created(const struct sim_readback_options *o)
{
	struct sim_readback *rb = NULL;
	int r = sim_readback_create(o, &rb);

	sim_readback_destroy(rb);
	return r;
}

#define REFUSED(member, value, words) \
	do { \
		fixture_options(&f); \
		assert_ok(created(&f.o)); \
		f.o.member = value; \
		says(created(&f.o), -EINVAL, words); \
	} while (0)

TEST(invalid_options_are_refused)
{
	says(created(NULL), -EINVAL, "no options");
	says(sim_readback_create(&f.o, NULL), -EINVAL, "output pointer");
	REFUSED(size, 3, "size");
	REFUSED(in_flight, 9, "at most 8 with a publisher");
	REFUSED(full, 3, "options.full");
	REFUSED(head, 65, "head");
	REFUSED(head, 65536, "head");
	REFUSED(publisher, NULL, "without a publisher");
	REFUSED(user_size, 70000, "user_size");
	REFUSED(memory, f.memory, "memory");
	REFUSED(memory_size, 1, "memory");
	REFUSED(backend, 77, "no back end 77");
	REFUSED(shape.format, 0, "format");
	REFUSED(shape.width, 0, "pixels");
	REFUSED(shape.width, SIM_READBACK_SIDE_MAX + 1, "pixels");
	REFUSED(shape.height, 0, "pixels");
	REFUSED(shape.height, SIM_READBACK_SIDE_MAX + 1, "pixels");
	REFUSED(shape.row_pitch, 4 * W - 4, "row_pitch");
	REFUSED(shape.row_pitch, 4 * W + 2, "row_pitch");
	REFUSED(shape.depth_scale, -1.0f, "depth_scale");
	says(sim_readback_probe((enum sim_readback_backend)77), -EINVAL, "77");
	assert_int_equal(sim_readback_probe(SIM_READBACK_CPU), 0);
}

static int creates(const void *options, void *arg)
{
	(void)arg;
	return created(options);
}

static int starts(const void *source, void *arg)
{
	(void)arg;
	return sim_readback_start(f.rb, source, NULL);
}

TEST(programs_built_with_other_struct_sizes_are_served)
{
	struct sim_readback_source s = { .size = sizeof(s), .format = SIM_READBACK_RGBA8 };

	fixture_options(&f);
	sizes_check(&f.o, sizeof(f.o), creates, NULL);
	f.o.in_flight = 8;
	fixture_create(&f);
	sizes_check(&s, sizeof(s), starts, NULL);
	fixture_destroy(&f);
}

TEST(body_sizes_are_computed)
{
	struct sim_readback_shape s = { .format = SIM_READBACK_R16, .width = 3, .height = 5 };

	assert_int_equal(sim_readback_body_size(&s, 64), 64 + 30);
	s.row_pitch = 8;
	assert_int_equal(sim_readback_body_size(&s, 0), 40);
	s.height = 0;
	assert_int_equal(sim_readback_body_size(&s, 0), 0);
	assert_int_equal(sim_readback_body_size(NULL, 0), 0);
	s = (struct sim_readback_shape){ .format = SIM_READBACK_RGBA32F, .width = 65536, .height = 65536 };
	assert_int_equal(sim_readback_body_size(&s, 0), 0);
	s = (struct sim_readback_shape){ .format = SIM_READBACK_R8, .width = 1000000, .height = 1 };
	assert_int_equal(sim_readback_body_size(&s, 0), 1000000);
	assert_int_equal(sim_readback_pixel_size((enum sim_readback_format)0), 0);
}

#define BAD_SOURCE(member, value, words) \
	do { \
		struct sim_readback_source s_ = { .size = sizeof(s_), .format = SIM_READBACK_RGBA8 }; \
		s_.member = value; \
		says(sim_readback_start(f.rb, &s_, NULL), -EINVAL, words); \
	} while (0)

TEST(invalid_sources_are_refused)
{
	fixture_options(&f);
	fixture_create(&f);
	says(sim_readback_start(f.rb, NULL, NULL), -EINVAL, "no source");
	BAD_SOURCE(size, 1, "size");
	BAD_SOURCE(format, SIM_READBACK_R32F, "cannot be converted to format");
	BAD_SOURCE(row_pitch, 4 * W - 4, "row_pitch");
	BAD_SOURCE(row_pitch, 4 * W + 1, "row_pitch");
	BAD_SOURCE(offset, UINT64_MAX, "offset");
	BAD_SOURCE(memory, f.memory, "slot of the publisher");
	assert_int_equal(fixture_counters(&f).started, 0);
	fixture_destroy(&f);
	fixture_options(&f);
	f.o.publisher = NULL;
	f.o.head = 0;
	fixture_create(&f);
	BAD_SOURCE(memory, NULL, "source.memory");
	BAD_SOURCE(memory, f.memory[0] + 1, "aligned");
	fixture_destroy(&f);
}

TEST(a_refusal_of_the_publisher_is_reported)
{
	fixture_options(&f);
	fixture_create(&f);
	f.slots.error = -ENOMEM;
	says(fixture_start(&f, 0), -ENOMEM, "publisher refuses");
	f.slots.error = 0;
	f.slots.max_body = 100;
	says(fixture_start(&f, 0), -EMSGSIZE, "publisher refuses");
	f.slots.max_body = 4096;
	assert_ok(fixture_start(&f, 0));
	assert_int_equal(fixture_counters(&f).started, 1);
	fixture_destroy(&f);
}

TEST(a_refusal_of_the_device_is_reported)
{
	fixture_options(&f);
	fixture_create(&f);
	f.dev.refuse = -EIO;
	says(fixture_start(&f, 0), -EIO, "device refuses");
	assert_int_equal(f.slots.out, 0);
	f.dev.refuse = 0;
	assert_ok(fixture_start(&f, 0));
	/* one that is lost at a start is lost for all */
	f.dev.refuse = -ENODEV;
	says(fixture_start(&f, 0), -ENODEV, "device refuses");
	f.dev.refuse = 0;
	says(fixture_start(&f, 0), -ENODEV, "device refuses");
	assert_int_equal(sim_readback_process(f.rb), 1);
	assert_int_equal(f.result[0], -ENODEV);
	fixture_destroy(&f);
}

TEST(a_failed_request_does_not_affect_others)
{
	fixture_options(&f);
	fixture_create(&f);
	for (uint32_t i = 0; i < 3; i++)
		assert_ok(fixture_start(&f, i));
	stand_in_finish(&f.dev, 1);
	stand_in_finish(&f.dev, 3);
	stand_in_fail(&f.dev, 2, -EIO);
	assert_int_equal(sim_readback_process(f.rb), 3);
	assert_int_equal(f.result[0], 0);
	assert_int_equal(f.result[1], -EIO);
	assert_non_null(strstr(f.why[1], "device fails"));
	assert_int_equal(f.result[2], 0);
	assert_int_equal(f.slots.out, 0);
	fixture_destroy(&f);
}

TEST(a_lost_device_fails_all_requests)
{
	fixture_options(&f);
	fixture_create(&f);
	f.dev.direct = false;
	for (uint32_t i = 0; i < 3; i++)
		assert_ok(fixture_start(&f, i));
	stand_in_finish(&f.dev, 1);
	sim_readback_process(f.rb); /* it is being copied, which needs no device */
	f.dev.lost = true;
	assert_ok(sim_readback_drain(f.rb, -1));
	assert_int_equal(f.n, 3);
	assert_int_equal(f.result[0], 0);
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(f.result[i], -ENODEV);
		assert_string_equal(f.why[i], "the stand-in of a device is lost");
	}
	says(fixture_start(&f, 0), -ENODEV, "is lost");
	assert_int_equal(f.slots.out, 0);
	fixture_destroy(&f);
}

TEST(a_device_that_never_finishes_does_not_block_for_ever)
{
	fixture_options(&f);
	f.dev.waits = WAIT_IN_VAIN;
	fixture_create(&f);
	assert_ok(fixture_start(&f, 0));
	assert_ok(fixture_start(&f, 1));
	says(sim_readback_drain(f.rb, 0), -ETIMEDOUT, "request 1");
	assert_int_equal(sim_readback_cancel(f.rb, 0), 2);
	assert_int_equal(f.n, 2);
	assert_ok(sim_readback_drain(f.rb, 0));
	sim_readback_destroy(f.rb); /* its slots stay with the publisher */
	assert_int_equal(f.slots.out, 2);
	slots_finish(&f.slots);
	assert_int_equal(f.dev.writing, 2);
	assert_int_equal(f.dev.adds, f.dev.removes);
}

TEST(memory_of_the_caller_is_waited_for_when_a_device_never_finishes)
{
	fixture_options(&f);
	f.o.publisher = NULL;
	f.o.head = 0;
	f.dev.waits = WAIT_IN_VAIN;
	fixture_create(&f);
	assert_ok(fixture_start(&f, 0));
	sim_readback_destroy(f.rb);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.result[0], -ECANCELED);
	assert_non_null(strstr(f.why[0], "may still write"));
}

TEST(pending_requests_are_cancelled_at_the_end)
{
	fixture_options(&f);
	fixture_create(&f);
	assert_ok(fixture_start(&f, 0));
	assert_ok(fixture_start(&f, 1));
	stand_in_finish(&f.dev, 1);
	fixture_destroy(&f); /* it waits for the other one */
	assert_int_equal(f.n, 2);
	assert_int_equal(f.result[0], -ECANCELED);
	assert_int_equal(f.result[1], -ECANCELED);
	sim_readback_destroy(NULL);
}

static void *elsewhere(void *arg)
{
	struct sim_readback_ticket *t;

	(void)arg;
	says(fixture_start(&f, 0), -EPERM, "sim_readback_start");
	says(sim_readback_process(f.rb), -EPERM, "not the thread");
	says(sim_readback_drain(f.rb, 0), -EPERM, "not the thread");
	says(sim_readback_cancel(f.rb, 0), -EPERM, "not the thread");
	says(sim_readback_resize(f.rb, &f.o.shape), -EPERM, "not the thread");
	says(sim_readback_take(f.rb, &t), -EPERM, "not the thread");
	says(sim_readback_release(f.rb, NULL), -EPERM, "not the thread");
	sim_readback_destroy(f.rb);
	return NULL;
}

TEST(calls_from_another_thread_are_refused)
{
	pthread_t t;

	fixture_options(&f);
	fixture_create(&f);
	assert_int_equal(pthread_create(&t, NULL, elsewhere, NULL), 0);
	pthread_join(t, NULL);
	assert_ok(fixture_start(&f, 0));
	fixture_destroy(&f);
}

TEST(every_call_accepts_a_null_read_back)
{
	struct sim_readback_counters n;
	struct sim_readback_ticket *t;

	says(sim_readback_start(NULL, NULL, NULL), -EINVAL, "no read-back");
	says(sim_readback_process(NULL), -EINVAL, "no read-back");
	says(sim_readback_take(NULL, &t), -EINVAL, "no read-back");
	assert_null(sim_readback_take_slot(NULL, NULL));
	assert_string_equal(sim_readback_how(NULL), "");
	sim_readback_get_counters(NULL, &n);
}

TEST(allocation_failures_are_reported)
{
	int failed = 0;

	for (int n = 1;; n++) {
		struct sim_readback *rb = NULL;
		struct mem_stats before, after;
		int r;

		fixture_options(&f);
		mem_stats(&before);
		mem_fail_after(n);
		r = sim_readback_create(&f.o, &rb);
		mem_fail_after(0);
		sim_readback_destroy(rb);
		mem_stats(&after);
		assert_int_equal(before.blocks, after.blocks);
		if (r == 0)
			break;
		says(r, -ENOMEM, "memory");
		failed++;
	}
	assert_true(failed > 3);
}
