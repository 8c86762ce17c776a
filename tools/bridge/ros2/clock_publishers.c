/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other publishers of /clock, while we publish it: nodes with use_sim_time would jump between two times. Each is logged
 * once, with its node if the graph names it, and reported to simd, which shows it in `simctl clock status`.
 *
 * Thread: "ros2-graph"; open: before it runs.
 */
#include <stdio.h>
#include <string.h>

#include "ros2.h"

#define CLOCK       "rt/clock"
#define NAME_DUR_NS INT64_C(1000000000) /* how long to wait for the graph to name a publisher's node */
#define REPORT_TEXT 220
#define REPORT_ODD  "and more"

int ros2_clock_publishers_open(struct sim_bridge *b, dds_entity_t set)
{
	dds_entity_t data;

	b->clock_publishers.publications =
		dds_create_reader(b->participant, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL);
	data = b->clock_publishers.publications < 0
		       ? b->clock_publishers.publications
		       : dds_create_readcondition(b->clock_publishers.publications, DDS_ANY_STATE);
	return dds_errno(data < 0 ? data : dds_waitset_attach(set, data, 0));
}

static void add(struct sim_bridge *b, const dds_builtintopic_endpoint_t *e, dds_instance_handle_t instance)
{
	struct ros2_clock_publishers *v = &b->clock_publishers;

	if (strcmp(e->topic_name, CLOCK) != 0 || v->n == ROS2_CLOCK_PUBLISHERS_MAX ||
	    ros2_is_ours(b, e->participant_instance_handle))
		return;
	for (unsigned i = 0; i < v->n; i++)
		if (v->one[i].instance == instance)
			return;
	v->one[v->n++] = (struct ros2_clock_publisher){
		.instance = instance, .guid = e->key, .participant = e->participant_key, .due = dds_time() + NAME_DUR_NS
	};
}

static void drop(struct ros2_clock_publishers *v, dds_instance_handle_t instance)
{
	for (unsigned i = 0; i < v->n; i++)
		if (v->one[i].instance == instance) {
			v->changed |= v->one[i].reported;
			v->one[i] = v->one[--v->n];
			return;
		}
}

static void take(struct sim_bridge *b)
{
	dds_sample_info_t info;
	void *sample = NULL;

	while (dds_take(b->clock_publishers.publications, &sample, &info, 1, 1) > 0) {
		if (info.valid_data && info.instance_state == DDS_IST_ALIVE) {
			add(b, sample, info.instance_handle);
			ros2_missed_add(b, sample, info.instance_handle);
			ros2_learn_add(b, sample, info.instance_handle);
		} else {
			drop(&b->clock_publishers, info.instance_handle);
			ros2_missed_drop(b, info.instance_handle);
			ros2_learn_drop(b, info.instance_handle);
		}
		dds_return_loan(b->clock_publishers.publications, &sample, 1);
		sample = NULL;
	}
}

static void print_publisher(const struct sim_bridge *b, const struct ros2_clock_publisher *r, char ret[ROS2_WHO_MAX])
{
	const char *node = ros2_graph_node_of(b, &r->participant);
	char gid[ROS2_GID_TEXT];

	ros2_print_gid(&r->guid, gid);
	snprintf(ret, ROS2_WHO_MAX, "%s (%s)", *node ? node : "a publisher", gid);
}

static void log_publisher(struct sim_bridge *b, struct ros2_clock_publisher *r)
{
	char who[ROS2_WHO_MAX];

	r->reported = b->clock_publishers.changed = true;
	print_publisher(b, r, who);
	if (limit_allows(&b->clock_publishers.lines))
		log_warn(b,
			 "%s publishes /clock too: nodes with use_sim_time jump between its time and ours; stop it, or take "
			 "ours out (\"!/clock\" in the bridge's channels)",
			 who);
}

/* Reports all publishers to simd, one per line, as far as they fit. */
static void report(struct sim_bridge *b)
{
	char text[REPORT_TEXT + sizeof(REPORT_ODD)] = "", who[ROS2_WHO_MAX];
	size_t at = 0;

	for (unsigned i = 0; i < b->clock_publishers.n; i++) {
		if (!b->clock_publishers.one[i].reported)
			continue;
		print_publisher(b, &b->clock_publishers.one[i], who);
		if (at + strlen(who) + 1 > REPORT_TEXT) {
			strcpy(text + at, REPORT_ODD);
			break;
		}
		at += (size_t)snprintf(text + at, REPORT_TEXT - at + 1, "%s\n", who);
	}
	b->clock_publishers.changed = false;
	if (SIM_BRIDGE_HOST_HAS(b->host, other_clocks))
		b->host->other_clocks(b->host->ctx, text);
}

int64_t ros2_clock_publishers_look(struct sim_bridge *b)
{
	struct ros2_clock_publishers *v = &b->clock_publishers;
	int64_t rest_dur_ns = DDS_INFINITY;
	dds_time_t now = dds_time();

	take(b);
	for (unsigned i = 0; i < v->n; i++) {
		struct ros2_clock_publisher *r = &v->one[i];
		bool matters = atomic_load(&v->ours) > 0;

		v->changed |= r->reported && !matters;
		r->reported &= matters;
		if (r->reported || !matters)
			continue;
		if (now >= r->due || *ros2_graph_node_of(b, &r->participant))
			log_publisher(b, r);
		else if (r->due - now < rest_dur_ns)
			rest_dur_ns = r->due - now;
	}
	if (v->changed)
		report(b);
	return rest_dur_ns;
}
