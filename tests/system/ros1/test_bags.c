/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our .bag and ROS's own: what tools/record writes is read by Debian's rosbag and by @foxglove/rosbag (npm), with each compression, and what
 * rosbag writes is read by tools/record. No master is needed.
 */
#include "support/test.h"

#include <unistd.h>

#include "ros_master.h"
#include "tools/record/log.h"

#define MODULES "build/npm"
#define N       300

static const enum log_compression compressions[] = { LOG_COMPRESSION_NONE, LOG_COMPRESSION_LZ4, LOG_COMPRESSION_BZ2 };
static const char *const names[] = { "none", "lz4", "bz2" };

static char why[500], path[TEST_PATH_MAX];

static bool have(const char *file, const char *what)
{
	if (access(file, F_OK) == 0)
		return true;
	print_message("not tried, without %s: run tools/dev/deps.sh full\n", what);
	assert_false(test_full());
	return false;
}

static const char *command(const char *format, const char *argument)
{
	static char text[500];

	snprintf(text, sizeof(text), "%s %s %s 2>&1", format, path, argument);
	return text;
}

static void lines_have(const char *all, const char *line, unsigned n)
{
	unsigned lines = 0;

	for (const char *s = all; (s = strchr(s, '\n')); s++)
		lines++;
	if (!strstr(all, line) || lines != n)
		fail_msg("%u lines of %u, and '%s' among them? %.2000s", lines, n, line, all);
}

/* ---- ours ---- */

static void put(struct log_writer *w, uint32_t channel, int64_t ns, const void *data, size_t n)
{
	const struct log_message m = { .channel = channel, .log_time_ns = ns };

	assert_int_equal(log_writer_put(w, &m, &(struct iovec){ (void *)data, n }, 1), 0);
}

/* N strings, as /chat, and N numbers, as /number. */
static void write_ours(enum log_compression c)
{
	const struct log_write_options o = { .format = LOG_BAG, .compression = c, .chunk_bytes = 2000 };
	const struct log_pair caller[] = { { "callerid", "/simd" }, { "latching", "0" } };
	const struct log_channel channels[] = {
		{ 0, "/chat", "ros1", "std_msgs/String", "ros1msg", { "string data\n", 12 }, caller, 2, 0 },
		{ 0, "/number", "ros1", "std_msgs/Int32", "ros1msg", { "int32 data\n", 11 }, NULL, 0, 0 },
	};
	struct log_writer *w;
	uint32_t id;

	unlink(test_path(path, "ours.bag"));
	assert_int_equal(log_writer_create(path, &o, &w, why, sizeof(why)), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(log_writer_add_channel(w, &channels[i], &id), 0);
	for (int i = 0; i < N; i++) {
		char text[32];
		uint32_t len = (uint32_t)snprintf(text + 4, sizeof(text) - 4, "text %d", i);

		memcpy(text, &len, 4);
		put(w, 0, (1000 + i) * INT64_C(1000000000) + i, text, len + 4);
		put(w, 1, (1000 + i) * INT64_C(1000000000) + 500, &i, 4);
	}
	assert_int_equal(log_writer_finish(w, why, sizeof(why)), 0);
}

TEST(rosbag_reads_what_we_write)
{
	for (int i = 0; i < 3; i++) {
		const char *all;

		write_ours(compressions[i]);
		all = ros_output(command("/usr/bin/python3 tests/system/ros1/bag.py read", ""), NULL);
		lines_have(all, "/chat 1299.000000299 std_msgs/String text 299\n", 2 * N);
		ros_prints(command("rosbag info", ""), " 600\n");
		ros_prints(command("rosbag info", ""), names[i]);
		ros_prints(command("rosbag info", ""), "/chat     300 msgs    : std_msgs/String");
		ros_prints(command("rosbag check", ""), "does not need any migrations");
	}
}

TEST_FULL(another_reader_of_bags_reads_them)
{
	if (!have(MODULES "/node_modules/@foxglove/rosbag", "@foxglove/rosbag"))
		skip();
	write_ours(LOG_COMPRESSION_NONE);
	lines_have(ros_output(command("node tests/system/ros1/bag.js " MODULES, "/chat"), NULL),
		   "/chat std_msgs/String 1299.000000299: text 299\n", N);
}

/* A recording of all types, converted: rosbag decodes each by the definition in the bag. */
TEST_FULL(rosbag_reads_what_is_converted)
{
	char command_line[6 * TEST_PATH_MAX], native[TEST_PATH_MAX];
	const char *all;
	int code = -1;

	unlink(test_path(native, "native.mcap"));
	unlink(test_path(path, "converted.bag"));
	snprintf(command_line, sizeof(command_line), "%s %s && %s bag convert %s %s", EMIT, native, SIMCTL, native,
		 path);
	ros_output(command_line, &code);
	assert_int_equal(code, 0);
	all = ros_output(command("/usr/bin/python3 tests/system/ros1/bag.py count", ""), &code);
	assert_int_equal(code, 0);
	assert_non_null(strstr(all, "/sim/Imu sensor_msgs/Imu 3\n"));
	assert_non_null(strstr(all, "/sim/Imu sensor_msgs/Imu base_link 0\n"));
	assert_non_null(strstr(all, "/sim/PointCloud sensor_msgs/PointCloud2 3\n"));
	assert_non_null(strstr(all, "/sim/LaneLines sim_msgs/LaneLines 3\n"));
}

/* ---- theirs ---- */

static void read_theirs(const char *compression, bool complete)
{
	struct log_reader *r;
	struct log_message m;
	const struct log_info *info;
	char want[32];
	int n = 0, k;

	if (log_reader_open(path, NULL, &r, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	info = log_reader_info(r);
	assert_string_equal(info->compression, compression);
	assert_int_equal(info->complete, complete);
	assert_int_equal(info->indexed, complete);
	for (; (k = log_reader_next(r, &m)) > 0; n++) {
		const struct log_channel *ch = &info->channels[m.channel];

		if (strcmp(ch->topic, "/chat") != 0)
			continue;
		assert_string_equal(ch->schema_name, "std_msgs/String");
		snprintf(want, sizeof(want), "text %d", n / 2);
		assert_int_equal(m.log_time_ns, (1000 + n / 2) * INT64_C(1000000000) + n / 2);
		assert_int_equal(m.size, 4 + strlen(want));
		assert_memory_equal((const char *)m.data + 4, want, strlen(want));
	}
	if (k < 0)
		fail_msg("%s", log_reader_why(r));
	assert_int_equal(n, complete ? 2 * N : n);
	assert_true(n > N);
	log_reader_close(r);
}

TEST(we_read_what_rosbag_writes)
{
	for (int i = 0; i < 3; i++) {
		int code = -1;

		test_path(path, "theirs.bag");
		ros_output(command("/usr/bin/python3 tests/system/ros1/bag.py write", names[i]), &code);
		assert_int_equal(code, 0);
		read_theirs(names[i], true);
	}
}

TEST_FULL(we_read_what_a_killed_rosbag_leaves)
{
	int code = -1;

	test_path(path, "theirs.bag");
	ros_output(command("/usr/bin/python3 tests/system/ros1/bag.py unclosed", ""), &code);
	assert_int_equal(code, 0);
	read_theirs("none", false);
}

/* The contents of a bag of Apollo before Cyber RT, and its conversion to a record of Cyber RT. */
TEST(a_bag_of_apollo_becomes_a_record)
{
	char line[4 * TEST_PATH_MAX], record[TEST_PATH_MAX];
	int code = -1;

	test_path(path, "apollo.bag");
	unlink(test_path(record, "apollo.record"));
	ros_output(command("/usr/bin/python3 tests/system/ros1/bag.py apollo", ""), &code);
	assert_int_equal(code, 0);
	snprintf(line, sizeof(line), "%s bag cat %s --json 2>&1", SIMCTL, path);
	ros_prints(line, "\"speed\":14.5");
	ros_prints(line, "an ordinary one");
	snprintf(line, sizeof(line), "%s bag convert %s %s 2>&1", SIMCTL, path, record);
	ros_output(line, &code);
	assert_int_equal(code, 0);
	snprintf(line, sizeof(line), "%s bag info %s 2>&1", SIMCTL, record);
	ros_prints(line, "apollo.canbus.Chassis");
	snprintf(line, sizeof(line), "%s bag cat %s --json 2>&1", SIMCTL, record);
	ros_prints(line, "\"speed\":14.5");
}

TEST_GROUP(ros_master_group, NULL)
