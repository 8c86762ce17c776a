/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to ipc*.c: the handles behind ipc.h.
 *
 * Locks:  ipc.lock guards the lists of handles and serialises create and destroy. The data path takes no lock: a
 *         handle's `busy` flag keeps a second thread out, and detach waits for it.
 */
#ifndef IPC_INT_H
#define IPC_INT_H

#include <pthread.h>

#include "ipc_ops.h"
#include "plane.h"

#define IPC_APP_MAX     80
#define IPC_WAITER_SUBS 64

enum ipc_kind { IPC_PUB, IPC_SUB, IPC_WAITER };

/* First member of every handle. */
struct ipc_handle {
	_Atomic uint32_t busy; /* 1 while a thread is inside */
	enum ipc_kind kind;
	_Atomic uint32_t *state; /* the ipc's state word; enum ipc_state */
	const struct ipc_ops *ops;
	void *back; /* the backend's object; NULL once detached */
	struct ipc *ipc;
	struct ipc_handle *next, **link; /* ipc::handles */
};

struct ipc_pub {
	struct ipc_handle h;
	uint32_t n_loans;
	void *loans[IPC_LOANS_MAX];
	uint64_t max_loan;
};

struct ipc_sub {
	struct ipc_handle h;
	bool closing; /* destroyed by its owner, kept for the slots still held */
	struct ipc_waiter *waiter;
	uint32_t n_held;
	const void *held[IPC_DEPTH_MAX];
};

struct ipc_waiter {
	struct ipc_handle h;
	_Atomic bool woken; /* data was there when a subscriber was added, or the attachment is stale */
	uint32_t n_subs;
	struct ipc_sub *subs[IPC_WAITER_SUBS];
};

struct ipc {
	_Atomic uint32_t *state; /* alone on a page that a fork wipes */
	const struct ipc_ops *ops;
	void *back;    /* NULL once detached */
	uint32_t refs; /* one for the owner and for every handle; guarded by lock */
	pthread_mutex_t lock;
	struct ipc_handle *handles;
	uint64_t max_loan;
	struct ipc_segment seg; /* base NULL: not looked up yet */
	struct ipc_pub *beacon_pub;
	struct ipc_sub *beacon_sub;
	const void *beacon; /* the held slot of beacon_sub */
	_Atomic uint64_t beacon_id;
	bool scans; /* the backend understands the memory layout of the pools */
	struct ipc_text scan_why;
	pid_t roudi;
	char plane[PLANE_MAX];
	char name[IPC_APP_MAX + 8];
};

/* Sets the sentence for ipc_why() and returns r. */
int ipc_fail(int r, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));
/* Sets the sentence for a handle that is not live: forked (-EPERM) or over (-ESTALE). */
int ipc_fail_state(const _Atomic uint32_t *state) __attribute__((cold));
int ipc_fail_busy(const struct ipc_handle *h) __attribute__((cold));

/* Locks the ipc for a call that concerns all of it; 0 with the lock held, or why not. */
int ipc_begin(struct ipc *ipc, const void *ret);

/* o->plane, which may be NULL. */
static inline const char *ipc_plane_of(const char *plane)
{
	return plane ? plane : "";
}

/* Loads the iox module for a fresh attachment and returns its table; ipc_load.c. */
int ipc_load_iox(const struct ipc_options *o, struct ipc_text *why, const struct ipc_ops **ret_ops, char *ret_name,
		 size_t name_size);

/* Starts scanning; pub has just sent slot. ipc->scans tells whether it works. */
void ipc_scan_open(struct ipc *ipc, struct ipc_pub *pub, const void *slot);

/* Removes sub from w; ipc.lock held. */
void ipc_waiter_unlink(struct ipc_waiter *w, struct ipc_sub *sub);
/* Frees a destroyed subscriber whose last held slot was released. */
void ipc_sub_bury(struct ipc_sub *sub);

static inline uint32_t ipc_state_of(const _Atomic uint32_t *state)
{
	return atomic_load_explicit(state, memory_order_acquire);
}

/* Enters a handle: returns 0 if no other thread is inside and the attachment is live. */
static inline int ipc_enter(struct ipc_handle *h)
{
	if (__builtin_expect(atomic_exchange_explicit(&h->busy, 1, memory_order_seq_cst) != 0, 0))
		return ipc_fail_busy(h);
	if (__builtin_expect(atomic_load_explicit(h->state, memory_order_seq_cst) != IPC_LIVE, 0)) {
		atomic_store_explicit(&h->busy, 0, memory_order_release);
		return ipc_fail_state(h->state);
	}
	return 0;
}

static inline void ipc_leave(struct ipc_handle *h)
{
	atomic_store_explicit(&h->busy, 0, memory_order_release);
}

#endif
