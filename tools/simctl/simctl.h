/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simctl: one table of commands (main.c), one file per group of them. Everything runs on the main thread;
 * the control socket is only called through libsimclient.
 */
#ifndef SIMCTL_H
#define SIMCTL_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sim/sim.h>

#include "near.h"
#include "opt.h"

struct column;

struct args { /* values of all commands' options and arguments, filled by opt from the table */
	const char *socket;
	bool loop, follow, lockstep, start_paused; /* play */
	bool trigger, dump;                        /* record */
	int64_t pre_buffer_dur_ns;
	struct opt_strings types;
	const char *max_memory, *backlog;
	bool strict;
	bool ros, json, watch, names, once, no_arr, cont, pretty, no_wait, drain;
	int64_t count, timeout_dur_ns, window_dur_ns, max_array, step_dur_ns;
	double scale;
	bool batch; /* top */
	const char *tab, *sort, *filter;
	struct opt_strings channels, files, include, exclude;
	int64_t split_dur_ns, start_dur_ns, end_dur_ns;
	const char *file, *out, *split_size, *compression, *encoding, *apollo, *definitions;
	struct opt_strings patterns, remaps;
	int64_t delay_dur_ns, preload_dur_ns, preload_mib;
	const char *start, *end, *rate, *prefix, *name;
	const char *dir, *channel, *field, *type, *source, *bridge, *process, *service, *request;
	const char *node, *param, *value;
	const char *world, *reason; /* world */
	struct opt_strings hosts;   /* link make-keys */
	int64_t days;
	const char *format, *time_format; /* echo */
	bool csv;
	const char *connection_text; /* bridge connect */
	bool dot;                    /* graph */
	double metres;               /* snapshot */
	bool wait;                   /* pub */
	double hz;
	const char *frame;
	int64_t connection;
	bool pools;                /* config */
	struct opt_strings fields; /* plot */
	int64_t span_dur_ns;
};

struct ctl {
	struct args a;
	struct sim_client *client; /* NULL for commands that work without simd */
	/*
	 * a file is unfinished, the terminal raw, or time driven from here: signals do not end calls, which have time
	 * limits of their own
	 */
	bool unfinished;
};

/* number of the signal, set by SIGINT and SIGTERM; streams then end in order */
extern volatile sig_atomic_t simctl_stop;
/*
 * Set by ctl_begin_wait(): a signal then ends the process at once. No file may be unfinished, and the terminal not raw.
 */
extern volatile sig_atomic_t simctl_waits;

enum need { ALONE, CONTROL, DATA }; /* the connection to simd that a command needs */

/* name, need, function, options, help */
#define COMMANDS(X) \
	X("list", CONTROL, list, list_opts, "channels: type, rate, who publishes and subscribes, drops, age") \
	X("top", ALONE, top, top_opts, "channels, processes, pools, bridges and the clock, live") \
	X("info", CONTROL, info, info_opts, "all about one channel") \
	X("echo", DATA, echo, echo_opts, "print messages") \
	X("pub", DATA, pub, pub_opts, "publish messages, written as JSON") \
	X("snapshot", DATA, snapshot, snapshot_opts, "save a message as a picture, point cloud file or JSON") \
	X("plot", DATA, plot, plot_opts, "numbers of messages as lines over time, on the terminal or as CSV") \
	X("trace", DATA, trace, trace_opts, "how long messages take from stage to stage, up to each bridge's answer") \
	X("graph", CONTROL, graph, graph_opts, "who publishes and subscribes to what, and what bridges carry") \
	X("find", CONTROL, find, find_opts, "names of the channels of a type") \
	X("hz", DATA, hz, rate_opts, "message rate, counted by the publisher, and how even it is") \
	X("bw", CONTROL, bw, rate_opts, "bandwidth, counted by the publisher") \
	X("delay", DATA, delay, delay_opts, "time from capture and from publishing to here") \
	X("clock status", CONTROL, clock_status, watch_opts, "the simulated time, its source and its accuracy") \
	X("clock pause", CONTROL, clock_pause, pause_opts, "stop simulated time") \
	X("clock resume", CONTROL, clock_resume, NULL, "let simulated time run again") \
	X("clock step", CONTROL, clock_step, step_opts, \
	  "advance by a span, then pause; returns when all is delivered") \
	X("clock scale", CONTROL, clock_scale, scale_opts, "let simulated time run faster or slower than wall time") \
	X("clock source", CONTROL, clock_source, source_opts, "choose the time source") \
	X("bridge list", CONTROL, bridge_list, bridges_opts, "bridges: status, messages sent and failed") \
	X("bridge info", CONTROL, bridge_info, bridge_opts, "all about one bridge") \
	X("bridge restart", CONTROL, bridge_restart, bridge_opts, "end a bridge's process and start it again") \
	X("bridge connect", CONTROL, bridge_connect, bridge_connect_opts, \
	  "connect a bridge to another address, until simd exits") \
	X("process restart", CONTROL, process_restart, process_opts, "end a rig's process and start it again") \
	X("service list", CONTROL, service_list, bridges_opts, "services: type, who offers them, how calls went") \
	X("service info", CONTROL, service_info, service_opts, "all about one service") \
	X("service call", CONTROL, service_call, service_call_opts, "call one and print its response") \
	X("node list", CONTROL, node_list, bridges_opts, "nodes: process, run mode, readers and writers") \
	X("node info", CONTROL, node_info, node_opts, "all about one node: readers, writers, timers, its component") \
	X("param list", CONTROL, param_list, params_opts, \
	  "parameters of a node; without NODE: nodes that have parameters") \
	X("param get", CONTROL, param_get, param_opts, "print a parameter of a node") \
	X("param set", CONTROL, param_set, param_set_opts, "set a parameter of a node while it runs") \
	X("type list", ALONE, type_list, types_opts, \
	  "message types: what they are in ROS, how many channels have them") \
	X("type show", ALONE, type_show, type_opts, "definition of a message type, ours or as ROS 2 sees it") \
	X("record", ALONE, record, record_opts, "record channels into a log, as they are published") \
	X("play", ALONE, play, play_opts, "play recorded messages, with their clock") \
	X("clients", CONTROL, clients, NULL, "processes that are attached") \
	X("dispatch", CONTROL, dispatch, watch_opts, "the dispatcher: queues, lanes, waits, outcomes") \
	X("config", CONTROL, config, config_opts, "simd's effective configuration and where each value came from") \
	X("summary", CONTROL, summary, NULL, "totals since simd's start, per channel and bridge") \
	X("ps", ALONE, ps, ps_opts, "the simd of this machine: rigs, user, pid, memory, whether each runs") \
	X("doctor", ALONE, doctor, NULL, "check this machine; exit code 1 when something is broken") \
	X("bag info", ALONE, bag_info, files_opts, "what is in a log: channels, times, how it was closed") \
	X("bag doctor", ALONE, bag_doctor, file_opts, "check a log; exit code 1 when something is wrong") \
	X("bag recover", ALONE, bag_recover, copy_opts, "copy what can be read of a damaged log into a new one") \
	X("bag split", ALONE, bag_split, split_opts, "split a log into files by size or time") \
	X("bag merge", ALONE, bag_merge, merge_opts, "merge several logs into one by time") \
	X("bag filter", ALONE, bag_filter, filter_opts, "copy some channels or a time range of a log into a new one") \
	X("bag convert", ALONE, bag_convert, convert_opts, \
	  "convert a log into another format, encoding or compression") \
	X("bag cat", ALONE, bag_cat, cat_opts, "print the messages of a log, one line of JSON each") \
	X("world status", ALONE, world_status, world_watch_opts, \
	  "a world of sim-world: tick, pace, clients, refusals") \
	X("world clients", ALONE, world_clients, world_watch_opts, \
	  "clients of a world: role, rate, lag, traffic, refusals") \
	X("world top", ALONE, world_top, world_opts, "status and clients every second, until interrupted") \
	X("world kick", ALONE, world_kick, world_kick_opts, "end a client's session and remove its objects") \
	X("world metrics", ALONE, world_metrics, world_opts, "print metrics in the format of Prometheus") \
	X("link make-keys", ALONE, link_make_keys, link_make_keys_opts, \
	  "make keys for the machines that a link connects") \
	X("shutdown", CONTROL, shutdown, NULL, "ask simd to exit") \
	X("version", ALONE, version, NULL, "versions of simctl, its library and simd")

/* Each returns the exit code: 0 success; 1 failure, after printing why. */
#define X(text, need, id, opts, help) int cmd_##id(struct ctl *c);
COMMANDS(X)
#undef X

/* ---- call.c ---- */
/* Prints `what` (unless NULL) and sim_why() on stderr. Returns 1. */
int ctl_fail(const char *what);
/* Between these two calls a signal (also one that came before them) ends the process at once, unless c->unfinished. */
void ctl_begin_wait(const struct ctl *c);
void ctl_end_wait(void);
/* Returns whether simctl_stop is set; for use as a callback. */
bool ctl_stopped(void *unused);
/*
 * Calls simd with a timeout of 5 s. params: borrowed, may be NULL. Returns the reply (free with json_decref()), or NULL
 * after printing why.
 */
json_t *ctl_call(struct ctl *c, const char *method, json_t *params);
/* The same with another timeout; < 0: none. */
json_t *ctl_call_within(struct ctl *c, const char *method, json_t *params, int64_t wall_timeout_dur_ns);
/* The same with the single parameter "name". */
json_t *ctl_call_named(struct ctl *c, const char *method, const char *name);
/* Connects for control only, if not connected yet. Returns 0 or a negative errno; prints nothing. */
int ctl_connect(struct ctl *c);
int ctl_connect_as(struct ctl *c, const struct sim_client_options *o);
/* Prints a reply on stdout: on one line, or indented with --pretty. */
void ctl_print_json(const struct ctl *c, const json_t *j);
/* Prints a reply as JSON, and drops the reference. Exit code 0, or 1 if reply is NULL. */
int ctl_put(const struct ctl *c, json_t *reply);
/* With --json as ctl_put(), else calls print(). Drops the reference. Exit code as ctl_put(). */
int ctl_show(const struct ctl *c, json_t *reply, void (*print)(const json_t *reply));
/*
 * Prints the objects of the reply's member `list`: as JSON, only their names with --names, or as a table. Else as
 * ctl_show().
 */
int ctl_list(const struct ctl *c, json_t *reply, const char *list, const struct column *columns);
/* type list --ros. ctl_ros_count(): how many ROS messages are known by name (type_ros.c). */
int ctl_ros_list(const struct ctl *c);
unsigned ctl_ros_count(void);
/*
 * Calls once(), or with --watch calls it every second: on a terminal each output replaces the one before, elsewhere it
 * follows it.
 */
int ctl_repeat(struct ctl *c, int (*once)(struct ctl *c));
/*
 * The parts of ctl_repeat(), for commands with another rhythm. ctl_begin_screen(): whether to redraw the screen, which
 * it then clears; ctl_onto_screen(): draws what `once` prints onto the screen, lines truncated to its width.
 */
bool ctl_begin_screen(const struct ctl *c);
int ctl_onto_screen(int (*once)(void *arg), void *arg);
/*
 * Escapes what is not printable in all strings of a reply: names, reasons, paths and comments come from other programs.
 */
void ctl_make_fit(json_t *reply);
/* Sleeps that much wall time. Returns false if a signal came, or the reader of stdout has closed it. */
bool ctl_pause(int64_t dur_ns);
/* Whether the reader of stdout has closed it, as `| head -1` does: a normal end, not an error. */
bool ctl_unread(void);

/*
 * "did you mean X?", X being the most similar value of member `key` in a list of objects, or `otherwise`. For key
 * "type", X may also be simd's type for a ROS or Apollo message (list.c).
 */
const char *ctl_near(const json_t *list, const char *key, const char *written, const char *otherwise,
		     char text[NEAR_TEXT_MAX]);
/*
 * Calls ListChannels, and keeps the channels that match the pattern and --type; if none does, prints similar ones.
 * Returns as ctl_call() (list.c).
 */
json_t *ctl_channels(struct ctl *c);
/*
 * Calls GetChannel; simd resolves a name without a leading slash as it does for a program of its rig. Returns as
 * ctl_call() (list.c).
 */
json_t *ctl_channel(struct ctl *c, const char *name);
/* The same, but returns NULL without printing anything if there is no such channel. */
json_t *ctl_channel_quiet(struct ctl *c, const char *name);
/* Prints the fields of a type, given as its JSON, one per line (list.c). */
void ctl_print_fields(const json_t *json);

/*
 * Finds a type of simd's or of a channel by its name, or by the channel's. Returns 0 and a reference, or 1 after
 * printing why (type.c).
 */
int ctl_find_type(struct ctl *c, const char *name, const struct sim_type **ret);

/* ---- table.c ---- */
/* numbers are right-aligned; NUM 0, NUM1 1, NUM2 2, SPAN (seconds) 3 decimal places */
enum cell { TEXT, NUM, NUM1, NUM2, SPAN };
struct column {
	const char *head; /* NULL: end of the list */
	const char *key;  /* member of the objects that table_of() prints; "a.b": b in the object a */
	enum cell as;
	double scale; /* factor on the number; 0: 1 */
	/* on a narrow screen the column with the highest value is left out first; the last column stays */
	int leave;
	int least;        /* > 0: a text that may be shortened to this many characters */
	bool end;         /* a shortened text keeps its end */
	const char *none; /* shown if there is no number; NULL: "never" */
};
/*
 * Prints one row per object. The number of a list is its length, of an object the sum of its members; absent or null:
 * "never".
 */
void table_of(const struct column *columns, const json_t *list);
/* The same into f, for a screen of that width; 0: unlimited. */
void table_print(FILE *f, const struct column *columns, const json_t *list, int width);
/* The number that a cell shows, before `scale`. */
double json_amount(const json_t *value);

struct screen {
	int columns, rows; /* 0: unlimited */
};
/* Size of stdout's terminal; if it is not a terminal, the width is $COLUMNS. */
struct screen ctl_screen(void);

/* ---- json.c ---- */
const char *json_text(const json_t *obj, const char *key); /* "" when absent */
double json_num(const json_t *obj, const char *key);       /* 0 when absent */
bool json_yes(const json_t *obj, const char *key);         /* false when absent */
/* Output callback of sim_msg_to_json() that writes to a FILE. */
int json_to_file(void *file, const char *data, size_t len);

#endif
