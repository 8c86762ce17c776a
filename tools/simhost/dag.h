/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DAG files: which components a host creates, from which shared objects, with which inputs and configuration. One
 * struct for both syntaxes; README.md has an example of each.
 *
 *   JSON    simd's own: an unknown key is an error
 *   text    Apollo's (protobuf's text format): a key without a counterpart here becomes a note
 *
 * Thread:  the owner's.
 * Errors:  -EINVAL, -ENOENT, -E2BIG and those of reading files, with "file:line: ..." in err_why(). No content of a
 * file makes the process abort.
 */
#ifndef SIMHOST_DAG_H
#define SIMHOST_DAG_H

#include <sim/component.h>

#include "keys.h"

#define DAG_COMPONENTS_MAX 256u /* of one file, and of all files of a host together */
#define DAG_MODULES_MAX    256u
#define DAG_DEPTH_MAX      256u /* of a reader's history, and of its pending messages */

struct dag_module {
	const char *library; /* as written in the file */
	char *path;          /* path of the library found; NULL: not searched yet */
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
	const char *config_file; /* as written in the file; NULL: none */
	char *config;            /* JSON text of an object; never NULL after dag_parse() */
	unsigned module;         /* index in dag::modules */
	unsigned line;
	unsigned config_line; /* line of config or config_file; 0: neither is given */
	unsigned n_readers;   /* in Apollo's files, readers beyond SIM_COMPONENT_INPUTS are left out with a note */
	struct dag_reader reader[SIM_COMPONENT_INPUTS];
	int fusion; /* enum sim_fusion */
	int64_t tolerance_dur_ns;
	int64_t interval_dur_ns; /* of a timer component; 0: not a timer component */
};

/* The settings of a DAG file that apply to the whole host. */
struct dag_host {
	int mode; /* enum sim_run_mode */
	uint32_t rank;
	const char *scheduler_file; /* as written in the file; NULL: none */
	/* JSON text; NULL: not given, or scheduler_file has not been read */
	char *scheduler;
	unsigned mode_line, rank_line, scheduler_line; /* 0: not given */
};

struct dag {
	char *path; /* path of the file, used in messages */
	bool apollo;
	struct dag_host host;
	struct dag_module *modules;
	unsigned n_modules;
	struct dag_component
		*components; /* in order of creation: as in the file, with the timer components of a module last */
	unsigned n_components;
	struct notes notes;
	struct tree *tree; /* owns the names and values */
};

/*
 * Reads a DAG file, finds its libraries, and reads its configuration files. path: used as given, or below a directory
 * of SIM_DAG_PATH or APOLLO_DAG_PATH (lists with colons). Files that it names are absolute paths, or are beside the DAG
 * file, or below a directory of
 *
 *   libraries        SIM_LIB_PATH, APOLLO_LIB_PATH
 *   configurations   SIM_CONF_PATH, APOLLO_CONF_PATH; those in protobuf's text format become JSON, with a note
 *
 * ret: returns, dag_destroy.
 */
int dag_read(const char *path, struct dag **ret);
void dag_destroy(struct dag *d); /* NULL is fine */

/* Only parses the text and opens no other file: libraries have no path, and configuration files are not read ("{}"). */
int dag_parse(const char *path, const char *text, size_t len, struct dag **ret);

/*
 * Converts a configuration file to JSON text of an object: returns, mem_free. text: borrowed. notes: receives a note
 * when the file is not JSON; may be NULL.
 */
int dag_config_text(const char *file, const char *text, size_t len, struct notes *notes, char **ret);

#endif
