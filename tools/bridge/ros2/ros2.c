/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_ros2: channels become topics of one ROS 2 node, over Cyclone DDS, without any part of ROS. This file is the
 * plug-in's table; see README.md for the others. The participant lives from create() to destroy(), because messages may
 * still be in flight when disconnect() is called; connecting only reports the status to simd.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ros2.h"
#include "rtps_identity.h"

static const struct sim_bridge_option options[] = {
	{ "ros_distro", "auto",
	  "humble, iron, jazzy: the graph's format while no other participant is known; auto: humble" },
	{ "graph_wait_ms", "2000",
	  "how long to look for others' format of the graph before our node is announced, ms" },
	{ "lease_ms", "2000", "how long our node stays in the graph after a crash, ms; 100 to 3600000" },
	{ "domain", "", "DDS domain, 0 to 232; empty: ROS_DOMAIN_ID, else 0" },
	{ "node", "simd", "name of the node" },
	{ "namespace", "/", "its namespace" },
	{ "names", "automatic",
	  "channel names that ROS does not allow: automatic: /radar/0 is sent as /radar/n0; strict: not sent" },
	{ "localhost", "auto",
	  "auto: with each node of this machine and nobody else, unless ROS_LOCALHOST_ONLY=0 or ROS_AUTOMATIC_DISCOVERY_RANGE "
	  "names a network, read as ROS does; true: over loopback alone; false: on the network" },
	{ "interface", "",
	  "name or address of the one network interface to use where localhost is false; empty: Cyclone's choice" },
	LARGE_OPTIONS,
	{ "use_sim_time", "false", "true: the graph's /clock drives simd's time source `ros2`, and none is sent" },
	{ "autoware_msgs", "1.8",
	  "1.8: messages as from autoware_msgs 1.8.0 on; 1.7: before, a TrafficLightGroup without predictions" },
	TOPICS_OPTION_COMPAT,
	{ "subscribe", "{}",
	  "what comes in: {\"/topic\": {\"type\": ..., \"channel\": ...}}; without a type that of its publisher" },
	{ "call", "{}",
	  "services of other nodes for the clients of simd: {\"/name\": {\"type\": ..., \"service\": ...}}" },
	{ NULL, NULL, NULL },
};

static int ros2_reg(struct sim_bridge_registry *r)
{
	int e = topics_register(r);

	if (e >= 0 && SIM_BRIDGE_REG_HAS(r, add_service))
		/* std_srvs, other types that ROS knows, and the rest by their fields */
		e = r->add_service(r->ctx, "*", "srv");
	return e;
}

static int read_name(struct sim_bridge *b, const char *option, bool is_namespace, char out[64])
{
	const char *s = bridge_option(b->host, option);

	if (strlen(s) > 63 || !ros_name_ok(s, is_namespace)) {
		log_error(b, "options.%s: \"%.70s\" is not a ROS name: letters, digits and '_'%s", option, s,
			  is_namespace ? ", '/' first" : "");
		return -EINVAL;
	}
	strcpy(out, s);
	return 0;
}

/* Checks the options alone; create() checks the network and the environment. */
static int read_options(struct sim_bridge *b)
{
	static const char *const autoware[] = { "1.8", "1.7", NULL }, *const names[] = { "automatic", "strict", "",
											 NULL };
	int node = read_name(b, "node", false, b->node), space = read_name(b, "namespace", true, b->node_namespace);
	int msgs = bridge_option_word(b->host, "autoware_msgs", autoware,
				      "1.8 (autoware_msgs 1.8.0 and later) or 1.7 (before)");
	int naming = bridge_option_word(b->host, "names", names, "one of automatic, strict");
	int compat = bridge_option_compat(b->host);

	b->common.svl = compat > 0;
	b->common.before_1_8 = msgs == 1;
	b->common.jazzy = strcmp(bridge_option(b->host, "ros_distro"), "jazzy") == 0;
	b->common.strict_names = naming == 1;
	return node < 0 || space < 0 || msgs < 0 || naming < 0 || compat < 0 ? -EINVAL : 0;
}

static void set_common(struct sim_bridge *b)
{
	b->common = (struct topics){ .host = b->host,
				     .arg = b,
				     .known = ros2_types,
				     .msg_names = true,
				     .late = true,
				     .key = "ros2",
				     .keys = TOPIC_QOS,
				     .format = WIRE_CDR,
				     .open = ros2_topic_open,
				     .close = ros2_topic_close };
}

static int ros2_check(const struct sim_bridge_host *host, const char *connection)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r;

	(void)connection;
	if (!b)
		return -ENOMEM;
	b->host = host;
	set_common(b);
	r = read_options(b);
	if (r == 0)
		r = topics_check(&b->common, true);
	free(b);
	return r;
}

static void ros2_destroy(struct sim_bridge *b)
{
	large_close(&b->large);
	ros2_params_close(b);
	ros2_services_close(b);
	waiter_close(&b->sim_time.waiter);
	waiter_close(&b->graph.waiter); /* its thread uses what is closed below */
	ros2_learn_close(b);
	ros2_remotes_close(b);
	ros2_unheard_close(&b->unheard);
	ros2_inbound_close(b);
	log_info(b, "%llu messages converted, %llu not, without a subscriber",
		 (unsigned long long)atomic_load(&b->converted), (unsigned long long)atomic_load(&b->skipped));
	if (b->participant > 0)
		dds_delete(b->participant);
	if (b->domain > 0)
		dds_delete(b->domain);
	rtps_identity_close(b->identity);
	topics_finish(&b->common);
	sockets_log_close(&b->cyclone_log);
	pthread_mutex_destroy(&b->params.lock);
	pthread_mutex_destroy(&b->remotes.lock);
	pthread_mutex_destroy(&b->missed.lock);
	pthread_mutex_destroy(&b->listening);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static int open_large(struct sim_bridge *b)
{
	return large_open(&b->large, b->host, b->localhost, "ros2-large", ros2_channel_write, b);
}

static int open_params(struct sim_bridge *b)
{
	return ros2_params_open(b, options);
}

static int ros2_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	static int (*const open[])(struct sim_bridge * b) = { read_options,       ros2_domain_open, ros2_inbound_open,
							      ros2_remotes_open,  ros2_graph_open,  ros2_sim_time_open,
							      ros2_services_open, open_params,      open_large };
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r = 0;

	if (!b)
		return -ENOMEM;
	b->host = host;
	set_common(b);
	topics_init(&b->common);
	pthread_mutex_init(&b->lock, NULL);
	pthread_mutex_init(&b->listening, NULL);
	pthread_mutex_init(&b->missed.lock, NULL);
	pthread_mutex_init(&b->remotes.lock, NULL);
	pthread_mutex_init(&b->params.lock, NULL);
	b->missed.domain = b->unheard.fd = -1;
	for (size_t i = 0; r == 0 && i < sizeof(open) / sizeof(open[0]); i++)
		r = open[i](b);
	if (r < 0) {
		ros2_destroy(b);
		return r;
	}
	*ret = b;
	return 0;
}

static int ros2_connect(struct sim_bridge *b, const char *connection)
{
	if (*connection) {
		log_error(b, "connection \"%.60s\": DDS finds its peers by itself; leave it empty", connection);
		return -EINVAL;
	}
	ros2_report_status(b, SIM_BRIDGE_CONNECTED);
	topics_offer(&b->common);
	ros2_remotes_serve(b, true);
	waiter_poke(&b->sim_time.waiter);
	return 0;
}

static void ros2_disconnect(struct sim_bridge *b)
{
	ros2_remotes_serve(b, false);
	ros2_report_status(b, SIM_BRIDGE_DISCONNECTED);
	waiter_poke(&b->sim_time.waiter);
}

static enum sim_bridge_status ros2_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->status);
}

static int ros2_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
			struct sim_task *task)
{
	return large_take(&b->large, t, m, task) ? 1 : ros2_channel_write(b, t, m, task);
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "ros2",
		.type = "ROS 2 over Cyclone DDS",
		.options = options,
		.reg = ros2_reg,
		.create = ros2_create,
		.connect = ros2_connect,
		.disconnect = ros2_disconnect,
		.status = ros2_status,
		.open = ros2_channel_open,
		.close = ros2_channel_close,
		.publish = ros2_publish,
		.destroy = ros2_destroy,
		.check = ros2_check,
		.listen = ros2_inbound_listen,
		.service = ros2_service,
	};

	return &ops;
}
