/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the server. Its thread runs all of libwebsockets: it connects, sends what is in the outbox, reads,
 * and gives up an unresponsive server. Other threads only wake it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/x509_vfy.h>

#include "rosbridge.h"

#define TICK_US     50000
#define REPORT_MS   10000 /* between reports of dropped messages; the first after a second */
#define PIECES_TURN 16    /* sent before anything is read */

static void report(struct sim_bridge *b, enum sim_bridge_status status, const char *text)
{
	atomic_store(&b->status, (int)status);
	b->host->status(b->host->ctx, status, text);
}

void rosbridge_link_wake(struct sim_bridge *b)
{
	pthread_mutex_lock(&b->context_lock);
	if (b->context)
		lws_cancel_service(b->context);
	pthread_mutex_unlock(&b->context_lock);
}

/* Ends the connection; the first reason is the one reported. */
__attribute__((format(printf, 2, 3))) static void give_up(struct sim_bridge *b, const char *fmt, ...)
{
	va_list ap;

	b->over = true;
	if (b->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(b->why, sizeof(b->why), fmt, ap);
	va_end(ap);
}

/* ---- sending ---- */

static int write_piece(struct sim_bridge *b, bool *ret_more)
{
	uint8_t *at = b->piece + LWS_PRE;
	bool first = false, last = false;
	size_t n = sending_fill(b, at, ROSBRIDGE_PIECE, &first, &last);

	*ret_more = n > 0;
	if (!n)
		return 0;
	if (lws_write(b->wsi, at, n, (enum lws_write_protocol)lws_write_ws_flags(LWS_WRITE_TEXT, first, last)) < (int)n)
		return -EPIPE;
	return 0;
}

static int write_ping(struct sim_bridge *b)
{
	b->ping = false;
	b->asked_mono_ms = rosbridge_mono_ms();
	return lws_write(b->wsi, b->piece + LWS_PRE, 0, LWS_WRITE_PING) < 0 ? -EPIPE : 0;
}

static bool has_more(struct sim_bridge *b)
{
	return b->sending.item || b->ping || !outbox_rest(&b->outbox);
}

/* Returns 0, or -1, with which libwebsockets closes the connection. */
static int on_writable(struct sim_bridge *b)
{
	bool more = true;
	int r = b->ping ? write_ping(b) : 0;

	b->moved_mono_ms = rosbridge_mono_ms();
	for (int i = 0; i < PIECES_TURN && more && r == 0; i++) {
		r = write_piece(b, &more);
		if (lws_send_pipe_choked(b->wsi))
			break;
	}
	if (r < 0) {
		give_up(b, "it has closed the connection");
		return -1;
	}
	if (has_more(b))
		lws_callback_on_writable(b->wsi);
	else if (b->closing) {
		lws_close_reason(b->wsi, LWS_CLOSE_STATUS_GOINGAWAY, NULL, 0);
		return -1;
	}
	return 0;
}

/* ---- receiving ---- */

static bool make_room(struct reading *r, size_t n)
{
	size_t room = r->room ? r->room : 4096;
	char *more;

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

static void on_received(struct sim_bridge *b, const void *data, size_t n)
{
	struct reading *r = &b->reading;

	b->heard_mono_ms = rosbridge_mono_ms();
	if (lws_is_first_fragment(b->wsi)) {
		r->len = 0;
		r->too_long = false;
		r->binary = lws_frame_is_binary(b->wsi);
	}
	if (!r->too_long && (r->len + n > ROSBRIDGE_IN_MAX || !make_room(r, n))) {
		r->too_long = true;
		log_warn(b, "the server sends a message of more than %u bytes: it is dropped", ROSBRIDGE_IN_MAX);
	}
	if (!r->too_long && n) {
		memcpy(r->data + r->len, data, n);
		r->len += n;
	}
	if (!r->too_long && lws_is_final_fragment(b->wsi) && !lws_remaining_packet_payload(b->wsi))
		rosbridge_take(b, r->data, r->len, r->binary);
}

static void on_close_frame(struct sim_bridge *b, const uint8_t *data, size_t n)
{
	char text[128] = "";
	unsigned code = n >= 2 ? (unsigned)(data[0] << 8 | data[1]) : 0;

	if (n > 2)
		snprintf(text, sizeof(text), ": %.*s", (int)(n - 2 < 100 ? n - 2 : 100), (const char *)data + 2);
	for (char *c = text; *c; c++)
		*c = *c < ' ' || *c > '~' ? '?' : *c;
	give_up(b, "it has closed the connection (%u%s%s)%s", code, code == 1009 ? ", message too big" : "", text,
		code == 1009 ? "; see fragment_size" : "");
	b->over = false; /* libwebsockets sends its close frame first */
}

/* ---- time-outs ---- */

static void ask(struct sim_bridge *b, int64_t now)
{
	if (b->asked_mono_ms || now - b->heard_mono_ms < b->stall_ms / 2)
		return;
	b->ping = true;
	b->asked_mono_ms = now;
	lws_callback_on_writable(b->wsi);
}

static void report_dropped(struct sim_bridge *b, int64_t now)
{
	char text[400] = "dropped, as the server is slow:";

	if (!atomic_load(&b->outbox.dropped))
		return;
	if (!b->report_mono_ms)
		b->report_mono_ms = now + REPORT_MS / 10;
	if (now < b->report_mono_ms)
		return;
	b->report_mono_ms = now + REPORT_MS;
	if (outbox_dropped(&b->outbox, text, sizeof(text)))
		report(b, SIM_BRIDGE_CONNECTED, text);
}

static void look_at_connected(struct sim_bridge *b, int64_t now)
{
	if (has_more(b) && now - b->moved_mono_ms > b->stall_ms)
		give_up(b, "it has taken nothing for %ld ms", b->stall_ms);
	else if (b->asked_mono_ms && now - b->asked_mono_ms > b->stall_ms)
		give_up(b, "it has answered nothing for %ld ms", b->stall_ms);
	ask(b, now);
	report_dropped(b, now);
}

static void look_at_stop(struct sim_bridge *b)
{
	if (!atomic_load(&b->stop) || b->closing)
		return;
	b->closing = true;
	b->moved_mono_ms = rosbridge_mono_ms();
	if (b->connected)
		lws_callback_on_writable(b->wsi);
	else
		b->over = true;
}

/* Time in which this thread did not run does not count against the server. */
static void forgive(struct sim_bridge *b, int64_t now)
{
	int64_t late_ms = now - b->tick_mono_ms - 2 * TICK_US / 1000;

	b->tick_mono_ms = now;
	if (late_ms <= 0)
		return;
	b->moved_mono_ms += late_ms;
	b->heard_mono_ms += late_ms;
	b->asked_mono_ms += b->asked_mono_ms ? late_ms : 0;
}

static void on_tick(lws_sorted_usec_list_t *sul)
{
	struct sim_bridge *b = lws_container_of(sul, struct sim_bridge, tick);
	int64_t now = rosbridge_mono_ms();

	forgive(b, now);
	look_at_stop(b);
	remotes_look(b, now);
	if (b->closing && now - b->moved_mono_ms > ROSBRIDGE_CLOSE_MS)
		b->over = true;
	else if (b->connected)
		look_at_connected(b, now);
	else if (now - b->begun_mono_ms > b->connect_ms)
		give_up(b, "no answer of a WebSocket server within %ld ms", b->connect_ms);
	lws_sul_schedule(b->context, 0, &b->tick, on_tick, TICK_US);
}

/* ---- events of libwebsockets ---- */

static void on_established(struct sim_bridge *b)
{
	char text[400];

	b->connected = true;
	b->moved_mono_ms = b->heard_mono_ms = rosbridge_mono_ms();
	if (b->auth)
		(void)outbox_say(&b->outbox, OUTBOX_FIRST, b->auth, strlen(b->auth), NULL, 0);
	outbox_open(&b->outbox, true);
	remotes_open(b, true);
	sim_time_ask(b);
	snprintf(text, sizeof(text), "rosbridge server at %s:%u%s", b->server.at.host, b->server.at.port,
		 b->server.tls ? ", TLS" : "");
	report(b, SIM_BRIDGE_CONNECTED, text);
	topics_offer(&b->common);
	lws_callback_on_writable(b->wsi);
}

static void on_woken(struct sim_bridge *b)
{
	look_at_stop(b);
	if (b->connected)
		lws_callback_on_writable(b->wsi);
}

/* Translates libwebsockets' message to the reason why there is no connection. */
static void on_failed(struct sim_bridge *b, const char *text, size_t n)
{
	static const char *const words[][2] = {
		{ "HS: ", "it does not answer like a WebSocket server: not a rosbridge server" },
		{ "read failed", "it has closed the connection before it answered: not a rosbridge server" },
		{ "Closed before conn", "it has closed the connection before it answered: not a rosbridge server" },
		{ "Unable to connect", "no answer; is the rosbridge server running?" },
		{ "conn fail", "no answer; is the rosbridge server running?" },
		{ "connect S", "TLS fails: is the port that of wss?" },
		{ "ipv6 lws_getaddrinfo46 failed", "its name is not known" },
	};
	const char *what = NULL;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && text; i++)
		if (n >= strlen(words[i][0]) && strncmp(text, words[i][0], strlen(words[i][0])) == 0)
			what = words[i][1];
	if (what || !text)
		give_up(b, "%s", what ? what : "cannot connect");
	else
		give_up(b, "%.*s", (int)n, text);
}

/* Stores OpenSSL's verification error as the reason; OpenSSL ends the connection anyway. */
static void on_certificate(struct sim_bridge *b, X509_STORE_CTX *c, bool ok)
{
	if (!ok)
		give_up(b, "its certificate is not accepted: %s; see ca_file",
			X509_verify_cert_error_string(X509_STORE_CTX_get_error(c)));
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct sim_bridge *b = lws_context_user(lws_get_context(wsi));

	switch (reason) {
	case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION:
		on_certificate(b, user, len);
		break;
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		on_failed(b, in, len);
		break;
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		b->wsi = wsi;
		on_established(b);
		break;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		on_received(b, in, len);
		break;
	case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
		b->heard_mono_ms = rosbridge_mono_ms();
		b->asked_mono_ms = 0;
		break;
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		return on_writable(b);
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		on_close_frame(b, in, len);
		break;
	case LWS_CALLBACK_CLIENT_CLOSED:
		give_up(b, "it has closed the connection");
		break;
	case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
		on_woken(b);
		break;
	default:
		break;
	}
	return 0;
}

static const struct lws_protocols protocols[] = {
	{ "rosbridge", on_event, 0, 65536, 0, NULL, ROSBRIDGE_PIECE },
	{ NULL, NULL, 0, 0, 0, NULL, 0 },
};

/* ---- the thread ---- */

static void set_context(struct sim_bridge *b, struct lws_context *c)
{
	pthread_mutex_lock(&b->context_lock);
	b->context = c;
	pthread_mutex_unlock(&b->context_lock);
}

static int begin(struct sim_bridge *b)
{
	struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN,
		.protocols = protocols,
		.gid = -1,
		.uid = -1,
		.user = b,
		.options = b->server.tls ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0,
		.client_ssl_ca_filepath = *b->ca_file ? b->ca_file : NULL,
		.fd_limit_per_thread = 64,
		.pt_serv_buf_size = 65536,
		.timeout_secs = (unsigned)(b->connect_ms / 1000 + 2),
		.connect_timeout_secs = (unsigned)(b->connect_ms / 1000 + 2),
	};
	struct lws_context *c;

	lws_set_log_level(0, NULL); /* failures are reported as reasons instead */
	c = lws_create_context(&info);

	if (!c) {
		give_up(b, *b->ca_file ? "TLS cannot be set up with ca_file %.150s" : "no memory", b->ca_file);
		return -ENOMEM;
	}
	set_context(b, c);
	lws_sul_schedule(c, 0, &b->tick, on_tick, TICK_US);
	return 0;
}

static void dial(struct sim_bridge *b)
{
	char origin[300];
	struct lws_client_connect_info info = {
		.context = b->context,
		.address = b->server.at.host,
		.port = (int)b->server.at.port,
		.path = b->server.path,
		.host = b->server.at.host,
		.origin = origin,
		.ssl_connection = b->server.tls ? LCCSCF_USE_SSL : 0,
		.pwsi = &b->wsi,
		.local_protocol_name = protocols[0].name,
	};

	snprintf(origin, sizeof(origin), "http%s://%s", b->server.tls ? "s" : "", b->server.at.host);
	if (!lws_client_connect_via_info(&info))
		give_up(b, "cannot connect");
}

static void end(struct sim_bridge *b)
{
	struct lws_context *c = b->context;

	set_context(b, NULL);
	b->connected = false;
	if (c) {
		lws_sul_schedule(c, 0, &b->tick, NULL, LWS_SET_TIMER_USEC_CANCEL);
		lws_context_destroy(c);
	}
	sending_drop(b);
	rosbridge_forget_parts(b);
	atomic_fetch_add(&b->connection, 1);
	remotes_open(b, false);
	sim_time_lost(b);
	outbox_open(&b->outbox, false);
}

static void *link_main(void *arg)
{
	struct sim_bridge *b = arg;
	char why[640];

	b->begun_mono_ms = b->tick_mono_ms = rosbridge_mono_ms();
	if (begin(b) == 0)
		dial(b);
	while (!b->over)
		if (lws_service(b->context, 0) < 0)
			break;
	end(b);
	snprintf(why, sizeof(why), "%s:%u: %s", b->server.at.host, b->server.at.port, b->why);
	if (!atomic_load(&b->stop))
		report(b, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED, why);
	return NULL;
}

int rosbridge_link_open(struct sim_bridge *b)
{
	int r;

	rosbridge_link_join(b);
	atomic_store(&b->stop, false);
	b->over = b->closing = b->ping = false; /* no other thread runs yet */
	b->asked_mono_ms = b->report_mono_ms = 0;
	b->why[0] = '\0';
	b->reading.len = 0;
	b->reading.too_long = true; /* ignore data before the first beginning of a message */
	report(b, SIM_BRIDGE_CONNECTING, "");
	r = -pthread_create(&b->thread, NULL, link_main, b);
	b->running = r == 0;
	if (b->running)
		pthread_setname_np(b->thread, "rosbridge");
	return r;
}

void rosbridge_link_close(struct sim_bridge *b)
{
	atomic_store(&b->stop, true);
	rosbridge_link_wake(b);
}

void rosbridge_link_join(struct sim_bridge *b)
{
	if (!b->running)
		return;
	pthread_join(b->thread, NULL);
	b->running = false;
}
