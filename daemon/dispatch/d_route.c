/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: which bridges carry which channels, and what each bridge reports of them. A bridge gets its channels
 * announced when it is connected. A channel that it refuses keeps its route, after those in use, until the bridge
 * reports otherwise or another process attaches: no message goes there, and no completion waits for it or fails because
 * of it.
 *
 * Thread: the dispatch exec's.
 */
#include <errno.h>
#include <string.h>

#include "dispatch_private.h"
#include "mem.h"
#include "printable.h"

#define REPORTS_MAX (2 * WIRE_CHANNELS_MAX) /* per bridge and second; the rest follows at the next keep_house() */

static uint32_t n_all(const struct d_channel *ch)
{
	return ch->n_routes + ch->n_refused;
}

struct d_route *d_route_find(const struct d_channel *ch, const struct d_bridge *b)
{
	for (uint32_t i = 0; i < n_all(ch); i++)
		if (ch->routes[i]->b == b)
			return ch->routes[i];
	return NULL;
}

static uint32_t index_of(const struct d_route *rt)
{
	uint32_t i = 0;

	while (rt->ch->routes[i] != rt)
		i++;
	return i;
}

/* ---- used and refused ones ---- */

static void insert(struct d_channel *ch, struct d_route *rt)
{
	ch->routes[n_all(ch)] = ch->routes[ch->n_routes];
	ch->routes[ch->n_routes++] = rt;
}

/* Keeps the order of the others: it decides whose reason a message gets. */
static void take_out(struct d_channel *ch, uint32_t i)
{
	uint32_t last = n_all(ch) - 1;

	if (i < ch->n_routes)
		ch->n_routes--;
	else
		ch->n_refused--;
	memmove(&ch->routes[i], &ch->routes[i + 1], (last - i) * sizeof(struct d_route *));
}

static void set_refused(struct d_route *rt, bool refused)
{
	struct d_channel *ch = rt->ch;
	uint32_t i = index_of(rt);

	if ((i >= ch->n_routes) == refused)
		return;
	take_out(ch, i);
	if (refused)
		ch->routes[ch->n_routes + ch->n_refused++] = rt;
	else
		insert(ch, rt);
	credits_bridges(rt->b->d, ch);
}

/* ---- making and ending ---- */

int d_route_add(struct d_channel *ch, struct d_bridge *b, struct d_route *rt)
{
	if (d_route_find(ch, b))
		return -EEXIST;
	if (n_all(ch) == DISPATCH_ROUTES_MAX)
		return -ENOSPC;
	rt->ch = ch;
	rt->b = b;
	list_append(&b->routes, &rt->bridge_link);
	insert(ch, rt);
	b->announce_due = true;
	d_bridge_pump_due(b);
	credits_bridges(b->d, ch);
	return 0;
}

static void forget_on_lanes(const struct d_route *rt)
{
	struct d_lane *l;

	list_for_each(l, &rt->b->lanes, link)
		bitmap_clear(l->knows, rt->ch->id);
}

void d_route_drop(struct dispatch *d, struct d_route *rt)
{
	struct d_channel *ch = rt->ch;

	forget_on_lanes(rt);
	if (rt->b->moving == rt)
		rt->b->moving = NULL;
	take_out(ch, index_of(rt));
	list_remove(&rt->bridge_link);
	mem_free(rt->text);
	mem_free(rt->said);
	mem_free(rt->stages);
	mem_free(rt);
	credits_bridges(d, ch);
}

/* ---- announcements and reports ---- */

void d_route_announce(struct d_bridge *b)
{
	struct d_lane *lane0 = list_first(&b->lanes, struct d_lane, link);
	struct d_route *rt;

	if (!b->announce_due || !lane0 || lane0->blocked || b->status != SIM_BRIDGE_CONNECTED)
		return;
	list_for_each(rt, &b->routes, bridge_link)
		if (d_lane_announce(lane0, rt) < 0)
			return;
	b->announce_due = false;
}

static void report(struct d_route *rt)
{
	struct d_bridge *b = rt->b;

	rt->report_due = b->reported >= REPORTS_MAX;
	b->report_due |= rt->report_due;
	if (rt->report_due)
		return;
	b->reported++;
	d_event_bridge_carries(rt);
}

void d_route_report(struct d_bridge *b)
{
	struct d_route *rt;

	b->reported = 0;
	if (!b->report_due)
		return;
	b->report_due = false;
	list_for_each(rt, &b->routes, bridge_link)
		if (rt->report_due)
			report(rt);
}

static bool same(const struct d_route *rt, int32_t result, const char *said, size_t len)
{
	return rt->known && rt->result == result && rt->said && memcmp(rt->said, said, len) == 0;
}

void d_route_reported(struct d_route *rt, int32_t result, const char *text, size_t name_len, size_t len)
{
	char said[D_TEXT];
	/* leaves room at least for the other text's NUL */
	size_t n = printable(said, sizeof(said) - 1, text, name_len) + 1;

	n += printable(said + n, sizeof(said) - n, text + name_len, len - name_len) + 1;
	if (same(rt, result, said, n))
		return;
	mem_free(rt->said);
	rt->said = mem_dup(said, n);
	rt->known = true;
	rt->result = result;
	set_refused(rt, result < 0);
	report(rt);
}

void d_route_forget(struct d_bridge *b)
{
	struct d_route *rt;

	b->announce_due = true;
	b->report_due = false;
	list_for_each(rt, &b->routes, bridge_link) {
		rt->known = rt->report_due = false;
		set_refused(rt, false);
	}
	d_event_bridge_forgot(b);
}
