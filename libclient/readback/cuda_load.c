/* SPDX-License-Identifier: Apache-2.0 */
/* See cuda_load.h; and sim_readback_probe(). */
#include "cuda_load.h"

#include <dlfcn.h>
#include <stdio.h>

#include "describe.h"
#include "device.h"
#include "err.h"

#define LIBRARY "libcuda.so.1"

const char *cuda_result_name(const struct cuda_calls *cu, int result)
{
	const char *name = NULL;

	return cu->GetErrorName(result, &name) == CUDA_OK && name ? name : "an unknown CUresult";
}

/* Errors that every later call in the context, or in the process, would return as well. */
static bool sticky(int result)
{
	switch (result) {
	case CUDA_DEINITIALIZED:
	case CUDA_DEVICE_UNAVAILABLE:
	case CUDA_INVALID_CONTEXT:
	case CUDA_ECC_UNCORRECTABLE:
	case CUDA_NVLINK_UNCORRECTABLE:
	case CUDA_CONTAINED:
	case CUDA_ILLEGAL_ADDRESS:
	case CUDA_LAUNCH_TIMEOUT:
	case CUDA_CONTEXT_IS_DESTROYED:
	case CUDA_ASSERT:
	case CUDA_HARDWARE_STACK:
	case CUDA_ILLEGAL_INSTRUCTION:
	case CUDA_MISALIGNED_ADDRESS:
	case CUDA_INVALID_ADDRESS_SPACE:
	case CUDA_INVALID_PC:
	case CUDA_LAUNCH_FAILED:
	case CUDA_MPS_CLIENT_TERMINATED:
	case CUDA_EXTERNAL_DEVICE:
		return true;
	default:
		return false;
	}
}

int cuda_failed(const struct cuda_calls *cu, const char *what, int result)
{
	const char *name = cuda_result_name(cu, result);

	if (sticky(result))
		return err_set(-ENODEV,
			       "cuda: the context is lost (%s: %s, %d); end the program, or create another context and "
			       "another read-back",
			       what, name, result);
	return err_set(result == CUDA_OUT_OF_MEMORY ? -ENOMEM : -EIO, "cuda: %s: %s, %d", what, name, result);
}

int cuda_find_calls(void *lib, void *(*find)(void *lib, const char *symbol), struct cuda_calls *ret)
{
	struct cuda_calls c = { .Init = NULL };

#define X(member, symbol, args) \
	*(void **)&c.member = find(lib, symbol); \
	if (!c.member) \
		return err_set(-EOPNOTSUPP, \
			       "cuda: " LIBRARY " has no " symbol "; install the driver of CUDA %d.0 or later", \
			       CUDA_VERSION_MIN / 1000);
	CUDA_CALLS(X)
#undef X
	*ret = c;
	return 0;
}

static int check_driver(const struct cuda_calls *cu)
{
	int version = 0, r = cu->Init(0);

	if (r != CUDA_OK)
		return err_set(
			-ENOENT,
			"cuda: the driver does not start: %s, %d; is there a device, and is the kernel's module of "
			"the same version as " LIBRARY "?",
			cuda_result_name(cu, r), r);
	r = cu->DriverGetVersion(&version);
	if (r != CUDA_OK)
		return cuda_failed(cu, "cuDriverGetVersion", r);
	if (version < CUDA_VERSION_MIN)
		return err_set(-EOPNOTSUPP, "cuda: the driver is of CUDA %d.%d; install one of CUDA %d.0 or later",
			       version / 1000, version % 1000 / 10, CUDA_VERSION_MIN / 1000);
	return 0;
}

/* Loaded once and never unloaded: not all drivers support unloading. */
int cuda_load(struct cuda_calls *ret)
{
	void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	int r;

	if (!lib)
		return err_set(-ENOENT, "cuda: %s; install the driver of an NVIDIA GPU (libcuda1)", dlerror());
	r = cuda_find_calls(lib, dlsym, ret);
	dlclose(lib);
	return r < 0 ? r : check_driver(ret);
}

/*
 * Describes the first device, as the other back ends do. Only an image shows whether the driver page-locks slots, see
 * sim_readback_how().
 */
int cuda_describe(char *ret, size_t cap)
{
	int (*name)(char *, int, int) = NULL;
	char text[128] = "a device without a name";
	void *lib;
	int r = cuda_probe();

	if (r < 0)
		return r;
	lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (lib) {
		*(void **)&name = dlsym(lib, "cuDeviceGetName");
		dlclose(lib);
	}
	if (name && name(text, sizeof(text), 0) != CUDA_OK)
		snprintf(text, sizeof(text), "a device without a name");
	snprintf(ret, cap, "%s: writes slots itself where its driver page-locks shared memory", text);
	return 0;
}

int cuda_probe(void)
{
	struct cuda_calls cu;
	int n = 0, result, r = cuda_load(&cu);

	if (r < 0)
		return r;
	result = cu.DeviceGetCount(&n);
	if (result != CUDA_OK)
		return cuda_failed(&cu, "cuDeviceGetCount", result);
	return n > 0 ? 0 : err_set(-ENOENT, "cuda: there is no device");
}
