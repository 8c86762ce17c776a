/* SPDX-License-Identifier: Apache-2.0 */
/* See again.h. */
#include <stdlib.h>
#include <string.h>

#include "again.h"

#define KEPT_BYTES_MAX ((size_t)64 << 20) /* for all channels together */

struct link_kept {
	struct link_kept *next;
	struct blob_head head;
	uint8_t body[];
};

void link_again_keep(struct sim_bridge *b, struct sim_bridge_topic *t, const struct blob_out *o)
{
	struct link_early *e = &t->early;
	size_t size = sizeof(struct link_kept) + o->head.body_size;
	struct link_kept *k = b->kept_bytes + size <= KEPT_BYTES_MAX ? malloc(size) : NULL;

	if (!k) {
		if (limit_allows(&b->kept_lines))
			log_warn(
				b,
				"lock-step: %s: no room for a copy of a message: a machine that loses the connection for a moment misses it",
				t->name);
		return;
	}
	k->next = NULL;
	k->head = o->head;
	k->head.flags |= BLOB_AGAIN;
	memcpy(k->body, o->body, o->head.body_size);
	*(e->kept ? &e->kept_last->next : &e->kept) = k;
	e->kept_last = k;
	b->kept_bytes += size;
}

void link_again_send(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	unsigned n = 0;

	if (!atomic_exchange(&t->early.again, false))
		return;
	for (const struct link_kept *k = t->early.kept; k; k = k->next) {
		const struct blob_out o = { .head = k->head, .body = k->body };

		if (dds_write(t->writer, &o) == 0)
			n++;
	}
	if (n)
		log_info(b, "lock-step: %s: a machine has (re)connected: the last %u messages are sent again", t->name,
			 n);
}

void link_again_drop(struct sim_bridge *b, struct sim_bridge_topic *t, uint64_t up_to)
{
	struct link_kept *k;

	while ((k = t->early.kept) && k->head.step <= up_to) {
		t->early.kept = k->next;
		b->kept_bytes -= sizeof(*k) + k->head.body_size;
		free(k);
	}
}
