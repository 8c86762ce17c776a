/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See rtps_identity.h. Sending: every packet of a domain passes the write function of its connections, which is
 * replaced by on_write(); it finds a reply's identity in memory before the payload that is about to be sent. Receiving:
 * Cyclone keeps the packet that a sample came in, with the header's numbers already in this machine's byte order.
 * Cyclone's read function is replaced only for a client's first request (rtps_packet_welcome()).
 *
 * Thread: open, close, add and remove one at a time; on_write(), on_read() and read() on Cyclone's threads.
 */
#include "rtps_identity.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dds/ddsi/ddsi_domaingv.h>
#include <dds/ddsi/ddsi_tran.h>
#include <dds/ddsi/q_protocol.h>
#include <dds/ddsi/q_radmin.h>

#include "cyclone_inside.h"

#define DOMAINS_MAX  8u
#define FRAGMENT_MAX 65000u /* leaves room in a datagram for the inline QoS */

struct rtps_identity {
	struct ddsi_domaingv *gv;
	ddsi_tran_write_fn_t write; /* Cyclone's own functions */
	ddsi_tran_read_fn_t read;
	uint8_t prefix[12];                           /* of the participant; set before the first entity */
	_Atomic uint32_t entities[RTPS_ENTITIES_MAX]; /* entity ids in network byte order; 0: free */
	_Atomic unsigned n_entities;                  /* entries used so far, including those free again */
};

/* on_write() and on_read() get a connection, which knows its domain: through this table they find their struct. */
static _Atomic(struct rtps_identity *) domains[DOMAINS_MAX];

/* ---- sending ---- */

static struct rtps_identity *find(const struct ddsi_domaingv *gv)
{
	for (unsigned i = 0; i < DOMAINS_MAX; i++) {
		struct rtps_identity *x = atomic_load_explicit(&domains[i], memory_order_acquire);

		if (x && x->gv == gv)
			return x;
	}
	return NULL;
}

static bool has_entity(struct rtps_identity *x, const uint8_t entity[4])
{
	unsigned n = atomic_load_explicit(&x->n_entities, memory_order_acquire);
	uint32_t id;

	memcpy(&id, entity, sizeof(id));
	for (unsigned i = 0; i < n; i++)
		if (atomic_load_explicit(&x->entities[i], memory_order_acquire) == id)
			return true;
	return false;
}

struct sending {
	struct rtps_identity *x;
	ddsi_tran_conn_t conn;
	const ddsi_locator_t *to;
	uint32_t flags;
};

static const uint8_t *qos_of(void *ctx, const uint8_t writer[16], const uint8_t *payload, uint32_t offset)
{
	const struct sending *s = ctx;
	const uint8_t *qos;

	if (!has_entity(s->x, writer + 12) || memcmp(writer, s->x->prefix, sizeof(s->x->prefix)) != 0)
		return NULL;
	qos = payload - offset - RTPS_QOS_SIZE;
	return qos[0] | qos[1] ? qos : NULL;
}

static ssize_t send_on(void *ctx, size_t n, const struct iovec *iov)
{
	const struct sending *s = ctx;

	return s->x->write(s->conn, s->to, n, iov, s->flags);
}

static ssize_t on_write(ddsi_tran_conn_t conn, const ddsi_locator_t *to, size_t n, const ddsrt_iovec_t *iov,
			uint32_t flags)
{
	struct sending s = { find(conn->m_base.gv), conn, to, flags };
	const struct rtps_insert insert = { qos_of, send_on, &s, RTPS_PACKET_SIZE };

	if (!atomic_load_explicit(&s.x->n_entities, memory_order_acquire))
		return send_on(&s, n, iov);
	return rtps_packet_send(&insert, n, iov);
}

/* ---- receiving: what Cyclone is about to see ---- */

static bool is_ours(void *ctx, const uint8_t entity[4])
{
	static const uint8_t any[4];

	return memcmp(entity, any, sizeof(any)) != 0 && has_entity(ctx, entity);
}

static ssize_t on_read(ddsi_tran_conn_t conn, unsigned char *buf, size_t room, bool allow_spurious,
		       ddsi_locator_t *from)
{
	struct rtps_identity *x = find(conn->m_base.gv);
	ssize_t n = x->read(conn, buf, room, allow_spurious, from);

	if (n <= 0 || (size_t)n > room || !atomic_load_explicit(&x->n_entities, memory_order_acquire))
		return n;
	return (ssize_t)rtps_packet_welcome(buf, (size_t)n, room, is_ours, x);
}

/* ---- whether it can be used ---- */

static int check_fragments(const struct ddsi_domaingv *gv, char *why, size_t size)
{
	if (gv->config.fragment_size <= FRAGMENT_MAX)
		return 0;
	snprintf(why, size, "General/FragmentSize is %u, and not at most %u", gv->config.fragment_size, FRAGMENT_MAX);
	return -ENOTSUP;
}

/* ---- life ---- */

static int enlist(struct rtps_identity *x)
{
	for (unsigned i = 0; i < DOMAINS_MAX; i++) {
		struct rtps_identity *none = NULL;

		if (atomic_compare_exchange_strong(&domains[i], &none, x))
			return 0;
	}
	return -EMFILE;
}

int rtps_identity_open(const struct ddsi_sertype *type, struct rtps_identity **ret, char *why, size_t why_size)
{
	struct ddsi_domaingv *gv;
	struct rtps_identity *x;
	int r = cyclone_inside_domain(type, &gv, why, why_size);

	if (r == 0)
		r = check_fragments(gv, why, why_size);
	if (r < 0)
		return r;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->gv = gv;
	x->write = gv->xmit_conns[0]->m_write_fn;
	x->read = gv->data_conn_uc->m_read_fn;
	r = enlist(x);
	if (r < 0) {
		free(x);
		return r;
	}
	for (unsigned i = 0; i < MAX_XMIT_CONNS; i++)
		if (gv->xmit_conns[i])
			__atomic_store_n(&gv->xmit_conns[i]->m_write_fn, on_write, __ATOMIC_RELEASE);
	__atomic_store_n(&gv->data_conn_uc->m_read_fn, on_read, __ATOMIC_RELEASE);
	if (gv->data_conn_mc)
		__atomic_store_n(&gv->data_conn_mc->m_read_fn, on_read, __ATOMIC_RELEASE);
	*ret = x;
	return 0;
}

void rtps_identity_close(struct rtps_identity *x)
{
	if (!x)
		return;
	for (unsigned i = 0; i < DOMAINS_MAX; i++) {
		struct rtps_identity *mine = x;

		(void)atomic_compare_exchange_strong(&domains[i], &mine, NULL);
	}
	free(x);
}

int rtps_identity_add(struct rtps_identity *x, const dds_guid_t *guid)
{
	uint32_t id;

	memcpy(&id, guid->v + 12, sizeof(id));
	if (!atomic_load(&x->n_entities)) /* all entities are of one participant */
		memcpy(x->prefix, guid->v, sizeof(x->prefix));
	for (unsigned i = 0; i < RTPS_ENTITIES_MAX; i++) {
		uint32_t none = 0;

		if (!atomic_compare_exchange_strong(&x->entities[i], &none, id))
			continue;
		if (i >= atomic_load(&x->n_entities))
			atomic_store(&x->n_entities, i + 1);
		return 0;
	}
	return -EMFILE;
}

void rtps_identity_remove(struct rtps_identity *x, const dds_guid_t *guid)
{
	uint32_t id;

	memcpy(&id, guid->v + 12, sizeof(id));
	for (unsigned i = 0; i < RTPS_ENTITIES_MAX; i++) {
		uint32_t mine = id;

		if (atomic_compare_exchange_strong(&x->entities[i], &mine, 0))
			return;
	}
}

/* ---- receiving ---- */

static void put_word(uint8_t *out, const uint8_t *native)
{
	uint32_t w;

	memcpy(&w, native, sizeof(w));
	w = htonl(w);
	memcpy(out, &w, sizeof(w));
}

/*
 * Reads the writer's GUID and sequence number, which Cyclone has converted to native order in place. A prefix from
 * INFO_SRC is ignored: no such writer is ours.
 */
static void read_own(const uint8_t *packet, const uint8_t *sub, struct rtps_id *own)
{
	uint32_t sequence[2];

	for (unsigned i = 0; i < 3; i++)
		put_word(own->guid + 4 * i, packet + 8 + 4 * i);
	put_word(own->guid + 12, sub + 12);
	memcpy(sequence, sub + 16, sizeof(sequence));
	own->sequence = (int64_t)((uint64_t)sequence[0] << 32 | sequence[1]);
}

void rtps_identity_read(const struct nn_rdata *first, struct rtps_origin *ret)
{
	const uint8_t *packet = NN_RMSG_PAYLOAD(first->rmsg), *sub;
	size_t size = first->rmsg->chunk.u.size, at = NN_RDATA_SUBMSG_OFF(first), end = NN_RDATA_PAYLOAD_OFF(first);
	uint16_t to_qos;

	*ret = (struct rtps_origin){ .known = false };
	if (first->min != 0 || at < 20 || end > size || at + 24 > end || memcmp(packet, "RTPS", 4) != 0)
		return;
	sub = packet + at;
	if (sub[0] != SMID_DATA && sub[0] != SMID_DATA_FRAG)
		return;
	ret->known = true;
	ret->vendor = (uint16_t)(packet[6] << 8 | packet[7]);
	read_own(packet, sub, &ret->own);
	memcpy(&to_qos, sub + 6, sizeof(to_qos)); /* in native order too */
	at += 8u + to_qos;
	if (sub[1] & DATA_FLAG_INLINE_QOS && at <= end)
		ret->has_related = rtps_qos_read(packet + at, end - at, sub[1] & SMFLAG_ENDIANNESS, &ret->related);
}
