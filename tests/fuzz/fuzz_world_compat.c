/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any data from two clients of TR-2016-06, in pieces: a byte (bit 0: which client; bit 1: it reads the data that waits
 * for it; the rest: milliseconds that pass), the length (two bytes), the bytes. Each client is sent only its number,
 * codes, and readable messages of 361 bytes; the data that waits is bounded; and all memory is freed. The same bytes
 * are also read as a file of fields.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "tools/world/compat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MS INT64_C(1000000)

static void must(bool ok)
{
	if (!ok)
		abort();
}

struct end {
	struct compat_client *cl;
	uint8_t in[1 << 18];
	size_t n;
	bool numbered;
};

static struct compat_fields fields;

/* All that is whole. */
static void look(struct end *e)
{
	struct compat_vehicle v;
	size_t at = 0;

	if (!e->numbered && e->n < 4)
		return;
	at = e->numbered ? 0 : 4;
	e->numbered = true;
	while (at < e->n && (e->in[at] != COMPAT_VEHICLE || e->n - at > COMPAT_SIZE)) {
		must(e->in[at] && e->in[at] <= COMPAT_HEARTBEAT && e->in[at] != COMPAT_VEHICLE_KEEP);
		if (e->in[at] == COMPAT_VEHICLE) {
			must(compat_vehicle_read(&fields, e->in + at + 1, e->n - at - 1, &v) == COMPAT_SIZE);
			at += COMPAT_SIZE;
		}
		at++;
	}
	e->n -= at;
	memmove(e->in, e->in + at, e->n);
}

static void drain(struct end *e, int64_t now)
{
	const uint8_t *out;
	size_t n;

	while ((n = compat_output(e->cl, &out))) {
		must(n < 131072 && e->n + n <= sizeof(e->in));
		memcpy(e->in + e->n, out, n);
		e->n += n;
		compat_sent(e->cl, n, now);
		look(e);
	}
}

static void say(struct end *e, const uint8_t *data, size_t len, int64_t now)
{
	uint8_t *room;
	size_t n;

	while (len && (n = compat_room(e->cl, &room))) {
		n = n < len ? n : len;
		memcpy(room, data, n);
		compat_add(e->cl, n, now);
		data += n;
		len -= n;
	}
}

static void play(struct world *w, struct compat *c, const uint8_t *data, size_t size)
{
	static struct end ends[2];
	int64_t now = 1000 * MS;

	memset(ends, 0, sizeof(ends));
	for (unsigned i = 0; i < 2; i++)
		must(compat_open(c, now, &ends[i].cl) == 0);
	while (size >= 3) {
		struct end *e = &ends[data[0] & 1];
		const bool reads = data[0] & 2;
		size_t len = (size_t)data[1] << 8 | data[2];

		now += (data[0] >> 2) * MS;
		len = len < size - 3 ? len : size - 3;
		say(e, data + 3, len, now);
		(void)world_turn(w, now);
		(void)compat_turn(c, now, 1480000000);
		if (reads)
			drain(e, now);
		data += 3 + len;
		size -= 3 + len;
	}
	for (unsigned i = 0; i < 2; i++) {
		drain(&ends[i], now);
		must(!ends[i].n);
		compat_close(ends[i].cl, now);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct world_options o = {
		.store = { .objects_max = 10, .objects_each_max = 4, .section_mm = 100000, .step_dur_ns = 10 * MS },
		.number = 1,
		.sessions_max = 4,
		.members_max = 8,
		.radius_mm = INT64_MAX,
		.grace_dur_ns = 100 * MS,
		.ahead_dur_ns = 100 * MS,
	};
	struct compat_fields read;
	struct compat *c;
	struct world *w;
	struct mem_stats before, after;

	mem_stats(&before);
	(void)!compat_fields_read("fuzz", (const char *)data, size, &read);
	compat_fields_default(&fields);
	must(world_create(&o, 1000 * MS, &w) == 0);
	must(compat_create(w, &fields, 1000 * MS, &c) == 0);
	play(w, c, data, size);
	compat_destroy(c);
	world_destroy(w);
	mem_stats(&after);
	must(before.blocks == after.blocks);
	return 0;
}
