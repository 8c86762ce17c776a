/* SPDX-License-Identifier: Apache-2.0 */
/* Outgoing topics: advertised, converted, queued. And subscriptions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "enc_json.h"
#include "ros/ros_type.h"
#include "rosbridge.h"

int rosbridge_say(struct sim_bridge *b, enum outbox_place place, const char *text, struct iov_buf *body)
{
	int r = outbox_say(&b->outbox, place, text, strlen(text), body, body ? body->total : 0);

	if (r < 0)
		log_error(b, "cannot send to the server: %s: %.100s", strerror(-r), text);
	else
		rosbridge_link_wake(b);
	return r < 0 ? r : 0;
}

/* "sensor_msgs/msg/Imu" in ROS 2, "sensor_msgs/Imu" else. */
void rosbridge_type_name(const struct sim_bridge *b, const struct ros_type *t, char *ret, size_t size)
{
	const char *slash = strchr(t->name, '/');

	if (b->flavour == FLAVOUR_ROS2 && slash)
		snprintf(ret, size, "%.*s/%s%s", (int)(slash - t->name), t->name, t->kind, slash);
	else
		snprintf(ret, size, "%s", t->name);
}

/* ---- out ---- */

/* Whether messages are useful only while new: time and commands. */
static bool is_urgent(const char *type)
{
	static const char *const types[] = { "sim/Clock", "sim/VehicleControl", "sim/VehicleState" };
	size_t len = strlen(type);

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return len > 7 && strcmp(type + len - 7, "Command") == 0;
}

/* Announcements of a topic keep their order with its messages. */
static enum outbox_place place_of(const struct rosbridge_topic *t)
{
	return t->queue->options.urgent ? OUTBOX_URGENT : OUTBOX_LAST;
}

static void advertise(struct sim_bridge *b, struct rosbridge_topic *t, bool latch)
{
	char text[ROSBRIDGE_HEAD_MAX], type[TOPIC_NAME_MAX + 8];

	rosbridge_type_name(b, t->out.conversion.type, type, sizeof(type));
	snprintf(text, sizeof(text), "{\"op\":\"advertise\",\"topic\":\"%s\",\"type\":\"%s\"%s}", t->out.name, type,
		 latch ? ",\"latch\":true" : "");
	t->connection = atomic_load(&b->connection);
	(void)rosbridge_say(b, place_of(t), text, NULL);
}

void rosbridge_topic_close(void *bridge, struct topic_out *out)
{
	struct rosbridge_topic *t = (struct rosbridge_topic *)(void *)out;
	struct sim_bridge *b = bridge;
	char text[ROSBRIDGE_HEAD_MAX];

	if (t->connection == atomic_load(&b->connection)) {
		snprintf(text, sizeof(text), "{\"op\":\"unadvertise\",\"topic\":\"%s\"}", out->name);
		(void)rosbridge_say(b, place_of(t), text, NULL);
	}
	outbox_topic_destroy(&b->outbox, t->queue);
	topic_out_close(out);
	free(t);
}

int rosbridge_topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
			 struct topic_out **ret, char *why, size_t why_size)
{
	struct sim_bridge *b = bridge;
	struct rosbridge_topic *t = calloc(1, sizeof(*t));
	struct outbox_topic_options queue = { 0 };
	bool latch;
	int r;

	if (!t)
		return -ENOMEM;
	queue.urgent = is_urgent(ch->type->name);
	queue.stale = strcmp(ch->type->name, "sim/Clock") == 0;
	queue.max = w->depth ? (unsigned)w->depth : queue.stale;
	r = topic_out_open(&b->common, ch, w, &t->out, why, why_size);
	if (r == 0 && w->depth > (int)OUTBOX_MAX) {
		snprintf(why, why_size, "\"queue\" must be a whole number from 1 to %u", OUTBOX_MAX);
		r = -EINVAL;
	}
	/* "*" in the rig includes /clock, so that is no error */
	if (r == 0 && b->sim_time.on && strcmp(t->out.name, "/clock") == 0)
		r = far_time_refuse(&t->out, "the server", why, why_size);
	if (r == 0)
		r = outbox_topic_create(&b->outbox, t->out.name, &queue, &t->queue);
	if (r < 0) {
		rosbridge_topic_close(b, &t->out);
		return r;
	}
	t->out.keeps = latch = w->latch < 0 ? topic_is_tf_static(t->out.name) : w->latch > 0;
	/* of a latched topic the last message counts, which must not be throttled */
	if (!latch && !t->out.static_frames)
		t->throttle_dur_ms = w->throttle_ms;
	advertise(b, t, latch);
	*ret = &t->out;
	return 0;
}

/* Encodes as JSON, entirely in the buffer: the slot is not needed any longer. */
static int encode(struct sim_bridge *b, struct rosbridge_topic *t, const struct map_message *in, struct iov_buf **ret)
{
	struct iov_buf *o = topics_get_buf(&b->common);
	struct enc_json j;
	int r;

	if (!o)
		return -ENOMEM;
	iov_buf_reset(o);
	json_begin(&j, b->flavour == FLAVOUR_ROS2 ? ROS_GENERIC_ROS2 : ROS_GENERIC_ROS1, b->nan, t->out.conversion.type,
		   o);
	r = topic_out_emit(&t->out, in, &j.enc);
	if (r == 0)
		r = json_finish(&j);
	if (r < 0)
		topics_put_buf(&b->common, o);
	else
		*ret = o;
	return r;
}

static int put(struct sim_bridge *b, struct rosbridge_topic *t, struct iov_buf *o, bool *wake)
{
	bool wakes = false;
	int r = outbox_put(&b->outbox, t->queue, o, o->total, NULL, &wakes);

	*wake |= wakes;
	return r;
}

/* /tf_static: the order in which frames are added is that in which they are sent, as the last message stands. */
static int put_static(struct sim_bridge *b, struct rosbridge_topic *t, const struct map_message *in, bool *wake)
{
	struct map_message all = *in;
	struct iov_buf *o;
	int r = topic_out_begin_frames(&t->out, &all);

	if (r > 0) {
		r = encode(b, t, &all, &o);
		if (r == 0)
			r = put(b, t, o, wake);
	}
	topic_out_end_frames(&t->out, r);
	return r;
}

/*
 * Throttles by the wall clock, as the server does: drops a message before the next is due. Called by several lanes at
 * once.
 */
static bool is_due(struct rosbridge_topic *t)
{
	int64_t now = rosbridge_mono_ms(), due = atomic_load(&t->due_mono_ms), next;

	if (t->throttle_dur_ms <= 0)
		return true;
	if (now < due)
		return false;
	next = now - due < t->throttle_dur_ms ? due + t->throttle_dur_ms : now + t->throttle_dur_ms;
	return atomic_compare_exchange_strong(&t->due_mono_ms, &due, next);
}

/* Converts in parallel, queues in order. */
int rosbridge_write(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
		    struct sim_task *task)
{
	struct map_message in = topic_message(m);
	struct iov_buf *o[TOPICS_FAN_MAX];
	int r[TOPICS_FAN_MAX], first = 0;
	bool wake = false;

	for (unsigned i = 0; i < t->n; i++) {
		struct rosbridge_topic *one = (struct rosbridge_topic *)(void *)t->out[i];

		o[i] = NULL;
		r[i] = !one->out.static_frames && is_due(one) ? encode(b, one, &in, &o[i]) : 0;
	}
	if (SIM_BRIDGE_HOST_HAS(b->host, in_order))
		b->host->in_order(b->host->ctx, task);
	for (unsigned i = 0; i < t->n; i++) {
		struct rosbridge_topic *one = (struct rosbridge_topic *)(void *)t->out[i];

		if (one->out.static_frames)
			r[i] = put_static(b, one, &in, &wake);
		else if (o[i])
			r[i] = put(b, one, o[i], &wake);
		first = first < 0 ? first : r[i];
	}
	if (wake)
		rosbridge_link_wake(b);
	return first;
}

/* ---- in ---- */

int rosbridge_subscribe(void *bridge, const char *topic, const struct topic_options *w, struct topic_in **ret,
			char *why, size_t why_size)
{
	struct sim_bridge *b = bridge;
	struct rosbridge_in *in = &b->in[b->n_in++];
	int r = topic_in_open(&b->common, topic, w, &in->in, why, why_size);

	*ret = &in->in;
	in->throttle_ms = w->throttle_ms;
	in->queue_length = w->queue_length;
	in->compression = w->compression < 0 ? COMPRESSION_NONE : (enum compression)w->compression;
	return r;
}

static void ask_for(struct sim_bridge *b, struct rosbridge_in *in)
{
	static const char *const compressions[] = { "none", "cbor", "cbor-raw" };
	char text[ROSBRIDGE_HEAD_MAX + 128], type[TOPIC_NAME_MAX + 8], more[128] = "";
	size_t n = 0;

	rosbridge_type_name(b, in->in.conversion.type, type, sizeof(type));
	if (in->throttle_ms >= 0)
		n += (size_t)snprintf(more, sizeof(more), ",\"throttle_rate\":%ld", in->throttle_ms);
	if (in->queue_length >= 0)
		n += (size_t)snprintf(more + n, sizeof(more) - n, ",\"queue_length\":%ld", in->queue_length);
	if (in->compression != COMPRESSION_NONE)
		snprintf(more + n, sizeof(more) - n, ",\"compression\":\"%s\"", compressions[in->compression]);
	snprintf(text, sizeof(text), "{\"op\":\"subscribe\",\"topic\":\"%s\",\"type\":\"%s\"%s}", in->in.name, type,
		 more);
	(void)rosbridge_say(b, OUTBOX_LAST, text, NULL);
}

void rosbridge_listen(struct sim_bridge *b, const char *channel, int on)
{
	unsigned connection = atomic_load(&b->connection);
	char text[ROSBRIDGE_HEAD_MAX];

	for (unsigned i = 0; i < b->n_in; i++) {
		struct rosbridge_in *in = &b->in[i];
		unsigned had;

		if (strcmp(in->in.channel, channel) != 0)
			continue;
		had = atomic_exchange(&in->connection, on ? connection : 0);
		if (on && had != connection) {
			ask_for(b, in);
		} else if (!on && had == connection) {
			snprintf(text, sizeof(text), "{\"op\":\"unsubscribe\",\"topic\":\"%s\"}", in->in.name);
			(void)rosbridge_say(b, OUTBOX_LAST, text, NULL);
		}
	}
}
