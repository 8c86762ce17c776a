/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves host names on a thread of its own: a name server that does not answer blocks that thread for many seconds
 * while the loop goes on. The first lookup starts the thread.
 *
 *
 *
 * Thread: that of the exec which gets the result, except for create and destroy.
 */
#ifndef LOOP_LOOKUP_H
#define LOOP_LOOKUP_H

#include "exec.h"

struct addrinfo;
struct lookup;
struct lookup_ask;

/* r: as of getaddrinfo(). Takes all, which is NULL if r is not 0. */
typedef void (*lookup_fn)(void *arg, int r, struct addrinfo *all);

/* thread: the thread's name, borrowed until lookup_destroy(). -ENOMEM. */
int lookup_create(const char *thread, struct lookup **ret);
/* Call it when no lookup is pending; waits for a name that is being resolved. NULL is fine. */
void lookup_destroy(struct lookup *l);

/*
 * Copies host. fn is called from the loop, unless the lookup is cancelled. -ENOMEM, or the error of starting the
 * thread.
 */
int lookup_start(struct lookup *l, struct exec *x, const char *host, unsigned port, lookup_fn fn, void *arg,
		 struct lookup_ask **ret);
void lookup_cancel(struct lookup_ask *a); /* NULL is fine */

#endif
