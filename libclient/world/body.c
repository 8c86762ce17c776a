/* SPDX-License-Identifier: Apache-2.0 */
/* body.h */
#include "body.h"

#include <errno.h>
#include <string.h>

#include "mem.h"

static int make(const void *data, size_t len, struct body **ret)
{
	struct body *b;

	if (len > BODY_MAX)
		return -E2BIG;
	if (!len) {
		*ret = NULL;
		return 0;
	}
	b = mem_alloc(sizeof(*b) + len);
	if (!b)
		return -ENOMEM;
	atomic_init(&b->refs, 1);
	b->len = (uint32_t)len;
	memcpy(b->data, data, len);
	*ret = b;
	return 0;
}

int body_create(const void *data, size_t len, struct body **ret)
{
	struct wire_cursor c = wire_cursor(data, len);
	struct wire_field f;

	if (len > BODY_MAX)
		return -E2BIG;
	while (wire_next(&c, &f))
		;
	return c.bad ? -EBADMSG : make(data, len, ret);
}

struct body *body_ref(struct body *b)
{
	if (b)
		atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

void body_unref(struct body *b)
{
	if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
		mem_free(b);
}

static struct wire_cursor cursor_of(const struct body *b)
{
	return b ? wire_cursor(b->data, b->len) : wire_cursor(NULL, 0);
}

bool body_equal(const struct body *a, const struct body *b)
{
	if (a == b)
		return true;
	return a && b && a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* All occurrences of one field number, which are adjacent. */
struct group {
	uint32_t number; /* 0: no more groups */
	const uint8_t *begin;
	size_t len;
};

/* Iterates over the groups of a body; numbers must ascend. */
struct groups {
	struct wire_cursor c;
	struct wire_field next; /* first field of the next group, unless its number is 0 */
	bool bad;
};

static void fetch(struct groups *g)
{
	uint32_t before = g->next.number;

	g->next.number = 0;
	if (!wire_next(&g->c, &g->next))
		g->bad |= g->c.bad;
	else if (g->next.number < before)
		g->bad = true;
	if (g->bad)
		g->next.number = 0;
}

static struct groups groups_of(struct wire_cursor c)
{
	struct groups g = { .c = c };

	fetch(&g);
	return g;
}

static struct group take(struct groups *g)
{
	struct group x = { .number = g->next.number, .begin = g->next.begin };

	if (!x.number)
		return x;
	do {
		x.len = (size_t)(g->c.at - x.begin);
		fetch(g);
	} while (g->next.number == x.number);
	return x;
}

static bool same(const struct group *a, const struct group *b)
{
	return a->len == b->len && memcmp(a->begin, b->begin, a->len) == 0;
}

bool body_diff(const struct body *base, const struct body *b, struct wire_buf *out)
{
	struct groups old_groups = groups_of(cursor_of(base)), new_groups = groups_of(cursor_of(b));
	struct group old = take(&old_groups), now = take(&new_groups);
	size_t began = out->len;

	while (now.number) {
		if (old.number && old.number < now.number)
			break; /* a field was removed, which a difference cannot express */
		if (old.number != now.number || !same(&old, &now))
			wire_append(out, now.begin, now.len);
		if (old.number == now.number)
			old = take(&old_groups);
		now = take(&new_groups);
	}
	if (!old.number && !now.number && !old_groups.bad && !new_groups.bad)
		return true;
	out->len = began;
	return false;
}

int body_merge(const struct body *base, const void *diff, size_t len, struct body **ret)
{
	struct groups base_groups = groups_of(cursor_of(base)), diff_groups = groups_of(wire_cursor(diff, len));
	struct group kept = take(&base_groups), put = take(&diff_groups);
	struct wire_buf out = { 0 };
	int r;

	while (kept.number || put.number) {
		bool from_diff = put.number && (!kept.number || put.number <= kept.number);
		uint32_t number = from_diff ? put.number : kept.number;

		if (from_diff)
			wire_append(&out, put.begin, put.len);
		else
			wire_append(&out, kept.begin, kept.len);
		if (kept.number == number)
			kept = take(&base_groups);
		if (put.number == number)
			put = take(&diff_groups);
	}
	if (base_groups.bad || diff_groups.bad)
		r = -EBADMSG;
	else
		r = out.failed ? -ENOMEM : make(out.data, out.len, ret);
	wire_buf_finish(&out);
	return r;
}
