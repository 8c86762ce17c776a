/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch files of Apollo (XML, as cyber_launch reads): which processes there are, of which DAG files, and what becomes of one that
 * ends. What has no counterpart here is a note, with a sentence.
 *
 * Thread:  the owner's.
 * Errors:  -EINVAL, -ENOENT and those of files, with "file:line: ..." in err_why(). Nothing aborts, whatever a file holds.
 */
#ifndef SIMHOST_LAUNCH_H
#define SIMHOST_LAUNCH_H

#include "keys.h"

#define LAUNCH_MODULES_MAX 64u
#define LAUNCH_DAGS_MAX    64u /* of a module */
#define LAUNCH_ENV_MAX     64u

enum launch_type { LAUNCH_LIBRARY = 0, LAUNCH_BINARY = 1 };
/* When its process has ended. */
enum launch_handler { LAUNCH_RESPAWN = 0, LAUNCH_EXIT = 1 /* all others are stopped */, LAUNCH_NONE = 2 };

struct launch_variable {
	const char *name, *value;
	unsigned line;
};

struct launch_module {
	const char *name; /* NULL: none */
	const char
		*process_name; /* of a library, if none is given: name, else as Cyber's; of a binary its command line */
	const char *sched_name; /* a scheduler's configuration, SCHED_NAME.conf; NULL: none */
	int type;               /* enum launch_type */
	int exception_handler;  /* enum launch_handler; not given: none */
	uint32_t respawn_limit; /* 3 */
	int nice;               /* -20..19 */
	unsigned sched_line, handler_line, limit_line, nice_line; /* 0: it is not given */
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
	char default_name[40]; /* of processes without a name: mainboard_default_PID, ours */
	struct notes notes;
	struct tree *tree; /* owns the strings */
};

/* path: as it is, or below a directory of SIM_LAUNCH_PATH or APOLLO_LAUNCH_PATH. ret: returns, launch_destroy. */
int launch_read(const char *path, struct launch **ret);
/* The same of a text, which it borrows. */
int launch_parse(const char *path, const char *text, size_t len, struct launch **ret);
void launch_destroy(struct launch *l); /* NULL is fine */

#endif
