/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA, over a stand-in of its driver: source, target and time of each read-back. Errors are in test_cuda_errors.c. */
#include "cuda_fixture.h"

#include <pthread.h>
#include <sys/mman.h>

TEST_PROCESSES()

static struct cuda_fixture f;

static void assert_how(const char *words)
{
	if (!strstr(sim_readback_how(f.rb), words))
		fail_msg("\"%s\" does not say \"%s\"", sim_readback_how(f.rb), words);
}

/* ---- where it is written ---- */

TEST(slots_are_written_without_a_copy)
{
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	for (unsigned i = 0; i < 20; i++) {
		cuda_fill(&f, f.source, SIZE, i);
		assert_ok(cuda_start(&f));
		cuda_drain(&f);
		assert_pixels(&f, i, i);
		assert_int_equal(f.copies[i], 0);
	}
	assert_how("writes the target itself");
	assert_int_equal(cuda_counters(&f).copies, 0);
	assert_int_equal(cuda_counters(&f).imports, 1);
	assert_int_equal(cuda_state(&f).registers, 1);
	assert_int_equal(cuda_state(&f).copies_2d, 0); /* rows without gaps are one piece */
	cuda_fixture_finish(&f);
}

TEST(no_call_blocks_and_requests_complete_in_order)
{
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	f.driver->hold(true);
	for (unsigned i = 0; i < 3; i++)
		assert_ok(cuda_start(&f));
	says(cuda_start(&f), -EAGAIN, "have not completed");
	assert_int_equal(sim_readback_process(f.rb), 0);
	f.driver->run(1); /* the first one's copy, but not its event */
	assert_int_equal(sim_readback_process(f.rb), 0);
	f.driver->run(1);
	assert_int_equal(sim_readback_process(f.rb), 1);
	f.driver->run(4);
	assert_int_equal(sim_readback_process(f.rb), 2);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(f.number[i], i + 1);
		assert_pixels(&f, i, 1);
	}
	assert_int_equal(cuda_state(&f).queued, 0);
	cuda_fixture_finish(&f);
}

TEST(rows_may_have_pitches)
{
	cuda_pointer p;
	const uint8_t *body;

	cuda_fixture_init(&f);
	f.o.shape.row_pitch = ROW + 32;
	cuda_fixture_create(&f);
	assert_int_equal(f.program.MemAlloc(&p, 4096), CUDA_OK);
	cuda_fill(&f, p, 4096, 9);
	assert_ok(cuda_start_of(&f, (struct sim_readback_source){
					    .cuda.pointer = p, .offset = 100, .row_pitch = ROW + 64 }));
	body = (const uint8_t *)sim_slot_body_mut(f.slots.slot[0]) + 64;
	cuda_drain(&f);
	assert_int_equal(f.copies[0], 0);
	for (size_t y = 0; y < H; y++) {
		for (size_t x = 0; x < ROW; x++)
			assert_int_equal(f.data[0][y * ROW + x], cuda_byte(9, 100 + y * (ROW + 64) + x));
		if (y + 1 < H) /* bytes between rows are not touched */
			assert_int_equal(body[y * (ROW + 32) + ROW], 0x5a);
	}
	assert_int_equal(body[-1], 0x5a);
	assert_int_equal(body[(H - 1) * (ROW + 32) + ROW], 0x5a);
	assert_int_equal(cuda_state(&f).copies_2d, 1);
	assert_int_equal(f.program.MemFree(p), CUDA_OK);
	cuda_fixture_finish(&f);
}

static void *make_array(size_t width, size_t height, size_t depth, int format, unsigned channels)
{
	struct cuda_array a = {
		.width = width, .height = height, .depth = depth, .format = format, .channels = channels
	};
	void *array;

	assert_int_equal(f.program.Array3DCreate(&array, &a), CUDA_OK);
	return array;
}

TEST(a_cuda_array_is_read)
{
	void *array;
	uint8_t pixels[SIZE];
	struct cuda_copy c = { .from = { .type = CUDA_MEMORY_HOST, .host = pixels, .pitch = ROW },
			       .to = { .type = CUDA_MEMORY_ARRAY },
			       .width_bytes = ROW,
			       .height = H };

	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	for (size_t i = 0; i < SIZE; i++)
		pixels[i] = cuda_byte(3, i);
	c.to.array = array = make_array(W + 5, H + 1, 0, CUDA_FORMAT_UNSIGNED_INT8, 4);
	assert_int_equal(f.program.Memcpy2D(&c), CUDA_OK);
	assert_ok(cuda_start_of(&f, (struct sim_readback_source){ .cuda.array = array }));
	cuda_drain(&f);
	assert_pixels(&f, 0, 3);
	assert_int_equal(f.copies[0], 0);
	assert_int_equal(f.program.ArrayDestroy(array), CUDA_OK);
	cuda_fixture_finish(&f);
}

#define ARRAY_REFUSED(words, ...) \
	do { \
		void *a_ = make_array(__VA_ARGS__); \
		says(cuda_start_of(&f, (struct sim_readback_source){ .cuda.array = a_ }), -EINVAL, words); \
		assert_int_equal(f.program.ArrayDestroy(a_), CUDA_OK); \
	} while (0)

TEST(arrays_that_do_not_match_the_shape_are_refused)
{
	int no_array;

	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	ARRAY_REFUSED("fewer than the shape's", W - 1, H, 0, CUDA_FORMAT_UNSIGNED_INT8, 4);
	ARRAY_REFUSED("fewer than the shape's", W, H - 1, 0, CUDA_FORMAT_UNSIGNED_INT8, 4);
	ARRAY_REFUSED("fewer than the shape's", W, 0, 0, CUDA_FORMAT_UNSIGNED_INT8, 4);
	ARRAY_REFUSED("depth or layers", W, H, 2, CUDA_FORMAT_UNSIGNED_INT8, 4);
	ARRAY_REFUSED("1 channels of 4 bytes", W, H, 0, CUDA_FORMAT_FLOAT, 1);
	ARRAY_REFUSED("4 channels of 2 bytes", W, H, 0, CUDA_FORMAT_HALF, 4);
	says(cuda_start_of(&f, (struct sim_readback_source){ .cuda.array = &no_array }), -EINVAL,
	     "is not an array of this context");
	assert_int_equal(cuda_counters(&f).started, 0);
	cuda_fixture_finish(&f);
}

static void refused_by(int result)
{
	cuda_fixture_init(&f);
	f.driver->refuse("cuMemHostRegister_v2", result);
	cuda_fixture_create(&f);
	for (unsigned i = 0; i < 5; i++) {
		cuda_fill(&f, f.source, SIZE, i);
		assert_ok(cuda_start(&f));
		cuda_drain(&f);
		assert_pixels(&f, i, i);
		assert_int_equal(f.copies[i], 1);
	}
	assert_how("one copy: cuda: the driver does not page-lock this memory");
	assert_int_equal(cuda_counters(&f).copies, 5);
	assert_int_equal(cuda_counters(&f).imports, 0);
	assert_int_equal(cuda_state(&f).allocated, 1); /* of the place that is used again and again */
	cuda_fixture_finish(&f);
}

TEST(without_page_locking_of_files_one_copy_is_made)
{
	refused_by(801);
}

TEST(without_the_right_to_page_lock_one_copy_is_made)
{
	refused_by(CUDA_OUT_OF_MEMORY);
}

TEST(a_segment_page_locked_by_another_library_takes_one_copy)
{
	refused_by(CUDA_HOST_MEMORY_ALREADY_REGISTERED);
}

TEST(slots_outside_shared_memory_take_one_copy)
{
	cuda_fixture_init(&f);
	f.slots.arena = NULL;
	cuda_fixture_create(&f);
	assert_ok(cuda_start(&f));
	cuda_drain(&f);
	assert_pixels(&f, 0, 1);
	assert_int_equal(f.copies[0], 1);
	assert_how("in no shared memory");
	cuda_fixture_finish(&f);
}

TEST(conversions_take_one_copy)
{
	cuda_fixture_init(&f);
	f.o.shape.flip = true;
	cuda_fixture_create(&f);
	assert_ok(cuda_start_of(&f, (struct sim_readback_source){ .format = SIM_READBACK_BGRA8,
								  .cuda.pointer = f.source }));
	cuda_drain(&f);
	for (size_t i = 0; i < SIZE; i += 4) {
		size_t from = (H - 1 - i / ROW) * ROW + i % ROW;

		assert_int_equal(f.data[0][i], cuda_byte(1, from + 2));
		assert_int_equal(f.data[0][i + 1], cuda_byte(1, from + 1));
		assert_int_equal(f.data[0][i + 2], cuda_byte(1, from));
	}
	assert_int_equal(f.copies[0], 1);
	assert_how("changes the format");
	assert_int_equal(cuda_state(&f).registers, 0); /* for nothing */
	cuda_fixture_finish(&f);
}

TEST(a_larger_image_gets_a_larger_buffer)
{
	struct sim_readback_shape small;

	cuda_fixture_init(&f);
	f.o.shape.flip = true;
	f.o.in_flight = 1;
	small = f.o.shape;
	small.height = 1;
	cuda_fixture_create(&f);
	assert_ok(sim_readback_resize(f.rb, &small));
	assert_ok(cuda_start(&f));
	cuda_drain(&f);
	assert_ok(sim_readback_resize(f.rb, &f.o.shape));
	assert_ok(cuda_start(&f));
	cuda_drain(&f);
	assert_int_equal(f.result[1], 0);
	assert_int_equal(f.data[1][0], cuda_byte(1, (H - 1) * ROW));
	assert_int_equal(cuda_state(&f).allocated, 1);
	cuda_fixture_finish(&f);
}

/* ---- generations ---- */

TEST(a_segment_is_registered_until_its_last_request)
{
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	f.driver->hold(true);
	assert_ok(cuda_start(&f));
	assert_int_equal(cuda_state(&f).registered, 1);
	cuda_fixture_arena(&f); /* RouDi was replaced */
	assert_ok(cuda_start(&f));
	assert_int_equal(cuda_state(&f).registered, 2);
	f.driver->run(2);
	assert_int_equal(sim_readback_process(f.rb), 1);
	assert_int_equal(cuda_state(&f).registered, 1);
	f.driver->run(2);
	assert_int_equal(sim_readback_process(f.rb), 1);
	assert_pixels(&f, 0, 1);
	assert_pixels(&f, 1, 1);
	assert_int_equal(cuda_counters(&f).imports, 2);
	cuda_fixture_finish(&f);
}

TEST(another_segment_at_the_same_address_is_registered_again)
{
	struct sim_readback *other;
	struct sim_readback_source s = { .size = sizeof(s), .format = SIM_READBACK_RGBA8, .cuda.pointer = 0 };
	void *again;

	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	s.cuda.pointer = f.source;
	assert_ok(sim_readback_create(&f.o, &other));
	assert_ok(cuda_start(&f));
	assert_ok(sim_readback_start(other, &s, NULL));
	cuda_drain(&f);
	assert_ok(sim_readback_drain(other, -1));
	assert_int_equal(cuda_state(&f).registers, 1); /* for both */
	again = mmap(f.slots.arena, slots_arena(&f.slots, NULL), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_equal(again, f.slots.arena);
	f.slots.generation++;
	assert_ok(cuda_start(&f)); /* while the other one still has the old memory */
	cuda_drain(&f);
	assert_int_equal(f.copies[2], 0);
	assert_int_equal(cuda_state(&f).registers, 2);
	assert_int_equal(cuda_state(&f).registered, 1);
	assert_ok(sim_readback_start(other, &s, NULL));
	assert_ok(sim_readback_drain(other, -1));
	assert_int_equal(cuda_state(&f).registers, 2);
	sim_readback_destroy(other);
	assert_int_equal(cuda_state(&f).registered, 1);
	cuda_fixture_finish(&f);
}

/* ---- memory of the caller's ---- */

static uint8_t *region(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	f.o.publisher = NULL;
	f.o.head = 0;
	f.o.memory = p;
	f.o.memory_size = size;
	return p;
}

static void into(void *to)
{
	assert_ok(cuda_start_of(&f, (struct sim_readback_source){ .cuda.pointer = f.source, .memory = to }));
	cuda_drain(&f);
	assert_pixels(&f, f.n - 1, 1);
}

TEST(memory_of_the_program_is_written_directly_in_the_region)
{
	uint8_t elsewhere[SIZE], *p;

	cuda_fixture_init(&f);
	p = region(16384);
	cuda_fixture_create(&f);
	into(p + 4096);
	into(p + 16384 - SIZE);
	into(elsewhere);
	assert_how("not in the page-locked memory");
	assert_int_equal(f.copies[0], 0);
	assert_int_equal(f.copies[1], 0);
	assert_int_equal(f.copies[2], 1);
	cuda_fixture_finish(&f);
}

TEST(memory_without_a_region_takes_one_copy)
{
	uint8_t elsewhere[SIZE];

	cuda_fixture_init(&f);
	f.o.publisher = NULL;
	f.o.head = 0;
	cuda_fixture_create(&f);
	into(elsewhere);
	assert_how("not in options.memory");
	assert_int_equal(f.copies[0], 1);
	cuda_fixture_finish(&f);
}

TEST(a_region_smaller_than_a_page_is_handled)
{
	uint8_t *p;

	cuda_fixture_init(&f);
	p = region(16384);
	f.o.memory = p + 64;
	f.o.memory_size = 4096;
	cuda_fixture_create(&f);
	into(p + 64);
	assert_how("no whole page");
	assert_int_equal(f.copies[0], 1);
	cuda_fixture_finish(&f);
}

TEST(a_region_page_locked_by_the_program_is_used)
{
	uint8_t *p;

	cuda_fixture_init(&f);
	p = region(16384);
	assert_int_equal(f.cu.MemHostRegister(p, 16384, CUDA_HOST_PORTABLE), CUDA_OK);
	cuda_fixture_create(&f);
	into(p);
	assert_int_equal(f.copies[0], 0);
	sim_readback_destroy(f.rb);
	f.rb = NULL;
	assert_int_equal(f.cu.MemHostUnregister(p), CUDA_OK); /* it is the program's still */
	cuda_fixture_finish(&f);
}

/* ---- contexts and streams ---- */

TEST(a_given_context_need_not_be_current)
{
	void *other, *popped;

	cuda_fixture_init(&f);
	f.o.cuda.context = f.context;
	assert_int_equal(f.cu.CtxPopCurrent(&popped), CUDA_OK);
	cuda_fixture_create(&f);
	assert_int_equal(f.driver->depth(), 0);
	assert_ok(cuda_start(&f));
	cuda_drain(&f);
	assert_int_equal(f.driver->depth(), 0);
	assert_pixels(&f, 0, 1);
	assert_int_equal(f.program.CtxCreate(&other, 0, 0), CUDA_OK);
	assert_ok(cuda_start(&f));
	cuda_drain(&f);
	assert_pixels(&f, 1, 1);
	assert_int_equal(f.cu.CtxGetCurrent(&popped), CUDA_OK);
	assert_ptr_equal(popped, other);
	sim_readback_destroy(f.rb);
	f.rb = NULL;
	assert_int_equal(f.program.CtxDestroy(other), CUDA_OK);
	assert_int_equal(f.driver->depth(), 0);
	assert_int_equal(f.cu.CtxPushCurrent(f.context), CUDA_OK);
	cuda_fixture_finish(&f);
}

TEST(the_context_current_at_the_create_is_kept)
{
	void *popped;

	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	assert_int_equal(f.cu.CtxPopCurrent(&popped), CUDA_OK);
	assert_ok(cuda_start(&f));
	cuda_drain(&f);
	assert_pixels(&f, 0, 1);
	assert_int_equal(f.driver->depth(), 0);
	assert_int_equal(f.cu.CtxPushCurrent(popped), CUDA_OK);
	cuda_fixture_finish(&f);
}

TEST(the_default_stream_may_be_used)
{
	cuda_fixture_init(&f);
	f.o.cuda.stream = NULL;
	cuda_fixture_create(&f);
	assert_ok(cuda_start(&f));
	cuda_drain(&f);
	assert_pixels(&f, 0, 1);
	cuda_fixture_finish(&f);
}

TEST(a_missing_context_or_a_stream_of_another_is_refused)
{
	struct sim_readback *rb;
	void *popped, *other;

	cuda_fixture_init(&f);
	assert_int_equal(f.program.CtxCreate(&other, 0, 0), CUDA_OK);
	says(sim_readback_create(&f.o, &rb), -EINVAL, "another context");
	assert_int_equal(f.cu.CtxPopCurrent(&popped), CUDA_OK);
	assert_int_equal(f.cu.CtxPopCurrent(&popped), CUDA_OK);
	says(sim_readback_create(&f.o, &rb), -ENOENT, "no context is current");
	f.o.cuda.context = f.context;
	f.o.cuda.stream = &popped;
	says(sim_readback_create(&f.o, &rb), -EIO, "is not a stream");
	f.o.cuda.context = &popped;
	says(sim_readback_create(&f.o, &rb), -ENODEV, "cannot be made current");
	assert_int_equal(f.program.CtxDestroy(other), CUDA_OK);
	assert_int_equal(f.cu.CtxPushCurrent(f.context), CUDA_OK);
	cuda_fixture_finish(&f);
}

static void *elsewhere(void *arg)
{
	(void)arg;
	says(cuda_start(&f), -EPERM, "not the thread");
	says(sim_readback_process(f.rb), -EPERM, "not the thread");
	return NULL;
}

TEST(calls_from_another_thread_are_refused)
{
	pthread_t t;

	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	assert_int_equal(pthread_create(&t, NULL, elsewhere, NULL), 0);
	pthread_join(t, NULL);
	assert_int_equal(cuda_counters(&f).started, 0);
	cuda_fixture_finish(&f);
}

TEST(a_stream_under_capture_is_refused)
{
	void *graph;

	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	assert_int_equal(f.program.StreamBeginCapture(f.stream, 0), CUDA_OK);
	says(cuda_start(&f), -EINVAL, "captured into a graph");
	assert_int_equal(f.program.StreamEndCapture(f.stream, &graph), CUDA_OK);
	assert_ok(cuda_start(&f));
	cuda_drain(&f);
	assert_pixels(&f, 0, 1);
	cuda_fixture_finish(&f);
}

/* ---- memory of another process ---- */

static int start_ipc(const struct cuda_ipc_handle *h, void *memory)
{
	return cuda_start_of(&f, (struct sim_readback_source){ .cuda.ipc = h, .memory = memory });
}

TEST(memory_of_another_process_is_read)
{
	struct cuda_exporter e;

	cuda_exporter_init(&e);
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	for (unsigned i = 0; i < 10; i++) {
		struct cuda_ipc_handle h = e.handle[i % 2];

		assert_ok(start_ipc(&h, NULL));
		memset(&h, 0, sizeof(h)); /* it is not needed any more */
		cuda_drain(&f);
		assert_pixels(&f, i, i % 2);
	}
	assert_int_equal(cuda_state(&f).opens, 2); /* each once */
	assert_int_equal(cuda_state(&f).opened, 2);
	says(cuda_start_of(&f, (struct sim_readback_source){ .cuda.ipc = &e.handle[0], .offset = 65 }), -EINVAL,
	     "the rows need");
	assert_ok(cuda_start_of(&f, (struct sim_readback_source){ .cuda.ipc = &e.handle[0], .offset = 64 }));
	cuda_drain(&f);
	assert_int_equal(f.data[10][0], cuda_byte(0, 64));
	cuda_fixture_finish(&f); /* closes them */
	cuda_exporter_finish(&e);
}

TEST(the_number_of_open_memory_handles_is_bounded)
{
	static uint8_t target[SIM_READBACK_CUDA_IPC_MAX + 1][SIZE];
	struct cuda_exporter e;
	unsigned i;

	cuda_exporter_init(&e);
	cuda_fixture_init(&f);
	f.o.publisher = NULL;
	f.o.head = 0;
	f.o.in_flight = SIM_READBACK_CUDA_IPC_MAX + 1;
	cuda_fixture_create(&f);
	f.driver->hold(true);
	for (i = 0; i < SIM_READBACK_CUDA_IPC_MAX; i++)
		assert_ok(start_ipc(&e.handle[i], target[i]));
	says(start_ipc(&e.handle[i], target[i]), -ENOBUFS, "being read");
	f.driver->hold(false);
	cuda_drain(&f);
	assert_ok(start_ipc(&e.handle[0], target[0])); /* now number 1 is the one that was not read for longest */
	cuda_drain(&f);
	assert_ok(start_ipc(&e.handle[i], target[i]));
	cuda_drain(&f);
	assert_pixels(&f, f.n - 1, i);
	assert_int_equal(cuda_state(&f).opened, SIM_READBACK_CUDA_IPC_MAX);
	assert_int_equal(cuda_state(&f).opens, SIM_READBACK_CUDA_IPC_MAX + 1);
	assert_ok(start_ipc(&e.handle[0], target[0]));
	cuda_drain(&f);
	assert_int_equal(cuda_state(&f).opens, SIM_READBACK_CUDA_IPC_MAX + 1);
	assert_ok(start_ipc(&e.handle[1], target[1]));
	cuda_drain(&f);
	assert_int_equal(cuda_state(&f).opens, SIM_READBACK_CUDA_IPC_MAX + 2);
	cuda_fixture_finish(&f);
	cuda_exporter_finish(&e);
}

TEST(invalid_memory_handles_are_refused)
{
	struct cuda_ipc_handle mine, none = { "no handle" };
	struct cuda_exporter e;

	cuda_exporter_init(&e);
	cuda_fixture_init(&f);
	cuda_fixture_create(&f);
	assert_int_equal(f.program.IpcGetMemHandle(&mine, f.source), CUDA_OK);
	says(start_ipc(&mine, NULL), -EIO, "of this process");
	says(start_ipc(&none, NULL), -EIO, "cannot be opened");
	f.driver->refuse("cuIpcOpenMemHandle_v2", 217);
	says(start_ipc(&e.handle[0], NULL), -EIO, "217");
	f.driver->refuse("", CUDA_OK);
	assert_ok(start_ipc(&e.handle[0], NULL)); /* the read-back is none the worse */
	cuda_drain(&f);
	assert_pixels(&f, 0, 0);
	assert_int_equal(cuda_state(&f).opens, 1);
	cuda_fixture_finish(&f);
	cuda_exporter_finish(&e);
}
