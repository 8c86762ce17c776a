/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_ros1: channels become topics of one ROS 1 node, which registers with a master and speaks XML-RPC and TCPROS by
 * itself. This file is the plug-in's table; see README.md for the others. The node exists from create() to destroy();
 * connecting registers it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ros/ros_type.h"
#include "ros1.h"
#include "timeutil.h"

static const struct sim_bridge_option options[] = {
	{ "node", "simd", "name of the node" },
	{ "namespace", "/", "its namespace" },
	{ "remap", "[]", "remapped names: [\"name:=other\", \"~private:=/global\", \"__name:=car\", \"__ns:=/rig\"]" },
	{ "names", "automatic",
	  "channel names that ROS does not allow: automatic: /radar-0 is sent as /radar_0; strict: not sent" },
	{ "listen", "", "address or name to listen on, 0.0.0.0: all; empty: ROS_HOSTNAME, ROS_IP, else loopback" },
	{ "queue", "10", "messages that wait for a slow subscriber, 1 to 1000; the oldest are dropped" },
	{ "set_use_sim_time", "false",
	  "true: /use_sim_time is set in the parameter server, before anything is registered" },
	{ "use_sim_time", "false",
	  "true: /clock of the other nodes drives simd's time source `ros2`, and none is sent" },
	{ "apollo", "false",
	  "true: with protobuf in its messages, as Apollo 1.0 to 3.0 has them, under Apollo's names of topics" },
	TOPICS_OPTION_COMPAT,
	{ "call", "{}", "services of other nodes for simd: {\"/lamp\": {\"type\": ..., \"service\": ...}}" },
	{ "subscribe", "{}", "topics to subscribe to: {\"/topic\": {\"channel\": ..., \"type\": ...}}" },
	{ NULL, NULL, NULL },
};

static void set_common(struct sim_bridge *b)
{
	b->common = (struct topics){ .host = b->host,
				     .arg = b,
				     .known = ros1_types,
				     .key = "ros1",
				     .keys = TOPIC_ROS1,
				     .format = WIRE_ROS1,
				     .late = true,
				     .open = ros1_topic_open,
				     .close = ros1_topic_close,
				     .resolve = node_resolve };
}

static int ros1_check(const struct sim_bridge_host *host, const char *connection)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	char uri[ROS1_TEXT_MAX];
	int r, e;

	if (!b)
		return -ENOMEM;
	b->host = host;
	set_common(b);
	r = node_read_options(b);
	if (r == 0)
		r = topics_check(&b->common, true);
	e = node_master_uri(host, connection, uri);
	free(b);
	return r < 0 ? r : e;
}

static void ros1_destroy(struct sim_bridge *b)
{
	node_close(b);
	log_info(b, "%llu messages converted, %llu not, without a subscriber",
		 (unsigned long long)atomic_load(&b->converted), (unsigned long long)atomic_load(&b->skipped));
	message_pool_finish(&b->pool);
	topics_finish(&b->common);
	free(b);
}

static int ros1_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->host = host;
	set_common(b);
	topics_init(&b->common);
	message_pool_init(&b->pool, &b->common);
	b->strangers = (struct log_limit)LOG_LIMIT(10 * NS_PER_S, 20);
	b->peers = (struct log_limit)LOG_LIMIT(10 * NS_PER_S, 100);
	if (SIM_BRIDGE_HOST_HAS(host, simd_id))
		snprintf(b->mark, sizeof(b->mark), "%016llx", (unsigned long long)host->simd_id);
	r = node_read_options(b);
	if (r == 0)
		r = node_open(b);
	if (r < 0) {
		ros1_destroy(b);
		return r;
	}
	*ret = b;
	return 0;
}

static int ros1_connect(struct sim_bridge *b, const char *connection)
{
	char uri[ROS1_TEXT_MAX];
	int r = node_master_uri(b->host, connection, uri);

	if (r < 0)
		return r;
	atomic_store(&b->status, SIM_BRIDGE_CONNECTING);
	b->host->status(b->host->ctx, SIM_BRIDGE_CONNECTING, uri);
	master_connect(b, uri);
	topics_offer(&b->common);
	if (b->links.late)
		node_has_news(b);
	remotes_serve(b, true);
	return 0;
}

static void ros1_disconnect(struct sim_bridge *b)
{
	remotes_serve(b, false);
	master_disconnect(b);
	atomic_store(&b->status, SIM_BRIDGE_DISCONNECTED);
	b->host->status(b->host->ctx, SIM_BRIDGE_DISCONNECTED, "");
}

static enum sim_bridge_status ros1_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->status);
}

static int ros1_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	return topics_open_channel(&b->common, ch, ret);
}

static void ros1_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	topics_close_channel(&b->common, t);
}

static int ros1_reg(struct sim_bridge_registry *r)
{
	int e = topics_register(r);

	if (e >= 0 && SIM_BRIDGE_REG_HAS(r, add_service))
		/* std_srvs, other services known to ROS, and the rest by their fields */
		e = r->add_service(r->ctx, "*", "srv");
	return e;
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "ros1",
		.type = "ROS 1 over TCPROS",
		.options = options,
		.reg = ros1_reg,
		.create = ros1_create,
		.connect = ros1_connect,
		.disconnect = ros1_disconnect,
		.status = ros1_status,
		.open = ros1_open,
		.close = ros1_close,
		.publish = ros1_channel_write,
		.destroy = ros1_destroy,
		.check = ros1_check,
		.listen = subscriptions_listen,
		.service = services_notify,
		.flags = SIM_BRIDGE_IN_ORDER,
	};

	return &ops;
}
