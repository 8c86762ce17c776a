/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc: the data path. Misuse that makes iceoryx abort (double publish, foreign pointer, a taken slot published, a slot
 * released twice, two threads on one port) is caught here by tables and one flag per handle; a call costs two atomic
 * operations and a scan of at most 8 or 256 pointers.
 *
 * Thread: one at a time per handle; see ipc.h.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "ipc_int.h"

/* A backend returns an error only when its attachment ends during the call, or on damage. */
__attribute__((cold)) static int refused(int r, const struct ipc_handle *h)
{
	if (r == -ESTALE)
		return ipc_fail_state(h->state);
	if (r == -EBADMSG)
		return ipc_fail(
			r,
			"a slot lies outside of the payload segment: its header was written over, by the user of a slot "
			"beside it");
	return ipc_fail(r, "the data plane refused the call: %s", strerror(-r));
}

/* ---- publishers ---- */

static int find_loan(const struct ipc_pub *pub, const void *slot)
{
	for (uint32_t i = 0; i < pub->n_loans; i++)
		if (pub->loans[i] == slot)
			return (int)i;
	return -1;
}

static int loan_failed(int r, const struct ipc_pub *pub, size_t size)
{
	(void)pub;
	switch (r) {
	case -EMSGSIZE:
		return ipc_fail(r, "a message of %zu bytes is larger than the largest pool; give RouDi a larger one",
				size);
	case -ENOMEM:
		return ipc_fail(r,
				"the pool for messages of %zu bytes is empty; subscribers hold too many slots, "
				"or the pool needs a larger count",
				size);
	case -ENOBUFS:
		return ipc_fail(r, "this publisher has %d loans out; publish or release one first", IPC_LOANS_MAX);
	case -ESTALE:
	case -EBADMSG:
		return refused(r, &pub->h);
	default:
		return ipc_fail(r, "a loan of %zu bytes failed: %s", size, strerror(-r));
	}
}

int ipc_loan(struct ipc_pub *pub, size_t size, void **ret)
{
	int r;

	if (!pub || !ret)
		return ipc_fail(-EINVAL, "ipc_loan: no publisher, or the output pointer is NULL");
	r = ipc_enter(&pub->h);
	if (r < 0)
		return r;
	if (pub->n_loans == IPC_LOANS_MAX)
		r = -ENOBUFS;
	else if (size > pub->max_loan)
		r = -EMSGSIZE;
	else
		r = pub->h.ops->loan(pub->h.back, size, ret);
	if (__builtin_expect(r < 0, 0))
		r = loan_failed(r, pub, size);
	else
		pub->loans[pub->n_loans++] = *ret;
	ipc_leave(&pub->h);
	return r;
}

static int foreign_loan(void)
{
	return ipc_fail(-EINVAL, "this slot is not on loan from this publisher: published or released before, "
				 "taken from a subscriber, or of another publisher");
}

/* Enters the publisher and removes the slot from its loans: 0 with the publisher entered. */
static int claim_loan(struct ipc_pub *pub, const void *slot)
{
	int r, i;

	if (!pub || !slot)
		return ipc_fail(-EINVAL, "no publisher, or no slot");
	r = ipc_enter(&pub->h);
	if (r < 0)
		return r;
	i = find_loan(pub, slot);
	if (__builtin_expect(i < 0, 0)) {
		ipc_leave(&pub->h);
		return foreign_loan();
	}
	pub->loans[i] = pub->loans[--pub->n_loans];
	return 0;
}

int ipc_unloan(struct ipc_pub *pub, void *slot)
{
	int r = claim_loan(pub, slot);

	if (r < 0)
		return r;
	r = pub->h.ops->unloan(pub->h.back, slot);
	ipc_leave(&pub->h);
	return r < 0 ? refused(r, &pub->h) : 0;
}

int ipc_publish(struct ipc_pub *pub, void *slot)
{
	int r = claim_loan(pub, slot);

	if (r < 0)
		return r;
	r = pub->h.ops->publish(pub->h.back, slot);
	ipc_leave(&pub->h);
	return r < 0 ? refused(r, &pub->h) : 0;
}

static inline bool leave_with(struct ipc_handle *h, bool yes)
{
	ipc_leave(h);
	return yes;
}

/* This and ipc_sub_has_data() only read; for a dead or busy handle they return false. */
bool ipc_pub_has_subscribers(const struct ipc_pub *pub)
{
	struct ipc_handle *h = (struct ipc_handle *)(uintptr_t)pub;

	return h && ipc_enter(h) == 0 && leave_with(h, h->ops->has_subscribers(h->back));
}

/* ---- subscribers ---- */

int ipc_take(struct ipc_sub *sub, const void **ret, size_t *ret_size)
{
	int r;

	if (!sub || !ret || !ret_size)
		return ipc_fail(-EINVAL, "ipc_take: no subscriber, or an output pointer is NULL");
	r = ipc_enter(&sub->h);
	if (r < 0)
		return r;
	if (__builtin_expect(sub->n_held == IPC_DEPTH_MAX, 0))
		r = ipc_fail(-ENOBUFS, "this subscriber holds %d slots; release some first", IPC_DEPTH_MAX);
	else
		r = sub->h.ops->take(sub->h.back, ret, ret_size);
	if (r == 0)
		sub->held[sub->n_held++] = *ret;
	ipc_leave(&sub->h);
	return r < 0 && r != -EAGAIN && r != -ENOBUFS ? refused(r, &sub->h) : r;
}

uint64_t ipc_slot_origin(struct ipc_sub *sub, const void *slot)
{
	uint64_t origin;

	if (!sub || !slot || ipc_enter(&sub->h) < 0)
		return 0;
	origin = sub->h.ops->slot_origin(sub->h.back, slot);
	ipc_leave(&sub->h);
	return origin;
}

/* Newest first: in that order releasing is cheap. */
static bool drop_held(struct ipc_sub *sub, const void *slot)
{
	for (uint32_t i = sub->n_held; i-- > 0;) {
		if (sub->held[i] == slot) {
			sub->held[i] = sub->held[--sub->n_held];
			return true;
		}
	}
	return false;
}

int ipc_release(struct ipc_sub *sub, const void *slot)
{
	bool bury;
	int r = 0;

	if (!sub || !slot)
		return ipc_fail(-EINVAL, "ipc_release: no subscriber, or no slot");
	if (__builtin_expect(atomic_exchange_explicit(&sub->h.busy, 1, memory_order_seq_cst) != 0, 0))
		return ipc_fail_busy(&sub->h);
	if (__builtin_expect(ipc_state_of(sub->h.state) == IPC_FORKED, 0))
		r = ipc_fail_state(sub->h.state);
	else if (__builtin_expect(!drop_held(sub, slot), 0))
		r = ipc_fail(-EINVAL,
			     "this slot is not held by this subscriber: released before, or never taken from it");
	else if (sub->h.back) /* a dead attachment's memory need not be freed, but its backend still counts the slots */
		sub->h.ops->release(sub->h.back, slot);
	bury = r == 0 && sub->closing && sub->n_held == 0;
	ipc_leave(&sub->h);
	if (__builtin_expect(bury, 0))
		ipc_sub_bury(sub);
	return r;
}

bool ipc_sub_lost(struct ipc_sub *sub)
{
	return sub && ipc_enter(&sub->h) == 0 && leave_with(&sub->h, sub->h.ops->lost(sub->h.back));
}

bool ipc_sub_has_data(const struct ipc_sub *sub)
{
	struct ipc_handle *h = (struct ipc_handle *)(uintptr_t)sub;

	return h && ipc_enter(h) == 0 && leave_with(h, h->ops->has_data(h->back));
}

bool ipc_sub_connected(const struct ipc_sub *sub)
{
	struct ipc_handle *h = (struct ipc_handle *)(uintptr_t)sub;

	return h && ipc_enter(h) == 0 && leave_with(h, h->ops->connected(h->back));
}

/* ---- waiters ---- */

/* Makes a waiting thread leave first: iceoryx's waitset must not be changed while a thread waits. */
static void enter_waiter(struct ipc_waiter *w)
{
	while (atomic_exchange_explicit(&w->h.busy, 1, memory_order_seq_cst) != 0) {
		if (w->h.back)
			w->h.ops->waiter_wake(w->h.back);
		sched_yield();
	}
}

void ipc_waiter_unlink(struct ipc_waiter *w, struct ipc_sub *sub)
{
	enter_waiter(w);
	for (uint32_t i = 0; i < w->n_subs; i++) {
		if (w->subs[i] != sub)
			continue;
		w->subs[i] = w->subs[--w->n_subs];
		sub->waiter = NULL;
		if (w->h.back && sub->h.back)
			w->h.ops->waiter_del(w->h.back, sub->h.back);
		break;
	}
	ipc_leave(&w->h);
}

int ipc_waiter_add(struct ipc_waiter *w, struct ipc_sub *sub)
{
	struct ipc *ipc;
	int r;

	if (!w || !sub || w->h.ipc != sub->h.ipc)
		return ipc_fail(-EINVAL, "ipc_waiter_add: waiter and subscriber must belong to the same attachment");
	ipc = w->h.ipc;
	pthread_mutex_lock(&ipc->lock); /* before entering: detach waits for the handle with the lock held */
	r = ipc_enter(&w->h);
	if (r < 0)
		goto out;
	if (sub->waiter)
		r = ipc_fail(-EEXIST, "this subscriber belongs to a waiter already");
	else if (w->n_subs == IPC_WAITER_SUBS)
		r = ipc_fail(-ENOSPC, "a waiter takes %d subscribers", IPC_WAITER_SUBS);
	else
		r = w->h.ops->waiter_add(w->h.back, sub->h.back);
	if (r < 0 && !sub->waiter && w->n_subs < IPC_WAITER_SUBS)
		refused(r, &w->h);
	if (r == 0) {
		sub->waiter = w;
		w->subs[w->n_subs++] = sub;
		if (sub->h.ops->has_data(sub->h.back))
			atomic_store(&w->woken, true); /* data was there before: no event reports it */
	}
	ipc_leave(&w->h);
out:
	pthread_mutex_unlock(&ipc->lock);
	return r;
}

void ipc_waiter_del(struct ipc_waiter *w, struct ipc_sub *sub)
{
	if (!w || !sub || ipc_state_of(w->h.state) == IPC_FORKED)
		return;
	pthread_mutex_lock(&w->h.ipc->lock);
	ipc_waiter_unlink(w, sub);
	pthread_mutex_unlock(&w->h.ipc->lock);
}

int ipc_waiter_wait(struct ipc_waiter *w, int64_t timeout_dur_ns)
{
	int r;

	if (!w)
		return ipc_fail(-EINVAL, "ipc_waiter_wait: no waiter");
	r = ipc_enter(&w->h);
	if (r < 0)
		return r;
	if (atomic_exchange(&w->woken, false))
		r = 1;
	else
		r = w->h.ops->waiter_wait(w->h.back, timeout_dur_ns);
	if (ipc_state_of(w->h.state) != IPC_LIVE)
		r = ipc_fail_state(w->h.state);
	ipc_leave(&w->h);
	return r;
}

void ipc_waiter_wake(struct ipc_waiter *w)
{
	/*
	 * Not through ipc_enter(): the waiting thread is inside. Destroying the waiter at the same time is the caller's
	 * bug.
	 */
	if (w && ipc_state_of(w->h.state) == IPC_LIVE && w->h.back)
		w->h.ops->waiter_wake(w->h.back);
}
