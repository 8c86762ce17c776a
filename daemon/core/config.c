/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all keys, in the order in which config/simd.json and its manual page list them, and the
 * loading of the sources in order of rising precedence. Thread: simd-main, before the start.
 */
#include "config.h"

#include "err.h"
#include "fd.h"
#include "mem.h"
#include "names.h"
#include "strbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sim/types.h>

#define CONFIG_FILE  "/etc/simd/simd.json"
#define RIG_FILE_MAX CONF_FILE_MAX

static const char *const backends[] = { "iox", "mem", NULL };
static const char *const roudi_starts[] = { "auto", "always", "never", NULL };
static const char *const bridge_starts[] = { "simd", "external", NULL };
static const char *const restarts[] = { "always", "on-failure", "never", NULL };
static const char *const late_policies[] = { "wait", "warn", "drop", NULL };
static const char *const admins[] = { "group", "owner", NULL };

static const struct conf_key socket_keys[] = {
	{ .name = "group",
	  .type = CONF_STRING,
	  .def = "\"\"",
	  .doc = "Group that may use the control socket; empty: simd's own primary group." },
	{ .name = "mode",
	  .type = CONF_STRING,
	  .def = "\"0660\"",
	  .doc = "Permission bits of the control socket, octal." },
	{ .name = "admin",
	  .type = CONF_CHOICE,
	  .def = "\"group\"",
	  .choices = admins,
	  .doc = "Who may change the clock, restart bridges and shut simd down: everyone who may connect, or only "
		 "simd's own user and root." },
	{ 0 }
};

static const struct conf_key roudi_keys[] = {
	{ .name = "start",
	  .type = CONF_CHOICE,
	  .def = "\"auto\"",
	  .choices = roudi_starts,
	  .doc = "auto: use a RouDi that is there and suits, else start one; always: refuse one that is there; never: "
		 "only use one that is there." },
	{ .name = "path", .type = CONF_STRING, .def = "\"iox-roudi\"", .doc = "Program to start." },
	{ .name = "log", .type = CONF_STRING, .def = "\"warning\"", .max = 16, .doc = "Its log level (-l)." },
	{ .name = "ready_ms", .type = CONF_INT, .def = "10000", .min = 100, .max = 120000, .doc = "Bound on its start." },
	{ .name = "probe_ms",
	  .type = CONF_INT,
	  .def = "1000",
	  .min = 50,
	  .max = 60000,
	  .doc = "How often its health is checked." },
	{ .name = "probe_timeout_ms",
	  .type = CONF_INT,
	  .def = "2000",
	  .min = 50,
	  .max = 60000,
	  .doc = "A check without an answer for so long means that it hangs: it is killed and started again." },
	{ 0 }
};

static const struct conf_key pool_keys[] = {
	{ .name = "size",
	  .type = CONF_SIZE,
	  .required = true,
	  .min = 64,
	  .max = 1LL << 31,
	  .doc = "Usable bytes of one slot (header and body); rounded up to 64." },
	{ .name = "count", .type = CONF_INT, .required = true, .min = 1, .max = 1000000, .doc = "Number of slots." },
	{ 0 }
};

static const struct conf_key limit_keys[] = {
	{ .name = "clients", .type = CONF_INT, .def = "250", .min = 1, .max = 280, .doc = "Sessions at a time." },
	{ .name = "connections",
	  .type = CONF_INT,
	  .def = "600",
	  .min = 1,
	  .max = 4096,
	  .doc = "Control connections at a time, tools included." },
	{ .name = "channels", .type = CONF_INT, .def = "1000", .min = 1, .max = 1023, .doc = "Channels." },
	{ .name = "publishers",
	  .type = CONF_INT,
	  .def = "490",
	  .min = 1,
	  .max = 500,
	  .doc = "Publishers of all clients; iceoryx has room for 506." },
	{ .name = "subscribers",
	  .type = CONF_INT,
	  .def = "1000",
	  .min = 1,
	  .max = 1000,
	  .doc = "Subscribers of all clients and of simd; iceoryx has room for 1024." },
	{ .name = "subscribers_per_channel",
	  .type = CONF_INT,
	  .def = "250",
	  .min = 1,
	  .max = 250,
	  .doc = "Subscribers of one channel; iceoryx serves 256 of a publisher." },
	{ .name = "tokens",
	  .type = CONF_INT,
	  .def = "4096",
	  .min = 1,
	  .max = 4096,
	  .doc = "Exclusive tokens that exist at a time." },
	{ .name = "per_client",
	  .type = CONF_INT,
	  .def = "256",
	  .min = 1,
	  .max = 512,
	  .doc = "Publishers of one client; also its subscribers and its tokens." },
	{ .name = "message_kib",
	  .type = CONF_INT,
	  .def = "256",
	  .min = 16,
	  .max = 16384,
	  .doc = "Size of one control message." },
	{ .name = "output_kib",
	  .type = CONF_INT,
	  .def = "2048",
	  .min = 64,
	  .max = 65536,
	  .doc = "Unread output of one control connection; a reader that falls behind further is cut off." },
	{ 0 }
};

static const struct conf_key dispatch_keys[] = {
	{ .name = "wait_ms",
	  .type = CONF_INT,
	  .def = "1000",
	  .min = 0,
	  .max = 60000,
	  .doc = "How long a producer waits for a credit of its channel." },
	{ .name = "cycle_ms",
	  .type = CONF_INT,
	  .def = "10",
	  .min = 1,
	  .max = 10000,
	  .doc = "A bridge gets one more lane when its backlog would take longer than this." },
	{ .name = "deadline_ms",
	  .type = CONF_INT,
	  .def = "5000",
	  .min = 1,
	  .max = 600000,
	  .doc = "A delivery that takes longer completes with false (reason deadline)." },
	{ .name = "queue",
	  .type = CONF_INT,
	  .def = "256",
	  .min = 1,
	  .max = 4096,
	  .doc = "Deliveries that may wait for one bridge; above that they fail (reason bridge-busy)." },
	{ .name = "lanes",
	  .type = CONF_INT,
	  .def = "0",
	  .min = 0,
	  .max = 64,
	  .doc = "Most lanes over all bridges; 0: the number of CPUs; each bridge has at least one." },
	{ .name = "idle_ms",
	  .type = CONF_INT,
	  .def = "5000",
	  .min = 100,
	  .max = 600000,
	  .doc = "A further lane of a bridge that had no work for so long goes away." },
	{ 0 }
};

static const struct conf_key clock_keys[] = {
	{ .name = "rate_hz",
	  .type = CONF_INT,
	  .def = "100",
	  .min = 1,
	  .max = 10000,
	  .doc = "Wall-clock rate at which /clock is published, whatever the scale." },
	{ .name = "priority",
	  .type = CONF_INT,
	  .def = "0",
	  .min = 0,
	  .max = 99,
	  .doc = "SCHED_FIFO priority of the clock thread; 0: ordinary scheduling." },
	{ .name = "spin",
	  .type = CONF_BOOL,
	  .def = "true",
	  .doc = "Spin the last microseconds before each publish; off on one CPU." },
	{ 0 }
};

static const struct conf_key step_keys[] = {
	{ .name = "deadline_ms",
	  .type = CONF_INT,
	  .def = "10000",
	  .min = 1,
	  .max = 3600000,
	  .doc = "How long a step waits for its participants and messages." },
	{ .name = "late",
	  .type = CONF_CHOICE,
	  .def = "\"warn\"",
	  .choices = late_policies,
	  .doc = "What happens to a participant that is late: wait for it, warn, or drop it out of the step." },
	{ 0 }
};

static const struct conf_key bridge_defaults_keys[] = {
	{ .name = "program",
	  .type = CONF_STRING,
	  .def = "\"simbridge\"",
	  .doc = "Program that hosts a bridge; a bare name is looked for beside simd, then in PATH." },
	{ .name = "plugin_dir",
	  .type = CONF_STRING,
	  .def = "\"\"",
	  .doc = "Where bridge_<name>.so are; empty: the installed place, or the build's when simd runs from there." },
	{ .name = "kill_after_ms",
	  .type = CONF_INT,
	  .def = "10000",
	  .min = 100,
	  .max = 600000,
	  .doc = "A bridge of ours that holds a message that long beyond its deadline is killed and started again." },
	{ 0 }
};

static const struct conf_key process_defaults_keys[] = {
	{ .name = "restart_ms",
	  .type = CONF_INT,
	  .def = "100",
	  .min = 1,
	  .max = 600000,
	  .doc = "First pause before a process is started again; doubles with each failure." },
	{ .name = "restart_max_ms", .type = CONF_INT, .def = "10000", .min = 1, .max = 600000, .doc = "Longest pause." },
	{ .name = "stop_ms",
	  .type = CONF_INT,
	  .def = "3000",
	  .min = 10,
	  .max = 600000,
	  .doc = "How long a process may take to end after SIGTERM before it gets SIGKILL." },
	{ 0 }
};

static const struct conf_key ss2_keys[] = {
	{ .name = "command",
	  .type = CONF_STRINGS,
	  .def = "[\"sim-ss2\"]",
	  .max = 256,
	  .doc = "Program and arguments; a bare name is looked for beside simd, then in PATH. Empty: none is started, "
		 "whoever takes the driver's lease drives." },
	{ 0 }
};

static const struct conf_key channel_keys[] = {
	{ .name = "name",
	  .type = CONF_STRING,
	  .required = true,
	  .id = true,
	  .max = CHANNEL_NAME_MAX,
	  .doc = "Channel; the rig's prefix is put before a name without a leading slash." },
	{ .name = "window",
	  .type = CONF_INT,
	  .def = "0",
	  .min = 0,
	  .max = 64,
	  .doc = "Messages in flight; 0: 64 for small slots, 8 to 2 for large ones." },
	{ .name = "ordered", .type = CONF_BOOL, .def = "false", .doc = "Deliveries go to each bridge one at a time." },
	{ .name = "max_body",
	  .type = CONF_SIZE,
	  .def = "0",
	  .min = 0,
	  .max = 1LL << 31,
	  .doc = "Bytes of its largest message: the pools are sized for it." },
	{ .name = "publishers",
	  .type = CONF_INT,
	  .def = "1",
	  .min = 1,
	  .max = 64,
	  .doc = "How many publishers the pools are sized for." },
	{ .name = "options", .type = CONF_ANY, .def = "{}", .doc = "Object handed to the bridges with the channel." },
	{ 0 }
};

static const struct conf_key bridge_keys[] = {
	{ .name = "name",
	  .type = CONF_STRING,
	  .required = true,
	  .id = true,
	  .max = 40,
	  .doc = "Name of the instance, unique in this simd." },
	{ .name = "plugin",
	  .type = CONF_STRING,
	  .required = true,
	  .doc = "Plug-in: a name (bridge_<name>.so in bridge.plugin_dir) or a path." },
	{ .name = "connection", .type = CONF_STRING, .def = "\"\"", .doc = "Handed to the plug-in as it is." },
	{ .name = "start",
	  .type = CONF_CHOICE,
	  .def = "\"simd\"",
	  .choices = bridge_starts,
	  .doc = "simd: started and watched by simd; external: by its own unit." },
	{ .name = "channels",
	  .type = CONF_STRINGS,
	  .def = "[\"*\"]",
	  .max = 1024,
	  .doc = "Channels that it carries: names or globs; a leading ! takes matching ones out again." },
	{ .name = "options", .type = CONF_ANY, .def = "{}", .doc = "Object of options of the plug-in." },
	{ 0 }
};

static const struct conf_key process_keys[] = {
	{ .name = "name",
	  .type = CONF_STRING,
	  .required = true,
	  .id = true,
	  .max = 40,
	  .doc = "Name of the process, unique in this simd; its output is logged under it." },
	{ .name = "command",
	  .type = CONF_STRINGS,
	  .required = true,
	  .max = 256,
	  .doc = "Program and arguments; a bare name is looked for beside simd, then in PATH." },
	{ .name = "env",
	  .type = CONF_ANY,
	  .def = "{}",
	  .doc = "Object of environment variables to set (null: to unset)." },
	{ .name = "dir", .type = CONF_STRING, .def = "\"\"", .doc = "Working directory; empty: simd's." },
	{ .name = "restart",
	  .type = CONF_CHOICE,
	  .def = "\"on-failure\"",
	  .choices = restarts,
	  .doc = "When it is started again after its end." },
	{ .name = "order",
	  .type = CONF_INT,
	  .def = "0",
	  .min = -100,
	  .max = 100,
	  .doc = "Lower ones start first and are stopped last." },
	{ 0 }
};

static const struct conf_key rig_keys[] = {
	{ .name = "name", .type = CONF_STRING, .required = true, .id = true, .max = 40, .doc = "Name of the rig." },
	{ .name = "prefix",
	  .type = CONF_STRING,
	  .def = "\"\"",
	  .max = 48,
	  .doc = "Put before channel names without a leading slash, with a slash between." },
	{ .name = "channels",
	  .type = CONF_LIST,
	  .sub = channel_keys,
	  .def = "[]",
	  .max = 1000,
	  .doc = "Channels that need something said about them; others need no entry." },
	{ .name = "bridges", .type = CONF_LIST, .sub = bridge_keys, .def = "[]", .max = 64, .doc = "Bridge instances." },
	{ .name = "processes",
	  .type = CONF_LIST,
	  .sub = process_keys,
	  .def = "[]",
	  .max = 64,
	  .doc = "Processes that simd starts and watches: sources, sensors." },
	{ .name = "inbound",
	  .type = CONF_STRINGS,
	  .def = "[]",
	  .max = 256,
	  .doc = "Channels that bridges may write into the vehicle; none unless listed." },
	{ 0 }
};

const struct conf_key config_keys[] = {
	{ .name = "TimeSource",
	  .type = CONF_ANY,
	  .def = "\"unity\"",
	  .doc = "unity, ss2, system, simulation, ros2 (or 0..4), or the name of a plug-in." },
	{ .name = "TimeScale",
	  .type = CONF_REAL,
	  .def = "1.0",
	  .min = 0,
	  .max = 100,
	  .doc = "Simulated per wall time, 0.01 to 100; 0 starts paused." },
	{ .name = "runtime_dir",
	  .type = CONF_STRING,
	  .def = "\"\"",
	  .doc = "Sockets and state; empty: $SIMD_RUNTIME_DIR, /run/simd, $XDG_RUNTIME_DIR/simd or /tmp/simd-<uid>." },
	{ .name = "log",
	  .type = CONF_STRING,
	  .def = "\"*:info\"",
	  .doc = "Log levels, topic:level,...; SIM_LOG overrides it." },
	{ .name = "backend",
	  .type = CONF_CHOICE,
	  .def = "\"iox\"",
	  .choices = backends,
	  .doc = "Data plane: iox (shared memory through iceoryx); mem lives inside one process, for tests." },
	{ .name = "socket", .type = CONF_OBJECT, .sub = socket_keys, .doc = "The control socket." },
	{ .name = "roudi", .type = CONF_OBJECT, .sub = roudi_keys, .doc = "iceoryx's daemon." },
	{ .name = "pools",
	  .type = CONF_LIST,
	  .sub = pool_keys,
	  .def = "[]",
	  .max = 32,
	  .doc = "Size classes of the shared memory, ascending; empty: a ladder from 256 B to 8 MiB, grown to what the "
		 "rigs' channels say." },
	{ .name = "pools_max",
	  .type = CONF_SIZE,
	  .def = "\"4GiB\"",
	  .min = 1 << 20,
	  .max = 1LL << 40,
	  .doc = "Most payload memory of one life of the data plane." },
	{ .name = "limits",
	  .type = CONF_OBJECT,
	  .sub = limit_keys,
	  .doc = "Bounds on what clients can make simd keep." },
	{ .name = "dispatch", .type = CONF_OBJECT, .sub = dispatch_keys, .doc = "From publishers to bridges." },
	{ .name = "clock", .type = CONF_OBJECT, .sub = clock_keys, .doc = "The clock thread." },
	{ .name = "step", .type = CONF_OBJECT, .sub = step_keys, .doc = "Steps of simulated time." },
	{ .name = "bridge", .type = CONF_OBJECT, .sub = bridge_defaults_keys, .doc = "All bridges." },
	{ .name = "process",
	  .type = CONF_OBJECT,
	  .sub = process_defaults_keys,
	  .doc = "All processes that simd starts." },
	{ .name = "ss2",
	  .type = CONF_OBJECT,
	  .sub = ss2_keys,
	  .doc = "What simd runs while the time source is ss2: the server for scenario_simulator_v2." },
	{ .name = "rigs",
	  .type = CONF_LIST,
	  .sub = rig_keys,
	  .def = "[]",
	  .max = 32,
	  .doc = "Vehicles: channels, bridges, processes." },
	{ 0 }
};

/* A rig file holds one rig, or a fragment with "rigs". The wrapping keeps its line numbers. */
static int add_rig(struct conf *c, const char *path)
{
	struct strbuf b;
	json_t *j;
	bool whole;
	char *text;
	size_t len;
	int r = fd_read_file(path, RIG_FILE_MAX, &text, &len);

	if (r < 0)
		return r;
	j = json_loadb(text, len, 0, NULL);
	whole = !j || json_object_get(j, "rigs"); /* a syntax error is reported by the reader, with its line */
	json_decref(j);
	if (whole) {
		r = conf_add_text(c, path, text, len);
		mem_free(text);
		return r;
	}
	strbuf_init(&b, RIG_FILE_MAX + 32);
	strbuf_puts(&b, "{\"rigs\":[");
	strbuf_add(&b, text, len);
	strbuf_puts(&b, "]}");
	r = strbuf_error(&b);
	if (r == 0)
		r = conf_add_text(c, path, b.data, b.len);
	strbuf_finish(&b);
	mem_free(text);
	return r;
}

static int add_override(struct conf *c, const char *text)
{
	const char *eq = strchr(text, '=');
	char *path;
	int r;

	if (!eq || eq == text)
		return err_set(-EINVAL, "--set %s: expected KEY=VALUE, such as dispatch.wait_ms=50", text);
	path = mem_strndup(text, (size_t)(eq - text));
	if (!path)
		return err_nomem();
	r = conf_set(c, path, eq + 1, "--set");
	mem_free(path);
	return r;
}

static int add_main_file(struct conf *c, const struct config_sources *s)
{
	const char *file = s->file ? s->file : CONFIG_FILE;
	char *dir;
	int r;

	if (s->text)
		return conf_add_text(c, "text", s->text, strlen(s->text));
	if (!s->file && access(file, F_OK) < 0)
		return 0;
	r = conf_add_file(c, file);
	if (r < 0)
		return r;
	dir = mem_printf("%s.d", file);
	if (!dir)
		return err_nomem();
	r = conf_add_dir(c, dir);
	mem_free(dir);
	return r;
}

int config_load(const struct config_sources *s, struct conf **ret)
{
	struct conf *c;
	int r = conf_create(config_keys, &c);

	if (r < 0)
		return r;
	r = add_main_file(c, s);
	for (unsigned i = 0; r == 0 && i < s->n_rigs; i++)
		r = add_rig(c, s->rigs[i]);
	for (unsigned i = 0; r == 0 && i < s->n_overrides; i++)
		r = add_override(c, s->overrides[i]);
	if (r == 0)
		r = conf_finish(c);
	if (r == 0)
		r = config_check(c);
	if (r < 0) {
		conf_destroy(c);
		return r;
	}
	*ret = c;
	return 0;
}

/* ---- checks beyond the table ---- */

int config_mode(const char *text, unsigned *ret)
{
	char *end;
	unsigned long v = strtoul(text, &end, 8);

	if (!*text || *end || v > 0777 || (v & 0600) != 0600)
		return err_set(-EINVAL, "socket.mode: \"%s\" is not an octal mode that lets the owner in, such as 0660",
			       text);
	*ret = (unsigned)v;
	return 0;
}

int config_time_source(const struct conf *c, const char **ret_name)
{
	static const char *const names[] = {
#define X(id, num, name) [num] = name,
		SIM_TIME_SOURCES(X)
#undef X
	};
	json_t *v = conf_any(conf_root(c), "TimeSource");
	const char *s = json_string_value(v);

	if (json_is_integer(v)) {
		json_int_t n = json_integer_value(v);

		if (n < 0 || n >= SIM_SOURCE_PLUGIN)
			return err_set(-EINVAL, "TimeSource: %lld is out of range, 0 (unity) to 4 (ros2)",
				       (long long)n);
		*ret_name = names[n];
		return (int)n;
	}
	if (!s || !*s)
		return err_set(
			-EINVAL,
			"TimeSource: expected unity, ss2, system, simulation, ros2, 0 to 4, or the name of a plug-in");
	for (int i = 0; i < SIM_SOURCE_PLUGIN; i++) {
		if (strcmp(s, names[i]) == 0) {
			*ret_name = names[i];
			return i;
		}
	}
	*ret_name = s;
	return SIM_SOURCE_PLUGIN;
}

static int check_name(const char *what, const char *name)
{
	if (names_plain_ok(name))
		return 0;
	return err_set(-EINVAL, "%s \"%s\": use 1 to 40 characters of A-Z a-z 0-9 _ . -", what, name);
}

static int check_channels(struct conf_view rig, const char *rig_name)
{
	for (size_t i = 0; i < conf_count(rig, "channels"); i++) {
		struct conf_view ch = conf_item(rig, "channels", i);

		if (!names_channel_ok(conf_string(ch, "name")))
			return err_set(-EINVAL,
				       "rigs[%s].channels: \"%s\" is not a channel name; use A-Z a-z 0-9 _ . / ~ -",
				       rig_name, conf_string(ch, "name"));
		if (!json_is_object(conf_any(ch, "options")))
			return err_set(-EINVAL, "rigs[%s].channels[%s].options: expected an object", rig_name,
				       conf_string(ch, "name"));
	}
	return 0;
}

static int check_bridges(struct conf_view rig, const char *rig_name)
{
	for (size_t i = 0; i < conf_count(rig, "bridges"); i++) {
		struct conf_view b = conf_item(rig, "bridges", i);
		int r = check_name("bridge", conf_string(b, "name"));

		if (r < 0)
			return r;
		if (!json_is_object(conf_any(b, "options")))
			return err_set(-EINVAL, "rigs[%s].bridges[%s].options: expected an object", rig_name,
				       conf_string(b, "name"));
		if (!*conf_string(b, "plugin"))
			return err_set(-EINVAL, "rigs[%s].bridges[%s].plugin: empty", rig_name, conf_string(b, "name"));
	}
	return 0;
}

static int check_env(json_t *env, const char *name)
{
	const char *key;
	json_t *v;

	if (!json_is_object(env))
		return err_set(-EINVAL, "processes[%s].env: expected an object of strings", name);
	json_object_foreach(env, key, v) {
		if (!*key || strchr(key, '=') || !(json_is_string(v) || json_is_null(v)))
			return err_set(-EINVAL, "processes[%s].env.%s: expected a string, or null to unset it", name,
				       key);
	}
	return 0;
}

static int check_processes(struct conf_view rig)
{
	for (size_t i = 0; i < conf_count(rig, "processes"); i++) {
		struct conf_view p = conf_item(rig, "processes", i);
		int r = check_name("process", conf_string(p, "name"));

		if (r < 0)
			return r;
		if (conf_count(p, "command") == 0 || !*conf_string_at(p, "command", 0))
			return err_set(-EINVAL, "processes[%s].command: empty; name a program", conf_string(p, "name"));
		r = check_env(conf_any(p, "env"), conf_string(p, "name"));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Bridges and processes are addressed by name alone, so a name may occur once over all rigs. */
static int check_unique(struct conf_view root, const char *list)
{
	for (size_t r1 = 0; r1 < conf_count(root, "rigs"); r1++) {
		struct conf_view a = conf_item(root, "rigs", r1);

		for (size_t r2 = r1 + 1; r2 < conf_count(root, "rigs"); r2++) {
			struct conf_view b = conf_item(root, "rigs", r2);

			for (size_t i = 0; i < conf_count(a, list); i++) {
				for (size_t k = 0; k < conf_count(b, list); k++) {
					const char *n = conf_string(conf_item(a, list, i), "name");

					if (strcmp(n, conf_string(conf_item(b, list, k), "name")) == 0)
						return err_set(
							-EINVAL,
							"rigs[%s].%s: the name %s is taken by rig %s; give it another",
							conf_string(b, "name"), list, n, conf_string(a, "name"));
				}
			}
		}
	}
	return 0;
}

static int check_rig(struct conf_view rig)
{
	const char *name = conf_string(rig, "name"), *prefix = conf_string(rig, "prefix");
	int r = check_name("rig", name);

	if (r < 0)
		return r;
	if (*prefix && !names_channel_ok(prefix))
		return err_set(-EINVAL,
			       "rigs[%s].prefix: \"%s\" cannot begin a channel name; use A-Z a-z 0-9 _ . / ~ -", name,
			       prefix);
	r = check_channels(rig, name);
	if (r == 0)
		r = check_bridges(rig, name);
	if (r == 0)
		r = check_processes(rig);
	return r;
}

int config_check(const struct conf *c)
{
	struct conf_view root = conf_root(c);
	const char *name;
	unsigned mode;
	double scale = conf_real(root, "TimeScale");
	int r = config_mode(conf_string(root, "socket.mode"), &mode);

	if (r < 0)
		return r;
	r = config_time_source(c, &name);
	if (r < 0)
		return r;
	if (scale != 0 && scale < 0.01)
		return err_set(-EINVAL, "TimeScale: %g is out of range, 0.01 to 100, or 0 to start paused", scale);
	for (size_t i = 0; i < conf_count(root, "rigs"); i++) {
		r = check_rig(conf_item(root, "rigs", i));
		if (r < 0)
			return r;
	}
	r = check_unique(root, "bridges");
	return r < 0 ? r : check_unique(root, "processes");
}
