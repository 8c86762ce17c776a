/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of ros1_link.h share, in words that C++ reads too, and the loop of each that sends. Threads: one a process.
 */
#ifndef ROS1_ARENA_H
#define ROS1_ARENA_H

#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/wait.h"

#define ROS1_SAMPLES   512u
#define ROS1_PAUSE_US  5000
#define ROS1_WAIT_NS   INT64_C(20000000000)
#define ROS1_TOPIC_24  "/ros1/twenty_four"
#define ROS1_WIDTH     2048u
#define ROS1_HEIGHT_6  1024u /* of rgb8: 6 MiB */
#define ROS1_HEIGHT_24 4096u
#define ROS1_DATA_6    (ROS1_WIDTH * ROS1_HEIGHT_6 * 3u)
#define ROS1_DATA_24   (ROS1_WIDTH * ROS1_HEIGHT_24 * 3u)

enum ros1_writer { ROS1_OURS, ROS1_RAW, ROS1_ROSCPP, ROS1_WRITERS };
/* ROS1_ALL: 6 MiB to all readers; the others have one. */
enum ros1_topic { ROS1_6MIB, ROS1_24MIB, ROS1_ALL, ROS1_TOPICS };

struct ros1_arena {
	uint32_t command[ROS1_WRITERS]; /* bumped by the orchestrator, for `count` messages */
	uint32_t topic, count, window, readers;
	uint32_t done;  /* commands that are finished */
	uint32_t ready; /* processes */
	uint32_t failed, quit;
	uint32_t master_port[2]; /* of the bridge's master, of roscpp's */
	uint32_t raw_port, tcpros_port;
	uint32_t taken; /* messages, by all readers together */
	int64_t sent_mono_ns, elapsed_dur_ns;
	double sample[ROS1_SAMPLES];
};

static inline uint32_t ros1_load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static inline void ros1_add(uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static inline int64_t ros1_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* While the word is `seen`, a tenth of a second at most. */
static inline void ros1_wait(const uint32_t *word, uint32_t seen)
{
	struct timespec t = { 0, 100000000 };

	syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

/* Until so many were taken. 0 or -ETIMEDOUT. */
static inline int ros1_await_taken(const struct ros1_arena *a, uint32_t n)
{
	int64_t end = ros1_now() + ROS1_WAIT_NS;
	uint32_t now;

	while ((now = ros1_load(&a->taken)) < n) {
		if (ros1_now() > end)
			return -ETIMEDOUT;
		ros1_wait(&a->taken, now);
	}
	return 0;
}

/* One at a time they come as from a sensor, a moment after the last was taken. */
static inline int ros1_send_all(struct ros1_arena *a, int (*send)(void *ctx), void *ctx)
{
	int64_t start = ros1_now();
	int r = 0;

	for (uint32_t n = 1; r >= 0 && n <= a->count; n++) {
		if (n > a->window)
			r = ros1_await_taken(a, (n - a->window) * a->readers);
		if (a->window == 1)
			pace_us(ROS1_PAUSE_US);
		__atomic_store_n(&a->sent_mono_ns, ros1_now(), __ATOMIC_SEQ_CST);
		if (r >= 0)
			r = send(ctx);
	}
	if (r >= 0)
		r = ros1_await_taken(a, a->count * a->readers);
	a->elapsed_dur_ns = ros1_now() - start;
	return r;
}

/* What a writer does: one command after the other, each send() a message of a->topic. */
static inline int ros1_serve(struct ros1_arena *a, enum ros1_writer who, int (*send)(void *ctx), void *ctx)
{
	uint32_t seen = 0;
	int r = 0;

	ros1_add(&a->ready);
	while (r >= 0 && !ros1_load(&a->quit)) {
		ros1_wait(&a->command[who], seen);
		if (ros1_load(&a->command[who]) == seen)
			continue;
		seen = ros1_load(&a->command[who]);
		r = ros1_send_all(a, send, ctx);
		ros1_add(&a->done);
	}
	if (r < 0)
		ros1_add(&a->failed);
	return r;
}

#endif
