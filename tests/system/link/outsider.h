/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine b that implements the link's DDS side itself, and may send false data: a child process of the test, so a
 * failed assertion ends it. Thread: its own.
 */
#ifndef SYSTEM_LINK_OUTSIDER_H
#define SYSTEM_LINK_OUTSIDER_H

#include <dds/dds.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "blob_type.h"

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s: %d: not so: %s\n", __FILE__, __LINE__, #cond); \
			_exit(99); \
		} \
	} while (0)

/* As tools/bridge/link/domain.c has it. qos: NULL, or that with its keys. */
static inline dds_entity_t outsider_join(const dds_qos_t *qos)
{
	static const char xml[] =
		"<CycloneDDS><Domain Id=\"any\"><General><Interfaces><NetworkInterface address=\"10.0.0.2\"/></Interfaces>"
		"<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex>"
		"<MaxAutoParticipantIndex>16</MaxAutoParticipantIndex><Peers><Peer address=\"10.0.0.1\"/></Peers></Discovery>"
		"</Domain></CycloneDDS>";

	dds_entity_t participant;

	MUST(dds_create_domain(86, xml) > 0);
	participant = dds_create_participant(86, qos, NULL);
	MUST(participant > 0);
	return participant;
}

/* partition: NULL without keys. */
static inline dds_entity_t outsider_writer(dds_entity_t participant, const char *topic, const char *type,
					   const char *partition, bool keep)
{
	const struct blob_place none = { 0 };
	dds_qos_t *q = dds_create_qos();
	dds_entity_t w;

	dds_qset_reliability(q, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
	dds_qset_durability(q, keep ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
	dds_qset_history(q, DDS_HISTORY_KEEP_LAST, 100);
	if (partition)
		dds_qset_partition1(q, partition);
	w = dds_create_writer(participant, blob_topic_create(participant, topic, type, &none), q, NULL);
	dds_delete_qos(q);
	return w;
}

static inline void outsider_await_reader(dds_entity_t w)
{
	dds_publication_matched_status_t s;

	AWAIT(dds_get_publication_matched_status(w, &s) == 0 && s.current_count > 0);
}

#endif
