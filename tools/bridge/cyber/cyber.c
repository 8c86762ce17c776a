/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_cyber sends channels to Apollo's cyber_bridge and receives from it. This file has the plug-in's table and
 * options; see README.md for the other files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cyber.h"

static const struct sim_bridge_option options[] = {
	{ "apollo", "10",
	  "the release of Apollo, 5.0 to 10.0: 10 or 8 to 9 have the messages of one family, 5 to 7 of the other" },
	{ "definitions", "",
	  "your Apollo's definitions, a folder of .proto files or a FileDescriptorSet, registered instead of those of 5.0 or 10.0" },
	{ "vehicle", "",
	  "frame_id of the commands that are accepted, and the vin of the chassis; empty: any commands, no vin" },
	{ "max_age_ms", "0",
	  "commands with a stamp further from the simulated time are dropped, ms, to 600000; 0: none is" },
	{ "utm_zone", "0",
	  "UTM zone of all positions, 1 to 60 north, -1 to -60 south; 0: the zone that each position is in" },
	{ "undulation", "0", "the geoid above the ellipsoid, for heights above the sea, m" },
	{ "origin", "[]",
	  "UTM easting, northing and altitude of the map's origin, for messages that are relative to it" },
	{ "connect_ms", "5000", "how long to wait for the connection, ms; 1 to 600000" },
	{ "stall_ms", "5000", "how long the peer may take nothing before the connection ends, ms; 1 to 600000" },
	{ "pace_ms", "2",
	  "pause between two messages of a channel below 64 KiB, of which the peer keeps the newest unread one, ms; 0 to 1000" },
	{ "queue", "100",
	  "messages kept per channel for a slow peer, 1 to 1000; of 64 KiB and more only one; the oldest are dropped" },
	{ "when_full", "drop", "drop: drop the channel's oldest; wait: at most stall_ms; later messages wait in simd" },
	{ "static_ms", "1000",
	  "how often the fixed frames of /tf_static are sent again, for readers that come later, ms; 0: never; to 600000" },
	{ "probe", "true",
	  "true: find out by a second connection, for a short time, which channels the peer has accepted; false: do not" },
	{ "subscribe", "{}",
	  "channels of Apollo to subscribe to: {\"/apollo/control\": {\"type\": ..., \"channel\": ...}}" },
	{ NULL, NULL, NULL },
};

/* ---- options ---- */

/* The options "origin" and "undulation", both JSON. Not given: none, and 0. */
static int read_place(struct sim_bridge *b)
{
	json_t *origin = json_loads(bridge_option(b->host, "origin"), 0, NULL),
	       *undulation = json_loads(bridge_option(b->host, "undulation"), JSON_DECODE_ANY, NULL);
	char why[160] = "";
	int r = 0;

	b->has_origin = json_array_size(origin) > 0;
	if (b->has_origin)
		r = cyber_read_origin(origin, b->origin, why, sizeof(why));
	if (r == 0 && *bridge_option(b->host, "undulation"))
		r = cyber_read_undulation(undulation, &b->undulation, why, sizeof(why));
	json_decref(origin);
	json_decref(undulation);
	if (r < 0)
		log_error(b, "options: %s", why);
	return r;
}

static void say_of_definitions(void *arg, bool fatal, const char *sentence)
{
	const struct sim_bridge *b = arg;

	log_at(b, fatal ? 0 : 1, "options.definitions: %s", sentence);
}

/* The options "apollo" (the release) and "definitions". */
static int read_apollo(struct sim_bridge *b)
{
	const struct apollo_set_log log = { say_of_definitions, b };
	const char *path = bridge_option(b->host, "definitions"), *release = bridge_option(b->host, "apollo");

	b->release = APOLLO_10;
	if (*release && apollo_release_named(release, &b->release) < 0) {
		log_error(b, "options.apollo: \"%.40s\" is not a release of Apollo: 5.0 to 7.0, 8.0 to 10.0", release);
		return -EINVAL;
	}
	return *path && apollo_set_load(path, b->release, &log, &b->definitions) < 0 ? -EINVAL : 0;
}

static int read_options(struct sim_bridge *b)
{
	static const char *const yes[] = { "true", "false", "", NULL };
	static const char *const fulls[] = { "drop", "wait", "", NULL };
	long queue = 0, age_ms = 0;
	int full = bridge_option_word(b->host, "when_full", fulls, "one of drop, wait");
	int probe = bridge_option_word(b->host, "probe", yes, "true or false");
	int connect = bridge_option_number(b->host, "connect_ms", 1, 600000, "ms", &b->link.connect_ms);
	int stall = bridge_option_number(b->host, "stall_ms", 1, 600000, "ms", &b->link.stall_ms);
	int pace = bridge_option_number(b->host, "pace_ms", 0, 1000, "ms", &b->pace_ms);
	int max = bridge_option_number(b->host, "queue", 1, OUTBOX_MAX, "", &queue);

	int age = bridge_option_number(b->host, "max_age_ms", 0, 600000, "ms", &age_ms);
	int zone = bridge_option_number(b->host, "utm_zone", -60, 60, "", &b->utm_zone);
	int again = bridge_option_number(b->host, "static_ms", 0, 600000, "ms", &b->static_ms);
	int place = read_place(b), apollo = read_apollo(b);

	b->vehicle = bridge_option(b->host, "vehicle");
	if (!*b->vehicle)
		b->vehicle = NULL;
	b->max_age_dur_ns = age_ms * INT64_C(1000000);
	b->probe.on = probe == 0;
	b->link.outbox.max = (unsigned)queue;
	b->link.outbox.wait = full == 1;
	b->link.outbox.wait_ms = b->link.stall_ms;
	return apollo < 0 || full < 0 || connect < 0 || stall < 0 || pace < 0 || max < 0 || age < 0 || probe < 0 ||
			       zone < 0 || place < 0 || again < 0
		       ? -EINVAL
		       : 0;
}

static int read_connection(struct sim_bridge *b, const char *connection)
{
	char why[200];
	int r = tcp_link_address(connection, &b->link.address, why, sizeof(why));

	if (r < 0)
		log_error(b, "connection: %s", why);
	return r;
}

static int cyber_check(const struct sim_bridge_host *host, const char *connection)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r, e;

	if (!b)
		return -ENOMEM;
	b->host = host;
	r = read_options(b);
	e = read_connection(b, connection);
	if (r == 0)
		r = cyber_read_subscribe(b);
	cyber_in_finish(b);
	apollo_set_destroy(b->definitions);
	free(b);
	return r < 0 ? r : e;
}

/* ---- the link ---- */

static void on_status(void *bridge, enum sim_bridge_status status, const char *text)
{
	struct sim_bridge *b = bridge;

	b->host->status(b->host->ctx, status, text);
	if (status == SIM_BRIDGE_CONNECTED)
		cyber_offer(b);
}

static void on_ended(void *bridge)
{
	struct sim_bridge *b = bridge;

	cyber_known_forget(b);
	cyber_probe_forget(b);
	cyber_frames_again(b);
}

static const struct tcp_link_ops link_ops = { .dialect = &frame_cyber,
					      .thread = "cyber",
					      .body_max = CYBER_MESSAGE_MAX,
					      .status = on_status,
					      .take = cyber_take,
					      .get_buf = cyber_get_buf,
					      .put_buf = cyber_put_buf,
					      .answer = cyber_answer,
					      .look = cyber_look,
					      .ended = on_ended };

/* ---- the plug-in ---- */

/* Registers the types of both releases, as the options are not known yet. */
static int cyber_reg(struct sim_bridge_registry *r)
{
	const struct apollo_type *t;
	int e = 0;

	for (int release = APOLLO_5; release <= APOLLO_10; release++) {
		for (unsigned i = 0; e >= 0 && (t = apollo_type_at((enum apollo_release)release, false, i)); i++)
			e = r->add_publisher(r->ctx, apollo_type_sim(t)->name, apollo_type_name(t));
		for (unsigned i = 0; e >= 0 && (t = apollo_type_at((enum apollo_release)release, true, i)); i++)
			e = r->add_subscriber(r->ctx, apollo_type_sim(t)->name, apollo_type_name(t));
	}
	if (e >= 0) /* any other type: by a converter of the rig, or field by field */
		e = r->add_publisher(r->ctx, "*", "*");
	if (e >= 0)
		e = r->add_subscriber(r->ctx, "*", "*");
	return e;
}

static void cyber_destroy(struct sim_bridge *b)
{
	cyber_safe_stop(b);
	tcp_link_finish(&b->link);
	cyber_known_finish(b);
	cyber_probe_finish(b);
	cyber_frames_finish(b);
	cyber_in_finish(b);
	while (b->n_buf) {
		iov_buf_finish(b->buf[--b->n_buf]);
		free(b->buf[b->n_buf]);
	}
	pthread_mutex_destroy(&b->lock);
	apollo_set_destroy(b->definitions);
	free(b);
}

static int cyber_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r, e;

	if (!b)
		return -ENOMEM;
	b->host = host;
	b->link.ops = &link_ops;
	b->link.arg = b;
	pthread_mutex_init(&b->lock, NULL);
	r = tcp_link_init(&b->link);
	e = cyber_probe_init(b);
	r = r < 0 ? r : e;
	e = cyber_known_init(b);
	r = r < 0 ? r : e;
	if (r == 0)
		r = read_options(b);
	if (r == 0)
		r = cyber_read_subscribe(b);
	if (r == 0)
		r = cyber_safe_start(b);
	if (r < 0)
		cyber_destroy(b);
	else
		*ret = b;
	return r;
}

static int cyber_connect(struct sim_bridge *b, const char *connection)
{
	struct address address;
	int r;

	tcp_link_join(&b->link); /* its thread reads the address */
	address = b->link.address;
	r = read_connection(b, connection);
	if (r < 0)
		b->link.address = address;
	return r < 0 ? r : tcp_link_open(&b->link);
}

static void cyber_disconnect(struct sim_bridge *b)
{
	tcp_link_close(&b->link);
	atomic_store(&b->link.status, SIM_BRIDGE_DISCONNECTED);
	b->host->status(b->host->ctx, SIM_BRIDGE_DISCONNECTED, "");
}

static enum sim_bridge_status cyber_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->link.status);
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "cyber",
		.type = "Apollo's Cyber RT behind cyber_bridge",
		.options = options,
		.flags = SIM_BRIDGE_IN_ORDER,
		.reg = cyber_reg,
		.create = cyber_create,
		.connect = cyber_connect,
		.disconnect = cyber_disconnect,
		.status = cyber_status,
		.open = cyber_channel_open,
		.close = cyber_channel_close,
		.publish = cyber_publish,
		.destroy = cyber_destroy,
		.check = cyber_check,
		.listen = cyber_listen,
	};

	return &ops;
}
