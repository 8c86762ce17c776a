/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DAG files: which components a host makes, of which shared objects, with which inputs and configuration. One struct for both
 * syntaxes; README.md has an example of each.
 *
 *   JSON    ours: an unknown key is an error
 *   text    Apollo's (protobuf's text format): what has no counterpart here is a note, with a sentence
 *
 * Thread:  the owner's.
 * Errors:  -EINVAL, -ENOENT, -E2BIG and those of files, with "file:line: ..." in err_why(). Nothing aborts, whatever a file holds.
 */
#ifndef SIMHOST_DAG_H
#define SIMHOST_DAG_H

#include <sim/component.h>

#include "keys.h"

#define DAG_COMPONENTS_MAX 256u /* of a file, and of all files of a host */
#define DAG_MODULES_MAX    256u
#define DAG_DEPTH_MAX      256u /* of a reader's history, and of its pending messages */

struct dag_module {
	const char *library; /* as it is written */
	char *path;          /* where it was found; NULL: not looked for yet */
	unsigned line;
};

struct dag_reader {
	const char *channel;
	uint32_t depth, pending;
	unsigned line;
};

struct dag_component {
	const char *class_name;
	const char *name;
	const char *config_file; /* as it is written; NULL: none */
	char *config;            /* JSON text of an object, never NULL */
	unsigned module;         /* index */
	unsigned line;
	unsigned config_line; /* of config or config_file; 0: it has neither */
	unsigned n_readers;   /* further ones than a component can have are noted and left out */
	struct dag_reader reader[SIM_COMPONENT_INPUTS];
	int fusion; /* enum sim_fusion */
	int64_t tolerance_dur_ns;
	int64_t interval_dur_ns; /* of a timer component; 0: it is none */
};

/* What a file says of its whole host. */
struct dag_host {
	int mode; /* enum sim_run_mode */
	uint32_t rank;
	const char *scheduler_file;                    /* as it is written; NULL: none */
	char *scheduler;                               /* JSON text; NULL: not given, or the file has not been read */
	unsigned mode_line, rank_line, scheduler_line; /* 0: it is not given */
};

struct dag {
	char *path; /* of the file, as messages call it */
	bool apollo;
	struct dag_host host;
	struct dag_module *modules;
	unsigned n_modules;
	struct dag_component
		*components; /* in the order in which they are made: as in the file, a module's timer components last */
	unsigned n_components;
	struct notes notes;
	struct tree *tree; /* owns the strings */
};

/*
 * Read a file, find its libraries, read its configuration files. path: as it is, or below a directory of SIM_DAG_PATH or
 * APOLLO_DAG_PATH (lists with colons). What it names is absolute, beside the file, or below a directory of
 *
 *   libraries        SIM_LIB_PATH, APOLLO_LIB_PATH
 *   configurations   SIM_CONF_PATH, APOLLO_CONF_PATH; those in protobuf's text format become JSON, with a note
 *
 * ret: returns, dag_destroy.
 */
int dag_read(const char *path, struct dag **ret);
void dag_destroy(struct dag *d); /* NULL is fine */

/* The first half of it, which opens nothing: libraries have no path, and configuration files are not read ("{}"). */
int dag_parse(const char *path, const char *text, size_t len, struct dag **ret);

/*
 * A configuration file as JSON text of an object: returns, mem_free. text: borrowed; notes: of a file that is converted; may be NULL.
 */
int dag_config_text(const char *file, const char *text, size_t len, struct notes *notes, char **ret);

#endif
