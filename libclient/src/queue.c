/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot path: acceptance, decided here without a round trip, and publishing. In order: time runs, the token is free,
 * a credit is free, and only then (for a copy) the slot; a later refusal releases the earlier claims. Nothing here
 * allocates, takes a lock, or makes a system call except the doorbell and, when the window is full, the wait for a
 * credit.
 *
 * Thread: the publisher's. A refusal's callback runs here, after the publisher has been left.
 */
#include <sim/publisher.h>

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "clockmap.h"
#include "err.h"
#include "futex.h"
#include "publisher.h"
#include "seqlock.h"
#include "step.h"
#include "timeutil.h"
#include "token.h"
#include "tsan.h"

#define CREDIT_SLICE_DUR_NS (20 * NS_PER_MS) /* how long the loss of simd may go unnoticed by a waiting producer */

/* One message during acceptance. */
struct publish {
	struct sim_publisher *p;
	struct pub_reg *reg;
	struct sim_token *token;
	bool dispatch; /* for bridges too */
	/*
	 * Time of publishing: read at the start, while the slot's header is being fetched into the cache, which the
	 * first locked instruction waits for anyway; read again after a wait.
	 */
	int64_t now_mono_ns;
	struct claim claim;
	sim_done_fn cb;
	void *user;
	struct sync_done *sync;
	enum sim_reason reason; /* of a refusal */
};

static int refuse(struct publish *q, int r, enum sim_reason reason)
{
	q->reason = reason;
	return r;
}

/* ---- acceptance ---- */

/* Checks the state of the registration, for a message that needs simd. */
static int check_state(struct publish *q)
{
	switch (atomic_load_explicit(&q->reg->state, memory_order_seq_cst)) {
	case REG_UP:
		return 0;
	case REG_STALE:
		return err_set(refuse(q, -ESTALE, SIM_REASON_RESTART),
			       "channel %s: the data plane was restarted; "
			       "the library attaches again, try in a moment",
			       q->reg->name);
	case REG_FAILED:
		return err_set(refuse(q, q->reg->error, SIM_REASON_LOST),
			       "channel %s: simd refused it after a restart: %s", q->reg->name,
			       err_text(q->reg->error));
	default:
		return err_set(refuse(q, -ENOTCONN, SIM_REASON_LOST),
			       "channel %s: disconnected from simd; the library connects "
			       "again when it is back",
			       q->reg->name);
	}
}

static int check_pause(struct publish *q)
{
	const struct sim_clock_page *page = q->p->c->page;

	if (__builtin_expect(!(seqlock_load(&page->flags) & SIM_CLOCK_PAUSED), 1))
		return 0;
	return err_set(refuse(q, -ECANCELED, SIM_REASON_PAUSED), "channel %s: simulated time is paused", q->reg->name);
}

static int claim_token(struct publish *q)
{
	const struct session *s = q->reg->session;
	_Atomic uint64_t *cell;
	uint64_t free_cell = 0;
	uint32_t index;

	if (!q->token)
		return 0;
	index = atomic_load_explicit(&q->token->cell, memory_order_relaxed);
	if (index >= s->layout->tokens.count)
		return err_set(refuse(q, -ENOTCONN, SIM_REASON_LOST), "token %s is not known to simd at present",
			       q->token->name);
	cell = wire_at(s->dispatch, s->layout->tokens, index);
	if (!atomic_compare_exchange_strong_explicit(cell, &free_cell, q->claim.value, memory_order_acquire,
						     memory_order_relaxed))
		return err_set(refuse(q, -EBUSY, SIM_REASON_TOKEN), "token %s is in use by another message",
			       q->token->name);
	q->claim.token = cell;
	q->claim.token_cell = index + 1;
	return 0;
}

static bool credit_try(struct publish *q)
{
	struct wire_channel *ch = q->reg->channel;
	uint32_t window = atomic_load_explicit(&q->reg->info->window, memory_order_relaxed);
	uint32_t start = atomic_load_explicit(&ch->hint, memory_order_relaxed);

	if (window > q->reg->cells)
		window = q->reg->cells;
	for (uint32_t i = 0; i < window; i++) {
		uint32_t at = (start + i) % window;
		uint64_t free_cell = 0;

		if (atomic_load_explicit(&ch->cell[at], memory_order_relaxed) ||
		    !atomic_compare_exchange_strong_explicit(&ch->cell[at], &free_cell, q->claim.value,
							     memory_order_acquire, memory_order_relaxed))
			continue;
		atomic_store_explicit(&ch->hint, at + 1, memory_order_relaxed);
		q->claim.credit = &ch->cell[at];
		q->claim.credit_cell = at + 1;
		return true;
	}
	return false;
}

/* Sleeps until simd frees a credit, or for a short while. */
static void credit_park(struct publish *q, uint32_t seen, int64_t left_dur_ns)
{
	struct sim_client *c = q->p->c;

	if (left_dur_ns > CREDIT_SLICE_DUR_NS)
		left_dur_ns = CREDIT_SLICE_DUR_NS;
	if (c->env) {
		client_sleep(c, -1, 0, left_dur_ns < NS_PER_MS ? left_dur_ns : NS_PER_MS);
		return;
	}
	futex_wait(&q->reg->info->freed, seen, left_dur_ns, FUTEX_BETWEEN_PROCESSES);
}

/* While it waits for a lossless bridge, wait_ms does not begin. */
static int credit_wait(struct publish *q)
{
	struct wire_channel *ch = q->reg->channel;
	uint32_t wait_ms = atomic_load_explicit(&q->reg->session->layout->wait_ms, memory_order_relaxed);
	int64_t start = client_now(q->p->c), until = start + (int64_t)wait_ms * NS_PER_MS, now = start;
	int r = 0;
	bool got = false, lossless;

	do {
		uint32_t seen = atomic_load(&q->reg->info->freed);

		/*
		 * simd clears it before it increments `freed`: a producer that read `freed` before that does not sleep
		 */
		atomic_store_explicit(&ch->waiters, 1, memory_order_relaxed);
		atomic_thread_fence(memory_order_seq_cst); /* set before the cells are checked */
		got = credit_try(q);
		if (got)
			break;
		r = check_state(q);
		if (r < 0)
			break;
		lossless = atomic_load_explicit(&q->reg->info->waited, memory_order_relaxed) != 0;
		credit_park(q, seen, lossless ? CREDIT_SLICE_DUR_NS : until - now);
		now = client_now(q->p->c);
		until = lossless ? now + (int64_t)wait_ms * NS_PER_MS : until;
	} while (lossless || now < until);
	if (!got && r == 0)
		got = credit_try(q);
	q->now_mono_ns = client_now(q->p->c);
	atomic_fetch_add_explicit(&q->reg->counters->wait_ns, (uint64_t)(q->now_mono_ns - start), memory_order_relaxed);
	if (got || r < 0)
		return r;
	return err_set(refuse(q, -ETIMEDOUT, SIM_REASON_TIMEOUT),
		       "channel %s: no credit within %u ms (dispatch.wait_ms): "
		       "its bridges are too slow for its rate",
		       q->reg->name, wait_ms);
}

static int claim_credit(struct publish *q)
{
	int r;

	if (__builtin_expect(credit_try(q), 1))
		return 0;
	if (q->p->flags & SIM_PUB_NO_WAIT)
		return err_set(refuse(q, -EAGAIN, SIM_REASON_NO_CREDIT),
			       "channel %s: its window of messages in flight is full", q->reg->name);
	if (atomic_load_explicit(&q->p->c->turn, memory_order_relaxed) != TURN_NONE)
		return err_set(
			refuse(q, -EAGAIN, SIM_REASON_NO_CREDIT),
			"channel %s: its window of messages in flight is full, and none is dispatched before this "
			"step ends",
			q->reg->name);
	r = credit_wait(q);
	/* time may have been paused meanwhile */
	return r == 0 && q->dispatch ? check_pause(q) : r;
}

static int accept_dispatch(struct publish *q)
{
	int r;

	if (!q->reg->channel)
		return err_set(refuse(q, -EOPNOTSUPP, SIM_REASON_INVALID),
			       "channel %s: the publisher is for local subscribers only, "
			       "nothing of it is dispatched",
			       q->reg->name);
	r = check_state(q);
	if (r == 0)
		r = check_pause(q);
	if (r == 0)
		r = claim_token(q);
	return r == 0 ? claim_credit(q) : r;
}

/*
 * For local subscribers only. If simd subscribes to the channel, its queue must not overflow, so even such a message
 * takes a credit, which simd frees at once. While simd is gone that queue is not read.
 */
static int accept_local(struct publish *q)
{
	switch (atomic_load_explicit(&q->reg->state, memory_order_relaxed)) {
	case REG_UP:
		return q->reg->channel ? claim_credit(q) : 0;
	case REG_LOST:
	case REG_NEW:
		return 0;
	default:
		return check_state(q);
	}
}

static int accept_message(struct publish *q)
{
	q->claim = (struct claim){ .value = wire_claim(q->reg->publisher_id, q->p->sequence + 1) |
					    (q->dispatch ? 0 : WIRE_CLAIM_LOCAL) };
	return q->dispatch ? accept_dispatch(q) : accept_local(q);
}

/* ---- publishing ---- */

/* The record was claimed elsewhere: its callback runs there. */
static void ended_elsewhere(struct publish *q)
{
	q->cb = NULL;
	q->sync = NULL;
}

/* Unread completions count against the window. This thread must not block here: only it can read them. */
static int wait_record(struct publish *q, uint64_t sequence, struct record **ret)
{
	const struct sim_client *c = q->p->c;
	struct records *t = &q->p->records;
	uint32_t wait_ms = atomic_load_explicit(&q->reg->session->layout->wait_ms, memory_order_relaxed);
	int64_t until = client_now(c) + (int64_t)wait_ms * NS_PER_MS;
	int r = 0;

	if (q->p->flags & SIM_PUB_NO_WAIT || !c->io_started || pthread_equal(pthread_self(), c->io))
		return err_set(refuse(q, -EAGAIN, SIM_REASON_NO_CREDIT),
			       "channel %s: %u completions have not been read; return from callbacks sooner, or call "
			       "sim_process() more often",
			       q->reg->name, RECORDS_MAX);
	atomic_fetch_add(&t->waiters, 1);
	atomic_thread_fence(memory_order_seq_cst); /* incremented before records are checked */
	do {
		uint32_t seen = atomic_load(&t->freed);

		*ret = record_find_free(t, sequence);
		r = check_state(q);
		if (*ret || r < 0)
			break;
		record_wait_free(t, seen, CREDIT_SLICE_DUR_NS);
	} while (client_now(c) < until);
	atomic_fetch_sub(&t->waiters, 1);
	q->now_mono_ns = client_now(c);
	if (r == 0)
		r = check_pause(q);
	if (r < 0 || *ret)
		return r;
	return err_set(refuse(q, -ETIMEDOUT, SIM_REASON_TIMEOUT),
		       "channel %s: %u completions were not read within %u ms; return from callbacks sooner",
		       q->reg->name, RECORDS_MAX, wait_ms);
}

/* Arms the record of a message that is about to go out. */
static int arm_record(struct publish *q, uint64_t sequence, struct record **ret)
{
	struct records *t = &q->p->records;
	struct record *rec = record_find_free(t, sequence);
	int r = rec ? 0 : wait_record(q, sequence, &rec);

	if (r < 0)
		return r;
	rec->cb = q->cb;
	rec->user = q->user;
	rec->sync = q->sync;
	rec->publisher_id = q->reg->publisher_id;
	record_arm(t, rec, sequence);
	/* simd may have gone since the check: then the thread that noticed may have missed this record */
	if (__builtin_expect(atomic_load_explicit(&q->reg->state, memory_order_seq_cst) != REG_UP, 0)) {
		if (record_take_back(t, rec))
			return check_state(q);
		ended_elsewhere(q);
		return check_state(q);
	}
	*ret = rec;
	return 0;
}

static inline void counter_set(_Atomic uint64_t *k, uint64_t v)
{
	atomic_store_explicit(k, v, memory_order_relaxed);
}

static inline void counter_add(_Atomic uint64_t *k, uint64_t n) /* one writer: no locked addition */
{
	counter_set(k, atomic_load_explicit(k, memory_order_relaxed) + n);
}

static void count_published(struct wire_counters *k, bool dispatch, const struct sent *m)
{
	counter_add(&k->messages, 1);
	counter_add(&k->bytes, m->bytes);
	counter_set(&k->last_mono_ns, m->mono_ns);
	counter_set(&k->last_stamp_sim_ns, m->stamp_sim_ns);
	if (dispatch)
		counter_add(&k->accepted, 1);
}

/* Not while messages are kept back: their sequence numbers are below those published since. */
void publisher_progress(const struct sim_publisher *p)
{
	if (__builtin_expect(p->n_kept == 0, 1))
		atomic_store_explicit(&p->reg->counters->sequence, p->sequence, memory_order_release);
}

/* In a turn that others share: the message is sent at its end. */
static int keep_back(struct publish *q, int i, const struct kept *from)
{
	struct sim_publisher *p = q->p;
	int r;

	publisher_loan_port(p, i); /* taken for the kept message, which may be sent before this thread continues */
	r = step_keep(p->c, from);
	if (r < 0) {
		pub_port_unref(from->port);
		if (from->rec && !record_take_back(&p->records, from->rec))
			ended_elsewhere(q);
		return refuse(q, r, SIM_REASON_POOL);
	}
	p->sequence = from->sequence;
	p->n_kept++;
	publisher_forget_loan(p, i);
	return 0;
}

/*
 * Whether a message for local subscribers rings: true once for each half of the window, or more often. Credits are
 * claimed in turn, so the cell's number decides.
 */
static bool ends_half(const struct sim_publisher *p, const struct claim *cl)
{
	uint32_t half = atomic_load_explicit(&p->reg->info->window, memory_order_relaxed) / 2;

	return half < 2 || cl->credit_cell % half == 0;
}

/*
 * Rings the doorbell unless dispatch finds the message without it. In lock-step dispatch reads what was published at
 * the end of each step, and once more after lock-step has ended; a publisher that still reads SIM_CLOCK_LOCKSTEP after
 * its fence has published before that last read. A message for local subscribers only has a credit to be freed, so in
 * lock-step it rings once for each half of the window; dispatch also frees such credits once a second.
 */
static void ring(const struct sim_publisher *p, const struct claim *cl, bool dispatch)
{
	pub_reg_rung(p->reg);
	if (__builtin_expect((seqlock_load(&p->c->page->flags) & SIM_CLOCK_LOCKSTEP) && (dispatch || !ends_half(p, cl)),
			     0))
		return;
	session_doorbell(p->reg->bell, p->reg->info);
}

void kept_failed(const struct kept *k, enum sim_reason reason)
{
	sim_done_fn cb = k->rec ? k->rec->cb : NULL;
	void *user = k->rec ? k->rec->user : NULL;

	if (k->rec && !record_take_back(&k->pub->records, k->rec))
		return; /* ended elsewhere, with its claims */
	claim_release(&k->claim);
	if (cb)
		cb(user, false, reason);
}

void publisher_send_kept(const struct kept *k)
{
	struct sim_publisher *p = k->pub;
	int r;

	while (publisher_enter(p) == -EBUSY) /* another thread is inside for a moment */
		sched_yield();
	tsan_release(k->slot);
	PORT_RETRY(r, ipc_publish(k->port->pub, k->slot));
	if (r == 0) {
		if (p->flags & SIM_PUB_LATCH)
			publisher_keep_latched(p, k->slot);
		count_published(p->reg->counters, k->dispatch, &k->sent);
		if (k->claim.credit)
			ring(p, &k->claim, k->dispatch);
	} else {
		atomic_fetch_add_explicit(&p->reg->counters->dropped[SIM_REASON_RESTART], 1, memory_order_relaxed);
	}
	p->n_kept--;
	publisher_progress(p);
	pub_port_unref(k->port);
	handle_leave(&p->h);
	if (r < 0)
		kept_failed(k, SIM_REASON_RESTART);
}

static void fill_header(const struct publish *q, struct sim_slot *slot, uint64_t sequence)
{
	slot->flags = (uint16_t)((slot->flags & (SIM_SLOT_CLOCK_STALE | SIM_SLOT_LATCHED)) |
				 (q->dispatch ? SIM_SLOT_DISPATCH : 0));
	slot->channel_id = q->reg->channel_id;
	slot->publisher_id = q->reg->publisher_id;
	slot->iox_generation = q->reg->port->att->iox_generation;
	slot->sequence = sequence;
	slot->token_cell = q->claim.token_cell;
	slot->credit_cell = q->claim.credit_cell;
	slot->publish_mono_ns = q->now_mono_ns;
}

/* Sends loan i, which was accepted. On failure the loan remains. */
static int send_loan(struct publish *q, int i)
{
	struct sim_publisher *p = q->p;
	struct sim_slot *slot = p->loans[i].slot;
	struct record *rec = NULL;
	struct sent sent;
	uint64_t sequence = p->sequence + 1;
	uint32_t turn = atomic_load_explicit(&p->c->turn, memory_order_relaxed);
	int r = 0;

	if (q->dispatch)
		r = arm_record(q, sequence, &rec);
	if (r < 0)
		return r;
	fill_header(q, slot, sequence);
	sent = (struct sent){ slot->body_size, (uint64_t)slot->stamp_sim_ns, (uint64_t)slot->publish_mono_ns };
	if (__builtin_expect(turn == TURN_SHARED, 0))
		return keep_back(q, i,
				 &(struct kept){ p, p->loans[i].port, slot, rec, q->claim, sent, sequence,
						 q->dispatch });
	if (__builtin_expect(turn == TURN_ALONE, 0) && q->dispatch)
		atomic_store_explicit(&p->c->turn_sent, true, memory_order_relaxed);
	tsan_release(slot);
	PORT_RETRY(r, ipc_publish(p->loans[i].port->pub, slot));
	if (r < 0) {
		if (rec && !record_take_back(&p->records, rec))
			ended_elsewhere(q);
		return err_set(refuse(q, r == -ESTALE ? -ESTALE : r, SIM_REASON_RESTART), "channel %s: %s",
			       q->reg->name, ipc_why());
	}
	p->sequence = sequence;
	if (__builtin_expect(p->flags & SIM_PUB_LATCH, 0))
		publisher_keep_latched(p, slot);
	publisher_progress(p);
	count_published(q->reg->counters, q->dispatch, &sent);
	publisher_forget_loan(p, i);
	if (q->claim.credit)
		ring(p, &q->claim, q->dispatch);
	return 0;
}

int sim_publisher_count_local(struct sim_publisher *p, struct sim_slot *header)
{
	int r;

	if (!p || !header)
		return err_set(-EINVAL, "sim_publisher_count_local: no publisher, or no header");
	if (!(p->flags & SIM_PUB_LOCAL))
		return err_set(-EOPNOTSUPP,
			       "channel %s: simd would look for a message that has a number and no slot; only a "
			       "publisher created SIM_PUB_LOCAL may count so",
			       p->reg->name);
	r = publisher_enter(p);
	if (r < 0)
		return r;
	if (!header->publish_mono_ns)
		header->publish_mono_ns = client_now(p->c);
	header->sequence = ++p->sequence;
	publisher_progress(p);
	if (p->reg->counters)
		count_published(p->reg->counters, false,
				&(struct sent){ header->body_size, (uint64_t)header->stamp_sim_ns,
						(uint64_t)header->publish_mono_ns });
	handle_leave(&p->h);
	return 0;
}

/* Accepts and sends loan i; on refusal it goes back to the pool. */
static int publish_loan(struct publish *q, int i)
{
	int r;

	if (q->p->loans[i].port != q->reg->port)
		r = err_set(refuse(q, -ESTALE, SIM_REASON_RESTART),
			    "channel %s: the slot belongs to an earlier generation of the "
			    "data plane; loan a new one",
			    q->reg->name);
	else
		r = accept_message(q);
	if (r == 0)
		r = send_loan(q, i);
	if (r < 0)
		publisher_unloan(q->p, i);
	return r;
}

/* Ends a refusal: releases claims, counts it, leaves the publisher, then runs the callback, which may publish again. */
static int finish(struct publish *q, int r)
{
	if (r < 0) {
		claim_release(&q->claim);
		if (q->reg && q->reg->counters)
			atomic_fetch_add_explicit(&q->reg->counters->dropped[q->reason], 1, memory_order_relaxed);
	}
	handle_leave(&q->p->h);
	if (r < 0 && q->cb)
		q->cb(q->user, false, q->reason);
	return r;
}

/*
 * Enters the publisher, or refuses because another thread is inside: then the slot is left for that thread to release.
 */
static int begin(struct publish *q, struct sim_slot *orphan)
{
	int r;

	q->now_mono_ns = client_now(q->p->c);
	r = publisher_enter(q->p);
	if (r == 0) {
		q->reg = q->p->reg;
		return 0;
	}
	for (int i = 0; r == -EBUSY && orphan && i < IPC_LOANS_MAX; i++) {
		struct sim_slot *none = NULL;

		if (atomic_compare_exchange_strong(&q->p->orphans[i], &none, orphan)) {
			atomic_store(&q->p->attention, true);
			break;
		}
	}
	if (q->cb)
		q->cb(q->user, false, SIM_REASON_INVALID);
	return r;
}

static int publish_slot(struct publish *q, struct sim_slot *slot)
{
	int i, r;

	if (!q->p || !slot)
		return err_set(-EINVAL, "publish: no publisher or no slot was given");
	r = begin(q, slot);
	if (r < 0)
		return r;
	i = publisher_loan_index(q->p, slot);
	if (i < 0) {
		handle_leave(&q->p->h);
		return err_set(-EINVAL,
			       "channel %s: the slot is not a loan of this publisher (published or released before?)",
			       q->p->channel);
	}
	return finish(q, publish_loan(q, i));
}

int sim_try_queue(struct sim_publisher *p, struct sim_slot *slot, struct sim_token *token, sim_done_fn cb, void *user)
{
	struct publish q = { .p = p, .token = token, .dispatch = true, .cb = cb, .user = user };

	return publish_slot(&q, slot);
}

int sim_publish_local(struct sim_publisher *p, struct sim_slot *slot)
{
	struct publish q = { .p = p };

	return publish_slot(&q, slot);
}

/* ---- copies ---- */

static int copy_and_send(struct publish *q, const void *body, size_t body_size, int64_t stamp_sim_ns)
{
	struct sim_slot *slot;
	int r;

	if (body_size > q->p->max_body && (r = publisher_enlarge(q->p, body_size)) < 0)
		return refuse(q, r, r == -EMSGSIZE ? SIM_REASON_INVALID : SIM_REASON_POOL);
	r = accept_message(q);
	if (r < 0)
		return r;
	r = publisher_loan(q->p, body_size, &slot);
	if (r < 0)
		return refuse(q, r, SIM_REASON_POOL);
	memcpy(slot + 1, body, body_size);
	if (stamp_sim_ns)
		slot->stamp_sim_ns = stamp_sim_ns;
	q->now_mono_ns = client_now(q->p->c); /* copying took time */
	r = send_loan(q, (int)q->p->n_loans - 1);
	if (r < 0)
		publisher_unloan(q->p, (int)q->p->n_loans - 1);
	return r;
}

static int publish_copy(struct publish *q, const void *body, size_t body_size, int64_t stamp_sim_ns)
{
	int r;

	if (!q->p || (!body && body_size))
		return err_set(-EINVAL, "publish: no publisher or no message was given");
	r = begin(q, NULL);
	if (r < 0)
		return r;
	return finish(q, copy_and_send(q, body, body_size, stamp_sim_ns));
}

int sim_try_queue_copy(struct sim_publisher *p, const void *body, size_t body_size, int64_t stamp_sim_ns,
		       struct sim_token *token, sim_done_fn cb, void *user)
{
	struct publish q = { .p = p, .token = token, .dispatch = true, .cb = cb, .user = user };

	return publish_copy(&q, body, body_size, stamp_sim_ns);
}

int sim_publish_local_copy(struct sim_publisher *p, const void *body, size_t body_size, int64_t stamp_sim_ns)
{
	struct publish q = { .p = p };

	return publish_copy(&q, body, body_size, stamp_sim_ns);
}

/* ---- sim_publish_sync ---- */

static void wait_done(struct sim_client *c, struct sync_done *sync)
{
	while (!atomic_load_explicit(&sync->done, memory_order_acquire)) {
		if (client_pumps(c)) {
			client_idle(c, 20 * NS_PER_MS);
			client_work(c);
		} else {
			futex_wait(&sync->done, 0, INT64_MAX, FUTEX_PRIVATE_FLAG);
		}
	}
}

int sim_publish_sync(struct sim_publisher *p, struct sim_slot *slot, struct sim_token *token,
		     enum sim_reason *ret_reason)
{
	struct sync_done sync = { .done = 0, .reason = SIM_REASON_NONE };
	struct publish q = { .p = p, .token = token, .dispatch = true, .sync = &sync };
	int r;

	if (p && p->c->io_started && pthread_equal(pthread_self(), p->c->io))
		return err_set(-EDEADLK,
			       "sim_publish_sync: not from a callback, which would wait for itself; use sim_try_queue");
	if (p && step_forbids_waiting(p->c)) {
		if (slot)
			sim_unloan(p, slot);
		return err_set(-EDEADLK,
			       "sim_publish_sync: nothing completes before this step ends, which waits for the "
			       "caller; use sim_try_queue");
	}
	r = publish_slot(&q, slot);
	if (r == 0 || (r != -EINVAL && !q.sync)) /* the thread that ends the record writes to `sync` */
		wait_done(p->c, &sync);
	if (ret_reason && r != -EINVAL)
		*ret_reason = r < 0 ? q.reason : (enum sim_reason)sync.reason;
	if (r < 0 || sync.reason == SIM_REASON_NONE)
		return r;
	return err_set(-EIO, "channel %s: accepted but not delivered: %s", p->channel,
		       sim_reason_text((enum sim_reason)sync.reason));
}
