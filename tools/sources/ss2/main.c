/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-ss2: the simulator's end of scenario_simulator_v2, a ZeroMQ REP socket. It holds the driver lease of the `ss2`
 * source: time is what the scenario says, and what the scenario puts on the road appears on simd's channels.
 *
 * Threads: main (all of the above), "stop" (signals), ZeroMQ's own two, and the library's.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <sim/sim.h>

#include "../stop.h"
#include "codec.h"
#include "err.h"
#include "link.h"
#include "log.h"
#include "mem.h"
#include "opt.h"
#include "timeutil.h"

LOG_TOPIC("ss2");

#define PORT_DEFAULT  5555
#define RANK_DEFAULT  200
#define IDLE_MS       200
#define LOST_S        3  /* wall: after a kill the next request comes at once, or it was lost with who was killed */
#define SILENCE_S     30 /* wall: a scenario sends 30 requests a second and more */
#define STOP_GRACE_MS 1500
#define LINGER_MS     100 /* the last answer may still leave */
#define MEMORY_MAX    ((rlim_t)512 << 20)
#define QUEUE         64 /* requests of one peer that may wait; it sends one at a time. ZeroMQ's I/O is woken at half of it */

struct args {
	const char *bind, *socket, *name, *origin, *state, *parameters, *vehicle, *vehicle_origin;
	int64_t port, rank, silence_s;
};

#define OPT_VALUES struct args
static const struct opt OPTS[] = {
	OPT("port", 'p', INT, port, "PORT", "TCP port that scenario_simulator_v2 connects to [5555]", .min = 1,
	    .max = 65535),
	OPT("bind", 'b', STRING, bind, "ADDRESS", "address or interface to listen on, * for all [127.0.0.1]"),
	OPT("origin", 0, STRING, origin, "E,N[,ALT]",
	    "UTM position of the scenario's map, in metres [corner of the MGRS square]"),
	OPT("parameters", 0, STRING, parameters, "FILE",
	    "what disturbs detections: the parameters of scenario_simulator_v2, as JSON", .complete = "file"),
	OPT("rank", 0, INT, rank, "N", "its turn in each step, behind the vehicle's [200]", .min = 0,
	    .max = SIM_STEP_RANK_MAX),
	OPT("silence", 0, INT, silence_s, "S", "without a request for so long nobody drives [30]", .min = 1,
	    .max = 86400),
	OPT("state", 0, STRING, state, "FILE",
	    "what the next sim-ss2 finds if this one is killed [beside simd's socket]", .complete = "file"),
	OPT("vehicle", 0, STRING, vehicle, "FILE", "the ego is on board: the parameters of sim-vehicle, as JSON",
	    .complete = "file"),
	OPT("vehicle-origin", 0, STRING, vehicle_origin, "LAT,LON",
	    "with --vehicle: the map's origin in degrees; without it there is no satellite fix"),
	OPT("simd-socket", 0, STRING, socket, "PATH", "control socket of simd", .complete = "file"),
	OPT("name", 0, STRING, name, "NAME", "name shown by simctl [sim-ss2]"),
	{ 0 }
};

static const struct opt_program PROGRAM = {
	.name = "sim-ss2",
	.section = 1,
	.summary = "let scenario_simulator_v2 drive simd",
	.version = SIM_VERSION,
	.opts = OPTS,
};

/* A client, by its connection. */
struct peer {
	int fd; /* ZeroMQ's; -1: none */
	struct sockaddr_storage at;
	char name[SERVER_PEER_MAX]; /* "ADDRESS:PORT" */
};

struct app {
	struct args args;
	struct stop stop;
	struct link link;
	struct server *server;
	void *zmq, *rep;
	int rep_fd; /* readable when ZeroMQ has something for us, once: only after it has said that there is none */
	struct log_limit limit;
	struct store store;
	struct noise_settings *noise;
	char state[PATH_MAX];    /* its file, "": none */
	int64_t heard_mono_ns;   /* the last request */
	struct peer peer, owner; /* of the last request; whose scenario it is */
	bool restored;           /* from a process that was killed, and no request has come since */
};

/* ---- requests ---- */

/* Take all parts of one request; only the first is kept. Returns how many there were, negative on failure. */
static int receive(struct app *a, zmq_msg_t *first)
{
	bool more;
	int parts = 1;

	if (zmq_msg_recv(first, a->rep, ZMQ_DONTWAIT) < 0)
		return -errno;
	for (more = zmq_msg_more(first); more; parts++) {
		zmq_msg_t part;

		(void)zmq_msg_init(&part);
		if (zmq_msg_recv(&part, a->rep, ZMQ_DONTWAIT) < 0) {
			(void)zmq_msg_close(&part);
			return -errno;
		}
		more = zmq_msg_more(&part);
		(void)zmq_msg_close(&part);
	}
	return parts;
}

/* The far end of a connection, zeros behind it. False: there is none any more. */
static bool address_of(int fd, struct sockaddr_storage *ret)
{
	socklen_t len = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	return fd >= 0 && getpeername(fd, (struct sockaddr *)ret, &len) == 0;
}

static void name_peer(struct peer *p)
{
	char host[SERVER_PEER_MAX - 8], port[8];

	*p->name = '\0';
	if (getnameinfo((struct sockaddr *)&p->at, sizeof(p->at), host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(p->name, sizeof(p->name), "%s:%s", host, port);
}

static bool is_connected(const struct peer *p)
{
	struct sockaddr_storage at;

	return address_of(p->fd, &at) && memcmp(&at, &p->at, sizeof(at)) == 0;
}

/* Whose request it is; who owns the scenario may have disconnected. It is nearly always the one of before, so that is quick. */
static void meet(struct app *a, const zmq_msg_t *m)
{
	struct peer now = { .fd = zmq_msg_get(m, ZMQ_SRCFD) };

	a->restored = false;
	if (!address_of(now.fd, &now.at)) /* it has gone, and does not hear the answer */
		now.fd = -1;
	if (now.fd < 0 || now.fd != a->peer.fd || memcmp(&now.at, &a->peer.at, sizeof(now.at)) != 0) {
		if (now.fd >= 0)
			name_peer(&now);
		a->peer = now;
		server_peer(a->server, now.name);
	}
	if (strcmp(a->peer.name, server_owner(a->server)) != 0 && !is_connected(&a->owner))
		server_owner_gone(a->server);
}

static void note_owner(struct app *a)
{
	if (strcmp(a->peer.name, server_owner(a->server)) == 0) /* on a new connection too, from the same port */
		a->owner = a->peer;
}

static int reply(struct app *a, zmq_msg_t *m, int parts)
{
	uint8_t *bytes;
	size_t len;
	int r;

	if (parts > 1)
		r = server_refuse("a request has one part, this one has more", &bytes, &len);
	else
		r = server_handle(a->server, zmq_msg_data(m), zmq_msg_size(m), &bytes, &len);
	if (r < 0)
		return r;
	if (r == 0)
		log_limited(&a->limit, mono_now_ns(), LOG_LEVEL_WARN, "refused: %s", err_why());
	r = zmq_send(a->rep, bytes, len, ZMQ_DONTWAIT) < 0 ? -errno : 0;
	mem_free(bytes);
	return r;
}

/* One request and its answer: ZeroMQ takes no other order. -EAGAIN there is none. */
static int serve(struct app *a)
{
	zmq_msg_t m;
	int r;

	(void)zmq_msg_init(&m);
	r = receive(a, &m);
	if (r > 0) {
		link_settle(&a->link);
		meet(a, &m);
		r = reply(a, &m, r);
		note_owner(a);
		if (r == 0) /* at once: who is killed from here on has answered */
			server_answered(a->server);
		link_answered(&a->link);
	}
	(void)zmq_msg_close(&m);
	return r;
}

/* A scenario that sends nothing any more has ended, or hangs: whoever looks at the clock shall see it. */
static void idle(struct app *a)
{
	struct server_info i;

	server_info(a->server, &i);
	if (!a->link.resting && a->restored && mono_now_ns() - a->heard_mono_ns > LOST_S * INT64_C(1000000000)) {
		log_error("no request for %d s since a sim-ss2 was killed: the client's request was lost with it, which "
			  "scenario_simulator_v2 waits for an answer to for ever; end it, and start the scenario again",
			  LOST_S);
		a->restored = false;
		link_rest(&a->link);
	}
	if (!a->link.resting && i.initialised &&
	    mono_now_ns() - a->heard_mono_ns > a->args.silence_s * INT64_C(1000000000)) {
		log_warn("no request for %d s: the scenario has ended, or its client waits for something; time stands at "
			 "%.3f s and nobody drives it until the next request",
			 (int)a->args.silence_s, (double)sim_now(a->link.client) / 1e9);
		link_rest(&a->link);
	}
	link_idle(&a->link);
}

static int wait_for_work(struct app *a)
{
	struct pollfd p[] = { { .fd = a->rep_fd, .events = POLLIN },
			      { .fd = a->stop.fd, .events = POLLIN },
			      { .fd = link_fd(&a->link), .events = POLLIN } };

	if (poll(p, 3, IDLE_MS) < 0 && errno != EINTR)
		return err_sys(-errno, "waiting for requests");
	if (p[2].revents)
		link_turn(&a->link);
	if (!p[0].revents)
		idle(a);
	if (sim_client_state(a->link.client) == SIM_CLIENT_FAILED)
		return err_set(-EIO, "simd is lost: %s", sim_client_why(a->link.client));
	return 0;
}

static int loop(struct app *a)
{
	int r = 0;

	a->heard_mono_ns = mono_now_ns();
	while (r >= 0 && !stop_requested(&a->stop)) {
		r = serve(a);
		if (r == -EAGAIN || r == -EINTR)
			r = wait_for_work(a);
		else if (r < 0)
			return err_set(r, "answering a request: %s", zmq_strerror(-r));
		else
			a->heard_mono_ns = mono_now_ns();
	}
	return r;
}

/* ---- start and end ---- */

static int set_option(void *socket, int option, const void *value, size_t size)
{
	return zmq_setsockopt(socket, option, value, size) < 0 ? err_sys(-errno, "socket option %d", option) : 0;
}

static int bind_error(const struct app *a, const char *endpoint, int e)
{
	if (e == EADDRINUSE)
		return err_set(-e, "port %" PRId64 " is taken by another program; choose one with --port",
			       a->args.port);
	return err_set(-e, "cannot listen on %s: %s", endpoint, zmq_strerror(e));
}

/*
 * ZeroMQ bounds the parts of a message but not their number, and hands over only the whole. Whoever never ends one
 * would fill the machine; so he ends this process, which simd starts again. Shared memory does not count.
 */
static void bound_memory(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_DATA, &l) < 0 || l.rlim_cur <= MEMORY_MAX)
		return;
	l.rlim_cur = MEMORY_MAX;
	if (setrlimit(RLIMIT_DATA, &l) < 0)
		log_warn("memory is not bounded: %s; ignoring", err_text(-errno));
}

static int listen_zmq(struct app *a)
{
	const int linger = LINGER_MS, queue = QUEUE, ipv6 = strchr(a->args.bind, ':') != NULL;
	const int64_t most = CODEC_REQUEST_MAX * 2; /* what is somewhat too large is still answered */
	size_t size = sizeof(a->rep_fd);
	char endpoint[128];
	int r;

	if ((size_t)snprintf(endpoint, sizeof(endpoint), ipv6 ? "tcp://[%s]:%" PRId64 : "tcp://%s:%" PRId64,
			     a->args.bind, a->args.port) >= sizeof(endpoint))
		return err_set(-EINVAL, "--bind: \"%.40s...\" is too long for an address", a->args.bind);
	a->zmq = zmq_ctx_new();
	a->rep = a->zmq ? zmq_socket(a->zmq, ZMQ_REP) : NULL;
	if (!a->rep)
		return err_sys(-errno, "a ZeroMQ socket");
	r = set_option(a->rep, ZMQ_LINGER, &linger, sizeof(linger));
	if (r == 0)
		r = set_option(a->rep, ZMQ_RCVHWM, &queue, sizeof(queue));
	if (r == 0) /* who sends more is cut off while it sends */
		r = set_option(a->rep, ZMQ_MAXMSGSIZE, &most, sizeof(most));
	if (r == 0)
		r = set_option(a->rep, ZMQ_IPV6, &ipv6, sizeof(ipv6));
	if (r == 0 && zmq_getsockopt(a->rep, ZMQ_FD, &a->rep_fd, &size) < 0)
		r = err_sys(-errno, "the descriptor of a ZeroMQ socket");
	if (r == 0 && zmq_bind(a->rep, endpoint) < 0)
		r = bind_error(a, endpoint, errno);
	if (r == 0)
		log_info("listening on %s", endpoint);
	return r;
}

/* Beside the control socket, which is in a directory that simd made for one life. */
static int open_store(struct app *a)
{
	const char *socket = a->args.socket ? a->args.socket : getenv("SIMD_SOCKET");
	const char *slash = socket ? strrchr(socket, '/') : NULL;

	size_t more = a->args.vehicle ? onboard_size() : 0;

	if (a->args.state)
		snprintf(a->state, sizeof(a->state), "%s", a->args.state);
	else if (slash)
		snprintf(a->state, sizeof(a->state), "%.*s/ss2.scene", (int)(slash - socket), socket);
	if (!*a->state || store_open(&a->store, a->state, more) == 0)
		return *a->state ? 0 : store_open(&a->store, NULL, more);
	log_warn("%s: a killed sim-ss2 loses its scene; ignoring", err_why());
	*a->state = '\0';
	return store_open(&a->store, NULL, more);
}

/* A scenario that the one before has left in the middle of a request is not driven on: its client waits for ever. */
static void restore(struct app *a)
{
	struct sim_clock_sample now;
	int r;

	sim_now_sample(a->link.client, &now);
	r = server_restore(a->server, sim_clock_page(a->link.client)->simd_id, now.clock_generation);
	a->restored = r == 1;
	if (r != 1 && a->link.onboard)
		onboard_init(a->link.onboard);
	if (r < 0) {
		log_error("%s", err_why());
		link_rest(&a->link);
	}
}

static int attach(struct app *a)
{
	struct vehicle_origin origin;
	int r = vehicle_origin_parse(&origin, a->args.origin);

	if (r < 0)
		return err_prefix(r, "--origin");
	if (a->args.parameters)
		r = noise_file_load(a->args.parameters, &a->noise);
	if (r < 0)
		return r;
	r = link_open(&a->link, a->args.name, a->args.socket, &origin, (uint32_t)a->args.rank);
	if (r < 0)
		return err_set(r, "simd: %s", source_why(r));
	r = open_store(a);
	if (r == 0)
		r = link_board(&a->link, a->args.vehicle, a->args.vehicle_origin, a->store.more);
	if (r == 0)
		r = server_create(&link_ops, &a->link, &a->store, &a->server);
	if (r < 0)
		return r;
	server_noise(a->server, a->noise);
	link_serve(&a->link, a->server);
	restore(a);
	link_idle(&a->link);
	return 0;
}

static void report(const struct app *a)
{
	struct server_info i;

	server_info(a->server, &i);
	log_info("%llu requests, %llu of them refused", (unsigned long long)i.requests, (unsigned long long)i.failures);
	for (int c = 0; c < LINK_CHANNELS; c++) {
		if (a->link.out[c].pub)
			outlet_report(&a->link.out[c]);
	}
}

static void detach(struct app *a)
{
	if (a->rep)
		(void)zmq_close(a->rep);
	if (a->zmq)
		(void)zmq_ctx_term(a->zmq);
	if (a->server)
		report(a);
	link_close(&a->link);
	server_destroy(a->server);
	noise_file_free(a->noise);
	store_close(&a->store);
	if (*a->state)
		(void)unlink(a->state); /* who ends in order leaves nothing to go on with */
}

int main(int argc, char *argv[])
{
	static struct app a = { .args = { .bind = "127.0.0.1",
					  .name = "sim-ss2",
					  .port = PORT_DEFAULT,
					  .rank = RANK_DEFAULT,
					  .silence_s = SILENCE_S },
				.peer.fd = -1,
				.owner.fd = -1,
				.limit = LOG_LIMIT(INT64_C(1000000000), 5) };
	int r;

	opt_parse_or_exit(&PROGRAM, argc, argv, &a.args);
	(void)log_setup("sim-ss2");
	bound_memory();
	r = stop_init(&a.stop, STOP_GRACE_MS);
	if (r == 0)
		r = attach(&a);
	if (r == 0)
		r = listen_zmq(&a);
	if (r == 0)
		r = loop(&a);
	if (r < 0)
		log_error("%s", *err_why() ? err_why() : err_text(r));
	detach(&a);
	return r < 0 ? 1 : 0;
}
