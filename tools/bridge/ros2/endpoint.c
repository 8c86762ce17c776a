/* SPDX-License-Identifier: Apache-2.0 */
/* Readers and writers of our topics. See endpoint.h. */
#include "endpoint.h"

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
