/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See compat.h: numbers of vehicles, 0 to 127. Clients get them in turn from 0 up, other vehicles from 127 down, so
 * that a number is reused as late as possible.
 */
#include <errno.h>

#include "compat_private.h"
#include "err.h"
#include "timeutil.h"

#define UNSEEN_DUR_NS (10 * NS_PER_S) /* after which a vehicle's number may be reused */

static bool is_free(const struct compat_number *n, int64_t now_mono_ns)
{
	return !n->client && (!n->id || now_mono_ns - n->seen_mono_ns > UNSEEN_DUR_NS);
}

int compat_number_of_client(struct compat *c, struct compat_client *cl, int64_t now_mono_ns)
{
	for (unsigned i = 0; i < COMPAT_NUMBERS; i++) {
		const unsigned number = (c->next + i) % COMPAT_NUMBERS;

		if (!is_free(&c->numbers[number], now_mono_ns))
			continue;
		c->numbers[number] = (struct compat_number){ .client = cl };
		c->next = number + 1;
		return (int)number;
	}
	return err_set(-ENOSPC, "all %u numbers for tr2016's vehicles are in use", COMPAT_NUMBERS);
}

void compat_numbers_forget(struct compat_client *cl)
{
	struct compat_number *n = &cl->c->numbers[cl->number];

	if (n->client == cl)
		*n = (struct compat_number){ .id = 0 };
}

static int number_of_owner(const struct compat *c, uint32_t owner)
{
	struct compat_client *cl;

	list_for_each(cl, &c->clients, link)
		if (side_connection(cl->side) == owner)
			return (int)cl->number;
	return -ENOENT;
}

static int number_known(struct compat *c, uint64_t id, int64_t now_mono_ns)
{
	for (unsigned i = 0; i < COMPAT_NUMBERS; i++)
		if (!c->numbers[i].client && c->numbers[i].id == id) {
			c->numbers[i].seen_mono_ns = now_mono_ns;
			return (int)i;
		}
	return -ENOENT;
}

static int number_anew(struct compat *c, uint64_t id, int64_t now_mono_ns)
{
	for (unsigned i = 1; i <= COMPAT_NUMBERS; i++) {
		const unsigned number = (c->last + COMPAT_NUMBERS - i) % COMPAT_NUMBERS;

		if (!is_free(&c->numbers[number], now_mono_ns))
			continue;
		c->numbers[number] = (struct compat_number){ .id = id, .seen_mono_ns = now_mono_ns };
		c->last = number;
		return (int)number;
	}
	return -ENOSPC;
}

int compat_number_of(struct compat *c, uint64_t id, uint32_t owner, int64_t now_mono_ns)
{
	int r = number_of_owner(c, owner);

	if (r < 0)
		r = number_known(c, id, now_mono_ns);
	return r < 0 ? number_anew(c, id, now_mono_ns) : r;
}
