/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mailbox: see mailbox.h. A post under way holds a reference, so that closing never leaves the exec with
 * a dangling pointer.
 *
 * Thread: any for sending; the exec's for the rest.
 */
#include "mailbox.h"

#include <errno.h>
#include <stdatomic.h>

#include "mem.h"

struct mailbox {
	struct exec *x;
	mailbox_fn fn;
	void *arg;
	_Atomic(struct mail *) head; /* newest first */
	atomic_uint refs;            /* the owner, and each post under way */
	atomic_bool closed;
};

int mailbox_create(struct exec *x, mailbox_fn fn, void *arg, struct mailbox **ret)
{
	struct mailbox *mb = MEM_NEW(struct mailbox);

	if (!mb)
		return -ENOMEM;
	mb->x = x;
	mb->fn = fn;
	mb->arg = arg;
	atomic_init(&mb->refs, 1);
	*ret = mb;
	return 0;
}

struct mail *mailbox_take(struct mailbox *mb)
{
	struct mail *newest, *oldest = NULL;

	if (!atomic_load(&mb->head))
		return NULL;
	newest = atomic_exchange(&mb->head, NULL);
	while (newest) {
		struct mail *m = newest;

		newest = m->next;
		m->next = oldest;
		oldest = m;
	}
	return oldest;
}

static void drop_all(struct mailbox *mb)
{
	struct mail *m = mailbox_take(mb);

	while (m) {
		struct mail *next = m->next;

		m->drop(m);
		m = next;
	}
}

static void unref(struct mailbox *mb)
{
	if (atomic_fetch_sub(&mb->refs, 1) != 1)
		return;
	drop_all(mb);
	mem_free(mb);
}

static void read_mail(void *arg)
{
	struct mailbox *mb = arg;

	if (!atomic_load(&mb->closed)) {
		struct mail *list = mailbox_take(mb);

		if (list)
			mb->fn(mb->arg, list);
	}
	unref(mb);
}

static void post(struct mailbox *mb)
{
	atomic_fetch_add(&mb->refs, 1);
	if (exec_post(mb->x, read_mail, mb) < 0)
		atomic_fetch_sub(&mb->refs, 1); /* the owner's reference is still there */
}

void mailbox_send(struct mailbox *mb, struct mail *m)
{
	struct mail *head = atomic_load(&mb->head);

	do
		m->next = head;
	while (!atomic_compare_exchange_weak(&mb->head, &head, m));
	if (!head)
		post(mb); /* else the sender of the first one has posted, or a poke will */
}

void mailbox_poke(struct mailbox *mb)
{
	if (atomic_load(&mb->head))
		post(mb);
}

void mailbox_close(struct mailbox *mb)
{
	if (!mb)
		return;
	atomic_store(&mb->closed, true);
	drop_all(mb);
	unref(mb);
}
