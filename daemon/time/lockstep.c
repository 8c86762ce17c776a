/* SPDX-License-Identifier: Apache-2.0 */
/* Lock-step; see lockstep.h and schemas/wire/step.h. Thread: the exec's. */
#include "lockstep.h"

#include "err.h"
#include "fd.h"
#include "futex.h"
#include "list.h"
#include "mem.h"
#include "seqlock.h"
#include "wire/pages.h"
#include "wire/step.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

_Static_assert(TIME_PARTICIPANTS_MAX <= WIRE_STEPPERS_MAX && WIRE_STEPPERS_MAX <= 64,
	       "one bit each in step_packet::with");

enum phase { IDLE, GATHER, TURN, RELEASE, DISPATCH };

enum member_state {
	M_IDLE,
	M_TURN,    /* it runs its step */
	M_KEPT,    /* it has acknowledged and keeps messages back */
	M_RELEASE, /* it publishes the kept messages */
};

enum told_by {
	BY_PACKET,
	PAGE_ASKED, /* its next turn is still sent as a packet */
	ON_PAGE,
};

struct member {
	struct list link; /* lockstep::members */
	struct lockstep *l;
	struct exec_io io;
	int fd;
	enum member_state state;
	enum told_by told;
	uint64_t number;  /* of its round */
	uint64_t shared;  /* last round whose acknowledgement was read in shared memory: a packet may follow */
	uint32_t stepper; /* its index there */
	bool in_round;    /* it had joined when the round began */
	bool late;        /* reported already */
	struct time_participant who;
	char name[TIME_NAME_MAX];
};

struct lockstep {
	struct lockstep_options o;
	struct list members; /* sorted by rank, name, client */
	uint32_t n;
	enum phase phase;
	uint32_t rank; /* rank whose turn it is */
	uint64_t number;
	uint64_t with;   /* members that have a turn, as wire_turn::with */
	uint64_t places; /* used indices in lockstep_options::steppers */
	struct sim_clock_sample now;
	int64_t dur_ns;
	int64_t answer_scale_e6; /* 0: only simd reports the end of a round to the driver */
	bool may_answer;         /* the last member may report the end of this round to the driver */
	int64_t wait_mono_ns;    /* since when participants are waited for */
	struct exec_timer timer;
	unsigned walking; /* depth of walks over the list: members are freed only afterwards */
};

/* ---- shared memory ---- */

/* Writes the state for the other members, which check there whether they are the last. */
static void mark(const struct member *m, uint64_t number)
{
	if (m->l->o.steppers)
		atomic_store(&m->l->o.steppers[m->stepper].done, number);
}

static uint64_t bit_of(const struct member *m)
{
	return UINT64_C(1) << m->stepper;
}

static bool is_shared(const struct lockstep *l)
{
	return l->with & (l->with - 1);
}

static void write_turn(struct lockstep *l, uint32_t flags)
{
	struct wire_turn *t = l->o.turn;

	if (!t)
		return;
	seqlock_write_begin(&t->seq);
	seqlock_store(&t->number, l->number);
	seqlock_store(&t->sim_ns, l->now.sim_ns);
	seqlock_store(&t->dur_ns, l->dur_ns);
	seqlock_store(&t->clock_generation, l->now.clock_generation);
	seqlock_store(&t->with, l->with);
	seqlock_store(&t->scale_e6, l->answer_scale_e6);
	seqlock_store(&t->flags, flags);
	seqlock_write_end(&t->seq);
}

/* Makes a member that waits on the page read its socket. */
static void rouse(struct member *m)
{
	struct wire_turn *t = m->l->o.turn;

	if (m->told != ON_PAGE)
		return;
	seqlock_write_begin(&t->seq);
	seqlock_write_end(&t->seq);
	futex_wake_bits(&t->seq, wire_turn_bit(m->stepper), FUTEX_BETWEEN_PROCESSES);
}

/* ---- leaving ---- */

static void member_free(struct member *m)
{
	list_remove(&m->link);
	mem_free(m);
}

/* Removes a member at once. A walk may still be using the object. */
static void member_out(struct member *m)
{
	struct lockstep *l = m->l;

	if (m->fd < 0)
		return;
	exec_io_del(&m->io);
	m->fd = fd_close(m->fd);
	m->state = M_IDLE;
	m->in_round = false;
	mark(m, WIRE_STEPPER_GONE);
	rouse(m);
	l->places &= ~bit_of(m);
	l->n--;
	if (!l->walking)
		member_free(m);
	if (l->n == 0)
		l->o.members(l->o.ctx);
}

static void sweep(struct lockstep *l)
{
	struct member *m, *tmp;

	list_for_each_safe(m, tmp, &l->members, link)
		if (m->fd < 0)
			member_free(m);
}

static void lost(struct member *m, const char *why)
{
	struct time_participant who = m->who;
	char name[TIME_NAME_MAX];
	struct lockstep *l = m->l;

	snprintf(name, sizeof(name), "%s", m->name);
	who.name = name;
	member_out(m);
	if (l->o.events->participant_lost)
		l->o.events->participant_lost(l->o.events_ctx, &who, why);
}

/* ---- notifying participants ---- */

static void notify(struct member *m, uint32_t op, uint32_t flags)
{
	const struct lockstep *l = m->l;
	struct step_packet p = {
		.op = op,
		.flags = flags,
		.number = m->number,
		.sim_ns = l->now.sim_ns,
		.dur_ns = l->dur_ns,
		.clock_generation = l->now.clock_generation,
		.with = op == STEP_TURN && l->o.steppers && is_shared(l) ? l->with : 0,
		.stepper = m->stepper,
		.turn_seq = l->o.turn ? seqlock_load(&l->o.turn->seq) : 0,
	};

	if (send(m->fd, &p, sizeof(p), MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof(p))
		lost(m, errno == EAGAIN ? "it does not read its turns" : "its socket is closed");
}

static void send_turn(struct member *m)
{
	uint32_t flags = is_shared(m->l) ? STEP_SHARED : 0;

	if (m->told == PAGE_ASKED) {
		m->told = ON_PAGE;
		flags |= STEP_ON_PAGE;
	}
	notify(m, STEP_TURN, flags);
}

static void release(struct member *m)
{
	m->state = M_RELEASE;
	notify(m, STEP_RELEASE, 0);
}

/* ---- acknowledgements ---- */

static void on_done(struct member *m, uint32_t kept)
{
	m->state = kept ? M_KEPT : M_IDLE;
	/* of an aborted round: its release would not be requested any more */
	if (m->state == M_KEPT && (m->l->phase == IDLE || m->number != m->l->number))
		release(m);
}

/* Whether it has acknowledged in shared memory. */
static bool has_done(const struct member *m)
{
	const struct wire_stepper *w = m->l->o.steppers;

	return m->state == M_TURN && w && atomic_load(&w[m->stepper].done) == m->number;
}

/* Handles acknowledgements in shared memory. Inside a walk. */
static void collect(struct lockstep *l)
{
	struct member *m;

	list_for_each(m, &l->members, link)
		if (has_done(m)) {
			m->shared = m->number;
			on_done(m, atomic_load(&l->o.steppers[m->stepper].kept));
		}
}

static void wait_from_now(struct lockstep *l)
{
	struct member *m;

	l->wait_mono_ns = exec_now(l->o.exec);
	list_for_each(m, &l->members, link)
		m->late = false;
	exec_timer_at(&l->timer, l->wait_mono_ns + l->o.deadline_dur_ns);
}

/* ---- the round ---- */

static bool takes_part(const struct lockstep *l, const struct member *m)
{
	return m->in_round && m->who.rank == l->rank;
}

/* A member of the round (whole), or of the present rank, whose state is (equal) or is not that state. */
static struct member *find(const struct lockstep *l, bool whole, enum member_state state, bool equal)
{
	struct member *m;

	list_for_each(m, &l->members, link)
		if (m->in_round && (whole || m->who.rank == l->rank) && (m->state == state) == equal)
			return m;
	return NULL;
}

/* Sets the lowest rank of the round that is at least `from`; false: there is none. */
static bool next_rank(struct lockstep *l, uint32_t from)
{
	struct member *m;

	list_for_each(m, &l->members, link)
		if (m->in_round && m->who.rank >= from) {
			l->rank = m->who.rank;
			return true;
		}
	return false;
}

/* Whether no rank follows and dispatch is idle; the last member itself knows whether it publishes. */
static bool is_all_that_is_left(const struct lockstep *l)
{
	const struct time_engine_events *ev = l->o.events;
	const struct member *m;

	list_for_each(m, &l->members, link)
		if (m->in_round && m->who.rank > l->rank)
			return false;
	return ev->idle && ev->idle(l->o.events_ctx);
}

static void give_turns(struct lockstep *l)
{
	struct member *m;
	uint32_t wake = 0;

	l->with = 0;
	list_for_each(m, &l->members, link)
		if (takes_part(l, m)) {
			l->with |= bit_of(m);
			mark(m, 0);
		}
	wait_from_now(l);
	l->may_answer = l->o.grant && l->answer_scale_e6 && is_all_that_is_left(l);
	write_turn(l, l->may_answer ? WIRE_TURN_ANSWERS : 0);
	list_for_each(m, &l->members, link) {
		if (!takes_part(l, m))
			continue;
		m->number = l->number;
		m->state = M_TURN;
		if (m->told == ON_PAGE)
			wake |= wire_turn_bit(m->stepper);
		else
			send_turn(m);
	}
	if (wake)
		futex_wake_bits(&l->o.turn->seq, wake, FUTEX_BETWEEN_PROCESSES);
}

/*
 * Whether the driver was answered by the last member. If it has not sent its next request yet, its present messages
 * belong to the next instant and are incomplete; they wait for the request, so that they are dispatched in one order.
 */
static bool is_answered(const struct lockstep *l)
{
	return l->may_answer && !wire_grant_close(l->o.grant, l->number);
}

/* Goes to the next rank, or to dispatch; true: the round is over. */
static bool next(struct lockstep *l, uint32_t from)
{
	if (next_rank(l, from)) {
		l->phase = TURN;
		give_turns(l);
		return false;
	}
	l->phase = DISPATCH;
	wait_from_now(l);
	return is_answered(l) || !l->o.events->dispatch || l->o.events->dispatch(l->o.events_ctx);
}

/* Makes one move if possible. 1: moved; 0: a participant is waited for; 2: the round is over. */
static int move_once(struct lockstep *l)
{
	struct member *m;

	collect(l);
	switch (l->phase) {
	case GATHER:
		if (find(l, true, M_IDLE, false))
			return 0;
		return next(l, 0) ? 2 : 1;
	case TURN:
		if (find(l, false, M_TURN, true))
			return 0;
		l->phase = RELEASE;
		return 1;
	case RELEASE:
		if (find(l, false, M_RELEASE, true))
			return 0;
		m = find(l, false, M_KEPT, true);
		if (!m)
			return next(l, l->rank + 1) ? 2 : 1;
		wait_from_now(l);
		release(m);
		return 1;
	default:
		return 0;
	}
}

/* Moves as far as possible without waiting; true: the round is over. */
static bool move(struct lockstep *l)
{
	int r;

	l->walking++;
	do
		r = move_once(l);
	while (r == 1);
	l->walking--;
	if (!l->walking)
		sweep(l);
	if (r == 2)
		l->phase = IDLE;
	return r == 2;
}

static void go_on(struct lockstep *l)
{
	if (!l->walking && move(l))
		l->o.ended(l->o.ctx);
}

bool lockstep_begin(struct lockstep *l, const struct sim_clock_sample *now, int64_t dur_ns, bool alone)
{
	struct member *m;

	l->number++;
	if (!l->n && !alone)
		return false;
	l->now = *now;
	l->dur_ns = dur_ns;
	list_for_each(m, &l->members, link)
		m->in_round = true;
	l->phase = GATHER;
	l->may_answer = false;
	wait_from_now(l);
	return !move(l);
}

void lockstep_let_answer(struct lockstep *l, int64_t scale_e6)
{
	l->answer_scale_e6 = scale_e6;
}

void lockstep_answered(struct lockstep *l)
{
	l->may_answer = false;
}

void lockstep_look(struct lockstep *l)
{
	if (l->phase != IDLE)
		go_on(l);
}

uint64_t lockstep_number(const struct lockstep *l)
{
	return l->number;
}

void lockstep_dispatched(struct lockstep *l)
{
	if (l->phase != DISPATCH)
		return;
	l->phase = IDLE;
	l->o.ended(l->o.ctx);
}

void lockstep_abort(struct lockstep *l)
{
	struct member *m;

	if (l->phase == IDLE)
		return;
	l->phase = IDLE;
	/*
	 * WIRE_TURN_ANSWERS: without this the last member would report the end of the aborted round to the driver, not
	 * to simd
	 */
	if (l->o.turn && l->o.turn->flags) {
		write_turn(l, 0);
		atomic_thread_fence(memory_order_seq_cst);
	}
	l->walking++;
	list_for_each(m, &l->members, link)
		if (m->state == M_KEPT)
			release(m);
	l->walking--;
	sweep(l);
}

/* ---- late participants ---- */

static void report_late(struct lockstep *l, const struct time_participant *who, int64_t waited_dur_ns)
{
	if (l->o.late != TIME_LATE_WAIT && l->o.events->late)
		l->o.events->late(l->o.events_ctx, who, waited_dur_ns, l->o.late == TIME_LATE_DROP);
}

static void one_late(struct member *m, int64_t waited_dur_ns)
{
	struct lockstep *l = m->l;
	struct time_participant who = m->who;

	m->late = true;
	if (l->o.late == TIME_LATE_DROP) {
		notify(m, STEP_DROPPED, 0);
		member_out(m);
	}
	report_late(l, &who, waited_dur_ns);
}

static bool is_awaited(const struct lockstep *l, const struct member *m)
{
	switch (l->phase) {
	case GATHER:
		return m->in_round && m->state != M_IDLE;
	case TURN:
		return takes_part(l, m) && m->state == M_TURN;
	case RELEASE:
		return takes_part(l, m) && m->state == M_RELEASE;
	default:
		return false;
	}
}

static void on_deadline(void *arg)
{
	struct lockstep *l = arg;
	int64_t waited = exec_now(l->o.exec) - l->wait_mono_ns;
	struct member *m;

	if (l->phase == IDLE)
		return;
	if (l->phase == DISPATCH) {
		report_late(l, NULL, waited);
		if (l->o.late == TIME_LATE_DROP)
			lockstep_dispatched(l);
		return;
	}
	l->walking++;
	collect(l);
	list_for_each(m, &l->members, link)
		if (is_awaited(l, m))
			one_late(m, waited);
	l->walking--;
	sweep(l);
	go_on(l);
}

/* ---- packets ---- */

static void tell_by_packet(struct member *m)
{
	bool again = m->told == ON_PAGE && m->state == M_TURN && !has_done(m);

	rouse(m);
	m->told = BY_PACKET;
	if (again)
		send_turn(m);
}

static void on_packet(struct member *m, const struct step_packet *p)
{
	struct lockstep *l = m->l;

	l->walking++;
	if (p->op == STEP_DONE && m->state == M_TURN && p->number == m->number) {
		mark(m, m->number);
		on_done(m, p->kept);
	} else if (p->op == STEP_DONE && p->number && p->number <= m->shared) {
		/*
		 * read in shared memory already: two members found themselves the last, or the word was read before the
		 * packet came
		 */
		;
	} else if (p->op == STEP_RELEASED && m->state == M_RELEASE && p->number == m->number) {
		m->state = M_IDLE;
	} else if (p->op == STEP_PAGE && l->o.turn) {
		if (m->told == BY_PACKET)
			m->told = PAGE_ASKED;
	} else if (p->op == STEP_PACKETS) {
		tell_by_packet(m);
	} else {
		lost(m, "it sent an unexpected packet");
	}
	l->walking--;
	sweep(l);
	go_on(l);
}

static void on_socket(void *arg, uint32_t events)
{
	struct member *m = arg;
	struct lockstep *l = m->l;
	struct step_packet p;
	ssize_t n = recv(m->fd, &p, sizeof(p), MSG_DONTWAIT | MSG_TRUNC);

	(void)events;
	if (n == (ssize_t)sizeof(p)) {
		on_packet(m, &p);
	} else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
		lost(m, n > 0 ? "it sent a packet of the wrong size" : "its socket was closed");
		go_on(l);
	}
}

/* ---- joining ---- */

static bool before(const struct member *a, const struct member *b)
{
	int c = strcmp(a->name, b->name);

	if (a->who.rank != b->who.rank)
		return a->who.rank < b->who.rank;
	return c ? c < 0 : a->who.client_id < b->who.client_id;
}

static void insert(struct lockstep *l, struct member *m)
{
	struct member *at;

	list_for_each(at, &l->members, link)
		if (before(m, at)) {
			list_append(&at->link, &m->link); /* inserts before it */
			return;
		}
	list_append(&l->members, &m->link);
}

static int check_join(const struct lockstep *l, const struct time_participant *who)
{
	const struct member *m;

	if (l->n >= TIME_PARTICIPANTS_MAX)
		return err_set(-EMFILE, "%u clients take part in steps, that is the limit", l->n);
	list_for_each(m, &l->members, link)
		if (m->who.client_id == who->client_id)
			return err_set(-EBUSY, "client %s takes part in steps already", m->name);
	return 0;
}

int lockstep_join(struct lockstep *l, int fd, const struct time_participant *who)
{
	int r = check_join(l, who);
	struct member *m = r < 0 ? NULL : MEM_NEW(struct member);

	if (r >= 0 && !m)
		r = err_nomem();
	if (r >= 0)
		r = exec_io_add(l->o.exec, &m->io, fd, EPOLLIN, on_socket, m);
	if (r < 0) {
		fd_close(fd);
		mem_free(m);
		return r;
	}
	m->l = l;
	m->fd = fd;
	m->stepper = (uint32_t)__builtin_ctzll(~l->places);
	l->places |= bit_of(m);
	m->who = *who;
	snprintf(m->name, sizeof(m->name), "%s", who->name ? who->name : "a client");
	m->who.name = m->name;
	insert(l, m);
	if (l->n++ == 0)
		l->o.members(l->o.ctx);
	return 0;
}

void lockstep_drop_client(struct lockstep *l, uint32_t client_id)
{
	struct member *m;

	list_for_each(m, &l->members, link)
		if (m->fd >= 0 && m->who.client_id == client_id) {
			lost(m, "its client has ended");
			go_on(l);
			return;
		}
}

/* ---- making ---- */

int lockstep_create(const struct lockstep_options *o, struct lockstep **ret)
{
	struct lockstep *l = MEM_NEW(struct lockstep);

	if (!l)
		return err_nomem();
	l->o = *o;
	list_init(&l->members);
	exec_timer_init(&l->timer, l->o.exec, on_deadline, l);
	*ret = l;
	return 0;
}

void lockstep_destroy(struct lockstep *l)
{
	struct member *m, *tmp;

	if (!l)
		return;
	exec_timer_cancel(&l->timer);
	list_for_each_safe(m, tmp, &l->members, link) {
		exec_io_del(&m->io);
		fd_close(m->fd);
		member_free(m);
	}
	mem_free(l);
}

/* ---- status ---- */

uint32_t lockstep_members(const struct lockstep *l)
{
	return l->n;
}

bool lockstep_has(const struct lockstep *l, uint32_t client_id)
{
	const struct member *m;

	list_for_each(m, &l->members, link)
		if (m->fd >= 0 && m->who.client_id == client_id)
			return true;
	return false;
}

bool lockstep_busy(const struct lockstep *l)
{
	return l->phase != IDLE;
}

uint32_t lockstep_list(const struct lockstep *l, struct time_participant *ret, uint32_t max)
{
	int64_t now = exec_now(l->o.exec);
	const struct member *m;
	uint32_t n = 0;

	list_for_each(m, &l->members, link) {
		if (m->fd < 0 || n == max)
			continue;
		ret[n] = m->who;
		ret[n].awaited = is_awaited(l, m) && !has_done(m);
		ret[n].late = ret[n].awaited && m->late;
		ret[n].waited_dur_ns = ret[n].awaited ? now - l->wait_mono_ns : 0;
		n++;
	}
	return n;
}
