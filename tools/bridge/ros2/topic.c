/* SPDX-License-Identifier: Apache-2.0 */
/* One topic on its way out: which type, under which name, with which QoS, and the writing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "enc_wire.h"
#include "ros2.h"
#include "ros/ros_generic.h"
#include "ros/ros_type.h"

/* Whoever reads the fixed frames of a tree asks for what was sent before. */
static bool is_tf_static(const char *topic)
{
	const char *last = strrchr(topic, '/');

	return last && strcmp(last, "/tf_static") == 0;
}

/*
 * What sensors send is best effort and the newest few; the rest is reliable: a reliable writer serves both kinds of readers. Of
 * time only the newest counts.
 */
static struct ros2_qos default_qos(const char *topic, const char *ros, bool all_in_one)
{
	static const char *const types[] = { "sensor_msgs/Image", "sensor_msgs/CompressedImage",
					     "sensor_msgs/CameraInfo", "sensor_msgs/PointCloud2",
					     "sensor_msgs/LaserScan" };

	if (is_tf_static(topic))
		return (struct ros2_qos){ .reliable = true, .transient_local = true, .depth = all_in_one ? 1 : 100 };
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i], ros) == 0)
			return (struct ros2_qos){ .reliable = false, .depth = 5 };
	return (struct ros2_qos){ .reliable = true, .depth = strcmp(ros, "rosgraph_msgs/Clock") ? 10 : 1 };
}

/* ---- opening ---- */

/* The name, and the texts of the options, which outlive the JSON: one block holds them. */
static int keep_texts(struct ros2_topic *t, const char *name, const char *channel, const struct topic_options *w)
{
	const char *const from[] = { name, w->frame, w->child_frame, channel };
	const char *kept[4] = { NULL };
	size_t room = 1;
	char *at;

	for (int i = 0; i < 4; i++)
		room += from[i] ? strlen(from[i]) + 1 : 0;
	at = t->texts = malloc(room);
	if (!at)
		return -ENOMEM;
	for (int i = 0; i < 4; i++) {
		if (!from[i])
			continue;
		kept[i] = strcpy(at, from[i]);
		at += strlen(at) + 1;
	}
	t->options.frame = kept[1];
	t->options.child_frame = kept[2];
	t->channel = kept[3];
	return 0;
}

static void on_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *arg)
{
	struct ros2_topic *t = arg;

	(void)writer;
	atomic_store(&t->readers, (int)status.current_count);
}

static void on_refused(dds_entity_t writer, const dds_offered_incompatible_qos_status_t status, void *arg)
{
	struct ros2_topic *t = arg;

	(void)writer;
	ros2_qos_refused(t->bridge, &t->refused, t->texts, status.last_policy_id,
			 "a subscriber asks for more than options.ros2 of the channel offers, and gets nothing");
}

static int create_writer(struct sim_bridge *b, struct ros2_topic *t, const struct ros2_qos *q)
{
	char dds_name[256];
	struct endpoint e = { .name = dds_name, .type = t->conversion.type };

	if ((size_t)snprintf(dds_name, sizeof(dds_name), "rt%s", t->texts) >= sizeof(dds_name))
		return -ENAMETOOLONG;
	e.qos = ros2_qos_create(q, t->conversion.type->hash);
	e.listener = dds_create_listener(t);
	dds_lset_publication_matched(e.listener, on_matched);
	dds_lset_offered_incompatible_qos(e.listener, on_refused);
	t->writer = endpoint_create(b->participant, &e);
	t->topic = e.topic;
	return ros2_errno(t->writer);
}

static bool is_clock(const struct ros2_topic *t)
{
	return strcmp(t->texts, "/clock") == 0;
}

static int publish_new(struct sim_bridge *b, struct ros2_topic *t)
{
	int r = -ENOSPC;

	pthread_mutex_lock(&b->lock);
	if (b->n_topics < ROS2_TOPICS_MAX) {
		b->topics[b->n_topics++] = t;
		ros2_graph_publish(b);
		r = 0;
	}
	pthread_mutex_unlock(&b->lock);
	if (r == 0 && is_clock(t)) {
		atomic_fetch_add(&b->clock_publishers.ours, 1);
		waiter_poke(&b->graph.waiter);
	}
	return r;
}

static void topic_free(struct ros2_topic *t)
{
	if (t->writer > 0)
		dds_delete(t->writer);
	if (t->topic > 0)
		dds_delete(t->topic);
	conversion_out_close(&t->conversion);
	static_frames_destroy(t->static_frames);
	free(t->texts);
	free(t);
}

/* Which message it becomes, and by what: the other side must know its definition. */
static void log_conversion(struct sim_bridge *b, const struct sim_bridge_channel *ch, const struct ros2_topic *t)
{
	const char *odd = t->conversion.generic ? ros_generic_odd_name(ch->type) : NULL;

	if (t->automatic)
		log_info(b,
			 "%s: ROS allows no such name, so it goes out as %s (\"ros2\": {\"topic\": ...} in the "
			 "options of the channel gives it another)",
			 ch->name, t->texts);
	log_info(b, "%s: %s goes out as %s (%s)", ch->name, ch->type->name, t->conversion.type->name,
		 conversion_out_how(&t->conversion));
	if (odd)
		log_warn(b, "%s: \"%s\" is not a valid name in ROS 2: no package can be built of %s", ch->name, odd,
			 t->conversion.type->name);
}

static void set_options(struct ros2_topic *t, const struct topic_options *w)
{
	t->options.points = w->points < 0 ? MAP_POINTS_NATIVE : (enum map_points)w->points;
	t->options.encoding = w->encoding < 0 ? NULL : w->encoding == 0 ? "rgb8" : "bgr8";
	t->options.covariance = w->covariance;
	t->options.position = w->position < 0 ? MAP_POSITION_MESSAGE : (enum map_position)w->position;
	t->origin = w->origin;
	t->options.origin = t->origin.given ? t->origin.at : NULL;
	t->options.sentence = w->sentence == 1 ? MAP_SENTENCE_INSATT : MAP_SENTENCE_GGA;
}

/* Another channel has that name by its automatic form, or has it where this one's form would be. */
static bool is_taken(struct sim_bridge *b, const char *channel, const char *name, bool automatic, char *why,
		     size_t why_size)
{
	const struct ros2_topic *other = NULL;

	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < b->n_topics && !other; i++) {
		const struct ros2_topic *t = b->topics[i];

		if ((automatic || t->automatic) && strcmp(t->texts, name) == 0 && strcmp(t->channel, channel) != 0)
			other = t;
	}
	if (other)
		snprintf(why, why_size,
			 "it would go out as %s, as channel %s does: give one of them a name of its own, with \"ros2\": "
			 "{\"topic\": ...} in the options of the channel",
			 name, other->channel);
	pthread_mutex_unlock(&b->lock);
	return other != NULL;
}

/* Under which name; into buf where the channel's own is none in ROS. -EINVAL with a sentence. */
static int choose_name(struct sim_bridge *b, const struct sim_bridge_channel *ch, const struct topic_options *w,
		       char buf[TOPIC_NAME_MAX + 1], const char **ret, char *why, size_t why_size)
{
	const char *name = w->topic ? w->topic : ch->name;
	bool automatic = false;

	if (!topic_name_ok(name)) {
		automatic = !b->strict_names && topic_name_auto(name, buf);
		if (!automatic) {
			topic_name_bad(name, why, why_size);
			return -EINVAL;
		}
		name = buf;
	}
	if (is_taken(b, ch->name, name, automatic, why, why_size))
		return -EINVAL;
	*ret = name;
	return automatic;
}

int ros2_topic_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, const struct topic_options *w,
		    struct ros2_topic **ret, char *why, size_t why_size)
{
	char buf[TOPIC_NAME_MAX + 1];
	const char *name;
	struct ros2_topic *t;
	struct ros2_qos q;
	int r, automatic = choose_name(b, ch, w, buf, &name, why, why_size);

	if (automatic < 0)
		return automatic;
	if (b->sim_time.on && strcmp(name, "/clock") == 0) {
		snprintf(why, why_size,
			 "use_sim_time is on: /clock comes from the graph, and this bridge must not send it");
		return -EINVAL;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->bridge = b;
	t->automatic = automatic > 0;
	set_options(t, w);
	r = conversion_out_open(b->host, ros2_types, ch->type, w->type, &t->conversion, why, why_size);
	if (r == 0 && b->before_1_8)
		r = conversion_out_before_1_8(&t->conversion, ros2_types, &t->options.no_predictions, why, why_size);
	if (r == 0 && is_tf_static(name) && t->conversion.map && strcmp(t->conversion.map->sim, "sim/Transforms") == 0)
		r = static_frames_create(&t->static_frames);
	if (r == 0)
		r = keep_texts(t, name, ch->name, w);
	if (r == 0) {
		q = ros2_qos_of(w, default_qos(name, t->conversion.type->name, t->static_frames));
		t->keeps = q.transient_local;
		t->reliable = q.reliable;
		log_conversion(b, ch, t);
		r = create_writer(b, t, &q);
	}
	if (r == 0)
		r = publish_new(b, t);
	if (r < 0)
		topic_free(t);
	else
		*ret = t;
	return r;
}

void ros2_topic_close(struct sim_bridge *b, struct ros2_topic *t)
{
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

static struct iov_buf *out_get(struct sim_bridge *b)
{
	struct iov_buf *o = NULL;

	pthread_mutex_lock(&b->lock);
	if (b->n_outs)
		o = b->outs[--b->n_outs];
	pthread_mutex_unlock(&b->lock);
	if (!o && (o = malloc(sizeof(*o))))
		iov_buf_init(o);
	return o;
}

static void out_put(struct sim_bridge *b, struct iov_buf *o)
{
	pthread_mutex_lock(&b->lock);
	if (b->n_outs < ROS2_OUTS_MAX) {
		b->outs[b->n_outs++] = o;
		o = NULL;
	}
	pthread_mutex_unlock(&b->lock);
	if (o)
		iov_buf_finish(o);
	free(o);
}

/* Once for a topic: it will not be better with the next message. */
static void log_failure(struct sim_bridge *b, struct ros2_topic *t, int r, const char *why)
{
	if (!t->conversion.converter || atomic_exchange(&t->failure_logged, 1))
		return;
	if (why[0])
		log_error(b, "%s: its converter to %s does not follow the definition: %s", t->texts,
			  t->conversion.type->name, why);
	else
		log_warn(b, "%s: its converter to %s has failed: %s", t->texts, t->conversion.type->name, strerror(-r));
}

static int write_one(struct sim_bridge *b, struct ros2_topic *t, struct map_message *in)
{
	struct enc_wire w;
	struct iov_buf *o;
	char why[256];
	int r;

	if (!t->keeps && !atomic_load(&t->readers)) {
		atomic_fetch_add(&b->skipped, 1);
		return 0;
	}
	o = out_get(b);
	if (!o)
		return -ENOMEM;
	in->options = &t->options;
	wire_begin(&w, WIRE_CDR, o);
	r = conversion_out_emit(&t->conversion, in, &w.enc, why, sizeof(why));
	if (r < 0)
		log_failure(b, t, r, why);
	if (r == 0)
		r = wire_finish(&w);
	if (r == 0)
		r = ros2_errno(ros2_large_write(b, t, o));
	if (r == 0)
		atomic_fetch_add(&b->converted, 1);
	out_put(b, o);
	return r;
}

int ros2_topic_write(struct sim_bridge *b, struct ros2_topic *t, struct map_message *in)
{
	struct map_message all = *in;
	int r;

	if (!t->static_frames)
		return write_one(b, t, in);
	r = static_frames_lock_and_add(t->static_frames, &all);
	if (r == 0)
		r = write_one(b, t, &all);
	static_frames_unlock(t->static_frames);
	return r;
}
