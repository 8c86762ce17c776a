/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --check-config: reports in one run all that a start would refuse, or could never start. Each finding is a line with
 * the file, the path of the key, and what to do. For bridges, `simbridge --check` loads the plug-in in a process of its
 * own, connects to nothing, and prints what the plug-in would refuse.
 *
 * Thread: simd-main, without a loop.
 */
#include "boot.h"

#include "registry/bridge.h"
#include "config/config.h"
#include "config/names.h"
#include "spawn_ops.h"
#include "time/source.h"
#include "err.h"
#include "fd.h"
#include "ipc.h"
#include "jsonx.h"
#include "mem.h"
#include "trust.h"
#include "printable.h"
#include "timeutil.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sim/slot.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BRIDGE_DUR_NS (20 * NS_PER_S) /* a plug-in may take that long to load */
#define ANSWER_MAX    (64 * 1024)

extern char **environ;

struct check {
	struct boot *b;
	const char *const *dirs;
	struct conf_view root;
};

/* file: file that sets the key; NULL or "default": none. */
static void found(struct check *k, const char *file, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void found(struct check *k, const char *file, const char *fmt, ...)
{
	char raw[1024], text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	printable(text, sizeof(text), raw, strlen(raw));
	if (file && strcmp(file, "default") != 0)
		fprintf(stderr, "simd: %s: %s\n", file, text);
	else
		fprintf(stderr, "simd: %s\n", text);
	k->b->mistakes++;
}

/* ---- time ---- */

static void check_time(struct check *k)
{
	const char *name, *file = conf_origin(k->root, "TimeSource");
	const struct sim_source_ops *ops;
	struct source_registry *sources = NULL;
	int r = config_time_source(k->b->conf, &name);

	if (r >= 0)
		r = source_registry_create(k->dirs, &sources);
	if (r >= 0)
		r = source_registry_find(sources, name, true, &ops);
	if (r < 0)
		found(k, file, "TimeSource: %s", err_why());
	source_registry_destroy(sources);
}

/* ---- who may use it ---- */

int check_group(struct conf_view root)
{
	const char *name = conf_string(root, "socket.group");
	const struct group *g = *name ? getgrnam(name) : NULL;

	if (!g || g->gr_gid == getegid() || config_roudi_external(root))
		return 0;
	return err_set(
		-EINVAL,
		"socket.group: only simd's group %u can open the memory of iox-roudi, and \"%s\" is another group: "
		"start simd "
		"in that group (Group= of its unit; sg %s), or leave socket.group empty",
		(unsigned)getegid(), name, name);
}

/* ---- programs ---- */

/*
 * Finds a program as a start does: beside simd, then in PATH. dir: base of a relative path with a slash; "": the
 * working directory.
 */
static char *find_program(const struct check *k, const char *name, const char *dir)
{
	char *path = NULL;

	if (*name != '/' && strchr(name, '/') && *dir)
		path = mem_printf("%s/%s", dir, name);
	else if (spawn_find(name, k->b->bin_dir, &path) < 0)
		return NULL;
	if (path && access(path, X_OK) == 0)
		return path;
	mem_free(path);
	return NULL;
}

static void check_program(struct check *k, const char *file, const char *key, const char *name, const char *dir)
{
	char *path = find_program(k, name, dir);

	if (!path)
		found(k, file, "%s: there is no program \"%s\"%s: install it, or give its path", key, name,
		      strchr(name, '/') ? "" : " beside simd or in PATH");
	else if (trust_check(path) < 0)
		found(k, file, "%s: %s", key, err_why());
	mem_free(path);
}

/* The library that simd preloads into its RouDi belongs to the installation of simd. */
static void check_roudi(struct check *k)
{
	char preload[PATH_MAX];

	check_program(k, conf_origin(k->root, "roudi.path"), "roudi.path", conf_string(k->root, "roudi.path"), "");
	if (ipc_roudi_preload(preload, sizeof(preload)) < 0)
		found(k, NULL, "%s; install simd again", ipc_why());
}

static void check_programs(struct check *k)
{
	const char *name;

	check_program(k, conf_origin(k->root, "bridge.program"), "bridge.program",
		      conf_string(k->root, "bridge.program"), "");
	if (!config_roudi_external(k->root))
		check_roudi(k);
	if (config_time_source(k->b->conf, &name) >= 0 && strcmp(name, "ss2") == 0 &&
	    conf_count(k->root, "ss2.command"))
		check_program(k, conf_origin(k->root, "ss2.command"), "ss2.command",
			      conf_string_at(k->root, "ss2.command", 0), "");
}

static void check_processes(struct check *k, struct conf_view rig)
{
	for (size_t i = 0; i < conf_count(rig, "processes"); i++) {
		struct conf_view p = conf_item(rig, "processes", i);
		const char *dir = conf_string(p, "dir");
		char key[160];

		snprintf(key, sizeof(key), "rigs[%s].processes[%s].command", conf_string(rig, "name"),
			 conf_string(p, "name"));
		if (dir && *dir && access(dir, X_OK) != 0)
			found(k, conf_origin(p, "dir"), "rigs[%s].processes[%s].dir: %s: %s", conf_string(rig, "name"),
			      conf_string(p, "name"), dir, strerror(errno));
		check_program(k, conf_origin(p, "command"), key, conf_string_at(p, "command", 0), dir ? dir : "");
	}
}

/* ---- channels ---- */

/* Reports channels reserved for simd itself: no client can publish on them. */
static void check_channel_names(struct check *k, struct conf_view rig)
{
	for (size_t i = 0; i < conf_count(rig, "channels"); i++) {
		struct conf_view ch = conf_item(rig, "channels", i);
		char full[PATTERN_MAX + 1];
		const char *whose;

		names_pattern_full(conf_string(rig, "prefix"), conf_string(ch, "name"), full);
		whose = channel_name_reserved(full);
		if (whose)
			found(k, conf_origin(ch, "name"),
			      "rigs[%s].channels[%s]: only %s may publish under %s; choose another name",
			      conf_string(rig, "name"), conf_string(ch, "name"), whose, full);
	}
}

static void check_channel_sizes(struct check *k, struct conf_view rig)
{
	uint64_t largest = pools_max_slot(&k->b->pools);

	for (size_t i = 0; i < conf_count(rig, "channels"); i++) {
		struct conf_view ch = conf_item(rig, "channels", i);
		uint64_t slot = (uint64_t)conf_int(ch, "max_body") + sizeof(struct sim_slot);

		if (conf_int(ch, "max_body") > 0 && slot > largest)
			found(k, conf_origin(ch, "max_body"),
			      "rigs[%s].channels[%s].max_body: a message of %lld bytes needs a slot of %llu, the largest of "
			      "\"pools\" has %llu: lower it, or add a pool",
			      conf_string(rig, "name"), conf_string(ch, "name"), (long long)conf_int(ch, "max_body"),
			      (unsigned long long)slot, (unsigned long long)largest);
	}
}

/* ---- bridges ---- */

static int run(const char *program, const char *name, int in_fd, int out_fd, pid_t *ret)
{
	char *argv[] = { (char *)(uintptr_t)program, (char *)(uintptr_t) "--check", (char *)(uintptr_t)name, NULL };
	posix_spawn_file_actions_t fa;
	int r;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, in_fd, 0);
	posix_spawn_file_actions_adddup2(&fa, out_fd, 1);
	r = -posix_spawn(ret, program, &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	return r;
}

/* Returns the exit status; -ETIMEDOUT: it was killed. */
static int wait_for(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), status = 0;
	bool late = fd >= 0 && fd_wait(fd, POLLIN, BRIDGE_DUR_NS) == 0;

	if (late)
		kill(pid, SIGKILL);
	fd_close(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return late ? -ETIMEDOUT : status;
}

static int ask(const char *program, const char *name, const char *question, char *answer, size_t room)
{
	int in = memfd_create("question", MFD_CLOEXEC), out = memfd_create("answer", MFD_CLOEXEC), r = -ENOMEM;
	size_t len = strlen(question);
	ssize_t n;
	pid_t pid;

	if (in >= 0 && out >= 0 && pwrite(in, question, len, 0) == (ssize_t)len)
		r = run(program, name, in, out, &pid);
	if (r == 0)
		r = wait_for(pid);
	n = pread(out, answer, room - 1, 0);
	answer[n > 0 ? n : 0] = '\0';
	fd_close(in);
	fd_close(out);
	return r;
}

/* The input of `simbridge --check`. */
static char *question(struct conf_view v, const char *plugin, json_t *converters)
{
	json_t *j = JSONX_MAKE(JX_STR("name", conf_string(v, "name")), JX_STR("plugin", plugin),
			       JX_NEW("converters", json_incref(converters)),
			       JX_STR("connection", conf_string(v, "connection")),
			       JX_NEW("options", json_incref(conf_any(v, "options"))));
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	return text;
}

/* Each line of the answer is a key below the bridge, and what is wrong with it. */
static void report(struct check *k, const char *rig, struct conf_view v, int r, char *answer)
{
	const char *name = conf_string(v, "name");
	char *line, *rest = answer;

	while ((line = strsep(&rest, "\n")))
		if (*line) {
			char key[32];

			snprintf(key, sizeof(key), "%.*s", (int)strcspn(line, ".:["), line);
			found(k, strcmp(key, "options") == 0 ? conf_origin(v, "options") : conf_origin(v, "plugin"),
			      "rigs[%s].bridges[%s].%s", rig, name, line);
		}
	if (r == -ETIMEDOUT)
		found(k, conf_origin(v, "plugin"), "rigs[%s].bridges[%s].plugin: checking it takes longer than %d s",
		      rig, name, (int)(BRIDGE_DUR_NS / NS_PER_S));
	else if (r < 0 || (WIFSIGNALED(r) && !*answer))
		found(k, conf_origin(v, "plugin"), "rigs[%s].bridges[%s].plugin: it cannot be checked: %s", rig, name,
		      r < 0 ? strerror(-r) : strsignal(WTERMSIG(r)));
}

/* Returns the converters that exist, and reports the others. */
static json_t *find_converters(struct check *k, const char *rig, struct conf_view v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < conf_count(v, "converters"); i++) {
		char *path = NULL;

		if (bridge_find_converter(rig, v, i, k->dirs, &path) < 0)
			found(k, conf_origin(v, "converters"), "%s", err_why());
		else
			json_array_append_new(list, json_string(path ? path : conf_string_at(v, "converters", i)));
		mem_free(path);
	}
	return list;
}

static void check_bridge(struct check *k, const char *rig, struct conf_view v)
{
	json_t *converters = find_converters(k, rig, v);
	char *program = find_program(k, conf_string(k->root, "bridge.program"), ""), *plugin = NULL, *text = NULL;
	char *answer = mem_alloc(ANSWER_MAX);

	if (bridge_find_plugin(rig, v, k->dirs, &plugin) < 0)
		found(k, conf_origin(v, "plugin"), "%s", err_why());
	else if (answer && program && trust_check(program) == 0 &&
		 (text = question(v, plugin ? plugin : conf_string(v, "plugin"), converters)))
		report(k, rig, v, ask(program, conf_string(v, "name"), text, answer, ANSWER_MAX), answer);
	free(text);
	mem_free(answer);
	mem_free(program);
	mem_free(plugin);
	json_decref(converters);
}

/* Skips bridges that simd does not start: these may see other directories. */
static void check_bridges(struct check *k, struct conf_view rig)
{
	for (size_t i = 0; i < conf_count(rig, "bridges"); i++) {
		struct conf_view v = conf_item(rig, "bridges", i);

		if (conf_choice(v, "start") != 1)
			check_bridge(k, conf_string(rig, "name"), v);
	}
}

int check_all(struct boot *b, const char *const *dirs)
{
	struct check k = { .b = b, .dirs = dirs, .root = conf_root(b->conf) };
	bool pools = pools_compute(b->conf, -1, &b->pools) == 0;

	if (!pools)
		found(&k, conf_origin(k.root, "pools"), "%s", err_why());
	if (runtime_check_base() < 0)
		found(&k, NULL, "%s", err_why());
	if (check_group(k.root) < 0)
		found(&k, conf_origin(k.root, "socket.group"), "%s", err_why());
	check_time(&k);
	check_programs(&k);
	for (size_t i = 0; i < conf_count(k.root, "rigs"); i++) {
		struct conf_view rig = conf_item(k.root, "rigs", i);

		check_channel_names(&k, rig);
		if (pools)
			check_channel_sizes(&k, rig);
		check_bridges(&k, rig);
		check_processes(&k, rig);
	}
	return b->mistakes ? -EINVAL : 0;
}
