/* SPDX-License-Identifier: Apache-2.0 */
/* See io.h. What is closed is freed at the end of the turn, because an event of it may still be in the turn's list. */
#include "io.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS 64

struct io {
	int epoll, wake;
	int64_t (*turn)(void *ctx);
	void *ctx;
	pthread_t thread;
	bool running;
	_Atomic bool stop, awake;
	pthread_mutex_t call_lock; /* guards call; no other is taken below it but those of the call */
	pthread_cond_t called;
	void (*call)(void *arg);
	void *call_arg;
	/* the thread's */
	struct io_source *sources, *closed;
	unsigned n;
};

void io_wake(struct io *io)
{
	uint64_t one = 1;

	if (!atomic_exchange(&io->awake, true) && write(io->wake, &one, sizeof(one)) < 0)
		atomic_store(&io->awake, false); /* it cannot overflow */
}

void io_call(struct io *io, void (*fn)(void *arg), void *arg)
{
	pthread_mutex_lock(&io->call_lock);
	while (io->call)
		pthread_cond_wait(&io->called, &io->call_lock);
	io->call = fn;
	io->call_arg = arg;
	io_wake(io);
	while (io->call == fn && io->call_arg == arg)
		pthread_cond_wait(&io->called, &io->call_lock);
	pthread_mutex_unlock(&io->call_lock);
}

static void run_call(struct io *io)
{
	void (*call)(void *arg);

	pthread_mutex_lock(&io->call_lock);
	call = io->call;
	if (call)
		call(io->call_arg);
	io->call = NULL;
	if (call)
		pthread_cond_broadcast(&io->called);
	pthread_mutex_unlock(&io->call_lock);
}

int io_add(struct io *io, struct io_source *s)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = s };
	int r = io->n >= IO_SOURCES_MAX ? -ENOSPC : epoll_ctl(io->epoll, EPOLL_CTL_ADD, s->fd, &e) < 0 ? -errno : 0;

	if (r < 0) {
		close(s->fd);
		s->fd = -1;
		return r;
	}
	s->closed = false;
	s->next = io->sources;
	io->sources = s;
	io->n++;
	return 0;
}

int io_release(struct io *io, struct io_source *s)
{
	struct io_source **at = &io->sources;
	int fd = s->fd;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	io->n--;
	(void)epoll_ctl(io->epoll, EPOLL_CTL_DEL, fd, NULL);
	s->closed = true;
	s->fd = -1;
	s->next = io->closed;
	io->closed = s;
	return fd;
}

void io_close(struct io *io, struct io_source *s)
{
	if (!s->closed)
		close(io_release(io, s));
}

bool io_make_room(struct io *io, void (*kind)(struct io_source *s))
{
	struct io_source *goes = NULL;

	for (struct io_source *s = io->sources; s; s = s->next)
		if (s->free == kind && s->calm && (!goes || s->calm >= goes->calm))
			goes = s;
	if (goes)
		io_close(io, goes);
	return goes;
}

static void free_closed(struct io *io)
{
	while (io->closed) {
		struct io_source *s = io->closed;

		io->closed = s->next;
		s->free(s);
	}
}

/* Returns when the next deadline is. A source may be closed by another one's: the list is read anew then. */
static int64_t expire(struct io *io)
{
	int64_t now = io_mono_ns(), next = INT64_MAX;

	for (struct io_source *s = io->sources; s;) {
		struct io_source *after = s->next;

		if (!s->due_mono_ns || now < s->due_mono_ns) {
			if (s->due_mono_ns && s->due_mono_ns < next)
				next = s->due_mono_ns;
			s = after;
			continue;
		}
		s->due_mono_ns = 0;
		if (s->expired)
			s->expired(s);
		else
			io_close(io, s);
		s = io->sources;
		next = INT64_MAX;
	}
	return next;
}

static int timeout_ms(int64_t due)
{
	int64_t left = due == INT64_MAX ? -1 : due - io_mono_ns();

	return due == INT64_MAX ? -1 : left <= 0 ? 0 : left > 60000000000 ? 60000 : (int)(left / 1000000 + 1);
}

static void *io_main(void *arg)
{
	struct io *io = arg;

	while (!atomic_load(&io->stop)) {
		struct epoll_event e[EVENTS];
		int64_t due = expire(io), turn = io->turn(io->ctx);
		int n = epoll_wait(io->epoll, e, EVENTS, timeout_ms(due < turn ? due : turn));

		for (int i = 0; i < n; i++) {
			struct io_source *s = e[i].data.ptr;
			uint64_t count;

			if (!s) {
				if (read(io->wake, &count, sizeof(count)) == sizeof(count))
					atomic_store(&io->awake, false);
			} else if (!s->closed) {
				s->ready(s, e[i].events);
			}
		}
		run_call(io);
		free_closed(io);
	}
	return NULL;
}

int io_create(int64_t (*turn)(void *ctx), void *ctx, struct io **ret)
{
	struct io *io = calloc(1, sizeof(*io));
	struct epoll_event e = { .events = EPOLLIN };
	int r;

	if (!io)
		return -ENOMEM;
	io->turn = turn;
	io->ctx = ctx;
	pthread_mutex_init(&io->call_lock, NULL);
	pthread_cond_init(&io->called, NULL);
	io->epoll = epoll_create1(EPOLL_CLOEXEC);
	io->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = io->epoll < 0 || io->wake < 0 || epoll_ctl(io->epoll, EPOLL_CTL_ADD, io->wake, &e) < 0 ? -errno : 0;
	if (r == 0)
		r = -pthread_create(&io->thread, NULL, io_main, io);
	if (r < 0) {
		io_destroy(io);
		return r;
	}
	io->running = true;
	pthread_setname_np(io->thread, "ros1-io");
	*ret = io;
	return 0;
}

void io_destroy(struct io *io)
{
	if (!io)
		return;
	atomic_store(&io->stop, true);
	if (io->running) {
		io_wake(io);
		pthread_join(io->thread, NULL);
	}
	while (io->sources)
		io_close(io, io->sources);
	free_closed(io);
	if (io->epoll >= 0)
		close(io->epoll);
	if (io->wake >= 0)
		close(io->wake);
	pthread_cond_destroy(&io->called);
	pthread_mutex_destroy(&io->call_lock);
	free(io);
}
