/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of XML-RPC to the master or another node: a connection, a request, a response, within a time. Thread: the loop's.
 */
#ifndef ASK_H
#define ASK_H

#include "xmlrpc.h"

struct ask;
struct lookup;
struct sim_bridge;

/* r 0: d is the response, takes: xmlrpc_free(). Else d is NULL and why a sentence: -ETIMEDOUT, -ECONNREFUSED, -EBADMSG, -EREMOTEIO a fault ... */
typedef void (*ask_fn)(void *arg, int r, struct xmlrpc_doc *d, const char *why);

/* Takes and ends what w holds, a call; names looks up the host. fn follows, never from inside; then the ask is gone. NULL: no memory, and it does not. */
struct ask *ask_start(struct sim_bridge *b, struct lookup *names, const char *uri, struct xmlrpc_writer *w,
		      int64_t dur_ns, ask_fn fn, void *arg);
void ask_cancel(struct ask *a); /* NULL is fine */

#endif
