/* SPDX-License-Identifier: Apache-2.0 */
/* The receivers of a channel: its bridges, as simd writes them into the dispatch page, and subscribers. */
#include <errno.h>

#include "err.h"
#include "futex.h"
#include "publisher.h"
#include "subscriber.h"
#include "timeutil.h"

#define SLICE_DUR_NS (20 * NS_PER_MS) /* how long the loss of simd may go unnoticed */

static struct sim_bridges bridges_of(const struct pub_reg *reg)
{
	uint32_t word;

	if (!reg->channel || atomic_load_explicit(&reg->state, memory_order_relaxed) != REG_UP)
		return (struct sim_bridges){ 0, 0 };
	word = atomic_load_explicit(&reg->info->bridges, memory_order_relaxed);
	return (struct sim_bridges){ word & 0xffff, word >> 16 };
}

struct sim_bridges sim_publisher_bridges(const struct sim_publisher *p)
{
	/* enters the handle: recovery may be replacing the registration */
	struct sim_publisher *w = (struct sim_publisher *)(uintptr_t)p;
	struct sim_bridges b = { 0, 0 };

	if (!p || publisher_enter(w) < 0)
		return b;
	b = bridges_of(p->reg);
	handle_leave(&w->h);
	return b;
}

bool sim_publisher_has_subscribers(const struct sim_publisher *p)
{
	struct sim_publisher *w = (struct sim_publisher *)(uintptr_t)p;
	bool any;

	if (!p || publisher_enter(w) < 0)
		return false;
	any = ipc_pub_has_subscribers(p->reg->port->pub);
	handle_leave(&w->h);
	return any;
}

/* ---- subscribers elsewhere ---- */

/* Some subscribers may not be back at a new simd yet. */
static bool is_unsure(struct pub_reg *reg, const struct sim_client *c)
{
	if (__builtin_expect(!reg->unsure_until_mono_ns, 1))
		return false;
	if (client_now(c) < reg->unsure_until_mono_ns)
		return true;
	reg->unsure_until_mono_ns = 0;
	return false;
}

static uint32_t own(struct sim_publisher *p, uint32_t seq)
{
	const struct pub_reg *reg = p->reg;

	if (__builtin_expect(p->own.serial != reg->session->serial || p->own.seq != seq, 0)) {
		p->own.n = subscribers_own(p->c, reg->session, reg->name);
		p->own.serial = reg->session->serial;
		p->own.seq = seq;
	}
	return p->own.n;
}

/*
 * All subscriptions minus this client's own. If one of its own were added or removed between the two reads, another
 * client's would be taken for it: subs_seq shows that. simd adds a subscription of this client to its count before
 * subs_seq changes, and removes it after that.
 */
static uint32_t elsewhere(struct sim_publisher *p)
{
	struct pub_reg *reg = p->reg;
	uint32_t seq, mine, all;

	if (!reg->info || atomic_load_explicit(&reg->state, memory_order_relaxed) != REG_UP || is_unsure(reg, p->c))
		return UINT32_MAX;
	do {
		seq = atomic_load(&p->c->subs_seq);
		mine = own(p, seq);
		all = atomic_load(&reg->info->subscribers);
	} while (atomic_load(&p->c->subs_seq) != seq);
	if (!all)
		return UINT32_MAX;
	return all - 1 > mine ? all - 1 - mine : 0;
}

uint32_t sim_publisher_subscribers_elsewhere(const struct sim_publisher *p)
{
	struct sim_publisher *w = (struct sim_publisher *)(uintptr_t)p;
	uint32_t n;

	if (!p || publisher_enter(w) < 0)
		return UINT32_MAX;
	n = elsewhere(w);
	handle_leave(&w->h);
	return n;
}

/* ---- waiting for a change ---- */

/* Reads the numbers, and the sequence number of that change. False: the publisher's thread is inside just now. */
static bool look(struct sim_publisher *p, struct sim_bridges *ret, struct session **ret_session, uint32_t *ret_seq)
{
	if (!handle_try_library(&p->h))
		return false;
	if (atomic_load_explicit(&p->attention, memory_order_acquire))
		publisher_attend(p);
	*ret_session = session_ref(p->reg->session);
	*ret_seq = atomic_load(&(*ret_session)->layout->bridges_seq);
	*ret = bridges_of(p->reg);
	handle_leave(&p->h);
	return true;
}

/* Sleeps until the next change, or for a short while. */
static void rest(struct sim_client *c, struct session *s, uint32_t seq, int64_t left_dur_ns)
{
	if (left_dur_ns > SLICE_DUR_NS)
		left_dur_ns = SLICE_DUR_NS;
	if (c->env)
		client_sleep(c, -1, 0, left_dur_ns < NS_PER_MS ? left_dur_ns : NS_PER_MS);
	else
		futex_wait(&s->layout->bridges_seq, seq, left_dur_ns, FUTEX_BETWEEN_PROCESSES);
	if (client_pumps(c))
		client_work(c);
}

int sim_publisher_bridges_wait(const struct sim_publisher *p, struct sim_bridges *known, int64_t timeout_dur_ns)
{
	struct sim_publisher *w = (struct sim_publisher *)(uintptr_t)p;
	int64_t now, end;

	if (!p || !known)
		return err_set(-EINVAL, "sim_publisher_bridges_wait: no publisher, or nothing to compare with");
	if (client_guard(p->c) < 0)
		return -EPERM;
	now = client_now(p->c);
	end = timeout_dur_ns < 0 ? INT64_MAX : ns_add(now, timeout_dur_ns);
	for (;; now = client_now(p->c)) {
		struct session *s;
		struct sim_bridges b;
		uint32_t seq;

		if (!look(w, &b, &s, &seq)) {
			if (now >= end)
				return 0;
			client_sleep(p->c, -1, 0, NS_PER_MS / 10);
			continue;
		}
		if (b.total != known->total || b.connected != known->connected || now >= end) {
			bool changed = b.total != known->total || b.connected != known->connected;

			session_unref(s);
			*known = b;
			return changed;
		}
		rest(p->c, s, seq, end - now);
		session_unref(s);
	}
}
