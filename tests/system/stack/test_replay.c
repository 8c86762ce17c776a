/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded run, played through bridges: a reader of ROS 2, a subscriber of ROS 1 and a cyber_bridge get from `simctl
 * play --lockstep`, byte for byte, what they got of the live run, which the `mcap` bridge recorded. The channels are
 * those of the demo's sensors.
 */
#include "peer.h"
#include "stack.h"

#include <dds/ddsi/ddsi_serdata.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/CompressedImage.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Gps.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Imu.h>
#include <sim/msg/TrafficSignals.h>
#include <sim/msg/Transforms.h>
#include <sim/point_cloud.h>

#include "../../../tools/bridge/convert/conversion.h"
#include "../../unit/convert/sample.h"
#include "../ros1/fake.h"
#include "../ros2/reader.h"
#include "../ros2/typed.h"
#include "cyber_server.h"
#include "rnd.h"

TEST_PROCESSES()

#define LOG_FILE "/tmp/run.mcap"
#define STEPS    30u
#define STEP_DUR (100 * NS_PER_MS)
#define BODY_MAX 65536u
#define POINTS   900u
#define SMALL    4096u

/* ---- the sensors ---- */

static size_t make_cloud(void *body, unsigned i)
{
	struct sim_builder b;
	struct sim_Point *p = sim_point_cloud_begin(body, BODY_MAX, POINTS, &b);
	unsigned n = POINTS - i;

	for (unsigned k = 0; k < n; k++)
		p[k] = (struct sim_Point){ .x = 0.1f * (float)k,
					   .y = 0.01f * (float)i,
					   .z = -1.9f,
					   .intensity = 0.25f,
					   .ring = (uint16_t)(k % 64),
					   .return_type = SIM_POINT_RETURN_SINGLE_STRONGEST,
					   .azimuth = 0.001f * (float)k,
					   .distance = 5 };
	sim_point_cloud_trim(&b, n);
	return sim_builder_size(&b);
}

/* Not much larger than the first one: with a larger slot the count in the headers begins again. */
static size_t make_image(void *body, unsigned i)
{
	unsigned n = 20000 + 100 * i;
	struct sim_builder b;
	uint8_t *data;

	sim_CompressedImage_init(body, BODY_MAX, &b);
	assert_int_equal(sim_CompressedImage_format_set(&b, "jpeg"), 0);
	data = sim_CompressedImage_data_alloc(&b, n);
	for (unsigned k = 0; k < n; k++)
		data[k] = (uint8_t)(k * 7 + i);
	return sim_builder_size(&b);
}

static size_t make_imu(void *body, unsigned i)
{
	struct sim_builder b;
	struct sim_Imu *m = sim_Imu_init(body, SMALL, &b);

	m->orientation.w = 1;
	m->linear_acceleration.z = 9.81 + i;
	m->angular_velocity.x = -0.1 * i;
	return sim_builder_size(&b);
}

static const struct sensor {
	const char *channel, *frame;
	const struct sim_type *type;
	size_t (*make)(void *body, unsigned i); /* NULL: something in every field */
} sensors[] = {
	{ "/lidar/top", "lidar_top", &sim_PointCloud_type, make_cloud },
	{ "/camera", "camera", &sim_CompressedImage_type, make_image },
	{ "/imu", "base_link", &sim_Imu_type, make_imu },
	{ "/tf", "map", &sim_Transforms_type, NULL },
	{ "/gps", "base_link", &sim_Gps_type, NULL },
	{ "/gps_odometry", "map", &sim_GpsOdometry_type, NULL },
	{ "/can_bus", "base_link", &sim_CanBus_type, NULL },
	{ "/objects", "base_link", &sim_Detected3DObjects_type, NULL },
	{ "/signals", "base_link", &sim_TrafficSignals_type, NULL },
};
#define SENSORS (sizeof(sensors) / sizeof(*sensors))

static size_t room(const struct sensor *s)
{
	return s->make && s->make != make_imu ? BODY_MAX : SMALL;
}

static size_t make(const struct sensor *s, void *body, unsigned i)
{
	return s->make ? s->make(body, i) : sample_body(s->type, body, SMALL);
}

/* ---- what arrives ---- */

struct heard {
	unsigned n;
	uint64_t sum; /* of all messages, in their order */
};

struct run {
	struct heard ros1[SENSORS], ros2[SENSORS];
	struct cyber_server_channel cyber[64];
	unsigned n_cyber;
};

static struct fake_master master;
static struct cyber_server *server;
static int subscriber[SENSORS]; /* of ROS 1 */
static dds_entity_t reader[SENSORS];
static pid_t simd;

static void hear(struct heard *h, const void *data, size_t n)
{
	h->n++;
	h->sum = hash64(h->sum ^ n, data, n);
}

/* Readers of each topic, of the type that the channel's becomes: all that was written, also before they are known. */
static void open_readers(void)
{
	static const struct sim_bridge_host no_converters;
	dds_entity_t dp = reader_participant();
	dds_qos_t *qos = dds_create_qos();

	assert_true(dp > 0);
	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
	dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
	dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
	for (size_t i = 0; i < SENSORS; i++) {
		struct conversion_out c;
		char why[512], topic[64];
		dds_entity_t t;

		if (conversion_out_open(&no_converters, ros2_types, sensors[i].type, NULL, &c, why, sizeof(why)) < 0)
			fail_msg("%s", why);
		snprintf(topic, sizeof(topic), "rt%s", sensors[i].channel);
		t = dds_create_topic(dp, typed_descriptor(typed_new(c.type)), topic, NULL, NULL);
		reader[i] = dds_create_reader(dp, t, qos, NULL);
		assert_true(t > 0 && reader[i] > 0);
	}
	dds_delete_qos(qos);
}

static void take_ros2(size_t i, struct heard *h)
{
	struct ddsi_serdata *d = NULL;
	dds_sample_info_t info;

	if (dds_takecdr(reader[i], &d, 1, &info, DDS_ANY_STATE) != 1)
		return;
	if (info.valid_data) {
		uint32_t n = ddsi_serdata_size(d);
		uint8_t *data = malloc(n);

		assert_non_null(data);
		ddsi_serdata_to_ser(d, 0, n, data);
		hear(h, data, n);
		free(data);
	}
	ddsi_serdata_unref(d);
}

static void subscribe_all(void)
{
	for (size_t i = 0; i < SENSORS; i++) {
		AWAIT(fake_master_calls(&master, "registerPublisher", sensors[i].channel));
		subscriber[i] = fake_connect(fake_request_topic(&master, sensors[i].channel), 0);
		fake_subscribe(subscriber[i], "/listener", sensors[i].channel, "*", "*");
		assert_true(*fake_field(subscriber[i], "type"));
	}
}

static void take_ros1(size_t i, struct heard *h)
{
	while (h->n < STEPS) {
		uint32_t n;
		uint8_t *m = fake_message(subscriber[i], &n);

		assert_non_null(m);
		hear(h, m, n);
		free(m);
	}
	close(subscriber[i]);
}

static unsigned cyber_complete(struct run *r)
{
	unsigned complete = 0;

	for (r->n_cyber = 0; cyber_server_channel(server, r->n_cyber, &r->cyber[r->n_cyber]); r->n_cyber++)
		complete += r->cyber[r->n_cyber].count == STEPS;
	return complete;
}

static void take_all(struct run *r)
{
	for (size_t i = 0; i < SENSORS; i++) {
		take_ros1(i, &r->ros1[i]);
		AWAIT((take_ros2(i, &r->ros2[i]), r->ros2[i].n == STEPS));
	}
	AWAIT(cyber_complete(r) == SENSORS);
}

/* ---- runs ---- */

static void start(struct run *r, const char *recorder)
{
	static char conf[8192];
	size_t n;

	memset(r, 0, sizeof(*r));
	fake_master_start(&master, 0);
	server = cyber_server_create(0, &(struct cyber_server_how){ .sums = true });
	assert_non_null(server);
	n = (size_t)snprintf(
		conf, sizeof(conf),
		"\"TimeSource\":\"unity\",\"pools\":[{\"size\":\"8KiB\",\"count\":2000},{\"size\":\"128KiB\",\"count\":500}],"
		"\"rigs\":[{\"name\":\"car\",\"bridges\":["
		"{\"name\":\"two\",\"plugin\":\"ros2\",\"channels\":[\"*\",\"!/clock\"],\"options\":{\"ros_distro\":\"humble\"}},"
		"{\"name\":\"one\",\"plugin\":\"ros1\",\"connection\":\"%s\",\"channels\":[\"*\",\"!/clock\"],"
		"\"options\":{\"queue\":1000}},"
		"{\"name\":\"apollo\",\"plugin\":\"cyber\",\"connection\":\"127.0.0.1:%u\",\"channels\":[\"*\",\"!/clock\"]}%s],"
		"\"channels\":[",
		master.uri, cyber_server_port(server), recorder);
	for (size_t i = 0; i < SENSORS; i++)
		n += (size_t)
			snprintf(conf + n, sizeof(conf) - n,
				 "%s{\"name\":\"%s\",\"window\":8,\"options\":{\"ros2\":{\"reliability\":\"reliable\","
				 "\"durability\":\"transient_local\",\"depth\":1000}}}",
				 i ? "," : "", sensors[i].channel);
	snprintf(conf + n, sizeof(conf) - n, "]}]");
	simd = stack_start(conf);
	AWAIT(!strcmp(stack_bridge_text("one", "status"), "connected") &&
	      !strcmp(stack_bridge_text("two", "status"), "connected") &&
	      !strcmp(stack_bridge_text("apollo", "status"), "connected"));
}

static void finish(void)
{
	assert_int_equal(stack_bridge("one", "failed") + stack_bridge("two", "failed") +
				 stack_bridge("apollo", "failed"),
			 0);
	stack_stop(simd);
	assert_string_equal(cyber_server_fault(server), "");
	cyber_server_destroy(server);
	server = NULL;
	fake_master_stop(&master);
}

static int sweep(void **state)
{
	if (server)
		cyber_server_destroy(server);
	server = NULL;
	return stack_sweep(state);
}

/* ---- live ---- */

static void publish(struct sim_publisher *p, size_t i, int64_t now_sim_ns, unsigned step)
{
	struct sim_slot *slot;
	size_t size;

	assert_int_equal(sim_loan(p, room(&sensors[i]), &slot), 0);
	size = make(&sensors[i], sim_slot_body_mut(slot), step);
	assert_int_equal(sim_slot_set_size(slot, size), 0);
	slot->stamp_sim_ns = now_sim_ns;
	assert_int_equal(sim_try_queue(p, slot, NULL, NULL, NULL), 0);
}

static void live(struct run *r)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "sensors", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_publisher *pub[SENSORS];
	struct sim_client *c;
	struct sim_driver *d;

	(void)unlink(LOG_FILE);
	start(r,
	      ",{\"name\":\"rec\",\"plugin\":\"mcap\",\"connection\":\"/tmp/run\",\"channels\":[\"*\",\"!/clock\"]}");
	assert_int_equal(sim_connect(&o, &c), 0);
	for (size_t i = 0; i < SENSORS; i++) {
		struct sim_publisher_options po = { .size = sizeof(po),
						    .max_body = BODY_MAX,
						    .frame_id = sensors[i].frame };

		if (sim_advertise(c, sensors[i].channel, sensors[i].type, &po, &pub[i]) < 0)
			fail_msg("%s", sim_why());
	}
	subscribe_all();
	assert_int_equal(sim_driver_acquire(c, SIM_DRIVER_LOCKSTEP, &d), 0);
	for (unsigned step = 0; step < STEPS; step++) {
		assert_int_equal(sim_driver_advance(d, STEP_DUR, NULL), 0);
		for (size_t i = 0; i < SENSORS; i++)
			publish(pub[i], i, (step + 1) * STEP_DUR, step);
	}
	assert_int_equal(sim_driver_advance(d, STEP_DUR, NULL), 0); /* all has been taken */
	take_all(r);
	sim_driver_release(d);
	for (size_t i = 0; i < SENSORS; i++)
		sim_publisher_destroy(pub[i]);
	sim_disconnect(c);
	finish();
}

/* ---- played ---- */

static pid_t start_play(void)
{
	char path[4200];
	ssize_t n = readlink("/proc/self/exe", path, 4000);
	pid_t pid;

	assert_true(n > 0);
	path[n] = '\0';
	strcpy(strrchr(path, '/'), "/../bin/simctl");
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		execl(path, "simctl", "--socket", STACK_SOCKET, "play", "--lockstep", "--start-paused", LOG_FILE, NULL);
		_exit(127);
	}
	return pid;
}

static void played(struct run *r)
{
	pid_t pid;

	start(r, "");
	pid = start_play();
	subscribe_all();
	AWAIT(strstr(stack_ctl("service", "list", "--names", NULL)->out, "/play/resume"));
	assert_int_equal(stack_ctl("service", "call", "/play/resume", NULL)->code, 0);
	take_all(r);
	assert_int_equal(stack_wait(pid), 0);
	finish();
}

/* ---- the same ---- */

static void same(const struct heard *a, const struct heard *b, const char *bridge)
{
	for (size_t i = 0; i < SENSORS; i++)
		if (a[i].n != STEPS || b[i].n != STEPS || a[i].sum != b[i].sum)
			fail_msg("%s, %s: %u messages, played %u, %s bytes", bridge, sensors[i].channel, a[i].n, b[i].n,
				 a[i].sum == b[i].sum ? "the same" : "other");
}

static void same_cyber(const struct run *a, const struct run *b)
{
	assert_int_equal(a->n_cyber, b->n_cyber);
	for (unsigned i = 0; i < a->n_cyber; i++) {
		const struct cyber_server_channel *x = &a->cyber[i], *y = NULL;

		for (unsigned k = 0; k < b->n_cyber; k++)
			if (!strcmp(b->cyber[k].name, x->name))
				y = &b->cyber[k];
		if (!y || strcmp(x->type, y->type) != 0 || x->count != y->count || x->sum != y->sum)
			fail_msg("cyber, %s (%s): not as live", x->name, x->type);
	}
}

TEST_WITH(bridges_send_in_a_replay_what_they_sent_live, NULL, sweep)
{
	static struct run first, again;

	open_readers();
	live(&first);
	for (int i = 0; i < 2; i++) {
		played(&again);
		same(first.ros2, again.ros2, "ros2");
		same(first.ros1, again.ros1, "ros1");
		same_cyber(&first, &again);
	}
	(void)unlink(LOG_FILE);
}
