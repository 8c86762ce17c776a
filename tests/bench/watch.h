/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the cases of watching clients: the bridge of foxglove, a client on a bare socket that discards its data,
 * and channels to watch. Threads: one a process.
 */
#ifndef BENCH_WATCH_H
#define BENCH_WATCH_H

#include "bench.h"

/* ---- the bridge ---- */

/* For "bridges" of a rig. */
#define WATCH_BRIDGE(channels) \
	"{\"name\":\"foxglove\",\"plugin\":\"foxglove\",\"channels\":[\"" channels "\"],\"connection\":\"127.0.0.1:0\"}"

/* Its process and its port, once it listens. -ETIMEDOUT, -EIO. */
int watch_bridge(struct bench *b, pid_t *ret_pid, unsigned *ret_port);
/* simd on CPU 0, all bridges on CPU 1. -EIO */
int watch_pin(struct bench *b);

/* ---- a client ---- */

/*
 * It reads as much as there is into one place, looks at the heads of frames, and keeps nothing but short texts. Each channel
 * that begins with `prefix` it subscribes to when it hears of it.
 */
struct watcher {
	int fd;
	const char *prefix;
	unsigned subscribed; /* that the server has taken note of */
	size_t taken;        /* bytes of the message so far */
	/* inside */
	unsigned asked;
	uint8_t *buf, *text;
	size_t at, n;
	size_t left; /* bytes of the frame that are to come */
	unsigned opcode, message;
	uint8_t control; /* a byte of a frame of control */
	bool final;
};

/* prefix NULL: to none. protocol: "" for none. 0 or -EIO. */
int watcher_open(struct watcher *w, unsigned port, const char *protocol, const char *prefix);
/* Until a message of bytes is complete, or a subscription is taken note of: 1, 0. -EIO: the connection has ended. */
int watcher_take(struct watcher *w, size_t *ret_size);
bool watcher_has(const struct watcher *w); /* bytes that it has read, beside what the socket has */
/* Until it is subscribed to so many. -EIO */
int watcher_await(struct watcher *w, unsigned subscribed);

/* ---- something to look at ---- */

#define WATCH_IMAGES 6u /* at most: together more than a client may keep the bridge waiting with */
#define WATCH_SMALL  10u
#define WATCH_PERIOD (10 * NS_PER_MS)

/* WATCH_SMALL channels of 64 bytes at 100 Hz, and images of 6 MiB, each at 10 Hz; all under /watch/, from CPU 0. Once `bridges` carry them. */
struct watch_load {
	struct bench *b;
	unsigned images, bridges;
	pid_t pid;
	_Atomic bool running, stop, failed;
	_Atomic uint64_t sent; /* messages */
};

/* In memory of bench_arena(). 0 or -ETIMEDOUT. */
int watch_load_start(struct watch_load *l);
int watch_load_stop(struct watch_load *l); /* 0, or -EIO: it has failed */

#endif
