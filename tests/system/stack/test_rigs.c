/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two rigs in one simd: sensors of the same names, each rig with its own prefix, processes and bridges. Neither rig
 * sees the other, whatever happens to its bridges, and inbound messages reach the right one.
 */
#include "peer.h"
#include "stack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define RIGS     2
#define MESSAGES 300
#define SIZES    "\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"8KiB\",\"count\":400}]"

static const char *const rigs[RIGS] = { "north", "south" };
static const int injected[RIGS] = { 40, 25 };

static char conf[4096];
static pid_t simd;

/*
 * A sensor that simd starts (a channel name without a slash), a log, and a bridge that also brings messages in: south's is
 * waited for, so that a machine with too little time for it costs no message.
 */
static int one_rig(char *at, size_t size, int i)
{
	const char *b = getenv("B"), *n = rigs[i];
	char sensor[PATH_MAX + 64], path[PATH_MAX];

	snprintf(sensor, sizeof(sensor), "%s/examples/float_array_copy", b ? b : "build");
	assert_non_null(realpath(sensor, path));
	return snprintf(at, size,
			"%s{\"name\":\"%s\",\"prefix\":\"/%s\",\"inbound\":[\"in\"],"
			"\"processes\":[{\"name\":\"%s-sensor\",\"command\":[\"%s\"]}],"
			"\"bridges\":[{\"name\":\"%s-log\",\"plugin\":\"logging\",\"connection\":\"/tmp/out-%s\"},"
			"{\"name\":\"%s-null\",\"plugin\":\"" FAULTY "\",\"channels\":[\"imu\"],\"lossless\":%s,"
			"\"options\":{\"inject\":%d,\"inject_channel\":\"in\"}}]}",
			i ? "," : "", n, n, n, path, n, n, n, i ? "true" : "false", injected[i]);
}

static const char *bridge(int rig, const char *what)
{
	static char name[4][32];
	static unsigned i;

	i = (i + 1) % 4;
	snprintf(name[i], sizeof(name[i]), "%s-%s", rigs[rig], what);
	return name[i];
}

static bool connected(int rig)
{
	return !strcmp(stack_bridge_text(bridge(rig, "log"), "status"), "connected") &&
	       !strcmp(stack_bridge_text(bridge(rig, "null"), "status"), "connected");
}

static int setup(void **state)
{
	int n = snprintf(conf, sizeof(conf),
			 "\"TimeSource\":\"system\"," SIZES ",\"process\":{\"restart_ms\":20},\"rigs\":[");

	(void)state;
	for (int i = 0; i < RIGS; i++)
		n += one_rig(conf + n, sizeof(conf) - (size_t)n, i);
	snprintf(conf + n, sizeof(conf) - (size_t)n, "]");
	simd = stack_start(conf);
	AWAIT(connected(0) && connected(1));
	return 0;
}

/* ---- what leaves ---- */

/* Publishes /RIG/imu until stopped; its values say which rig's they are. */
static int sensor(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "imu");
	struct sim_publisher *pub;
	char name[32];

	snprintf(name, sizeof(name), "/%s/imu", rigs[p->result]);
	pub = peer_advertise(p, c, name, 64, 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		peer_queue(p, pub, 64, NULL);
		pace_us(1000);
	}
	return peer_leave(p, c, pub);
}

struct logged {
	unsigned imu, array;
};

/* Every line of a rig's log is of that rig. */
static struct logged read_log(int rig)
{
	static char head[512], body[65536];
	struct logged seen = { 0, 0 };
	char path[64], imu[64], array[64];
	gzFile f;

	snprintf(path, sizeof(path), "/tmp/out-%s.txt.gz", rigs[rig]);
	snprintf(imu, sizeof(imu), "sim/Ultrasonic /%s/imu ", rigs[rig]);
	snprintf(array, sizeof(array), "example/FloatArray /%s/float_array ", rigs[rig]);
	f = gzopen(path, "rb");
	assert_non_null(f);
	while (gzgets(f, head, sizeof(head)) && gzgets(f, body, sizeof(body))) {
		if (!strncmp(head, imu, strlen(imu)))
			seen.imu++;
		else if (!strncmp(head, array, strlen(array)))
			seen.array++;
		else if (!strstr(head, "/in ") || !strstr(head, rigs[rig]))
			fail_msg("the log of rig %s holds %s", rigs[rig], head);
	}
	gzclose(f);
	return seen;
}

TEST_WITH(messages_of_two_rigs_never_mix, setup, stack_sweep)
{
	struct peer *p[RIGS];
	pid_t pid[RIGS], other;
	struct logged seen;
	uint64_t ok;

	for (int i = 0; i < RIGS; i++) {
		p[i] = peer_new();
		p[i]->result = i;
		pid[i] = peer_fork(p[i], sensor);
	}
	AWAIT(p[0]->ok > MESSAGES && p[1]->ok > MESSAGES);
	AWAIT(stack_channel("/north/float_array", "id") >= 0 && stack_channel("/south/float_array", "id") >= 0);

	/* one of them loses a bridge: the other's messages all arrive, its processes are the same ones */
	other = (pid_t)stack_bridge("south-null", "pid");
	kill((pid_t)stack_bridge("north-null", "pid"), SIGKILL);
	AWAIT(stack_bridge("north-null", "restarts") == 1 && connected(0));
	ok = p[0]->ok;
	AWAIT(p[0]->ok > ok + MESSAGES && p[1]->ok > 2 * MESSAGES);
	for (int i = 0; i < RIGS; i++)
		peer_join(p[i], pid[i]);
	assert_int_equal(p[1]->ok, p[1]->accepted);
	assert_int_equal(stack_bridge("south-null", "pid"), other);
	assert_int_equal(stack_bridge("south-null", "restarts") + stack_bridge("south-log", "restarts"), 0);
	AWAIT(stack_bridge("south-null", "sent") == (int64_t)p[1]->accepted);
	assert_int_equal(stack_bridge("south-null", "failed") + stack_bridge("south-null", "dropped"), 0);
	assert_true(p[0]->ok < p[0]->accepted || p[0]->reasons[SIM_REASON_BRIDGE_DIED] == 0);
	stack_stop(simd); /* the bridges close their files */
	for (int i = 0; i < RIGS; i++) {
		peer_check(p[i], false);
		seen = read_log(i);
		assert_true(seen.array > 0);
		assert_int_equal(seen.imu, p[i]->accepted); /* the log was never killed */
		peer_free(p[i]);
	}
}

/* ---- inbound messages ---- */

static int listener(struct peer *p)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };
	struct sim_client *c = peer_connect(p, "listener");
	const struct sim_message *msg;
	struct sim_subscriber *s;
	char name[32];

	snprintf(name, sizeof(name), "/%s/in", rigs[p->result]);
	PEER(p, sim_subscribe(c, name, &sim_Ultrasonic_type, &o, &s) == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		if (sim_wait(s, 20 * NS_PER_MS) != 1)
			continue;
		while (sim_take(s, &msg) == 0) {
			atomic_fetch_add(&p->received, 1);
			sim_release(s, msg);
		}
	}
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(inbound_messages_reach_the_right_rig, setup, stack_sweep)
{
	struct peer *p[RIGS];
	pid_t pid[RIGS];

	for (int i = 0; i < RIGS; i++) {
		p[i] = peer_new();
		p[i]->result = i;
	}
	/* the bridge of the rig whose channel is not subscribed stays silent */
	pid[0] = peer_fork(p[0], listener);
	AWAIT(p[0]->received == (uint64_t)injected[0]);
	assert_int_equal(stack_count("/south/in", "first subscriber connected"), 0);
	pid[1] = peer_fork(p[1], listener);
	AWAIT(p[1]->received == (uint64_t)injected[1]);
	assert_int_equal(p[0]->received, injected[0]);
	for (int i = 0; i < RIGS; i++) {
		peer_join(p[i], pid[i]);
		peer_free(p[i]);
	}
	stack_stop(simd);
}

/* ---- what people see ---- */

static const char *text_of(const json_t *list, const char *name, const char *key)
{
	json_t *o;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)list, i, o)
		if (!strcmp(json_string_value(json_object_get(o, "name")), name))
			return json_string_value(json_object_get(o, key));
	fail_msg("%s is not there", name);
	return "";
}

TEST_WITH(simctl_distinguishes_the_rigs, setup, stack_sweep)
{
	json_t *channels, *bridges;
	const char *out;

	AWAIT(stack_channel("/north/float_array", "id") >= 0 && stack_channel("/south/float_array", "id") >= 0);
	channels = json_loads(stack_ctl("list", "--json", NULL)->out, 0, NULL);
	bridges = json_loads(stack_ctl("bridge", "list", "--json", NULL)->out, 0, NULL);
	assert_true(channels && bridges);
	for (int i = 0; i < RIGS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "/%s/float_array", rigs[i]);
		assert_string_equal(text_of(json_object_get(channels, "channels"), name, "rig"), rigs[i]);
		assert_string_equal(text_of(json_object_get(bridges, "bridges"), bridge(i, "log"), "rig"), rigs[i]);
		out = stack_ctl("bridge", "info", bridge(i, "log"), NULL)->out;
		assert_non_null(strstr(out, name));
		assert_null(strstr(out, i ? "/north/" : "/south/"));
		assert_non_null(strstr(stack_ctl("dispatch", NULL)->out, name));
		assert_non_null(strstr(stack_ctl("bridge", "list", NULL)->out, bridge(i, "null")));
	}
	assert_non_null(strstr(stack_ctl("bridge", "list", NULL)->out, "RIG"));
	json_decref(channels);
	json_decref(bridges);
	stack_stop(simd);
}
