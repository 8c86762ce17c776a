/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the channels of a recording. Pure; thread: any. */
#ifndef SIMCTL_RECORD_MATCH_H
#define SIMCTL_RECORD_MATCH_H

#include <stdbool.h>

/*
 * Shell patterns; a name also matches without its first slash. No patterns in include or types: all. Borrows the
 * strings.
 */
struct record_match {
	const char *const *include, *const *exclude, *const *types;
	unsigned n_include, n_exclude, n_types;
};

/* type "": not known yet. No pattern of wildcards alone matches /clock, as a player publishes a /clock of its own. */
bool record_wants(const struct record_match *m, const char *name, const char *type);

/* Whether one pattern of include matches the name, in the way of record_wants(). */
bool record_pattern_matches(const char *pattern, const char *name);

/*
 * Length of the path without the suffix of a log format: 7 of "out/run.mcap"; its whole length if it has no such
 * suffix.
 */
int record_stem(const char *path);

#endif
