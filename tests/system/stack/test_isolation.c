/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several rigs in one simd: a rig's messages arrive complete and in order while another one is flooded, loses its
 * bridge, or all of them lose simd; what simctl shows of each is its own.
 */
#include "peer.h"
#include "stack.h"

#include <zlib.h>

#include "../ros2/reader.h"

#define RIGS_MAX 4
#define NULL_    "\"plugin\":\"null\""
#define SLOW(us) "\"plugin\":\"" FAULTY "\",\"options\":{\"mode\":\"slow\",\"delay_us\":" #us "}"
#define LOGGING  "\"plugin\":\"logging\",\"connection\":\"/tmp/out\""
#define ROS2     "\"plugin\":\"ros2\""
#define THREADS  "\"threads\":4,\"backlog_ms\":1" /* rigs run at the same time, whatever the machine's CPUs */

static char conf[4096];
static pid_t simd;

/* ---- configuration ---- */

__attribute__((format(printf, 1, 2))) static void add(const char *fmt, ...)
{
	size_t n = strlen(conf);
	va_list ap;

	va_start(ap, fmt);
	assert_true(vsnprintf(conf + n, sizeof(conf) - n, fmt, ap) < (int)(sizeof(conf) - n));
	va_end(ap);
}

/* Members before the rigs. */
static void begin(const char *members)
{
	*conf = '\0';
	add("\"TimeSource\":\"system\"," STACK_POOLS ",%s\"rigs\":[", members);
}

/* Rig r<i> with its prefix, the channel /r<i>/sonar and the bridge b<i>. */
static void rig(int i, const char *bridge)
{
	add("%s{\"name\":\"r%d\",\"prefix\":\"/r%d\",\"channels\":[{\"name\":\"sonar\"}],"
	    "\"bridges\":[{\"name\":\"b%d\",%s}]}",
	    i ? "," : "", i, i, i, bridge);
}

static bool all_connected(int rigs)
{
	for (int i = 0; i < rigs; i++) {
		char name[16];

		snprintf(name, sizeof(name), "b%d", i);
		if (strcmp(stack_bridge_text(name, "status"), "connected"))
			return false;
	}
	return true;
}

static void start(int rigs)
{
	add("]");
	simd = stack_start(conf);
	AWAIT(all_connected(rigs));
}

/* ---- sensors ---- */

static const char *rig_name(int i)
{
	static const char *const names[RIGS_MAX] = { "r0", "r1", "r2", "r3" };

	return names[i];
}

/* /r<i>/sonar; the frame is the rig's name. */
static struct sim_publisher *advertise(struct peer *p, struct sim_client *c, int i)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = 64, .frame_id = rig_name(i) };
	struct sim_publisher *pub;
	char name[32];

	snprintf(name, sizeof(name), "/%s/sonar", rig_name(i));
	PEER(p, sim_advertise(c, name, &sim_Ultrasonic_type, &o, &pub) == 0);
	return pub;
}

/* Publishes in rig `result` until stopped; `command` messages, if that is not 0, each after the last one's completion. */
static int sensor(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sensor");
	struct sim_publisher *pub = advertise(p, c, p->result);
	int n = p->command;

	for (int i = 0; n ? i < n : !p->stop; i++) {
		peer_queue(p, pub, 64, NULL);
		if (n)
			peer_settle(p);
		else
			pace_us(1000);
	}
	peer_settle(p);
	p->ready = 1;
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

/* One process with a sensor in each of `result` rigs. */
static int fleet(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "fleet");
	struct sim_publisher *pub[RIGS_MAX];

	for (int i = 0; i < p->result; i++)
		pub[i] = advertise(p, c, i);
	for (int i = 0; !p->stop; i++) {
		peer_queue(p, pub[i % p->result], 64, NULL);
		pace_us(500);
	}
	peer_settle(p);
	for (int i = 0; i < p->result; i++)
		sim_publisher_destroy(pub[i]);
	sim_disconnect(c);
	return 0;
}

static struct peer *peer_of(int result, int command)
{
	struct peer *p = peer_new();

	p->result = result;
	peer_tell(p, command);
	return p;
}

static void finish(struct peer *p, pid_t pid)
{
	peer_join(p, pid);
	peer_check(p, false);
}

/* The log of the bridge LOGGING holds the messages 1 to n of that rig, in this order. */
static void expect_log(int rig, uint64_t n)
{
	static char head[512], body[65536];
	gzFile f = gzopen("/tmp/out.txt.gz", "rb");
	char expected[64];
	uint64_t i = 0;

	assert_non_null(f);
	snprintf(expected, sizeof(expected), "sim/Ultrasonic /%s/sonar ", rig_name(rig));
	while (gzgets(f, head, sizeof(head)) && gzgets(f, body, sizeof(body))) {
		if (strncmp(head, expected, strlen(expected)) || strtoull(strrchr(head, ' '), NULL, 10) != ++i)
			fail_msg("message %llu in the log of rig %d: %s", (unsigned long long)i, rig, head);
	}
	gzclose(f);
	assert_int_equal(i, n);
}

/* ---- a flooded rig ---- */

#define CHANNELS 4 /* their windows are more than the queue of FLOODED takes */
#define FLOODED  "\"dispatch\":{\"queue\":64," THREADS "},"
#define CALM     500

static int flood(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "flood");
	struct sim_publisher *pub[CHANNELS];
	char name[32];

	for (int i = 0; i < CHANNELS; i++) {
		snprintf(name, sizeof(name), "/r0/%d", i);
		pub[i] = peer_advertise(p, c, name, 64, SIM_PUB_NO_WAIT);
	}
	for (int i = 0; !p->stop; i++) {
		peer_queue(p, pub[i % CHANNELS], 64, NULL);
		pace_us(500);
	}
	peer_settle(p);
	for (int i = 0; i < CHANNELS; i++)
		sim_publisher_destroy(pub[i]);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(a_full_backlog_of_one_rig_does_not_slow_another, NULL, stack_sweep)
{
	struct peer *p = peer_of(0, 0), *q = peer_of(1, CALM);
	pid_t pid, calm;
	uint64_t busy;

	begin(FLOODED);
	rig(0, SLOW(5000));
	rig(1, LOGGING);
	start(2);
	pid = peer_fork(p, flood);
	AWAIT(p->reasons[SIM_REASON_BRIDGE_BUSY] > 0);
	calm = peer_fork(q, sensor);
	AWAIT(q->ready || q->failed);
	busy = p->reasons[SIM_REASON_BRIDGE_BUSY]; /* and it is full still */
	AWAIT(p->reasons[SIM_REASON_BRIDGE_BUSY] > busy);
	finish(q, calm);
	finish(p, pid);
	assert_int_equal(q->accepted, CALM);
	assert_int_equal(q->ok, CALM);
	assert_int_equal(p->ok + p->reasons[SIM_REASON_BRIDGE_BUSY], p->accepted);
	AWAIT(stack_bridge("b1", "sent") == CALM && stack_bridge("b0", "sent") == (int64_t)p->ok);
	assert_int_equal(stack_bridge("b1", "failed") + stack_bridge("b1", "dropped"), 0);
	assert_int_equal(stack_bridge("b0", "dropped"), p->reasons[SIM_REASON_BRIDGE_BUSY]);
	stack_stop(simd);
	expect_log(1, CALM);
	peer_free(p);
	peer_free(q);
}

/* ---- a rig whose bridge is restarted ---- */

static void end_bridge(int round)
{
	if (round % 2)
		kill((pid_t)stack_bridge("b0", "pid"), SIGKILL);
	else
		assert_int_equal(stack_ctl("bridge", "restart", "b0", NULL)->code, 0);
}

TEST_WITH(a_restarted_bridge_of_one_rig_does_not_disturb_another, NULL, stack_sweep)
{
	struct peer *p[2] = { peer_of(0, 0), peer_of(1, 0) };
	pid_t pid[2], kept;

	begin("\"process\":{\"restart_ms\":20},");
	rig(0, SLOW(300));
	rig(1, LOGGING);
	start(2);
	kept = (pid_t)stack_bridge("b1", "pid");
	for (int i = 0; i < 2; i++)
		pid[i] = peer_fork(p[i], sensor);
	for (int round = 0; round < 4; round++) {
		pid_t old = (pid_t)stack_bridge("b0", "pid");
		uint64_t ok[2];

		end_bridge(round);
		AWAIT(stack_bridge("b0", "pid") != old && all_connected(2));
		ok[0] = p[0]->ok;
		ok[1] = p[1]->ok;
		AWAIT(p[0]->ok > ok[0] + 20 && p[1]->ok > ok[1] + 20);
	}
	for (int i = 0; i < 2; i++)
		finish(p[i], pid[i]);
	assert_int_equal(p[1]->ok, p[1]->accepted);
	assert_int_equal(p[1]->refused, 0);
	assert_int_equal(stack_bridge("b1", "pid"), kept);
	AWAIT(stack_bridge("b1", "sent") == (int64_t)p[1]->ok);
	assert_int_equal(stack_bridge("b1", "failed") + stack_bridge("b1", "dropped") + stack_bridge("b1", "restarts"),
			 0);
	stack_stop(simd);
	expect_log(1, p[1]->ok);
	peer_free(p[0]);
	peer_free(p[1]);
}

/* ---- all rigs lose simd ---- */

#define PEERS (RIGS_MAX + 1) /* a sensor for each rig, and one process that has a sensor in all */

static bool all_beyond(struct peer *const *p, const uint64_t *before, enum sim_reason reason)
{
	for (int i = 0; i < PEERS; i++)
		if (p[i]->reasons[reason] <= before[i] + (reason == SIM_REASON_NONE ? 20 : 0))
			return false;
	return true;
}

static bool all_in_flight(struct peer *const *p)
{
	for (int i = 0; i < PEERS; i++)
		if (p[i]->accepted <= p[i]->called - p[i]->refused + 4)
			return false;
	return true;
}

static void count(struct peer *const *p, enum sim_reason reason, uint64_t *ret)
{
	for (int i = 0; i < PEERS; i++)
		ret[i] = p[i]->reasons[reason];
}

TEST_WITH(all_rigs_survive_a_killed_simd, NULL, stack_sweep)
{
	struct peer *p[PEERS];
	uint64_t n[PEERS];
	pid_t pid[PEERS];
	uint32_t slots;

	begin("\"dispatch\":{" THREADS "},");
	for (int i = 0; i < RIGS_MAX; i++)
		rig(i, SLOW(3000));
	start(RIGS_MAX);
	slots = stack_slots();
	for (int i = 0; i < PEERS; i++) {
		p[i] = peer_of(i, 0);
		pid[i] = peer_fork(p[i], i < RIGS_MAX ? sensor : fleet);
	}
	for (int round = 0; round < 2; round++) {
		AWAIT(all_in_flight(p));
		count(p, SIM_REASON_LOST, n);
		stack_kill(simd);
		AWAIT(all_beyond(p, n, SIM_REASON_LOST));
		count(p, SIM_REASON_NONE, n);
		simd = stack_start(conf);
		AWAIT(all_beyond(p, n, SIM_REASON_NONE) && all_connected(RIGS_MAX));
	}
	for (int i = 0; i < PEERS; i++) {
		finish(p[i], pid[i]);
		peer_free(p[i]);
	}
	AWAIT(stack_slots() <= slots);
	stack_stop(simd);
}

/* ---- ROS 2 ---- */

#define ROS_RIGS 3
#define SEEN     20

/* Sees the messages of each rig in order, and time. */
static int read_all(struct peer *p)
{
	dds_entity_t dp = reader_participant(), reader[ROS_RIGS];
	struct seen_time t = { 0, 0 };
	char name[32];

	for (int i = 0; i < ROS_RIGS; i++) {
		snprintf(name, sizeof(name), "rt/%s/sonar", rig_name(i));
		reader[i] = reader_open(dp, &seen_ultrasonic_desc, name, false);
	}
	for (int i = 0; i < ROS_RIGS; i++) {
		float last = -1;

		for (int n = 0; n < SEEN; n++) {
			struct seen_ultrasonic m = { .minimum_distance = -1 };

			PEER(p, reader_take(reader[i], &m) == 0);
			PEER(p, m.minimum_distance > last && strcmp(m.frame_id, rig_name(i)) == 0);
			last = m.minimum_distance;
		}
	}
	PEER(p, reader_take(reader_open(dp, &seen_clock_desc, "rt/clock", false), &t) == 0 && t.sec > 1600000000);
	return 0;
}

TEST_WITH(each_rig_may_have_a_ros2_bridge, NULL, stack_sweep)
{
	struct peer *p[ROS_RIGS], *q = peer_new();
	pid_t pid[ROS_RIGS], reader;

	begin("");
	for (int i = 0; i < ROS_RIGS; i++)
		rig(i, ROS2);
	start(ROS_RIGS);
	for (int i = 0; i < ROS_RIGS; i++) {
		p[i] = peer_of(i, 0);
		pid[i] = peer_fork(p[i], sensor);
	}
	reader = peer_fork(q, read_all);
	stack_wait(reader);
	if (q->failed)
		fail_msg("%s", q->why);
	for (int i = 0; i < ROS_RIGS; i++) {
		char name[16];

		finish(p[i], pid[i]);
		assert_int_equal(p[i]->ok, p[i]->accepted);
		snprintf(name, sizeof(name), "b%d", i);
		AWAIT(stack_bridge(name, "sent") == (int64_t)p[i]->ok);
		assert_int_equal(stack_bridge(name, "failed") + stack_bridge(name, "dropped"), 0);
		peer_free(p[i]);
	}
	peer_free(q);
	stack_stop(simd);
}

/* ---- what people see ---- */

#define SHOWN    3
#define TOLD(i)  (10 * ((i) + 1)) /* messages of rig i */
#define ALL_TOLD (10 + 20 + 30)

/* A member of the element of `list` with that name; NULL: there are several, or none. */
static const json_t *member(const json_t *list, const char *name, const char *key)
{
	const json_t *found = NULL;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);

		if (strcmp(json_string_value(json_object_get(o, "name")), name))
			continue;
		if (found)
			return NULL;
		found = o;
	}
	return json_object_get(found, key);
}

static json_t *ctl_json(const char *a, const char *b)
{
	json_t *j = json_loads(stack_ctl("--json", a, b, NULL)->out, 0, NULL);

	assert_non_null(j);
	return j;
}

static void expect_rig(int i)
{
	json_t *list = ctl_json("list", NULL), *bridges = ctl_json("bridge", "list"), *sum = ctl_json("summary", NULL),
	       *dispatch = ctl_json("dispatch", NULL);
	const json_t *at;
	char channel[32], bridge[16];

	snprintf(channel, sizeof(channel), "/%s/sonar", rig_name(i));
	snprintf(bridge, sizeof(bridge), "b%d", i);
	at = json_object_get(list, "channels");
	assert_string_equal(json_string_value(member(at, channel, "rig")), rig_name(i));
	assert_int_equal(json_integer_value(member(at, channel, "delivered")), TOLD(i));
	assert_int_equal(json_array_size(member(at, channel, "bridges")), 1);
	assert_string_equal(json_string_value(json_array_get(member(at, channel, "bridges"), 0)), bridge);
	at = json_object_get(bridges, "bridges");
	assert_string_equal(json_string_value(member(at, bridge, "rig")), rig_name(i));
	assert_int_equal(json_integer_value(member(at, bridge, "attempted")), TOLD(i));
	assert_int_equal(json_integer_value(member(at, bridge, "sent")), TOLD(i));
	assert_int_equal(json_integer_value(member(json_object_get(sum, "bridges"), bridge, "sent")), TOLD(i));
	at = json_object_get(sum, "channels");
	assert_int_equal(json_integer_value(member(at, channel, "messages")), TOLD(i));
	assert_int_equal(json_integer_value(member(at, channel, "delivered")), TOLD(i));
	at = json_object_get(json_object_get(dispatch, "dispatch"), "channels");
	assert_int_equal(json_integer_value(member(at, channel, "accepted")), TOLD(i));
	assert_int_equal(json_integer_value(member(at, channel, "completed")), TOLD(i));
	assert_int_equal(json_integer_value(member(at, channel, "in_flight")), 0);
	json_decref(list);
	json_decref(bridges);
	json_decref(sum);
	json_decref(dispatch);
}

/* What there is once for all rigs. */
static void expect_totals(void)
{
	json_t *j = ctl_json("dispatch", NULL), *d = json_object_get(j, "dispatch");

	assert_int_equal(json_integer_value(json_object_get(d, "queued")), 0);
	assert_int_equal(json_integer_value(json_object_get(d, "invalid")), 0);
	assert_true(json_integer_value(json_object_get(d, "threads")) >= 1);
	assert_true(json_integer_value(json_object_get(d, "lanes")) >= SHOWN);
	assert_true(json_integer_value(json_object_get(d, "packets_in")) >= ALL_TOLD);
	assert_true(json_integer_value(json_object_get(json_object_get(d, "publish_ns"), "p50")) > 0);
	json_decref(j);
}

TEST_WITH(simctl_shows_each_rig, NULL, stack_sweep)
{
	begin("");
	for (int i = 0; i < SHOWN; i++)
		rig(i, NULL_);
	start(SHOWN);
	for (int i = 0; i < SHOWN; i++) {
		struct peer *p = peer_of(i, TOLD(i));

		finish(p, peer_fork(p, sensor));
		assert_int_equal(p->ok, TOLD(i));
		peer_free(p);
	}
	AWAIT(stack_bridge("b0", "sent") == TOLD(0) && stack_bridge("b1", "sent") == TOLD(1) &&
	      stack_bridge("b2", "sent") == TOLD(2));
	for (int i = 0; i < SHOWN; i++)
		expect_rig(i);
	expect_totals();
	stack_stop(simd);
}
