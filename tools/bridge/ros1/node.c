/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who we are and where we listen, and what the I/O thread does beside its sockets. Without ROS_IP, ROS_HOSTNAME or the option `listen`
 * everything is on loopback.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "http.h"
#include "publication.h"
#include "ros1.h"

#define DEFAULT_MASTER      "http://localhost:11311"
#define RETRY_DUR_NS        INT64_C(100000000) /* no descriptor is free for a connection */
#define REPORT_FIRST_DUR_NS INT64_C(1000000000)
#define REPORT_DUR_NS       INT64_C(10000000000)

void log_limit_init(struct log_limit *l, int64_t burst)
{
	pthread_mutex_init(&l->lock, NULL);
	l->burst = burst;
}

bool log_allowed(struct log_limit *l)
{
	int64_t now = io_mono_ns() / 1000000000;
	bool yes;

	pthread_mutex_lock(&l->lock);
	if (now != l->mono_s) {
		l->left = l->mono_s ? l->left + now - l->mono_s : l->burst;
		l->left = l->left > l->burst ? l->burst : l->left;
		l->mono_s = now;
	}
	yes = l->left > 0;
	l->left -= yes;
	pthread_mutex_unlock(&l->lock);
	return yes;
}

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

/* For the topics, of the rig's names. */
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

	b->master.use_sim_time = sets == 1;
	b->common.svl = compat > 0;
	b->common.strict_names = naming == 1;
	return name < 0 || sets < 0 || naming < 0 || queue < 0 || compat < 0 ? -EINVAL : 0;
}

int node_master_uri(const struct sim_bridge_host *host, const char *connection, char ret[NET_TEXT_MAX])
{
	const char *env = getenv("ROS_MASTER_URI"), *uri = *connection   ? connection
							   : env && *env ? env
									 : DEFAULT_MASTER;
	struct http_uri u;

	if (strlen(uri) >= NET_TEXT_MAX || http_uri_parse(uri, &u) < 0) {
		host->log(host->ctx, 0, "%s \"%.80s\" is not of the form http://host:11311",
			  *connection ? "connection:" : "ROS_MASTER_URI", uri);
		return -EINVAL;
	}
	snprintf(ret, NET_TEXT_MAX, "%s", uri);
	return 0;
}

/* ---- where ---- */

static bool is_any(const char *address)
{
	return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

/* What others are told, and what is listened on. */
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

/* ---- accepting ---- */

static void accept_all(struct io_source *io, uint32_t events)
{
	struct listener *l = (struct listener *)(void *)io;
	char peer[NET_TEXT_MAX];
	int fd;

	(void)events;
	while ((fd = net_accept(io->fd, peer)) >= 0) {
		if (atomic_load(&l->bridge->off))
			close(fd);
		else
			l->accept(l->bridge, fd, peer);
	}
	/* edge-triggered: what could not be taken now does not show again */
	io->due_mono_ns = fd == -EAGAIN ? 0 : io_mono_ns() + RETRY_DUR_NS;
}

static void accept_again(struct io_source *io)
{
	accept_all(io, EPOLLIN);
}

static void free_listener(struct io_source *io)
{
	free(io);
}

struct listening {
	struct sim_bridge *bridge;
	struct listener *listener;
	int result;
};

static void add_listener(void *arg)
{
	struct listening *g = arg;

	g->result = io_add(g->bridge->io, &g->listener->io);
}

static int listen_at(struct sim_bridge *b, const char *address,
		     void (*accept)(struct sim_bridge *b, int fd, const char *peer), unsigned *ret_port)
{
	struct listening g = { .bridge = b, .listener = calloc(1, sizeof(*g.listener)) };
	char why[256] = "no memory";
	int fd = g.listener ? net_listen(address, 0, ret_port, why, sizeof(why)) : -ENOMEM;

	if (fd < 0) {
		log_error(
			b,
			"cannot listen at %s; ROS_IP and ROS_HOSTNAME must be of this machine, or \"listen\" must say where",
			why);
		free(g.listener);
		return fd;
	}
	*g.listener = (struct listener){
		.io = { .fd = fd, .ready = accept_all, .expired = accept_again, .free = free_listener },
		.bridge = b,
		.accept = accept,
	};
	io_call(b->io, add_listener, &g);
	if (g.result < 0)
		free(g.listener);
	return g.result;
}

static void end_connections(void *arg)
{
	struct sim_bridge *b = arg;

	pthread_mutex_lock(&b->lock);
	for (struct publication *p = b->publications; p; p = p->next)
		publication_end_subscribers(p);
	pthread_mutex_unlock(&b->lock);
}

void node_serve(struct sim_bridge *b, bool on)
{
	atomic_store(&b->off, !on);
	if (on)
		return;
	io_call(b->io, end_connections, b);
	subscriptions_drop(b);
}

/* ---- the I/O thread's turn ---- */

void node_has_news(struct sim_bridge *b)
{
	if (!atomic_exchange(&b->news, true))
		io_wake(b->io);
}

void node_refuses(struct sim_bridge *b, const char *fmt, ...)
{
	char why[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	log_limited(b, 1, "refused: %s", why);
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

/* Who has lost messages, as far as there is room. */
static void add_dropped(struct sim_bridge *b, char *text, size_t size)
{
	const char *begin = "; dropped, as they are slow:";

	pthread_mutex_lock(&b->lock);
	for (struct publication *p = b->publications; p; p = p->next) {
		pthread_mutex_lock(&p->lock);
		for (const struct subscriber *s = p->subscribers; s; s = s->next) {
			if (!s->dropped)
				continue;
			add(text, size, "%s %s on %s %llu", begin, s->node, p->name, (unsigned long long)s->dropped);
			begin = ",";
		}
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&b->lock);
}

static void report(struct sim_bridge *b)
{
	char text[200] = "";

	if (b->services.n)
		add(text, sizeof(text), "; services: %u, callers: %u", b->services.n, b->services.n_callers);
	add_dropped(b, text, sizeof(text));
	if (b->n_refused)
		add(text, sizeof(text), "; refused: %u, the last was %s", b->n_refused, b->refused);
	master_report(b, text);
}

/* A second after the first, then each ten. Returns when to look again. */
static int64_t look_at_news(struct sim_bridge *b)
{
	int64_t now = io_mono_ns();

	if (!atomic_load(&b->news))
		return INT64_MAX;
	if (!b->report_mono_ns)
		b->report_mono_ns = now + REPORT_FIRST_DUR_NS;
	if (now < b->report_mono_ns)
		return b->report_mono_ns;
	b->report_mono_ns = now + REPORT_DUR_NS;
	atomic_store(&b->news, false);
	report(b);
	return INT64_MAX;
}

static int64_t turn(void *ctx)
{
	int64_t held = publications_release(ctx), turns = services_turn(ctx), news = look_at_news(ctx);
	int64_t due = held < turns ? held : turns;

	return due < news ? due : news;
}

int node_open(struct sim_bridge *b)
{
	const char *address = choose_address(b);
	bool v6 = strchr(b->address, ':');
	int r = services_init(b);

	if (r == 0)
		r = io_create(turn, b, &b->io);
	if (r < 0) {
		log_error(b, "no thread for input and output: %s", strerror(-r));
		return r;
	}
	atomic_store(&b->off, true);
	r = listen_at(b, address, slave_accept, &b->slave_port);
	if (r == 0)
		r = listen_at(b, address, subscriber_accept, &b->tcpros_port);
	if (r < 0)
		return r;
	snprintf(b->uri, sizeof(b->uri), "http://%s%s%s:%u/", v6 ? "[" : "", b->address, v6 ? "]" : "", b->slave_port);
	snprintf(b->rpc_uri, sizeof(b->rpc_uri), "rosrpc://%s%s%s:%u", v6 ? "[" : "", b->address, v6 ? "]" : "",
		 b->tcpros_port);
	log_info(b, "node %s is %s, TCPROS at port %u", b->names.node, b->uri, b->tcpros_port);
	r = master_open(b);
	if (r == 0)
		r = subscriptions_open(b);
	return r < 0 ? r : remotes_open(b);
}

void node_close(struct sim_bridge *b)
{
	remotes_close(b);
	subscriptions_stop(b);
	master_close(b);
	io_destroy(b->io);
	b->io = NULL;
	services_finish(b);
	subscriptions_close(b);
}
