/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type of the user's own through the ROS 2 bridge: as the messages that a converter plug-in makes of it, and as itself, field by
 * field; DDS programs that know the definitions alone read and write it. Bad converters spoil nothing but their own.
 */
#include "peer.h"
#include "stack.h"

#include <example/msg/FloatArray.h>

#include "../ros2/reader.h"

#define READINGS 1000u
#define STAMP    INT64_C(1640995200123456768)
#define KEEP     "\"durability\":\"transient_local\",\"depth\":1"

static pid_t simd;

static const char *beside(const char *what)
{
	static char path[2][4200];
	static int k;
	char *p = path[k ^= 1];
	ssize_t n = readlink("/proc/self/exe", p, 4096);

	assert_true(n > 0);
	p[n] = '\0';
	strcpy(strrchr(p, '/'), what);
	return p;
}

static int start_good(void **state)
{
	static char conf[16384];

	(void)state;
	snprintf(
		conf, sizeof(conf),
		"\"TimeSource\":\"system\",\"pools\":[{\"size\":\"1KiB\",\"count\":400},{\"size\":\"128KiB\",\"count\":300}],"
		"\"rigs\":[{\"name\":\"car\",\"inbound\":[\"/in/multi\",\"/in/own\"],\"channels\":["
		"{\"name\":\"/t/multi\",\"options\":{\"ros2\":{" KEEP "}}},"
		"{\"name\":\"/t/readings\",\"options\":{\"ros2\":{\"type\":\"example_msgs/msg/Readings\"," KEEP "}}},"
		"{\"name\":\"/t/own\",\"options\":{\"ros2\":{\"type\":\"example/msg/FloatArray\"," KEEP "}}}],"
		"\"bridges\":[{\"name\":\"ros\",\"plugin\":\"ros2\",\"converters\":[\"%s\"],\"options\":{\"ros_distro\":"
		"\"jazzy\",\"subscribe\":{\"/in_multi\":{\"type\":\"std_msgs/msg/Float32MultiArray\",\"channel\":\"/in/multi\"},"
		"\"/in_own\":{\"type\":\"example/msg/FloatArray\",\"channel\":\"/in/own\",\"definition\":\"%s\"}}}}]}]",
		beside("/../examples/converter_float_array.so"), beside("/../../libclient/examples/FloatArray.msg"));
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("ros", "status"), "connected"));
	return 0;
}

/* ---- out ---- */

static struct sim_publisher *advertise(struct peer *p, struct sim_client *c, const char *channel)
{
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = example_FloatArray_size(READINGS) };
	struct sim_publisher *pub = NULL;

	PEER(p, sim_advertise(c, channel, &example_FloatArray_type, &o, &pub) == 0);
	/* a bridge that refuses the channel is taken off it: then there is none to wait for */
	AWAIT(sim_publisher_bridges(pub).total == 0 || sim_publisher_bridges(pub).connected > 0);
	return pub;
}

/* The result of sim_publish_sync() for one message. */
static int send_one(struct peer *p, struct sim_client *c, const char *channel)
{
	struct sim_publisher *pub = advertise(p, c, channel);
	struct example_FloatArray *m;
	enum sim_reason reason;
	struct sim_builder b;
	struct sim_slot *slot;
	float *array;
	int r;

	PEER(p, sim_loan(pub, example_FloatArray_size(READINGS), &slot) == 0);
	m = example_FloatArray_init(sim_slot_body_mut(slot), slot->body_size, &b);
	m->timestamp = STAMP;
	strcpy(slot->frame_id, "sensor");
	array = example_FloatArray_array_alloc(&b, READINGS);
	for (uint32_t i = 0; i < READINGS; i++)
		array[i] = (float)i / 2;
	r = sim_publish_sync(pub, slot, NULL, &reason);
	sim_publisher_destroy(pub);
	return r;
}

static int send_three(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sensor");

	PEER(p, send_one(p, c, "/t/multi") == 0);
	PEER(p, send_one(p, c, "/t/readings") == 0);
	PEER(p, send_one(p, c, "/t/own") == 0);
	sim_disconnect(c);
	return 0;
}

static bool are_the_readings(const dds_sequence_t *s)
{
	const float *v = (const float *)(const void *)s->_buffer;

	for (uint32_t i = 0; i < READINGS && s->_length == READINGS; i++)
		if (v[i] != (float)i / 2)
			return false;
	return s->_length == READINGS;
}

static int read_three(struct peer *p)
{
	dds_entity_t dp = reader_participant();
	struct seen_multi_array multi = { .data_offset = 77 };
	struct seen_readings readings = { .mean = 0 };
	struct seen_floats own = { .timestamp = { 0, 0 } };
	const struct seen_dimension *dim;
	char type[128], data[256];

	PEER(p, reader_take(reader_open(dp, &seen_multi_array_desc, "rt/t/multi", true), &multi) == 0);
	dim = (const struct seen_dimension *)(const void *)multi.dim._buffer;
	PEER(p, multi.dim._length == 1 && !strcmp(dim->label, "readings") && dim->size == READINGS);
	PEER(p, multi.data_offset == 0 && are_the_readings(&multi.data));
	PEER(p, reader_take(reader_open(dp, &seen_readings_desc, "rt/t/readings", true), &readings) == 0);
	PEER(p, readings.stamp.sec == 1640995200 && readings.stamp.nanosec == 123456768);
	PEER(p, !strcmp(readings.frame_id, "sensor") && are_the_readings(&readings.values));
	PEER(p, readings.mean > 249.74 && readings.mean < 249.76);
	PEER(p, reader_take(reader_open(dp, &seen_floats_desc, "rt/t/own", true), &own) == 0);
	PEER(p, own.timestamp.sec == 1640995200 && own.timestamp.nanosec == 123456768);
	PEER(p, are_the_readings(&own.array));
	PEER(p, reader_discover(dp, "rt/t/own", type, data) == 0);
	PEER(p, !strcmp(type, "example::msg::dds_::FloatArray_"));
	snprintf(p->why, sizeof(p->why), "%s", data);
	return 0;
}

TEST_WITH(a_converter_sends_one_message_as_three, start_good, NULL)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t reader = peer_fork(q, read_three), sensor = peer_fork(p, send_three);
	char want[160];
	json_t *j;

	stack_wait(reader);
	if (atomic_load(&q->failed))
		fail_msg("%s", q->why);
	peer_join(p, sensor);
	j = json_loads(stack_ctl("type", "show", "/t/own", "--ros", "--json", NULL)->out, 0, NULL);
	snprintf(want, sizeof(want), "typehash=%s;", json_string_value(json_object_get(j, "hash")));
	assert_string_equal(q->why, want); /* the type that users are told to build is the one in discovery */
	json_decref(j);
	peer_free(p);
	peer_free(q);
	assert_int_equal(stack_bridge("ros", "failed"), 0);
	assert_true(stack_said("example/FloatArray goes out as std_msgs/Float32MultiArray (converter)"));
	assert_true(stack_said("example/FloatArray goes out as example_msgs/Readings (converter)"));
	assert_true(stack_said("example/FloatArray goes out as example/FloatArray (own fields)"));
	assert_non_null(strstr(stack_ctl("bridge", "info", "ros", NULL)->out, "converter_float_array.so"));
}

/* ---- in ---- */

static int receive(struct peer *p, struct sim_subscriber *s, uint32_t *ret_n, float *ret_last, int64_t *ret_stamp)
{
	const struct example_FloatArray *m;
	const struct sim_message *slot;
	const float *array;

	while (sim_wait(s, 20 * NS_PER_MS) != 1 || sim_take(s, &slot) != 0)
		if (atomic_load(&p->stop))
			return -1;
	m = example_FloatArray_from(slot->body, slot->body_size);
	array = example_FloatArray_array(m, slot->body_size, ret_n);
	*ret_last = *ret_n ? array[*ret_n - 1] : -1;
	*ret_stamp = m->timestamp;
	sim_release(s, slot);
	return 0;
}

static int listen_to_both(struct peer *p)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 4 };
	struct sim_client *c = peer_connect(p, "vehicle");
	struct sim_subscriber *multi, *own;
	int64_t stamp_sim_ns;
	float last;
	uint32_t n;

	PEER(p, sim_subscribe(c, "/in/multi", &example_FloatArray_type, &o, &multi) == 0);
	PEER(p, sim_subscribe(c, "/in/own", &example_FloatArray_type, &o, &own) == 0);
	atomic_store(&p->ready, 1);
	PEER(p, receive(p, multi, &n, &last, &stamp_sim_ns) == 0);
	PEER(p, n == 3 && last == 2.5f && stamp_sim_ns == 0);
	PEER(p, receive(p, own, &n, &last, &stamp_sim_ns) == 0);
	PEER(p, n == 2 && last == 1.5f && stamp_sim_ns == STAMP);
	atomic_store(&p->received, 2);
	sim_subscriber_destroy(multi);
	sim_subscriber_destroy(own);
	sim_disconnect(c);
	return 0;
}

static int write_both(struct peer *p)
{
	static float three[3] = { 0.5f, 1.5f, 2.5f };
	static char label[] = "x";
	struct seen_dimension dim = { label, 3, 3 };
	struct seen_multi_array multi = {
		.dim = { ._maximum = 1, ._length = 1, ._buffer = (uint8_t *)(void *)&dim },
		.data = { ._maximum = 3, ._length = 3, ._buffer = (uint8_t *)(void *)three },
	};
	struct seen_floats own = {
		.timestamp = { 1640995200, 123456768 },
		.array = { ._maximum = 2, ._length = 2, ._buffer = (uint8_t *)(void *)three },
	};
	dds_entity_t dp = reader_participant(), a = reader_write_to(dp, &seen_multi_array_desc, "rt/in_multi"),
		     b = reader_write_to(dp, &seen_floats_desc, "rt/in_own");

	while (!atomic_load(&p->stop)) {
		PEER(p, dds_write(a, &multi) == 0 && dds_write(b, &own) == 0);
		pace_us(20000);
	}
	return 0;
}

TEST_WITH(a_converter_merges_inbound_messages, NULL, stack_sweep)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t vehicle = peer_fork(p, listen_to_both), stack;

	AWAIT(atomic_load(&p->ready) || atomic_load(&p->failed));
	stack = peer_fork(q, write_both);
	AWAIT(atomic_load(&p->received) || atomic_load(&p->failed) || atomic_load(&q->failed));
	peer_join(q, stack);
	peer_join(p, vehicle);
	peer_free(p);
	peer_free(q);
	stack_stop(simd);
}

/* ---- bad ones ---- */

static int send_to_bad(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sensor");

	PEER(p, send_one(p, c, "/t/FAIL") == -EIO);
	PEER(p, send_one(p, c, "/t/FIELDS") == -EIO);
	PEER(p, send_one(p, c, "/t/FIELDS") == -EIO);
	PEER(p, send_one(p, c, "/t/ORDER") == -EIO);
	PEER(p, send_one(p, c, "/t/DEFINITION") == -EIO);
	PEER(p, send_one(p, c, "/t/GOOD") == 0);
	sim_disconnect(c);
	return 0;
}

static size_t add_bridge(char *at, size_t room, const char *kind)
{
	return (size_t)snprintf(
		at, room,
		"%s{\"name\":\"%s\",\"plugin\":\"ros2\",\"channels\":[\"/t/%s\"],\"converters\":[\"%s/converter_%s.so\"],"
		"\"options\":{\"ros_distro\":\"jazzy\"}}",
		at[-1] == '[' ? "" : ",", kind, kind, beside("/plugins"), kind);
}

static int start_bad(void **state)
{
	static const char *const kinds[] = { "GOOD", "FAIL", "FIELDS", "ORDER", "DEFINITION", "ABI" };
	static char conf[65536];
	size_t n = (size_t)snprintf(
		conf, sizeof(conf),
		"\"TimeSource\":\"system\",\"pools\":[{\"size\":\"1KiB\",\"count\":400},{\"size\":\"128KiB\",\"count\":600}],"
		"\"rigs\":[{\"name\":\"car\",\"channels\":[");

	(void)state;
	for (size_t i = 0; i < 5; i++)
		n += (size_t)snprintf(conf + n, sizeof(conf) - n,
				      "%s{\"name\":\"/t/%s\",\"options\":{\"ros2\":{" KEEP "}}}", i ? "," : "",
				      kinds[i]);
	n += (size_t)snprintf(conf + n, sizeof(conf) - n, "],\"bridges\":[");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		n += add_bridge(conf + n, sizeof(conf) - n, kinds[i]);
	snprintf(conf + n, sizeof(conf) - n, "]}]");
	simd = stack_start(conf);
	for (size_t i = 0; i < 5; i++)
		AWAIT(!strcmp(stack_bridge_text(kinds[i], "status"), "connected"));
	return 0;
}

TEST_WITH(invalid_converters_affect_nothing_else, start_bad, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t sensor = peer_fork(p, send_to_bad);

	AWAIT(stack_said("converter ABI 42, this simbridge speaks 1"));
	peer_join(p, sensor);
	peer_free(p);
	AWAIT(stack_said("/t/FAIL: its converter to test_msgs/Readings has failed: Numerical argument out of domain"));
	AWAIT(stack_said("test_msgs/Readings: 'surplus' (UINT64) is encoded where 'values' (FLOAT32[]) is expected"));
	AWAIT(stack_said("'values' (FLOAT32[]) is encoded where 'header' (message) is expected"));
	AWAIT(stack_said(": test_msgs/Readings:2: array '[' is not closed"));
	assert_int_equal(stack_count("/t/FIELDS", "does not follow the definition"),
			 1); /* once, not with each message */
	assert_int_equal(stack_bridge("FIELDS", "failed"), 2);
	assert_int_equal(stack_bridge("GOOD", "sent"), 1);
	assert_int_equal(stack_bridge("FIELDS", "restarts"), 0);
	stack_stop(simd);
}

TEST_WITH(a_missing_converter_is_reported_at_the_start, NULL, stack_sweep)
{
	int ready, status;
	pid_t pid = stack_spawn(
		"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"b\",\"plugin\":\"null\",\"converters\":[\"nosuch\"]}]}]",
		&ready);

	status = stack_wait(pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 0);
	assert_true(stack_said("rigs[car].bridges[b].converters: there is no converter_nosuch.so"));
	close(ready);
}

TEST_GROUP(NULL, stack_sweep)
