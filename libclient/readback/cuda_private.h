/* SPDX-License-Identifier: Apache-2.0 */
/* What cuda.c, cuda_memory.c and cuda_source.c share. Thread: the owner's, with the read-back's context current. */
#ifndef READBACK_CUDA_PRIVATE_H
#define READBACK_CUDA_PRIVATE_H

#include "cuda_load.h"
#include "device.h"
#include "list.h"
#include "segment.h"

/* Memory of the program's that is page-locked for devices: one in the process for each piece, whoever uses it. See cuda_memory.c. */
struct cuda_registration {
	struct list link;
	unsigned refs;
	uintptr_t base;
	size_t size;
	bool slots; /* a data plane's segment, of that generation; else a program's memory */
	uint32_t generation;
	bool theirs; /* page-locked by the program itself */
	bool gone;   /* other memory lies there now */
};

/* Memory of another process's. */
struct cuda_opened {
	struct list link; /* cuda::opened, the one that was used last at the end */
	struct cuda_ipc_handle handle;
	cuda_pointer base;
	unsigned refs; /* requests that read it */
};

struct cuda_place { /* device_request::own */
	void *event;
	bool recorded; /* false: the driver refused, and the event says nothing */
	void *staging; /* page-locked; NULL: none */
	size_t staging_size;
	struct cuda_registration *registration; /* a reference while it is written; NULL: staging */
	struct cuda_opened *opened;             /* what it reads, while it does; NULL: memory of this process */
};

struct cuda {
	struct device d;
	struct cuda_calls cu;
	void *context, *stream;
	size_t pitch_max;
	struct segment region; /* options.memory */
	/* of the newest slot, or of the region, with a reference of its own; NULL: none */
	struct cuda_registration *registration;
	bool tried;          /* for this generation, or for the region: registration is the answer, and why_not */
	uint32_t generation; /* of the data plane that it is of */
	char why_not[400];   /* registration is NULL */
	struct list opened;
	unsigned n_opened;
};

/* ---- cuda_memory.c: where it is written ---- */

/*
 * Where the device writes this request: the target itself, with place->registration, or place->staging, with d.how; *ret_pitch: from one
 * row to the next there. Returns 0; -ENOMEM, -EIO, -ENODEV with a sentence.
 */
int cuda_target(struct cuda *c, struct device_request *q, void **ret, size_t *ret_pitch);
void cuda_unregister(struct cuda *c, struct cuda_registration *r); /* NULL is fine */

/* ---- cuda_source.c: what is read ---- */

/* The copy's `from`, with place->opened. Returns 0; -EINVAL, -ENOBUFS, -EIO, -ENODEV with a sentence. */
int cuda_source(struct cuda *c, struct device_request *q, struct cuda_copy_side *ret);
void cuda_close_all(struct cuda *c);

#endif
