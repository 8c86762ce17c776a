/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of simd-main's time each user's calls take. A user other than root and simd's own may use half of it, and a burst
 * on top; who wants more waits, one connection after the other. So however many connections it has, and however long its calls
 * take, others' calls wait for one of them.
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

struct share {            /* of one user; kept until it has nothing to wait for any more */
	struct list link; /* control::shares */
	struct control *c;
	uid_t uid;
	bool bound; /* not root, not simd's own user */
	unsigned refs, n_conns;
	unsigned open;        /* answers that are to be made: its next call waits for them */
	int64_t free_mono_ns; /* ... and runs from then on */
	struct list waiting;  /* conn::waiting */
	struct exec_timer timer;
};

/* For a connection of that user, or a call of its. NULL: no memory. */
struct share *share_get(struct control *c, uid_t uid);
struct share *share_ref(struct share *s);
void share_put(struct share *s);
void share_destroy_all(struct control *c);

/* Of others than root and simd's own user: who has most connections. NULL: nobody has any. */
struct share *share_largest(const struct control *c);

/* True: its calls wait, and run when its user may have them run again. */
bool share_wait(struct conn *c);
/* It had something done, from then until now. */
void share_spent(struct share *s, int64_t begin_mono_ns);
/* An answer of its takes time, later; then it had that done, from then until now. */
void share_open(struct share *s);
void share_close(struct share *s, int64_t begin_mono_ns);

#endif
