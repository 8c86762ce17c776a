/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-ss2: the simulator's side of scenario_simulator_v2's connection, which is a ZeroMQ REP socket. It holds the
 * driver lease of the `ss2` source: the scenario sets time, and the scenario's entities appear on simd's channels.
 *
 * Threads: main (all of the above), "stop" (signals), and the library's.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sim/sim.h>

#include "../stop.h"
#include "codec.h"
#include "err.h"
#include "attach.h"
#include "log.h"
#include "mem.h"
#include "opt.h"
#include "peers.h"
#include "timeutil.h"

LOG_TOPIC("ss2");

#define PORT_DEFAULT  5555
#define RANK_DEFAULT  200
#define IDLE_MS       200
#define LOST_S        3  /* wall: after a kill the next request comes at once, or it was lost with the killed process */
#define SILENCE_S     30 /* wall: a scenario sends 30 requests a second and more */
#define STOP_GRACE_MS 1500
#define TRIES_MAX     4 /* processes that may have ended during a request before it is refused */

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
	    "noise of detections: the parameters of scenario_simulator_v2, as JSON", .complete = "file"),
	OPT("rank", 0, INT, rank, "N", "rank of its turn in each step, after the vehicle's [200]", .min = 0,
	    .max = SIM_STEP_RANK_MAX),
	OPT("silence", 0, INT, silence_s, "S", "release the driver lease after this long without a request [30]",
	    .min = 1, .max = 86400),
	OPT("state", 0, STRING, state, "FILE",
	    "state that the next sim-ss2 continues from if this one is killed [beside simd's socket]",
	    .complete = "file"),
	OPT("vehicle", 0, STRING, vehicle, "FILE",
	    "simulate the ego in this process, with these parameters of sim-vehicle, as JSON", .complete = "file"),
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

struct app {
	struct args args;
	struct stop stop;
	struct link link;
	struct server *server;
	struct peers peers;
	struct log_limit limit;
	struct store store;
	struct noise_settings *noise;
	char state[PATH_MAX];      /* file of the store; "": no file */
	int64_t heard_mono_ns;     /* when the last request came */
	char peer[PEERS_NAME_MAX]; /* client of the last request */
	/* the scene is from a killed process whose connections are lost, and no request has come since */
	bool restored;
};

/* ---- requests ---- */

/*
 * Set the client of the request. The owner of the scenario may have disconnected. The client is nearly always the same
 * as before, so that case is quick.
 */
static void meet(struct app *a, const char *from)
{
	const char *owner = server_owner(a->server);

	a->restored = false;
	if (strcmp(from, a->peer) != 0) {
		snprintf(a->peer, sizeof(a->peer), "%s", from);
		server_peer(a->server, from);
	}
	if (*owner && strcmp(from, owner) != 0 && !peers_has(&a->peers, owner))
		server_owner_gone(a->server);
}

static int handle(struct app *a, const struct peers_request *q, uint8_t **ret, size_t *ret_len)
{
	char why[128];

	if (q->tries > TRIES_MAX) {
		snprintf(why, sizeof(why), "%d processes have ended with this request, so it is not tried again",
			 TRIES_MAX);
		return server_refuse(why, ret, ret_len);
	}
	if (q->parts > 1)
		return server_refuse("a request has one part, this one has more", ret, ret_len);
	store_begin(&a->store, q->number);
	return server_handle(a->server, q->data, q->len, ret, ret_len);
}

/* A process killed after peers_answer() has given its answer; at most its turn is left. */
static int reply(struct app *a, const struct peers_request *q)
{
	uint8_t *bytes;
	size_t len;
	int r = handle(a, q, &bytes, &len);

	if (r < 0)
		return r;
	if (r == 0)
		log_limited(&a->limit, mono_now_ns(), LOG_LEVEL_WARN, "refused: %s", err_why());
	a->store.head->turn = link_has_turn(&a->link) ? STORE_TURN_DUE : STORE_TURN_OVER;
	peers_answer(&a->peers, bytes, len);
	server_answered(a->server);
	mem_free(bytes);
	return 0;
}

/* Handle one request. -EAGAIN: there is no request. */
static int serve(struct app *a)
{
	struct peers_request q;
	int r = peers_next(&a->peers, &q);

	if (r < 0)
		return r;
	link_settle(&a->link);
	meet(a, q.from);
	r = reply(a, &q);
	link_answered(&a->link);
	a->store.head->turn = STORE_TURN_OVER;
	return r;
}

/* A scenario that sends nothing any more has ended, or hangs; the clock status has to show it. */
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
	struct pollfd p[2 + PEERS_POLL_MAX] = { { .fd = a->stop.fd, .events = POLLIN },
						{ .fd = link_fd(&a->link), .events = POLLIN } };
	unsigned n = peers_poll(&a->peers, p + 2);
	int r = poll(p, 2 + n, IDLE_MS);

	if (r < 0 && errno != EINTR)
		return err_sys(-errno, "waiting for requests");
	if (r > 0 && p[1].revents)
		link_turn(&a->link);
	peers_look(&a->peers, p + 2, r > 0 ? n : 0);
	if (r <= 0)
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
		if (r == -EAGAIN)
			r = wait_for_work(a);
		else if (r < 0)
			return err_set(r, "answering a request: %s", err_text(r));
		else
			a->heard_mono_ns = mono_now_ns();
	}
	return r;
}

/* ---- start and end ---- */

static int listen_to(struct app *a)
{
	int r = peers_listen(&a->peers, a->args.bind, (int)a->args.port);

	if (r == 0)
		log_info("listening on tcp://%s%s%s:%" PRId64, strchr(a->args.bind, ':') ? "[" : "", a->args.bind,
			 strchr(a->args.bind, ':') ? "]" : "", a->args.port);
	return r;
}

/* The store is beside the control socket, in a directory that simd made for one life. */
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

/*
 * Continue where the killed process was: in the state before the request that it was killed in. That request comes
 * again if its connection still exists.
 */
static void restore(struct app *a)
{
	struct store_head *h = a->store.head;
	struct sim_clock_sample now;
	int r;

	(void)store_settle(&a->store, peers_answered(&a->peers));
	if (a->peers.taken)
		h->busy = 0;
	sim_now_sample(a->link.client, &now);
	r = server_restore(a->server, sim_clock_page(a->link.client)->simd_id, now.clock_generation);
	a->restored = r == 1 && !a->peers.taken;
	if (r != 1 && a->link.onboard)
		onboard_init(a->link.onboard);
	if (r == 1 && h->turn && now.sim_ns == h->now_sim_ns)
		link_make_up(&a->link, h->turn == STORE_TURN_MOVED);
	h->turn = STORE_TURN_OVER;
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
		r = link_board(&a->link, a->args.vehicle, a->args.vehicle_origin, &a->store);
	if (r == 0)
		r = server_create(&link_ops, &a->link, &a->store, &a->server);
	if (r < 0)
		return r;
	server_noise(a->server, a->noise);
	peers_spare(&a->peers, server_owner(a->server));
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
	peers_close(&a->peers);
	if (a->server)
		report(a);
	link_close(&a->link);
	server_destroy(a->server);
	noise_file_free(a->noise);
	store_close(&a->store);
	if (*a->state)
		(void)unlink(a->state); /* a process that ends regularly leaves no state */
}

int main(int argc, char *argv[])
{
	static struct app a = { .args = { .bind = "127.0.0.1",
					  .name = "sim-ss2",
					  .port = PORT_DEFAULT,
					  .rank = RANK_DEFAULT,
					  .silence_s = SILENCE_S },
				.limit = LOG_LIMIT(INT64_C(1000000000), 5) };
	int r;

	opt_parse_or_exit(&PROGRAM, argc, argv, &a.args);
	(void)log_setup("sim-ss2");
	r = peers_open(&a.peers);
	if (r == 0)
		r = stop_init(&a.stop, STOP_GRACE_MS);
	if (r == 0)
		r = attach(&a);
	if (r == 0)
		r = listen_to(&a);
	if (r == 0)
		r = loop(&a);
	if (r < 0)
		log_error("%s", *err_why() ? err_why() : err_text(r));
	detach(&a);
	return r < 0 ? 1 : 0;
}
