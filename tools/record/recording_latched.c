/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that are valid until the next one (a map, /tf_static): keeps the last message of each latching publisher, so
 * that each file begins with it, and can be played and viewed alone. The caller holds the recording's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "recording_private.h"

#define PUBLISHERS_MAX 64 /* per channel; the oldest are forgotten first */

/* The link to the message of that publisher, or to the end of the list. */
static struct ring_entry **find(struct recording_channel *c, uint32_t publisher_id, unsigned *ret_before)
{
	struct ring_entry **at = &c->latched;

	for (*ret_before = 0; *at && (*at)->publisher_id != publisher_id; ++*ret_before)
		at = &(*at)->next;
	return at;
}

static void forget(struct recording *s, struct ring_entry **at)
{
	struct ring_entry *e = *at;

	*at = e->next;
	s->latched_bytes -= e->size;
	mem_free(e);
}

static void append(struct recording *s, struct recording_channel *c, struct ring_entry *e)
{
	struct ring_entry **at = &c->latched;

	while (*at)
		at = &(*at)->next;
	*at = e;
	s->latched_bytes += e->size;
}

void recording_latched_keep(struct recording *s, const struct ring_entry *h, const struct iovec *pieces, int n)
{
	struct recording_channel *c = s->channels[h->id];
	struct ring_entry *e, **old;
	unsigned before;
	size_t size = 0;

	if (!h->latched)
		return;
	for (int i = 0; i < n; i++)
		size += pieces[i].iov_len;
	old = find(c, h->publisher_id, &before);
	if (*old)
		forget(s, old);
	else if (before >= PUBLISHERS_MAX)
		forget(s, &c->latched);
	e = s->latched_bytes + size <= s->latched_most ? recording_entry_new(h, pieces, n) : NULL;
	if (e) {
		s->copied += size;
		append(s, c, e);
	} else if (!c->said) {
		c->said = true;
		recording_say(
			s, 1,
			"%s: latched messages of more than %zu bytes in all are not repeated at the beginning of each file",
			c->name, s->latched_most);
	}
}

static int by_name(const void *a, const void *b)
{
	const struct recording_channel *x = *(struct recording_channel *const *)a,
				       *y = *(struct recording_channel *const *)b;

	return strcmp(x->name, y->name);
}

/* At the beginning of a file, before h, which may be newer than the kept one of its publisher. */
static int write_channel(struct recording *s, struct recording_channel *c, const struct ring_entry *h,
			 int64_t log_time_ns)
{
	int r = 0;

	for (const struct ring_entry *e = c->latched; e && r >= 0; e = e->next) {
		struct iovec piece = { .iov_base = (void *)(uintptr_t)e->data, .iov_len = e->size };

		if (e->id == h->id && e->publisher_id == h->publisher_id)
			continue;
		r = recording_file_write(s, c, e, log_time_ns, &piece, 1);
		c->due.repeated += r >= 0;
	}
	return r;
}

int recording_latched_write(struct recording *s, const struct ring_entry *h, int64_t log_time_ns)
{
	struct recording_channel **list;
	unsigned n = 0;
	int r = 0;

	if (!s->latched_bytes)
		return 0;
	list = mem_calloc(s->n_channels + 1, sizeof(struct recording_channel *));
	if (!list)
		return -ENOMEM;
	for (unsigned i = 0; i < s->n_channels; i++)
		if (s->channels[i]->latched)
			list[n++] = s->channels[i];
	if (n)
		qsort(list, n, sizeof(*list), by_name);
	for (unsigned i = 0; i < n && r >= 0; i++)
		r = write_channel(s, list[i], h, log_time_ns);
	mem_free(list);
	return r;
}

void recording_latched_clear(struct recording *s, struct recording_channel *c)
{
	while (c->latched)
		forget(s, &c->latched);
}
