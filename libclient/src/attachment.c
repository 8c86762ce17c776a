/* SPDX-License-Identifier: Apache-2.0 */
/* Counted attachments and publisher ports. Thread: see attachment.h. */
#include "attachment.h"

#include "err.h"
#include "mem.h"

int attachment_create(struct ipc *ipc, uint32_t iox_generation, struct attachment **ret)
{
	struct attachment *l = MEM_NEW(struct attachment);

	if (!l)
		return err_nomem();
	atomic_init(&l->refs, 1);
	l->ipc = ipc;
	l->iox_generation = iox_generation;
	*ret = l;
	return 0;
}

struct attachment *attachment_ref(struct attachment *l)
{
	atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
	return l;
}

void attachment_unref(struct attachment *l)
{
	if (!l || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1)
		return;
	ipc_detach(l->ipc);
	mem_free(l);
}

int pub_port_create(struct attachment *l, const char *channel, uint32_t history, struct pub_port **ret)
{
	struct ipc_pub_options o = { .history = history };
	struct pub_port *p = MEM_NEW(struct pub_port);
	int r;

	if (!p)
		return err_nomem();
	r = ipc_pub_create(l->ipc, channel, &o, &p->pub);
	if (r < 0) {
		mem_free(p);
		return err_set(r, "channel %s: %s", channel, ipc_why());
	}
	atomic_init(&p->refs, 1);
	p->att = attachment_ref(l);
	*ret = p;
	return 0;
}

struct pub_port *pub_port_ref(struct pub_port *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

void pub_port_unref(struct pub_port *p)
{
	if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
		return;
	ipc_pub_destroy(p->pub);
	attachment_unref(p->att);
	mem_free(p);
}
