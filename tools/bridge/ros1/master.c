/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See master.h. Each turn compares what is wanted with what is registered and corrects one difference, so that changes
 * at any time are caught up.
 */
#include "master.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "ros1.h"
#include "timeutil.h"

#define CALL_DUR_NS      (5 * NS_PER_S)
#define FAREWELL_DUR_NS  NS_PER_S
#define CHECK_DUR_NS     NS_PER_S
#define PAUSE_MIN_DUR_NS (100 * NS_PER_MS)
#define PAUSE_MAX_DUR_NS (5 * NS_PER_S)

/* ---- calls ---- */

/*
 * Code of the master's answer, [code, text, value]: 1 done; 0 or -1 refused, with its text in why. If there was no
 * valid answer: NO_ANSWER plus a negative errno.
 */
#define NO_ANSWER (-1000)

static void wait_ns(struct sim_bridge *b, int64_t dur_ns)
{
	if (dur_ns != INT64_MAX)
		exec_timer_at(&b->master.due, ns_add(exec_now(b->x), dur_ns));
}

static void on_answer(void *arg, int r, struct xmlrpc_doc *d, const char *why)
{
	struct sim_bridge *b = arg;
	const struct xmlrpc_value *v = d ? xmlrpc_at(d->params, 0) : NULL;
	int code = r < 0 ? NO_ANSWER + r : (int)xmlrpc_int(xmlrpc_at(v, 0), NO_ANSWER);
	char text[256];

	b->master.ask = NULL;
	snprintf(text, sizeof(text), "%s", r < 0 ? why : "its answer is not [code, text, value]: is it a ROS master?");
	if (r == 0 && (code < -1 || code > 1)) {
		code = NO_ANSWER - EPROTO;
	} else if (r == 0) {
		snprintf(text, sizeof(text), "%.100s", xmlrpc_text(xmlrpc_at(v, 1)));
		log_printable(text);
	}
	wait_ns(b, b->master.then(b, code, code >= -1 ? xmlrpc_at(v, 2) : NULL, text));
	xmlrpc_free(d);
}

static void call(struct sim_bridge *b, struct xmlrpc_writer *w, int64_t dur_ns,
		 int64_t (*then)(struct sim_bridge *b, int code, const struct xmlrpc_value *value, const char *why))
{
	struct master *m = &b->master;

	m->then = then;
	m->ask = ask_start(b, b->master_names, m->uri, w, dur_ns, on_answer, b);
	if (!m->ask)
		on_answer(b, -ENOMEM, NULL, "no memory");
}

static void start(struct sim_bridge *b, struct xmlrpc_writer *w, const char *method)
{
	*w = (struct xmlrpc_writer){ .text = NULL };
	xmlrpc_call(w, method);
	xmlrpc_put_text(w, b->names.node);
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

struct wanting {
	struct sim_bridge *bridge;
	enum master_kind kind;
	const char *name, *type;
	int result;
};

static bool set_text(char **at, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return false;
	free(*at);
	*at = copy;
	return true;
}

static void want_on_loop(void *arg)
{
	struct wanting *w = arg;
	struct master *m = &w->bridge->master;
	struct master_name *n = find(m, w->kind, w->name);

	if (!n && (n = calloc(1, sizeof(*n)))) {
		n->kind = w->kind;
		n->name = strdup(w->name);
		n->type = strdup(w->type);
		n->next = m->names;
		m->names = n;
		if (!n->name || !n->type) {
			forget(m, n);
			n = NULL;
		}
	}
	if (n && strcmp(n->type, w->type) != 0 && !set_text(&n->type, w->type))
		n = NULL;
	if (n) {
		n->wanted++;
		n->again = n->registered && n->kind == MASTER_SUBSCRIBES;
	}
	w->result = n ? 0 : -ENOMEM;
	exec_post(&m->turn);
}

int master_want(struct sim_bridge *b, enum master_kind kind, const char *name, const char *type)
{
	struct wanting w = { .bridge = b, .kind = kind, .name = name, .type = type };

	exec_call(b->x, want_on_loop, &w);
	return w.result;
}

static void unwant_on_loop(void *arg)
{
	const struct wanting *w = arg;
	struct master_name *n = find(&w->bridge->master, w->kind, w->name);

	if (n && n->wanted)
		n->wanted--;
	exec_post(&w->bridge->master.turn);
}

void master_unwant(struct sim_bridge *b, enum master_kind kind, const char *name)
{
	exec_call(b->x, unwant_on_loop, &(struct wanting){ .bridge = b, .kind = kind, .name = name });
}

/* Registered but not wanted, or vice versa; or to be registered once more, because the answer lists the publishers. */
static bool is_wrong(const struct master_name *n)
{
	return (n->wanted > 0) != n->registered || (n->wanted && n->again);
}

/* The next name to correct; NULL: none. Frees names that are neither wanted nor registered. */
static struct master_name *wrong_one(struct master *m)
{
	struct master_name *n = m->names;

	while (n && !is_wrong(n)) {
		struct master_name *next = n->next;

		if (!n->wanted)
			forget(m, n);
		n = next;
	}
	return n;
}

static struct master_name *a_registered_one(const struct master *m)
{
	struct master_name *n = m->names;

	while (n && !n->registered)
		n = n->next;
	return n;
}

static void none_registered(struct master *m)
{
	for (struct master_name *n = m->names; n; n = n->next)
		n->registered = false;
}

/* ---- its status ---- */

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

static void report_connected(struct sim_bridge *b)
{
	report(b, SIM_BRIDGE_CONNECTED, "node of the master at %.100s, as %.60s%s", b->master.uri, b->names.node,
	       b->master.more);
}

/* Handles a missing answer, which is reported once. Returns the pause before the next try; pauses grow. */
static int64_t lost(struct sim_bridge *b, const char *why)
{
	struct master *m = &b->master;

	if (!m->lost)
		m->pause_dur_ns = PAUSE_MIN_DUR_NS;
	if (!m->lost && !m->contact)
		report(b, SIM_BRIDGE_CONNECTING, "no master at %.80s: %.80s", m->uri, why);
	else if (!m->lost)
		log_warn(b, "the master at %s does not answer: %s; connections stay open", m->uri, why);
	m->lost = true;
	m->pause_dur_ns = 2 * m->pause_dur_ns < PAUSE_MAX_DUR_NS ? 2 * m->pause_dur_ns : PAUSE_MAX_DUR_NS;
	return m->pause_dur_ns;
}

/* ---- contact ---- */

static int64_t on_contact(struct sim_bridge *b, int code, const struct xmlrpc_value *value, const char *why)
{
	struct master *m = &b->master;

	(void)value;
	if (code != 1)
		return lost(b, why);
	m->lost = false;
	m->contact = true;
	m->check_mono_ns = exec_now(b->x) + CHECK_DUR_NS;
	b->off = false;
	if (m->on) /* not after a disconnect, which has reported its own status */
		report_connected(b);
	return 0;
}

static void set_use_sim_time(struct sim_bridge *b, int64_t (*then)(struct sim_bridge *b, int code,
								   const struct xmlrpc_value *value, const char *why))
{
	struct xmlrpc_writer w;

	start(b, &w, "setParam");
	xmlrpc_put_text(&w, "/use_sim_time");
	xmlrpc_put_bool(&w, true);
	call(b, &w, CALL_DUR_NS, then);
}

static int64_t on_pid(struct sim_bridge *b, int code, const struct xmlrpc_value *value, const char *why)
{
	if (code != 1 || !b->master.use_sim_time)
		return on_contact(b, code, value, why);
	set_use_sim_time(b, on_contact);
	return INT64_MAX;
}

static void make_contact(struct sim_bridge *b)
{
	struct xmlrpc_writer w;

	start(b, &w, "getPid");
	call(b, &w, CALL_DUR_NS, on_pid);
}

/* ---- registering ---- */

static const struct {
	const char *on, *off;
} methods[] = {
	[MASTER_PUBLISHES] = { "registerPublisher", "unregisterPublisher" },
	[MASTER_SUBSCRIBES] = { "registerSubscriber", "unregisterSubscriber" },
	[MASTER_SERVES] = { "registerService", "unregisterService" },
};

static void unregister(struct sim_bridge *b, struct master_name *n, int64_t dur_ns,
		       int64_t (*then)(struct sim_bridge *b, int code, const struct xmlrpc_value *value,
				       const char *why))
{
	struct xmlrpc_writer w;

	start(b, &w, methods[n->kind].off);
	xmlrpc_put_text(&w, n->name);
	xmlrpc_put_text(&w, n->kind == MASTER_SERVES ? b->rpc_uri : b->uri);
	b->master.name = n;
	call(b, &w, dur_ns, then);
}

static int64_t on_unregistered(struct sim_bridge *b, int code, const struct xmlrpc_value *value, const char *why)
{
	(void)value;
	if (code < -1)
		return lost(b, why);
	b->master.name->registered = false;
	return 0;
}

static int64_t on_registered(struct sim_bridge *b, int code, const struct xmlrpc_value *value, const char *why)
{
	struct master_name *n = b->master.name;

	if (code < -1)
		return lost(b, why);
	n->registered = true;
	n->again = false;
	if (code < 1)
		log_warn(b, "the master does not register %s: %s", n->name, why);
	else if (n->kind == MASTER_SUBSCRIBES) /* after a restart the master may not know all publishers yet */
		subscription_publishers(b, n->name, value, false);
	return 0;
}

static void put_right(struct sim_bridge *b, struct master_name *n)
{
	struct xmlrpc_writer w;

	if (!n->wanted) {
		unregister(b, n, CALL_DUR_NS, on_unregistered);
		return;
	}
	start(b, &w, methods[n->kind].on);
	xmlrpc_put_text(&w, n->name);
	xmlrpc_put_text(&w, n->kind == MASTER_SERVES ? b->rpc_uri : n->type);
	xmlrpc_put_text(&w, b->uri);
	b->master.name = n;
	call(b, &w, CALL_DUR_NS, on_registered);
}

/* ---- checking the master ---- */

static int64_t on_set_again(struct sim_bridge *b, int code, const struct xmlrpc_value *value, const char *why)
{
	(void)b;
	(void)code;
	(void)value;
	(void)why;
	return 0;
}

/* Checks which node has our name at the master: ours, another, or none. */
static int64_t on_looked_up(struct sim_bridge *b, int code, const struct xmlrpc_value *value, const char *why)
{
	struct master *m = &b->master;

	if (code < -1)
		return lost(b, why);
	if (m->lost)
		log_info(b, "the master answers again");
	m->lost = false;
	m->check_mono_ns = exec_now(b->x) + CHECK_DUR_NS;
	if (code == 1 && strcmp(xmlrpc_text(value), b->uri) == 0)
		return 0;
	if (code == 1) {
		master_shut_down(b, "another node has our name at the master");
		return 0;
	}
	log_warn(b, "the master does not know %s any more: registering again", b->names.node);
	none_registered(m);
	if (!m->use_sim_time)
		return 0;
	set_use_sim_time(b, on_set_again);
	return INT64_MAX;
}

static void check(struct sim_bridge *b)
{
	struct xmlrpc_writer w;

	start(b, &w, "lookupNode");
	xmlrpc_put_text(&w, b->names.node);
	call(b, &w, CALL_DUR_NS, on_looked_up);
}

/* ---- unregistering ---- */

static int64_t on_taken_back(struct sim_bridge *b, int code, const struct xmlrpc_value *value, const char *why)
{
	(void)value;
	(void)why;
	b->master.lost |= code < -1;
	return 0;
}

/* After a disconnect by the host, or a shutdown from outside. */
static void end_service(struct sim_bridge *b)
{
	struct master *m = &b->master;
	char why[128];

	snprintf(why, sizeof(why), "%s", m->shut_down);
	m->left = false;
	m->shut_down[0] = '\0';
	node_end_connections(b);
	if (!*why)
		return;
	m->on = false;
	log_error(b, "node %s was shut down: %s; \"node\" in the bridge's options gives it another name", b->names.node,
		  why);
	report(b, SIM_BRIDGE_DISCONNECTED, "shut down: %.100s", why);
}

/* Unregisters all names, as far as time permits. */
static void say_farewell(struct sim_bridge *b)
{
	struct master *m = &b->master;
	struct master_name *n = m->lost ? NULL : a_registered_one(m);
	int64_t left = m->farewell_mono_ns - exec_now(b->x);

	if (n && left > 0) {
		n->registered = false;
		unregister(b, n, left, on_taken_back);
		return;
	}
	m->farewell_mono_ns = 0;
	none_registered(m);
	m->contact = m->lost = false;
	if (m->stop)
		exec_quit(b->x);
	else
		end_service(b);
	exec_post(&m->turn);
}

/* Does the next thing, one at a time. */
static void turn(void *arg)
{
	struct sim_bridge *b = arg;
	struct master *m = &b->master;
	struct master_name *n;

	if (m->ask)
		return;
	exec_timer_cancel(&m->due);
	if (!m->farewell_mono_ns &&
	    (m->stop || *m->shut_down || ((!m->on || m->left) && (m->contact || a_registered_one(m)))))
		m->farewell_mono_ns = exec_now(b->x) + FAREWELL_DUR_NS;
	if (m->farewell_mono_ns) {
		say_farewell(b);
		return;
	}
	m->left = false;
	if (!m->on)
		return;
	memcpy(m->uri, m->next_uri, sizeof(m->uri));
	n = m->contact && !m->lost ? wrong_one(m) : NULL;
	if (n)
		put_right(b, n);
	else if (!m->contact)
		make_contact(b);
	else if (m->lost || (a_registered_one(m) && exec_now(b->x) >= m->check_mono_ns))
		check(b);
	else if (a_registered_one(m))
		exec_timer_at(&m->due, m->check_mono_ns);
}

/* ---- functions for other files ---- */

void master_open(struct sim_bridge *b)
{
	exec_post_init(&b->master.turn, b->x, turn, b);
	exec_timer_init(&b->master.due, b->x, turn, b);
}

void master_stop(struct sim_bridge *b)
{
	struct master *m = &b->master;

	m->stop = true;
	if (m->ask && !m->farewell_mono_ns) {
		ask_cancel(m->ask);
		m->ask = NULL;
	}
	exec_post(&m->turn);
}

void master_close(struct sim_bridge *b)
{
	ask_cancel(b->master.ask);
	b->master.ask = NULL;
	while (b->master.names)
		forget(&b->master, b->master.names);
}

struct connecting {
	struct sim_bridge *bridge;
	const char *uri; /* NULL: disconnect */
};

static void connect_on_loop(void *arg)
{
	const struct connecting *c = arg;
	struct master *m = &c->bridge->master;

	m->on = c->uri;
	m->left |= !c->uri;
	if (c->uri) {
		snprintf(m->next_uri, sizeof(m->next_uri), "%s", c->uri);
		m->shut_down[0] = '\0';
	}
	exec_post(&m->turn);
}

void master_connect(struct sim_bridge *b, const char *uri)
{
	exec_call(b->x, connect_on_loop, &(struct connecting){ b, uri });
}

void master_disconnect(struct sim_bridge *b)
{
	exec_call(b->x, connect_on_loop, &(struct connecting){ b, NULL });
}

void master_shut_down(struct sim_bridge *b, const char *why)
{
	struct master *m = &b->master;

	if (m->on)
		snprintf(m->shut_down, sizeof(m->shut_down), "%s", *why ? why : "without a reason");
	exec_post(&m->turn);
}

void master_report(struct sim_bridge *b, const char *more)
{
	snprintf(b->master.more, sizeof(b->master.more), "%s", more);
	if (b->master.on && atomic_load(&b->status) == SIM_BRIDGE_CONNECTED)
		report_connected(b);
}
