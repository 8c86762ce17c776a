/* SPDX-License-Identifier: Apache-2.0 */
/* See subscription.h. */
#include "subscription.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "ros/ros_type.h"
#include "ros1.h"
#include "timeutil.h"

#define ASK_DUR_NS       (3 * NS_PER_S)
#define PAUSE_MIN_DUR_NS (100 * NS_PER_MS)
#define PAUSE_MAX_DUR_NS (10 * NS_PER_S)

/* ---- links ---- */

/* The publisher is gone, or its messages are not wanted any longer. */
static void drop(struct link *l)
{
	struct link **at = &l->subscription->list;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	ask_cancel(l->ask);
	exec_timer_cancel(&l->due);
	incoming_end(l->connection);
	free(l);
}

void link_lost(struct link *l, bool greeted)
{
	struct exec *x = l->subscription->bridge->x;

	if (l->ours)
		return;
	if (greeted)
		l->pause_dur_ns = PAUSE_MIN_DUR_NS;
	exec_timer_at(&l->due, exec_now(x) + l->pause_dur_ns);
	l->pause_dur_ns = 2 * l->pause_dur_ns < PAUSE_MAX_DUR_NS ? 2 * l->pause_dur_ns : PAUSE_MAX_DUR_NS;
}

static void not_read(struct link *l, const char *why)
{
	char text[STREAM_WHY_MAX + 100];

	snprintf(text, sizeof(text), "%s", why);
	log_printable(text);
	log_stranger(l->subscription->bridge, 1, "%s: its publisher at %s cannot be read: %s", l->subscription->in.name,
		     l->uri, text);
	link_lost(l, false);
}

/* [1, text, ["TCPROS", host, port]] */
static bool read_place(const struct xmlrpc_value *v, struct address *ret)
{
	const struct xmlrpc_value *p = xmlrpc_at(v, 2);
	int64_t port = xmlrpc_int(xmlrpc_at(p, 2), 0);

	snprintf(ret->host, sizeof(ret->host), "%.250s", xmlrpc_text(xmlrpc_at(p, 1)));
	ret->port = (unsigned)port;
	return xmlrpc_int(xmlrpc_at(v, 0), 0) == 1 && strcmp(xmlrpc_text(xmlrpc_at(p, 0)), "TCPROS") == 0 && port > 0 &&
	       port <= UINT16_MAX;
}

static void on_place(void *arg, int r, struct xmlrpc_doc *d, const char *why)
{
	struct link *l = arg;
	const struct xmlrpc_value *v = d ? xmlrpc_at(d->params, 0) : NULL;
	char text[STREAM_WHY_MAX];
	struct address at;

	l->ask = NULL;
	if (r == 0 && !read_place(v, &at)) {
		snprintf(text, sizeof(text), "it does not offer TCPROS: %.100s", xmlrpc_text(xmlrpc_at(v, 1)));
		r = -EPROTO;
	} else if (r == 0) {
		r = incoming_open(l->subscription->bridge, l, &at, text);
	} else {
		snprintf(text, sizeof(text), "%s", why);
	}
	xmlrpc_free(d);
	if (r < 0)
		not_read(l, text);
}

/* Asks the publisher for its TCPROS address. */
static void make(void *arg)
{
	struct link *l = arg;
	struct sim_bridge *b = l->subscription->bridge;
	struct xmlrpc_writer w = { .text = NULL };

	xmlrpc_call(&w, "requestTopic");
	xmlrpc_put_text(&w, b->names.node);
	xmlrpc_put_text(&w, l->subscription->in.name);
	xmlrpc_array(&w);
	xmlrpc_array(&w);
	xmlrpc_put_text(&w, "TCPROS");
	xmlrpc_array_end(&w);
	xmlrpc_array_end(&w);
	l->ask = ask_start(b, b->publisher_names, l->uri, &w, ASK_DUR_NS, on_place, l);
	if (!l->ask)
		not_read(l, "no memory");
}

static void add(struct subscription *s, const char *uri)
{
	struct link **at = &s->list, *l;
	unsigned n = 0;

	for (; *at; at = &(*at)->next, n++)
		if (strcmp((*at)->uri, uri) == 0)
			return;
	l = n < SUBSCRIPTION_LINKS_MAX ? calloc(1, sizeof(*l)) : NULL;
	if (!l)
		return;
	l->subscription = s;
	l->pause_dur_ns = PAUSE_MIN_DUR_NS;
	snprintf(l->uri, sizeof(l->uri), "%s", uri);
	exec_timer_init(&l->due, s->bridge->x, make, l);
	*at = l;
	make(l);
}

static bool is_listed(const struct xmlrpc_value *uris, const char *uri)
{
	for (const struct xmlrpc_value *v = uris->first; v; v = v->next)
		if (strcmp(xmlrpc_text(v), uri) == 0)
			return true;
	return false;
}

static void drop_others(struct subscription *s, const struct xmlrpc_value *uris)
{
	for (struct link *l = s->list, *next; l; l = next) {
		next = l->next;
		if (!uris || !is_listed(uris, l->uri))
			drop(l);
	}
}

void subscriptions_drop(struct sim_bridge *b)
{
	for (unsigned i = 0; i < b->links.n; i++)
		drop_others(&b->links.all[i], NULL);
}

void subscription_publishers(struct sim_bridge *b, const char *topic, const struct xmlrpc_value *uris, bool all)
{
	if (!uris || uris->kind != XMLRPC_ARRAY)
		return;
	for (unsigned i = 0; i < b->links.n; i++) {
		struct subscription *s = &b->links.all[i];

		if (!s->wanted || strcmp(s->in.name, topic) != 0)
			continue;
		if (all)
			drop_others(s, uris);
		for (const struct xmlrpc_value *v = uris->first; v; v = v->next)
			if (strlen(xmlrpc_text(v)) < ROS1_TEXT_MAX && strcmp(xmlrpc_text(v), b->uri) != 0)
				add(s, xmlrpc_text(v));
	}
}

/* ---- subscriptions ---- */

struct wanting {
	struct subscription *subscription;
	bool on;
};

static const char *type_name(const struct subscription *s)
{
	return !s->clock && atomic_load(&s->in.waits) && *s->in.type ? s->in.type : s->type->name;
}

static void want_on_loop(void *arg)
{
	const struct wanting *w = arg;
	struct subscription *s = w->subscription;
	struct sim_bridge *b = s->bridge;
	bool change = s->wanted != w->on;

	s->wanted = w->on;
	if (!w->on)
		drop_others(s, NULL);
	if (change && w->on && master_want(b, MASTER_SUBSCRIBES, s->in.name, type_name(s)) < 0)
		log_error(b, "%s cannot be read: no memory", s->in.name);
	else if (change && !w->on)
		master_unwant(b, MASTER_SUBSCRIBES, s->in.name);
}

static void want(struct subscription *s, bool on)
{
	exec_call(s->bridge->x, want_on_loop, &(struct wanting){ s, on });
}

void subscriptions_listen(struct sim_bridge *b, const char *channel, int on)
{
	for (unsigned i = 0; i < b->links.n; i++)
		if (!b->links.all[i].clock && strcmp(b->links.all[i].in.channel, channel) == 0)
			want(&b->links.all[i], on);
}

void subscription_learnt(struct subscription *s)
{
	want_on_loop(&(struct wanting){ s, false });
	node_has_news(s->bridge);
	topic_in_offer(&s->in);
}

void subscriptions_report(const struct sim_bridge *b, char *text, size_t size)
{
	const char *begin = "; waiting for a publisher that gives the type of";
	size_t n = strlen(text);

	for (unsigned i = 0; i < b->links.n && n < size; i++) {
		if (!atomic_load(&b->links.all[i].in.waits))
			continue;
		n += (size_t)snprintf(text + n, size - n, "%s %s", begin, b->links.all[i].in.name);
		begin = ",";
	}
}

/*
 * Subscribes until a publisher gives the type, whether or not the channel has subscribers: it cannot be offered before.
 */
static void wait_for_type(struct subscription *s)
{
	static const struct ros_type any = { .name = "*", .kind = "msg", .hash = "*", .definition = "" };

	s->type = &any;
	s->bridge->links.late = true;
	want(s, true);
}

static int subscribe(void *bridge, const char *topic, const struct topic_options *w, struct topic_in **ret, char *why,
		     size_t why_size)
{
	struct sim_bridge *b = bridge;
	struct subscription *s = &b->links.all[b->links.n++];
	int r;

	s->bridge = b;
	*ret = &s->in;
	r = topic_in_open(&b->common, topic, w, &s->in, why, why_size);
	s->type = s->in.conversion.type;
	if (r == 0 && atomic_load(&s->in.waits))
		wait_for_type(s);
	if (r == 0 && !*s->type->hash) {
		snprintf(why, why_size, "%s cannot be a message of ROS 1", s->type->name);
		return -EINVAL;
	}
	return r;
}

static void subscribe_clock(struct sim_bridge *b)
{
	struct subscription *s = &b->links.all[b->links.n++];

	s->bridge = b;
	s->clock = true;
	s->type = ros_type_find(ros1_types, "rosgraph_msgs/Clock");
	(void)names_resolve(&b->names, "/clock", s->in.name, (char[1]){ 0 }, 1);
	want(s, true);
}

int subscriptions_open(struct sim_bridge *b)
{
	int r;

	b->common.subscribe = subscribe;
	r = topics_read_subscribe(&b->common);
	if (r == 0)
		r = far_time_open(&b->sim_time.far, b->host, "ros1-sim-time");
	if (r == 0 && b->sim_time.far.on)
		subscribe_clock(b);
	return r;
}

void subscriptions_close(struct sim_bridge *b)
{
	far_time_close(&b->sim_time.far);
	for (; b->links.n; b->links.n--)
		if (!b->links.all[b->links.n - 1].clock)
			topic_in_close(&b->links.all[b->links.n - 1].in);
}
