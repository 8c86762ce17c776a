/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_rosbridge: sends channels over WebSocket to a rosbridge server, which publishes them in its ROS graph. This
 * file is the plug-in's table; see README.md for the others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "ros/ros_type.h"
#include "rosbridge.h"

static const struct sim_bridge_option options[] = {
	{ "flavour", "ros2", "what the server speaks: ros2, ros (ROS 1), or apollo (ROS 1 with pb_msgs)" },
	{ "connect_ms", "5000", "how long to wait for the server, ms; 1 to 600000" },
	{ "stall_ms", "10000",
	  "how long the server may take nothing, or leave a ping without an answer, ms; 1 to 600000" },
	{ "queue", "10",
	  "messages kept per topic for a slow server, 1 to 1000; above 64 KiB only one; the oldest are dropped" },
	{ "when_full", "drop", "drop: drop the topic's oldest; wait: at most stall_ms; later messages wait in simd" },
	{ "fragment_size", "4000000",
	  "longer messages go as fragments of so many bytes, 1000 to 100000000; 0: whole. Servers take 10 MB, unless told" },
	{ "ca_file", "", "wss: PEM file of trusted CA certificates; empty: those of the system" },
	{ "auth", "{}", "the fields of the operation \"auth\", which is then sent first" },
	{ "nan", "NaN",
	  "what not-a-number is: NaN (rosbridge_suite), or null, infinities too (servers that read strict JSON)" },
	{ "use_sim_time", "false", "true: /clock of the server drives simd's time source `ros2`, and none is sent" },
	{ "names", "automatic",
	  "channel names that ROS does not allow: automatic: /radar/0 is sent as /radar/n0; strict: not sent" },
	{ "autoware_msgs", "1.8",
	  "1.8: messages as from autoware_msgs 1.8.0 on; 1.7: before, a TrafficLightGroup without predictions" },
	TOPICS_OPTION_COMPAT,
	{ "call", "{}", "services of the server for simd: {\"/lamp\": {\"type\": ..., \"service\": ...}}" },
	{ "subscribe", "{}", "topics to subscribe to: {\"/topic\": {\"type\": ..., \"channel\": ...}}" },
	{ NULL, NULL, NULL },
};

/* ---- the connection string ---- */

static bool take_text(char *to, size_t room, const char *from, size_t len)
{
	if (len >= room)
		return false;
	for (size_t i = 0; i < len; i++)
		if (from[i] <= ' ' || from[i] > '~')
			return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

int rosbridge_server_read(const char *text, struct rosbridge_server *ret, char *why, size_t why_size)
{
	const char *from = text;
	size_t len;
	bool ok;

	*ret = (struct rosbridge_server){ .at = { .host = "127.0.0.1", .port = 9090 }, .path = "/" };
	ret->tls = strncmp(text, "wss://", 6) == 0;
	if (ret->tls || strncmp(text, "ws://", 5) == 0)
		from = strchr(text, '/') + 2;
	len = strcspn(from, "/");
	ok = address_read(from, len, &ret->at) == 0 && ret->at.port;
	if (from[len])
		ok = ok && take_text(ret->path, sizeof(ret->path), from + len, strlen(from + len));
	if (ok)
		return 0;
	snprintf(why, why_size,
		 "\"%.60s\" is not \"ws://host:port\", \"wss://host:port\" or \"host:port\", with a path or without (an "
		 "IPv6 address in brackets; 127.0.0.1:9090 if empty)",
		 text);
	return -EINVAL;
}

/* ---- the plug-in ---- */

static int read_numbers(struct sim_bridge *b)
{
	long queue = 0;
	int connect = bridge_option_number(b->host, "connect_ms", 1, 600000, "ms", &b->connect_ms);
	int stall = bridge_option_number(b->host, "stall_ms", 1, 600000, "ms", &b->stall_ms);
	int bound = bridge_option_number(b->host, "queue", 1, OUTBOX_MAX, "", &queue);
	int size = bridge_option_number(b->host, "fragment_size", 0, 100000000, "bytes", &b->fragment_size);

	if (size == 0 && b->fragment_size && b->fragment_size < 1000) {
		log_error(b, "options.fragment_size: \"%ld\" is not 0 or a number of bytes from 1000 to 100000000",
			  b->fragment_size);
		size = -EINVAL;
	}
	b->outbox.max = (unsigned)queue;
	b->outbox.wait_ms = b->stall_ms;
	return connect < 0 || stall < 0 || bound < 0 || size < 0 ? -EINVAL : 0;
}

/* Makes the "auth" operation from the rig's fields. */
static int read_auth(struct sim_bridge *b)
{
	static const char *const keys[] = { "mac", "client", "dest", "rand", "t", "level", "end" };
	json_t *j = json_loads(bridge_option(b->host, "auth"), JSON_REJECT_DUPLICATES, NULL);
	int r = 0;

	if (j && json_object_size(j) == 0) {
		json_decref(j);
		return 0;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && r == 0; i++)
		if (!json_object_get(j, keys[i])) {
			log_error(b,
				  "options.auth: \"%s\" is missing: mac, client, dest, rand, t, level and end are "
				  "needed",
				  keys[i]);
			r = -EINVAL;
		}
	if (r == 0 && json_object_set_new(j, "op", json_string("auth")) == 0)
		b->auth = json_dumps(j, JSON_COMPACT);
	json_decref(j);
	return r < 0 ? r : b->auth ? 0 : -ENOMEM;
}

static int read_options(struct sim_bridge *b)
{
	static const char *const flavours[] = { "ros2", "ros", "apollo", NULL };
	static const char *const autoware[] = { "1.8", "1.7", NULL };
	static const char *const names[] = { "automatic", "strict", NULL };
	static const char *const full[] = { "drop", "wait", NULL };
	static const char *const nans[] = { "NaN", "null", NULL }; /* in the order of enum json_nan */
	int flavour = bridge_option_word(b->host, "flavour", flavours, "one of ros2, ros, apollo");
	int naming = bridge_option_word(b->host, "names", names, "one of automatic, strict");
	int when = bridge_option_word(b->host, "when_full", full, "one of drop, wait");
	int msgs = bridge_option_word(b->host, "autoware_msgs", autoware,
				      "1.8 (autoware_msgs 1.8.0 and later) or 1.7 (before)");
	int nan = bridge_option_word(b->host, "nan", nans, "one of NaN, null");
	int time = far_time_option(b->host);
	int compat = bridge_option_compat(b->host), numbers = read_numbers(b), auth = read_auth(b), ca = 0;

	b->flavour = (enum flavour)flavour;
	b->nan = (enum json_nan)nan;
	b->common.package = b->flavour == FLAVOUR_APOLLO ? "pb_msgs" : NULL;
	b->common.strict_names = naming == 1;
	b->common.before_1_8 = msgs == 1;
	b->common.svl = compat > 0;
	b->outbox.wait = when == 1;
	b->ca_file = bridge_option(b->host, "ca_file");
	if (*b->ca_file && access(b->ca_file, R_OK) < 0) {
		ca = -errno;
		log_error(b, "options.ca_file: %.200s: %s", b->ca_file, strerror(-ca));
	}
	if (flavour < 0 || naming < 0 || when < 0 || msgs < 0 || compat < 0 || nan < 0 || time < 0)
		return -EINVAL;
	return numbers < 0 || auth < 0 || ca < 0 ? -EINVAL : 0;
}

static int read_connection(struct sim_bridge *b, const char *connection)
{
	char why[240];
	int r = rosbridge_server_read(connection, &b->server, why, sizeof(why));

	if (r < 0)
		log_error(b, "connection: %s", why);
	return r;
}

static int rosbridge_register(struct sim_bridge_registry *r)
{
	int e = topics_register(r);

	if (e >= 0 && SIM_BRIDGE_REG_HAS(r, add_service))
		e = r->add_service(r->ctx, "*", "srv");
	return e;
}

static void set_common(struct sim_bridge *b)
{
	b->common = (struct topics){ .host = b->host,
				     .arg = b,
				     .key = "rosbridge",
				     .keys = TOPIC_ROS1 | TOPIC_ROSBRIDGE,
				     .named = true,
				     .open = rosbridge_topic_open,
				     .close = rosbridge_topic_close,
				     .subscribe = rosbridge_subscribe };
}

static void set_flavour(struct sim_bridge *b)
{
	b->common.known = b->flavour == FLAVOUR_ROS2 ? ros2_types : ros1_types;
	b->common.format = b->flavour == FLAVOUR_ROS2 ? WIRE_CDR : WIRE_ROS1;
}

static int rosbridge_check(const struct sim_bridge_host *host, const char *connection)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r, e;

	if (!b)
		return -ENOMEM;
	b->host = host;
	set_common(b);
	r = read_options(b);
	set_flavour(b);
	if (r == 0)
		r = topics_check(&b->common, true);
	e = read_connection(b, connection);
	free(b->auth);
	free(b);
	return r < 0 ? r : e;
}

static void rosbridge_destroy(struct sim_bridge *b)
{
	rosbridge_link_close(b);
	rosbridge_link_join(b);
	far_time_close(&b->sim_time);
	for (unsigned i = 0; i < b->n_in; i++)
		topic_in_close(&b->in[i].in);
	outbox_finish(&b->outbox);
	topics_finish(&b->common);
	rosbridge_services_finish(b);
	rosbridge_forget_parts(b);
	named_reader_finish(&b->reader);
	pthread_mutex_destroy(&b->remotes.lock);
	pthread_mutex_destroy(&b->services_lock);
	pthread_mutex_destroy(&b->context_lock);
	free(b->reading.data);
	free(b->piece);
	free(b->auth);
	free(b);
}

static int rosbridge_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->host = host;
	b->connection = 1;
	set_common(b);
	topics_init(&b->common);
	b->outbox.ops = &rosbridge_outbox_ops;
	b->outbox.arg = b;
	pthread_mutex_init(&b->context_lock, NULL);
	pthread_mutex_init(&b->services_lock, NULL);
	pthread_mutex_init(&b->remotes.lock, NULL);
	named_reader_init(&b->reader);
	b->piece = malloc(LWS_PRE + ROSBRIDGE_PIECE);
	r = b->piece ? outbox_init(&b->outbox) : -ENOMEM;
	if (r == 0)
		r = read_options(b);
	set_flavour(b);
	if (r == 0)
		r = topics_read_subscribe(&b->common);
	if (r == 0)
		r = remotes_read(b);
	if (r == 0)
		r = far_time_open(&b->sim_time, host, "rosbridge-time");
	if (r < 0)
		rosbridge_destroy(b);
	else
		*ret = b;
	return r;
}

static int rosbridge_connect(struct sim_bridge *b, const char *connection)
{
	struct rosbridge_server server = b->server;
	int r;

	rosbridge_link_join(b); /* the link's thread reads the address */
	r = read_connection(b, connection);
	if (r < 0)
		b->server = server;
	if (r == 0)
		r = rosbridge_link_open(b);
	if (r == 0)
		remotes_serve(b, true);
	return r;
}

static void rosbridge_disconnect(struct sim_bridge *b)
{
	remotes_serve(b, false);
	rosbridge_link_close(b);
	atomic_store(&b->status, SIM_BRIDGE_DISCONNECTED);
	b->host->status(b->host->ctx, SIM_BRIDGE_DISCONNECTED, "");
}

static enum sim_bridge_status rosbridge_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->status);
}

static int rosbridge_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	return topics_open_channel(&b->common, ch, ret);
}

static void rosbridge_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	topics_close_channel(&b->common, t);
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "rosbridge",
		.type = "ROS behind a rosbridge server",
		.options = options,
		.flags = SIM_BRIDGE_IN_ORDER,
		.reg = rosbridge_register,
		.create = rosbridge_create,
		.connect = rosbridge_connect,
		.disconnect = rosbridge_disconnect,
		.status = rosbridge_status,
		.open = rosbridge_open,
		.close = rosbridge_close,
		.publish = rosbridge_write,
		.destroy = rosbridge_destroy,
		.check = rosbridge_check,
		.listen = rosbridge_listen,
		.service = rosbridge_service,
	};

	return &ops;
}
