/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct exec: all that a state machine may ask of the world. They never block,
 * never read a clock and never create a thread; they are called, and call back through this.
 *
 *   exec_threads.c  the real one: CLOCK_MONOTONIC, timers and descriptors in one epoll loop
 *   exec_sim.c      virtual: one thread, time jumps to the next timer, a seeded choice of what runs next
 *
 * Thread: all callbacks of one exec run on one thread, the one inside exec_run() or exec_turn(). exec_post(),
 * exec_call(), exec_now() and exec_quit() are safe from any thread; everything else belongs to the exec's thread.
 */
#ifndef EXEC_H
#define EXEC_H

#include "due.h"
#include "inbox.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct exec;

typedef void (*exec_fn)(void *arg);

struct exec_post { /* a function to run on the exec's thread; embedded in its owner */
	struct exec *x;
	exec_fn fn;
	void *arg;
	struct inbox_item item; /* private */
	atomic_bool waiting;    /* private */
};

struct exec_timer { /* embedded in its owner; must not move while armed */
	struct exec *x;
	exec_fn fn;
	void *arg;
	struct due due; /* private: mono; ties run in the order they were armed (or a seeded one) */
};

struct exec_io { /* a descriptor to watch; embedded in its owner */
	struct exec *x;
	int fd;
	uint32_t events; /* EPOLLIN, EPOLLOUT, ... */
	void (*fn)(void *arg, uint32_t epoll_events);
	void *arg;
	bool added; /* private */
};

int64_t exec_now(struct exec *x); /* CLOCK_MONOTONIC ns, real or virtual. Any thread */
/*
 * Lets at least dur_ns (microseconds) of real time pass, as a grace period for memory ordering. Virtual: returns at
 * once.
 */
void exec_spin(struct exec *x, int64_t dur_ns);

void exec_post_init(struct exec_post *p, struct exec *x, exec_fn fn, void *arg);
/*
 * Runs fn later on the exec's thread, after all earlier posts. Any thread. No effect if the post is already pending;
 * inside fn it may be posted again, or freed.
 */
void exec_post(struct exec_post *p);
/* Idempotent; a zeroed post is fine. Call it on the exec's thread, or while no thread runs the exec. */
void exec_post_cancel(struct exec_post *p);

/*
 * Runs fn on the exec's thread, which is or will be inside exec_run(), and waits for it. On that thread itself, and in
 * virtual time, fn runs at once.
 */
void exec_call(struct exec *x, exec_fn fn, void *arg);

void exec_timer_init(struct exec_timer *t, struct exec *x, exec_fn fn, void *arg);
void exec_timer_at(struct exec_timer *t, int64_t due_mono_ns); /* (re-)arm; a past time runs as soon as possible */
void exec_timer_cancel(struct exec_timer *t);                  /* idempotent; a zeroed timer is fine */
static inline bool exec_timer_armed(const struct exec_timer *t)
{
	return t->due.queued;
}

/*
 * Descriptors, level-triggered, each descriptor once (-EEXIST). The virtual exec polls them before each choice of a
 * callback. fn gets what epoll reports (EPOLLHUP and EPOLLERR unasked). -EINVAL EPOLLONESHOT, or EPOLLET other than as
 * EXEC_BELL. EXEC_BELL is for an eventfd that is never read: fn runs once for all earlier writes.
 */
#define EXEC_BELL (EPOLLIN | EPOLLET)

int exec_io_add(struct exec *x, struct exec_io *io, int fd, uint32_t events,
		void (*fn)(void *arg, uint32_t epoll_events), void *arg);
int exec_io_mod(struct exec_io *io, uint32_t events);
void exec_io_del(struct exec_io *io); /* idempotent; does not close; legal inside any callback, its own too */

/* ---- for main.c and the tests ---- */

int exec_threads_create(struct exec **ret);
int exec_sim_create(uint64_t seed, int64_t start_mono_ns, struct exec **ret);
void exec_destroy(struct exec *x);

int exec_run(struct exec *x); /* runs until exec_quit(), which may have been called before; 0 or negative errno */
/*
 * Alternative to exec_run(): runs what is ready now, without waiting. Turns may run on different threads, one at a
 * time. *ret_due_mono_ns: when the next timer is due; INT64_MAX: no timer is armed. From the first turn on, exec_fd()
 * is readable whenever another turn would have something to do, a due timer included, so many execs can be watched in
 * one epoll, edge-triggered or one-shot too.
 */
int exec_turn(struct exec *x, int64_t *ret_due_mono_ns);
int exec_fd(const struct exec *x); /* borrows; -EOPNOTSUPP virtual */
void exec_quit(struct exec *x);    /* any thread; async-signal-safe for exec_threads */
bool exec_is_virtual(const struct exec *x);

/*
 * exec_sim: run what is ready and advance to each next timer up to until_mono_ns; time then stands at
 * until_mono_ns. Returns how many callbacks ran; stops early at exec_quit(); -ELOOP after 10 million
 * callbacks without time moving (a descriptor that nobody drains).
 */
int exec_sim_run(struct exec *x, int64_t until_mono_ns);
/* exec_sim: the calling callback takes dur_ns of virtual time; timers that become due meanwhile run after it. */
void exec_sim_spend(struct exec *x, int64_t dur_ns);
/* exec_sim: run only what is ready now, without advancing time. */
int exec_sim_settle(struct exec *x);
/* exec_sim: run one ready callback, without advancing time. 1 ran, 0 nothing is ready. For tests that stop anywhere. */
int exec_sim_one(struct exec *x);

#endif
