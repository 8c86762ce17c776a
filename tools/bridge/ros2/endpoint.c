/* SPDX-License-Identifier: Apache-2.0 */
/* Readers and writers of our topics, and threads that wait for what readers get. See endpoint.h. */
#include "endpoint.h"

#include <errno.h>

#include "ros2.h"
#include "ros/ros_type.h"
#include "sertype.h"

#define TAKE 16

dds_entity_t endpoint_create(dds_entity_t participant, struct endpoint *e)
{
	dds_entity_t entity = DDS_RETCODE_OUT_OF_RESOURCES;
	char type_name[160];

	if (e->qos && ros_type_dds_name(e->type, type_name, sizeof(type_name)) == 0) {
		if (e->topic <= 0)
			e->topic = sertype_topic_create(participant, e->name, type_name, &e->sertype);
		if (e->topic > 0 && e->keeps_origin)
			sertype_keep_origin(e->sertype);
		if (e->topic > 0 && e->taken_max)
			sertype_take_at_most(e->sertype, e->taken_max);
		if (e->topic < 0)
			entity = e->topic;
		else if (e->reads)
			entity = dds_create_reader(participant, e->topic, e->qos, e->listener);
		else
			entity = dds_create_writer(participant, e->topic, e->qos, e->listener);
	}
	dds_delete_listener(e->listener);
	dds_delete_qos(e->qos);
	return entity;
}

void endpoint_take(dds_entity_t reader, endpoint_sample_fn *fn, void *arg)
{
	struct ddsi_serdata *data[TAKE], *held;
	dds_sample_info_t info[TAKE];
	ddsrt_iovec_t ref;
	int n;

	while ((n = dds_takecdr(reader, data, TAKE, info, DDS_ANY_STATE)) > 0)
		for (int i = 0; i < n; i++) {
			if (info[i].valid_data) {
				held = ddsi_serdata_to_ser_ref(data[i], 0, ddsi_serdata_size(data[i]), &ref);
				fn(arg, &(struct endpoint_sample){ data[i], ref.iov_base, ref.iov_len, &info[i] });
				ddsi_serdata_to_ser_unref(held, &ref);
			}
			ddsi_serdata_unref(data[i]);
		}
}

/* ---- waiting ---- */

int waiter_open(struct waiter *w, dds_entity_t participant, dds_entity_t reader)
{
	dds_entity_t data = dds_create_readcondition(reader, DDS_ANY_STATE);
	dds_return_t r = dds_set_status_mask(reader, DDS_SUBSCRIPTION_MATCHED_STATUS);

	w->set = dds_create_waitset(participant);
	w->poke = dds_create_guardcondition(participant);
	if (w->set < 0 || w->poke < 0 || data < 0)
		return -ENOMEM;
	if (r >= 0)
		r = dds_waitset_attach(w->set, reader, 0);
	if (r >= 0)
		r = dds_waitset_attach(w->set, data, 0);
	if (r >= 0)
		r = dds_waitset_attach(w->set, w->poke, 0);
	return ros2_errno(r);
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
