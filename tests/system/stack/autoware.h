/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side of Autoware in a scenario: a plain Cyclone DDS program that reads the topics Autoware reads, reliable,
 * keep-last 10 and volatile as rclcpp does by default, with Cyclone's own settings. A message that does not arrive in
 * time fails the running test. Thread: the test's.
 */
#ifndef TEST_AUTOWARE_H
#define TEST_AUTOWARE_H

#include <dds/dds.h>
#include <jansson.h>
#include <stdint.h>

#include "../ros2/reader.h"

enum autoware_topic { AW_DETECTED, AW_TRUTH, AW_LIGHTS, AW_ODOMETRY, AW_POSE, AW_GRID, AW_CLOUD, AW_TOPICS };

/* nav_msgs/msg/OccupancyGrid, as Cyclone has it in memory. */
struct autoware_grid {
	struct seen_time stamp;
	char *frame_id;
	struct seen_time map_load_time;
	float resolution;
	uint32_t width, height;
	double x, y, z, qx, qy, qz, qw; /* origin */
	dds_sequence_t data;
};

/* sensor_msgs/msg/PointCloud2. */
struct autoware_cloud {
	struct seen_time stamp;
	char *frame_id;
	uint32_t height, width;
	dds_sequence_t fields;
	uint8_t is_bigendian;
	uint32_t point_step, row_step;
	dds_sequence_t data;
	uint8_t is_dense;
};

void autoware_open(dds_entity_t participant);
/* Whether anything has come yet. */
bool autoware_hears(enum autoware_topic t);

/* The sample of that simulated time; all others are passed over. Valid until the next one of its topic. */
const void *autoware_take(enum autoware_topic t, int64_t sim_ns);
json_t *autoware_tree(enum autoware_topic t, const void *sample); /* the caller's */

/* A number or text of a tree, with a path such as "objects/0/shape/type"; it must be there. */
double autoware_number(const json_t *tree, const char *path);
const char *autoware_text(const json_t *tree, const char *path);

#endif
