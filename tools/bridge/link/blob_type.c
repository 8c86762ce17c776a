/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that Cyclone needs for this type and its samples: see blob_type.h. */
#include "blob_type.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "in_parts.h"
#include "keyless.h"

#define CDR_HEADER 4u
#define TAKE       16

/* reference-counted by the type and each of its samples, since Cyclone may free samples after the type */
struct holder {
	_Atomic unsigned refs;
	struct blob_place place;
};

struct type {
	struct ddsi_sertype c; /* first member */
	struct holder *holder;
};

/*
 * The serialised stream: its first `prefix` bytes are in data; the rest is read from body, whose first byte is at
 * offset BLOB_HEAD of the stream.
 */
struct sample {
	struct ddsi_serdata c; /* first member: what Cyclone sees */
	struct holder *holder;
	size_t size, prefix;
	const uint8_t *body;
	size_t body_size;
	void (*released)(void *arg);
	void *arg;
	_Atomic(uint8_t *) whole; /* a copy of the stream for ranges that span data and body; NULL: not made yet */
	struct blob_in in;
	uint8_t data[];
};

static struct sample *sample_of(const struct ddsi_serdata *d)
{
	return (struct sample *)(uintptr_t)d;
}

static void holder_unref(struct holder *h)
{
	if (atomic_fetch_sub(&h->refs, 1) == 1)
		free(h);
}

static struct sample *sample_new(const struct ddsi_sertype *t, enum ddsi_serdata_kind kind, size_t room)
{
	struct sample *s = malloc(sizeof(*s) + room);

	if (!s)
		return NULL;
	memset(s, 0, sizeof(*s));
	ddsi_serdata_init(&s->c, t, kind);
	s->c.hash = t->serdata_basehash;
	s->holder = ((const struct type *)(const void *)t)->holder;
	atomic_fetch_add(&s->holder->refs, 1);
	return s;
}

/* ---- samples: sending ---- */

static struct ddsi_serdata *key_new(const struct ddsi_sertype *t)
{
	struct sample *s = sample_new(t, SDK_KEY, CDR_HEADER);

	if (!s)
		return NULL;
	memcpy(s->data, (const uint8_t[CDR_HEADER]){ 0, 1 }, CDR_HEADER);
	s->size = s->prefix = CDR_HEADER;
	return &s->c;
}

static struct ddsi_serdata *from_sample(const struct ddsi_sertype *t, enum ddsi_serdata_kind kind, const void *from)
{
	const struct blob_out *o = from;
	size_t size, copied;
	struct sample *s;

	if (kind != SDK_DATA)
		return key_new(t);
	size = blob_size(o->head.body_size);
	copied = o->head.body_size <= BLOB_COPIED_MAX ? o->head.body_size : BLOB_COPIED_MAX;
	s = sample_new(t, kind, copied == o->head.body_size ? size : BLOB_HEAD + copied);
	if (!s)
		return NULL;
	s->size = size;
	s->prefix = copied == o->head.body_size ? size : BLOB_HEAD + copied;
	blob_write(&o->head, s->data);
	if (copied)
		memcpy(s->data + BLOB_HEAD, o->body, copied);
	memset(s->data + BLOB_HEAD + copied, 0, s->prefix - BLOB_HEAD - copied);
	if (copied == o->head.body_size)
		return &s->c;
	s->body = o->body;
	s->body_size = o->head.body_size;
	s->released = o->released;
	s->arg = o->arg;
	return &s->c;
}

static uint32_t get_size(const struct ddsi_serdata *d)
{
	return (uint32_t)sample_of(d)->size;
}

/* Writes zeros for the padding: memory after the body must not be read. */
static void to_ser(const struct ddsi_serdata *d, size_t off, size_t sz, void *buf)
{
	const struct sample *s = sample_of(d);
	uint8_t *to = buf;
	size_t n = off < s->prefix ? s->prefix - off : 0, have;

	n = n < sz ? n : sz;
	memcpy(to, s->data + off, n);
	off += n;
	if (n == sz)
		return;
	have = off - BLOB_HEAD < s->body_size ? s->body_size - (off - BLOB_HEAD) : 0;
	have = have < sz - n ? have : sz - n;
	if (have)
		memcpy(to + n, s->body + (off - BLOB_HEAD), have);
	memset(to + n + have, 0, sz - n - have);
}

/*
 * For a range that begins in the head and ends in the body. Cyclone's fragments are shorter than 64 KiB, so the first
 * one is in data, and this happens only with unusual settings of Cyclone.
 */
static const uint8_t *whole(struct sample *s)
{
	uint8_t *w = atomic_load(&s->whole), *none = NULL;

	if (w)
		return w;
	w = malloc(s->size);
	if (!w)
		return NULL;
	to_ser(&s->c, 0, s->size, w);
	if (!atomic_compare_exchange_strong(&s->whole, &none, w)) {
		free(w);
		w = none;
	}
	return w;
}

static struct ddsi_serdata *to_ser_ref(const struct ddsi_serdata *d, size_t off, size_t sz, ddsrt_iovec_t *ref)
{
	struct sample *s = sample_of(d);
	const uint8_t *at;

	if (off + sz <= s->prefix)
		at = s->data + off;
	else if (off >= BLOB_HEAD)
		at = s->body + (off - BLOB_HEAD);
	else if ((at = whole(s)))
		at += off;
	ref->iov_base = (void *)(uintptr_t)at;
	ref->iov_len = at ? (ddsrt_iov_len_t)sz : 0;
	return ddsi_serdata_ref(d);
}

static size_t stream_offset(const struct sample *s, const uint8_t *at)
{
	if (at >= s->data && at < s->data + s->prefix)
		return (size_t)(at - s->data);
	if (s->body && at >= s->body && at < s->body + s->body_size)
		return (size_t)(at - s->body) + BLOB_HEAD;
	return 0;
}

static void to_ser_unref(struct ddsi_serdata *d, const ddsrt_iovec_t *ref)
{
	struct sample *s = sample_of(d);
	size_t begin = stream_offset(s, ref->iov_base);

	in_parts_sent(begin, begin + ref->iov_len, s->size);
	ddsi_serdata_unref(d);
}

static void sample_free(struct ddsi_serdata *d)
{
	struct sample *s = sample_of(d);

	if (s->in.placed)
		s->holder->place.unplace(s->holder->place.arg, &s->in.head, s->in.body);
	else
		free(s->in.body);
	if (s->released)
		s->released(s->arg);
	free(atomic_load(&s->whole));
	holder_unref(s->holder);
	free(s);
}

/* ---- samples: receiving ---- */

static void find_room(struct sample *s)
{
	const struct blob_place *p = &s->holder->place;
	struct blob_in *in = &s->in;

	if (in->head.body_size > p->taken_max) {
		in->r = -EMSGSIZE;
		return;
	}
	if (p->place) {
		in->body = p->place(p->arg, &in->head, &in->r);
		in->placed = in->body != NULL;
		if (in->placed)
			in->r = 0;
		if (in->placed || in->r != -ENOBUFS)
			return;
	}
	in->r = 0;
	in->body = aligned_alloc(64, (in->head.body_size + 64) / 64 * 64);
	if (!in->body)
		in->r = -ENOMEM;
}

/*
 * An invalid message is delivered without a body, so that the reader can count it. NULL: as if it was never received.
 */
static struct ddsi_serdata *from_ser(const struct ddsi_sertype *t, enum ddsi_serdata_kind kind,
				     const struct nn_rdata *chain, size_t size)
{
	size_t have = size < BLOB_HEAD ? size : BLOB_HEAD;
	struct sample *s = kind == SDK_DATA ? sample_new(t, kind, BLOB_HEAD) : NULL;

	if (kind != SDK_DATA)
		return key_new(t);
	if (!s)
		return NULL;
	s->size = s->prefix = have;
	if (!keyless_gather(chain, 0, have, s->data)) {
		ddsi_serdata_unref(&s->c);
		return NULL;
	}
	s->in.r = blob_read(s->data, have, size, &s->in.head, &s->in.why);
	if (s->in.r == 0)
		find_room(s);
	if (s->in.r == 0 && !keyless_gather(chain, BLOB_HEAD, BLOB_HEAD + s->in.head.body_size, s->in.body)) {
		ddsi_serdata_unref(&s->c);
		return NULL;
	}
	return &s->c;
}

static struct ddsi_serdata *from_ser_iov(const struct ddsi_sertype *t, enum ddsi_serdata_kind kind,
					 ddsrt_msg_iovlen_t n, const ddsrt_iovec_t *iov, size_t size)
{
	(void)kind;
	(void)n;
	(void)iov;
	(void)size;
	return key_new(t); /* only samples are written, never serialised data */
}

static struct ddsi_serdata *from_keyhash(const struct ddsi_sertype *t, const struct ddsi_keyhash *keyhash)
{
	(void)keyhash;
	return key_new(t);
}

static struct ddsi_serdata *to_untyped(const struct ddsi_serdata *d)
{
	struct ddsi_serdata *k = key_new(d->type);

	if (k)
		k->type = NULL;
	return k;
}

static size_t print(const struct ddsi_sertype *t, const struct ddsi_serdata *d, char *buf, size_t size)
{
	(void)t;
	return (size_t)snprintf(buf, size, "%zu bytes", sample_of(d)->size);
}

static const struct ddsi_serdata_ops sample_ops = {
	KEYLESS_DATA_OPS,
	.get_size = get_size,
	.from_ser = from_ser,
	.from_ser_iov = from_ser_iov,
	.from_keyhash = from_keyhash,
	.from_sample = from_sample,
	.to_ser = to_ser,
	.to_ser_ref = to_ser_ref,
	.to_ser_unref = to_ser_unref,
	.to_untyped = to_untyped,
	.free = sample_free,
	.print = print,
};

/* ---- the type ---- */

static void type_free(struct ddsi_sertype *t)
{
	holder_unref(((struct type *)(void *)t)->holder);
	ddsi_sertype_fini(t);
	free(t);
}

/* Types with the same name differ in place(), so each is equal to itself only. */
static bool type_equal(const struct ddsi_sertype *a, const struct ddsi_sertype *b)
{
	return ((const struct type *)(const void *)a)->holder == ((const struct type *)(const void *)b)->holder;
}

static const struct ddsi_sertype_ops type_ops = {
	KEYLESS_TYPE_OPS,
	.free = type_free,
	.equal = type_equal,
};

dds_entity_t blob_topic_create(dds_entity_t participant, const char *name, const char *type_name,
			       const struct blob_place *place)
{
	struct type *b = calloc(1, sizeof(*b));
	struct ddsi_sertype *t = (struct ddsi_sertype *)b;
	dds_entity_t topic;

	if (!b || !(b->holder = calloc(1, sizeof(*b->holder)))) {
		free(b);
		return DDS_RETCODE_OUT_OF_RESOURCES;
	}
	atomic_init(&b->holder->refs, 1);
	b->holder->place = *place;
	ddsi_sertype_init(t, type_name, &type_ops, &sample_ops, true);
	t->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
	topic = dds_create_topic_sertype(participant, name, &t, NULL, NULL, NULL);
	if (topic < 0)
		ddsi_sertype_unref(t);
	return topic;
}

/* ---- taking ---- */

struct blob_in *blob_in(struct ddsi_serdata *d)
{
	return &sample_of(d)->in;
}

void blob_take(dds_entity_t reader, blob_take_fn *fn, void *arg)
{
	struct ddsi_serdata *data[TAKE];
	dds_sample_info_t info[TAKE];
	int n;

	while ((n = dds_takecdr(reader, data, TAKE, info, DDS_ANY_STATE)) > 0)
		for (int i = 0; i < n; i++) {
			if (info[i].valid_data)
				fn(arg, blob_in(data[i]), info[i].publication_handle);
			ddsi_serdata_unref(data[i]);
		}
}
