/* SPDX-License-Identifier: Apache-2.0 */
/* See gles_load.h; and sim_readback_probe(). */
#include "gles_load.h"

#include <dlfcn.h>

#include "device.h"
#include "err.h"

/* Loaded once and never unloaded: not all drivers support unloading. */
static int open_library(const char *name, void **ret)
{
	*ret = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	return *ret ? 0 : err_set(-ENOENT, "gles: %s; install it (libegl1, libgles2) and a driver", dlerror());
}

static int find_calls(void *egl, void *gles, struct gles_calls *c)
{
	*(void **)&c->GetCurrentContext = dlsym(egl, "eglGetCurrentContext");
	if (!c->GetCurrentContext)
		return err_set(-EOPNOTSUPP, "gles: libEGL.so.1 has no eglGetCurrentContext");
#define X(name, type, args) \
	*(void **)&c->name = dlsym(gles, "gl" #name); \
	if (!c->name) \
		return err_set(-EOPNOTSUPP, "gles: libGLESv2.so.2 has no gl" #name "; it is older than OpenGL ES 3.0");
	GLES_CALLS(X)
#undef X
	return 0;
}

int gles_load(struct gles_calls *ret)
{
	__eglMustCastToProperFunctionPointerType (*address)(const char *) = NULL;
	struct gles_calls c = { .GetCurrentContext = NULL };
	void *egl, *gles;
	int r = open_library("libEGL.so.1", &egl);

	if (r < 0)
		return r;
	r = open_library("libGLESv2.so.2", &gles);
	if (r == 0) {
		r = find_calls(egl, gles, &c);
		*(void **)&address = dlsym(egl, "eglGetProcAddress");
		dlclose(gles);
	}
	dlclose(egl);
	if (r < 0)
		return r;
	if (address)
		c.GetGraphicsResetStatus = (GLenum(*)(void))address("glGetGraphicsResetStatusEXT");
	if (address && !c.GetGraphicsResetStatus)
		c.GetGraphicsResetStatus = (GLenum(*)(void))address("glGetGraphicsResetStatusARB");
	*ret = c;
	return 0;
}

int gles_probe(void)
{
	struct gles_calls c;

	return gles_load(&c);
}
