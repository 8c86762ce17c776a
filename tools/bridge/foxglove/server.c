/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server: one thread, in which all of libwebsockets runs. It accepts and refuses connections, serves the page,
 * reads operations and sends what is queued. Other threads only wake it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foxglove.h"
#include "timeutil.h"

#define TICK_US        25000
#define TICKS_A_SECOND 40u
#define TICKS_A_TIME   2u /* the time is sent 20 times a second */
#define HOLD_DUR_NS    INT64_C(50000000)
#define PIECES_TURN    16 /* sent to one client before others are served */
#define SILENCE_S      20 /* then the peer is pinged */
#define GONE_S         60
#define HANDSHAKE_S    5

struct session { /* state of a connection, kept by libwebsockets */
	struct client *client;
	struct page_file file; /* being sent */
	size_t at;
	bool head; /* HEAD request: no body */
};

int64_t foxglove_mono_ms(void)
{
	return mono_now_ns() / NS_PER_MS;
}

void foxglove_server_wake(struct sim_bridge *b)
{
	if (atomic_exchange(&b->wake, true))
		return;
	pthread_mutex_lock(&b->context_lock);
	if (b->context)
		lws_cancel_service(b->context);
	pthread_mutex_unlock(&b->context_lock);
}

static void report(struct sim_bridge *b, enum sim_bridge_status status, const char *text)
{
	atomic_store(&b->status, (int)status);
	b->host->status(b->host->ctx, status, text);
}

/* Reports the address and the number of clients, if changed. */
static void tell(struct sim_bridge *b)
{
	unsigned n = atomic_load(&b->n_clients);
	char text[sizeof(b->told)], refused[80] = "";

	if (b->n_refused)
		snprintf(refused, sizeof(refused), ", %llu requests refused", (unsigned long long)b->n_refused);
	snprintf(text, sizeof(text), "%s (%u client%s%s)", b->url, n, n == 1 ? "" : "s", refused);
	if (strcmp(text, b->told) == 0)
		return;
	strcpy(b->told, text);
	report(b, SIM_BRIDGE_CONNECTED, text);
}

/* ---- access ---- */

static bool header(struct lws *wsi, enum lws_token_indexes which, char *ret, size_t size)
{
	return lws_hdr_copy(wsi, ret, (int)size, which) > 0;
}

__attribute__((format(printf, 3, 4))) static int refuse(struct sim_bridge *b, struct lws *wsi, const char *fmt, ...)
{
	char peer[64] = "", why[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	for (char *c = why; *c; c++)
		*c = *c < ' ' || *c > '~' ? '?' : *c;
	lws_get_peer_simple(wsi, peer, sizeof(peer));
	if (foxglove_worth_saying(++b->n_refused))
		log_warn(b, "a request from %s is refused: %s (%llu so far)", peer, why,
			 (unsigned long long)b->n_refused);
	return -1;
}

static bool has_token(struct sim_bridge *b, struct lws *wsi)
{
	char text[GUARD_TOKEN_MAX + 16];
	const char *token = lws_get_urlarg_by_name(wsi, "token=", text, sizeof(text));

	return token && guard_token_ok(&b->guard, token);
}

static int check_request(struct sim_bridge *b, struct lws *wsi)
{
	char host[300] = "", origin[300] = "";
	bool has_host = header(wsi, WSI_TOKEN_HOST, host, sizeof(host)),
	     has_origin = lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) > 0;

	if (has_origin && !header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof(origin)))
		strcpy(origin, "?");
	if (!guard_host_ok(&b->guard, has_host ? host : NULL))
		return refuse(b, wsi,
			      "its Host is \"%.80s\"; \"hosts\" in the options lists other names than addresses", host);
	if (!guard_origin_ok(&b->guard, has_origin ? origin : NULL, host))
		return refuse(b, wsi, "it comes from the page %.80s; \"origins\" in the options lists those that may",
			      origin);
	if (!b->address.loopback && !has_token(b, wsi))
		return refuse(b, wsi, "it has no token, or a wrong one (options.token_file)");
	return 0;
}

/* Disconnects the newest client without the token, for a new one that has it. False: all have it. */
static bool put_one_out(struct sim_bridge *b)
{
	struct client *c = b->clients;

	while (c && (c->known || c->leaves))
		c = c->next;
	if (!c)
		return false;
	c->leaves = true;
	log_info(b, "client %u: %s makes room for one with the token", c->id, c->peer);
	lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
	return true;
}

static int check_socket(struct sim_bridge *b, struct lws *wsi)
{
	int r = check_request(b, wsi);

	if (r == 0 && strcmp(lws_get_protocol(wsi)->name, "http") == 0)
		r = refuse(b, wsi, "it requests no sub-protocol of Foxglove: foxglove.sdk.v1 or foxglove.websocket.v1");
	if (r == 0 && atomic_load(&b->n_clients) >= FOXGLOVE_CLIENTS_MAX && !(has_token(b, wsi) && put_one_out(b)))
		r = refuse(b, wsi, "the maximum of %u clients is connected", FOXGLOVE_CLIENTS_MAX);
	return r;
}

/* ---- guests: connections without WebSocket ---- */

static void forget_guest(struct sim_bridge *b, const struct lws *wsi)
{
	unsigned i = 0;

	while (i < b->n_guests && b->guests[i] != wsi)
		i++;
	if (i == b->n_guests)
		return;
	b->n_guests--;
	memmove(&b->guests[i], &b->guests[i + 1], (b->n_guests - i) * sizeof(b->guests[0]));
}

/* Marks the connection as active: moves it to the end of the list, or appends it. */
static void put_guest(struct sim_bridge *b, struct lws *wsi)
{
	forget_guest(b, wsi);
	if (b->n_guests < FOXGLOVE_GUESTS_MAX)
		b->guests[b->n_guests++] = wsi;
}

/*
 * Makes room for a connection, so that guests cannot keep viewers out: closes the guest that was idle for longest. 0,
 * or -1: no guest is left. libwebsockets accepts as many pending connections as it has descriptors, and closes as many
 * afterwards; a connection that does not read would have 5 s for that.
 */
static int make_place(struct sim_bridge *b)
{
	struct lws *oldest = b->guests[0];

	if (b->n_connections < FOXGLOVE_CONNECTIONS_MAX)
		return 0;
	if (!b->n_guests)
		return -1;
	forget_guest(b, oldest);
	(void)shutdown(lws_get_socket_fd(oldest), SHUT_RDWR);
	lws_set_timeout(oldest, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
	return 0;
}

/* 0: the connection may send another request; -1: libwebsockets closes it. */
static int end_request(struct sim_bridge *b, struct lws *wsi)
{
	put_guest(b, wsi);
	return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int answer_with(struct sim_bridge *b, struct lws *wsi, unsigned code)
{
	return lws_return_http_status(wsi, code, NULL) < 0 ? -1 : end_request(b, wsi);
}

/* ---- the page ---- */

static int add_header(struct lws *wsi, const char *name, const char *value, uint8_t **at, uint8_t *end)
{
	return lws_add_http_header_by_name(wsi, (const unsigned char *)name, (const unsigned char *)value,
					   (int)strlen(value), at, end);
}

static int begin_file(struct sim_bridge *b, struct lws *wsi, struct session *s)
{
	static const char *const headers[][2] = {
		{ "content-security-policy:",
		  "default-src 'self'; img-src 'self' blob: data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'" },
		{ "x-content-type-options:", "nosniff" },
		{ "referrer-policy:", "no-referrer" }, /* the address contains the token */
		{ "cache-control:", "no-cache" },
	};
	uint8_t buf[LWS_PRE + 1024], *at = buf + LWS_PRE, *end = buf + sizeof(buf);

	if (lws_add_http_common_headers(wsi, HTTP_STATUS_OK, s->file.type, (lws_filepos_t)(s->file.end - s->file.begin),
					&at, end))
		return -1;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		if (add_header(wsi, headers[i][0], headers[i][1], &at, end))
			return -1;
	if (lws_finalize_write_http_header(wsi, buf + LWS_PRE, &at, end))
		return -1;
	if (s->head)
		return end_request(b, wsi);
	lws_callback_on_writable(wsi);
	return 0;
}

static int on_http(struct sim_bridge *b, struct lws *wsi, struct session *s, const char *path)
{
	s->head = lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) > 0;
	put_guest(b, wsi);
	if (check_request(b, wsi) < 0)
		return answer_with(b, wsi, HTTP_STATUS_FORBIDDEN);
	if ((!s->head && !lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI)) || !page_find(path + (*path == '/'), &s->file))
		return answer_with(b, wsi, HTTP_STATUS_NOT_FOUND);
	s->at = 0;
	return begin_file(b, wsi, s);
}

static int on_http_writable(struct sim_bridge *b, struct lws *wsi, struct session *s)
{
	size_t left = s->file.begin ? (size_t)(s->file.end - s->file.begin) - s->at : 0,
	       n = left < FOXGLOVE_PIECE ? left : FOXGLOVE_PIECE;
	uint8_t *buf = b->piece + LWS_PRE;

	if (!s->file.begin)
		return 0;
	memcpy(buf, s->file.begin + s->at, n);
	s->at += n;
	if (lws_write(wsi, buf, n, n == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)n)
		return -1;
	if (n < left) {
		lws_callback_on_writable(wsi);
		return 0;
	}
	s->file.begin = NULL;
	return end_request(b, wsi);
}

/* ---- clients ---- */

static void begin_ticking(struct sim_bridge *b);

static int on_connected(struct sim_bridge *b, struct lws *wsi, struct session *s)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return -1;
	c->bridge = b;
	c->wsi = wsi;
	c->id = ++b->n_client_ids;
	c->known = has_token(b, wsi);
	c->control = b->control && c->known;
	lws_get_peer_simple(wsi, c->peer, sizeof(c->peer));
	s->client = c;
	pthread_mutex_lock(&b->lock);
	c->next = b->clients;
	b->clients = c;
	client_greet(c);
	pthread_mutex_unlock(&b->lock);
	atomic_fetch_add(&b->n_clients, 1);
	if (foxglove_worth_saying(c->id))
		log_info(b, "client %u: %s%s", c->id, c->peer, c->control ? ", it may change things" : "");
	begin_ticking(b);
	lws_callback_on_writable(wsi);
	return 0;
}

static void on_closed(struct sim_bridge *b, struct session *s)
{
	struct client *c = s->client, **at = &b->clients;
	struct job *done = NULL;

	if (!c)
		return;
	s->client = NULL;
	pthread_mutex_lock(&b->lock);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	client_forget(c, &done);
	pthread_mutex_unlock(&b->lock);
	jobs_answer(b->host, done);
	atomic_fetch_sub(&b->n_clients, 1);
	atomic_fetch_sub(&b->watch.n_graph, c->graph);
	atomic_fetch_sub(&b->watch.n_parameters, c->parameters);
	if (foxglove_worth_saying(c->id))
		log_info(b, "client %u disconnected", c->id);
	free(c->reading.data);
	free(c);
}

static bool has_more(struct client *c)
{
	bool more;

	pthread_mutex_lock(&c->bridge->lock);
	more = c->sending || c->first || c->time_due;
	pthread_mutex_unlock(&c->bridge->lock);
	return more;
}

/* 0, or -1: libwebsockets closes the connection. */
static int on_writable(struct client *c)
{
	int r = 1;

	for (int i = 0; i < PIECES_TURN && r > 0; i++) {
		r = client_send(c);
		if (r >= 0 && lws_send_pipe_choked(c->wsi))
			break;
	}
	if (r < 0)
		return -1;
	if (has_more(c))
		lws_callback_on_writable(c->wsi);
	return 0;
}

/* ---- receiving ---- */

static bool make_room(struct reading *r, size_t n)
{
	size_t room = r->room ? r->room : 4096;
	uint8_t *more;

	while (room < r->len + n)
		room *= 2;
	if (room == r->room)
		return true;
	more = realloc(r->data, room);
	if (!more)
		return false;
	r->data = more;
	r->room = room;
	return true;
}

/* Maximum size of a message from this client. */
static size_t most_of(const struct client *c, bool binary)
{
	return binary && c->control ? FOXGLOVE_IN_MAX : FOXGLOVE_OP_MAX;
}

static int on_received(struct client *c, const void *data, size_t n)
{
	struct reading *r = &c->reading;

	if (lws_is_first_fragment(c->wsi)) {
		r->len = 0;
		r->binary = lws_frame_is_binary(c->wsi);
	}
	if (r->len + n + lws_remaining_packet_payload(c->wsi) > most_of(c, r->binary) || !make_room(r, n + 1)) {
		lws_close_reason(c->wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, NULL, 0);
		return refuse(c->bridge, c->wsi, "a message of more than %zu bytes", most_of(c, r->binary));
	}
	if (n)
		memcpy(r->data + r->len, data, n);
	r->len += n;
	if (!lws_is_final_fragment(c->wsi) || lws_remaining_packet_payload(c->wsi))
		return 0;
	if (r->binary)
		client_binary(c, r->data, r->len);
	else
		client_text(c, (const char *)r->data, r->len);
	if (r->room > FOXGLOVE_OP_MAX) { /* a large buffer is not kept */
		free(r->data);
		*r = (struct reading){ .data = NULL };
	}
	if (!c->over) {
		lws_callback_on_writable(c->wsi);
		return 0;
	}
	return refuse(c->bridge, c->wsi, "client %u does not read its answers", c->id);
}

/* ---- periodic work ---- */

static void tell_drops(struct client *c)
{
	for (struct subscription *s = c->subscriptions; s; s = s->next_of_client) {
		json_t *j;
		char id[TOPIC_NAME_MAX + 16], text[TOPIC_NAME_MAX + 120];

		if (s->dropped == s->told || c->n_texts > FOXGLOVE_TEXTS_MAX / 4)
			continue;
		s->told = s->dropped;
		snprintf(id, sizeof(id), "drops:%s", s->channel->topic);
		snprintf(text, sizeof(text), "%s: %llu messages dropped because this client is too slow",
			 s->channel->topic, (unsigned long long)s->dropped);
		j = json_pack("{s:s,s:i,s:s,s:s}", "op", "status", "level", 1, "message", text, "id", id);
		client_say(c, j);
	}
}

/* Copies messages that slow clients have held for too long, to free their slots. */
static void release(struct sim_bridge *b)
{
	int64_t before = foxglove_mono_ms() * 1000000 - HOLD_DUR_NS;
	struct job *done = NULL;
	bool held = false;

	if (!atomic_exchange(&b->holding, false))
		return;
	pthread_mutex_lock(&b->lock);
	for (struct client *c = b->clients; c; c = c->next)
		held |= client_release(c, before, &done);
	pthread_mutex_unlock(&b->lock);
	jobs_answer(b->host, done);
	if (held)
		atomic_store(&b->holding, true);
}

static void look_at_clients(struct sim_bridge *b)
{
	bool second = b->n_ticks % TICKS_A_SECOND == 0, time = b->n_ticks % TICKS_A_TIME == 0;

	pthread_mutex_lock(&b->lock);
	for (struct client *c = b->clients; c; c = c->next) {
		if (second)
			tell_drops(c);
		c->time_due |= time;
		if (c->over)
			lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
		else if (c->first || c->sending || c->time_due)
			lws_callback_on_writable(c->wsi);
	}
	pthread_mutex_unlock(&b->lock);
}

static void on_tick(lws_sorted_usec_list_t *sul)
{
	struct sim_bridge *b = lws_container_of(sul, struct sim_bridge, tick);

	b->n_ticks++;
	release(b);
	look_at_clients(b);
	if (b->n_ticks % TICKS_A_SECOND == 0)
		tell(b);
	b->ticking = b->clients != NULL;
	if (b->ticking)
		lws_sul_schedule(b->context, 0, &b->tick, on_tick, TICK_US);
	else
		tell(b);
}

/* Starts the timer, which runs while there are clients. */
static void begin_ticking(struct sim_bridge *b)
{
	if (!b->ticking)
		lws_sul_schedule(b->context, 0, &b->tick, on_tick, TICK_US);
	b->ticking = true;
	tell(b);
}

static void on_woken(struct sim_bridge *b)
{
	atomic_store(&b->wake, false);
	pthread_mutex_lock(&b->lock);
	for (struct client *c = b->clients; c; c = c->next)
		if (c->first || c->sending)
			lws_callback_on_writable(c->wsi);
	pthread_mutex_unlock(&b->lock);
}

/* ---- events of libwebsockets ---- */

static int on_socket_event(struct sim_bridge *b, struct lws *wsi, enum lws_callback_reasons reason, struct session *s,
			   void *in, size_t len)
{
	switch (reason) {
	case LWS_CALLBACK_ESTABLISHED:
		return on_connected(b, wsi, s);
	case LWS_CALLBACK_RECEIVE:
		return on_received(s->client, in, len);
	case LWS_CALLBACK_SERVER_WRITEABLE:
		return on_writable(s->client);
	case LWS_CALLBACK_CLOSED:
		on_closed(b, s);
		return 0;
	default:
		return 0;
	}
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct sim_bridge *b = lws_context_user(lws_get_context(wsi));

	switch (reason) {
	case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:
		return make_place(b);
	case LWS_CALLBACK_WSI_CREATE:
		b->n_connections++;
		return 0;
	case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
		put_guest(b, wsi);
		return 0;
	case LWS_CALLBACK_WSI_DESTROY:
		forget_guest(b, wsi);
		b->n_connections--;
		return 0;
	case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
		forget_guest(b, wsi);
		return check_socket(b, wsi);
	case LWS_CALLBACK_HTTP:
		return on_http(b, wsi, user, in);
	case LWS_CALLBACK_HTTP_WRITEABLE:
		return on_http_writable(b, wsi, user);
	case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
		on_woken(b);
		return 0;
	default:
		return on_socket_event(b, wsi, reason, user, in, len);
	}
}

static const struct lws_protocols protocols[] = {
	{ "http", on_event, sizeof(struct session), 65536, 0, NULL, FOXGLOVE_DIRECT_MAX },
	{ "foxglove.sdk.v1", on_event, sizeof(struct session), 65536, 0, NULL, FOXGLOVE_DIRECT_MAX },
	{ "foxglove.websocket.v1", on_event, sizeof(struct session), 65536, 0, NULL, FOXGLOVE_DIRECT_MAX },
	{ NULL, NULL, 0, 0, 0, NULL, 0 },
};

/* ---- the thread ---- */

static void set_context(struct sim_bridge *b, struct lws_context *c)
{
	pthread_mutex_lock(&b->context_lock);
	b->context = c;
	pthread_mutex_unlock(&b->context_lock);
}

/* Finds out why libwebsockets could not bind, which it does not report. */
static int try_to_bind(const char *host, unsigned port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	bool is_four = inet_pton(AF_INET, host, &four.sin_addr) == 1;
	int fd = socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), r, one = 1;

	(void)inet_pton(AF_INET6, host, &six.sin6_addr);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	r = is_four ? bind(fd, (struct sockaddr *)&four, sizeof(four)) : bind(fd, (struct sockaddr *)&six, sizeof(six));
	if (r == 0)
		r = listen(fd, 1);
	r = r < 0 ? -errno : 0;
	close(fd);
	return r;
}

/*
 * Listens on the first free port of the range. NULL: *ret says why the last one failed: negative errno, or 0 if the
 * failure was inside libwebsockets.
 */
static struct lws_vhost *take_port(struct sim_bridge *b, struct lws_context_creation_info *info, int *ret)
{
	struct lws_vhost *v = NULL;

	for (unsigned port = b->address.port; port <= b->address.last_port && !v; port++) {
		info->port = (int)port;
		*ret = try_to_bind(b->address.host, port);
		if (*ret == 0)
			v = lws_create_vhost(b->context, info);
		if (*ret != -EADDRINUSE)
			break;
	}
	return v;
}

static int listen_there(struct sim_bridge *b, struct lws_context_creation_info *info, char *why, size_t size)
{
	bool six = strchr(b->address.host, ':') != NULL;
	struct lws_vhost *v;
	int r = -EINVAL;

	v = take_port(b, info, &r);
	if (!v) {
		snprintf(why, size, "%s%s%s:%u: %s", six ? "[" : "", b->address.host, six ? "]" : "",
			 b->address.last_port,
			 r == -EADDRINUSE ? "something listens there already"
			 : r < 0          ? strerror(-r)
			 : *b->cert ? "cannot listen there: are options.cert and options.key a certificate and its key?"
				    : "cannot listen there");
		return -EADDRINUSE;
	}
	b->port = lws_get_vhost_listen_port(v);
	snprintf(b->url, sizeof(b->url), "http%s://%s%s%s:%d/", *b->cert ? "s" : "", six ? "[" : "", b->address.host,
		 six ? "]" : "", b->port);
	return 0;
}

static int begin(struct sim_bridge *b, char *why, size_t size)
{
	static const lws_retry_bo_t patience = { .secs_since_valid_ping = SILENCE_S,
						 .secs_since_valid_hangup = GONE_S };
	bool six = strchr(b->address.host, ':') != NULL;
	struct lws_context_creation_info info = {
		.port = (int)b->address.port,
		.iface = b->address.host,
		.protocols = protocols,
		.gid = -1,
		.uid = -1,
		.user = b,
		.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_VALIDATE_UTF8 |
			   LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | (six ? 0 : LWS_SERVER_OPTION_DISABLE_IPV6) |
			   (*b->cert ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0),
		.ssl_cert_filepath = *b->cert ? b->cert : NULL,
		.ssl_private_key_filepath = *b->cert ? b->key : NULL,
		.alpn = "http/1.1", /* WebSocket over HTTP/2 has a different framing */
		.fd_limit_per_thread = FOXGLOVE_GUESTS_MAX,
		.max_http_header_pool = FOXGLOVE_GUESTS_MAX, /* one for each connection with an unfinished request */
		.max_http_header_data = 4096,
		.pt_serv_buf_size = 65536,
		.timeout_secs = HANDSHAKE_S,
		.keepalive_timeout = HANDSHAKE_S,
		.retry_and_idle_policy = &patience,
	};
	struct lws_context *c;

	lws_set_log_level(0, NULL);
	c = lws_create_context(&info);
	if (!c) {
		snprintf(why, size, "no memory");
		return -ENOMEM;
	}
	set_context(b, c);
	return listen_there(b, &info, why, size);
}

static void end(struct sim_bridge *b)
{
	struct lws_context *c = b->context;

	set_context(b, NULL);
	if (c) {
		lws_sul_schedule(c, 0, &b->tick, NULL, LWS_SET_TIMER_USEC_CANCEL);
		lws_context_destroy(c);
	}
	b->ticking = false;
	b->n_connections = b->n_guests = 0;
}

static void *server_main(void *arg)
{
	struct sim_bridge *b = arg;
	char why[320] = "";

	b->told[0] = '\0';
	if (begin(b, why, sizeof(why)) == 0) {
		tell(b);
		log_info(b, "the web page is %s%s%s", b->url, b->control ? "?token=" : "",
			 b->control && *b->token_file ? "<what is in the token file>"
			 : b->control                 ? b->guard.token
						      : "");
		while (!atomic_load(&b->stop) && lws_service(b->context, 0) >= 0)
			;
	}
	end(b);
	if (!atomic_load(&b->stop))
		report(b, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, *why ? why : "the server has ended");
	return NULL;
}

int foxglove_server_open(struct sim_bridge *b)
{
	int r;

	foxglove_server_close(b);
	atomic_store(&b->stop, false);
	atomic_store(&b->wake, false);
	report(b, SIM_BRIDGE_CONNECTING, "");
	r = -pthread_create(&b->thread, NULL, server_main, b);
	b->running = r == 0;
	if (b->running)
		pthread_setname_np(b->thread, "foxglove");
	return r;
}

void foxglove_server_close(struct sim_bridge *b)
{
	if (!b->running)
		return;
	atomic_store(&b->stop, true);
	atomic_store(&b->wake, false);
	foxglove_server_wake(b);
	pthread_join(b->thread, NULL);
	b->running = false;
}
