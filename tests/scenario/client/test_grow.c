/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages longer than their publisher announced: the channel gets larger slots, while other messages of the channel
 * are in flight.
 */
#include "scenario/client/imu.h"
#include "libclient/src/publisher.h"
#include "registry/channel.h"
#include "registry/client.h"
#include "registry/simd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LONG   900000 /* of the world's largest slots, where the window is 12 */
#define SHORTS 20

WORLD_FIXTURE(1, "");

static struct sim_slot *long_loan(struct sim_publisher *p)
{
	struct sim_slot *slot;

	if (sim_loan(p, LONG, &slot) < 0)
		fail_msg("%s", sim_why());
	assert_int_equal(slot->body_size, LONG);
	memset(sim_slot_body_mut(slot), 0x5a, LONG);
	return slot;
}

/* Answers all messages that are under way. Returns their number; ret_long: how many of them are long. */
static unsigned answer_all(struct bridge_peer *b, unsigned *ret_long)
{
	unsigned n, all = 0;

	*ret_long = 0;
	while ((n = bridge_next(b, 100)) > 0) {
		for (unsigned i = 0; i < n; i++) {
			const struct sim_message *m = &b->p.deliveries[i].message;

			if (m->header.body_size != LONG)
				continue;
			assert_int_equal(((const uint8_t *)m->body)[LONG - 1], 0x5a);
			++*ret_long;
		}
		all += n;
		bridge_answer(b, 0);
	}
	return all;
}

TEST_WITH(a_longer_message_gets_larger_slots, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", SIM_PUB_NO_WAIT);
	struct sim_slot *early = imu_loan(p), *slot;
	struct outcome done = { 0 };
	struct bridge_peer b;
	unsigned n_long;

	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	for (int i = 0; i < SHORTS; i++)
		assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	/*
	 * more messages are in flight than the new window has room for: none is lost, and the next ones wait for them
	 */
	slot = long_loan(p);
	assert_int_equal(sim_try_queue(p, slot, NULL, on_done, &done), -EAGAIN);
	assert_int_equal(answer_all(&b, &n_long), SHORTS);
	world_process(&w, c);
	assert_int_equal(done.ok, SHORTS);
	for (int i = 0; i < 12; i++)
		assert_int_equal(sim_try_queue(p, long_loan(p), NULL, on_done, &done), 0);
	slot = long_loan(p);
	assert_int_equal(sim_try_queue(p, slot, NULL, on_done, &done), -EAGAIN);
	assert_int_equal(answer_all(&b, &n_long), 12);
	assert_int_equal(n_long, 12);
	/* a slot that was loaned before the growth can still be published */
	assert_int_equal(sim_try_queue(p, early, NULL, on_done, &done), 0);
	assert_int_equal(answer_all(&b, &n_long), 1);
	world_process(&w, c);
	assert_int_equal(done.ok, SHORTS + 12 + 1);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	bridge_end(&b);
}

TEST_WITH(a_subscriber_receives_the_longer_message_too, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0), *d = world_client(&w, "reader", 0);
	struct sim_subscriber *s = imu_subscribe(d, "imu", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	uint8_t *body = malloc(LONG);

	assert_non_null(body);
	memset(body, 0x5a, LONG);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	assert_int_equal(sim_publish_local(p, long_loan(p)), 0);
	assert_int_equal(sim_try_queue_copy(p, body, LONG, 0, NULL, NULL, NULL), 0);
	for (uint64_t i = 1; i <= 3; i++)
		imu_expect(s, i);
	sim_publisher_destroy(p);
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	sim_disconnect(d);
	free(body);
}

TEST_WITH(without_free_memory_the_slot_size_stays, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_subscriber *s = imu_subscribe(c, "two", 0);
	struct sim_publisher *one = imu_advertise(c, "one", 0), *two = imu_advertise(c, "two", 0), *more[3];
	static const char *const names[] = { "a", "b", "c" };
	struct sim_slot *slot;

	assert_int_equal(sim_publish_local(one, long_loan(one)), 0);
	for (int i = 0; i < 3; i++) { /* leaves fewer slots than channel two needs with the shortest queue */
		more[i] = imu_advertise(c, names[i], SIM_PUB_LOCAL);
		assert_int_equal(sim_publish_local(more[i], long_loan(more[i])), 0);
	}
	assert_int_equal(sim_loan(two, LONG, &slot), -ENOSPC);
	assert_non_null(strstr(
		sim_why(),
		"channel two: a message of 900000 bytes, longer than the 352 that were announced: /car/two needs"));
	assert_non_null(strstr(sim_why(), "slots of up to"));
	assert_int_equal(sim_loan(two, 1 << 22, &slot), -EMSGSIZE);
	assert_non_null(strstr(sim_why(), "largest slot"));
	assert_int_equal(sim_publish_local(two, imu_loan(two)), 0);
	imu_expect(s, 1);
	for (int i = 0; i < 3; i++)
		sim_publisher_destroy(more[i]);
	sim_publisher_destroy(one);
	sim_publisher_destroy(two);
	sim_subscriber_destroy(s);
	sim_disconnect(c);
}

/*
 * The class has 60 slots, and each publisher takes 9 and a window of 12: the third gets half a window, until another
 * leaves.
 */
TEST_WITH(a_window_gives_way_before_a_channel_is_refused, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = LONG, .flags = SIM_PUB_NO_WAIT };
	static const char *const names[] = { "one", "another", "third" };
	struct outcome done = { 0 };
	struct sim_publisher *p[3];
	struct bridge_peer b;
	unsigned n_long;

	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sim_advertise(c, names[i], &sim_Imu_type, &o, &p[i]), 0);
	assert_int_equal(channel_find(w.simd, "/car/another")->window, 12);
	assert_int_equal(channel_find(w.simd, "/car/third")->window, 6);
	for (int i = 0; i < 6; i++)
		assert_int_equal(sim_try_queue(p[2], long_loan(p[2]), NULL, on_done, &done), 0);
	assert_int_equal(sim_try_queue(p[2], long_loan(p[2]), NULL, on_done, &done), -EAGAIN);
	assert_int_equal(answer_all(&b, &n_long), 6);
	world_process(&w, c);
	assert_int_equal(done.ok, 6);
	sim_publisher_destroy(p[0]);
	world_run(&w, 2 * S);
	assert_int_equal(channel_find(w.simd, "/car/third")->window, 12);
	for (int i = 0; i < 12; i++)
		assert_int_equal(sim_try_queue(p[2], long_loan(p[2]), NULL, on_done, &done), 0);
	assert_int_equal(sim_try_queue(p[2], long_loan(p[2]), NULL, on_done, &done), -EAGAIN);
	assert_int_equal(answer_all(&b, &n_long), 12);
	world_process(&w, c);
	assert_int_equal(done.ok, 18);
	for (int i = 1; i < 3; i++)
		sim_publisher_destroy(p[i]);
	sim_disconnect(c);
	bridge_end(&b);
}

static void be_user(const char *name, uid_t uid)
{
	struct client *cl;

	list_for_each(cl, &w.simd->clients, link)
		if (strcmp(cl->name, name) == 0)
			cl->uid = uid;
}

/* A user may have half of the class: 9 and 9, and a window of 3, leave no room for 9 more of the window, twice. */
TEST_WITH(a_window_grows_no_further_than_the_quota_of_its_user, setup, teardown)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = LONG };
	struct sim_client *c = world_client(&w, "sensor", 0), *d = world_client(&w, "other", 0);
	static const char *const names[] = { "one", "two", "three", "four", "narrow" };
	const struct channel *narrow;
	struct sim_publisher *p[5];
	struct bridge_peer b;

	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	for (int i = 0; i < 5; i++) {
		o.flags = i == 1 || i == 2 || i == 3 ? SIM_PUB_LOCAL : SIM_PUB_NO_WAIT;
		assert_int_equal(sim_advertise(i < 3 ? c : d, names[i], &sim_Imu_type, &o, &p[i]), 0);
	}
	narrow = channel_find(w.simd, "/car/narrow");
	assert_int_equal(narrow->window, 3);
	be_user("other", 64001);
	w.simd->limits.per_user_percent = 50;
	for (int i = 0; i < 3; i++)
		sim_publisher_destroy(p[i]);
	world_run(&w, 3 * S);
	assert_int_equal(narrow->window, 3);
	sim_publisher_destroy(p[3]);
	world_run(&w, 3 * S);
	assert_int_equal(narrow->window, 12);
	sim_publisher_destroy(p[4]);
	sim_disconnect(c);
	sim_disconnect(d);
	bridge_end(&b);
}

/*
 * Of the user's 30 slots 18 are taken: the window gets what is left beside the publisher's own 9, whether or not it
 * announces messages of that size.
 */
TEST_WITH(a_window_fits_the_quota_of_its_user, setup, teardown)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = LONG, .flags = SIM_PUB_LOCAL };
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *a, *b, *p;

	w.simd->limits.per_user_percent = 50;
	be_user("sensor", 64001);
	assert_int_equal(sim_advertise(c, "a", &sim_Imu_type, &o, &a), 0);
	assert_int_equal(sim_advertise(c, "b", &sim_Imu_type, &o, &b), 0);
	p = imu_advertise(c, "narrow", 0);
	assert_true(channel_find(w.simd, "/car/narrow")->window > 12);
	assert_int_equal(sim_publish_local(p, long_loan(p)), 0);
	assert_int_equal(channel_find(w.simd, "/car/narrow")->window, 3);
	sim_publisher_destroy(p);
	o.flags = 0;
	assert_int_equal(sim_advertise(c, "narrow", &sim_Imu_type, &o, &p), 0);
	assert_int_equal(channel_find(w.simd, "/car/narrow")->window, 3);
	sim_publisher_destroy(a);
	sim_publisher_destroy(b);
	world_run(&w, 3 * S);
	assert_int_equal(channel_find(w.simd, "/car/narrow")->window, 12);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* After a restart simd and the data plane get the larger size at once. */
TEST_WITH(a_channel_keeps_its_slot_size_over_a_restart, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);

	assert_int_equal(sim_publish_local(p, long_loan(p)), 0);
	world_kill_simd(&w);
	world_until(&w, c, SIM_CLIENT_RECONNECTING);
	world_start_simd(&w);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	assert_in_range(channel_find(w.simd, "/car/imu")->max_body, LONG, 1 << 20);
	assert_int_equal(sim_publish_local(p, long_loan(p)), 0);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* Slots of the largest class are few, and simd limits how many a publisher may hold. */
TEST_WITH(no_more_loans_than_were_admitted, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct sim_slot *slot[2];

	assert_int_equal(p->loans_max, POOL_PER_PUBLISHER - 1);
	atomic_store(&p->loans_max, 1);
	slot[0] = imu_loan(p);
	assert_int_equal(sim_loan(p, 64, &slot[1]), -ENOBUFS);
	assert_non_null(strstr(sim_why(), "channel /car/imu: 1 loans are out"));
	assert_int_equal(sim_publish_local(p, slot[0]), 0);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}
