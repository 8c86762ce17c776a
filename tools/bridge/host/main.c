/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simbridge: one bridge plug-in, one connection, one process. Thread: main waits for signals, for status changes and
 * for the periodic flush; the lanes' threads do the work.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "host.h"
#include "log.h"
#include "opt.h"
#include "timeutil.h"

LOG_TOPIC("main");

#define FLUSH_DUR_NS  (750 * NS_PER_MS) /* together with the delay inside a plug-in less than a second */
#define CONNECT_TRIES 12                /* each takes up to 5 s */
#define LISTEN_DUR_NS (50 * NS_PER_MS)  /* how often to check for subscribers of offered channels */

struct args {
	const char *name, *socket, *plugin_dir;
	bool stay, check;
};

#define OPT_VALUES struct args
static const struct opt options[] = {
	OPT_ARG("BRIDGE", REQUIRED, STRING, name, "name of the bridge in simd's configuration",
		.complete = "simctl bridge list --names"),
	OPT("socket", 's', STRING, socket, "PATH", "simd's control socket", .complete = "file"),
	OPT("plugin-dir", 0, STRING, plugin_dir, "DIR", "where bridge_<name>.so lies", .complete = "dir"),
	OPT("stay", 0, FLAG, stay, NULL, "when simd ends, wait for the next one instead of exiting"),
	OPT("check", 0, FLAG, check, NULL,
	    "check the bridge's configuration from stdin, as JSON, and exit: for simd --check-config"),
	{ 0 },
};

static const struct opt_program program = {
	.name = "simbridge",
	.section = 1,
	.summary = "carry simd's channels to one foreign system through one bridge plug-in",
	.version = SIM_VERSION,
	.opts = options,
};

/* Returns the folder beside the executable in a build tree (../lib/simd), else the installed one. */
static const char *plugin_dir(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 32);
	char *slash;

	if (n <= 0)
		return SIM_LIBDIR "/simd";
	buf[n] = '\0';
	slash = strrchr(buf, '/');
	snprintf(slash, 32, "/../lib/simd");
	return access(buf, F_OK) == 0 ? buf : SIM_LIBDIR "/simd";
}

static int open_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_sys(-errno, "signalfd") : fd;
}

/*
 * SIGTERM stays blocked while the bridge starts: inside iceoryx it could leave a lock of RouDi held. So each step of
 * the start polls for it; with a stale socket of a dead simd nothing is started.
 */
static bool stop_asked(int signal_fd)
{
	return fd_wait(signal_fd, POLLIN, 0) > 0;
}

/* Does what is due now, or because of a change. Returns how long to wait, in ns. */
static int64_t work(struct host *h, bool changed, int64_t *flush_mono_ns)
{
	bool flush = mono_now_ns() >= *flush_mono_ns;
	int64_t left, link;

	host_lanes_reap(h);
	if (flush) {
		*flush_mono_ns += FLUSH_DUR_NS;
		host_flush_timed(h);
	}
	if (flush || changed)
		host_report(h);
	link = host_connection_step(h, mono_now_ns());
	left = *flush_mono_ns - mono_now_ns();
	if (link < left)
		left = link;
	if (host_inbound_watch(h) && left > LISTEN_DUR_NS)
		left = LISTEN_DUR_NS;
	return left > 0 ? left : 0;
}

/* Returns true when a signal asked to stop, false when simd hung up. */
static bool serve(struct host *h, int signal_fd)
{
	struct pollfd p[] = { { .fd = signal_fd, .events = POLLIN }, { .fd = h->wake_fd, .events = POLLIN } };
	int64_t flush_mono_ns = mono_now_ns() + FLUSH_DUR_NS, left = FLUSH_DUR_NS;
	uint64_t n;

	while (!atomic_load(&h->gone)) {
		bool changed;

		if (poll(p, 2, (int)(left / NS_PER_MS) + 1) > 0 && (p[0].revents & POLLIN))
			return true;
		changed = read(h->wake_fd, &n, sizeof(n)) > 0;
		if (!changed && errno != EAGAIN)
			log_warn("wake-up: %s", err_text(-errno));
		left = work(h, changed, &flush_mono_ns);
	}
	return false;
}

static int attach(struct sim_client *c, const struct args *a, json_t **ret_config, struct sim_bridge_session **ret,
		  struct sim_lane **ret_lane)
{
	char *text = NULL;
	int r = sim_bridge_attach(c, a->name, &text, ret, ret_lane);

	if (r < 0)
		return err_set(r, "%s", sim_why());
	*ret_config = json_loads(text, 0, NULL);
	free(text);
	if (*ret_config && a->socket)
		(void)json_object_set_new(*ret_config, "socket",
					  json_string(a->socket)); /* for plug-ins that connect to simd themselves */
	return *ret_config ? 0 : err_set(-EPROTO, "simd's description of the bridge is not JSON");
}

#define NEVER_WORKS 78 /* EX_CONFIG of sysexits(3) */

/* An invalid plug-in or configuration: restarting would fail in the same way. */
static bool is_permanent(int r)
{
	return r == -EINVAL || r == -ENOENT || r == -ELIBBAD;
}

/*
 * One session with simd: attach, serve, leave. Returns 0 if a signal asked to stop, 1 if simd is gone, or an error;
 * *ret_permanent: restarting would not help.
 */
static int session(struct sim_client *c, const struct args *a, const char *dir, int signal_fd, bool *ret_permanent)
{
	struct sim_bridge_session *s = NULL;
	struct sim_lane *lane0 = NULL;
	struct host *h = NULL;
	json_t *config = NULL;
	int r = attach(c, a, &config, &s, &lane0);

	if (r < 0 || stop_asked(signal_fd))
		goto out;
	r = host_create(c, dir, config, &h);
	if (r < 0) { /* shown by `simctl bridge list` */
		sim_lane_status(lane0, SIM_BRIDGE_DISCONNECTED, 0, 0, 0, 0, err_why());
		*ret_permanent = is_permanent(r);
		goto out;
	}
	sim_lane_set_flags(lane0, plugin_flags(h->plugin) & SIM_BRIDGE_KEEPS_DATA ? SIM_LANE_KEEPS_DATA : 0);
	r = host_lane_start(h, lane0, true);
	if (r < 0)
		goto out;
	lane0 = NULL; /* owned by the lane's thread now */
	r = serve(h, signal_fd) ? 0 : 1;
	if (r == 0)
		host_lanes_drain(h);
	host_connection_close(h);
	host_report(h);
out:
	host_destroy(h); /* publishes and answers what is queued, then ends the lanes */
	sim_lane_destroy(lane0);
	sim_bridge_session_destroy(s);
	json_decref(config);
	return r;
}

/* Whether to attach again (--stay): simd is away, and no signal asks to stop. */
static bool again(int r, int signal_fd)
{
	return (r == 1 || r == -ENOTCONN || r == -ETIMEDOUT || r == -EBUSY) &&
	       fd_wait(signal_fd, POLLIN, 100 * NS_PER_MS) == 0;
}

/* Connects, and tries again on -ETIMEDOUT: simd or RouDi may be without CPU time for a while. */
static int connect_patiently(const struct sim_client_options *o, int signal_fd, struct sim_client **ret)
{
	int r = 0;

	for (int tries = 0; tries < CONNECT_TRIES && !stop_asked(signal_fd); tries++) {
		r = sim_connect(o, ret);
		if (r != -ETIMEDOUT)
			break;
	}
	return r;
}

int main(int argc, char **argv)
{
	char buf[4096];
	struct args a = { 0 };
	struct sim_client_options o = { .size = sizeof(o), .flags = SIM_CLIENT_BRIDGE };
	struct sim_client *c = NULL;
	bool permanent = false;
	int r, signal_fd;

	opt_parse_or_exit(&program, argc, argv, &a);
	if (a.check)
		return host_check(a.plugin_dir ? a.plugin_dir : plugin_dir(buf, sizeof(buf))) < 0 ? NEVER_WORKS : 0;
	log_setup("simbridge");
	o.name = a.name;
	o.socket = a.socket;
	signal_fd = open_signals();
	r = signal_fd < 0 ? signal_fd : connect_patiently(&o, signal_fd, &c);
	if (r < 0) {
		fprintf(stderr, "simbridge: %s\n", signal_fd < 0 ? err_why() : sim_why());
		return 1;
	}
	while (c && !stop_asked(signal_fd)) {
		r = session(c, &a, a.plugin_dir ? a.plugin_dir : plugin_dir(buf, sizeof(buf)), signal_fd, &permanent);
		if (!a.stay || !again(r, signal_fd))
			break;
	}
	if (r < 0)
		log_error("%s: %s", a.name, err_why());
	sim_disconnect(c);
	fd_close(signal_fd);
	return r >= 0 ? 0 : permanent ? NEVER_WORKS : 1;
}
