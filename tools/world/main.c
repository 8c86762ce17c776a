/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-world: a world that many hosts share. Parses the options and runs the server. Thread: main, which makes the
 * ticks; another thread writes the log.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "config.h"
#include "control.h"
#include "err.h"
#include "events.h"
#include "fd.h"
#include "input_log.h"
#include "keys.h"
#include "log.h"
#include "mem.h"
#include "net.h"
#include "net_compat.h"
#include "opt.h"
#include "replay.h"
#include "rnd.h"
#include "timeutil.h"
#include "view.h"
#include "loop/tls.h"

LOG_TOPIC("world");

#define GRACE_DUR_NS NS_PER_S
#define NOT_GIVEN    (-1)
#define LOG_LINES    4096
#define LOG_DUR_NS   NS_PER_S /* to write the last log lines, if they are read */

struct args {
	const char *listen, *config, *keys, *make_keys, *control, *input_log, *replay, *compat, *compat_listen,
		*compat_fields;
	struct opt_strings names, new_clients;
	int64_t step_dur_ns, grace_dur_ns, clients, objects, objects_each;
	double pace, section, radius;
	bool dilate, clamp, tcp_only, wait_for_paused;
};

#define OPT_VALUES struct args

static const struct opt OPTS[] = {
	OPT("listen", 'l', STRING, listen, "HOST:PORT", "address for clients [127.0.0.1:8082]"),
	OPT("keys", 'k', STRING, keys, "DIR",
	    "TLS with ca.pem, server.pem and server.key of DIR; needed for other machines", .complete = "dir"),
	OPT("config", 'c', STRING, config, "FILE", "JSON: access list, and own object types", .complete = "file"),
	OPT("compat", 0, STRING, compat, "tr2016",
	    "also serve clients of TR-2016-06, by its first protocol over TCP, from this machine"),
	OPT("compat-listen", 0, STRING, compat_listen, "HOST:PORT", "address for these clients [127.0.0.1:8083]"),
	OPT("compat-fields", 0, STRING, compat_fields, "FILE", "field numbers of its VehicleMessage, lines NAME NUMBER",
	    .complete = "file"),
	OPT("tcp-only", 0, FLAG, tcp_only, NULL, "no datagrams"),
	OPT("control", 0, STRING, control, "PATH",
	    "socket for simctl world [/run/simd/world, or $XDG_RUNTIME_DIR/simd/world]", .complete = "file"),
	OPT("input-log", 0, STRING, input_log, "FILE", "record all input of the world in a new file, for --replay",
	    .complete = "file"),
	OPT("replay", 0, STRING, replay, "FILE", "compute the world of an input log again, compare each tick, and exit",
	    .complete = "file"),
	OPT("step", 's', DUR, step_dur_ns, NULL, "simulated time between ticks [10ms; with --compat 500us]"),
	OPT("pace", 'p', DOUBLE, pace, "FACTOR", "simulated per real time, 0: as fast as possible [1]", .max = 1000),
	OPT("dilate", 0, FLAG, dilate, NULL, "slow down for slow clients, to a tenth at most"),
	OPT("wait-for-paused", 0, FLAG, wait_for_paused, NULL,
	    "wait for a host whose own time is paused, instead of continuing without it"),
	OPT("section", 0, DOUBLE, section, "METRES", "size of a section [250]", .min = 1, .max = 1000000),
	OPT("radius", 0, DOUBLE, radius, "METRES", "radius of interest, if a client gives none; 0: the whole world [0]",
	    .max = 1000000000),
	OPT("grace", 0, DUR, grace_dur_ns, NULL, "how long objects of a lost connection are kept [5s]"),
	OPT("clamp", 0, FLAG, clamp, NULL,
	    "clamp stamps too far in the future to the latest allowed, instead of refusing them"),
	OPT("clients", 0, INT, clients, "N", "maximum number [2000]", .min = 1, .max = 100000),
	OPT("objects", 0, INT, objects, "N", "maximum number in all [100000]", .min = 1, .max = 10000000),
	OPT("objects-each", 0, INT, objects_each, "N", "maximum for one client [4096]", .min = 1, .max = 1000000),
	OPT("make-keys", 0, STRING, make_keys, "DIR",
	    "make an authority, server.pem and clients' certificates, and exit", .complete = "dir"),
	OPT("name", 0, STRINGS, names, "HOST", "with --make-keys: name of the server, beside localhost and 127.0.0.1"),
	OPT("client", 0, STRINGS, new_clients, "NAME", "with --make-keys: a client, NAME.pem and NAME.key"),
	{ 0 },
};

static const struct opt_program PROGRAM = {
	.name = "sim-world",
	.section = 1,
	.summary = "a world that many hosts share",
	.version = SIM_VERSION,
	.opts = OPTS,
};

static void on_event(void *user, enum world_event what, uint32_t connection, const char *name, const char *sentence)
{
	events_take(user, what, connection, name, sentence, mono_now_ns());
}

static int world_of(const struct args *a, const struct config *config, struct log_ring *ring, struct events *events,
		    struct input_log **ret_log, struct world **ret)
{
	struct world_options o = {
		.store = { .objects_max = (uint32_t)a->objects,
			   .objects_each_max = (uint32_t)a->objects_each,
			   .section_mm = llround(a->section * 1e3),
			   .step_dur_ns = a->step_dur_ns },
		.barrier = { .pace_permille = (uint32_t)lround(a->pace * 1000),
			     .dilate = a->dilate,
			     .wait_for_paused = a->wait_for_paused },
		.number = rnd_entropy() | 1,
		.sessions_max = (uint32_t)a->clients,
		.members_max = 2 * (uint32_t)a->clients,
		.radius_mm = a->radius > 0 ? llround(a->radius * 1e3) : VIEW_ALL,
		.grace_dur_ns = a->grace_dur_ns,
		.ahead_dur_ns = NS_PER_S,
		.clamp = a->clamp,
		.event = on_event,
	};
	const struct input_log_options l = { .path = a->input_log, .store = o.store, .number = o.number, .ring = ring };
	int r = a->input_log ? input_log_create(&l, ret_log) : 0;

	if (r < 0)
		return r;
	if (config)
		o.access = *config_access(config);
	events_init(events, *ret_log);
	o.user = events;
	o.store.user = *ret_log;
	o.store.told = *ret_log ? input_log_told : NULL;
	r = world_create(&o, mono_now_ns(), ret);
	return r < 0 ? err_sys(r, "the world") : 0;
}

/* Parses "HOST:PORT", of which either may be missing. */
static int address_of(const char *option, const char *text, unsigned port, struct address *a, struct net_options *ret)
{
	*a = (struct address){ .host = "127.0.0.1", .port = port };
	if (address_read(text, strlen(text), a) < 0)
		return err_set(-EINVAL, "--%s %s: give HOST:PORT, as 127.0.0.1:8082", option, text);
	*ret = (struct net_options){ .host = a->host, .port = (uint16_t)a->port };
	return 0;
}

static int stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int make_keys(const struct args *a)
{
	const struct keys_options o = { .dir = a->make_keys,
					.names = a->names.v,
					.n_names = a->names.n,
					.clients = a->new_clients.v,
					.n_clients = a->new_clients.n };
	unsigned made = 0;
	int r = keys_make(&o, &made);

	if (r < 0)
		log_error("%s", err_why());
	else
		log_info("%s: certificates made: %u", a->make_keys, made);
	return r < 0 ? 1 : 0;
}

/* Listener for clients of TR-2016-06. */
struct old {
	struct compat_fields fields;
	struct compat *compat;
	struct net_compat *net;
};

static int open_old(const struct args *a, struct world *w, struct net *n, struct old *ret)
{
	const char *at = a->compat_listen ? a->compat_listen : "127.0.0.1:8083";
	struct net_options o;
	struct address host;
	int r = address_of("compat-listen", at, 8083, &host, &o);

	compat_fields_default(&ret->fields);
	if (r == 0 && a->compat_fields)
		r = compat_fields_load(a->compat_fields, &ret->fields);
	if (r == 0)
		r = compat_create(w, &ret->fields, mono_now_ns(), &ret->compat);
	if (r == 0)
		r = net_compat_create(ret->compat, n, &o, &ret->net);
	if (r == 0)
		log_info("clients of %s connect to %s:%u", a->compat, host.host, net_compat_port(ret->net));
	return r;
}

static void close_old(struct old *o)
{
	net_compat_destroy(o->net);
	compat_destroy(o->compat);
}

/* Control socket for the operator. */
struct desk {
	struct control *c; /* NULL: no control socket */
	struct exec_io io;
	struct net *n;
};

static void on_control(void *arg, uint32_t events)
{
	struct desk *d = arg;

	(void)events;
	control_turn(d->c, exec_now(net_exec(d->n)));
	net_soon(d->n);
}

static void close_desk(struct desk *d)
{
	exec_io_del(&d->io);
	control_destroy(d->c);
	d->c = NULL;
}

/*
 * If the user has not asked for a control socket, the world runs without it on errors: another world may use the
 * default path.
 */
static int open_desk(const char *asked, struct world *w, struct net *n, struct desk *d)
{
	char *path = asked ? mem_strdup(asked) : control_usual_path();
	int r = control_create(w, &d->c);

	d->n = n;
	if (r == 0)
		r = path ? control_listen(d->c, path)
			 : err_set(-ENOENT, "neither /run/simd nor $XDG_RUNTIME_DIR exists");
	if (r == 0)
		r = exec_io_add(net_exec(n), &d->io, control_fd(d->c), EPOLLIN, on_control, d);
	if (r == 0)
		log_info("control socket %s", path);
	mem_free(path);
	if (r == 0 || asked)
		return r;
	log_warn("no control socket (--control): %s", err_why());
	close_desk(d);
	return 0;
}

/*
 * A slow reader of stderr must not delay ticks: another thread writes the log, and lines that do not fit its buffer are
 * dropped and counted.
 */
static int log_begin(struct log_ring **ret)
{
	int r = log_ring_create(LOG_LINES, ret);

	if (r == 0)
		r = log_ring_start(*ret, "world-log");
	if (r == 0)
		log_thread_use(*ret);
	return r;
}

static void log_end(struct log_ring *ring)
{
	log_thread_use(NULL);
	if (ring && log_ring_stop_within(ring, LOG_DUR_NS) == 0)
		log_ring_destroy(ring);
}

static int serve(const struct args *a)
{
	int stop_fd = stop_signals();
	struct log_ring *ring = NULL;
	struct tls_keys *keys = NULL;
	struct config *config = NULL;
	struct net_options o;
	struct world *w = NULL;
	struct exec *x = NULL;
	struct net *n = NULL;
	struct desk desk = { .c = NULL };
	struct input_log *log = NULL;
	struct events events;
	struct old old = { .compat = NULL };
	struct address host;
	int r = stop_fd < 0 ? err_sys(-errno, "signals") : address_of("listen", a->listen, 8082, &host, &o);

	if (r == 0)
		r = log_begin(&ring);
	if (r == 0 && a->keys)
		r = tls_keys_load(a->keys, "server", &keys);
	if (r == 0 && a->config)
		r = config_load(a->config, &config);
	if (r == 0)
		r = world_of(a, config, ring, &events, &log, &w);
	if (r == 0) {
		o.keys = keys;
		o.tcp_only = a->tcp_only;
		r = exec_threads_create(&x);
	}
	if (r == 0)
		r = net_create(x, &o, w, &n);
	if (r == 0)
		r = net_stop_at(n, stop_fd, GRACE_DUR_NS);
	if (r == 0)
		r = open_desk(a->control, w, n, &desk);
	if (r == 0 && a->compat)
		r = open_old(a, w, n, &old);
	if (r == 0) {
		log_info("listening on %s:%u, %s%s", host.host, net_port(n), keys ? "TLS 1.3" : "plain text",
			 a->tcp_only ? "" : " and datagrams");
		r = exec_run(x);
	}
	if (r < 0)
		log_error("%s", err_why());
	close_old(&old);
	close_desk(&desk);
	net_destroy(n);
	exec_destroy(x);
	world_destroy(w);
	config_destroy(config);
	tls_keys_destroy(keys);
	input_log_destroy(log);
	log_end(ring);
	fd_close(stop_fd);
	return r < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
	static struct args a = { .listen = "127.0.0.1:8082",
				 .step_dur_ns = NOT_GIVEN,
				 .pace = 1,
				 .section = 250,
				 .grace_dur_ns = 5 * NS_PER_S,
				 .clients = 2000,
				 .objects = 100000,
				 .objects_each = 4096 };

	struct rlimit before;

	(void)opt_parse_or_exit(&PROGRAM, argc, argv, &a);
	(void)log_setup("sim-world");
	if (a.make_keys)
		return make_keys(&a);
	if (a.names.n || a.new_clients.n) {
		fprintf(stderr, "sim-world: --name and --client need --make-keys DIR\n");
		return 2;
	}
	if (a.compat ? strcmp(a.compat, "tr2016") != 0 : a.compat_listen || a.compat_fields) {
		fprintf(stderr,
			"sim-world: --compat can only be tr2016; --compat-listen and --compat-fields need it\n");
		return 2;
	}
	if (a.step_dur_ns ==
	    /* these clients get each other's state once a tick, and send at 1 kHz: ticks must be more frequent */
	    NOT_GIVEN)
		a.step_dur_ns = a.compat ? NS_PER_MS / 2 : 10 * NS_PER_MS;
	if (a.replay)
		return replay_file(a.replay);
	if (fd_limit_raise(2 * (unsigned long)a.clients + 64, &before) == 1)
		log_warn("fewer descriptors are allowed than %lld clients need (ulimit -n)", (long long)a.clients);
	return serve(&a);
}
