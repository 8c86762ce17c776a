/* SPDX-License-Identifier: Apache-2.0 */
/* OpenGL ES's functions, found at run time by EGL. Thread: any; loads libraries. */
#ifndef READBACK_GLES_LOAD_H
#define READBACK_GLES_LOAD_H

#define EGL_NO_X11
#define EGL_EGLEXT_PROTOTYPES 0
#include <EGL/egl.h>
#include <GLES3/gl3.h>
#include <GLES2/gl2ext.h>

/* clang-format off */
/* X(name, its type) */
#define GLES_CALLS(X) \
	X(GetError,          GLenum, (void)) \
	X(GetString,         const GLubyte *, (GLenum)) \
	X(GetIntegerv,       void, (GLenum, GLint *)) \
	X(FenceSync,         GLsync, (GLenum, GLbitfield)) \
	X(DeleteSync,        void, (GLsync)) \
	X(ClientWaitSync,    GLenum, (GLsync, GLbitfield, GLuint64)) \
	X(Flush,             void, (void)) \
	X(BindFramebuffer,   void, (GLenum, GLuint)) \
	X(GenFramebuffers,   void, (GLsizei, GLuint *)) \
	X(DeleteFramebuffers, void, (GLsizei, const GLuint *)) \
	X(FramebufferTexture2D, void, (GLenum, GLenum, GLenum, GLuint, GLint)) \
	X(CheckFramebufferStatus, GLenum, (GLenum)) \
	X(BindBuffer,        void, (GLenum, GLuint)) \
	X(PixelStorei,       void, (GLenum, GLint)) \
	X(ReadPixels,        void, (GLint, GLint, GLsizei, GLsizei, GLenum, GLenum, void *))
/* clang-format on */

struct gles_calls {
	EGLContext (*GetCurrentContext)(void);
#define X(name, type, args) type(*name) args;
	GLES_CALLS(X)
#undef X
	GLenum (*GetGraphicsResetStatus)(void); /* NULL: the context cannot report that it is lost */
};

/* 0; -ENOENT libEGL.so.1 or libGLESv2.so.2 is missing; -EOPNOTSUPP they lack a function; with a sentence. */
int gles_load(struct gles_calls *ret);

#endif
