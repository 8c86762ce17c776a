/* SPDX-License-Identifier: Apache-2.0 */
/* Completion records, and the socket on which simd sends completions. Thread: see completion.h. */
#include "completion.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "err.h"
#include "futex.h"
#include "mem.h"
#include "publisher.h"
#include "token.h"
#include "wire/lane.h"

#define PACKETS 8 /* read by one system call */

int records_init(struct records *t, struct sim_publisher *pub)
{
	t->table = mem_calloc(RECORDS_MAX, sizeof(*t->table));
	if (!t->table)
		return err_nomem();
	for (uint32_t i = 0; i < RECORDS_MAX; i++)
		t->table[i].pub = pub;
	return 0;
}

void records_finish(struct records *t)
{
	mem_free(t->table);
	t->table = NULL;
}

/* ---- the publishing thread ---- */

struct record *record_find_free(struct records *t, uint64_t sequence)
{
	for (uint32_t i = 0; i < RECORDS_MAX; i++) {
		struct record *rec = &t->table[(sequence + i) % RECORDS_MAX];

		if (atomic_load_explicit(&rec->state, memory_order_acquire) == RECORD_FREE)
			return rec;
	}
	return NULL;
}

void record_wait_free(struct records *t, uint32_t seen, int64_t timeout_dur_ns)
{
	futex_wait(&t->freed, seen, timeout_dur_ns, FUTEX_PRIVATE_FLAG);
}

static inline void count(_Atomic uint32_t *k, uint32_t n) /* one writer at a time: no locked addition */
{
	atomic_store_explicit(k, atomic_load_explicit(k, memory_order_relaxed) + n, memory_order_release);
}

void record_arm(struct records *t, struct record *rec, uint64_t sequence)
{
	uint32_t flush = atomic_load_explicit(&rec->pub->c->flushes, memory_order_relaxed);

	atomic_store_explicit(&rec->flush, flush, memory_order_relaxed);
	atomic_store_explicit(&rec->sequence, sequence, memory_order_relaxed);
	count(&t->armed, 1);
	/*
	 * seq_cst: the thread that marks the registration as down either sees this record, or this thread sees that
	 * mark
	 */
	atomic_store_explicit(&rec->state, RECORD_ARMED, memory_order_seq_cst);
}

static bool record_claim(struct record *rec, uint32_t to)
{
	uint32_t armed = RECORD_ARMED;

	return atomic_compare_exchange_strong_explicit(&rec->state, &armed, to, memory_order_acq_rel,
						       memory_order_relaxed);
}

bool record_take_back(struct records *t, struct record *rec)
{
	if (!record_claim(rec, RECORD_FREE))
		return false;
	count(&t->armed, UINT32_MAX);
	return true;
}

/* ---- ending a record, under client::lock ---- */

static void record_free(struct record *rec)
{
	struct records *t = &rec->pub->records;

	/* seq_cst: a waiting producer increments `waiters` before it looks for a free record */
	atomic_store_explicit(&rec->state, RECORD_FREE, memory_order_seq_cst);
	count(&t->ended, 1);
	if (atomic_load_explicit(&t->waiters, memory_order_seq_cst)) {
		atomic_fetch_add(&t->freed, 1);
		futex_wake_all(&t->freed, FUTEX_PRIVATE_FLAG);
	}
	if (rec->pub->c->flushers)
		pthread_cond_broadcast(&rec->pub->c->changed);
}

static void record_done(struct sim_client *c, struct record *rec, enum sim_reason reason)
{
	rec->reason = reason;
	rec->next = NULL;
	*c->done_last = rec;
	c->done_last = &rec->next;
}

/* Not for LOST: then the client stops listening, while simd knows and counts what becomes of the message. */
static void count_drop(const struct record *rec, enum sim_reason reason)
{
	struct pub_reg *reg = pub_reg_find(rec->pub->c, rec->publisher_id);

	if (reg && reason != SIM_REASON_NONE && reason != SIM_REASON_LOST)
		atomic_fetch_add_explicit(&reg->counters->dropped[reason], 1, memory_order_relaxed);
}

static void end_record(struct sim_client *c, struct record *rec, enum sim_reason reason)
{
	struct sync_done *sync = rec->sync;

	count_drop(rec, reason);
	if (!sync) {
		record_done(c, rec, reason);
		return;
	}
	record_free(rec);
	sync->reason = reason;
	atomic_store_explicit(&sync->done, 1, memory_order_release);
	futex_wake_all(&sync->done, FUTEX_PRIVATE_FLAG);
}

bool record_complete(struct sim_client *c, struct records *t, uint64_t sequence, enum sim_reason reason)
{
	for (uint32_t i = 0; i < RECORDS_MAX; i++) {
		struct record *rec = &t->table[(sequence + i) % RECORDS_MAX];
		uint32_t state = atomic_load_explicit(&rec->state, memory_order_acquire);

		if (state == RECORD_FREE || atomic_load_explicit(&rec->sequence, memory_order_relaxed) != sequence)
			continue;
		if (!record_claim(rec, RECORD_DONE))
			return false;
		end_record(c, rec, reason);
		return true;
	}
	return false;
}

void records_fail(struct sim_client *c, struct records *t, enum sim_reason reason)
{
	for (uint32_t i = 0; i < RECORDS_MAX; i++) {
		struct record *rec = &t->table[i];

		/* seq_cst: see record_arm() */
		if (atomic_load_explicit(&rec->state, memory_order_seq_cst) == RECORD_ARMED &&
		    record_claim(rec, RECORD_DONE))
			end_record(c, rec, reason);
	}
}

void claim_release(const struct claim *cl)
{
	uint64_t mine = cl->value;

	if (cl->credit)
		atomic_compare_exchange_strong_explicit(cl->credit, &mine, 0, memory_order_release,
							memory_order_relaxed);
	mine = cl->value;
	if (cl->token)
		atomic_compare_exchange_strong_explicit(cl->token, &mine, 0, memory_order_release,
							memory_order_relaxed);
}

/* ---- the socket ---- */

static void complete_one(struct sim_client *c, const struct lane_complete *m)
{
	struct pub_reg *reg = pub_reg_find(c, m->publisher_id);

	if (!reg)
		return;
	if (m->sequence == 0) {
		atomic_store_explicit(&reg->proved, true, memory_order_release);
		pthread_cond_broadcast(&c->changed);
		return;
	}
	record_complete(c, &reg->pub->records, m->sequence,
			m->reason < SIM_REASON_COUNT ? (enum sim_reason)m->reason : SIM_REASON_FAILED);
}

struct packet {
	struct lane_head head;
	struct lane_complete m[LANE_BATCH];
};

static void read_packet(struct sim_client *c, const struct packet *p, size_t n)
{
	if (n < sizeof(p->head) || p->head.op != LANE_COMPLETE || p->head.count > LANE_BATCH ||
	    n != sizeof(p->head) + p->head.count * sizeof(p->m[0]))
		return; /* sent by a later version */
	for (unsigned i = 0; i < p->head.count; i++)
		complete_one(c, &p->m[i]);
}

/* Reads several packets per system call; fewer than that means that there are no more. */
void completion_drain(struct sim_client *c, struct session *s)
{
	struct packet p[PACKETS];
	struct iovec iov[PACKETS];
	struct mmsghdr h[PACKETS] = { 0 };
	int n;

	for (unsigned i = 0; i < PACKETS; i++) {
		iov[i] = (struct iovec){ &p[i], sizeof(p[i]) };
		h[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
	}
	do {
		n = recvmmsg(s->completion, h, PACKETS, MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++)
			read_packet(c, &p[i], h[i].msg_len);
	} while (n < 0 ? errno == EINTR : n == PACKETS && h[PACKETS - 1].msg_len);
}

/* ---- callbacks ---- */

/* Removes the oldest record that is done from the queue. Under lock. */
static struct record *done_pop(struct sim_client *c)
{
	struct record *rec = c->done_first;

	if (!rec)
		return NULL;
	c->done_first = rec->next;
	if (!c->done_first)
		c->done_last = &c->done_first;
	return rec;
}

/* The callback has returned. */
static void called(struct sim_client *c)
{
	c->calling.on = false;
	if (c->flushers)
		pthread_cond_broadcast(&c->changed);
}

int completion_run(struct sim_client *c)
{
	int n = 0;

	for (;; n++) {
		struct record *rec, copy;

		pthread_mutex_lock(&c->lock);
		if (n)
			called(c);
		rec = done_pop(c);
		if (!rec) {
			pthread_mutex_unlock(&c->lock);
			return n;
		}
		c->calling.on = true;
		c->calling.thread = pthread_self();
		c->calling.flush = atomic_load_explicit(&rec->flush, memory_order_relaxed);
		copy.cb = rec->cb;
		copy.user = rec->user;
		copy.reason = rec->reason;
		record_free(rec);
		pthread_mutex_unlock(&c->lock);
		if (copy.cb)
			copy.cb(copy.user, copy.reason == SIM_REASON_NONE, (enum sim_reason)copy.reason);
	}
}
