/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies images and buffers from a GPU (or from memory) into slots, without waiting for the GPU. A library of its own,
 * libsimreadback, beside libsimclient; it loads the GPU libraries that it needs at run time, so none of them has to be
 * installed.
 *
 *     struct sim_readback_options o = {
 *             .size = sizeof(o), .backend = SIM_READBACK_VULKAN, .vulkan = { instance, physical, device, queue, family
 *             },
 *             .shape = { .format = SIM_READBACK_RGBA8, .width = 640, .height = 480 },
 *             .publisher = pub, .head = 64, .done = on_image, .user_size = sizeof(struct mine),
 *     };
 *     sim_readback_create(&o, &rb);
 *     each frame:
 *             draw, and submit it to the queue;
 *             sim_readback_start(rb, &(struct sim_readback_source){ .size = sizeof(...), .format = SIM_READBACK_RGBA8,
 *                                .vulkan.image = ... }, &t);
 *             sim_readback_process(rb);             calls on_image() for what has arrived, in the order of the starts
 *
 * Target: a slot that is loaned from the publisher at the start: `head` bytes of its body are left to the caller, then
 * the rows follow. Or memory of the caller's, named with each start.
 * Rows:   the first row in memory is the first row of the target; width pixels of one format, row_pitch bytes from one
 *         row to the next. Data that is not an image is SIM_READBACK_R8, or the format of its elements, of height 1.
 * Copies: the device writes the target itself if it can: 0 copies. Else it writes memory of its own, and a thread of
 * this library, "sim-readback", copies that into the target, once; flipping rows, swapping red and blue, and converting
 * floats to depth happen in the same pass. ticket.copies tells which it was, sim_readback_how() why.
 * Thread: all calls from the thread that created it, which for OpenGL ES is the one whose context is current; another
 * thread gets -EPERM. Only sim_readback_drain() and _destroy() wait for the device.
 * Order:  requests complete in the order of their starts, each exactly once: with its data, or with an error.
 * Errors: negative errno; sim_readback_why() has the reason, ticket.why that of a request.
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

#define SIM_READBACK_IN_FLIGHT_MAX 64 /* requests; with a publisher 8, the most that it may loan */
#define SIM_READBACK_SIDE_MAX      65536u
#define SIM_READBACK_HEAD_ALIGN    64u /* of options.head: that of a large array in a body */
#define SIM_READBACK_CUDA_IPC_SIZE 64u /* bytes of a CUipcMemHandle */
#define SIM_READBACK_CUDA_IPC_MAX  16u /* allocations of other processes that a read-back keeps open */

enum sim_readback_backend {
	SIM_READBACK_CPU = 0, /* memory of the program: sources are pointers. Always available; one copy */
	/* Vulkan 1.2 with timeline semaphores; 0 copies with VK_EXT_external_memory_host enabled */
	SIM_READBACK_VULKAN = 1,
	SIM_READBACK_GLES = 2, /* OpenGL ES 3.0 or OpenGL 3.2, by EGL, of the current context */
	SIM_READBACK_CUDA = 3, /* the driver API of CUDA 11.0 or later; 0 copies where it page-locks shared memory */
};

/* clang-format off */
/* X(ID, number, bytes of one pixel): channels in the order in which they lie in memory, little-endian. Append only. */
#define SIM_READBACK_FORMATS(X) \
	X(R8,      1,  1) /* a byte; also for data that is not an image */ \
	X(R16,     2,  2) /* uint16_t; of depth: see depth_scale */ \
	X(RGBA8,   3,  4) \
	X(BGRA8,   4,  4) \
	X(R32F,    5,  4) \
	X(RGBA32F, 6, 16) \
	X(RGB8,    7,  3) /* usual for colour images in ROS; devices seldom draw it: made from RGBA8 or BGRA8 by a copy */
/* clang-format on */

enum sim_readback_format {
#define X(id, num, bytes) SIM_READBACK_##id = num,
	SIM_READBACK_FORMATS(X)
#undef X
};

/* The layout of the target when a request has completed. */
struct sim_readback_shape {
	enum sim_readback_format format;
	uint32_t width, height; /* pixels, 1 to SIM_READBACK_SIDE_MAX each; of height 1: 1 to UINT32_MAX */
	uint32_t row_pitch;     /* bytes from one row to the next, a multiple of a pixel's; 0: width pixels */
	/* the source's last row first, for OpenGL, whose images start at the bottom. Costs a copy */
	bool flip;
	/*
	 * R32F to R16: units per 1.0, rounded; 0: 1000 (metres to millimetres). A value that is not finite, not above 0
	 * or above 65535 units becomes 0, "no depth here".
	 */
	float depth_scale;
};

/* What a start does when in_flight requests have not completed. Each case is counted, see sim_readback_counters. */
enum sim_readback_full {
	SIM_READBACK_REFUSE = 0,      /* return -EAGAIN */
	SIM_READBACK_DROP_NEWEST = 1, /* return 1 and make no request */
	/*
	 * The oldest completes with -ECANCELED at the next sim_readback_process(), and the new one takes its place. A
	 * request that the device is still writing keeps its target until the device is done; when in_flight such
	 * requests are kept as well, the newest is dropped.
	 */
	SIM_READBACK_DROP_OLDEST = 2,
};

/* A request. Only the library writes it, except for the memory that `user` points to. */
struct sim_readback_ticket {
	uint64_t number;        /* from 1, in the order of the starts */
	int64_t capture_sim_ns; /* simulated time of capture, as source.capture_sim_ns */
	struct sim_slot *slot;  /* NULL: it failed, the target is memory, or sim_readback_take_slot() took it */
	void *data;             /* the first row, in the slot or in the caller's memory; NULL: it failed */
	size_t data_size;       /* row_pitch * height */
	uint32_t width, height; /* the shape's at the start */
	uint32_t row_pitch;     /* bytes, never 0 */
	enum sim_readback_format format;
	/* 0; -ECANCELED, -EIO the device failed, -ENODEV it or its context was lost, -EPERM another context was current */
	int result;
	unsigned copies; /* copies made by the library: 0 or 1 */
	const char *why; /* the reason if result is negative, else "" */
	void *user; /* options.user_size bytes for the caller's own data, zeroed at the start; aligned as by malloc() */
};

/*
 * A request has completed; called inside sim_readback_process(), _drain(), _cancel() or _destroy(). Afterwards the
 * ticket, and its slot unless it was taken, belong to the library again. It may call sim_readback_start(), _take_slot()
 * and publishing functions; others return -EDEADLK.
 */
typedef void (*sim_readback_done_fn)(void *arg, struct sim_readback_ticket *t);

/* Vulkan handles; the device and the queue must live until the read-back is destroyed. */
struct sim_readback_vulkan {
	/* VkInstance, VkPhysicalDevice, VkDevice; of 1.2 or later, timelineSemaphore enabled */
	void *instance, *physical_device, *device;
	void *queue;                  /* VkQueue that draws; no other thread may use it during sim_readback_start() */
	uint32_t queue_family;        /* of that queue */
	void *get_instance_proc_addr; /* PFN_vkGetInstanceProcAddr; NULL: that of libvulkan.so.1 */
};

/*
 * Handles of CUDA's driver API; the context and the stream must live until the read-back is destroyed. With CUDA's
 * run-time API the context is that of cuDevicePrimaryCtxRetain(), and a cudaStream_t is a stream. If several read-backs
 * of a process use the same memory, destroy the context of the first that started after the last read-back.
 */
struct sim_readback_cuda {
	/* CUcontext; made current during calls if it is not. NULL: the one that is current in sim_readback_create() */
	void *context;
	void *stream; /* CUstream of that context, which draws or computes; NULL: its default stream */
};

struct sim_readback_options {
	size_t size; /* sizeof(struct sim_readback_options) of the caller */
	enum sim_readback_backend backend;
	struct sim_readback_shape shape; /* may be changed by sim_readback_resize() */
	unsigned in_flight; /* most requests that are not completed, or not released after sim_readback_take(); 0: 3 */
	enum sim_readback_full full;
	/* kept; its max_body at least sim_readback_body_size(). NULL: each start names memory */
	struct sim_publisher *publisher;
	size_t head; /* bytes of the body before the first row, a multiple of SIM_READBACK_HEAD_ALIGN */
	/* NULL: completed requests are taken with sim_readback_take(). */
	sim_readback_done_fn done;
	void *done_arg;
	size_t user_size; /* bytes for the caller's own data in each ticket */
	struct sim_readback_vulkan vulkan;
	struct sim_readback_cuda cuda;
	/*
	 * Without a publisher: the region that holds the memory named by starts; it must stay mapped until the
	 * read-back is destroyed. So it is imported into the device once; a target outside it costs a copy. NULL: no
	 * region.
	 */
	void *memory;
	size_t memory_size;
};

/*
 * What is read. With OpenGL ES the source must not change until the request has completed: each pending request needs
 * an image of its own. With Vulkan, work submitted later to the same queue may draw into it again, with CUDA work
 * queued later in the same stream; it must not be destroyed before the request has completed.
 */
struct sim_readback_source {
	size_t size; /* sizeof(struct sim_readback_source) of the caller */
	/* the source's format: the shape's, or RGBA8 for BGRA8 and back, either of them for RGB8, R32F for R16 */
	enum sim_readback_format format;
	uint32_t row_pitch;     /* for memory or a buffer: bytes, a multiple of a pixel's; 0: width pixels */
	uint64_t offset;        /* for memory or a buffer: bytes before the first row */
	int64_t capture_sim_ns; /* 0: now, with a publisher */
	/* the target, without a publisher; aligned to a pixel; must live until the request completes */
	void *memory;
	const void *cpu; /* SIM_READBACK_CPU: the source; must live until the request completes */
	struct {
		/*
		 * VkImage with TRANSFER_SRC; read from the upper left corner of one layer of one level; 0: use buffer
		 */
		uint64_t image;
		uint32_t layout; /* VkImageLayout of the image, before and after */
		uint32_t level, layer;
		bool depth;      /* read its depth (R32F: D32_SFLOAT) */
		uint64_t buffer; /* VkBuffer with TRANSFER_SRC */
	} vulkan;
	struct {
		uint32_t framebuffer; /* framebuffer to read, from its lower left corner; 0: the default one */
		uint32_t texture;     /* not 0: level 0 of this GL_TEXTURE_2D instead */
	} gles;
	struct {                            /* set one of the three */
		unsigned long long pointer; /* CUdeviceptr: linear memory */
		void *array;                /* CUarray of one or two dimensions (a texture); from its first element */
		/*
		 * Linear memory of another process: SIM_READBACK_CUDA_IPC_SIZE bytes, those of a CUipcMemHandle;
		 * copied. The library opens it at its first start, and closes it when SIM_READBACK_CUDA_IPC_MAX others
		 * need the room, or at the destroy: the other process must not free it before. The two processes must
		 * agree on when it has finished writing.
		 */
		const void *ipc;
	} cuda;
};

/* Totals since the create. */
struct sim_readback_counters {
	uint64_t started;   /* requests made */
	uint64_t completed; /* with data */
	uint64_t failed;    /* with an error, those below included */
	uint64_t cancelled; /* by sim_readback_cancel() or _destroy() */
	uint64_t dropped;   /* requests dropped or refused because in_flight was reached */
	uint64_t copies;    /* copies of an image by the CPU, in this library */
	uint64_t waits;     /* times that the calling thread slept inside start or process, or waited in drain */
	uint64_t imports;   /* imports of the data plane's segment, or of options.memory, into the device */
};

/*
 * Checks whether a back end can work here: loads its library; for Vulkan and CUDA looks for a device with the needed
 * features. Any thread; blocks as loading a driver does. Returns: 0; -ENOENT a library or device is missing,
 * -EOPNOTSUPP it lacks something, -EINVAL no such back end.
 */
SIM_API SIM_MUST_CHECK int sim_readback_probe(enum sim_readback_backend backend);

/*
 * As the probe, but also creates a device and queries it. *ret, cut to cap bytes: its name, and whether it reads
 * without a copy; "llvmpipe (LLVM 15.0.6, 256 bits): writes slots itself". Drivers start threads and may crash: a
 * program that is not a renderer should ask in a process of its own, as `simctl doctor` does. Errors as those of the
 * probe. Since 0.1.
 */
SIM_API SIM_MUST_CHECK int sim_readback_describe(enum sim_readback_backend backend, char *ret, size_t cap);

/* Bytes of one pixel; 0: no such format. Any thread. */
SIM_API size_t sim_readback_pixel_size(enum sim_readback_format format);
/* Bytes of a body: head and rows; 0: no such shape. For sim_publisher_options.max_body. Any thread. */
SIM_API size_t sim_readback_body_size(const struct sim_readback_shape *shape, size_t head);

/*
 * Creates a read-back, in the thread that will use it. For OpenGL ES its context must be current, and is the only one
 * used.
 * Returns: 0; -EINVAL an option is invalid; -ENOENT the back end's library or device is missing, or no context is
 * current; -EOPNOTSUPP the device, context or driver lacks something; -ENOMEM; -EAGAIN no thread could be started; -EIO
 * the device refused; -ENODEV the context is lost.
 */
SIM_API SIM_MUST_CHECK int sim_readback_create(const struct sim_readback_options *o, struct sim_readback **ret);
/*
 * Cancels what has not completed (the callback runs), waits up to a second for a device that still writes, and frees. A
 * request that the device has not finished then keeps its memory, and its slot until the publisher is destroyed. For
 * OpenGL ES with the context current, or lost. NULL is fine; in a callback, or from another thread, it does nothing.
 */
SIM_API void sim_readback_destroy(struct sim_readback *rb);

/*
 * Sets the shape of later starts; pending requests keep theirs. Returns: 0; -EINVAL no such shape (a shape larger than
 * the publisher's max_body is accepted, and the starts return -EMSGSIZE); -EPERM; -EDEADLK in a callback.
 */
SIM_API SIM_MUST_CHECK int sim_readback_resize(struct sim_readback *rb, const struct sim_readback_shape *shape);

/*
 * Starts reading what was submitted to the device before. Never waits for it; but in the first starts, and in the first
 * one in another generation of the data plane, the driver imports, page-locks or allocates memory, which can take some
 * ms.
 * *ret: the request, whose `user` the caller may fill; borrowed until it completes; NULL if no request was made; ret
 * may be NULL.
 * Returns: 0 it will complete; 1 dropped, see SIM_READBACK_DROP_NEWEST; -EAGAIN full; -EINVAL the source does not match
 * the shape, is misaligned, or is smaller; -EOPNOTSUPP the context cannot read that format; -ENOMEM, -ENOBUFS,
 * -EMSGSIZE, -ESTALE, -ENOTCONN as sim_loan(); -ENOBUFS also: SIM_READBACK_CUDA_IPC_MAX allocations of other processes
 * are being read; -ENODEV the device is lost, for good; -EIO it refused; -EPERM another thread, or another context is
 * current. On a negative result no request is made.
 */
SIM_API SIM_MUST_CHECK int sim_readback_start(struct sim_readback *rb, const struct sim_readback_source *s,
					      struct sim_readback_ticket **ret);

/*
 * Completes the requests that have arrived: calls back, or makes them ready for sim_readback_take(). Never waits. For
 * OpenGL ES best called just before drawing: a driver with later work queued may finish that first (counters.waits).
 * Returns: how many completed; -EPERM; -EDEADLK in a callback.
 */
SIM_API int sim_readback_process(struct sim_readback *rb);

/*
 * Without a callback: takes the next completed request; release it with sim_readback_release(). -EAGAIN: none has
 * completed; -EPERM; -EINVAL there is a callback.
 */
SIM_API SIM_MUST_CHECK int sim_readback_take(struct sim_readback *rb, struct sim_readback_ticket **ret);
/* -EINVAL: not a request that was taken. */
SIM_API int sim_readback_release(struct sim_readback *rb, struct sim_readback_ticket *t);

/*
 * Takes the slot of a completed request, which then is the caller's like a loan: to publish, or sim_unloan(). Its stamp
 * is capture_sim_ns. NULL: it has no slot.
 */
SIM_API struct sim_slot *sim_readback_take_slot(struct sim_readback *rb, struct sim_readback_ticket *t);

/*
 * Processes until no request is pending, for at most timeout_dur_ns (negative: for ever). Returns: 0; -ETIMEDOUT a
 * request is still pending; -EPERM; -EDEADLK in a callback.
 */
SIM_API SIM_MUST_CHECK int sim_readback_drain(struct sim_readback *rb, int64_t timeout_dur_ns);

/*
 * Completes a request with -ECANCELED, in its turn; number 0: all requests. If its target or source is memory of the
 * caller's, it completes once that memory is no longer used. Returns: how many were cancelled; -ENOENT no such request
 * is pending; -EPERM; -EDEADLK in a callback.
 */
SIM_API int sim_readback_cancel(struct sim_readback *rb, uint64_t number);

SIM_API void sim_readback_get_counters(const struct sim_readback *rb, struct sim_readback_counters *ret);
/*
 * How the newest request gets into its target, and why not in a better way: a sentence; borrowed until the next call.
 */
SIM_API const char *sim_readback_how(const struct sim_readback *rb);

/*
 * About the calling thread's last failed call: what failed, where, and what to do; "" if no call has failed. Valid
 * until its next call.
 */
SIM_API const char *sim_readback_why(void);

#ifdef __cplusplus
}
#endif
#endif
