/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bridges that fail, hang, crash, answer late or twice: each accepted message completes once, and no other client is
 * affected.
 */
#include "peer.h"
#include "stack.h"

#define SOON ",\"process\":{\"restart_ms\":20}"

static char conf[2048];
static pid_t simd;

/* One null bridge for everything, with those options. */
static void start(const char *options, const char *more)
{
	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"system\"," STACK_POOLS "%s,"
		 "\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"bad\",\"plugin\":\"" FAULTY
		 "\",\"options\":{%s}}]}]",
		 more, options);
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("bad", "status"), "connected"));
}

/* Everything is free again: cells, slots. */
static void all_free(struct peer *p, uint32_t slots)
{
	char channel[32];

	snprintf(channel, sizeof(channel), "/t/%llu", (unsigned long long)p->number);
	AWAIT(stack_in_flight(channel) <= 0);
	AWAIT(stack_slots() <= slots);
}

/* A publisher until n messages have been called back. */
static pid_t load(struct peer *p, uint64_t n, int rate)
{
	pid_t pid;

	peer_tell(p, rate);
	pid = peer_fork(p, peer_publisher);
	AWAIT(atomic_load(&p->called) >= n || atomic_load(&p->failed));
	return pid;
}

static void finish(struct peer *p, pid_t pid)
{
	peer_tell(p, -1);
	peer_join(p, pid);
	peer_check(p, false);
	assert_int_equal(p->called, p->offered);
}

TEST_WITH(a_bridge_that_fails_is_counted, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	uint32_t slots;
	pid_t pid;

	start("\"mode\":\"fail\",\"every\":3", "");
	slots = stack_slots();
	pid = load(p, 3000, 0);
	finish(p, pid);
	assert_int_equal(p->reasons[SIM_REASON_FAILED], p->accepted / 3);
	assert_int_equal(p->ok, p->accepted - p->accepted / 3);
	assert_int_equal(stack_bridge("bad", "failed"), p->accepted / 3);
	all_free(p, slots);
	stack_stop(simd);
	peer_free(p);
}

/* The far side disconnects again and again: the same process reconnects to it, and accepted messages are answered. */
TEST_WITH(a_bridge_that_loses_its_connection_reconnects, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	int64_t process;
	uint32_t slots;
	pid_t pid;

	start("\"mode\":\"lose\",\"every\":100,\"absent\":1", "");
	slots = stack_slots();
	process = stack_bridge("bad", "pid");
	pid = load(p, 1, 1000);
	AWAIT(stack_count("bad:", "connected again") >= 2);
	finish(p, pid);
	assert_true(p->reasons[SIM_REASON_FAILED] >= 2);
	assert_true(p->ok >= 100);
	assert_int_equal(p->ok + p->reasons[SIM_REASON_FAILED] + p->reasons[SIM_REASON_DISCONNECTED], p->accepted);
	assert_int_equal(stack_bridge("bad", "pid"), process);
	assert_int_equal(stack_bridge("bad", "restarts"), 0);
	all_free(p, slots);
	stack_stop(simd);
	peer_free(p);
}

/* Answers come from another thread, or come twice: the second is the host's to swallow. */
TEST_WITH(late_and_duplicate_answers_are_handled, NULL, stack_sweep)
{
	static const char *const modes[] = { "\"mode\":\"late\",\"delay_us\":300",
					     "\"mode\":\"twice\",\"delay_us\":300" };

	for (int i = 0; i < 2; i++) {
		struct peer *p = peer_new();
		uint32_t slots;
		pid_t pid;

		start(modes[i], "");
		slots = stack_slots();
		pid = load(p, 500, 0);
		finish(p, pid);
		assert_int_equal(p->ok, p->accepted);
		assert_int_equal(stack_bridge("bad", "restarts"), 0);
		if (i)
			assert_true(stack_said("twice"));
		all_free(p, slots);
		stack_stop(simd);
		peer_free(p);
	}
}

TEST_WITH(a_bridge_that_crashes_is_restarted, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	uint32_t slots;
	pid_t pid;

	start("\"mode\":\"crash\",\"every\":50", SOON);
	slots = stack_slots();
	peer_tell(p, 2000);
	pid = peer_fork(p, peer_publisher);
	AWAIT(stack_bridge("bad", "restarts") >= 3);
	finish(p, pid);
	assert_true(p->reasons[SIM_REASON_BRIDGE_DIED] >= 3);
	assert_true(p->ok > 0);
	assert_int_equal(p->ok + p->reasons[SIM_REASON_BRIDGE_DIED] + p->reasons[SIM_REASON_DISCONNECTED], p->accepted);
	assert_true(stack_count("bad", "signal 9") >= 3);
	all_free(p, slots);
	stack_stop(simd);
	peer_free(p);
}

/* The message is false at its deadline; the slot stays held until the process is dead, and the log says why. */
TEST_WITH(a_bridge_that_hangs_is_killed, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	uint32_t slots;
	int64_t first;
	pid_t pid;

	start("\"mode\":\"hang\",\"every\":10",
	      ",\"dispatch\":{\"deadline_ms\":200},\"bridge\":{\"kill_after_ms\":300}");
	slots = stack_slots();
	first = stack_bridge("bad", "pid");
	pid = load(p, 20, 200);
	AWAIT(stack_bridge("bad", "restarts") >= 1 && stack_bridge("bad", "pid") != first &&
	      !strcmp(stack_bridge_text("bad", "status"), "connected"));
	finish(p, pid);
	assert_true(p->reasons[SIM_REASON_DEADLINE] >= 1);
	assert_true(p->ok >= 9);
	assert_true(stack_count("killing bad", "beyond its deadline") >= 1);
	all_free(p, slots);
	stack_stop(simd);
	peer_free(p);
}

/*
 * A slow bridge uses up its window; the producer waits for credits of that channel, but not for those of the other
 * bridge's channel.
 */
TEST_WITH(a_slow_bridge_costs_a_fast_one_no_credits, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid;

	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":["
		 "{\"name\":\"slow\",\"plugin\":\"" FAULTY "\",\"options\":{\"mode\":\"slow\",\"delay_us\":50000}},"
		 "{\"name\":\"fast\",\"plugin\":\"" FAULTY "\"}]}]");
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("slow", "status"), "connected") &&
	      !strcmp(stack_bridge_text("fast", "status"), "connected"));
	pid = load(p, 40, 0);
	/* the fast one is ahead of the slow one, whose messages do not delay it */
	AWAIT(stack_bridge("fast", "sent") > stack_bridge("slow", "sent") + 20);
	finish(p, pid);
	peer_free(p);
	stack_stop(simd);
}

#define ORDER(ordered) \
	"\"TimeSource\":\"system\"," STACK_POOLS \
	",\"dispatch\":{\"lanes\":3,\"cycle_ms\":1},\"rigs\":[{\"name\":\"car\"," \
	"\"channels\":[{\"name\":\"/t/1\",\"ordered\":" ordered "}]," \
	"\"bridges\":[{\"name\":\"b\",\"plugin\":\"" FAULTY \
	"\",\"options\":{\"mode\":\"order\",\"delay_us\":2000}}]}]"

/* Three publishers, more than three lanes can do. */
static void load_lanes(struct peer *p[3], pid_t pid[3])
{
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	for (int i = 0; i < 3; i++) {
		p[i] = peer_new();
		p[i]->number = (uint64_t)i + 1;
		pid[i] = load(p[i], 50, 0);
	}
	AWAIT(stack_bridge("b", "lanes") == 3);
}

static void end_lanes(struct peer *p[3], const pid_t pid[3])
{
	for (int i = 0; i < 3; i++) {
		finish(p[i], pid[i]);
		peer_free(p[i]);
	}
	stack_stop(simd);
}

/* With any number of lanes. */
TEST_WITH(messages_of_each_ordered_channel_arrive_in_order, NULL, stack_sweep)
{
	struct peer *p[3];
	pid_t pid[3];

	simd = stack_start(ORDER("true"));
	load_lanes(p, pid);
	for (int i = 0; i < 3; i++)
		AWAIT(atomic_load(&p[i]->called) > 1000);
	end_lanes(p, pid);
	assert_false(stack_said("comes after"));
}

/* Where the rig does not ask for that, all lanes take the channel's, and they are not. */
TEST_WITH(messages_of_a_channel_without_order_may_overtake, NULL, stack_sweep)
{
	struct peer *p[3];
	pid_t pid[3];

	simd = stack_start(ORDER("false"));
	load_lanes(p, pid);
	AWAIT(stack_said("comes after"));
	end_lanes(p, pid);
}

/* Killed from outside at any moment; a stopped one is ended by simd when it stops. */
TEST_WITH(a_killed_bridge_is_restarted, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	uint32_t slots;
	pid_t pid;

	start("\"mode\":\"slow\",\"delay_us\":200", SOON);
	slots = stack_slots();
	pid = load(p, 50, 3000);
	for (int i = 0; i < 3; i++) {
		int64_t now = stack_bridge("bad", "pid");

		assert_true(now > 1);
		assert_int_equal(kill((pid_t)now, SIGKILL), 0);
		AWAIT(stack_bridge("bad", "pid") > 1 && stack_bridge("bad", "pid") != now &&
		      !strcmp(stack_bridge_text("bad", "status"), "connected"));
	}
	finish(p, pid);
	/* one for each kill, and for each process that the machine kept from connecting to simd for a minute */
	assert_int_equal(stack_bridge("bad", "restarts"),
			 3 + stack_count("simbridge: sim_connect: ", "within 5000 ms"));
	all_free(p, slots);
	stack_stop(simd);
	peer_free(p);
}

/* simd gets the signal to stop with messages in flight: each is answered, delivered or not, before it ends. */
TEST_WITH(simd_stopped_under_load_answers_every_message, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid;

	start("\"mode\":\"slow\",\"delay_us\":20000", "");
	pid = load(p, 5, 0); /* as fast as credits come: the window is always full */
	assert_int_equal(kill(simd, SIGTERM), 0);
	assert_int_equal(stack_wait(simd), 0);
	AWAIT(peer_settled(p) || p->failed);
	peer_join(p, pid);
	peer_check(p, false);
	assert_int_equal(p->called, p->offered);
	/* messages that simd had announced; those after its last packet complete as "lost" */
	assert_true(p->reasons[SIM_REASON_SHUTDOWN] > 0);
	peer_free(p);
}

/* A bridge that cannot load its plug-in or refuses its options is abandoned, and the log says so; the rest goes on. */
TEST_WITH(a_bridge_that_never_starts_is_abandoned, NULL, stack_sweep)
{
	simd = stack_start("\"TimeSource\":\"system\"," STACK_POOLS ",\"process\":{\"restart_ms\":10},"
			   "\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"odd\",\"plugin\":\"" FAULTY "\","
			   "\"options\":{\"mode\":\"sideways\"}}]}]");
	AWAIT(!strcmp(stack_bridge_text("odd", "status"), "permanent"));
	assert_int_equal(stack_bridge("odd", "restarts"), 2);
	assert_true(stack_said("sideways"));
	assert_true(stack_channel("/clock", "window") > 0);
	stack_stop(simd);
}

/*
 * A bridge that cannot start shows why in its status: a mistake in its options, and errors that the plug-in itself
 * finds.
 */
TEST_WITH(a_bridge_that_cannot_start_shows_the_reason, NULL, stack_sweep)
{
	static const struct {
		const char *bridge, *words;
	} b[] = {
		{ "\"plugin\":\"" FAULTY "\",\"options\":{\"wings\":2}", "options.wings" },
		{ "\"plugin\":\"" FAULTY "\",\"options\":{\"mode\":\"fly\"}", "mode" },
	};

	for (unsigned i = 0; i < sizeof(b) / sizeof(*b); i++) {
		snprintf(conf, sizeof(conf),
			 "\"TimeSource\":\"system\"," STACK_POOLS SOON
			 ",\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"bad\",%s}]}]",
			 b[i].bridge);
		simd = stack_start(conf);
		AWAIT(strstr(stack_bridge_text("bad", "detail"), b[i].words));
		assert_string_equal(stack_bridge_text("bad", "status"), "disconnected");
		AWAIT(stack_said(b[i].words));
		stack_stop(simd);
	}
}

/* simctl bridge restart ends a bridge that does not listen to SIGTERM. */
TEST_WITH(a_stuck_bridge_is_restarted_on_request, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	int64_t first;
	pid_t pid;

	start("\"mode\":\"hang\",\"every\":3", ",\"process\":{\"stop_ms\":200}");
	first = stack_bridge("bad", "pid");
	pid = load(p, 2, 100);
	assert_int_equal(stack_ctl("bridge", "restart", "bad", NULL)->code, 0);
	AWAIT(stack_bridge("bad", "pid") > 1 && stack_bridge("bad", "pid") != first);
	atomic_store(&p->stop, 1);
	kill(pid, SIGKILL);
	stack_wait(pid);
	stack_stop(simd);
	peer_free(p);
}
