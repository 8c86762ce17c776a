/* SPDX-License-Identifier: Apache-2.0 */
/* QoS as in ROS, and log messages for QoS that does not match. */
#include <stdio.h>
#include <string.h>

#include "ros2.h"

struct ros2_qos ros2_qos_of(const struct topic_options *w, struct ros2_qos deflt)
{
	return (struct ros2_qos){
		.reliable = w->reliability < 0 ? deflt.reliable : w->reliability == 1,
		.transient_local = w->durability < 0 ? deflt.transient_local : w->durability == 1,
		.depth = w->depth ? w->depth : deflt.depth,
	};
}

void ros2_qos_user_data(const dds_qos_t *qos, const char *key, char *ret, size_t size)
{
	void *data = NULL;
	size_t n = 0, len = strlen(key), i = 0, k;
	const char *s;

	ret[0] = '\0';
	if (!qos || !dds_qget_userdata(qos, &data, &n) || !data)
		return;
	s = data;
	while (i + len <= n && (memcmp(s + i, key, len) != 0 || (i && s[i - 1] != ';')))
		i++;
	for (k = 0, i += len; i < n && s[i] != ';' && s[i] > ' ' && s[i] < 0x7f && k + 1 < size; i++)
		ret[k++] = s[i];
	ret[k] = '\0';
	dds_free(data);
}

dds_qos_t *ros2_qos_create(const struct ros2_qos *q, const char *hash)
{
	static const dds_data_representation_id_t xcdr1[] = { DDS_DATA_REPRESENTATION_XCDR1 };
	dds_qos_t *qos = dds_create_qos();
	char data[128];
	int n = snprintf(data, sizeof(data), "typehash=%s;", hash);

	if (!qos)
		return NULL;
	dds_qset_reliability(qos, q->reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT,
			     ROS2_MAX_BLOCK_DUR_NS);
	dds_qset_durability(qos, q->transient_local ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, q->depth);
	if (q->transient_local)
		dds_qset_durability_service(qos, 0, DDS_HISTORY_KEEP_LAST, q->depth, DDS_LENGTH_UNLIMITED,
					    DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
	dds_qset_writer_data_lifecycle(qos, false);
	dds_qset_data_representation(qos, 1, xcdr1);
	dds_qset_userdata(qos, data, (size_t)n);
	return qos;
}

dds_qos_t *ros2_qos_client(const struct sim_bridge *b, int64_t number, const char *hash)
{
	static const struct ros2_qos services_default = { .reliable = true, .depth = 10 };
	dds_qos_t *qos = ros2_qos_create(&services_default, "");
	dds_guid_t guid = { { 0 } };
	char data[200] = "clientid=";
	size_t n = strlen(data);

	if (!qos)
		return NULL;
	(void)dds_get_guid(b->participant, &guid);
	memcpy(guid.v + 8, &number, sizeof(number));
	for (size_t i = 0; i < sizeof(guid.v); i++)
		n += (size_t)snprintf(data + n, sizeof(data) - n, "%s%x", i ? "." : "", guid.v[i]);
	n += (size_t)snprintf(data + n, sizeof(data) - n, ";typehash=%s;", hash);
	dds_qset_userdata(qos, data, n);
	return qos;
}

static const char *policy_name(uint32_t id)
{
	switch (id) {
	case DDS_DURABILITY_QOS_POLICY_ID:
		return "durability";
	case DDS_DEADLINE_QOS_POLICY_ID:
		return "deadline";
	case DDS_LATENCYBUDGET_QOS_POLICY_ID:
		return "latency budget";
	case DDS_OWNERSHIP_QOS_POLICY_ID:
		return "ownership";
	case DDS_LIVELINESS_QOS_POLICY_ID:
		return "liveliness";
	case DDS_RELIABILITY_QOS_POLICY_ID:
		return "reliability";
	case DDS_DATA_REPRESENTATION_QOS_POLICY_ID:
		return "data representation";
	default:
		return "a policy without a name";
	}
}

void ros2_qos_refused(struct sim_bridge *b, _Atomic uint32_t *logged, const char *topic, uint32_t policy,
		      const char *hint)
{
	uint32_t bit = UINT32_C(1) << (policy < 32 ? policy : 31);

	if (!(atomic_fetch_or(logged, bit) & bit))
		log_warn(b, "%s: the sides do not agree on QoS: %s; %s", topic, policy_name(policy), hint);
}
