/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any data that two clients send to a world, in pieces: which client (a byte, its low bit), the length (two bytes), the
 * bytes. The first client has already sent Hello. Nothing harms the world or the other client; each client is sent
 * valid frames; and all memory is freed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "tools/world/world.h"
#include "tools/world/view.h"
#include "world/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MS INT64_C(1000000)

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* Whole frames, of which those of sections decode where they need no base. */
static void drain(struct session *s, struct frame_reader *in)
{
	const void *out;
	struct section *c;
	struct section_head head;
	uint8_t *room;
	struct frame f;
	size_t n, size;

	while ((n = session_output(s, &out))) {
		must(frame_reader_room(in, &room, &size) == 0);
		n = n < size ? n : size;
		memcpy(room, out, n);
		frame_reader_add(in, n);
		session_sent(s, n);
		while (frame_next(in, &f) == 1)
			if (f.code == 3 && section_peek(f.body, f.len, &head) == 0 && !head.base) {
				must(section_decode(f.body, f.len, NULL, &c) == 0);
				section_unref(c);
			}
	}
	must(!frame_reader_is_amid(in));
}

static void hello(struct session *s, int64_t now)
{
	static const char frame[] = "\x1a\0\0\0\x20\x08\x01\x12\x03"
				    "one"
				    "\x22\x10"
				    "0123456789abcde";

	session_input(s, frame, sizeof(frame), now); /* the NUL is the last of the identity */
	must(!session_ends(s));
}

static void play(struct world *w, const uint8_t *at, size_t left)
{
	struct session *s[2];
	struct frame_reader in[2];
	int64_t now = MS;

	for (int i = 0; i < 2; i++) {
		must(session_open(w, now, &s[i]) == 0);
		frame_reader_init(&in[i], FRAME_MAX_SERVER);
	}
	hello(s[0], now);
	while (left >= 3) {
		size_t n = (size_t)at[1] | (size_t)at[2] << 8;
		int who = at[0] & 1;

		at += 3;
		left -= 3;
		n = n < left ? n : left;
		session_input(s[who], at, n, now);
		at += n;
		left -= n;
		for (int i = 0; i < 4 && world_turn(w, now) <= now; i++)
			;
		drain(s[0], &in[0]);
		drain(s[1], &in[1]);
		now += MS;
	}
	for (int i = 0; i < 2; i++) {
		session_close(s[i], now);
		frame_reader_finish(&in[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct world_options o = {
		.store = { .objects_max = 100, .objects_each_max = 50, .section_mm = 100000, .step_dur_ns = 10 * MS },
		.number = 1,
		.sessions_max = 2,
		.members_max = 3,
		.radius_mm = VIEW_ALL,
		.ahead_dur_ns = 1000 * MS,
	};
	struct mem_stats before, after;
	struct world *w;

	mem_stats(&before);
	must(world_create(&o, 0, &w) == 0);
	play(w, data, size);
	world_destroy(w);
	mem_stats(&after);
	must(before.blocks == after.blocks);
	return 0;
}
