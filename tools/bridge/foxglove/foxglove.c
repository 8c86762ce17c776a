/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_foxglove: shows what a rig publishes: a WebSocket server for Foxglove and Lichtblick, and a web page of its
 * own. This file is the plug-in's table; see README.md for the others.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "foxglove.h"
#include "ros/ros_type.h"

static const struct sim_bridge_option options[] = {
	{ "control", "false",
	  "true: clients with the token may control clock, bridges, processes, services, channels; false: read only" },
	{ "token_file", "",
	  "file with the token, created if missing; empty: a new token at each start, written to the log" },
	{ "origins", "[\"https://app.foxglove.dev\", \"https://lichtblick-suite.github.io\"]",
	  "pages of other places that may connect, as browsers name them; those of this machine always may" },
	{ "hosts", "[]", "names under which browsers may ask for the page; addresses and localhost are always taken" },
	{ "queue", "100",
	  "messages kept per channel for a slow client, 1 to 1000; above 64 KiB only one; the oldest are dropped" },
	{ "markers", "true",
	  "true: objects, lanes, radar and lights go out as markers too, which Foxglove draws, as NAME/markers" },
	{ "cert", "", "TLS: the server's certificate, PEM; needed where it listens elsewhere than on loopback" },
	{ "key", "", "its private key" },
	{ "assets", "{}", "folders of files that clients may fetch: {\"package://car/\": \"/usr/share/car\"}" },
	TOPICS_OPTION_COMPAT,
	{ "subscribe", "{}", "what clients may publish: {\"/topic\": {\"type\": ..., \"channel\": ...}}" },
	{ NULL, NULL, NULL },
};

/* ---- options ---- */

static int bad(struct sim_bridge *b, const char *why)
{
	log_error(b, "%s", why);
	return -EINVAL;
}

static int check_file(struct sim_bridge *b, const char *option, const char *path)
{
	if (!*path || access(path, R_OK) == 0)
		return 0;
	log_error(b, "options.%s: %.200s: %s", option, path, strerror(errno));
	return -EINVAL;
}

static int read_connection(struct sim_bridge *b, const char *connection)
{
	char why[320];
	int r = guard_address_read(connection, &b->address, why, sizeof(why));

	if (r < 0)
		log_error(b, "connection: %s", why);
	else if (!b->address.loopback && !*b->cert)
		r = bad(b, "connection: elsewhere than on loopback it needs TLS: options.cert and options.key");
	return r;
}

static int read_options(struct sim_bridge *b)
{
	static const char *const words[] = { "false", "true", NULL };
	int control = bridge_option_word(b->host, "control", words, "true or false");
	int markers = bridge_option_word(b->host, "markers", words, "true or false");
	long most = 0;
	int queue = bridge_option_number(b->host, "queue", 1, FOXGLOVE_QUEUE_MAX, "", &most);
	int compat = bridge_option_compat(b->host), assets = asset_check(b->host, &b->assets);
	char why[300];
	int guard = guard_init(&b->guard, bridge_option(b->host, "origins"), bridge_option(b->host, "hosts"), why,
			       sizeof(why));

	b->queue = most;
	b->control = control == 1;
	b->markers = markers == 1;
	b->common.svl = compat > 0;
	b->cert = bridge_option(b->host, "cert");
	b->key = bridge_option(b->host, "key");
	b->token_file = bridge_option(b->host, "token_file");
	if (guard < 0)
		bad(b, why);
	if (check_file(b, "cert", b->cert) < 0 || check_file(b, "key", b->key) < 0)
		return -EINVAL;
	if (!*b->cert != !*b->key)
		return bad(b, "options.cert and options.key: one of them is missing");
	return control < 0 || markers < 0 || queue < 0 || compat < 0 || assets < 0 || guard < 0 ? -EINVAL : 0;
}

static void set_common(struct sim_bridge *b)
{
	b->common = (struct topics){ .host = b->host,
				     .arg = b,
				     .known = ros2_types,
				     .key = "foxglove",
				     .keys = TOPIC_ROS1,
				     .format = WIRE_CDR,
				     .open = foxglove_topic_open,
				     .close = foxglove_topic_close,
				     .subscribe = foxglove_subscribe };
}

static int foxglove_check(const struct sim_bridge_host *host, const char *connection)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r, e;

	if (!b)
		return -ENOMEM;
	b->host = host;
	set_common(b);
	r = read_options(b);
	if (r == 0)
		r = topics_check(&b->common, false);
	e = read_connection(b, connection);
	guard_finish(&b->guard);
	json_decref(b->assets);
	free(b);
	return r < 0 ? r : e;
}

/* ---- the plug-in ---- */

static void foxglove_destroy(struct sim_bridge *b)
{
	foxglove_server_close(b);
	calls_close(b);
	watch_close(b);
	log_info(b, "%llu messages converted, %llu not: no subscriber", (unsigned long long)atomic_load(&b->converted),
		 (unsigned long long)atomic_load(&b->skipped));
	for (unsigned i = 0; i < b->n_in; i++)
		topic_in_close(&b->in[i]);
	foxglove_services_finish(b);
	foxglove_queue_finish(b);
	message_pool_finish(&b->pool);
	topics_finish(&b->common);
	named_reader_finish(&b->reader);
	guard_finish(&b->guard);
	json_decref(b->assets);
	pthread_mutex_destroy(&b->lock);
	pthread_mutex_destroy(&b->context_lock);
	free(b->piece);
	free(b);
}

static void init(struct sim_bridge *b, const struct sim_bridge_host *host)
{
	b->host = host;
	set_common(b);
	topics_init(&b->common);
	message_pool_init(&b->pool, &b->common);
	pthread_mutex_init(&b->context_lock, NULL);
	pthread_mutex_init(&b->lock, NULL);
	named_reader_init(&b->reader);
	b->n_ids = 100; /* lower ids are simd's own services */
	b->piece = malloc(LWS_PRE + FOXGLOVE_PIECE);
}

static int make_token(struct sim_bridge *b)
{
	char why[300];

	return guard_token(&b->guard, b->token_file, why, sizeof(why)) < 0 ? bad(b, why) : 0;
}

static int make_session(struct sim_bridge *b)
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	snprintf(b->session, sizeof(b->session), "%016llx%016llx", (unsigned long long)random[0],
		 (unsigned long long)random[1]);
	return 0;
}

static int foxglove_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	/*
	 * returns memory of large messages to the system at once; otherwise glibc would raise this threshold, and keep
	 * twice as much
	 */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	init(b, host);
	r = b->piece ? read_options(b) : -ENOMEM;
	if (r == 0)
		r = topics_read_subscribe(&b->common);
	if (r == 0)
		r = make_token(b);
	if (r == 0)
		r = make_session(b);
	if (r == 0)
		r = calls_open(b);
	if (r == 0)
		r = watch_open(b);
	if (r < 0)
		foxglove_destroy(b);
	else
		*ret = b;
	return r;
}

static int foxglove_connect(struct sim_bridge *b, const char *connection)
{
	int r;

	foxglove_server_close(b); /* the server's thread reads the address */
	r = read_connection(b, connection);
	if (r == 0)
		r = foxglove_server_open(b);
	if (r == 0)
		topics_offer(&b->common);
	return r;
}

static void foxglove_disconnect(struct sim_bridge *b)
{
	foxglove_server_close(b);
	atomic_store(&b->status, SIM_BRIDGE_DISCONNECTED);
	b->host->status(b->host->ctx, SIM_BRIDGE_DISCONNECTED, "");
}

static enum sim_bridge_status foxglove_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->status);
}

static int foxglove_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	int r = topics_open_channel(&b->common, ch, ret);

	if (r == 0)
		foxglove_add_markers(b, ch, *ret);
	return r;
}

static void foxglove_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	topics_close_channel(&b->common, t);
}

static int foxglove_reg(struct sim_bridge_registry *r)
{
	int e = topics_register(r);

	if (e >= 0 && SIM_BRIDGE_REG_HAS(r, add_service))
		e = r->add_service(r->ctx, "*", "JSON");
	return e;
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "foxglove",
		.type = "Foxglove, Lichtblick and a web page",
		.options = options,
		.flags = SIM_BRIDGE_IN_ORDER,
		.reg = foxglove_reg,
		.create = foxglove_create,
		.connect = foxglove_connect,
		.disconnect = foxglove_disconnect,
		.status = foxglove_status,
		.open = foxglove_open,
		.close = foxglove_close,
		.publish = foxglove_publish,
		.destroy = foxglove_destroy,
		.check = foxglove_check,
		.service = foxglove_service,
	};

	return &ops;
}
