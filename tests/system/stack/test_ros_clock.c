/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /clock on its way to ROS 2, over the whole stack: each tick reaches readers of both kinds, in order, whichever
 * process is killed.
 */
#include "peer.h"
#include "stack.h"

#include "../ros2/reader.h"

#define TICK_DUR_NS (10 * NS_PER_MS)

#define CONF \
	"\"TimeSource\":\"unity\",\"roudi\":{\"probe_ms\":100}," STACK_POOLS ",\"rigs\":[{\"name\":\"car\"," \
	"\"bridges\":[{\"name\":\"ros\",\"plugin\":\"ros2\",\"options\":{\"ros_distro\":\"humble\"}}]}]"

static pid_t simd;

static int setup(void **state)
{
	(void)state;
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("ros", "status"), "connected"));
	return 0;
}

/* A publisher without participant information. */
static int write_clock(struct peer *p)
{
	dds_entity_t dp = reader_participant();

	PEER(p, dp > 0 && reader_write_volatile(dp, &seen_clock_desc, "rt/clock") > 0);
	PEER_IDLE(p);
	dds_delete(DDS_CYCLONEDDS_HANDLE);
	return 0;
}

TEST(another_clock_publisher_is_reported)
{
	struct peer *other = peer_new();
	pid_t pid = peer_fork(other, write_clock);

	AWAIT(strstr(stack_ctl("clock", "status", NULL)->out, "), which bridge ros sees, publishes /clock as well"));
	assert_non_null(strstr(stack_ctl("clock", "status", NULL)->out, "warning:    a publisher ("));
	assert_true(stack_said("publishes /clock too"));
	peer_join(other, pid);
	AWAIT(!strstr(stack_ctl("clock", "status", NULL)->out, "warning"));
	peer_free(other);
}

/* Notes each stamp that differs from the one before. command: time has begun again. */
static int read_clock(struct peer *p, bool reliable)
{
	dds_entity_t dp = reader_participant(), r = reader_newest(dp, &seen_clock_desc, "rt/clock", reliable);

	PEER(p, dp > 0 && r > 0);
	while (!atomic_load(&p->stop)) {
		struct seen_time t;
		int64_t sim_ns;

		if (reader_take(r, &t) != 0)
			continue;
		sim_ns = t.sec * NS_PER_S + t.nanosec;
		if (atomic_exchange(&p->command, 0))
			atomic_store(&p->sim_ns, 0);
		PEER(p, sim_ns > 0 && sim_ns >= atomic_load(&p->sim_ns));
		if (sim_ns != atomic_load(&p->sim_ns))
			atomic_fetch_add(&p->received, 1);
		atomic_store(&p->sim_ns, sim_ns);
	}
	return 0;
}

static int read_newest(struct peer *p)
{
	return read_clock(p, false);
}

static int read_reliably(struct peer *p)
{
	return read_clock(p, true);
}

/* One tick for each command; simd may be away for a while. */
static int drive(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "engine");
	struct sim_driver *d;
	int done = 0;

	PEER(p, sim_driver_acquire(c, 0, &d) == 0);
	while (!atomic_load(&p->stop)) {
		if (atomic_load(&p->command) > done) {
			int r = sim_driver_advance(d, TICK_DUR_NS, NULL);

			PEER(p, r == 0 || r == -ENOTCONN);
			done += r == 0;
		}
		pace_us(500);
	}
	sim_driver_release(d);
	sim_disconnect(c);
	return 0;
}

static int ticks, before; /* before: of simds that are gone */

/* The next tick reaches both. */
static void tick(struct peer *driver, const struct peer *a, const struct peer *b)
{
	int64_t at = (++ticks - before) * TICK_DUR_NS;

	peer_tell(driver, ticks);
	AWAIT((a->sim_ns == at && b->sim_ns == at) || a->failed || b->failed);
	if (a->failed || b->failed)
		fail_msg("%s%s", a->why, b->why);
}

TEST(each_tick_reaches_both_kinds_of_readers)
{
	struct peer *a = peer_new(), *b = peer_new(), *d = peer_new();
	pid_t newest = peer_fork(a, read_newest), reliable = peer_fork(b, read_reliably), driver = peer_fork(d, drive);
	int64_t life = stack_life(), pid = stack_bridge("ros", "pid");

	for (int i = 0; i < 30; i++)
		tick(d, a, b);
	assert_int_equal(a->received, 30);
	assert_int_equal(b->received, 30);
	assert_int_equal(stack_bridge("ros", "sent"), 0); /* past dispatch */

	assert_int_equal(kill(stack_roudi(), SIGKILL), 0);
	AWAIT(stack_life() != life && stack_roudi() > 1);
	tick(d, a, b);
	tick(d, a, b);

	assert_true(pid > 1);
	assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
	AWAIT(stack_bridge("ros", "pid") > 1 && stack_bridge("ros", "pid") != pid);
	tick(d, a, b);
	tick(d, a, b);
	assert_int_equal(a->received, 34);
	assert_int_equal(b->received, 34);

	stack_kill(simd);
	simd = stack_start(CONF);
	before = ticks;
	peer_tell(a, 1);
	peer_tell(b, 1);
	tick(d, a, b);
	tick(d, a, b);
	peer_join(d, driver);
	/* time has no driver: it holds, and its stamp is still sent */
	peer_join(a, newest);
	peer_join(b, reliable);
	peer_free(a);
	peer_free(b);
	peer_free(d);
	stack_stop(simd);
}

TEST_GROUP(setup, stack_sweep)
