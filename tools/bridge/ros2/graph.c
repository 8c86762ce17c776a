/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ros_discovery_info: which endpoints belong to our node. Each sample is the whole state; it follows an endpoint that is
 * created and precedes one that is deleted. Up to Humble an identity has 24 bytes, from Iron on 16, under one
 * type name.
 */
#include <errno.h>

#include "bytes_type.h"
#include "enc_wire.h"
#include "ros2.h"
#include "ros/ros_type.h"

#define GRAPH_TYPE "rmw_dds_common/ParticipantEntitiesInfo"

int ros2_graph_open(struct sim_bridge *b)
{
	static const struct ros2_qos profile = { .reliable = true, .transient_local = true, .depth = 1 };
	const struct ros_type *t = ros_type_find(ros2_types, GRAPH_TYPE);
	dds_qos_t *qos = ros2_qos_create(&profile, t->hash);
	char type_name[128];
	dds_entity_t topic = DDS_RETCODE_OUT_OF_RESOURCES;

	if (qos && ros_type_dds_name(t, type_name, sizeof(type_name)) == 0)
		topic = bytes_topic_create(b->participant, "ros_discovery_info", type_name, NULL);
	b->graph_writer = topic < 0 ? topic : dds_create_writer(b->participant, topic, qos, NULL);
	dds_delete_qos(qos);
	if (b->graph_writer < 0)
		b->host->log(b->host->ctx, 0, "ros_discovery_info cannot be written: %s",
			     dds_strretcode(b->graph_writer));
	return ros2_errno(b->graph_writer);
}

static void put_gid(struct sim_bridge *b, struct sim_enc *e, dds_entity_t entity)
{
	uint32_t size = b->distro == ROS2_HUMBLE ? 24 : 16;
	uint8_t *gid = e->ops->room(e, "data", SIM_KIND_UINT8, size, 1);
	dds_guid_t guid;

	if (!gid)
		return;
	memset(gid, 0, size);
	if (dds_get_guid(entity, &guid) == 0)
		memcpy(gid, guid.v, sizeof(guid.v));
}

static unsigned count_readers(const struct sim_bridge *b)
{
	unsigned n = b->sim_time.reader > 0;

	for (unsigned i = 0; i < b->n_inbound; i++)
		n += b->inbound[i].reader > 0;
	return n;
}

void ros2_graph_publish(struct sim_bridge *b)
{
	struct enc_wire w;
	struct out o;
	dds_return_t r;

	out_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	put_gid(b, &w.enc, b->participant);
	sim_enc_list(&w.enc, "node_entities_info_seq", 1);
	sim_enc_text(&w.enc, "node_namespace", b->node_namespace);
	sim_enc_text(&w.enc, "node_name", b->node);
	sim_enc_list(&w.enc, "reader_gid_seq", count_readers(b) + b->n_services);
	for (unsigned i = 0; i < b->n_inbound; i++)
		if (b->inbound[i].reader > 0)
			put_gid(b, &w.enc, b->inbound[i].reader);
	if (b->sim_time.reader > 0)
		put_gid(b, &w.enc, b->sim_time.reader);
	for (unsigned i = 0; i < b->n_services; i++)
		put_gid(b, &w.enc, ros2_service_reader(b->services[i]));
	sim_enc_list(&w.enc, "writer_gid_seq", b->n_topics + b->n_services);
	for (unsigned i = 0; i < b->n_topics; i++)
		put_gid(b, &w.enc, b->topics[i]->writer);
	for (unsigned i = 0; i < b->n_services; i++)
		put_gid(b, &w.enc, ros2_service_writer(b->services[i]));
	r = wire_finish(&w) == 0 ? dds_write(b->graph_writer, &o) : DDS_RETCODE_OUT_OF_RESOURCES;
	if (r < 0)
		b->host->log(b->host->ctx, 1, "the ROS graph is not up to date: %s", dds_strretcode(r));
	out_finish(&o);
}
