/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /clock through simbridge's host, over a subscriber of the test's own: in order, the newest only, never 0, and nothing that
 * other messages or the plug-in do stops it.
 */
#include "support/message.h"
#include "support/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <sim/msg/Clock.h>
#include <sim/msg/Ultrasonic.h>
#include <sim/subscriber.h>

#include "host.h"
#include "plugins/gate.h"
#include "task.h"

#define TICKS_MAX 64

/* ---- the data plane, as simbridge sees it ---- */

struct tick {
	struct sim_message message;
	struct sim_Clock body;
};

static struct sim_subscriber {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct tick tick[TICKS_MAX];
	unsigned n, taken, released, subscribed, refuse, stale;
} bus = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

int sim_subscribe(struct sim_client *c, const char *channel, const struct sim_type *type,
		  const struct sim_subscriber_options *o, struct sim_subscriber **ret)
{
	int r;

	(void)c;
	(void)o;
	assert_string_equal(channel, "/clock");
	assert_string_equal(type->name, "sim/Clock");
	pthread_mutex_lock(&bus.lock);
	r = bus.refuse ? -ENOTCONN : 0;
	bus.refuse -= bus.refuse > 0;
	bus.subscribed += r == 0;
	pthread_cond_broadcast(&bus.changed);
	pthread_mutex_unlock(&bus.lock);
	if (r == 0)
		*ret = &bus;
	return r;
}

void sim_subscriber_destroy(struct sim_subscriber *s)
{
	(void)s;
}

int sim_wait(struct sim_subscriber *s, int64_t timeout_dur_ns)
{
	struct timespec end;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += timeout_dur_ns;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	pthread_mutex_lock(&s->lock);
	while (s->taken == s->n && r == 0)
		r = pthread_cond_timedwait(&s->changed, &s->lock, &end);
	r = s->taken != s->n;
	if (r && s->stale) {
		s->stale--;
		r = -ESTALE;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

int sim_take(struct sim_subscriber *s, const struct sim_message **ret)
{
	int r = -EAGAIN;

	pthread_mutex_lock(&s->lock);
	if (s->taken < s->n) {
		*ret = &s->tick[s->taken++].message;
		r = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

int sim_release(struct sim_subscriber *s, const struct sim_message *slot)
{
	(void)slot;
	pthread_mutex_lock(&s->lock);
	s->released++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static void push_tick(int64_t sim_ns)
{
	struct tick *t;

	pthread_mutex_lock(&bus.lock);
	assert_true(bus.n < TICKS_MAX);
	t = &bus.tick[bus.n++];
	*t = (struct tick){ .message = { .header = { .type_hash = SIM_CLOCK_HASH, .body_size = sizeof(t->body) },
					 .body = &t->body,
					 .body_size = sizeof(t->body) },
			    .body = { .clock = sim_ns } };
	pthread_cond_broadcast(&bus.changed);
	pthread_mutex_unlock(&bus.lock);
}

static void await_bus(const unsigned *counter, unsigned n)
{
	pthread_mutex_lock(&bus.lock);
	while (*counter < n)
		pthread_cond_wait(&bus.changed, &bus.lock);
	pthread_mutex_unlock(&bus.lock);
}

/* ---- the plug-in's side ---- */

static struct gate *gate(void)
{
	static struct gate *g;
	gate_fn entry;
	void *sym;

	if (g)
		return g;
	/* never closed, so that the host's dlopen() gets the same one each time */
	sym = dlsym(dlopen(GATE, RTLD_NOW | RTLD_LOCAL), "gate_of_test");
	assert_non_null(sym);
	memcpy(&entry, &sym, sizeof(entry));
	g = entry();
	return g;
}

static void await_gate(const unsigned *counter, unsigned n)
{
	struct gate *g = gate();

	pthread_mutex_lock(&g->lock);
	while (*counter < n)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void set(bool *flag, bool on)
{
	struct gate *g = gate();

	pthread_mutex_lock(&g->lock);
	*flag = on;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

static struct host *start(const char *plugin, const char *clock)
{
	struct host *h = NULL;
	json_t *config = json_pack("{s:s}", "plugin", plugin);
	struct gate *g = gate();

	g->n = 0;
	g->open = g->clock_held = false;
	g->clock_result = 0;
	g->options[0] = '\0';
	bus.n = bus.taken = bus.released = bus.subscribed = 0;
	if (clock)
		json_object_set_new(config, "clock", json_loads(clock, 0, NULL));
	assert_int_equal(host_create(NULL, "", config, &h), 0);
	json_decref(config);
	return h;
}

#define LISTED "{\"named\":false,\"options\":{\"a\":1}}"

/* ---- the tests ---- */

TEST(each_tick_is_published_in_order)
{
	struct host *h = start(GATE, LISTED);
	struct gate *g = gate();

	push_tick(0); /* "no time yet" */
	host_connect(h, "");
	await_bus(&bus.released, 1);
	for (unsigned i = 1; i <= 20; i++) {
		push_tick(i < 10 ? (int64_t)i * 1000 : 7000); /* a frozen stamp goes on */
		await_gate(&g->n, i);
		assert_int_equal(g->stamp[i - 1], i < 10 ? (int64_t)i * 1000 : 7000);
	}
	push_tick(5); /* time may jump back */
	await_gate(&g->n, 21);
	await_bus(&bus.released, 22);
	assert_string_equal(g->options, "{\"a\":1}");
	assert_int_equal(h->clock.sent, 21);
	assert_int_equal(h->clock.skipped, 1);
	assert_int_equal(h->sent, 0); /* dispatch's count is its own */
	host_destroy(h);
}

TEST(after_a_stall_only_the_newest_tick_is_published)
{
	struct host *h = start(GATE, LISTED);
	struct gate *g = gate();

	host_connect(h, "");
	set(&g->clock_held, true);
	push_tick(1);
	await_gate(&g->n, 1);
	for (int64_t i = 2; i <= 6; i++)
		push_tick(i);
	set(&g->clock_held, false);
	await_gate(&g->n, 2);
	await_bus(&bus.released, 6);
	assert_int_equal(g->stamp[1], 6);
	assert_int_equal(h->clock.skipped, 4);
	host_destroy(h);
	assert_int_equal(g->n, 2);
}

static struct sim_lane_packet packets[3];
static _Atomic unsigned next_packet;

/* ---- a lane whose one message is stuck ---- */

struct sim_lane {
	int unused;
};

int sim_lane_recv(struct sim_lane *l, int timeout_ms, struct sim_lane_packet *ret)
{
	(void)l;
	(void)timeout_ms;
	*ret = packets[next_packet++];
	return 1;
}

int sim_lane_done(struct sim_lane *l, const struct sim_lane_result *r, unsigned count)
{
	(void)l;
	(void)r;
	(void)count;
	return 0;
}

int sim_lane_fd(const struct sim_lane *l)
{
	(void)l;
	return -1;
}

void sim_lane_destroy(struct sim_lane *l)
{
	(void)l;
}

TEST(a_blocked_publish_does_not_stop_the_clock)
{
	static char text[32768];
	struct host *h = start(GATE, LISTED);
	struct gate *g = gate();
	struct sim_slot big = { .magic = SIM_SLOT_MAGIC };
	struct sim_lane lane;
	char *type = NULL;

	assert_int_equal(sim_type_to_json(&sim_Ultrasonic_type, &type), 0);
	snprintf(text, sizeof(text), "{\"id\":3,\"name\":\"/big\",\"type\":%s}", type);
	free(type);
	packets[0] = (struct sim_lane_packet){ .event = SIM_LANE_CHANNEL, .text = text };
	packets[1] = (struct sim_lane_packet){ .event = SIM_LANE_DELIVER, .count = 1 };
	packets[1].deliveries[0] = (struct sim_delivery){ .id = 9, .message = *MESSAGE_OF(&big), .channel_id = 3 };
	packets[2] = (struct sim_lane_packet){ .event = SIM_LANE_GONE };
	next_packet = 0;
	host_connect(h, "");
	assert_int_equal(host_lane_start(h, &lane, true), 0);
	await_gate(&g->waiting, 1);
	for (unsigned i = 1; i <= 10; i++) {
		push_tick(i);
		await_gate(&g->n, i);
	}
	assert_int_equal(g->waiting, 1);
	set(&g->open, true);
	host_destroy(h);
}

TEST(failed_and_unanswered_ticks_are_counted)
{
	struct host *h = start(GATE, LISTED);
	struct gate *g = gate();

	host_connect(h, "");
	g->clock_result = -EIO;
	push_tick(1);
	await_bus(&bus.released, 1);
	pthread_mutex_lock(&g->lock);
	g->clock_result = 1; /* pending, for ever */
	pthread_mutex_unlock(&g->lock);
	for (unsigned i = 2; i <= 40; i++) {
		push_tick(i);
		await_bus(&bus.released, i);
	}
	assert_int_equal(h->clock.failed, 40);
	assert_int_equal(h->clock.sent, 0);
	host_destroy(h);
}

TEST(ticks_are_published_only_while_connected)
{
	struct host *h = start(GATE, LISTED);
	struct gate *g = gate();

	host_connect(h, "away");
	push_tick(1);
	await_bus(&bus.released, 1);
	assert_int_equal(g->n, 0);
	host_connect(h, "here");
	push_tick(2);
	await_gate(&g->n, 1);
	host_disconnect(h);
	await_bus(&bus.released, 2);
	push_tick(3);
	await_bus(&bus.released, 3);
	assert_int_equal(g->n, 1);
	host_connect(h, "here");
	push_tick(4);
	await_gate(&g->n, 2);
	assert_int_equal(g->stamp[1], 4);
	assert_int_equal(bus.subscribed, 1);
	host_destroy(h);
}

TEST(the_clock_continues_after_a_restart_of_the_data_plane)
{
	struct host *h = start(GATE, LISTED);
	struct gate *g = gate();

	bus.refuse = 2;
	bus.stale = 2;
	host_connect(h, "");
	push_tick(1);
	await_gate(&g->n, 1);
	assert_int_equal(bus.refuse + bus.stale, 0);
	host_destroy(h);
}

/* Whether the host subscribes at all. */
static unsigned subscribes(const char *plugin, const char *clock)
{
	struct host *h = start(plugin, clock);
	bool running;

	host_connect(h, "");
	running = h->clock.running;
	if (running)
		await_bus(&bus.subscribed, 1);
	host_destroy(h);
	return bus.subscribed;
}

TEST(only_bridges_that_list_the_clock_receive_it)
{
	assert_int_equal(subscribes(GATE, NULL), 0);
	assert_int_equal(subscribes(GATE, "null"), 0);
	assert_int_equal(subscribes(GATE, "{\"named\":false,\"options\":{}}"), 1);
	assert_int_equal(subscribes(GATE, "{\"named\":true,\"options\":{}}"), 1);
	/* a plug-in that takes any type must be notified */
	assert_int_equal(subscribes(PLUGINS "/bridge_null.so", "{\"named\":false,\"options\":{}}"), 0);
	assert_int_equal(subscribes(PLUGINS "/bridge_null.so", "{\"named\":true,\"options\":{}}"), 1);
	assert_int_equal(subscribes(PLUGINS "/bridge_logging.so", "{\"named\":false,\"options\":{}}"), 0);
}
