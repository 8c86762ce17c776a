/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribers and readers: messages returned, counters and errors; in virtual time. */
#include "scenario/client/imu.h"

#include <errno.h>

#include <sim/msg/Clock.h>

WORLD_FIXTURE(test_seed(4), "");

TEST_WITH(messages_arrive_in_order, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct sim_subscriber *s = imu_subscribe(c, "/car/imu", 0);
	const struct sim_message *slot, *slots[3];

	assert_int_equal(sim_take(s, &slot), -EAGAIN);
	assert_int_equal(sim_wait(s, 0), 0);
	assert_int_equal(sim_wait(s, 20 * MS), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	assert_int_equal(sim_wait(s, -1), 1);
	assert_int_equal(sim_wait(s, -1), 1); /* the message is still there */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sim_take(s, &slots[i]), 0);
		assert_int_equal(slots[i]->header.sequence, i + 1);
		assert_int_equal(slots[i]->header.type_hash, SIM_IMU_HASH);
		assert_string_equal(slots[i]->header.frame_id, "imu_link");
	}
	for (int i = 2; i >= 0; i--)
		assert_int_equal(sim_release(s, slots[i]), 0);
	assert_int_equal(sim_release(s, slots[0]), -EINVAL);
	assert_int_equal(sim_subscriber_fd(s), -EINVAL);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* Cancelling also ends a wait that begins later; messages in the queue are returned first. */
TEST_WITH(a_wait_can_be_cancelled_before_it_begins, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct sim_subscriber *s = imu_subscribe(c, "imu", 0);

	sim_wait_cancel(s);
	assert_int_equal(sim_wait(s, -1), 0);
	sim_wait_cancel(s);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	assert_int_equal(sim_wait(s, -1), 1);
	imu_expect(s, 1);
	assert_int_equal(sim_wait(s, -1), 0);
	sim_wait_cancel(NULL);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/*
 * The count includes subscribers that the publisher was notified of; those of this program and of simd are never
 * counted.
 */
TEST_WITH(a_publisher_knows_how_many_other_processes_subscribe, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0), *other = world_client(&w, "other", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0), *local = imu_advertise(c, "local", SIM_PUB_LOCAL);
	struct sim_subscriber *own, *theirs, *second;

	assert_int_equal(sim_publisher_subscribers_elsewhere(p), 0);
	own = imu_subscribe(c, "imu", 0);
	assert_int_equal(sim_publisher_subscribers_elsewhere(p), 0);
	theirs = imu_subscribe(other, "imu", 0);
	assert_int_equal(sim_publisher_subscribers_elsewhere(p), 1);
	second = imu_subscribe(other, "/car/imu", 0);
	assert_int_equal(sim_publisher_subscribers_elsewhere(p), 2);
	assert_int_equal(sim_publisher_subscribers_elsewhere(local), 0);
	sim_subscriber_destroy(own);
	assert_true(sim_publisher_subscribers_elsewhere(p) >= 2); /* simd may not have heard of it */
	world_run(&w, MS);
	assert_int_equal(sim_publisher_subscribers_elsewhere(p), 2);
	sim_subscriber_destroy(second);
	sim_subscriber_destroy(theirs);
	theirs = imu_subscribe(other, "local", 0);
	assert_int_equal(sim_publisher_subscribers_elsewhere(local), 1);
	sim_subscriber_destroy(theirs);
	sim_disconnect(other);
	world_run(&w, MS);
	assert_int_equal(sim_publisher_subscribers_elsewhere(p), 0);
	assert_int_equal(sim_publisher_subscribers_elsewhere(local), 0);
	assert_int_equal(sim_publisher_subscribers_elsewhere(NULL), UINT32_MAX);
	sim_publisher_destroy(p);
	sim_publisher_destroy(local);
	sim_disconnect(c);
}

/*
 * Subscribers of the simd that died may return later than this client: until all have had time for that, the publisher
 * assumes that there are some.
 */
TEST_WITH(after_a_restart_subscribers_are_assumed_until_known, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0), *other = world_client(&w, "other", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", SIM_PUB_LOCAL);
	struct sim_subscriber *own = imu_subscribe(c, "imu", 0), *theirs = imu_subscribe(other, "imu", 0);

	assert_int_equal(sim_publisher_subscribers_elsewhere(p), 1);
	world_kill_simd(&w);
	world_until(&w, c, SIM_CLIENT_RECONNECTING);
	assert_int_equal(sim_publisher_subscribers_elsewhere(p), UINT32_MAX);
	world_start_simd(&w);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	assert_int_equal(sim_publisher_subscribers_elsewhere(p), UINT32_MAX); /* other is not back */
	world_until(&w, other, SIM_CLIENT_RECONNECTING);
	world_until(&w, other, SIM_CLIENT_CONNECTED);
	world_run(&w, 6 * S);
	world_process(&w, c);
	assert_int_equal(sim_publisher_subscribers_elsewhere(p), 1);
	sim_subscriber_destroy(theirs);
	sim_disconnect(other);
	world_run(&w, MS);
	assert_int_equal(sim_publisher_subscribers_elsewhere(p),
			 0); /* our own was registered again, and is known as such */
	sim_subscriber_destroy(own);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* Numbers go on, whichever way each message went, and simctl counts all of them. */
TEST_WITH(messages_without_a_slot_are_numbered_too, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", SIM_PUB_LOCAL), *dispatched = imu_advertise(c, "b", 0);
	struct sim_subscriber *s;
	struct sim_slot m = { .body_size = 40 }, at = { .body_size = 40, .publish_mono_ns = 7 };
	char *json;

	assert_int_equal(sim_publisher_count_local(p, &m), 0);
	assert_int_equal(m.sequence, 1);
	assert_true(m.publish_mono_ns > 0);
	assert_int_equal(sim_publisher_count_local(p, &at), 0);
	assert_int_equal(at.sequence, 2);
	assert_int_equal(at.publish_mono_ns, 7); /* as the caller has set it */
	s = imu_subscribe(c, "imu", 0);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	imu_expect(s, 3);
	assert_int_equal(sim_publisher_count_local(dispatched, &m), -EOPNOTSUPP);
	assert_int_equal(sim_publisher_count_local(p, NULL), -EINVAL);
	assert_int_equal(sim_call(c, "ListChannels", "{}", &json), 0);
	assert_non_null(strstr(json, "\"messages\":3"));
	free(json);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_publisher_destroy(dispatched);
	sim_disconnect(c);
}

TEST_WITH(channel_names_get_the_prefix_of_the_rig, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	char name[SIM_CHANNEL_MAX + 1], small[8], longest[SIM_CHANNEL_MAX + 1];

	assert_int_equal(sim_channel_full_name(c, "imu", name, sizeof(name)), 0);
	assert_string_equal(name, "/car/imu");
	assert_int_equal(sim_channel_full_name(c, "/imu", name, sizeof(name)), 0);
	assert_string_equal(name, "/imu");
	assert_int_equal(sim_channel_full_name(c, "imu", small, sizeof(small)), -ENOBUFS);
	assert_int_equal(sim_channel_full_name(c, "", name, sizeof(name)), -EINVAL);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(sim_channel_full_name(c, longest, name, sizeof(name)), -ENAMETOOLONG);
	assert_int_equal(sim_channel_full_name(c, "a//b", name, sizeof(name)), -EINVAL);
	assert_int_equal(sim_channel_full_name(c, "a b", name, sizeof(name)), -EINVAL);
	assert_non_null(strstr(sim_why(), "\"a b\" is not a channel name"));
	assert_int_equal(sim_channel_full_name(c, "a/", name, sizeof(name)), -EINVAL);
	assert_int_equal(sim_channel_full_name(c, NULL, name, sizeof(name)), -EINVAL);
	sim_disconnect(c);
}

/* Bounds of loans, and of the pool. */
TEST_WITH(loans_and_held_messages_are_bounded, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", SIM_PUB_LOCAL);
	struct sim_subscriber *s = imu_subscribe(c, "/car/imu", 0);
	const struct sim_message *got[256];
	struct sim_slot *loan[9];
	unsigned n = 0;

	for (int i = 0; i < 8; i++)
		loan[i] = imu_loan(p);
	assert_int_equal(sim_loan(p, sizeof(struct sim_Imu), &loan[8]), -ENOBUFS);
	assert_string_equal(sim_why(), "channel /car/imu: 8 loans are out; publish or release one first");
	for (int i = 0; i < 8; i++)
		assert_int_equal(sim_unloan(p, loan[i]), 0);
	for (; n < 256 && sim_loan(p, sizeof(struct sim_Imu), &loan[0]) == 0; n++) {
		assert_int_equal(sim_publish_local(p, loan[0]), 0);
		assert_int_equal(sim_take(s, &got[n]), 0);
	}
	assert_in_range(n, 1, 255); /* the pool of the test is smaller than what a subscriber may hold */
	assert_string_equal(sim_why(),
			    "channel /car/imu: the pool for messages of 480 bytes is empty; subscribers hold too many "
			    "slots, or the pool needs a larger count");
	while (n)
		assert_int_equal(sim_release(s, got[--n]), 0);
	sim_unloan(p, imu_loan(p));
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

TEST_WITH(overflow_drops_the_oldest, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", SIM_PUB_LOCAL);
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 4 };
	struct sim_subscriber_stats st;
	struct sim_subscriber *s;
	const struct sim_message *slot;

	assert_int_equal(sim_subscribe(c, "imu", &sim_Imu_type, &o, &s), 0);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	imu_expect(s, 1);
	for (int i = 2; i <= 11; i++)
		assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	for (int i = 8; i <= 11; i++) /* the oldest were dropped */
		imu_expect(s, (uint64_t)i);
	assert_int_equal(sim_take(s, &slot), -EAGAIN);
	sim_subscriber_stats(s, &st);
	assert_int_equal(st.received, 5);
	assert_int_equal(st.lost, 6);
	assert_int_equal(st.invalid, 0);
	o.depth = 257;
	assert_int_equal(sim_subscribe(c, "imu", NULL, &o, &s), -EINVAL);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* 200 slots: 9 of the publisher, 4 and 2 more of the first subscriber; the second has the rest, less 2 that it may hold. */
TEST_WITH(a_queue_uses_the_slots_that_are_left, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_publisher_options large = { .size = sizeof(large), .max_body = 60000, .flags = SIM_PUB_LOCAL };
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 4 };
	struct sim_subscriber *a, *b;
	struct sim_publisher *p;

	assert_int_equal(sim_advertise(c, "large", &sim_Imu_type, &large, &p), 0);
	assert_int_equal(sim_subscribe(c, "large", NULL, &o, &a), 0);
	assert_int_equal(sim_subscriber_depth(a), 4);
	o.depth = 256;
	assert_int_equal(sim_subscribe(c, "large", NULL, &o, &b), 0);
	assert_int_equal(sim_subscriber_depth(b), 200 - 9 - 6 - 2);
	sim_subscriber_destroy(a);
	sim_subscriber_destroy(b);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* A process that speaks to the data plane directly. */
static struct ipc *hostile_attach(const char *channel, struct ipc_pub **ret)
{
	struct ipc_options o = { .backend = "mem", .app = "hostile", .bus = w.bus };
	struct ipc *ipc;

	assert_int_equal(ipc_attach(&o, &ipc), 0);
	assert_int_equal(ipc_pub_create(ipc, channel, NULL, ret), 0);
	world_run(&w, MS);
	return ipc;
}

/* A message that nothing is wrong with. */
static struct sim_slot *hostile_slot(struct ipc_pub *pub)
{
	struct sim_slot *slot;
	void *mem;

	assert_int_equal(ipc_loan(pub, sizeof(*slot) + 400, &mem), 0);
	memset(mem, 0, sizeof(*slot) + 400);
	slot = mem;
	slot->magic = SIM_SLOT_MAGIC;
	slot->version = SIM_SLOT_VERSION;
	slot->type_hash = SIM_IMU_HASH;
	slot->body_size = sizeof(struct sim_Imu);
	return slot;
}

TEST_WITH(malformed_messages_of_the_data_plane_are_dropped, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_subscriber *s = imu_subscribe(c, "imu", 0);
	struct sim_subscriber_stats st;
	const struct sim_message *got;
	struct ipc_pub *pub;
	struct ipc *ipc = hostile_attach("/car/imu", &pub);

	for (int i = 0; i < 7; i++) {
		struct sim_slot *slot = hostile_slot(pub);

		slot->magic += i == 0;
		slot->version = i == 1 ? 2 : SIM_SLOT_VERSION;
		slot->type_hash += i == 2;
		slot->body_size = i == 3 ? 1 : i == 4 ? UINT64_MAX : i == 5 ? 0x7fffffff : slot->body_size;
		slot->sequence = 1;
		assert_int_equal(ipc_publish(pub, slot), 0);
	}
	assert_int_equal(sim_wait(s, 0), 1);
	assert_int_equal(sim_take(s, &got), 0);
	assert_int_equal(sim_release(s, got), 0);
	assert_int_equal(sim_wait(s, 0), 0);
	sim_subscriber_stats(s, &st);
	assert_int_equal(st.invalid, 6);
	assert_int_equal(st.received, 1);
	ipc_pub_destroy(pub);
	ipc_detach(ipc);
	sim_subscriber_destroy(s);
	sim_disconnect(c);
}

/*
 * The publisher still writes into the slot: a header that was read does not change, and the frame name in it is
 * terminated.
 */
TEST_WITH(a_header_is_read_once, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_subscriber *s = imu_subscribe(c, "imu", 0);
	const struct sim_message *got;
	struct sim_slot *slot;
	struct ipc_pub *pub;
	struct ipc *ipc = hostile_attach("/car/imu", &pub);

	slot = hostile_slot(pub);
	memset(slot->frame_id, 'x', sizeof(slot->frame_id));
	assert_int_equal(ipc_publish(pub, slot), 0);
	assert_int_equal(sim_take(s, &got), 0);
	memset(slot, 0xff, sizeof(*slot));
	assert_int_equal(got->body_size, sizeof(struct sim_Imu));
	assert_int_equal(got->header.body_size, sizeof(struct sim_Imu));
	assert_int_equal(got->header.type_hash, SIM_IMU_HASH);
	assert_int_equal(strlen(got->header.frame_id), SIM_FRAME_ID_MAX);
	assert_ptr_equal(got->body, slot + 1); /* in place */
	assert_int_equal(sim_release(s, got), 0);
	ipc_pub_destroy(pub);
	ipc_detach(ipc);
	sim_subscriber_destroy(s);
	sim_disconnect(c);
}

TEST_WITH(types_must_agree, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	const struct sim_type *t;
	struct sim_subscriber *s, *any;
	struct sim_publisher *p, *q;

	assert_int_equal(sim_channel_type(c, "imu", &t), -ENOENT);
	p = imu_advertise(c, "imu", 0);
	assert_int_equal(sim_channel_type(c, "imu", &t), 0);
	assert_true(sim_type_equal(t, &sim_Imu_type));
	sim_type_unref(t);
	assert_int_equal(sim_subscribe(c, "imu", &sim_Clock_type, NULL, &s), -EMEDIUMTYPE);
	assert_non_null(strstr(sim_why(), "sim/Imu"));
	assert_int_equal(sim_advertise(c, "imu", &sim_Clock_type, NULL, &q), -EMEDIUMTYPE);
	assert_int_equal(sim_subscribe(c, "imu", NULL, NULL, &any), 0);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	imu_expect(any, 1);
	assert_int_equal(sim_subscribe(c, "a,b", NULL, NULL, &s), -EINVAL);
	assert_int_equal(sim_subscribe(c, "", NULL, NULL, &s), -EINVAL);
	sim_subscriber_destroy(any);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

TEST_WITH(a_latched_message_reaches_late_comers, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", SIM_PUB_LATCH);
	struct sim_subscriber *s, *fresh;

	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	s = imu_subscribe(c, "imu", SIM_SUB_LATCHED);
	fresh = imu_subscribe(c, "imu", 0);
	imu_expect(s, 2);
	assert_int_equal(sim_wait(fresh, 0), 0);
	sim_subscriber_destroy(s);
	sim_subscriber_destroy(fresh);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

TEST_WITH(a_reader_observes_the_newest, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", SIM_PUB_LOCAL);
	struct sim_reader *r;

	assert_int_equal(sim_reader_create(c, "imu", &sim_Imu_type, 3, &r), 0);
	assert_int_equal(sim_reader_observe(r), 0);
	assert_null(sim_reader_get(r, 0));
	assert_int_equal(sim_reader_wait(r, 5 * MS), 0);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	assert_int_equal(sim_reader_wait(r, 5 * MS), 1);
	assert_int_equal(sim_reader_get(r, 0)->header.sequence, 2);
	assert_int_equal(sim_reader_get(r, 1)->header.sequence, 1);
	assert_null(sim_reader_get(r, 2));
	for (int i = 3; i <= 4; i++)
		assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	assert_int_equal(sim_reader_observe(r), 2);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(sim_reader_get(r, i)->header.sequence, 4 - i);
	assert_null(sim_reader_get(r, 3));
	assert_int_equal(sim_reader_observe(r), 0);
	assert_int_equal(sim_reader_get(r, 0)->header.sequence, 4);
	sim_reader_destroy(r);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}
