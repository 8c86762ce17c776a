/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver lease: advancing an engine-driven source, paced to scale x wall time if asked. Each call is one request
 * and one answer on a socket of its own; simd answers when time may move. After a restart the new simd gives the lease
 * again; after a switch of the source it does not. If steps have participants, the answer may come through shared
 * memory before simd knows of it, see schemas/wire/driver.h.
 *
 * Thread: one at a time in advance, set, and all that begins and ends; driver_register() under client::setup.
 */
#include <sim/clock.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "client.h"
#include "driver.h"
#include "err.h"
#include "fd.h"
#include "futex.h"
#include "mem.h"
#include "seqlock.h"
#include "session.h"
#include "timeutil.h"
#include "wire/driver.h"

#define DUR_MAX_NS     (3600 * NS_PER_S)
#define RELEASE_DUR_NS (200 * NS_PER_MS)
#define SLICE_DUR_NS   (50 * NS_PER_MS)
#define BACKLOG_DUR_NS (100 * NS_PER_MS) /* a larger backlog is dropped, not caught up */

struct sim_driver {
	struct handle h;
	struct sim_client *c;
	unsigned flags;
	_Atomic int next_fd;                        /* from a new simd, adopted at the next call; -1: none */
	_Atomic(struct session_pages *) next_pages; /* belong to next_fd */
	int fd;                                     /* -1: simd is gone */
	struct session_pages pages;                 /* belong to fd */
	uint64_t number;         /* of the last granted round; 0: none, or simd does not number them */
	bool on_page;            /* the open request says that this client waits there */
	uint32_t moved;          /* with on_page: wire_grant::moved before the request */
	uint64_t session_serial; /* session::serial that gave the lease; under setup */
	bool lost;               /* the source was switched: for good */
	bool asked;              /* a request is open: its answer has not been taken */
	bool advancing;          /* with asked: it was begun by sim_driver_begin_advance() */
	bool granted;            /* the answer is in `grant`, and is returned at due_mono_ns */
	struct driver_packet grant;
	int64_t due_mono_ns;
	/* pacing: simulated time `base_sim_ns` corresponds to wall time `base_mono_ns` */
	bool based;
	int64_t base_mono_ns, base_sim_ns, scale_e6;
};

/* ---- the lease ---- */

/* Omits parameters at their default, which an older simd does not know. */
static int acquire(struct sim_client *c, struct session *s, unsigned flags, int *ret_fd, struct session_pages *ret)
{
	json_t *params = json_object();

	if (flags & SIM_DRIVER_FREEWHEEL)
		json_object_set_new(params, "freewheel", json_true());
	if (flags & SIM_DRIVER_LOCKSTEP)
		json_object_set_new(params, "lockstep", json_true());
	return session_call_pages(c, s, "AcquireDriver", params, "driver socket", ret_fd, ret);
}

static void drop_pages(struct session_pages *p)
{
	if (p)
		session_pages_unmap(p);
	mem_free(p);
}

void driver_register(struct sim_client *c, struct session *s)
{
	struct sim_driver *d = c->driver;
	struct session_pages *pages;
	int fd;

	/* Only if it was lost with an earlier simd: within one session simd decides about the lease. */
	if (!d || d->session_serial == s->serial)
		return;
	pages = MEM_NEW(struct session_pages);
	if (!pages || acquire(c, s, d->flags, &fd, pages) < 0) {
		mem_free(pages);
		return;
	}
	d->session_serial = s->serial;
	drop_pages(atomic_exchange(&d->next_pages, pages));
	fd_close(atomic_exchange(&d->next_fd, fd));
}

int sim_driver_acquire(struct sim_client *c, unsigned flags, struct sim_driver **ret)
{
	struct sim_driver *d;
	struct session *s = NULL;
	int r = client_guard(c);

	if (r < 0)
		return r;
	if (!ret || (flags & ~(unsigned)(SIM_DRIVER_PACED | SIM_DRIVER_FREEWHEEL | SIM_DRIVER_LOCKSTEP)))
		return err_set(-EINVAL, "sim_driver_acquire: unknown flags %#x, or the output pointer is NULL", flags);
	if (flags & SIM_DRIVER_PACED && flags & SIM_DRIVER_FREEWHEEL)
		return err_set(-EINVAL, "sim_driver_acquire: a driver is paced or runs free, not both");
	d = MEM_NEW(struct sim_driver);
	if (!d)
		return err_nomem();
	d->c = c;
	d->h.alive = c->alive;
	d->flags = flags;
	d->fd = -1;
	atomic_init(&d->next_fd, -1);
	client_setup_lock(c);
	r = c->driver ? err_set(-EBUSY, "this client holds the driver lease already") : client_session(c, &s);
	if (r == 0)
		r = acquire(c, s, flags, &d->fd, &d->pages);
	if (r == 0) {
		d->session_serial = s->serial;
		c->driver = d;
		*ret = d;
	}
	client_setup_unlock(c);
	session_unref(s);
	if (r < 0)
		mem_free(d);
	return r;
}

/*
 * Sent explicitly, so that simd does not treat the hang-up as a loss; simd then hangs up too: from then on the lease is
 * free.
 */
static void driver_hangup(struct sim_driver *d)
{
	int64_t end = client_now(d->c) + RELEASE_DUR_NS;
	struct driver_packet p = { .op = DRIVER_RELEASE };
	ssize_t n = -1;

	if (d->fd < 0)
		return;
	(void)!send(d->fd, &p, sizeof(p), MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(d->fd, SHUT_WR);
	while (n != 0 && client_now(d->c) < end && client_sleep(d->c, d->fd, POLLIN, end - client_now(d->c)) > 0) {
		n = recv(d->fd, &p, sizeof(p), MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			break;
	}
	fd_close(d->fd);
}

/* Adopts the lease that a new simd has given. */
static void driver_adopt(struct sim_driver *d)
{
	int fd = atomic_exchange(&d->next_fd, -1);
	struct session_pages *pages;

	if (fd < 0)
		return;
	fd_close(d->fd);
	d->fd = fd;
	d->based = d->lost = d->asked = d->granted = false;
	d->number = 0;
	session_pages_unmap(&d->pages);
	pages = atomic_exchange(&d->next_pages, NULL);
	if (pages)
		d->pages = *pages;
	mem_free(pages);
}

static void driver_destroy(struct sim_driver *d)
{
	driver_adopt(d);
	driver_hangup(d);
	drop_pages(atomic_exchange(&d->next_pages, NULL));
	session_pages_unmap(&d->pages);
	mem_free(d);
}

void driver_finish(struct sim_client *c)
{
	struct sim_driver *d = c->driver;

	c->driver = NULL;
	if (d)
		driver_destroy(d);
}

void sim_driver_release(struct sim_driver *d)
{
	struct sim_client *c;

	if (!d || !client_alive(d->c))
		return;
	c = d->c;
	client_setup_lock(c);
	c->driver = NULL;
	client_setup_unlock(c);
	driver_destroy(d);
}

/* ---- request and answer ---- */

/*
 * When simd hangs up with a request unread, the socket reports ECONNRESET before it returns the packets that simd sent
 * earlier: the reason is read after it.
 */
static void driver_read_last(struct sim_driver *d)
{
	struct driver_packet p;
	ssize_t n = -1;

	for (int i = 0; d->fd >= 0 && n != 0 && i < 8; i++) {
		n = recv(d->fd, &p, sizeof(p), MSG_DONTWAIT);
		if (n == (ssize_t)sizeof(p) && p.op == DRIVER_LOST)
			d->lost = true;
	}
}

static int driver_gone(struct sim_driver *d)
{
	driver_read_last(d);
	d->fd = fd_close(d->fd);
	d->based = d->asked = d->granted = false;
	if (d->lost)
		return err_set(-EPERM,
			       "the driver lease was lost: the time source was switched; release it and acquire again");
	return err_set(-ENOTCONN, "disconnected from simd; the library takes the driver lease again when it is back");
}

static const struct wire_turn *turn_page(const struct sim_driver *d)
{
	return wire_at_const(d->pages.layout, d->pages.layout->turns, 0);
}

/* The last step had participants: it pays to wait on the page, where they may answer. */
static bool waits_on_page(const struct sim_driver *d)
{
	return d->number && !d->c->env && pages_grant(d->pages.layout, d->pages.dispatch) &&
	       seqlock_load(&turn_page(d)->number) == d->number;
}

static int driver_write(struct sim_driver *d, const void *packet, size_t size)
{
	if (send(d->fd, packet, size, MSG_NOSIGNAL) != (ssize_t)size && errno != EPIPE && errno != ECONNRESET)
		return err_sys(-errno, "driver socket");
	d->asked = true;
	d->advancing = d->granted = false;
	return 0;
}

/* polled: the answer must come as a packet, since the program polls the socket. */
static int driver_send(struct sim_driver *d, const struct driver_packet *what, bool polled)
{
	struct driver_packet ask = *what;

	if (d->fd < 0)
		return driver_gone(d);
	d->on_page = ask.op == DRIVER_ADVANCE && !polled && waits_on_page(d);
	if (d->on_page)
		d->moved = atomic_load(&pages_grant(d->pages.layout, d->pages.dispatch)->moved);
	ask.flags = d->on_page ? DRIVER_ON_PAGE : 0;
	ask.number = d->number;
	return driver_write(d, &ask, sizeof(ask));
}

/* Sleeps until something comes, or until_mono_ns; without a sim-io thread does the client's work meanwhile. */
static int driver_sleep(struct sim_driver *d, int64_t until_mono_ns)
{
	struct sim_client *c = d->c;
	bool own = client_pumps(c);
	int64_t left = until_mono_ns - client_now(c), slice = own ? SLICE_DUR_NS : NS_PER_S;
	int r = client_sleep(c, d->fd, POLLIN, left < slice ? left : slice);

	if (own && r == 0)
		client_work(c);
	return r < 0 ? r : 0;
}

static bool is_answered(struct sim_driver *d, const struct driver_packet *p)
{
	if (p->number && p->number <= d->number) /* it was already read from the page */
		return false;
	if (p->number)
		d->number = p->number;
	d->asked = false;
	return true;
}

/* Returns 1: the answer has come as a packet, 0: not yet, negative: the lease is lost. */
static int packet_answer(struct sim_driver *d, bool block, struct driver_packet *ret)
{
	for (;;) {
		ssize_t n = recv(d->fd, ret, sizeof(*ret), block ? 0 : MSG_DONTWAIT);

		if (n == (ssize_t)sizeof(*ret) && ret->op == DRIVER_GRANT) {
			if (is_answered(d, ret))
				return 1;
		} else if (n == (ssize_t)sizeof(*ret) && ret->op == DRIVER_LOST) {
			d->lost = true;
		} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			return driver_gone(d);
		} else if (n < 0 && !block) {
			return 0;
		}
	}
}

/*
 * Reads the answer of the last participant: a new round is the one that this request began, since only the driver
 * begins rounds.
 */
static bool page_answer(struct sim_driver *d, const struct wire_grant *g, struct driver_packet *ret)
{
	const struct wire_turn *t = turn_page(d);
	uint64_t number = atomic_load(&g->number);
	uint32_t seq;

	if (number <= d->number || !seqlock_read_begin(&t->seq, &seq) || seqlock_load(&t->number) != number ||
	    !(seqlock_load(&t->flags) & WIRE_TURN_ANSWERS))
		return false;
	*ret = (struct driver_packet){
		.op = DRIVER_GRANT,
		.dur_ns = seqlock_load(&t->dur_ns),
		.sim_ns = seqlock_load(&t->sim_ns),
		.scale_e6 = seqlock_load(&t->scale_e6),
		.number = number,
	};
	return seqlock_read_ok(&t->seq, seq) && is_answered(d, ret);
}

/* Waits until it changes, or for dur_ns: a process that dies wakes no waiter. */
static void wait_on_page(struct sim_driver *d, const struct wire_grant *g, int64_t dur_ns)
{
	futex_wait(&g->moved, d->moved, dur_ns < SLICE_DUR_NS ? dur_ns : SLICE_DUR_NS, FUTEX_BETWEEN_PROCESSES);
	if (client_pumps(d->c))
		client_work(d->c);
}

/* As driver_answer(); reads the socket only when something other than the last participant's answer has happened. */
static int answer_on_page(struct sim_driver *d, int64_t until_mono_ns, struct driver_packet *ret)
{
	const struct wire_grant *g = pages_grant(d->pages.layout, d->pages.dispatch);

	for (bool waited = false;; waited = true) {
		uint32_t moved = atomic_load(&g->moved);
		int64_t now;

		if (page_answer(d, g, ret))
			return 0;
		if (waited || moved != d->moved) {
			int r = packet_answer(d, false, ret);

			if (r)
				return r < 0 ? r : 0;
		}
		d->moved = moved;
		now = client_now(d->c);
		if (now >= until_mono_ns)
			return -ETIMEDOUT;
		wait_on_page(d, g, until_mono_ns - now);
	}
}

/* Waits for the answer, which simd withholds while time is paused. -ETIMEDOUT: not there by until_mono_ns. */
static int driver_answer(struct sim_driver *d, int64_t until_mono_ns, struct driver_packet *ret)
{
	bool block = !client_pumps(d->c) && until_mono_ns == INT64_MAX;
	int r;

	if (d->on_page)
		return answer_on_page(d, until_mono_ns, ret);
	for (;;) {
		r = packet_answer(d, block, ret);
		if (r)
			return r < 0 ? r : 0;
		if (client_now(d->c) >= until_mono_ns)
			return -ETIMEDOUT;
		r = driver_sleep(d, until_mono_ns);
		if (r < 0)
			return r;
	}
}

/* An earlier answer that was not taken is awaited first. */
static int driver_ask(struct sim_driver *d, const struct driver_packet *ask, struct driver_packet *ret)
{
	int r = d->asked ? driver_answer(d, INT64_MAX, ret) : 0;

	if (r == 0)
		r = driver_send(d, ask, false);
	return r == 0 ? driver_answer(d, INT64_MAX, ret) : r;
}

static int driver_enter(struct sim_driver *d)
{
	int r = handle_enter(&d->h, "driver");

	if (r < 0)
		return r;
	driver_adopt(d);
	return 0;
}

/* ---- pacing ---- */

static void rebase(struct sim_driver *d, const struct driver_packet *g, int64_t now)
{
	d->based = true;
	d->base_mono_ns = now;
	d->base_sim_ns = g->sim_ns;
	d->scale_e6 = g->scale_e6;
}

/*
 * The wall time that corresponds to g->sim_ns; 0: any. Deadlines are absolute, so pacing does not drift; a long stall
 * is not made up for.
 */
static int64_t pace(struct sim_driver *d, const struct driver_packet *g)
{
	int64_t now = client_now(d->c), due;

	if (!d->based || d->scale_e6 != g->scale_e6 || g->sim_ns < d->base_sim_ns || g->scale_e6 <= 0) {
		/* the new grant takes its wall time as well */
		rebase(d, g, now);
		d->base_sim_ns -= g->dur_ns;
	}
	if (d->scale_e6 <= 0)
		return 0;
	due = ns_add(d->base_mono_ns, (int64_t)((int128)(g->sim_ns - d->base_sim_ns) * 1000000 / d->scale_e6));
	if (now - due > BACKLOG_DUR_NS)
		rebase(d, g, now);
	return due;
}

static void sleep_until(const struct sim_driver *d, int64_t mono_ns)
{
	int64_t now = client_now(d->c);

	if (mono_ns <= now)
		return;
	if (d->c->env)
		client_sleep(d->c, -1, 0, mono_ns - now);
	else
		mono_sleep_until(mono_ns);
}

/* ---- public ---- */

static int check_advance(const struct sim_driver *d, int64_t dur_ns, const char *what)
{
	if (d && dur_ns >= 1 && dur_ns <= DUR_MAX_NS)
		return 0;
	return err_set(-EINVAL, "%s: no driver was given, or %lld ns, which is not 1 ns to 1 h", what,
		       (long long)dur_ns);
}

static int advance_result(const struct driver_packet *grant)
{
	if (grant->result >= 0)
		return 0;
	return err_set(grant->result, "simd does not advance time: %s", err_text(grant->result));
}

int sim_driver_advance(struct sim_driver *d, int64_t dur_ns, int64_t *ret_granted_dur_ns)
{
	struct driver_packet ask = { .op = DRIVER_ADVANCE, .dur_ns = dur_ns }, grant;
	int r = check_advance(d, dur_ns, "sim_driver_advance");

	if (r == 0)
		r = driver_enter(d);
	if (r < 0)
		return r;
	r = driver_ask(d, &ask, &grant);
	if (r == 0)
		r = advance_result(&grant);
	if (r == 0) {
		if (ret_granted_dur_ns)
			*ret_granted_dur_ns = grant.dur_ns;
		if (d->flags & SIM_DRIVER_PACED)
			sleep_until(d, pace(d, &grant));
	}
	handle_leave(&d->h);
	return r;
}

static const char *set_refusal(int r)
{
	switch (r) {
	case -EOPNOTSUPP:
		return "the active time source only advances";
	case -EBUSY:
		return "time is paused or stepping";
	case -ERANGE:
		return "the time is out of range";
	default:
		return err_text(r);
	}
}

/* Later grants are paced from this moment on. */
static int set_result(struct sim_driver *d, const struct driver_packet *grant)
{
	d->based = false;
	if (grant->result >= 0)
		return 0;
	return err_set(grant->result, "simd does not set time: %s", set_refusal(grant->result));
}

static int driver_set_time(struct sim_driver *d, enum driver_op op, int64_t sim_ns)
{
	struct driver_packet ask = { .op = op, .sim_ns = sim_ns }, grant;
	int r;

	if (!d)
		return err_set(-EINVAL, "sim_driver_set: no driver was given");
	r = driver_enter(d);
	if (r < 0)
		return r;
	r = driver_ask(d, &ask, &grant);
	if (r == 0)
		r = set_result(d, &grant);
	handle_leave(&d->h);
	return r;
}

int sim_driver_set(struct sim_driver *d, int64_t sim_ns)
{
	return driver_set_time(d, DRIVER_SET, sim_ns);
}

int sim_driver_jump(struct sim_driver *d, int64_t sim_ns)
{
	return driver_set_time(d, DRIVER_JUMP, sim_ns);
}

/* ---- a clock on another host ---- */

_Static_assert((int)SIM_FOLLOW_JUMP == (int)DRIVER_FOLLOW_JUMP && (int)SIM_FOLLOW_PAUSED == (int)DRIVER_FOLLOW_PAUSED &&
		       (int)SIM_FOLLOW_STEPS == (int)DRIVER_FOLLOW_STEPS &&
		       (int)SIM_FOLLOW_LOST == (int)DRIVER_FOLLOW_LOST,
	       "flags go as they are");

static int follow_result(int r)
{
	if (r >= 0)
		return 0;
	return err_set(r, "simd does not follow: %s",
		       r == -EOPNOTSUPP ? "the active time source is not `link`"
		       : r == -ERANGE   ? "the time, or its moment, is out of range"
					: err_text(r));
}

static int driver_tell(struct sim_driver *d, const struct sim_followed *f, struct driver_packet *ret)
{
	struct driver_follow_packet p = { .op = DRIVER_FOLLOW,
					  .flags = f->flags,
					  .sim_ns = f->sim_ns,
					  .mono_ns = f->mono_ns,
					  .rate_e6 = f->rate_e6,
					  .scale_e6 = f->scale_e6,
					  .error_dur_ns = f->error_dur_ns };
	int r = d->asked ? driver_answer(d, INT64_MAX, ret) : 0;

	if (r < 0)
		return r;
	if (d->fd < 0)
		return driver_gone(d);
	d->on_page = false;
	p.number = d->number;
	r = driver_write(d, &p, sizeof(p));
	return r == 0 ? driver_answer(d, INT64_MAX, ret) : r;
}

int sim_driver_follow(struct sim_driver *d, const struct sim_followed *f)
{
	struct driver_packet grant;
	int r;

	if (!d || !f || f->reserved)
		return err_set(-EINVAL, "sim_driver_follow: no driver or no time was given, or `reserved` is not 0");
	r = driver_enter(d);
	if (r < 0)
		return r;
	r = driver_tell(d, f, &grant);
	if (r == 0)
		r = follow_result(grant.result);
	handle_leave(&d->h);
	return r;
}

/* ---- in two halves ---- */

static int64_t until(const struct sim_driver *d, int64_t wall_timeout_dur_ns)
{
	return wall_timeout_dur_ns < 0 ? INT64_MAX : ns_add(client_now(d->c), wall_timeout_dur_ns);
}

static int begin(struct sim_driver *d, const struct driver_packet *ask, const char *what)
{
	int r = driver_enter(d);

	if (r < 0)
		return r;
	if (d->asked || d->granted)
		r = err_set(-EBUSY, "%s: the answer to the last one has not been taken; call sim_driver_end%s()", what,
			    d->granted || d->advancing ? "_advance" : "");
	else
		r = driver_send(d, ask, true);
	if (r == 0)
		d->advancing = ask->op == DRIVER_ADVANCE;
	handle_leave(&d->h);
	return r;
}

/* Takes the answer of a request that was begun. */
static int take_answer(struct sim_driver *d, bool advancing, int64_t until_mono_ns, const char *what,
		       struct driver_packet *ret)
{
	int r;

	if (d->granted || (d->asked && d->advancing != advancing))
		return err_set(-EINVAL, "%s: that was not begun; call sim_driver_end%s()", what,
			       advancing ? "" : "_advance");
	if (!d->asked) /* a new simd does not know the request */
		return err_set(-ENOTCONN, "%s: no request is open; begin one first (simd forgets it when it restarts)",
			       what);
	r = driver_answer(d, until_mono_ns, ret);
	if (r == -ETIMEDOUT)
		err_set(r, "%s: simd has not answered yet", what);
	return r;
}

int sim_driver_begin(struct sim_driver *d, int64_t sim_ns, bool jump)
{
	const struct driver_packet ask = { .op = jump ? DRIVER_JUMP : DRIVER_SET, .sim_ns = sim_ns };

	if (!d)
		return err_set(-EINVAL, "sim_driver_begin: no driver was given");
	return begin(d, &ask, "sim_driver_begin");
}

int sim_driver_end(struct sim_driver *d, int64_t wall_timeout_dur_ns)
{
	struct driver_packet grant;
	int r;

	if (!d)
		return err_set(-EINVAL, "sim_driver_end: no driver was given");
	r = driver_enter(d);
	if (r < 0)
		return r;
	r = take_answer(d, false, until(d, wall_timeout_dur_ns), "sim_driver_end", &grant);
	if (r == 0)
		r = set_result(d, &grant);
	handle_leave(&d->h);
	return r;
}

int sim_driver_begin_advance(struct sim_driver *d, int64_t dur_ns)
{
	const struct driver_packet ask = { .op = DRIVER_ADVANCE, .dur_ns = dur_ns };
	int r = check_advance(d, dur_ns, "sim_driver_begin_advance");

	return r == 0 ? begin(d, &ask, "sim_driver_begin_advance") : r;
}

/* Keeps a grant until its wall time has come. */
static int hand_over(struct sim_driver *d, int64_t until_mono_ns, int64_t *ret_granted_dur_ns)
{
	if (d->due_mono_ns > until_mono_ns) {
		sleep_until(d, until_mono_ns);
		return err_set(-ETIMEDOUT,
			       "sim_driver_end_advance: simd has granted it, but its wall time has not come yet");
	}
	sleep_until(d, d->due_mono_ns);
	d->granted = false;
	if (ret_granted_dur_ns)
		*ret_granted_dur_ns = d->grant.dur_ns;
	return 0;
}

int sim_driver_end_advance(struct sim_driver *d, int64_t wall_timeout_dur_ns, int64_t *ret_granted_dur_ns)
{
	int64_t until_mono_ns;
	int r = 0;

	if (!d)
		return err_set(-EINVAL, "sim_driver_end_advance: no driver was given");
	r = driver_enter(d);
	if (r < 0)
		return r;
	until_mono_ns = until(d, wall_timeout_dur_ns);
	if (!d->granted) {
		r = take_answer(d, true, until_mono_ns, "sim_driver_end_advance", &d->grant);
		if (r == 0)
			r = advance_result(&d->grant);
		d->granted = r == 0;
		if (r == 0)
			d->due_mono_ns = d->flags & SIM_DRIVER_PACED ? pace(d, &d->grant) : 0;
	}
	if (r == 0)
		r = hand_over(d, until_mono_ns, ret_granted_dur_ns);
	handle_leave(&d->h);
	return r;
}

int sim_driver_fd(const struct sim_driver *d)
{
	int fd = d ? atomic_load(&d->next_fd) : -1;

	if (fd < 0 && d)
		fd = d->fd;
	return fd >= 0 ? fd : err_set(-ENOTCONN, "sim_driver_fd: disconnected from simd; ask again when it is back");
}
