/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switch.h. Thread "switch": reads the devices, waits until frames are due, and writes them. All other fields are
 * guarded by `lock`.
 */
#include "switch.h"

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "thread.h"
#include "timeutil.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENT_TIMER  SWITCH_PORTS_MAX /* numbers behind those of ports */
#define EVENT_STOP   (SWITCH_PORTS_MAX + 1)
#define EVENTS_MAX   (SWITCH_PORTS_MAX + 2)
#define FRAMES_BATCH 64 /* frames read from one device before the others are read */

struct device {
	int frames, ns;
	uint64_t refused;
};

struct net_switch {
	enum switch_device kind;
	pthread_mutex_t lock;
	pthread_t thread;
	bool started;
	int epoll, timer, stop;
	struct switch_core *core;                /* guarded by lock */
	struct device devices[SWITCH_PORTS_MAX]; /* guarded by lock; descriptors stay open */
	_Atomic unsigned n_ports;
	int64_t timer_mono_ns; /* the thread's: time for which the timer is set */
};

/* ---- the thread ---- */

static void read_frames(struct net_switch *s, unsigned port)
{
	unsigned char frame[SWITCH_FRAME_MAX + 1]; /* one more: longer ones are seen to be */

	for (unsigned i = 0; i < FRAMES_BATCH; i++) {
		ssize_t n = read(s->devices[port].frames, frame, sizeof(frame));

		if (n <= 0)
			return;
		switch_core_push(s->core, port, mono_now_ns(), frame, (size_t)n);
	}
}

static void write_frames(struct net_switch *s)
{
	const void *frame;
	size_t len;
	int port;

	while ((port = switch_core_pop(s->core, mono_now_ns(), &frame, &len)) >= 0)
		if (write(s->devices[port].frames, frame, len) != (ssize_t)len)
			s->devices[port].refused++;
}

/* One that has run out is set again or stopped: what was due is gone, so the next time is another. */
static void set_timer(struct net_switch *s)
{
	int64_t next = switch_core_next(s->core);
	struct itimerspec t = { .it_value = timespec_from_ns(next == INT64_MAX ? 0 : next) };

	if (next == s->timer_mono_ns)
		return;
	timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &t, NULL);
	s->timer_mono_ns = next;
}

static void *run(void *arg)
{
	struct net_switch *s = arg;
	struct epoll_event events[EVENTS_MAX];
	bool stop = false;

	while (!stop) {
		int n = epoll_wait(s->epoll, events, EVENTS_MAX, -1);

		pthread_mutex_lock(&s->lock);
		for (int i = 0; i < n; i++) {
			if (events[i].data.u32 < s->n_ports)
				read_frames(s, events[i].data.u32);
			stop |= events[i].data.u32 == EVENT_STOP;
		}
		write_frames(s);
		set_timer(s);
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

/* ---- create and destroy ---- */

static int watch(struct net_switch *s, int fd, unsigned event)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = event };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? err_sys(-errno, "epoll_ctl") : 0;
}

static int open_own(struct net_switch *s)
{
	int e;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->epoll < 0 || s->timer < 0 || s->stop < 0)
		return err_sys(-errno, "the switch's descriptors");
	e = watch(s, s->timer, EVENT_TIMER);
	if (e == 0)
		e = watch(s, s->stop, EVENT_STOP);
	return e;
}

/* Finds out here, not at the first port, what this machine refuses. */
static int try_device(struct net_switch *s)
{
	int frames, ns, e = switch_net_open(s->kind, 1, &frames, &ns);

	if (e < 0)
		return e;
	fd_close(frames);
	fd_close(ns);
	return 0;
}

int switch_create(uint64_t seed, enum switch_device device, struct net_switch **ret)
{
	struct net_switch *s = MEM_NEW(struct net_switch);
	int e;

	if (!s)
		return err_nomem();
	s->kind = device;
	s->epoll = s->timer = s->stop = -1;
	s->timer_mono_ns = INT64_MAX;
	pthread_mutex_init(&s->lock, NULL);
	e = switch_core_create(seed, &s->core);
	if (e == 0)
		e = try_device(s);
	if (e == 0)
		e = open_own(s);
	if (e < 0)
		goto err;
	e = thread_start(&s->thread, "switch", run, s);
	if (e < 0) {
		e = err_sys(e, "the switch's thread");
		goto err;
	}
	s->started = true;
	*ret = s;
	return 0;
err:
	switch_destroy(s);
	return e;
}

void switch_destroy(struct net_switch *s)
{
	if (!s)
		return;
	if (s->started) {
		eventfd_write(s->stop, 1);
		pthread_join(s->thread, NULL);
	}
	for (unsigned i = 0; i < s->n_ports; i++) {
		fd_close(s->devices[i].frames);
		fd_close(s->devices[i].ns);
	}
	fd_close(s->stop);
	fd_close(s->timer);
	fd_close(s->epoll);
	switch_core_destroy(s->core);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

/* ---- ports ---- */

static int add_locked(struct net_switch *s)
{
	struct device d = { 0 };
	int e, port = (int)s->n_ports;

	if (port == SWITCH_PORTS_MAX)
		return err_set(-ENOSPC, "the switch has %d ports already", SWITCH_PORTS_MAX);
	e = switch_net_open(s->kind, (unsigned)port + 1, &d.frames, &d.ns);
	if (e < 0)
		return e;
	e = watch(s, d.frames, (unsigned)port);
	if (e == 0)
		e = switch_core_add_port(s->core);
	if (e < 0) {
		fd_close(d.frames); /* which epoll then forgets */
		fd_close(d.ns);
		return e;
	}
	s->devices[port] = d;
	s->n_ports++;
	return port;
}

int switch_add_port(struct net_switch *s)
{
	int port;

	pthread_mutex_lock(&s->lock);
	port = add_locked(s);
	pthread_mutex_unlock(&s->lock);
	return port;
}

int switch_ns(const struct net_switch *s, unsigned port)
{
	return port < s->n_ports ? s->devices[port].ns : err_set(-ENOENT, "the switch has no port %u", port);
}

int switch_enter(const struct net_switch *s, unsigned port)
{
	int ns = switch_ns(s, port);

	return ns < 0 ? ns : switch_net_enter(ns);
}

int switch_socket(const struct net_switch *s, unsigned port, int domain, int type)
{
	int ns = switch_ns(s, port);

	return ns < 0 ? ns : switch_net_socket(ns, domain, type);
}

/* ---- rules and counters ---- */

int switch_set(struct net_switch *s, unsigned port, enum switch_direction d, const struct switch_rules *rules)
{
	int e;

	pthread_mutex_lock(&s->lock);
	e = switch_core_set(s->core, port, d, rules);
	pthread_mutex_unlock(&s->lock);
	return e;
}

int switch_partition(struct net_switch *s, uint32_t ports, int64_t after_dur_ns, int64_t dur_ns)
{
	int64_t from;
	int e;

	if (after_dur_ns < 0)
		return err_set(-EINVAL, "a partition cannot begin in the past");
	from = ns_add(mono_now_ns(), after_dur_ns);
	pthread_mutex_lock(&s->lock);
	e = switch_core_part(s->core, ports, from, ns_add(from, dur_ns));
	pthread_mutex_unlock(&s->lock);
	return e;
}

void switch_heal(struct net_switch *s)
{
	pthread_mutex_lock(&s->lock);
	switch_core_heal(s->core);
	pthread_mutex_unlock(&s->lock);
}

int switch_port_counts(struct net_switch *s, unsigned port, struct switch_port_counts *ret)
{
	struct switch_port_counts c;
	int e;

	pthread_mutex_lock(&s->lock);
	e = switch_core_counts(s->core, port, SWITCH_IN, &c.path[SWITCH_IN]);
	if (e == 0)
		e = switch_core_counts(s->core, port, SWITCH_OUT, &c.path[SWITCH_OUT]);
	if (e == 0) {
		c.parted = switch_core_parted(s->core, port);
		c.refused = s->devices[port].refused;
		*ret = c;
	}
	pthread_mutex_unlock(&s->lock);
	return e;
}
