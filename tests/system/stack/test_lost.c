/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishers are killed between two steps of loan and publish (tests/system/ipc/dying.h), one after the other: the
 * slots that they held are freed, simd logs their number, and the data plane then works as at the start.
 */
#include "peer.h"
#include "stack.h"
#include "tests/system/ipc/dying.h"

#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"b1\",\"plugin\":\"null\",\"channels\":[\"/t/*\"]}]}]"

#define STEPS 60 /* of a loan and a publish there are more than that */

/* Dies at the step that is its command, on a channel that a bridge carries or on one of its own. */
static int victim(struct peer *p)
{
	bool local = atomic_load(&p->command) % 2;
	struct dying *d = dying_map();
	struct sim_publisher *pub;
	struct sim_client *c;

	PEER(p, d && setenv("SIM_IPC_MODULE", DYING, 1) == 0);
	c = peer_connect(p, "victim");
	pub = peer_advertise(p, c, local ? "/alone" : "/t/1", 64, local ? SIM_PUB_LOCAL : 0);
	for (int i = 0; i < 8; i++) {
		struct sim_slot *slot;

		if (i == 4)
			dying_arm(d, (uint32_t)atomic_load(&p->command));
		if (!local) {
			(void)peer_queue(p, pub, 64, NULL);
			continue;
		}
		PEER(p, sim_loan(pub, 64, &slot) == 0);
		PEER(p, sim_publish_local(pub, slot) == 0);
	}
	return 1; /* it should not live to see this */
}

static void kill_at(int step)
{
	struct peer *p = peer_new();
	int st;

	atomic_store(&p->command, step);
	st = stack_wait(peer_fork(p, victim));
	if (!WIFSIGNALED(st) || WTERMSIG(st) != SIGKILL)
		fail_msg("step %d: the publisher has lived: %s", step, p->why);
	peer_free(p);
}

TEST_WITH(slots_held_by_killed_publishers_are_reclaimed, NULL, stack_sweep)
{
	struct peer *p;
	uint32_t slots;
	pid_t simd, pid;

	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("b1", "status"), "connected"));
	slots = stack_slots();
	assert_int_equal(stack_int("GetDispatch", "dispatch/reclaimed"), 0);
	for (int step = 1; step <= STEPS; step++)
		kill_at(step);
	AWAIT(stack_slots() <= slots);
	assert_true(stack_int("GetDispatch", "dispatch/reclaimed") > STEPS / 4);
	assert_non_null(strstr(stack_ctl("dispatch", NULL)->out, "reclaimed slots: "));
	assert_string_equal(stack_text("GetInfo", "reclaim_why"), "");
	p = peer_new();
	p->number = 1;
	pid = peer_fork(p, peer_publisher);
	AWAIT(p->ok >= 2000);
	peer_join(p, pid);
	peer_check(p, false);
	peer_free(p);
	AWAIT(stack_slots() <= slots);
	stack_stop(simd);
}
