/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time sources: where simulated time comes from. A source is a small const table (sim/source.h); arithmetic and states
 * are the engine's (engine.h). Six are built in; others are plug-ins, which a source_registry loads and keeps.
 *
 * Thread: the tables are const; a source_registry belongs to its owner's thread.
 */
#ifndef TIME_SOURCE_H
#define TIME_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/source.h>

/* Refuses a table that this engine cannot use: -EPROTO; err_why() names both numbers. */
int time_source_check(const struct sim_source_ops *s);

#define TIME_START_MAX_NS (INT64_C(1) << 62) /* above it a reader could compute a time beyond int64_t */

/* The source's start time if selected at real_now_ns. -ERANGE: negative, or above TIME_START_MAX_NS. */
int time_source_start(const struct sim_source_ops *s, int64_t real_now_ns, int64_t *ret);

/*
 * Finds a built-in source by name, in any letter case, as under `TimeSource` in JSON. -ENOENT: err_why() lists the
 * names.
 */
int time_source_by_name(const char *name, const struct sim_source_ops **ret);

/* Finds a built-in source by AWSIM's integer, 0 .. 4. -ENOENT. */
int time_source_by_number(int64_t number, const struct sim_source_ops **ret);

/* Names of the built-in sources, "a, b, c", as far as they fit. */
#define TIME_SOURCE_NAMES_MAX 200
void time_source_names(char ret[TIME_SOURCE_NAMES_MAX]);

struct source_registry;

/* dirs: directories of plug-ins, ended by NULL; copied. */
int source_registry_create(const char *const *dirs, struct source_registry **ret);
/* Unloads the plug-ins; their tables must not be in use. NULL is fine. */
void source_registry_destroy(struct source_registry *s);

/*
 * Finds a source by number, by name, or by a plug-in's name: source_<name>.so in one of the directories. A word with a
 * slash is the path of a plug-in, if may_be_path. ret is borrowed from s. -ENOENT: no such source, err_why() lists all;
 * -EPERM: a path; -EPROTO or -ELIBBAD: it cannot be used, err_why() has both numbers.
 */
int source_registry_find(struct source_registry *s, const char *word, bool may_be_path,
			 const struct sim_source_ops **ret);

#endif
