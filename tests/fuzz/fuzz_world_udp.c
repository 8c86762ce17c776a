/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any data from a world's server to a client with datagrams, after its Welcome: a byte (bit 0: by TCP, else in a
 * datagram; bit 1: that is sent off first; the rest: milliseconds that pass), a length (two bytes: of code and body),
 * the code, the body. Nothing harms the client, ticks ascend, and all memory is freed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "wire/world.pb-c.h"
#include "world/side.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MS INT64_C(1000000)

struct pair {
	struct side *side;
	struct datagram *server;
	int64_t now;
	uint64_t tick;
};

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* ---- the server's end ---- */

static int on_frame(void *user, uint8_t code, const void *body, size_t len)
{
	(void)user;
	(void)code;
	(void)body;
	(void)len;
	return 0;
}

static void on_tag(void *user, uint64_t tag)
{
	(void)user;
	(void)tag;
}

static const uint8_t keys[2][PACKET_KEY] = { { 1 }, { 2 } };

static void open_server(struct pair *p)
{
	static const struct datagram_ops ops = { .frame = on_frame, .acked = on_tag, .lost = on_tag };
	const struct datagram_options o = { .connection = 5,
					    .key_in = keys[0],
					    .key_out = keys[1],
					    .server = true,
					    .frame_in_max = 65536,
					    .making_max = 1u << 20,
					    .ops = &ops };

	must(datagram_create(&o, &p->server) == 0);
}

/* ---- the client ---- */

static void put(struct pair *p)
{
	const struct side_object o = {
		.code = 2, .motion.time_sim_ns = side_tick(p->side)->time_sim_ns, .body = "\x0a\1m", .len = 3
	};

	(void)!side_put(p->side, &o);
}

/* False: the connection is of no use any more. */
static bool take_events(struct pair *p)
{
	struct side_event e;
	int r;

	while ((r = side_next(p->side, &e)) == 1) {
		if (e.kind == SIDE_TICK)
			must(e.tick.tick > p->tick);
		p->tick = side_tick(p->side)->tick;
		for (size_t i = 0; i < e.n_changes; i++)
			if (e.changes[i].change != REMOTE_LEFT)
				must(remotes_find(side_remotes(p->side), e.changes[i].object->id) ==
				     e.changes[i].object);
		put(p);
		if (e.kind == SIDE_ENDED)
			return false;
	}
	return r == 0;
}

static bool by_tcp(struct pair *p, uint8_t code, const uint8_t *body, size_t len)
{
	struct wire_buf b = { 0 };
	size_t begin = frame_begin(&b, code), room_len;
	uint8_t *room;

	wire_append(&b, body, len);
	must(frame_end(&b, begin, FRAME_MAX_SERVER) == 0);
	for (size_t at = 0; at < b.len; at += room_len) {
		must(side_room(p->side, &room, &room_len) == 0);
		room_len = b.len - at < room_len ? b.len - at : room_len;
		memcpy(room, b.data + at, room_len);
		side_add(p->side, room_len, p->now);
	}
	wire_buf_finish(&b);
	return take_events(p);
}

/* What either end has to send arrives at the other. */
static bool exchange(struct pair *p)
{
	struct datagram_out o;
	const void *out;
	bool good = true;

	(void)side_turn(p->side, p->now);
	must(side_datagrams(p->side, p->now, &o) == 0);
	for (size_t at = 0; at < o.len; at += o.segment)
		(void)!datagram_input(p->server, o.data + at, o.len - at < o.segment ? o.len - at : o.segment, p->now);
	(void)datagram_turn(p->server, p->now);
	must(datagram_output(p->server, p->now, &o) == 0);
	for (size_t at = 0; at < o.len && good; at += o.segment) {
		(void)!side_datagram(p->side, o.data + at, o.len - at < o.segment ? o.len - at : o.segment, p->now);
		good = take_events(p);
	}
	side_sent(p->side, side_output(p->side, &out));
	return good;
}

static void welcome(struct pair *p)
{
	Sim__World__Welcome m = SIM__WORLD__WELCOME__INIT;
	uint8_t body[256];

	m.version = 1;
	m.connection = 5;
	m.world = 1;
	m.step_dur_ns = 10 * MS;
	m.objects = 100;
	m.udp_port = 8082;
	m.udp_key_to_server = (ProtobufCBinaryData){ PACKET_KEY, (uint8_t *)(uintptr_t)keys[0] };
	m.udp_key_to_client = (ProtobufCBinaryData){ PACKET_KEY, (uint8_t *)(uintptr_t)keys[1] };
	must(sim__world__welcome__get_packed_size(&m) <= sizeof(body));
	must(by_tcp(p, FRAME_WELCOME, body, sim__world__welcome__pack(&m, body)));
	for (int i = 0; i < 3; i++) /* until both have heard each other */
		must(exchange(p));
}

static void play(struct pair *p, const uint8_t *at, size_t left)
{
	bool good = true;

	while (left >= 4 && good) {
		size_t n = (size_t)at[1] | (size_t)at[2] << 8;
		uint8_t how = at[0], code = at[3];

		at += 4;
		left -= 4;
		n = n < left ? n : left;
		p->now += (how >> 2) * MS;
		if (how & 2)
			good = exchange(p);
		if (good && how & 1)
			good = code && by_tcp(p, code, at, n);
		else if (good)
			(void)!datagram_send(p->server, 0, code, at, n);
		at += n;
		left -= n;
	}
	if (good)
		(void)exchange(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct side_options o = {
		.name = "fuzz", .role = SIDE_CONSTRAINED, .history = 3, .datagrams = true
	};
	struct mem_stats before, after;
	struct pair p = { .now = 1000 * MS };

	mem_stats(&before);
	open_server(&p);
	must(side_create(&o, &p.side) == 0);
	must(side_begin(p.side) == 0);
	welcome(&p);
	play(&p, data, size);
	side_destroy(p.side);
	datagram_destroy(p.server);
	mem_stats(&after);
	must(before.blocks == after.blocks);
	return 0;
}
