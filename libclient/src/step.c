/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-step, the participant's side: turns come on a socket of their own or on the layout page (schemas/wire/step.h).
 * In a turn that others share, publishers pass their messages to step_keep(); simd notifies when they may go out.
 *
 * Thread: wait and done one at a time; step_keep any; step_register() under client::setup.
 */
#include "step.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>

#include "clockmap.h"
#include "err.h"
#include "fd.h"
#include "futex.h"
#include "mem.h"
#include "publisher.h"
#include "seqlock.h"
#include "timer.h"
#include "timeutil.h"
#include "wire/step.h"

#define SLICE_DUR_NS (50 * NS_PER_MS)
/* simd wakes waiters on the page for other events too, unless it dies just as this thread falls asleep */
#define PAGE_DUR_NS NS_PER_S
#define PAGE_TRIES  16

struct sim_step {
	struct handle h;
	struct sim_client *c;
	uint32_t rank;
	_Atomic int next_fd;     /* from a new simd, adopted at the next call; -1: none */
	_Atomic int fd;          /* -1: simd is gone */
	uint64_t session_serial; /* session::serial that gave it; under setup */
	bool dropped;            /* this client was late and was dropped, for good */
	bool open;               /* in a turn */
	uint64_t number;         /* of the step */
	/* the others that share the turn, step_packet::with; 0: acknowledge to simd */
	uint64_t with;
	uint32_t stepper;                       /* this client's index there */
	struct session *session;                /* that fd belongs to; referenced */
	bool page_asked;                        /* STEP_PAGE was sent */
	_Atomic bool polled;                    /* the program has the descriptor: from now on turns come as packets */
	const struct wire_turn *page;           /* page on which turns come; NULL: as packets */
	uint32_t seen;                          /* its seq up to which everything was read */
	bool keeps;                             /* a RELEASE will come, as a packet */
	_Atomic(struct session *) next_session; /* belongs to next_fd */
	pthread_mutex_t lock;
	struct kept *kept; /* guarded by lock, as are the next two */
	size_t n_kept, cap_kept;
};

/* ---- joining ---- */

static int join(struct sim_client *c, struct session *s, uint32_t rank, int *ret_fd)
{
	return session_call_fd(c, s, "JoinStep", json_pack("{sI}", "rank", (json_int_t)rank), "step socket", ret_fd);
}

void step_register(struct sim_client *c, struct session *s)
{
	struct sim_step *st = c->step;
	int fd;

	if (!st || st->session_serial == s->serial || join(c, s, st->rank, &fd) < 0)
		return;
	st->session_serial = s->serial;
	session_unref(atomic_exchange(&st->next_session, session_ref(s)));
	fd_close(atomic_exchange(&st->next_fd, fd));
}

void step_rouse(const struct session *s)
{
	const struct wire_turn *t = session_turn(s);

	if (t)
		futex_wake_all(&t->seq, FUTEX_BETWEEN_PROCESSES);
}

int sim_step_join(struct sim_client *c, uint32_t rank, struct sim_step **ret)
{
	struct sim_step *st;
	struct session *s = NULL;
	int fd = -1, r = client_guard(c);

	if (r < 0)
		return r;
	if (!ret || rank > SIM_STEP_RANK_MAX)
		return err_set(-EINVAL,
			       "sim_step_join: rank %u is out of range, 0 to %u, or the output pointer is NULL", rank,
			       SIM_STEP_RANK_MAX);
	st = MEM_NEW(struct sim_step);
	if (!st)
		return err_nomem();
	st->c = c;
	st->h.alive = c->alive;
	st->rank = rank;
	atomic_init(&st->next_fd, -1);
	pthread_mutex_init(&st->lock, NULL);
	client_setup_lock(c);
	r = c->step ? err_set(-EBUSY, "this client takes part in steps already") : client_session(c, &s);
	if (r == 0)
		r = join(c, s, rank, &fd);
	if (r == 0) {
		st->session_serial = s->serial;
		st->session = session_ref(s);
		atomic_init(&st->fd, fd);
		__atomic_store_n(&c->step, st, __ATOMIC_RELAXED);
		*ret = st;
	}
	client_setup_unlock(c);
	session_unref(s);
	timers_rouse(c);
	if (r < 0) {
		pthread_mutex_destroy(&st->lock);
		mem_free(st);
	}
	return r;
}

/* ---- messages that are kept back ---- */

int step_keep(struct sim_client *c, const struct kept *k)
{
	struct sim_step *st = c->step;
	int r = 0;

	pthread_mutex_lock(&st->lock);
	if (st->n_kept == st->cap_kept) {
		size_t cap = st->cap_kept ? 2 * st->cap_kept : 16;
		struct kept *v = mem_realloc(st->kept, cap * sizeof(*v));

		if (v) {
			st->kept = v;
			st->cap_kept = cap;
		} else {
			r = err_nomem();
		}
	}
	if (r == 0)
		st->kept[st->n_kept++] = *k;
	pthread_mutex_unlock(&st->lock);
	return r;
}

/* Removes the first message, or the first of that publisher, from the list. */
static bool pop(struct sim_step *st, const struct sim_publisher *p, struct kept *ret)
{
	size_t i = 0;

	pthread_mutex_lock(&st->lock);
	while (i < st->n_kept && p && st->kept[i].pub != p)
		i++;
	if (i == st->n_kept) {
		pthread_mutex_unlock(&st->lock);
		return false;
	}
	*ret = st->kept[i];
	st->n_kept--;
	for (; i < st->n_kept; i++)
		st->kept[i] = st->kept[i + 1];
	pthread_mutex_unlock(&st->lock);
	return true;
}

static void send_kept(struct sim_step *st)
{
	struct kept k;

	while (pop(st, NULL, &k))
		publisher_send_kept(&k);
}

void step_drop_kept(struct sim_client *c, struct sim_publisher *p)
{
	struct kept k;
	int r;

	while (c->step && pop(c->step, p, &k)) {
		PORT_RETRY(r, ipc_unloan(k.port->pub, k.slot));
		(void)r;
		p->n_kept--;
		pub_port_unref(k.port);
		kept_failed(&k, SIM_REASON_INVALID);
	}
}

static uint32_t kept_count(struct sim_step *st)
{
	size_t n;

	pthread_mutex_lock(&st->lock);
	n = st->n_kept;
	pthread_mutex_unlock(&st->lock);
	return (uint32_t)n;
}

bool step_forbids_waiting(const struct sim_client *c)
{
	uint32_t flags = SIM_LOAD_(&c->page->flags, __ATOMIC_RELAXED);

	return (flags & SIM_CLOCK_LOCKSTEP) &&
	       (c->driver || atomic_load_explicit(&c->turn, memory_order_relaxed) != TURN_NONE);
}

/* ---- turns ---- */

static void turn_set(struct sim_step *st, enum client_turn turn)
{
	st->open = turn != TURN_NONE;
	atomic_store(&st->c->turn, turn);
}

/* Reads simd's last packets, after it closed the socket. */
static void read_last(struct sim_step *st)
{
	struct step_packet p;

	while (st->fd >= 0 && recv(st->fd, &p, sizeof(p), MSG_DONTWAIT) == (ssize_t)sizeof(p))
		st->dropped |= p.op == STEP_DROPPED;
}

static int step_gone(struct sim_step *st)
{
	read_last(st);
	fd_close(atomic_exchange(&st->fd, -1));
	st->page = NULL;
	turn_set(st, TURN_NONE);
	send_kept(st); /* to local subscribers; simd has completed the rest */
	if (st->dropped)
		return err_set(-ECONNABORTED, "simd dropped this client out of the steps: it was late "
					      "(step.deadline_ms); leave and join again");
	return err_set(-ENOTCONN, "disconnected from simd; the library joins its steps again when it is back");
}

static int step_send(struct sim_step *st, uint32_t op, uint32_t kept)
{
	struct step_packet p = { .op = op, .number = st->number, .kept = kept };

	if (send(st->fd, &p, sizeof(p), MSG_NOSIGNAL) == (ssize_t)sizeof(p))
		return 0;
	return step_gone(st);
}

static int step_enter(struct sim_step *st)
{
	int fd, r = handle_enter(&st->h, "step");

	if (r < 0)
		return r;
	fd = atomic_exchange(&st->next_fd, -1);
	if (fd < 0)
		return 0;
	session_unref(st->session);
	st->session = atomic_exchange(&st->next_session, NULL);
	if (st->open)
		turn_set(st, TURN_NONE); /* the turn of the old simd */
	send_kept(st);
	fd_close(atomic_exchange(&st->fd, fd));
	st->page = NULL;
	st->dropped = st->page_asked = st->keeps = false;
	st->number = 0;
	return 0;
}

/* Returns 1: a packet, 0: none; -1: simd is gone. */
static int packet_recv(struct sim_step *st, int flags, struct step_packet *ret)
{
	ssize_t n = recv(st->fd, ret, sizeof(*ret), flags);

	if (n == (ssize_t)sizeof(*ret))
		return 1;
	return n >= 0 || (errno != EAGAIN && errno != EINTR) ? -1 : 0;
}

/* Reads one packet, or waits for one. Returns 1: a packet, 0: none by until_mono_ns; -1: simd is gone. */
static int step_recv(struct sim_step *st, int64_t until_mono_ns, struct step_packet *ret)
{
	struct sim_client *c = st->c;
	bool own = client_pumps(c), block = !own && until_mono_ns == INT64_MAX;

	for (;;) {
		int64_t now, left;
		int r = packet_recv(st, block ? 0 : MSG_DONTWAIT, ret);

		if (r)
			return r;
		now = client_now(c);
		if (now >= until_mono_ns)
			return 0;
		left = own && until_mono_ns - now > SLICE_DUR_NS ? SLICE_DUR_NS : until_mono_ns - now;
		client_sleep(c, st->fd, POLLIN, left);
		if (own)
			client_work(c);
	}
}

/* ---- turns on the page ---- */

/* Asks for turns on the page; simd answers with the next turn. */
static int ask_for_page(struct sim_step *st)
{
	int r;

	if (st->page_asked || !st->session || !session_turn(st->session) || atomic_load(&st->polled))
		return 0;
	st->page_asked = true;
	r = step_send(st, STEP_PAGE, 0);
	/* sim_step_fd(), called meanwhile, may have sent this before STEP_PAGE */
	if (r == 0 && atomic_load(&st->polled))
		r = step_send(st, STEP_PACKETS, 0);
	return r;
}

/* False: simd is writing it. */
static bool page_read(const struct wire_turn *t, uint32_t *ret_seq, struct step_packet *ret)
{
	for (int i = 0; i < PAGE_TRIES; i++) {
		if (!seqlock_read_begin(&t->seq, ret_seq))
			continue;
		*ret = (struct step_packet){
			.op = STEP_TURN,
			.number = seqlock_load(&t->number),
			.sim_ns = seqlock_load(&t->sim_ns),
			.dur_ns = seqlock_load(&t->dur_ns),
			.clock_generation = seqlock_load(&t->clock_generation),
			.with = seqlock_load(&t->with),
		};
		if (seqlock_read_ok(&t->seq, *ret_seq))
			return true;
	}
	return false;
}

/* Whether the page holds a turn of this client. */
static bool page_turn(const struct sim_step *st, uint32_t *ret_seq, struct step_packet *ret)
{
	if (!page_read(st->page, ret_seq, ret) || ret->number <= st->number || !(ret->with >> st->stepper % 64 & 1))
		return false;
	ret->stepper = st->stepper;
	ret->flags = ret->with & (ret->with - 1) ? STEP_SHARED : 0;
	return true;
}

/* Waits until the page may have changed, or a packet may have come; in slices as step_recv(). */
static void page_wait(struct sim_step *st, int64_t dur_ns)
{
	struct sim_client *c = st->c;
	bool own = client_pumps(c);
	int64_t slice_dur_ns = c->env ? NS_PER_MS : own || st->keeps ? SLICE_DUR_NS : PAGE_DUR_NS;

	if (dur_ns > slice_dur_ns)
		dur_ns = slice_dur_ns;
	if (st->keeps || c->env)
		client_sleep(c, st->fd, POLLIN, dur_ns);
	else
		futex_wait_bits(&st->page->seq, st->seen, mono_now_ns() + dur_ns, wire_turn_bit(st->stepper),
				FUTEX_BETWEEN_PROCESSES);
	if (own)
		client_work(c);
}

/*
 * As step_recv(). Reads the socket when anything but a turn of this client has happened: once simd has dropped this
 * client, another may have its place.
 */
static int page_next(struct sim_step *st, int64_t until_mono_ns, struct step_packet *ret)
{
	for (bool waited = false; !atomic_load(&st->polled); waited = true) {
		uint32_t seq;
		struct step_packet turn;
		bool ours = page_turn(st, &seq, &turn);
		int64_t now = client_now(st->c);
		bool over = !ours && now >= until_mono_ns;
		int r;

		if (st->keeps || over || seq - st->seen > (ours ? 2 : 0) || (waited && !ours)) {
			r = packet_recv(st, MSG_DONTWAIT, ret);
			if (r)
				return r;
		}
		st->seen = seq;
		if (ours)
			*ret = turn;
		if (ours || over)
			return ours;
		page_wait(st, until_mono_ns - now);
	}
	st->page = NULL;
	return step_recv(st, until_mono_ns, ret);
}

static void turn_begin(struct sim_step *st, const struct step_packet *p, struct sim_step_turn *ret)
{
	struct sim_clock_sample now;

	st->number = p->number;
	st->with = p->with;
	st->stepper = p->stepper;
	if (p->flags & STEP_ON_PAGE) {
		st->page = session_turn(st->session);
		st->seen = p->turn_seq;
	}
	atomic_store_explicit(&st->c->turn_sent, false, memory_order_relaxed);
	turn_set(st, p->flags & STEP_SHARED ? TURN_SHARED : TURN_ALONE);
	clock_sample(st->c, &now); /* for its flags; the time is the turn's */
	now.sim_ns = p->sim_ns;
	now.clock_generation = p->clock_generation;
	ret->now = now;
	ret->dur_ns = p->dur_ns;
	ret->number = p->number;
	ret->shared = (p->flags & STEP_SHARED) != 0;
	timers_run_turn(st->c, &now);
}

/* Handles a packet: 1: it is this client's turn, 0: go on waiting, or negative errno. */
static int on_packet(struct sim_step *st, const struct step_packet *p, struct sim_step_turn *ret)
{
	switch (p->op) {
	case STEP_TURN:
		if (p->number <= st->number)
			return 0; /* sent again for sim_step_fd(): it was already read from the page */
		turn_begin(st, p, ret);
		return 1;
	case STEP_RELEASE:
		st->keeps = false;
		send_kept(st);
		return step_send(st, STEP_RELEASED, 0);
	case STEP_DROPPED:
		st->dropped = true;
		return step_gone(st);
	default:
		return 0; /* sent by a later version */
	}
}

static int wait_turn(struct sim_step *st, int64_t until_mono_ns, struct sim_step_turn *ret)
{
	struct step_packet p;
	int r;

	if (st->open)
		return err_set(-EINVAL, "sim_step_wait: the last turn is open; acknowledge it with sim_step_done()");
	if (st->fd < 0)
		return step_gone(st);
	r = ask_for_page(st);
	if (r < 0)
		return r;
	do {
		r = st->page ? page_next(st, until_mono_ns, &p) : step_recv(st, until_mono_ns, &p);
		if (r < 0)
			return step_gone(st);
		if (r == 0)
			return err_set(-ETIMEDOUT, "sim_step_wait: no step has reached rank %u", st->rank);
		r = on_packet(st, &p, ret);
	} while (r == 0);
	return r < 0 ? r : 0;
}

int sim_step_wait(struct sim_step *st, int64_t wall_timeout_dur_ns, struct sim_step_turn *ret)
{
	int64_t until;
	int r;

	if (!st || !ret)
		return err_set(-EINVAL, "sim_step_wait: nothing was joined, or the output pointer is NULL");
	r = step_enter(st);
	if (r < 0)
		return r;
	until = wall_timeout_dur_ns < 0 ? INT64_MAX : ns_add(client_now(st->c), wall_timeout_dur_ns);
	r = wait_turn(st, until, ret);
	handle_leave(&st->h);
	return r;
}

/*
 * Stores into shared memory that this participant is done, where all of its rank look, and returns whether it is the
 * last. Store and loads are sequentially consistent: of two that end at once, one sees the other.
 */
static bool is_last(struct sim_step *st, uint32_t kept, bool *ret_kept)
{
	struct session *s = st->session;
	uint64_t with = st->with;

	*ret_kept = true; /* assume so without the page */
	if (!with || !s || !s->dispatch || st->stepper >= s->layout->steppers.count)
		return true;
	*ret_kept = false;
	atomic_store(&session_stepper(s, st->stepper)->kept, kept);
	atomic_store(&session_stepper(s, st->stepper)->done, st->number);
	for (; with; with &= with - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(with);
		uint64_t done = i < s->layout->steppers.count ? atomic_load(&session_stepper(s, i)->done) : 0;

		if (done != st->number && done != WIRE_STEPPER_GONE)
			return false;
		*ret_kept |= done == st->number && atomic_load(&session_stepper(s, i)->kept);
	}
	return true;
}

/*
 * Answers the driver directly, when nothing is left to do in this step: the driver goes on, and simd need not be woken.
 * The fence is for a round that is given up: either this thread sees that, or simd sees that this participant is done.
 */
static bool answer_driver(struct sim_step *st)
{
	const struct session *s = st->session;
	const struct wire_turn *t = session_turn(s);
	struct wire_grant *g = pages_grant(s->layout, s->dispatch);
	uint32_t seq;

	if (!t || !g || atomic_load_explicit(&st->c->turn_sent, memory_order_relaxed))
		return false;
	atomic_thread_fence(memory_order_seq_cst);
	if (!seqlock_read_begin(&t->seq, &seq) || seqlock_load(&t->number) != st->number ||
	    !(seqlock_load(&t->flags) & WIRE_TURN_ANSWERS) || !seqlock_read_ok(&t->seq, seq))
		return false;
	if (!wire_grant_take(g, st->number))
		return false;
	atomic_fetch_add(&g->moved, 1);
	futex_wake_all(&g->moved, FUTEX_BETWEEN_PROCESSES);
	return true;
}

/* The participant that finds that it is the last acknowledges for its whole rank. */
static int acknowledge(struct sim_step *st)
{
	uint32_t kept = kept_count(st);
	bool any_kept;

	st->keeps = kept > 0;
	turn_set(st, TURN_NONE);
	if (!is_last(st, kept, &any_kept) || (!any_kept && answer_driver(st)))
		return 0;
	return step_send(st, STEP_DONE, kept);
}

int sim_step_done(struct sim_step *st)
{
	int r;

	if (!st)
		return err_set(-EINVAL, "sim_step_done: nothing was joined");
	r = step_enter(st);
	if (r < 0)
		return r;
	if (st->open) {
		r = acknowledge(st);
	} else if (st->fd < 0) {
		r = step_gone(st);
	} else {
		r = err_set(-EINVAL, "sim_step_done: no turn is open; wait for one with sim_step_wait()");
	}
	handle_leave(&st->h);
	return r;
}

int sim_step_fd(const struct sim_step *st)
{
	struct step_packet p = { .op = STEP_PACKETS };
	struct sim_step *w = (struct sim_step *)(uintptr_t)st; /* changes only how turns are delivered */
	int fd = st ? atomic_load(&st->next_fd) : -1;

	if (fd < 0 && st)
		fd = st->fd;
	if (fd >= 0 && client_alive(st->c) && !atomic_exchange(&w->polled, true))
		(void)!send(fd, &p, sizeof(p), MSG_NOSIGNAL | MSG_DONTWAIT);
	return fd >= 0 ? fd : err_set(-ENOTCONN, "sim_step_fd: disconnected from simd; ask again when it is back");
}

void sim_step_leave(struct sim_step *st)
{
	struct sim_client *c;

	if (!st || !client_alive(st->c))
		return;
	c = st->c;
	turn_set(st, TURN_NONE);
	send_kept(st);
	client_setup_lock(c);
	__atomic_store_n(&c->step, NULL, __ATOMIC_RELAXED);
	client_setup_unlock(c);
	timers_rouse(c);
	fd_close(atomic_load(&st->next_fd));
	fd_close(st->fd); /* simd takes the hang-up as leaving */
	session_unref(st->session);
	session_unref(atomic_load(&st->next_session));
	pthread_mutex_destroy(&st->lock);
	mem_free(st->kept);
	mem_free(st);
}
