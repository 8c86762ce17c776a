/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc: lost slots. The backends find them; this file determines which origins are never freed. Thread: any; ipc.lock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc_int.h"
#include "ipc_roudi.h"

void ipc_scan_open(struct ipc *ipc, struct ipc_pub *pub, const void *slot)
{
	int r;

	pthread_mutex_lock(&ipc->lock);
	r = pub->h.back ? ipc->ops->scan_open(ipc->back, pub->h.back, slot, &ipc->scan_why) : -ESTALE;
	ipc->scans = r == 0;
	if (r < 0 && !ipc->scan_why.s[0])
		snprintf(ipc->scan_why.s, sizeof(ipc->scan_why.s), "%s", strerror(-r));
	pthread_mutex_unlock(&ipc->lock);
}

const char *ipc_scan_why(const struct ipc *ipc)
{
	return ipc ? ipc->scan_why.s : "";
}

uint64_t ipc_pub_origin(const struct ipc_pub *pub)
{
	struct ipc_handle *h = (struct ipc_handle *)(uintptr_t)pub;
	uint64_t origin;

	if (!h || ipc_state_of(h->state) == IPC_FORKED)
		return 0;
	pthread_mutex_lock(&h->ipc->lock);
	origin = h->back ? h->ops->origin(h->back) : 0;
	pthread_mutex_unlock(&h->ipc->lock);
	return origin;
}

/* ret: returns, free(); n of them. ipc.lock held. */
static int own_origins(const struct ipc *ipc, uint64_t **ret, uint32_t *ret_n)
{
	uint32_t n = 0;

	for (const struct ipc_handle *h = ipc->handles; h; h = h->next)
		n += h->kind == IPC_PUB && h->back;
	*ret = malloc((n + 1) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	*ret_n = 0;
	for (const struct ipc_handle *h = ipc->handles; h; h = h->next)
		if (h->kind == IPC_PUB && h->back)
			(*ret)[(*ret_n)++] = h->ops->origin(h->back);
	return 0;
}

/* Excludes this process's own origins: no caller can declare a publisher of this process dead. */
static int scan(struct ipc *ipc, const struct ipc_scan_request *q, struct ipc_scan *ret)
{
	struct ipc_scan_order o = { .settled = q->settled, .marks = q->marks, .alone = q->alone };
	uint64_t *dead = malloc((q->n_dead + 1) * sizeof(*dead)), *own = NULL;
	int r = dead ? own_origins(ipc, &own, &o.n_own) : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < q->n_dead; i++) {
		bool ours = q->dead[i] == 0;

		for (uint32_t k = 0; k < o.n_own; k++)
			ours |= own[k] == q->dead[i];
		if (!ours)
			dead[o.n_dead++] = q->dead[i];
	}
	o.dead = dead;
	o.own = own;
	if (r == 0)
		ipc->ops->scan(ipc->back, &o, ret);
	free(dead);
	free(own);
	return r;
}

int ipc_scan(struct ipc *ipc, const struct ipc_scan_request *q, struct ipc_scan *ret)
{
	int r = ipc_begin(ipc, ret);

	if (r < 0)
		return r;
	if (!ipc->beacon_pub)
		r = ipc_fail(-ENOENT, "no beacon is created on this attachment yet");
	else if (!ipc->scans)
		r = ipc_fail(-EOPNOTSUPP, "%s: slots that a killed process had in hand stay lost", ipc->scan_why.s);
	else if (scan(ipc, q, ret) < 0)
		r = ipc_fail(-ENOMEM, "out of memory while looking for lost slots");
	pthread_mutex_unlock(&ipc->lock);
	return r;
}

int ipc_peers(struct ipc *ipc, struct ipc_peer *ret, unsigned int max)
{
	int r = ipc_begin(ipc, ret);

	if (r < 0)
		return r;
	r = ipc->ops->peers ? ipc->ops->peers(ipc->back, ret, max) : roudi_peers(ipc->plane, ret, max);
	pthread_mutex_unlock(&ipc->lock);
	return r < 0 ? ipc_fail(r, "/tmp cannot be read, where applications of iceoryx have their sockets: %s",
				strerror(-r))
		     : r;
}
