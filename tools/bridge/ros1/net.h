/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets: listening, connecting, and one call of XML-RPC that waits for its answer. Thread: any. */
#ifndef NET_H
#define NET_H

#include <stdint.h>

#include "xmlrpc.h"

/* Begin to connect; may block while a name is looked up. A descriptor that becomes writable, or a negative errno. */
int net_connect(const char *host, unsigned port, char *why, size_t why_size);

/* All of n bytes, before due_mono_ns; errors and `stop` as of net_call(). A socket that is being connected may be sent on. */
int net_send(int fd, const void *data, size_t n, int64_t due_mono_ns, int stop, char *why, size_t why_size);
int net_receive(int fd, void *data, size_t n, int64_t due_mono_ns, int stop, char *why, size_t why_size);

/*
 * Call a method: the writer holds the whole call. Waits until due_mono_ns at most; a descriptor `stop` that becomes readable ends it
 * (-ECANCELED; -1: none). returns the response: xmlrpc_free(). Errors, with a sentence: -ETIMEDOUT, -ECONNREFUSED, -EBADMSG, ...
 */
int net_call(const char *uri, const struct xmlrpc_writer *w, int64_t due_mono_ns, int stop, struct xmlrpc_doc **ret,
	     char *why, size_t why_size);

#endif
