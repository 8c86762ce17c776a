/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that never reach simd, or arrive changed: other clients are not affected, and the log names the cause. */
#include "peer.h"
#include "stack.h"

#include "ipc.h"

#include <sys/mman.h>

#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"b\",\"plugin\":\"null\",\"channels\":[\"/t/*\"]}]}]"
#define BODY 832 /* with its header the largest that a slot of the pool holds */

static pid_t simd;

static void start(void)
{
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
}

/* All is back, and the channel as good as new. */
static void expect_whole(void)
{
	AWAIT(stack_in_flight("/t/x") == 0);
	stack_stop(simd);
}

/* Publishes as many messages as requested, then 200 more, one at a time, each of which is answered. */
static int honest(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "honest");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/x", 64, SIM_PUB_NO_WAIT);

	atomic_store(&p->ready, 1);
	PEER_AWAIT(p, atomic_load(&p->command) || atomic_load(&p->stop));
	for (int n = atomic_load(&p->command); n > 0; n--)
		PEER(p, peer_queue(p, pub, 64, NULL) == 0);
	PEER_IDLE(p);
	peer_settle(p);
	for (unsigned i = 0; i < 200; i++) {
		PEER(p, peer_queue(p, pub, 64, NULL) == 0);
		peer_settle(p);
	}
	return peer_leave(p, c, pub);
}

static const char *plane; /* asked for while simd runs */

/* It uses iceoryx by itself, and knows nothing of credits. */
static int foreign(struct peer *p)
{
	struct ipc_options o = { .app = "foreign", .plane = plane, .max_loan = 1024 };
	struct ipc_pub *pub;
	struct ipc *ipc;
	void *slot;

	PEER(p, ipc_attach(&o, &ipc) == 0);
	PEER(p, ipc_pub_create(ipc, "/t/x", NULL, &pub) == 0);
	AWAIT(ipc_pub_has_subscribers(pub));
	for (unsigned i = 0; i < 300; i++) { /* more than simd's queue holds */
		PEER(p, ipc_loan(pub, 200, &slot) == 0);
		memset(slot, 0, 200);
		PEER(p, ipc_publish(pub, slot) == 0);
	}
	ipc_pub_destroy(pub);
	ipc_detach(ipc);
	return 0;
}

/* simd is stopped during the flood, so that it cannot read faster than the flood is published. */
TEST_WITH(a_foreign_publisher_costs_no_credit, NULL, stack_sweep)
{
	struct peer *p = peer_new(), *f = peer_new();
	pid_t pp;

	start();
	pp = peer_fork(p, honest);
	AWAIT(p->ready);
	plane = stack_plane();
	kill(simd, SIGSTOP);
	AWAIT(test_stands(simd));
	peer_tell(p, 64);
	AWAIT(p->accepted == 64);
	peer_join(f, peer_fork(f, foreign));
	kill(simd, SIGCONT);
	AWAIT(p->called == 64);
	assert_int_equal(p->reasons[SIM_REASON_MISSING], 64);
	peer_join(p, pp);
	peer_check(p, false);
	assert_int_equal(p->ok, 200);
	assert_int_equal(stack_count("/t/x", "an iceoryx application outside simd publishes"), 1);
	expect_whole();
	peer_free(p);
	peer_free(f);
}

static void count(void *user, bool ok, enum sim_reason reason)
{
	struct peer *p = user;

	atomic_fetch_add(&p->reasons[reason], 1);
	atomic_fetch_add(&p->ok, ok);
	atomic_fetch_add(&p->called, 1);
	bell_ring(&p->bell);
}

/* 200 bytes past the first of four slots. */
static int overruns(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "overrun");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/x", BODY, SIM_PUB_NO_WAIT);
	struct sim_slot *s[4];

	for (unsigned i = 0; i < 50; i++) {
		unsigned n = 0;

		while (n < 4 && sim_loan(pub, BODY, &s[n]) == 0)
			n++;
		if (n)
			memset((char *)(s[0] + 1) + BODY, 6, 200);
		for (unsigned k = 0; k < n; k++) {
			atomic_fetch_add(&p->accepted, 1);
			PEER(p, sim_try_queue(pub, s[k], NULL, count, p) <= 0); /* refused: called as well */
		}
		pace_us(5000);
	}
	peer_settle(p);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(a_sensor_that_writes_past_its_slots, NULL, stack_sweep)
{
	struct peer *p = peer_new(), *o = peer_new();
	pid_t pp, po;

	start();
	pp = peer_fork(p, honest);
	AWAIT(p->ready);
	po = peer_fork(o, overruns);
	peer_join(o, po);
	peer_join(p, pp);
	peer_check(p, false);
	assert_true(o->ok > 0);
	assert_int_equal(o->called, o->accepted);
	assert_true(o->reasons[SIM_REASON_MISSING] > 0);
	assert_int_equal(stack_count("/t/x", "writes past the end of its slots"), 1);
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, "/t/x: "));
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, "(missing)"));
	expect_whole();
	peer_free(p);
	peer_free(o);
}

TEST_GROUP(NULL, NULL)
