/* SPDX-License-Identifier: Apache-2.0 */
/* ack.h */
#include "ack.h"

#include <errno.h>
#include <string.h>

#include "little.h"
#include "mem.h"

#define NEVER INT64_MAX

/* ---- received datagrams ---- */

/* Shifts the bits up by n, as the newest is n further. */
static void shift(uint64_t before[ACK_BEFORE / 64], uint64_t n)
{
	uint64_t out[ACK_BEFORE / 64] = { 0 };
	unsigned words = (unsigned)(n / 64), bits = (unsigned)(n % 64);

	for (unsigned i = ACK_BEFORE / 64; n < ACK_BEFORE && i-- > words;) {
		out[i] = before[i - words] << bits;
		if (bits && i > words)
			out[i] |= before[i - words - 1] >> (64 - bits);
	}
	memcpy(before, out, sizeof(out));
}

static void set_before(struct ack_in *a, uint64_t sequence)
{
	uint64_t i = a->newest - 1 - sequence;

	if (i < ACK_BEFORE)
		a->before[i / 64] |= UINT64_C(1) << i % 64;
}

void ack_received(struct ack_in *a, uint64_t sequence, int64_t now_mono_ns)
{
	uint64_t last = a->newest;

	if (sequence < last)
		set_before(a, sequence);
	if (sequence <= last)
		return;
	shift(a->before, sequence - last);
	a->newest = sequence;
	a->newest_mono_ns = now_mono_ns;
	if (last)
		set_before(a, last);
}

void ack_write(const struct ack_in *a, int64_t now_mono_ns, uint8_t out[ACK_BYTES])
{
	int64_t held_us = a->newest ? (now_mono_ns - a->newest_mono_ns) / 1000 : 0;

	put_u64(out, a->newest);
	for (unsigned i = 0; i < ACK_BEFORE / 64; i++)
		put_u64(out + 8 + (size_t)i * 8, a->before[i]);
	put_u32(out + 8 + ACK_BEFORE / 8, held_us < 0 ? 0 : held_us > UINT32_MAX ? UINT32_MAX : (uint32_t)held_us);
}

/* ---- sent datagrams ---- */

void ack_out_init(struct ack_out *o, uint64_t first, ack_decided decided, void *user)
{
	*o = (struct ack_out){ .first = first, .oldest = first, .next = first, .decided = decided, .user = user };
}

void ack_out_finish(struct ack_out *o)
{
	mem_free(o->ring);
	*o = (struct ack_out){ 0 };
}

static struct ack_sent *sent_at(const struct ack_out *o, uint64_t sequence)
{
	return &o->ring[sequence & (o->size - 1)];
}

static void decide(struct ack_out *o, uint64_t sequence, bool arrived)
{
	struct ack_sent *s = sent_at(o, sequence);

	if (s->decided)
		return;
	s->decided = true;
	o->decided(o->user, s, arrived);
}

static void pass_decided(struct ack_out *o)
{
	while (o->oldest < o->next && sent_at(o, o->oldest)->decided)
		o->oldest++;
}

bool ack_out_drop(struct ack_out *o)
{
	if (o->oldest == o->next)
		return false;
	decide(o, o->oldest, false);
	pass_decided(o);
	return true;
}

static int grow(struct ack_out *o, uint32_t least)
{
	uint32_t size = o->size ? o->size : 16;
	struct ack_sent *ring;

	while (size < least)
		size *= 2;
	if (size == o->size)
		return 0;
	ring = mem_calloc(size, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	for (uint64_t s = o->oldest; s < o->next; s++)
		ring[s & (size - 1)] = *sent_at(o, s);
	mem_free(o->ring);
	o->ring = ring;
	o->size = size;
	return 0;
}

int ack_out_reserve(struct ack_out *o, uint32_t n)
{
	while (o->next - o->oldest + n > ACK_IN_FLIGHT_MAX && ack_out_drop(o))
		;
	return grow(o, (uint32_t)(o->next - o->oldest) + n);
}

void ack_out_sent(struct ack_out *o, uint64_t first, uint32_t count, int64_t now_mono_ns)
{
	*sent_at(o, o->next++) = (struct ack_sent){ .sent_mono_ns = now_mono_ns, .first = first, .count = count };
}

static void add_rtt(struct ack_out *o, int64_t rtt_dur_ns)
{
	/* the peer claims to have held it for longer than the round trip: its clock, or the peer, is wrong */
	if (rtt_dur_ns < 0)
		return;
	o->smooth_dur_ns = o->rtt_n ? o->smooth_dur_ns + (rtt_dur_ns - o->smooth_dur_ns) / 8 : rtt_dur_ns;
	o->rtt_dur_ns[o->rtt_n++ % 8] = rtt_dur_ns;
	if (o->rtt_n == 16) /* only whether there are eight of them matters */
		o->rtt_n = 8;
}

int64_t ack_rtt_least_dur_ns(const struct ack_out *o)
{
	int64_t least = NEVER;

	for (uint32_t i = 0; i < o->rtt_n && i < 8; i++)
		least = o->rtt_dur_ns[i] < least ? o->rtt_dur_ns[i] : least;
	return least;
}

static bool is_in_flight(const struct ack_out *o, uint64_t sequence)
{
	return sequence >= o->oldest && sequence < o->next && !sent_at(o, sequence)->decided;
}

int ack_out_read(struct ack_out *o, const uint8_t in[ACK_BYTES], int64_t now_mono_ns)
{
	uint64_t newest = get_u64(in), sequence;
	int64_t held_dur_ns = (int64_t)get_u32(in + 8 + ACK_BEFORE / 8) * 1000;

	if (newest && (newest < o->first || newest >= o->next))
		return -EBADMSG;
	if (is_in_flight(o, newest)) {
		add_rtt(o, now_mono_ns - sent_at(o, newest)->sent_mono_ns - held_dur_ns);
		decide(o, newest, true);
	}
	for (unsigned i = 0; i < ACK_BEFORE && newest > (uint64_t)i + 1; i++) {
		sequence = newest - 1 - i;
		if (in[8 + i / 8] >> i % 8 & 1 && is_in_flight(o, sequence))
			decide(o, sequence, true);
	}
	for (sequence = o->oldest; sequence < newest && newest - sequence >= ACK_LOST_AFTER; sequence++)
		decide(o, sequence, false);
	pass_decided(o);
	return 0;
}

int64_t ack_out_turn(struct ack_out *o, int64_t now_mono_ns)
{
	int64_t limit = o->rtt_n ? 3 * o->smooth_dur_ns + ACK_SLACK_DUR_NS : ACK_LOST_DUR_NS;

	while (o->oldest < o->next && now_mono_ns - sent_at(o, o->oldest)->sent_mono_ns >= limit)
		ack_out_drop(o);
	return o->oldest < o->next ? sent_at(o, o->oldest)->sent_mono_ns + limit : NEVER;
}
