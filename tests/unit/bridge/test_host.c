/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simbridge's host with a real plug-in (tests/plugins/faulty.c) over a lane of the test's own: announce, deliver, answer, end.
 * The test's lane hands out a script of packets and collects the answers.
 */
#include "support/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include <sim/msg/Ultrasonic.h>

#include "fd.h"
#include "host.h"
#include "mem.h"
#include "plugins/gate.h"
#include "support/message.h"
#include "support/usage.h"
#include "task.h"
#include "timeutil.h"

#define SCRIPT_MAX 16

struct sim_lane {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct sim_lane_packet script[SCRIPT_MAX];
	unsigned next, n;
	struct sim_lane_result answers[64];
	unsigned n_answers, n_packets;
	int status;
	bool fails; /* the next receive does */
	bool destroyed;
	unsigned said; /* how often sim_lane_carries() was called; its last arguments */
	uint32_t said_channel;
	int said_result;
	char said_name[800], said_type[100];
};

/* ---- the lane API, as simbridge sees it ---- */

int sim_lane_recv(struct sim_lane *l, int timeout_ms, struct sim_lane_packet *ret)
{
	(void)timeout_ms;
	pthread_mutex_lock(&l->lock);
	while (l->next == l->n)
		pthread_cond_wait(&l->changed, &l->lock);
	*ret = l->script[l->next++ % SCRIPT_MAX];
	pthread_mutex_unlock(&l->lock);
	return l->fails ? -EBADMSG : 1;
}

int sim_lane_done(struct sim_lane *l, const struct sim_lane_result *r, unsigned count)
{
	pthread_mutex_lock(&l->lock);
	for (unsigned i = 0; i < count; i++)
		l->answers[l->n_answers++ % 64] = r[i];
	l->n_packets++;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return 0;
}

int sim_lane_status(struct sim_lane *l, enum sim_bridge_status status, uint64_t sent, uint64_t failed, uint64_t dropped,
		    uint64_t bytes, const char *detail)
{
	(void)sent;
	(void)failed;
	(void)dropped;
	(void)bytes;
	(void)detail;
	l->status = (int)status;
	return 0;
}

int sim_lane_carries(struct sim_lane *l, uint32_t channel_id, int result, const char *name, const char *type)
{
	l->said++;
	l->said_channel = channel_id;
	l->said_result = result;
	snprintf(l->said_name, sizeof(l->said_name), "%s", name);
	snprintf(l->said_type, sizeof(l->said_type), "%s", type);
	return 0;
}

int sim_lane_fd(const struct sim_lane *l)
{
	(void)l;
	return -1;
}

void sim_lane_destroy(struct sim_lane *l)
{
	if (l)
		l->destroyed = true;
}

/* ---- a publisher, as the host's inbound side sees it ---- */

static struct {
	pthread_mutex_t *lock; /* that keeps other threads out */
	unsigned published, queued, unloaned, others;
	unsigned machines; /* bridges to them */
	uint32_t clock;    /* flags */
} publisher;

static int publisher_enter_alone(unsigned *calls)
{
	int r = pthread_mutex_trylock(publisher.lock);

	*calls += 1;
	if (r == 0)
		pthread_mutex_unlock(publisher.lock);
	publisher.others += r != EBUSY;
	return 0;
}

int sim_publish_local(struct sim_publisher *p, struct sim_slot *slot)
{
	(void)p;
	(void)slot;
	return publisher_enter_alone(&publisher.published);
}

int sim_try_queue(struct sim_publisher *p, struct sim_slot *slot, struct sim_token *token, sim_done_fn cb, void *user)
{
	(void)p;
	(void)slot;
	(void)token;
	(void)cb;
	(void)user;
	return publisher_enter_alone(&publisher.queued);
}

void sim_now_sample(const struct sim_client *c, struct sim_clock_sample *ret)
{
	(void)c;
	*ret = (struct sim_clock_sample){ .flags = publisher.clock };
}

struct sim_bridges sim_publisher_bridges(const struct sim_publisher *p)
{
	(void)p;
	return (struct sim_bridges){ publisher.machines, publisher.machines };
}

int sim_unloan(struct sim_publisher *p, struct sim_slot *slot)
{
	(void)p;
	(void)slot;
	return publisher_enter_alone(&publisher.unloaned);
}

/* ---- script ---- */

static void push(struct sim_lane *l, struct sim_lane_packet p)
{
	pthread_mutex_lock(&l->lock);
	assert_true(l->n - l->next < SCRIPT_MAX);
	l->script[l->n++ % SCRIPT_MAX] = p;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void push_channel(struct sim_lane *l, unsigned id, char *text, size_t size)
{
	char *type = NULL;

	assert_int_equal(sim_type_to_json(&sim_Ultrasonic_type, &type), 0);
	snprintf(text, size, "{\"id\":%u,\"name\":\"/test\",\"type\":%s,\"options\":{}}", id, type);
	free(type);
	push(l, (struct sim_lane_packet){ .event = SIM_LANE_CHANNEL, .text = text });
}

static void push_slot(struct sim_lane *l, uint64_t id, unsigned channel, const struct sim_slot *slot)
{
	struct sim_lane_packet p = { .event = SIM_LANE_DELIVER, .count = 1 };

	p.deliveries[0] = (struct sim_delivery){ .id = id, .message = *MESSAGE_OF(slot), .channel_id = channel };
	push(l, p);
}

static void await_answers(struct sim_lane *l, unsigned n)
{
	pthread_mutex_lock(&l->lock);
	while (l->n_answers < n)
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

static int answer_of(const struct sim_lane *l, uint64_t id)
{
	for (unsigned i = 0; i < l->n_answers; i++)
		if (l->answers[i].id == id)
			return l->answers[i].result;
	fail_msg("delivery %llu was not answered", (unsigned long long)id);
	return 1;
}

struct fixture {
	struct sim_lane lane;
	struct host *host;
	char text[32768];
	struct sim_slot slot[2];
};

static struct fixture *start_plugin(const char *plugin, const char *options)
{
	struct fixture *f = calloc(1, sizeof(*f));
	json_t *config = json_object();

	assert_non_null(f);
	pthread_mutex_init(&f->lane.lock, NULL);
	pthread_cond_init(&f->lane.changed, NULL);
	json_object_set_new(config, "plugin", json_string(plugin));
	json_object_set_new(config, "options", json_loads(options, 0, NULL));
	json_object_set_new(config, "reports_channels", json_true());
	assert_int_equal(host_create(NULL, "", config, &f->host), 0);
	json_decref(config);
	assert_int_equal(host_lane_start(f->host, &f->lane, true), 0);
	return f;
}

static struct fixture *start(const char *options)
{
	return start_plugin(FAULTY, options);
}

static void stop(struct fixture *f)
{
	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_GONE });
	host_destroy(f->host);
	assert_true(f->lane.destroyed);
	free(f);
}

TEST(each_message_is_answered)
{
	struct fixture *f = start("{}");

	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_CONNECT, .text = (char *)"anything" });
	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	push_slot(&f->lane, 100, 3, &f->slot[0]);
	push_slot(&f->lane, 101, 9, &f->slot[0]); /* never announced */
	await_answers(&f->lane, 2);
	assert_int_equal(answer_of(&f->lane, 100), 0);
	assert_int_equal(answer_of(&f->lane, 101), SIM_LANE_NOT_CARRIED);
	assert_int_equal(f->host->sent, 1);
	assert_int_equal(f->host->status, SIM_BRIDGE_CONNECTED);
	host_report(f->host);
	assert_int_equal(f->lane.status, SIM_BRIDGE_CONNECTED);
	stop(f);
}

TEST(late_answers_are_accepted_after_the_end)
{
	struct fixture *f = start("{\"mode\":\"late\",\"delay_us\":100}");

	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	for (unsigned i = 0; i < 5; i++)
		push_slot(&f->lane, 200 + i, 3, &f->slot[0]);
	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_GONE });
	host_destroy(f->host);
	assert_int_equal(f->lane.n_answers, 5);
	free(f);
}

/* Completed messages do not wait for a conversion that is known to take long. */
TEST(a_slow_channel_is_not_waited_for)
{
	struct fixture *f = start("{\"mode\":\"slow\",\"delay_us\":2000}");
	struct sim_lane_packet p = { .event = SIM_LANE_DELIVER, .count = 4 };

	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	push_slot(&f->lane, 1, 3, &f->slot[0]);
	await_answers(&f->lane, 1);
	for (unsigned i = 0; i < p.count; i++)
		p.deliveries[i] =
			(struct sim_delivery){ .id = 2 + i, .message = *MESSAGE_OF(&f->slot[0]), .channel_id = 3 };
	push(&f->lane, p);
	await_answers(&f->lane, 5);
	assert_int_equal(f->lane.n_packets, 5);
	stop(f);
}

/* Each has a message that the plug-in answers from another thread, about when its lane ends. */
TEST(a_closed_lane_leaves_nothing)
{
	struct fixture *f = start("{\"mode\":\"late\",\"delay_us\":10}");
	struct mem_stats before, now;
	static struct sim_lane lane;
	long n_threads = 0;

	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	for (unsigned i = 0; i < 300; i++) {
		if (i == 1) { /* the plug-in has a thread now */
			n_threads = usage_entries("/proc/self/task");
			mem_stats(&before);
		}
		lane = (struct sim_lane){ .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
		push_slot(&lane, i, 3, &f->slot[0]);
		push(&lane, (struct sim_lane_packet){ .event = SIM_LANE_CLOSE });
		push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_OPEN, .lane = &lane });
		while (!lane.destroyed) {
			assert_int_equal(fd_wait(f->host->wake_fd, POLLIN, 20 * NS_PER_MS) < 0, 0);
			host_lanes_reap(f->host);
		}
		assert_int_equal(answer_of(&lane, i), 0);
		assert_false(f->lane.destroyed);
	}
	mem_stats(&now);
	AWAIT(usage_entries("/proc/self/task") <= n_threads); /* one that is joined is listed for a moment */
	assert_int_equal(now.blocks, before.blocks);
	stop(f);
}

/* A plug-in of the first day of its ABI, that knows nothing of what came later. */
TEST(a_plug_in_with_the_frozen_abi_works)
{
	struct fixture *f = start_plugin(SHELF "/bridge_FROZEN.so", "{\"greeting\":\"hi\"}");

	assert_int_equal(plugin_flags(f->host->plugin), 0); /* its table ends long before them */
	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_CONNECT, .text = (char *)"mixed" });
	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	for (unsigned i = 0; i < 6; i++)
		push_slot(&f->lane, 400 + i, 3, &f->slot[0]);
	await_answers(&f->lane, 6);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(answer_of(&f->lane, 400 + i), i % 3 == 2 ? -5 : 0);
	assert_int_equal(f->host->sent, 4);
	assert_int_equal(f->host->failed, 2);
	assert_string_equal(f->host->detail, "hi");
	assert_false(host_inbound_watch(f->host));
	host_flush(f->host);
	host_disconnect(f->host);
	assert_int_equal(f->host->status, SIM_BRIDGE_DISCONNECTED);
	stop(f);
}

TEST(failures_are_counted)
{
	struct fixture *f = start("{\"mode\":\"fail\",\"every\":2}");

	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	for (unsigned i = 0; i < 4; i++)
		push_slot(&f->lane, 300 + i, 3, &f->slot[0]);
	await_answers(&f->lane, 4);
	assert_int_equal(answer_of(&f->lane, 301), -EIO);
	assert_int_equal(f->host->sent, 2);
	assert_int_equal(f->host->failed, 2);
	stop(f);
}

TEST(bad_announcements_are_survived)
{
	static char bad[][64] = { "", "[]", "{\"id\":-1}", "{\"id\":1,\"name\":\"/x\",\"type\":{}}",
				  "{\"id\":1,\"name\":7}" };
	struct fixture *f = start("{}");

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_CHANNEL, .text = bad[i] });
	push_slot(&f->lane, 1, 1, &f->slot[0]);
	await_answers(&f->lane, 1);
	assert_int_equal(answer_of(&f->lane, 1), SIM_LANE_NOT_CARRIED);
	stop(f);
}

TEST(unknown_option_is_refused)
{
	json_t *config = json_pack("{s:s, s:{s:s}}", "plugin", PLUGINS "/bridge_null.so", "options", "typo", "1");
	struct host *h = NULL;

	assert_int_equal(host_create(NULL, "", config, &h), -EINVAL);
	assert_null(h);
	json_decref(config);
}

TEST(inbound_needs_the_rigs_permission)
{
	struct fixture *f = start("{}");

	assert_int_equal(host_inbound_publish(f->host, "/control", &sim_Ultrasonic_type, f->text, 64), -EACCES);
	stop(f);
}

/*
 * Otherwise a thread that looks for subscribers while another one publishes would find none, and the bridge would
 * unsubscribe from the far side.
 */
TEST(a_loan_is_published_by_one_thread_at_a_time)
{
	struct fixture *f = start("{}");
	struct host *h = f->host;
	struct {
		struct sim_slot slot;
		struct sim_Ultrasonic body;
	} loan = { 0 };

	h->inbound[0] = (struct host_inbound){ .name = mem_strdup("/control"),
					       .pub = (struct sim_publisher *)f, /* is not looked into */
					       .type = &sim_Ultrasonic_type };
	h->n_inbound = 1;
	publisher.lock = &h->inbound_lock;
	loan.slot.magic = SIM_SLOT_MAGIC;
	loan.slot.body_size = sizeof(loan.body);
	assert_int_equal(host_inbound_publish_loan(h, "/control", &loan.body, sizeof(loan.body), 0, NULL), 0);
	publisher.machines = 1;
	assert_int_equal(host_inbound_publish_loan(h, "/control", &loan.body, sizeof(loan.body), 0, NULL), 0);
	/* then nothing is dispatched: here it is heard all the same, if the rig wants it so */
	publisher.clock = SIM_CLOCK_PAUSED;
	json_object_set_new(h->config, "inbound_while_paused", json_true());
	assert_int_equal(host_inbound_publish_loan(h, "/control", &loan.body, sizeof(loan.body), 0, NULL), 0);
	publisher.clock = 0;
	publisher.machines = 0;
	assert_int_equal(host_inbound_publish_loan(h, "/control", &loan.body, sizeof(loan.body) + 1, 0, NULL), -EINVAL);
	host_inbound_unloan(h, "/control", &loan.body);
	assert_int_equal(host_inbound_publish_loan(h, "/other", &loan.body, sizeof(loan.body), 0, NULL), -EINVAL);
	assert_int_equal(publisher.published, 2);
	assert_int_equal(publisher.queued, 1);
	assert_int_equal(publisher.unloaned, 2);
	assert_int_equal(publisher.others, 0);
	h->inbound[0].pub = NULL;
	stop(f);
}

/* ---- the far side is lost, and comes back ---- */

static struct gate *gate_begin(bool open)
{
	void *so = dlopen(GATE, RTLD_NOW | RTLD_LOCAL), *sym = dlsym(so, "gate_of_test");
	struct gate *g;
	gate_fn fn;

	assert_non_null(sym);
	memcpy(&fn, &sym, sizeof(fn));
	g = fn();
	g->open = open;
	g->connects = g->refuse = g->opens = g->closes = g->published = 0;
	g->refuse_open = g->silent = false;
	g->flushes = 0;
	return g;
}

static void gate_open(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

/* A plug-in with one channel, connected, that has taken delivery 1 (or is inside with it). */
static struct fixture *connected(struct gate *g)
{
	struct fixture *f = start_plugin(GATE, "{}");

	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_CONNECT, .text = (char *)"there" });
	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	push_slot(&f->lane, 1, 3, &f->slot[0]);
	if (g->open) {
		await_answers(&f->lane, 1);
	} else {
		pthread_mutex_lock(&g->lock);
		while (!g->waiting)
			pthread_cond_wait(&g->changed, &g->lock);
		pthread_mutex_unlock(&g->lock);
	}
	assert_int_equal(host_connection_step(f->host, 0), INT64_MAX);
	return f;
}

static void lose(const struct gate *g)
{
	g->host->status(g->host->ctx, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, "the cable is cut");
}

/* After pauses that double up to ten seconds; then every channel is opened again before a message passes. */
TEST(a_lost_connection_is_retried_and_channels_are_opened_again)
{
	static const int pauses_ms[] = { 100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000 };
	struct gate *g = gate_begin(true);
	struct fixture *f = connected(g);
	int64_t now = 5 * NS_PER_S;

	lose(g);
	g->refuse = 8;
	host_report(f->host);
	assert_int_equal(f->lane.status, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	push_slot(&f->lane, 2, 3, &f->slot[0]);
	await_answers(&f->lane, 2);
	assert_int_equal(answer_of(&f->lane, 2), -ENOTCONN);
	assert_int_equal(g->published, 1);
	for (unsigned i = 0; i < 9; i++) {
		int64_t pause = pauses_ms[i] * NS_PER_MS;

		assert_int_equal(host_connection_step(f->host, now), pause);
		assert_int_equal(host_connection_step(f->host, now + pause - 1), 1);
		assert_int_equal(g->connects, 1 + i);
		host_connection_step(f->host, now += pause);
		assert_int_equal(g->connects, 2 + i);
	}
	/* connected, and nothing is open yet: simd is not notified before it is */
	host_report(f->host);
	assert_int_equal(f->lane.status, SIM_BRIDGE_CONNECTING);
	assert_int_equal(g->opens, 1);
	assert_int_equal(host_connection_step(f->host, now), 0);
	assert_int_equal(g->opens, 2);
	assert_int_equal(g->closes, 1);
	assert_int_equal(f->lane.status, SIM_BRIDGE_CONNECTED);
	assert_int_equal(host_connection_step(f->host, now), INT64_MAX);
	push_slot(&f->lane, 3, 3, &f->slot[0]);
	await_answers(&f->lane, 3);
	assert_int_equal(answer_of(&f->lane, 3), 0);

	/* it had not held for long: the next pause is no shorter; after a while it is */
	lose(g);
	assert_int_equal(host_connection_step(f->host, now + NS_PER_S), 10 * NS_PER_S);
	host_connection_step(f->host, now + 11 * NS_PER_S);
	assert_int_equal(host_connection_step(f->host, now + 11 * NS_PER_S), 0);
	lose(g);
	assert_int_equal(host_connection_step(f->host, now + 60 * NS_PER_S), 100 * NS_PER_MS);
	stop(f);
}

/* A lane that is still inside publish() with its message keeps its topic. */
TEST(a_replay_waits_for_lanes)
{
	struct gate *g = gate_begin(false);
	struct fixture *f = connected(g);

	lose(g);
	host_connection_step(f->host, 0);
	host_connection_step(f->host, NS_PER_S);
	assert_int_equal(g->connects, 2);
	assert_in_range(host_connection_step(f->host, NS_PER_S), 1, NS_PER_S);
	assert_int_equal(g->closes, 0);
	gate_open(g);
	await_answers(&f->lane, 1);
	assert_int_equal(host_connection_step(f->host, NS_PER_S), 0);
	assert_int_equal(g->closes, 1);
	assert_int_equal(g->opens, 2);
	stop(f);
}

/* A plug-in that reconnects by itself is left alone; one that is to be disconnected is not reconnected. */
TEST(only_plug_ins_that_do_not_reconnect_themselves_are_reconnected)
{
	struct gate *g = gate_begin(true);
	struct fixture *f = connected(g);

	lose(g);
	g->host->status(g->host->ctx, SIM_BRIDGE_CONNECTING, "by itself");
	for (int i = 0; i < 100; i++)
		host_connection_step(f->host, i * NS_PER_S);
	assert_int_equal(g->connects, 1);
	g->host->status(g->host->ctx, SIM_BRIDGE_CONNECTED, "");
	assert_int_equal(host_connection_step(f->host, 100 * NS_PER_S), 0);
	assert_int_equal(g->opens, 2);
	lose(g);
	host_disconnect(f->host);
	assert_int_equal(host_connection_step(f->host, 200 * NS_PER_S), INT64_MAX);
	assert_int_equal(host_connection_step(f->host, 300 * NS_PER_S), INT64_MAX);
	assert_int_equal(g->connects, 1);
	stop(f);
}

/* A stop may come before the connection that simd requests: the stop wins. */
TEST(no_connection_is_made_after_the_end)
{
	struct gate *g = gate_begin(true);
	struct fixture *f = connected(g);

	host_connection_close(f->host);
	assert_int_equal(f->host->status, SIM_BRIDGE_DISCONNECTED);
	host_connect(f->host, "late");
	assert_int_equal(f->host->status, SIM_BRIDGE_DISCONNECTED);
	assert_int_equal(g->connects, 1);
	assert_int_equal(host_connection_step(f->host, 200 * NS_PER_S), INT64_MAX);
	stop(f);
}

/* ---- lock-step ---- */

/* Behind the first lane: another one, with what it is sent. */
static void open_lane(struct fixture *f, struct sim_lane *lane)
{
	*lane = (struct sim_lane){ .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_OPEN, .lane = lane });
}

/* A packet of deliveries 500 + ticket. */
static void push_tickets(struct sim_lane *l, const struct sim_lane_ticket *tickets, unsigned n,
			 const struct sim_slot *slot)
{
	struct sim_lane_packet p = { .event = SIM_LANE_DELIVER, .count = n, .tickets = tickets };

	for (unsigned i = 0; i < n; i++)
		p.deliveries[i] = (struct sim_delivery){ .id = 500 + tickets[i].ticket,
							 .message = *MESSAGE_OF(slot),
							 .channel_id = 3 };
	push(l, p);
}

/* In lock-step a plug-in that knows nothing of that is called in the order of the tickets, whichever lane is first. */
TEST(a_plug_in_without_tickets_is_called_in_ticket_order)
{
	static const struct sim_lane_ticket own[] = { { 1, 0 }, { 2, 1 }, { 4, 3 }, { 5, 4 } },
					    thirds[] = { { 3, 2 }, { 6, 5 } };
	struct fixture *f = start_plugin(SHELF "/bridge_FROZEN.so", "{\"greeting\":\"hi\"}");
	static struct sim_lane lane;

	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_CONNECT, .text = (char *)"mixed" });
	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	open_lane(f, &lane);
	push_tickets(&lane, thirds, 2, &f->slot[0]);
	pace_us(20000); /* they might go ahead */
	push_tickets(&f->lane, own, 4, &f->slot[0]);
	await_answers(&lane, 2);
	await_answers(&f->lane, 4);
	for (unsigned i = 1; i <= 6; i++) /* it fails each third call */
		assert_int_equal(answer_of(i % 3 ? &f->lane : &lane, 500 + i), i % 3 ? 0 : -5);
	push(&lane, (struct sim_lane_packet){ .event = SIM_LANE_CLOSE });
	stop(f);
}

/* An unreadable slot, a message of a channel that is not carried, a lane that fails: each lets the next one go. */
TEST(every_ticket_is_passed_on)
{
	static const struct sim_lane_ticket one[] = { { 1, 0 }, { 3, 2 }, { 5, 4 } }, two[] = { { 2, 1 }, { 4, 3 } };
	struct sim_lane_packet p = { .event = SIM_LANE_DELIVER, .count = 2, .tickets = two };
	struct fixture *f = start("{\"mode\":\"fail\",\"every\":2}");
	static struct sim_lane lane, third;

	push_channel(&f->lane, 3, f->text, sizeof(f->text));
	open_lane(f, &lane);
	open_lane(f, &third);
	push_tickets(&f->lane, one, 3, &f->slot[0]);
	p.deliveries[0] = (struct sim_delivery){ .id = 502, .channel_id = 3 }; /* no body: answered already */
	p.deliveries[1] = (struct sim_delivery){ .id = 504, .message = *MESSAGE_OF(&f->slot[0]), .channel_id = 9 };
	push(&lane, p);
	await_answers(&f->lane, 3);
	await_answers(&lane, 1);
	assert_int_equal(answer_of(&lane, 504), SIM_LANE_NOT_CARRIED);
	assert_int_equal(answer_of(&f->lane, 503), -EIO);
	push_tickets(&f->lane, (const struct sim_lane_ticket[]){ { 7, 6 } }, 1,
		     &f->slot[0]); /* 6 is on the third lane */
	third.fails = true;
	push(&third, (struct sim_lane_packet){ .event = SIM_LANE_CLOSE });
	await_answers(&f->lane, 4);
	push(&lane, (struct sim_lane_packet){ .event = SIM_LANE_CLOSE });
	stop(f);
}

/*
 * simd sends the flush, with a ticket in the order of the messages; flushes go by wall time again when simd ends
 * lock-step.
 */
TEST(a_flush_of_lock_step_has_a_ticket)
{
	static const struct sim_lane_ticket first = { 1, 0 }, second = { 2, 1 }, third = { 3, 2 }, last = { 4, 3 };
	struct gate *g = gate_begin(true);
	struct fixture *f = connected(g);
	static struct sim_lane lane;

	host_flush_timed(f->host);
	assert_int_equal(g->flushes, 1);
	open_lane(f, &lane);
	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_FLUSH, .count = 1, .tickets = &second });
	push_tickets(&f->lane, &third, 1, &f->slot[0]);
	pace_us(2000); /* it might go ahead */
	assert_int_equal(g->flushes, 1);
	push_tickets(&lane, &first, 1, &f->slot[0]);
	await_answers(&f->lane, 2);
	assert_int_equal(g->flushes, 2);
	assert_int_equal(g->published_at_flush, 2);
	host_flush_timed(f->host);
	assert_int_equal(g->flushes, 2);
	push(&f->lane, (struct sim_lane_packet){ .event = SIM_LANE_FLUSH, .count = 0, .tickets = &last });
	AWAIT(g->flushes == 3);
	AWAIT((host_flush_timed(f->host), g->flushes == 4));
	push(&lane, (struct sim_lane_packet){ .event = SIM_LANE_CLOSE });
	stop(f);
}

/* ---- channels that the plug-in refuses ---- */

TEST(the_carried_topic_and_type_are_reported)
{
	struct gate *g = gate_begin(true);
	struct fixture *f = connected(g);

	assert_int_equal(f->lane.said, 1);
	assert_int_equal(f->lane.said_channel, 3);
	assert_int_equal(f->lane.said_result, 0);
	assert_string_equal(f->lane.said_name, "/test");
	assert_string_equal(f->lane.said_type, "nothing");
	stop(f);
}

/* Behind the type, until the channel is opened again; of a channel that there is not, nothing. */
TEST(later_remarks_about_a_channel_are_reported)
{
	struct gate *g = gate_begin(true);
	struct fixture *f = connected(g);

	f->host->services.remark(f->host, 4, "accepted");
	assert_int_equal(f->lane.said, 1);
	f->host->services.remark(f->host, 3, "accepted");
	assert_int_equal(f->lane.said, 2);
	assert_string_equal(f->lane.said_type, "nothing (accepted)");
	lose(g);
	host_connection_step(f->host, 0);
	host_connection_step(f->host, NS_PER_S);
	host_connection_step(f->host, NS_PER_S);
	assert_string_equal(f->lane.said_type, "nothing");
	stop(f);
}

TEST(a_refused_channel_is_reported)
{
	struct gate *g = gate_begin(true);
	struct fixture *f;

	g->refuse_open = true;
	f = connected(g);
	assert_int_equal(answer_of(&f->lane, 1), SIM_LANE_NOT_CARRIED);
	assert_int_equal(f->host->failed, 0);
	assert_int_equal(f->lane.said_result, -5);
	assert_string_equal(f->lane.said_name, "not this one"); /* less the channel's name */

	/* it comes back, and still does not want it: in its words, or in ours; then it does */
	g->silent = true;
	lose(g);
	host_connection_step(f->host, 0);
	host_connection_step(f->host, NS_PER_S);
	host_connection_step(f->host, NS_PER_S);
	assert_int_equal(f->lane.said, 2);
	assert_string_equal(f->lane.said_name, "Input/output error");
	g->refuse_open = false;
	lose(g);
	host_connection_step(f->host, 2 * NS_PER_S);
	host_connection_step(f->host, 20 * NS_PER_S);
	host_connection_step(f->host, 20 * NS_PER_S);
	assert_int_equal(f->lane.said, 3);
	assert_int_equal(f->lane.said_result, 0);
	push_slot(&f->lane, 2, 3, &f->slot[0]);
	await_answers(&f->lane, 2);
	assert_int_equal(answer_of(&f->lane, 2), 0);
	stop(f);
}
