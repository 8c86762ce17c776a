/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose function the thread is in: the name of a component or node while the library calls what its author wrote, so that a handler
 * of crashes can name it; and which of all these functions run now, in whatever thread, so that one that does not come back can be
 * named. They may nest; who enters gives back what was there before.
 *
 *     before = whose_enter(n->name);           whose_begin(&run, &r->call);
 *     fn(user);                                fn(user);
 *     whose_leave(before);                     whose_end(&run);
 *
 * The list of functions is the process's, not a host's: what hangs is the process. To begin costs no clock and no lock: how long one
 * has run is known by who looks again and again.
 *
 * Thread: each has its own; whose() may be called in a signal handler. whose_add(), whose_remove() and whose_look() any; of one
 *         function whose_begin() and whose_end() one at a time.
 */
#ifndef BASE_WHOSE_H
#define BASE_WHOSE_H

#include <stdatomic.h>
#include <stdint.h>

#include "list.h"

const char *whose(void); /* NULL: nobody's; borrows until that function returns */
/* name: kept until whose_leave(); NULL: nobody's. Returns what is to be given to whose_leave(). */
const char *whose_enter(const char *name);
void whose_leave(const char *before);

enum whose_kind { WHOSE_PROC, WHOSE_READER, WHOSE_TIMER, WHOSE_SERVICE, WHOSE_PARAM };

struct whose_call {
	struct list link; /* of all, guarded by whose.c; { NULL }: not in it */
	enum whose_kind kind;
	const char *name;         /* whose; NULL: nobody's */
	const char *of;           /* channel, timer, service, parameter; NULL of proc */
	struct whose_run *run;    /* innermost; NULL: it does not run */
	_Atomic uintptr_t thread; /* that it runs in, some number; 0: none */
	_Atomic uint32_t depth;   /* how many functions run in that thread, with it */
	_Atomic uint64_t runs;    /* so far */
	uint64_t seen_runs;       /* by whose_look() */
	int64_t seen_mono_ns;     /* ... for the first time; 0: it did not run */
};

/* One time that it runs: on the stack of the thread. */
struct whose_run {
	struct whose_call *call; /* NULL: it has been removed meanwhile */
	struct whose_run *outer; /* of the same */
	const char *before;
};

/* name and of: kept until whose_remove(). *c is otherwise zero. */
void whose_add(struct whose_call *c, enum whose_kind kind, const char *name, const char *of);
/* When it does not run, or inside itself. All zero is fine. */
void whose_remove(struct whose_call *c);
void whose_begin(struct whose_run *r, struct whose_call *c);
void whose_end(struct whose_run *r); /* c may be gone */

/*
 * fn for each function that has run without an end since it was seen the last time, c->seen_mono_ns; it may not call whose_add() or
 * whose_remove(). By one thread at a time.
 */
void whose_look(int64_t now_mono_ns, void (*fn)(void *user, const struct whose_call *c), void *user);

#endif
