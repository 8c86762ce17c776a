/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that Cyclone requires of a type and of its samples: see sertype.h. */
#include "sertype.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "iov_buf.h"
#include "in_parts.h"
#include "keyless.h"
#include "rtps_identity.h"

#define CDR_HEADER 4u
#define FRONT      64u
#define TAKEN_MAX  (4u << 20) /* default limit for the bytes of a received message */
#define SPARE_MIN \
	(64u << 10) /* larger samples are kept for the next message: a fresh one costs a page fault each 4 KiB */
#define SPARES 4u

struct bytes {
	struct ddsi_serdata c; /* first: Cyclone knows only this */
	struct pool *pool;
	size_t size; /* CDR header included, a multiple of 4 */
	size_t room; /* bytes allocated for data */
	struct rtps_origin origin;
	uint8_t front[FRONT]; /* its end holds a reply's inline QoS, or zeros: see rtps_identity_add() */
	uint8_t data[];
};
_Static_assert(offsetof(struct bytes, data) == offsetof(struct bytes, front) + FRONT, "front is right before data");
_Static_assert(FRONT >= RTPS_QOS_SIZE, "front has room for it");

struct pool {
	_Atomic unsigned
		refs; /* one of the type, one of each sample: Cyclone may send a sample after its type was freed */
	pthread_mutex_t lock; /* a leaf: guards spare */
	struct bytes *spare[SPARES];
};

struct sertype {
	struct ddsi_sertype c; /* first */
	struct pool *pool;
	bool keeps_origin;        /* set before the first sample arrives */
	_Atomic size_t taken_max; /* only grows */
};

static const struct bytes *bytes_of(const struct ddsi_serdata *d)
{
	return (const struct bytes *)(const void *)d;
}

/* ---- memory ---- */

static struct pool *pool_create(void)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	atomic_init(&p->refs, 1);
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

static void pool_unref(struct pool *p)
{
	if (atomic_fetch_sub(&p->refs, 1) != 1)
		return;
	for (unsigned i = 0; i < SPARES; i++)
		free(p->spare[i]);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Takes a spare buffer with room for size bytes, but at most twice as large. NULL: none. */
static struct bytes *spare_take(struct pool *p, size_t size)
{
	struct bytes *b = NULL;

	pthread_mutex_lock(&p->lock);
	for (unsigned i = 0; !b && i < SPARES; i++)
		if (p->spare[i] && p->spare[i]->room >= size && p->spare[i]->room / 2 <= size) {
			b = p->spare[i];
			p->spare[i] = NULL;
		}
	pthread_mutex_unlock(&p->lock);
	return b;
}

/*
 * Keeps the buffer in an empty slot, else in place of one of another size, which may no longer be in use; else frees
 * it.
 */
static void spare_put(struct pool *p, struct bytes *b)
{
	unsigned at = SPARES;

	pthread_mutex_lock(&p->lock);
	for (unsigned i = 0; i < SPARES; i++)
		if (!p->spare[i] || (at == SPARES && p->spare[i]->room != b->room))
			at = i;
	if (at < SPARES) {
		struct bytes *old = p->spare[at];

		p->spare[at] = b;
		b = old;
	}
	pthread_mutex_unlock(&p->lock);
	free(b);
}

static struct bytes *bytes_new(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, size_t size)
{
	struct pool *p = ((const struct sertype *)(const void *)type)->pool;
	struct bytes *b = size >= SPARE_MIN ? spare_take(p, size) : NULL;

	if (!b && size <= UINT32_MAX && (b = malloc(sizeof(*b) + size)))
		b->room = size;
	if (!b)
		return NULL;
	ddsi_serdata_init(&b->c, type, kind);
	b->c.hash = type->serdata_basehash;
	b->pool = p;
	b->size = size;
	b->origin.known = false;
	memset(b->front, 0, sizeof(b->front));
	atomic_fetch_add(&p->refs, 1);
	return b;
}

/* ---- samples ---- */

static uint32_t data_size(const struct ddsi_serdata *d)
{
	return (uint32_t)bytes_of(d)->size;
}

/* Makes the only copy of a payload between the slot and the network. */
static struct ddsi_serdata *data_from_sample(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
					     const void *sample)
{
	const struct iov_buf *o = sample;
	struct bytes *b = bytes_new(type, kind, kind == SDK_DATA ? o->total : CDR_HEADER);
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	if (!b)
		return NULL;
	memcpy(b->data, (const uint8_t[CDR_HEADER]){ 0, 1 }, CDR_HEADER);
	for (unsigned i = 0, n = kind == SDK_DATA ? iov_buf_iov(o, iov) : 0; i < n; i++) {
		memcpy(b->data + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	return &b->c;
}

static void data_to_ser(const struct ddsi_serdata *d, size_t off, size_t sz, void *buf)
{
	memcpy(buf, bytes_of(d)->data + off, sz);
}

static struct ddsi_serdata *data_to_ser_ref(const struct ddsi_serdata *d, size_t off, size_t sz, ddsrt_iovec_t *ref)
{
	ref->iov_base = (void *)(uintptr_t)(bytes_of(d)->data + off);
	ref->iov_len = (ddsrt_iov_len_t)sz;
	return ddsi_serdata_ref(d);
}

static void data_to_ser_unref(struct ddsi_serdata *d, const ddsrt_iovec_t *ref)
{
	const struct bytes *b = bytes_of(d);
	size_t begin = (size_t)((const uint8_t *)ref->iov_base - b->data);

	in_parts_sent(begin, begin + ref->iov_len, b->size);
	ddsi_serdata_unref(d);
}

static struct ddsi_serdata *data_to_untyped(const struct ddsi_serdata *d)
{
	struct bytes *b = bytes_new(d->type, SDK_KEY, CDR_HEADER);

	if (!b)
		return NULL;
	memcpy(b->data, (const uint8_t[CDR_HEADER]){ 0, 1 }, CDR_HEADER);
	b->c.type = NULL;
	return &b->c;
}

static void data_free(struct ddsi_serdata *d)
{
	struct bytes *b = (struct bytes *)(void *)d;
	struct pool *p = b->pool;

	if (b->room >= SPARE_MIN)
		spare_put(p, b);
	else
		free(b);
	pool_unref(p);
}

static size_t data_print(const struct ddsi_sertype *type, const struct ddsi_serdata *d, char *buf, size_t size)
{
	(void)type;
	return (size_t)snprintf(buf, size, "%zu bytes", bytes_of(d)->size);
}

/*
 * Assembles a message from its fragments, which may overlap. A message above the limit becomes a sample without bytes,
 * which its reader counts.
 */
static struct ddsi_serdata *data_from_ser(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
					  const struct nn_rdata *chain, size_t size)
{
	const struct sertype *own = (const struct sertype *)(const void *)type;
	struct bytes *b = bytes_new(type, kind, size <= own->taken_max ? size : 0);

	if (b && own->keeps_origin)
		rtps_identity_read(chain, &b->origin);
	if (!b || size > own->taken_max)
		return b ? &b->c : NULL;
	if (keyless_gather(chain, 0, size, b->data))
		return &b->c;
	ddsi_serdata_unref(&b->c);
	return NULL;
}

static struct ddsi_serdata *data_from_iov(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
					  ddsrt_msg_iovlen_t n, const ddsrt_iovec_t *iov, size_t size)
{
	size_t most = ((const struct sertype *)(const void *)type)->taken_max;
	struct bytes *b = size >= CDR_HEADER && size <= most ? bytes_new(type, kind, size) : NULL;
	size_t at = 0;

	if (!b)
		return NULL;
	for (size_t i = 0; i < (size_t)n && at < size; i++) {
		size_t len = iov[i].iov_len < size - at ? iov[i].iov_len : size - at;

		memcpy(b->data + at, iov[i].iov_base, len);
		at += len;
	}
	memset(b->data + at, 0, size - at);
	return &b->c;
}

static struct ddsi_serdata *data_from_keyhash(const struct ddsi_sertype *type, const struct ddsi_keyhash *keyhash)
{
	(void)keyhash;
	return data_from_sample(type, SDK_KEY, NULL);
}
static const struct ddsi_serdata_ops data_ops = {
	KEYLESS_DATA_OPS,
	.get_size = data_size,
	.from_ser = data_from_ser,
	.from_ser_iov = data_from_iov,
	.from_keyhash = data_from_keyhash,
	.from_sample = data_from_sample,
	.to_ser = data_to_ser,
	.to_ser_ref = data_to_ser_ref,
	.to_ser_unref = data_to_ser_unref,
	.to_untyped = data_to_untyped,
	.free = data_free,
	.print = data_print,
};

/* ---- the type ---- */

static void type_free(struct ddsi_sertype *t)
{
	pool_unref(((struct sertype *)(void *)t)->pool);
	ddsi_sertype_fini(t);
	free(t);
}
static bool type_equal(const struct ddsi_sertype *a, const struct ddsi_sertype *b)
{
	(void)a;
	(void)b;
	return true; /* Cyclone has compared the names; there is nothing else to compare */
}
static const struct ddsi_sertype_ops type_ops = {
	KEYLESS_TYPE_OPS,
	.free = type_free,
	.equal = type_equal,
};

dds_entity_t sertype_topic_create(dds_entity_t participant, const char *name, const char *type_name,
				  struct ddsi_sertype **ret_type)
{
	struct sertype *b = calloc(1, sizeof(*b));
	struct ddsi_sertype *t = (struct ddsi_sertype *)b;
	dds_entity_t topic;

	if (!b || !(b->pool = pool_create())) {
		free(b);
		return DDS_RETCODE_OUT_OF_RESOURCES;
	}
	b->taken_max = TAKEN_MAX;
	ddsi_sertype_init(t, type_name, &type_ops, &data_ops, true);
	t->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
	topic = dds_create_topic_sertype(participant, name, &t, NULL, NULL, NULL);
	if (topic < 0)
		ddsi_sertype_unref(t);
	else if (ret_type)
		*ret_type = t;
	return topic;
}

void sertype_keep_origin(struct ddsi_sertype *type)
{
	((struct sertype *)(void *)type)->keeps_origin = true;
}

void sertype_take_at_most(struct ddsi_sertype *type, size_t size)
{
	struct sertype *t = (struct sertype *)(void *)type;

	if (size > t->taken_max)
		t->taken_max = size;
}

const struct rtps_origin *sertype_origin(const struct ddsi_serdata *d)
{
	const struct bytes *b = bytes_of(d);

	return b->origin.known ? &b->origin : NULL;
}

dds_return_t sertype_write_to(dds_entity_t writer, const struct ddsi_sertype *type, const struct iov_buf *o,
			      const struct rtps_id *to)
{
	struct ddsi_serdata *d = ddsi_serdata_from_sample(type, SDK_DATA, o);

	if (!d)
		return DDS_RETCODE_OUT_OF_RESOURCES;
	rtps_qos_write(to, ((struct bytes *)(void *)d)->front + FRONT - RTPS_QOS_SIZE);
	return dds_writecdr(writer, d);
}
