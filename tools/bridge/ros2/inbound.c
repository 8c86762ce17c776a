/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topics that come in. The option "subscribe" is a JSON object, ROS topic to channel: {"/control/command/gear_cmd":
 * {"type":"autoware_vehicle_msgs/msg/GearCommand","channel":"gear"}}. Only channels that the rig lists may be written: the host
 * sees to that. Thread: create() and destroy(); messages on Cyclone's receive thread, one at a time for a reader.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <dds/ddsi/ddsi_serdata.h>

#include <sim/introspect.h>

#include "bytes_type.h"
#include "ros2.h"
#include "ros/ros_type.h"

#define BODY_MAX (64u * 1024) /* as the host takes them */
#define TAKE     8

static void drop(struct ros2_inbound *in, int r)
{
	struct sim_bridge *b = in->bridge;
	uint64_t n = atomic_fetch_add(&in->dropped, 1) + 1;

	if ((n & (n - 1)) == 0) /* the first, then ever more rarely */
		b->host->log(b->host->ctx, 1, "%s: a message is dropped: %s (%llu so far)", in->channel, strerror(-r),
			     (unsigned long long)n);
}

static void take_in(struct ros2_inbound *in, const struct ddsi_serdata *d)
{
	struct sim_bridge *b = in->bridge;
	size_t len = ddsi_serdata_size(d), size = 0;
	ddsrt_iovec_t ref;
	struct ddsi_serdata *held = ddsi_serdata_to_ser_ref(d, 0, len, &ref);
	int r = unmap_read(in->unmap, WIRE_CDR, ref.iov_base, len, in->body, BODY_MAX, &size);

	ddsi_serdata_to_ser_unref(held, &ref);
	if (r == 0)
		r = b->host->publish(b->host->ctx, in->channel, in->type, in->body, size);
	if (r < 0)
		drop(in, r);
}

static void on_data(dds_entity_t reader, void *arg)
{
	struct ddsi_serdata *data[TAKE];
	dds_sample_info_t info[TAKE];
	int n;

	while ((n = dds_takecdr(reader, data, TAKE, info, DDS_ANY_STATE)) > 0)
		for (int i = 0; i < n; i++) {
			if (info[i].valid_data)
				take_in(arg, data[i]);
			ddsi_serdata_unref(data[i]);
		}
}

/* As AWSIM's and as what Autoware offers to: the newest command only. */
static dds_qos_t *reader_qos(const struct ros_type *type, bool transient_local)
{
	struct ros2_qos q = { .reliable = true, .transient_local = transient_local, .depth = 1 };

	return ros2_qos_create(&q, type->hash);
}

static int create_reader(struct sim_bridge *b, struct ros2_inbound *in, const char *topic, bool transient_local)
{
	const struct ros_type *type = ros_type_find(ros2_types, in->unmap->ros);
	dds_listener_t *listener = dds_create_listener(in);
	dds_qos_t *qos = reader_qos(type, transient_local);
	char dds_name[256], type_name[128];
	int r = -ENAMETOOLONG;

	dds_lset_data_available(listener, on_data);
	if ((size_t)snprintf(dds_name, sizeof(dds_name), "rt%s", topic) < sizeof(dds_name) &&
	    ros_type_dds_name(type, type_name, sizeof(type_name)) == 0) {
		in->topic = bytes_topic_create(b->participant, dds_name, type_name, NULL);
		in->reader = in->topic < 0 ? in->topic : dds_create_reader(b->participant, in->topic, qos, listener);
		r = ros2_errno(in->reader);
	}
	dds_delete_listener(listener);
	dds_delete_qos(qos);
	return r;
}

static int open_one(struct sim_bridge *b, const char *topic, json_t *j)
{
	struct ros2_inbound *in = &b->inbound[b->n_inbound];
	const char *type, *channel, *durability = "transient_local";
	json_error_t err;

	if (b->n_inbound == ROS2_INBOUND_MAX)
		return -ENOSPC;
	if (topic[0] != '/' ||
	    json_unpack_ex(j, &err, JSON_STRICT, "{ss,ss,s?s}", "type", &type, "channel", &channel, "durability",
			   &durability) < 0 ||
	    (strcmp(durability, "volatile") && strcmp(durability, "transient_local")) ||
	    strlen(channel) > SIM_CHANNEL_MAX)
		return -EINVAL;
	in->unmap = unmap_find(type);
	if (!in->unmap)
		return -ENOTSUP;
	in->bridge = b;
	in->type = sim_type_builtin(in->unmap->sim);
	snprintf(in->channel, sizeof(in->channel), "%s", channel);
	in->body = aligned_alloc(64, BODY_MAX);
	b->n_inbound++; /* from here on ros2_inbound_close() sees to it */
	return in->body ? create_reader(b, in, topic, durability[0] == 't') : -ENOMEM;
}

int ros2_inbound_open(struct sim_bridge *b)
{
	const char *text = b->host->option(b->host->ctx, "subscribe"), *topic;
	json_error_t err = { .text = "" };
	json_t *j = json_loads(text && *text ? text : "{}", JSON_REJECT_DUPLICATES, &err), *one;
	int r = json_is_object(j) ? 0 : -EINVAL;

	if (r < 0)
		b->host->log(b->host->ctx, 0, "options.subscribe: not a JSON object: %s", err.text);
	json_object_foreach(j, topic, one) {
		if (r == 0 && (r = open_one(b, topic, one)) < 0)
			b->host->log(
				b->host->ctx, 0,
				"options.subscribe: \"%.60s\" cannot be subscribed to: %s; it needs a type that can come in "
				"and a channel",
				topic, strerror(-r));
	}
	json_decref(j);
	if (r < 0)
		return r;
	pthread_mutex_lock(&b->lock);
	ros2_graph_publish(b);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

void ros2_inbound_close(struct sim_bridge *b)
{
	for (unsigned i = 0; i < b->n_inbound; i++) {
		struct ros2_inbound *in = &b->inbound[i];

		if (in->reader > 0)
			dds_delete(in->reader); /* waits for a callback that runs */
		if (in->topic > 0)
			dds_delete(in->topic);
		free(in->body);
	}
	b->n_inbound = 0;
}
