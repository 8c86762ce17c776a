/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign types without a mapping, of ROS, of protobuf, of a JSON Schema: a client that shares no code with us reads
 * their fields by the definition that it gets, and a ROS definition is the one that came in.
 */
#include "support/test.h"

#include <stdio.h>

#include <sim/introspect.h>

#include "conversion.h"
#include "json_schema.h"
#include "line.h"
#include "pb_type.h"
#include "ros/ros_type.h"

#define STAMP "1640995200123456768"

static const char *const plain[] = { NULL };
static struct watcher *p;
static struct sim_bridge_topic *topic;

/* Advertises a channel of that type to the client, which subscribes to it. */
static void begin(const struct sim_type *t, const char *advertised)
{
	char line[200];

	line_up(plain);
	topic = host_open(&line_host, line_bridge, "thing", t, "{}");
	p = line_client("");
	snprintf(line, sizeof(line), "channel /thing %s", advertised);
	watcher_hears(p, line);
	watcher_say(p, "watch /thing");
	watcher_sync(p);
}

static void end(void)
{
	watcher_end(p);
	line_host.ops->close(line_bridge, topic);
	line_down();
}

/* Sends a message with that JSON; returns what the client reads. */
static const char *reads(const struct sim_type *t, const char *json)
{
	struct sim_slot *s = host_slot(4096, "map");
	size_t size;

	assert_int_equal(sim_msg_from_json(t, json, strlen(json), sim_slot_body_mut(s), 4096, &size), 0);
	s->body_size = (uint32_t)size;
	assert_int_equal(host_publish(&line_host, line_bridge, topic, s), 0);
	free(s);
	return watcher_hears(p, "message /thing " STAMP) + strlen("message /thing " STAMP " ");
}

TEST(a_ros_message_keeps_the_definition_it_arrived_with)
{
	static const char thing[] = "byte OK=0\nbyte level\nchar[] letters\nbyte[2] two\nstring name\nPart[] parts\n"
				    "===\nMSG: car_msgs/Part\nbyte kind\nfloat64 share\n";
	struct conversion_in c;
	char why[300];

	if (!watcher_possible())
		return;
	assert_int_equal(conversion_in_open_text(NULL, ros2_types, "car_msgs/msg/Thing", thing, false, &c, why,
						 sizeof(why)),
			 0);
	begin(c.sim, "car_msgs/msg/Thing cdr ros2msg");
	watcher_say(p, "schema /thing");
	assert_non_null(strstr(watcher_hears(p, "schema /thing "),
			       "byte OK=0\\nbyte level\\nchar[] letters\\nbyte[2] two\\nstring name\\n"));
	assert_non_null(strstr(p->line, "byte kind\\nfloat64 share"));
	assert_string_equal(reads(c.sim, "{\"level\":7,\"letters\":\"YWI=\",\"two\":\"AQI=\",\"name\":\"n\","
					 "\"parts\":[{\"kind\":3,\"share\":0.5}]}"),
			    "{\"level\":7,\"letters\":[97,98],\"two\":[1,2],\"name\":\"n\","
			    "\"parts\":[{\"kind\":3,\"share\":0.5}]}");
	end();
	conversion_in_close(&c);
}

static size_t read_set(void **ret)
{
	static uint8_t set[1 << 16];
	FILE *f = fopen(PB_TYPES, "re");
	size_t n;

	assert_non_null(f);
	n = fread(set, 1, sizeof(set), f);
	fclose(f);
	assert_in_range(n, 1000, sizeof(set) - 1);
	*ret = set;
	return n;
}

static struct pb_type *of_protobuf(const char *name)
{
	struct pb_type *t = NULL;
	char why[300];
	void *set;
	size_t n = read_set(&set);

	assert_int_equal(pb_type_create(set, n, name, &t, why, sizeof(why)), 0);
	return t;
}

TEST(a_protobuf_message_that_ros_can_express_has_its_fields)
{
	struct pb_type *t;

	if (!watcher_possible())
		return;
	t = of_protobuf("pb_types.two.D9");
	begin(pb_type_sim(t), "pb_types_two/msg/D9 cdr ros2msg");
	watcher_say(p, "schema /thing");
	assert_null(strstr(watcher_hears(p, "schema /thing "), "protobuf")); /* the comment is not for viewers */
	assert_string_equal(reads(pb_type_sim(t), "{\"present\":[1],\"v\":-5,\"d\":[{\"present\":[1],\"v\":7}]}"),
			    "{\"present\":[1],\"v\":-5,\"d\":[{\"present\":[1],\"v\":7}]}");
	end();
	pb_type_destroy(t);
}

/* In our type the field `again` is bytes, as the message contains itself. */
TEST(a_protobuf_message_that_ros_cannot_express_is_sent_unchanged)
{
	struct pb_type *t;

	if (!watcher_possible())
		return;
	t = of_protobuf("pb_types.two.Every");
	begin(pb_type_sim(t), "pb_types.two.Every protobuf protobuf");
	assert_string_equal(
		reads(pb_type_sim(t),
		      "{\"present_\":[1212420],\"i32\":-5,\"kind\":4,\"needed\":8,\"s32s\":[-1,2],\"texts\":[\"a\",\"\"],"
		      "\"inner\":[{\"present\":[3],\"a\":7,\"b\":\"x\"}],\"again\":\"kAEF\"}"),
		"{\"bytes\":[44,44],\"i32\":-5,\"kind\":\"SECOND\",\"needed\":8,\"inner\":{\"a\":7,\"b\":\"x\"},"
		"\"s32s\":[-1,2],\"texts\":[\"a\",\"\"],\"again\":{\"needed\":5}}");
	end();
	pb_type_destroy(t);
}

/* All of it is sent, but viewers refuse a definition of ROS 2 with that name. */
TEST(protobuf_names_that_ros_does_not_have_are_kept)
{
	static const char set[] = "\x0a\x21\x0a\x07"
				  "a.proto"
				  "\x12\x01"
				  "a"
				  "\x22\x13\x0a\x01"
				  "B"
				  "\x12\x0e\x0a\x06"
				  "latDeg"
				  "\x18\x01\x20\x01\x28\x01";
	struct pb_type *t;
	char why[300];

	if (!watcher_possible())
		return;
	assert_int_equal(pb_type_create(set, sizeof(set) - 1, "a.B", &t, why, sizeof(why)), 0);
	assert_null(pb_type_loss(t));
	begin(pb_type_sim(t), "a.B protobuf protobuf");
	host_wait_log(&line_host, "thing: a/B goes out as a.B (protobuf)");
	assert_null(strstr(line_host.log, "not a valid name"));
	assert_string_equal(reads(pb_type_sim(t), "{\"present\":[1],\"latDeg\":0.5}"),
			    "{\"bytes\":[9,9],\"latDeg\":0.5}");
	end();
	pb_type_destroy(t);
}

TEST(a_message_of_a_json_schema_has_its_properties)
{
	static const char schema[] =
		"{\"type\":\"object\",\"properties\":{\"timestamp\":{\"type\":\"object\",\"title\":\"time\",\"properties\":"
		"{\"sec\":{\"type\":\"integer\"},\"nsec\":{\"type\":\"integer\"}}},\"level\":{\"title\":\"Level\",\"oneOf\":"
		"[{\"title\":\"UNKNOWN\",\"const\":0},{\"title\":\"DEBUG\",\"const\":1}]},\"message\":{\"type\":\"string\"},"
		"\"data\":{\"type\":\"string\",\"contentEncoding\":\"base64\"},\"on\":{\"type\":\"boolean\"},\"at\":{"
		"\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"number\"}}}}}}";
	char left[JSON_SCHEMA_LEFT_MAX], why[300];
	const struct sim_type *t;

	if (!watcher_possible())
		return;
	assert_int_equal(json_schema_type("car.Log", schema, strlen(schema), &t, left, why, sizeof(why)), 0);
	assert_string_equal(left, "");
	begin(t, "car/msg/Log cdr ros2msg");
	assert_string_equal(reads(t, "{\"timestamp\":5000000007,\"level\":1,\"message\":\"m\",\"data\":\"AQI=\","
				     "\"on\":true,\"at\":[{\"x\":0.5}]}"),
			    "{\"timestamp\":{\"sec\":5,\"nanosec\":7},\"level\":1,\"message\":\"m\",\"data\":[1,2],"
			    "\"on\":true,\"at\":[{\"x\":0.5}]}");
	end();
	sim_type_unref(t);
}
