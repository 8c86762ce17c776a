/* SPDX-License-Identifier: Apache-2.0 */
/* simctl: the table of commands; runs one of them. Thread: main, and libsimclient's where data is received. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "opt.h"
#include "simctl.h"

volatile sig_atomic_t simctl_stop, simctl_waits;

#define OPT_VALUES                         struct args
#define CHANNEL(help_text)                 OPT_ARG("CHANNEL", REQUIRED, STRING, channel, help_text, .complete = "simctl list --names")
#define FLAG(long_name, member, help_text) OPT(long_name, 0, FLAG, member, NULL, help_text)
#define COUNT(help_text)                   OPT("count", 'n', INT, count, "N", help_text, .min = 1, .max = INT64_MAX)
#define WINDOW                             OPT("window", 'w', DUR, window_dur_ns, "TIME", "wall time a line covers (1s)")
#define WATCH                              FLAG("watch", watch, "repeat every second, until interrupted")
#define BRIDGE                             OPT_ARG("BRIDGE", REQUIRED, STRING, bridge, "name of a bridge", .complete = "simctl bridge list --names")

#define SERVICE \
	OPT_ARG("SERVICE", REQUIRED, STRING, service, "name of a service", .complete = "simctl service list --names")
#define TIMEOUT(help_text) OPT("timeout", 0, DUR, timeout_dur_ns, "TIME", help_text)

#define CHANNELS_LIKE \
	OPT_ARG("PATTERN", OPTIONAL, STRING, channel, "only channels whose name matches, as in a shell", \
		.complete = "simctl list --names")
#define TYPES       "simctl type list --names"
#define TIME_FORMAT "echo seconds raw date"
#define ENCODINGS   "echo native packed json ros2 ros1 apollo"

static const struct opt global_opts[] = {
	OPT("socket", 's', STRING, socket, "PATH", "simd's control socket", .complete = "file"),
	FLAG("json", json, "JSON with stable keys instead of text"),
	FLAG("pretty", pretty, "indent the JSON"),
	{ 0 },
};

static const struct opt list_opts[] = {
	CHANNELS_LIKE,
	OPT("type", 't', STRING, type, "PATTERN", "only channels whose type matches", .complete = TYPES),
	FLAG("names", names, "names alone, a line each"),
	WATCH,
	{ 0 },
};

static const struct opt info_opts[] = { CHANNEL("channel to describe"), { 0 } };

static const struct opt echo_opts[] = {
	CHANNEL("channel to print"),
	FLAG("once", once, "one message, then exit"),
	COUNT("exit after N messages"),
	OPT("field", 'f', STRING, field, "PATH", "print only this field, such as objects[0].position.x"),
	FLAG("no-arr", no_arr, "print arrays as their type and length"),
	OPT("max-array", 0, INT, max_array, "N", "elements printed of an array (0: all)", .min = 0, .max = UINT32_MAX),
	OPT("filter", 0, STRING, filter, "CONDITION",
	    "only messages for which this holds, such as 'speed > 3 && gear != 2'"),
	FLAG("csv", csv, "a line of values per message, after a line of names"),
	OPT("format", 0, STRING, format, "TEXT", "print this text per message, with {path} for values and {@time}"),
	OPT("time-format", 0, STRING, time_format, "NAME", "seconds, raw (ns) or date (seconds)",
	    .complete = TIME_FORMAT),
	TIMEOUT("give up after this much wall time"),
	{ 0 },
};

static const struct opt pub_opts[] = {
	CHANNEL("channel to publish on"),
	OPT_ARG("MESSAGE", OPTIONAL, STRING, request,
		"the message as JSON, or as `echo --json` prints it; without it, or with -: one message per line of stdin"),
	OPT("type", 't', STRING, type, "TYPE", "type of the channel, if it has no publisher yet", .complete = TYPES),
	OPT("rate", 'r', DOUBLE, hz, "HZ", "messages per second of wall time; MESSAGE is repeated", .min = 0,
	    .max = 100000),
	COUNT("exit after N messages"),
	OPT("frame", 0, STRING, frame, "FRAME", "frame_id of the messages"),
	FLAG("wait", wait, "wait for a subscriber or a bridge before the first one"),
	TIMEOUT("give up waiting after this much wall time"),
	{ 0 },
};
static const struct opt plot_opts[] = {
	OPT_ARG("CHANNEL.FIELD", MANY, STRINGS, fields, "numbers to plot, such as /imu.linear_acceleration.x",
		.least = 1, .complete = "simctl list --names"),
	OPT("window", 'w', DUR, span_dur_ns, "TIME", "simulated time that is shown (10s)", .min = 1000000,
	    .max = INT64_C(3600000000000)),
	FLAG("csv", csv, "a line of values for each message instead"),
	FLAG("batch", batch, "one picture as text, when -n messages have come or the window is full"),
	COUNT("exit after N messages"),
	OPT("time-format", 0, STRING, time_format, "NAME", "of --csv: seconds, raw (ns) or date (seconds)",
	    .complete = TIME_FORMAT),
	TIMEOUT("give up after this much wall time"),
	{ 0 },
};
static const struct opt trace_opts[] = {
	CHANNEL("channel whose messages are timed"),
	OPT("window", 'w', DUR, window_dur_ns, "TIME", "wall time that a table covers (1s)"),
	COUNT("a table over N messages received here, instead of a window"),
	TIMEOUT("give up waiting for -n messages after this much wall time"),
	FLAG("watch", watch, "table after table, until interrupted"),
	{ 0 },
};
static const struct opt snapshot_opts[] = {
	CHANNEL("channel to look at"),
	OPT("out", 'o', STRING, out, "FILE", "a new file, .png, .pcd or .json (the channel's name)",
	    .complete = "file"),
	OPT("metres", 0, DOUBLE, metres, "METRES", "of a cloud: from the middle to the edge (most points)", .min = 1,
	    .max = 100000),
	TIMEOUT("give up after this much wall time (10s)"),
	{ 0 },
};
static const struct opt graph_opts[] = {
	CHANNELS_LIKE,
	FLAG("dot", dot, "print input for Graphviz's dot"),
	WATCH,
	{ 0 },
};
static const struct opt find_opts[] = {
	OPT_ARG("TYPE", REQUIRED, STRING, type, "type, such as sim/Imu, or a pattern as in a shell", .complete = TYPES),
	{ 0 },
};

static const struct opt top_opts[] = {
	FLAG("batch", batch, "print text instead of drawing on the terminal"),
	COUNT("exit after N pictures"),
	WINDOW,
	OPT("tab", 0, STRING, tab, "NAME", "begin with channels, processes, pools, bridges or clock (channels)",
	    .complete = "echo channels processes pools bridges clock"),
	OPT("sort", 0, STRING, sort, "COLUMN", "sort by this column; numbers with the greatest first"),
	OPT("filter", 0, STRING, filter, "TEXT", "only rows that contain this text"),
	{ 0 },
};

static const struct opt rate_opts[] = {
	OPT_ARG("CHANNEL", MANY, STRINGS, channels, "channels to measure", .least = 1,
		.complete = "simctl list --names"),
	WINDOW,
	COUNT("exit after N windows"),
	{ 0 },
};
static const struct opt delay_opts[] = { CHANNEL("channel to measure"), WINDOW, COUNT("exit after N lines"), { 0 } };
static const struct opt config_opts[] = {
	FLAG("pools", pools, "print a fixed list of pools instead, of the slots that have memory now"), { 0 }
};
static const struct opt watch_opts[] = { WATCH, { 0 } };

static const struct opt pause_opts[] = {
	FLAG("no-wait", no_wait, "do not wait until the driver asks for more time"),
	FLAG("drain", drain, "then wait until all accepted messages have reached their bridges"),
	{ 0 },
};

static const struct opt step_opts[] = {
	OPT_ARG("TIME", REQUIRED, DUR, step_dur_ns, "simulated time to step by, such as 10ms"),
	{ 0 },
};

static const struct opt scale_opts[] = {
	OPT_ARG("SCALE", REQUIRED, DOUBLE, scale, "simulated seconds per wall second, 0.01 .. 100; 0 pauses", .min = 0,
		.max = 100),
	{ 0 },
};

static const struct opt source_opts[] = {
	OPT_ARG("SOURCE", REQUIRED, STRING, source,
		"unity, ss2, system, simulation, ros2, link, play or another plug-in",
		.complete = "echo unity ss2 system simulation ros2 link play"),
	FLAG("continue", cont, "continue from the present time instead of the source's start value"),
	{ 0 },
};

static const struct opt bridges_opts[] = { FLAG("names", names, "names alone, a line each"), WATCH, { 0 } };
static const struct opt ps_opts[] = { FLAG("names", names, "runtime directories alone, a line each"), WATCH, { 0 } };
static const struct opt bridge_opts[] = { BRIDGE, { 0 } };

static const struct opt bridge_connect_opts[] = {
	BRIDGE,
	OPT_ARG("CONNECTION", REQUIRED, STRING, connection_text,
		"an address that its plug-in understands, such as HOST:PORT"),
	{ 0 },
};

static const struct opt process_opts[] = {
	OPT_ARG("PROCESS", REQUIRED, STRING, process, "a process of a rig"),
	{ 0 },
};

static const struct opt service_opts[] = { SERVICE, { 0 } };

static const struct opt service_call_opts[] = {
	SERVICE,
	OPT_ARG("REQUEST", OPTIONAL, STRING, request, "the request as JSON; members that are left out are 0 or empty"),
	TIMEOUT("time-out of the call (the service's own deadline)"),
	{ 0 },
};

static const struct opt node_opts[] = {
	OPT_ARG("NODE", REQUIRED, STRING, node, "name of a node", .complete = "simctl node list --names"),
	WATCH,
	{ 0 },
};

#define PARAMS(kind) \
	OPT_ARG("NODE", kind, STRING, node, "name of a node that has parameters", \
		.complete = "simctl param list --names")
#define PARAM \
	OPT_ARG("NAME", REQUIRED, STRING, param, "name of the parameter", .complete = "simctl param list --names %1")
static const struct opt params_opts[] = {
	PARAMS(OPTIONAL),
	FLAG("names", names, "names alone, a line each"),
	{ 0 },
};
static const struct opt param_opts[] = {
	PARAMS(REQUIRED),
	PARAM,
	{ 0 },
};
static const struct opt param_set_opts[] = {
	PARAMS(REQUIRED),
	PARAM,
	OPT_ARG("VALUE", REQUIRED, STRING, value,
		"the new value: true, false, a number or a text; put -- before a text that begins with -"),
	{ 0 },
};

static const struct opt types_opts[] = {
	OPT_ARG("PATTERN", OPTIONAL, STRING, type, "with --ros: a package, or a pattern of names as in a shell",
		.complete = "simctl type list --ros --names"),
	FLAG("ros", ros, "ROS messages that are known by name: by package, or with PATTERN one by one"),
	FLAG("names", names, "names alone, a line each"),
	{ 0 },
};

static const struct opt type_opts[] = {
	OPT_ARG("TYPE", REQUIRED, STRING, type, "type, such as sim/Imu, or a channel that has it", .complete = TYPES),
	FLAG("ros", ros, "as the ROS 2 message that has its fields, with its type hash"),
	OPT("out", 'o', STRING, dir, "DIR", "write the type and all nested ones as DIR/package/msg/Name.msg",
	    .complete = "dir"),
	{ 0 },
};

#define LOG_FILE \
	OPT_ARG("FILE", REQUIRED, STRING, file, "a log: .mcap, .bag, .record, or a directory of rosbag2", \
		.complete = "file")
#define LOG_OUT \
	OPT_ARG("OUT", REQUIRED, STRING, out, "the new log: .mcap, .bag or .record, or DIR/ for rosbag2", \
		.complete = "file")
#define COMPRESSION \
	OPT("compression", 0, STRING, compression, "NAME", \
	    "none, lz4, zstd or bz2, if the format has it (zstd; .bag: lz4)", .complete = "echo none lz4 zstd bz2")
#define APOLLO \
	OPT("apollo", 0, STRING, apollo, "RELEASE", "release of Apollo for the encoding apollo: 5.0 to 10.0 (10.0)", \
	    .complete = "echo 5.0 5.5 6.0 7.0 8.0 9.0 10.0"), \
		OPT("definitions", 0, STRING, definitions, "PATH", \
		    "write these definitions of Apollo, a folder of .proto files or a FileDescriptorSet, instead of simd's", \
		    .complete = "file")
#define INCLUDE \
	OPT("include", 0, STRINGS, include, "PATTERN", "only these channels, as in a shell; may be given several times")
#define EXCLUDE OPT("exclude", 0, STRINGS, exclude, "PATTERN", "not these channels; may be given several times")

static const struct opt file_opts[] = { LOG_FILE, { 0 } };
static const struct opt files_opts[] = {
	OPT_ARG("FILE", MANY, STRINGS, files, "logs to describe", .least = 1, .complete = "file"),
	{ 0 },
};
static const struct opt copy_opts[] = { LOG_FILE, LOG_OUT, COMPRESSION, { 0 } };
static const struct opt convert_opts[] = {
	LOG_FILE,
	LOG_OUT,
	OPT("encoding", 0, STRING, encoding, "NAME",
	    "encoding of messages: native, packed, json, ros2, ros1 or apollo (.bag: ros1; .record: apollo; .mcap: unchanged, but native instead of packed)",
	    .complete = ENCODINGS),
	APOLLO,
	COMPRESSION,
	{ 0 },
};
static const struct opt merge_opts[] = {
	LOG_OUT,
	OPT_ARG("FILE", MANY, STRINGS, files, "logs to merge", .least = 1, .complete = "file"),
	COMPRESSION,
	{ 0 },
};
static const struct opt split_opts[] = {
	LOG_FILE,
	LOG_OUT,
	OPT("size", 0, STRING, split_size, "SIZE", "begin a new file above this size, such as 512MiB"),
	OPT("duration", 0, DUR, split_dur_ns, "TIME", "begin a new file after this much of the log's time"),
	COMPRESSION,
	{ 0 },
};
static const struct opt filter_opts[] = {
	LOG_FILE,
	LOG_OUT,
	INCLUDE,
	EXCLUDE,
	OPT("start", 0, DUR, start_dur_ns, "TIME", "begin this long after the first message"),
	OPT("end", 0, DUR, end_dur_ns, "TIME", "end this long after the first message"),
	COMPRESSION,
	{ 0 },
};
static const struct opt cat_opts[] = {
	LOG_FILE,
	INCLUDE,
	COUNT("exit after N messages"),
	FLAG("no-arr", no_arr, "print arrays as their type and length"),
	OPT("max-array", 0, INT, max_array, "N", "elements printed of an array (0: all)", .min = 0, .max = UINT32_MAX),
	{ 0 },
};

static const struct opt record_opts[] = {
	OPT_ARG("PATTERN", MANY, STRINGS, patterns, "channels to record, as shell patterns; none: all",
		.complete = "simctl list --names"),
	EXCLUDE,
	OPT("types", 0, STRINGS, types, "PATTERN", "only channels of these types; may be given several times",
	    .complete = TYPES),
	OPT("out", 'o', STRING, out, "FILE",
	    "the new log: .mcap, .bag or .record, or DIR/ for rosbag2 (simd-DATE-TIME.mcap)", .complete = "file"),
	OPT("encoding", 0, STRING, encoding, "NAME", "native, packed, json, ros2, ros1 or apollo (native)",
	    .complete = ENCODINGS),
	APOLLO,
	COMPRESSION,
	OPT("split-size", 0, STRING, split_size, "SIZE", "begin a new file above this size, such as 512MiB"),
	OPT("split-duration", 0, DUR, split_dur_ns, "TIME", "begin a new file after this much simulated time"),
	OPT("pre-buffer", 0, DUR, pre_buffer_dur_ns, "TIME", "keep that much in memory, and write it when triggered"),
	FLAG("trigger", trigger, "each trigger writes the kept messages to a separate file"),
	OPT("max-memory", 0, STRING, max_memory, "SIZE", "limit of the memory for kept messages (256MiB)"),
	OPT("backlog", 0, STRING, backlog, "SIZE",
	    "limit of data waiting for the disk (256MiB, or a quarter of the free memory); large messages are dropped first"),
	FLAG("start-paused", start_paused, "begin with a pause"),
	FLAG("strict", strict, "fail unless all requested channels can be recorded"),
	FLAG("dump", dump, "trigger the running recorder, and exit"),
	OPT("name", 0, STRING, name, "NAME", "name of the recorder and its services (record)"),
	{ 0 },
};

static const struct opt play_opts[] = {
	OPT_ARG("FILE", MANY, STRINGS, files, "logs; several are merged by time", .least = 1, .complete = "file"),
	OPT("rate", 'r', STRING, rate, "RATE", "seconds of the log per second (1)"),
	FLAG("loop", loop, "begin again at the end"),
	OPT("start", 0, STRING, start, "TIME", "begin there: seconds from the beginning, @seconds, or a date"),
	OPT("end", 0, STRING, end, "TIME", "end there"),
	OPT("channels", 'c', STRINGS, patterns, "PATTERN", "only these channels; with ! in front all but these"),
	OPT("remap", 0, STRINGS, remaps, "OLD:=NEW", "play channel OLD as NEW"),
	OPT("prefix", 0, STRING, prefix, "PREFIX", "put this before each channel's name"),
	OPT("delay", 0, DUR, delay_dur_ns, "TIME", "wait this long before the first message"),
	OPT("preload", 0, DUR, preload_dur_ns, "TIME", "how far to read ahead (3s)"),
	OPT("preload-mib", 0, INT, preload_mib, "N", "limit of the data read ahead, in MiB (128)", .min = 1,
	    .max = 65536),
	FLAG("start-paused", start_paused, "begin with a pause"),
	FLAG("lockstep", lockstep, "as fast as bridges and participants in lock-step take the messages"),
	FLAG("follow", follow, "follow the running clock instead of driving it"),
	OPT("name", 0, STRING, name, "NAME", "name of the player and its services (play)"),
	{ 0 },
};

#define WORLD OPT("world", 0, STRING, world, "SOCKET", "control socket of sim-world", .complete = "file")

static const struct opt world_opts[] = { WORLD, { 0 } };
static const struct opt world_watch_opts[] = { WORLD, WATCH, { 0 } };
static const struct opt world_kick_opts[] = {
	OPT_ARG("CONNECTION", REQUIRED, INT, connection, "number of the client, as `world clients` shows it", .min = 1,
		.max = UINT32_MAX),
	OPT("reason", 'r', STRING, reason, "TEXT", "sent to the client, and logged"),
	WORLD,
	{ 0 },
};

static const struct opt link_make_keys_opts[] = {
	OPT_ARG("DIR", REQUIRED, STRING, dir, "folder for the keys; may hold those of other machines",
		.complete = "dir"),
	OPT("host", 0, STRINGS, hosts, "NAME",
	    "a machine's name: option `host` of its link; may be given several times"),
	OPT("days", 0, INT, days, "N", "how long they are valid (1825)", .min = 1, .max = 7300),
	{ 0 },
};

struct command {
	const char *name;
	enum need need;
	int (*run)(struct ctl *c);
};

static const struct opt_command commands[] = {
#define X(text, need, id, opts_, help_) { .name = text, .help = help_, .opts = opts_ },
	COMMANDS(X)
#undef X
		{ 0 },
};

static const struct command table[] = {
#define X(text, need, id, opts, help) { text, need, cmd_##id },
	COMMANDS(X)
#undef X
};

static const struct opt_program program = {
	.name = "simctl",
	.section = 1,
	.summary = "inspect and control simd",
	.version = SIM_VERSION,
	.opts = global_opts,
	.commands = commands,
};

static void on_signal(int sig)
{
	simctl_stop = sig;
	if (simctl_waits)
		_exit(128 + sig);
}

static void catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal }; /* no SA_RESTART: signals interrupt waits */

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int attach(struct ctl *c, enum need need)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "simctl", .socket = c->a.socket, .flags = SIM_CLIENT_NO_PREFAULT
	};

	if (need == ALONE)
		return 0;
	return (need == CONTROL ? ctl_connect(c) : ctl_connect_as(c, &o)) < 0 ? ctl_fail(NULL) : 0;
}

/* 130 after SIGINT, as shells expect; but an interrupted recording has ended in order, and keeps its exit code. */
static int exit_code(const struct command *cmd, int r)
{
	return simctl_stop == SIGINT && cmd->run != cmd_record ? 128 + SIGINT : r;
}

int main(int argc, char **argv)
{
	struct ctl c = { .a = { .window_dur_ns = 1000000000 } };
	const struct opt_command *cmd;
	int r;

	cmd = opt_parse_or_exit(&program, argc, argv, &c.a);
	log_setup("simctl");
	catch_signals();
	r = attach(&c, table[cmd - commands].need);
	if (!r)
		r = table[cmd - commands].run(&c);
	sim_disconnect(c.client);
	return exit_code(&table[cmd - commands], r);
}

int cmd_shutdown(struct ctl *c)
{
	json_t *reply = ctl_call(c, "io.simd.Control.Shutdown", NULL);

	json_decref(reply);
	return reply ? 0 : 1;
}

/* "not running", or why simd could not be asked. */
static const char *why_no_version(int r, char *buf, size_t size)
{
	if (r >= 0 || r == -ENOENT || r == -ECONNREFUSED)
		return "not running";
	snprintf(buf, size, "%s", sim_why());
	return buf;
}

int cmd_version(struct ctl *c)
{
	int r = ctl_connect(c);
	json_t *info = r < 0 ? NULL : ctl_call(c, "io.simd.Control.GetInfo", NULL);
	const char *simd = info ? json_text(info, "version") : NULL;
	char buf[512];
	const char *why = simd ? NULL : why_no_version(r, buf, sizeof(buf));

	if (c->a.json) {
		json_t *j = json_pack("{s:s, s:s, s:s?, s:s*}", "simctl", SIM_VERSION, "library", sim_version(), "simd",
				      simd, "why", why);

		ctl_print_json(c, j);
		json_decref(j);
	} else {
		printf("simctl %s\nlibsimclient %s\nsimd %s%s%s\n", SIM_VERSION, sim_version(), simd ? simd : "(",
		       simd ? "" : why, simd ? "" : ")");
	}
	json_decref(info);
	return 0;
}
