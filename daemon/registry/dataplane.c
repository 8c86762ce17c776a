/* SPDX-License-Identifier: Apache-2.0 */
/* Generations of the data plane; contract in dataplane.h. Thread: simd-main. */
#include "dataplane.h"

#include "channel.h"
#include "err.h"
#include "event.h"
#include "ipc.h"
#include "journal.h"
#include "list.h"
#include "log.h"
#include "mem.h"
#include "shards.h"
#include "simd.h"
#include "slot_reclaim.h"
#include "timekeeper.h"

LOG_TOPIC("dataplane");

/* A generation that has ended, kept until dispatch has released its subscribers. */
struct old_generation {
	struct list link; /* simd::dataplane.old */
	struct ipc *ipc;
	uint32_t generation;
	uint32_t subs; /* subscribers of it that dispatch still has */
};

static void old_free(struct old_generation *o)
{
	list_remove(&o->link);
	ipc_detach(o->ipc);
	mem_free(o);
}

/* n_simd_subs counts subscribers of the present generation; those of an old one are counted in its entry. */
static void retire(struct simd *s)
{
	struct old_generation *o = s->dataplane.over;

	if (!s->dataplane.ipc)
		return;
	ipc_abandon(s->dataplane.ipc);
	o->ipc = s->dataplane.ipc;
	o->generation = s->dataplane.generation;
	o->subs = s->n_simd_subs;
	list_append(&s->dataplane.old, &o->link);
	if (o->subs == 0)
		old_free(o);
	s->dataplane.over = NULL;
	s->dataplane.ipc = NULL;
	s->n_simd_subs = 0;
}

void dataplane_set_pools(struct simd *s, const struct pools *pools)
{
	s->pools = *pools; /* nothing is reserved yet */
}

void dataplane_set_roudi(struct simd *s, pid_t pid, bool owned, bool robust)
{
	s->dataplane.roudi_pid = (int)pid;
	s->dataplane.roudi_owned = owned;
	s->dataplane.roudi_robust = robust;
}

void dataplane_lost(struct simd *s, const char *why)
{
	if (!s->dataplane.ready)
		return;
	log_warn("the data plane is lost (generation %u): %s", s->dataplane.generation, why);
	s->dataplane.ready = false;
	timekeeper_dataplane_lost(s->time);
	journal_dataplane_lost(s);
	(void)shards_restart_begin(s);
	slot_reclaim_restart(s);
	pools_end(&s->pools);
	retire(s);
	event_dataplane(s);
}

int dataplane_up(struct simd *s, struct ipc *ipc, uint32_t generation)
{
	int r = pools_begin(&s->pools);

	if (r == 0) {
		s->dataplane.over = MEM_NEW(struct old_generation);
		r = s->dataplane.over ? 0 : err_nomem();
	}
	if (r == 0) {
		r = ipc_beacon_create(ipc);
		if (r < 0)
			err_set(r, "the reference slot of the data plane cannot be made: %s", ipc_why());
	}
	if (r < 0) {
		pools_end(&s->pools);
		mem_free(s->dataplane.over);
		s->dataplane.over = NULL;
		ipc_detach(ipc);
		return r;
	}
	s->dataplane.ipc = ipc;
	s->dataplane.generation = generation;
	s->dataplane.ready = true;
	r = shards_set_ipc(s, ipc, generation);
	if (r == 0)
		r = channel_resubscribe_all(s);
	if (r == 0)
		r = timekeeper_dataplane_up(s->time);
	if (r < 0) {
		dataplane_lost(s, err_why());
		return r;
	}
	journal_dataplane_up(s);
	if (*slot_reclaim_why(s))
		log_warn("%s: slots that a killed process has in hand stay lost", slot_reclaim_why(s));
	log_info("data plane up: generation %u, application %s", generation, ipc_runtime_name(ipc));
	event_dataplane(s);
	return 0;
}

/* A bridge may keep a slot of an old generation for long, so each subscriber is counted in its generation. */
void dataplane_sub_free(struct simd *s, struct ipc_sub *sub, uint32_t generation)
{
	struct old_generation *o, *tmp;

	ipc_sub_destroy(sub);
	if (s->dataplane.ipc && generation == s->dataplane.generation) {
		if (s->n_simd_subs)
			s->n_simd_subs--;
		return;
	}
	list_for_each_safe(o, tmp, &s->dataplane.old, link) {
		if (o->generation == generation && --o->subs == 0)
			old_free(o);
	}
}

void dataplane_finish(struct simd *s)
{
	struct old_generation *o, *tmp;

	list_for_each_safe(o, tmp, &s->dataplane.old, link)
		old_free(o);
	ipc_detach(s->dataplane.ipc);
	mem_free(s->dataplane.over);
	s->dataplane.over = NULL;
	s->dataplane.ipc = NULL;
	s->dataplane.ready = false;
}
