/* SPDX-License-Identifier: Apache-2.0 */
/* sim/world.h: the host's loop: connects, reads, calls callbacks and writes, each as soon as possible. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "printable.h"
#include "timeutil.h"
#include "host_private.h"

#define BACKOFF_FIRST_NS (10 * NS_PER_MS)
#define BACKOFF_MAX_NS   NS_PER_S
#define ANSWER_DUR_NS    (5 * NS_PER_S) /* time limit for the connection and the Welcome */
#define READS_MAX        64             /* reads per turn */
#define DATAGRAMS_MAX    1024

/* ---- callbacks ---- */

bool host_in_callback(const struct sim_world *w)
{
	return w->calling && pthread_equal(w->caller, pthread_self());
}

static void begin_call(struct sim_world *w)
{
	w->caller = pthread_self();
	w->calling = true;
	pthread_mutex_unlock(&w->lock);
}

static void end_call(struct sim_world *w)
{
	pthread_mutex_lock(&w->lock);
	w->calling = false;
}

static void set_state(struct sim_world *w, enum sim_world_state state, int error, const char *why)
{
	char text[sizeof(w->info.why)];
	bool same = state == w->state;

	printable(w->info.why, sizeof(w->info.why), why, strlen(why));
	memcpy(text, w->info.why, sizeof(text));
	w->state = state;
	w->error = error;
	pthread_cond_broadcast(&w->news);
	if (same || !w->events.state)
		return;
	begin_call(w);
	w->events.state(w->user, state, text);
	end_call(w);
}

void host_object(const struct sim_world *w, const struct remote *r, const struct motion_real *m, enum remote_how how,
		 struct sim_world_object *ret)
{
	(void)w;
	*ret = (struct sim_world_object){ .id = r->id,
					  .code = r->code,
					  .connection = r->owner,
					  .time_sim_ns = m->time_sim_ns,
					  .body = r->body ? r->body->data : NULL,
					  .body_size = r->body ? r->body->len : 0,
					  .how = (enum sim_world_how)how };
	memcpy(ret->position, m->position, sizeof(ret->position));
	memcpy(ret->rotation, m->rotation, sizeof(ret->rotation));
	memcpy(ret->velocity, m->velocity, sizeof(ret->velocity));
	memcpy(ret->spin, m->spin, sizeof(ret->spin));
}

/*
 * What the event means to a host that is shown only the objects of others; false: nothing. An object that this host
 * takes over or hands over is reported as leaving or entering.
 */
static bool change_to_others(const struct remote_event *e, uint32_t own, enum remote_change *ret)
{
	bool mine = e->object->owner == own, was_mine = e->object->owner_before == own;

	*ret = e->change;
	if (e->change != REMOTE_UPDATED)
		return !mine;
	if (mine != was_mine)
		*ret = mine ? REMOTE_LEFT : REMOTE_ENTERED;
	return !mine || !was_mine;
}

static void call_change(const struct sim_world *w, const struct remote_event *e, uint32_t own)
{
	void (*const fns[])(void *, const struct sim_world_object *) = {
		[REMOTE_ENTERED] = w->events.enter, [REMOTE_UPDATED] = w->events.update, [REMOTE_LEFT] = w->events.leave
	};
	enum remote_change change;
	struct sim_world_object o;

	if (!change_to_others(e, own, &change) || !fns[change])
		return;
	host_object(w, e->object, &e->object->states[e->object->newest], REMOTE_BETWEEN, &o);
	fns[change](w->user, &o);
}

void host_tick(const struct side_tick *t, struct sim_world_tick *ret)
{
	*ret = (struct sim_world_tick){ .tick = t->tick,
					.time_sim_ns = t->time_sim_ns,
					.step_dur_ns = t->step_dur_ns,
					.pace_permille = t->pace_permille,
					.waited_for = t->waited_for,
					.step_advice_e6 = t->step_advice_e6,
					.role = (enum sim_world_role)(t->role - SIDE_REGULATING) };
}

static void call_tick(const struct sim_world *w, const struct side_event *e, uint32_t own)
{
	struct sim_world_tick t;

	if (w->events.enter || w->events.update || w->events.leave)
		for (size_t i = 0; i < e->n_changes; i++)
			call_change(w, &e->changes[i], own);
	host_tick(&e->tick, &t);
	if (w->events.tick)
		w->events.tick(w->user, &t);
}

static void call(struct sim_world *w, const struct side_event *e)
{
	uint32_t own = side_connection(w->side);

	begin_call(w);
	if (e->kind == SIDE_TICK)
		call_tick(w, e, own);
	else if (e->kind == SIDE_NOTE && w->events.note)
		w->events.note(w->user, e->from, e->time_sim_ns, e->payload, e->len);
	else if (e->kind == SIDE_WANTED && w->events.wanted)
		w->events.wanted(w->user, e->id, e->connection);
	else if (e->kind == SIDE_OWNER && w->events.owner)
		w->events.owner(w->user, e->id, e->connection, e->refused);
	end_call(w);
}

/* ---- the connection ---- */

static void watch(const struct sim_world *w, int op)
{
	struct epoll_event e = { .events = EPOLLIN | (w->dialling || w->blocked ? EPOLLOUT : 0u), .data.fd = w->fd };

	(void)epoll_ctl(w->epoll_fd, op, w->fd, &e);
}

void host_set_timer(const struct sim_world *w, int64_t dur_ns)
{
	const struct itimerspec t = { .it_value = timespec_from_ns(dur_ns) };

	(void)timerfd_settime(w->timer_fd, 0, &t, NULL);
}

/* Closes the connection; retries after a while, unless `again` is false. */
static void lose(struct sim_world *w, int error, const char *why, bool again)
{
	char text[sizeof(w->info.why)]; /* why may be the side's own buffer, which side_end() frees */

	snprintf(text, sizeof(text), "%s", why);
	w->fd = fd_close(w->fd);
	host_udp_close(w);
	tls_destroy(w->tls);
	w->tls = NULL;
	w->dialling = w->blocked = false;
	side_end(w->side);
	host_set_timer(w, 0);
	if (again && !w->away) {
		host_set_timer(w, w->backoff_dur_ns);
		w->backoff_dur_ns = w->backoff_dur_ns * 2 < BACKOFF_MAX_NS ? w->backoff_dur_ns * 2 : BACKOFF_MAX_NS;
	}
	set_state(w, again ? SIM_WORLD_CONNECTING : SIM_WORLD_FAILED, error, text);
}

void host_come_back(struct sim_world *w)
{
	if (w->away)
		host_set_timer(w, 1);
	w->away = false;
}

void host_dial(struct sim_world *w)
{
	char why[320];
	int r = dial_begin(&w->address);

	host_set_timer(w, ANSWER_DUR_NS);
	if (r < 0) {
		snprintf(why, sizeof(why), "%s: %s", w->address.text, err_text(r));
		lose(w, r, why, true);
		return;
	}
	w->fd = r;
	w->dialling = true;
	watch(w, EPOLL_CTL_ADD);
}

/* Called when the handshake, or Hello, can be sent. */
static int begin(struct sim_world *w)
{
	const struct tls_options o = { .keys = w->keys, .host = w->address.host };
	int r = w->keys ? tls_create(TLS_CLIENT, &o, &w->tls) : 0;

	return r < 0 ? r : side_begin(w->side);
}

/* Returns false if it is not connected yet, or the connect failed. */
static bool dialled(struct sim_world *w)
{
	char why[320];
	int r;

	if (!w->dialling)
		return w->fd >= 0;
	if (fd_wait(w->fd, POLLOUT, 0) <= 0)
		return false;
	r = dial_result(w->fd);
	if (r == 0) {
		w->dialling = false;
		watch(w, EPOLL_CTL_MOD);
		r = begin(w);
	}
	if (r < 0) {
		snprintf(why, sizeof(why), "%s: %s", w->address.text, err_text(r));
		lose(w, r, why, true);
	}
	return r == 0;
}

size_t host_output(struct sim_world *w, const void **ret)
{
	const void *plain;
	ssize_t n;
	size_t len;

	if (!w->tls)
		return side_output(w->side, ret);
	while (tls_state(w->tls) == TLS_OPEN && (len = side_output(w->side, &plain))) {
		n = tls_write(w->tls, plain, len);
		if (n <= 0) /* the socket is full; an error is found by the next read */
			break;
		side_sent(w->side, (size_t)n);
	}
	return tls_output(w->tls, ret);
}

void host_sent(struct sim_world *w, size_t n)
{
	w->info.bytes_out += n;
	if (w->tls)
		tls_sent(w->tls, n);
	else
		side_sent(w->side, n);
}

void host_flush(struct sim_world *w)
{
	const void *data;
	size_t len;
	bool blocked = false;

	if (w->fd >= 0)
		host_udp_flush(w);
	while (w->fd >= 0 && !w->dialling && !blocked && (len = host_output(w, &data))) {
		ssize_t n = send(w->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0)
			host_sent(w, (size_t)n);
		blocked = n < (ssize_t)len; /* a closed connection is found by the next read */
	}
	if (w->fd < 0 || w->dialling || w->blocked == blocked)
		return;
	w->blocked = blocked;
	watch(w, EPOLL_CTL_MOD);
}

/* ---- reading ---- */

static void on_welcome(struct sim_world *w, const struct side_event *e)
{
	bool said = e->again && w->done_world == side_world(w->side) && w->done_tick == e->tick.tick;

	w->backoff_dur_ns = BACKOFF_FIRST_NS;
	w->info.reconnects += w->info.connection != 0;
	w->info.connection = side_connection(w->side);
	w->at_tick = e->tick.tick;
	w->waited = false;
	if (e->udp_port)
		host_udp_open(w, e->udp_port);
	w->news_tick = !said || side_done(w->side, e->tick.tick, mono_now_ns()) < 0;
	if (w->paused) /* after the promise, which would end the pause */
		(void)!side_pause(w->side);
	set_state(w, SIM_WORLD_CONNECTED, 0, "");
}

/* Returns 1 for a tick. */
static int on_event(struct sim_world *w, const struct side_event *e)
{
	if (e->kind == SIDE_WELCOME) {
		on_welcome(w, e);
		return 0;
	}
	if (e->kind == SIDE_ENDED) {
		w->away = e->slow && w->waits && !w->in_wait && !w->events.tick;
		lose(w, e->error, e->sentence, e->again);
		return 0;
	}
	if (e->kind == SIDE_TICK && (w->events.tick || !w->waits))
		w->at_tick = e->tick.tick;
	call(w, e);
	if (e->kind != SIDE_TICK)
		return 0;
	w->info.ticks++;
	if (w->waited && w->waited_tick == e->tick.tick) /* the tick was taken during the call, or is repeated */
		return 0;
	w->news_tick = true;
	pthread_cond_broadcast(&w->news);
	return 1;
}

static int on_events(struct sim_world *w)
{
	struct side_event e;
	int r = 0, n = 0;

	while (w->fd >= 0 && (r = side_next(w->side, &e)) == 1)
		n += on_event(w, &e);
	if (r < 0)
		lose(w, r == -EBADMSG ? -EPROTO : r, err_why(), true);
	return n;
}

static bool has_room(struct sim_world *w, uint8_t **ret, size_t *ret_size)
{
	if (side_room(w->side, ret, ret_size) == 0)
		return true;
	lose(w, -ENOMEM, "out of memory", true);
	return false;
}

static const char *closed(const struct sim_world *w)
{
	if (side_is_in(w->side))
		return "the server closed the connection";
	return w->keys ? "the server closed the connection without an answer: it may have no keys"
		       : "the server closed the connection without an answer: it may want keys";
}

/* Returns 0 if there is no more for now, or the connection is closed. */
static ssize_t receive(struct sim_world *w, uint8_t *room, size_t size)
{
	ssize_t n = recv(w->fd, room, size, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		lose(w, n ? -errno : -ECONNRESET, n && side_is_in(w->side) ? err_text(errno) : closed(w), true);
		return 0;
	}
	w->info.bytes_in += (uint64_t)n;
	return n;
}

/* Both return false if there is no more for now, or the connection is closed. */
static bool read_plain(struct sim_world *w, int *ticks)
{
	uint8_t *room;
	size_t size;
	ssize_t n = has_room(w, &room, &size) ? receive(w, room, size) : 0;

	if (n <= 0)
		return false;
	side_add(w->side, (size_t)n, mono_now_ns());
	*ticks += on_events(w);
	return true;
}

static void fail_tls(struct sim_world *w)
{
	char why[600];

	host_flush(w); /* tells the server why */
	snprintf(why, sizeof(why), "%s: TLS: %s", w->address.text, tls_why(w->tls));
	lose(w, -EACCES, why, true);
}

static bool read_tls(struct sim_world *w, int *ticks)
{
	ssize_t n = receive(w, w->cipher, HOST_CIPHER_MAX);
	uint8_t *room;
	size_t size;

	if (n <= 0)
		return false;
	tls_input(w->tls, w->cipher, (size_t)n);
	while (w->fd >= 0 && has_room(w, &room, &size) && (n = tls_read(w->tls, room, size)) > 0) {
		side_add(w->side, (size_t)n, mono_now_ns());
		*ticks += on_events(w);
	}
	if (w->fd >= 0 && n == -EPIPE)
		lose(w, -ECONNRESET, closed(w), true);
	else if (w->fd >= 0 && n < 0)
		fail_tls(w);
	return w->fd >= 0;
}

static bool timer_is_due(const struct sim_world *w)
{
	uint64_t n;

	return read(w->timer_fd, &n, sizeof(n)) == sizeof(n);
}

/* Retries the connection, or ends one on which the server has not answered. */
static void on_timer(struct sim_world *w)
{
	if (w->fd < 0)
		host_dial(w);
	else if (!side_is_in(w->side))
		lose(w, -ETIMEDOUT, "no answer of a world's server for 5 s", true);
}

int host_turn(struct sim_world *w)
{
	uint64_t n;
	int ticks = 0;

	if (w->inside)
		return 0;
	w->inside = true;
	(void)!read(w->wake_fd, &n, sizeof(n));
	if (w->state != SIM_WORLD_FAILED && timer_is_due(w))
		on_timer(w);
	if (dialled(w)) {
		host_flush(w);
		for (int i = 0; i < READS_MAX && !w->stop && w->fd >= 0; i++)
			if (!(w->tls ? read_tls(w, &ticks) : read_plain(w, &ticks)))
				break;
		for (int i = 0; i < DATAGRAMS_MAX && !w->stop && host_udp_read(w); i++)
			ticks += on_events(w);
		host_flush(w);
		host_udp_set_timer(w);
	}
	w->inside = false;
	return ticks;
}
