/* SPDX-License-Identifier: Apache-2.0 */
/* Participants of the graph: names for the log, and whether one belongs to a bridge of simd. */
#include <stdio.h>
#include <string.h>

#include "ros2.h"

#define USER_DATA_MAX 4096

void ros2_print_gid(const dds_guid_t *g, char ret[ROS2_GID_TEXT])
{
	size_t at = 0;

	for (size_t i = 0; i < sizeof(g->v); i++)
		at += (size_t)snprintf(ret + at, ROS2_GID_TEXT - at, "%s%02x", i ? "." : "", g->v[i]);
}

static bool has_mark(const dds_qos_t *qos, const char *mark)
{
	void *data = NULL;
	size_t size = 0, n = strlen(mark);
	bool yes = false;

	if (n && dds_qget_userdata(qos, &data, &size) && data)
		for (size_t i = 0; i + n <= size && i < USER_DATA_MAX && !yes; i++)
			yes = memcmp((const char *)data + i, mark, n) == 0;
	dds_free(data);
	return yes;
}

static bool participant_has(struct sim_bridge *b, dds_instance_handle_t participant, const char *mark, bool unknown)
{
	dds_sample_info_t info;
	void *sample = NULL;
	bool has = unknown;

	if (dds_read_instance(b->participants, &sample, &info, 1, 1, participant) <= 0)
		return unknown;
	if (info.valid_data)
		has = has_mark(((const dds_builtintopic_participant_t *)sample)->qos, mark);
	dds_return_loan(b->participants, &sample, 1);
	return has;
}

void ros2_peers_forget(struct sim_bridge *b)
{
	dds_sample_info_t info;
	void *sample = NULL;

	while (dds_take_mask(b->participants, &sample, &info, 1, 1, ROS2_GONE) > 0) {
		dds_return_loan(b->participants, &sample, 1);
		sample = NULL;
	}
}

bool ros2_is_ours(struct sim_bridge *b, dds_instance_handle_t participant)
{
	return participant_has(b, participant, b->mark, true);
}

bool ros2_is_bridge(struct sim_bridge *b, dds_instance_handle_t participant)
{
	return participant_has(b, participant, "simd=", false);
}
