/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any data from a world's server to a client, from the first byte on: nothing harms the client, which puts objects and
 * sends requests meanwhile; and all memory is freed. The first byte says how many bytes are read at once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "world/side.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MS INT64_C(1000000)

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void put(struct side *s, uint64_t id)
{
	const struct side_object o = {
		.id = id, .code = 2, .motion.time_sim_ns = side_tick(s)->time_sim_ns, .body = "\x0a\1m", .len = 3
	};

	(void)!side_put(s, &o);
}

/* As a program would on each tick, and for every notification. */
static void answer(struct side *s, const struct side_event *e)
{
	struct motion_real m;

	for (size_t i = 0; i < e->n_changes; i++) {
		const struct remote *o = e->changes[i].object;

		(void)remote_at(o, 3, side_tick(s)->time_sim_ns, 1000 * MS, &m);
		if (e->changes[i].change != REMOTE_LEFT)
			must(remotes_find(side_remotes(s), o->id) == o);
	}
	if (e->kind == SIDE_TICK)
		put(s, side_tick(s)->tick % 4);
	if (e->kind == SIDE_OWNER)
		put(s, e->id);
	if (e->kind == SIDE_NOTE)
		(void)!side_remove(s, 1);
	(void)!side_done(s, side_tick(s)->tick, MS);
	(void)side_id(s, 0);
}

static void read_all(struct side *s, const uint8_t *data, size_t size, size_t at_once)
{
	struct side_event e;
	const void *out;
	uint8_t *room;
	size_t n, left;
	int r = 0;

	while (size && r >= 0) {
		must(side_room(s, &room, &n) == 0);
		n = n < at_once ? n : at_once;
		n = n < size ? n : size;
		memcpy(room, data, n);
		side_add(s, n, MS);
		data += n;
		size -= n;
		while ((r = side_next(s, &e)) == 1)
			answer(s, &e);
		left = side_output(s, &out);
		side_sent(s, left);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct side_options o = { .name = "fuzz", .role = SIDE_REGULATING, .history = 3 };
	struct mem_stats before, after;
	struct side *s;

	if (!size)
		return 0;
	mem_stats(&before);
	must(side_create(&o, &s) == 0);
	put(s, 0);
	for (int again = 0; again < 2; again++) { /* the second time it knows what the first one left */
		must(side_begin(s) == 0);
		read_all(s, data + 1, size - 1, data[0] ? data[0] : 65536);
	}
	side_destroy(s);
	mem_stats(&after);
	must(before.blocks == after.blocks);
	return 0;
}
