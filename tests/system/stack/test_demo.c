/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make demo, as its users have it: its exit, the cleaning up of an earlier run, a node of ROS 2 or of ROS 1 that drives
 * the car, and the message counts of rospy.
 */
#include "stack.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sim/msg/CanBus.h>
#include <sim/sim.h>
#include <zlib.h>

#include "../../support/ros_tree.h"
#include "../ros2/cables.h"
#include "../ros2/reader.h"
#include "../ros2/typed.h"
#include "fd.h"
#include "mem.h"
#include "ros_master.h"

#define OUT    "/tmp/out-demo"
#define SOCKET OUT "/run/control"
#define TOPIC  "rt/control/command/control_cmd"
#define TYPE   "autoware_control_msgs/msg/Control"

/* What a test's client had of a data plane goes with its process: two of this size would not fit beside the next one. */
TEST_PROCESSES();

/* Its output goes to `to`. */
static pid_t demo_to(const char *to, const char *rig, const char *seconds, const char *bridges)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (!freopen(to, "w", stdout))
			_exit(126);
		dup2(1, 2);
		setenv("DEMO_DIR", OUT, 1);
		setenv("DEMO_SECONDS", seconds, 1);
		setenv("BRIDGES", bridges, 1);
		setenv("RIG", rig, 1);
		execl("tools/dev/demo.sh", "demo.sh", (char *)NULL);
		_exit(127);
	}
	return pid;
}

static pid_t demo_of(const char *rig, const char *seconds, const char *bridges)
{
	return demo_to("/tmp/out.txt", rig, seconds, bridges);
}

static pid_t demo(const char *seconds, const char *bridges)
{
	return demo_of("", seconds, bridges);
}

static const char *said(void)
{
	static char text[65536];
	char *all = NULL;
	size_t len = 0;

	assert_int_equal(fd_read_file("/tmp/out.txt", sizeof(text) - 1, &all, &len), 0);
	memcpy(text, all, len);
	text[len] = '\0';
	mem_free(all);
	return text;
}

/* The last three lines say what to look at. */
static void check_end(void)
{
	const char *text = said(), *at = text + strlen(text);
	unsigned lines = 0;

	while (at > text && lines < 4)
		lines += *--at == '\n';
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(strncmp(at + 1, "look next at ", 13), 0);
		at = strchr(at + 1, '\n');
	}
	assert_string_equal(at, "\n");
}

static size_t size_of(const char *path)
{
	char *text = NULL;
	size_t len = 0;

	if (fd_read_file(path, (size_t)64 << 20, &text, &len) < 0)
		return 0;
	mem_free(text);
	return len;
}

/* For a failure: the logs of simd and of the demo. */
static int sweep(void **state)
{
	char *log = NULL;

	if (fd_read_file(OUT "/simd.log", (size_t)16 << 20, &log, NULL) == 0)
		printf("-- the demo's simd\n%s", log);
	mem_free(log);
	return stack_sweep(state);
}

/* All that the bridge was sent is in its file, and the demo says how to open that. */
static void check_recording(void)
{
	const char *const info[] = { "simctl", "bag", "info", OUT "/demo.mcap", NULL };
	const char *text = said(), *sent = strstr(text, "bridge mcap "), *found;
	unsigned n = 0, m = 1;

	assert_non_null(strstr(text, "simctl bag info " OUT "/demo.mcap"));
	assert_true(sent && sscanf(sent, "bridge mcap %u", &n) == 1 && n > 0);
	found = strstr(stack_run(info)->out, "messages");
	assert_true(found && sscanf(found, "messages %u", &m) == 1);
	assert_int_equal(m, n);
}

static double number(json_t *account, const char *key)
{
	return json_number_value(json_object_get(account, key));
}

static bool file_has(const char *path, const char *text)
{
	char *all = NULL;
	bool yes = fd_read_file(path, (size_t)16 << 20, &all, NULL) == 0 && strstr(all, text);

	mem_free(all);
	return yes;
}

/* The real-time factor is that of the run, without the start and the end; nothing was on its way when it was written. */
static void check_summary(void)
{
	json_t *s = json_load_file(OUT "/summary.json", 0, NULL), *ch;
	double run_s, start_s, wall_s;
	size_t i;

	assert_non_null(s);
	run_s = number(s, "run_s");
	start_s = number(s, "start_s");
	wall_s = number(s, "wall_s");
	assert_true(start_s > 0 && run_s > 0 && start_s + run_s <= wall_s);
	assert_true(fabs(number(s, "real_time_factor") * run_s - number(s, "sim_s")) <
		    0.2); /* the first advance counts for none */
	json_array_foreach(json_object_get(s, "channels"), i, ch)
		assert_int_equal(json_integer_value(json_object_get(ch, "in_flight")), 0);
	assert_true(i > 5);
	json_decref(s);
}

TEST_WITH(a_second_demo_keeps_the_results_of_the_first, NULL, sweep)
{
	size_t log;

	assert_int_equal(stack_wait(demo("2", "logging,mcap")), 0);
	check_end();
	check_recording();
	log = size_of(OUT "/logging.txt.gz");
	assert_true(log > 10000 && log < 2000000); /* clouds by their hash: they would be 35 MB a second */
	check_summary();
	assert_true(file_has(OUT "/simd.log",
			     " has released the driver lease")); /* SUMO ends in order, though time is paused */
	assert_int_equal(stack_wait(demo("1", "logging")), 0);
	assert_int_equal(size_of(OUT ".1/logging.txt.gz"), log);
	for (int i = 0; i < 3; i++)
		assert_int_equal(stack_wait(demo("0", "logging")), 0);
	assert_int_equal(access(OUT ".4", F_OK), -1); /* bounded */
	assert_int_equal(access(OUT ".3/logging.txt.gz", F_OK), 0);
	assert_string_equal(stack_leftovers(), "");
}

/* ---- another rig ---- */

/* The bridges are added to the rig that is meant, whatever it is called. */
/* Begun in the same instant: each has a folder of its own, and says which. */
TEST_FULL_WITH(two_demos_may_run_at_once, NULL, sweep)
{
	static const char *const outs[] = { OUT, OUT "-2" }, *const says[] = { "/tmp/out.txt", "/tmp/out2.txt" };
	pid_t pid[2];
	unsigned n = 0;

	for (int i = 0; i < 2; i++)
		pid[i] = demo_to(says[i], "", "3", "null,foxglove,mcap");
	for (int i = 0; i < 2; i++)
		assert_int_equal(stack_wait(pid[i]), 0);
	for (int i = 0; i < 2; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/summary.json", outs[i]);
		assert_true(file_has(path, "/lidar/top"));
		snprintf(path, sizeof(path), "%s/demo.mcap", outs[i]);
		assert_true(size_of(path) > 1000);
		n += file_has(says[i], "demo: another one runs in " OUT "; this one writes to " OUT "-2");
	}
	assert_int_equal(n, 1);
	assert_int_not_equal(access(OUT ".1", F_OK), 0); /* neither has moved the other's away */
}

TEST_FULL_WITH(a_rig_is_given_by_name_or_path, NULL, sweep)
{
	static const char *const rigs[] = { "sumo-vehicle", "config/rigs/sumo-vehicle.json" };

	for (int i = 0; i < 2; i++) {
		assert_int_equal(stack_wait(demo_of(rigs[i], "2", "logging")), 0);
		assert_non_null(strstr(said(), "bridge logging "));
		assert_true(size_of(OUT "/logging.txt.gz") > 1000);
	}
	assert_string_equal(stack_leftovers(), "");
}

/* Of the last host, which the demo stops. */
static const char *news_of_it(const char *from, const char *what, unsigned *ret_connection)
{
	const char *at = from;

	while (at && (at = strstr(at, " client "))) {
		char word[16] = "";
		int n = 0;

		if (sscanf(at, " client %u host-2: %15[a-z]:%n", ret_connection, word, &n) == 2 && n &&
		    !strcmp(word, what))
			return at + n;
		at++;
	}
	fail_msg("host-2 is not \"%s\" in\n%s", what, from);
	return NULL;
}

TEST_FULL_WITH(a_host_of_a_world_is_dropped_and_returns, NULL, sweep)
{
	unsigned first = 0, out = 0, again = 0;
	const char *at, *text;

	assert_int_equal(stack_wait(demo_of("world", "12", "logging")), 0);
	text = said();
	at = strstr(text, "what became of the world's hosts:");
	assert_non_null(at);
	at = news_of_it(at, "connected", &first);
	at = news_of_it(at, "late", &out);
	at = news_of_it(at, "disconnected", &out);
	at = news_of_it(at, "connected", &again);
	assert_int_equal(out, first);
	assert_int_equal(again, first);
	/* as simctl world shows them */
	assert_non_null(strstr(text, "clients 4, regulating 4"));
	for (const char *const *name = (const char *const[]){ "sim-sumo ", "host-0 ", "host-1 ", "host-2 ", NULL };
	     *name; name++)
		assert_non_null(strstr(text, *name));
}

TEST(an_unknown_rig_is_reported_with_the_existing_ones)
{
	static const char *const wrong[] = { "nothing", "config/rigs/nothing.json" };
	int status;

	for (int i = 0; i < 2; i++) {
		status = stack_wait(demo_of(wrong[i], "1", "logging"));
		assert_int_equal(WEXITSTATUS(status), 2);
		assert_int_equal(access(OUT, F_OK), -1); /* nothing has begun */
		if (i == 0) {
			assert_non_null(strstr(said(), "no rig \"nothing\""));
			assert_non_null(strstr(said(), " demo "));
			assert_non_null(strstr(said(), " sumo-vehicle "));
		} else {
			assert_non_null(strstr(said(), wrong[i]));
		}
	}
}

/* ---- driven from ROS ---- */

static struct typed *control_type;
static void *go;

static struct sim_subscriber *can_bus(struct sim_client **ret)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "test", .socket = SOCKET, .timeout_ms = PATIENT_MS };
	struct sim_subscriber *s = NULL;

	AWAIT(access(SOCKET, F_OK) == 0);
	AWAIT(sim_connect(&o, ret) == 0);
	assert_int_equal(sim_subscribe(*ret, "can_bus", &sim_CanBus_type, NULL, &s), 0);
	return s;
}

/* Whether the next report of the vehicle says that; a command is sent for each. */
static bool reports(struct sim_subscriber *s, dds_entity_t writer, uint8_t mode, double speed, double wheel)
{
	const struct sim_message *slot;
	const struct sim_CanBus *c;
	bool yes;

	if (writer > 0)
		assert_int_equal(dds_write(writer, go), 0);
	assert_int_equal(sim_wait(s, -1), 1);
	assert_int_equal(sim_take(s, &slot), 0);
	c = sim_CanBus_from(slot->body, slot->body_size);
	yes = c->mode == mode &&
	      (!mode || (fabs((double)c->speed - speed) < 0.2 && fabs((double)c->steering_angle - wheel) < 0.01));
	assert_int_equal(sim_release(s, slot), 0);
	return yes;
}

static bool draws(void)
{
	const char *const picture[] = { "sim-camera", "--at", "0,0,0", "--png", "/tmp/drawn.png", NULL };

	if (stack_run(picture)->code == 0)
		return true;
	print_message("no images: %s\n", stack_run(picture)->err);
	return false;
}

/* 640 pixels are 80 degrees wide; pixels are counted from the middle of the first one. */
static void check_calibration(const struct seen_info *info)
{
	double f = 320 / tan(40 * M_PI / 180);
	const double k[9] = { f, 0, 319.5, 0, f, 239.5, 0, 0, 1 }, r[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	const double p[12] = { f, 0, 319.5, 0, 0, f, 239.5, 0, 0, 0, 1, 0 };

	assert_string_equal(info->distortion_model, "plumb_bob");
	assert_int_equal(info->d._length, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_true(((const double *)info->d._buffer)[i] == 0);
	for (unsigned i = 0; i < 12; i++) {
		assert_true(fabs(info->p[i] - p[i]) < 1e-9);
		assert_true(i >= 9 || (fabs(info->k[i] - k[i]) < 1e-9 && info->r[i] == r[i]));
	}
}

/* An image, and the info of the same stamp. */
static void images_come(dds_entity_t dp)
{
	dds_entity_t images = reader_newest(dp, &seen_image_desc, "rt/camera/front/image_raw", false);
	dds_entity_t infos = reader_newest(dp, &seen_info_desc, "rt/camera/front/camera_info", false);
	struct seen_image image = { .height = 0 };
	struct seen_info info = { .height = 0 };

	assert_int_equal(reader_take(images, &image), 0);
	assert_int_equal(reader_take(infos, &info), 0);
	for (unsigned i = 0; i < 50 && memcmp(&image.stamp, &info.stamp, sizeof(info.stamp)) != 0; i++) {
		bool older = image.stamp.sec < info.stamp.sec ||
			     (image.stamp.sec == info.stamp.sec && image.stamp.nanosec < info.stamp.nanosec);

		assert_int_equal(older ? reader_take(images, &image) : reader_take(infos, &info), 0);
	}
	assert_memory_equal(&image.stamp, &info.stamp, sizeof(info.stamp));
	assert_true(image.width == 640 && image.height == 480 && image.step == 4 * 640 &&
		    image.data._length == 4 * 640 * 480);
	assert_string_equal(image.encoding, "rgba8");
	assert_true(info.width == 640 && info.height == 480);
	check_calibration(&info);
	assert_string_equal(image.frame_id, "camera_front_optical");
	assert_string_equal(info.frame_id, "camera_front_optical");
}

/* Of the bridge's participant, which has simd's mark. */
static void find_bridge(dds_entity_t dp, uint8_t ret[CABLES_PREFIX])
{
	dds_entity_t r = dds_create_reader(dp, DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL, NULL);
	bool found = false;

	while (!found && reader_wait(dp, r) == 0) {
		void *sample = NULL, *data = NULL;
		dds_sample_info_t info;
		size_t size = 0;

		if (dds_take(r, &sample, &info, 1, 1) <= 0)
			continue;
		found = info.valid_data &&
			dds_qget_userdata(((dds_builtintopic_participant_t *)sample)->qos, &data, &size) && data &&
			memmem(data, size, "simd=", 5);
		if (found)
			memcpy(ret, ((dds_builtintopic_participant_t *)sample)->key.v, CABLES_PREFIX);
		dds_free(data);
		dds_return_loan(r, &sample, 1);
	}
	dds_delete(r);
	assert_true(found);
}

static int sweep_and_cut(void **state)
{
	(void)cables_cut(state);
	return sweep(state);
}

/* As teleop and Nav2 send it: a speed and a yaw rate, for which the wheels are turned as its wheelbase wants. */
static void drive_by_twist(struct sim_subscriber *s, dds_entity_t dp)
{
	struct typed *twist = typed_new(ros_type_find(ros2_types, "geometry_msgs/msg/Twist"));
	double wheelbase = 0.6 * 4.6; /* of the ego in town.rou.xml */
	dds_entity_t writer;

	assert_non_null(twist);
	go = typed_sample(twist);
	assert_int_equal(typed_fill(twist,
				    json_pack("{s:{s:f}, s:{s:f}}", "linear", "x", 3.0, "angular", "z",
					      3 * tan(0.1) / wheelbase),
				    go),
			 0);
	writer = reader_write_volatile(dp, typed_descriptor(twist), "rt/cmd_vel");
	assert_true(writer > 0);
	AWAIT(reports(s, writer, 1, 3, 0.1));
	AWAIT(reports(s, -1, 0, 0, 0)); /* silence: SUMO drives again */
}

/* A node without any settings, on a network with another machine, which sees nothing of ours. */
TEST_WITH(a_ros_node_drives_the_demo, cables_lay, sweep_and_cut)
{
	struct sim_client *c = NULL;
	pid_t pid = demo("600", "ros2");
	struct sim_subscriber *s = can_bus(&c);
	dds_entity_t dp = dds_create_participant(0, NULL, NULL), writer;
	uint8_t bridge[CABLES_PREFIX];
	int status;

	assert_true(dp > 0);
	control_type = typed_new(ros_type_find(ros2_types, TYPE));
	assert_non_null(control_type);
	go = typed_sample(control_type);
	assert_int_equal(typed_fill(control_type,
				    json_pack("{s:{s:f}, s:{s:f}}", "lateral", "steering_tire_angle", 0.1,
					      "longitudinal", "velocity", 3.0),
				    go),
			 0);
	AWAIT(reports(s, -1, 0, 0, 0)); /* SUMO drives */
	if (draws())
		images_come(dp);
	writer = reader_write_volatile(dp, typed_descriptor(control_type), TOPIC);
	assert_true(writer > 0);
	AWAIT(reports(s, writer, 1, 3, 0.1));
	AWAIT(reports(s, -1, 0, 0, 0)); /* silence: SUMO drives again */
	drive_by_twist(s, dp);
	find_bridge(dp, bridge);
	dds_delete(dp);
	for (int cable = 0; cable < CABLES; cable++)
		assert_int_equal(cables_count(cable, bridge), 0);
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	assert_int_equal(kill(pid, SIGINT), 0);
	status = stack_wait(pid);
	assert_int_equal(WEXITSTATUS(status), 130);
}

/* ---- components ---- */

#define PERCEPTION "config/rigs/perception.json"

/*
 * A pedestrian steps in front of the ego: the chain of components stops it, and lets it go on; simctl shows the order.
 */
static void stops_for_people(const char *rig)
{
	const char *const echo[] = { "simctl", "--socket", SOCKET, "echo", "/control", "--once", NULL };
	struct sim_client *c = NULL;
	pid_t pid = demo_of(rig, "600", "logging");
	struct sim_subscriber *s = can_bus(&c);
	int status;

	AWAIT(reports(s, -1, 0, 0, 0)); /* SUMO drives */
	assert_non_null(strstr(stack_run(echo)->out, "target_acceleration"));
	AWAIT(reports(s, -1, 1, 0, 0)); /* it stands, by order */
	AWAIT(reports(s, -1, 0, 0, 0)); /* and has gone on */
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	assert_int_equal(kill(pid, SIGINT), 0);
	status = stack_wait(pid);
	assert_int_equal(WEXITSTATUS(status), 130);
}

TEST_FULL_WITH(components_stop_the_demo_for_pedestrians, NULL, sweep)
{
	stops_for_people("perception");
	assert_true(file_has(OUT "/simd.log", "3 components run in simulation"));
	assert_false(file_has(OUT "/simd.log", "no process publishes"));
	assert_true(
		file_has(OUT "/bridges.json", "\"wait_for\":[\"lidar-top\",\"chain\",\"logging\"]")); /* the log, too */
}

/* One word more, in the rig: and the same on a pool of threads. */
TEST_FULL_WITH(components_stop_the_demo_in_reality_mode_too, NULL, sweep)
{
	json_t *rig = json_load_file(PERCEPTION, 0, NULL), *command;

	assert_non_null(rig);
	command = json_object_get(json_array_get(json_object_get(rig, "processes"), 1), "command");
	assert_string_equal(json_string_value(json_array_get(command, 0)), "simhost");
	json_array_append_new(command, json_string("--mode=reality"));
	assert_int_equal(json_dump_file(rig, "/tmp/reality.json", 0), 0);
	json_decref(rig);
	stops_for_people("/tmp/reality.json");
	assert_true(file_has(OUT "/simd.log", "3 components run in reality"));
}

/*
 * The log of the shorter one of two runs is byte for byte the beginning of the longer one's, and contains a stop for a
 * pedestrian.
 */
TEST_FULL_WITH(a_demo_of_components_repeats, NULL, sweep)
{
	static char line[2][65536];
	bool stood = false;
	unsigned n = 0;
	gzFile f[2];

	assert_int_equal(stack_wait(demo_of("perception", "10", "logging")), 0);
	assert_int_equal(stack_wait(demo_of("perception", "12", "logging")), 0);
	f[0] = gzopen(OUT ".1/logging.txt.gz", "rb");
	f[1] = gzopen(OUT "/logging.txt.gz", "rb");
	assert_true(f[0] && f[1]);
	while (gzgets(f[0], line[0], sizeof(line[0])) && gzgets(f[1], line[1], sizeof(line[1]))) {
		n++;
		if (strcmp(line[0], line[1]) != 0)
			fail_msg("line %u: %s, and then %s", n, line[0], line[1]);
		stood = stood || strstr(line[0], "sim/VehicleControl /control");
	}
	assert_true(n > 2000 && stood);
	gzclose(f[0]);
	gzclose(f[1]);
}

/* ---- ROS 1 ---- */

#define COUNTS "/tmp/out-counts.json"

static pid_t python(const char *arguments)
{
	char line[256];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(line, sizeof(line), "exec /usr/bin/python3 tests/system/ros1/%s >>/tmp/out-python.txt 2>&1",
		 arguments);
	execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	_exit(127);
}

static void end_python(pid_t pid)
{
	kill(pid, SIGKILL);
	stack_wait(pid);
}

/* A topic whose messages are numbered: it has some. */
static bool flows(json_t *channel, json_t *account)
{
	(void)channel;
	return number(account, "n") >= 5;
}

/* The newest came last, none came twice or out of order; nothing is newer. */
static bool agrees(json_t *channel, json_t *account)
{
	return number(account, "last") >= number(channel, "messages") &&
	       number(account, "n") + number(account, "lost") ==
		       number(account, "last") - number(account, "first") + 1 &&
	       number(account, "back") == 0;
}

static json_t *channels(void)
{
	const char *const list[] = { "simctl", "--socket", SOCKET, "list", "--json", NULL };

	return json_loads(stack_run(list)->out, 0, NULL);
}

/* Whether `holds` is true of every outbound channel: simctl's entry of it, and the count of its received messages. */
static bool all(bool (*holds)(json_t *channel, json_t *account))
{
	json_t *list = channels(), *counts = json_load_file(COUNTS, 0, NULL), *ch;
	bool yes = list && counts;
	unsigned n = 0;
	size_t i;

	json_array_foreach(json_object_get(list, "channels"), i, ch) {
		const char *name = json_string_value(json_object_get(ch, "name"));
		json_t *account = json_object_get(counts, name);

		if (!strcmp(name, "/control"))
			continue;
		n++;
		yes = yes && account && number(account, "back") == 0;
		if (yes && !json_is_null(json_object_get(account, "last")))
			yes = holds(ch, account);
	}
	json_decref(list);
	json_decref(counts);
	return yes && n >= 10;
}

static bool came(const char *topic, int n)
{
	json_t *counts = json_load_file(COUNTS, 0, NULL);
	bool yes = number(json_object_get(counts, topic), "n") >= n;

	json_decref(counts);
	return yes;
}

/*
 * By numbers and stamps. What is refused to its publisher has no number: where a bridge was too slow for a moment there are fewer. A lidar that gets
 * to the processor too late leaves looks out, and says at its end how many: how slow the machine is decides that.
 */
static void has_rate(const char *topic, double hz)
{
	json_t *list = channels(), *counts = json_load_file(COUNTS, 0, NULL), *ch;
	double rate = number(json_object_get(counts, topic), "rate");
	bool less = strstr(topic, "lidar");
	size_t i;

	json_array_foreach(json_object_get(list, "channels"), i, ch)
		if (!strcmp(json_string_value(json_object_get(ch, "name")), topic))
			less |= json_object_size(json_object_get(ch, "drops")) > 0;
	if (rate > hz + 0.01 || (!less && rate < hz - 0.01))
		fail_msg("%s: %g Hz, not %g", topic, rate, hz);
	json_decref(list);
	json_decref(counts);
}

TEST_FULL_WITH(rospy_and_simctl_count_the_same, NULL, sweep)
{
	const char *const pause[] = { "simctl", "--socket", SOCKET, "clock", "pause", NULL };
	struct sim_client *c = NULL;
	struct sim_subscriber *s;
	pid_t pid, counts, teleop;
	int status;

	if (access("/usr/bin/rosmaster", X_OK) < 0) {
		print_message("not tried, without a rosmaster: run tools/dev/deps.sh check\n");
		assert_false(test_full());
		return;
	}
	ros_master_start();
	pid = demo("600", "ros1");
	s = can_bus(&c);
	counts = python("counts.py /simd " COUNTS);
	AWAIT(came("/lidar/top", 20) && came("/tf_static", 1) && came("/signals", 20) && came("/clock", 20) &&
	      all(flows));
	assert_int_equal(stack_run(pause)->code, 0);
	AWAIT(all(agrees));
	has_rate("/imu", 100);
	has_rate("/lidar/top", 10);
	has_rate("/gps", 12.5);
	end_python(counts);
	assert_int_equal(
		stack_run((const char *const[]){ "simctl", "--socket", SOCKET, "clock", "resume", NULL })->code, 0);
	teleop = python("teleop.py 3 0.1");
	AWAIT(reports(s, -1, 1, 3, 0.1));
	end_python(teleop);
	AWAIT(reports(s, -1, 0, 0, 0)); /* silence: SUMO drives again */
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	assert_int_equal(kill(pid, SIGINT), 0);
	status = stack_wait(pid);
	assert_int_equal(WEXITSTATUS(status), 130);
	ros_master_kill();
}
