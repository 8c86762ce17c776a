/* SPDX-License-Identifier: Apache-2.0 */
/* An outbound topic: its writer, the writer's QoS, and writing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "far_time.h"
#include "ros2.h"
#include "ros/ros_type.h"

/*
 * Sensor data is best effort with a small depth; the rest is reliable, which serves best-effort readers too. For time
 * only the newest message counts.
 */
static struct ros2_qos default_qos(const char *topic, const char *ros, bool all_in_one)
{
	static const char *const types[] = { "sensor_msgs/Image", "sensor_msgs/CompressedImage",
					     "sensor_msgs/CameraInfo", "sensor_msgs/PointCloud2",
					     "sensor_msgs/LaserScan" };

	if (topic_is_tf_static(topic))
		return (struct ros2_qos){ .reliable = true, .transient_local = true, .depth = all_in_one ? 1 : 100 };
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i], ros) == 0)
			return (struct ros2_qos){ .reliable = false, .depth = 5 };
	return (struct ros2_qos){ .reliable = true, .depth = strcmp(ros, "rosgraph_msgs/Clock") ? 10 : 1 };
}

/* ---- opening ---- */

static void on_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *arg)
{
	struct ros2_topic *t = arg;

	(void)writer;
	atomic_store(&t->large.readers_ever, (int)status.total_count);
	atomic_store(&t->readers, (int)status.current_count);
}

static void on_refused(dds_entity_t writer, const dds_offered_incompatible_qos_status_t status, void *arg)
{
	struct ros2_topic *t = arg;

	(void)writer;
	ros2_qos_refused(t->bridge, &t->refused, t->out.name, status.last_policy_id,
			 "a subscriber asks for more than options.ros2 of the channel offers, and gets nothing");
}

static int create_writer(struct sim_bridge *b, struct ros2_topic *t, const struct ros2_qos *q)
{
	const struct ros_type *type = t->out.conversion.type;
	char dds_name[256];
	struct endpoint e = { .name = dds_name, .type = type };

	if ((size_t)snprintf(dds_name, sizeof(dds_name), "rt%s", t->out.name) >= sizeof(dds_name))
		return -ENAMETOOLONG;
	e.qos = ros2_qos_create(q, type->hash);
	e.listener = dds_create_listener(t);
	dds_lset_publication_matched(e.listener, on_matched);
	dds_lset_offered_incompatible_qos(e.listener, on_refused);
	t->writer = endpoint_create(b->participant, &e);
	t->topic = e.topic;
	return dds_errno(t->writer);
}

static bool is_clock(const struct ros2_topic *t)
{
	return strcmp(t->out.name, "/clock") == 0;
}

static void publish_new(struct sim_bridge *b, struct ros2_topic *t)
{
	pthread_mutex_lock(&b->lock);
	b->topics[b->n_topics++] = t;
	ros2_graph_publish(b);
	pthread_mutex_unlock(&b->lock);
	if (is_clock(t)) {
		atomic_fetch_add(&b->clock_publishers.ours, 1);
		waiter_poke(&b->graph.waiter);
	}
}

static void topic_free(struct ros2_topic *t)
{
	if (t->writer > 0)
		dds_delete(t->writer);
	if (t->topic > 0)
		dds_delete(t->topic);
	topic_out_close(&t->out);
	free(t);
}

/* /clock is not sent while the graph gives the time. If "*" in the rig includes /clock, that is no mistake. */
static int time_comes_in(struct sim_bridge *b, const struct ros2_topic *t, char *why, size_t why_size)
{
	if (!b->sim_time.on || !is_clock(t))
		return 0;
	return far_time_refuse(&t->out, "the graph", why, why_size);
}

int ros2_topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
		    struct topic_out **ret, char *why, size_t why_size)
{
	struct sim_bridge *b = bridge;
	struct ros2_topic *t = calloc(1, sizeof(*t));
	struct ros2_qos q;
	int r;

	if (!t)
		return -ENOMEM;
	t->bridge = b;
	r = topic_out_open(&b->common, ch, w, &t->out, why, why_size);
	if (r == 0)
		r = time_comes_in(b, t, why, why_size);
	if (r == 0) {
		q = ros2_qos_of(w, default_qos(t->out.name, t->out.conversion.type->name, t->out.static_frames));
		t->out.keeps = q.transient_local;
		t->large.reliable = q.reliable;
		r = create_writer(b, t, &q);
	}
	if (r < 0) {
		topic_free(t);
		return r;
	}
	publish_new(b, t);
	*ret = &t->out;
	return 0;
}

void ros2_topic_close(void *bridge, struct topic_out *out)
{
	struct ros2_topic *t = (struct ros2_topic *)out;
	struct sim_bridge *b = bridge;

	if (is_clock(t)) {
		atomic_fetch_sub(&b->clock_publishers.ours, 1);
		waiter_poke(&b->graph.waiter);
	}
	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->n_topics; i++) {
		if (b->topics[i] != t)
			continue;
		b->topics[i] = b->topics[--b->n_topics];
		ros2_graph_publish(b);
		break;
	}
	pthread_mutex_unlock(&b->lock);
	topic_free(t);
}

/* ---- writing ---- */

static int write_one(struct sim_bridge *b, struct ros2_topic *t, const struct map_message *in)
{
	struct iov_buf *o;
	int r;

	if (!t->out.keeps && !atomic_load(&t->readers)) {
		atomic_fetch_add(&b->skipped, 1);
		return 0;
	}
	r = topic_out_encode(&t->out, in, &o);
	if (r < 0)
		return r;
	r = dds_errno(large_write(&b->large, &t->large, t->writer, o, o->total));
	if (r == 0)
		atomic_fetch_add(&b->converted, 1);
	topics_put_buf(&b->common, o);
	return r;
}

int ros2_topic_write(struct sim_bridge *b, struct ros2_topic *t, const struct map_message *in)
{
	struct map_message all = *in;
	int r;

	if (!t->out.static_frames)
		return write_one(b, t, in);
	r = topic_out_begin_frames(&t->out, &all);
	if (r > 0)
		r = write_one(b, t, &all);
	topic_out_end_frames(&t->out, r);
	return r;
}

/* ---- channels ---- */

int ros2_channel_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	return topics_open_channel(&b->common, ch, ret);
}

int ros2_channel_write(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		       struct sim_task *task)
{
	struct map_message in = topic_message(m);
	int r = 0;

	(void)task;
	for (unsigned i = 0; i < t->n; i++) {
		int e = ros2_topic_write(b, (struct ros2_topic *)t->out[i], &in);

		r = r < 0 ? r : e;
	}
	return r;
}

void ros2_channel_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	large_drain(&b->large, t);
	topics_close_channel(&b->common, t);
}
