/* SPDX-License-Identifier: Apache-2.0 */
/* A reader: the latest N messages of a channel, held in place, observed as a whole. Thread: the reader's. */
#include <sim/subscriber.h>

#include <errno.h>

#include "clockmap.h"
#include "err.h"
#include "ipc.h"
#include "mem.h"
#include "subscriber.h"

struct sim_reader {
	struct sim_subscriber *sub;
	unsigned depth, count;
	unsigned newest;                      /* index of the newest */
	const struct sim_message *messages[]; /* ring of depth */
};

int sim_reader_create(struct sim_client *c, const char *channel, const struct sim_type *type, unsigned depth,
		      struct sim_reader **ret)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = depth ? depth : 1 };
	struct sim_reader *r;
	int err;

	if (depth > IPC_DEPTH_MAX / 2)
		return err_set(-EINVAL, "sim_reader_create: depth %u is out of range, 1 to %d", depth,
			       IPC_DEPTH_MAX / 2);
	if (!ret)
		return err_set(-EINVAL, "sim_reader_create: the output pointer is NULL");
	r = mem_zalloc(sizeof(*r) + o.depth * sizeof(r->messages[0]));
	if (!r)
		return err_nomem();
	r->depth = o.depth;
	err = sim_subscribe(c, channel, type, &o, &r->sub);
	if (err < 0) {
		mem_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void sim_reader_destroy(struct sim_reader *r)
{
	if (!r)
		return;
	sim_subscriber_destroy(r->sub); /* releases what is held */
	mem_free(r);
}

/*
 * Messages from before and after a jump of the clock must not be mixed. The first of the present generation drops the
 * older ones; a late one of an older generation is dropped itself. Returns false if m must be dropped.
 */
static bool same_stretch(struct sim_reader *r, const struct sim_message *m)
{
	struct sim_clock_sample now;

	if (r->count == 0 || r->messages[r->newest]->header.clock_generation == m->header.clock_generation)
		return true;
	clock_sample(r->sub->c, &now);
	if (m->header.clock_generation != now.clock_generation)
		return false;
	for (; r->count; r->count--)
		sim_release(r->sub, sim_reader_get(r, r->count - 1));
	return true;
}

static void keep(struct sim_reader *r, const struct sim_message *m)
{
	if (!same_stretch(r, m)) {
		sim_release(r->sub, m);
		return;
	}
	r->newest = (r->newest + 1) % r->depth;
	if (r->count == r->depth)
		sim_release(r->sub, r->messages[r->newest]);
	else
		r->count++;
	r->messages[r->newest] = m;
}

int sim_reader_observe(struct sim_reader *r)
{
	const struct sim_message *m;
	int n = 0, err;

	if (!r)
		return err_set(-EINVAL, "sim_reader_observe: no reader was given");
	/* bounded: a publisher that is faster than this loop must not keep the caller here */
	while (n < IPC_DEPTH_MAX && (err = sim_take(r->sub, &m)) == 0) {
		keep(r, m);
		n++;
	}
	return n || err == -EAGAIN || err == -ESTALE ? n : err;
}

const struct sim_message *sim_reader_get(const struct sim_reader *r, unsigned i)
{
	if (!r || i >= r->count)
		return NULL;
	return r->messages[(r->newest + r->depth - i) % r->depth];
}

int sim_reader_wait(struct sim_reader *r, int64_t timeout_dur_ns)
{
	int n;

	if (!r)
		return err_set(-EINVAL, "sim_reader_wait: no reader was given");
	n = sim_wait(r->sub, timeout_dur_ns);
	if (n <= 0)
		return n;
	n = sim_reader_observe(r);
	return n < 0 ? n : 1;
}
