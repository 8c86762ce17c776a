/* SPDX-License-Identifier: Apache-2.0 */
/* sim/world.h: connect, disconnect, the thread. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "sized.h"
#include "thread.h"
#include "timeutil.h"
#include "host_private.h"

#define ADDRESS     "127.0.0.1:8082"
#define HISTORY     4u
#define HISTORY_MAX 256u
#define BYE_DUR_NS  (2 * NS_PER_S) /* limit until the server has received Bye: enough for two losses on the way */

/* ---- options ---- */

static int side_of(const struct sim_world_options *o, struct sim_world *w)
{
	static const uint8_t none[SIDE_IDENTITY];
	struct side_options s = { .name = o->name,
				  .token = o->token,
				  .role = (enum side_role)(o->role + SIDE_REGULATING),
				  .lookahead_dur_ns = o->lookahead_dur_ns,
				  .level = o->section_level,
				  .radius = o->radius,
				  .history = w->history,
				  .datagrams = o->flags & SIM_WORLD_DATAGRAMS };

	memcpy(s.identity, o->identity, sizeof(s.identity));
	if (!memcmp(s.identity, none, sizeof(none)) && getrandom(s.identity, sizeof(s.identity), 0) < 0)
		return err_sys(-errno, "cannot make a random identity");
	for (size_t i = 0; i < o->n_own_codes; i++) {
		if (o->own_codes[i] < 128)
			return err_set(-EINVAL, "own_codes: %u is out of range, 128 to 255", o->own_codes[i]);
		s.own_codes[(o->own_codes[i] - 128) / 8] |= (uint8_t)(1u << o->own_codes[i] % 8);
	}
	return side_create(&s, &w->side);
}

static int check(const struct sim_world_options *o)
{
	if (o->history == 1 || o->history > HISTORY_MAX || o->guess_dur_ns < 0 || o->timeout_ms < 0)
		return err_set(-EINVAL, "sim_world_options: history is 2 to %u, times are not negative", HISTORY_MAX);
	if (o->flags & ~(unsigned)(SIM_WORLD_NO_THREAD | SIM_WORLD_DATAGRAMS) || (unsigned)o->role > SIM_WORLD_OBSERVER)
		return err_set(-EINVAL, "sim_world_options: no such role or flag");
	return 0;
}

/* DIR:NAME, or DIR alone: then the host presents no certificate. NULL: does nothing. */
static int load_keys(const char *text, struct sim_world *w)
{
	const char *colon = text ? strrchr(text, ':') : NULL;
	const char *name = colon && !strchr(colon, '/') ? colon + 1 : NULL;
	char dir[PATH_MAX];
	int r;

	if (!text)
		return 0;
	if (!*text || (name && (!*name || colon == text)) || strlen(text) >= sizeof(dir))
		return err_set(-EINVAL, "keys %s: a directory, or DIR:NAME", text);
	snprintf(dir, sizeof(dir), "%.*s", name ? (int)(colon - text) : (int)strlen(text), text);
	r = tls_keys_load(dir, name, &w->keys);
	if (r < 0)
		return r;
	w->cipher = mem_alloc(HOST_CIPHER_MAX);
	return w->cipher ? 0 : err_nomem();
}

/* ---- create and destroy ---- */

static int open_fds(struct sim_world *w)
{
	struct epoll_event e = { .events = EPOLLIN };
	int r;

	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (w->epoll_fd < 0 || w->wake_fd < 0 || w->timer_fd < 0)
		return err_sys(-errno, "cannot set up the descriptors of a world's host");
	e.data.fd = w->wake_fd;
	r = epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->wake_fd, &e);
	e.data.fd = w->timer_fd;
	if (r == 0)
		r = epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->timer_fd, &e);
	return r < 0 ? err_sys(-errno, "cannot set up the descriptors of a world's host") : 0;
}

static void host_free(struct sim_world *w)
{
	fd_close(w->fd);
	fd_close(w->udp_fd);
	fd_close(w->epoll_fd);
	fd_close(w->wake_fd);
	fd_close(w->timer_fd);
	side_destroy(w->side);
	tls_destroy(w->tls);
	tls_keys_destroy(w->keys);
	mem_free(w->cipher);
	pthread_cond_destroy(&w->news);
	pthread_mutex_destroy(&w->lock);
	mem_free(w);
}

static int host_new(const struct sim_world_options *o, struct sim_world **ret)
{
	struct sim_world *w = MEM_NEW(struct sim_world);
	int r;

	if (!w)
		return err_nomem();
	pthread_mutex_init(&w->lock, NULL);
	thread_cond_init(&w->news);
	w->fd = w->udp_fd = w->epoll_fd = w->wake_fd = w->timer_fd = -1;
	w->flags = o->flags;
	w->history = o->history ? o->history : HISTORY;
	w->guess_dur_ns = o->guess_dur_ns ? o->guess_dur_ns : NS_PER_S;
	w->role = o->role;
	w->user = o->user;
	w->state = SIM_WORLD_CONNECTING;
	w->backoff_dur_ns = 10 * NS_PER_MS;
	if (o->events)
		w->events = *o->events;
	r = side_of(o, w);
	if (r == 0)
		r = load_keys(o->keys, w);
	if (r == 0)
		r = dial_parse(o->address ? o->address : ADDRESS, !w->keys, &w->address);
	if (r == 0)
		r = open_fds(w);
	if (r < 0) {
		host_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

/* ---- the thread ---- */

static void *run(void *arg)
{
	struct sim_world *w = arg;
	struct epoll_event e;

	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		pthread_mutex_unlock(&w->lock);
		(void)epoll_wait(w->epoll_fd, &e, 1, -1);
		pthread_mutex_lock(&w->lock);
		if (!w->stop)
			(void)host_turn(w);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void wake(const struct sim_world *w)
{
	const uint64_t one = 1;

	(void)!write(w->wake_fd, &one, sizeof(one));
}

static int start(struct sim_world *w)
{
	int r;

	if (w->flags & SIM_WORLD_NO_THREAD)
		return 0;
	r = thread_start(&w->thread, "sim-world", run, w);
	if (r < 0)
		return err_sys(r, "cannot start the world's thread");
	w->has_thread = true;
	return 0;
}

/* ---- connect and disconnect ---- */

/* Waits until the server has answered, or the first attempt has failed. */
static int await_answer(struct sim_world *w, int64_t until_mono_ns)
{
	const struct timespec t = timespec_from_ns(until_mono_ns);

	while (w->state == SIM_WORLD_CONNECTING && !w->error) {
		int64_t left = until_mono_ns - mono_now_ns();

		if (left <= 0)
			return err_set(-ETIMEDOUT, "%s: no answer of a world's server", w->address.text);
		if (w->has_thread) {
			(void)pthread_cond_timedwait(&w->news, &w->lock, &t);
		} else {
			(void)fd_wait(w->epoll_fd, POLLIN, left);
			(void)host_turn(w);
		}
	}
	return w->state == SIM_WORLD_CONNECTED ? 0 : err_set(w->error, "%s", w->info.why);
}

static void end_thread(struct sim_world *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_mutex_unlock(&w->lock);
	wake(w);
	if (w->has_thread)
		pthread_join(w->thread, NULL);
}

int sim_world_connect(const struct sim_world_options *given, struct sim_world **ret)
{
	struct sim_world_options o;
	struct sim_world *w = NULL;
	int r = given && ret ? SIZED_TAKE(&o, given, "sim_world_connect: the options")
			     : err_set(-EINVAL, "sim_world_connect: no options, or the output pointer is NULL");

	if (r == 0)
		r = check(&o);
	if (r == 0)
		r = host_new(&o, &w);
	if (r < 0)
		return r;
	pthread_mutex_lock(&w->lock);
	host_dial(w);
	r = start(w);
	if (r == 0)
		r = await_answer(w, mono_now_ns() + (o.timeout_ms ? o.timeout_ms : 5000) * NS_PER_MS);
	pthread_mutex_unlock(&w->lock);
	if (r < 0) {
		end_thread(w);
		host_free(w); /* err_why() is kept */
		return r;
	}
	*ret = w;
	return 0;
}

/* False: the time is over. */
static bool wait_until(const struct sim_world *w, short events, int64_t until_mono_ns)
{
	int64_t left_dur_ns = until_mono_ns - mono_now_ns();

	return left_dur_ns > 0 && fd_wait(w->fd, events, left_dur_ns) == 1;
}

/*
 * If this side closes the socket with bytes unread, or the server then sends more, the connection is reset, and lost
 * bytes are not retransmitted: so wait until the server closes first.
 */
static void await_close(const struct sim_world *w, int64_t until_mono_ns)
{
	uint8_t trash[4096];
	ssize_t n = 1;

	(void)shutdown(w->fd, SHUT_WR);
	while (n && wait_until(w, POLLIN, until_mono_ns)) {
		n = recv(w->fd, trash, sizeof(trash), MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
	}
}

/* Sends Bye after the queued data, and waits for the server to close; at most BYE_DUR_NS. */
static void say_bye(struct sim_world *w)
{
	int64_t until_mono_ns = mono_now_ns() + BYE_DUR_NS;
	const void *data;

	if (side_bye(w->side) < 0)
		return;
	for (host_flush(w); w->fd >= 0 && host_output(w, &data); host_flush(w))
		if (!wait_until(w, POLLOUT, until_mono_ns))
			return;
	if (w->fd >= 0)
		await_close(w, until_mono_ns);
}

void sim_world_disconnect(struct sim_world *w)
{
	if (!w)
		return;
	end_thread(w);
	say_bye(w);
	host_free(w);
}
