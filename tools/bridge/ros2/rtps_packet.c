/* SPDX-License-Identifier: Apache-2.0 */
/* See rtps_packet.h. The flags of a submessage give the byte order of its lengths and numbers. */
#include "rtps_packet.h"

#include <string.h>

#define HEADER_SIZE 20u
#define PREFIX_SIZE 12u
#define PREFIX_AT   8u /* in the header; in INFO_SRC 12 */

enum {
	SUB_PAD = 0x01,
	SUB_HEARTBEAT = 0x07,
	SUB_INFO_TS = 0x09,
	SUB_INFO_SRC = 0x0c,
	SUB_INFO_DST = 0x0e,
	SUB_DATA = 0x15,
	SUB_DATA_FRAG = 0x16
};
#define FLAG_LITTLE     0x01u
#define FLAG_INLINE_QOS 0x02u
#define FLAG_FINAL      0x02u /* of a heartbeat: no answer is wanted */

#define PID_SENTINEL   0x0001u
#define PID_RELATED    0x0083u
#define PID_RELATED_EP 0x800fu /* eProsima's, from before the standard had one */
#define IDENTITY_SIZE  24u

#define HEARTBEAT_SIZE 32u
#define DATA_SIZE      24u /* the submessage's fixed fields, header included */
#define DATA_FRAG_SIZE 36u
#define PIECES         192u /* iovec entries of one outgoing packet */
#define HEADS          48u
#define SPAN_MAX       16u /* iovec entries of one submessage; Cyclone uses three */

static uint16_t u16_at(const uint8_t *p, bool little)
{
	return little ? (uint16_t)(p[0] | p[1] << 8) : (uint16_t)(p[1] | p[0] << 8);
}

static uint32_t u32_at(const uint8_t *p, bool little)
{
	uint32_t a = u16_at(p, little), b = u16_at(p + 2, little);

	return little ? a | b << 16 : b | a << 16;
}

/* ---- parameters ---- */

static size_t put_identity(uint8_t *out, uint16_t pid, const struct rtps_id *id)
{
	const uint16_t head[2] = { pid, IDENTITY_SIZE };
	const uint32_t sequence[2] = { (uint32_t)((uint64_t)id->sequence >> 32), (uint32_t)id->sequence };

	memcpy(out, head, sizeof(head));
	memcpy(out + 4, id->guid, sizeof(id->guid));
	memcpy(out + 20, sequence, sizeof(sequence));
	return 4 + IDENTITY_SIZE;
}

void rtps_qos_write(const struct rtps_id *id, uint8_t out[RTPS_QOS_SIZE])
{
	const uint16_t sentinel[2] = { PID_SENTINEL, 0 };
	size_t at = put_identity(out, PID_RELATED_EP, id);

	at += put_identity(out + at, PID_RELATED, id);
	memcpy(out + at, sentinel, sizeof(sentinel));
}

bool rtps_qos_read(const uint8_t *list, size_t size, bool little, struct rtps_id *ret)
{
	struct rtps_id id;
	bool found = false;

	for (size_t at = 0; size - at >= 4;) {
		uint16_t pid = u16_at(list + at, little), len = u16_at(list + at + 2, little);
		const uint8_t *value = list + at + 4;

		if (pid == PID_SENTINEL) {
			if (found)
				*ret = id;
			return found;
		}
		if (len % 4 || len > size - at - 4)
			return false;
		if ((pid == PID_RELATED || pid == PID_RELATED_EP) && len >= IDENTITY_SIZE) {
			memcpy(id.guid, value, sizeof(id.guid));
			id.sequence =
				(int64_t)((uint64_t)u32_at(value + 16, little) << 32 | u32_at(value + 20, little));
			found = true;
		}
		at += 4u + len;
	}
	return false;
}

/* ---- a packet, submessage by submessage ---- */

struct place { /* a position in the iovec of a packet */
	const struct iovec *iov;
	size_t n, i, at;
};

struct sub {
	struct place from;
	const uint8_t *head; /* its first bytes, of which `here` are contiguous */
	size_t here, len;
	size_t span;        /* iovec entries that it spans */
	const uint8_t *qos; /* inline QoS to insert; NULL: none */
	size_t fields;      /* offset from its beginning where qos goes */
};

struct reading {
	struct place at;
	uint8_t writer[16]; /* begins with the sender's prefix that is in force */
};

static void settle(struct place *p)
{
	while (p->i < p->n && p->at == p->iov[p->i].iov_len) {
		p->i++;
		p->at = 0;
	}
}

/* Moves on by len bytes, at most to the end. Returns the distance. */
static size_t skip(struct place *p, size_t len, size_t *ret_span)
{
	size_t gone = 0;

	*ret_span = 0;
	for (settle(p); gone < len && p->i < p->n; settle(p)) {
		size_t left = p->iov[p->i].iov_len - p->at, k = len - gone < left ? len - gone : left;

		p->at += k;
		gone += k;
		++*ret_span;
	}
	return gone;
}

/*
 * Returns the length with the header. A length field of 0 means up to the packet's end, except for PAD and INFO_TS,
 * which may be empty.
 */
static size_t length_of(const struct sub *s)
{
	size_t len = s->here >= 4 ? u16_at(s->head + 2, s->head[1] & FLAG_LITTLE) : 0;

	if (s->here < 4 || (len == 0 && s->head[0] != SUB_PAD && s->head[0] != SUB_INFO_TS))
		return SIZE_MAX;
	return len + 4;
}

/* Looks for QoS if the payload is exactly the next iovec entry, which is how Cyclone puts a sample into a packet. */
static void look_for_qos(const struct rtps_insert *x, struct reading *r, struct sub *s)
{
	const struct iovec *next = s->from.iov + s->from.i + 1;
	bool little = s->head[1] & FLAG_LITTLE, frag = s->head[0] == SUB_DATA_FRAG;
	size_t fields = frag ? DATA_FRAG_SIZE : DATA_SIZE;
	uint32_t offset = 0;

	if (s->span != 2 || s->here < fields || s->len - s->here != next->iov_len ||
	    s->len - 4 + RTPS_QOS_SIZE > UINT16_MAX)
		return;
	if (!(s->head[1] & FLAG_INLINE_QOS) && s->here != fields)
		return;
	if (frag)
		offset = (u32_at(s->head + 24, little) - 1) * u16_at(s->head + 30, little);
	memcpy(r->writer + PREFIX_SIZE, s->head + 12, 4);
	s->qos = x->qos_of(x->ctx, r->writer, next->iov_base, offset);
	s->fields = fields;
}

static bool next_sub(const struct rtps_insert *x, struct reading *r, struct sub *s)
{
	settle(&r->at);
	if (r->at.i == r->at.n)
		return false;
	*s = (struct sub){ .from = r->at,
			   .head = (const uint8_t *)r->at.iov[r->at.i].iov_base + r->at.at,
			   .here = r->at.iov[r->at.i].iov_len - r->at.at };
	s->len = skip(&r->at, length_of(s), &s->span);
	if (s->here > s->len)
		s->here = s->len;
	if (s->here >= 24 && s->head[0] == SUB_INFO_SRC)
		memcpy(r->writer, s->head + 12, PREFIX_SIZE);
	else if (s->here >= DATA_SIZE && (s->head[0] == SUB_DATA || s->head[0] == SUB_DATA_FRAG))
		look_for_qos(x, r, s);
	return true;
}

static bool reading_begin(struct reading *r, size_t n, const struct iovec *iov)
{
	*r = (struct reading){ .at = { iov, n, 0, HEADER_SIZE } };
	if (!n || iov[0].iov_len < HEADER_SIZE || memcmp(iov[0].iov_base, "RTPS", 4) != 0)
		return false;
	memcpy(r->writer, (const uint8_t *)iov[0].iov_base + PREFIX_AT, PREFIX_SIZE);
	return true;
}

/* Whether the packet needs any insertion; most packets carry no replies. */
static bool wanted(const struct rtps_insert *x, size_t n, const struct iovec *iov)
{
	struct reading r;
	struct sub s;
	bool found = false;

	if (!reading_begin(&r, n, iov))
		return false;
	while (next_sub(x, &r, &s)) {
		if (s.span > SPAN_MAX)
			return false;
		found = found || s.qos;
	}
	return found;
}

/* ---- what goes out ---- */

enum { KEEP_HEADER, KEEP_SRC, KEEP_DST, KEEP_TS, KEEP_N };

struct writing {
	const struct rtps_insert *x;
	struct iovec out[PIECES];
	size_t n, size, n_heads;
	uint8_t heads[HEADS][DATA_FRAG_SIZE]; /* copies of submessage heads, with the new flag and length */
	struct iovec keep[KEEP_N];            /* submessages that every further packet begins with */
};

static void put(struct writing *w, const void *data, size_t len)
{
	if (!len)
		return;
	w->out[w->n++] = (struct iovec){ .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	w->size += len;
}

static void put_range(struct writing *w, struct place p, size_t len)
{
	for (settle(&p); len && p.i < p.n; settle(&p)) {
		size_t left = p.iov[p.i].iov_len - p.at, k = len < left ? len : left;

		put(w, (const uint8_t *)p.iov[p.i].iov_base + p.at, k);
		p.at += k;
		len -= k;
	}
}

static void begin(struct writing *w)
{
	w->n = w->size = w->n_heads = 0;
	for (unsigned i = 0; i < KEEP_N; i++)
		put(w, w->keep[i].iov_base, w->keep[i].iov_len);
}

static void put_sub(struct writing *w, const struct sub *s)
{
	uint8_t *head = w->heads[w->n_heads];
	struct place rest = s->from;
	size_t len, more, span;

	if (!s->qos) { /* perhaps only one byte of its head is contiguous */
		put_range(w, s->from, s->len);
		return;
	}
	/* existing parameters follow ours, and end with the sentinel */
	more = s->head[1] & FLAG_INLINE_QOS ? RTPS_QOS_SIZE - 4 : RTPS_QOS_SIZE;
	len = s->len - 4 + more;
	w->n_heads++;
	memcpy(head, s->head, s->fields);
	head[1] |= FLAG_INLINE_QOS;
	head[2] = (uint8_t)(head[1] & FLAG_LITTLE ? len : len >> 8);
	head[3] = (uint8_t)(head[1] & FLAG_LITTLE ? len >> 8 : len);
	put(w, head, s->fields);
	put(w, s->qos, more);
	(void)skip(&rest, s->fields, &span);
	put_range(w, rest, s->len - s->fields);
}

/* Remembers source, destination and timestamp, which hold for all that follows, in the next packet too. */
static void keep(struct writing *w, const struct sub *s)
{
	unsigned which = s->head[0] == SUB_INFO_SRC ? KEEP_SRC : s->head[0] == SUB_INFO_DST ? KEEP_DST : KEEP_TS;

	if (s->here < s->len || (s->head[0] != SUB_INFO_SRC && s->head[0] != SUB_INFO_DST && s->head[0] != SUB_INFO_TS))
		return;
	w->keep[which] = (struct iovec){ .iov_base = (void *)(uintptr_t)s->head, .iov_len = s->len };
}

static bool full(const struct writing *w, const struct sub *s)
{
	size_t more = s->len + (s->qos ? RTPS_QOS_SIZE : 0);

	return w->size + more > w->x->packet_max || w->n + s->span + 2 > PIECES || w->n_heads == HEADS;
}

static size_t total(size_t n, const struct iovec *iov)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += iov[i].iov_len;
	return sum;
}

/* Returns a negative number if send() did. */
static ssize_t rewrite(const struct rtps_insert *x, size_t n, const struct iovec *iov)
{
	struct writing w = { .x = x, .keep[KEEP_HEADER] = { iov[0].iov_base, HEADER_SIZE } };
	struct reading r;
	struct sub s;
	size_t fresh; /* iovec entries of a packet that contains only what is kept */

	(void)reading_begin(&r, n, iov);
	begin(&w);
	fresh = w.n;
	while (next_sub(x, &r, &s)) {
		if (w.n > fresh && full(&w, &s)) {
			ssize_t sent = x->send(x->ctx, w.n, w.out);

			if (sent < 0)
				return sent;
			begin(&w);
			fresh = w.n;
		}
		put_sub(&w, &s);
		keep(&w, &s);
	}
	return x->send(x->ctx, w.n, w.out);
}

ssize_t rtps_packet_send(const struct rtps_insert *x, size_t n, const struct iovec *iov)
{
	ssize_t sent;

	if (!wanted(x, n, iov))
		return x->send(x->ctx, n, iov);
	sent = rewrite(x, n, iov);
	return sent < 0 ? sent : (ssize_t)total(n, iov);
}

/* ---- what comes in ---- */

static void put_u32(uint8_t *p, uint32_t v, bool little)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * (little ? i : 3 - i));
}

/*
 * Makes a heartbeat with an empty range, from `first` to `first - 1`. Its count is lower by one, so that the real
 * heartbeat is not taken for a duplicate.
 */
static void empty_heartbeat(const uint8_t *from, uint8_t out[HEARTBEAT_SIZE])
{
	bool little = from[1] & FLAG_LITTLE;
	uint64_t first = (uint64_t)u32_at(from + 12, little) << 32 | u32_at(from + 16, little);

	memcpy(out, from, HEARTBEAT_SIZE);
	out[1] |= FLAG_FINAL;
	out[little ? 2 : 3] = HEARTBEAT_SIZE - 4;
	out[little ? 3 : 2] = 0;
	put_u32(out + 20, (uint32_t)((first - 1) >> 32), little);
	put_u32(out + 24, (uint32_t)(first - 1), little);
	put_u32(out + 28, u32_at(from + 28, little) - 1, little);
}

size_t rtps_packet_welcome(uint8_t *packet, size_t size, size_t room,
			   bool (*is_ours)(void *ctx, const uint8_t entity[4]), void *ctx)
{
	uint8_t empty[HEARTBEAT_SIZE];

	if (size < HEADER_SIZE || memcmp(packet, "RTPS", 4) != 0 ||
	    (packet[6] << 8 | packet[7]) != RTPS_VENDOR_EPROSIMA)
		return size;
	for (size_t at = HEADER_SIZE; size - at >= 4;) {
		size_t len = u16_at(packet + at + 2, packet[at + 1] & FLAG_LITTLE) + 4u;

		if (len > size - at || (len == 4 && packet[at] != SUB_PAD && packet[at] != SUB_INFO_TS))
			break; /* the last submessage, or malformed */
		if (packet[at] == SUB_HEARTBEAT && len >= HEARTBEAT_SIZE && room - size >= HEARTBEAT_SIZE &&
		    is_ours(ctx, packet + at + 4)) {
			empty_heartbeat(packet + at, empty);
			memmove(packet + at + HEARTBEAT_SIZE, packet + at, size - at);
			memcpy(packet + at, empty, HEARTBEAT_SIZE);
			size += HEARTBEAT_SIZE;
			at += HEARTBEAT_SIZE;
		}
		at += len;
	}
	return size;
}
