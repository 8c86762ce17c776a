/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel on its way to ROS: which type, under which name, with which QoS, and the writing. What the rig may say stands in
 * the object "ros2" of the channel's options.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bytes_type.h"
#include "enc_wire.h"
#include "ros2.h"
#include "ros/ros_type.h"

struct wish { /* borrows from the JSON tree */
	const char *topic, *type, *frame, *child_frame, *encoding, *points, *reliability, *durability;
	int depth;
};

static const char *const point_names[] = { "native", "awsim24", "awsim48", "svl32" };

/* What sensors send is best effort and the newest few; the rest is reliable. A reliable writer serves both kinds of readers. */
static bool is_sensor_data(const char *ros)
{
	static const char *const types[] = { "sensor_msgs/Image", "sensor_msgs/CompressedImage",
					     "sensor_msgs/CameraInfo", "sensor_msgs/PointCloud2",
					     "sensor_msgs/LaserScan" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i], ros) == 0)
			return true;
	return false;
}

static int one_of(const char *text, const char *const *names, int n, int deflt)
{
	if (!text)
		return deflt;
	for (int i = 0; i < n; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	return -EINVAL;
}

static int read_qos(const struct wish *w, const char *ros, struct ros2_qos *ret)
{
	static const char *const reliabilities[] = { "best_effort", "reliable" };
	static const char *const durabilities[] = { "volatile", "transient_local" };
	int reliable = one_of(w->reliability, reliabilities, 2, !is_sensor_data(ros));
	int durable = one_of(w->durability, durabilities, 2, 0);

	if (reliable < 0 || durable < 0 || w->depth < 0)
		return -EINVAL;
	*ret = (struct ros2_qos){ .reliable = reliable, .transient_local = durable };
	ret->depth = w->depth ? w->depth : is_sensor_data(ros) ? 5 : 10;
	return 0;
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

/* ---- opening ---- */

/* The texts of the options outlive the JSON: one block holds them. */
static int keep_texts(struct sim_bridge_topic *t, const struct wish *w)
{
	const char *const from[] = { w->frame, w->child_frame, w->encoding };
	const char **const to[] = { &t->options.frame, &t->options.child_frame, &t->options.encoding };
	size_t room = 1;
	char *at;

	for (int i = 0; i < 3; i++)
		room += from[i] ? strlen(from[i]) + 1 : 0;
	at = t->texts = malloc(room);
	if (!at)
		return -ENOMEM;
	for (int i = 0; i < 3; i++) {
		if (!from[i])
			continue;
		strcpy(at, from[i]);
		*to[i] = at;
		at += strlen(at) + 1;
	}
	return 0;
}

static void on_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *arg)
{
	struct sim_bridge_topic *t = arg;

	(void)writer;
	atomic_store(&t->readers, (int)status.current_count);
}

static int create_writer(struct sim_bridge *b, struct sim_bridge_topic *t, const char *name, const struct ros2_qos *q)
{
	const struct ros_type *type = ros_type_find(ros2_types, t->map->ros);
	dds_qos_t *qos = ros2_qos_create(q, type->hash);
	dds_listener_t *listener = dds_create_listener(t);
	char dds_name[256], type_name[128];
	int r = -ENAMETOOLONG;

	dds_lset_publication_matched(listener, on_matched);
	if ((size_t)snprintf(dds_name, sizeof(dds_name), "rt%s", name) < sizeof(dds_name) &&
	    ros_type_dds_name(type, type_name, sizeof(type_name)) == 0) {
		t->topic = bytes_topic_create(b->participant, dds_name, type_name, NULL);
		t->writer = t->topic < 0 ? t->topic : dds_create_writer(b->participant, t->topic, qos, listener);
		r = ros2_errno(t->writer);
	}
	dds_delete_listener(listener);
	dds_delete_qos(qos);
	return r;
}

static int publish_new(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	int r = -ENOSPC;

	pthread_mutex_lock(&b->lock);
	if (b->n_topics < ROS2_TOPICS_MAX) {
		b->topics[b->n_topics++] = t;
		ros2_graph_publish(b);
		r = 0;
	}
	pthread_mutex_unlock(&b->lock);
	return r;
}

static void topic_free(struct sim_bridge_topic *t)
{
	if (t->writer > 0)
		dds_delete(t->writer);
	if (t->topic > 0)
		dds_delete(t->topic);
	free(t->texts);
	free(t);
}

static int topic_create(struct sim_bridge *b, const struct sim_bridge_channel *ch, const struct wish *w,
			struct sim_bridge_topic **ret)
{
	struct sim_bridge_topic *t = calloc(1, sizeof(*t));
	int points = one_of(w->points, point_names, 4, MAP_POINTS_NATIVE);
	struct ros2_qos q;
	int r;

	if (!t)
		return -ENOMEM;
	t->map = map_find(ch->type->name, w->type);
	r = t->map ? 0 : -ENOTSUP;
	if (r == 0)
		r = points < 0 ? points : read_qos(w, t->map->ros, &q);
	if (r == 0)
		r = keep_texts(t, w);
	if (r == 0) {
		t->options.points = (enum map_points)points;
		t->keeps = q.transient_local;
		r = create_writer(b, t, w->topic ? w->topic : ch->name, &q);
	}
	if (r == 0)
		r = publish_new(b, t);
	if (r < 0)
		topic_free(t);
	else
		*ret = t;
	return r;
}

int ros2_topic_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	json_error_t err = { .text = "" };
	json_t *j = json_loads(ch->options, JSON_REJECT_DUPLICATES, &err), *mine = json_object_get(j, "ros2");
	struct wish w = { .depth = 0 };
	int r = j ? 0 : -EINVAL;

	if (mine && json_unpack_ex(mine, &err, JSON_STRICT, "{s?s,s?s,s?s,s?s,s?s,s?s,s?s,s?s,s?i}", "topic", &w.topic,
				   "type", &w.type, "frame", &w.frame, "child_frame", &w.child_frame, "encoding",
				   &w.encoding, "points", &w.points, "reliability", &w.reliability, "durability",
				   &w.durability, "depth", &w.depth) < 0)
		r = -EINVAL;
	if (r == 0 && w.topic && w.topic[0] != '/') {
		snprintf(err.text, sizeof(err.text), "topic \"%.60s\" does not begin with '/'", w.topic);
		r = -EINVAL;
	}
	if (r == 0)
		r = topic_create(b, ch, &w, ret);
	if (r == -ENOTSUP)
		b->host->log(b->host->ctx, 1, "%s: %s has no mapping to %s", ch->name, ch->type->name,
			     w.type ? w.type : "a ROS message");
	else if (r < 0)
		b->host->log(b->host->ctx, 0, "%s: options.ros2 cannot be used: %s", ch->name,
			     err.text[0] ? err.text : strerror(-r));
	json_decref(j);
	return r;
}

void ros2_topic_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
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

static struct out *out_get(struct sim_bridge *b)
{
	struct out *o = NULL;

	pthread_mutex_lock(&b->lock);
	if (b->n_outs)
		o = b->outs[--b->n_outs];
	pthread_mutex_unlock(&b->lock);
	if (!o && (o = malloc(sizeof(*o))))
		out_init(o);
	return o;
}

static void out_put(struct sim_bridge *b, struct out *o)
{
	pthread_mutex_lock(&b->lock);
	if (b->n_outs < ROS2_OUTS_MAX) {
		b->outs[b->n_outs++] = o;
		o = NULL;
	}
	pthread_mutex_unlock(&b->lock);
	if (o)
		out_finish(o);
	free(o);
}

int ros2_topic_write(struct sim_bridge *b, struct sim_bridge_topic *t, const struct map_in *in)
{
	struct enc_wire w;
	struct out *o;
	int r;

	if (!t->keeps && !atomic_load(&t->readers)) {
		atomic_fetch_add(&b->skipped, 1);
		return 0;
	}
	o = out_get(b);
	if (!o)
		return -ENOMEM;
	wire_begin(&w, WIRE_CDR, o);
	r = t->map->emit(in, &w.enc);
	if (r == 0)
		r = wire_finish(&w);
	if (r == 0)
		r = ros2_errno(dds_write(t->writer, o));
	if (r == 0)
		atomic_fetch_add(&b->converted, 1);
	out_put(b, o);
	return r;
}
