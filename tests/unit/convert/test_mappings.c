/* SPDX-License-Identifier: Apache-2.0 */
/* Every mapping against the definition of its target, in the words of ROS 2 and of ROS 1; and what holds it against it. */

#include "tests/support/test.h"

#include <errno.h>

#include "enc_check.h"
#include "enc_wire.h"
#include "map.h"
#include "sample.h"
#include "sim/introspect.h"
#include "sim/msg/Image.h"
#include "sim/point_cloud.h"

static _Alignas(64) uint8_t body[65536];

/* A body that the mapping takes: images and clouds say their size twice. */
static size_t fitting_body(const struct sim_type *t)
{
	struct sim_builder b;

	if (strcmp(t->name, "sim/Image") == 0) {
		struct sim_Image *m = sim_Image_init(body, sizeof(body), &b);

		m->height = 2;
		m->width = 1;
		m->step = 4;
		assert_int_equal(sim_Image_encoding_set(&b, "rgb8"), 0);
		memset(sim_Image_data_alloc(&b, 8), 1, 8);
		return sim_builder_size(&b);
	}
	if (strcmp(t->name, "sim/PointCloud") == 0) {
		memset(sim_point_cloud_begin(body, sizeof(body), 3, &b), 0, 3 * sizeof(struct sim_Point));
		return sim_builder_size(&b);
	}
	return sample_body(t, body, sizeof(body));
}

static struct map_message input(size_t size, const struct map_options *options)
{
	return (struct map_message){ .body = body,
				     .size = size,
				     .header = { .stamp_sim_ns = 1500000000, .seq = 7, .frame = "frame" },
				     .options = options };
}

/* Encodes it with an encoder behind the check; whatever the mapping answers, the errors found by the check are in c. */
static int say(const struct map *m, const struct ros_type *type, const struct map_message *in, struct enc_check *c)
{
	struct enc_wire w;
	struct iov_buf o;
	int r;

	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	enc_check_begin(c, type, &w.enc);
	r = m->emit(in, &c->enc);
	enc_check_end(c);
	iov_buf_finish(&o);
	return r;
}

static void check_one(const struct map *m, const struct ros_type *const *types, const struct map_options *options)
{
	const struct ros_type *type = ros_type_find(types, m->ros);
	struct map_message in = input(fitting_body(sim_type_builtin(m->sim)), options);
	struct enc_check c;

	in.ros1 = types == ros1_types;

	assert_true(in.size > 0);
	if (!type)
		fail_msg("%s is not defined, or not in schemas/ros/tables", m->ros);
	assert_int_equal(say(m, type, &in, &c), 0);
	if (c.enc.err)
		fail_msg("%s: %s", m->ros, c.why);
}

TEST(every_mapping_follows_its_definition)
{
	static const struct map_options plain;

	for (const struct map *m = map_table; m->sim; m++) {
		check_one(m, ros2_types, &plain);
		check_one(m, ros1_types, &plain);
	}
}

TEST(the_options_do_not_change_the_fields)
{
	static const struct map_options swap = { .encoding = "bgr8", .frame = "other", .child_frame = "child" };

	check_one(map_find("sim/Image", NULL), ros2_types, &swap);
	check_one(map_find("sim/GpsOdometry", NULL), ros2_types, &swap);
	for (int p = MAP_POINTS_NATIVE; p <= MAP_POINTS_XYZIR; p++)
		check_one(map_find("sim/PointCloud", NULL), ros2_types,
			  &(struct map_options){ .points = (enum map_points)p });
}

/* A body that is cut anywhere is refused or read within its bounds (the sanitizers look). */
TEST(truncated_bodies_do_no_harm)
{
	static const struct map_options plain;

	for (const struct map *m = map_table; m->sim; m++) {
		const struct sim_type *t = sim_type_builtin(m->sim);
		size_t full = fitting_body(t);

		for (size_t size = 0; size <= full; size += 4) {
			struct enc_check c;
			struct map_message in = input(size, &plain);
			int r = say(m, ros_type_find(ros2_types, m->ros), &in, &c);

			assert_true(r == 0 || r == -EBADMSG);
			assert_true(size >= t->fixed_size || r == -EBADMSG);
		}
	}
}

TEST(mappings_are_found_by_either_name)
{
	assert_string_equal(map_find("sim/CanBus", NULL)->ros, "lgsvl_msgs/CanBusData");
	assert_string_equal(map_find("sim/CanBus", "autoware_vehicle_msgs/msg/GearReport")->ros,
			    "autoware_vehicle_msgs/GearReport");
	assert_ptr_equal(map_find("sim/Imu", "sensor_msgs/Imu"), map_find("sim/Imu", NULL));
	assert_null(map_find("sim/Imu", "sensor_msgs/Image"));
	assert_null(map_find("sim/Imu", "sensor_msgs/Im"));
	assert_null(map_find("sim/Imu", "sensor_msgs"));
	assert_null(map_find("sim/GpsIns", NULL));
}

/* Markers and Autoware.AI's objects are only sent: they are no type's default. */
TEST(outbound_only_mappings_are_never_the_default)
{
	unsigned n = 0;

	for (const struct map *m = map_table; m->sim; m++) {
		n += m->out_only;
		assert_int_equal(m->out_only, strcmp(m->ros, "visualization_msgs/MarkerArray") == 0 ||
						      strcmp(m->ros, "autoware_msgs/DetectedObjectArray") == 0);
		assert_ptr_equal(map_find(m->sim, m->ros), m);
	}
	assert_int_equal(n, 5);
	assert_null(map_find("sim/LaneLines", NULL));
	assert_string_equal(map_find("sim/Detected3DObjects", NULL)->ros, "lgsvl_msgs/Detection3DArray");
}
