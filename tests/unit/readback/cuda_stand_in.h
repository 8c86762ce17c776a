/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver of CUDA for tests, built as libcuda.so.1 in a folder of its own: what readback/cuda*.c calls, and what a program calls besides, after the
 * driver API's reference manual; no text or code of another's. Memory of the device is memory of this machine, in files, so that another
 * process can open it. Streams are executed by a thread of its own, in the order of the calls, at once or when the test says so.
 *
 * It keeps to what is documented: contexts are current per thread, on a stack; a copy into page-locked memory is put into the stream, one into
 * other memory returns when it is over; ranges that are partly page-locked are refused; registering needs whole pages and happens
 * once; an error of the device stays ("sticky"). What the documents leave undefined is counted as misuse or stray, and done to nobody's memory.
 *
 * Thread: any.
 */
#ifndef UNIT_READBACK_CUDA_STAND_IN_H
#define UNIT_READBACK_CUDA_STAND_IN_H

#include <stdbool.h>

#include "cuda_load.h"

struct cuda_stand_in_state {
	unsigned calls;
	/* now */
	unsigned contexts, events, registered, allocated, opened, queued;
	/* so far */
	unsigned registers, opens, copies, copies_2d;
	unsigned pageable;         /* copies that waited, as their target was not page-locked */
	unsigned stray;            /* copies whose target or source had been freed when they were executed */
	unsigned misuse;           /* objects in use that were freed, closed, unregistered or destroyed */
	unsigned refused_releases; /* calls that free something and failed: it stays */
};

struct cuda_stand_in { /* the library exports one, `cuda_stand_in` */
	void (*state)(struct cuda_stand_in_state *ret);
	int (*depth)(void); /* of the calling thread's stack of contexts */
	/*
	 * Operations in streams wait for run(), which releases n of them, and returns when they are done, or none is
	 * left.
	 */
	void (*hold)(bool on);
	void (*run)(unsigned n);
	/* Calls of that symbol fail until it is said otherwise (CUDA_OK). */
	void (*refuse)(const char *symbol, int result);
	/* The n-th call from now fails, 1: the next; and with `sticky` all later ones, and the device executes nothing more. 0: none. */
	void (*fail_nth)(unsigned n, int result, bool sticky);
	void (*lose)(int result); /* now, sticky */
	/*
	 * As after a restart of the process: memory that the driver has refused to free is released, and the device
	 * works.
	 */
	void (*recover)(void);
	void (*set_version)(int version);
	void (*set_devices)(int n);
	void (*set_pitch_max)(int bytes);
};

/* clang-format off */
/* What a program calls besides. */
#define CUDA_PROGRAM_CALLS(X) \
	X(CtxCreate,          "cuCtxCreate_v2",          (void **context, unsigned flags, int device)) \
	X(CtxDestroy,         "cuCtxDestroy_v2",         (void *context)) \
	X(StreamCreate,       "cuStreamCreate",          (void **stream, unsigned flags)) \
	X(StreamDestroy,      "cuStreamDestroy_v2",      (void *stream)) \
	X(StreamBeginCapture, "cuStreamBeginCapture_v2", (void *stream, int mode)) \
	X(StreamEndCapture,   "cuStreamEndCapture",      (void *stream, void **graph)) \
	X(MemAlloc,           "cuMemAlloc_v2",           (cuda_pointer *p, size_t size)) \
	X(MemFree,            "cuMemFree_v2",            (cuda_pointer p)) \
	X(MemcpyHtoD,         "cuMemcpyHtoD_v2",         (cuda_pointer to, const void *from, size_t size)) \
	X(Memcpy2D,           "cuMemcpy2D_v2",           (const struct cuda_copy *copy)) \
	X(Array3DCreate,      "cuArray3DCreate_v2",      (void **array, const struct cuda_array *a)) \
	X(ArrayDestroy,       "cuArrayDestroy",          (void *array)) \
	X(IpcGetMemHandle,    "cuIpcGetMemHandle",       (struct cuda_ipc_handle *handle, cuda_pointer p))
/* clang-format on */

struct cuda_program {
#define X(member, symbol, args) int(*member) args;
	CUDA_PROGRAM_CALLS(X)
#undef X
};

#endif
