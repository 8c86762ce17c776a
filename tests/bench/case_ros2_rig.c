/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ros2_rig_loss: 15 channels of an AWSIM-like rig through the ROS 2 plug-in in one process, read in another one, not pinned: what
 * does not arrive, in percent, once with reliable QoS and once with best effort. Threads: main of each process, and Cyclone's.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dds/ddsi/ddsi_serdata.h>

#include <sim/introspect.h>
#include <sim/msg/Image.h>
#include <sim/point_cloud.h>

#include "bench.h"
#include "support/message.h"
#include "sertype.h"
#include "ros/ros_type.h"
#include "ros2_link.h"
#include "system/ros2/host.h"
#include "timeutil.h"
#include "unit/convert/sample.h"

#define CHANNELS 15
#define POINTS   65536u
#define ROW      6144u
#define BODY_MAX 65536u

struct channel {
	const char *type, *ros, *options;
	int hz;
};

static const struct channel rig_channels[CHANNELS] = {
	{ "sim/PointCloud", "sensor_msgs/PointCloud2", "\"points\":\"awsim24\",", 10 },
	{ "sim/PointCloud", "sensor_msgs/PointCloud2", "\"points\":\"awsim24\",", 10 },
	{ "sim/PointCloud", "sensor_msgs/PointCloud2", "\"points\":\"awsim24\",", 10 },
	{ "sim/Image", "sensor_msgs/Image", "", 10 },
	{ "sim/CameraInfo", "sensor_msgs/CameraInfo", "", 10 },
	{ "sim/Imu", "sensor_msgs/Imu", "", 100 },
	{ "sim/Gps", "geometry_msgs/PoseStamped", "", 1 },
	{ "sim/Gps", "geometry_msgs/PoseWithCovarianceStamped", "", 1 },
	{ "sim/CanBus", "autoware_vehicle_msgs/VelocityReport", "", 30 },
	{ "sim/CanBus", "autoware_vehicle_msgs/SteeringReport", "", 30 },
	{ "sim/CanBus", "autoware_vehicle_msgs/ControlModeReport", "", 30 },
	{ "sim/CanBus", "autoware_vehicle_msgs/GearReport", "", 30 },
	{ "sim/CanBus", "autoware_vehicle_msgs/TurnIndicatorsReport", "", 30 },
	{ "sim/CanBus", "autoware_vehicle_msgs/HazardLightsReport", "", 30 },
	{ "sim/Clock", "rosgraph_msgs/Clock", "", 100 },
};

/* 8 MiB, best effort: does the tuning suffice? */
static const struct channel large_channel = { "sim/Image", "sensor_msgs/Image", "", 10 };

struct rig {
	const char *plugin;
	const struct channel *channels;
	int n;
	bool reliable;
	uint32_t height; /* of images of 6 KiB a row */
	int64_t dur_ns;
	_Atomic int ready;
	_Atomic uint64_t sent[CHANNELS], received[CHANNELS];
};

/* ---- the reader: counts, whatever it is ---- */

static void on_data(dds_entity_t reader, void *arg)
{
	struct ddsi_serdata *data[8];
	dds_sample_info_t info[8];
	int n;

	while ((n = dds_takecdr(reader, data, 8, info, DDS_ANY_STATE)) > 0)
		for (int i = 0; i < n; i++) {
			if (info[i].valid_data)
				atomic_fetch_add((_Atomic uint64_t *)arg, 1);
			ddsi_serdata_unref(data[i]);
		}
}

static int reader_main(void *arg)
{
	struct rig *rig = arg;
	dds_entity_t p = ros2_link_participant(ROS2_TUNED);
	dds_qos_t *q = dds_create_qos();

	dds_qset_reliability(q, rig->reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_SECS(1));
	dds_qset_history(q, DDS_HISTORY_KEEP_LAST, 10);
	for (int i = 0; i < rig->n; i++) {
		dds_listener_t *l = dds_create_listener(&rig->received[i]);
		char name[32], type[128];
		dds_entity_t t;

		snprintf(name, sizeof(name), "rt/rig/c%d", i);
		dds_lset_data_available(l, on_data);
		if (ros_type_dds_name(ros_type_find(ros2_types, rig->channels[i].ros), type, sizeof(type)) < 0)
			return 1;
		t = sertype_topic_create(p, name, type, NULL);
		if (dds_create_reader(p, t, q, l) < 0)
			return 1;
		dds_delete_listener(l);
	}
	atomic_store(&rig->ready, 1);
	for (;;)
		pause(); /* ends with its parent's signal */
}

/* ---- the rig ---- */

static struct sim_slot *slot_of(const struct channel *c, uint32_t height)
{
	size_t room = 4096 + POINTS * 32;
	struct sim_slot *s;
	struct sim_builder b;

	if (strcmp(c->type, "sim/Image") == 0)
		return host_image(ROW / 3, height);
	s = host_slot(room, "sensor");
	if (strcmp(c->type, "sim/PointCloud") == 0) {
		memset(sim_point_cloud_begin(sim_slot_body_mut(s), room, POINTS, &b), 0, POINTS * 32);
		s->body_size = sim_builder_size(&b);
	} else {
		s->body_size = sample_body(sim_type_builtin(c->type), sim_slot_body_mut(s), BODY_MAX);
	}
	return s;
}

struct side {
	struct rig *rig;
	struct host host;
	struct sim_bridge *bridge;
	struct sim_bridge_topic *topic[CHANNELS];
	struct sim_slot *slot[CHANNELS];
};

static void open_all(struct side *s)
{
	static const char *const options[] = { "ros_distro", "humble", NULL };

	host_init(&s->host, s->rig->plugin, options);
	s->bridge = host_create(&s->host);
	for (int i = 0; i < s->rig->n; i++) {
		char name[32], text[256];

		snprintf(name, sizeof(name), "/rig/c%d", i);
		snprintf(text, sizeof(text), "{\"ros2\":{%s\"type\":\"%s\",\"reliability\":\"%s\",\"depth\":%d}}",
			 s->rig->channels[i].options, s->rig->channels[i].ros,
			 s->rig->reliable ? "reliable" : "best_effort",
			 s->rig->channels[i].hz * 2); /* 2 s: a lost message is requested again after 100 ms and more */
		s->topic[i] = host_open(&s->host, s->bridge, name, sim_type_builtin(s->rig->channels[i].type), text);
		s->slot[i] = slot_of(&s->rig->channels[i], s->rig->height);
	}
}

static int publish(struct side *s, int i)
{
	int r = s->host.ops->publish(s->bridge, s->topic[i], MESSAGE_OF(s->slot[i]), NULL);

	atomic_fetch_add(&s->rig->sent[i], 1); /* one that fails is lost, too */
	return r;
}

/* Until everybody knows everybody: then counting begins. */
static int meet(struct side *s)
{
	int64_t end_mono_ns = mono_now_ns() + 30 * NS_PER_S;

	for (int i = 0; i < s->rig->n; i++)
		while (!atomic_load(&s->rig->received[i])) {
			if (mono_now_ns() > end_mono_ns)
				return -1;
			publish(s, i);
			pace_us(20000);
		}
	moment_us(500000); /* messages still on their way */
	for (int i = 0; i < s->rig->n; i++) {
		atomic_store(&s->rig->sent[i], 0);
		atomic_store(&s->rig->received[i], 0);
	}
	return 0;
}

static int rig_main(void *arg)
{
	static struct side s;
	int64_t due_mono_ns[CHANNELS], start_mono_ns, now_mono_ns;

	s.rig = arg;
	open_all(&s);
	if (meet(&s) < 0)
		return 1;
	start_mono_ns = mono_now_ns();
	for (int i = 0; i < s.rig->n; i++) /* sensors of one rate are not in step */
		due_mono_ns[i] = start_mono_ns + i * 7 * NS_PER_MS;
	while ((now_mono_ns = mono_now_ns()) < start_mono_ns + s.rig->dur_ns) {
		int next = 0;

		for (int i = 1; i < s.rig->n; i++)
			if (due_mono_ns[i] < due_mono_ns[next])
				next = i;
		if (due_mono_ns[next] > now_mono_ns)
			mono_sleep_until(due_mono_ns[next]);
		publish(&s, next);
		due_mono_ns[next] += NS_PER_S / s.rig->channels[next].hz;
	}
	mono_sleep_until(mono_now_ns() + 2 * NS_PER_S); /* the last ones arrive, or are asked for again */
	s.host.ops->destroy(s.bridge);
	return 0;
}

/* what: channels, n, reliable, height. */
static int loss(struct bench *b, struct rig what, double *ret_percent)
{
	struct rig *rig = bench_arena(sizeof(*rig));
	uint64_t sent = 0, received = 0;
	pid_t reader;
	int r;

	memcpy(rig, &what, sizeof(what));
	rig->plugin = b->ros2_plugin;
	rig->dur_ns = (b->smoke ? 2 : rig->n > 1 ? 60 : 10) * NS_PER_S;
	reader = bench_fork(reader_main, rig);
	r = bench_wait(bench_fork(rig_main, rig));
	kill(reader, SIGKILL);
	bench_wait(reader);
	for (int i = 0; i < rig->n; i++) {
		uint64_t out = atomic_load(&rig->sent[i]), in = atomic_load(&rig->received[i]);

		if (in != out)
			printf("  %s: %llu of %llu\n", rig->channels[i].ros, (unsigned long long)in,
			       (unsigned long long)out);
		sent += out;
		received += in;
	}
	*ret_percent = sent ? 100.0 * (1.0 - (double)received / (double)sent) : 100;
	bench_arena_free(rig, sizeof(*rig));
	return r == 0 ? 0 : -1;
}

static int run_rig(struct bench *b)
{
	struct rig all = { .channels = rig_channels, .n = CHANNELS, .height = 1024, .reliable = true };
	struct rig large = { .channels = &large_channel, .n = 1, .height = 1366 };
	struct bench_pair p = { 0, 0 };
	int r = loss(b, all, &p.ours);

	if (r == 0)
		bench_report(b, "ros2_rig_loss_reliable", "%", "none", BENCH_VALUE, &p, 1, 0);
	all.reliable = false;
	r = r < 0 ? r : loss(b, all, &p.ours);
	if (r == 0)
		bench_report(b, "ros2_rig_loss_best_effort", "%", "none", BENCH_VALUE, &p, 1, 1);
	r = r < 0 ? r : loss(b, large, &p.ours);
	if (r == 0)
		bench_report(b, "ros2_8MiB_best_effort_loss", "%", "none", BENCH_VALUE, &p, 1, 1);
	return r;
}

const struct bench_case bench_rig = { "rig", run_rig, "ros2_rig_loss ros2_8MiB_best_effort_loss" };
