/* SPDX-License-Identifier: Apache-2.0 */
/* The example of a camera: its images arrive, in order, with the time of their capture, and nothing was copied on the way. */
#include "stack.h"

#include <sys/wait.h>
#include <unistd.h>

#include <sim/msg/Image.h>
#include <sim/readback.h>
#include <sim/sim.h>

#define FRAMES 15

static void check(const struct sim_message *got, int64_t *last_sim_ns)
{
	const struct sim_Image *m = sim_Image_from(got->body, got->body_size);
	const uint8_t *data;
	uint32_t n;

	assert_non_null(m);
	assert_int_equal(m->width, 640);
	assert_int_equal(m->height, 480);
	assert_string_equal(sim_Image_encoding(m, got->body_size), "rgba8");
	data = sim_Image_data(m, got->body_size, &n);
	assert_int_equal(n, 4 * 640 * 480);
	assert_true(data[0] == 102 && data[2] == 255); /* sky above */
	assert_int_equal(data[n - 4], data[n - 3]);    /* grey below */
	assert_true(got->header.stamp_sim_ns > *last_sim_ns);
	*last_sim_ns = got->header.stamp_sim_ns;
}

static void receive(FILE *out)
{
	struct sim_client_options co = {
		.size = sizeof(co), .name = "viewer", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 32 };
	const struct sim_message *got;
	struct sim_subscriber *sub;
	struct sim_client *c;
	int64_t last = INT64_MIN;
	unsigned n = 0;

	assert_int_equal(sim_connect(&co, &c), 0);
	assert_int_equal(sim_subscribe(c, "my_camera", NULL, &so, &sub), 0);
	fputs("go\n", out); /* only now it starts */
	fflush(out);
	for (; n < FRAMES; n++) {
		AWAIT(sim_take(sub, &got) == 0);
		check(got, &last);
		sim_release(sub, got);
	}
	sim_subscriber_destroy(sub);
	sim_disconnect(c);
}

/* Clients in processes of their own: their mappings of the data plane are released when they exit. */
static void run(enum sim_readback_backend backend, const char *command)
{
	int go[2];
	pid_t simd, viewer;
	char line[64];
	FILE *camera;

	if (sim_readback_probe(backend) < 0)
		skip();
	simd = stack_start("\"TimeSource\":\"system\",\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"2MiB\","
			   "\"count\":80}]");
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	assert_int_equal(pipe(go), 0);
	viewer = fork();
	if (viewer == 0) {
		receive(fdopen(go[1], "w"));
		exit(0);
	}
	close(go[1]);
	assert_true(read(go[0], line, 3) == 3);
	close(go[0]);
	camera = popen(command, "r");
	assert_non_null(camera);
	assert_non_null(fgets(line, sizeof(line), camera));
	assert_string_equal(line, "15 images, 0 copies\n");
	assert_int_equal(pclose(camera), 0);
	assert_int_equal(stack_wait(viewer), 0);
	stack_stop(simd);
}

TEST_WITH(the_example_camera_runs_with_opengl_es, NULL, stack_sweep)
{
	run(SIM_READBACK_GLES, CAMERAS "camera_gles 15");
}

TEST_WITH(the_example_camera_runs_with_vulkan, NULL, stack_sweep)
{
	run(SIM_READBACK_VULKAN, CAMERAS "camera_vulkan 15");
}
