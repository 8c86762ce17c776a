/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ros2_imu_beside_image: how long an IMU message takes through the ROS 2 plug-in, from before publish() to behind the take, while
 * images of 6 MiB go out on the same bridge and the same lane, against the same IMU alone, in turns: the 99th percentile. Readers are processes with
 * Cyclone's own settings. Threads: main of each process, which is the lane in the bridge's; the plug-in's and Cyclone's.
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

#include "bench.h"
#include "support/message.h"
#include "sertype.h"
#include "ros2_link.h"
#include "system/ros2/host.h"
#include "timeutil.h"
#include "unit/convert/sample.h"

#define RING             1024u /* messages */
#define SLICE            100u  /* messages of the IMU */
#define SLICES           10u   /* of either kind, in a run */
#define SETTLE_NS        (300 * NS_PER_MS)
#define IMU_PERIOD_NS    (10 * NS_PER_MS)
#define IMAGE_PERIOD_NS  (103 * NS_PER_MS) /* not in step with the other */
#define WIDTH            2048u
#define HEIGHT           1024u
#define BODY_MAX         65536u
#define STAMP_NANOSEC_AT 8u /* in the message: behind the header of CDR and sec */

enum topic { IMU, IMAGE, TOPICS };

struct beside {
	const char *plugin;
	unsigned runs, slices;
	_Atomic uint64_t received[TOPICS];
	_Atomic int64_t taken_mono_ns[RING]; /* 0: not yet */
	struct bench_pair p99_us[BENCH_PAIRS_MAX];
};

struct reader_role {
	struct beside *a;
	enum topic topic;
};

static const char *const names[TOPICS] = { "rt/beside/imu", "rt/beside/image" };
static const char *const types[TOPICS] = { "sensor_msgs::msg::dds_::Imu_", "sensor_msgs::msg::dds_::Image_" };

/* ---- readers ---- */

static void take(const struct reader_role *role, dds_entity_t reader)
{
	struct ddsi_serdata *data;
	dds_sample_info_t info;

	while (dds_takecdr(reader, &data, 1, &info, DDS_ANY_STATE) > 0) {
		int64_t now_mono_ns = mono_now_ns();
		uint32_t n = 0;

		if (info.valid_data && role->topic == IMU) {
			ddsi_serdata_to_ser(data, STAMP_NANOSEC_AT, sizeof(n), &n);
			atomic_store(&role->a->taken_mono_ns[n % RING], now_mono_ns);
		}
		atomic_fetch_add(&role->a->received[role->topic], 1);
		ddsi_serdata_unref(data);
	}
}

static int reader_main(void *arg)
{
	const struct reader_role *role = arg;
	dds_entity_t p = ros2_link_participant(ROS2_DEFAULT), reader, set;
	dds_qos_t *q = dds_create_qos();

	dds_qset_reliability(q, DDS_RELIABILITY_BEST_EFFORT, 0);
	dds_qset_history(q, DDS_HISTORY_KEEP_LAST, 10);
	reader = dds_create_reader(p, sertype_topic_create(p, names[role->topic], types[role->topic], NULL), q, NULL);
	dds_delete_qos(q);
	set = dds_create_waitset(p);
	if (reader < 0 || dds_waitset_attach(set, dds_create_readcondition(reader, DDS_ANY_STATE), 0) < 0)
		return 1;
	for (;;) { /* ends with its parent's signal */
		dds_waitset_wait(set, NULL, 0, DDS_SECS(1));
		take(role, reader);
	}
}

/* ---- the bridge ---- */

struct bridge {
	struct beside *a;
	struct host host;
	struct sim_bridge *bridge;
	struct sim_bridge_topic *topic[TOPICS];
	struct sim_slot *slot[TOPICS];
	struct sim_message message[TOPICS]; /* stays while it is pending */
	unsigned pending;                   /* images */
	uint32_t n;                         /* messages of the IMU so far, while it is measured */
};

static void open_all(struct bridge *b)
{
	static const char *const options[] = { "ros_distro", "humble", "domain", "1", NULL };

	host_init(&b->host, b->a->plugin, options);
	b->bridge = host_create(&b->host);
	b->slot[IMU] = host_slot(BODY_MAX, "imu");
	b->slot[IMU]->body_size = sample_body(sim_type_builtin("sim/Imu"), sim_slot_body_mut(b->slot[IMU]), BODY_MAX);
	b->slot[IMAGE] = host_image(WIDTH, HEIGHT);
	b->topic[IMU] = host_open(&b->host, b->bridge, "/beside/imu", sim_type_builtin("sim/Imu"), "{}");
	b->topic[IMAGE] = host_open(&b->host, b->bridge, "/beside/image", &sim_Image_type, "{}");
}

/* As a lane: a message that is pending is answered some time. At most one image is: a camera's window. */
static void publish(struct bridge *b, enum topic topic)
{
	static char task;

	if (topic == IMAGE && b->pending)
		b->pending -= host_next_done(&b->host).result <= 0;
	b->message[topic] = *MESSAGE_OF(b->slot[topic]);
	if (b->host.ops->publish(b->bridge, b->topic[topic], &b->message[topic], (struct sim_task *)(void *)&task) == 1)
		b->pending++;
}

static int meet(struct bridge *b)
{
	int64_t end_mono_ns = mono_now_ns() + 30 * NS_PER_S;

	for (enum topic i = IMU; i < TOPICS; i++)
		while (!atomic_load(&b->a->received[i])) {
			if (mono_now_ns() > end_mono_ns)
				return -1;
			publish(b, i);
			pace_us(20000);
		}
	return 0;
}

/* A message that has not arrived counts as a second. */
static void slice(struct bridge *b, bool with_images, double *ret)
{
	struct beside *a = b->a;
	int64_t due_mono_ns = mono_now_ns(), image_mono_ns = due_mono_ns;
	uint32_t first = b->n;

	for (; b->n < first + SLICE; b->n++) {
		due_mono_ns += IMU_PERIOD_NS;
		while (with_images && image_mono_ns <= due_mono_ns) {
			mono_sleep_until(image_mono_ns);
			publish(b, IMAGE);
			image_mono_ns += IMAGE_PERIOD_NS;
		}
		mono_sleep_until(due_mono_ns);
		atomic_store(&a->taken_mono_ns[b->n % RING], 0);
		b->slot[IMU]->stamp_sim_ns = b->n;
		publish(b, IMU);
		ret[b->n - first] = (double)due_mono_ns; /* a lane that is held up is late, too */
	}
	mono_sleep_until(mono_now_ns() + SETTLE_NS);
	for (uint32_t i = 0; i < SLICE; i++) {
		int64_t taken = atomic_load(&a->taken_mono_ns[(first + i) % RING]);

		ret[i] = taken ? (double)taken - ret[i] : (double)NS_PER_S;
	}
}

/* Alone and beside images in turns of a second, so that both have the machine in the same mood. */
static struct bench_pair run(struct bridge *b)
{
	static double sample[2][SLICES * SLICE];
	unsigned n = b->a->slices;

	for (unsigned i = 0; i < 2 * n; i++)
		slice(b, i % 2, &sample[i % 2][i / 2 * SLICE]);
	return (struct bench_pair){ .ours = bench_percentile(sample[1], n * SLICE, 0.99) / 1e3,
				    .reference = bench_percentile(sample[0], n * SLICE, 0.99) / 1e3 };
}

static int bridge_main(void *arg)
{
	static struct bridge b;

	b.a = arg;
	open_all(&b);
	if (meet(&b) < 0)
		return 1;
	mono_sleep_until(mono_now_ns() + NS_PER_S);
	for (unsigned i = 0; i < b.a->runs; i++)
		b.a->p99_us[i] = run(&b);
	b.host.ops->destroy(b.bridge);
	return 0;
}

static int run_beside(struct bench *b)
{
	struct beside *a = bench_arena(sizeof(*a));
	struct reader_role roles[TOPICS] = { { a, IMU }, { a, IMAGE } };
	pid_t reader[TOPICS];
	int r;

	a->runs = bench_runs(b, 5);
	a->slices = b->smoke ? 1 : SLICES;
	a->plugin = b->ros2_plugin;
	for (int i = 0; i < TOPICS; i++)
		reader[i] = bench_fork(reader_main, &roles[i]);
	r = bench_wait(bench_fork(bridge_main, a));
	for (int i = 0; i < TOPICS; i++) {
		kill(reader[i], SIGKILL);
		bench_wait(reader[i]);
	}
	if (r == 0)
		bench_report(b, "ros2_imu_beside_image", "us", "the IMU alone, p99", BENCH_COST, a->p99_us, a->runs, 3);
	bench_arena_free(a, sizeof(*a));
	return r ? -1 : 0;
}

const struct bench_case bench_beside = { "beside", run_beside, "ros2_imu_beside_image" };
