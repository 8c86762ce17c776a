/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the messages that ROS gets, where more than a mapping decides: the options of the bridge and what topics remember. */
#include "test.h"

#include <errno.h>
#include <sys/wait.h>

#include <sim/introspect.h>
#include <sim/msg/CameraInfo.h>
#include <sim/msg/Gps.h>

#include "host.h"
#include "reader.h"
#include "ros/ros_type.h"

#define LIGHTS "/perception/traffic_signals"

/* Exits with 0 once the writer of the lights has this hash. */
static pid_t start_hash_reader(const char *hash)
{
	char type[128], data[256], want[128];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(want, sizeof(want), "typehash=%s;", hash);
	if (reader_discover(reader_participant(), "rt" LIGHTS, type, data) < 0)
		_exit(1);
	if (strcmp(type, "autoware_perception_msgs::msg::dds_::TrafficLightGroupArray_") || strcmp(data, want)) {
		fprintf(stderr, "observer: %s has %s\n", type, data);
		_exit(1);
	}
	_exit(0);
}

static void expect_lights(const char *autoware, const char *hash)
{
	const char *const options[] = { "ros_distro", "jazzy", "autoware_msgs", autoware, NULL };
	pid_t observer = start_hash_reader(hash);
	static struct host h;
	struct sim_bridge *b;
	int status = -1;

	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	host_open(&h, b, LIGHTS, sim_type_builtin("sim/TrafficSignals"),
		  "{\"ros2\":{\"type\":\"autoware_perception_msgs/msg/TrafficLightGroupArray\"}}");
	assert_int_equal(waitpid(observer, &status, 0), observer);
	assert_int_equal(status, 0);
	h.ops->destroy(b);
}

TEST(lights_have_the_form_of_the_autoware_that_is_there)
{
	expect_lights("1.8", ros_type_find(ros2_types, "autoware_perception_msgs/TrafficLightGroupArray")->hash);
	expect_lights("1.7", "RIHS01_53846913117691b918344f9fc9ba73405bbaea537773324d3144af0f0974b1cf");
}

TEST(another_autoware_is_refused)
{
	static const char *const options[] = { "ros_distro", "jazzy", "autoware_msgs", "1.9", NULL };
	static struct host h;
	struct sim_bridge *b = NULL;

	host_init(&h, PLUGIN, options);
	assert_int_equal(h.ops->create(&h.host, &b), -EINVAL);
	assert_non_null(strstr(h.log, "options.autoware_msgs: \"1.9\" is not 1.8"));
}

/* ---- compat ---- */

/* What another DDS program decodes of /info and /nmea. Exits with 0 when it is that. */
static pid_t start_compat_reader(uint32_t height, uint32_t width, const char *latitude)
{
	struct seen_info info = { 0 };
	struct seen_sentence nmea = { 0 };
	dds_entity_t p, infos, sentences;
	pid_t pid = fork();

	if (pid)
		return pid;
	p = reader_participant();
	infos = reader_open(p, &seen_info_desc, "rt/info", true);
	sentences = reader_open(p, &seen_sentence_desc, "rt/nmea", true);
	EXPECT(reader_take(infos, &info) == 0);
	EXPECT(reader_take(sentences, &nmea) == 0);
	EXPECT(strcmp(info.frame_id, "eye") == 0);
	EXPECT(info.height == height && info.width == width);
	EXPECT(strncmp(nmea.sentence, "$GPGGA,", 7) == 0);
	if (!strstr(nmea.sentence, latitude)) {
		fprintf(stderr, "peer: \"%s\" is not in \"%s\"\n", latitude, nmea.sentence);
		_exit(1);
	}
	_exit(0);
}

static void publish_body(struct host *h, struct sim_bridge *b, struct sim_bridge_topic *t, const void *body,
			 size_t size)
{
	struct sim_slot *s = host_slot(size, "eye");

	memcpy(sim_slot_body_mut(s), body, size);
	assert_int_equal(host_publish(h, b, t, s), 0);
	free(s);
}

/* "compat" of the bridge; a topic's options are `own` besides. */
static void expect_bytes(const char *compat, const char *own, uint32_t height, uint32_t width, const char *latitude)
{
	static const struct sim_CameraInfo info = { .width = 640, .height = 480 };
	static const struct sim_Gps gps = { .latitude = 5.5, .longitude = 7.25 };
	const char *const options[] = { "ros_distro", "humble", "compat", compat, NULL };
	char text[256];
	struct sim_bridge_topic *infos, *sentences;
	struct sim_bridge *b;
	static struct host h;
	int status = -1;
	pid_t reader = start_compat_reader(height, width, latitude); /* before Cyclone has threads here */

	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	snprintf(text, sizeof(text), "{\"ros2\":{\"durability\":\"transient_local\",\"reliability\":\"reliable\"%s}}",
		 own);
	infos = host_open(&h, b, "/info", &sim_CameraInfo_type, text);
	snprintf(
		text, sizeof(text),
		"{\"ros2\":{\"durability\":\"transient_local\",\"reliability\":\"reliable\",\"type\":\"nmea_msgs/msg/Sentence\",\"sentence\":\"gga\"%s}}",
		own);
	sentences = host_open(&h, b, "/nmea", &sim_Gps_type, text);
	publish_body(&h, b, infos, &info, sizeof(info));
	publish_body(&h, b, sentences, &gps, sizeof(gps));
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
	h.ops->destroy(b);
}

TEST(who_asks_for_the_bytes_of_svl_gets_them)
{
	static const char svl[] = ",\"compat\":\"svl2021.3\"", none[] = ",\"compat\":\"none\"";

	expect_bytes("none", "", 480, 640, ",0530.000000,");
	expect_bytes("svl2021.3", "", 640, 480, ",530.000000,");
	expect_bytes("svl2021.3", none, 480, 640, ",0530.000000,");
	expect_bytes("none", svl, 640, 480, ",530.000000,");
}

TEST_PROCESSES()
