/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mailbox hands mail from any thread to one exec, in order, without a lock: a lock-free stack that its
 * reader turns round, and at most one exec_post() under way.
 *
 * Thread: mailbox_send() and mailbox_poke() any; the reader runs on the exec's thread; mailbox_close() there
 *         too, or when that exec runs no more.
 */
#ifndef DISPATCH_MAILBOX_H
#define DISPATCH_MAILBOX_H

#include "exec.h"

struct mailbox;

struct mail { /* first member of what is sent */
	struct mail *next;
	void (*drop)(struct mail *m); /* frees one that was never read */
};

/* Reads all that has come, oldest first, as a list; owns it from then on. */
typedef void (*mailbox_fn)(void *arg, struct mail *list);

int mailbox_create(struct exec *x, mailbox_fn fn, void *arg, struct mailbox **ret);
/* Takes m. When memory for the post is short the mail waits for the next send or poke. */
void mailbox_send(struct mailbox *mb, struct mail *m);
/* What has come, oldest first, without waiting for the post; on the exec's thread. NULL: nothing. */
struct mail *mailbox_take(struct mailbox *mb);
/* Post again if mail waits without one. */
void mailbox_poke(struct mailbox *mb);
/* Unread mail is dropped, the reader is never called again. NULL is fine. */
void mailbox_close(struct mailbox *mb);

#endif
