/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `simctl play` with a real simd: the messages that a subscriber gets of a log, the log's time and the restoring of
 * simd's own, lock-step that repeats byte for byte, keys on a terminal, services, orderly and disorderly ends.
 */
#include "convert/apollo.h"
#include "peer.h"
#include "record/proto_desc.h"
#include "stack.h"
#include "support/native_log.h"
#include "terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/stat.h>
#include <termios.h>
#include <utmp.h>

#include <sim/msg/Clock.h>
#include <sim/msg/CompressedImage.h>
#include <sim/msg/Imu.h>
#include <sim/msg/Transforms.h>

TEST_PROCESSES()

#define MS NS_PER_MS

#define LOG_FILE "/tmp/a.mcap"
#define CONF \
	"\"TimeSource\":\"unity\",\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"64KiB\",\"count\":200}]," \
	"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"log\",\"plugin\":\"logging\",\"connection\":\"/tmp/" \
	"out\",\"channels\":[\"/imu\",\"/camera\"],\"options\":{\"max_array\":0}}]}]"

/* the same, recorded */
#define RECORDED \
	"\"TimeSource\":\"unity\",\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"64KiB\",\"count\":400}]," \
	"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"log\",\"plugin\":\"logging\",\"connection\":\"/tmp/" \
	"out\",\"channels\":[\"/imu\",\"/camera\"],\"options\":{\"max_array\":0}},{\"name\":\"rec\",\"plugin\":\"mcap\"," \
	"\"connection\":\"/tmp/again\",\"channels\":[\"/imu\",\"/camera\"]}]}]"
#define AGAIN "/tmp/again.mcap"

#define BEGIN (1700000000 * NS_PER_S) /* of the log: an epoch time */

/* ---- logs ---- */

static void put_imu(struct native_log *l, uint32_t channel, int64_t at_ns, unsigned i)
{
	uint8_t body[sizeof(struct sim_Imu)] __attribute__((aligned(64)));
	struct sim_builder b;
	struct sim_Imu *m = sim_Imu_init(body, sizeof(body), &b);

	m->position.x = i;
	m->linear_acceleration.z = 9.81 + i;
	native_log_put(l, channel, at_ns, at_ns - 3 * MS, "imu_link", body, sizeof(body));
}

static void put_image(struct native_log *l, uint32_t channel, int64_t at_ns, unsigned i)
{
	static uint8_t body[24000] __attribute__((aligned(64)));
	size_t n = 1000 + 977 * (i % 20);
	struct sim_builder b;
	uint8_t *data;

	sim_CompressedImage_init(body, sizeof(body), &b);
	data = sim_CompressedImage_data_alloc(&b, (uint32_t)n);
	for (size_t k = 0; k < n; k++)
		data[k] = (uint8_t)(k * i);
	native_log_put(l, channel, at_ns, at_ns - 40 * MS, "camera", body, sim_builder_size(&b));
}

/* 100 Hz of IMU, 25 Hz of images, and, if `strange`, a channel of an unknown type, three of an instant at a time. */
static void write_log_of(const char *path, unsigned n, int64_t begin_ns, bool strange)
{
	struct native_log *l = native_log_create(path, LOG_COMPRESSION_ZSTD);
	uint32_t imu, camera, other = 0;

	imu = native_log_channel(l, "/imu", &sim_Imu_type);
	camera = native_log_channel(l, "/camera", &sim_CompressedImage_type);
	if (strange)
		other = native_log_channel(l, "/other", NULL);
	for (unsigned i = 0; i < n; i++) {
		put_imu(l, imu, begin_ns + i * 10 * MS, i);
		if (i % 4 == 0)
			put_image(l, camera, begin_ns + i * 10 * MS, i);
		if (strange && i % 10 == 0)
			native_log_put(l, other, begin_ns + i * 10 * MS, 0, "", NULL, 0);
	}
	native_log_finish(l);
}

static void write_log(const char *path, unsigned n, int64_t begin_ns)
{
	write_log_of(path, n, begin_ns, false);
}

/* ---- simctl play beside the test ---- */

struct playing {
	pid_t pid;
	int out; /* its output */
};

static struct playing start_play(const char *const *args)
{
	struct playing p;
	int fd[2];

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	p.pid = fork();
	assert_true(p.pid >= 0);
	if (p.pid == 0) {
		dup2(fd[1], STDOUT_FILENO);
		dup2(fd[1], STDERR_FILENO);
		close(STDIN_FILENO); /* it needs none */
		stack_exec_ctl("play", args);
	}
	close(fd[1]);
	p.out = fd[0];
	return p;
}
#define PLAY(...) start_play((const char *const[]){ __VA_ARGS__, NULL })

/* Its exit code; its output, static. */
static int end_play(struct playing *p, const char **ret_text)
{
	static char text[65536];
	size_t n = 0;
	ssize_t got;
	int status;

	while (n < sizeof(text) - 1 && (got = read(p->out, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	close(p->out);
	status = stack_wait(p->pid);
	if (ret_text)
		*ret_text = text;
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static pid_t simd;

static void begin(const char *conf)
{
	simd = stack_start(conf);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	if (strstr(conf, "logging"))
		AWAIT(!strcmp(stack_bridge_text("log", "status"), "connected"));
}

static void finish(void)
{
	(void)unlink(LOG_FILE);
	stack_stop(simd);
}

static bool on_offer(const char *name)
{
	return strstr(stack_ctl("service", "list", "--names", NULL)->out, name);
}

static double state_of(const char *key)
{
	json_t *j = json_loads(stack_ctl("service", "call", "/play/state", NULL)->out, 0, NULL);
	const json_t *v = json_object_get(j, key);
	double n = json_is_true(v) ? 1 : json_number_value(v);

	json_decref(j);
	return n;
}

/* ---- what a subscriber gets ---- */

struct ear {
	struct sim_client *c;
	struct sim_subscriber *imu, *camera;
	unsigned n_imu, n_camera;
	int64_t begin_ns;
	uint64_t camera_sequence; /* of the last one */
};

static void listen(struct ear *e, const char *imu, const char *camera)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "ear", .timeout_ms = PATIENT_MS };
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 200 };

	assert_int_equal(sim_connect(&o, &e->c), 0);
	assert_int_equal(sim_subscribe(e->c, imu, &sim_Imu_type, &so, &e->imu), 0);
	so.depth = 60;
	assert_int_equal(sim_subscribe(e->c, camera, &sim_CompressedImage_type, &so, &e->camera), 0);
}

static void hear_imu(struct ear *e)
{
	const struct sim_message *m;

	for (; sim_take(e->imu, &m) == 0; e->n_imu++) {
		const struct sim_Imu *imu = sim_Imu_from(m->body, m->body_size);

		assert_int_equal(m->body_size, sizeof(*imu));
		assert_true(imu->position.x == e->n_imu); /* in order, none missing */
		assert_true(imu->linear_acceleration.z == 9.81 + e->n_imu);
		assert_int_equal(m->header.stamp_sim_ns, e->begin_ns + e->n_imu * 10 * MS - 3 * MS);
		assert_string_equal(m->header.frame_id, "imu_link");
		assert_int_equal(sim_release(e->imu, m), 0);
	}
}

static void hear_camera(struct ear *e)
{
	const struct sim_message *m;

	for (; sim_take(e->camera, &m) == 0; e->n_camera++) {
		const struct sim_CompressedImage *c = sim_CompressedImage_from(m->body, m->body_size);
		unsigned i = 4 * e->n_camera;
		uint32_t n;
		const uint8_t *data = sim_CompressedImage_data(c, m->body_size, &n);

		assert_int_equal(n, 1000 + 977 * (i % 20));
		for (uint32_t k = 0; k < n; k++)
			assert_int_equal(data[k], (uint8_t)(k * i));
		assert_int_equal(m->header.stamp_sim_ns, e->begin_ns + i * 10 * MS - 40 * MS);
		assert_string_equal(m->header.frame_id, "camera");
		/* one publisher from the first to the largest: else it would begin again */
		assert_true(!e->n_camera || m->header.sequence == e->camera_sequence + 1);
		e->camera_sequence = m->header.sequence;
		assert_int_equal(sim_release(e->camera, m), 0);
	}
}

static unsigned hear(struct ear *e)
{
	hear_imu(e);
	hear_camera(e);
	return e->n_imu + e->n_camera;
}

/* What this process has had of the data plane ends with it: nothing else looks for leftovers. */
static void deafen(struct ear *e)
{
	sim_subscriber_destroy(e->imu);
	sim_subscriber_destroy(e->camera);
	sim_disconnect(e->c);
}

TEST_WITH(a_subscriber_receives_the_recorded_messages, NULL, stack_sweep)
{
	struct ear e = { .begin_ns = BEGIN };
	struct playing p;
	const char *text;

	write_log_of(LOG_FILE, 200, BEGIN, true);
	begin(CONF);
	listen(&e, "/imu", "/camera");
	p = PLAY("--rate", "4", LOG_FILE);
	AWAIT(hear(&e) > 0);
	assert_string_equal(stack_text("GetClock", "clock/source"), "play");
	assert_true(sim_now(e.c) >= BEGIN);
	assert_int_equal(end_play(&p, &text), 1);
	hear(&e);
	assert_non_null(strstr(text, "a.mcap: /other: (somebody/Elses): the encoding \"cbor\""));
	assert_null(strstr(strstr(text, "a.mcap: /other") + 1, "a.mcap: /other")); /* once */
	assert_non_null(strstr(text, "250 messages of 2 channels"));
	assert_non_null(
		strstr(text, ", 1 channel left out\n/other is left out: (somebody/Elses): the encoding \"cbor\""));
	assert_string_equal(stack_text("GetClock", "clock/source"), "unity");
	hear(&e);
	assert_int_equal(e.n_imu, 200);
	assert_int_equal(e.n_camera, 50);
	deafen(&e);
	stack_kill(simd);
}

/*
 * A replay of one's own run returns 0: simd has a clock already, and channels deselected by the user do not count as
 * missing.
 */
TEST_WITH(a_recorded_clock_is_not_played, NULL, stack_sweep)
{
	const struct ctl_result *r;
	struct native_log *l = native_log_create(LOG_FILE, LOG_COMPRESSION_ZSTD);
	uint32_t clock = native_log_channel(l, "/clock", &sim_Clock_type),
		 imu = native_log_channel(l, "/imu", &sim_Imu_type),
		 rosout = native_log_channel(l, "/rosout", &sim_Imu_type),
		 other = native_log_channel(l, "/other", NULL);
	struct sim_Clock now = { .clock = BEGIN };

	(void)native_log_channel(l, "/idle", NULL);
	for (unsigned i = 0; i < 10; i++) {
		native_log_put(l, clock, BEGIN + i * 10 * MS, 0, "", &now, sizeof(now));
		put_imu(l, imu, BEGIN + i * 10 * MS, i);
	}
	native_log_put(l, other, BEGIN, 0, "", NULL, 0);
	put_imu(l, rosout, BEGIN, 0);
	native_log_finish(l);
	begin(CONF);
	r = stack_ctl("play", "-c", "!/other", LOG_FILE, NULL);
	assert_string_equal(r->err, "");
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "10 messages of 1 channels"));
	assert_non_null(strstr(r->out, ", 2 channels left out\n/clock is left out: simd publishes the clock itself\n"));
	assert_non_null(
		strstr(r->out,
		       "/rosout is left out: only the nodes of ROS 2 themselves may publish under that name\n"));
	assert_null(strstr(r->out, "/idle"));
	r = stack_ctl("play", "-c", "!/other", "--remap", "/clock:=/old/clock", LOG_FILE, NULL);
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "20 messages of 2 channels"));
	r = stack_ctl("play", "--json", LOG_FILE, NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->out, "\"skipped\":3"));
	assert_non_null(strstr(
		r->out,
		"{\"channel\":\"/clock\",\"reason\":\"simd publishes the clock itself\",\"messages\":0,\"error\":false}"));
	assert_non_null(strstr(r->out, "{\"channel\":\"/other\",\"reason\":\"(somebody/Elses): the encoding"));
	finish();
}

/* Most messages of the channel fit, the largest does not: the others are played. */
TEST_WITH(a_message_that_is_too_large_is_the_only_one_refused, NULL, stack_sweep)
{
	static uint8_t body[1 << 18] __attribute__((aligned(64)));
	const struct ctl_result *r;
	struct native_log *l = native_log_create(LOG_FILE, LOG_COMPRESSION_ZSTD);
	uint32_t camera = native_log_channel(l, "/camera", &sim_CompressedImage_type);
	struct sim_builder b;

	for (unsigned i = 0; i < 10; i++) {
		sim_CompressedImage_init(body, sizeof(body), &b);
		assert_non_null(sim_CompressedImage_data_alloc(&b, i == 4 ? 200000 : 20000));
		native_log_put(l, camera, BEGIN + i * 10 * MS, 0, "", body, sim_builder_size(&b));
	}
	native_log_finish(l);
	begin(CONF); /* whose pools end at 64 KiB */
	r = stack_ctl("play", LOG_FILE, NULL);
	assert_int_equal(r->code, 1);
	if (!strstr(r->out, "9 messages of 1 channels"))
		fail_msg("%s%s", r->out, r->err);
	assert_non_null(strstr(r->out, " 1 refused, 0 unreadable, 0 channels left out\n"
				       "1 message of /camera is left out: a message was refused: "));
	finish();
}

/* No memory is left for the slots of a channel. */
TEST_WITH(refused_channels_are_named, NULL, stack_sweep)
{
	static uint8_t body[1 << 20] __attribute__((aligned(64)));
	const struct ctl_result *r;
	struct native_log *l = native_log_create(LOG_FILE, LOG_COMPRESSION_ZSTD);
	uint32_t large = native_log_channel(l, "/large", &sim_CompressedImage_type),
		 imu = native_log_channel(l, "/imu", &sim_Imu_type);
	struct sim_builder b;

	sim_CompressedImage_init(body, sizeof(body), &b);
	assert_non_null(sim_CompressedImage_data_alloc(&b, 1000000));
	native_log_put(l, large, BEGIN, 0, "", body, sim_builder_size(&b));
	for (unsigned i = 0; i < 10; i++)
		put_imu(l, imu, BEGIN + i * 10 * MS, i);
	native_log_finish(l);
	begin(CONF); /* whose pools end at 64 KiB */
	r = stack_ctl("play", LOG_FILE, NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->out, "10 messages of 1 channels"));
	assert_non_null(strstr(r->out, ", 1 channel left out\n/large is left out: "));
	finish();
}

TEST_WITH(several_files_channel_selection_remap_and_prefix_work, NULL, stack_sweep)
{
	struct ear e = { .begin_ns = BEGIN };
	struct playing p;
	const char *text;

	write_log(LOG_FILE, 40, BEGIN);
	write_log("/tmp/b.mcap", 40, BEGIN + 400 * MS);
	begin(CONF);
	listen(&e, "/old/ego/imu", "/old/camera");
	p = PLAY("--lockstep", "--channels", "!/camera", "--remap", "/imu:=/ego/imu", "--prefix", "/old", LOG_FILE);
	assert_int_equal(end_play(&p, &text), 0);
	hear(&e);
	assert_int_equal(e.n_imu, 40);
	assert_int_equal(e.n_camera, 0);
	e.n_imu = 20;
	e.begin_ns = BEGIN;
	p = PLAY("--lockstep", "-c", "imu", "--remap", "/imu:=/ego/imu", "--prefix", "old", "--start", "0.2", "--end",
		 "2023-11-14T22:13:20.3Z", LOG_FILE);
	assert_int_equal(end_play(&p, &text), 0);
	hear(&e);
	assert_int_equal(e.n_imu, 31);
	p = PLAY("--lockstep", "-c", "imu", LOG_FILE, "/tmp/b.mcap");
	assert_int_equal(end_play(&p, &text), 0);
	assert_non_null(strstr(text, "80 messages of 1 channels"));
	(void)unlink("/tmp/b.mcap");
	deafen(&e);
	stack_kill(simd);
}

/* ---- logs of others ---- */

/* ROS and Apollo carry no position, Apollo's stamps are seconds in a double. */
static void hear_theirs(struct ear *e)
{
	const struct sim_message *m;

	for (; sim_take(e->imu, &m) == 0; e->n_imu++) {
		const struct sim_Imu *imu = sim_Imu_from(m->body, m->body_size);
		int64_t off_ns = m->header.stamp_sim_ns - (e->begin_ns + e->n_imu * 10 * MS - 3 * MS);

		assert_true(imu->linear_acceleration.z == 9.81 + e->n_imu);
		assert_true(off_ns > -500 && off_ns < 500);
		assert_string_equal(m->header.frame_id, "imu_link");
		assert_int_equal(sim_release(e->imu, m), 0);
	}
	for (; sim_take(e->camera, &m) == 0; e->n_camera++) {
		assert_string_equal(m->header.frame_id, "camera");
		assert_int_equal(sim_release(e->camera, m), 0);
	}
}

/* The recording in the format of another system: native messages are read by their mapping. */
static void plays(const char *file, const char *encoding, const char *imu)
{
	struct ear e = { .begin_ns = BEGIN };
	const struct ctl_result *r;

	(void)unlink(file);
	r = stack_ctl("bag", "convert", LOG_FILE, file, "--encoding", encoding, NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "/other (somebody/Elses, encoding cbor) is left out"));
	begin(CONF);
	listen(&e, imu, "/camera");
	r = stack_ctl("play", "--lockstep", file, NULL);
	if (r->code)
		fail_msg("%s: %s", file, r->err);
	hear_theirs(&e);
	if (e.n_imu != 100 || e.n_camera != 25)
		fail_msg("%s: %u and %u messages: %s%s", file, e.n_imu, e.n_camera, r->out, r->err);
	deafen(&e);
	assert_int_equal(unlink(file), 0);
	stack_kill(simd);
}

TEST_FULL_WITH(logs_of_other_systems_become_channels, NULL, stack_sweep)
{
	write_log_of(LOG_FILE, 100, BEGIN, true);
	plays("/tmp/ros2.mcap", "ros2", "/imu");
	plays("/tmp/a.bag", "ros1", "/imu");
	plays("/tmp/a.record", "apollo", "/apollo/sensor/gnss/imu");
	plays("/tmp/packed.mcap", "packed", "/imu");
	plays("/tmp/json.mcap", "json", "/imu");
	(void)unlink(LOG_FILE);
}

/* Nine of Autoware's commands of a gear: of no gear but each third one, and the last `cut` of them cut off. */
static void write_gears(unsigned cut)
{
	static const struct log_channel ch = { .topic = "/imu", /* which the bridge takes */
					       .message_encoding = "cdr",
					       .schema_name = "autoware_vehicle_msgs/msg/GearCommand",
					       .schema_encoding = "" };
	uint8_t data[] = { 0, 1, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 0 };
	const struct log_write_options o = { .format = LOG_MCAP };
	struct log_message m = { .log_time_ns = BEGIN };
	struct log_writer *w;
	char why[300];

	(void)unlink(LOG_FILE);
	assert_int_equal(log_writer_create(LOG_FILE, &o, &w, why, sizeof(why)), 0);
	assert_int_equal(log_writer_add_channel(w, &ch, &m.channel), 0);
	for (unsigned i = 0; i < 9; i++) {
		size_t n = i < 9 - cut ? sizeof(data) : 7;

		data[12] = i % 3 ? 0 : 2;
		assert_int_equal(log_writer_put(w, &m, &(struct iovec){ data, n }, 1), 0);
		m.log_time_ns += 10 * MS;
	}
	assert_int_equal(log_writer_finish(w, why, sizeof(why)), 0);
}

/* Nothing is published of them, and nothing is wrong. */
TEST_WITH(empty_messages_are_skipped, NULL, stack_sweep)
{
	const struct ctl_result *r;

	write_gears(0);
	begin(CONF);
	r = stack_ctl("play", "--lockstep", LOG_FILE, NULL);
	if (r->code)
		fail_msg("%s", r->err);
	assert_int_equal(stack_bridge("log", "sent"), 3);
	finish();
}

/* A log of Foxglove's: a type that only its JSON Schema defines, and a property that no field can be. */
TEST_WITH(json_of_other_programs_is_played_and_unplayable_properties_are_named, NULL, stack_sweep)
{
	static const char schema[] = "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"number\"},\"any\":{}}}";
	static const struct log_channel ch = { .topic = "/imu", /* which the bridge takes */
					       .message_encoding = "json",
					       .schema_name = "car.Thing",
					       .schema_encoding = "jsonschema",
					       .schema = { schema, sizeof(schema) - 1 } };
	const struct log_write_options o = { .format = LOG_MCAP };
	struct log_message m = { .log_time_ns = BEGIN };
	const struct ctl_result *r;
	struct log_writer *w;
	char why[300];

	(void)unlink(LOG_FILE);
	assert_int_equal(log_writer_create(LOG_FILE, &o, &w, why, sizeof(why)), 0);
	assert_int_equal(log_writer_add_channel(w, &ch, &m.channel), 0);
	assert_int_equal(log_writer_put(w, &m, &(struct iovec){ "{\"x\":1,\"any\":[]}", 16 }, 1), 0);
	assert_int_equal(log_writer_finish(w, why, sizeof(why)), 0);
	begin(CONF);
	r = stack_ctl("play", "--lockstep", LOG_FILE, NULL);
	if (r->code)
		fail_msg("%s%s", r->out, r->err);
	assert_int_equal(stack_bridge("log", "sent"), 1);
	assert_non_null(strstr(r->out, "/imu: fields that no type can have are left out: any (anything)\n"));
	finish();
}

TEST_WITH(unreadable_messages_are_named, NULL, stack_sweep)
{
	const struct ctl_result *r;

	write_gears(4);
	begin(CONF);
	r = stack_ctl("play", "--lockstep", LOG_FILE, NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(
		strstr(r->out,
		       " 4 unreadable, 0 channels left out\n"
		       "4 messages of /imu are left out, the first: a message cannot be read: it is malformed\n"));
	finish();
}

/* ---- messages of protobuf that nothing of simd's is made of ---- */

#define ROUTE   "/apollo/routing_request"
#define REQUEST "apollo.routing.RoutingRequest"
#define ROUTES  20u

/* The i-th: its header and i lanes of a name, as Apollo has them. */
static size_t make_route(uint8_t *to, unsigned i)
{
	size_t n = 0;
	double s = 1700000000.0 + i / 100.0;

	to[n++] = 0x0a; /* header { timestamp_sec, frame_id } */
	to[n++] = 14;
	to[n++] = 0x09;
	memcpy(to + n, &s, 8);
	n += 8;
	memcpy(to + n, "\x4a\x03map", 5);
	n += 5;
	for (unsigned k = 0; k < i; k++) {
		memcpy(to + n, "\x12\x03\x0a\x01z", 5); /* waypoint { id } */
		n += 5;
	}
	to[n++] = 0x28; /* broadcast */
	to[n++] = i % 2;
	return n;
}

static void write_routes(const char *path)
{
	struct log_channel ch = {
		.topic = ROUTE, .message_encoding = "protobuf", .schema_name = REQUEST, .schema_encoding = "protobuf"
	};
	const struct log_write_options o = { .format = LOG_RECORD };
	struct log_message m = { .log_time_ns = BEGIN };
	struct iovec files[APOLLO_FILES_MAX], iov[IOV_BUF_PIECES];
	uint8_t data[200];
	struct iov_buf set;
	struct log_writer *w;
	char why[300];

	(void)unlink(path);
	iov_buf_init(&set);
	assert_int_equal(proto_desc_join(files, apollo_files(APOLLO_10, REQUEST, files), &set), 0);
	assert_int_equal(iov_buf_iov(&set, iov), 1);
	ch.schema = (struct log_bytes){ iov[0].iov_base, iov[0].iov_len };
	assert_int_equal(log_writer_create(path, &o, &w, why, sizeof(why)), 0);
	assert_int_equal(log_writer_add_channel(w, &ch, &m.channel), 0);
	for (unsigned i = 0; i < ROUTES; i++, m.log_time_ns += 10 * MS)
		assert_int_equal(log_writer_put(w, &m, &(struct iovec){ data, make_route(data, i) }, 1), 0);
	assert_int_equal(log_writer_finish(w, why, sizeof(why)), 0);
	iov_buf_finish(&set);
}

/* They are there, under their name, with a definition. */
static void has_routes(const char *path)
{
	const struct log_read_options o = { 0 };
	const struct log_channel *ch;
	struct log_message m;
	struct log_reader *r;
	uint8_t want[200];
	char why[300];

	if (log_reader_open(path, &o, &r, why, sizeof(why)) < 0)
		fail_msg("%s: %s", path, why);
	ch = &log_reader_info(r)->channels[0];
	assert_int_equal(log_reader_info(r)->n_channels, 1);
	assert_string_equal(ch->topic, ROUTE);
	assert_string_equal(ch->message_encoding, "protobuf");
	assert_string_equal(ch->schema_name, REQUEST);
	assert_in_range(ch->schema.size, 1000, 100000);
	for (unsigned i = 0; i < ROUTES; i++) {
		assert_int_equal(log_reader_next(r, &m), 1);
		assert_int_equal(m.size, make_route(want, i));
		assert_memory_equal(m.data, want, m.size);
	}
	assert_int_equal(log_reader_next(r, &m), 0);
	log_reader_close(r);
}

TEST_WITH(protobuf_messages_without_a_mapping_are_rerecorded_byte_for_byte, NULL, stack_sweep)
{
	static const char conf[] =
		"\"TimeSource\":\"unity\",\"pools\":[{\"size\":\"4KiB\",\"count\":1500}],"
		"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"rec\",\"plugin\":\"mcap\","
		"\"connection\":\"/tmp/again\",\"channels\":[\"*\"],\"options\":{\"encoding\":\"apollo\"}},"
		"{\"name\":\"own\",\"plugin\":\"mcap\",\"connection\":\"/tmp/own\",\"channels\":[\"*\"]}]}]";
	const struct ctl_result *r;

	write_routes("/tmp/routes.record");
	begin(conf);
	AWAIT(!strcmp(stack_bridge_text("rec", "status"), "connected"));
	AWAIT(!strcmp(stack_bridge_text("own", "status"), "connected"));
	r = stack_ctl("play", "--lockstep", "/tmp/routes.record", NULL);
	if (r->code)
		fail_msg("%s%s", r->out, r->err);
	assert_non_null(strstr(r->out, "20 messages of 1 channels, 0 late"));
	stack_stop(simd);
	has_routes(AGAIN);
	r = stack_ctl("bag", "convert", "/tmp/own.mcap", "/tmp/own.record", "--encoding", "apollo",
		      NULL); /* of native */
	if (r->code)
		fail_msg("%s", r->err);
	has_routes("/tmp/own.record");
	r = stack_ctl("bag", "convert", "/tmp/own.record", "/tmp/ros2.mcap", "--encoding", "ros2",
		      NULL); /* as its fields */
	if (r->code)
		fail_msg("%s", r->err);
	r = stack_ctl("bag", "info", "/tmp/ros2.mcap", NULL);
	assert_non_null(strstr(r->out, "apollo_routing/msg/RoutingRequest"));
	(void)unlink("/tmp/ros2.mcap");
	(void)unlink("/tmp/own.record");
	(void)unlink("/tmp/own.mcap");
	(void)unlink(AGAIN);
	(void)unlink("/tmp/routes.record");
}

/* One whose definition is as large as Apollo's are, and one that nests itself. */
static void write_large(const char *path)
{
	struct log_channel ch[2] = {
		{ .topic = "/large", .schema_name = "apollo.planning_internal.PlanningData" },
		{ .topic = "/within", .schema_name = "a.B" },
	};
	/* a.proto: package a; message B { optional B b = 1; } */
	static const char within[] = "\x0a\x22\x0a\x07"
				     "a.proto\x12\x01"
				     "a\"\x14\x0a\x01"
				     "B\x12\x0f\x0a\x01"
				     "b\x18\x01 \x01(\x0b"
				     "2\x04.a.B";
	const struct log_write_options o = { .format = LOG_MCAP };
	struct iovec files[APOLLO_FILES_MAX], iov[IOV_BUF_PIECES];
	struct log_message m = { .log_time_ns = BEGIN };
	struct log_writer *w;
	struct iov_buf set;
	char why[300];

	(void)unlink(path);
	iov_buf_init(&set);
	assert_int_equal(proto_desc_join(files, apollo_files(APOLLO_5, ch[0].schema_name, files), &set), 0);
	assert_int_equal(iov_buf_iov(&set, iov), 1);
	ch[0].schema = (struct log_bytes){ iov[0].iov_base, iov[0].iov_len };
	ch[1].schema = (struct log_bytes){ within, sizeof(within) - 1 };
	assert_int_equal(log_writer_create(path, &o, &w, why, sizeof(why)), 0);
	for (unsigned i = 0; i < 2; i++, m.log_time_ns += 10 * MS) {
		ch[i].message_encoding = ch[i].schema_encoding = "protobuf";
		assert_int_equal(log_writer_add_channel(w, &ch[i], &m.channel), 0);
		assert_int_equal(log_writer_put(w, &m, &(struct iovec){ "\x0a", 0 }, 1), 0);
	}
	assert_int_equal(log_writer_finish(w, why, sizeof(why)), 0);
	iov_buf_finish(&set);
}

TEST_WITH(fields_of_such_messages_carried_as_bytes_are_named, NULL, stack_sweep)
{
	const struct ctl_result *r;

	write_large(LOG_FILE);
	begin(CONF);
	r = stack_ctl("play", "--lockstep", LOG_FILE, NULL);
	if (r->code)
		fail_msg("%s%s", r->out, r->err);
	assert_non_null(strstr(r->out, "2 messages of 2 channels"));
	assert_non_null(strstr(r->err, "/within: a.B.b nests itself, and is carried as bytes\n"));
	assert_non_null(strstr(r->err, "/large: apollo."));
	r = stack_ctl("bag", "cat", LOG_FILE, "--include", "/within", NULL);
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "\"sim_type\":\"a/B\""));
	assert_non_null(strstr(r->err, "/within (a.B): a.B.b nests itself, and is carried as bytes\n"));
	finish();
}

/* ---- lock-step ---- */

static char *read_file(const char *path, size_t *ret_n)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *at;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	at = malloc((size_t)st.st_size + 1);
	assert_int_equal(fread(at, 1, (size_t)st.st_size, f), st.st_size);
	fclose(f);
	*ret_n = (size_t)st.st_size;
	return at;
}

struct written {
	char *bytes;
	size_t n;
};

/* Takes the file; the first of them is kept, the others are to be like it. */
static void like_the_first(const char *path, struct written *first, int run)
{
	struct written w;

	w.bytes = read_file(path, &w.n);
	assert_int_equal(unlink(path), 0);
	if (!first->bytes) {
		assert_true(w.n > 10000);
		*first = w;
		return;
	}
	if (w.n != first->n || memcmp(w.bytes, first->bytes, w.n) != 0)
		fail_msg("%s: run %d differs: %zu bytes, %zu in the first", path, run, w.n, first->n);
	free(w.bytes);
}

TEST_FULL_WITH(ten_replays_in_lockstep_write_the_same_bytes, NULL, stack_sweep)
{
	struct written text = { 0 }, recording = { 0 };

	(void)unlink(AGAIN);
	write_log(LOG_FILE, 300, BEGIN);
	for (int run = 0; run < 10; run++) {
		const struct ctl_result *r;

		begin(RECORDED);
		AWAIT(!strcmp(stack_bridge_text("rec", "status"), "connected"));
		r = stack_ctl("play", "--lockstep", LOG_FILE, NULL);
		if (r->code)
			fail_msg("%s", r->err);
		assert_non_null(strstr(r->out, "375 messages of 2 channels, 0 late"));
		assert_non_null(strstr(r->out, " 0 not delivered to all bridges, 0 refused"));
		assert_int_equal(stack_bridge("log", "sent"), 375);
		assert_int_equal(stack_bridge("rec", "sent"), 375);
		stack_stop(simd);
		like_the_first("/tmp/out.txt.gz", &text, run);
		like_the_first(AGAIN, &recording, run);
	}
	(void)unlink(LOG_FILE);
	free(text.bytes);
	free(recording.bytes);
}

/* More of one instant than a window holds. */
TEST_WITH(many_messages_of_one_instant_are_played, NULL, stack_sweep)
{
	struct native_log *l = native_log_create(LOG_FILE, LOG_COMPRESSION_NONE);
	const struct ctl_result *r;
	uint32_t imu;

	imu = native_log_channel(l, "/imu", &sim_Imu_type);
	for (unsigned i = 0; i < 1000; i++)
		put_imu(l, imu, BEGIN, i);
	native_log_finish(l);
	begin(CONF);
	r = stack_ctl("play", "--lockstep", LOG_FILE, NULL);
	if (r->code)
		fail_msg("%s", r->err);
	assert_int_equal(stack_bridge("log", "sent"), 1000);
	finish();
}

/* ---- services ---- */

TEST_WITH(services_pause_seek_and_step, NULL, stack_sweep)
{
	struct playing p;

	write_log(LOG_FILE, 500, NS_PER_S);
	begin(CONF);
	p = PLAY("--start-paused", "--loop", LOG_FILE);
	AWAIT(on_offer("/play/state"));
	assert_true(state_of("paused") == 1);
	assert_non_null(strstr(stack_ctl("service", "call", "/play/play_next", NULL)->out, "\"success\":true"));
	AWAIT(state_of("published") == 1);
	assert_non_null(strstr(stack_ctl("service", "call", "/play/seek", "{\"time\": 3000000000}", NULL)->out,
			       "\"success\":true"));
	AWAIT(stack_int("GetClock", "clock/sim_ns") == 3 * NS_PER_S);
	assert_non_null(strstr(stack_ctl("service", "call", "/play/seek", "{\"time\": 9000000000}", NULL)->out,
			       "the part that is played is from 1.000 s to 5.990 s"));
	assert_non_null(strstr(stack_ctl("service", "call", "/play/set_rate", "{\"rate\": -1}", NULL)->out,
			       "\"success\":false"));
	assert_non_null(strstr(stack_ctl("service", "call", "/play/set_rate", "{\"rate\": 50}", NULL)->out,
			       "\"success\":true"));
	assert_int_equal(stack_ctl("service", "call", "/play/resume", NULL)->code, 0);
	AWAIT(state_of("loops") >= 3);
	assert_non_null(strstr(stack_ctl("service", "call", "/play/play_next", NULL)->out, "it is not paused"));
	assert_int_equal(stack_ctl("service", "call", "/play/toggle_paused", NULL)->code, 0);
	assert_true(state_of("paused") == 1);
	/* simd's own pause begins although time has no driver just now */
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	kill(p.pid, SIGTERM);
	assert_int_equal(end_play(&p, NULL), 0);
	assert_string_equal(stack_text("GetClock", "clock/source"), "unity");
	finish();
}

/* ---- latched messages ---- */

static void put_frame(struct native_log *l, uint32_t channel, int64_t at_ns, const char *child, double x)
{
	uint8_t body[512] __attribute__((aligned(64)));
	struct sim_builder b;
	struct sim_Transform *t;

	sim_Transforms_init(body, sizeof(body), &b)->is_static = true;
	t = sim_Transforms_transforms_alloc(&b, 1);
	t->translation.x = x;
	assert_int_equal(sim_Transform_parent_frame_set_in(&b, t, "base_link"), 0);
	assert_int_equal(sim_Transform_child_frame_set_in(&b, t, child), 0);
	native_log_put(l, channel, at_ns, at_ns, "base_link", body, sim_builder_size(&b));
}

/* An IMU for 1 s; fixed frames of two publishers, of which one sends its frame again at 0.2 s; something latched at 0, 0.3 and 0.9 s. */
static void write_latched_log(const char *path)
{
	struct native_log *l = native_log_create(path, LOG_COMPRESSION_ZSTD);
	uint32_t imu = native_log_channel(l, "/imu", &sim_Imu_type),
		 frames = native_log_channel(l, "/tf_static", &sim_Transforms_type),
		 latched = native_log_latched(l, "/latched", &sim_Imu_type);

	for (unsigned i = 0; i < 100; i++) {
		int64_t at_ns = BEGIN + i * 10 * MS;

		put_imu(l, imu, at_ns, i);
		if (i == 0 || i == 20)
			put_frame(l, frames, at_ns, "lidar", 1 + i);
		if (i == 10)
			put_frame(l, frames, at_ns, "camera", 1 + i);
		if (i == 0 || i == 30 || i == 90)
			put_imu(l, latched, at_ns, i);
	}
	native_log_finish(l);
}

/* Appends what there is: "lidar 21, ". */
static void hear_frames(struct sim_subscriber *s, char *text, size_t size)
{
	const struct sim_message *m;

	for (; sim_take(s, &m) == 0;) {
		uint32_t n;
		const struct sim_Transform *t =
			sim_Transforms_transforms(sim_Transforms_from(m->body, m->body_size), m->body_size, &n);

		assert_int_equal(n, 1);
		snprintf(text + strlen(text), size - strlen(text), "%s %.0f, ",
			 sim_Transform_child_frame_in(m->body, m->body_size, t), t->translation.x);
		assert_int_equal(sim_release(s, m), 0);
	}
}

static void hear_latched(struct sim_subscriber *s, char *text, size_t size)
{
	const struct sim_message *m;

	for (; sim_take(s, &m) == 0;) {
		snprintf(text + strlen(text), size - strlen(text), "%.0f, ",
			 sim_Imu_from(m->body, m->body_size)->linear_acceleration.z - 9.81);
		assert_int_equal(sim_release(s, m), 0);
	}
}

struct latched_ear {
	struct ear e;
	struct sim_subscriber *frames, *latched;
};

static void listen_latched(struct latched_ear *l)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 20 };

	listen(&l->e, "/imu", "/camera");
	assert_int_equal(sim_subscribe(l->e.c, "/tf_static", &sim_Transforms_type, &so, &l->frames), 0);
	assert_int_equal(sim_subscribe(l->e.c, "/latched", &sim_Imu_type, &so, &l->latched), 0);
}

static void hears_latched(struct latched_ear *l, const char *frames, const char *latched)
{
	char placed[300] = "", held[300] = "";

	hear_frames(l->frames, placed, sizeof(placed));
	assert_string_equal(placed, frames);
	hear_latched(l->latched, held, sizeof(held));
	assert_string_equal(held, latched);
}

static void deafen_latched(struct latched_ear *l)
{
	sim_subscriber_destroy(l->frames);
	sim_subscriber_destroy(l->latched);
	deafen(&l->e);
}

TEST_WITH(latched_messages_are_sent_first_at_a_start_and_a_seek, NULL, stack_sweep)
{
	struct latched_ear l = { .e = { .begin_ns = BEGIN, .n_imu = 50 } };
	struct playing p;

	write_latched_log(LOG_FILE);
	begin(CONF);
	listen_latched(&l);
	p = PLAY("--lockstep", "--start", "0.5", LOG_FILE);
	assert_int_equal(end_play(&p, NULL), 0);
	hear(&l.e);
	assert_int_equal(l.e.n_imu, 100); /* no other one of before */
	hears_latched(&l, "camera 11, lidar 21, ", "30, 90, ");

	p = PLAY("--start-paused", LOG_FILE);
	AWAIT(on_offer("/play/state"));
	assert_non_null(strstr(stack_ctl("service", "call", "/play/seek", "{\"time\": 1700000000150000000}", NULL)->out,
			       "\"success\":true"));
	assert_int_equal(stack_ctl("service", "call", "/play/resume", NULL)->code, 0);
	assert_int_equal(end_play(&p, NULL), 0);
	hears_latched(&l, "lidar 1, camera 11, lidar 21, ", "0, 30, 90, ");
	deafen_latched(&l);
	stack_kill(simd);
}

/* From a file of another system, which marks latched channels in its own way: Cyber's by the name /tf_static alone. */
static void starts_latched(const char *file, const char *encoding, const char *latched)
{
	struct latched_ear l = { .e = { .begin_ns = BEGIN, .n_imu = 50 } };
	const struct ctl_result *r;

	(void)unlink(file);
	r = stack_ctl("bag", "convert", LOG_FILE, file, "--encoding", encoding, NULL);
	if (r->code)
		fail_msg("%s: %s", file, r->err);
	begin(CONF);
	listen_latched(&l);
	r = stack_ctl("play", "--lockstep", "--start", "0.5", "--remap", "/apollo/sensor/gnss/imu:=/imu", file, NULL);
	if (r->code)
		fail_msg("%s: %s", file, r->err);
	hear_theirs(&l.e);
	assert_int_equal(l.e.n_imu, 100);
	hears_latched(&l, "camera 11, lidar 21, ", latched);
	deafen_latched(&l);
	assert_int_equal(unlink(file), 0);
	stack_kill(simd);
}

TEST_WITH(latched_messages_in_logs_of_other_systems_are_sent_first, NULL, stack_sweep)
{
	write_latched_log(LOG_FILE);
	starts_latched("/tmp/ros1.bag", "ros1", "30, 90, ");
	starts_latched("/tmp/ros2.mcap", "ros2", "30, 90, ");
	starts_latched("/tmp/cyber.record", "apollo", "90, ");
	assert_int_equal(unlink(LOG_FILE), 0);
}

TEST_WITH(a_running_clock_is_followed, NULL, stack_sweep)
{
	struct ear e = { .begin_ns = BEGIN };
	struct playing p;

	write_log(LOG_FILE, 100, BEGIN);
	begin("\"TimeSource\":\"simulation\",\"pools\":[{\"size\":\"1KiB\",\"count\":1500},{\"size\":\"64KiB\",\"count\":"
	      "200}]");
	listen(&e, "/imu", "/camera");
	p = PLAY("--follow", LOG_FILE);
	AWAIT(hear(&e) > 10);
	assert_string_equal(stack_text("GetClock", "clock/source"), "simulation");
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", "scale", "10", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	AWAIT(hear(&e) == 125);
	assert_int_equal(end_play(&p, NULL), 0);
	deafen(&e);
	stack_kill(simd);
}

/* ---- a terminal ---- */

static bool reads(int fd, const char *text)
{
	static char seen[1 << 20];
	static size_t n;
	ssize_t got;

	if (n > sizeof(seen) / 2)
		n = 0;
	got = read(fd, seen + n, sizeof(seen) - n - 1);
	n += got > 0 ? (size_t)got : 0;
	seen[n] = '\0';
	return strstr(seen, text);
}

TEST_WITH(keys_control_a_replay_and_the_terminal_is_restored, NULL, stack_sweep)
{
	struct termios before, after;
	int fd, slave, status;
	pid_t pid;

	TERMINAL_OR_SKIP();
	write_log(LOG_FILE, 6000, BEGIN);
	begin(CONF);
	assert_int_equal(openpty(&fd, &slave, NULL, NULL, NULL), 0);
	assert_int_equal(tcgetattr(slave, &before), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (login_tty(slave) == 0)
			stack_exec_ctl("play", (const char *const[]){ LOG_FILE, NULL });
		_exit(127);
	}
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	AWAIT(reads(fd, "a.mcap") && tcgetattr(slave, &after) == 0 && !(after.c_lflag & ICANON));
	assert_int_equal(write(fd, " ", 1), 1);
	AWAIT(reads(fd, "PAUSED"));
	AWAIT(state_of("paused") == 1);
	status = (int)state_of("published");
	assert_int_equal(write(fd, "\033[C", 3), 3);
	AWAIT(state_of("published") == status + 1);
	assert_int_equal(write(fd, "\033[A", 3), 3);
	AWAIT(state_of("rate") > 1.09);
	assert_int_equal(write(fd, "\033[B\033[B", 6), 6);
	AWAIT(state_of("rate") < 0.95);
	assert_int_equal(write(fd, "q", 1), 1);
	AWAIT(reads(fd, "messages of 2 channels"));
	status = stack_wait(pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(tcgetattr(slave, &after), 0);
	assert_int_equal(after.c_lflag, before.c_lflag);
	assert_string_equal(stack_text("GetClock", "clock/source"), "unity");
	close(fd);
	close(slave);
	finish();
}

/*
 * Channels of the demo, with messages as long as they are there, and of each twenty, of which the last one is the longest. simd has by itself
 * no room for a whole window of each of the large ones.
 */
static const struct {
	const char *name;
	uint32_t bytes;
} demo[] = { { "/lidar/top", 3655000 },
	     { "/lidar/front", 449000 },
	     { "/camera/front/image_raw", 1228800 },
	     { "/camera/instances/image_raw", 1228800 },
	     { "/camera/front/image_raw/compressed", 43700 } };
#define DEMO     (sizeof(demo) / sizeof(demo[0]))
#define DEMO_LOG 20u

static void write_demo_log(void)
{
	static uint8_t body[3700000] __attribute__((aligned(64)));
	struct native_log *l = native_log_create(LOG_FILE, LOG_COMPRESSION_ZSTD);
	uint32_t channels[DEMO], imu;

	for (unsigned k = 0; k < DEMO; k++)
		channels[k] = native_log_channel(l, demo[k].name, &sim_CompressedImage_type);
	imu = native_log_channel(l, "/imu", &sim_Imu_type);
	for (unsigned i = 0; i < DEMO_LOG; i++) {
		for (unsigned k = 0; k < DEMO; k++) {
			struct sim_builder b;

			sim_CompressedImage_init(body, sizeof(body), &b);
			assert_non_null(sim_CompressedImage_data_alloc(&b, demo[k].bytes / 2 + demo[k].bytes * i / 2 /
												       (DEMO_LOG - 1)));
			native_log_put(l, channels[k], BEGIN + i * 100 * MS, 0, "", body, sim_builder_size(&b));
		}
		put_imu(l, imu, BEGIN + i * 100 * MS, i);
	}
	native_log_finish(l);
}

/*
 * The rig for replays lists the same channels as the demo's rig, except the inbound one, with the same windows, so that
 * a replay takes no more memory.
 */
TEST_WITH(the_rig_for_the_demos_log_lists_its_channels, NULL, stack_sweep)
{
	json_t *rig = json_load_file("config/rigs/replay.json", 0, NULL),
	       *live = json_load_file("config/rigs/demo.json", 0, NULL);
	const json_t *inbound = json_array_get(json_object_get(live, "inbound"), 0), *ch, *other;
	size_t i, k, n = 0;

	json_array_foreach(json_object_get(live, "channels"), i, ch) {
		if (json_equal(json_object_get(ch, "name"), inbound))
			continue;
		n++;
		json_array_foreach(json_object_get(rig, "channels"), k, other)
			if (json_equal(ch, other))
				break;
		if (k == json_array_size(json_object_get(rig, "channels")))
			fail_msg("%s is not in replay.json as it is in demo.json",
				 json_string_value(json_object_get(ch, "name")));
	}
	assert_true(n > 5);
	json_decref(rig);
	json_decref(live);
}

/* All that the demo records is played with the rig that the README names, and with one that names no channel. */
static void plays_the_demo(const char *text)
{
	const struct ctl_result *r;
	char *conf = NULL;

	assert_true(asprintf(&conf, "\"rigs\":[%s]", text) > 0);
	begin(conf);
	r = stack_ctl("play", LOG_FILE, NULL);
	assert_string_equal(r->err, "");
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "120 messages of 6 channels"));
	stack_stop(simd);
	free(conf);
}

TEST_FULL_WITH(the_rig_for_the_demo_log_has_enough_memory, NULL, stack_sweep)
{
	json_t *rig = json_load_file("config/rigs/replay.json", 0, NULL);
	char *text = json_dumps(rig, JSON_COMPACT);

	write_demo_log();
	plays_the_demo(text);
	plays_the_demo("{\"name\":\"demo\",\"bridges\":[{\"name\":\"ros2\",\"plugin\":\"ros2\"}]}");
	(void)unlink(LOG_FILE);
	json_decref(rig);
	free(text);
}

/* ---- ends ---- */

TEST_WITH(a_replay_ends_when_simd_dies, NULL, stack_sweep)
{
	struct playing p;
	const char *text;

	write_log(LOG_FILE, 6000, BEGIN);
	begin(CONF);
	p = PLAY(LOG_FILE);
	AWAIT(on_offer("/play/state") && state_of("published") > 10);
	stack_kill(simd);
	assert_int_equal(end_play(&p, &text), 1);
	assert_non_null(strstr(text, "disconnected from simd"));
}

TEST_WITH(selecting_another_source_ends_a_replay, NULL, stack_sweep)
{
	struct playing p;
	const char *text;

	write_log(LOG_FILE, 6000, BEGIN);
	begin(CONF);
	p = PLAY(LOG_FILE);
	AWAIT(on_offer("/play/state") && state_of("published") > 10);
	assert_int_equal(stack_ctl("clock", "source", "simulation", NULL)->code, 0);
	assert_int_equal(end_play(&p, &text), 1);
	assert_non_null(strstr(text, "another time source was chosen"));
	assert_string_equal(stack_text("GetClock", "clock/source"), "simulation");
	finish();
}

/* The source was `play` before, so nothing that it puts back ends its wait: before its first message, and in the middle. */
static void ends_in_a_pause(const char *how, bool early, int sig)
{
	struct playing p;

	assert_int_equal(stack_ctl("clock", early ? "pause" : "resume", NULL)->code, 0);
	p = PLAY("--loop", how, LOG_FILE);
	AWAIT(on_offer("/play/state") && (early || state_of("published") > 10));
	if (!early)
		assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	assert_int_equal(kill(p.pid, sig), 0);
	assert_int_equal(end_play(&p, NULL), sig == SIGINT ? 128 + SIGINT : 0);
}

TEST_WITH(a_paused_replay_can_be_ended, NULL, stack_sweep)
{
	write_log(LOG_FILE, 6000, BEGIN);
	begin(CONF);
	assert_int_equal(stack_ctl("clock", "source", "play", NULL)->code, 0);
	for (int early = 1; early >= 0; early--) {
		ends_in_a_pause("--rate=1", early, SIGINT);
		ends_in_a_pause("--lockstep", early, SIGINT);
		ends_in_a_pause("--lockstep", early, SIGTERM);
	}
	assert_string_equal(stack_text("GetClock", "clock/source"), "play");
	finish();
}

TEST_WITH(a_damaged_file_plays_to_the_damage, NULL, stack_sweep)
{
	struct stat st;
	struct playing p;
	const char *text;
	unsigned n = 0;

	write_log(LOG_FILE, 3000, BEGIN);
	assert_int_equal(stat(LOG_FILE, &st), 0);
	assert_int_equal(truncate(LOG_FILE, st.st_size / 2), 0);
	begin(CONF);
	p = PLAY("--lockstep", LOG_FILE);
	assert_int_equal(end_play(&p, &text), 1);
	assert_non_null(strstr(text, "a.mcap: "));
	assert_int_equal(sscanf(strstr(text, " messages of") - 4, "%u", &n), 1);
	assert_true(n > 0);
	finish();
}

TEST_WITH(invalid_arguments_are_explained, NULL, stack_sweep)
{
	write_log(LOG_FILE, 10, BEGIN);
	begin(CONF);
	assert_non_null(strstr(stack_ctl("play", "/tmp/nowhere.mcap", NULL)->err, "/tmp/nowhere.mcap"));
	assert_non_null(strstr(stack_ctl("play", "--start", "soon", LOG_FILE, NULL)->err, "--start soon: no time"));
	assert_non_null(strstr(stack_ctl("play", "--start", "99", LOG_FILE, NULL)->err, "after the end"));
	assert_non_null(strstr(stack_ctl("play", "--rate", "0", LOG_FILE, NULL)->err, "above 0"));
	assert_non_null(strstr(stack_ctl("play", "--remap", "/a=/b", LOG_FILE, NULL)->err, "OLD:=NEW"));
	assert_non_null(strstr(stack_ctl("play", "--follow", "--lockstep", LOG_FILE, NULL)->err, "drives time"));
	assert_string_equal(stack_text("GetClock", "clock/source"), "unity");
	finish();
}
