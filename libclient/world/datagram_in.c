/* SPDX-License-Identifier: Apache-2.0 */
/* datagram.h: receiving. */
#include <errno.h>

#include "datagram_private.h"
#include "little.h"
#include "mem.h"

/* The rest of a plain text, and whether the datagram may be acknowledged: every item was accepted. */
struct items {
	const uint8_t *at, *end;
	bool wants_ack, untaken;
};

static void take_frame(struct datagram *d, struct items *i, const uint8_t *frame, size_t len)
{
	d->stats.frames_in++;
	if (d->ops->frame(d->user, frame[0], frame + 1, len - 1) < 0)
		i->untaken = true;
}

static bool frame_item(struct datagram *d, struct items *i)
{
	size_t left = (size_t)(i->end - i->at), len;

	if (left < ITEM_FRAME_HEAD)
		return false;
	len = get_u16(i->at + 1);
	if (!len || len > left - ITEM_FRAME_HEAD || len > d->making.frame_max)
		return false;
	take_frame(d, i, i->at + ITEM_FRAME_HEAD, len);
	i->at += ITEM_FRAME_HEAD + len;
	return true;
}

static bool piece_item(struct datagram *d, struct items *i, int64_t now_mono_ns)
{
	size_t left = (size_t)(i->end - i->at), len;
	struct making_piece p;
	uint8_t *frame;
	int r;

	if (left < ITEM_PIECE_HEAD)
		return false;
	p = (struct making_piece){ .message = get_u64(i->at + 1),
				   .index = get_u16(i->at + 9),
				   .count = get_u16(i->at + 11),
				   .data = i->at + ITEM_PIECE_HEAD,
				   .len = get_u16(i->at + 13) };
	if (p.len > left - ITEM_PIECE_HEAD)
		return false;
	r = making_add(&d->making, &p, now_mono_ns, &frame, &len);
	if (r == 1) {
		take_frame(d, i, frame, len);
		mem_free(frame);
	}
	if (r == -EBADMSG || r == -EMSGSIZE)
		return false;
	i->untaken = i->untaken || r < 0;
	i->at += ITEM_PIECE_HEAD + p.len;
	return true;
}

/* False: malformed. */
static bool next_item(struct datagram *d, struct items *i, int64_t now_mono_ns)
{
	uint8_t kind = *i->at;

	if (kind == ITEM_PADDING) {
		i->at = i->end;
		return true;
	}
	i->wants_ack = true;
	if (kind == ITEM_FRAME)
		return frame_item(d, i);
	if (kind == ITEM_PIECE)
		return piece_item(d, i, now_mono_ns);
	i->at++;
	return kind == ITEM_PING;
}

/* Sequence numbers begin at a random value: a peer that acknowledges one has received it at its address. */
static int take_acks(struct datagram *d, const uint8_t *plain, size_t len, int64_t now_mono_ns)
{
	if (len < ACK_BYTES || ack_out_read(&d->ack_out, plain, now_mono_ns) < 0)
		return -EPROTO;
	if (get_u64(plain))
		d->confirmed = true;
	return 0;
}

static int take(struct datagram *d, struct items *i, uint64_t sequence, int64_t now_mono_ns)
{
	while (i->at < i->end)
		if (!next_item(d, i, now_mono_ns))
			return -EPROTO;
	if (i->untaken) {
		d->stats.untaken++;
		return 0;
	}
	ack_received(&d->ack_in, sequence, now_mono_ns);
	if (i->wants_ack && !d->unacked++)
		d->unacked_mono_ns = now_mono_ns;
	return 0;
}

int datagram_input(struct datagram *d, const void *data, size_t len, int64_t now_mono_ns)
{
	uint8_t plain[PACKET_PLAIN_MAX];
	struct items i = { 0 };
	uint64_t sequence;
	size_t plain_len;
	int r = packet_open(&d->packet, data, len, plain, &plain_len, &sequence);

	if (r)
		return r;
	d->stats.in_bytes += len;
	r = take_acks(d, plain, plain_len, now_mono_ns);
	if (!r) {
		i.at = plain + ACK_BYTES;
		i.end = plain + plain_len;
		r = take(d, &i, sequence, now_mono_ns);
	}
	if (r)
		d->stats.malformed++;
	return r;
}
