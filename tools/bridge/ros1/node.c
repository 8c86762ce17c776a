/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's name, addresses and loop. Without ROS_IP, ROS_HOSTNAME or the option `listen` everything is on loopback.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http.h"
#include "listener.h"
#include "publication.h"
#include "ros1.h"
#include "thread.h"
#include "timeutil.h"

#define DEFAULT_MASTER      "http://localhost:11311"
#define REPORT_FIRST_DUR_NS NS_PER_S
#define REPORT_DUR_NS       (10 * NS_PER_S)

/* Limits for peers. */
static const struct listener_bounds slave_bounds = { .peers = 64,
						     .header_dur_ns = 30 * NS_PER_S,
						     .idle_dur_ns = 30 * NS_PER_S },
				    tcpros_bounds = { .peers = 256,
						      .header = TCPROS_PEER_MAX + 4,
						      .header_dur_ns = 10 * NS_PER_S };

void log_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

/* ---- options ---- */

static int read_names(struct sim_bridge *b)
{
	char why[400];
	int r = names_init(&b->names, bridge_option(b->host, "node"), bridge_option(b->host, "namespace"),
			   bridge_option(b->host, "remap"), why, sizeof(why));

	if (r < 0)
		log_error(b, "%s", why);
	return r;
}

/* A struct topics::resolve: resolves names of the rig. */
int node_resolve(void *bridge, const char *name, char ret[TOPIC_NAME_MAX + 1], char *why, size_t why_size)
{
	const struct sim_bridge *b = bridge;

	return names_resolve(&b->names, name, ret, why, why_size);
}

int node_read_options(struct sim_bridge *b)
{
	static const char *const words[] = { "false", "true", NULL }, *const names[] = { "automatic", "strict", "",
											 NULL };
	int name = read_names(b), sets = bridge_option_word(b->host, "set_use_sim_time", words, "true or false");
	int naming = bridge_option_word(b->host, "names", names, "one of automatic, strict");
	int queue = bridge_option_number(b->host, "queue", 1, PUBLICATION_QUEUE_MAX, "messages", &b->queue);
	int compat = bridge_option_compat(b->host);
	int apollo = bridge_option_word(b->host, "apollo", words, "true or false");

	b->common.apollo = apollo == 1;
	b->master.use_sim_time = sets == 1;
	b->common.svl = compat > 0;
	b->common.strict_names = naming == 1;
	return name < 0 || sets < 0 || naming < 0 || queue < 0 || compat < 0 || apollo < 0 ? -EINVAL : 0;
}

int node_master_uri(const struct sim_bridge_host *host, const char *connection, char ret[ROS1_TEXT_MAX])
{
	const char *env = getenv("ROS_MASTER_URI"), *uri = *connection   ? connection
							   : env && *env ? env
									 : DEFAULT_MASTER;
	struct http_uri u;

	if (strlen(uri) >= ROS1_TEXT_MAX || http_uri_parse(uri, &u) < 0) {
		host->log(host->ctx, 0, "%s \"%.80s\" is not of the form http://host:11311",
			  *connection ? "connection:" : "ROS_MASTER_URI", uri);
		return -EINVAL;
	}
	snprintf(ret, ROS1_TEXT_MAX, "%s", uri);
	return 0;
}

/* ---- addresses ---- */

static bool is_any(const char *address)
{
	return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

/* Chooses the address given to other nodes, and returns the one to listen on. */
static const char *choose_address(struct sim_bridge *b)
{
	const char *name = getenv("ROS_HOSTNAME"), *ip = getenv("ROS_IP"),
		   *own = name && *name ? name
			  : ip && *ip   ? ip
					: NULL;
	const char *listen = bridge_option(b->host, "listen");

	if (own)
		snprintf(b->address, sizeof(b->address), "%s", own);
	else if (!*listen)
		snprintf(b->address, sizeof(b->address), "127.0.0.1");
	else if (!is_any(listen))
		snprintf(b->address, sizeof(b->address), "%s", listen);
	else if (gethostname(b->address, sizeof(b->address)) < 0)
		b->address[0] = '\0';
	b->address[sizeof(b->address) - 1] = '\0';
	return *listen ? listen : b->address;
}

/* ---- listening ---- */

static void refused(void *bridge, const char *from, const char *why)
{
	node_refuses(bridge, "a connection from %s: %s", from ? from : "any peer", why);
}

static int listen_at(struct sim_bridge *b, const char *host, const struct listener_bounds *bounds,
		     const struct stream_options *stream, void *(*came)(void *arg, struct stream *s, const char *from),
		     struct listener **ret)
{
	const struct listener_options o = {
		.bounds = *bounds, .stream = *stream, .arg = b, .came = came, .refused = refused
	};
	struct address at = { .port = 0 };
	char why[STREAM_WHY_MAX];
	int r;

	snprintf(at.host, sizeof(at.host), "%s", host);
	r = listener_create(b->x, &at, &o, ret, why);
	if (r < 0)
		log_error(
			b,
			"cannot listen at %s; ROS_IP and ROS_HOSTNAME must be of this machine, or \"listen\" must say where",
			why);
	return r;
}

static int listen_both(struct sim_bridge *b, const char *host)
{
	static const struct stream_options slave = { .ops = &slave_ops,
						     .buffer = HTTP_HEAD_MAX + HTTP_BODY_MAX,
						     .stall_dur_ns = 30 * NS_PER_S },
					   tcpros = { .ops = &subscriber_ops, .buffer = SERVICE_REQUEST_MAX + 8 };
	int r = listen_at(b, host, &slave_bounds, &slave, slave_came, &b->slave);

	return r < 0 ? r : listen_at(b, host, &tcpros_bounds, &tcpros, subscriber_came, &b->tcpros);
}

void node_end_connections(struct sim_bridge *b)
{
	b->off = true;
	for (struct publication *p = b->publications; p; p = p->next)
		publication_end_subscribers(p);
	subscriptions_drop(b);
}

/* ---- reports ---- */

void node_has_news(struct sim_bridge *b)
{
	exec_post(&b->news);
}

void node_refuses(struct sim_bridge *b, const char *fmt, ...)
{
	char why[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	log_stranger(b, 1, "refused: %s", why);
	b->n_refused++;
	snprintf(b->refused, sizeof(b->refused), "%.*s", (int)sizeof(b->refused) - 1, why);
	node_has_news(b);
}

__attribute__((format(printf, 3, 4))) static void add(char *text, size_t size, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, size - n, fmt, ap);
	va_end(ap);
}

/* Adds the subscribers that have lost messages, as far as there is room. */
static void add_dropped(struct sim_bridge *b, char *text, size_t size)
{
	const char *begin = "; messages dropped for slow subscribers:";
	struct subscriber *s;

	for (struct publication *p = b->publications; p; p = p->next)
		list_for_each(s, &p->subscribers, link) {
			unsigned long long n = outbox_lost(&s->outbox, s->topic);

			if (!n)
				continue;
			add(text, size, "%s %s on %s %llu", begin, s->node, p->name, n);
			begin = ",";
		}
}

static void on_report(void *arg)
{
	struct sim_bridge *b = arg;
	char text[200] = "";

	b->report_mono_ns = exec_now(b->x) + REPORT_DUR_NS;
	if (b->services.n)
		add(text, sizeof(text), "; services: %u, callers: %u", b->services.n, b->services.n_callers);
	subscriptions_report(b, text, sizeof(text));
	add_dropped(b, text, sizeof(text));
	if (b->n_refused)
		add(text, sizeof(text), "; refused: %u, the last was %s", b->n_refused, b->refused);
	master_report(b, text);
}

/* Reports a second after the first event, then at most every ten seconds. */
static void on_news(void *arg)
{
	struct sim_bridge *b = arg;

	if (!b->report_mono_ns)
		b->report_mono_ns = exec_now(b->x) + REPORT_FIRST_DUR_NS;
	exec_timer_at(&b->report, b->report_mono_ns);
}

static void on_hold(void *arg)
{
	struct sim_bridge *b = arg;

	if (!exec_timer_armed(&b->release))
		exec_timer_at(&b->release, exec_now(b->x) + PUBLICATION_HOLD_DUR_NS);
}

/* ---- the loop ---- */

static void *loop_main(void *arg)
{
	struct sim_bridge *b = arg;
	int r = exec_run(b->x);

	if (r < 0)
		log_error(b, "the loop has ended: %s", strerror(-r));
	return NULL;
}

static int open_names(struct sim_bridge *b)
{
	int r = lookup_create("ros1-names", &b->master_names);

	if (r == 0)
		r = lookup_create("ros1-names", &b->service_names);
	return r < 0 ? r : lookup_create("ros1-names", &b->publisher_names);
}

static int open_loop(struct sim_bridge *b)
{
	int r = b->x ? 0 : exec_threads_create(&b->x); /* tests bring their own */

	list_init(&b->greeting);
	list_init(&b->askers);
	if (r < 0)
		return r;
	exec_post_init(&b->holds, b->x, on_hold, b);
	exec_timer_init(&b->release, b->x, publications_release, b);
	exec_post_init(&b->news, b->x, on_news, b);
	exec_timer_init(&b->report, b->x, on_report, b);
	master_open(b);
	r = open_names(b);
	return r < 0 ? r : services_init(b);
}

static int run_loop(struct sim_bridge *b)
{
	int r = exec_is_virtual(b->x) ? 0 : thread_start(&b->thread, "ros1-io", loop_main, b);

	b->running = r == 0 && !exec_is_virtual(b->x);
	return r;
}

int node_open(struct sim_bridge *b)
{
	const char *address = choose_address(b);
	bool v6 = strchr(b->address, ':');
	int r = open_loop(b);

	b->off = true;
	if (r == 0)
		r = listen_both(b, address);
	if (r == 0)
		r = run_loop(b);
	if (r < 0)
		return r;
	b->tcpros_port = listener_port(b->tcpros);
	snprintf(b->uri, sizeof(b->uri), "http://%s%s%s:%u/", v6 ? "[" : "", b->address, v6 ? "]" : "",
		 listener_port(b->slave));
	snprintf(b->rpc_uri, sizeof(b->rpc_uri), "rosrpc://%s%s%s:%u", v6 ? "[" : "", b->address, v6 ? "]" : "",
		 b->tcpros_port);
	log_info(b, "node %s is %s, TCPROS at port %u", b->names.node, b->uri, b->tcpros_port);
	r = subscriptions_open(b);
	return r < 0 ? r : remotes_open(b);
}

static void stop_on_loop(void *arg)
{
	master_stop(arg);
}

/* Call after the loop has ended. */
static void end_all(struct sim_bridge *b)
{
	listener_destroy(b->slave);
	listener_destroy(b->tcpros);
	node_end_connections(b);
	askers_end(b);
	while (!list_empty(&b->greeting))
		subscriber_end(list_first(&b->greeting, struct subscriber, link));
	remotes_close(b);
	services_finish(b);
	master_close(b);
	subscriptions_close(b);
	lookup_destroy(b->master_names);
	lookup_destroy(b->service_names);
	lookup_destroy(b->publisher_names);
	exec_destroy(b->x);
	b->x = NULL;
}

void node_close(struct sim_bridge *b)
{
	if (b->running)
		exec_call(b->x, stop_on_loop, b);
	if (b->running)
		pthread_join(b->thread, NULL);
	if (b->x)
		end_all(b);
}
