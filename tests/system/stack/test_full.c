/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config/rigs/full.json, as a user has it, with the ROS 2 and the foxglove bridge: for every type except those that no
 * sensor has, a process of the rig is a publisher, and its messages reach a DDS program and a WebSocket client. A new
 * type has no publisher and is on no list: this test fails until it has a publisher or is listed as an exception. And
 * `simctl record` has all of its channels.
 */
#include "peer.h"
#include "stack.h"

#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <sim/msg/all.h>
#include <sim/readback.h>

#include "../foxglove/raw.h"
#include "../ros2/reader.h"

#define CHANNELS_MAX 64
#define TEXT         128
#define MESSAGE_MAX  (8u << 20)

/* Types that are no sensor's, and why. */
static const char *const NO_SENSORS[] = {
	/* parts of others, and constants */
	"sim/Detected2DObject", "sim/Detected3DObject", "sim/LaneLine", "sim/Point", "sim/PointField", "sim/Pose",
	"sim/Quaternion", "sim/RadarObject", "sim/TrafficSignal", "sim/TrajectoryPoint", "sim/Transform", "sim/Twist",
	"sim/Vector3", "sim/Gear", "sim/Turn", "sim/VehicleMode",
	/* commands of a driving stack or an operator */
	"sim/EmergencyCommand", "sim/EngageCommand", "sim/GearCommand", "sim/HazardCommand", "sim/Trajectory",
	"sim/TurnCommand", "sim/VehicleControl", "sim/VehiclePlacement", "sim/VehicleState",
	/* simd's own: time and reports; parts of services' answers */
	"sim/ClockEvent", "sim/ServiceCall", "sim/Param", "sim/ParamInfo", "sim/NodeReader", "sim/NodeTimer",
	"sim/NodeWriter",
	/* values for signals that have no type of their own */
	"sim/Bool", "sim/Float32", "sim/Float64", "sim/Int8", "sim/Int16", "sim/Int32", "sim/Int64", "sim/String",
	"sim/UInt8", "sim/UInt16", "sim/UInt32", "sim/UInt64"
};

/* Types of cameras, which render with Vulkan: without a driver they are not published. */
static const char *const OF_CAMERAS[] = { "sim/CameraInfo", "sim/CompressedImage", "sim/Detected2DObjects",
					  "sim/Image" };

struct channel {
	char name[TEXT], type[TEXT];
	uint32_t id; /* at the foxglove bridge; 0: not known yet */
	bool came;
};

static struct channel channels[CHANNELS_MAX];
static size_t n_channels;
static pid_t simd;

static bool is_among(const char *const *list, size_t n, const char *type)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], type) == 0)
			return true;
	return false;
}

static bool is_no_sensor(const char *type)
{
	static int draws = -1;

	if (draws < 0)
		draws = sim_readback_probe(SIM_READBACK_VULKAN) == 0;
	return is_among(NO_SENSORS, sizeof(NO_SENSORS) / sizeof(*NO_SENSORS), type) ||
	       (!draws && is_among(OF_CAMERAS, sizeof(OF_CAMERAS) / sizeof(*OF_CAMERAS), type));
}

/* ---- the rig ---- */

/* The bridges that make demo adds, at a port that is free. */
static char *rig_text(void)
{
	json_error_t e;
	json_t *rig = json_load_file("config/rigs/full.json", 0, &e), *all;
	char *text;

	if (!rig)
		fail_msg("config/rigs/full.json:%d: %s", e.line, e.text);
	all = json_pack("[{s:s,s:s},{s:s,s:s,s:s}]", "name", "ros2", "plugin", "ros2", "name", "foxglove", "plugin",
			"foxglove", "connection", "127.0.0.1:0");
	json_object_set_new(rig, "bridges", all);
	text = json_dumps(rig, 0);
	json_decref(rig);
	return text;
}

static int start(void **state)
{
	char *rig = rig_text(), *conf;

	(void)state;
	assert_true(asprintf(&conf, "\"TimeSource\":\"unity\",\"rigs\":[%s]", rig) > 0);
	simd = stack_start(conf);
	free(conf);
	free(rig);
	AWAIT(!strcmp(stack_bridge_text("ros2", "status"), "connected") &&
	      !strcmp(stack_bridge_text("foxglove", "status"), "connected"));
	return 0;
}

/* The channels that have a publisher. */
static void look_at_channels(void)
{
	json_t *reply = stack_call("ListChannels", NULL), *c;
	size_t i;

	n_channels = 0;
	json_array_foreach(json_object_get(reply, "channels"), i, c) {
		struct channel *to = &channels[n_channels];

		if (json_array_size(json_object_get(c, "publishers")) == 0 || n_channels == CHANNELS_MAX)
			continue;
		*to = (struct channel){ 0 };
		snprintf(to->name, sizeof(to->name), "%s", json_string_value(json_object_get(c, "name")));
		snprintf(to->type, sizeof(to->type), "%s", json_string_value(json_object_get(c, "type")));
		n_channels++;
	}
	json_decref(reply);
}

static bool is_published(const char *type)
{
	for (size_t i = 0; i < n_channels; i++)
		if (strcmp(channels[i].type, type) == 0)
			return true;
	return false;
}

/* One that no channel has; NULL: all are published. */
static const char *missing(void)
{
	look_at_channels();
	for (const struct sim_type *const *t = sim_msg_types; *t; t++)
		if (!is_no_sensor((*t)->name) && !is_published((*t)->name))
			return (*t)->name;
	return NULL;
}

static void await_publishers(void)
{
	for (unsigned looks = 0; missing(); looks++) {
		if (looks == WAIT_SAYS)
			print_message(
				"%s: no process of config/rigs/full.json publishes it yet, and it is not among the types that "
				"no sensor has\n",
				missing());
		wait_look_again();
	}
	for (size_t i = 0; i < n_channels; i++)
		if (is_no_sensor(channels[i].type))
			fail_msg("%s is published on %s: it is no longer one that no sensor has", channels[i].type,
				 channels[i].name);
}

/* ---- ROS 2 ---- */

struct word {
	uint32_t value;
};
static const uint32_t word_ops[] = { DDS_OP_ADR | DDS_OP_TYPE_4BY, offsetof(struct word, value), DDS_OP_RTS };

/* Of any type, its first four bytes: what follows a reader may skip. */
static dds_entity_t read_first_word(dds_entity_t dp, const char *topic, const char *type)
{
	const dds_topic_descriptor_t d = { .m_size = sizeof(struct word),
					   .m_align = _Alignof(struct word),
					   .m_typename = type,
					   .m_nops = 3,
					   .m_ops = word_ops,
					   .m_meta = "" };

	return reader_open(dp, &d, topic, strcmp(topic, "rt/tf_static") == 0); /* that is sent once, and kept */
}

static int listen_in_ros(struct peer *p)
{
	dds_entity_t dp = reader_participant();

	PEER(p, dp > 0);
	for (size_t i = 0; i < n_channels; i++) {
		char topic[TEXT + 2], type[128], data[256];
		struct word w;

		snprintf(topic, sizeof(topic), "rt%.*s", TEXT - 1, channels[i].name);
		if (reader_discover(dp, topic, type, data) < 0 || reader_take(read_first_word(dp, topic, type), &w) < 0)
			peer_fail(p, __FILE__, __LINE__, channels[i].name);
	}
	atomic_store(&p->ready, 1);
	return 0;
}

static void comes_in_ros(void)
{
	struct peer *p = peer_new();
	pid_t pid = peer_fork(p, listen_in_ros);

	AWAIT(atomic_load(&p->failed) || atomic_load(&p->ready));
	if (atomic_load(&p->failed))
		fail_msg("no message of it in ROS 2: %s", p->why);
	peer_join(p, pid);
	peer_free(p);
}

/* ---- Foxglove ---- */

enum kind { KIND_TEXT = 1, KIND_BINARY = 2 };

static void receive(int fd, void *to, size_t n)
{
	char *at = to;

	while (n) {
		ssize_t got = recv(fd, at, n, 0);

		if (got <= 0)
			fail_msg("the foxglove bridge says nothing more");
		at += got;
		n -= (size_t)got;
	}
}

/* A frame behind what of a message there is: its first byte. */
static unsigned next_frame(int fd, char *data, size_t *n)
{
	uint8_t head[2], longer[8];
	uint64_t len;

	receive(fd, head, 2);
	len = head[1] & 0x7f;
	if (len >= 126) {
		unsigned bytes = len == 126 ? 2 : 8;

		receive(fd, longer, bytes);
		len = 0;
		for (unsigned i = 0; i < bytes; i++)
			len = len << 8 | longer[i];
	}
	assert_true(len <= MESSAGE_MAX - *n);
	receive(fd, data + *n, len);
	*n += len;
	return head[0];
}

/* The next message, of as many frames as it has: its kind. Its data is static. */
static enum kind next_message(int fd, char **ret, size_t *ret_n)
{
	static char data[MESSAGE_MAX + 1];
	unsigned kind = 0, first;

	*ret_n = 0;
	do {
		size_t before = *ret_n;

		first = next_frame(fd, data, ret_n);
		if (first & 0x08) /* control: a ping */
			*ret_n = before;
		else if (first & 0x0f)
			kind = first & 0x0f;
	} while ((first & 0x08) || !(first & 0x80));
	data[*ret_n] = '\0';
	*ret = data;
	return (enum kind)kind;
}

/* Advertised channels of ours are subscribed to. */
static void on_text(int fd, const char *text)
{
	json_t *m = json_loads(text, 0, NULL), *c;
	size_t i;

	if (m && !strcmp(json_string_value(json_object_get(m, "op")), "advertise")) {
		json_array_foreach(json_object_get(m, "channels"), i, c) {
			const char *topic = json_string_value(json_object_get(c, "topic"));

			for (size_t k = 0; k < n_channels; k++) {
				char say[128];

				if (channels[k].id || strcmp(channels[k].name, topic) != 0)
					continue;
				channels[k].id = (uint32_t)json_integer_value(json_object_get(c, "id"));
				snprintf(say, sizeof(say),
					 "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":%zu,\"channelId\":%u}]}",
					 k + 1, channels[k].id);
				raw_text(fd, say);
			}
		}
	}
	json_decref(m);
}

/* Kind 1: a message, with the number of the subscription, the time, and a body. */
static size_t on_binary(const char *data, size_t n)
{
	uint32_t id;

	if (n < 13 || data[0] != 1)
		return 0;
	memcpy(&id, data + 1, sizeof(id));
	id = le32toh(id);
	assert_true(id >= 1 && id <= n_channels);
	if (channels[id - 1].came)
		return 0;
	channels[id - 1].came = true;
	return 1;
}

static const char *silent(void)
{
	for (size_t i = 0; i < n_channels; i++)
		if (!channels[i].came)
			return channels[i].name;
	return "none";
}

static void comes_at_foxglove(void)
{
	size_t left = n_channels, n;
	unsigned port, got = 0;
	char *data;
	int fd;

	assert_int_equal(sscanf(stack_bridge_text("foxglove", "detail"), "http://127.0.0.1:%u/", &port), 1);
	fd = raw_open(port, "/", "Host: 127.0.0.1\r\nSec-WebSocket-Protocol: foxglove.sdk.v1\r\n");
	assert_true(fd >= 0);
	while (left) {
		if (next_message(fd, &data, &n) == KIND_TEXT)
			on_text(fd, data);
		else
			left -= on_binary(data, n);
		if (++got == WAIT_SAYS)
			print_message("no message of it at the foxglove bridge yet: %s\n", silent());
	}
	close(fd);
}

/* ---- simctl record ---- */

#define SUMMARY "/tmp/full-record.json"

static pid_t record(void)
{
	pid_t pid = fork();
	char path[4200];
	ssize_t n;
	int fd;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	fd = open(SUMMARY, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	n = readlink("/proc/self/exe", path, 4000);
	path[n > 0 ? n : 0] = '\0';
	strcpy(strrchr(path, '/'), "/../bin/simctl");
	dup2(fd, STDOUT_FILENO);
	execl(path, "simctl", "--socket", STACK_SOCKET, "record", "--strict", "--json", "-o", "/tmp/full.mcap", NULL);
	_exit(127);
}

static bool has_channel(json_t *recorded, const char *name)
{
	json_t *c;
	size_t i;

	json_array_foreach(recorded, i, c)
		if (strcmp(json_string_value(json_object_get(c, "name")), name) == 0)
			return true;
	return false;
}

/* The rig leaves room for a recorder of all its channels, beside its bridges. */
static void is_recorded_whole(void)
{
	pid_t pid = record();
	json_t *summary;
	int status;

	AWAIT(strstr(stack_ctl("service", "list", "--names", NULL)->out, "/record/split"));
	kill(pid, SIGINT);
	status = stack_wait(pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	summary = json_load_file(SUMMARY, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(summary, "left_out")), 0);
	for (size_t i = 0; i < n_channels; i++)
		if (strcmp(channels[i].name, "/clock") != 0 && /* the player of the log makes one */
		    !has_channel(json_object_get(summary, "channels"), channels[i].name))
			fail_msg("simctl record has no %s", channels[i].name);
	json_decref(summary);
	assert_int_equal(unlink(SUMMARY) | unlink("/tmp/full.mcap"), 0);
}

/* ---- */

TEST_WITH(every_sensor_type_is_published_and_reaches_every_bridge, start, stack_sweep)
{
	await_publishers();
	comes_in_ros();
	comes_at_foxglove();
	is_recorded_whole();
	assert_int_equal(stack_bridge("ros2", "failed"), 0);
	assert_int_equal(stack_bridge("foxglove", "failed"), 0);
	stack_stop(simd);
}
