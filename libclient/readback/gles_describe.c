/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h: the renderer of OpenGL ES without a screen. */
#define EGL_NO_X11
#include <EGL/egl.h>
#include <EGL/eglext.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "describe.h"
#include "device.h"
#include "err.h"
#include "gles_load.h"

struct egl {
	PFNEGLGETPLATFORMDISPLAYPROC GetPlatformDisplay;
	EGLBoolean (*Initialize)(EGLDisplay, EGLint *, EGLint *);
	EGLBoolean (*BindAPI)(EGLenum);
	EGLContext (*CreateContext)(EGLDisplay, EGLConfig, EGLContext, const EGLint *);
	EGLBoolean (*MakeCurrent)(EGLDisplay, EGLSurface, EGLSurface, EGLContext);
	EGLBoolean (*Terminate)(EGLDisplay);
	const unsigned char *(*GetString)(unsigned);
};

/* gles_probe() has found both libraries. */
static bool load(struct egl *e)
{
	void *egl = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE),
	     *gles = dlopen("libGLESv2.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!egl || !gles)
		return false;
	*(void **)&e->GetPlatformDisplay = dlsym(egl, "eglGetPlatformDisplay");
	*(void **)&e->Initialize = dlsym(egl, "eglInitialize");
	*(void **)&e->BindAPI = dlsym(egl, "eglBindAPI");
	*(void **)&e->CreateContext = dlsym(egl, "eglCreateContext");
	*(void **)&e->MakeCurrent = dlsym(egl, "eglMakeCurrent");
	*(void **)&e->Terminate = dlsym(egl, "eglTerminate");
	*(void **)&e->GetString = dlsym(gles, "glGetString");
	return e->GetPlatformDisplay && e->Initialize && e->BindAPI && e->CreateContext && e->MakeCurrent &&
	       e->Terminate && e->GetString;
}

static int say(const struct egl *e, EGLDisplay display, char *ret, size_t cap)
{
	static const EGLint attributes[] = { EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE };
	const unsigned char *name = NULL;
	EGLContext context = EGL_NO_CONTEXT;

	if (e->BindAPI(EGL_OPENGL_ES_API))
		context = e->CreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes);
	if (context && e->MakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
		name = e->GetString(0x1f01); /* GL_RENDERER */
	if (!name)
		return err_set(-EOPNOTSUPP, "gles: no context of OpenGL ES 3 without a screen");
	snprintf(ret, cap, "%s: reads into slots itself", (const char *)name);
	e->MakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	return 0;
}

int gles_describe(char *ret, size_t cap)
{
	struct egl e;
	EGLDisplay display;
	int r = gles_probe();

	if (r < 0)
		return r;
	if (!load(&e))
		return err_set(-EOPNOTSUPP, "gles: libEGL.so.1 is older than 1.5");
	display = e.GetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	if (!display || !e.Initialize(display, NULL, NULL))
		return err_set(-ENOENT, "gles: no display without a screen; install a driver, libegl-mesa0 and "
					"libgl1-mesa-dri have one that needs no GPU");
	r = say(&e, display, ret, cap);
	e.Terminate(display);
	return r;
}
