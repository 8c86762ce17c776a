/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A camera of 20 Hz drawn by OpenGL ES: each image is read back while the next one is drawn, into the slot that is then
 * published. The argument is the number of images; without it the program runs on.
 */
#define EGL_NO_X11
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>
#include <sim/msg/Image.h>
#include <sim/readback.h>
#include <sim/sim.h>
#include <stdio.h>
#include <stdlib.h>

#define WIDTH  640
#define HEIGHT 480
#define HEAD   64 /* for the message's fixed part and the name of its encoding */
#define RING   2  /* images: one must not change until it is read */

static struct sim_client *client;
static struct sim_publisher *publisher;
static struct sim_readback *readback;
static GLuint framebuffer[RING];

/* The data of each request. */
struct mine {
	unsigned frame;
};

static void on_image(void *arg, struct sim_readback_ticket *t)
{
	struct sim_slot *slot = sim_readback_take_slot(readback, t);
	struct sim_builder b;
	struct sim_Image *m;

	(void)arg;
	if (!slot) {
		fprintf(stderr, "frame %u: %s\n", ((struct mine *)t->user)->frame, t->why);
		return;
	}
	m = sim_Image_init(sim_slot_body_mut(slot), slot->body_size, &b);
	m->width = t->width;
	m->height = t->height;
	m->step = t->row_pitch;
	sim_Image_encoding_set(&b, "rgba8");
	sim_Image_data_alloc(&b, (uint32_t)t->data_size); /* the rows' place: after HEAD bytes */
	if (sim_try_queue(publisher, slot, NULL, NULL, NULL) < 0)
		fprintf(stderr, "%s\n", sim_why());
}

static int open_context(void)
{
	static const EGLint attributes[] = { EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE };
	EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	EGLContext context;

	if (!display || !eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_ES_API))
		return 0;
	context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes);
	if (!context || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
		return 0;
	glGenFramebuffers(RING, framebuffer);
	for (int i = 0; i < RING; i++) {
		GLuint picture;

		glGenRenderbuffers(1, &picture);
		glBindRenderbuffer(GL_RENDERBUFFER, picture);
		glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, WIDTH, HEIGHT);
		glBindFramebuffer(GL_FRAMEBUFFER, framebuffer[i]);
		glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, picture);
	}
	return 1;
}

/*
 * Draws the sky at the bottom: OpenGL's first row is the lowest one, an image's the top. A projection can flip a scene
 * like that.
 */
static void draw(unsigned frame)
{
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer[frame % RING]);
	glDisable(GL_SCISSOR_TEST);
	glClearColor(0.3f, 0.3f, 0.3f, 1.0f);
	glClear(GL_COLOR_BUFFER_BIT);
	glEnable(GL_SCISSOR_TEST);
	glScissor(0, 0, WIDTH, HEIGHT / 2);
	glClearColor(0.4f, 0.7f, 1.0f, 1.0f);
	glClear(GL_COLOR_BUFFER_BIT);
	glScissor((GLint)(frame * 4 % WIDTH), HEIGHT / 2, 32, 32); /* something that moves */
	glClearColor(0.9f, 0.1f, 0.1f, 1.0f);
	glClear(GL_COLOR_BUFFER_BIT);
}

static int open_all(void)
{
	struct sim_client_options c = { .size = sizeof(c), .name = "my-camera" };
	struct sim_publisher_options p = { .size = sizeof(p) };
	struct sim_readback_options o = {
		.size = sizeof(o),
		.backend = SIM_READBACK_GLES,
		.shape = { .format = SIM_READBACK_RGBA8, .width = WIDTH, .height = HEIGHT },
		.in_flight = RING,
		.full = SIM_READBACK_DROP_NEWEST,
		.head = HEAD,
		.done = on_image,
		.user_size = sizeof(struct mine),
	};

	p.max_body = sim_readback_body_size(&o.shape, HEAD);
	if (sim_connect(&c, &client) < 0 || sim_advertise(client, "my_camera", &sim_Image_type, &p, &publisher) < 0) {
		fprintf(stderr, "%s\n", sim_why());
		return 0;
	}
	if (sim_readback_probe(SIM_READBACK_GLES) == 0 && !open_context()) {
		fprintf(stderr, "no context of OpenGL ES 3\n");
		return 0;
	}
	o.publisher = publisher;
	if (sim_readback_create(&o, &readback) < 0) {
		fprintf(stderr, "%s\n", sim_readback_why());
		return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	unsigned frames = argc > 1 ? (unsigned)atoi(argv[1]) : 0, taken = 0;
	struct sim_readback_counters n;
	int64_t due;

	if (!open_all())
		return 1;
	due = sim_now(client);
	for (unsigned frame = 0; !frames || taken < frames; frame++) {
		struct sim_readback_source s = { .size = sizeof(s), .format = SIM_READBACK_RGBA8 };
		struct sim_readback_ticket *t;
		int r = sim_sleep_until(client, due, 1000000000);

		if (r < 0) {
			fprintf(stderr, "%s\n", sim_why()); /* no driver yet, paused, a jump, simd is away */
			due = sim_now(client);
		}
		sim_readback_process(readback); /* completes the image of the last frame before more is drawn */
		draw(frame);
		s.gles.framebuffer = framebuffer[frame % RING];
		s.capture_sim_ns = due;
		r = sim_readback_start(readback, &s, &t);
		if (r == 0) {
			((struct mine *)t->user)->frame = frame;
			taken++;
		} else if (r < 0)
			fprintf(stderr, "%s\n", sim_readback_why());
		due += 50000000;
	}
	if (sim_readback_drain(readback, 1000000000) < 0)
		fprintf(stderr, "%s\n", sim_readback_why());
	sim_readback_get_counters(readback, &n);
	printf("%llu images, %llu copies\n", (unsigned long long)n.completed, (unsigned long long)n.copies);
	sim_readback_destroy(readback);
	sim_publisher_destroy(publisher);
	sim_disconnect(client);
	return 0;
}
