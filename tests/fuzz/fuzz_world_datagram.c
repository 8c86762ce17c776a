/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any datagrams from a peer that has the keys: a byte (bit 0: to the server or the client; bit 1: sent as it is, not
 * sealed; the rest: milliseconds that pass), a length (two bytes), the plain text. The bounds hold, only tags that were
 * sent are acknowledged or reported lost, and all memory is freed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "world/datagram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MS          INT64_C(1000000)
#define MAKING_MAX_ (64u << 10)

struct end {
	struct datagram *d;
	struct packet peer;
	uint64_t tags;
	uint8_t decided[8192];
};

static void must(bool ok)
{
	if (!ok)
		abort();
}

static int frame(void *user, uint8_t code, const void *body, size_t len)
{
	volatile uint8_t sum = code;

	(void)user;
	must(len < 30000);
	for (size_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + ((const uint8_t *)body)[i]);
	return code == 255 ? -1 : 0;
}

static void decided(void *user, uint64_t tag)
{
	struct end *e = user;

	must(tag && tag <= e->tags && !e->decided[tag]++);
}

static void open_ends(struct end ends[2])
{
	static const uint8_t keys[2][PACKET_KEY] = { { 1 }, { 2 } };
	static const struct datagram_ops ops = { .frame = frame, .acked = decided, .lost = decided };

	for (int i = 0; i < 2; i++) {
		struct datagram_options o = { .connection = 7,
					      .key_out = keys[i],
					      .key_in = keys[!i],
					      .server = i == 0,
					      .frame_in_max = 30000,
					      .making_max = MAKING_MAX_,
					      .ops = &ops,
					      .user = &ends[i] };

		memset(&ends[i], 0, sizeof(ends[i]));
		must(datagram_create(&o, &ends[i].d) == 0);
		must(packet_init(&ends[i].peer, 7, keys[!i], keys[i], 1) == 0);
	}
}

static void input(struct end *e, const uint8_t *at, size_t n, bool sealed, int64_t now)
{
	uint8_t packet[PACKET_MAX];

	if (!sealed) {
		must(datagram_input(e->d, at, n, now) < 0);
		return;
	}
	n = n < PACKET_PLAIN_MAX ? n : PACKET_PLAIN_MAX;
	memcpy(packet + PACKET_HEAD, at, n);
	packet_seal(&e->peer, packet, n);
	(void)!datagram_input(e->d, packet, n + PACKET_HEAD + PACKET_TAG, now);
}

static void output(struct end *e, int64_t now)
{
	static const uint8_t body[3000];
	struct datagram_out out;
	struct datagram_stats s;

	if (e->tags + 1 < sizeof(e->decided))
		e->tags += datagram_send(e->d, e->tags + 1, 1, body, e->tags % 3 ? 10 : sizeof(body)) == 0;
	datagram_turn(e->d, now);
	must(datagram_output(e->d, now, &out) == 0);
	datagram_stats(e->d, &s);
	must(s.making_bytes <= MAKING_MAX_);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct end ends[2];
	struct mem_stats before, after;
	int64_t now = 1000 * MS;

	mem_stats(&before);
	open_ends(ends);
	while (size >= 3) {
		size_t n = (size_t)data[1] | (size_t)data[2] << 8;
		struct end *e = &ends[data[0] & 1];

		n = n < size - 3 ? n : size - 3;
		input(e, data + 3, n, !(data[0] & 2), now);
		now += (data[0] >> 2) * MS;
		output(e, now);
		data += 3 + n;
		size -= 3 + n;
	}
	for (int i = 0; i < 2; i++)
		datagram_destroy(ends[i].d);
	mem_stats(&after);
	must(before.blocks == after.blocks);
	return 0;
}
