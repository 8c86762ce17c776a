/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one thread that waits for sockets, "ros1-io": a loop over sources, each a descriptor with a deadline. Sources are its alone, but
 * for io_run(), io_call() and io_wake(), which any other thread may use.
 */
#ifndef IO_H
#define IO_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define IO_SOURCES_MAX 512u

struct io;

struct io_source {
	int fd;
	int64_t due_mono_ns; /* expired() is called then; 0: never */
	void (*ready)(struct io_source *s, uint32_t events);
	void (*expired)(struct io_source *s); /* NULL: it is closed */
	void (*free)(struct io_source *s);    /* when nobody refers to it any more; its descriptor is closed by then */
	bool closed;
	enum {
		IO_BUSY,
		IO_IDLE,
		IO_SILENT
	} calm;                 /* io_make_room(). IO_SILENT: the peer has not said anything whole yet */
	struct io_source *next; /* of the loop; newest first */
};

/* CLOCK_MONOTONIC */
static inline int64_t io_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * turn(ctx) runs once in each turn of the loop and returns when it wants the next one, CLOCK_MONOTONIC; INT64_MAX: only when
 * something happens. 0 or negative errno.
 */
int io_create(int64_t (*turn)(void *ctx), void *ctx, struct io **ret);
/* Ends the thread, then closes and frees all sources. NULL is fine. */
void io_destroy(struct io *io);

/* Add a source: edge-triggered, for reading and writing. The fd is the source's from here on, also on failure: -ENOSPC there are too many. */
int io_add(struct io *io, struct io_source *s);
void io_close(struct io *io, struct io_source *s); /* may be called twice */
/* The same, but its descriptor stays open: returns it. */
int io_release(struct io *io, struct io_source *s);

/*
 * So that nobody holds all places of a server: the oldest source with this free() that is silent is closed, else the oldest one that is
 * idle. False: all are busy.
 */
bool io_make_room(struct io *io, void (*kind)(struct io_source *s));

/* A turn of the loop, soon. */
void io_wake(struct io *io);
/* fn(arg) on the thread; io_call() waits for it. The loop is not inside a source meanwhile. */
void io_call(struct io *io, void (*fn)(void *arg), void *arg);

#endif
