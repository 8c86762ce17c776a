/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An XML-RPC call to the master or another node: a connection, a request, a response, within a time limit. Thread: the
 * loop's.
 */
#ifndef ASK_H
#define ASK_H

#include "xmlrpc.h"

struct ask;
struct lookup;
struct sim_bridge;

/*
 * r 0: d is the response, which the callee frees with xmlrpc_free(). Else d is NULL and why the reason: -ETIMEDOUT,
 * -ECONNREFUSED, -EBADMSG, -EREMOTEIO a fault ...
 */
typedef void (*ask_fn)(void *arg, int r, struct xmlrpc_doc *d, const char *why);

/*
 * Starts the call that w contains; takes ownership of w's text. names looks up the host. fn is called once, never from
 * inside; after that the ask is freed. NULL: no memory; fn is not called.
 */
struct ask *ask_start(struct sim_bridge *b, struct lookup *names, const char *uri, struct xmlrpc_writer *w,
		      int64_t dur_ns, ask_fn fn, void *arg);
void ask_cancel(struct ask *a); /* a may be NULL */

#endif
