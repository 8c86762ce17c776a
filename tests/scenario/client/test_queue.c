/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of sim_try_queue and its relatives, against the real daemon in virtual time. */
#include "scenario/client/imu.h"
#include "libclient/src/publisher.h"
#include "registry/simd.h"

#include <errno.h>

#include <jansson.h>
#include <sys/mman.h>

WORLD_FIXTURE(test_seed(1), ", \"dispatch\": {\"wait_ms\": 200}");

TEST_WITH(a_message_is_delivered_and_completed, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct outcome done = { 0 };
	struct bridge_peer b;
	struct sim_slot *slot;

	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	assert_int_equal(sim_publisher_bridges(p).total, 1);
	assert_int_equal(sim_publisher_bridges(p).connected, 1);
	slot = imu_loan(p);
	assert_string_equal(slot->frame_id, "imu_link");
	((struct sim_Imu *)sim_slot_body_mut(slot))->linear_acceleration.x = 4.5;
	assert_int_equal(sim_try_queue(p, slot, NULL, on_done, &done), 0);
	assert_int_equal(done.calls, 0);
	assert_int_equal(bridge_next(&b, 100), 1);
	assert_int_equal(b.channels, 1);
	assert_ptr_equal(b.p.deliveries[0].message.body, slot + 1); /* in place */
	slot->body_size = 0x7fffffff; /* its publisher writes on: the slot is not read again */
	assert_int_equal(b.p.deliveries[0].message.body_size, sizeof(struct sim_Imu));
	assert_int_equal(b.p.deliveries[0].message.header.sequence, 1);
	assert_true(((const struct sim_Imu *)b.p.deliveries[0].message.body)->linear_acceleration.x == 4.5);
	assert_int_equal(atomic_load(&p->reg->channel->cell[0]), wire_claim(p->reg->publisher_id, 1));
	assert_int_equal(atomic_load(&p->reg->counters->sequence), 1);
	world_process(&w, c);
	assert_int_equal(done.calls, 0); /* not before the bridge has answered */
	bridge_answer(&b, 0);
	world_process(&w, c);
	assert_int_equal(done.calls, 1);
	assert_int_equal(done.ok, 1);
	/* a slot overwritten between simd's check and the bridge's is no message any more */
	slot = imu_loan(p);
	assert_int_equal(sim_try_queue(p, slot, NULL, on_done, &done), 0);
	world_run(&w, MS);
	slot->body_size = 0x7fffffff;
	assert_int_equal(bridge_next(&b, 100), 0);
	world_process(&w, c);
	assert_int_equal(done.calls, 2);
	assert_int_equal(done.reason, SIM_REASON_FAILED);
	/* a failure of the bridge completes with ok = false */
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	assert_int_equal(bridge_next(&b, 100), 1);
	assert_int_equal(b.p.deliveries[0].message.header.sequence, 3);
	bridge_answer(&b, -EIO);
	world_process(&w, c);
	assert_int_equal(done.calls, 3);
	assert_int_equal(done.ok, 1);
	assert_int_equal(done.reason, SIM_REASON_FAILED);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	bridge_end(&b);
}

/* Messages that are held until the end of a turn have lower numbers: simd must not count them as lost. */
TEST_WITH(messages_kept_to_the_end_of_a_turn_are_not_counted_as_published, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);

	p->sequence = 7;
	p->n_kept = 1;
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, NULL, NULL), 0);
	assert_int_equal(atomic_load(&p->reg->counters->sequence), 0);
	p->n_kept = 0;
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, NULL, NULL), 0);
	assert_int_equal(atomic_load(&p->reg->counters->sequence), 9);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* One client overwrites all that it can: clients that connect later are served, and those connected before continue. */
TEST_WITH(an_overwritten_dispatch_page_blocks_no_client, setup, teardown)
{
	struct sim_client *old = world_client(&w, "old", 0), *c;
	struct sim_publisher *was = imu_advertise(old, "imu", 0), *p;
	unsigned char *page = (unsigned char *)w.simd->dispatch_page;
	struct outcome done = { 0 };

	for (size_t i = 0; i < sizeof(*w.simd->dispatch_page); i++)
		page[i] = (unsigned char)(i * 167 + (i >> 8) * 13 + 1);
	world_run(&w, 3000 * MS); /* once a second unclaimed credits are freed */
	c = world_client(&w, "new", 0);
	p = imu_advertise(c, "other", 0);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	world_process(&w, c);
	assert_int_equal(done.calls, 1);
	assert_int_equal(sim_try_queue(was, imu_loan(was), NULL, on_done, &done), 0);
	world_process(&w, old);
	assert_int_equal(done.calls, 2);
	sim_publisher_destroy(p);
	sim_publisher_destroy(was);
	sim_disconnect(c);
	sim_disconnect(old);
}

TEST_WITH(an_accepted_message_without_a_bridge_completes_with_the_reason, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0), *alone = imu_advertise(c, "alone", 0);
	struct outcome done = { 0 };

	assert_int_equal(sim_try_queue(alone, imu_loan(alone), NULL, on_done, &done), 0);
	world_process(&w, c);
	assert_int_equal(done.calls, 1);
	assert_int_equal(done.reason, SIM_REASON_NO_BRIDGE);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	world_process(&w, c);
	assert_int_equal(done.calls, 2);
	assert_int_equal(done.reason, SIM_REASON_DISCONNECTED);
	sim_publisher_destroy(alone);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* ---- simd does not look: its thread gets no processor ---- */

static struct {
	struct client_env plain;
	uint32_t ports; /* simd stops looking when so many ports are in use; 0: never */
	bool frozen;
	int64_t offset_dur_ns;
} ice;

static int64_t ice_now(void *arg)
{
	return ice.plain.now(arg) + ice.offset_dur_ns;
}

static int ice_wait(void *arg, int fd, short events, int64_t timeout_dur_ns)
{
	ice.frozen |= ice.ports && ipc_mem_ports_used(w.bus) >= ice.ports;
	if (!ice.frozen)
		return ice.plain.wait(arg, fd, events, timeout_dur_ns);
	ice.offset_dur_ns += timeout_dur_ns;
	return 0;
}

/* Probes take no credit. However long simd does not look, they leave its queue to messages. */
TEST_WITH(probes_do_not_fill_the_queue, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p, *other = imu_advertise(c, "imu", 0);
	uint32_t used;

	ice.plain = w.env;
	ice.offset_dur_ns = 0;
	ice.frozen = false;
	ice.ports = ipc_mem_ports_used(w.bus) + 2; /* simd's and ours */
	w.env.now = ice_now;
	w.env.wait = ice_wait;
	used = ipc_mem_slots_used(w.bus);
	assert_int_equal(sim_advertise(c, "two", &sim_Imu_type, NULL, &p), -ETIMEDOUT);
	assert_true(ice.offset_dur_ns >= 2 * S);
	assert_in_range(ipc_mem_slots_used(w.bus) - used, 4, 16);
	w.env = ice.plain;
	world_process(&w, c);
	p = imu_advertise(c, "two", 0);
	sim_publisher_destroy(p);
	sim_publisher_destroy(other);
	sim_disconnect(c);
}

/* Waiting for a change: a bridge attaches, connects, loses its far side, exits; and simd itself exits. */
TEST_WITH(a_publisher_can_wait_for_changes_of_its_bridges, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct sim_bridges known = { 0, 0 };
	struct bridge_peer b;
	int64_t start;

	assert_int_equal(sim_publisher_bridges_wait(NULL, &known, 0), -EINVAL);
	assert_int_equal(sim_publisher_bridges_wait(p, NULL, 0), -EINVAL);
	assert_int_equal(sim_publisher_bridges_wait(p, &known, 0), 1);
	assert_int_equal(known.total, 1);
	assert_int_equal(known.connected, 0);
	assert_int_equal(sim_publisher_bridges_wait(p, &known, 0), 0);
	start = exec_now(w.x);
	assert_int_equal(sim_publisher_bridges_wait(p, &known, 300 * MS), 0);
	assert_in_range(exec_now(w.x) - start, 300 * MS, 302 * MS);

	bridge_start(&w, &b);
	assert_int_equal(sim_publisher_bridges_wait(p, &known, 100 * MS), 0); /* attached is not connected */
	assert_int_equal(sim_lane_status(b.lane, SIM_BRIDGE_CONNECTED, 0, 0, 0, 0, ""), 0);
	assert_int_equal(sim_publisher_bridges_wait(p, &known, -1), 1);
	assert_int_equal(known.connected, 1);
	assert_int_equal(sim_lane_status(b.lane, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, 0, 0, 0, 0, ""), 0);
	assert_int_equal(sim_publisher_bridges_wait(p, &known, -1), 1);
	assert_int_equal(known.connected, 0);
	assert_int_equal(sim_lane_status(b.lane, SIM_BRIDGE_CONNECTED, 0, 0, 0, 0, ""), 0);
	assert_int_equal(sim_publisher_bridges_wait(p, &known, -1), 1);
	bridge_end(&b);
	assert_int_equal(sim_publisher_bridges_wait(p, &known, -1), 1);
	assert_int_equal(known.total, 1);
	assert_int_equal(known.connected, 0);

	world_kill_simd(&w);
	assert_int_equal(sim_publisher_bridges_wait(p, &known, -1), 1);
	assert_int_equal(known.total, 0);
	world_start_simd(&w);
	assert_int_equal(sim_publisher_bridges_wait(p, &known, -1), 1);
	assert_int_equal(known.total, 1);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

TEST_WITH(while_time_is_paused_publishing_is_refused, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct sim_subscriber *s;
	const struct sim_message *got;
	struct outcome done = { 0 };
	char *json;

	assert_int_equal(sim_subscribe(c, "imu", &sim_Imu_type, NULL, &s), 0);
	assert_int_equal(sim_call(c, "PauseClock", NULL, &json), 0);
	free(json);
	for (int i = 0; i < 20; i++) /* more than a publisher may loan: refused slots are freed */
		assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), -ECANCELED);
	assert_string_equal(sim_why(), "channel /car/imu: simulated time is paused");
	assert_int_equal(done.calls, 20);
	assert_int_equal(done.ok, 0);
	assert_int_equal(done.reason, SIM_REASON_PAUSED);
	assert_int_equal(sim_take(s, &got), -EAGAIN);           /* a refused slot is not delivered */
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0); /* local messages need no credit */
	assert_int_equal(sim_take(s, &got), 0);
	assert_int_equal(got->header.sequence, 1);
	assert_int_equal(sim_release(s, got), 0);
	assert_int_equal(sim_call(c, "ResumeClock", NULL, &json), 0);
	free(json);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	world_process(&w, c);
	assert_int_equal(done.calls, 21);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/*
 * Only a channel's name shows that the globs of seventeen bridges match it: then the channel is refused, and nothing of
 * it stays.
 */
TEST(a_channel_of_too_many_bridges_is_refused)
{
	struct sim_client *c;
	struct sim_publisher *p;
	char text[4096];
	int n = snprintf(
		text, sizeof(text),
		"{\"backend\":\"mem\",\"TimeSource\":\"unity\",\"pools\":[{\"size\":512,\"count\":4000},{\"size\":65536,"
		"\"count\":200}],\"rigs\":[{\"name\":\"car\",\"prefix\":\"car\",\"bridges\":[");

	for (int i = 0; i < 17; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "%s{\"name\":\"b%d\",\"plugin\":\"null\",\"start\":\"external\",\"channels\":[\"%s\"]}",
			      i ? "," : "", i, i % 2 ? "im*" : "*mu");
	snprintf(text + n, sizeof(text) - (size_t)n, "]}]}");
	world_create(&w, test_seed(3), text);
	c = world_client(&w, "sensor", 0);
	assert_int_equal(sim_advertise(c, "imu", &sim_Imu_type, NULL, &p), -E2BIG);
	assert_non_null(strstr(sim_why(), "channel /car/imu: more than 16 bridges list it: take it out of some, with "
					  "\"!/car/imu\" in their \"channels\""));
	p = imu_advertise(c, "image", 0);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	world_destroy(&w);
}

/* The number of unread completions is bounded; their messages are not lost. */
TEST_WITH(unread_completions_stop_a_publisher, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", SIM_PUB_NO_WAIT);
	struct outcome done = { 0 };
	unsigned n = 0;
	int r;

	while ((r = sim_try_queue(p, imu_loan(p), NULL, on_done, &done)) == 0 && n < 300) {
		world_run(&w, MS);
		n++;
	}
	assert_int_equal(r, -EAGAIN);
	assert_int_equal(n, 256);
	assert_string_equal(sim_why(),
			    "channel /car/imu: 256 completions have not been read; return from callbacks sooner, or "
			    "call sim_process() more often");
	world_process(&w, c);
	assert_int_equal(done.calls, 257); /* the refused message has completed, too */
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

struct again {
	struct sim_publisher *p;
	struct sim_token *t;
	struct outcome out;
	int r;
};

/* The token is free before the callback runs, so it may queue again. */
static void queue_again(void *user, bool ok, enum sim_reason reason)
{
	struct again *a = user;

	on_done(&a->out, ok, reason);
	if (a->out.calls < 3)
		a->r = sim_try_queue(a->p, imu_loan(a->p), a->t, queue_again, a);
}

TEST_WITH(a_token_has_one_holder_at_a_time, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0), *other = world_client(&w, "other", 0);
	struct sim_publisher *p = imu_advertise(c, "two", 0), *q = imu_advertise(other, "imu", 0);
	struct sim_token *t, *same;
	struct again a = { .p = p, .r = -1 };
	struct outcome done = { 0 };
	struct bridge_peer b;

	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	assert_int_equal(sim_token_open(c, "lidar", &t), 0);
	assert_int_equal(sim_token_open(other, "lidar", &same), 0);
	a.t = t;
	assert_int_equal(sim_try_queue(p, imu_loan(p), t, queue_again, &a), 0);
	/* the token is in use, for other processes too; a refusal takes no credit: the window is 2 */
	for (int i = 0; i < 10; i++)
		assert_int_equal(sim_try_queue(p, imu_loan(p), t, on_done, &done), -EBUSY);
	assert_int_equal(sim_try_queue(q, imu_loan(q), same, on_done, &done), -EBUSY);
	assert_int_equal(done.calls, 11);
	assert_int_equal(done.reason, SIM_REASON_TOKEN);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(bridge_next(&b, 100), 1);
		bridge_answer(&b, 0);
		world_process(&w, c);
	}
	assert_int_equal(a.out.calls, 3);
	assert_int_equal(a.out.ok, 3);
	assert_int_equal(a.r, 0);
	assert_int_equal(sim_try_queue(q, imu_loan(q), same, on_done, &done), 0);
	assert_int_equal(bridge_next(&b, 100), 1);
	bridge_answer(&b, 0);
	world_process(&w, other);
	assert_int_equal(done.ok, 1);
	sim_token_close(t);
	sim_token_close(same);
	sim_publisher_destroy(p);
	sim_publisher_destroy(q);
	sim_disconnect(c);
	sim_disconnect(other);
	bridge_end(&b);
}

TEST_WITH(a_publish_without_a_free_credit_is_refused, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "two", 0), *q = imu_advertise(c, "two", SIM_PUB_NO_WAIT);
	struct outcome done = { 0 };
	struct sim_token *t;
	struct bridge_peer b;
	int64_t start;

	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	assert_int_equal(sim_token_open(c, "t", &t), 0);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	assert_int_equal(sim_try_queue(q, imu_loan(q), t, on_done, &done), -EAGAIN);
	assert_int_equal(done.reason, SIM_REASON_NO_CREDIT);
	start = exec_now(w.x);
	assert_int_equal(sim_try_queue(p, imu_loan(p), t, on_done, &done), -ETIMEDOUT);
	assert_int_equal(exec_now(w.x) - start, 200 * MS); /* dispatch.wait_ms */
	assert_int_equal(done.reason, SIM_REASON_TIMEOUT);
	assert_int_equal(done.calls, 2);
	/* the token came back: the next one gets it, after waiting for a credit */
	while (bridge_next(&b, 1))
		bridge_answer(&b, 0);
	assert_int_equal(sim_try_queue(p, imu_loan(p), t, on_done, &done), 0);
	while (bridge_next(&b, 1))
		bridge_answer(&b, 0);
	world_process(&w, c);
	assert_int_equal(done.calls, 5);
	assert_int_equal(done.ok, 3);
	sim_token_close(t);
	sim_publisher_destroy(p);
	sim_publisher_destroy(q);
	sim_disconnect(c);
	bridge_end(&b);
}

static void answer_later(void *arg)
{
	bridge_answer(arg, 0);
}

/* The engine runs free, so that the bridge is lossless: its producers wait for an answer, and for its deadline at most. */
TEST_WITH(producers_wait_for_a_lossless_bridge, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", SIM_CLIENT_SOURCE);
	struct sim_publisher *p = imu_advertise(c, "two", 0), *q = imu_advertise(c, "two", SIM_PUB_NO_WAIT);
	struct outcome done = { 0 };
	struct exec_timer answer;
	struct sim_driver *d;
	struct bridge_peer b;
	int64_t start;

	exec_timer_init(&answer, w.x, answer_later, &b);
	assert_int_equal(sim_driver_acquire(c, SIM_DRIVER_FREEWHEEL, &d), 0);
	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	for (int i = 0; i < 2; i++)
		assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	assert_int_equal(bridge_next(&b, 100), 1);
	assert_int_equal(sim_try_queue(q, imu_loan(q), NULL, on_done, &done), -EAGAIN);
	start = exec_now(w.x);
	exec_timer_at(&answer, start + 700 * MS);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	assert_in_range(exec_now(w.x) - start, 700 * MS, 710 * MS); /* dispatch.wait_ms is 200 */
	/* the bridge has the next message, and is silent */
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	assert_in_range(exec_now(w.x) - start, 5700 * MS, 5710 * MS); /* dispatch.deadline_ms is 5000 */
	world_process(&w, c);
	assert_int_equal(done.ok, 1);
	assert_int_equal(done.reason, SIM_REASON_BRIDGE_SLOW);
	sim_driver_release(d);
	sim_publisher_destroy(p);
	sim_publisher_destroy(q);
	sim_disconnect(c);
	bridge_end(&b);
}

/*
 * A reused buffer: the message has the content of the buffer at the time of the call, whatever is written into it
 * afterwards.
 */
TEST_WITH(copies_are_taken_at_the_call, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct outcome done = { 0 };
	struct bridge_peer b;
	struct sim_Imu imu;
	struct sim_builder builder;

	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	assert_non_null(sim_Imu_init(&imu, sizeof(imu), &builder));
	for (int i = 0; i < 3; i++) {
		imu.angular_velocity.z = i;
		assert_int_equal(sim_try_queue_copy(p, &imu, sizeof(imu), 77 + i, NULL, on_done, &done), 0);
	}
	imu.angular_velocity.z = -1;
	for (unsigned got = 0; got < 3;) {
		unsigned n = bridge_next(&b, 100);

		assert_true(n > 0);
		for (unsigned i = 0; i < n; i++, got++) {
			const struct sim_message *msg = &b.p.deliveries[i].message;

			assert_true(((const struct sim_Imu *)msg->body)->angular_velocity.z == got);
			assert_int_equal(msg->header.stamp_sim_ns, 77 + got);
		}
		bridge_answer(&b, 0);
	}
	world_process(&w, c);
	assert_int_equal(done.ok, 3);
	assert_int_equal(sim_try_queue_copy(p, &imu, 1 << 22, 0, NULL, on_done, &done), -EMSGSIZE); /* it is not read */
	assert_int_equal(done.calls, 4);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	bridge_end(&b);
}

/* A refused body is not read, let alone copied: here that would be a crash. */
TEST_WITH(refused_copies_are_freed, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "two", SIM_PUB_NO_WAIT);
	void *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct outcome done = { 0 };
	struct bridge_peer b;
	struct sim_token *t;
	uint32_t used;
	char *json;

	assert_true(closed != MAP_FAILED);
	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	assert_int_equal(sim_token_open(c, "t", &t), 0);
	assert_int_equal(sim_try_queue(p, imu_loan(p), t, on_done, &done), 0);
	/* simd takes it before the pause: in the pause it would be refused, and its credit would be free */
	world_run(&w, MS);
	used = ipc_mem_slots_used(w.bus);
	assert_int_equal(sim_try_queue_copy(p, closed, sizeof(struct sim_Imu), 0, t, on_done, &done), -EBUSY);
	assert_int_equal(sim_call(c, "PauseClock", NULL, &json), 0);
	free(json);
	assert_int_equal(sim_try_queue_copy(p, closed, sizeof(struct sim_Imu), 0, NULL, on_done, &done), -ECANCELED);
	assert_int_equal(sim_call(c, "ResumeClock", NULL, &json), 0);
	free(json);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	assert_int_equal(sim_try_queue_copy(p, closed, sizeof(struct sim_Imu), 0, NULL, on_done, &done), -EAGAIN);
	assert_int_equal(done.calls, 3);
	assert_int_equal(ipc_mem_slots_used(w.bus), used + 1);
	for (unsigned n = 0; n < 2; n += b.p.count) {
		assert_true(bridge_next(&b, 100) > 0);
		bridge_answer(&b, 0);
	}
	world_process(&w, c);
	assert_int_equal(done.ok, 2);
	munmap(closed, 4096);
	sim_token_close(t);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	bridge_end(&b);
}

TEST_WITH(synchronous_publish_waits, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	enum sim_reason reason = SIM_REASON_COUNT;

	assert_int_equal(sim_publish_sync(p, imu_loan(p), NULL, &reason), -EIO);
	assert_int_equal(reason, SIM_REASON_DISCONNECTED);
	assert_string_equal(sim_why(), "channel imu: accepted but not delivered: the bridge is not connected");
	assert_int_equal(sim_publish_sync(p, imu_loan(p), NULL, NULL), -EIO);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

TEST_WITH(misuse_is_refused, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0), *local = imu_advertise(c, "local", SIM_PUB_LOCAL);
	struct sim_slot *loans[8], *slot, foreign;
	struct outcome done = { 0 };

	for (int i = 0; i < 8; i++)
		loans[i] = imu_loan(p);
	assert_int_equal(sim_loan(p, 1, &slot), -ENOBUFS);
	assert_int_equal(sim_unloan(p, loans[0]), 0);
	assert_int_equal(sim_unloan(p, loans[0]), -EINVAL);
	assert_int_equal(sim_try_queue(p, loans[0], NULL, on_done, &done), -EINVAL);
	assert_int_equal(sim_publish_local(p, loans[1]), 0);
	assert_int_equal(sim_publish_local(p, loans[1]), -EINVAL); /* a second time */
	assert_int_equal(sim_publish_local(p, &foreign), -EINVAL);
	assert_int_equal(sim_try_queue(local, loans[2], NULL, on_done, &done), -EINVAL);
	assert_int_equal(done.calls, 0);
	assert_int_equal(sim_loan(p, 1 << 22, &slot), -EMSGSIZE);
	assert_int_equal(sim_try_queue(local, imu_loan(local), NULL, on_done, &done), -EOPNOTSUPP);
	assert_int_equal(done.calls, 1);
	slot = imu_loan(local);
	assert_int_equal(sim_slot_set_size(slot, 8), 0);
	assert_int_equal(sim_slot_set_size(slot, 9), -EMSGSIZE);
	assert_int_equal(sim_advertise(c, "imu", &sim_Imu_type, NULL, NULL), -EINVAL);
	sim_publisher_destroy(local); /* with a loan outstanding */
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* Destroyed with messages outstanding: they still complete, once each. */
TEST_WITH(a_publisher_may_be_destroyed_with_messages_outstanding, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct outcome done = { 0 };
	struct bridge_peer b;

	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	for (int i = 0; i < 5; i++)
		assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	sim_publisher_destroy(p);
	for (unsigned got = 0; got < 5;) {
		unsigned n = bridge_next(&b, 100);

		assert_true(n > 0);
		got += n;
		bridge_answer(&b, 0);
	}
	world_process(&w, c);
	assert_int_equal(done.calls, 5);
	assert_int_equal(done.ok, 5);
	/* a client disconnected with messages outstanding: they complete with ok = false before the call returns */
	p = imu_advertise(c, "imu", 0);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	assert_int_equal(done.calls, 6);
	assert_int_equal(done.reason, SIM_REASON_LOST);
	bridge_end(&b);
}

/* Local messages on a dispatched channel share its window, so that simd's queue cannot overflow. */
TEST_WITH(a_flood_of_local_messages_does_not_overflow_simds_queue, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_publisher *p = imu_advertise(c, "two", 0);
	struct outcome done = { 0 };
	struct bridge_peer b;

	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	for (int round = 0; round < 50; round++) {
		assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
		assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, on_done, &done), 0);
		assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
		assert_int_equal(bridge_next(&b, 100), 1);
		bridge_answer(&b, 0);
	}
	world_process(&w, c);
	assert_int_equal(done.ok, 50);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	bridge_end(&b);
}

/* ---- sizes ---- */

static json_t *typical(const struct sim_type *type);

static json_t *typical_value(const struct sim_field *f)
{
	static const char text[] = "a_name_of_20_letters";

	if (f->type)
		return typical(f->type);
	if (f->kind == SIM_KIND_STRING)
		return json_stringn(text, f->string_max && f->string_max < 20 ? f->string_max : 20);
	return f->kind == SIM_KIND_BOOL ? json_true() : json_integer(1);
}

/* Strings of 20 letters, 8 elements in each array. */
static json_t *typical(const struct sim_type *type)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < type->n_fields; i++) {
		const struct sim_field *f = &type->fields[i];
		json_t *a = json_array();

		for (uint32_t k = 0; k < 8 && (f->array == SIM_ARRAY_VARIABLE || k < f->count); k++)
			json_array_append_new(a, typical_value(f));
		if (f->array == SIM_ARRAY_NONE)
			json_object_set_new(o, f->name, typical_value(f));
		else if (f->array != SIM_ARRAY_FIXED)
			json_object_set(o, f->name, a);
		json_decref(a);
	}
	return o;
}

static void publish_json(struct sim_publisher *p, const struct sim_type *type, const char *json)
{
	static _Alignas(64) uint8_t body[65536];
	struct sim_slot *slot;
	size_t size;

	if (sim_msg_from_json(type, json, strlen(json), body, sizeof(body), &size) < 0)
		fail_msg("%s: %s", type->name, sim_why());
	if (sim_loan(p, size, &slot) < 0)
		fail_msg("%s of %zu bytes: %s", type->name, size, sim_why());
	memcpy(sim_slot_body_mut(slot), body, size);
	if (sim_try_queue(p, slot, NULL, NULL, NULL) < 0)
		fail_msg("%s: %s", type->name, sim_why());
}

/* A publisher without max_body gets a default that fits the smallest and a typical message of the type. */
TEST_WITH(default_sizes_suffice, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);

	for (const struct sim_type *const *t = sim_type_builtins(); *t; t++) {
		json_t *j = typical(*t);
		char *text = json_dumps(j, 0);
		struct sim_publisher *p;

		if (sim_advertise(c, strchr((*t)->name, '/') + 1, *t, NULL, &p) < 0)
			fail_msg("%s: %s", (*t)->name, sim_why());
		publish_json(p, *t, "{}");
		publish_json(p, *t, text);
		free(text);
		json_decref(j);
		sim_publisher_destroy(p);
		world_process(&w, c); /* its slots are free again */
	}
	sim_disconnect(c);
}
