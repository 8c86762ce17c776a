/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a back end does: the contract between readback.c and cpu.c, vulkan*.c, gles*.c, cuda*.c. A request goes through
 *
 *     add     once, for its place: allocates what every start needs
 *     start   the device begins; it reports whether it writes the target itself (direct), or memory of its own
 *     poll    until it returns 1; a request that is not direct then has its data at `from`, to be copied
 *     release the place is free for another start; `from` is not needed any more
 *     remove  once, at the end
 *
 * Thread: the owner's. Only wait() and destroy() wait for the device. Errors: negative errno with a sentence (err.h);
 * -ENODEV: the device is lost, with all that it has not finished.
 */
#ifndef READBACK_DEVICE_H
#define READBACK_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/readback.h>

struct device;

struct device_request {
	/* set by readback.c: */
	const struct sim_readback_source *source; /* during start() only */
	size_t source_pitch;                      /* for memory or a buffer: never 0 */
	uint32_t width, height;
	size_t pixel; /* bytes of one pixel of the source */
	uint8_t *to;  /* the target */
	size_t to_pitch, to_size;
	bool convert;        /* the device cannot write the target's layout itself */
	bool in_slot;        /* the target is in a slot */
	uint32_t generation; /* generation of the slot's data plane */
	/* set by the device: */
	bool direct;
	const uint8_t *from;
	size_t from_pitch;
	void *own;
};

struct device_ops {
	const char *name;
	bool at_once;       /* a started request has finished at once */
	bool source_memory; /* sources are memory of the program, with a pitch: read until the request is over */
	int (*add)(struct device *d, struct device_request *q);
	int (*start)(struct device *d, struct device_request *q);
	int (*poll)(struct device *d, struct device_request *q); /* 1: finished; 0: not yet */
	/*
	 * The request is not needed any more. True: the device writes nothing of it from now on; false: it is polled
	 * further, then released.
	 */
	bool (*abandon)(struct device *d, struct device_request *q);
	void (*wait)(struct device *d, struct device_request *q,
		     int64_t dur_ns); /* until it has finished, or for dur_ns; negative: for ever */
	void (*release)(struct device *d, struct device_request *q);
	/* writes: the device has not finished the request, and may write at any time: its memory is not freed. */
	void (*remove)(struct device *d, struct device_request *q, bool writes);
	void (*destroy)(struct device *d, bool writes); /* frees d */
};

struct device { /* first member of each back end */
	const struct device_ops *ops;
	uint64_t imports;
	char how[512]; /* sim_readback_how() */
};

int cpu_create(const struct sim_readback_options *o, struct device **ret);
int vulkan_create(const struct sim_readback_options *o, struct device **ret);
int gles_create(const struct sim_readback_options *o, struct device **ret);
int cuda_create(const struct sim_readback_options *o, struct device **ret);
int vulkan_probe(void);
int gles_probe(void);
int cuda_probe(void);

#endif
