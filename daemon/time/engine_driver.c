/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver lease: one client moves the time of a driven source, in packets of schemas/wire/driver.h on a SEQPACKET
 * socket. It sends a request, waits for the answer, and sends the next: at most one is open. A violation, or the close
 * of the socket, ends the lease, and the clock is stopped. Thread: the exec's.
 */
#include "engine_private.h"

#include "page.h"

#include "err.h"
#include "fd.h"
#include "futex.h"
#include "wire/pages.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* packets read after the end in search of a release: at most one request, the release, an error or two */
#define UNREAD_MAX 4

/* Makes a driver that waits on the page read its socket. */
static void rouse(struct time_engine *e)
{
	if (!e->driver.on_page || !e->grant)
		return;
	atomic_fetch_add(&e->grant->moved, 1);
	futex_wake_all(&e->grant->moved, FUTEX_BETWEEN_PROCESSES);
}

/* No pause or step waits for its request any more. */
static void await_no_more(struct time_engine *e)
{
	exec_timer_cancel(&e->driver.late);
	e->driver.awaited_mono_ns = 0;
}

static void driver_close(struct time_engine *e)
{
	exec_io_del(&e->driver.io);
	await_no_more(e);
	e->driver.fd = fd_close(e->driver.fd);
	rouse(e);
	e->driver.on_page = false;
	e->driver.held = e->driver.owed = e->driver.draining = e->driver.working = false;
	e->driver.asked = 0;
}

/* The driver has ended the lease; lost: without a release. */
static void lease_ends(struct time_engine *e, bool lost)
{
	driver_close(e);
	e->step.next_dur_ns = 0;
	engine_begin(e);
	follow_forget(e);
	e->driver_lost = lost && e->driven;
	engine_commit(e);
	if (e->step.open && e->driven) {
		err_set(-ENOTCONN, "%s, which drives `%s`, disconnected before the step ended", e->driver.name,
			e->source->name);
		step_end(e, -ENOTCONN, TIME_PAUSED);
	}
	lockstep_look(e->lock);
}

static void driver_lost(struct time_engine *e, const char *why)
{
	struct time_driver_info who = e->driver.info;

	lease_ends(e, true);
	if (e->events.driver_lost)
		e->events.driver_lost(e->ctx, &who, why);
	engine_changed(e);
	step_look(e);
}

static void on_release(struct time_engine *e)
{
	struct time_driver_info who = e->driver.info;

	lease_ends(e, false);
	if (e->events.driver_released)
		e->events.driver_released(e->ctx, &who);
	engine_changed(e);
	step_look(e);
}

/*
 * Whether a release is still unread after the socket or the client has ended. An error is reported before packets sent
 * ahead of it, so reading continues after it; packets other than a release are dropped.
 */
static bool has_released(const struct time_engine *e)
{
	struct driver_packet p;
	ssize_t n;

	for (int i = 0; i < UNREAD_MAX; i++) {
		n = recv(e->driver.fd, &p, sizeof(p), MSG_DONTWAIT);
		if (n == (ssize_t)sizeof(p) && p.op == DRIVER_RELEASE)
			return true;
		if (n == 0 || (n < 0 && errno == EAGAIN))
			return false;
	}
	return false;
}

static void driver_gone(struct time_engine *e, const char *why)
{
	if (has_released(e))
		on_release(e);
	else
		driver_lost(e, why);
}

void driver_dismiss(struct time_engine *e)
{
	struct driver_packet p = { .op = DRIVER_LOST, .sim_ns = time_engine_now(e), .scale_e6 = e->scale_e6 };

	if (!e->driver.held)
		return;
	/* optional: the close of the socket means the same */
	(void)!send(e->driver.fd, &p, sizeof(p), MSG_NOSIGNAL | MSG_DONTWAIT);
	driver_close(e);
}

/* number: of the round that has ended; 0: none. */
static void answer_round(struct time_engine *e, int result, int64_t granted_dur_ns, uint64_t number)
{
	struct driver_packet p = {
		.op = DRIVER_GRANT,
		.result = result,
		.dur_ns = granted_dur_ns,
		.sim_ns = time_engine_now(e),
		.scale_e6 = e->scale_e6,
		.number = number,
	};

	if (send(e->driver.fd, &p, sizeof(p), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(p))
		rouse(e);
	else
		driver_gone(e, errno == EAGAIN ? "it does not read its answers" : "its socket is closed");
}

static void answer(struct time_engine *e, int result, int64_t granted_dur_ns)
{
	answer_round(e, result, granted_dur_ns, result < 0 ? 0 : lockstep_number(e->lock));
}

/* ---- working on what it was granted ---- */

static int64_t late_at(const struct time_engine *e)
{
	int64_t pace_dur_ns = (int64_t)((int128)e->driver.granted_dur_ns * SIM_RATE_ONE / e->scale_e6);

	return e->driver.awaited_mono_ns + e->deadline_dur_ns + pace_dur_ns;
}

/*
 * Whether to stop waiting for the driver. A pause should take effect whatever the driver does; a step depends on what
 * the driver publishes.
 */
static bool goes_on_without(const struct time_engine *e)
{
	return e->late == TIME_LATE_DROP || (e->late == TIME_LATE_WARN && e->pause_due);
}

static void on_late(void *arg)
{
	struct time_engine *e = arg;
	bool cut = goes_on_without(e);

	if (!e->driver.working || !step_over_due(e))
		return;
	if (e->late != TIME_LATE_WAIT && e->events.driver_late)
		e->events.driver_late(e->ctx, &e->driver.info, exec_now(e->exec) - e->driver.awaited_mono_ns, cut);
	if (cut)
		e->driver.working = false;
	step_look(e);
}

void driver_init(struct time_engine *e)
{
	e->driver.fd = -1;
	exec_timer_init(&e->driver.late, e->exec, on_late, e);
}

void driver_await(struct time_engine *e)
{
	int64_t now_mono_ns = exec_now(e->exec);

	if (!e->driver.awaited_mono_ns)
		e->driver.awaited_mono_ns = now_mono_ns;
	else if (now_mono_ns < late_at(e) || !goes_on_without(e))
		return;
	exec_timer_at(&e->driver.late, late_at(e));
}

static void works(struct time_engine *e, int64_t granted_dur_ns)
{
	e->driver.asked = 0;
	e->driver.owed = e->driver.working = true;
	e->driver.granted_dur_ns = granted_dur_ns;
}

/* The driver's messages are on their way: for the driver, the instant is over. */
static void is_back(struct time_engine *e)
{
	step_look(e);
	driver_serve(e);
}

/* Dispatches the driver's messages before time moves. */
static void drain(struct time_engine *e)
{
	e->driver.draining = e->held && e->events.drain && !e->events.drain(e->ctx);
	if (!e->driver.draining)
		is_back(e);
}

static void on_ask(struct time_engine *e, enum driver_op op, int64_t ns)
{
	e->driver.asked = op;
	e->driver.asked_ns = ns;
	e->driver.working = false;
	await_no_more(e);
	if (!lockstep_busy(e->lock))
		drain(e);
}

void driver_round_over(struct time_engine *e)
{
	if (e->driver.owed) {
		e->driver.owed = false;
		answer(e, 0, e->driver.granted_dur_ns);
	} else if (e->driver.asked && !e->driver.draining) {
		drain(e);
	}
}

void time_engine_drained(struct time_engine *e)
{
	if (!e->driver.draining)
		return;
	e->driver.draining = false;
	is_back(e);
}

/* ---- advancing ---- */

static void become_driven(struct time_engine *e)
{
	follow_stop(e);
	e->driven = true;
	e->driver_lost = false;
	if (engine_is_followed(e)) /* the time host grants nothing during a pause */
		e->state = TIME_RUNNING;
}

/*
 * Refuses a request beyond the end of time. If a jump has brought an open step so far, the step ends too, as nothing
 * else would end it.
 */
static void refuse_end(struct time_engine *e)
{
	e->driver.asked = 0;
	answer(e, -ERANGE, 0);
	if (!e->step.open)
		return;
	err_set(-ERANGE, "time cannot go beyond 2^63 ns");
	step_end(e, -ERANGE, TIME_PAUSED);
	step_look(e);
}

static void serve_advance(struct time_engine *e)
{
	int64_t dur_ns = e->driver.asked_ns;

	if (e->state == TIME_STEPPING && dur_ns > e->step.left_dur_ns)
		dur_ns = e->step.left_dur_ns;
	if (!dur_ns || (e->state == TIME_PAUSED && !engine_is_followed(e)))
		return;
	if (engine_at_end(e, dur_ns)) {
		refuse_end(e);
		return;
	}
	engine_begin(e);
	become_driven(e);
	engine_add(e, dur_ns);
	engine_commit_quietly(e);
	if (e->step.open)
		e->step.left_dur_ns -= dur_ns;
	works(e, dur_ns);
	engine_round(e, dur_ns);
	page_wake(e->page);
}

/* Whether a jump is possible now. It is not part of a step: a step with granted time left continues after it. */
static bool may_jump(const struct time_engine *e)
{
	return e->state == TIME_RUNNING || (e->state == TIME_STEPPING && e->step.left_dur_ns);
}

/* A time ahead is an advance; a time before, a driver's first time if it differs, and DRIVER_JUMP are jumps. */
static void set_time(struct time_engine *e)
{
	bool jump = e->driver.asked == DRIVER_JUMP;
	int64_t to_sim_ns = e->driver.asked_ns, now_sim_ns, dur_ns;

	engine_begin(e);
	now_sim_ns = engine_base_ns(e);
	jump = jump || to_sim_ns < now_sim_ns || (!e->set_seen && to_sim_ns != now_sim_ns);
	e->set_seen = true;
	become_driven(e);
	if (jump)
		engine_jump_to(e, to_sim_ns);
	dur_ns = to_sim_ns - engine_base_ns(e);
	engine_add(e, dur_ns);
	engine_commit(e);
	works(e, 0);
	if (jump)
		engine_jumped(e);
	if (e->driver.owed)
		engine_round(e, dur_ns);
}

/*
 * A jump to a new run waits for the end of a pause as an advance does, so that its log is the same with and without the
 * pause.
 */
static void serve_set(struct time_engine *e)
{
	if (e->driver.asked == DRIVER_JUMP ? may_jump(e) : e->state == TIME_RUNNING) {
		set_time(e);
	} else if (e->driver.asked == DRIVER_SET) {
		e->driver.asked = 0;
		answer(e, -EBUSY, 0);
	}
}

static void serve_follow(struct time_engine *e)
{
	e->driver.asked = 0;
	answer_round(e, follow_serve(e), 0, 0);
}

void driver_serve(struct time_engine *e)
{
	if (!e->driver.asked || e->driver.draining || e->not_begun || e->pause_due || lockstep_busy(e->lock))
		return;
	if (e->driver.asked == DRIVER_ADVANCE)
		serve_advance(e);
	else if (e->driver.asked == DRIVER_FOLLOW)
		serve_follow(e);
	else
		serve_set(e);
}

void driver_go_on(struct time_engine *e)
{
	await_no_more(e);
	if (e->driver.asked && !e->driver.draining && !lockstep_busy(e->lock))
		drain(e);
}

void time_engine_begin(struct time_engine *e)
{
	e->not_begun = false;
	driver_go_on(e);
}

bool time_engine_waits(const struct time_engine *e)
{
	return e->not_begun;
}

/* ---- packets ---- */

static void on_advance(struct time_engine *e, int64_t dur_ns)
{
	if (dur_ns < 1 || dur_ns > TIME_STEP_MAX_DUR_NS)
		answer(e, -EINVAL, 0);
	else
		on_ask(e, DRIVER_ADVANCE, dur_ns);
}

static void on_set(struct time_engine *e, enum driver_op op, int64_t to_sim_ns)
{
	if (!(e->source->flags & SIM_SOURCE_SET))
		answer(e, -EOPNOTSUPP, 0);
	else if (to_sim_ns < 0)
		answer(e, -ERANGE, 0);
	else
		on_ask(e, op, to_sim_ns);
}

/* The last participant has sent the answer: the round is over, or about to be. */
static void has_its_answer(struct time_engine *e)
{
	e->driver.owed = false;
	lockstep_answered(e->lock);
	lockstep_look(e->lock);
}

/* Whether the driver may send a request, after the round of that number; false: it may not, and has lost the lease. */
static bool may_ask(struct time_engine *e, uint64_t number)
{
	if (e->driver.owed && number == lockstep_number(e->lock))
		has_its_answer(e);
	if (!e->driver.asked && !e->driver.owed)
		return true;
	driver_lost(e, "it sent a request before the answer to the last one");
	return false;
}

static void on_follow(struct time_engine *e, const struct driver_follow_packet *p)
{
	int r;

	if (!may_ask(e, p->number))
		return;
	e->driver.on_page = false;
	r = follow_check(e, p);
	if (r < 0) {
		answer(e, r, 0);
		return;
	}
	e->follow.said = *p;
	on_ask(e, DRIVER_FOLLOW, 0);
}

static void on_packet(struct time_engine *e, const struct driver_packet *p)
{
	if (p->op == DRIVER_RELEASE) {
		on_release(e);
		return;
	}
	if (!may_ask(e, p->number))
		return;
	e->driver.on_page = p->op == DRIVER_ADVANCE && p->flags & DRIVER_ON_PAGE;
	if (p->op == DRIVER_ADVANCE)
		on_advance(e, p->dur_ns);
	else if (p->op == DRIVER_SET || p->op == DRIVER_JUMP)
		on_set(e, p->op, p->sim_ns);
	else
		driver_lost(e, "it sent a packet that is not part of the protocol");
}

static void on_socket(void *arg, uint32_t events)
{
	struct time_engine *e = arg;
	union {
		struct driver_packet p;
		struct driver_follow_packet follow;
	} u;
	ssize_t n;

	(void)events;
	n = recv(e->driver.fd, &u, sizeof(u), MSG_DONTWAIT | MSG_TRUNC);
	if (n == (ssize_t)sizeof(u.p))
		on_packet(e, &u.p);
	else if (n == (ssize_t)sizeof(u.follow) && u.follow.op == DRIVER_FOLLOW)
		on_follow(e, &u.follow);
	else if (n > 0)
		driver_lost(e, "it sent a packet of the wrong size");
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		driver_gone(e, "its socket was closed");
}

/* ---- the lease ---- */

static int check_attach(const struct time_engine *e)
{
	if (e->source->kind == SIM_SOURCE_WALL)
		return err_set(
			-EOPNOTSUPP,
			"time source `%s` runs by itself and takes no driver; `simctl clock source unity` selects "
			"one that does",
			e->source->name);
	if (e->driver.held)
		return err_set(-EBUSY, "%s (pid %d) drives time already; end it first", e->driver.info.name,
			       e->driver.info.pid);
	return 0;
}

int time_engine_attach_driver(struct time_engine *e, int fd, const struct time_driver_info *who)
{
	int r = check_attach(e);

	if (r >= 0)
		r = exec_io_add(e->exec, &e->driver.io, fd, EPOLLIN, on_socket, e);
	if (r < 0) {
		fd_close(fd);
		return r;
	}
	e->driver.fd = fd;
	e->driver.held = true;
	e->driver.info = *who;
	snprintf(e->driver.name, sizeof(e->driver.name), "%s", who->name ? who->name : "a client");
	e->driver.info.name = e->driver.name;
	e->set_seen = e->driven && e->started;
	engine_begin(e);
	e->driver_lost = false;
	engine_rate_restart(e);
	engine_commit(e);
	engine_changed(e);
	return 0;
}

void time_engine_drop_client(struct time_engine *e, uint32_t client_id)
{
	lockstep_drop_client(e->lock, client_id);
	if (e->driver.held && e->driver.info.client_id == client_id)
		driver_gone(e, "its client has ended");
}
