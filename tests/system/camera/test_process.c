/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-camera in a real simd: each exposure gives an image, its info, its JPEG and its boxes, with the stamp of the
 * exposure; in lock-step none is missing, and a run repeats. Without a driver it logs that.
 */
#include "stack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <sim/msg/CameraInfo.h>
#include <sim/msg/CompressedImage.h>
#include <sim/msg/Detected2DObjects.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Image.h>
#include <sim/msg/TrafficSignals.h>
#include <sim/msg/Transforms.h>
#include <sim/readback.h>
#include <sim/sim.h>

#define CAMERA   "sim-camera"
#define FILE_CAM "/tmp/cameras.json"
#define LOOKS    12
#define LOOK_DUR (50 * NS_PER_MS)
#define BODY     4096u

TEST_PROCESSES();

/* ---- the world ---- */

struct world {
	struct sim_client *c;
	struct sim_publisher *tf, *objects, *signals;
	struct sim_subscriber *front, *info, *jpeg, *ids, *boxes, *frames;
};

static struct sim_publisher *advertise(struct world *w, const char *channel, const struct sim_type *type)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = BODY, .frame_id = "base_link" };
	struct sim_publisher *p;

	if (sim_advertise(w->c, channel, type, &o, &p) < 0)
		fail_msg("%s: %s", channel, sim_why());
	return p;
}

static struct sim_subscriber *subscribe(struct world *w, const char *channel)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 32 };
	struct sim_subscriber *s;

	if (sim_subscribe(w->c, channel, NULL, &o, &s) < 0)
		fail_msg("%s: %s", channel, sim_why());
	return s;
}

static void open_world(struct world *w)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "world", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	assert_int_equal(sim_connect(&o, &w->c), 0);
	w->tf = advertise(w, "tf", &sim_Transforms_type);
	w->objects = advertise(w, "objects", &sim_Detected3DObjects_type);
	w->signals = advertise(w, "signals", &sim_TrafficSignals_type);
	w->front = subscribe(w, "camera/front");
	w->info = subscribe(w, "camera/front/info");
	w->jpeg = subscribe(w, "camera/front/compressed");
	w->ids = subscribe(w, "camera/ids");
	w->boxes = subscribe(w, "objects_2d");
	w->frames = subscribe(w, "tf_static");
}

static void close_world(struct world *w)
{
	struct sim_publisher *p[] = { w->tf, w->objects, w->signals };
	struct sim_subscriber *s[] = { w->front, w->info, w->jpeg, w->ids, w->boxes, w->frames };

	for (size_t i = 0; i < 3; i++)
		sim_publisher_destroy(p[i]);
	for (size_t i = 0; i < 6; i++)
		sim_subscriber_destroy(s[i]);
	sim_disconnect(w->c);
}

static struct sim_slot *loan(struct sim_publisher *p, int64_t stamp_sim_ns)
{
	struct sim_slot *slot;

	if (sim_loan(p, BODY, &slot) < 0)
		fail_msg("%s", sim_why());
	slot->stamp_sim_ns = stamp_sim_ns;
	return slot;
}

static void publish(struct sim_publisher *p, struct sim_slot *slot, const struct sim_builder *b)
{
	slot->body_size = (uint32_t)sim_builder_size(b);
	assert_int_equal(sim_publish_local(p, slot), 0);
}

/* The vehicle drives 1 m a look; a car stands 20 m before where it began. */
static void look(struct world *w, int64_t stamp_sim_ns, double x)
{
	struct sim_slot *slot = loan(w->tf, stamp_sim_ns);
	struct sim_Detected3DObject *o;
	struct sim_Transform *t;
	struct sim_builder b;

	sim_Transforms_init(sim_slot_body_mut(slot), BODY, &b);
	t = sim_Transforms_transforms_alloc(&b, 1);
	t->translation.x = x;
	t->rotation.w = 1;
	assert_int_equal(sim_Transform_parent_frame_set_in(&b, t, "map"), 0);
	assert_int_equal(sim_Transform_child_frame_set_in(&b, t, "base_link"), 0);
	publish(w->tf, slot, &b);
	slot = loan(w->signals, stamp_sim_ns);
	sim_TrafficSignals_init(sim_slot_body_mut(slot), BODY, &b);
	assert_non_null(sim_TrafficSignals_signals_alloc(&b, 0));
	publish(w->signals, slot, &b);
	slot = loan(w->objects, stamp_sim_ns);
	sim_Detected3DObjects_init(sim_slot_body_mut(slot), BODY, &b);
	o = sim_Detected3DObjects_objects_alloc(&b, 1);
	o->id = 70001;
	o->pose.position.x = 20 - x;
	o->pose.position.z = 0.75;
	o->pose.orientation.w = 1;
	o->size = (struct sim_Vector3){ 4.5, 1.8, 1.5 };
	assert_int_equal(sim_Detected3DObject_label_set_in(&b, o, "Car"), 0);
	publish(w->objects, slot, &b);
}

/* ---- the camera ---- */

static void write_cameras(void)
{
	FILE *f = fopen(FILE_CAM, "w");

	assert_non_null(f);
	fputs("{\"cameras\": [{\"channel\": \"camera/front\", \"width\": 160, \"height\": 120, \"hfov\": 60, \"rate\": 20, \"z\": 1.2,"
	      "\"compressed\": \"camera/front/compressed\"}, {\"channel\": \"camera/ids\", \"frame_id\": \"camera_front_optical\", \"kind\":"
	      "\"instance\", \"width\": 160, \"height\": 120, \"hfov\": 60, \"rate\": 20, \"z\": 1.2, \"boxes\": \"objects_2d\"}]}",
	      f);
	fclose(f);
}

static pid_t start_camera(const char *rank)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl(BIN "/" CAMERA, CAMERA, "--simd-socket", STACK_SOCKET, "--cameras", FILE_CAM, "--hour", "10",
		      "--rank", rank, NULL);
		_exit(127);
	}
	return pid;
}

static void stop_camera(pid_t pid)
{
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(stack_wait(pid), 0);
}

/* ---- received messages ---- */

/* Older messages are of an earlier exposure. */
static const struct sim_message *take(struct sim_subscriber *s, int64_t since_sim_ns)
{
	const struct sim_message *m;

	AWAIT(sim_take(s, &m) == 0);
	while (m->header.stamp_sim_ns < since_sim_ns) {
		sim_release(s, m);
		AWAIT(sim_take(s, &m) == 0);
	}
	return m;
}

static const uint8_t *check_image(const struct sim_message *got, const char *encoding)
{
	const struct sim_Image *m = sim_Image_from(got->body, got->body_size);
	uint32_t n;
	const uint8_t *data = sim_Image_data(m, got->body_size, &n);

	assert_true(m->width == 160 && m->height == 120 && m->step == 640 && n == 4 * 160 * 120);
	assert_string_equal(sim_Image_encoding(m, got->body_size), encoding);
	assert_string_equal(got->header.frame_id, "camera_front_optical");
	return data;
}

static void check_info(const struct sim_message *got)
{
	const struct sim_CameraInfo *m = sim_CameraInfo_from(got->body, got->body_size);

	assert_true(m->width == 160 && m->height == 120);
	assert_true(fabs(m->k[0] - 80 / tan(M_PI / 6)) < 1e-6 && m->k[2] == 79.5 && m->k[5] == 59.5 && m->k[8] == 1);
	assert_string_equal(got->header.frame_id, "camera_front_optical");
}

static void check_jpeg(const struct sim_message *got)
{
	const struct sim_CompressedImage *m = sim_CompressedImage_from(got->body, got->body_size);
	uint32_t n;
	const uint8_t *data = sim_CompressedImage_data(m, got->body_size, &n);

	assert_string_equal(sim_CompressedImage_format(m, got->body_size), "jpeg");
	assert_true(n > 100 && data[0] == 0xFF && data[1] == 0xD8 && data[n - 2] == 0xFF && data[n - 1] == 0xD9);
}

/* The car's back is 17.75 - x m before base_link, and the camera 1.6 m. */
static void check_boxes(const struct sim_message *got, double x)
{
	uint32_t n;
	const struct sim_Detected2DObjects *m = sim_Detected2DObjects_from(got->body, got->body_size);
	const struct sim_Detected2DObject *o = sim_Detected2DObjects_objects(m, got->body_size, &n);
	double width = 1.8 / (17.75 - x - 1.6) * 80 / tan(M_PI / 6);

	assert_int_equal(n, 1);
	assert_int_equal(o->id, 70001);
	assert_string_equal(sim_Detected2DObject_label_in(m, got->body_size, o), "Car");
	assert_true(fabs((double)o->center_x - 80) < 1.5);
	if (!(fabs((double)o->width - width) < 0.1 * width + 2))
		fail_msg("a box of %g, where a car is %g wide", (double)o->width, width);
}

static void check_frames(struct world *w)
{
	const struct sim_message *got = take(w->frames, INT64_MIN);
	uint32_t n;
	const struct sim_Transforms *m = sim_Transforms_from(got->body, got->body_size);
	const struct sim_Transform *t = sim_Transforms_transforms(m, got->body_size, &n);

	assert_int_equal(n, 1); /* both cameras have one frame */
	assert_string_equal(sim_Transform_parent_frame_in(m, got->body_size, t), "base_link");
	assert_string_equal(sim_Transform_child_frame_in(m, got->body_size, t), "camera_front_optical");
	assert_true(m->is_static && fabs(t->translation.x - 1.6) < 1e-9 && fabs(t->translation.z - 1.2) < 1e-9);
	/* z forward, x right, y down: (x, y, z, w) = (-0.5, 0.5, -0.5, 0.5), or all of the other sign */
	assert_true(fabs(t->rotation.x * t->rotation.w + 0.25) < 1e-9 &&
		    fabs(t->rotation.y * t->rotation.w - 0.25) < 1e-9 &&
		    fabs(t->rotation.z * t->rotation.w + 0.25) < 1e-9);
	sim_release(w->frames, got);
}

static uint64_t sum(uint64_t h, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001B3u;
	return h;
}

/* All messages of an exposure; returns a hash of them. */
static uint64_t check_look(struct world *w, int64_t stamp_sim_ns, double x, uint64_t h)
{
	struct sim_subscriber *from[] = { w->front, w->info, w->jpeg, w->ids, w->boxes };

	for (int i = 0; i < 5; i++) {
		const struct sim_message *got = take(from[i], stamp_sim_ns);

		assert_int_equal(got->header.stamp_sim_ns, stamp_sim_ns);
		switch (i) {
		case 0:
			h = sum(h, check_image(got, "rgba8"), 4 * 160 * 120);
			break;
		case 1:
			check_info(got);
			break;
		case 2:
			check_jpeg(got);
			h = sum(h, got->body, got->body_size);
			break;
		case 3:
			h = sum(h, check_image(got, "32SC1"), 4 * 160 * 120);
			break;
		default:
			check_boxes(got, x);
		}
		sim_release(from[i], got);
	}
	return h;
}

static bool drained(struct sim_subscriber *s)
{
	const struct sim_message *m;
	bool any = false;

	while (sim_take(s, &m) == 0) {
		any = true;
		sim_release(s, m);
	}
	return any;
}

#define POOLS \
	"\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"8KiB\",\"count\":800},{\"size\":\"256KiB\",\"count\":600}]"

/* No message has arrived, and none does. */
static bool all_drained(struct world *w)
{
	struct sim_subscriber *all[] = { w->front, w->info, w->jpeg, w->ids, w->boxes };
	bool any = false;

	for (int i = 0; i < 5; i++)
		any |= drained(all[i]);
	return !any && sim_wait(w->front, 10 * LOOK_DUR) == 0;
}

static void looks(struct world *w)
{
	int64_t stamp = 1000 * NS_PER_S;
	int x = 0;

	/* the first ones may come before it hears of anything */
	AWAIT((stamp += LOOK_DUR, look(w, stamp, 0), sim_wait(w->boxes, LOOK_DUR) > 0));
	check_frames(w);
	/* one at a time: nothing is dropped then */
	AWAIT(all_drained(w));
	for (; x < LOOKS; x++) {
		stamp += LOOK_DUR;
		look(w, stamp, x);
		check_look(w, stamp, x, 0);
	}
}

TEST_WITH(each_frame_has_image_info_jpeg_and_boxes_with_one_stamp, NULL, stack_sweep)
{
	struct world w;
	pid_t simd, camera;

	if (sim_readback_probe(SIM_READBACK_VULKAN) < 0) {
		print_message("%s\n", sim_readback_why());
		skip();
	}
	write_cameras();
	simd = stack_start("\"TimeSource\":\"system\"," POOLS);
	open_world(&w);
	camera = start_camera("-1");
	looks(&w);
	stop_camera(camera);
	close_world(&w);
	stack_stop(simd);
}

/* ---- lock-step ---- */

static uint64_t drive(struct world *w)
{
	struct sim_driver *d;
	int64_t now = 0, granted;
	uint64_t h = 0;

	AWAIT(sim_driver_acquire(w->c, 0, &d) == 0);
	/* time waits for the camera, and so it hears of all that comes after this */
	assert_int_equal(sim_driver_advance(d, LOOK_DUR, &now), 0);
	for (int x = 0; x < LOOKS; x++) {
		look(w, now + 1, x);
		assert_int_equal(sim_driver_advance(d, LOOK_DUR, &granted), 0);
		/* the step has ended, and so it is there; nothing paces it, so without the wait for the device most would be dropped */
		h = check_look(w, now + 1, x, h);
		now += granted;
	}
	sim_driver_release(d);
	return h;
}

TEST_WITH(lock_step_skips_no_image_and_repeats_exactly, NULL, stack_sweep)
{
	uint64_t first = 0;

	if (sim_readback_probe(SIM_READBACK_VULKAN) < 0) {
		print_message("%s\n", sim_readback_why());
		skip();
	}
	write_cameras();
	for (int run = 0; run < 2; run++) {
		pid_t simd = stack_start("\"TimeSource\":\"unity\"," POOLS
					 ",\"rigs\":[{\"name\":\"r\",\"wait_for\":[\"sim-camera\"]}]");
		struct world w;
		pid_t camera;
		uint64_t h;

		open_world(&w);
		camera = start_camera("100");
		h = drive(&w);
		assert_true(run == 0 || h == first);
		first = h;
		stop_camera(camera);
		close_world(&w);
		stack_stop(simd);
	}
}

/* ---- one picture ---- */

TEST_WITH(a_picture_is_abandoned_when_simd_exits, NULL, stack_sweep)
{
	pid_t simd, camera;
	struct world w;

	if (sim_readback_probe(SIM_READBACK_VULKAN) < 0)
		skip();
	simd = stack_start("\"TimeSource\":\"system\"," POOLS);
	open_world(&w);
	camera = fork();
	if (camera == 0) {
		execl(BIN "/" CAMERA, CAMERA, "--simd-socket", STACK_SOCKET, "--png", "/tmp/none.png", NULL);
		_exit(127);
	}
	AWAIT(sim_publisher_has_subscribers(w.objects));
	close_world(&w);
	assert_int_equal(kill(simd, SIGTERM), 0); /* not stack_stop(), which finds the camera left */
	assert_int_equal(stack_wait(simd), 0);
	assert_int_equal(WEXITSTATUS(stack_wait(camera)), 1);
	assert_int_equal(access("/tmp/none.png", F_OK), -1);
}

/* ---- without ---- */

static const char *run(const char *const *arguments, int *ret_code)
{
	static char said[4096];
	int out[2];
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], 1);
		dup2(out[1], 2);
		close(out[0]);
		execv(BIN "/" CAMERA, (char *const *)(uintptr_t)arguments);
		_exit(127);
	}
	close(out[1]);
	while (n < sizeof(said) - 1 && (r = read(out[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)r;
	said[n] = '\0';
	close(out[0]);
	*ret_code = WEXITSTATUS(stack_wait(pid));
	return said;
}

static void refuses(const char *const *arguments, int code, const char *sentence)
{
	int is;
	const char *said = run(arguments, &is);

	if (is != code || !strstr(said, sentence))
		fail_msg("%d and \"%s\", not %d and \"%s\"", is, said, code, sentence);
}

TEST_WITH(without_a_vulkan_driver_the_program_ends_with_the_reason, NULL, stack_sweep)
{
	const char *const arguments[] = { CAMERA, "--at", "0,0,0", "--png", "/tmp/a.png", NULL };

	setenv("VK_ICD_FILENAMES", "/nowhere/driver.json", 1);
	setenv("VK_DRIVER_FILES", "/nowhere/driver.json", 1);
	refuses(arguments, 78, "no Vulkan");
	unsetenv("VK_ICD_FILENAMES");
	unsetenv("VK_DRIVER_FILES");
}

TEST_WITH(invalid_arguments_are_refused_before_a_driver_is_loaded, NULL, stack_sweep)
{
	const char *const nowhere[] = { CAMERA,  "--net", "/nowhere/a.net.xml", "--at",
					"0,0,0", "--png", "/tmp/a.png",         NULL };
	const char *const kind[] = { CAMERA, "--kind", "infrared", NULL };
	const char *const file[] = { CAMERA, "--cameras", "/nowhere/c.json", NULL };
	const char *const alone[] = { CAMERA, "--at", "0,0,0", NULL };

	refuses(nowhere, 1, "/nowhere/a.net.xml");
	refuses(kind, 1, "--kind infrared: colour, depth, semantic or instance");
	refuses(file, 1, "/nowhere/c.json");
	refuses(alone, 1, "--at: only with --png");
}

TEST_WITH(a_picture_of_the_town_needs_no_simd, NULL, stack_sweep)
{
	const char *const arguments[] = { CAMERA,
					  "--net",
					  "config/rigs/demo/town.net.xml",
					  "--buildings",
					  "config/rigs/demo/town.buildings.json",
					  "--at",
					  "140,93,0",
					  "--hour",
					  "10",
					  "--png",
					  "/tmp/town.png",
					  NULL };
	uint8_t head[8];
	FILE *f;
	int code;

	if (sim_readback_probe(SIM_READBACK_VULKAN) < 0) {
		print_message("%s\n", sim_readback_why());
		skip();
	}
	(void)run(arguments, &code);
	assert_int_equal(code, 0);
	f = fopen("/tmp/town.png", "rb");
	assert_non_null(f);
	assert_int_equal(fread(head, 1, 8, f), 8);
	assert_memory_equal(head, "\x89PNG\r\n\x1a\n", 8);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	assert_true(ftell(f) > 30000); /* a single colour takes hundreds of bytes */
	fclose(f);
}
