/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A class with few free slots: in whatever order its users connect, and after a restart, no client is refused for good.
 */
#include "scenario/client/imu.h"
#include "registry/channel.h"
#include "registry/queues.h"
#include "registry/simd.h"
#include "libclient/src/subscriber.h"

#include <errno.h>
#include <string.h>

#define LONG 900000 /* of the world's largest slots: there are 60 */

WORLD_FIXTURE(1, "");

static struct sim_publisher *camera(struct sim_client *c, const char *channel, unsigned flags)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = LONG, .flags = flags };
	struct sim_publisher *p;

	if (sim_advertise(c, channel, &sim_Imu_type, &o, &p) < 0)
		fail_msg("%s: %s", channel, sim_why());
	return p;
}

static int (*plain_wait)(void *arg, int fd, short events, int64_t timeout_dur_ns);
static struct sim_client *beside; /* runs while another client waits */
static bool looks_beside;         /* ... and then simd looks whether queues can have more */

static int wait_with_another(void *arg, int fd, short events, int64_t timeout_dur_ns)
{
	struct sim_client *c = beside;

	beside = NULL; /* its own waits are plain ones */
	if (c)
		sim_process(c);
	if (c && looks_beside)
		queues_look(w.simd);
	beside = c;
	return plain_wait(arg, fd, events, timeout_dur_ns);
}

static int setup_beside(void **state)
{
	setup(state);
	beside = NULL;
	looks_beside = false;
	plain_wait = w.env.wait;
	w.env.wait = wait_with_another;
	return 0;
}

static void run(struct sim_client *c, int64_t dur_ns)
{
	for (int64_t t = 0; t < dur_ns; t += 20 * MS) {
		world_run(&w, 20 * MS);
		sim_process(c);
	}
}

static void fill(struct sim_client *c, struct sim_publisher *p[5])
{
	static const char *const names[] = { "a", "b", "c", "d", "e" };

	for (int i = 0; i < 5; i++)
		p[i] = camera(c, names[i], SIM_PUB_LOCAL);
}

static void clear(struct sim_publisher *p[5])
{
	for (int i = 0; i < 5; i++)
		sim_publisher_destroy(p[i]);
}

static struct sim_subscriber *deep(struct sim_client *c, const char *channel)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 256 };
	struct sim_subscriber *s;

	if (sim_subscribe(c, channel, &sim_Imu_type, &o, &s) < 0)
		fail_msg("%s: %s", channel, sim_why());
	assert_int_equal(sim_subscriber_depth(s), 256);
	return s;
}

static void restart_simd(struct sim_client *c)
{
	world_kill_simd(&w);
	world_until(&w, c, SIM_CLIENT_RECONNECTING);
	world_start_simd(&w);
}

/*
 * The ports live on, so the new simd is asked for the depths that they have: 32 for each would leave nothing for the
 * publisher.
 */
TEST_WITH(a_queue_keeps_its_depth_over_a_restart, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = camera(c, "camera", SIM_PUB_LOCAL);
	struct sim_subscriber *s[2];
	uint32_t depth[2];

	for (int i = 0; i < 2; i++) {
		s[i] = imu_subscribe(c, "camera", 0);
		depth[i] = sim_subscriber_depth(s[i]);
		assert_in_range(depth[i], 2, 31);
	}
	restart_simd(c);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	for (int i = 0; i < 2; i++)
		assert_int_equal(sim_subscriber_depth(s[i]), depth[i]);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	for (int i = 0; i < 2; i++) {
		imu_expect(s[i], 1);
		sim_subscriber_destroy(s[i]);
	}
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* Another client is faster with the new simd, and leaves later. */
TEST_WITH(a_publisher_refused_after_a_restart_returns_when_there_is_memory, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0), *fast;
	struct sim_publisher *p = camera(c, "camera", SIM_PUB_NO_WAIT), *others[5], *last;
	struct sim_slot *slot;

	restart_simd(c);
	fast = world_client(&w, "fast", 0);
	fill(fast, others);
	last = camera(fast, "f", SIM_PUB_LOCAL);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_loan(p, LONG, &slot), -ENOSPC);
	clear(others);
	sim_publisher_destroy(last);
	run(c, 2 * S);
	assert_int_equal(sim_client_state(c), SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, NULL, NULL), 0);
	sim_publisher_destroy(p);
	sim_disconnect(fast);
	sim_disconnect(c);
}

/* The subscriber is there first, and asks for more than the class has. */
TEST_WITH(a_deep_queue_gives_way_to_large_messages, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_subscriber *s = deep(c, "camera");
	struct sim_publisher *p = camera(c, "camera", 0);
	uint32_t depth = sim_subscriber_depth(s);

	assert_in_range(depth, 8, 32);
	for (uint64_t i = 1; i <= depth; i++)
		assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	for (uint64_t i = 1; i <= depth; i++)
		imu_expect(s, i);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* The queue has messages in it, and none is lost. */
TEST_WITH(a_queue_gives_way_while_messages_flow, setup_beside, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0), *d = world_client(&w, "reader", 0);
	struct sim_subscriber *s = deep(d, "imu"), *own = deep(c, "imu");
	struct sim_subscriber_stats st;
	struct sim_publisher *p;
	struct sim_slot *slot;

	beside = d;
	p = imu_advertise(c, "imu", 0);
	assert_int_equal(sim_subscriber_depth(s), 32); /* of 200 slots */
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	imu_expect(own, 1);
	beside = NULL;
	imu_expect(s, 1);
	beside = d;
	if (sim_loan(p, LONG, &slot) < 0)
		fail_msg("%s", sim_why());
	beside = NULL;
	assert_int_equal(sim_unloan(p, slot), 0);
	assert_in_range(sim_subscriber_depth(s), 2, 16);
	assert_in_range(sim_subscriber_depth(own), 2, 16);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	imu_expect(own, 2);
	imu_expect(s, 2);
	sim_subscriber_stats(s, &st);
	assert_int_equal(st.lost, 0);
	assert_int_equal(st.received, 2);
	sim_subscriber_destroy(s);
	sim_subscriber_destroy(own);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	sim_disconnect(d);
}

/*
 * A stopped client keeps its queue: the publisher is refused, with the numbers, and is admitted when the client
 * continues.
 */
TEST_WITH(a_publisher_waits_for_a_stopped_client_to_shrink_its_queue, setup, teardown)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = LONG };
	struct sim_client *c = world_client(&w, "sensor", 0), *d = world_client(&w, "reader", 0);
	struct sim_subscriber *s = deep(d, "camera");
	int64_t before = client_now(c);
	struct sim_publisher *p;

	assert_int_equal(sim_advertise(c, "camera", &sim_Imu_type, &o, &p), -ENOSPC);
	assert_non_null(strstr(sim_why(), "slots of up to"));
	assert_in_range(client_now(c) - before, S, 10 * S);
	assert_int_equal(sim_subscriber_depth(s), 256);
	run(d, S);
	p = camera(c, "camera", 0);
	assert_in_range(sim_subscriber_depth(s), 2, 32);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	imu_expect(s, 1);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	sim_disconnect(d);
}

TEST_WITH(a_queue_gets_deeper_when_slots_become_free, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = camera(c, "camera", SIM_PUB_LOCAL), *others[5];
	struct sim_subscriber *s;

	fill(c, others);
	s = imu_subscribe(c, "camera", 0);
	assert_in_range(sim_subscriber_depth(s), 2, 5);
	clear(others);
	run(c, 4 * S);
	assert_int_equal(sim_subscriber_depth(s), 12); /* the window of such messages */
	for (uint64_t i = 1; i <= 20; i++)
		assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	for (uint64_t i = 9; i <= 20; i++)
		imu_expect(s, i);
	assert_int_equal(sim_wait(s, 0), 0);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

static struct subscriber *only_subscriber(const char *channel)
{
	const struct channel *ch = channel_find(w.simd, channel);

	assert_non_null(ch);
	return list_first(&ch->subscribers, struct subscriber, in_channel);
}

/*
 * The client may already have created the longer queue, or be about to: simd counts the longer one until the client
 * reports otherwise.
 */
TEST_WITH(a_queue_that_is_being_lengthened_can_be_shortened, setup_beside, teardown)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = LONG, .flags = SIM_PUB_LOCAL };
	struct sim_client *c = world_client(&w, "sensor", 0), *d = world_client(&w, "reader", 0);
	struct sim_publisher *p = camera(c, "camera", SIM_PUB_LOCAL), *others[5], *second;
	const struct subscriber *sub;
	struct sim_subscriber *s;

	fill(c, others);
	s = imu_subscribe(d, "camera", 0);
	assert_int_equal(sim_subscriber_depth(s), 4);
	sub = only_subscriber("/car/camera");
	clear(others);
	run(c, 2 * S);
	assert_int_equal(sub->offered, 12);
	for (int i = 0; i < 4; i++)
		others[i] = camera(c, (const char *[]){ "a", "b", "c", "d" }[i], SIM_PUB_LOCAL);
	assert_int_equal(sim_advertise(c, "camera", &sim_Imu_type, &o, &second), -ENOSPC);
	assert_int_equal(sub->offered, 4);
	assert_int_equal(subscriber_holds(sub), 12);
	run(d, S);
	beside = d; /* simd may have offered it more again */
	second = camera(c, "camera", SIM_PUB_LOCAL);
	beside = NULL;
	assert_int_equal(sim_subscriber_depth(s), 4);
	sim_publisher_destroy(second);
	for (int i = 0; i < 4; i++)
		sim_publisher_destroy(others[i]);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	sim_disconnect(d);
}

/* simd looks for queues that can have more between two tries of the publisher. */
TEST_WITH(slots_from_a_shortened_queue_go_to_the_waiting_publisher, setup_beside, teardown)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct sim_client *c = world_client(&w, "sensor", 0), *d = world_client(&w, "reader", 0);
	struct sim_publisher *p[6] = { camera(c, "camera", SIM_PUB_LOCAL) };
	struct sim_subscriber *s;
	int64_t begin;

	for (int i = 0; i < 4; i++)
		p[i + 1] = camera(c, names[i], SIM_PUB_LOCAL);
	s = imu_subscribe(d, "camera", 0);
	assert_int_equal(sim_subscriber_depth(s), 12);
	beside = d;
	looks_beside = true;
	begin = exec_now(w.simd->x);
	p[5] = camera(c, "camera", SIM_PUB_LOCAL);
	assert_in_range(exec_now(w.simd->x) - begin, 0,
			S); /* at the first retry, not after rounds of cutting and growing */
	beside = NULL;
	assert_int_equal(sim_subscriber_depth(s), 4);
	for (int i = 0; i < 6; i++)
		sim_publisher_destroy(p[i]);
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	sim_disconnect(d);
}

static int setup_given(void **state)
{
	(void)state;
	world_create(&w, 1,
		     "{\"backend\": \"mem\", \"TimeSource\": \"unity\", "
		     "\"pools\": [{\"size\": 512, \"count\": 4000}, {\"size\": 65536, \"count\": 200}, "
		     "{\"size\": 1048576, \"count\": 60}], "
		     "\"rigs\": [{\"name\": \"car\", \"prefix\": \"/car\", "
		     "\"channels\": [{\"name\": \"camera\", \"window\": 30}]}]}");
	return 0;
}

/* The window is as the rig has it, and no queue is cut for a smaller one: 9 and 30 are more than the 15 that others leave. */
TEST_WITH(no_queue_is_shortened_if_that_would_not_suffice, setup_given, teardown)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = LONG };
	struct sim_client *c = world_client(&w, "sensor", 0), *d = world_client(&w, "reader", 0);
	struct sim_subscriber *s = imu_subscribe(d, "camera", 0);
	struct sim_publisher *others[5], *p;

	fill(c, others);
	assert_int_equal(sim_advertise(c, "camera", &sim_Imu_type, &o, &p), -ENOSPC);
	assert_int_equal(only_subscriber("/car/camera")->offered, 0);
	clear(others);
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	sim_disconnect(d);
}

/* ---- an offer that its client does not take up at once ---- */

static struct {
	struct sim_client *c, *d;
	struct sim_publisher *p;
	struct sim_subscriber *s;
	const struct subscriber *sub;
} offer;

static int (*plain_wait_of_offer)(void *arg, int fd, short events, int64_t timeout_dur_ns);
static int64_t (*plain_now)(void *arg);
static bool simd_stands_still;
static int64_t ahead_dur_ns; /* how far the client's clock is ahead: its waits while simd stood still */

static int64_t now_ahead(void *arg)
{
	return plain_now(arg) + ahead_dur_ns;
}

static int wait_in_vain(void *arg, int fd, short events, int64_t timeout_dur_ns)
{
	if (!simd_stands_still)
		return plain_wait_of_offer(arg, fd, events, timeout_dur_ns);
	ahead_dur_ns += timeout_dur_ns;
	return 0;
}

/* Makes a queue of 4 and an offer to lengthen it to 12, which its client has not read yet. */
static int setup_offer(void **state)
{
	struct sim_publisher *others[5];

	setup(state);
	simd_stands_still = false;
	ahead_dur_ns = 0;
	plain_wait_of_offer = w.env.wait;
	plain_now = w.env.now;
	w.env.wait = wait_in_vain;
	w.env.now = now_ahead;
	offer.c = world_client(&w, "sensor", 0);
	offer.d = world_client(&w, "reader", 0);
	offer.p = camera(offer.c, "camera", SIM_PUB_LOCAL);
	fill(offer.c, others);
	offer.s = imu_subscribe(offer.d, "camera", 0);
	offer.sub = only_subscriber("/car/camera");
	clear(others);
	run(offer.c, 2 * S);
	assert_int_equal(sim_subscriber_depth(offer.s), 4);
	assert_int_equal(offer.sub->offered, 12);
	return 0;
}

/* simd counts what the client has, and there is room for all of it. */
static int teardown_offer(void **state)
{
	run(offer.c, S);
	run(offer.d, 4 * S);
	assert_int_equal(sim_subscriber_depth(offer.s), 12);
	assert_int_equal(offer.sub->depth, 12);
	assert_int_equal(offer.sub->offered, 0);
	sim_subscriber_destroy(offer.s);
	sim_publisher_destroy(offer.p);
	sim_disconnect(offer.c);
	sim_disconnect(offer.d);
	return teardown(state);
}

TEST_WITH(a_call_that_simd_did_not_answer_is_repeated, setup_offer, teardown_offer)
{
	simd_stands_still = true;
	sim_process(offer.d);
	simd_stands_still = false;
	assert_in_range(ahead_dur_ns, S, 20 * S); /* the client has asked, and waited for the answer */
	assert_int_equal(sim_client_state(offer.d), SIM_CLIENT_CONNECTED);
}

TEST_WITH(a_longer_queue_that_cannot_be_created_is_created_later, setup_offer, teardown_offer)
{
	ipc_mem_roudi_stop(w.bus, true);
	run(offer.d, 200 * MS);
	ipc_mem_roudi_stop(w.bus, false);
	assert_int_equal(offer.sub->offered, 12);
}

TEST_WITH(the_data_plane_may_restart_while_a_queue_is_lengthened, setup_offer, teardown_offer)
{
	while (!offer.s->fresh)
		run(offer.d, 20 * MS);
	world_kill_roudi(&w);
	world_start_roudi(&w);
}

/* Like a subscriber that keeps the newest map in place; simd is notified when the message is released. */
TEST_WITH(a_message_of_the_old_queue_is_held_for_long, setup_offer, teardown_offer)
{
	const struct sim_message *held;
	unsigned n_looks = 0;
	int64_t next = 0;

	assert_int_equal(sim_publish_local(offer.p, imu_loan(offer.p)), 0);
	assert_int_equal(sim_wait(offer.s, 0), 1);
	assert_int_equal(sim_take(offer.s, &held), 0);
	for (unsigned i = 0; i < 500; i++) {
		run(offer.d, 20 * MS);
		n_looks += offer.s->depth_mono_ns != next;
		next = offer.s->depth_mono_ns;
	}
	assert_int_equal(offer.sub->offered, 12);
	assert_in_range(n_looks, 5, 20);
	assert_int_equal(sim_release(offer.s, held), 0);
}

/* simd and the data plane are both new, and the subscribers connect first. */
TEST_WITH(queues_survive_a_restart_of_simd_and_the_data_plane, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = camera(c, "camera", SIM_PUB_LOCAL);
	struct sim_subscriber *s[3];

	for (int i = 0; i < 3; i++)
		s[i] = imu_subscribe(c, "camera", 0);
	world_kill_roudi(&w);
	world_kill_simd(&w);
	assert_int_equal(ipc_mem_roudi_start(w.bus), 0);
	w.life++;
	world_start_simd(&w);
	run(c, 4 * S);
	assert_int_equal(sim_client_state(c), SIM_CLIENT_CONNECTED);
	if (sim_publish_local(p, imu_loan(p)) < 0)
		fail_msg("%s", sim_why());
	for (int i = 0; i < 3; i++) {
		imu_expect(s[i], 1);
		assert_in_range(sim_subscriber_depth(s[i]), 2, 16);
		sim_subscriber_destroy(s[i]);
	}
	sim_publisher_destroy(p);
	sim_disconnect(c);
}
