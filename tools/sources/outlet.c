/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing a channel. See outlet.h. */
#include "outlet.h"

#include <errno.h>

#include <sim/sim.h>

#include "log.h"

LOG_TOPIC("feed");

const char *source_why(int r)
{
	return *sim_why() ? sim_why() : sim_strerror(r);
}

static void on_done(void *user, bool ok, enum sim_reason reason)
{
	struct outlet *o = user;

	(void)reason; /* the library counts failures by channel and reason */
	atomic_fetch_add_explicit(ok ? &o->done : &o->failed, 1, memory_order_relaxed);
}

int outlet_send(struct outlet *o, struct sim_slot *slot, size_t size, struct sim_token *token)
{
	int r = size ? sim_slot_set_size(slot, size) : -EMSGSIZE;

	if (r < 0) {
		(void)sim_unloan(o->pub, slot);
		return r;
	}
	if (sim_publisher_bridges(o->pub).total == 0)
		return sim_publish_local(o->pub, slot);
	r = sim_try_queue(o->pub, slot, token, on_done, o);
	if (r < 0)
		atomic_fetch_sub_explicit(&o->failed, 1, memory_order_relaxed); /* it counts as refused instead */
	return r;
}

void outlet_count(struct outlet *o, int r)
{
	if (r == 0)
		o->published++;
	/* being unavailable for a moment is not logged (simd has the counters); an invalid message is */
	else if (o->refused++ == 0 && r != -ECANCELED && r != -EAGAIN && r != -EBUSY && r != -ESTALE && r != -ENOTCONN)
		log_warn("%s: first message refused: %s", o->name, source_why(r));
}

void outlet_report(const struct outlet *o)
{
	log_info("%s: %llu published, %llu refused, %llu delivered, %llu not delivered", o->name,
		 (unsigned long long)o->published, (unsigned long long)o->refused,
		 (unsigned long long)atomic_load(&o->done), (unsigned long long)atomic_load(&o->failed));
}
