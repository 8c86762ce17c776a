/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from outside: a bridge injects them while there is a subscriber, only into channels that the rig lists, and
 * only while time runs, unless the rig says otherwise.
 */
#include "peer.h"
#include "stack.h"

#define MESSAGES 60

static char conf[2048];
static pid_t simd;

static void start(const char *rig, const char *options)
{
	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\",%s"
		 "\"bridges\":[{\"name\":\"far\",\"plugin\":\"" FAULTY "\",\"options\":{\"inject\":%d,%s}}]}]",
		 rig, MESSAGES, options);
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("far", "status"), "connected"));
}

/* Receives on /car/in the messages that the bridge numbers, in order, until told to stop. */
static int listen_to(struct peer *p)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };
	struct sim_client *c = peer_connect(p, "listener");
	const struct sim_message *msg;
	struct sim_subscriber *s;

	PEER(p, sim_subscribe(c, "/car/in", &sim_Ultrasonic_type, &o, &s) == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		if (sim_wait(s, 20 * NS_PER_MS) != 1)
			continue;
		while (sim_take(s, &msg) == 0) {
			const struct sim_Ultrasonic *m = msg->body;

			PEER(p, (uint64_t)m->minimum_distance == atomic_load(&p->received));
			sim_release(s, msg);
			atomic_fetch_add(&p->received, 1);
		}
	}
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(the_first_subscriber_opens_inbound_and_the_last_closes_it, NULL, stack_sweep)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t first, second;

	start("\"inbound\":[\"in\"],", "\"inject_channel\":\"in\",\"inject_us\":20000");
	first = peer_fork(p, listen_to);
	AWAIT(atomic_load(&p->received) >= MESSAGES / 4 || atomic_load(&p->failed));
	q->received = UINT64_MAX / 2; /* it comes in the middle: numbers mean nothing to it */
	second = peer_fork(q, listen_to);
	AWAIT(atomic_load(&p->received) == MESSAGES || atomic_load(&p->failed));
	atomic_store(&q->stop, 1);
	stack_wait(second);
	assert_int_equal(stack_count("in:", "first subscriber connected"), 1);
	assert_int_equal(stack_count("in:", "last subscriber disconnected"), 0);
	peer_join(p, first);
	AWAIT(stack_count("in:", "last subscriber disconnected") == 1);
	AWAIT(stack_count("in:", "60 brought in, 0 refused") == 1);
	stack_stop(simd);
	peer_free(p);
	peer_free(q);
}

TEST_WITH(inbound_stops_while_time_is_paused, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid;

	start("\"inbound\":[\"/car/in\"],", "\"inject_channel\":\"/car/in\"");
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	pid = peer_fork(p, listen_to);
	AWAIT(stack_said("a message was refused"));
	assert_int_equal(p->received, 0);
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	AWAIT(atomic_load(&p->received) == MESSAGES || atomic_load(&p->failed));
	peer_join(p, pid);
	stack_stop(simd);
	peer_free(p);
}

TEST_WITH(inbound_while_paused_continues_in_a_pause, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid;

	start("\"inbound\":[\"in\"],\"inbound_while_paused\":true,", "\"inject_channel\":\"in\"");
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	pid = peer_fork(p, listen_to);
	AWAIT(atomic_load(&p->received) == MESSAGES || atomic_load(&p->failed));
	peer_join(p, pid);
	stack_stop(simd);
	peer_free(p);
}

TEST_WITH(inbound_channels_that_are_not_listed_are_refused, NULL, stack_sweep)
{
	start("\"inbound\":[\"other\"],", "\"inject_channel\":\"in\"");
	AWAIT(stack_count("in is not written", "does not list it") == 1);
	assert_int_equal(stack_channel("/car/in", "id"), -1);
	stack_stop(simd);
}
