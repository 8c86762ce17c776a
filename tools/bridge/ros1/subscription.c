/* SPDX-License-Identifier: Apache-2.0 */
/* See subscription.h. */
#include "subscription.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ros/ros_type.h"
#include "ros1.h"

#define ASK_DUR_NS       INT64_C(3000000000)
#define PAUSE_MIN_DUR_NS INT64_C(100000000)
#define PAUSE_MAX_DUR_NS INT64_C(10000000000)

/* ---- links; links.lock is held ---- */

static void unlink_it(struct link *l)
{
	struct link **at = &l->subscription->list;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	free(l);
}

/* It is no publisher any more, or nobody wants its messages. */
static void drop(struct link *l)
{
	l->gone = true;
	if (l->connection)
		shutdown(l->connection->io.fd, SHUT_RDWR); /* the I/O thread closes it */
	else if (!l->asking)
		unlink_it(l);
}

void link_lost(struct link *l)
{
	if (l->connection && l->connection->greeted)
		l->pause_dur_ns = PAUSE_MIN_DUR_NS;
	l->connection = NULL;
	if (l->gone && !l->asking) {
		unlink_it(l);
		return;
	}
	l->due_mono_ns = io_mono_ns() + l->pause_dur_ns;
	l->pause_dur_ns = 2 * l->pause_dur_ns < PAUSE_MAX_DUR_NS ? 2 * l->pause_dur_ns : PAUSE_MAX_DUR_NS;
	pthread_cond_broadcast(&l->subscription->bridge->links.changed);
}

static void add(struct subscription *s, const char *uri)
{
	struct link **at = &s->list, *l;
	unsigned n = 0;

	for (; *at; at = &(*at)->next, n++)
		if (strcmp((*at)->uri, uri) == 0 && !(*at)->gone)
			return;
	l = n < SUBSCRIPTION_LINKS_MAX ? calloc(1, sizeof(*l)) : NULL;
	if (!l)
		return;
	l->subscription = s;
	l->pause_dur_ns = PAUSE_MIN_DUR_NS;
	snprintf(l->uri, sizeof(l->uri), "%s", uri);
	*at = l;
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
		if (!l->gone && (!uris || !is_listed(uris, l->uri)))
			drop(l);
	}
}

void subscriptions_drop(struct sim_bridge *b)
{
	pthread_mutex_lock(&b->links.lock);
	for (unsigned i = 0; i < b->links.n; i++)
		drop_others(&b->links.all[i], NULL);
	pthread_mutex_unlock(&b->links.lock);
}

void subscription_publishers(struct sim_bridge *b, const char *topic, const struct xmlrpc_value *uris, bool all)
{
	if (!uris || uris->kind != XMLRPC_ARRAY)
		return;
	pthread_mutex_lock(&b->links.lock);
	for (unsigned i = 0; i < b->links.n; i++) {
		struct subscription *s = &b->links.all[i];

		if (!s->wanted || strcmp(s->in.name, topic) != 0)
			continue;
		if (all)
			drop_others(s, uris);
		for (const struct xmlrpc_value *v = uris->first; v; v = v->next)
			if (strlen(xmlrpc_text(v)) < NET_TEXT_MAX && strcmp(xmlrpc_text(v), b->uri) != 0)
				add(s, xmlrpc_text(v));
	}
	pthread_cond_broadcast(&b->links.changed);
	pthread_mutex_unlock(&b->links.lock);
}

/* ---- the thread ---- */

/* [1, text, ["TCPROS", host, port]] */
static int request(struct sim_bridge *b, const char *uri, const char *topic, char host[NET_TEXT_MAX], char *why,
		   size_t why_size)
{
	struct xmlrpc_writer w = { .text = NULL };
	struct xmlrpc_doc *d = NULL;
	const struct xmlrpc_value *v, *p;
	int r, port = -EPROTO;

	xmlrpc_call(&w, "requestTopic");
	xmlrpc_put_text(&w, b->names.node);
	xmlrpc_put_text(&w, topic);
	xmlrpc_array(&w);
	xmlrpc_array(&w);
	xmlrpc_put_text(&w, "TCPROS");
	xmlrpc_array_end(&w);
	xmlrpc_array_end(&w);
	r = xmlrpc_end(&w);
	if (r == 0)
		r = net_call(uri, &w, io_mono_ns() + ASK_DUR_NS, b->links.stop_fd, &d, why, why_size);
	xmlrpc_writer_finish(&w);
	if (r < 0)
		return r;
	v = xmlrpc_at(d->params, 0);
	p = xmlrpc_at(v, 2);
	snprintf(why, why_size, "it does not offer TCPROS: %.100s", xmlrpc_text(xmlrpc_at(v, 1)));
	if (xmlrpc_int(xmlrpc_at(v, 0), 0) == 1 && strcmp(xmlrpc_text(xmlrpc_at(p, 0)), "TCPROS") == 0 &&
	    xmlrpc_int(xmlrpc_at(p, 2), 0) > 0 && xmlrpc_int(xmlrpc_at(p, 2), 0) <= UINT16_MAX) {
		snprintf(host, NET_TEXT_MAX, "%.250s", xmlrpc_text(xmlrpc_at(p, 1)));
		port = (int)xmlrpc_int(xmlrpc_at(p, 2), 0);
	}
	xmlrpc_free(d);
	return port;
}

/* Ask for it and connect. The lock is held, but not meanwhile. */
static void make(struct sim_bridge *b, struct link *l)
{
	char why[256] = "", host[NET_TEXT_MAX], uri[NET_TEXT_MAX];
	const char *topic = l->subscription->in.name;
	int r, fd = -1;

	snprintf(uri, sizeof(uri), "%s", l->uri);
	l->asking = true;
	pthread_mutex_unlock(&b->links.lock);
	r = request(b, uri, topic, host, why, sizeof(why));
	if (r > 0)
		r = fd = net_connect(host, (unsigned)r, why, sizeof(why));
	if (r >= 0) {
		r = incoming_open(b, l, fd);
		if (r < 0)
			snprintf(why, sizeof(why), "%s", strerror(-r));
	}
	if (r < 0 && r != -ECANCELED) {
		log_printable(why);
		log_limited(b, 1, "%s: its publisher at %s cannot be read: %s", topic, uri, why);
	}
	pthread_mutex_lock(&b->links.lock);
	l->asking = false;
	if (!l->connection)
		link_lost(l);
	else if (l->gone)
		drop(l);
}

/* One that is due, NULL: none; when the next one is. */
static struct link *find_due(struct links *k, int64_t *ret_due)
{
	int64_t now = io_mono_ns();

	*ret_due = INT64_MAX;
	for (unsigned i = 0; i < k->n; i++)
		for (struct link *l = k->all[i].list; l; l = l->next) {
			if (l->connection || l->gone || l->ours)
				continue;
			if (l->due_mono_ns <= now)
				return l;
			*ret_due = l->due_mono_ns < *ret_due ? l->due_mono_ns : *ret_due;
		}
	return NULL;
}

static void *links_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct links *k = &b->links;

	pthread_mutex_lock(&k->lock);
	while (!k->stop) {
		int64_t due;
		struct link *l = find_due(k, &due);
		struct timespec t = { due / 1000000000, due % 1000000000 };

		if (l)
			make(b, l);
		else if (due == INT64_MAX)
			pthread_cond_wait(&k->changed, &k->lock);
		else
			pthread_cond_timedwait(&k->changed, &k->lock, &t);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

/* ---- subscriptions ---- */

static void want(struct sim_bridge *b, struct subscription *s, bool on)
{
	bool change;

	pthread_mutex_lock(&b->links.lock);
	change = s->wanted != on;
	s->wanted = on;
	if (!on)
		drop_others(s, NULL);
	pthread_mutex_unlock(&b->links.lock);
	if (change && on && master_want(b, MASTER_SUBSCRIBES, s->in.name, s->type->name) < 0)
		log_error(b, "%s cannot be read: no memory", s->in.name);
	else if (change && !on)
		master_unwant(b, MASTER_SUBSCRIBES, s->in.name);
}

void subscriptions_listen(struct sim_bridge *b, const char *channel, int on)
{
	for (unsigned i = 0; i < b->links.n; i++)
		if (!b->links.all[i].clock && strcmp(b->links.all[i].in.channel, channel) == 0)
			want(b, &b->links.all[i], on);
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
	want(b, s, true);
}

int subscriptions_open(struct sim_bridge *b)
{
	struct links *k = &b->links;
	pthread_condattr_t a;
	int r;

	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&k->changed, &a);
	pthread_condattr_destroy(&a);
	b->common.subscribe = subscribe;
	k->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = k->stop_fd < 0 ? -errno : topics_read_subscribe(&b->common);
	if (r == 0)
		r = far_time_open(&b->sim_time.far, b->host, "ros1-sim-time");
	if (r == 0 && b->sim_time.far.on)
		subscribe_clock(b);
	if (r == 0 && k->n) {
		r = -pthread_create(&k->thread, NULL, links_main, b);
		k->running = r == 0;
	}
	if (k->running)
		pthread_setname_np(k->thread, "ros1-links");
	return r;
}

void subscriptions_stop(struct sim_bridge *b)
{
	struct links *k = &b->links;

	if (!k->running)
		return;
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
	(void)eventfd_write(k->stop_fd, 1);
	pthread_join(k->thread, NULL);
	k->running = false;
}

void subscriptions_close(struct sim_bridge *b)
{
	struct links *k = &b->links;

	far_time_close(&b->sim_time.far);
	for (; k->n; k->n--) {
		struct subscription *s = &k->all[k->n - 1];

		while (s->list)
			unlink_it(s->list);
		if (!s->clock)
			topic_in_close(&s->in);
	}
	if (k->stop_fd > 0)
		close(k->stop_fd);
}
