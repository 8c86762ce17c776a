/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of hosts, looked up on a thread of its own: a server of names that is not there holds it up for many seconds, and the loop
 * goes on meanwhile. The thread is started by the first name.
 *
 * Thread: that of the exec which is told, but for create and destroy.
 */
#ifndef LOOP_LOOKUP_H
#define LOOP_LOOKUP_H

#include "exec.h"

struct addrinfo;
struct lookup;
struct lookup_ask;

/* r: as of getaddrinfo(); all: takes, NULL where r is not 0. */
typedef void (*lookup_fn)(void *arg, int r, struct addrinfo *all);

/* thread: its name, borrowed for as long as the lookup lives. -ENOMEM. */
int lookup_create(const char *thread, struct lookup **ret);
/* When nobody asks any more; waits for a name that is being looked up. NULL is fine. */
void lookup_destroy(struct lookup *l);

/* Copies host. fn follows, from the loop, unless it is cancelled. -ENOMEM, or why there is no thread. */
int lookup_start(struct lookup *l, struct exec *x, const char *host, unsigned port, lookup_fn fn, void *arg,
		 struct lookup_ask **ret);
void lookup_cancel(struct lookup_ask *a); /* NULL is fine */

#endif
