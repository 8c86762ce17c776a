/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vulkan without a GPU: the device writes slots and registered memory itself; functions in front of lavapipe's play a
 * driver that refuses, and one that loses its device.
 */
#include "gpu.h"
#include "stack.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include <sim/msg/Image.h>
#include <sim/sim.h>

#define ROW  (4 * GPU_W)
#define SIZE (ROW * GPU_H)
#define HEAD 64u

static struct gpu gpu;
static struct sim_readback *rb;
static unsigned n_done;
static struct sim_readback_ticket last;
static struct sim_publisher *pub;
static int published;

static void done(void *arg, struct sim_readback_ticket *t)
{
	struct sim_slot *slot;
	struct sim_builder b;
	struct sim_Image *m;

	(void)arg;
	n_done++;
	last = *t;
	if (!t->slot)
		return;
	slot = sim_readback_take_slot(rb, t);
	m = sim_Image_init(sim_slot_body_mut(slot), slot->body_size, &b);
	m->width = t->width;
	m->height = t->height;
	m->step = t->row_pitch;
	sim_Image_encoding_set(&b, "rgba8");
	assert_ptr_equal(sim_Image_data_alloc(&b, (uint32_t)t->data_size), t->data);
	published = sim_publish_local(pub, slot);
}

static struct sim_readback_options options(void)
{
	return (struct sim_readback_options){
		.size = sizeof(struct sim_readback_options),
		.backend = SIM_READBACK_VULKAN,
		.shape = { .format = SIM_READBACK_RGBA8, .width = GPU_W, .height = GPU_H },
		.vulkan = gpu_handles(&gpu),
		.done = done,
	};
}

static void create(const struct sim_readback_options *o)
{
	n_done = 0;
	if (sim_readback_create(o, &rb) < 0)
		fail_msg("%s", sim_readback_why());
}

static void ok(int r)
{
	if (r < 0)
		fail_msg("%s", sim_readback_why());
}

static struct sim_readback_source image(void *memory)
{
	return (struct sim_readback_source){ .size = sizeof(struct sim_readback_source),
					     .format = SIM_READBACK_RGBA8,
					     .memory = memory,
					     .vulkan = { .image = (uint64_t)gpu.image,
							 .layout = VK_IMAGE_LAYOUT_GENERAL } };
}

static void says(const char *words)
{
	if (!strstr(sim_readback_how(rb), words))
		fail_msg("\"%s\" does not say \"%s\"", sim_readback_how(rb), words);
}

static uint8_t *region(size_t size)
{
	uint8_t *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(m != MAP_FAILED);
	memset(m, 0xee, size);
	return m;
}

/* One cleared image, whatever happens between; returns the number of copies. */
static unsigned read_one(void *memory, const uint8_t rgba[4], const uint8_t expected[4])
{
	struct sim_readback_source s = image(memory);

	n_done = 0;
	gpu_clear(&gpu, rgba);
	ok(sim_readback_start(rb, &s, NULL));
	ok(sim_readback_drain(rb, -1));
	assert_int_equal(n_done, 1);
	assert_int_equal(last.result, 0);
	for (size_t y = 0; y < last.height; y++) {
		for (size_t x = 0; x < last.width; x++)
			assert_memory_equal((uint8_t *)last.data + y * last.row_pitch + 4 * x, expected, 4);
	}
	return last.copies;
}

static const uint8_t orange[4] = { 255, 128, 3, 77 }, reversed[4] = { 3, 128, 255, 77 };

TEST(registered_memory_is_written_by_the_device)
{
	uint8_t *m = region(1 << 20);
	struct sim_readback_options o = options();
	struct sim_readback_counters n;

	if (!gpu_init(&gpu))
		skip();
	o.vulkan = gpu_handles(&gpu);
	o.memory = m;
	o.memory_size = 1 << 20;
	create(&o);
	assert_int_equal(read_one(m + (1 << 18) + 64, orange, orange), 0);
	says("writes the target itself");
	assert_int_equal(read_one(m, orange, orange), 0);
	assert_int_equal(m[SIZE], 0xee);
	sim_readback_get_counters(rb, &n);
	assert_int_equal(n.imports, 1);
	assert_int_equal(n.copies, 0);
	/* a pitch of its own */
	o.shape.row_pitch = ROW + 16;
	ok(sim_readback_resize(rb, &o.shape));
	assert_int_equal(read_one(m + (1 << 19), orange, orange), 0);
	assert_int_equal(m[(1 << 19) + ROW], 0xee);
	sim_readback_destroy(rb);
	gpu_finish(&gpu);
	munmap(m, 1 << 20);
}

TEST(requests_that_the_device_cannot_write_take_one_copy)
{
	uint8_t *m = region(1 << 20);
	static uint32_t elsewhere[SIZE / 4];
	struct sim_readback_options o = options();

	if (!gpu_init(&gpu))
		skip();
	o.vulkan = gpu_handles(&gpu);
	o.memory = m;
	o.memory_size = 1 << 20;
	create(&o);
	assert_int_equal(read_one(elsewhere, orange, orange), 1);
	says("not in the imported memory");
	o.shape.format = SIM_READBACK_BGRA8;
	ok(sim_readback_resize(rb, &o.shape));
	assert_int_equal(read_one(m, orange, reversed), 1);
	says("changes the format");
	o.shape.format = SIM_READBACK_RGBA8;
	ok(sim_readback_resize(rb, &o.shape));
	assert_int_equal(read_one(m, orange, orange), 0);
	sim_readback_destroy(rb);
	/* nothing is registered */
	o.memory = NULL;
	o.memory_size = 0;
	create(&o);
	assert_int_equal(read_one(m, orange, orange), 1);
	says("not in options.memory");
	sim_readback_destroy(rb);
	gpu_finish(&gpu);
	munmap(m, 1 << 20);
}

TEST(buffers_may_have_offset_and_pitches)
{
	const uint32_t pitches[] = { 0, 100 };
	uint8_t *m = region(1 << 20);
	struct sim_readback_options o = options();

	if (!gpu_init(&gpu))
		skip();
	o.vulkan = gpu_handles(&gpu);
	o.memory = m;
	o.memory_size = 1 << 20;
	o.shape = (struct sim_readback_shape){ .format = SIM_READBACK_R8, .width = 70, .height = 130 };
	create(&o);
	for (unsigned k = 0; k < 8; k++) {
		struct sim_readback_source s = { .size = sizeof(s),
						 .format = SIM_READBACK_R8,
						 .memory = m,
						 .offset = 12,
						 .row_pitch = pitches[k & 1],
						 .vulkan.buffer = (uint64_t)gpu.buffer };
		size_t from_pitch = k & 1 ? 100 : 70, to_pitch = k & 2 ? 80 : 70;

		o.shape.row_pitch = k & 2 ? 80 : 0;
		o.shape.flip = k & 4;
		ok(sim_readback_resize(rb, &o.shape));
		ok(sim_readback_start(rb, &s, NULL));
		ok(sim_readback_drain(rb, -1));
		assert_int_equal(last.result, 0);
		assert_int_equal(last.copies, k & 4 ? 1 : 0);
		for (size_t y = 0; y < 130; y++)
			assert_memory_equal(m + y * to_pitch, gpu.mapped + 12 + (k & 4 ? 129 - y : y) * from_pitch, 70);
	}
	sim_readback_destroy(rb);
	gpu_finish(&gpu);
	munmap(m, 1 << 20);
}

TEST(invalid_sources_are_refused)
{
	uint8_t *m = region(1 << 20);
	struct sim_readback_options o = options();
	struct sim_readback_source s;

	if (!gpu_init(&gpu))
		skip();
	o.vulkan = (struct sim_readback_vulkan){ .instance = gpu.instance };
	assert_int_equal(sim_readback_create(&o, &rb), -EINVAL);
	assert_non_null(strstr(sim_readback_why(), "is NULL"));
	o.vulkan = gpu_handles(&gpu);
	create(&o);
	s = image(m);
	s.vulkan.buffer = (uint64_t)gpu.buffer;
	assert_int_equal(sim_readback_start(rb, &s, NULL), -EINVAL);
	s = image(m);
	s.vulkan.image = 0;
	assert_int_equal(sim_readback_start(rb, &s, NULL), -EINVAL);
	s = image(m);
	s.offset = 4;
	assert_int_equal(sim_readback_start(rb, &s, NULL), -EINVAL);
	s = image(m);
	s.vulkan.layout = VK_IMAGE_LAYOUT_UNDEFINED;
	assert_int_equal(sim_readback_start(rb, &s, NULL), -EINVAL);
	s = image(m);
	s.vulkan.depth = true;
	assert_int_equal(sim_readback_start(rb, &s, NULL), -EINVAL);
	assert_non_null(strstr(sim_readback_why(), "R32F"));
	sim_readback_destroy(rb);
	gpu_finish(&gpu);
	munmap(m, 1 << 20);
}

/* ---- another driver ---- */

static bool refuses, loses;

static VKAPI_ATTR VkResult VKAPI_CALL refuse(VkDevice d, VkExternalMemoryHandleTypeFlagBits type, const void *p,
					     VkMemoryHostPointerPropertiesEXT *ret)
{
	(void)d;
	(void)type;
	(void)p;
	(void)ret;
	return VK_ERROR_INVALID_EXTERNAL_HANDLE;
}

static VKAPI_ATTR VkResult VKAPI_CALL lose(VkDevice d, VkSemaphore s, uint64_t *ret)
{
	return loses ? VK_ERROR_DEVICE_LOST : vkGetSemaphoreCounterValue(d, s, ret);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_call(VkDevice d, const char *name)
{
	if (refuses && strcmp(name, "vkGetMemoryHostPointerPropertiesEXT") == 0)
		return (PFN_vkVoidFunction)refuse;
	if (strcmp(name, "vkGetSemaphoreCounterValue") == 0)
		return (PFN_vkVoidFunction)lose;
	return vkGetDeviceProcAddr(d, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_call(VkInstance i, const char *name)
{
	return strcmp(name, "vkGetDeviceProcAddr") == 0 ? (PFN_vkVoidFunction)device_call
							: vkGetInstanceProcAddr(i, name);
}

TEST(a_driver_that_refuses_the_memory_is_survived)
{
	uint8_t *m = region(1 << 20);
	struct sim_readback_options o = options();
	struct sim_readback_counters n;

	if (!gpu_init(&gpu))
		skip();
	refuses = true;
	o.vulkan = gpu_handles(&gpu);
	o.vulkan.get_instance_proc_addr = (void *)instance_call;
	o.memory = m;
	o.memory_size = 1 << 20;
	create(&o);
	for (int i = 0; i < 3; i++)
		assert_int_equal(read_one(m, orange, orange), 1);
	says("VK_ERROR_INVALID_EXTERNAL_HANDLE");
	sim_readback_get_counters(rb, &n);
	assert_int_equal(n.imports, 0);
	assert_int_equal(n.copies, 3);
	sim_readback_destroy(rb);
	gpu_finish(&gpu);
	munmap(m, 1 << 20);
}

TEST(a_lost_device_is_reported)
{
	uint8_t *m = region(1 << 20);
	struct sim_readback_options o = options();
	struct sim_readback_source s;

	if (!gpu_init(&gpu))
		skip();
	o.vulkan = gpu_handles(&gpu);
	o.vulkan.get_instance_proc_addr = (void *)instance_call;
	create(&o);
	s = image(m);
	gpu_clear(&gpu, orange);
	ok(sim_readback_start(rb, &s, NULL));
	ok(sim_readback_start(rb, &s, NULL));
	vkDeviceWaitIdle(gpu.device);
	loses = true;
	assert_int_equal(sim_readback_process(rb), 2);
	assert_int_equal(last.result, -ENODEV);
	assert_int_equal(sim_readback_start(rb, &s, NULL), -ENODEV);
	assert_non_null(strstr(sim_readback_why(), "device is lost"));
	sim_readback_destroy(rb);
	gpu_finish(&gpu);
	munmap(m, 1 << 20);
}

/* ---- slots ---- */

static void check_message(struct sim_subscriber *sub, const uint8_t rgba[4])
{
	const struct sim_message *got;
	const struct sim_Image *m;
	const uint8_t *data;
	uint32_t n;

	assert_int_equal(sim_take(sub, &got), 0);
	m = sim_Image_from(got->body, got->body_size);
	assert_non_null(m);
	assert_string_equal(sim_Image_encoding(m, got->body_size), "rgba8");
	data = sim_Image_data(m, got->body_size, &n);
	assert_int_equal(n, SIZE);
	assert_int_equal((uintptr_t)data % 64, 0); /* where a driver may want it */
	assert_int_equal(got->header.stamp_sim_ns, last.capture_sim_ns);
	for (uint32_t i = 0; i < n; i += 4)
		assert_memory_equal(data + i, rgba, 4);
	sim_release(sub, got);
}

static int start_and_drain(void)
{
	struct sim_readback_source s = image(NULL);
	int r;

	gpu_clear(&gpu, orange);
	r = sim_readback_start(rb, &s, NULL);
	return r < 0 ? r : sim_readback_drain(rb, -1);
}

static void use_slots(void)
{
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = HEAD + SIZE, .flags = SIM_PUB_LOCAL };
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 8 };
	struct sim_client_options co = {
		.size = sizeof(co), .name = "camera", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_readback_options o;
	struct sim_readback_counters n;
	struct sim_subscriber *sub;
	struct sim_client *c;

	assert_true(gpu_init(&gpu));
	assert_int_equal(sim_connect(&co, &c), 0);
	assert_int_equal(sim_advertise(c, "/image", &sim_Image_type, &po, &pub), 0);
	assert_int_equal(sim_subscribe(c, "/image", NULL, &so, &sub), 0);
	AWAIT(sim_publisher_has_subscribers(pub));
	o = options();
	o.publisher = pub;
	o.head = HEAD;
	create(&o);
	for (unsigned i = 0; i < 50; i++) {
		const uint8_t rgba[4] = { (uint8_t)i, (uint8_t)(2 * i), (uint8_t)(255 - i), 255 };

		assert_int_equal(read_one(NULL, rgba, rgba), 0);
		assert_int_equal(published, 0);
		check_message(sub, rgba);
	}
	says("writes the target itself");
	sim_readback_get_counters(rb, &n);
	assert_int_equal(n.completed, 50);
	assert_int_equal(n.copies, 0);
	assert_int_equal(n.imports, 1);
	/* another data plane: imported memory belongs to another segment */
	kill(stack_roudi(), SIGKILL);
	AWAIT((sim_readback_get_counters(rb, &n), n.imports == 2) || (start_and_drain(), false));
	AWAIT(sim_publisher_has_subscribers(pub));
	AWAIT(start_and_drain() == 0 && last.result == 0 && published == 0);
	assert_int_equal(last.copies, 0);
	sim_readback_destroy(rb);
	sim_subscriber_destroy(sub);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	gpu_finish(&gpu);
}

/* In a process of its own: its mappings of the data plane are released when it exits. */
TEST_WITH(slots_are_written_by_the_device, NULL, stack_sweep)
{
	pid_t simd, pid;

	if (sim_readback_probe(SIM_READBACK_VULKAN) < 0)
		skip();
	simd = stack_start(
		"\"TimeSource\":\"system\",\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"16KiB\","
		"\"count\":64}]");
	pid = fork();
	if (pid == 0) {
		use_slots();
		exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(stack_wait(pid), 0);
	stack_stop(simd);
}
