/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images and buffers from a GPU (or from memory) into slots, without waiting for the GPU. A library of its own, libsimreadback,
 * beside libsimclient; what it needs of a GPU it loads at run time, so that nothing of it has to be installed.
 *
 *     struct sim_readback_options o = {
 *             .size = sizeof(o), .backend = SIM_READBACK_VULKAN, .vulkan = { instance, physical, device, queue, family },
 *             .shape = { .format = SIM_READBACK_RGBA8, .width = 640, .height = 480 },
 *             .publisher = pub, .head = 64, .done = on_image, .user_size = sizeof(struct mine),
 *     };
 *     sim_readback_create(&o, &rb);
 *     each frame:
 *             draw, and submit it to the queue;
 *             sim_readback_start(rb, &(struct sim_readback_source){ .size = sizeof(...), .format = SIM_READBACK_RGBA8, .vulkan.image = ... }, &t);
 *             sim_readback_process(rb);             calls on_image() for what has arrived, in the order of the starts
 *
 * Target: a slot that is loaned from the publisher at the start: `head` bytes of its body are left to the caller, then come the rows. Or memory of the
 *         caller's, named with each start.
 * Rows:   the first row in memory is the first row of the target; width pixels of one format, row_pitch bytes from one row to the next. What is no image
 *         is SIM_READBACK_R8, or whatever its elements are, of height 1.
 * Copies: the device writes the target itself wherever it can: 0 copies. Else it writes memory of its own, and a thread of this
 *         library, "sim-readback", copies that into the target, once; flipping rows, exchanging red and blue, and making depth of floats happen in that
 *         one pass. ticket.copies says which it was, sim_readback_how() why.
 * Thread: all calls from the thread that created it, which for OpenGL ES is the one whose context is current; another one gets -EPERM. No call but
 *         sim_readback_drain() and _destroy() waits for the device.
 * Order:  requests complete in the order of their starts, each exactly once: with its data, or with an error.
 * Errors: negative errno; sim_readback_why() is the sentence, ticket.why that of a request.
 */
#ifndef SIM_READBACK_H
#define SIM_READBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/publisher.h>
#include <sim/slot.h>
#include <sim/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim_readback;

#define SIM_READBACK_IN_FLIGHT_MAX 64 /* requests; with a publisher 8, what it may loan */
#define SIM_READBACK_SIDE_MAX      65536u
#define SIM_READBACK_HEAD_ALIGN    64u /* of options.head: that of a large array in a body */
#define SIM_READBACK_CUDA_IPC_SIZE 64u /* bytes of a CUipcMemHandle */
#define SIM_READBACK_CUDA_IPC_MAX  16u /* allocations of other processes that a read-back keeps open */

enum sim_readback_backend {
	SIM_READBACK_CPU = 0, /* memory of the program: sources are pointers. Always there; one copy */
	/* 1.2 with timeline semaphores; VK_EXT_external_memory_host, where enabled, for 0 copies */
	SIM_READBACK_VULKAN = 1,
	SIM_READBACK_GLES = 2, /* OpenGL ES 3.0 or OpenGL 3.2, by EGL: whichever context is current */
	SIM_READBACK_CUDA = 3, /* the driver API of CUDA 11.0 or later; 0 copies where it page-locks shared memory */
};

/* clang-format off */
/* X(ID, number, bytes of one pixel): channels in the order in which they lie in memory, little-endian. Append only. */
#define SIM_READBACK_FORMATS(X) \
	X(R8,      1,  1) /* a byte; also for what is no image */ \
	X(R16,     2,  2) /* uint16_t; of depth: see depth_scale */ \
	X(RGBA8,   3,  4) \
	X(BGRA8,   4,  4) \
	X(R32F,    5,  4) \
	X(RGBA32F, 6, 16) \
	X(RGB8,    7,  3) /* as most of ROS has colour images; a device seldom draws it: made of RGBA8 or BGRA8, costs a copy */
/* clang-format on */

enum sim_readback_format {
#define X(id, num, bytes) SIM_READBACK_##id = num,
	SIM_READBACK_FORMATS(X)
#undef X
};

/* What is in the target when a request has completed. */
struct sim_readback_shape {
	enum sim_readback_format format;
	uint32_t width, height; /* pixels, 1 to SIM_READBACK_SIDE_MAX each; of height 1: 1 to UINT32_MAX */
	uint32_t row_pitch;     /* bytes from one row to the next, a multiple of a pixel's; 0: those of a row */
	bool flip;              /* the source's last row first, as OpenGL's images have it. Costs a copy */
	/*
	 * R32F to R16: how many units 1.0 is, 0: 1000 (metres to millimetres), rounded. What is no number, not above 0 or above 65535
	 * units becomes 0, "no depth here".
	 */
	float depth_scale;
};

/* What becomes of a start when so many as in_flight have not completed. Each is counted, see sim_readback_counters. */
enum sim_readback_full {
	SIM_READBACK_REFUSE = 0,      /* -EAGAIN */
	SIM_READBACK_DROP_NEWEST = 1, /* 1, and no request is made */
	/*
	 * The oldest completes with -ECANCELED at the next sim_readback_process(), and the new one takes its place. What the device still
	 * writes keeps its target until it has: when so many are kept as well, the newest is dropped.
	 */
	SIM_READBACK_DROP_OLDEST = 2,
};

/* A request. Written by the library alone, but for what `user` points to. */
struct sim_readback_ticket {
	uint64_t number;        /* from 1, in the order of the starts */
	int64_t capture_sim_ns; /* when it was captured: simulated time, as of source.capture_sim_ns */
	struct sim_slot *slot;  /* NULL: it failed, the target is memory, or sim_readback_take_slot() */
	void *data;             /* the first row, in the slot or in the caller's memory; NULL: it failed */
	size_t data_size;       /* row_pitch * height */
	uint32_t width, height; /* as the shape was at the start */
	uint32_t row_pitch;     /* bytes, never 0 */
	enum sim_readback_format format;
	/* 0; -ECANCELED, -EIO the device failed, -ENODEV it or its context was lost, -EPERM another context was current */
	int result;
	unsigned copies; /* how often the library has copied it: 0 or 1 */
	const char *why; /* a sentence if result is negative, else "" */
	void *user; /* options.user_size bytes of the caller's own, zeroes at the start; aligned as malloc() does */
};

/*
 * A request has completed; inside sim_readback_process(), _drain(), _cancel() or _destroy(). The ticket, and its slot unless it is taken, are the library's
 * again afterwards. It may call sim_readback_start(), _take_slot() and what publishes; others answer -EDEADLK.
 */
typedef void (*sim_readback_done_fn)(void *arg, struct sim_readback_ticket *t);

/* Handles of Vulkan as they are; keeps the device and the queue until it is destroyed. */
struct sim_readback_vulkan {
	/* VkInstance, VkPhysicalDevice, VkDevice; of 1.2 or later, timelineSemaphore enabled */
	void *instance, *physical_device, *device;
	void *queue;                  /* VkQueue: what draws; no other thread uses it during sim_readback_start() */
	uint32_t queue_family;        /* of that queue */
	void *get_instance_proc_addr; /* PFN_vkGetInstanceProcAddr; NULL: that of libvulkan.so.1 */
};

/*
 * Handles of CUDA's driver API as they are; keeps the context and the stream until it is destroyed. Of CUDA's run-time API: the context is
 * what cuDevicePrimaryCtxRetain() has, a cudaStream_t is a stream. With several read-backs in one process over the same memory, the context of the
 * first that started is destroyed after the last read-back.
 */
struct sim_readback_cuda {
	void *context; /* CUcontext; made current during calls where it is not. NULL: the one that is current at the create */
	void *stream; /* CUstream of that context: what draws or computes; NULL: its default stream */
};

struct sim_readback_options {
	size_t size; /* sizeof(struct sim_readback_options) of the caller */
	enum sim_readback_backend backend;
	struct sim_readback_shape shape; /* may be changed by sim_readback_resize() */
	unsigned in_flight; /* requests that have not completed, or are not released after sim_readback_take(); 0: 3 */
	enum sim_readback_full full;
	/* keeps; its max_body at least sim_readback_body_size(). NULL: each start names memory */
	struct sim_publisher *publisher;
	size_t head; /* bytes of the body before the first row, a multiple of SIM_READBACK_HEAD_ALIGN */
	/* NULL: completed requests are taken with sim_readback_take(). */
	sim_readback_done_fn done;
	void *done_arg;
	size_t user_size; /* bytes of the caller's own with each ticket */
	struct sim_readback_vulkan vulkan;
	struct sim_readback_cuda cuda;
	/*
	 * Without a publisher: the memory that starts name lies in it, and is mapped until the read-back is destroyed. So a device can be given it
	 * once; what lies elsewhere costs a copy. NULL: none.
	 */
	void *memory;
	size_t memory_size;
};

/*
 * What is read. With OpenGL ES it must stay as it is until the request has completed: each that is pending needs a picture of its own. With
 * Vulkan what is submitted to the same queue afterwards may draw into it again, with CUDA what is put into the same stream; it is not
 * destroyed before the request has completed.
 */
struct sim_readback_source {
	size_t size; /* sizeof(struct sim_readback_source) of the caller */
	/* of the source; the same as the shape's, RGBA8 for BGRA8 and back, either of them for RGB8, R32F for R16 */
	enum sim_readback_format format;
	uint32_t row_pitch;     /* of memory or a buffer: bytes, a multiple of a pixel's; 0: those of a row */
	uint64_t offset;        /* of memory or a buffer: bytes before the first row */
	int64_t capture_sim_ns; /* 0: now, with a publisher */
	void *memory;    /* the target, without a publisher; aligned to a pixel; keeps it until the request completes */
	const void *cpu; /* SIM_READBACK_CPU: the source; keeps it until the request completes */
	struct {
		uint64_t image; /* VkImage with TRANSFER_SRC; a layer of a level of it, from its upper left corner; 0: buffer */
		uint32_t layout; /* VkImageLayout that it is in and stays in */
		uint32_t level, layer;
		bool depth;      /* its depth (R32F: D32_SFLOAT) */
		uint64_t buffer; /* VkBuffer with TRANSFER_SRC */
	} vulkan;
	struct {
		uint32_t framebuffer; /* what it is read from; 0: the default one; from its lower left corner */
		uint32_t texture;     /* not 0: level 0 of this GL_TEXTURE_2D instead */
	} gles;
	struct {                            /* one of the three */
		unsigned long long pointer; /* CUdeviceptr: linear memory */
		void *array;                /* CUarray of one or two dimensions (a texture); from its first element */
		/*
		 * Linear memory of another process: SIM_READBACK_CUDA_IPC_SIZE bytes, those of a CUipcMemHandle; copied. It is opened
		 * at its first start, and closed when room is needed after SIM_READBACK_CUDA_IPC_MAX others, or at the destroy: until
		 * then the other process does not free it. That it has finished writing is between the two.
		 */
		const void *ipc;
	} cuda;
};

/* What has happened so far. */
struct sim_readback_counters {
	uint64_t started;   /* requests that were made */
	uint64_t completed; /* with data */
	uint64_t failed;    /* with an error, those below included */
	uint64_t cancelled; /* by sim_readback_cancel() or _destroy() */
	uint64_t dropped;   /* older and newer ones, because it was full; refused ones as well */
	uint64_t copies;    /* of an image by the CPU, in this library */
	uint64_t waits;     /* the calling thread was put to sleep inside start or process, or waited in drain */
	uint64_t imports;   /* of the data plane's segment, or of options.memory, by the device */
};

/*
 * Whether a back end can work here: its library is loaded, for Vulkan and CUDA a device is looked for that has what is needed.
 * Any thread; blocks as loading a driver does. Returns: 0; -ENOENT a library or device is missing, -EOPNOTSUPP it lacks something,
 * -EINVAL no such back end.
 */
SIM_API SIM_MUST_CHECK int sim_readback_probe(enum sim_readback_backend backend);

/*
 * More than the probe: a device is made and asked. *ret, cut to cap bytes: which it is, and whether it reads without a copy; "llvmpipe (LLVM 15.0.6, 256
 * bits): writes slots itself". Drivers start threads and may crash: what is not a renderer itself asks in a process of its own, as `simctl doctor`
 * does. Errors as those of the probe. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_readback_describe(enum sim_readback_backend backend, char *ret, size_t cap);

/* Bytes of one pixel; 0: no such format. Any thread. */
SIM_API size_t sim_readback_pixel_size(enum sim_readback_format format);
/* Bytes of a body: head and rows; 0: no such shape. For sim_publisher_options.max_body. Any thread. */
SIM_API size_t sim_readback_body_size(const struct sim_readback_shape *shape, size_t head);

/*
 * Create one, in the thread that will use it. For OpenGL ES its context is current, and stays the one.
 * Returns: 0; -EINVAL an option is invalid; -ENOENT the back end's library or device is missing, or no context is current; -EOPNOTSUPP
 * the device, context or driver lacks something; -ENOMEM; -EAGAIN no thread could be started; -EIO the device refused; -ENODEV the
 * context is lost.
 */
SIM_API SIM_MUST_CHECK int sim_readback_create(const struct sim_readback_options *o, struct sim_readback **ret);
/*
 * Cancels what has not completed (the callback runs), waits up to a second for a device that still writes, and frees. What it has not finished
 * then keeps its memory, and its slot until the publisher is destroyed. For OpenGL ES with the context current, or lost. NULL is fine; in a callback, or
 * from another thread, it does nothing.
 */
SIM_API void sim_readback_destroy(struct sim_readback *rb);

/*
 * The shape of what starts from now on; pending requests keep theirs. Returns: 0; -EINVAL no such shape (one that is larger than
 * the publisher's max_body is taken, and the starts answer -EMSGSIZE); -EPERM; -EDEADLK in a callback.
 */
SIM_API SIM_MUST_CHECK int sim_readback_resize(struct sim_readback *rb, const struct sim_readback_shape *shape);

/*
 * Start reading what was submitted to the device before. Never waits for it; but the first starts, and the first into another generation of the
 * data plane, have the driver import, page-lock or allocate memory, which can take it some ms.
 * *ret: the request, whose `user` the caller may fill; borrowed until it completes; NULL when none was made; may be NULL itself.
 * Returns: 0 it will complete; 1 dropped, see SIM_READBACK_DROP_NEWEST; -EAGAIN full; -EINVAL the source does not go with the shape, or is
 * misaligned, or is smaller; -EOPNOTSUPP the context cannot read that format; -ENOMEM, -ENOBUFS, -EMSGSIZE, -ESTALE, -ENOTCONN as sim_loan();
 * -ENOBUFS also: SIM_READBACK_CUDA_IPC_MAX allocations of other processes are being read; -ENODEV the device
 * is lost, for good; -EIO it refused; -EPERM another thread, or another context is current. No request is made when it is negative.
 */
SIM_API SIM_MUST_CHECK int sim_readback_start(struct sim_readback *rb, const struct sim_readback_source *s,
					      struct sim_readback_ticket **ret);

/*
 * Look what has arrived, and complete it: call back, or have it ready for sim_readback_take(). Never waits. For OpenGL ES
 * best just before drawing: a driver that has later work in hand may finish that first (counters.waits).
 * Returns: how many completed; -EPERM; -EDEADLK in a callback.
 */
SIM_API int sim_readback_process(struct sim_readback *rb);

/* Without a callback: the next completed request, to be released with sim_readback_release(). -EAGAIN: none; -EPERM; -EINVAL there is a callback. */
SIM_API SIM_MUST_CHECK int sim_readback_take(struct sim_readback *rb, struct sim_readback_ticket **ret);
/* -EINVAL: not a request that was taken. */
SIM_API int sim_readback_release(struct sim_readback *rb, struct sim_readback_ticket *t);

/* The slot of a completed request becomes the caller's, as if loaned: to publish, or sim_unloan(). Its stamp is capture_sim_ns. NULL: there is none. */
SIM_API struct sim_slot *sim_readback_take_slot(struct sim_readback *rb, struct sim_readback_ticket *t);

/*
 * Processes until nothing is pending, for at most so long (negative: for ever). Returns: 0; -ETIMEDOUT something still is; -EPERM;
 * -EDEADLK in a callback.
 */
SIM_API SIM_MUST_CHECK int sim_readback_drain(struct sim_readback *rb, int64_t timeout_dur_ns);

/*
 * Completes a request with -ECANCELED, in its turn; 0: all. One whose target or source is memory of the caller's does so once that is
 * not touched any more. Returns: how many were cancelled; -ENOENT no such request is pending; -EPERM; -EDEADLK in a callback.
 */
SIM_API int sim_readback_cancel(struct sim_readback *rb, uint64_t number);

SIM_API void sim_readback_get_counters(const struct sim_readback *rb, struct sim_readback_counters *ret);
/* How the newest request comes into its target, and why not better: a sentence; borrowed until the next call. */
SIM_API const char *sim_readback_how(const struct sim_readback *rb);

/* What the calling thread's last call that failed says: what failed, where, and what to do; "" if there was none. Until its next call. */
SIM_API const char *sim_readback_why(void);

#ifdef __cplusplus
}
#endif
#endif
