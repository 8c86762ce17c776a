/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenGL ES without a GPU, by Mesa's llvmpipe without a surface: images that the test draws, read into memory and into
 * slots. The lower half has another colour than the upper one, so that the order of rows shows.
 */
#include "gpu.h"
#include "stack.h"

#include <errno.h>
#include <signal.h>

#define EGL_NO_X11
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>

#include <sim/msg/Image.h>
#include <sim/sim.h>

#define ROW   (4 * GPU_W)
#define SIZE  (ROW * GPU_H)
#define HEAD  64u
#define SCENE 3

static EGLDisplay display;
static EGLContext context;
static GLuint texture[SCENE], framebuffer[SCENE];
static struct sim_readback *rb;
static unsigned n_done;
static struct sim_readback_ticket last;
static struct sim_publisher *pub;
static uint32_t memory[SCENE][SIZE / 4 + 256];

static const uint8_t lower[4] = { 10, 20, 30, 40 }, upper[4] = { 200, 100, 50, 255 };

/* desktop: OpenGL with its core profile, else OpenGL ES. */
static bool create(bool desktop)
{
	static const EGLint attributes[] = { EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 0, EGL_NONE };
	static const EGLint core[] = { EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 2, EGL_NONE };

	if (sim_readback_probe(SIM_READBACK_GLES) < 0) {
		print_message("%s\n", sim_readback_why());
		return false;
	}
	display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	if (!display || !eglInitialize(display, NULL, NULL))
		return false;
	assert_true(eglBindAPI(desktop ? EGL_OPENGL_API : EGL_OPENGL_ES_API));
	context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, desktop ? core : attributes);
	assert_non_null(context);
	assert_true(eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context));
	glGenTextures(SCENE, texture);
	glGenFramebuffers(SCENE, framebuffer);
	for (int i = 0; i < SCENE; i++) {
		glBindTexture(GL_TEXTURE_2D, texture[i]);
		glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, GPU_W, GPU_H, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
		glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
		glBindFramebuffer(GL_FRAMEBUFFER, framebuffer[i]);
		glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture[i], 0);
		assert_int_equal(glCheckFramebufferStatus(GL_FRAMEBUFFER), GL_FRAMEBUFFER_COMPLETE);
	}
	return true;
}

static bool context_create(void)
{
	return create(false);
}

static void context_destroy(void)
{
	glDeleteFramebuffers(SCENE, framebuffer);
	glDeleteTextures(SCENE, texture);
	assert_int_equal(glGetError(), GL_NO_ERROR);
	eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	eglDestroyContext(display, context);
	eglTerminate(display);
}

static void clear(const uint8_t c[4])
{
	glClearColor((float)c[0] / 255.0f, (float)c[1] / 255.0f, (float)c[2] / 255.0f, (float)c[3] / 255.0f);
	glClear(GL_COLOR_BUFFER_BIT);
}

static void draw(int i)
{
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer[i]);
	glDisable(GL_SCISSOR_TEST);
	clear(upper);
	glEnable(GL_SCISSOR_TEST);
	glScissor(0, 0, GPU_W, GPU_H / 2);
	clear(lower);
}

static void done(void *arg, struct sim_readback_ticket *t)
{
	(void)arg;
	n_done++;
	last = *t;
	if (t->slot)
		assert_int_equal(sim_publish_local(pub, sim_readback_take_slot(rb, t)), 0);
}

static struct sim_readback_options options(void)
{
	return (struct sim_readback_options){
		.size = sizeof(struct sim_readback_options),
		.backend = SIM_READBACK_GLES,
		.shape = { .format = SIM_READBACK_RGBA8, .width = GPU_W, .height = GPU_H },
		.done = done,
	};
}

static void ok(int r)
{
	if (r < 0)
		fail_msg("%s", sim_readback_why());
}

static void says(int r, int error, const char *words)
{
	assert_int_equal(r, error);
	if (!strstr(sim_readback_why(), words))
		fail_msg("\"%s\" does not say \"%s\"", sim_readback_why(), words);
}

static struct sim_readback_source picture(int i, void *to)
{
	return (struct sim_readback_source){ .size = sizeof(struct sim_readback_source),
					     .format = SIM_READBACK_RGBA8,
					     .memory = to,
					     .gles.framebuffer = framebuffer[i] };
}

static void check(const uint8_t *data, size_t pitch, bool flipped, bool exchanged)
{
	for (size_t y = 0; y < GPU_H; y++) {
		const uint8_t *c = (y < GPU_H / 2) != flipped ? lower : upper;
		const uint8_t is[4] = { c[exchanged ? 2 : 0], c[1], c[exchanged ? 0 : 2], c[3] };

		for (size_t x = 0; x < GPU_W; x++)
			assert_memory_equal(data + y * pitch + 4 * x, is, 4);
	}
}

static unsigned read_one(struct sim_readback_source s)
{
	n_done = 0;
	draw(0);
	ok(sim_readback_start(rb, &s, NULL));
	ok(sim_readback_drain(rb, -1));
	assert_int_equal(n_done, 1);
	if (last.result < 0)
		fail_msg("%s", last.why);
	return last.copies;
}

static void pictures(bool desktop)
{
	struct sim_readback_options o = options();
	struct sim_readback_source s;
	struct sim_readback_counters n;
	GLint bound;

	if (!create(desktop))
		skip();
	ok(sim_readback_create(&o, &rb));
	for (int i = 0; i < SCENE; i++) {
		draw(i);
		s = picture(i, memory[i]);
		ok(sim_readback_start(rb, &s, NULL));
	}
	n_done = 0;
	ok(sim_readback_drain(rb, -1));
	assert_int_equal(n_done, SCENE);
	for (int i = 0; i < SCENE; i++)
		check((uint8_t *)memory[i], ROW, false, false);
	sim_readback_get_counters(rb, &n);
	assert_int_equal(n.copies, 0);
	glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &bound); /* as the program has left it */
	assert_int_equal(bound, framebuffer[SCENE - 1]);
	/* the texture itself */
	s = picture(0, memory[0]);
	s.gles.framebuffer = 0;
	s.gles.texture = texture[0];
	assert_int_equal(read_one(s), 0);
	check((uint8_t *)memory[0], ROW, false, false);
	/* a pitch of its own */
	o.shape.row_pitch = ROW + 8;
	ok(sim_readback_resize(rb, &o.shape));
	memset(memory[0], 0xee, sizeof(memory[0]));
	assert_int_equal(read_one(picture(0, memory[0])), 0);
	check((uint8_t *)memory[0], ROW + 8, false, false);
	assert_int_equal(((uint8_t *)memory[0])[ROW], 0xee);
	sim_readback_destroy(rb);
	context_destroy();
}

TEST(pictures_of_opengl_es_are_read_into_memory)
{
	pictures(false);
}

TEST(pictures_of_opengl_are_read_into_memory)
{
	pictures(true);
}

/* What OpenGL ES may refuse: other formats than the picture's own, changed while it is read. */
TEST(opengl_reads_in_other_formats)
{
	struct sim_readback_options o = options();
	struct sim_readback_source s;
	uint16_t red;

	if (!create(true))
		skip();
	o.shape.format = SIM_READBACK_BGRA8;
	ok(sim_readback_create(&o, &rb));
	s = picture(0, memory[0]);
	s.format = SIM_READBACK_BGRA8;
	assert_int_equal(read_one(s), 0);
	check((uint8_t *)memory[0], ROW, false, true);
	o.shape.format = SIM_READBACK_R16;
	ok(sim_readback_resize(rb, &o.shape));
	s.format = SIM_READBACK_R16;
	assert_int_equal(read_one(s), 0);
	memcpy(&red, memory[0], sizeof(red));
	assert_int_equal(red, lower[0] * 257);
	sim_readback_destroy(rb);
	context_destroy();
}

TEST(a_picture_is_flipped_and_swapped_in_one_copy)
{
	struct sim_readback_options o = options();

	if (!context_create())
		skip();
	o.shape.flip = true;
	o.shape.format = SIM_READBACK_BGRA8;
	ok(sim_readback_create(&o, &rb));
	assert_int_equal(read_one(picture(0, memory[0])), 1);
	check((uint8_t *)memory[0], ROW, true, true);
	assert_non_null(strstr(sim_readback_how(rb), "one copy"));
	sim_readback_destroy(rb);
	context_destroy();
}

TEST(invalid_options_and_sources_are_refused)
{
	struct sim_readback_options o = options();
	struct sim_readback_source s;
	struct sim_readback *other;

	if (!context_create())
		skip();
	ok(sim_readback_create(&o, &rb));
	s = picture(0, memory[0]);
	s.offset = 4;
	says(sim_readback_start(rb, &s, NULL), -EINVAL, "offset");
	s = picture(0, memory[0]);
	s.gles.framebuffer = 0; /* there is no surface */
	says(sim_readback_start(rb, &s, NULL), -EINVAL, "not complete");
	o.shape.format = SIM_READBACK_R16;
	ok(sim_readback_resize(rb, &o.shape));
	s = picture(0, memory[0]);
	s.format = SIM_READBACK_R16;
	says(sim_readback_start(rb, &s, NULL), -EOPNOTSUPP, "R16");
	o.shape.format = SIM_READBACK_R32F;
	ok(sim_readback_resize(rb, &o.shape));
	s.format = SIM_READBACK_R32F;
	says(sim_readback_start(rb, &s, NULL), -EOPNOTSUPP, "one channel");
	/* not in its context */
	o = options();
	ok(sim_readback_resize(rb, &o.shape));
	s = picture(0, memory[0]);
	ok(sim_readback_start(rb, &s, NULL));
	n_done = 0;
	eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	says(sim_readback_create(&o, &other), -ENOENT, "no context is current");
	says(sim_readback_start(rb, &s, NULL), -EPERM, "another context");
	assert_int_equal(sim_readback_process(rb), 1);
	assert_int_equal(last.result, -EPERM);
	eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context);
	sim_readback_destroy(rb);
	context_destroy();
}

TEST(cancelled_requests_are_not_read)
{
	struct sim_readback_options o = options();
	struct sim_readback_source s = picture(0, memory[0]);

	if (!context_create())
		skip();
	ok(sim_readback_create(&o, &rb));
	draw(0);
	s.gles.framebuffer = framebuffer[0];
	memset(memory[0], 0xee, sizeof(memory[0]));
	ok(sim_readback_start(rb, &s, NULL));
	n_done = 0;
	assert_int_equal(sim_readback_cancel(rb, 0), 1);
	assert_int_equal(n_done, 1);
	assert_int_equal(last.result, -ECANCELED);
	ok(sim_readback_drain(rb, -1));
	assert_int_equal(((uint8_t *)memory[0])[0], 0xee);
	sim_readback_destroy(rb);
	context_destroy();
}

/* ---- slots ---- */

static void use_slots(void)
{
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = HEAD + SIZE, .flags = SIM_PUB_LOCAL };
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 8 };
	struct sim_client_options co = {
		.size = sizeof(co), .name = "camera", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_readback_options o = options();
	struct sim_readback_counters n;
	const struct sim_message *got;
	struct sim_subscriber *sub;
	struct sim_client *c;

	assert_true(context_create());
	assert_int_equal(sim_connect(&co, &c), 0);
	assert_int_equal(sim_advertise(c, "/image", &sim_Image_type, &po, &pub), 0);
	assert_int_equal(sim_subscribe(c, "/image", NULL, &so, &sub), 0);
	AWAIT(sim_publisher_has_subscribers(pub));
	o.publisher = pub;
	o.head = HEAD;
	ok(sim_readback_create(&o, &rb));
	for (int i = 0; i < 20; i++) {
		assert_int_equal(read_one(picture(0, NULL)), 0);
		assert_int_equal(sim_take(sub, &got), 0);
		assert_int_equal(got->body_size, HEAD + SIZE);
		check((const uint8_t *)got->body + HEAD, ROW, false, false);
		sim_release(sub, got);
	}
	sim_readback_get_counters(rb, &n);
	assert_int_equal(n.copies, 0);
	assert_int_equal(n.completed, 20);
	sim_readback_destroy(rb);
	sim_subscriber_destroy(sub);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	context_destroy();
}

/* In a process of its own: its mappings of the data plane are released when it exits. */
TEST_WITH(pictures_are_read_into_slots, NULL, stack_sweep)
{
	pid_t simd, pid;

	if (sim_readback_probe(SIM_READBACK_GLES) < 0)
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
