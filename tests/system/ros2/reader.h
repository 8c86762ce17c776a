/* SPDX-License-Identifier: Apache-2.0 */
/* A plain Cyclone DDS program with typed topics of its own, standing for a ROS node: what it reads it has decoded itself. */
#ifndef READER_H
#define READER_H

#include <stdint.h>

#include <stdio.h>
#include <unistd.h>

#include <dds/dds.h>

struct seen_time {
	int32_t sec;
	uint32_t nanosec;
};

struct seen_gear { /* GearCommand */
	struct seen_time stamp;
	uint8_t command;
};

struct seen_ultrasonic { /* lgsvl_msgs */
	struct seen_time stamp;
	char *frame_id;
	float minimum_distance;
};

struct seen_floats { /* example/msg/FloatArray */
	struct seen_time timestamp;
	dds_sequence_t array;
};

struct seen_dimension {
	char *label;
	uint32_t size, stride;
};
struct seen_multi_array { /* std_msgs/msg/Float32MultiArray */
	dds_sequence_t dim;
	uint32_t data_offset;
	dds_sequence_t data;
};

struct seen_readings { /* example_msgs/msg/Readings */
	struct seen_time stamp;
	char *frame_id;
	double mean;
	dds_sequence_t values;
};

struct seen_image {
	struct seen_time stamp;
	char *frame_id;
	uint32_t height, width;
	char *encoding;
	uint8_t is_bigendian;
	uint32_t step;
	dds_sequence_t data;
};

struct seen_info { /* CameraInfo, as far as a reader may read; what follows is skipped */
	struct seen_time stamp;
	char *frame_id;
	uint32_t height, width;
	char *distortion_model;
	dds_sequence_t d;
	double k[9], r[9], p[12];
};

struct seen_sentence { /* nmea_msgs/msg/Sentence */
	struct seen_time stamp;
	char *frame_id, *sentence;
};

struct seen_node {
	char *node_namespace, *name;
	dds_sequence_t readers, writers; /* of gids */
};

struct seen_graph24 { /* Humble's */
	uint8_t gid[24];
	dds_sequence_t nodes;
};
struct seen_graph16 {
	uint8_t gid[16];
	dds_sequence_t nodes;
};

/* What each node of ours has: the six services of its parameters, and /parameter_events. */
#define NODE_READERS 6u
#define NODE_WRITERS 7u

extern const dds_topic_descriptor_t seen_clock_desc, seen_image_desc, seen_graph24_desc, seen_graph16_desc,
	seen_gear_desc, seen_ultrasonic_desc, seen_floats_desc, seen_multi_array_desc, seen_readings_desc,
	seen_info_desc, seen_sentence_desc;

dds_entity_t reader_participant(void);
/* With QoS of its own; NULL: none. */
dds_entity_t reader_participant_with(const dds_qos_t *qos);

/* A reliable, transient local reader of one sample, or for volatile topics a best-effort one. */
dds_entity_t reader_open(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic, bool keeps);

/*
 * A reliable, transient local reader that keeps what it did not read yet. For a topic with several writers: its one instance has room for one
 * sample in the readers above, and the next writer's replaces it.
 */
dds_entity_t reader_of_all(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic);

/* A volatile reader of the newest. */
dds_entity_t reader_newest(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic,
			   bool reliable);

/* A reliable, transient local writer; a reliable and volatile one. */
dds_entity_t reader_write_to(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic);
dds_entity_t reader_write_volatile(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic);

/* In a process of its own, where an assertion of cmocka means nothing. */
#define EXPECT(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "peer: %s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
			_exit(1); \
		} \
	} while (0)

/* Wait for something to take, at most 20 s. 0 or -1. */
int reader_wait(dds_entity_t participant, dds_entity_t reader);

/* Wait for a valid sample, at most 20 s. 0 or a negative code. */
int reader_take(dds_entity_t reader, void *sample);

/* What discovery says of the writer of a topic: its type and USER_DATA, NUL-terminated. 0, or -1 after 20 s. */
int reader_discover(dds_entity_t participant, const char *topic, char type_name[128], char user_data[256]);

/* Whether anybody subscribes to a topic, as discovery tells; zeroed but for the topic to begin with. */
struct reader_watch {
	const char *topic;
	dds_entity_t reader;
	dds_guid_t its;
	bool there;
};
/* Wait, at most 20 s for each change, until somebody does, or nobody any more. 0 or -1. */
int reader_watch(dds_entity_t participant, struct reader_watch *w, bool there);

#endif
