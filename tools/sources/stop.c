/* SPDX-License-Identifier: Apache-2.0 */
/* Orderly end of a program. See stop.h. */
#include "stop.h"
#include "thread.h"

#include <errno.h>
#include <poll.h>
#include <sim/clock.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define LOOK_DUR_NS  50000000
#define PAUSE_DUR_NS 10000000 /* interval of look(); a rung of a world is 50 ms or more */

static void ending_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
}

static void *watch(void *arg)
{
	struct stop *s = arg;
	struct timespec grace = { .tv_sec = s->grace_ms / 1000, .tv_nsec = s->grace_ms % 1000 * 1000000L };
	sigset_t set;
	int sig;

	ending_signals(&set);
	while (sigwait(&set, &sig) != 0)
		;
	atomic_store(&s->requested, true);
	(void)eventfd_write(s->fd, 1);
	(void)nanosleep(&grace, NULL); /* main normally returns long before */
	_exit(0);
}

int stop_init(struct stop *s, int grace_ms)
{
	sigset_t set;
	int r;

	atomic_init(&s->requested, false);
	s->grace_ms = grace_ms;
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd < 0)
		return -errno;
	ending_signals(&set);
	r = -pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (r == 0)
		r = thread_start(&s->thread, "stop", watch, s);
	if (r == 0)
		(void)pthread_detach(s->thread);
	return r;
}

int stop_advance(struct stop *s, struct sim_driver *d, int64_t dur_ns, void (*look)(void *user), void *user,
		 int64_t *ret_granted_dur_ns)
{
	const int64_t look_dur_ns = look ? PAUSE_DUR_NS : LOOK_DUR_NS;
	int r = sim_driver_begin_advance(d, dur_ns);

	if (r < 0)
		return r;
	while ((r = sim_driver_end_advance(d, look_dur_ns, ret_granted_dur_ns)) == -ETIMEDOUT) {
		if (stop_requested(s))
			return -ECANCELED;
		if (look)
			look(user);
	}
	return r;
}

int stop_jump(struct stop *s, struct sim_driver *d, int64_t sim_ns)
{
	int r = sim_driver_begin(d, sim_ns, true);

	if (r < 0)
		return r;
	while ((r = sim_driver_end(d, LOOK_DUR_NS)) == -ETIMEDOUT)
		if (stop_requested(s))
			return -ECANCELED;
	return r;
}

bool stop_wait(struct stop *s, int wall_ms)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	(void)poll(&p, 1, wall_ms);
	return stop_requested(s);
}
