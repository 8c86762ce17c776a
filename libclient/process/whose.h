/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records whose code each thread is in, by the name of a component or node, while the library calls a callback, so that
 * a crash handler can name it. Also records which callbacks are running, in all threads, so that one that hangs can be
 * named. Calls may nest: each whose_enter() returns the previous name, which whose_leave() restores.
 *
 *     before = whose_enter(n->name);           whose_begin(&run, &r->call);
 *     fn(user);                                fn(user);
 *     whose_leave(before);                     whose_end(&run);
 *
 * The list of callbacks is one per process, not per host: a callback that hangs is a problem of the whole process.
 * whose_begin() takes no lock and reads no clock: how long a callback has been running is known from repeated calls of
 * whose_look().
 *
 * Thread: names are per thread; whose() may be called in a signal handler. whose_add(), whose_remove() and whose_look():
 *         any; whose_begin() and whose_end() of one callback: one at a time.
 */
#ifndef BASE_WHOSE_H
#define BASE_WHOSE_H

#include <stdatomic.h>
#include <stdint.h>

#include "list.h"

/* name of the owner of the running callback; NULL: none; borrowed until the callback returns */
const char *whose(void);
/* name: borrowed until whose_leave(); NULL: none. Returns the value to pass to whose_leave(). */
const char *whose_enter(const char *name);
void whose_leave(const char *before);

enum whose_kind { WHOSE_PROC, WHOSE_READER, WHOSE_TIMER, WHOSE_SERVICE, WHOSE_PARAM };

struct whose_call {
	struct list link; /* in the list of all, guarded by calls_lock; { NULL }: not in it */
	enum whose_kind kind;
	const char *name;         /* name of the owner; NULL: none */
	const char *of;           /* name of the channel, timer, service or parameter; NULL for proc */
	struct whose_run *run;    /* innermost run; NULL: not running */
	_Atomic uintptr_t thread; /* identifies the thread that it runs in; 0: not running */
	_Atomic uint32_t depth;   /* nesting depth of callbacks in that thread when it began */
	_Atomic uint64_t runs;    /* number of runs so far */
	uint64_t seen_runs;       /* `runs` as of the last whose_look() that saw a new run */
	int64_t seen_mono_ns;     /* when whose_look() first saw this run; 0: not running then */
};

/* One run of a callback; lives on the stack of its thread. */
struct whose_run {
	struct whose_call *call; /* NULL: removed during the run */
	struct whose_run *outer; /* outer run of the same callback */
	const char *before;
};

/* Adds a callback to the list. name, of: borrowed until whose_remove(). *c is zero on entry. */
void whose_add(struct whose_call *c, enum whose_kind kind, const char *name, const char *of);
/* May be called only while the callback does not run, or from within it. *c may be all zero. */
void whose_remove(struct whose_call *c);
void whose_begin(struct whose_run *r, struct whose_call *c);
void whose_end(struct whose_run *r); /* the whose_call may have been removed */

/*
 * Calls fn for each callback whose current run an earlier whose_look() has already seen, first at c->seen_mono_ns. fn
 * must not call whose_add() or whose_remove(). Called by one thread at a time.
 */
void whose_look(int64_t now_mono_ns, void (*fn)(void *user, const struct whose_call *c), void *user);

#endif
