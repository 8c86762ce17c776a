/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how much of simd-main's time each user's calls take. A user other than root and simd's own may use half of it,
 * and a burst on top; beyond that its calls wait, one connection after the other. So however many connections a user
 * has, and however long its calls take, calls of others wait for at most one of them.
 *
 * Thread: simd-main.
 */
#ifndef CONTROL_SHARE_H
#define CONTROL_SHARE_H

#include "exec.h"
#include "list.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct control;
struct conn;

/* one user's part of the time; kept while the user has connections or calls, and until free_mono_ns */
struct share {
	struct list link; /* control::shares */
	struct control *c;
	uid_t uid;
	bool bound; /* not root, not simd's own user */
	unsigned refs, n_conns;
	unsigned open;        /* answers in progress: the user's next call waits for them */
	int64_t free_mono_ns; /* earliest time of the user's next call */
	struct list waiting;  /* conn::waiting */
	struct exec_timer timer;
};

/* The share of that user, for a connection or a call. NULL: no memory. */
struct share *share_get(struct control *c, uid_t uid);
struct share *share_ref(struct share *s);
void share_put(struct share *s);
void share_destroy_all(struct control *c);

/* The user with most connections, except root and simd's own user. NULL: there is none. */
struct share *share_largest(const struct control *c);

/* Returns true if the connection's calls must wait; they run when its user's part allows it. */
bool share_wait(struct conn *c);
/* Adds the time from begin_mono_ns until now to the user's work. */
void share_spent(struct share *s, int64_t begin_mono_ns);
/* For an answer that is made later: share_open() before it, share_close() with the time when the work began. */
void share_open(struct share *s);
void share_close(struct share *s, int64_t begin_mono_ns);

#endif
