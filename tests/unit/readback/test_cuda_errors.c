/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA, over a stand-in of its driver: drivers that cannot serve, sources that are refused, and each call that fails, once and for good. */
#include "cuda_fixture.h"

#include <dlfcn.h>

#include "mem.h"

TEST_PROCESSES()

static struct cuda_fixture f;

/* ---- a driver that cannot serve ---- */

static const char *hidden;

static void *find_but_one(void *lib, const char *symbol)
{
	return strcmp(symbol, hidden) == 0 ? NULL : dlsym(lib, symbol);
}

TEST(a_driver_without_a_needed_symbol_is_refused)
{
	static const char *const symbols[] = {
#define X(member, symbol, args) symbol,
		CUDA_CALLS(X)
#undef X
	};
	struct cuda_calls cu;
	void *lib;

	cuda_fixture_load(&f);
	lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(lib);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		hidden = symbols[i];
		says(cuda_find_calls(lib, find_but_one, &cu), -EOPNOTSUPP, symbols[i]);
	}
	hidden = "none";
	assert_ok(cuda_find_calls(lib, find_but_one, &cu));
	dlclose(lib);
}

TEST(the_probe_reports_the_driver)
{
	cuda_fixture_load(&f);
	assert_ok(sim_readback_probe(SIM_READBACK_CUDA));
	f.driver->set_version(10020);
	says(sim_readback_probe(SIM_READBACK_CUDA), -EOPNOTSUPP, "CUDA 10.2");
	f.driver->set_version(11000);
	assert_ok(sim_readback_probe(SIM_READBACK_CUDA));
	f.driver->refuse("cuInit", 803);
	says(sim_readback_probe(SIM_READBACK_CUDA), -ENOENT, "803");
	f.driver->refuse("cuDriverGetVersion", 999);
	says(sim_readback_probe(SIM_READBACK_CUDA), -EIO, "cuDriverGetVersion");
	f.driver->refuse("cuDeviceGetCount", 999);
	says(sim_readback_probe(SIM_READBACK_CUDA), -EIO, "cuDeviceGetCount");
	f.driver->refuse("", CUDA_OK);
	f.driver->set_devices(0);
	says(sim_readback_probe(SIM_READBACK_CUDA), -ENOENT, "100"); /* CUDA_ERROR_NO_DEVICE */
}

/* With or without a driver on this machine. */
TEST(the_probe_of_the_real_driver_does_not_crash)
{
	int r = sim_readback_probe(SIM_READBACK_CUDA);

	if (r < 0)
		says(r, r, "cuda: ");
	assert_true(r == 0 || r == -ENOENT || r == -EOPNOTSUPP || r == -EIO);
}

TEST(a_driver_too_old_at_the_create_is_refused)
{
	cuda_fixture_init(&f);
	f.driver->set_version(10020);
	says(sim_readback_create(&f.o, &f.rb), -EOPNOTSUPP, "CUDA 10.2");
	cuda_fixture_finish(&f);
}

TEST(allocation_failures_are_reported)
{
	int failed = 0;

	cuda_fixture_init(&f);
	for (int n = 1;; n++) {
		struct mem_stats before, after;
		int r;

		f.rb = NULL;
		mem_stats(&before);
		mem_fail_after(n);
		r = sim_readback_create(&f.o, &f.rb);
		if (r == 0)
			r = cuda_start(&f);
		mem_fail_after(0);
		if (r == 0)
			cuda_drain(&f);
		sim_readback_destroy(f.rb);
		mem_stats(&after);
		assert_int_equal(before.blocks, after.blocks);
		assert_int_equal(cuda_state(&f).registered, 0);
		if (r == 0 && f.copies[f.n - 1] == 0) /* a registration that fails leaves a copy */
			break;
		if (r < 0)
			says(r, -ENOMEM, "memory");
		failed++;
	}
	assert_true(failed > 3);
	f.rb = NULL;
	cuda_fixture_finish(&f);
}

/* ---- sources ---- */

#define REFUSED(words, ...) says(cuda_start_of(&f, (struct sim_readback_source){ __VA_ARGS__ }), -EINVAL, words)

TEST(invalid_sources_are_refused)
{
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	REFUSED("one of source.cuda", .offset = 0);
	REFUSED("one of source.cuda", .cuda = { .pointer = f.source, .array = &f });
	REFUSED("one of source.cuda", .cuda = { .pointer = f.source, .ipc = &f });
	REFUSED("the rows need", .cuda.pointer = f.source, .offset = 1);
	REFUSED("the rows need", .cuda.pointer = f.source + 1);
	REFUSED("the rows need", .cuda.pointer = f.source, .offset = SIZE_MAX / 2);
	REFUSED("the rows need", .cuda.pointer = f.source, .row_pitch = ROW + 4);
	REFUSED("linear memory", .cuda.array = &f, .offset = 4);
	REFUSED("linear memory", .cuda.array = &f, .row_pitch = ROW);
	REFUSED("the copy was refused", .cuda.pointer = 4096); /* nothing is there */
	assert_int_equal(cuda_counters(&f).started, 0);
	assert_int_equal(f.slots.out, 0);
	assert_ok(cuda_start(&f));
	cuda_drain(&f);
	assert_pixels(&f, 0, 1);
	cuda_fixture_finish(&f);
}

TEST(pitches_above_the_limit_of_the_device_are_refused)
{
	cuda_fixture_init(&f);
	f.driver->set_pitch_max(ROW);
	f.o.shape.row_pitch = ROW + 4;
	cuda_fixture_create(&f);
	REFUSED("the source's row_pitch", .cuda.pointer = f.source, .row_pitch = 2 * ROW);
	REFUSED("the shape's row_pitch", .cuda.pointer = f.source);
	cuda_fixture_finish(&f);
}

/* ---- what fails later ---- */

static void lost_by(int result, const char *words)
{
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	f.driver->hold(true);
	for (unsigned i = 0; i < 3; i++)
		assert_ok(cuda_start(&f));
	f.driver->run(2);
	assert_int_equal(sim_readback_process(f.rb), 1);
	f.driver->lose(result);
	assert_int_equal(sim_readback_process(f.rb), 2);
	assert_pixels(&f, 0, 1);
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(f.number[i], i + 1);
		assert_int_equal(f.result[i], -ENODEV);
		assert_non_null(strstr(f.why[i], words));
	}
	assert_int_equal(f.slots.out, 0);
	says(cuda_start(&f), -ENODEV, words);
	sim_readback_destroy(f.rb);
	assert_int_equal(cuda_state(&f).stray, 0);
	assert_int_equal(cuda_state(&f).misuse, 0);
}

TEST(a_lost_device_fails_all_requests)
{
	lost_by(CUDA_LAUNCH_FAILED, "the context is lost");
}

TEST(uncorrectable_memory_counts_as_a_lost_device)
{
	lost_by(CUDA_ECC_UNCORRECTABLE, "the context is lost");
}

TEST(a_device_may_be_lost_at_a_start)
{
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	f.driver->hold(true);
	assert_ok(cuda_start(&f));
	f.driver->lose(CUDA_ILLEGAL_ADDRESS);
	says(cuda_start(&f), -ENODEV, "the context is lost");
	says(cuda_start(&f), -ENODEV, "the context is lost");
	assert_int_equal(sim_readback_process(f.rb), 1);
	assert_int_equal(f.result[0], -ENODEV);
	sim_readback_destroy(f.rb);
	assert_int_equal(f.slots.out, 0);
}

TEST(a_destroyed_context_is_detected)
{
	cuda_fixture_init(&f);
	f.o.cuda.context = f.context;
	cuda_fixture_create(&f);
	assert_ok(cuda_start(&f));
	assert_int_equal(f.program.CtxDestroy(f.context), CUDA_OK);
	assert_int_equal(sim_readback_process(f.rb), 1);
	assert_int_equal(f.result[0], -ENODEV);
	says(cuda_start(&f), -ENODEV, "the context is lost");
	sim_readback_destroy(f.rb);
	assert_int_equal(f.slots.out, 0);
	assert_int_equal(f.driver->depth(), 0);
}

TEST(a_lack_of_page_locked_memory_is_reported)
{
	cuda_fixture_init(&f);
	f.o.shape.flip = true;
	cuda_fixture_create(&f);
	f.driver->refuse("cuMemHostAlloc", CUDA_OUT_OF_MEMORY);
	says(cuda_start(&f), -ENOMEM, "no page-locked memory");
	assert_int_equal(f.slots.out, 0);
	f.driver->refuse("", CUDA_OK);
	assert_ok(cuda_start(&f));
	cuda_drain(&f);
	assert_int_equal(f.result[0], 0);
	cuda_fixture_finish(&f);
}

/* The copy is in the stream by then, and is written even if the event fails. */
TEST(a_copy_whose_event_cannot_be_recorded_completes)
{
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	f.driver->hold(true);
	f.driver->refuse("cuEventRecord", 999);
	assert_ok(cuda_start(&f));
	assert_int_equal(sim_readback_process(f.rb), 0);
	f.driver->run(1);
	assert_int_equal(sim_readback_process(f.rb), 1); /* by the stream, which has nothing left */
	assert_pixels(&f, 0, 1);
	assert_ok(cuda_start(&f));
	f.driver->refuse("", CUDA_OK);
	assert_int_equal(sim_readback_process(f.rb), 0);
	assert_int_equal(cuda_state(&f).queued, 2); /* recorded after all */
	f.driver->run(2);
	assert_int_equal(sim_readback_process(f.rb), 1);
	assert_pixels(&f, 1, 1);
	cuda_fixture_finish(&f);
}

TEST(a_copy_whose_event_cannot_be_queried_completes)
{
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	f.driver->hold(true);
	assert_ok(cuda_start(&f));
	f.driver->refuse("cuEventQuery", 999);
	assert_int_equal(sim_readback_process(f.rb), 1); /* it waits, as the slot would be released too early */
	assert_pixels(&f, 0, 1);
	assert_int_equal(cuda_state(&f).queued, 0);
	cuda_fixture_finish(&f);
}

TEST(a_device_that_never_finishes_does_not_block_for_ever)
{
	cuda_fixture_init(&f);
	f.o.shape.flip = true; /* memory of the library's: the driver's registrations are the machine's loss */
	cuda_fixture_create(&f);
	f.driver->hold(true);
	assert_ok(cuda_start(&f));
	says(sim_readback_drain(f.rb, 0), -ETIMEDOUT, "request 1");
	sim_readback_destroy(f.rb);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.result[0], -ECANCELED);
	assert_int_equal(cuda_state(&f).allocated, 1); /* where it may still write */
	f.driver->run(2);
	assert_int_equal(cuda_state(&f).stray, 0);
	assert_int_equal(cuda_state(&f).misuse, 0);
	slots_finish(&f.slots);
}

TEST(a_slot_that_is_never_finished_stays_with_the_publisher)
{
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	f.driver->hold(true);
	assert_ok(cuda_start(&f));
	sim_readback_destroy(f.rb);
	assert_int_equal(cuda_state(&f).registered, 1);
	assert_int_equal(f.slots.out, 1); /* the publisher's */
	f.driver->run(2);
	assert_int_equal(cuda_state(&f).stray, 0);
	assert_int_equal(cuda_state(&f).misuse, 0);
	slots_finish(&f.slots);
}

TEST(a_cancelled_request_keeps_its_memory_until_written)
{
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	f.driver->hold(true);
	assert_ok(cuda_start(&f));
	assert_int_equal(sim_readback_cancel(f.rb, 0), 1);
	assert_int_equal(f.result[0], -ECANCELED);
	assert_int_equal(f.slots.out, 1);
	f.driver->run(2);
	sim_readback_process(f.rb);
	assert_int_equal(f.slots.out, 0);
	cuda_fixture_finish(&f);
}

/* ---- every call in turn ---- */

static struct cuda_exporter exporter;
static void *array;

static const struct sim_readback_source *sources(void)
{
	static struct sim_readback_source s[4];

	s[0] = (struct sim_readback_source){ .cuda.pointer = f.source };
	s[1] = (struct sim_readback_source){ .cuda.pointer = f.source, .format = SIM_READBACK_BGRA8 }; /* staging */
	s[2] = (struct sim_readback_source){ .cuda.array = array };
	s[3] = (struct sim_readback_source){ .cuda.ipc = &exporter.handle[1] };
	return s;
}

static void one_round(void)
{
	const struct sim_readback_source *s = sources();

	f.rb = NULL;
	if (sim_readback_create(&f.o, &f.rb) < 0) {
		assert_true(strncmp(sim_readback_why(), "cuda: ", 6) == 0);
		return;
	}
	for (unsigned i = 0; i < 4; i++) {
		if (cuda_start_of(&f, s[i]) < 0)
			assert_true(strncmp(sim_readback_why(), "cuda: ", 6) == 0);
		sim_readback_process(f.rb);
	}
	cuda_drain(&f);
	sim_readback_destroy(f.rb);
}

/* All started requests have completed, in order, with their data or an error text; no other memory was written. */
static void assert_round(void)
{
	for (unsigned i = 0; i < f.n; i++) {
		assert_int_equal(f.number[i], i + 1);
		if (f.result[i])
			assert_true(strncmp(f.why[i], "cuda: ", 6) == 0);
	}
	assert_int_equal(f.slots.out, 0);
	assert_int_equal(cuda_state(&f).pageable, 0);
	assert_int_equal(cuda_state(&f).stray, 0);
	assert_int_equal(cuda_state(&f).misuse, 0);
}

static void assert_nothing_left(void)
{
	struct cuda_stand_in_state s = cuda_state(&f);

	assert_int_equal(s.events, 0);
	assert_int_equal(s.registered, 0);
	assert_int_equal(s.allocated, 0);
	assert_int_equal(s.opened, 0);
}

/* Returns about how many calls a round has that succeeds: polling makes some of them. */
static unsigned calls_of_a_round(void)
{
	unsigned before = cuda_state(&f).calls;

	f.n = 0;
	one_round();
	assert_int_equal(f.n, 4);
	assert_round();
	assert_nothing_left();
	assert_pixels(&f, 0, 1);
	assert_int_equal(f.data[1][0], cuda_byte(1, 2));
	assert_int_equal(f.result[2], 0);
	assert_pixels(&f, 3, 1);
	return cuda_state(&f).calls - before;
}

/* The n-th call of a round fails, for each n; `sticky`: and all that come after it. */
static void each_call(int result, bool sticky, bool pushed)
{
	const struct cuda_array a = { W, H, 0, CUDA_FORMAT_UNSIGNED_INT8, 4, 0 };
	unsigned calls;
	void *popped;

	cuda_exporter_init(&exporter);
	cuda_fixture_init(&f);
	f.o.in_flight = 4;
	f.o.cuda.context = f.context;
	assert_int_equal(f.program.Array3DCreate(&array, &a), CUDA_OK);
	if (pushed)
		assert_int_equal(f.cu.CtxPopCurrent(&popped), CUDA_OK);
	calls = calls_of_a_round();
	assert_true(calls > 50);
	for (unsigned n = 1; n <= calls; n++) {
		unsigned refused = cuda_state(&f).refused_releases;

		f.n = 0;
		f.driver->fail_nth(n, result, sticky);
		one_round();
		f.driver->fail_nth(0, CUDA_OK, false);
		assert_round();
		if (cuda_state(&f).refused_releases == refused)
			assert_nothing_left();
		f.driver->recover();
		while (f.driver->depth() > !pushed) /* a pop that was refused */
			assert_int_equal(f.cu.CtxPopCurrent(&popped), CUDA_OK);
	}
	(void)calls_of_a_round();
	cuda_exporter_finish(&exporter);
}

TEST(each_driver_call_may_fail_once)
{
	each_call(999, false, false);
}

TEST(each_driver_call_may_run_out_of_memory_once)
{
	each_call(CUDA_OUT_OF_MEMORY, false, false);
}

TEST(each_driver_call_may_fail_once_with_a_pushed_context)
{
	each_call(999, false, true);
}

TEST(the_device_may_be_lost_at_each_driver_call)
{
	each_call(CUDA_LAUNCH_FAILED, true, false);
}

TEST(the_device_may_be_lost_at_each_driver_call_with_a_pushed_context)
{
	each_call(CUDA_LAUNCH_FAILED, true, true);
}
