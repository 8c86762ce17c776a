/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps memory of the data plane before it is used: when a channel gets it, and, after a new attach, in the background,
 * as reconnecting comes first. Thread: under client::setup; the background work has a thread of its own.
 */
#include "client.h"

#include "attachment.h"
#include "jsonx.h"
#include "mem.h"
#include "thread.h"
#include "timeutil.h"

#include <errno.h>
#include <string.h>

struct warm_job {
	struct attachment *att; /* referenced */
	struct slot_range slots[SLOT_RANGES_MAX];
	unsigned n_slots;
	pthread_t thread;
	_Atomic bool done;
};

static void *warm_main(void *arg)
{
	struct warm_job *w = arg;

	(void)ipc_prefault(w->att->ipc, 0, 0); /* if it fails, the first messages are only slower */
	for (unsigned i = 0; i < w->n_slots; i++)
		(void)ipc_prefault(w->att->ipc, w->slots[i].at, w->slots[i].bytes);
	atomic_store(&w->done, true);
	return NULL;
}

static void keep_range(struct sim_client *c, struct slot_range v)
{
	unsigned i = 0;

	while (i < c->n_slots && c->slots[i].at != v.at)
		i++;
	if (i == SLOT_RANGES_MAX)
		return;
	c->slots[i] = v;
	c->n_slots += i == c->n_slots;
}

void client_populate(struct sim_client *c, struct attachment *l, const json_t *reply)
{
	int64_t at = 0, bytes = 0;

	if (c->flags & SIM_CLIENT_NO_PREFAULT || jsonx_opt_int(reply, "memory_at", 0, INT64_MAX, 0, &at) < 0 ||
	    jsonx_opt_int(reply, "memory_bytes", 0, INT64_MAX, 0, &bytes) < 0 || bytes == 0)
		return;
	keep_range(c, (struct slot_range){ (uint64_t)at, (uint64_t)bytes });
	(void)ipc_prefault(l->ipc, (uint64_t)at, (uint64_t)bytes); /* as above */
}

void client_populate_end(struct sim_client *c)
{
	if (!c->warm)
		return;
	pthread_join(c->warm->thread, NULL);
	attachment_unref(c->warm->att);
	mem_free(c->warm);
	c->warm = NULL;
}

static int warm_start(struct sim_client *c)
{
	struct warm_job *w = MEM_NEW(struct warm_job);
	int r;

	if (!w)
		return -ENOMEM;
	w->att = attachment_ref(c->att);
	memcpy(w->slots, c->slots, sizeof(w->slots));
	w->n_slots = c->n_slots;
	r = thread_start(&w->thread, "sim-warm", warm_main, w);
	if (r < 0) {
		attachment_unref(w->att);
		mem_free(w);
		return r;
	}
	c->warm = w;
	return 0;
}

/* Not while an earlier one still runs: recovery calls this again. */
void client_populate_step(struct sim_client *c)
{
	if (c->warm && atomic_load(&c->warm->done))
		client_populate_end(c);
	if (!c->warm_due || atomic_load(&c->phase) != PHASE_UP || !c->att)
		return;
	if (c->warm) {
		client_due(c, ns_add(client_now(c), 50 * NS_PER_MS));
		return;
	}
	c->warm_due = false;
	(void)warm_start(c); /* no thread available: pages are mapped as they are used */
}
