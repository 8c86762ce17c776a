/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock's publisher; see clock_pub.h. Thread: publish() on the clock thread, without lock or allocation of its own.
 */
#include "clock_pub.h"

#include "err.h"
#include "mem.h"

#include <errno.h>
#include <sim/msg/Clock.h>
#include <sim/slot.h>
#include <string.h>

#define SLOT_SIZE (sizeof(struct sim_slot) + sizeof(struct sim_Clock))

struct clock_pub {
	struct ipc_pub *pub;
	struct wire_counters *row;
	uint32_t channel_id, publisher_id, iox_generation;
	_Atomic uint64_t sequence;
};

static void row_set(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

static void row_add(_Atomic uint64_t *word, uint64_t more)
{
	row_set(word, atomic_load_explicit(word, memory_order_relaxed) + more); /* there is only one writer */
}

static void fill(const struct clock_pub *p, const struct clock_tick *tick, uint64_t sequence, struct sim_slot *s)
{
	struct sim_Clock *body = sim_slot_body_mut(s);

	memset(s, 0, SLOT_SIZE);
	s->magic = SIM_SLOT_MAGIC;
	s->version = SIM_SLOT_VERSION;
	s->type_hash = SIM_CLOCK_HASH;
	s->channel_id = p->channel_id;
	s->publisher_id = p->publisher_id;
	s->sequence = sequence;
	s->stamp_sim_ns = tick->now.sim_ns;
	s->publish_mono_ns = tick->publish_mono_ns;
	s->iox_generation = p->iox_generation;
	s->clock_generation = tick->now.clock_generation;
	s->body_size = sizeof(*body);
	body->clock = tick->now.sim_ns;
}

static void count(const struct clock_pub *p, const struct clock_tick *tick)
{
	if (!p->row)
		return;
	row_add(&p->row->messages, 1);
	row_add(&p->row->bytes, sizeof(struct sim_Clock));
	row_set(&p->row->last_mono_ns, (uint64_t)tick->publish_mono_ns);
	row_set(&p->row->last_stamp_sim_ns, (uint64_t)tick->now.sim_ns);
}

static int publish(void *ctx, const struct clock_tick *tick)
{
	struct clock_pub *p = ctx;
	uint64_t sequence = atomic_load_explicit(&p->sequence, memory_order_relaxed) + 1;
	void *slot;
	int r = ipc_loan(p->pub, SLOT_SIZE, &slot);

	if (r < 0) {
		if (p->row && r == -ENOMEM)
			row_add(&p->row->dropped[SIM_REASON_POOL], 1);
		return r;
	}
	fill(p, tick, sequence, slot);
	r = ipc_publish(p->pub, slot);
	if (r < 0) {
		ipc_unloan(p->pub, slot);
		return r;
	}
	atomic_store_explicit(&p->sequence, sequence, memory_order_relaxed);
	count(p, tick);
	return 0;
}

int clock_pub_create(const struct clock_pub_options *o, struct clock_pub **ret, struct clock_sink *ret_sink)
{
	struct ipc_pub_options options = { .history = 1 };
	struct clock_pub *p = MEM_NEW(struct clock_pub);
	int r;

	if (!p)
		return err_nomem();
	p->row = o->row;
	p->channel_id = o->channel_id;
	p->publisher_id = o->publisher_id;
	p->iox_generation = o->iox_generation;
	atomic_init(&p->sequence, o->sequence);
	r = ipc_pub_create(o->ipc, o->channel, &options, &p->pub);
	if (r < 0) {
		err_set(r, "%s", ipc_why());
		mem_free(p);
		return r;
	}
	*ret = p;
	*ret_sink = (struct clock_sink){ .publish = publish, .ctx = p };
	return 0;
}

void clock_pub_destroy(struct clock_pub *p)
{
	if (!p)
		return;
	ipc_pub_destroy(p->pub);
	mem_free(p);
}

uint64_t clock_pub_sequence(const struct clock_pub *p)
{
	return atomic_load_explicit(&p->sequence, memory_order_relaxed);
}
