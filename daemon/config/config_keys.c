/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all keys, in the order in which config/simd.json and its manual page list them. A key is known
 * here or not at all. Thread: any; const.
 */
#include "config.h"

#include "names.h"

static const char *const backends[] = { "iox", "mem", NULL };
static const char *const roudi_starts[] = { "simd", "external", NULL };
static const char *const bridge_starts[] = { "simd", "external", NULL };
static const char *const restarts[] = { "always", "on-failure", "never", NULL };
static const char *const late_policies[] = { "wait", "warn", "drop", NULL };
static const char *const admins[] = { "group", "owner", NULL };

#define KEY(name_, type_, doc_, ...) \
	{ \
		.name = (name_), .type = CONF_##type_, .doc = (doc_), __VA_ARGS__ \
	}
#define INT(name_, def_, min_, max_, doc_) KEY(name_, INT, doc_, .def = #def_, .min = (min_), .max = (max_))

static const struct conf_key socket_keys[] = {
	KEY("group", STRING, "Group that may use the control socket; empty: simd's own primary group.", .def = "\"\""),
	KEY("mode", STRING, "Permission bits of the control socket, octal.", .def = "\"0660\""),
	KEY("admin", CHOICE,
	    "Who may change the clock, restart bridges and shut simd down: everyone who may connect, or only simd's "
	    "own user and root. access says it in more detail.",
	    .def = "\"group\"", .choices = admins),
	{ 0 }
};

static const struct conf_key access_keys[] = {
#define X(id, key, doc_) KEY(key, STRINGS, doc_, .def = "[]", .max = 64),
	CONFIG_RIGHTS(X)
#undef X
		{ 0 }
};

static const struct conf_key roudi_keys[] = {
	KEY("start", CHOICE,
	    "simd: started and watched by simd, with names of its own, so that any number of simd share a machine; external: "
	    "the RouDi of iceoryx's own names that somebody else runs, for one simd.",
	    .def = "\"simd\"", .choices = roudi_starts),
	KEY("path", STRING, "Program to start.", .def = "\"iox-roudi\""),
	KEY("log", STRING, "Its log level (-l).", .def = "\"warning\"", .max = 16),
	INT("ready_ms", 10000, 100, 120000,
	    "Bound on its start; up to twelve times as long while it is at work on its memory."),
	INT("probe_ms", 1000, 50, 60000, "How often its health is checked."),
	INT("probe_timeout_ms", 2000, 50, 60000,
	    "A check without an answer for so long means that it hangs: it is killed and started again."),
	INT("retry_ms", 60000, 0, 86400000,
	    "One that worked and cannot be started again: how long simd goes on trying, with pauses up to 5 s, before it ends with exit "
	    "code 1. At simd's own start it tries six times, and after a simd that was killed waits for so long for room in "
	    "/dev/shm."),
	{ 0 }
};

static const struct conf_key pool_keys[] = {
	KEY("size", SIZE, "Usable bytes of one slot (header and body); rounded up to 64.", .required = true, .min = 64,
	    .max = 1LL << 31),
	KEY("count", INT, "Number of slots.", .required = true, .min = 1, .max = 1000000),
	{ 0 }
};

static const struct conf_key limit_keys[] = {
	INT("clients", 250, 1, 280,
	    "Sessions at a time. The last 16 are kept for root and simd's own user, whose the bridges are that simd starts."),
	INT("clients_per_user", 200, 1, 280, "Of one user; root and simd's own user have no such bound."),
	INT("connections", 600, 1, 4096,
	    "Control connections at a time, tools included. The last 16 are kept for root and simd's own user, 4 of them for "
	    "root."),
	INT("connections_per_user", 400, 1, 4096, "Of one user; root and simd's own user have no such bound."),
	INT("connections_per_process", 64, 1, 4096, "Of one process."),
	INT("channels", 1000, 1, 1023, "Channels."),
	INT("publishers", 490, 1, 500, "Publishers of all clients; iceoryx has room for 506."),
	INT("subscribers", 1000, 1, 1000, "Subscribers of all clients and of simd; iceoryx has room for 1024."),
	INT("subscribers_per_channel", 250, 1, 250, "Subscribers of one channel; iceoryx serves 256 of a publisher."),
	INT("tokens", 4096, 1, 4096, "Exclusive tokens that exist at a time."),
	INT("services", 1024, 1, 1024, "Services on offer."),
	INT("per_client", 512, 1, 512, "Publishers of one client; also its subscribers, its tokens and its services."),
	INT("per_user_percent", 80, 1, 100,
	    "How much of each of limits.publishers, subscribers, channels, tokens and services the clients of one user may have, "
	    "and of the memory for slots (with pools: of the slots of each); of this never less than what the channels need that the rigs "
	    "list with max_body. "
	    "Root and simd's own user have no such bound."),
	INT("message_kib", 256, 16, 16384, "Size of one control call."),
	INT("output_kib", 2048, 64, 65536,
	    "Unread output of one control connection; a reader that falls behind further is cut off."),
	INT("output_total_kib", 16384, 64, 1048576,
	    "Memory of all that waits on control connections, output that is not read and calls that are not complete or not "
	    "run yet; above it the one with most of it is cut off."),
	{ 0 }
};

static const struct conf_key dispatch_keys[] = {
	INT("wait_ms", 1000, 0, 60000,
	    "How long a producer waits for a credit of its channel, when it is not for a lossless bridge."),
	INT("cycle_ms", 10, 1, 10000, "A bridge gets one more lane when its backlog would take longer than this."),
	INT("deadline_ms", 5000, 1, 600000,
	    "A delivery that takes longer completes with false (reason deadline). A lossless bridge may take that long "
	    "for each answer; after as much silence it is stalled, and messages pass it by (bridge-slow)."),
	INT("queue", 512, 1, 4096,
	    "Deliveries that may wait for one bridge; above that they fail (reason bridge-busy)."),
	INT("lanes", 0, 0, 64, "Most lanes over all bridges; 0: the number of CPUs; each bridge has at least one."),
	INT("threads", 0, 0, 64,
	    "Most threads that dispatch for rigs of which no bridge could carry the same channel; 0: the number of CPUs. One "
	    "serves all while that suffices."),
	INT("backlog_ms", 2, 1, 1000,
	    "A further thread is woken when one of these rigs has waited for its turn for longer."),
	INT("idle_ms", 5000, 100, 600000,
	    "A further lane of a bridge that had no work for so long is removed; a further thread sleeps."),
	{ 0 }
};

static const char *const auto_word[] = { "auto", NULL }; /* -1: CLOCK_PRIORITY_AUTO */

static const struct conf_key clock_keys[] = {
	INT("rate_hz", 100, 1, 10000, "Wall-clock rate at which /clock is published, whatever the scale."),
	KEY("priority", INT,
	    "SCHED_FIFO priority of the clock thread; 0: ordinary scheduling. auto: 50, or what simd's limit allows "
	    "(LimitRTPRIO=, ulimit -r); simd's log says so when the limit is 0.",
	    .def = "\"auto\"", .min = 0, .max = 99, .choices = auto_word),
	KEY("spin", BOOL, "Spin the last microseconds before each publish; off on one CPU.", .def = "true"),
	{ 0 }
};

static const struct conf_key step_keys[] = {
	INT("deadline_ms", 10000, 1, 3600000,
	    "How long a step waits for its participants and messages, and a pause for the driver to ask for more time."),
	INT("settle_ms", 5, 0, 10000,
	    "How long a step or a pause of driven time waits after time has moved or a message was accepted, while a client "
	    "publishes that neither drives nor takes part in steps; 20 times as long at most."),
	KEY("late", CHOICE,
	    "What happens to a participant that is late: wait for it, warn and wait on, or drop it out of the step. When the "
	    "driver is late, \"warn\" and \"drop\" pause without it, and \"drop\" ends a step without it; what it publishes "
	    "then is refused and counted.",
	    .def = "\"warn\"", .choices = late_policies),
	{ 0 }
};

static const struct conf_key bridge_defaults_keys[] = {
	KEY("program", STRING, "Program that hosts a bridge; a bare name is looked for beside simd, then in PATH.",
	    .def = "\"simbridge\""),
	KEY("plugin_dir", STRING,
	    "Where bridge_<name>.so, converter_<name>.so and source_<name>.so are; empty: the installed place, or the "
	    "build's when simd runs from there.",
	    .def = "\"\""),
	KEY("dir", STRING,
	    "Working directory of the bridges that simd starts; empty: simd's. Only root "
	    "and simd's own user may connect a bridge (*simctl bridge connect*) to a path outside it; if it is /, only they may use that command.",
	    .def = "\"\""),
	INT("kill_after_ms", 10000, 100, 600000,
	    "A bridge of ours that holds a message that long beyond its deadline is killed and started again."),
	{ 0 }
};

static const struct conf_key process_defaults_keys[] = {
	INT("restart_ms", 100, 1, 600000,
	    "First pause before a process is started again; doubles with each failure, until it has run for 10 s."),
	INT("restart_max_ms", 10000, 1, 600000, "Longest pause."),
	INT("give_up", 3, 0, 1000,
	    "How often in a row a process may fail to execute (exit codes 126 and 127 too), or exit with 78 (its "
	    "configuration can never work), before it is no longer restarted; 0: no limit. *simctl bridge "
	    "list* and *simctl doctor* show it as permanent, with why; *simctl bridge restart* and "
	    "*simctl process restart* try again."),
	INT("stop_ms", 3000, 10, 600000, "How long a process may take to end after SIGTERM before it gets SIGKILL."),
	{ 0 }
};

static const struct conf_key ss2_keys[] = {
	KEY("command", STRINGS,
	    "Program and arguments; a bare name is looked for beside simd, then in PATH. Empty: none is started, "
	    "whoever takes the driver's lease drives.",
	    .def = "[\"sim-ss2\"]", .max = 256),
	{ 0 }
};

static const struct conf_key channel_keys[] = {
	KEY("name", STRING, "Channel; the rig's prefix is put before a name without a leading slash.", .required = true,
	    .id = true, .max = CHANNEL_NAME_MAX),
	INT("window", 0, 0, 128,
	    "Messages in flight; 0: 128 for the smallest slots (up to 1 KiB, if their class has 2048 or more), 64 for "
	    "small ones, 8 to 2 for large ones."),
	KEY("ordered", BOOL,
	    "Each bridge gets the messages in their order, by one of its lanes at a time; false: several lanes convert them side by side, "
	    "and one may overtake another.",
	    .def = "true"),
	KEY("max_body", SIZE,
	    "Bytes of its largest message; with it, subscribers have slots before a publisher has announced a size; 0: the size that publishers announce.",
	    .def = "0", .min = 0, .max = 1LL << 31),
	INT("publishers", 1, 1, 64,
	    "How many publishers of such messages each user may have, whatever limits.per_user_percent says."),
	KEY("options", ANY, "Object handed to the bridges with the channel.", .def = "{}"),
	{ 0 }
};

static const struct conf_key bridge_keys[] = {
	KEY("name", STRING, "Name of the instance, unique in this simd.", .required = true, .id = true, .max = 40),
	KEY("plugin", STRING, "Plug-in: a name (bridge_<name>.so in bridge.plugin_dir) or a path.", .required = true),
	KEY("converters", STRINGS,
	    "Converter plug-ins, which add types of one's own: names (converter_<name>.so in bridge.plugin_dir) or "
	    "paths. The first one that converts a type wins.",
	    .def = "[]", .max = 64),
	KEY("connection", STRING, "Handed to the plug-in as it is.", .def = "\"\""),
	KEY("start", CHOICE, "simd: started and watched by simd; external: by its own unit.", .def = "\"simd\"",
	    .choices = bridge_starts),
	KEY("channels", STRINGS,
	    "Channels that it carries: names or globs; a leading ! takes matching ones out again. * is all below the "
	    "prefix, and /clock for plug-ins with a mapping of it; those that take any type, as logging, get /clock "
	    "where another pattern lists it. At most 16 bridges can list a channel.",
	    .def = "[\"*\"]", .max = 1024),
	KEY("services", STRINGS,
	    "Services that the other side may call through it, if it can carry their type; as channels.",
	    .def = "[\"*\"]", .max = 256),
	KEY("lossless", BOOL,
	    "Whether producers wait for it when it falls behind, as long as it answers. Without it: true for plug-ins "
	    "that keep data, such as logging, false for others; true for all in lock-step and while the engine runs "
	    "free. One that nobody waits for misses messages instead (bridge-slow), and delays no other bridge.",
	    .def = NULL),
	KEY("options", ANY, "Object of options of the plug-in.", .def = "{}"),
	{ 0 }
};

static const struct conf_key process_keys[] = {
	KEY("name", STRING, "Name of the process, unique in this simd; its output is logged under it.",
	    .required = true, .id = true, .max = 40),
	KEY("command", STRINGS, "Program and arguments; a bare name is looked for beside simd, then in PATH.",
	    .required = true, .max = 256),
	KEY("env", ANY, "Object of environment variables to set (null: to unset).", .def = "{}"),
	KEY("dir", STRING, "Working directory; empty: simd's.", .def = "\"\""),
	KEY("restart", CHOICE, "When it is started again after its end; on-failure: unless that was exit code 0.",
	    .def = "\"on-failure\"", .choices = restarts),
	INT("restart_limit", 0, 0, 1000000,
	    "How often it is started again by that rule, altogether; then it is shown as permanent, with why, until *simctl "
	    "process restart*. 0: no limit."),
	INT("order", 0, -100, 100, "Lower ones start first and are stopped last."),
	{ 0 }
};

static const struct conf_key rig_keys[] = {
	KEY("name", STRING, "Name of the rig.", .required = true, .id = true, .max = 40),
	KEY("prefix", STRING,
	    "Put before channel names without a leading slash, with a slash between. Each rig its own.", .def = "\"\"",
	    .max = 48),
	KEY("channels", LIST, "Channels with settings of their own; others need no entry.", .def = "[]", .max = 1000,
	    .sub = channel_keys),
	KEY("bridges", LIST, "Bridge instances.", .def = "[]", .max = 64, .sub = bridge_keys),
	KEY("processes", LIST, "Processes that simd starts and watches: sources, sensors.", .def = "[]", .max = 64,
	    .sub = process_keys),
	KEY("inbound", STRINGS, "Patterns of channels that bridges may write into the vehicle; none unless listed.",
	    .def = "[]", .max = 256),
	KEY("inbound_while_paused", BOOL,
	    "Whether what bridges bring in is delivered while time is paused; refused otherwise.", .def = "false"),
	KEY("wait_for", STRINGS,
	    "What driven time waits for before it begins: bridges, until they are connected, and processes or clients, until "
	    "they drive, take part in lock-step or say that they are ready (sim_client_ready(); simhost, sim-lidar and sim-sensors do). So a run "
	    "begins with all of them, and repeats. When one is not there after step.deadline_ms, step.late says whether time "
	    "begins without it (drop).",
	    .def = "[]", .max = 64),
	{ 0 }
};

const struct conf_key config_keys[] = {
	KEY("TimeSource", ANY,
	    "unity, ss2, system, simulation, ros2 (or 0..4), link, or the name or path of a plug-in (source_NAME.so).",
	    .def = "\"unity\""),
	KEY("TimeScale", REAL, "Simulated per wall time, 0.01 to 100; 0 starts paused.", .def = "1.0", .min = 0,
	    .max = 100),
	KEY("runtime_dir", STRING,
	    "Sockets and state; empty: $SIMD_RUNTIME_DIR, /run/simd, $XDG_RUNTIME_DIR/simd or /tmp/simd-<uid>.",
	    .def = "\"\""),
	KEY("log", STRING, "Log levels, topic:level,...; SIM_LOG overrides it.", .def = "\"*:info\""),
	KEY("backend", CHOICE,
	    "Data plane: iox (shared memory through iceoryx); mem exists inside one process, for tests.",
	    .def = "\"iox\"", .choices = backends),
	KEY("socket", OBJECT, "The control socket.", .sub = socket_keys),
	KEY("access", OBJECT,
	    "The rights of users who may connect: users, and groups with @ before the name (\"alice\", \"@sim\", \"1000\"). "
	    "Empty: all. Root and simd's own user always may. The table is in RIGHTS.",
	    .sub = access_keys),
	KEY("roudi", OBJECT, "iceoryx's daemon.", .sub = roudi_keys),
	KEY("pools", LIST,
	    "Size classes of the shared memory, ascending, with memory for all their slots from the start; empty: classes from "
	    "256 B to 256 MiB, whose slots get memory as publishers and subscribers are admitted.",
	    .def = "[]", .max = 32, .sub = pool_keys),
	KEY("pools_max", SIZE, "Most memory for slots; 0: what there is.", .def = "0", .min = 0, .max = 1LL << 40),
	KEY("limits", OBJECT, "Bounds on what clients can make simd keep.", .sub = limit_keys),
	KEY("dispatch", OBJECT, "From publishers to bridges.", .sub = dispatch_keys),
	KEY("clock", OBJECT, "The clock thread.", .sub = clock_keys),
	KEY("step", OBJECT, "Steps of simulated time.", .sub = step_keys),
	KEY("bridge", OBJECT, "All bridges.", .sub = bridge_defaults_keys),
	KEY("process", OBJECT, "All processes that simd starts.", .sub = process_defaults_keys),
	KEY("ss2", OBJECT, "What simd runs while the time source is ss2: the server for scenario_simulator_v2.",
	    .sub = ss2_keys),
	KEY("rigs", LIST, "Vehicles: channels, bridges, processes.", .def = "[]", .max = 32, .sub = rig_keys),
	{ 0 }
};
