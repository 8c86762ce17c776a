/* SPDX-License-Identifier: Apache-2.0 */
/* See slots.h. */
#include "slots.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sim_publisher *slots_publisher(struct slots *s)
{
	return (struct sim_publisher *)(void *)s;
}

size_t slots_arena(const struct slots *s, size_t *ret_one)
{
	size_t one = (sizeof(struct sim_slot) + s->max_body + 127) & ~(size_t)63;

	if (ret_one)
		*ret_one = one;
	return 8 * one;
}

/* Of the arena: the first piece that is not out. Pieces begin at a multiple of 64 and never of a page. */
static struct sim_slot *piece(const struct slots *s)
{
	size_t one;

	(void)slots_arena(s, &one);
	for (unsigned i = 0; i < 8; i++) {
		void *p = s->arena + i * one + 64;
		bool out = false;

		for (unsigned k = 0; k < s->out; k++)
			out |= s->slot[k] == p;
		if (!out)
			return p;
	}
	abort();
}

int sim_loan(struct sim_publisher *p, size_t body_size, struct sim_slot **ret)
{
	struct slots *s = (struct slots *)(void *)p;
	size_t size = (sizeof(struct sim_slot) + body_size + 63) & ~(size_t)63;

	if (s->error)
		return s->error;
	if (body_size > s->max_body)
		return -EMSGSIZE;
	if (s->out == 8)
		return -ENOBUFS;
	*ret = s->arena ? piece(s) : aligned_alloc(64, size);
	assert(*ret);
	memset(*ret, 0x5a, size);
	**ret = (struct sim_slot){ .body_size = body_size,
				   .stamp_sim_ns = s->now_sim_ns,
				   .iox_generation = s->generation };
	s->owned[s->out] = !s->arena;
	s->slot[s->out++] = *ret;
	return 0;
}

int sim_unloan(struct sim_publisher *p, struct sim_slot *slot)
{
	struct slots *s = (struct slots *)(void *)p;

	for (unsigned i = 0; i < s->out; i++) {
		if (s->slot[i] == slot) {
			if (s->owned[i])
				free(slot);
			s->out--;
			s->slot[i] = s->slot[s->out];
			s->owned[i] = s->owned[s->out];
			return 0;
		}
	}
	abort(); /* not a loan */
}

void slots_finish(struct slots *s)
{
	while (s->out)
		sim_unloan(slots_publisher(s), s->slot[0]);
}

const char *sim_why(void)
{
	return "the stand-in of a publisher refuses";
}
