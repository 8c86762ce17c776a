/* SPDX-License-Identifier: Apache-2.0 */
/* See messages.h. */
#include "messages.h"

#include <stdatomic.h>
#include <string.h>

#include <sim/message.h>

#include "mem.h"

static bool grow(struct messages *ms)
{
	struct messages_block *b = MEM_NEW(struct messages_block);

	if (!b)
		return false;
	b->next = ms->blocks;
	ms->blocks = b;
	for (unsigned i = 0; i < MESSAGES_BLOCK; i++)
		messages_put(ms, &b->at[i]);
	return true;
}

struct message *messages_get(struct messages *ms)
{
	struct message *m;

	if (__builtin_expect(!ms->free, 0) && !grow(ms))
		return NULL;
	m = ms->free;
	ms->free = m->next;
	return m;
}

/* Does not read through the pointer, which may be invalid. */
struct message *messages_find(const struct messages *ms, const struct sim_message *m)
{
	for (struct messages_block *b = ms->blocks; b; b = b->next) {
		size_t distance = (uintptr_t)m - (uintptr_t)b->at;
		struct message *found = &b->at[distance / sizeof(b->at[0]) % MESSAGES_BLOCK];

		if (distance < sizeof(b->at) && &found->m == m)
			return found->port ? found : NULL;
	}
	return NULL;
}

void messages_put(struct messages *ms, struct message *m)
{
	m->port = NULL;
	m->next = ms->free;
	ms->free = m;
}

void messages_finish(struct messages *ms)
{
	while (ms->blocks) {
		struct messages_block *b = ms->blocks;

		ms->blocks = b->next;
		mem_free(b);
	}
	ms->free = NULL;
}

bool message_read(struct sim_message *m, const void *slot, size_t size)
{
	struct sim_slot *h = &m->header;

	if (size < sizeof(*h))
		return false;
	memcpy(h, slot, sizeof(*h));
	atomic_signal_fence(memory_order_seq_cst); /* check the copy, not the slot */
	h->frame_id[SIM_FRAME_ID_MAX] = '\0';
	m->body = (const char *)slot + sizeof(*h);
	m->body_size = (size_t)h->body_size;
	return h->magic == SIM_SLOT_MAGIC && h->version == SIM_SLOT_VERSION && h->body_size <= size - sizeof(*h) &&
	       h->body_size <= SIM_BODY_MAX;
}
