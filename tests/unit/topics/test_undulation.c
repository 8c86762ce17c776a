/* SPDX-License-Identifier: Apache-2.0 */
/* What only the rig knows, out and in again: the sea above the ellipsoid, and where the map's origin is. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/CorrectedImu.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Gps.h>
#include <sim/msg/GpsOdometry.h>

#include "ros/ros_type.h"
#include "topics.h"

static struct topics s;
static _Alignas(64) uint8_t got[1024];

static void host_log(void *ctx, int level, const char *fmt, ...)
{
	(void)ctx;
	if (level <= 0) /* an error */
		fail_msg("%s", fmt);
}

static int publish(void *ctx, const char *channel, const struct sim_type *type, const void *body, size_t size)
{
	(void)ctx, (void)channel, (void)type;
	assert_true(size <= sizeof(got));
	memcpy(got, body, size);
	return 0;
}

static const struct sim_bridge_host host = {
	.abi = SIM_BRIDGE_ABI, .size = offsetof(struct sim_bridge_host, offer), .log = host_log, .publish = publish
};

static int open_one(void *arg, const struct sim_bridge_channel *ch, const struct topic_options *w,
		    struct topic_out **ret, char *why, size_t why_size)
{
	struct topic_out *t = calloc(1, sizeof(*t));

	(void)arg;
	assert_non_null(t);
	*ret = t;
	return topic_out_open(&s, ch, w, t, why, why_size);
}

static void close_one(void *arg, struct topic_out *t)
{
	(void)arg;
	topic_out_close(t);
	free(t);
}

/* options: of the channel; w: of the inbound message */
static const void *again(const struct sim_type *type, const void *body, size_t size, const char *options,
			 const struct topic_options *w, bool apollo)
{
	struct sim_bridge_channel ch = { .name = "c", .type = type, .options = options };
	struct map_message in = { .body = body, .size = size, .header = { .frame = "f" } };
	struct topic_in from = { .topics = NULL };
	struct sim_bridge_topic *t;
	struct iov_buf *o;
	char why[256];

	s = (struct topics){ .host = &host,
			     .key = "far",
			     .known = apollo ? ros1_types : ros2_types,
			     .format = apollo ? WIRE_ROS1 : WIRE_CDR,
			     .apollo = apollo,
			     .open = open_one,
			     .close = close_one };
	topics_init(&s);
	assert_int_equal(topics_open_channel(&s, &ch, &t), 0);
	assert_int_equal(topic_out_encode(t->out[0], &in, &o), 0);
	assert_int_equal(topic_in_open(&s, "/t", w, &from, why, sizeof(why)), 0);
	topic_in_take(&from, o->buf, o->used);
	topic_in_close(&from);
	topics_put_buf(&s, o);
	topics_close_channel(&s, t);
	topics_finish(&s);
	return got;
}

static const void *there_and_back(const struct sim_type *type, const void *body, const char *options, const char *ros,
				  double undulation, bool apollo)
{
	const struct topic_options w = { .type = ros, .channel = "c", .undulation = undulation };

	return again(type, body, type->fixed_size, options, &w, apollo);
}

TEST(heights_are_above_sea_level_where_the_rig_has_the_undulation)
{
	static const char chassis[] = "{\"far\":{\"type\":\"pb_msgs/Chassis\",\"undulation\":-32}}",
			  best[] = "{\"far\":{\"type\":\"pb_msgs/GnssBestPose\",\"undulation\":-32}}";
	static const struct sim_CanBus bus = { .altitude = 10 };
	static const struct sim_Gps gps = { .altitude = 10 };
	const struct sim_CanBus *b;
	const struct sim_Gps *g;

	b = there_and_back(&sim_CanBus_type, &bus, chassis, "pb_msgs/Chassis", 0, false);
	assert_true(b->altitude == 42);
	b = there_and_back(&sim_CanBus_type, &bus, chassis, "pb_msgs/Chassis", -32, false);
	assert_true(b->altitude == 10);
	g = there_and_back(&sim_Gps_type, &gps, best, "pb_msgs/GnssBestPose", 0, false);
	assert_true(g->altitude == 42);
	g = there_and_back(&sim_Gps_type, &gps, best, "pb_msgs/GnssBestPose", -32, false);
	assert_true(g->altitude == 10);
}

/* In protobuf, as Apollo before Cyber RT has it over ROS 1. */
TEST(heights_in_protobuf_over_ros_are_above_sea_level_too)
{
	static const char chassis[] = "{\"far\":{\"type\":\"pb_msgs/Chassis\",\"undulation\":-32}}";
	static const struct sim_CanBus bus = { .altitude = 10 };
	const struct sim_CanBus *b;

	b = there_and_back(&sim_CanBus_type, &bus, chassis, "pb_msgs/Chassis", 0, true);
	assert_true(b->altitude == 42);
	b = there_and_back(&sim_CanBus_type, &bus, chassis, "pb_msgs/Chassis", -32, true);
	assert_true(b->altitude == 10);
}

static _Alignas(64) uint8_t seen[1024];

static const struct sim_Detected3DObjects *one_object(size_t *ret_size)
{
	struct sim_builder b;
	struct sim_Detected3DObject *o;

	assert_non_null(sim_Detected3DObjects_init(seen, sizeof(seen), &b));
	o = sim_Detected3DObjects_objects_alloc(&b, 1);
	memset(o, 0, sizeof(*o));
	o->map_position = (struct sim_Vector3){ .x = 10, .y = 20, .z = 1 };
	*ret_size = sim_builder_size(&b);
	return (const struct sim_Detected3DObjects *)(const void *)seen;
}

/* Apollo knows places in UTM alone, and ours are the map's. */
TEST(obstacles_are_in_utm_where_the_rig_knows_the_maps_origin)
{
	static const char options[] =
		"{\"far\":{\"type\":\"pb_msgs/PerceptionObstacles\",\"origin\":[500000,4000000,5]}}";
	const struct topic_options no_origin = { .type = "pb_msgs/PerceptionObstacles", .channel = "c" };
	struct topic_options origin = no_origin;
	const struct sim_Detected3DObject *o;
	uint32_t n;
	size_t size;

	for (int apollo = 0; apollo < 2; apollo++) { /* ... and 1: in protobuf */
		const void *m = one_object(&size);

		origin.origin = (struct topic_origin){ .at = { 500000, 4000000, 5 }, .given = true };
		o = sim_Detected3DObjects_objects(again(&sim_Detected3DObjects_type, m, size, options, &no_origin,
							apollo),
						  sizeof(got), &n);
		assert_true(n == 1 && o->map_position.x == 500010 && o->map_position.y == 4000020 &&
			    o->map_position.z == 6);
		o = sim_Detected3DObjects_objects(again(&sim_Detected3DObjects_type, m, size, options, &origin, apollo),
						  sizeof(got), &n);
		assert_true(n == 1 && o->map_position.x == 10 && o->map_position.y == 20 && o->map_position.z == 1);
	}
}

TEST(inertial_positions_and_odometry_are_in_utm_too)
{
	static const char imu[] = "{\"far\":{\"type\":\"pb_msgs/CorrectedImu\",\"origin\":[500000,4000000]}}",
			  gps[] = "{\"far\":{\"type\":\"pb_msgs/Gps\",\"position\":\"message\"}}";
	static const struct sim_CorrectedImu measured = { .imu.position = { .x = 1, .y = 2 } };
	static const struct sim_GpsOdometry at = { .easting = 500001, .northing = 4000002, .ignore_map_origin = true };
	struct topic_options w = { .type = "pb_msgs/CorrectedImu", .channel = "c" };
	const struct sim_CorrectedImu *m;
	const struct sim_GpsOdometry *g;

	m = again(&sim_CorrectedImu_type, &measured, sizeof(measured), imu, &w, false);
	assert_true(m->imu.position.x == 500001 && m->imu.position.y == 4000002);
	w.origin = (struct topic_origin){ .at = { 500000, 4000000 }, .given = true };
	m = again(&sim_CorrectedImu_type, &measured, sizeof(measured), imu, &w, false);
	assert_true(m->imu.position.x == 1 && m->imu.position.y == 2);
	w.type = "pb_msgs/Gps";
	g = again(&sim_GpsOdometry_type, &at, sizeof(at), gps, &w, false);
	assert_true(g->easting == 1 && g->northing == 2 && !g->ignore_map_origin);
}

TEST(the_undulation_is_bounded)
{
	static const char *const bad[] = { "{\"undulation\":201}", "{\"undulation\":-201}", "{\"undulation\":\"1\"}" };
	struct topic_options w;
	char why[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *j = json_loads(bad[i], 0, NULL);

		assert_true(topic_options_read(j, TOPIC_IN, 0, &w, why, sizeof(why)) < 0);
		assert_string_equal(why, "\"undulation\" must be a number of m from -200 to 200");
		json_decref(j);
	}
}
