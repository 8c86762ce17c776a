/* SPDX-License-Identifier: Apache-2.0 */
/* making.h */
#include "making.h"

#include <errno.h>
#include <string.h>

#include "bitmap.h"
#include "mem.h"

_Static_assert(MAKING_PIECES_MAX == (MAKING_FRAME_MAX + MAKING_PIECE - 1) / MAKING_PIECE,
	       "pieces of the longest frame");

void making_init(struct making *m, uint32_t frame_max, size_t bytes_max)
{
	*m = (struct making){ .frame_max = frame_max, .bytes_max = bytes_max };
}

/* ---- message numbers ---- */

static void set_done(struct making *m, uint64_t message)
{
	if (m->newest - message < MAKING_WINDOW)
		m->done |= UINT64_C(1) << (m->newest - message);
}

static bool is_done(const struct making *m, uint64_t message)
{
	if (message > m->newest)
		return false;
	return m->newest - message >= MAKING_WINDOW || (m->done >> (m->newest - message) & 1);
}

static void release(struct making *m, struct made *f)
{
	m->bytes -= (size_t)f->count * MAKING_PIECE;
	mem_free(f->data);
	*f = (struct made){ 0 };
}

static void give_up(struct making *m, struct made *f)
{
	set_done(m, f->message);
	m->given_up++;
	release(m, f);
}

void making_finish(struct making *m)
{
	for (unsigned i = 0; i < MAKING_N; i++)
		if (m->made[i].data)
			release(m, &m->made[i]);
}

static void see(struct making *m, uint64_t message)
{
	uint64_t further = message - m->newest;

	if (message <= m->newest)
		return;
	m->done = further < MAKING_WINDOW ? m->done << further : 0;
	m->newest = message;
	for (unsigned i = 0; i < MAKING_N; i++)
		if (m->made[i].data && is_done(m, m->made[i].message))
			give_up(m, &m->made[i]);
}

/* ---- places ---- */

static struct made *find(struct making *m, uint64_t message)
{
	for (unsigned i = 0; i < MAKING_N; i++)
		if (m->made[i].data && m->made[i].message == message)
			return &m->made[i];
	return NULL;
}

static struct made *oldest(struct making *m)
{
	struct made *least = NULL;

	for (unsigned i = 0; i < MAKING_N; i++)
		if (m->made[i].data && (!least || m->made[i].message < least->message))
			least = &m->made[i];
	return least;
}

static struct made *free_place(struct making *m)
{
	for (unsigned i = 0; i < MAKING_N; i++)
		if (!m->made[i].data)
			return &m->made[i];
	return NULL;
}

static int begin(struct making *m, const struct making_piece *p, int64_t now_mono_ns, struct made **ret)
{
	size_t size = (size_t)p->count * MAKING_PIECE;
	struct made *f;
	uint8_t *data;

	while (!free_place(m) || m->bytes + size > m->bytes_max) {
		f = oldest(m);
		if (!f || f->message > p->message)
			return -ENOBUFS;
		give_up(m, f);
	}
	data = mem_alloc(size);
	if (!data)
		return -ENOMEM;
	f = free_place(m);
	*f = (struct made){ .data = data, .message = p->message, .count = p->count, .begun_mono_ns = now_mono_ns };
	m->bytes += size;
	*ret = f;
	return 0;
}

/* ---- pieces ---- */

static int check(const struct making *m, const struct making_piece *p)
{
	bool last = p->index + 1 == p->count;

	if (!p->message || p->count < 2 || p->index >= p->count || !p->len || p->len > MAKING_PIECE)
		return -EBADMSG;
	if (!last && p->len != MAKING_PIECE)
		return -EBADMSG;
	if ((size_t)(p->count - 1) * MAKING_PIECE + (last ? p->len : 1) > m->frame_max)
		return -EMSGSIZE;
	return is_done(m, p->message) ? -ESTALE : 0;
}

int making_add(struct making *m, const struct making_piece *p, int64_t now_mono_ns, uint8_t **ret, size_t *ret_len)
{
	int r = check(m, p);
	struct made *f;

	if (r)
		return r;
	see(m, p->message);
	f = find(m, p->message);
	if (!f)
		r = begin(m, p, now_mono_ns, &f);
	else if (f->count != p->count || bitmap_get(f->pieces, p->index))
		r = -EBADMSG;
	if (r)
		return r;
	memcpy(f->data + (size_t)p->index * MAKING_PIECE, p->data, p->len);
	bitmap_set(f->pieces, p->index);
	if (p->index + 1 == p->count)
		f->len = (uint32_t)(p->index * MAKING_PIECE + p->len);
	if (++f->have < f->count)
		return 0;
	*ret = f->data;
	*ret_len = f->len;
	f->data = NULL; /* it belongs to the caller now */
	set_done(m, f->message);
	release(m, f);
	return 1;
}

int64_t making_turn(struct making *m, int64_t now_mono_ns)
{
	int64_t next = INT64_MAX;

	for (unsigned i = 0; i < MAKING_N; i++) {
		struct made *f = &m->made[i];

		if (f->data && now_mono_ns - f->begun_mono_ns >= MAKING_DUR_NS)
			give_up(m, f);
		else if (f->data && f->begun_mono_ns + MAKING_DUR_NS < next)
			next = f->begun_mono_ns + MAKING_DUR_NS;
	}
	return next;
}
