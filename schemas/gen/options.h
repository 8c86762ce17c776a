/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of simgen, from one table: parsing, --help, --completion-bash and the list that the check
 * of the manual page reads. simgen is built before everything else, so it has this small one of its own.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

#include "gen/typeset.h"

struct options {
	const char *package; /* NULL: from the folder */
	const char *outdir;
	bool list;
	bool hashes;
	char **files; /* returns: free(); room for all arguments */
	int n_files;
};

/*
 * Reads the arguments; -I and -s go to the set at once. Returns -1 to go on, else the exit status (help and
 * version: 0; wrong usage: 2, with its sentence on stderr).
 */
int options_parse(char **argv, struct typeset *s, struct options *o);

#endif
