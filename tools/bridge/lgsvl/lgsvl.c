/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bridge_lgsvl: sends channels to an lgsvl_bridge, SVL Simulator's way into ROS 2, which publishes them there. Lanes
 * convert; the link's thread writes, large messages directly from the slot, and reads. Nothing is dropped: a sender
 * with too many queued messages waits for the peer. See README.md.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "ros/ros_type.h"
#include "topics.h"

#define LGSVL_IN_MAX (32u << 20) /* largest incoming message; only the used part of the buffer takes memory */

#define WAITING_MAX 10u /* queued small messages of a topic; a sender with more waits */

struct lgsvl_topic {
	struct topic_out out; /* first member */
	struct outbox_topic *queue;
};

struct lgsvl_in {
	struct topic_in in; /* first member */
	_Atomic bool listened;
};

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct topics common;
	struct lgsvl_in in[TOPICS_IN_MAX];
	unsigned n_in;
	struct tcp_link link;
};

static const struct sim_bridge_option options[] = {
	{ "connect_ms", "5000", "how long to wait for the connection, ms; 1 to 600000" },
	{ "stall_ms", "5000", "how long the peer may take nothing before the connection ends, ms; 1 to 600000" },
	{ "names", "automatic",
	  "channel names that ROS does not allow: automatic: /radar/0 is sent as /radar/n0; strict: not sent" },
	{ "autoware_msgs", "1.8",
	  "1.8: messages as from autoware_msgs 1.8.0 on; 1.7: before, a TrafficLightGroup without predictions" },
	TOPICS_OPTION_COMPAT,
	{ "subscribe", "{}", "topics to subscribe to: {\"/topic\": {\"type\": ..., \"channel\": ...}}" },
	{ NULL, NULL, NULL },
};

/* ---- topics ---- */

static struct lgsvl_topic *topic_of(struct topic_out *t)
{
	return (struct lgsvl_topic *)(void *)t;
}

static void topic_close(void *bridge, struct topic_out *t)
{
	struct sim_bridge *b = bridge;

	outbox_topic_destroy(&b->link.outbox, topic_of(t)->queue);
	topic_out_close(t);
	free(t);
}

static int topic_open(void *bridge, const struct sim_bridge_channel *ch, const struct topic_options *w,
		      struct topic_out **ret, char *why, size_t why_size)
{
	static const struct outbox_topic_options plain;
	struct sim_bridge *b = bridge;
	struct lgsvl_topic *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = topic_out_open(&b->common, ch, w, &t->out, why, why_size);
	if (r == 0)
		r = outbox_topic_create(&b->link.outbox, t->out.name, &plain, &t->queue);
	if (r == 0)
		r = tcp_link_say_add(&b->link, frame_lgsvl.writer, t->out.name, t->out.conversion.type->name);
	if (r == 0)
		*ret = &t->out;
	else
		topic_close(b, &t->out);
	return r;
}

static int subscribe(void *bridge, const char *topic, const struct topic_options *w, struct topic_in **ret, char *why,
		     size_t why_size)
{
	struct sim_bridge *b = bridge;

	*ret = &b->in[b->n_in++].in;
	return topic_in_open(&b->common, topic, w, *ret, why, why_size);
}

static void lgsvl_listen(struct sim_bridge *b, const char *channel, int on)
{
	for (unsigned i = 0; i < b->n_in; i++) {
		struct topic_in *in = &b->in[i].in;

		if (strcmp(in->channel, channel) != 0)
			continue;
		atomic_store(&b->in[i].listened, on != 0);
		if (on && tcp_link_say_add(&b->link, frame_lgsvl.reader, in->name, in->conversion.type->name) < 0)
			log_at(b, 0, "%s cannot be asked for: its name or type is too long", in->name);
	}
}

/* ---- the link ---- */

static void on_status(void *arg, enum sim_bridge_status status, const char *text)
{
	struct sim_bridge *b = arg;

	b->host->status(b->host->ctx, status, text);
	if (status == SIM_BRIDGE_CONNECTED)
		topics_offer(&b->common);
}

static void take(void *arg, const struct frame *f)
{
	struct sim_bridge *b = arg;

	for (unsigned i = 0; i < b->n_in; i++) {
		struct lgsvl_in *in = &b->in[i];

		if (strlen(in->in.name) != f->topic_len || memcmp(in->in.name, f->topic, f->topic_len) != 0 ||
		    !atomic_load(&in->listened))
			continue;
		if (f->message)
			topic_in_take(&in->in, f->message, f->len);
		else
			topic_in_drop(&in->in, -EMSGSIZE);
	}
}

static struct iov_buf *get_buf(void *arg)
{
	struct sim_bridge *b = arg;
	struct iov_buf *o = topics_get_buf(&b->common);

	if (o)
		iov_buf_reset(o);
	return o;
}

static void put_buf(void *arg, struct iov_buf *o)
{
	struct sim_bridge *b = arg;

	topics_put_buf(&b->common, o);
}

static void answer(void *arg, struct sim_task *task, int result)
{
	struct sim_bridge *b = arg;

	b->host->complete(b->host->ctx, task, result);
}

static const struct tcp_link_ops link_ops = { .dialect = &frame_lgsvl,
					      .thread = "lgsvl",
					      .body_max = LGSVL_IN_MAX,
					      .status = on_status,
					      .take = take,
					      .get_buf = get_buf,
					      .put_buf = put_buf,
					      .answer = answer };

/* ---- the plug-in ---- */

static int read_options(struct sim_bridge *b)
{
	static const char *const autoware[] = { "1.8", "1.7", NULL };
	static const char *const names[] = { "automatic", "strict", "", NULL };
	int connect = bridge_option_number(b->host, "connect_ms", 1, 600000, "ms", &b->link.connect_ms);
	int stall = bridge_option_number(b->host, "stall_ms", 1, 600000, "ms", &b->link.stall_ms);
	int naming = bridge_option_word(b->host, "names", names, "one of automatic, strict");
	int msgs = bridge_option_word(b->host, "autoware_msgs", autoware,
				      "1.8 (autoware_msgs 1.8.0 and later) or 1.7 (before)");
	int compat = bridge_option_compat(b->host);

	b->common.svl = compat > 0;
	b->common.strict_names = naming == 1;
	b->common.before_1_8 = msgs == 1;
	b->link.outbox.max = WAITING_MAX;
	b->link.outbox.wait = true;
	b->link.outbox.wait_ms = b->link.stall_ms;
	return connect < 0 || stall < 0 || naming < 0 || msgs < 0 || compat < 0 ? -EINVAL : 0;
}

static int read_connection(struct sim_bridge *b, const char *connection)
{
	char why[200];
	int r = tcp_link_address(connection, &b->link.address, why, sizeof(why));

	if (r < 0)
		log_at(b, 0, "connection: %s", why);
	return r;
}

static void set_common(struct sim_bridge *b)
{
	b->common = (struct topics){ .host = b->host,
				     .arg = b,
				     .known = ros2_types,
				     .key = "lgsvl",
				     .format = WIRE_POSITIONAL,
				     .open = topic_open,
				     .close = topic_close,
				     .subscribe = subscribe };
}

static int lgsvl_check(const struct sim_bridge_host *host, const char *connection)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r, e;

	if (!b)
		return -ENOMEM;
	b->host = host;
	set_common(b);
	r = read_options(b);
	e = read_connection(b, connection);
	if (r == 0)
		r = topics_check(&b->common, false);
	free(b);
	return r < 0 ? r : e;
}

static void lgsvl_destroy(struct sim_bridge *b)
{
	tcp_link_finish(&b->link);
	for (unsigned i = 0; i < b->n_in; i++)
		topic_in_close(&b->in[i].in);
	topics_finish(&b->common);
	free(b);
}

static int lgsvl_create(const struct sim_bridge_host *host, struct sim_bridge **ret)
{
	struct sim_bridge *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->host = host;
	b->link.ops = &link_ops;
	b->link.arg = b;
	set_common(b);
	topics_init(&b->common);
	r = tcp_link_init(&b->link);
	if (r == 0)
		r = read_options(b);
	if (r == 0)
		r = topics_read_subscribe(&b->common);
	if (r < 0)
		lgsvl_destroy(b);
	else
		*ret = b;
	return r;
}

static int lgsvl_connect(struct sim_bridge *b, const char *connection)
{
	struct address address = b->link.address;
	int r;

	tcp_link_join(&b->link); /* the link's thread reads the address */
	r = read_connection(b, connection);
	if (r < 0)
		b->link.address = address;
	return r < 0 ? r : tcp_link_open(&b->link);
}

static void lgsvl_disconnect(struct sim_bridge *b)
{
	tcp_link_close(&b->link);
	atomic_store(&b->link.status, SIM_BRIDGE_DISCONNECTED);
	b->host->status(b->host->ctx, SIM_BRIDGE_DISCONNECTED, "");
}

static enum sim_bridge_status lgsvl_status(const struct sim_bridge *b)
{
	return (enum sim_bridge_status)atomic_load(&b->link.status);
}

static int lgsvl_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret)
{
	return topics_open_channel(&b->common, ch, ret);
}

static void lgsvl_close(struct sim_bridge *b, struct sim_bridge_topic *t)
{
	topics_close_channel(&b->common, t);
}

/* Sends /tf_static with all frames so far, in the order in which they were added. */
static int put_static(struct sim_bridge *b, struct topic_out *t, const struct map_message *in)
{
	struct map_message all = *in;
	struct iov_buf *o;
	int r = static_frames_lock_and_add(t->static_frames, &all);

	if (r == 0)
		r = topic_out_encode(t, &all, &o);
	if (r == 0)
		r = tcp_link_put(&b->link, topic_of(t)->queue, o, NULL);
	static_frames_unlock(t->static_frames);
	return r;
}

/*
 * Converts in parallel, sends in order. If a channel becomes several topics, their messages are copied, so that one
 * answer is enough.
 */
static int lgsvl_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m,
			 struct sim_task *task)
{
	struct map_message in = topic_message(m);
	struct iov_buf *o[TOPICS_FAN_MAX];
	int r[TOPICS_FAN_MAX], first = 0;

	for (unsigned i = 0; i < t->n; i++)
		r[i] = t->out[i]->static_frames ? 0 : topic_out_encode(t->out[i], &in, &o[i]);
	if (SIM_BRIDGE_HOST_HAS(b->host, in_order))
		b->host->in_order(b->host->ctx, task);
	for (unsigned i = 0; i < t->n; i++) {
		if (t->out[i]->static_frames)
			r[i] = put_static(b, t->out[i], &in);
		else if (r[i] == 0)
			r[i] = tcp_link_put(&b->link, topic_of(t->out[i])->queue, o[i], t->n == 1 ? task : NULL);
		first = first < 0 ? first : r[i];
	}
	return first;
}

SIM_API const struct sim_bridge_ops *sim_bridge_plugin(void);

const struct sim_bridge_ops *sim_bridge_plugin(void)
{
	static const struct sim_bridge_ops ops = {
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(ops),
		.name = "lgsvl",
		.type = "ROS 2 behind lgsvl_bridge",
		.options = options,
		.flags = SIM_BRIDGE_IN_ORDER,
		.reg = topics_register,
		.create = lgsvl_create,
		.connect = lgsvl_connect,
		.disconnect = lgsvl_disconnect,
		.status = lgsvl_status,
		.open = lgsvl_open,
		.close = lgsvl_close,
		.publish = lgsvl_publish,
		.destroy = lgsvl_destroy,
		.check = lgsvl_check,
		.listen = lgsvl_listen,
	};

	return &ops;
}
