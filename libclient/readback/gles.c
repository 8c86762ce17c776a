/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenGL ES, or OpenGL, whichever context is current: each start puts a fence after the drawing commands; once it has
 * passed, the pixels are read directly into the target. So the image must not change until then, and each pending
 * request needs an image of its own. Bindings of the context are restored.
 *
 * Thread: the owner's, whose context is current.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "err.h"
#include "gles_load.h"
#include "mem.h"
#include "number.h"

struct gles_place { /* device_request::own */
	GLsync fence;
	GLuint framebuffer, texture;
	GLenum format, type;
	uint8_t *staging;
	size_t staging_size;
};

struct gles {
	struct device d;
	struct gles_calls gl;
	EGLContext context;
	bool says_lost; /* the context has reset notification */
	bool bgra;
	bool desktop; /* OpenGL, which converts formats while it reads */
	GLuint own;   /* framebuffer, for textures */
};

static struct gles *of(struct device *d)
{
	return (struct gles *)(void *)d;
}

static int check_context(struct gles *g)
{
	if (g->gl.GetCurrentContext() != g->context)
		return err_set(-EPERM, "gles: another context is current than when the read-back was created, or none");
	if (g->says_lost && g->gl.GetGraphicsResetStatus() != GL_NO_ERROR)
		return err_set(-ENODEV, "gles: the context is lost; create another, and another read-back");
	return 0;
}

static int gles_add(struct device *d, struct device_request *q)
{
	(void)d;
	q->own = MEM_NEW(struct gles_place);
	return q->own ? 0 : err_nomem();
}

/* ---- reading ---- */

struct bindings {
	GLint framebuffer, buffer, row, alignment, skip_rows, skip_pixels;
};

static void bind(struct gles *g, const struct gles_place *p, struct bindings *before)
{
	g->gl.GetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &before->framebuffer);
	g->gl.GetIntegerv(GL_PIXEL_PACK_BUFFER_BINDING, &before->buffer);
	g->gl.GetIntegerv(GL_PACK_ROW_LENGTH, &before->row);
	g->gl.GetIntegerv(GL_PACK_ALIGNMENT, &before->alignment);
	g->gl.GetIntegerv(GL_PACK_SKIP_ROWS, &before->skip_rows);
	g->gl.GetIntegerv(GL_PACK_SKIP_PIXELS, &before->skip_pixels);
	g->gl.BindBuffer(GL_PIXEL_PACK_BUFFER, 0);
	g->gl.BindFramebuffer(GL_READ_FRAMEBUFFER, p->texture ? g->own : p->framebuffer);
	if (p->texture)
		g->gl.FramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, p->texture, 0);
}

static void bind_back(struct gles *g, const struct gles_place *p, const struct bindings *before)
{
	if (p->texture) /* keeps the texture from being freed meanwhile */
		g->gl.FramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, 0, 0);
	g->gl.BindFramebuffer(GL_READ_FRAMEBUFFER, (GLuint)before->framebuffer);
	g->gl.BindBuffer(GL_PIXEL_PACK_BUFFER, (GLuint)before->buffer);
	g->gl.PixelStorei(GL_PACK_ROW_LENGTH, before->row);
	g->gl.PixelStorei(GL_PACK_ALIGNMENT, before->alignment);
	g->gl.PixelStorei(GL_PACK_SKIP_ROWS, before->skip_rows);
	g->gl.PixelStorei(GL_PACK_SKIP_PIXELS, before->skip_pixels);
}

static int read_pixels(struct gles *g, struct device_request *q)
{
	struct gles_place *p = q->own;
	struct bindings before;
	GLenum error;

	bind(g, p, &before);
	g->gl.PixelStorei(GL_PACK_ROW_LENGTH, q->direct ? (GLint)(q->to_pitch / q->pixel) : (GLint)q->width);
	g->gl.PixelStorei(GL_PACK_ALIGNMENT, 1);
	g->gl.PixelStorei(GL_PACK_SKIP_ROWS, 0);
	g->gl.PixelStorei(GL_PACK_SKIP_PIXELS, 0);
	for (int i = 0; i < 8 && g->gl.GetError() != GL_NO_ERROR; i++) /* errors of the program's own calls */
		continue;
	g->gl.ReadPixels(0, 0, (GLsizei)q->width, (GLsizei)q->height, p->format, p->type,
			 q->direct ? q->to : p->staging);
	error = g->gl.GetError();
	bind_back(g, p, &before);
	if (error == GL_NO_ERROR)
		return 1;
	return err_set(-EIO, "gles: glReadPixels: error 0x%x; is the framebuffer still there, and complete?", error);
}

/* ---- start ---- */

/* Chooses the format for glReadPixels(), and checks that the framebuffer can be read in it. */
static int choose_format(struct gles *g, const struct device_request *q, struct gles_place *p)
{
	GLint format = 0, type = 0;

	p->type = GL_UNSIGNED_BYTE;
	switch (q->source->format) {
	case SIM_READBACK_RGBA8:
		p->format = GL_RGBA; /* always allowed for framebuffers of normalised integers */
		break;
	case SIM_READBACK_BGRA8:
		p->format = GL_BGRA_EXT;
		if (!g->bgra)
			return err_set(-EOPNOTSUPP,
				       "gles: no GL_EXT_read_format_bgra; give RGBA8 as the format of the source");
		break;
	case SIM_READBACK_RGBA32F:
		p->format = GL_RGBA;
		p->type = GL_FLOAT;
		break;
	case SIM_READBACK_R32F:
		p->format = GL_RED;
		p->type = GL_FLOAT;
		break;
	case SIM_READBACK_R8:
		p->format = GL_RED;
		break;
	case SIM_READBACK_RGB8:
		return err_set(-EOPNOTSUPP,
			       "gles: a framebuffer cannot be read as RGB8; give RGBA8 as the format of the source");
	case SIM_READBACK_R16:
		p->format = GL_RED;
		p->type = GL_UNSIGNED_SHORT;
		if (g->desktop)
			break;
		return err_set(-EOPNOTSUPP, "gles: no framebuffer of OpenGL ES is read as R16; read R32F");
	}
	if (g->desktop)
		return 0;
	g->gl.GetIntegerv(GL_IMPLEMENTATION_COLOR_READ_FORMAT, &format);
	g->gl.GetIntegerv(GL_IMPLEMENTATION_COLOR_READ_TYPE, &type);
	if (p->format == GL_RED && ((GLenum)format != GL_RED || (GLenum)type != p->type))
		return err_set(-EOPNOTSUPP,
			       "gles: this framebuffer is not read as one channel, but as format 0x%x, type 0x%x",
			       format, type);
	return 0;
}

static int check_framebuffer(struct gles *g, struct device_request *q)
{
	struct gles_place *p = q->own;
	struct bindings before;
	GLenum status;
	int r;

	bind(g, p, &before);
	status = g->gl.CheckFramebufferStatus(GL_READ_FRAMEBUFFER);
	if (status != GL_FRAMEBUFFER_COMPLETE)
		r = err_set(-EINVAL, "gles: the framebuffer, or the texture as one, is not complete: 0x%x", status);
	else
		r = choose_format(g, q, p);
	bind_back(g, p, &before);
	return r;
}

static int gles_start(struct device *d, struct device_request *q)
{
	struct gles *g = of(d);
	struct gles_place *p = q->own;
	size_t size = q->width * q->pixel * q->height;
	int r = check_context(g);

	if (r < 0)
		return r;
	if (q->source->offset || q->source->row_pitch)
		return err_set(-EINVAL, "gles: source.offset and row_pitch are of memory or a buffer");
	p->framebuffer = q->source->gles.framebuffer;
	p->texture = q->source->gles.texture;
	r = check_framebuffer(g, q);
	if (r < 0)
		return r;
	q->direct = !q->convert;
	if (!q->direct && p->staging_size < size) {
		mem_free(p->staging);
		p->staging_size = 0;
		p->staging = mem_alloc(size);
		if (!p->staging)
			return err_nomem();
		p->staging_size = size;
	}
	q->from = p->staging;
	q->from_pitch = q->width * q->pixel;
	p->fence = g->gl.FenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
	if (!p->fence)
		return err_set(-EIO, "gles: no fence could be made");
	g->gl.Flush();
	snprintf(d->how, sizeof(d->how), "gles: %s",
		 q->direct ? "read straight into the target, once its fence has passed"
			   : "one copy, which changes the format or the order of rows");
	return 0;
}

/* ---- the rest ---- */

static int gles_poll(struct device *d, struct device_request *q)
{
	struct gles *g = of(d);
	struct gles_place *p = q->own;
	int r = check_context(g);

	if (r < 0)
		return r;
	if (p->fence) {
		GLenum now = g->gl.ClientWaitSync(p->fence, 0, 0);

		if (now == GL_TIMEOUT_EXPIRED)
			return 0;
		if (now == GL_WAIT_FAILED)
			return err_set(-EIO, "gles: a fence could not be waited for: error 0x%x", g->gl.GetError());
	}
	return read_pixels(g, q);
}

static bool gles_abandon(struct device *d, struct device_request *q)
{
	(void)d;
	(void)q;
	return true; /* pixels are written only in gles_poll() */
}

static void gles_wait(struct device *d, struct device_request *q, int64_t dur_ns)
{
	struct gles *g = of(d);

	if (g->gl.GetCurrentContext() == g->context)
		(void)g->gl.ClientWaitSync(((struct gles_place *)q->own)->fence, GL_SYNC_FLUSH_COMMANDS_BIT,
					   dur_ns < 0 ? GL_TIMEOUT_IGNORED : (GLuint64)dur_ns);
}

static void gles_release(struct device *d, struct device_request *q)
{
	struct gles *g = of(d);
	struct gles_place *p = q->own;

	if (p->fence && g->gl.GetCurrentContext() == g->context)
		g->gl.DeleteSync(p->fence);
	p->fence = NULL;
}

static void gles_remove(struct device *d, struct device_request *q, bool writes)
{
	struct gles_place *p = q->own;

	(void)d;
	(void)writes;
	mem_free(p->staging);
	mem_free(p);
}

static void gles_destroy(struct device *d, bool writes)
{
	struct gles *g = of(d);

	(void)writes;
	if (g->own && g->gl.GetCurrentContext() == g->context)
		g->gl.DeleteFramebuffers(1, &g->own);
	mem_free(g);
}

static const struct device_ops gles_ops = {
	.name = "gles",
	.add = gles_add,
	.start = gles_start,
	.poll = gles_poll,
	.abandon = gles_abandon,
	.wait = gles_wait,
	.release = gles_release,
	.remove = gles_remove,
	.destroy = gles_destroy,
};

/* "OpenGL ES 3.0 ..." and later, "3.2 ..." and later. */
static bool can_serve(const char *version, bool *ret_desktop)
{
	static const char es[] = "OpenGL ES ";
	double number;

	*ret_desktop = version && strncmp(version, es, sizeof(es) - 1) != 0;
	if (!*ret_desktop)
		return version && version[sizeof(es) - 1] >= '3';
	return number_take_f64(&version, &number) == 0 && number >= 3.15;
}

/* An older context answers with GL errors for unknown enums, which the program must not see. */
static bool says_lost(struct gles *g)
{
	GLint strategy = 0;

	if (g->gl.GetGraphicsResetStatus)
		g->gl.GetIntegerv(GL_RESET_NOTIFICATION_STRATEGY_EXT, &strategy);
	(void)g->gl.GetError();
	return strategy == GL_LOSE_CONTEXT_ON_RESET_EXT;
}

static int look_at_context(struct gles *g)
{
	const char *version, *extensions;

	g->context = g->gl.GetCurrentContext();
	if (g->context == EGL_NO_CONTEXT)
		return err_set(-ENOENT, "gles: no context is current in this thread; make one so before");
	version = (const char *)g->gl.GetString(GL_VERSION);
	if (!can_serve(version, &g->desktop))
		return err_set(-EOPNOTSUPP, "gles: the context is \"%s\", not OpenGL ES 3.0 or later, nor OpenGL 3.2",
			       version ? version : "none");
	extensions = g->desktop ? NULL : (const char *)g->gl.GetString(GL_EXTENSIONS);
	g->bgra = g->desktop || (extensions && strstr(extensions, "GL_EXT_read_format_bgra"));
	g->says_lost = (g->desktop || (extensions && strstr(extensions, "GL_EXT_robustness"))) && says_lost(g);
	g->gl.GenFramebuffers(1, &g->own);
	return 0;
}

int gles_create(const struct sim_readback_options *o, struct device **ret)
{
	struct gles *g = MEM_NEW(struct gles);
	int r;

	(void)o;
	if (!g)
		return err_nomem();
	g->d.ops = &gles_ops;
	r = gles_load(&g->gl);
	if (r == 0)
		r = look_at_context(g);
	if (r < 0) {
		mem_free(g);
		return r;
	}
	snprintf(g->d.how, sizeof(g->d.how), "gles: nothing was started yet");
	*ret = &g->d;
	return 0;
}
