/* SPDX-License-Identifier: Apache-2.0 */
/* See reader.h. The descriptors say in Cyclone's op codes what idlc would make of the ROS definitions. */
#include "reader.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define U4(s, m)      DDS_OP_ADR | DDS_OP_TYPE_4BY, offsetof(struct s, m)
#define I4(s, m)      DDS_OP_ADR | DDS_OP_TYPE_4BY | DDS_OP_FLAG_SGN, offsetof(struct s, m)
#define F4(s, m)      DDS_OP_ADR | DDS_OP_TYPE_4BY | DDS_OP_FLAG_FP, offsetof(struct s, m)
#define U1(s, m)      DDS_OP_ADR | DDS_OP_TYPE_1BY, offsetof(struct s, m)
#define STR(s, m)     DDS_OP_ADR | DDS_OP_TYPE_STR, offsetof(struct s, m)
#define F8(s, m)      DDS_OP_ADR | DDS_OP_TYPE_8BY | DDS_OP_FLAG_FP, offsetof(struct s, m)
#define FLOATS(s, m)  DDS_OP_ADR | DDS_OP_TYPE_SEQ | DDS_OP_SUBTYPE_4BY | DDS_OP_FLAG_FP, offsetof(struct s, m)
#define BYTES(s, m)   DDS_OP_ADR | DDS_OP_TYPE_SEQ | DDS_OP_SUBTYPE_1BY, offsetof(struct s, m)
#define DOUBLES(s, m) DDS_OP_ADR | DDS_OP_TYPE_SEQ | DDS_OP_SUBTYPE_8BY | DDS_OP_FLAG_FP, offsetof(struct s, m)
#define F8S(s, m, n)  DDS_OP_ADR | DDS_OP_TYPE_ARR | DDS_OP_SUBTYPE_8BY | DDS_OP_FLAG_FP, offsetof(struct s, m), n
#define ARRAY(at, n)  DDS_OP_ADR | DDS_OP_TYPE_ARR | DDS_OP_SUBTYPE_1BY, at, n
/* a sequence of structs: where to go on and where the element is described, from here */
#define STRUCTS(at, size, next, elem) DDS_OP_ADR | DDS_OP_TYPE_SEQ | DDS_OP_SUBTYPE_STU, at, size, (next) << 16 | (elem)

static const uint32_t clock_ops[] = { I4(seen_time, sec), U4(seen_time, nanosec), DDS_OP_RTS };

static const uint32_t gear_ops[] = { I4(seen_gear, stamp.sec), U4(seen_gear, stamp.nanosec), U1(seen_gear, command),
				     DDS_OP_RTS };

static const uint32_t ultrasonic_ops[] = { I4(seen_ultrasonic, stamp.sec), U4(seen_ultrasonic, stamp.nanosec),
					   STR(seen_ultrasonic, frame_id), F4(seen_ultrasonic, minimum_distance),
					   DDS_OP_RTS };

static const uint32_t floats_ops[] = { I4(seen_floats, timestamp.sec), U4(seen_floats, timestamp.nanosec),
				       FLOATS(seen_floats, array), DDS_OP_RTS };

/* words: structs 4, number 2, sequence 2, RTS 1; dimension at 9 */
static const uint32_t multi_array_ops[] = {
	STRUCTS(offsetof(struct seen_multi_array, dim), sizeof(struct seen_dimension), 4u, 9u),
	U4(seen_multi_array, data_offset),
	FLOATS(seen_multi_array, data),
	DDS_OP_RTS,
	STR(seen_dimension, label),
	U4(seen_dimension, size),
	U4(seen_dimension, stride),
	DDS_OP_RTS,
};

static const uint32_t readings_ops[] = { I4(seen_readings, stamp.sec),  U4(seen_readings, stamp.nanosec),
					 STR(seen_readings, frame_id),  F8(seen_readings, mean),
					 FLOATS(seen_readings, values), DDS_OP_RTS };

static const uint32_t image_ops[] = {
	I4(seen_image, stamp.sec),    U4(seen_image, stamp.nanosec),
	STR(seen_image, frame_id),    U4(seen_image, height),
	U4(seen_image, width),        STR(seen_image, encoding),
	U1(seen_image, is_bigendian), U4(seen_image, step),
	BYTES(seen_image, data),      DDS_OP_RTS,
};

static const uint32_t info_ops[] = {
	I4(seen_info, stamp.sec),
	U4(seen_info, stamp.nanosec),
	STR(seen_info, frame_id),
	U4(seen_info, height),
	U4(seen_info, width),
	STR(seen_info, distortion_model),
	DOUBLES(seen_info, d),
	F8S(seen_info, k, 9),
	F8S(seen_info, r, 9),
	F8S(seen_info, p, 12),
	DDS_OP_RTS,
};

static const uint32_t sentence_ops[] = { I4(seen_sentence, stamp.sec), U4(seen_sentence, stamp.nanosec),
					 STR(seen_sentence, frame_id), STR(seen_sentence, sentence), DDS_OP_RTS };

/* words: array 3, structs 4, RTS 1; node at 8: two strings 4, two sequences 4 each, RTS 1; gid at 21 */
#define GRAPH_OPS(s, n) \
	{ \
		ARRAY(offsetof(struct s, gid), n), \
			STRUCTS(offsetof(struct s, nodes), sizeof(struct seen_node), 4u, 5u), DDS_OP_RTS, \
			STR(seen_node, node_namespace), STR(seen_node, name), \
			STRUCTS(offsetof(struct seen_node, readers), n, 4u, 9u), \
			STRUCTS(offsetof(struct seen_node, writers), n, 4u, 5u), DDS_OP_RTS, ARRAY(0, n), DDS_OP_RTS \
	}
static const uint32_t graph24_ops[] = GRAPH_OPS(seen_graph24, 24u);
static const uint32_t graph16_ops[] = GRAPH_OPS(seen_graph16, 16u);

#define DESC(type, ops, name) \
	{ \
		.m_size = sizeof(type), .m_align = _Alignof(type), .m_typename = name, \
		.m_nops = sizeof(ops) / sizeof(ops[0]), .m_ops = ops, .m_meta = "" \
	}
const dds_topic_descriptor_t seen_clock_desc = DESC(struct seen_time, clock_ops, "rosgraph_msgs::msg::dds_::Clock_");
const dds_topic_descriptor_t seen_gear_desc =
	DESC(struct seen_gear, gear_ops, "autoware_vehicle_msgs::msg::dds_::GearCommand_");
const dds_topic_descriptor_t seen_ultrasonic_desc =
	DESC(struct seen_ultrasonic, ultrasonic_ops, "lgsvl_msgs::msg::dds_::Ultrasonic_");
const dds_topic_descriptor_t seen_floats_desc = DESC(struct seen_floats, floats_ops, "example::msg::dds_::FloatArray_");
const dds_topic_descriptor_t seen_multi_array_desc =
	DESC(struct seen_multi_array, multi_array_ops, "std_msgs::msg::dds_::Float32MultiArray_");
const dds_topic_descriptor_t seen_readings_desc =
	DESC(struct seen_readings, readings_ops, "example_msgs::msg::dds_::Readings_");
const dds_topic_descriptor_t seen_image_desc = DESC(struct seen_image, image_ops, "sensor_msgs::msg::dds_::Image_");
const dds_topic_descriptor_t seen_info_desc = DESC(struct seen_info, info_ops, "sensor_msgs::msg::dds_::CameraInfo_");
const dds_topic_descriptor_t seen_sentence_desc =
	DESC(struct seen_sentence, sentence_ops, "nmea_msgs::msg::dds_::Sentence_");
const dds_topic_descriptor_t seen_graph24_desc =
	DESC(struct seen_graph24, graph24_ops, "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_");
const dds_topic_descriptor_t seen_graph16_desc =
	DESC(struct seen_graph16, graph16_ops, "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_");

dds_entity_t reader_participant_with(const dds_qos_t *qos)
{
	dds_entity_t domain = dds_create_domain(
		0,
		"<CycloneDDS><Domain Id=\"any\"><General><Interfaces><NetworkInterface name=\"lo\" multicast=\"false\"/>"
		"</Interfaces><AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto"
		"</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex><Peers>"
		"<Peer address=\"127.0.0.1\"/></Peers></Discovery></Domain></CycloneDDS>");

	return domain < 0 ? domain : dds_create_participant(0, qos, NULL);
}

dds_entity_t reader_participant(void)
{
	return reader_participant_with(NULL);
}

/* depth: of samples that were not read yet; 0: all */
static dds_entity_t open_with(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic,
			      bool reliable, bool keeps, int depth)
{
	dds_qos_t *qos = dds_create_qos();
	dds_entity_t t = dds_create_topic(participant, desc, topic, NULL, NULL), reader;

	dds_qset_reliability(qos, reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_INFINITY);
	dds_qset_durability(qos, keeps ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
	dds_qset_history(qos, depth ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL, depth);
	reader = t < 0 ? t : dds_create_reader(participant, t, qos, NULL);
	dds_delete_qos(qos);
	return reader;
}

dds_entity_t reader_open(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic, bool keeps)
{
	return open_with(participant, desc, topic, keeps, keeps, 1);
}

dds_entity_t reader_of_all(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic)
{
	return open_with(participant, desc, topic, true, true, 0);
}

dds_entity_t reader_newest(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic,
			   bool reliable)
{
	return open_with(participant, desc, topic, reliable, false, 1);
}

static dds_entity_t write_to(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic,
			     dds_durability_kind_t durability)
{
	dds_qos_t *qos = dds_create_qos();
	dds_entity_t t = dds_create_topic(participant, desc, topic, NULL, NULL), writer;

	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
	dds_qset_durability(qos, durability);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1);
	writer = t < 0 ? t : dds_create_writer(participant, t, qos, NULL);
	dds_delete_qos(qos);
	return writer;
}

dds_entity_t reader_write_to(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic)
{
	return write_to(participant, desc, topic, DDS_DURABILITY_TRANSIENT_LOCAL);
}

dds_entity_t reader_write_volatile(dds_entity_t participant, const dds_topic_descriptor_t *desc, const char *topic)
{
	return write_to(participant, desc, topic, DDS_DURABILITY_VOLATILE);
}

int reader_wait(dds_entity_t participant, dds_entity_t reader)
{
	dds_entity_t set = dds_create_waitset(participant), cond = dds_create_readcondition(reader, DDS_ANY_STATE);
	int r = dds_waitset_attach(set, cond, 0);

	if (r == 0)
		r = dds_waitset_wait(set, NULL, 0, DDS_INFINITY);
	dds_delete(set);
	dds_delete(cond);
	return r > 0 ? 0 : -1;
}

int reader_take(dds_entity_t reader, void *sample)
{
	dds_sample_info_t info = { .valid_data = false };
	int n = 0;

	while (!(n > 0 && info.valid_data)) {
		if (reader_wait(dds_get_participant(reader), reader) < 0)
			return -1;
		n = dds_take(reader, &sample, &info, 1, 1);
		if (n < 0)
			return n;
	}
	return 0;
}

static bool is_it(const dds_builtintopic_endpoint_t *e, const char *topic, char type_name[128], char user_data[256])
{
	void *data = NULL;
	size_t size = 0;

	if (strcmp(e->topic_name, topic) != 0)
		return false;
	snprintf(type_name, 128, "%s", e->type_name);
	user_data[0] = '\0';
	if (dds_qget_userdata(e->qos, &data, &size) && data && size < 256) {
		memcpy(user_data, data, size);
		user_data[size] = '\0';
	}
	dds_free(data);
	return true;
}

int reader_discover(dds_entity_t participant, const char *topic, char type_name[128], char user_data[256])
{
	dds_entity_t r = dds_create_reader(participant, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL);
	bool found = false;

	while (!found && reader_wait(participant, r) == 0) {
		void *sample = NULL;
		dds_sample_info_t info;

		if (dds_take(r, &sample, &info, 1, 1) <= 0)
			continue;
		found = info.valid_data && is_it(sample, topic, type_name, user_data);
		dds_return_loan(r, &sample, 1);
	}
	dds_delete(r);
	return found ? 0 : -1;
}

/* An endpoint that has gone comes as a sample with nothing but its key: the topic is known from the one before. */
static void see(struct reader_watch *w, const dds_builtintopic_endpoint_t *e, const dds_sample_info_t *info)
{
	bool alive = info->valid_data && info->instance_state == DDS_IST_ALIVE;

	if (alive && strcmp(e->topic_name, w->topic) == 0) {
		w->its = e->key;
		w->there = true;
	} else if (!alive && memcmp(&w->its, &e->key, sizeof(w->its)) == 0) {
		w->there = false;
	}
}

int reader_watch(dds_entity_t participant, struct reader_watch *w, bool there)
{
	if (!w->reader)
		w->reader = dds_create_reader(participant, DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION, NULL, NULL);
	while (w->there != there && reader_wait(participant, w->reader) == 0) {
		void *sample = NULL;
		dds_sample_info_t info;

		if (dds_take(w->reader, &sample, &info, 1, 1) <= 0)
			continue;
		see(w, sample, &info);
		dds_return_loan(w->reader, &sample, 1);
	}
	return w->there == there ? 0 : -1;
}
