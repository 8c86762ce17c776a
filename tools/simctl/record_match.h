/* SPDX-License-Identifier: Apache-2.0 */
/* Which channels a recording takes. Pure; thread: any. */
#ifndef SIMCTL_RECORD_MATCH_H
#define SIMCTL_RECORD_MATCH_H

#include <stdbool.h>

/* Shell patterns; of names without the first slash as well. None in include or types: all. Borrows. */
struct record_match {
	const char *const *include, *const *exclude, *const *types;
	unsigned n_include, n_exclude, n_types;
};

/* type "": not known yet. /clock is wanted only by a pattern that names more than everything: who plays a log makes one. */
bool record_wants(const struct record_match *m, const char *name, const char *type);

/* Whether one pattern of include matches that name, as record_wants() does it. */
bool record_pattern_matches(const char *pattern, const char *name);

/* "out/run.mcap": 8, the length without a suffix of a format; all of it where it has none. */
int record_stem(const char *path);

#endif
