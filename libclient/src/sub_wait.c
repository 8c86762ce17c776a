/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for messages: in place (spin, then sleep on the data plane's waiter), or through a descriptor.
 *
 * A waiter belongs to one attachment. When that ends it wakes; the wait then goes on, on the port that recovery posts.
 * A thread makes the descriptor readable: it waits, signals once, and waits again only after the program has taken
 * everything; a message that arrives in between leaves its wake-up pending.
 *
 * Thread: the subscriber's; the helper thread "sim-sub" touches only struct sub_fd and the port's waiter.
 */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "futex.h"
#include "mem.h"
#include "subscriber.h"
#include "thread.h"
#include "timeutil.h"

#define SLICE_DUR_NS  (50 * NS_PER_MS) /* without a sim-io thread: interval of checking the connection to simd */
#define STALE_DUR_NS  (100 * NS_PER_MS)
#define HELPER_DUR_NS (500 * NS_PER_MS)

static int port_waiter(struct sim_subscriber *s)
{
	struct sub_port *p = s->port;
	struct ipc_waiter *waiter;
	int r = 0;

	if (p->attached)
		return 0;
	waiter = atomic_load(&p->waiter);
	if (!waiter)
		r = ipc_waiter_create(p->att->ipc, &waiter);
	if (r < 0) {
		client_doubt(s->c, p->att);
		return err_set(r, "%s", ipc_why());
	}
	atomic_store(&p->waiter, waiter);
	r = ipc_waiter_add(waiter, p->sub);
	if (r < 0)
		return err_set(r, "%s", ipc_why());
	p->attached = true;
	return 0;
}

/* ---- in place ---- */

static bool spin(struct sim_subscriber *s, int64_t end_mono_ns)
{
	int64_t until = ns_add(client_now(s->c), s->spin_dur_ns);

	if (until > end_mono_ns)
		until = end_mono_ns;
	while (!ipc_sub_has_data(s->port->sub)) {
		if (!ipc_alive(s->port->att->ipc) || client_now(s->c) >= until)
			return false;
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#endif
	}
	return true;
}

/* The attachment is dead: waits for the next port, or for the client to fail. */
static int wait_port(struct sim_subscriber *s, int64_t left_dur_ns)
{
	int64_t dur_ns = left_dur_ns < STALE_DUR_NS ? left_dur_ns : STALE_DUR_NS;
	uint32_t seen = atomic_load(&s->bell);

	if (sim_client_state(s->c) == SIM_CLIENT_FAILED)
		return err_set(-ENOTCONN, "channel %s: %s", s->name, sim_client_why(s->c));
	if (atomic_load(&s->next))
		return 0;
	if (client_pumps(s->c))
		client_idle(s->c, dur_ns);
	else
		futex_wait(&s->bell, seen, dur_ns, FUTEX_PRIVATE_FLAG);
	return 0;
}

/* One sleep of a wait. Returns 0: check again. */
static int wait_once(struct sim_subscriber *s, int64_t left_dur_ns)
{
	struct sim_client *c = s->c;
	int r;

	if (client_pumps(c) && left_dur_ns > SLICE_DUR_NS)
		left_dur_ns = SLICE_DUR_NS;
	if (!ipc_alive(s->port->att->ipc))
		return wait_port(s, left_dur_ns);
	if (c->env) {
		client_sleep(c, -1, 0, left_dur_ns < NS_PER_MS ? left_dur_ns : NS_PER_MS);
		return 0;
	}
	if (s->fd) {
		struct pollfd p = { .fd = s->fd->fd, .events = POLLIN };
		struct timespec t = timespec_from_ns(left_dur_ns < STALE_DUR_NS ? left_dur_ns : STALE_DUR_NS);

		sub_fd_rearm(s);
		ppoll(&p, 1, &t, NULL);
		return 0;
	}
	r = port_waiter(s);
	if (r == -ESTALE || r == -ETIMEDOUT) /* the attachment is dead: wait for the next port */
		return 0;
	if (r < 0)
		return r;
	r = ipc_waiter_wait(atomic_load(&s->port->waiter), left_dur_ns);
	return r < 0 && r != -ESTALE ? err_set(r, "channel %s: %s", s->name, ipc_why()) : 0;
}

static int wait_inside(struct sim_subscriber *s, int64_t timeout_dur_ns)
{
	int64_t now, end = timeout_dur_ns < 0 ? INT64_MAX : ns_add(client_now(s->c), timeout_dur_ns);
	bool spun = false;
	int r;

	for (;;) {
		if (atomic_load_explicit(&s->next, memory_order_acquire))
			subscriber_attend(s);
		r = subscriber_fill(s);
		if (r == 0 || r == -ENOBUFS)
			return 1; /* with all slots held, sim_take() reports it */
		if ((r != -EAGAIN && r != -ESTALE) || (r == -ESTALE && atomic_load(&s->error) < 0))
			return subscriber_error(s, r);
		if (r == -EAGAIN && s->spin_dur_ns > 0 && !spun && !s->c->env) {
			spun = true;
			if (spin(s, end))
				continue;
		}
		if (atomic_exchange(&s->cancelled, false))
			return 0;
		now = client_now(s->c);
		if (now >= end)
			return 0;
		r = wait_once(s, end - now);
		if (r < 0)
			return r;
		if (client_pumps(s->c))
			client_work(s->c);
	}
}

int sim_wait(struct sim_subscriber *s, int64_t timeout_dur_ns)
{
	int r;

	if (!s)
		return err_set(-EINVAL, "sim_wait: no subscriber was given");
	r = subscriber_enter(s);
	if (r < 0)
		return r;
	r = wait_inside(s, timeout_dur_ns);
	handle_leave(&s->h);
	return r;
}

/*
 * Under setup the newest port is alive: it is the subscriber's, or posted. A thread that sleeps on an older one is
 * woken by recovery, which posted the newer.
 */
void sim_wait_cancel(struct sim_subscriber *s)
{
	struct ipc_waiter *waiter;

	if (!s || client_guard(s->c) < 0)
		return;
	atomic_store(&s->cancelled, true);
	client_setup_lock(s->c);
	waiter = s->newest ? atomic_load(&s->newest->waiter) : NULL;
	if (waiter)
		ipc_waiter_wake(waiter);
	client_setup_unlock(s->c);
	subscriber_ring(s);
}

/* ---- through a descriptor ---- */

static void *helper(void *arg)
{
	static const uint64_t one = 1;
	struct sub_fd *f = arg;

	for (;;) {
		struct sub_port *port;
		int r;

		pthread_mutex_lock(&f->lock);
		while (!f->armed && !f->stop)
			pthread_cond_wait(&f->cond, &f->lock);
		if (f->stop) {
			pthread_mutex_unlock(&f->lock);
			return NULL;
		}
		port = f->port;
		atomic_fetch_add(&port->refs, 1);
		pthread_mutex_unlock(&f->lock);

		r = ipc_waiter_wait(atomic_load(&port->waiter), HELPER_DUR_NS);
		pthread_mutex_lock(&f->lock);
		if (r == 1 && f->armed) {
			f->armed = false;
			(void)!write(f->fd, &one, sizeof(one));
		} else if (r < 0 && port == f->port && !f->stop) {
			struct timespec t = timespec_from_ns(mono_now_ns() + STALE_DUR_NS);

			pthread_cond_timedwait(&f->cond, &f->lock,
					       &t); /* a dead attachment: wait until there is another port */
		}
		pthread_mutex_unlock(&f->lock);
		sub_port_unref(port);
	}
}

static int helper_start(struct sub_fd *f)
{
	int r = thread_start(&f->thread, "sim-sub", helper, f);

	if (r < 0)
		return err_sys(r, "cannot start the thread of a subscriber's descriptor");
	f->started = true;
	return 0;
}

int sub_fd_start(struct sim_subscriber *s)
{
	struct sub_fd *f = MEM_NEW(struct sub_fd);
	int r;

	if (!f)
		return err_nomem();
	pthread_mutex_init(&f->lock, NULL);
	thread_cond_init(&f->cond);
	f->armed = true;
	f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->fd = f;
	if (f->fd < 0)
		return err_sys(-errno, "a subscriber's descriptor");
	r = port_waiter(s);
	if (r < 0)
		return r;
	sub_fd_port(s);
	return helper_start(f);
}

void sub_fd_stop(struct sim_subscriber *s)
{
	struct sub_fd *f = s->fd;

	if (!f)
		return;
	if (f->started) {
		pthread_mutex_lock(&f->lock);
		f->stop = true;
		pthread_cond_signal(&f->cond);
		pthread_mutex_unlock(&f->lock);
		ipc_waiter_wake(atomic_load(&f->port->waiter));
		pthread_join(f->thread, NULL);
	}
	sub_port_unref(f->port);
	fd_close(f->fd);
	pthread_cond_destroy(&f->cond);
	pthread_mutex_destroy(&f->lock);
	mem_free(f);
	s->fd = NULL;
}

void sub_fd_port(struct sim_subscriber *s)
{
	struct sub_fd *f = s->fd;
	struct sub_port *old;

	if (port_waiter(s) < 0)
		return; /* the attachment is already dead: wait for the next port */
	atomic_fetch_add(&s->port->refs, 1);
	pthread_mutex_lock(&f->lock);
	old = f->port;
	f->port = s->port;
	pthread_cond_signal(&f->cond);
	pthread_mutex_unlock(&f->lock);
	sub_port_unref(old);
}

void sub_fd_rearm(struct sim_subscriber *s)
{
	struct sub_fd *f = s->fd;
	uint64_t n;

	pthread_mutex_lock(&f->lock);
	if (!f->armed) {
		(void)!read(f->fd, &n, sizeof(n));
		f->armed = true;
		pthread_cond_signal(&f->cond);
	}
	pthread_mutex_unlock(&f->lock);
}

int sim_subscriber_fd(const struct sim_subscriber *s)
{
	if (!s || !s->fd)
		return err_set(-EINVAL, "sim_subscriber_fd: the subscriber was not created with SIM_SUB_FD");
	return s->fd->fd;
}
