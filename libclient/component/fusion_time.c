/* SPDX-License-Identifier: Apache-2.0 */
/* Fusion with the message of each partner whose stamp is nearest. Thread: under fusion::lock. */
#include "fusion_private.h"

/* ---- what a partner has sent ---- */

static void past_add(struct past *p, struct msg *m, struct fallen *x)
{
	struct past_msg *at = &p->at[p->next];

	if (p->n == p->size)
		fallen_add(x, at->m);
	else
		p->n++;
	*at = (struct past_msg){ m->m.header.stamp_sim_ns, msg_ref(m) };
	p->next = p->next + 1 == p->size ? 0 : p->next + 1;
}

void past_clear(struct past *p, struct fallen *x)
{
	for (uint32_t i = 0; i < p->n; i++)
		fallen_add(x, p->at[i].m);
	p->n = p->next = 0;
}

/* Publishers choose the stamps: two of them may be 2^64 - 1 apart. */
static uint64_t distance(int64_t a, int64_t b)
{
	return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

/*
 * The nearest message, once there is one at or after stamp_sim_ns; else NULL. Searches from the oldest on, so that the
 * first of equals is found.
 */
static const struct past_msg *nearest(const struct past *p, int64_t stamp_sim_ns)
{
	const struct past_msg *best = NULL;
	uint64_t best_off = 0;
	bool decided = false;

	for (uint32_t k = 0, i = p->n == p->size ? p->next : 0; k < p->n; k++, i = i + 1 == p->size ? 0 : i + 1) {
		const struct past_msg *m = &p->at[i];
		uint64_t off = distance(m->stamp_sim_ns, stamp_sim_ns);

		decided |= m->stamp_sim_ns >= stamp_sim_ns;
		if (best && (off > best_off || (off == best_off && m->stamp_sim_ns >= best->stamp_sim_ns)))
			continue;
		best = m;
		best_off = off;
	}
	return decided ? best : NULL;
}

/* ---- fusion ---- */

/* Finds the partner of this input. False: it is beyond the tolerance, and w must be dropped. */
static bool match(struct fusion *f, struct waiting *w, unsigned input)
{
	const struct past_msg *m = nearest(&f->past[input], w->stamp_sim_ns);

	if (!m)
		return true;
	if (distance(m->stamp_sim_ns, w->stamp_sim_ns) > (uint64_t)f->o.tolerance_dur_ns)
		return false;
	w->t.m[input] = msg_ref(m->m);
	w->open &= ~(1u << input);
	return true;
}

static bool put_driver(struct fusion *f, struct msg *m, struct fallen *x)
{
	struct waiting w = { .t.m = { msg_ref(m) },
			     .stamp_sim_ns = m->m.header.stamp_sim_ns,
			     .open = fusion_partners(f) };
	uint32_t far = 0;

	for (unsigned i = 1; i < f->o.n; i++)
		if (!match(f, &w, i))
			far |= 1u << i;
	if (far) {
		fusion_count(f, far);
		fallen_add_tuple(x, &w.t);
	} else if (w.open) {
		fusion_wait(f, &w, x);
	} else {
		fusion_push(f, w.t, x);
		return true;
	}
	return false;
}

static bool put_partner(struct fusion *f, unsigned input, struct msg *m, struct fallen *x)
{
	struct waiting *w, *tmp;
	bool ret = false;

	past_add(&f->past[input], m, x);
	list_for_each_safe(w, tmp, &f->waiting, link) {
		if (!(w->open & 1u << input) || w->stamp_sim_ns > m->m.header.stamp_sim_ns)
			continue;
		if (!match(f, w, input)) {
			fusion_count(f, 1u << input);
			fallen_add_tuple(x, &w->t);
		} else if (w->open) {
			continue;
		} else {
			fusion_push(f, w->t, x);
			ret = true;
		}
		fusion_waits_no_more(f, w);
	}
	return ret;
}

bool fusion_put_by_time(struct fusion *f, unsigned input, struct msg *m, struct fallen *x)
{
	return input ? put_partner(f, input, m, x) : put_driver(f, m, x);
}
