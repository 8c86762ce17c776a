/* SPDX-License-Identifier: Apache-2.0 */
/* See in_parts.h. */
#include "in_parts.h"

struct parts { /* the message that this thread is sending */
	size_t part;
	in_parts_between_fn *between;
	void *arg;
};

static _Thread_local const struct parts *writing;

dds_return_t in_parts_write(dds_entity_t writer, const void *sample, size_t part, in_parts_between_fn *between,
			    void *arg)
{
	const struct parts parts = { part, between, arg };
	dds_return_t r;

	writing = &parts;
	r = dds_write(writer, sample);
	writing = NULL;
	return r;
}

void in_parts_sent(size_t begin, size_t end, size_t size)
{
	if (writing && begin / writing->part != end / writing->part && end < size)
		writing->between(writing->arg);
}
