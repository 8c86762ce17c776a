/* SPDX-License-Identifier: Apache-2.0 */
/* datagram.h: the object, and sending. Receiving: datagram_in.c */
#include "datagram.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "datagram_private.h"
#include "little.h"
#include "mem.h"

#define FRAMES_MAX    8192u /* frames in flight, a power of two */
#define SEGMENTS_KEPT 64u   /* room that is kept when it is not needed */
#define ITEMS_AT      (PACKET_HEAD + ACK_BYTES)

_Static_assert(ITEM_PIECE_HEAD + MAKING_PIECE <= ITEMS_MAX, "a piece fits in a datagram");
_Static_assert(2 * ITEM_PIECE_HEAD + MAKING_PIECE + 1 > ITEMS_MAX, "no two of one frame do: it counts once in each");
_Static_assert(DATAGRAM_FRAME_MAX == MAKING_FRAME_MAX && MAKING_PIECES_MAX <= DATAGRAM_OUT_MAX &&
		       DATAGRAM_OUT_MAX <= ACK_IN_FLIGHT_MAX / 2,
	       "the longest frame goes out at once");

/* ---- frames in flight ---- */

static struct sent_frame *frame_at(const struct datagram *d, uint64_t number)
{
	return &d->frames[number & (d->frames_size - 1)];
}

static void frame_decided(struct datagram *d, struct sent_frame *f, bool arrived)
{
	f->left--;
	if (!arrived && !f->lost) {
		f->lost = true;
		d->stats.lost++;
		if (f->tag)
			d->ops->lost(d->user, f->tag);
	} else if (arrived && !f->left && !f->lost) {
		d->stats.acked++;
		if (f->tag)
			d->ops->acked(d->user, f->tag);
	}
}

static void datagram_decided(void *user, const struct ack_sent *sent, bool arrived)
{
	struct datagram *d = user;

	for (uint64_t n = sent->first; n < sent->first + sent->count; n++)
		frame_decided(d, frame_at(d, n), arrived);
	while (d->frames_oldest < d->frames_next && !frame_at(d, d->frames_oldest)->left)
		d->frames_oldest++;
}

static int grow_frames(struct datagram *d)
{
	uint32_t size = d->frames_size ? 2 * d->frames_size : 32;
	struct sent_frame *frames = mem_calloc(size, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	for (uint64_t n = d->frames_oldest; n < d->frames_next; n++)
		frames[n & (size - 1)] = *frame_at(d, n);
	mem_free(d->frames);
	d->frames = frames;
	d->frames_size = size;
	return 0;
}

static int reserve_frame(struct datagram *d)
{
	if (d->frames_next - d->frames_oldest < d->frames_size)
		return 0;
	if (d->frames_size < FRAMES_MAX)
		return grow_frames(d);
	while (d->frames_next - d->frames_oldest == d->frames_size)
		if (!ack_out_drop(&d->ack_out))
			return -ENOBUFS;
	return 0;
}

/* ---- datagrams before they are sealed ---- */

static void forget_output(struct datagram *d)
{
	if (!d->sent)
		return;
	d->sent = false;
	d->segments_n = 0;
	if (d->segments_size <= SEGMENTS_KEPT)
		return;
	mem_free(d->out);
	mem_free(d->segments);
	d->out = NULL;
	d->segments = NULL;
	d->segments_size = 0;
}

static int reserve_segments(struct datagram *d, uint32_t n)
{
	uint32_t size = d->segments_size ? d->segments_size : 4;
	struct segment *segments;
	uint8_t *out;

	if (n > DATAGRAM_OUT_MAX)
		return -ENOBUFS;
	while (size < n)
		size *= 2;
	if (size == d->segments_size)
		return 0;
	out = mem_realloc(d->out, (size_t)size * PACKET_MAX);
	if (!out)
		return -ENOMEM;
	d->out = out;
	segments = mem_realloc(d->segments, size * sizeof(*segments));
	if (!segments)
		return -ENOMEM;
	d->segments = segments;
	d->segments_size = size;
	return 0;
}

/* Reserves len bytes for an item, in the last segment or in a new one, which must have been reserved. */
static uint8_t *item_room(struct datagram *d, size_t len)
{
	struct segment *s = d->segments_n ? &d->segments[d->segments_n - 1] : NULL;
	uint8_t *at;

	if (!s || s->fill + len > ITEMS_MAX) {
		s = &d->segments[d->segments_n++];
		*s = (struct segment){ .first = d->frames_next };
	}
	at = d->out + (size_t)(d->segments_n - 1) * PACKET_MAX + ITEMS_AT + s->fill;
	s->fill += (uint32_t)len;
	return at;
}

/* Counts the last segment for the frame that is being added. */
static void count_frame(struct datagram *d, struct sent_frame *f)
{
	d->segments[d->segments_n - 1].count++;
	f->left++;
}

static void put_frame(struct datagram *d, struct sent_frame *f, uint8_t code, const void *body, size_t len)
{
	uint8_t *at = item_room(d, ITEM_FRAME_HEAD + 1 + len);

	at[0] = ITEM_FRAME;
	put_u16(at + 1, (uint16_t)(1 + len));
	at[3] = code;
	if (len)
		memcpy(at + 4, body, len);
	count_frame(d, f);
}

/* Only the first piece has the code. */
static void put_pieces(struct datagram *d, struct sent_frame *f, uint8_t code, const uint8_t *body, size_t len)
{
	uint16_t count = (uint16_t)((len + 1 + MAKING_PIECE - 1) / MAKING_PIECE);

	d->message++;
	for (uint16_t i = 0; i < count; i++) {
		size_t first = i == 0, n = MAKING_PIECE - first;
		uint8_t *at;

		n = n < len ? n : len;
		at = item_room(d, ITEM_PIECE_HEAD + first + n);
		at[0] = ITEM_PIECE;
		put_u64(at + 1, d->message);
		put_u16(at + 9, i);
		put_u16(at + 11, count);
		put_u16(at + 13, (uint16_t)(first + n));
		if (first)
			at[15] = code;
		memcpy(at + ITEM_PIECE_HEAD + first, body, n);
		body += n;
		len -= n;
		count_frame(d, f);
	}
}

/* Whether so many datagrams may go out before the other side's address is confirmed. */
static bool is_allowed(const struct datagram *d, uint32_t segments)
{
	if (!d->server || d->confirmed)
		return true;
	return d->stats.out_bytes + (uint64_t)segments * PACKET_MAX <= d->stats.in_bytes;
}

/* The most segments there will be with a frame of len bytes of body. */
static uint32_t segments_with(const struct datagram *d, size_t len, bool whole)
{
	size_t room = d->segments_n ? ITEMS_MAX - d->segments[d->segments_n - 1].fill : 0;

	if (whole)
		return d->segments_n + (ITEM_FRAME_HEAD + 1 + len > room);
	return d->segments_n + (uint32_t)((len + MAKING_PIECE) / MAKING_PIECE);
}

int datagram_send(struct datagram *d, uint64_t tag, uint8_t code, const void *body, size_t len)
{
	bool whole = len + 1 <= FRAME_WHOLE_MAX;
	struct sent_frame *f;
	uint32_t n;
	int r;

	if (len >= DATAGRAM_FRAME_MAX)
		return -EMSGSIZE;
	forget_output(d);
	n = segments_with(d, len, whole);
	if (!is_allowed(d, n))
		return -EAGAIN;
	r = reserve_segments(d, n);
	if (!r)
		r = reserve_frame(d);
	if (r)
		return r;
	f = frame_at(d, d->frames_next);
	*f = (struct sent_frame){ .tag = tag };
	if (whole)
		put_frame(d, f, code, body, len);
	else
		put_pieces(d, f, code, body, len);
	d->frames_next++;
	d->stats.frames_out++;
	return 0;
}

/* ---- output ---- */

/* Adds what is due without frames: an acknowledgement, with a ping until the other side has answered. */
static int put_rest(struct datagram *d)
{
	int r;

	if (d->segments_n || !(d->unacked || d->ping) || !is_allowed(d, 1))
		return 0;
	r = reserve_segments(d, 1);
	if (r)
		return r;
	if (d->ping || !d->confirmed)
		*item_room(d, 1) = ITEM_PING;
	else
		item_room(d, 0);
	return 0;
}

/*
 * Bytes of items to seal in datagram i: all but the last have the same size; a client pads the last one too until the
 * server has answered.
 */
static size_t padded(const struct datagram *d, uint32_t i)
{
	struct segment *s = &d->segments[i];

	if (i + 1 == d->segments_n && (d->confirmed || d->server))
		return s->fill;
	memset(d->out + (size_t)i * PACKET_MAX + ITEMS_AT + s->fill, ITEM_PADDING, ITEMS_MAX - s->fill);
	return ITEMS_MAX;
}

static size_t seal(struct datagram *d, uint32_t i, int64_t now_mono_ns)
{
	uint8_t *data = d->out + (size_t)i * PACKET_MAX;
	size_t items = padded(d, i);

	ack_write(&d->ack_in, now_mono_ns, data + PACKET_HEAD);
	packet_seal(&d->packet, data, ACK_BYTES + items);
	ack_out_sent(&d->ack_out, d->segments[i].first, d->segments[i].count, now_mono_ns);
	return ITEMS_AT + items + PACKET_TAG;
}

int datagram_output(struct datagram *d, int64_t now_mono_ns, struct datagram_out *ret)
{
	size_t len = 0;
	int r;

	forget_output(d);
	r = put_rest(d);
	if (!r && d->segments_n)
		r = ack_out_reserve(&d->ack_out, d->segments_n);
	if (r)
		return r;
	for (uint32_t i = 0; i < d->segments_n; i++)
		len += seal(d, i, now_mono_ns);
	*ret = (struct datagram_out){ .data = d->out, .len = len, .segment = len < PACKET_MAX ? len : PACKET_MAX };
	if (!len)
		return 0;
	d->sent = true;
	d->ping = false;
	d->unacked = 0;
	d->stats.out += d->segments_n;
	d->stats.out_bytes += len;
	return 0;
}

static int64_t output_due(const struct datagram *d, int64_t now_mono_ns)
{
	if (d->segments_n && !d->sent)
		return now_mono_ns;
	if (!(d->unacked || d->ping) || !is_allowed(d, 1))
		return INT64_MAX;
	if (d->ping || !d->confirmed || d->unacked >= DATAGRAM_ACK_EVERY)
		return now_mono_ns;
	return d->unacked_mono_ns + DATAGRAM_ACK_DUR_NS;
}

int64_t datagram_turn(struct datagram *d, int64_t now_mono_ns)
{
	int64_t lost = ack_out_turn(&d->ack_out, now_mono_ns), made = making_turn(&d->making, now_mono_ns);
	int64_t next = lost < made ? lost : made, out = output_due(d, now_mono_ns);

	return out < next ? out : next;
}

/* ---- the object ---- */

static int random_first(uint64_t *ret)
{
	if (sodium_init() < 0)
		return -EIO;
	randombytes_buf(ret, sizeof(*ret));
	*ret = (*ret >> 2) + 1;
	return 0;
}

int datagram_create(const struct datagram_options *o, struct datagram **ret)
{
	struct datagram *d;
	uint64_t first;
	int r;

	if (o->frame_in_max < 2 || o->frame_in_max > DATAGRAM_FRAME_MAX ||
	    o->making_max < o->frame_in_max + MAKING_PIECE)
		return -EINVAL;
	r = random_first(&first);
	if (r)
		return r;
	d = MEM_NEW(struct datagram);
	if (!d)
		return -ENOMEM;
	r = packet_init(&d->packet, o->connection, o->key_out, o->key_in, first);
	if (r) {
		mem_free(d);
		return r;
	}
	ack_out_init(&d->ack_out, first, datagram_decided, d);
	making_init(&d->making, o->frame_in_max, o->making_max);
	d->ops = o->ops;
	d->user = o->user;
	d->server = o->server;
	*ret = d;
	return 0;
}

void datagram_destroy(struct datagram *d)
{
	if (!d)
		return;
	packet_finish(&d->packet);
	ack_out_finish(&d->ack_out);
	making_finish(&d->making);
	mem_free(d->out);
	mem_free(d->segments);
	mem_free(d->frames);
	mem_free(d);
}

bool datagram_is_confirmed(const struct datagram *d)
{
	return d->confirmed;
}

uint32_t datagram_in_flight(const struct datagram *d)
{
	return (uint32_t)(d->ack_out.next - d->ack_out.oldest);
}

void datagram_ping(struct datagram *d)
{
	d->ping = true;
}

void datagram_stats(const struct datagram *d, struct datagram_stats *ret)
{
	*ret = d->stats;
	ret->in = d->packet.good;
	memcpy(ret->refused, d->packet.refused, sizeof(ret->refused));
	ret->given_up = d->making.given_up;
	ret->making_bytes = d->making.bytes;
	ret->rtt_dur_ns = d->ack_out.rtt_n ? d->ack_out.smooth_dur_ns : INT64_MAX;
	ret->rtt_least_dur_ns = ack_rtt_least_dur_ns(&d->ack_out);
}
