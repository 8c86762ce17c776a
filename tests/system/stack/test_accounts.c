/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters add up, whichever processes exit or die: of a channel, messages = local + delivered + failed + no_bridge; of
 * a bridge, attempted = sent + failed + dropped + queued + held - late. And a message counts as dropped only if a
 * receiver missed it.
 */
#include "peer.h"
#include "stack.h"

#define FAULTY_BRIDGE(options) \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"process\":{\"restart_ms\":20},\"rigs\":[{\"name\":\"car\"," \
	"\"bridges\":[{\"name\":\"b\",\"plugin\":\"" FAULTY "\",\"channels\":[\"/carried\"],\"options\":{" options \
	"}}]}]"

static int64_t sum_of_drops(const char *channel)
{
	json_t *r = stack_call("GetChannel", "{s:s}", "name", channel), *n;
	int64_t sum = 0;
	const char *key;

	json_object_foreach(json_object_get(json_object_get(r, "channel"), "drops"), key, n)
		sum += json_integer_value(n);
	json_decref(r);
	return sum;
}

static bool channel_adds_up(const char *name)
{
	return stack_channel(name, "messages") ==
	       stack_channel(name, "local") + stack_channel(name, "delivered") + stack_channel(name, "failed") +
		       stack_channel(name, "no_bridge") + stack_channel(name, "in_flight");
}

/* Of one moment, so that it holds while messages flow. */
static bool bridge_adds_up(void)
{
	static const char *const parts[] = { "sent", "failed", "dropped", "queued", "held" };
	json_t *r = stack_call("ListBridges", NULL), *b = json_array_get(json_object_get(r, "bridges"), 0);
	int64_t left =
		json_integer_value(json_object_get(b, "attempted")) + json_integer_value(json_object_get(b, "late"));

	for (unsigned i = 0; i < 5; i++)
		left -= json_integer_value(json_object_get(b, parts[i]));
	json_decref(r);
	return left == 0;
}

static pid_t start(const char *conf)
{
	pid_t simd = stack_start(conf);

	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	return simd;
}

static int alone(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "alone");
	struct sim_publisher *pub = peer_advertise(p, c, "/alone", 64, 0);
	struct sim_slot *slot;

	for (int i = 0; i < 30; i++)
		PEER(p, peer_queue(p, pub, sizeof(struct sim_Ultrasonic), NULL) == 0);
	for (int i = 0; i < 20; i++)
		PEER(p, sim_loan(pub, sizeof(struct sim_Ultrasonic), &slot) == 0 && sim_publish_local(pub, slot) == 0);
	PEER(p, sim_flush(c, -1) == 0);
	atomic_store(&p->ready, 1);
	PEER_IDLE(p);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

/* A sensor that only local subscribers want drops nothing. */
TEST_WITH(a_message_without_a_bridge_is_not_a_drop, NULL, stack_sweep)
{
	pid_t simd = start(FAULTY_BRIDGE("")), pid;
	struct peer *p = peer_new();

	pid = peer_fork(p, alone);
	AWAIT(atomic_load(&p->ready) || atomic_load(&p->failed));
	assert_int_equal(sum_of_drops("/alone"), 0);
	assert_int_equal(stack_channel("/alone", "messages"), 50);
	assert_int_equal(stack_channel("/alone", "local"), 20);
	assert_int_equal(stack_channel("/alone", "no_bridge"), 30);
	assert_true(channel_adds_up("/alone"));
	assert_non_null(strstr(stack_ctl("info", "/alone", NULL)->out, "for no bridge: 30 (not counted as dropped)"));
	peer_join(p, pid);
	assert_int_equal(p->reasons[SIM_REASON_NO_BRIDGE], 30); /* the program is notified all the same */
	peer_free(p);
	stack_stop(simd);
}

/* Queues ten and leaves at once: with sim_disconnect(), or dying. */
static int leave(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "hasty");
	struct sim_publisher *pub = peer_advertise(p, c, "/carried", 64, 0);

	for (int i = 0; i < 10; i++)
		PEER(p, peer_queue(p, pub, sizeof(struct sim_Ultrasonic), NULL) == 0);
	if (atomic_load(&p->command))
		_exit(0);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

static void who_leaves(const char *conf, bool dies, unsigned delivered)
{
	pid_t simd = start(conf), pid;
	struct peer *p = peer_new();

	peer_tell(p, dies);
	pid = peer_fork(p, leave);
	peer_join(p, pid);
	AWAIT(stack_channel("/carried", "in_flight") == 0 &&
	      stack_channel("/carried", "delivered") + stack_channel("/carried", "failed") == 10);
	assert_int_equal(stack_channel("/carried", "delivered"), delivered);
	assert_int_equal(sum_of_drops("/carried"), 10 - delivered);
	assert_true(channel_adds_up("/carried"));
	assert_true(bridge_adds_up());
	assert_int_equal(stack_bridge("b", "sent"), delivered);
	assert_int_equal(stack_int("GetDispatch", "dispatch/channels/0/refused/lost"), -1);
	peer_free(p);
	stack_stop(simd);
}

/* What simd had accepted is delivered all the same, so it is not lost; what then fails is. */
TEST_WITH(a_client_that_leaves_loses_no_accepted_message, NULL, stack_sweep)
{
	for (int dies = 0; dies < 2; dies++) {
		who_leaves(FAULTY_BRIDGE("\"mode\":\"late\",\"delay_us\":100000"), dies, 10);
		who_leaves(FAULTY_BRIDGE("\"mode\":\"fail\",\"every\":1"), dies, 0);
	}
}

static int until_told(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sensor");
	struct sim_publisher *pub = peer_advertise(p, c, "/carried", 64, SIM_PUB_NO_WAIT);

	while (!atomic_load(&p->stop)) {
		peer_queue(p, pub, sizeof(struct sim_Ultrasonic), NULL);
		pace_us(200);
	}
	PEER(p, sim_flush(c, -1) == 0);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

/* The bridge is killed with messages in its hands, again and again. */
TEST_WITH(messages_to_a_bridge_that_dies_are_counted, NULL, stack_sweep)
{
	pid_t simd = start(FAULTY_BRIDGE("\"mode\":\"late\",\"delay_us\":20000")), pid;
	struct peer *p = peer_new();

	pid = peer_fork(p, until_told);
	for (int i = 0; i < 4; i++) {
		int64_t sent = stack_bridge("b", "sent");

		AWAIT(stack_bridge("b", "sent") > sent + 20);
		assert_int_equal(kill((pid_t)stack_bridge("b", "pid"), SIGKILL), 0);
		AWAIT(stack_bridge("b", "restarts") == i + 1 && !strcmp(stack_bridge_text("b", "status"), "connected"));
		assert_true(bridge_adds_up());
	}
	peer_join(p, pid);
	assert_true(channel_adds_up("/carried"));
	assert_true(bridge_adds_up());
	assert_int_equal(stack_channel("/carried", "delivered"), p->ok);
	assert_int_equal(stack_channel("/carried", "failed"), p->accepted - p->ok);
	assert_int_equal(sum_of_drops("/carried"), p->offered - p->ok);
	assert_int_equal(stack_bridge("b", "sent"), p->ok);
	/* failed: it had them; dropped: they were queued for it, or it was not there */
	assert_int_equal(stack_bridge("b", "failed") + stack_bridge("b", "dropped"), p->accepted - p->ok);
	assert_in_range(stack_bridge("b", "failed"), 1, p->reasons[SIM_REASON_BRIDGE_DIED]);
	peer_free(p);
	stack_stop(simd);
}
