/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_link exports channels and services of this simd to other machines and imports theirs, over Cyclone DDS. This
 * file has the plug-in's table and options; see README.md for the other files. The participant exists from create() to
 * destroy(); connecting only changes the status.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "exchange.h"
#include "link.h"
#include "link_time.h"
#include "service.h"

static const struct sim_bridge_option options[] = {
	{ "host", "", "name of this machine, unique among the linked ones; empty: its host name" },
	{ "domain", "86", "DDS domain, 0 to 232, the same on all machines" },
	{ "interface", "", "name or IPv4 address of the network interface; empty: loopback" },
	{ "peers", "[]", "IPv4 addresses of the other machines; all others are ignored" },
	{ "keys", "",
	  "directory with the keys of this machine, made by `simctl link make-keys`: only machines with keys of the same authority take part" },
	{ "insecure", "false", "true: allow a network without encryption or authentication" },
	{ "export", "[\"*\"]", "patterns of the channels to export, among those in the bridge's \"channels\"" },
	{ "import", "[\"*\"]", "patterns of the channels to import; the rig's \"inbound\" must list them too" },
	{ "import_services", "[\"*\"]", "patterns of the services of other machines to offer here" },
	{ "reliable", "[]", "patterns of channels that lose no message within \"depth\"; the default for small ones" },
	{ "best_effort", "[]",
	  "patterns of small channels of which only the newest message matters; the default above 64 KiB" },
	{ "keep", "[\"*tf_static\"]", "patterns of channels whose last messages are sent to later subscribers too" },
	{ "confirm", "[]",
	  "patterns of channels whose publishers get success only when the other machines' subscribers have the message" },
	{ "confirm_ms", "1000", "how long that may take, ms; 10 to 600000" },
	{ "depth", "16", "messages of a reliable channel that are kept for a slow machine; 1 to 1000" },
	{ "lease_ms", "2000", "after how long a silent machine counts as gone, ms; 100 to 600000" },
	{ "time", "off",
	  "give: all machines use this simd's time; follow: this simd follows a time host, with TimeSource link" },
	{ "time_host", "", "name of the machine to follow; empty: any that gives time" },
	{ "lockstep", "false",
	  "with give: the machines that follow take part in this simd's steps, which wait for them" },
	{ "lookahead", "0", "with lockstep: how many steps may begin before machines have answered; 0 to 8" },
	{ "late", "warn", "with lockstep: what to do about a machine that does not answer: wait, warn or drop" },
	{ "deadline_ms", "10000", "with lockstep: how long to wait for an answer, ms; 10 to 600000" },
	LARGE_OPTIONS,
	{ NULL, NULL, NULL },
};

static int link_reg(struct sim_bridge_registry *r)
{
	int e = r->add_publisher(r->ctx, "*", "slot");

	if (e >= 0)
		e = r->add_subscriber(r->ctx, "*", "slot");
	if (e >= 0 && SIM_BRIDGE_REG_HAS(r, add_service))
		e = r->add_service(r->ctx, "*", "service");
	return e;
}

static void patterns_free(struct sim_bridge *b)
{
	struct patterns *all[] = { &b->export,      &b->import, &b->import_services, &b->reliable,
				   &b->best_effort, &b->keep,   &b->confirm };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		patterns_finish(all[i]);
}

static int link_check(const struct sim_bridge_host *host, const char *connection)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->host = host;
	r = link_domain_check(b);
	if (link_time_check(&(struct link_time){ .b = b }) < 0)
		r = -EINVAL;
	if (*connection) {
		log_error(b, "connection: \"%.60s\": the machines are listed in options.peers; leave it empty",
			  connection);
		r = -EINVAL;
	}
	patterns_free(b);
	free(b);
	return r;
}

static void link_destroy(struct sim_bridge *b)
{
	if (b->time)
		link_time_close(b->time);
	free(b->time);
	if (b->exchange)
		link_exchange_end(b);
	large_close(&b->large);
	link_peers_close(b);
	link_services_close(b);
	link_imports_close(b);
	link_confirm_close(b);
	log_info(b, "%llu messages sent, %llu without a subscriber, %llu of other machines not sent on",
		 (unsigned long long)atomic_load(&b->sent), (unsigned long long)atomic_load(&b->skipped),
		 (unsigned long long)atomic_load(&b->transit));
	if (b->participant > 0)
		dds_delete(b->participant);
	if (b->domain > 0)
		dds_delete(b->domain);
	link_exchange_close(b);
	sockets_log_close(&b->cyclone_log);
	patterns_free(b);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static int open_time(struct sim_bridge *b)
{
	b->time = calloc(1, sizeof(*b->time));
	if (!b->time)
		return -ENOMEM;
	b->time->b = b;
	return link_time_open(b->time);
}

static int open_large(struct sim_bridge *b)
{
	return large_open(&b->large, b->host, b->localhost, "link-large", link_send, b);
}

/* An older host does not support channels of other machines: then nothing is imported. */
static int check_host(struct sim_bridge *b)
{
	if (SIM_BRIDGE_HOST_HAS(b->host, simd_id))
		b->id = b->host->simd_id;
	if (!b->id && getrandom(&b->id, sizeof(b->id), 0) != sizeof(b->id))
		return -EIO;
	b->imports_any = SIM_BRIDGE_HOST_HAS(b->host, max_body);
	if (!b->imports_any)
		log_warn(b, "this simbridge is older than the plug-in: nothing can be imported");
	return 0;
}

static int link_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	static int (*const open[])(struct sim_bridge * b) = { check_host, link_exchange_open, link_domain_open,
							      open_large, link_services_open, link_peers_open,
							      open_time };
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->host = host;
	pthread_mutex_init(&b->lock, NULL);
	r = link_confirm_open(b);
	for (size_t i = 0; r == 0 && i < sizeof(open) / sizeof(open[0]); i++)
		r = open[i](b);
	if (r < 0) {
		link_destroy(b);
		return r;
	}
	*ret = b;
	return 0;
}

static int link_connect(struct sim_bridge *b, const char *connection)
{
	if (*connection) {
		log_error(b, "connection \"%.60s\": the machines are listed in options.peers; leave it empty",
			  connection);
		return -EINVAL;
	}
	atomic_store(&b->status, SIM_BRIDGE_CONNECTED);
	b->host->status(b->host->ctx, SIM_BRIDGE_CONNECTED, "linked");
	waiter_poke(&b->waiter);
	return 0;
}

static void link_disconnect(struct sim_bridge *b)
{
	atomic_store(&b->status, SIM_BRIDGE_DISCONNECTED);
	link_services_stop(b);
	b->host->status(b->host->ctx, SIM_BRIDGE_DISCONNECTED, "");
}

static enum sim_bridge_status link_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->status);
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "link",
		.type = "slots of other machines, over Cyclone DDS",
		.options = options,
		.reg = link_reg,
		.create = link_create,
		.connect = link_connect,
		.disconnect = link_disconnect,
		.status = link_status,
		.open = link_open,
		.close = link_close,
		.publish = link_publish,
		.destroy = link_destroy,
		.check = link_check,
		.listen = link_listen,
		.service = link_service,
	};

	return &ops;
}
