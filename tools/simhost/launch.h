/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch files of Apollo (XML, as for cyber_launch): which processes run, with which DAG files, and what happens when a
 * process ends. A key without a counterpart here becomes a note.
 *
 * Thread:  the owner's.
 * Errors:  -EINVAL, -ENOENT and those of reading files, with "file:line: ..." in err_why(). No content of a file makes
 * the process abort.
 */
#ifndef SIMHOST_LAUNCH_H
#define SIMHOST_LAUNCH_H

#include "keys.h"

#define LAUNCH_MODULES_MAX 64u
#define LAUNCH_DAGS_MAX    64u /* of one module */
#define LAUNCH_ENV_MAX     64u

enum launch_type { LAUNCH_LIBRARY = 0, LAUNCH_BINARY = 1 };
/* What to do when the process of a module has ended. */
enum launch_handler { LAUNCH_RESPAWN = 0, LAUNCH_EXIT = 1 /* all others are stopped */, LAUNCH_NONE = 2 };

struct launch_variable {
	const char *name, *value;
	unsigned line;
};

struct launch_module {
	const char *name;         /* NULL: none */
	const char *process_name; /* of a library: default is name, then default_name; of a binary: its command line */
	const char *sched_name;   /* scheduler's configuration, SCHED_NAME.conf; NULL: none */
	int type;                 /* enum launch_type */
	int exception_handler;    /* enum launch_handler; default LAUNCH_NONE */
	uint32_t respawn_limit;   /* default 3 */
	int nice;                 /* -20..19 */
	unsigned sched_line, handler_line, limit_line, nice_line; /* 0: not given */
	const char *dag[LAUNCH_DAGS_MAX];
	unsigned dag_line[LAUNCH_DAGS_MAX];
	unsigned n_dags;
	unsigned line;
};

struct launch {
	char *path;
	struct launch_variable variable[LAUNCH_ENV_MAX];
	unsigned n_variables;
	struct launch_module *modules;
	unsigned n_modules;
	char default_name[40]; /* process name of modules without a name: "mainboard_default_PID" with simhost's pid */
	struct notes notes;
	struct tree *tree; /* owns the names and values */
};

/*
 * Reads a launch file. path: used as given, or below a directory of SIM_LAUNCH_PATH or APOLLO_LAUNCH_PATH. ret:
 * returns, launch_destroy.
 */
int launch_read(const char *path, struct launch **ret);
/* Parses the text of a launch file; text: borrowed. */
int launch_parse(const char *path, const char *text, size_t len, struct launch **ret);
void launch_destroy(struct launch *l); /* NULL is fine */

#endif
