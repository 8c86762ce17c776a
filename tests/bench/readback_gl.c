/* SPDX-License-Identifier: Apache-2.0 */
/* See readback.h: OpenGL ES on no surface. */
#include "readback.h"

#include <errno.h>
#include <stdio.h>

#define EGL_NO_X11
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>

static EGLDisplay display;
static EGLContext context;
static GLuint texture[SCENE_RING + 1], framebuffer[SCENE_RING + 1];

static int init(struct sim_readback_options *o)
{
	static const EGLint attributes[] = { EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE };

	display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	if (!display || !eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_ES_API) ||
	    !(context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes)) ||
	    !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
		fprintf(stderr, "readback: no context of OpenGL ES 3 on no surface\n");
		return -ENOENT;
	}
	glGenTextures(SCENE_RING + 1, texture);
	glGenFramebuffers(SCENE_RING + 1, framebuffer);
	for (int i = 0; i <= SCENE_RING; i++) {
		glBindTexture(GL_TEXTURE_2D, texture[i]);
		glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, SCENE_W, SCENE_H);
		glBindFramebuffer(GL_FRAMEBUFFER, framebuffer[i]);
		glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture[i], 0);
	}
	o->backend = SIM_READBACK_GLES;
	return 0;
}

static void blit(GLuint from, GLuint to)
{
	glBindFramebuffer(GL_READ_FRAMEBUFFER, from);
	glBindFramebuffer(GL_DRAW_FRAMEBUFFER, to);
	glBlitFramebuffer(0, 0, SCENE_W - 7, SCENE_H - 5, 0, 0, SCENE_W, SCENE_H, GL_COLOR_BUFFER_BIT, GL_LINEAR);
}

static void draw(unsigned i)
{
	for (int k = 0; k < SCENE_TURNS; k++) {
		blit(framebuffer[i], framebuffer[SCENE_RING]);
		blit(framebuffer[SCENE_RING], framebuffer[i]);
	}
}

/* Read once a fence has passed, and nothing later is in flight, as the library does. */
static int bare(unsigned frame)
{
	static uint8_t pixels[SCENE_W * SCENE_H * 4];
	GLsync fence;
	GLenum done;

	draw(frame % SCENE_RING);
	fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
	done = glClientWaitSync(fence, GL_SYNC_FLUSH_COMMANDS_BIT, 10000000000u);
	glDeleteSync(fence);
	glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer[frame % SCENE_RING]);
	glReadPixels(0, 0, SCENE_W, SCENE_H, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
	return done == GL_WAIT_FAILED || done == GL_TIMEOUT_EXPIRED || glGetError() != GL_NO_ERROR ? -EIO : 0;
}

static void source(unsigned i, struct sim_readback_source *s)
{
	s->gles.framebuffer = framebuffer[i];
}

static void finish(void)
{
	eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	eglDestroyContext(display, context);
	eglTerminate(display);
}

const struct scene scene_gl = { "gl", 1, init, draw, bare, source, finish };
