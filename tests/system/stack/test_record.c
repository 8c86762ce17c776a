/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `simctl record` with a real simd: the messages in the log, channels that appear later, split files, the last seconds
 * before a trigger, pauses, losses, log times, a restart of simd.
 */
#include "recorder.h"
#include "terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <utmp.h>

#include "record/log.h"

TEST_PROCESSES()

/* ---- tests ---- */

TEST_WITH(published_messages_are_in_the_file, NULL, stack_sweep)
{
	struct recording rec;
	const struct ctl_result *r;

	BEGIN("/a", "/b");
	RECORD(&rec, "-o", FILE_1);
	AWAIT(is_ready());
	assert_true(is_subscribed("/a") && is_subscribed("/b") && is_subscribed("/simd/clock_events"));
	publish_many(0, 0, 200);
	publish_many(1, 0, 100);
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	assert_int_equal(stack_ctl("service", "call", "/record/resume", NULL)->code, 0);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_non_null(strstr(rec.text, "302 messages, 0 lost"));
	check_numbers(FILE_1, "/a", 0, 200);
	check_numbers(FILE_1, "/b", 0, 100);
	assert_int_equal(messages_of(FILE_1, "/simd/clock_events"), 1);
	assert_int_equal(messages_of(FILE_1, "/simd/service_calls"), 1);
	assert_string_equal(metadata_of(FILE_1, "simd_losses", "/a"), "accepted=200 recorded=200 lost=0");
	assert_string_equal(metadata_of(FILE_1, "simd", "time_source"), "simulation");
	r = stack_ctl("bag", "info", FILE_1, NULL);
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "302"));
	r = stack_ctl("bag", "cat", FILE_1, "--include", "/simd/*", NULL);
	assert_non_null(strstr(r->out, "\"service\":\"/record/resume\""));
	assert_non_null(strstr(r->out, "\"source\":\"simulation\""));
	assert_int_equal(stack_ctl("bag", "doctor", FILE_1, NULL)->code, 0);
	end();
}

TEST_WITH(channels_are_selected_by_pattern_and_type, NULL, stack_sweep)
{
	struct recording rec;

	BEGIN("/car/a", "/car/b", "/bus/a");
	RECORD(&rec, "car/*", "/bus/*", "--exclude", "*b", "--types", "sim/Imu", "-o", FILE_1);
	AWAIT(is_ready());
	for (unsigned i = 0; i < 3; i++)
		publish_many(i, 0, 10);
	assert_int_equal(end_record(&rec, SIGTERM), 0);
	assert_int_equal(messages_of(FILE_1, NULL), 20);
	assert_int_equal(messages_of(FILE_1, "/car/b"), 0);
	end();
}

TEST_WITH(channels_that_appear_later_are_recorded, NULL, stack_sweep)
{
	struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LOCAL };
	struct recording rec;

	BEGIN("/a");
	RECORD(&rec, "-o", FILE_1);
	AWAIT(is_ready());
	assert_int_equal(sim_advertise(voice.c, "/late", &sim_Imu_type, &po, &voice.pub[voice.n++]), 0);
	AWAIT(is_subscribed("/late"));
	caught_up();
	publish_many(1, 0, 30);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	check_numbers(FILE_1, "/late", 0, 30);
	end();
}

TEST_WITH(files_are_split_and_existing_ones_kept, NULL, stack_sweep)
{
	struct recording rec;
	unsigned n = 0, files;
	char path[64];
	int fd;

	BEGIN("/a");
	fd = open(FILE_1, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	RECORD(&rec, "/a", "--compression", "none", "--split-size", "64KiB", "-o", FILE_1);
	AWAIT(is_ready());
	for (unsigned i = 0; i < 20; i++) {
		publish_many(0, i * 100, 100);
		caught_up();
	}
	assert_int_equal(end_record(&rec, SIGINT), 0);
	files = files_of("a.");
	assert_true(files > 3);
	for (unsigned i = 2; i <= files; i++) {
		snprintf(path, sizeof(path), "/tmp/a.%u.mcap", i);
		n += messages_of(path, "/a");
	}
	assert_int_equal(n, 2000);
	fd = open(FILE_1, O_RDONLY);
	assert_int_equal(read(fd, path, sizeof(path)), 8);
	close(fd);
	end();
}

/* Each order of a batch takes simctl a start of its own: the log goes on by more than a microsecond. */
TEST_WITH(files_are_split_by_time, NULL, stack_sweep)
{
	struct recording rec;
	unsigned n = 0, files;
	char path[64];

	BEGIN("/a");
	RECORD(&rec, "/a", "--split-duration", "1us", "-o", FILE_1);
	AWAIT(is_ready());
	for (unsigned i = 0; i < 5; i++) {
		publish(0, i);
		caught_up();
	}
	assert_int_equal(end_record(&rec, SIGINT), 0);
	files = files_of("a.");
	assert_int_equal(files, 5);
	for (unsigned i = 1; i <= files; i++) {
		snprintf(path, sizeof(path), i == 1 ? FILE_1 : "/tmp/a.%u.mcap", i);
		n += messages_of(path, "/a");
	}
	assert_int_equal(n, 5);
	end();
}

/* A latched publisher's last message is at the begin of each file, as it was published. */
TEST_WITH(each_file_of_a_split_begins_with_latched_messages, NULL, stack_sweep)
{
	struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LOCAL | SIM_PUB_LATCH };
	struct recording rec;
	unsigned files;

	BEGIN("/a");
	assert_int_equal(sim_advertise(voice.c, "/map", &sim_Imu_type, &po, &voice.pub[voice.n++]), 0);
	publish(1, 76);
	publish(1, 77);
	RECORD(&rec, "/a", "/map", "--split-duration", "1us", "-o", FILE_1);
	AWAIT(is_ready());
	caught_up();
	for (unsigned i = 0; i < 3; i++) {
		publish(0, i);
		caught_up();
	}
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_non_null(strstr(rec.text, "4 messages, 0 lost"));
	files = files_of("a.");
	assert_int_equal(files, 4);
	for (unsigned i = 1; i <= files; i++) {
		char path[64];

		snprintf(path, sizeof(path), i == 1 ? FILE_1 : "/tmp/a.%u.mcap", i);
		check_numbers(path, "/map", 77, 1);
		assert_int_equal(messages_of(path, "/a"), i > 1);
	}
	end();
}

static bool has_text(const char *path, const char *text)
{
	static char bytes[1 << 18];
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	return memmem(bytes, n, text, strlen(text)) != NULL;
}

/* Apollo's also by the release and the definitions that are asked for. */
TEST_WITH(logs_of_ros_1_and_apollo_are_recorded, NULL, stack_sweep)
{
	static const char *const files[] = { "/tmp/a.bag", "/tmp/a.record" };
	struct recording rec;

	BEGIN("/b", "/a");
	for (unsigned i = 0; i < 2; i++) {
		RECORD(&rec, "/a", "/b", "-o", files[i]);
		AWAIT(is_ready());
		publish_many(0, 0, 20);
		publish_many(1, 0, 50);
		assert_int_equal(end_record(&rec, SIGINT), 0);
		assert_non_null(strstr(rec.text, "70 messages, 0 lost"));
		/* Cyber has one name for an IMU: the first by name has it */
		assert_int_equal(messages_of(files[i], i ? "/apollo/sensor/gnss/imu" : "/a"), 50);
		assert_int_equal(messages_of(files[i], "/b"), 20);
		assert_int_equal(stack_ctl("bag", "doctor", files[i], NULL)->code, 0);
	}
	assert_true(has_text("/tmp/a.record", "modules/common_msgs/sensor_msgs/imu.proto"));
	RECORD(&rec, "/a", "-o", "/tmp/b.record", "--apollo", "5.0", "--definitions", "schemas/apollo/5");
	AWAIT(is_ready());
	publish_many(1, 0, 1);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_true(has_text("/tmp/b.record", "modules/drivers/gnss/proto/imu.proto"));
	assert_false(has_text("/tmp/b.record", "modules/common_msgs/"));
	end();
}

static void copies(const char *verb, const char *from, const char *to, const char *option, const char *value)
{
	const struct ctl_result *r = stack_ctl("bag", verb, from, to, option, value, NULL);

	if (r->code != 0)
		fail_msg("bag %s: %s", verb, r->err);
}

/* ROS's own reader of bags: a line for each message. */
static char *as_rosbag_reads(const char *files)
{
	static char text[8192];
	char command[1024];
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command),
		 "cd /tmp && /usr/bin/python3 \"$OLDPWD\"/tests/system/ros1/bag.py headers %s 2>&1", files);
	f = popen(command, "re");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	if (pclose(f) != 0)
		fail_msg("%s", text);
	return text;
}

/* Log time in the first line that begins so. */
static int64_t rosbag_time(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || strncmp(at + strlen(line), " at ", 4) != 0)
		fail_msg("%s is not there: %s", line, text);
	return strtoll(at + strlen(line) + 4, NULL, 10);
}

/* Changes it. */
static char *without_times(char *text)
{
	char *to = text;

	for (const char *from = text; *from; *to++ = *from++)
		if (strncmp(from, " at ", 4) == 0)
			from += 4 + strspn(from + 4, "0123456789");
	*to = '\0';
	return text;
}

/*
 * Latched messages begin each file, and each message has the number that it was published with, however often it is
 * copied.
 */
TEST_WITH(rosbag_reads_recorded_and_copied_files, NULL, stack_sweep)
{
	static const char *const same[][2] = {
		{ "a.2.bag /map latching=1 seq=2", "a.2.bag /a latching=0 seq=1" },
		{ "a.3.bag /map latching=1 seq=2", "a.3.bag /a latching=0 seq=2" },
		{ "m.bag /a latching=0 seq=1", "a.2.bag /a latching=0 seq=1" },
		{ "f.bag /a latching=0 seq=2", "a.3.bag /a latching=0 seq=2" },
		{ "c.bag /map latching=1 seq=2", "a.3.bag /map latching=1 seq=2" },
		{ "c.bag /a latching=0 seq=2", "a.3.bag /a latching=0 seq=2" },
	};
	char *text;
	struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LOCAL | SIM_PUB_LATCH };
	struct recording rec;

	BEGIN("/a");
	assert_int_equal(sim_advertise(voice.c, "/map", &sim_Imu_type, &po, &voice.pub[voice.n++]), 0);
	publish(1, 76);
	publish(1, 77);
	RECORD(&rec, "/a", "/map", "--split-duration", "1us", "-o", "/tmp/a.bag");
	AWAIT(is_ready());
	caught_up();
	for (unsigned i = 0; i < 2; i++) {
		publish(0, i);
		caught_up();
	}
	assert_int_equal(end_record(&rec, SIGINT), 0);
	copies("merge", "/tmp/m.bag", "/tmp/a.2.bag", "/tmp/a.3.bag", NULL);
	copies("filter", "/tmp/m.bag", "/tmp/f.bag", "--exclude", "/map");
	copies("convert", "/tmp/a.3.bag", "/tmp/c.mcap", NULL, NULL);
	copies("convert", "/tmp/c.mcap", "/tmp/c.bag", NULL, NULL);
	text = as_rosbag_reads("a.bag a.2.bag a.3.bag m.bag f.bag c.bag");
	/*
	 * a file that follows another begins with the messages latched at the time of its first message; copies keep
	 * times
	 */
	for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(rosbag_time(text, same[i][0]), rosbag_time(text, same[i][1]));
	assert_true(rosbag_time(text, "a.2.bag /a latching=0 seq=1") <
		    rosbag_time(text, "a.3.bag /a latching=0 seq=2"));
	assert_string_equal(without_times(text), "a.bag /map latching=1 seq=2\n"
						 "a.2.bag /map latching=1 seq=2\na.2.bag /a latching=0 seq=1\n"
						 "a.3.bag /map latching=1 seq=2\na.3.bag /a latching=0 seq=2\n"
						 "m.bag /map latching=1 seq=2\nm.bag /a latching=0 seq=1\n"
						 "m.bag /map latching=1 seq=2\nm.bag /a latching=0 seq=2\n"
						 "f.bag /a latching=0 seq=1\nf.bag /a latching=0 seq=2\n"
						 "c.bag /map latching=1 seq=2\nc.bag /a latching=0 seq=2\n");
	end();
}

TEST_WITH(a_directory_of_rosbag2_has_its_metadata, NULL, stack_sweep)
{
	struct recording rec;

	BEGIN("/a");
	RECORD(&rec, "/a", "--compression", "none", "--split-size", "64KiB", "-o", "/tmp/bag/");
	AWAIT(is_ready());
	for (unsigned i = 0; i < 20; i++) {
		publish_many(0, i * 100, 100);
		caught_up();
	}
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_int_equal(access("/tmp/bag/bag.3.mcap", F_OK), 0);
	assert_int_equal(messages_of("/tmp/bag", "/a"), 2000);
	RECORD(&rec, "/b", "-o", "/tmp/none/");
	AWAIT(is_ready());
	assert_int_equal(end_record(&rec, SIGINT), 1); /* no message of the requested channels */
	assert_int_equal(access("/tmp/none", F_OK), -1);
	end();
}

/* ---- triggers ---- */

TEST_WITH(a_trigger_writes_the_buffered_messages, NULL, stack_sweep)
{
	struct recording rec;
	const struct ctl_result *r;

	BEGIN("/a");
	RECORD(&rec, "/a", "--pre-buffer", "1h", "--trigger", "-o", FILE_1);
	AWAIT(is_ready());
	publish_many(0, 0, 40);
	r = stack_ctl("record", "--dump", NULL);
	assert_int_equal(r->code, 0);
	assert_string_equal(r->out, "40 messages into " FILE_1 "\n");
	assert_int_equal(messages_of(FILE_1, NULL), 40);
	publish_many(0, 40, 10);
	kill(rec.pid, SIGUSR1);
	AWAIT(printed(&rec, FILE_2));
	check_numbers(FILE_2, "/a", 40, 10);
	publish_many(0, 50, 5); /* that is not requested */
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_int_equal(files_of("a."), 2);
	r = stack_ctl("record", "--dump", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "no client offers service /record/dump"));
	end();
}

TEST_WITH(the_buffer_of_a_trigger_is_bounded, NULL, stack_sweep)
{
	struct recording rec;
	unsigned n;

	BEGIN("/a");
	RECORD(&rec, "/a", "--pre-buffer", "1h", "--max-memory", "64KiB", "--trigger", "-o", FILE_1);
	AWAIT(is_ready());
	for (unsigned i = 0; i < 10; i++) {
		publish_many(0, i * 100, 100);
		caught_up();
	}
	assert_int_equal(stack_ctl("record", "--dump", NULL)->code, 0);
	n = messages_of(FILE_1, "/a");
	assert_in_range(n, 10, 999);
	check_numbers(FILE_1, "/a", 1000 - n, n);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	end();
}

TEST_WITH(keys_trigger_and_pause, NULL, stack_sweep)
{
	const char *const args[] = { "/a", "--pre-buffer", "1h", "-o", FILE_1, NULL };
	struct recording rec = { 0 };
	int fd, slave;

	TERMINAL_OR_SKIP();
	BEGIN("/a");
	assert_int_equal(openpty(&fd, &slave, NULL, NULL, NULL), 0);
	rec.pid = fork();
	assert_true(rec.pid >= 0);
	if (rec.pid == 0) {
		close(fd);
		login_tty(slave);
		stack_exec_ctl("record", args);
	}
	rec.out = fd;
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	AWAIT(is_ready());
	publish_many(0, 0, 40);
	AWAIT(printed(&rec, " 40 messages,"));
	assert_int_equal(write(fd, "t", 1), 1);
	AWAIT(printed(&rec, "40 messages into " FILE_1));
	publish_many(0, 40, 20);
	AWAIT(printed(&rec, "  60 messages"));
	assert_int_equal(write(fd, " ", 1), 1);
	AWAIT(printed(&rec, "PAUSED"));
	publish_many(0, 1000, 20);
	rec.n = 0;
	assert_int_equal(write(fd, " ", 1), 1);
	AWAIT(printed(&rec, "RECORDING"));
	publish_many(0, 60, 10);
	AWAIT(printed(&rec, "  70 messages"));
	assert_int_equal(write(fd, "q", 1), 1);
	assert_int_equal(WEXITSTATUS(stack_wait(rec.pid)), 0);
	check_numbers(FILE_1, "/a", 0, 70);
	close(fd);
	close(slave);
	end();
}

/* ---- pauses and losses ---- */

TEST_WITH(while_paused_nothing_is_recorded, NULL, stack_sweep)
{
	struct recording rec;

	BEGIN("/a", "/b");
	RECORD(&rec, "/a", "--start-paused", "-o", FILE_1);
	AWAIT(is_ready());
	publish_many(0, 1000, 20);
	assert_non_null(strstr(stack_ctl("service", "call", "/record/toggle_paused", NULL)->out, "recording"));
	publish_many(0, 0, 30);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	check_numbers(FILE_1, "/a", 0, 30);
	end();
}

TEST_WITH(lost_messages_are_counted_and_noted_in_the_file, NULL, stack_sweep)
{
	struct recording rec;
	unsigned n, accepted, recorded, lost;

	BEGIN("/a");
	RECORD(&rec, "/a", "-o", FILE_1);
	AWAIT(is_ready());
	publish_many(0, 0, 10);
	caught_up();
	kill(rec.pid, SIGSTOP);
	AWAIT(test_stands(rec.pid));
	for (n = 10; n < 1000; n++)
		publish(0, n);
	kill(rec.pid, SIGCONT);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_int_equal(sscanf(metadata_of(FILE_1, "simd_losses", "/a"), "accepted=%u recorded=%u lost=%u", &accepted,
				&recorded, &lost),
			 3);
	assert_int_equal(accepted, 1000);
	assert_int_equal(recorded, messages_of(FILE_1, "/a"));
	assert_int_equal(recorded + lost, 1000);
	assert_true(lost > 100);
	assert_non_null(strstr(rec.text, " lost\n"));
	assert_non_null(strstr(rec.text, "/a: "));
	end();
}

/* ---- log times ---- */

#define BRIDGED \
	RECORDER_CONF \
	",\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"rec\",\"plugin\":\"mcap\",\"connection\":\"/tmp/bridge\"}]}]"
#define EACH  50
#define STOPS 6

/* Of each channel's messages, by number; 0: not there. */
struct times {
	int64_t ns[2][STOPS * EACH + 1];
};

static void add_times(const char *path, struct times *t)
{
	struct log_reader *r;
	struct log_message m;
	char why[300];

	if (log_reader_open(path, NULL, &r, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	while (log_reader_next(r, &m) == 1) {
		const char *topic = log_reader_info(r)->channels[m.channel].topic;

		if (strcmp(topic, "/a") != 0 && strcmp(topic, "/b") != 0)
			continue;
		assert_in_range(m.sequence, 1, STOPS * EACH);
		t->ns[topic[1] == 'b'][m.sequence] = m.log_time_ns;
	}
	log_reader_close(r);
}

static int64_t first_time_of(const char *path, const char *topic)
{
	struct log_reader *r;
	struct log_message m;
	char why[300];
	int64_t ns = -1;

	if (log_reader_open(path, NULL, &r, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	while (ns < 0 && log_reader_next(r, &m) == 1)
		if (strcmp(log_reader_info(r)->channels[m.channel].topic, topic) == 0)
			ns = m.log_time_ns;
	log_reader_close(r);
	return ns;
}

static void read_times(const char *stem, struct times *t)
{
	char path[64];

	memset(t, 0, sizeof(*t));
	for (unsigned i = 1;; i++) {
		snprintf(path, sizeof(path), i > 1 ? "/tmp/%s.%u.mcap" : "/tmp/%s.mcap", stem, i);
		if (access(path, F_OK) < 0)
			return;
		add_times(path, t);
	}
}

/* For simd's bridges and everybody else. */
static void queue_both(unsigned number)
{
	struct sim_Imu m = { .position = { .x = number } };

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(sim_try_queue_copy(voice.pub[i], &m, sizeof(m), 0, NULL, NULL, NULL), 0);
}

/* Another clock, in the middle of what the stopped recorder has not seen yet. */
static void disturb(unsigned n)
{
	static const char *const orders[][2] = { { "scale", "3" }, { "source", "system" }, { "source", "simulation" } };
	const char *const *o = orders[n % 3];

	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", o[0], o[1], NULL)->code, 0);
}

/* A recorder that is stopped again and again while clocks change, beside a bridge that is not: not a nanosecond lies between them. */
TEST_WITH(a_stopped_recorder_writes_the_times_of_the_bridge, NULL, stack_sweep)
{
	static const char *const channels[] = { "/a", "/b" };
	static struct times bridge, recorder;
	struct recording rec;

	begin_with(BRIDGED, 0, channels, 2);
	AWAIT(!strcmp(stack_bridge_text("rec", "status"), "connected"));
	RECORD(&rec, "/a", "/b", "-o", FILE_1);
	AWAIT(is_ready());
	for (unsigned round = 0; round < STOPS; round++) {
		kill(rec.pid, SIGSTOP);
		AWAIT(test_stands(rec.pid));
		for (unsigned i = 0; i < EACH; i++) {
			queue_both(i);
			pace_us(1000);
			if (i == EACH / 2)
				disturb(round);
		}
		kill(rec.pid, SIGCONT);
		caught_up();
	}
	assert_int_equal(sim_flush(voice.c, -1), 0);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	end_voice();
	stack_stop(simd); /* in order: the bridge has written all */
	read_times("bridge", &bridge);
	read_times("a", &recorder);
	for (unsigned k = 1; k <= STOPS * EACH; k++)
		for (unsigned i = 0; i < 2; i++) {
			assert_true(bridge.ns[i][k] > 0);
			assert_int_equal(recorder.ns[i][k], bridge.ns[i][k]);
		}
}

#define STEP_DUR_NS (10 * NS_PER_MS)
#define MEASURED_NS (35 * NS_PER_MS) /* before it is published, on /b */
#define STEPS       40

#define STEPPED \
	"\"TimeSource\":\"unity\",\"pools\":[{\"size\":\"1KiB\",\"count\":3000}]," \
	"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"rec\",\"plugin\":\"mcap\",\"connection\":\"/tmp/" \
	"bridge\",\"channels\":[\"/a\",\"/b\"]}]}]"

/* /b is published behind /a, and has been measured before: in the order of the step, that of stamps, it is first. */
static void step(struct sim_driver *d, int64_t sim_ns)
{
	struct sim_Imu m = { 0 };

	assert_int_equal(sim_driver_advance(d, STEP_DUR_NS, NULL), 0);
	assert_int_equal(sim_try_queue_copy(voice.pub[0], &m, sizeof(m), sim_ns, NULL, NULL, NULL), 0);
	assert_int_equal(sim_try_queue_copy(voice.pub[1], &m, sizeof(m), sim_ns - MEASURED_NS, NULL, NULL, NULL), 0);
}

/* Log time of number k of /b: the newest stamp of the steps before. */
static int64_t time_of_b(unsigned k)
{
	int64_t sim_ns = 200 * NS_PER_MS + k * STEP_DUR_NS;

	return k > 1 ? sim_ns - STEP_DUR_NS : sim_ns - MEASURED_NS;
}

/* As npm's @mcap/core reads it, in the order of the file: two messages a step, of which `first` stands first. */
static void npm_finds_times(const char *path, const char *first)
{
	char command[200], topic[64];
	unsigned long long k;
	long long ns;
	unsigned n = 0;
	FILE *f;

	if (access("build/npm/node_modules/@mcap/core", F_OK) < 0) {
		print_message("not tried, without @mcap/core: run tools/dev/deps.sh full\n");
		assert_false(test_full());
		return;
	}
	snprintf(command, sizeof(command), "node tests/system/decode/counts.js build/npm %s times", path);
	f = popen(command, "re");
	assert_non_null(f);
	while (fscanf(f, "%63s %llu at %lld\n", topic, &k, &ns) == 3) {
		bool is_b = strcmp(topic, "/b") == 0;

		if (strcmp(topic, "/latched") == 0)
			continue;
		assert_int_equal(strcmp(topic, first) == 0, n % 2 == 0);
		assert_int_equal(k, n / 2 + 1);
		assert_int_equal(ns, is_b ? time_of_b((unsigned)k) : 200 * NS_PER_MS + (int64_t)k * STEP_DUR_NS);
		n++;
	}
	assert_int_equal(pclose(f), 0);
	assert_int_equal(n, 2 * STEPS);
}

static void rosbag_finds_times(const char *files)
{
	const char *text = as_rosbag_reads(files);
	char line[64];

	for (unsigned k = 1; k <= STEPS; k++) {
		snprintf(line, sizeof(line), "a.bag /a latching=0 seq=%u", k);
		assert_int_equal(rosbag_time(text, line), 200 * NS_PER_MS + k * STEP_DUR_NS);
		line[7] = 'b';
		assert_int_equal(rosbag_time(text, line), time_of_b(k));
	}
	assert_int_equal(rosbag_time(text, "a.bag /latched latching=1 seq=1"), 200 * NS_PER_MS);
}

/*
 * The order within the step is that of stamps, the recorder's that of publishing, and one recorder is stopped for a
 * while besides. Messages latched when they begin get that time, not that of their stamp.
 */
TEST_WITH(in_lockstep_bridge_and_recorders_have_the_same_newest_stamp, NULL, stack_sweep)
{
	static const char *const channels[] = { "/a", "/b" };
	static struct times bridge, recorder;
	struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LATCH | SIM_PUB_LOCAL };
	struct sim_publisher *latched;
	struct sim_Imu m = { 0 };
	struct recording rec, bag;
	struct sim_driver *d;

	begin_with(STEPPED, SIM_PUB_NO_WAIT, channels, 2);
	AWAIT(!strcmp(stack_bridge_text("rec", "status"), "connected"));
	assert_int_equal(sim_advertise(voice.c, "/latched", &sim_Imu_type, &po, &latched), 0);
	assert_int_equal(sim_driver_acquire(voice.c, SIM_DRIVER_FREEWHEEL | SIM_DRIVER_LOCKSTEP, &d), 0);
	assert_int_equal(sim_driver_advance(d, 100 * NS_PER_MS, NULL), 0);
	assert_int_equal(sim_publish_local_copy(latched, &m, sizeof(m), 20 * NS_PER_MS), 0);
	assert_int_equal(sim_driver_advance(d, 100 * NS_PER_MS, NULL), 0);
	RECORD(&rec, "/a", "/b", "/latched", "-o", FILE_1);
	AWAIT(is_ready());
	RECORD(&bag, "/a", "/b", "/latched", "-o", "/tmp/a.bag", "--name", "ros1");
	AWAIT(strstr(stack_ctl("service", "list", "--names", NULL)->out, "/ros1/split"));
	for (unsigned i = 1; i <= STEPS; i++) {
		if (i == STEPS / 4)
			kill(rec.pid, SIGSTOP);
		step(d, 200 * NS_PER_MS + i * STEP_DUR_NS);
		if (i == 3 * STEPS / 4)
			kill(rec.pid, SIGCONT);
	}
	assert_int_equal(sim_driver_advance(d, STEP_DUR_NS, NULL), 0);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_int_equal(end_record(&bag, SIGINT), 0);
	sim_driver_release(d);
	sim_publisher_destroy(latched);
	end_voice();
	stack_stop(simd); /* in order: the bridge has written all */
	read_times("bridge", &bridge);
	read_times("a", &recorder);
	for (unsigned k = 1; k <= STEPS; k++) {
		assert_int_equal(bridge.ns[0][k], 200 * NS_PER_MS + k * STEP_DUR_NS);
		assert_int_equal(bridge.ns[1][k], time_of_b(k));
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(recorder.ns[i][k], bridge.ns[i][k]);
	}
	assert_int_equal(first_time_of(FILE_1, "/latched"), 200 * NS_PER_MS);
	npm_finds_times("/tmp/bridge.mcap", "/b");
	npm_finds_times(FILE_1, "/a");
	rosbag_finds_times("a.bag");
}

/* ---- simd ---- */

TEST_WITH(recording_continues_after_a_restart_of_simd, NULL, stack_sweep)
{
	struct recording rec;
	unsigned n;

	BEGIN("/a");
	RECORD(&rec, "/a", "-o", FILE_1);
	AWAIT(is_ready());
	publish_many(0, 0, 10);
	caught_up();
	stack_kill(simd);
	AWAIT(printed(&rec, "disconnected from simd"));
	simd = stack_start(RECORDER_CONF);
	AWAIT(printed(&rec, "simd is back, recording continues"));
	AWAIT(sim_client_state(voice.c) == SIM_CLIENT_CONNECTED && is_subscribed("/a") && is_ready());
	publish_many(0, 10, 10);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	n = messages_of(FILE_1, "/a");
	if (access(FILE_2, F_OK) == 0)
		n += messages_of(FILE_2, "/a");
	assert_int_equal(n, 20);
	end();
}
