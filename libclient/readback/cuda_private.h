/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by cuda.c, cuda_memory.c and cuda_source.c. Thread: the owner's, with the read-back's context current. */
#ifndef READBACK_CUDA_PRIVATE_H
#define READBACK_CUDA_PRIVATE_H

#include "cuda_load.h"
#include "device.h"
#include "list.h"
#include "segment.h"

/*
 * Memory of the program that is page-locked for devices: one registration in the process for each piece of memory. See
 * cuda_memory.c.
 */
struct cuda_registration {
	struct list link;
	unsigned refs;
	uintptr_t base;
	size_t size;
	bool slots; /* true: the data plane's segment, of that generation; false: memory of the program */
	uint32_t generation;
	bool theirs; /* page-locked by the program itself */
	bool gone;   /* other memory is mapped there now */
};

/* Memory of another process. */
struct cuda_opened {
	struct list link; /* cuda::opened, least recently used first */
	struct cuda_ipc_handle handle;
	cuda_pointer base;
	unsigned refs; /* requests that read it */
};

struct cuda_place { /* device_request::own */
	void *event;
	bool recorded; /* false: the driver refused to record it, so it says nothing */
	void *staging; /* page-locked; NULL: none */
	size_t staging_size;
	struct cuda_registration *registration; /* a reference while the device writes there; NULL: staging */
	struct cuda_opened *opened;             /* a reference while it is read; NULL: memory of this process */
};

struct cuda {
	struct device d;
	struct cuda_calls cu;
	void *context, *stream;
	size_t pitch_max;
	struct segment region; /* options.memory */
	/* of the newest slot, or of the region, with a reference of its own; NULL: none */
	struct cuda_registration *registration;
	/* registering was tried for this generation, or for the region: registration and why_not have the result */
	bool tried;
	uint32_t generation; /* of the data plane that registration belongs to */
	char why_not[400];   /* set if registration is NULL */
	struct list opened;
	unsigned n_opened;
};

/* ---- cuda_memory.c: where it is written ---- */

/*
 * Chooses where the device writes this request: the target itself, with place->registration, or place->staging, and
 * sets d.how; *ret_pitch: bytes from one row to the next there. Returns 0; -ENOMEM, -EIO, -ENODEV with a sentence.
 */
int cuda_target(struct cuda *c, struct device_request *q, void **ret, size_t *ret_pitch);
void cuda_unregister(struct cuda *c, struct cuda_registration *r); /* NULL is fine */

/* ---- cuda_source.c: what is read ---- */

/* Fills the copy's `from`, with place->opened. Returns 0; -EINVAL, -ENOBUFS, -EIO, -ENODEV with a sentence. */
int cuda_source(struct cuda *c, struct device_request *q, struct cuda_copy_side *ret);
void cuda_close_all(struct cuda *c);

#endif
