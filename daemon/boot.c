/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of main.c's table; contract in boot.h. Thread: simd-main. */
#include "boot.h"

#include "control/control.h"
#include "dispatch/pool.h"
#include "registry/bridge.h"
#include "config/config.h"
#include "registry/registry.h"
#include "registry/shards.h"
#include "registry/simd.h"
#include "err.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "notify.h"
#include "rnd.h"
#include "supervise/cleanup.h"
#include "supervise/supervisor.h"
#include "supervise/roudi_files.h"
#include "timeutil.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

LOG_TOPIC("simd");

#define RING_LINES 4096
#define OWN_FILES  1024 /* simd's own: for RouDi, lanes and processes of bridges, processes without a session */
#define TUNABLE    "glibc.rtld.nns=16"

/* ---- configuration ---- */

void boot_config_end(struct boot *b)
{
	conf_destroy(b->conf);
	b->conf = NULL;
	mem_free(b->bin_dir);
	b->bin_dir = NULL;
	/* b->exe stays for boot_again() */
}

/* --check-config reports all mistakes. */
static void print_mistake(void *arg)
{
	((struct boot *)arg)->mistakes++;
	fprintf(stderr, "simd: %s\n", err_why());
}

static int check_backend(const struct conf *c)
{
	if (conf_choice(conf_root(c), "backend") == 0)
		return 0;
	return err_set(-EINVAL, "backend \"mem\" exists inside one process, so no other could attach; it is for tests");
}

static int load_config(struct boot *b)
{
	struct config_sources s = {
		.file = b->args.config,
		.usual_file = b->usual_config,
		.rigs = b->args.rigs.v,
		.n_rigs = b->args.rigs.n,
		.overrides = b->args.sets.v,
		.n_overrides = b->args.sets.n,
		.each = b->args.check ? print_mistake : NULL,
		.arg = b,
	};
	int r = config_load(&s, &b->conf);

	if (r == 0)
		r = check_backend(b->conf);
	if (r < 0)
		boot_config_end(b);
	return r;
}

static void find_exe(struct boot *b)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (n <= 0)
		return;
	path[n] = '\0';
	b->exe = mem_strdup(path);
	slash = strrchr(path, '/');
	if (slash)
		b->bin_dir = mem_strndup(path, (size_t)(slash - path));
}

static int read_config(struct boot *b)
{
	find_exe(b);
	return load_config(b);
}

static const char *asked_runtime(const struct boot *b)
{
	return b->args.runtime_dir ? b->args.runtime_dir : conf_string(conf_root(b->conf), "runtime_dir");
}

/* Checks the program, unless an earlier simd has left a RouDi: that is taken over, even if its program is gone. */
static int check_roudi(const struct boot *b)
{
	char plane[PLANE_MAX], *path = NULL;
	int r;

	runtime_plane_of(asked_runtime(b), plane);
	if (config_roudi_external(conf_root(b->conf)) || (*plane && roudi_has_left(plane)))
		return 0;
	r = spawn_find(conf_string(conf_root(b->conf), "roudi.path"), b->bin_dir, &path);
	if (r == 0 && access(path, X_OK) < 0)
		r = err_sys(-errno, "%s", path);
	mem_free(path);
	if (r < 0 && !err_is_lack(r))
		return err_set(r, "roudi.path: %s; install iceoryx, or give the path of its iox-roudi", err_why());
	return r;
}

int boot_config(struct boot *b)
{
	int r = read_config(b);

	if (r < 0)
		return r;
	r = check_group(conf_root(b->conf));
	if (r == 0)
		r = check_roudi(b);
	if (r < 0)
		boot_config_end(b);
	return r;
}

static int with_plugin_dirs(struct boot *b, int (*fn)(struct boot *b, const char *const *dirs))
{
	const char *dir = conf_string(conf_root(b->conf), "bridge.plugin_dir");
	char *installed = mem_printf("%s/../lib/simd", b->bin_dir ? b->bin_dir : "."),
	     *built = mem_printf("%s/../lib", b->bin_dir ? b->bin_dir : ".");
	const char *usual[] = { installed, built, b->usual_plugins, NULL }, *only[] = { dir, NULL };
	int r = installed && built ? fn(b, *dir ? only : usual) : err_nomem();

	mem_free(installed);
	mem_free(built);
	return r;
}

static int print_need(const struct pools *p, int64_t room)
{
	int64_t need = pools_need(p), listed = p->fixed ? 0 : pools_listed_bytes(p);

	printf("configuration is fine; the data plane starts with %lld MiB of /dev/shm", (long long)(need >> 20));
	if (listed)
		printf("; the channels that the rigs list need about %lld MiB more", (long long)(listed >> 20) + 1);
	if (room < 0 || need <= room) {
		printf("\n");
		return 0;
	}
	printf("; there is room for %lld MiB here: simd would not start\n", (long long)(room >> 20));
	return -ENOSPC;
}

/* A new simd takes over, or frees, what an earlier one left there. */
static int64_t room_here(const struct boot *b)
{
	char plane[PLANE_MAX];

	runtime_plane_of(asked_runtime(b), plane);
	return *plane ? roudi_shm_room(plane) : roudi_shm_free();
}

/*
 * -1 (not checked) after a killed simd: its RouDi is taken over with its memory, or simd waits until clients free that.
 */
static int64_t room_to_start(const struct runtime *rt)
{
	return roudi_has_left(rt->plane) || access(rt->state, F_OK) == 0 ? -1 : roudi_shm_room(rt->plane);
}

int boot_show_config(struct boot *b)
{
	json_t *list, *item;
	int64_t room = -1;
	size_t i;
	int r = read_config(b);

	if (r == 0)
		room = room_here(b);
	if (r == 0 && b->args.check)
		r = with_plugin_dirs(b, check_all);
	if (r == 0)
		r = pools_compute(b->conf, room, &b->pools);
	/* too little memory on this machine; the configuration itself is valid, so compute without that limit */
	if (r == -ENOSPC)
		r = pools_compute(b->conf, -1, &b->pools);
	if (r < 0) {
		if (!b->mistakes) /* otherwise the mistakes were printed already */
			fprintf(stderr, "simd: %s\n", err_why());
		goto out;
	}
	list = b->args.print ? conf_effective(b->conf) : NULL;
	json_array_foreach(list, i, item) {
		char *v = json_dumps(json_object_get(item, "value"),
				     JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12));

		printf("%s = %s  (%s)\n", json_string_value(json_object_get(item, "key")), v ? v : "?",
		       json_string_value(json_object_get(item, "origin")));
		free(v);
	}
	json_decref(list);
	if (!b->args.print)
		r = print_need(&b->pools, room);
out:
	boot_config_end(b);
	mem_free(b->exe);
	b->exe = NULL;
	return r;
}

/* A configuration with errors must not keep --clean-up from removing the files of a killed simd. */
static int config_for_clean_up(struct boot *b)
{
	static const struct config_sources none = { 0 };

	if (read_config(b) == 0)
		return 0;
	fprintf(stderr, "simd: %s\nsimd: cleaning up without that configuration%s\n", err_why(),
		b->args.runtime_dir ? "" : ", in the usual runtime directory (another one: --runtime-dir)");
	return config_load(&none, &b->conf);
}

int boot_clean_up(struct boot *b)
{
	int r = config_for_clean_up(b);

	if (r == 0)
		r = log_setup("simd");
	if (r == 0)
		r = runtime_init(&b->rt, asked_runtime(b));
	if (r == 0) {
		r = runtime_lock(&b->rt, false);
		if (r == 0)
			r = cleanup(&b->rt, conf_int(conf_root(b->conf), "process.stop_ms") * NS_PER_MS);
		runtime_finish(&b->rt);
	}
	if (r < 0)
		fprintf(stderr, "simd: %s\n", err_why());
	boot_config_end(b);
	mem_free(b->exe);
	b->exe = NULL;
	return r;
}

int boot_tunables(struct boot *b)
{
	const char *old = getenv("GLIBC_TUNABLES");
	char *text;

	if ((old && strstr(old, "glibc.rtld.nns=")) || !b->exe)
		return 0;
	text = old && *old ? mem_printf("%s:%s", old, TUNABLE) : mem_strdup(TUNABLE);
	if (!text)
		return err_nomem();
	setenv("GLIBC_TUNABLES", text, 1);
	mem_free(text);
	execv(b->exe, b->argv);
	return err_sys(-errno, "%s cannot be executed again", b->exe);
}

/* ---- log, loops, signals ---- */

int boot_log(struct boot *b)
{
	int r = log_setup("simd");

	if (r < 0)
		log_warn("SIM_LOG is ignored: %s", err_why());
	if (!getenv("SIM_LOG")) {
		r = log_set_spec(conf_string(conf_root(b->conf), "log"));
		if (r < 0)
			return err_prefix(r, "log");
	}
	r = log_ring_create(RING_LINES, &b->ring);
	return r < 0 ? r : log_ring_start(b->ring, "simd-log");
}

void boot_log_end(struct boot *b)
{
	log_ring_stop(b->ring);
	log_ring_destroy(b->ring);
}

/* A client needs a completion socket and a pidfd, and in each rig that it publishes in a socket and a doorbell. */
static unsigned long files_need(const struct conf *c)
{
	struct conf_view root = conf_root(c);
	size_t rigs = conf_count(root, "rigs");

	return OWN_FILES + (unsigned long)(conf_int(root, "limits.connections") +
					   conf_int(root, "limits.clients") * (int64_t)(2 + 2 * (rigs ? rigs : 1)));
}

int boot_files(struct boot *b)
{
	unsigned long need = files_need(b->conf);
	int r = fd_limit_raise(need, &b->files);

	if (r == 1)
		log_warn("only %llu descriptors may be open where the limits of the configuration need %lu: raise the hard "
			 "limit (ulimit -Hn, LimitNOFILE=), or lower limits.connections and limits.clients",
			 (unsigned long long)b->files.rlim_max, need);
	return r < 0 ? r : 0;
}

void boot_files_end(struct boot *b)
{
	(void)setrlimit(RLIMIT_NOFILE, &b->files); /* boot_again() needs the original limit */
}

int boot_loops(struct boot *b)
{
	int r = exec_threads_create(&b->x);

	if (r == 0)
		r = exec_threads_create(&b->dx);
	if (r < 0) {
		boot_loops_end(b);
		return err_set(r, "cannot make an event loop: %s", err_text(r));
	}
	return 0;
}

void boot_loops_end(struct boot *b)
{
	exec_destroy(b->dx);
	exec_destroy(b->x);
	b->x = b->dx = NULL;
}

static void on_signal(void *arg, uint32_t events)
{
	struct boot *b = (struct boot *)arg;
	struct signalfd_siginfo info;

	(void)events;
	while (read(b->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			log_info("SIGHUP ignored: restart simd to read its configuration again");
			continue;
		}
		/* the second signal, or nothing can be stopped in order yet */
		if (b->signalled || !b->dataplane_ready) {
			b->signalled = true;
			exec_quit(b->x);
			return;
		}
		b->signalled = true;
		supervisor_stop(b->supervisor);
	}
}

static void our_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGHUP);
}

int boot_mask(struct boot *b)
{
	sigset_t set;

	if (b->args.ready_fd >= 0 && fcntl((int)b->args.ready_fd, F_GETFD) < 0)
		return err_set(-EBADF, "--ready-fd %d: no such descriptor is open", (int)b->args.ready_fd);
	our_signals(&set);
	(void)signal(SIGPIPE, SIG_IGN);
	return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? err_sys(-errno, "signals cannot be blocked") : 0;
}

int boot_signals(struct boot *b)
{
	sigset_t set;
	int r;

	our_signals(&set);
	b->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (b->signal_fd < 0)
		return err_sys(-errno, "signals cannot be watched");
	r = exec_io_add(b->x, &b->signal_io, b->signal_fd, EPOLLIN, on_signal, b);
	return r < 0 ? err_set(r, "signals cannot be watched: %s", err_text(r)) : 0;
}

void boot_signals_end(struct boot *b)
{
	exec_io_del(&b->signal_io);
	b->signal_fd = fd_close(b->signal_fd);
}

/* ---- runtime directory, supervision, registry ---- */

int boot_runtime(struct boot *b)
{
	struct conf_view root = conf_root(b->conf);
	int r = runtime_init(&b->rt, asked_runtime(b));

	b->id = rnd_entropy();
	if (r == 0)
		r = runtime_lock(&b->rt, config_roudi_external(root));
	if (r < 0)
		runtime_finish(&b->rt);
	return r;
}

int boot_memory(struct boot *b)
{
	return pools_compute(b->conf, room_to_start(&b->rt), &b->pools);
}

void boot_runtime_end(struct boot *b)
{
	if (b->rt.socket)
		(void)unlink(b->rt.socket);
	runtime_finish(&b->rt);
}

static void on_ready(void *arg, int r)
{
	struct boot *b = (struct boot *)arg;

	b->ready_result = r;
	b->dataplane_ready = r == 0;
	exec_quit(b->x);
}

static void on_closing(void *arg)
{
	struct boot *b = (struct boot *)arg;

	control_close(b->control);
	(void)notify_send("STOPPING=1");
}

static void on_stopped(void *arg, int r, bool reexec)
{
	struct boot *b = (struct boot *)arg;

	b->result = r;
	b->reexec = reexec;
	exec_quit(b->x);
}

int boot_supervisor(struct boot *b)
{
	struct supervisor_options o = {
		.x = b->x,
		.conf = b->conf,
		.pools = &b->pools,
		.rt = &b->rt,
		.bin_dir = b->bin_dir,
		.id = b->id,
		.ops = &spawn_real,
		.ops_user = &b->files,
		.ready = on_ready,
		.closing = on_closing,
		.stopped = on_stopped,
		.arg = b,
	};

	return supervisor_create(&o, &b->supervisor);
}

void boot_supervisor_end(struct boot *b)
{
	supervisor_destroy(b->supervisor);
	supervisor_free(b->supervisor);
}

/* Makes the registry, with bridges and time sources. */
static int simd_begin(struct boot *b, const char *const *plugin_dirs)
{
	struct registry_options o = {
		.x = b->x,
		.dx = b->dx,
		.conf = b->conf,
		.pools = &b->pools,
		.runtime_dir = b->rt.dir,
		.plane = b->rt.plane,
		.plugin_dirs = plugin_dirs,
		.id = b->id,
		.ops = supervisor_ops(),
		.user = b->supervisor,
	};
	int r = registry_create(&o, &b->simd);

	if (r < 0)
		return r;
	r = bridge_find_plugins(b->simd, plugin_dirs);
	if (r < 0) {
		char why[ERR_WHY_MAX];

		snprintf(why, sizeof(why), "%s", err_why());
		registry_destroy(b->simd);
		b->simd = NULL;
		err_set(r, "%s", why);
	}
	return r;
}

int boot_simd(struct boot *b)
{
	return with_plugin_dirs(b, simd_begin);
}

void boot_simd_end(struct boot *b)
{
	registry_destroy(b->simd);
}

/* ---- dispatch's threads ---- */

static void work_begin(void *arg)
{
	log_thread_use((struct log_ring *)arg);
}

static unsigned work_threads(const struct boot *b)
{
	int64_t n = conf_int(conf_root(b->conf), "dispatch.threads");

	n = n ? n : sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : n > POOL_THREADS_MAX ? POOL_THREADS_MAX : (unsigned)n;
}

int boot_dispatch(struct boot *b)
{
	struct conf_view root = conf_root(b->conf);
	struct exec *execs[WIRE_SHARDS_MAX];
	struct pool_options o = {
		.execs = execs,
		.n = b->simd->n_shards,
		.threads = work_threads(b),
		.backlog_dur_ns = conf_int(root, "dispatch.backlog_ms") * NS_PER_MS,
		.idle_dur_ns = conf_int(root, "dispatch.idle_ms") * NS_PER_MS,
		.owner = b->x,
		.begin = work_begin,
		.arg = b->ring,
	};
	int r;

	for (unsigned i = 0; i < o.n; i++)
		execs[i] = shard_exec(b->simd, i);
	r = pool_create(&o, &b->pool);
	b->simd->pool = b->pool;
	return r;
}

void boot_dispatch_end(struct boot *b)
{
	b->simd->pool = NULL;
	pool_destroy(b->pool);
	b->pool = NULL;
}

/* ---- data plane, control socket, processes, readiness ---- */

int boot_dataplane(struct boot *b)
{
	int r = supervisor_start(b->supervisor, b->simd);

	if (r == 0)
		r = exec_run(b->x); /* returns after on_ready() or a signal */
	if (r == 0)
		r = b->ready_result;
	if (r < 0)
		supervisor_destroy(b->supervisor); /* boot_dataplane_end() is not called after a failure */
	if (r == 0 && !b->dataplane_ready) {
		supervisor_destroy(b->supervisor);
		return 1;
	}
	return r;
}

void boot_dataplane_end(struct boot *b)
{
	registry_close_sessions(b->simd);
	supervisor_destroy(b->supervisor);
}

int boot_control(struct boot *b)
{
	int r = control_create(b->simd, &b->control);

	if (r < 0)
		return r;
	r = control_listen(b->control, b->rt.socket);
	if (r < 0)
		control_destroy(b->control);
	return r;
}

void boot_control_end(struct boot *b)
{
	control_flush(b->control);
	control_destroy(b->control);
}

int boot_processes(struct boot *b)
{
	supervisor_start_processes(b->supervisor);
	return 0;
}

static void on_watchdog(void *arg)
{
	struct boot *b = (struct boot *)arg;

	(void)notify_send("WATCHDOG=1");
	exec_timer_at(&b->watchdog, exec_now(b->x) + b->watchdog_dur_ns);
}

int boot_ready(struct boot *b)
{
	(void)notify_send("READY=1\nSTATUS=running");
	if (b->args.ready_fd >= 0) {
		int fd = (int)b->args.ready_fd;

		if (write(fd, "ready\n", 6) != 6)
			log_warn("--ready-fd %d cannot be written: %s", fd, err_text(-errno));
		close(fd);
	}
	b->watchdog_dur_ns = notify_watchdog_dur_ns();
	exec_timer_init(&b->watchdog, b->x, on_watchdog, b);
	if (b->watchdog_dur_ns > 0)
		exec_timer_at(&b->watchdog, exec_now(b->x));
	log_info("ready: %s", b->rt.socket);
	return 0;
}

void boot_ready_end(struct boot *b)
{
	exec_timer_cancel(&b->watchdog);
}

int boot_loop(struct boot *b)
{
	int r = exec_run(b->x);

	return r < 0 ? r : b->result;
}

/* The descriptor of --ready-fd belonged to the first start; its number may be in use for something else now. */
static void forget_ready_fd(char **argv)
{
	char **to = argv;

	for (char **from = argv; *from; from++) {
		if (strcmp(*from, "--ready-fd") == 0 && from[1])
			from++;
		else if (strncmp(*from, "--ready-fd=", 11) != 0)
			*to++ = *from;
	}
	*to = NULL;
}

void boot_again(struct boot *b)
{
	if (b->reexec && b->exe) {
		forget_ready_fd(b->argv);
		execv(b->exe, b->argv);
		perror("simd: cannot execute itself again");
	}
	mem_free(b->exe);
	b->exe = NULL;
}
