/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last seconds of a recording, not written yet, bounded in time and in bytes. The caller holds the recording's
 * lock.
 */
#include <errno.h>
#include <string.h>

#include "mem.h"
#include "recording_private.h"

struct ring_entry *recording_ring_take(struct recording *s)
{
	struct ring_entry *e = s->oldest;

	if (!e)
		return NULL;
	s->oldest = e->next;
	if (!s->oldest)
		s->newest = NULL;
	s->n_ring--;
	s->ring_bytes -= sizeof(*e) + e->size;
	return e;
}

void recording_ring_clear(struct recording *s)
{
	struct ring_entry *e;

	while ((e = recording_ring_take(s)))
		mem_free(e);
}

/* While dumping. With dump_goes_on it writes all of the ring, also messages that were added since the dump began. */
void recording_ring_write(struct recording *s, uint64_t bytes)
{
	uint64_t done = 0;

	while (done < bytes && s->dumping && (s->dump_left || (s->dump_goes_on && s->n_ring))) {
		struct ring_entry *e = recording_ring_take(s);
		int r = recording_file_put(s, e, &(struct iovec){ .iov_base = e->data, .iov_len = e->size }, 1);

		if (r < 0 && s->dump_error == 0)
			s->dump_error = r;
		s->dump_left -= s->dump_left > 0;
		done += sizeof(*e) + e->size;
		mem_free(e);
	}
}

/* Whether time has gone back between a and the later b; false if b is just late. */
static bool goes_back(const struct ring_entry *a, const struct ring_entry *b)
{
	if (a->generation && b->generation)
		return a->generation != b->generation && b->log_time_ns < a->log_time_ns;
	return a->log_time_ns - b->log_time_ns >= RECORDING_BACK_DUR_NS;
}

/* Whether e arrives late from before a jump, from where nothing is kept. */
static bool is_gone(const struct ring_entry *newest, const struct ring_entry *e)
{
	return newest && newest->generation && e->generation && e->generation != newest->generation &&
	       e->mono_ns < newest->mono_ns;
}

/* The message is in no file, but if latched it may still be valid when one begins. */
static void drop_oldest(struct recording *s)
{
	struct ring_entry *e = recording_ring_take(s);

	recording_latched_keep(s, e, &(struct iovec){ .iov_base = e->data, .iov_len = e->size }, 1);
	mem_free(e);
}

/* Drops messages that are too old, or from before a jump back, and as many as needed for `bytes`. */
static void evict(struct recording *s, const struct ring_entry *now, size_t bytes)
{
	int64_t now_ns = now->log_time_ns;

	if (s->dumping && s->ring_bytes + bytes > s->o.ring_bytes)
		recording_ring_write(s, s->ring_bytes + bytes - s->o.ring_bytes);
	while (s->oldest &&
	       (s->ring_bytes + bytes > s->o.ring_bytes ||
		(!s->dumping && (s->oldest->log_time_ns < now_ns - s->o.ring_dur_ns || goes_back(s->oldest, now)))))
		drop_oldest(s);
}

struct ring_entry *recording_entry_new(const struct ring_entry *head, const struct iovec *pieces, int n)
{
	size_t size = 0, at = 0;
	struct ring_entry *e;

	for (int i = 0; i < n; i++)
		size += pieces[i].iov_len;
	e = mem_alloc(sizeof(*e) + size);
	if (!e)
		return NULL;
	*e = *head;
	e->next = NULL;
	e->size = size;
	for (int i = 0; i < n; at += pieces[i++].iov_len)
		if (pieces[i].iov_len)
			memcpy(e->data + at, pieces[i].iov_base, pieces[i].iov_len);
	return e;
}

int recording_ring_put(struct recording *s, struct ring_entry *e)
{
	int r = e->log_time_ns < 0 ? -EINVAL : sizeof(*e) + e->size > s->o.ring_bytes ? -EMSGSIZE : 0;

	if (r < 0 || is_gone(s->newest, e)) {
		mem_free(e);
		return r;
	}
	evict(s, e, sizeof(*e) + e->size);
	*(s->newest ? &s->newest->next : &s->oldest) = e;
	s->newest = e;
	s->n_ring++;
	s->ring_bytes += sizeof(*e) + e->size;
	return 0;
}
