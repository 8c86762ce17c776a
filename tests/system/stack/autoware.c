/* SPDX-License-Identifier: Apache-2.0 */
/* What Autoware reads of a scenario. See autoware.h. */
#include "autoware.h"

#include "../../support/ros_tree.h"
#include "../ros2/typed.h"
#include "test.h"

#define DEPTH    10
#define NS_PER_S INT64_C(1000000000)

static const struct {
	const char *name, *type;
} TOPICS[AW_TOPICS] = {
	[AW_DETECTED] = { "rt/perception/object_recognition/detection/objects",
			  "autoware_perception_msgs/msg/DetectedObjects" },
	[AW_TRUTH] = { "rt/perception/object_recognition/ground_truth/objects",
		       "autoware_perception_msgs/msg/TrackedObjects" },
	[AW_LIGHTS] = { "rt/perception/traffic_light_recognition/internal/traffic_signals",
			"autoware_perception_msgs/msg/TrafficLightGroupArray" },
	[AW_ODOMETRY] = { "rt/localization/kinematic_state", "nav_msgs/msg/Odometry" },
	[AW_POSE] = { "rt/localization/pose_estimator/pose_with_covariance",
		      "geometry_msgs/msg/PoseWithCovarianceStamped" },
	[AW_GRID] = { "rt/perception/occupancy_grid_map/map", "nav_msgs/msg/OccupancyGrid" },
	[AW_CLOUD] = { "rt/perception/obstacle_segmentation/pointcloud", "sensor_msgs/msg/PointCloud2" },
};

static struct {
	struct typed *type;
	dds_entity_t reader;
	void *sample; /* Cyclone's */
} topics[AW_TOPICS];

static dds_entity_t open_reader(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *name)
{
	dds_qos_t *qos = dds_create_qos();
	dds_entity_t topic = dds_create_topic(participant, desc, name, NULL, NULL), reader;

	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, DEPTH);
	reader = topic < 0 ? topic : dds_create_reader(participant, topic, qos, NULL);
	dds_delete_qos(qos);
	return reader;
}

void autoware_open(dds_entity_t participant)
{
	for (int i = 0; i < AW_TOPICS; i++) {
		topics[i].type = typed_new(ros_type_find(ros2_types, TOPICS[i].type));
		if (!topics[i].type)
			fail_msg("%s: no such type", TOPICS[i].type);
		topics[i].reader = open_reader(participant, typed_descriptor(topics[i].type), TOPICS[i].name);
		assert_true(topics[i].reader > 0);
	}
}

/* 0: there is none now. */
static bool next(enum autoware_topic t)
{
	dds_sample_info_t info;

	if (topics[t].sample)
		(void)dds_return_loan(topics[t].reader, &topics[t].sample, 1);
	topics[t].sample = NULL;
	return dds_take(topics[t].reader, &topics[t].sample, &info, 1, 1) > 0 && info.valid_data;
}

bool autoware_hears(enum autoware_topic t)
{
	return next(t);
}

/* Each of these types begins with its time. */
static int64_t stamp_of(const void *sample)
{
	struct seen_time stamp;

	memcpy(&stamp, sample, sizeof(stamp));
	return stamp.sec * NS_PER_S + stamp.nanosec;
}

const void *autoware_take(enum autoware_topic t, int64_t sim_ns)
{
	int64_t last = -1;

	for (;;) {
		if (next(t)) {
			last = stamp_of(topics[t].sample);
			if (last == sim_ns)
				return topics[t].sample;
		} else if (reader_wait(dds_get_participant(topics[t].reader), topics[t].reader) < 0) {
			fail_msg("%s: nothing of %lld ns; the last is of %lld", TOPICS[t].name, (long long)sim_ns,
				 (long long)last);
		}
	}
}

json_t *autoware_tree(enum autoware_topic t, const void *sample)
{
	json_t *tree = typed_tree(topics[t].type, sample);

	assert_non_null(tree);
	return tree;
}

static const json_t *at(const json_t *tree, const char *path)
{
	const json_t *j = tree;

	for (const char *p = path; j && *p; p += *p == '/') {
		size_t n = strcspn(p, "/");

		j = json_is_array(j) ? json_array_get(j, (size_t)atoi(p)) : json_object_getn(j, p, n);
		p += n;
	}
	if (!j)
		fail_msg("%s is not there", path);
	return j;
}

double autoware_number(const json_t *tree, const char *path)
{
	const json_t *j = at(tree, path);

	return json_is_boolean(j) ? json_boolean_value(j) : json_number_value(j);
}

const char *autoware_text(const json_t *tree, const char *path)
{
	const char *s = json_string_value(at(tree, path));

	assert_non_null(s);
	return s;
}
