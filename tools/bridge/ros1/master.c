/* SPDX-License-Identifier: Apache-2.0 */
/* See master.h. What is wanted and what is registered are compared: whatever happens meanwhile, the next turn puts it right. */
#include "master.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ros1.h"

#define CALL_DUR_NS      INT64_C(5000000000)
#define FAREWELL_DUR_NS  INT64_C(1000000000)
#define CHECK_DUR_NS     INT64_C(1000000000)
#define PAUSE_MIN_DUR_NS INT64_C(100000000)
#define PAUSE_MAX_DUR_NS INT64_C(5000000000)

/* ---- calls ---- */

/*
 * The code of the master's answer, [code, text, value]: 1 it is done; 0, -1 it refuses, with its text in why. Else a negative errno
 * below -1000 for what is no answer.
 */
#define NO_ANSWER (-1000)

static int call(struct sim_bridge *b, struct xmlrpc_writer *w, int64_t dur_ns, struct xmlrpc_doc **ret, char *why,
		size_t why_size)
{
	struct xmlrpc_doc *d = NULL;
	const struct xmlrpc_value *v;
	char uri[NET_TEXT_MAX];
	int r = xmlrpc_end(w), code;

	master_uri(b, uri);
	if (r == 0)
		r = net_call(uri, w, io_mono_ns() + dur_ns, b->master.stop_fd, &d, why, why_size);
	xmlrpc_writer_finish(w);
	if (r < 0)
		return NO_ANSWER + r;
	v = xmlrpc_at(d->params, 0);
	code = (int)xmlrpc_int(xmlrpc_at(v, 0), NO_ANSWER);
	if (code < -1 || code > 1) {
		snprintf(why, why_size, "its answer is not [code, text, value]: is it a ROS master?");
		code = NO_ANSWER - EPROTO;
	} else if (code < 1) {
		snprintf(why, why_size, "%.100s", xmlrpc_text(xmlrpc_at(v, 1)));
		log_printable(why);
	}
	if (code >= -1 && ret)
		*ret = d;
	else
		xmlrpc_free(d);
	return code;
}

static void start(struct sim_bridge *b, struct xmlrpc_writer *w, const char *method)
{
	xmlrpc_call(w, method);
	xmlrpc_put_text(w, b->names.node);
}

static int ask_pid(struct sim_bridge *b, char *why, size_t why_size)
{
	struct xmlrpc_writer w = { .text = NULL };

	start(b, &w, "getPid");
	return call(b, &w, CALL_DUR_NS, NULL, why, why_size);
}

static int set_use_sim_time(struct sim_bridge *b, char *why, size_t why_size)
{
	struct xmlrpc_writer w = { .text = NULL };

	start(b, &w, "setParam");
	xmlrpc_put_text(&w, "/use_sim_time");
	xmlrpc_put_bool(&w, true);
	return call(b, &w, CALL_DUR_NS, NULL, why, why_size);
}

static const struct {
	const char *on, *off;
} methods[] = {
	[MASTER_PUBLISHES] = { "registerPublisher", "unregisterPublisher" },
	[MASTER_SUBSCRIBES] = { "registerSubscriber", "unregisterSubscriber" },
	[MASTER_SERVES] = { "registerService", "unregisterService" },
};

static int register_one(struct sim_bridge *b, enum master_kind kind, const char *name, const char *type, char *why,
			size_t why_size)
{
	struct xmlrpc_writer w = { .text = NULL };
	struct xmlrpc_doc *d = NULL;
	int code;

	start(b, &w, methods[kind].on);
	xmlrpc_put_text(&w, name);
	xmlrpc_put_text(&w, kind == MASTER_SERVES ? b->rpc_uri : type);
	xmlrpc_put_text(&w, b->uri);
	code = call(b, &w, CALL_DUR_NS, &d, why, why_size);
	if (code == 1 && kind == MASTER_SUBSCRIBES) /* a master that was restarted does not know all of them yet */
		subscription_publishers(b, name, xmlrpc_at(xmlrpc_at(d->params, 0), 2), false);
	xmlrpc_free(d);
	return code;
}

static int unregister_one(struct sim_bridge *b, enum master_kind kind, const char *name, int64_t dur_ns, char *why,
			  size_t why_size)
{
	struct xmlrpc_writer w = { .text = NULL };

	start(b, &w, methods[kind].off);
	xmlrpc_put_text(&w, name);
	xmlrpc_put_text(&w, kind == MASTER_SERVES ? b->rpc_uri : b->uri);
	return call(b, &w, dur_ns, NULL, why, why_size);
}

/* Who has our name at the master: 1 we, 0 somebody else, -1 nobody; below: no answer. */
static int look_up(struct sim_bridge *b, char *why, size_t why_size)
{
	struct xmlrpc_writer w = { .text = NULL };
	struct xmlrpc_doc *d = NULL;
	int code;

	start(b, &w, "lookupNode");
	xmlrpc_put_text(&w, b->names.node);
	code = call(b, &w, CALL_DUR_NS, &d, why, why_size);
	if (code == 1)
		code = strcmp(xmlrpc_text(xmlrpc_at(xmlrpc_at(d->params, 0), 2)), b->uri) == 0;
	else if (code == 0)
		code = -1;
	xmlrpc_free(d);
	return code;
}

/* ---- names ---- */

static struct master_name *find(const struct master *m, enum master_kind kind, const char *name)
{
	struct master_name *n = m->names;

	while (n && (n->kind != kind || strcmp(n->name, name) != 0))
		n = n->next;
	return n;
}

static void forget(struct master *m, struct master_name *n)
{
	struct master_name **at = &m->names;

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	free(n->name);
	free(n->type);
	free(n);
}

int master_want(struct sim_bridge *b, enum master_kind kind, const char *name, const char *type)
{
	struct master *m = &b->master;
	struct master_name *n;

	pthread_mutex_lock(&m->lock);
	n = find(m, kind, name);
	if (!n && (n = calloc(1, sizeof(*n)))) {
		n->kind = kind;
		n->name = strdup(name);
		n->type = strdup(type);
		n->next = m->names;
		m->names = n;
		if (!n->name || !n->type) {
			forget(m, n);
			n = NULL;
		}
	}
	if (n)
		n->wanted++;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	return n ? 0 : -ENOMEM;
}

void master_unwant(struct sim_bridge *b, enum master_kind kind, const char *name)
{
	struct master *m = &b->master;
	struct master_name *n;

	pthread_mutex_lock(&m->lock);
	n = find(m, kind, name);
	if (n && n->wanted)
		n->wanted--;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

/* The lock is held. NULL: all is as it is wanted. */
static struct master_name *wrong_one(struct master *m)
{
	struct master_name *n = m->names;

	while (n && (n->wanted > 0) == n->registered) {
		struct master_name *next = n->next;

		if (!n->wanted)
			forget(m, n);
		n = next;
	}
	return n;
}

static bool any_registered(const struct master *m)
{
	const struct master_name *n = m->names;

	while (n && !n->registered)
		n = n->next;
	return n;
}

static void none_registered(struct master *m)
{
	for (struct master_name *n = m->names; n; n = n->next)
		n->registered = false;
}

/* ---- the thread ---- */

__attribute__((format(printf, 3, 4))) static void report(struct sim_bridge *b, enum sim_bridge_status status,
							 const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	atomic_store(&b->status, (int)status);
	b->host->status(b->host->ctx, status, text);
}

/* The lock is held. */
static void report_connected(struct sim_bridge *b)
{
	report(b, SIM_BRIDGE_CONNECTED, "node of the master at %.100s, as %.60s%s", b->master.uri, b->names.node,
	       b->master.more);
}

/* No answer: said once; the next try is after a pause that grows. Returns it. */
static int64_t lost(struct sim_bridge *b, int code, const char *why)
{
	struct master *m = &b->master;
	char uri[NET_TEXT_MAX];

	if (code == NO_ANSWER - ECANCELED)
		return 0;
	master_uri(b, uri);
	if (!m->thr.lost)
		m->thr.pause_dur_ns = PAUSE_MIN_DUR_NS;
	if (!m->thr.lost && !m->thr.contact)
		report(b, SIM_BRIDGE_CONNECTING, "no master at %.80s: %.80s", uri, why);
	else if (!m->thr.lost)
		log_warn(b, "the master at %s does not answer: %s; who is connected stays so", uri, why);
	m->thr.lost = true;
	m->thr.pause_dur_ns = 2 * m->thr.pause_dur_ns < PAUSE_MAX_DUR_NS ? 2 * m->thr.pause_dur_ns : PAUSE_MAX_DUR_NS;
	return m->thr.pause_dur_ns;
}

static int64_t make_contact(struct sim_bridge *b)
{
	struct master *m = &b->master;
	char why[256];
	int code = ask_pid(b, why, sizeof(why));

	if (code == 1 && m->use_sim_time)
		code = set_use_sim_time(b, why, sizeof(why));
	if (code != 1)
		return lost(b, code, why);
	m->thr.lost = false;
	m->thr.contact = true;
	m->thr.check_mono_ns = io_mono_ns() + CHECK_DUR_NS;
	node_serve(b, true);
	pthread_mutex_lock(&m->lock);
	if (m->on) /* not after who has disconnected us has said so */
		report_connected(b);
	pthread_mutex_unlock(&m->lock);
	return 0;
}

static int64_t put_right(struct sim_bridge *b, struct master_name *n)
{
	struct master *m = &b->master;
	char why[256], *name = strdup(n->name), *type = strdup(n->type);
	enum master_kind kind = n->kind;
	bool wanted = n->wanted > 0;
	int code = NO_ANSWER - ENOMEM;
	int64_t pause;

	snprintf(why, sizeof(why), "no memory");
	pthread_mutex_unlock(&m->lock);
	if (name && type)
		code = wanted ? register_one(b, kind, name, type, why, sizeof(why))
			      : unregister_one(b, kind, name, CALL_DUR_NS, why, sizeof(why));
	if (wanted && (code == 0 || code == -1))
		log_warn(b, "the master does not register %s: %s", name, why);
	pause = code >= -1 ? 0 : lost(b, code, why);
	pthread_mutex_lock(&m->lock);
	n = name ? find(m, kind, name) : NULL;
	if (n && code >= -1)
		n->registered = wanted;
	free(name);
	free(type);
	return pause;
}

static int64_t check(struct sim_bridge *b)
{
	struct master *m = &b->master;
	char why[256];
	int code = look_up(b, why, sizeof(why));

	if (code < -1)
		return lost(b, code, why);
	if (m->thr.lost)
		log_info(b, "the master answers again");
	m->thr.lost = false;
	m->thr.check_mono_ns = io_mono_ns() + CHECK_DUR_NS;
	if (code == 0) {
		master_shut_down(b, "another node has our name at the master");
	} else if (code == -1) {
		log_warn(b, "the master does not know %s any more: registering again", b->names.node);
		if (m->use_sim_time)
			(void)set_use_sim_time(b, why, sizeof(why));
		pthread_mutex_lock(&m->lock);
		none_registered(m);
		pthread_mutex_unlock(&m->lock);
	}
	return 0;
}

/* All names are taken back, as far as there is time. The lock is held. */
static void say_farewell(struct sim_bridge *b)
{
	struct master *m = &b->master;
	int64_t end = io_mono_ns() + FAREWELL_DUR_NS, left;
	int stop = m->stop_fd;

	m->stop_fd = -1; /* these calls are bounded otherwise */
	while (any_registered(m) && !m->thr.lost && (left = end - io_mono_ns()) > 0) {
		struct master_name *n = m->names;
		char *name, why[160];
		enum master_kind kind;

		while (!n->registered)
			n = n->next;
		n->registered = false;
		name = strdup(n->name);
		kind = n->kind;
		pthread_mutex_unlock(&m->lock);
		if (!name || unregister_one(b, kind, name, left, why, sizeof(why)) < -1)
			m->thr.lost = true;
		free(name);
		pthread_mutex_lock(&m->lock);
	}
	m->stop_fd = stop;
	none_registered(m);
	m->thr.contact = m->thr.lost = false;
}

/* Off, by the host or from outside. The lock is held. */
static void end_service(struct sim_bridge *b)
{
	struct master *m = &b->master;
	bool told = *m->shut_down;
	char why[128];

	snprintf(why, sizeof(why), "%s", m->shut_down);
	if (told)
		m->on = false;
	m->left = false;
	m->shut_down[0] = '\0';
	say_farewell(b);
	pthread_mutex_unlock(&m->lock);
	node_serve(b, false);
	if (told) {
		log_error(b, "node %s was shut down: %s; \"node\" in the bridge's options gives it another name",
			  b->names.node, why);
		report(b, SIM_BRIDGE_DISCONNECTED, "shut down: %.100s", why);
	}
	pthread_mutex_lock(&m->lock);
}

static void wait_ns(struct master *m, int64_t dur_ns)
{
	int64_t due = dur_ns == INT64_MAX ? dur_ns : io_mono_ns() + dur_ns;
	struct timespec t = { due / 1000000000, due % 1000000000 };

	if (dur_ns == INT64_MAX)
		pthread_cond_wait(&m->changed, &m->lock);
	else if (dur_ns > 0)
		pthread_cond_timedwait(&m->changed, &m->lock, &t);
}

/* One thing that is to be done; returns how long to wait then. The lock is held. */
static int64_t step(struct sim_bridge *b)
{
	struct master *m = &b->master;
	struct master_name *n;
	int64_t pause;

	if (*m->shut_down || ((!m->on || m->left) && (m->thr.contact || any_registered(m)))) {
		end_service(b);
		return 0;
	}
	m->left = false;
	if (!m->on)
		return INT64_MAX;
	n = m->thr.contact && !m->thr.lost ? wrong_one(m) : NULL;
	if (n)
		return put_right(b, n);
	if (m->thr.contact && !m->thr.lost && (!any_registered(m) || io_mono_ns() < m->thr.check_mono_ns))
		return any_registered(m) ? m->thr.check_mono_ns - io_mono_ns() : INT64_MAX;
	pthread_mutex_unlock(&m->lock);
	pause = m->thr.contact ? check(b) : make_contact(b);
	pthread_mutex_lock(&m->lock);
	return pause;
}

static void *master_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct master *m = &b->master;

	pthread_mutex_lock(&m->lock);
	while (!m->stop) {
		int64_t pause = step(b);

		if (!m->stop && pause)
			wait_ns(m, pause);
	}
	if (any_registered(m))
		say_farewell(b);
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/* ---- from outside ---- */

int master_open(struct sim_bridge *b)
{
	struct master *m = &b->master;
	pthread_condattr_t a;
	int r;

	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&m->changed, &a);
	pthread_condattr_destroy(&a);
	m->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = m->stop_fd < 0 ? -errno : -pthread_create(&m->thread, NULL, master_main, b);
	m->running = r == 0;
	if (m->running)
		pthread_setname_np(m->thread, "ros1-master");
	return r;
}

void master_close(struct sim_bridge *b)
{
	struct master *m = &b->master;

	if (m->running) {
		pthread_mutex_lock(&m->lock);
		m->stop = true;
		pthread_cond_broadcast(&m->changed);
		if (m->stop_fd >= 0)
			(void)eventfd_write(m->stop_fd, 1);
		pthread_mutex_unlock(&m->lock);
		pthread_join(m->thread, NULL);
		m->running = false;
	}
	while (m->names)
		forget(m, m->names);
	if (m->stop_fd > 0)
		close(m->stop_fd);
	m->stop_fd = 0;
}

void master_connect(struct sim_bridge *b, const char *uri)
{
	struct master *m = &b->master;

	pthread_mutex_lock(&m->lock);
	snprintf(m->uri, sizeof(m->uri), "%s", uri);
	m->on = true;
	m->shut_down[0] = '\0';
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

void master_disconnect(struct sim_bridge *b)
{
	struct master *m = &b->master;

	pthread_mutex_lock(&m->lock);
	m->on = false;
	m->left = true;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

void master_shut_down(struct sim_bridge *b, const char *why)
{
	struct master *m = &b->master;

	pthread_mutex_lock(&m->lock);
	if (m->on)
		snprintf(m->shut_down, sizeof(m->shut_down), "%s", *why ? why : "without a reason");
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

void master_report(struct sim_bridge *b, const char *more)
{
	pthread_mutex_lock(&b->master.lock);
	snprintf(b->master.more, sizeof(b->master.more), "%s", more);
	if (b->master.on && atomic_load(&b->status) == SIM_BRIDGE_CONNECTED)
		report_connected(b);
	pthread_mutex_unlock(&b->master.lock);
}

void master_uri(struct sim_bridge *b, char ret[NET_TEXT_MAX])
{
	pthread_mutex_lock(&b->master.lock);
	snprintf(ret, NET_TEXT_MAX, "%s", b->master.uri);
	pthread_mutex_unlock(&b->master.lock);
}
