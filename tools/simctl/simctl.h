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

#include <sim/sim.h>

#include "opt.h"

struct args { /* every command's values; filled by opt from the table */
	const char *socket;
	bool ros, json, watch, names, once, no_arr, cont, pretty;
	int64_t count, timeout_dur_ns, window_dur_ns, max_array, step_dur_ns;
	double scale;
	struct opt_strings channels;
	const char *dir, *channel, *field, *type, *source, *bridge, *service, *request;
};

struct ctl {
	struct args a;
	struct sim_client *client; /* NULL for commands that work without simd */
};

extern volatile sig_atomic_t simctl_stop; /* set by SIGINT and SIGTERM: streams end cleanly */

/* Each returns the exit code: 0 fine, 1 failed (a sentence was printed). */
int cmd_list(struct ctl *c);
int cmd_info(struct ctl *c);
int cmd_echo(struct ctl *c);
int cmd_hz(struct ctl *c);
int cmd_bw(struct ctl *c);
int cmd_delay(struct ctl *c);
int cmd_clock_status(struct ctl *c);
int cmd_clock_pause(struct ctl *c);
int cmd_clock_resume(struct ctl *c);
int cmd_clock_step(struct ctl *c);
int cmd_clock_scale(struct ctl *c);
int cmd_clock_source(struct ctl *c);
int cmd_bridge_list(struct ctl *c);
int cmd_bridge_info(struct ctl *c);
int cmd_bridge_restart(struct ctl *c);
int cmd_service_list(struct ctl *c);
int cmd_service_info(struct ctl *c);
int cmd_service_call(struct ctl *c);
int cmd_type_show(struct ctl *c);
int cmd_clients(struct ctl *c);
int cmd_config(struct ctl *c);
int cmd_dispatch(struct ctl *c);
int cmd_summary(struct ctl *c);
int cmd_doctor(struct ctl *c);
int cmd_shutdown(struct ctl *c);
int cmd_version(struct ctl *c);

/* ---- call.c ---- */
/* Prints the sentence of a failure on stderr; returns 1. */
int ctl_fail(const char *what);
/* Call simd. params: borrows, may be NULL. NULL on failure (printed). Returns: json_decref(). */
json_t *ctl_call(struct ctl *c, const char *method, json_t *params);
/* Print a reply on stdout: one line, or indented with --pretty. */
void ctl_print_json(const struct ctl *c, const json_t *j);
/* Print a reply as JSON and give its reference back; exit code 0, or 1 for NULL. */
int ctl_put(const struct ctl *c, json_t *reply);
/* Once, or every second with --watch: a screen that is redrawn, or block after block where it is no terminal. */
int ctl_repeat(struct ctl *c, int (*once)(struct ctl *c));
/* Sleep until that much wall time has passed or a signal came; false: stop, by a signal or because nobody reads us. */
bool ctl_pause(int64_t dur_ns);
/* Nobody reads what we print, as behind `| head -1`: no error, an end. */
bool ctl_unread(void);

/* GetChannel; without a leading slash simd takes the name as a program of its rig would. As ctl_call() (list.c). */
json_t *ctl_channel(struct ctl *c, const char *name);
/* Fields of a type, given as its JSON, a line each (list.c). */
void ctl_print_fields(const json_t *json);

/* ---- table.c ---- */
struct column {
	const char *head; /* NULL ends the list */
	bool right;       /* numbers */
	int leave; /* where the screen is too narrow the column with the highest goes first; the last one stays */
	int least; /* > 0: a text that may be shortened to so many characters */
	bool end;  /* then its end is kept */
};
struct table;
/* columns: keeps until table_destroy(). */
struct table *table_create(const struct column *columns);
void table_destroy(struct table *t);
/* Cells left to right, row after row; the head is there already. */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_print(struct table *t);

struct screen {
	int columns, rows; /* 0: as many as needed */
};
/* Of the terminal that stdout is; where it is none, as wide as $COLUMNS says. */
struct screen ctl_screen(void);

const char *json_text(const json_t *obj, const char *key); /* "" when absent */
double json_num(const json_t *obj, const char *key);       /* 0 when absent */

#endif
