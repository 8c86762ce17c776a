/* SPDX-License-Identifier: Apache-2.0 */
/* See waiter.h. */
#include "waiter.h"

#include <errno.h>

#include "dds_errno.h"

static int attach_reader(struct waiter *w, dds_entity_t reader)
{
	dds_entity_t data = dds_create_readcondition(reader, DDS_ANY_STATE);
	dds_return_t r = dds_set_status_mask(reader, DDS_SUBSCRIPTION_MATCHED_STATUS);

	if (data < 0)
		return -ENOMEM;
	if (r >= 0)
		r = dds_waitset_attach(w->set, reader, 0);
	if (r >= 0)
		r = dds_waitset_attach(w->set, data, 0);
	return dds_errno(r);
}

int waiter_open(struct waiter *w, dds_entity_t participant, dds_entity_t reader)
{
	int r;

	w->set = dds_create_waitset(participant);
	w->poke = dds_create_guardcondition(participant);
	if (w->set < 0 || w->poke < 0)
		return -ENOMEM;
	r = reader ? attach_reader(w, reader) : 0;
	return r < 0 ? r : dds_errno(dds_waitset_attach(w->set, w->poke, 0));
}

int waiter_start(struct waiter *w, const char *name, void *(*fn)(void *arg), void *arg)
{
	int r = -pthread_create(&w->thread, NULL, fn, arg);

	w->running = r == 0;
	if (w->running)
		pthread_setname_np(w->thread, name);
	return r;
}

void waiter_wait(struct waiter *w, dds_duration_t dur_ns)
{
	bool poked;

	dds_waitset_wait(w->set, NULL, 0, dur_ns);
	dds_take_guardcondition(w->poke, &poked);
}

void waiter_poke(struct waiter *w)
{
	if (w->running)
		dds_set_guardcondition(w->poke, true);
}

void waiter_close(struct waiter *w)
{
	if (!w->running)
		return;
	atomic_store(&w->stop, true);
	waiter_poke(w);
	pthread_join(w->thread, NULL);
	w->running = false;
}
