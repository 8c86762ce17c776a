/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reality mode, with the semantics of Cyber's readers and timers: messages queued for a slow callback, the result of
 * observe, one receiver for all readers of a host, timers that follow a driver. A callback that waits here waits for
 * the test, so nothing depends on speed.
 */
#include "scenario/client/world.h"

#include <errno.h>
#include <stdatomic.h>

#include <sim/component.h>
#include <sim/msg/Int32.h>

static struct world w;
static struct sim_client *client;
static struct sim_host *h;
static struct sim_node *n;
static struct sim_node_writer *wr;

/* Calls of callbacks that take their time. */
static _Atomic int32_t got[256];
static _Atomic unsigned n_got;
static _Atomic bool gate;

/* A program with a writer; its readers have each message when the call returns. */
static int setup(void **state)
{
	struct sim_host_options o = { .size = sizeof(o) };
	struct sim_node_writer_options wo = { .size = sizeof(wo), .local = true };

	(void)state;
	atomic_store(&n_got, 0);
	world_create_threads(&w, "");
	client = o.client = world_client(&w, "p", 0);
	if (sim_host_create(&o, &h) < 0 || sim_node_create(h, "p", &n) < 0 ||
	    sim_node_writer_create(n, "x", &sim_Int32_type, &wo, &wr) < 0)
		fail_msg("%s", sim_why());
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_node_writer_destroy(wr);
	sim_node_destroy(n);
	sim_host_stop(h);
	sim_host_destroy(h);
	sim_disconnect(client);
	world_destroy(&w);
	return 0;
}

static void send(struct sim_node_writer *to, int32_t v)
{
	struct sim_Int32 m = { .data = v };

	if (sim_node_write_copy(to, &m, sizeof(m), 0) < 0)
		fail_msg("%s", sim_why());
}

static int32_t value(const struct sim_message *m)
{
	return sim_Int32_from(m->body, m->body_size)->data;
}

/* ---- a callback that takes its time ---- */

static void take_time(int32_t v)
{
	atomic_store(&got[atomic_load(&n_got) % 256], v);
	atomic_fetch_add(&n_got, 1);
	AWAIT(atomic_load(&gate));
}

/*
 * Sends v, and waits until the reader's callback is called for it. From then on the callback blocks until the gate
 * opens.
 */
static void shut(int32_t v)
{
	unsigned before = atomic_load(&n_got);

	atomic_store(&gate, false);
	send(wr, v);
	AWAIT(atomic_load(&n_got) == before + 1);
}

static void open_until(unsigned calls)
{
	atomic_store(&gate, true);
	AWAIT(atomic_load(&n_got) == calls);
}

static void slow_reader(void *user, const struct sim_message *m)
{
	(void)user;
	take_time(value(m));
}

/*
 * Ten messages fit, and arrive in order; of a hundred the newest arrives, and the others are counted. Observe shows its
 * own three.
 */
TEST_WITH(a_slow_reader_continues_with_the_newest, setup, teardown)
{
	struct sim_node_reader_options o = { .size = sizeof(o), .depth = 3, .pending = 10 };
	struct sim_node_reader_stats st;
	struct sim_node_reader *r;

	assert_int_equal(sim_node_reader_create(n, "x", NULL, &o, slow_reader, NULL, &r), 0);
	assert_int_equal(sim_host_start(h), 0);
	shut(1);
	for (int i = 2; i <= 11; i++)
		send(wr, i);
	open_until(11);
	for (int i = 0; i < 11; i++)
		assert_int_equal(got[i], i + 1);
	shut(12);
	for (int i = 13; i <= 112; i++)
		send(wr, i);
	sim_node_reader_observe(r);
	open_until(13);
	assert_int_equal(got[12], 112);
	assert_int_equal(sim_node_reader_count(r), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(value(sim_node_reader_get(r, i)), 112 - (int)i);
	shut(113); /* behind it nothing waits */
	sim_node_reader_stats(r, &st);
	assert_int_equal(st.received, 113);
	assert_int_equal(st.processed, 14);
	assert_int_equal(st.overrun, 99);
	assert_int_equal(st.lost, 0);
	atomic_store(&gate, true);
	sim_node_reader_destroy(r);
}

/* ---- a component that takes its time ---- */

static int slow_proc(struct sim_component *c, void *self, const struct sim_message *const *m)
{
	(void)c;
	(void)self;
	take_time(value(m[0]) * 1000 + value(m[1]));
	return 0;
}

static const struct sim_component_class slow_class = {
	.abi = SIM_COMPONENT_ABI,
	.size = sizeof(slow_class),
	.name = "Slow",
	.n_inputs = 2,
	.inputs = { &sim_Int32_type, &sim_Int32_type },
	.proc = slow_proc,
};

/*
 * The ring has the pending size of input 0, whatever the partner's; a tuple has the partner that was the newest when it
 * was made.
 */
TEST_WITH(a_slow_component_continues_with_the_newest_tuple, setup, teardown)
{
	struct sim_component_options o = { .size = sizeof(o),
					   .name = "slow",
					   .n_inputs = 2,
					   .input = { { .channel = "x", .pending = 4 },
						      { .channel = "y", .pending = 99 } } };
	struct sim_node_writer_options wo = { .size = sizeof(wo), .local = true };
	struct sim_component_stats st;
	struct sim_node_writer *y;
	struct sim_component *c;

	assert_int_equal(sim_node_writer_create(n, "y", &sim_Int32_type, &wo, &y), 0);
	assert_int_equal(sim_component_create(h, &slow_class, &o, &c), 0);
	assert_int_equal(sim_host_start(h), 0);
	send(wr, 1); /* lost: the other input has no message yet */
	send(y, 7);
	shut(2);
	for (int i = 3; i <= 6; i++)
		send(wr, i);
	send(y, 8);
	open_until(5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(got[i], (i + 2) * 1000 + 7);
	shut(7);
	for (int i = 8; i <= 17; i++)
		send(wr, i);
	open_until(7);
	assert_int_equal(got[5], 7008);
	assert_int_equal(got[6], 17008);
	shut(18);
	sim_component_stats(c, &st);
	assert_int_equal(st.overrun, 9);
	assert_int_equal(st.unmatched[1], 1);
	assert_int_equal(st.proc, 7);
	assert_true(st.since_mono_ns != 0); /* it is in proc */
	atomic_store(&gate, true);
	sim_component_destroy(c);
	sim_node_writer_destroy(y);
}

/* ---- one receiver ---- */

static void count(void *user, const struct sim_message *m)
{
	_Atomic int32_t *sum = user;

	atomic_fetch_add(sum, value(m));
}

static int64_t subscribers_of_x(void)
{
	json_t *o, *e, *list;
	int64_t ret = -1;
	char *json;
	size_t i;

	assert_int_equal(sim_call(client, "ListChannels", NULL, &json), 0);
	o = json_loads(json, 0, NULL);
	list = json_object_get(o, "channels");
	json_array_foreach(list, i, e)
		if (strcmp(json_string_value(json_object_get(e, "name")), "/car/x") == 0)
			ret = (int64_t)json_array_size(json_object_get(e, "subscribers"));
	json_decref(o);
	free(json);
	return ret;
}

TEST_WITH(a_host_receives_a_channel_once_for_all_its_readers, setup, teardown)
{
	struct sim_node_reader_options o = { .size = sizeof(o), .pending = 64 };
	struct sim_node_reader *r[3];
	_Atomic int32_t sum[3] = { 0 };
	struct sim_node *node[3];
	char name[8];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(sim_node_create(h, name, &node[i]), 0);
		assert_int_equal(sim_node_reader_create(node[i], "x", NULL, &o, count, &sum[i], &r[i]), 0);
		assert_int_equal(subscribers_of_x(), 1);
	}
	assert_int_equal(sim_host_start(h), 0);
	for (int i = 1; i <= 10; i++)
		send(wr, i);
	for (int i = 0; i < 3; i++) {
		AWAIT(atomic_load(&sum[i]) == 55);
		assert_int_equal(subscribers_of_x(), 1);
		sim_node_reader_destroy(r[i]);
		sim_node_destroy(node[i]);
	}
	assert_int_equal(subscribers_of_x(), 0);
}

/* ---- timers ---- */

struct ticks {
	int64_t period_ms;
	_Atomic uint64_t calls, periods; /* periods: including those that one call stands for */
	_Atomic int64_t due_ms;
	struct sim_node_timer *t;
};

static void tick(void *user, int64_t due_sim_ns, uint64_t missed)
{
	struct ticks *k = user;

	atomic_store(&k->due_ms, due_sim_ns / MS);
	atomic_fetch_add(&k->calls, 1);
	atomic_fetch_add(&k->periods, 1 + missed);
}

static void timer_new(struct ticks *k, int64_t period_ms, bool one_shot)
{
	k->period_ms = period_ms;
	if (sim_node_timer_create(n, NULL, period_ms * MS, one_shot, tick, k, &k->t) < 0)
		fail_msg("%s", sim_why());
}

/*
 * Wall time does not matter: timers fire when the driver has moved simulated time to their due time, and each period
 * counts once.
 */
TEST_WITH(timers_follow_the_driver, setup, teardown)
{
	static struct ticks k[1000], once;
	struct sim_client *driver = world_client(&w, "driver", 0);
	struct sim_driver *d;
	int64_t began_ms;

	assert_int_equal(sim_driver_acquire(driver, 0, &d), 0);
	assert_int_equal(sim_driver_advance(d, MS, NULL), 0);
	began_ms = sim_host_now(h) / MS;
	assert_int_equal(sim_host_start(h), 0);
	timer_new(&once, 100, true);
	for (int i = 0; i < 1000; i++)
		timer_new(&k[i], i + 1, false);
	assert_int_equal(sim_driver_advance(d, 90 * MS, NULL), 0);
	for (int i = 0; i < 90; i++)
		AWAIT(atomic_load(&k[i].periods) == 90u / (unsigned)(i + 1));
	assert_int_equal(once.calls, 0);
	assert_int_equal(k[90].calls, 0);
	assert_int_equal(sim_driver_advance(d, 10 * MS, NULL), 0);
	AWAIT(atomic_load(&once.calls) == 1);
	assert_int_equal(once.due_ms, began_ms + 100);
	for (int i = 0; i < 9; i++)
		assert_int_equal(sim_driver_advance(d, 100 * MS, NULL), 0);
	for (unsigned i = 0; i < 1000; i++) {
		AWAIT(atomic_load(&k[i].periods) == 1000u / (i + 1));
		sim_node_timer_destroy(k[i].t);
	}
	assert_int_equal(once.calls, 1);
	assert_int_equal(sim_host_advance(h, 0), -EINVAL); /* only for hosts without simd */
	sim_node_timer_destroy(once.t);
	sim_driver_release(d);
	sim_disconnect(driver);
}
