/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by cuda_stand_in.c and cuda_stand_in_memory.c. Thread: the holder of driver.lock. */
#ifndef UNIT_READBACK_CUDA_STAND_IN_PRIVATE_H
#define UNIT_READBACK_CUDA_STAND_IN_PRIVATE_H

#include <pthread.h>
#include <stdint.h>

#include "cuda_stand_in.h"
#include "list.h"

#define EXPORT __attribute__((visibility("default")))

enum { NOT_INITIALIZED = 3, MAP_FAILED_ = 205, HOST_NOT_REGISTERED = 713, NOT_FOUND = 500, CAPTURED = 907 };

enum { NO_CONTEXT = 1, NO_INIT = 2, RELEASES = 4, IN_ANY_STATE = 8 };

struct stream {
	struct list link;
	struct context *context;
	bool capturing;
};

struct context {
	struct list link;
	struct stream stream; /* the default one; not linked */
};

struct event {
	struct list link;
	struct context *context;
	uint64_t last; /* the record that counts; 0: none */
	uint64_t done;
};

struct memory {
	struct list link;
	uintptr_t base;
	size_t size;
	int fd;        /* of the device's own; -1 */
	unsigned refs; /* of another process's: so often opened */
	struct cuda_ipc_handle handle;
};

struct array {
	struct list link;
	struct cuda_array a;
	size_t element;
	uint8_t *data;
};

struct operation {
	struct list link;
	struct event *event; /* a record of it; NULL: a copy */
	uint64_t record;
	struct cuda_copy copy;
};

struct driver {
	pthread_mutex_t lock;
	struct list contexts, destroyed, streams, events, memories, opened;
	struct list registered, allocated; /* page-locked: struct memory */
	struct list arrays, queue;
	struct cuda_stand_in_state n;
	int pitch_max;
};

extern struct driver driver;

/* Of the calling thread; NULL: none. */
struct context *driver_current(void);
/* Handles are looked up there before they are used. */
bool driver_is_in(const struct list *head, const void *item);
/* The piece that has all of these bytes, NULL: none; whether one has some of them. */
struct memory *driver_covering(const struct list *head, uintptr_t p, size_t size);
bool driver_overlaps(const struct list *head, uintptr_t p, size_t size);
/* Takes the lock; a result other than CUDA_OK is the call's. */
int driver_begin(const char *symbol, unsigned flags);
/* Memory that a side names is there, and page-locked if it is not the device's. */
bool driver_side_exists(const struct cuda_copy *c, const struct cuda_copy_side *s);
void driver_copy_rows(const struct cuda_copy *c);
/* Of all streams, in this order. */
void driver_put(struct operation *o);
struct operation *driver_operation(void);
/* Whatever the test holds back; waits without the lock. */
int driver_synchronise(void);
/* A copy that is still to be executed touches this memory. */
bool driver_in_use(uintptr_t p, size_t size);
/* NULL: none of the current context. */
struct stream *driver_stream_here(void *stream);
struct array *driver_array_of(const struct cuda_copy_side *s);
size_t driver_extent(const struct cuda_copy *c, size_t pitch);

#define API(name, flags, params, result) \
	EXPORT int name params; \
	int name params \
	{ \
		int r_ = driver_begin(#name, flags); \
\
		if (r_ == CUDA_OK) \
			r_ = (result); \
		pthread_mutex_unlock(&driver.lock); \
		return r_; \
	}

#endif
