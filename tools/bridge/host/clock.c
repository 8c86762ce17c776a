/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outgoing /clock, past dispatch: no pause, credit, lane or answer can stop it. The thread waits for the clock thread's
 * ticks and hands the newest to the plug-in; older ticks that piled up behind a slow plug-in are skipped.
 *
 * Thread: "clock", from the first connect() to host_destroy(). While the bridge is not connected, ticks are skipped.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <sim/msg/Clock.h>
#include <sim/subscriber.h>

#include "host.h"
#include "jsonx.h"
#include "mem.h"
#include "thread.h"
#include "timeutil.h"

LOG_TOPIC("clock");

#define CHANNEL     "/clock"
#define LOOK_DUR_NS (100 * NS_PER_MS) /* how often to check for the stop flag when there are no ticks */

static void bump(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static int open_topic(struct host *h)
{
	struct host_clock *c = &h->clock;
	int r;

	c->clk.replays = atomic_load(&h->connection.replays);
	pthread_mutex_lock(&h->topics_lock);
	host_topic_named(h, &c->clk.ch, CHANNEL, plugin_foreign(h->plugin, sim_Clock_type.name));
	r = h->plugin->ops->open(h->bridge, &c->clk.ch, &c->clk.topic);
	pthread_mutex_unlock(&h->topics_lock);
	if (r < 0) {
		c->clk.topic = NULL;
		log_at(c->clk.named ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "%s is not carried by this bridge: %s", CHANNEL,
		       sim_strerror(-r));
	} else {
		host_name_topic(h, CHANNEL, false, c->clk.far_name, c->clk.far_type);
	}
	return r;
}

static void close_topic(struct host *h)
{
	struct host_clock *c = &h->clock;

	pthread_mutex_lock(&h->topics_lock);
	if (c->clk.topic)
		h->plugin->ops->close(h->bridge, c->clk.topic);
	c->clk.topic = NULL;
	pthread_mutex_unlock(&h->topics_lock);
}

/* Reopens /clock after a reconnection, as host_topics_replay() does for channels. */
static int renew_topic(struct host *h)
{
	struct host_clock *c = &h->clock;

	if (c->clk.replays != atomic_load(&h->connection.replays)) {
		close_topic(h);
		(void)open_topic(h);
	}
	return c->clk.topic ? 0 : -ENOTSUP;
}

static void publish(struct host *h, const struct sim_message *m)
{
	struct host_clock *c = &h->clock;
	const struct sim_Clock *body = sim_Clock_from(m->body, m->body_size);
	int r;

	if (!body || body->clock <= 0 || host_connection_status(h) != SIM_BRIDGE_CONNECTED || renew_topic(h) < 0) {
		bump(&c->skipped);
		return;
	}
	r = h->plugin->ops->publish(h->bridge, c->clk.topic, m, NULL);
	bump(r == 0 ? &c->sent : &c->failed);
	if (r)
		log_limited(&c->clk.limit, mono_now_ns(), LOG_LEVEL_WARN, "%s: %s", CHANNEL,
			    r < 0 ? sim_strerror(r) : "the plug-in left it pending, but it has no answer to give");
}

/* Takes all queued messages and releases all but the newest, which the caller releases. */
static const struct sim_message *newest(struct host_clock *c)
{
	const struct sim_message *last = NULL, *next;

	while (sim_take(c->clk.sub, &next) == 0) {
		if (last) {
			sim_release(c->clk.sub, last);
			bump(&c->skipped);
		}
		last = next;
	}
	return last;
}

/*
 * Waits for one tick and publishes it. Negative: no tick could be taken (the library is reconnecting, or has given
 * up).
 */
static int serve(struct host *h)
{
	struct host_clock *c = &h->clock;
	const struct sim_message *m;
	int r = c->clk.sub ? 0 : sim_subscribe(h->client, CHANNEL, &sim_Clock_type, NULL, &c->clk.sub);

	if (r == 0)
		r = sim_wait(c->clk.sub, LOOK_DUR_NS);
	if (r <= 0)
		return r;
	m = newest(c);
	if (m) {
		publish(h, m);
		sim_release(c->clk.sub, m);
	}
	return m ? 0 : -EAGAIN;
}

static void *clock_main(void *arg)
{
	struct host *h = arg;
	struct host_clock *c = &h->clock;

	if (open_topic(h) < 0)
		return NULL;
	while (!atomic_load(&c->stop)) {
		int r = serve(h);

		if (r < 0 && r != -EAGAIN) {
			log_limited(&c->clk.limit, mono_now_ns(), LOG_LEVEL_DEBUG, "%s: %s", CHANNEL, sim_why());
			usleep(LOOK_DUR_NS / NS_PER_US);
		}
	}
	sim_subscriber_destroy(c->clk.sub);
	close_topic(h);
	return NULL;
}

/*
 * "*" in the rig is enough for a plug-in with a mapping of sim/Clock. A plug-in that takes any type gets /clock only
 * where the rig names it: ticks of the wall clock would make two logs of the same run differ.
 */
static bool wanted(const struct host *h, const json_t *config)
{
	return json_is_object(config) &&
	       (json_is_true(json_object_get(config, "named")) ? plugin_carries(h->plugin, sim_Clock_type.name)
							       : plugin_maps(h->plugin, sim_Clock_type.name));
}

void host_clock_start(struct host *h)
{
	json_t *config = json_object_get(h->config, "clock");
	struct host_clock *c = &h->clock;
	char *options;
	int r;

	if (c->running || !wanted(h, config))
		return;
	options = jsonx_text(json_object_get(config, "options"));
	if (!options)
		return;
	c->clk.named = json_is_true(json_object_get(config, "named"));
	c->clk.limit = (struct log_limit)LOG_LIMIT(10 * NS_PER_S, 1);
	c->clk.ch = (struct sim_bridge_channel){
		.id = UINT32_MAX, .name = CHANNEL, .type = &sim_Clock_type, .options = options
	};
	r = thread_start(&c->thread, "clock", clock_main, h);
	c->running = r == 0;
	if (r)
		log_error("%s is not carried: its thread cannot be started: %s", CHANNEL, strerror(r));
	if (r)
		mem_free(options);
}

void host_clock_stop(struct host *h)
{
	struct host_clock *c = &h->clock;

	if (!c->running)
		return;
	atomic_store(&c->stop, true);
	pthread_join(c->thread, NULL);
	c->running = false;
	mem_free((void *)(uintptr_t)c->clk.ch.options);
	log_info("%s: %llu sent, %llu skipped, %llu failed", CHANNEL, (unsigned long long)atomic_load(&c->sent),
		 (unsigned long long)atomic_load(&c->skipped), (unsigned long long)atomic_load(&c->failed));
}
