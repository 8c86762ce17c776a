/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of CUDA's driver API that is used here, as prototypes of our own (so no CUDA header is needed), resolved in
 * libcuda.so.1 at run time; and the check whether a device can serve. Names and numbers are those of the driver API's
 * reference manual, sections "Context Management", "Stream Management", "Event Management", "Memory Management" and
 * "Data types". Thread: any; loads libraries.
 */
#ifndef READBACK_CUDA_LOAD_H
#define READBACK_CUDA_LOAD_H

#include <stddef.h>

#define CUDA_VERSION_MIN 11000 /* 11.0: 1000 * major + 10 * minor */

enum cuda_result { /* CUresult: the values that are distinguished here */
		   CUDA_OK = 0,
		   CUDA_INVALID_VALUE = 1,
		   CUDA_OUT_OF_MEMORY = 2,
		   CUDA_DEINITIALIZED = 4,
		   CUDA_DEVICE_UNAVAILABLE = 46,
		   CUDA_NO_DEVICE = 100,
		   CUDA_INVALID_CONTEXT = 201,
		   CUDA_ECC_UNCORRECTABLE = 214,
		   CUDA_NVLINK_UNCORRECTABLE = 220,
		   CUDA_CONTAINED = 226,
		   CUDA_INVALID_HANDLE = 400,
		   CUDA_NOT_READY = 600,
		   CUDA_ILLEGAL_ADDRESS = 700,
		   CUDA_LAUNCH_TIMEOUT = 702,
		   CUDA_CONTEXT_IS_DESTROYED = 709,
		   CUDA_ASSERT = 710,
		   CUDA_HOST_MEMORY_ALREADY_REGISTERED = 712,
		   CUDA_HARDWARE_STACK = 714,
		   CUDA_ILLEGAL_INSTRUCTION = 715,
		   CUDA_MISALIGNED_ADDRESS = 716,
		   CUDA_INVALID_ADDRESS_SPACE = 717,
		   CUDA_INVALID_PC = 718,
		   CUDA_LAUNCH_FAILED = 719,
		   CUDA_MPS_CLIENT_TERMINATED = 809,
		   CUDA_EXTERNAL_DEVICE = 911,
};

#define CUDA_EVENT_DISABLE_TIMING  2u
#define CUDA_HOST_PORTABLE         1u /* of cuMemHostAlloc and cuMemHostRegister */
#define CUDA_IPC_LAZY_PEER_ACCESS  1u
#define CUDA_DEVICE_MAX_PITCH      11 /* CU_DEVICE_ATTRIBUTE_MAX_PITCH */
#define CUDA_STREAM_CAPTURE_NONE   0
#define CUDA_MEMORY_HOST           1 /* CUmemorytype */
#define CUDA_MEMORY_DEVICE         2
#define CUDA_MEMORY_ARRAY          3
#define CUDA_FORMAT_UNSIGNED_INT8  0x01 /* CUarray_format */
#define CUDA_FORMAT_UNSIGNED_INT16 0x02
#define CUDA_FORMAT_UNSIGNED_INT32 0x03
#define CUDA_FORMAT_SIGNED_INT8    0x08
#define CUDA_FORMAT_SIGNED_INT16   0x09
#define CUDA_FORMAT_SIGNED_INT32   0x0a
#define CUDA_FORMAT_HALF           0x10
#define CUDA_FORMAT_FLOAT          0x20

typedef unsigned long long cuda_pointer; /* CUdeviceptr */

struct cuda_copy_side { /* one half of CUDA_MEMCPY2D: both halves have the same layout */
	size_t x_bytes, y;
	int type; /* CUDA_MEMORY_* */
	void *host;
	cuda_pointer device;
	void *array;
	size_t pitch;
};

struct cuda_copy { /* CUDA_MEMCPY2D */
	struct cuda_copy_side from, to;
	size_t width_bytes, height;
};

struct cuda_array { /* CUDA_ARRAY3D_DESCRIPTOR */
	size_t width, height, depth;
	int format;
	unsigned channels, flags;
};

struct cuda_ipc_handle { /* CUipcMemHandle */
	char bytes[64];
};

/* clang-format off */
/* X(member, symbol, arguments): each returns a CUresult, as int. */
#define CUDA_CALLS(X) \
	X(Init,                 "cuInit",                    (unsigned flags)) \
	X(DriverGetVersion,     "cuDriverGetVersion",        (int *version)) \
	X(GetErrorName,         "cuGetErrorName",            (int r, const char **name)) \
	X(DeviceGetCount,       "cuDeviceGetCount",          (int *n)) \
	X(DeviceGetAttribute,   "cuDeviceGetAttribute",      (int *value, int attribute, int device)) \
	X(CtxGetCurrent,        "cuCtxGetCurrent",           (void **context)) \
	X(CtxPushCurrent,       "cuCtxPushCurrent_v2",       (void *context)) \
	X(CtxPopCurrent,        "cuCtxPopCurrent_v2",        (void **context)) \
	X(CtxGetDevice,         "cuCtxGetDevice",            (int *device)) \
	X(StreamGetCtx,         "cuStreamGetCtx",            (void *stream, void **context)) \
	X(StreamIsCapturing,    "cuStreamIsCapturing",       (void *stream, int *status)) \
	X(StreamQuery,          "cuStreamQuery",             (void *stream)) \
	X(StreamSynchronize,    "cuStreamSynchronize",       (void *stream)) \
	X(EventCreate,          "cuEventCreate",             (void **event, unsigned flags)) \
	X(EventDestroy,         "cuEventDestroy_v2",         (void *event)) \
	X(EventRecord,          "cuEventRecord",             (void *event, void *stream)) \
	X(EventQuery,           "cuEventQuery",              (void *event)) \
	X(MemHostAlloc,         "cuMemHostAlloc",            (void **p, size_t size, unsigned flags)) \
	X(MemFreeHost,          "cuMemFreeHost",             (void *p)) \
	X(MemHostRegister,      "cuMemHostRegister_v2",      (void *p, size_t size, unsigned flags)) \
	X(MemHostUnregister,    "cuMemHostUnregister",       (void *p)) \
	X(MemGetAddressRange,   "cuMemGetAddressRange_v2",   (cuda_pointer *base, size_t *size, cuda_pointer p)) \
	X(Array3DGetDescriptor, "cuArray3DGetDescriptor_v2", (struct cuda_array *a, void *array)) \
	X(MemcpyDtoHAsync,      "cuMemcpyDtoHAsync_v2",      (void *to, cuda_pointer from, size_t size, void *stream)) \
	X(Memcpy2DAsync,        "cuMemcpy2DAsync_v2",        (const struct cuda_copy *copy, void *stream)) \
	X(IpcOpenMemHandle,     "cuIpcOpenMemHandle_v2",     (cuda_pointer *p, struct cuda_ipc_handle handle, unsigned flags)) \
	X(IpcCloseMemHandle,    "cuIpcCloseMemHandle",       (cuda_pointer p))
/* clang-format on */

struct cuda_calls {
#define X(member, symbol, args) int(*member) args;
	CUDA_CALLS(X)
#undef X
};

/*
 * Resolves all calls and initialises the driver. 0; -ENOENT libcuda.so.1 is missing, or finds no device; -EOPNOTSUPP
 * the driver is older than CUDA_VERSION_MIN; with a sentence.
 */
int cuda_load(struct cuda_calls *ret);
/* Resolves the calls. find: as dlsym(). -EOPNOTSUPP one is missing. */
int cuda_find_calls(void *lib, void *(*find)(void *lib, const char *symbol), struct cuda_calls *ret);

/*
 * Sets the sentence of a result that is not CUDA_OK: "cuda: <what>: <name>". Returns -ENODEV if the error makes the
 * context unusable ("sticky"), -ENOMEM, else -EIO.
 */
int cuda_failed(const struct cuda_calls *cu, const char *what, int result);
const char *cuda_result_name(const struct cuda_calls *cu, int result);

#endif
