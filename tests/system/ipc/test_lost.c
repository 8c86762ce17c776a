/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A publisher is killed between every two steps of loan and publish (dying.h). The slots it held are found and freed
 * each time, and at the end the pools are as full as at the start. The test acts as simd: it has the beacon and takes
 * the published messages.
 */
#include "ipc_child.h"
#include "dying.h"
#include "roudi.h"

#include <stdatomic.h>

static const struct ipc_mem_pool pools[] = { { 320, 200 }, { 4096, 8 } };
static struct roudi roudi;

/* Between the test and its child. */
static struct shared {
	_Atomic uint32_t steps, ready;
	uint32_t at;
	uint64_t origin[2];
} * sh;

static struct ipc *ipc;
static struct ipc_sub *feed;

static void send_one(struct ipc_pub *p)
{
	void *slot;

	CHECK_IS(ipc_loan(p, 200, &slot), 0);
	memset(slot, 7, 200);
	CHECK_IS(ipc_publish(p, slot), 0);
}

/*
 * On "heard" the feed keeps the last slot, so that each loan takes a fresh one and each publish frees one; on "unheard" it is the
 * same slot again and again.
 */
static void victim(void)
{
	struct dying *d = dying_map();
	struct ipc_pub *heard = NULL, *unheard = NULL;
	struct ipc *mine;

	CHECK(d);
	CHECK(setenv("SIM_IPC_MODULE", DYING, 1) == 0);
	mine = attach_as("victim");
	CHECK_IS(ipc_pub_create(mine, "heard", NULL, &heard), 0);
	CHECK_IS(ipc_pub_create(mine, "unheard", NULL, &unheard), 0);
	AWAIT(ipc_pub_has_subscribers(heard));
	sh->origin[0] = ipc_pub_origin(heard);
	sh->origin[1] = ipc_pub_origin(unheard);
	for (int i = 0; i < 2; i++) {
		send_one(heard);
		send_one(unheard);
	}
	dying_arm(d, sh->at);
	send_one(heard);
	send_one(unheard);
	d->thread = 0;
	sh->steps = d->steps;
	_exit(0);
}

static uint32_t used(void)
{
	struct ipc_pool v[2];
	uint32_t n = 0;

	assert_int_equal(ipc_pools(ipc, v, 2), 2);
	for (int i = 0; i < 2; i++)
		n += v[i].used;
	return n;
}

/* RouDi frees the slots it knows of; the feed is emptied. */
static void free_victim(void)
{
	const void *slot;
	size_t size;

	assert_int_equal(ipc_free_app(NULL, "victim"), 0);
	assert_int_equal(ipc_probe(NULL, PATIENT_MS), 0);
	while (ipc_take(feed, &slot, &size) == 0)
		assert_int_equal(ipc_release(feed, slot), 0);
}

static struct ipc_scan scan(uint32_t n_dead, uint32_t settled)
{
	struct ipc_scan_request o = { .dead = sh->origin, .n_dead = n_dead, .settled = settled };
	struct ipc_scan s;

	assert_int_equal(ipc_scan(ipc, &o, &s), 0);
	return s;
}

TEST(a_publisher_killed_at_each_step_loses_nothing)
{
	uint32_t before = used(), lost = 0, dead = 0, settled = 0, steps = 1;

	for (sh->at = 0; sh->at <= steps; sh->at++) {
		struct ipc_scan s;
		int st = child_status(child_start(victim));

		assert_int_equal(st, sh->at ? SIGKILL : 0);
		steps = sh->steps;
		assert_in_range(steps, 40, 400);
		assert_true(sh->origin[0] && sh->origin[1] && sh->origin[0] != sh->origin[1]);
		free_victim();
		lost += used() > before;
		s = scan(2, 0);
		dead += s.freed;
		s = scan(0, s.number);
		settled += s.freed;
		if (s.used != before || s.suspects)
			fail_msg("killed at step %u of %u: %u slots of %u before, %u suspects", sh->at, steps, s.used,
				 before, s.suspects);
		assert_int_equal(used(), before);
	}
	print_message("%u steps, %u deaths with loss: %u slots of a dead origin, %u others\n", steps, lost, dead,
		      settled);
	assert_true(dead > 5 && settled > 5);
}

/* A live subscriber has the newest messages in its queue: those stay, and slots that no port refers to are freed. */
TEST(a_killed_publisher_loses_nothing_beside_a_subscriber_either)
{
	uint32_t before = used(), freed = 0, steps = sh->steps;

	for (sh->at = 1; sh->at <= steps; sh->at += 3) {
		struct ipc_scan_request o = { .marks = true };
		struct ipc_scan s;
		const char *slot;
		const void *got;
		size_t size;

		assert_int_equal(child_status(child_start(victim)), SIGKILL);
		assert_int_equal(ipc_free_app(NULL, "victim"), 0);
		assert_int_equal(ipc_probe(NULL, PATIENT_MS), 0);
		assert_int_equal(ipc_scan(ipc, &o, &s), 0);
		o.settled = s.number;
		assert_int_equal(ipc_scan(ipc, &o, &s), 0);
		freed += s.freed;
		assert_int_equal(ipc_take(feed, &got, &size), 0);
		slot = got;
		for (int i = 0; i < 200; i++)
			assert_int_equal(slot[i], 7);
		assert_int_equal(ipc_release(feed, got), 0);
		s = scan(2, 0);
		s = scan(0, s.number);
		assert_int_equal(used(), before);
	}
	print_message("%u slots freed beside a subscriber\n", freed);
	assert_true(freed > 5);
}

static void sender(void)
{
	struct ipc *mine = attach_as("sender");
	struct ipc_pub *p = NULL;

	CHECK_IS(ipc_pub_create(mine, "heard", NULL, &p), 0);
	AWAIT(ipc_pub_has_subscribers(p));
	for (uint32_t i = 0; i < 2000; i++) {
		send_one(p);
		AWAIT(atomic_load(&sh->ready) == i + 1);
	}
}

TEST(after_the_kills_2000_messages_arrive)
{
	pid_t pid = child_start(sender);
	const void *slot;
	size_t size;

	for (uint32_t i = 0; i < 2000; i++) {
		AWAIT(ipc_take(feed, &slot, &size) == 0);
		assert_int_equal(ipc_release(feed, slot), 0);
		atomic_store(&sh->ready, i + 1);
	}
	assert_int_equal(child_status(pid), 0);
}

static int start(void **state)
{
	(void)state;
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED || roudi_start(&roudi, pools, 2) < 0)
		return -1;
	ipc = attach_as("simd");
	if (ipc_beacon_create(ipc) < 0 || *ipc_scan_why(ipc)) {
		print_error("%s%s\n", ipc_why(), ipc_scan_why(ipc));
		return -1;
	}
	return ipc_sub_create(ipc, "heard", &(struct ipc_sub_options){ .depth = 1 }, &feed);
}

static int stop(void **state)
{
	(void)state;
	ipc_detach(ipc);
	roudi_kill(&roudi);
	return 0;
}

TEST_GROUP(start, stop)
