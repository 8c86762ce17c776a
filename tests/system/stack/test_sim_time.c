/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time from a ROS graph over the whole stack: a DDS program is the clock, one bridge drives simd with it, another one of the
 * same simd sends simd's time into the same graph, and a client sees time go on, jump and hold.
 */
#include "peer.h"
#include "stack.h"

#include "../ros2/reader.h"

#define CONF \
	"\"TimeSource\":\"ros2\",\"process\":{\"restart_ms\":10}," STACK_POOLS \
	",\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"in\",\"plugin\":\"ros2\",\"options\":{\"ros_distro\":\"humble\",\"use_sim_time\":true,\"node\":\"in\"}}," \
	"{\"name\":\"out\",\"plugin\":\"ros2\",\"options\":{\"ros_distro\":\"humble\",\"node\":\"out\"}}]}]"

static pid_t simd;

static int setup(void **state)
{
	(void)state;
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("in", "status"), "connected"));
	AWAIT(!strcmp(stack_bridge_text("out", "status"), "connected"));
	return 0;
}

/*
 * The clock: 100 Hz from `command` seconds on, from the start whenever the test gives another; sim_ns is the last one
 * sent. Below 0: it leaves the graph.
 */
static int be_clock(struct peer *p)
{
	dds_entity_t dp = reader_participant(), w = reader_write_volatile(dp, &seen_clock_desc, "rt/clock");
	int64_t sim_ns = 0;
	int from = 0;

	PEER(p, dp > 0 && w > 0);
	while (!atomic_load(&p->stop)) {
		int command = atomic_load(&p->command);
		struct seen_time t;

		if (command != from && w > 0 && command < 0)
			w = dds_delete(w) == 0 ? 0 : -1;
		else if (command != from && w == 0)
			w = reader_write_volatile(dp, &seen_clock_desc, "rt/clock");
		sim_ns = command != from ? command * NS_PER_S : sim_ns + 10 * NS_PER_MS;
		from = command;
		t = (struct seen_time){ (int32_t)(sim_ns / NS_PER_S), (uint32_t)(sim_ns % NS_PER_S) };
		if (w > 0) {
			PEER(p, dds_write(w, &t) == 0);
			atomic_store(&p->sim_ns, sim_ns);
		}
		pace_us(10000);
	}
	return 0;
}

/* What any reader of /clock gets: the bridge "out" and the clock itself. */
static int see_clock(struct peer *p)
{
	dds_entity_t dp = reader_participant(), r = reader_newest(dp, &seen_clock_desc, "rt/clock", false);

	PEER(p, dp > 0 && r > 0);
	while (!atomic_load(&p->stop)) {
		struct seen_time t;

		if (reader_take(r, &t) != 0)
			continue;
		atomic_store(&p->sim_ns, t.sec * NS_PER_S + t.nanosec);
		atomic_fetch_add(&p->received, 1);
	}
	return 0;
}

static void on_jump(void *user, const struct sim_clock_jump *jump)
{
	struct peer *p = user;

	atomic_store(&p->took_dur_ns, jump->new_sim_ns - jump->old_sim_ns);
	atomic_fetch_add(&p->called, 1);
}

/* A client: the time it sees, and the jumps that are reported to it. */
static int watch(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "watcher");
	struct sim_jump_handler *handler;

	PEER(p, sim_clock_on_jump(c, NULL, on_jump, p, &handler) == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		struct sim_clock_sample s;

		sim_now_sample(c, &s);
		if (s.clock_generation == atomic_load(&p->generation) && s.sim_ns < atomic_load(&p->sim_ns))
			PEER(p, false && "time went back without a jump");
		atomic_store(&p->flags, s.flags);
		atomic_store(&p->generation, s.clock_generation);
		atomic_store(&p->sim_ns, s.sim_ns);
		pace_us(1000);
	}
	sim_jump_handler_destroy(handler);
	sim_disconnect(c);
	return 0;
}

static bool says(const char *text)
{
	return strstr(stack_ctl("clock", "status", NULL)->out, text) != NULL;
}

/* The client's time has come from the clock since that began at `from`. */
static void follows(const struct peer *client, struct peer *clock, int from)
{
	AWAIT(client->failed || clock->failed ||
	      (client->sim_ns > from * NS_PER_S + 100 * NS_PER_MS && client->sim_ns <= clock->sim_ns));
	if (client->failed || clock->failed)
		fail_msg("%s%s", client->why, clock->why);
}

/* The source is not driven; the bridge logs that once, and continues when its source is selected again. */
static void another_source(const struct peer *reader)
{
	uint64_t n;

	assert_int_equal(stack_ctl("clock", "source", "simulation", NULL)->code, 0);
	AWAIT(stack_said(
		"the far side's clock does not drive time: ")); /* as the bridge or, at that moment, simd says it */
	assert_true(stack_said("does not drive time: the time source is `simulation`") ||
		    stack_said("does not drive time: time source `simulation` runs by itself"));
	n = reader->received;
	AWAIT(reader->received > n + 50);
	assert_int_equal(stack_count("the far side's clock does not drive time", ""), 1);
	assert_int_equal(stack_ctl("clock", "source", "ros2", NULL)->code, 0);
	AWAIT(says("driver:     in (pid"));
}

/* The clock is stopped until there is a new one. */
static void its_bridge_dies(const struct peer *client)
{
	int64_t pid = stack_bridge("in", "pid"), at;

	assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
	AWAIT(stack_said("driver lost (client in"));
	AWAIT(stack_bridge("in", "pid") > 1 && stack_bridge("in", "pid") != pid);
	AWAIT(says("driver:     in (pid"));
	at = client->sim_ns;
	AWAIT(client->sim_ns > at + 100 * NS_PER_MS);
}

TEST(the_graphs_clock_is_the_clock_of_simd)
{
	struct peer *clock = peer_new(), *client = peer_new(), *reader = peer_new();
	pid_t reading = peer_fork(reader, see_clock), watching = peer_fork(client, watch), ticking;
	uint64_t jumps, n;
	int64_t at;

	/* what our own bridge sends is no clock: time stays that of the wall */
	AWAIT(reader->received > 50 && client->ready);
	assert_false(client->flags & SIM_CLOCK_DRIVEN);

	peer_tell(clock, 1000);
	ticking = peer_fork(clock, be_clock);
	follows(client, clock, 1000);
	assert_true(client->flags & SIM_CLOCK_DRIVEN);
	assert_true(says("source:     ros2, driven") && says("driver:     in (pid"));
	assert_false(stack_said("publishers of /clock in the graph")); /* ours is not one of them */
	jumps = client->called;
	assert_int_equal(jumps, 1); /* from the wall's time */

	peer_tell(clock, 10); /* the clock's world restarts */
	AWAIT(client->called == jumps + 1 && client->sim_ns < 900 * NS_PER_S);
	assert_true(client->took_dur_ns < -900 * NS_PER_S);
	follows(client, clock, 10);
	assert_int_equal(client->called, jumps + 1);
	/* and it goes out with our other bridge */
	AWAIT(reader->sim_ns > 10 * NS_PER_S && reader->sim_ns < 900 * NS_PER_S);

	peer_tell(clock, -1);
	AWAIT(client->flags & SIM_CLOCK_NO_DRIVER);
	assert_true(says("driver:     none: lease released, clock stopped"));
	at = client->sim_ns;
	n = reader->received;
	AWAIT(reader->received > n + 50); /* the frozen stamp goes out */
	assert_int_equal(client->sim_ns, at);
	peer_tell(clock, (int)(at / NS_PER_S) + 2);
	follows(client, clock, (int)(at / NS_PER_S) + 2);
	assert_false(client->flags & SIM_CLOCK_NO_DRIVER);
	assert_int_equal(client->called, jumps + 1); /* forward: no jump */

	another_source(reader);
	follows(client, clock, (int)(at / NS_PER_S) + 2);
	its_bridge_dies(client);

	peer_join(client, watching);
	peer_join(reader, reading);
	peer_join(clock, ticking);
	peer_free(clock);
	peer_free(client);
	peer_free(reader);
	stack_stop(simd);
}

TEST_GROUP(setup, stack_sweep)
