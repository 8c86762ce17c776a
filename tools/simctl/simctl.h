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

struct args { /* every command's values; filled by opt from the table */
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
	bool unfinished; /* a file, a terminal, time that is driven: no signal ends a call, which has a bound of its own */
};

extern volatile sig_atomic_t simctl_stop; /* set by SIGINT and SIGTERM, to their number: streams end cleanly */
/* By ctl_begin_wait(): they end the process at once. No file may be unfinished then, and no terminal raw. */
extern volatile sig_atomic_t simctl_waits;

enum need { ALONE, CONTROL, DATA }; /* what a command needs of simd */

/* name, need, function, options, help */
#define COMMANDS(X) \
	X("list", CONTROL, list, list_opts, "channels: type, rate, who publishes and subscribes, drops, age") \
	X("top", ALONE, top, top_opts, "channels, processes, pools, bridges and the clock, live") \
	X("info", CONTROL, info, info_opts, "all about one channel") \
	X("echo", DATA, echo, echo_opts, "print messages") \
	X("pub", DATA, pub, pub_opts, "publish messages, written as JSON") \
	X("snapshot", DATA, snapshot, snapshot_opts, "a message as a picture, a cloud's file or JSON") \
	X("plot", DATA, plot, plot_opts, "numbers of messages as lines over time, on the terminal or as CSV") \
	X("trace", DATA, trace, trace_opts, "how long messages take from stage to stage, up to each bridge's answer") \
	X("graph", CONTROL, graph, graph_opts, "who publishes and subscribes to what, and what bridges carry") \
	X("find", CONTROL, find, find_opts, "names of the channels that have a type") \
	X("hz", DATA, hz, rate_opts, "message rate, counted by the publisher, and how even it is") \
	X("bw", CONTROL, bw, rate_opts, "bandwidth, counted by the publisher") \
	X("delay", DATA, delay, delay_opts, "time from capture and from publishing to here") \
	X("clock status", CONTROL, clock_status, watch_opts, \
	  "what time it is, where it comes from, how well it is kept") \
	X("clock pause", CONTROL, clock_pause, pause_opts, "stop simulated time") \
	X("clock resume", CONTROL, clock_resume, NULL, "let it run again") \
	X("clock step", CONTROL, clock_step, step_opts, \
	  "advance by a span, then pause; returns when all is delivered") \
	X("clock scale", CONTROL, clock_scale, scale_opts, "make it run faster or slower than wall time") \
	X("clock source", CONTROL, clock_source, source_opts, "choose where time comes from") \
	X("bridge list", CONTROL, bridge_list, bridges_opts, "bridges: status, what was sent, what failed") \
	X("bridge info", CONTROL, bridge_info, bridge_opts, "all about one bridge") \
	X("bridge restart", CONTROL, bridge_restart, bridge_opts, "end a bridge's process and start it again") \
	X("bridge connect", CONTROL, bridge_connect, bridge_connect_opts, \
	  "connect a bridge to another place, until simd ends") \
	X("process restart", CONTROL, process_restart, process_opts, "end a rig's process and start it again") \
	X("service list", CONTROL, service_list, bridges_opts, "services: type, who offers them, how calls went") \
	X("service info", CONTROL, service_info, service_opts, "all about one service") \
	X("service call", CONTROL, service_call, service_call_opts, "call one and print its response") \
	X("node list", CONTROL, node_list, bridges_opts, "nodes: process, run mode, readers and writers") \
	X("node info", CONTROL, node_info, node_opts, "all about one node: readers, writers, timers, its component") \
	X("param list", CONTROL, param_list, params_opts, "parameters of a node; without one: nodes that have some") \
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
	X("bag recover", ALONE, bag_recover, copy_opts, "what can be read of a damaged log, into a new one") \
	X("bag split", ALONE, bag_split, split_opts, "a log in pieces, by size or time") \
	X("bag merge", ALONE, bag_merge, merge_opts, "several logs into one, by time") \
	X("bag filter", ALONE, bag_filter, filter_opts, \
	  "some channels of a log, or a part of its time, into a new one") \
	X("bag convert", ALONE, bag_convert, convert_opts, "a log into another format, encoding or compression") \
	X("bag cat", ALONE, bag_cat, cat_opts, "the messages of a log, a line of JSON each") \
	X("world status", ALONE, world_status, world_watch_opts, \
	  "a world of sim-world: tick, pace, clients, what was refused") \
	X("world clients", ALONE, world_clients, world_watch_opts, \
	  "clients of a world: role, rate, lag, traffic, what was refused") \
	X("world top", ALONE, world_top, world_opts, "both, again every second, until interrupted") \
	X("world kick", ALONE, world_kick, world_kick_opts, "end a client's session; its objects go with it") \
	X("world metrics", ALONE, world_metrics, world_opts, "a page of metrics, as Prometheus reads them") \
	X("link make-keys", ALONE, link_make_keys, link_make_keys_opts, "keys for the machines that a link joins") \
	X("shutdown", CONTROL, shutdown, NULL, "ask simd to end") \
	X("version", ALONE, version, NULL, "versions of simctl, its library and simd")

/* Each returns the exit code: 0 fine, 1 failed (a sentence was printed). */
#define X(text, need, id, opts, help) int cmd_##id(struct ctl *c);
COMMANDS(X)
#undef X

/* ---- call.c ---- */
/* Prints the sentence of a failure on stderr; returns 1. */
int ctl_fail(const char *what);
/* Between the two a signal ends the process at once, but where c->unfinished; one that came before does so, too. */
void ctl_begin_wait(const struct ctl *c);
void ctl_end_wait(void);
/* simctl_stop, as a callback. */
bool ctl_stopped(void *unused);
/* Call simd. params: borrows, may be NULL. NULL on failure (printed). Returns: json_decref(). */
json_t *ctl_call(struct ctl *c, const char *method, json_t *params);
/* The same, for up to so long instead of 5 s; < 0: for as long as it takes. */
json_t *ctl_call_within(struct ctl *c, const char *method, json_t *params, int64_t wall_timeout_dur_ns);
/* The same of the one parameter "name". */
json_t *ctl_call_named(struct ctl *c, const char *method, const char *name);
/* Connect for control alone, if that was not done yet: negative errno, nothing is printed. */
int ctl_connect(struct ctl *c);
int ctl_connect_as(struct ctl *c, const struct sim_client_options *o);
/* Print a reply on stdout: one line, or indented with --pretty. */
void ctl_print_json(const struct ctl *c, const json_t *j);
/* Print a reply as JSON and give its reference back; exit code 0, or 1 for NULL. */
int ctl_put(const struct ctl *c, json_t *reply);
/* With --json as ctl_put(), else what print() makes of it; gives the reference back. Exit code as ctl_put(). */
int ctl_show(const struct ctl *c, json_t *reply, void (*print)(const json_t *reply));
/* The objects of a reply's list: as JSON, their names alone with --names, or as a table; as ctl_show(). */
int ctl_list(const struct ctl *c, json_t *reply, const char *list, const struct column *columns);
/* type list --ros; how many there are (type_ros.c). */
int ctl_ros_list(const struct ctl *c);
unsigned ctl_ros_count(void);
/* Once, or every second with --watch: a screen that is redrawn, or block after block where it is no terminal. */
int ctl_repeat(struct ctl *c, int (*once)(struct ctl *c));
/* The parts of it, for who has another rhythm: whether a screen is to be redrawn, cleared then; what `once` prints, onto it, its lines cut. */
bool ctl_begin_screen(const struct ctl *c);
int ctl_onto_screen(int (*once)(void *arg), void *arg);
/* All texts of a reply, which come from others, as they may be printed: escapes for what is not printable. */
void ctl_make_fit(json_t *reply);
/* Sleep until that much wall time has passed or a signal came; false: stop, by a signal or because nobody reads us. */
bool ctl_pause(int64_t dur_ns);
/* Nobody reads what we print, as behind `| head -1`: no error, an end. */
bool ctl_unread(void);

/*
 * "did you mean X?", or `otherwise`: what is like the word somebody has written, of that member of a list's objects; of "type" also the one of
 * ours that a message of ROS or Apollo is (list.c).
 */
const char *ctl_near(const json_t *list, const char *key, const char *written, const char *otherwise,
		     char text[NEAR_TEXT_MAX]);
/* ListChannels, those alone that the pattern and --type leave; of none is said what is like them. As ctl_call() (list.c). */
json_t *ctl_channels(struct ctl *c);
/* GetChannel; without a leading slash simd takes the name as a program of its rig would. As ctl_call() (list.c). */
json_t *ctl_channel(struct ctl *c, const char *name);
/* The same; NULL and nothing is said: there is none. */
json_t *ctl_channel_quiet(struct ctl *c, const char *name);
/* Fields of a type, given as its JSON, a line each (list.c). */
void ctl_print_fields(const json_t *json);

/* A type that comes with simd, or that a channel has, by its name or the channel's. 0: a reference; 1: failed, and said (type.c). */
int ctl_find_type(struct ctl *c, const char *name, const struct sim_type **ret);

/* ---- table.c ---- */
enum cell { TEXT, NUM, NUM1, NUM2, SPAN }; /* numbers, to the right, with no, one, two places; seconds with three */
struct column {
	const char *head; /* NULL ends the list */
	const char *key;  /* of the objects that table_of() prints; "a.b": b in the object a */
	enum cell as;
	double scale; /* what the number is multiplied by; 0: 1 */
	int leave;    /* where the screen is too narrow the column with the highest goes first; the last one stays */
	int least;    /* > 0: a text that may be shortened to so many characters */
	bool end;     /* then its end is kept */
	const char *none; /* stands for no number; NULL: "never" */
};
/* A row an object. The number of a list is its length, of an object the sum of what is in it; absent or null: "never". */
void table_of(const struct column *columns, const json_t *list);
/* The same into f, for a screen of that width; 0: as wide as it is. */
void table_print(FILE *f, const struct column *columns, const json_t *list, int width);
/* What a number's cell shows, before it is scaled. */
double json_amount(const json_t *value);

struct screen {
	int columns, rows; /* 0: as many as needed */
};
/* Of the terminal that stdout is; where it is none, as wide as $COLUMNS says. */
struct screen ctl_screen(void);

/* ---- json.c ---- */
const char *json_text(const json_t *obj, const char *key); /* "" when absent */
double json_num(const json_t *obj, const char *key);       /* 0 when absent */
bool json_yes(const json_t *obj, const char *key);         /* false when absent */
/* For sim_msg_to_json(): into a FILE. */
int json_to_file(void *file, const char *data, size_t len);

#endif
