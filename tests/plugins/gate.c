/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_gate: publish() of anything but /clock waits until the test opens the gate; of /clock it notes the stamp, which the test
 * waits for. Connection: "away" never connects. Thread: the host's.
 */
#include "plugins/gate.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/bridge.h>
#include <sim/msg/Clock.h>

struct sim_bridge {
	const struct sim_bridge_host *host;
	_Atomic int status;
};

struct sim_bridge_topic {
	bool clock;
};

SIM_API struct gate *gate_of_test(void);

struct gate *gate_of_test(void)
{
	static struct gate gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

	return &gate;
}

static int gate_reg(struct sim_bridge_registry *r)
{
	int e = r->add_publisher(r->ctx, "sim/Ultrasonic", "nothing");

	return e < 0 ? e : r->add_publisher(r->ctx, "sim/Clock", "nothing");
}

static int gate_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	b->host = host;
	gate_of_test()->host = host;
	*ret = b;
	return 0;
}

static void say(struct sim_bridge *b, enum sim_bridge_status status)
{
	atomic_store(&b->status, (int)status);
	b->host->status(b->host->ctx, status, "");
}

static int gate_connect(struct sim_bridge *b, const char *connection)
{
	struct gate *g = gate_of_test();
	bool nobody;

	pthread_mutex_lock(&g->lock);
	g->connects++;
	nobody = g->refuse > 0;
	g->refuse -= nobody;
	pthread_mutex_unlock(&g->lock);
	if (nobody)
		say(b, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	else
		say(b, strcmp(connection, "away") ? SIM_BRIDGE_CONNECTED : SIM_BRIDGE_CONNECTING);
	return 0;
}

static void gate_disconnect(struct sim_bridge *b)
{
	say(b, SIM_BRIDGE_DISCONNECTED);
}

static enum sim_bridge_status gate_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->status);
}

static int gate_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	struct sim_bridge_topic *t = calloc(1, sizeof(*t));

	(void)b;
	if (!t)
		return -1;
	if (gate_of_test()->refuse_open) {
		free(t);
		if (!gate_of_test()->silent)
			gate_of_test()->host->log(gate_of_test()->host->ctx, 0, "%s: not this one", ch->name);
		return -5;
	}
	t->clock = !strcmp(ch->name, "/clock");
	if (t->clock)
		snprintf(gate_of_test()->options, sizeof(gate_of_test()->options), "%s", ch->options);
	gate_of_test()->opens += !t->clock;
	*ret = t;
	return 0;
}

static void gate_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	(void)b;
	gate_of_test()->closes += !t->clock;
	free(t);
}

static void wait_open(struct gate *g)
{
	g->published++;
	g->waiting++;
	pthread_cond_broadcast(&g->changed);
	while (!g->open)
		pthread_cond_wait(&g->changed, &g->lock);
	g->waiting--;
}

static int note(struct gate *g, const struct sim_message *slot)
{
	if (g->n < GATE_STAMPS)
		g->stamp[g->n++] = ((const struct sim_Clock *)slot->body)->clock;
	pthread_cond_broadcast(&g->changed);
	while (g->clock_held)
		pthread_cond_wait(&g->changed, &g->lock);
	return g->clock_result;
}

static int gate_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *slot,
			struct sim_task *task)
{
	struct gate *g = gate_of_test();
	int r = 0;

	(void)b;
	pthread_mutex_lock(&g->lock);
	if (t->clock)
		r = task ? -1 : note(g, slot);
	else
		wait_open(g);
	pthread_mutex_unlock(&g->lock);
	return r;
}

static int gate_flush(struct sim_bridge *b)
{
	struct gate *g = gate_of_test();

	(void)b;
	pthread_mutex_lock(&g->lock);
	g->published_at_flush = g->published;
	pthread_mutex_unlock(&g->lock);
	atomic_fetch_add(&g->flushes, 1);
	return 0;
}

static void gate_destroy(struct sim_bridge *b)
{
	free(b);
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "gate",
		.type = "waits for a test",
		.reg = gate_reg,
		.create = gate_create,
		.connect = gate_connect,
		.disconnect = gate_disconnect,
		.status = gate_status,
		.open = gate_open,
		.close = gate_close,
		.publish = gate_publish,
		.destroy = gate_destroy,
		.flush = gate_flush,
	};

	return &ops;
}
