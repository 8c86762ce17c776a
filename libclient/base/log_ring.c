/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded lock-free ring of log lines: many producers that must not block, one consumer.
 *
 * Each cell has a turn counter: a producer owns cell i of round k when turn == i + k * size, passes it to the consumer
 * by turn + 1, and the consumer returns it by turn + size. A producer that finds its cell not returned yet drops the
 * line. Waking: the consumer announces that it is about to sleep, checks once more, and sleeps on a futex; only then
 * does a producer make a system call to wake it.
 *
 * Thread: log_ring_vput any; drain one at a time; start and stop the owner's.
 */
#include "err.h"
#include "futex.h"
#include "log_private.h"
#include "mem.h"
#include "thread.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct cell {
	_Atomic uint64_t turn;
	const char *topic; /* static, like all topics */
	uint32_t level;
	char text[LOG_RING_TEXT];
};

/*
 * Padded, so that the words of the producers, of the consumer and of both share no cache line; malloc aligns to 16
 * only.
 */
struct log_ring {
	_Atomic uint64_t head; /* next cell to write */
	_Atomic uint64_t dropped;
	char pad0[64];
	uint64_t tail; /* next cell to read; used by the consumer */
	uint64_t told; /* dropped lines already reported; used by the consumer */
	char pad1[64];
	_Atomic uint32_t asleep; /* futex word: 1 while the log thread sleeps */
	_Atomic uint32_t stopping;
	_Atomic uint32_t ended; /* futex word: 1 when the log thread has ended */
	pthread_t thread;
	bool running;
	uint64_t mask;
	struct cell cells[];
};

int log_ring_create(uint32_t lines, struct log_ring **ret)
{
	struct log_ring *ring;
	uint64_t n = 16;

	if (!lines || lines > 65536)
		return err_set(-EINVAL, "a log ring has 1 to 65536 lines, not %" PRIu32, lines);
	while (n < lines)
		n *= 2;
	ring = mem_zalloc(sizeof(*ring) + n * sizeof(ring->cells[0]));
	if (!ring)
		return err_nomem();
	ring->mask = n - 1;
	for (uint64_t i = 0; i < n; i++)
		atomic_init(&ring->cells[i].turn, i);
	*ret = ring;
	return 0;
}

void log_ring_destroy(struct log_ring *ring)
{
	log_ring_stop(ring);
	mem_free(ring);
}

static void wake(struct log_ring *ring)
{
	if (atomic_exchange(&ring->asleep, 0))
		futex_wake_all(&ring->asleep, FUTEX_PRIVATE_FLAG);
}

void log_ring_vput(struct log_ring *ring, enum log_level level, const char *topic, const char *fmt, va_list ap)
{
	uint64_t at = atomic_load_explicit(&ring->head, memory_order_relaxed);
	struct cell *c;

	for (;;) {
		uint64_t turn;

		c = &ring->cells[at & ring->mask];
		turn = atomic_load_explicit(&c->turn, memory_order_acquire);
		if (turn == at) {
			if (atomic_compare_exchange_weak_explicit(&ring->head, &at, at + 1, memory_order_relaxed,
								  memory_order_relaxed))
				break;
		} else if ((int64_t)(turn - at) < 0) {
			atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
			return;
		} else {
			at = atomic_load_explicit(&ring->head, memory_order_relaxed);
		}
	}
	c->level = (uint32_t)level;
	c->topic = topic;
	vsnprintf(c->text, sizeof(c->text), fmt, ap);
	/* sequentially consistent with the consumer's announcement: one of the two sees the other */
	atomic_store(&c->turn, at + 1);
	if (atomic_load(&ring->asleep))
		wake(ring);
}

static bool ring_has_line(struct log_ring *ring)
{
	return atomic_load(&ring->cells[ring->tail & ring->mask].turn) == ring->tail + 1;
}

static void tell_dropped(struct log_ring *ring)
{
	uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
	char text[80];

	if (dropped == ring->told)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " lines were dropped, the ring was full", dropped - ring->told);
	ring->told = dropped;
	log_emit(LOG_LEVEL_WARN, "log", text);
}

unsigned log_ring_drain(struct log_ring *ring, unsigned max)
{
	unsigned n = 0;

	while ((!max || n < max) && ring_has_line(ring)) {
		struct cell *c = &ring->cells[ring->tail & ring->mask];

		log_emit((enum log_level)c->level, c->topic, c->text);
		atomic_store_explicit(&c->turn, ring->tail + ring->mask + 1, memory_order_release);
		ring->tail++;
		n++;
	}
	tell_dropped(ring);
	return n;
}

uint64_t log_ring_dropped(const struct log_ring *ring)
{
	return atomic_load_explicit(&ring->dropped, memory_order_relaxed);
}

static void *log_thread(void *arg)
{
	struct log_ring *ring = arg;

	while (!atomic_load(&ring->stopping)) {
		log_ring_drain(ring, 0);
		atomic_store(&ring->asleep, 1);
		if (ring_has_line(ring) || atomic_load(&ring->stopping)) {
			atomic_store(&ring->asleep, 0);
			continue;
		}
		futex_wait(&ring->asleep, 1, INT64_MAX, FUTEX_PRIVATE_FLAG);
	}
	log_ring_drain(ring, 0);
	atomic_store(&ring->ended, 1);
	futex_wake_all(&ring->ended, FUTEX_PRIVATE_FLAG);
	return NULL;
}

int log_ring_start(struct log_ring *ring, const char *thread_name)
{
	int r;

	if (ring->running)
		return -EALREADY;
	atomic_store(&ring->stopping, 0);
	atomic_store(&ring->ended, 0);
	r = thread_start(&ring->thread, thread_name, log_thread, ring);
	if (r < 0)
		return err_sys(r, "starting the log thread");
	ring->running = true;
	return 0;
}

void log_ring_stop(struct log_ring *ring)
{
	if (!ring || !ring->running)
		return;
	atomic_store(&ring->stopping, 1);
	wake(ring);
	pthread_join(ring->thread, NULL);
	ring->running = false;
}

/* Not pthread_clockjoin_np(): ThreadSanitizer does not know it, and takes the thread for a running one. */
int log_ring_stop_within(struct log_ring *ring, int64_t dur_ns)
{
	const int64_t until = mono_now_ns() + dur_ns;

	if (!ring->running)
		return 0;
	atomic_store(&ring->stopping, 1);
	wake(ring);
	while (!atomic_load(&ring->ended)) {
		if (mono_now_ns() >= until)
			return -ETIMEDOUT;
		futex_wait_until(&ring->ended, 0, until, FUTEX_PRIVATE_FLAG);
	}
	log_ring_stop(ring);
	return 0;
}
