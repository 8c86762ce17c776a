/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in as its host calls it: a channel that closes while the peer has not answered yet whether it knows the type. */
#include "support/test.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include <sim/bridge.h>
#include <sim/msg/Ultrasonic.h>

#include "support/cyber_server.h"
#include "support/message.h"
#include "support/wait.h"

#define TYPE "apollo.drivers.Ultrasonic"

static struct cyber_server *server;
static const struct sim_bridge_ops *ops;
static struct sim_bridge *bridge;
static char address[32];
static _Atomic int status;

/* ---- a host ---- */

__attribute__((format(printf, 3, 4))) static void on_log(void *ctx, int level, const char *fmt, ...)
{
	(void)ctx;
	(void)level;
	(void)fmt;
}

static const char *on_option(void *ctx, const char *name)
{
	const struct sim_bridge_option *o = ops->options;

	(void)ctx;
	while (o->name && strcmp(o->name, name) != 0)
		o++;
	return o->deflt;
}

static void on_status(void *ctx, enum sim_bridge_status s, const char *detail)
{
	(void)ctx;
	(void)detail;
	status = (int)s;
}

static int64_t on_now(void *ctx)
{
	(void)ctx;
	return 0;
}

static const struct sim_bridge_host host = { .abi = SIM_BRIDGE_ABI,
					     .size = sizeof(host),
					     .log = on_log,
					     .option = on_option,
					     .status = on_status,
					     .now = on_now };

static int start(void **state)
{
	const struct sim_bridge_ops *(*entry)(void);
	void *handle = dlopen(PLUGINS "/bridge_cyber.so", RTLD_NOW | RTLD_LOCAL), *sym;

	(void)state;
	if (!handle)
		fail_msg("%s", dlerror());
	sym = dlsym(handle, SIM_BRIDGE_SYMBOL);
	assert_non_null(sym);
	memcpy(&entry, &sym, sizeof(entry));
	ops = entry();
	server = cyber_server_create(0, NULL);
	assert_non_null(server);
	snprintf(address, sizeof(address), "127.0.0.1:%u", cyber_server_port(server));
	assert_int_equal(ops->create(&host, &bridge), 0);
	assert_int_equal(ops->connect(bridge, address), 0);
	AWAIT(status == SIM_BRIDGE_CONNECTED);
	AWAIT(cyber_server_clients(server) == 1); /* it has been accepted, too */
	return 0;
}

static int stop(void **state)
{
	(void)state;
	ops->disconnect(bridge);
	ops->destroy(bridge);
	cyber_server_destroy(server);
	return 0;
}

/* ---- a channel ---- */

/* Opens one of that name, sends a message and closes it. */
static void use_channel(const char *name)
{
	struct sim_bridge_channel ch = { .name = name, .type = &sim_Ultrasonic_type };
	struct {
		struct sim_slot slot;
		struct sim_Ultrasonic body;
	} m = { .slot = { .body_size = sizeof(m.body), .sequence = 1 } };
	struct sim_bridge_topic *t = NULL;
	char text[80];

	snprintf(text, sizeof(text), "{\"cyber\": {\"topic\": \"%s\"}}", name);
	ch.options = text;
	assert_int_equal(ops->open(bridge, &ch, &t), 0);
	assert_int_equal(ops->publish(bridge, t, MESSAGE_OF(&m.slot), NULL), 0);
	ops->close(bridge, t);
}

/*
 * The peer reads nothing until the channel is closed, so it has not answered. Once a message sent later has arrived, no
 * earlier one is still on its way.
 */
TEST_WITH(messages_sent_before_a_channel_closes_arrive, start, stop)
{
	struct sim_bridge_channel ch = { .name = "/open", .type = &sim_Ultrasonic_type, .options = "{}" };
	struct sim_bridge_topic *t = NULL;

	cyber_server_hold(server, true);
	use_channel("/range");
	assert_int_equal(ops->open(bridge, &ch, &t), 0);
	cyber_server_hold(server, false);
	AWAIT(cyber_server_writer(server, "/apollo/sensor/ultrasonic_radar", TYPE));
	use_channel("/later");
	AWAIT(cyber_server_count(server, "/later") == 1);
	assert_int_equal(cyber_server_count(server, "/range"), 1);
	assert_int_equal(cyber_server_registered(server), 3);
	assert_string_equal(cyber_server_fault(server), "");
	ops->close(bridge, t);
}

/* Messages that wait for an answer are dropped with the connection; a later channel is registered again. */
TEST_WITH(messages_of_a_closed_channel_are_dropped_with_the_connection, start, stop)
{
	cyber_server_hold(server, true);
	use_channel("/range");
	cyber_server_drop(server);
	AWAIT(status == SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	cyber_server_hold(server, false);
	assert_int_equal(ops->connect(bridge, address), 0);
	AWAIT(status == SIM_BRIDGE_CONNECTED);
	use_channel("/later");
	AWAIT(cyber_server_count(server, "/later") == 1);
	assert_int_equal(cyber_server_count(server, "/range"), 0);
	assert_false(cyber_server_writer(server, "/range", NULL));
}
