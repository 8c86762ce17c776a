/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time sources: where simulated time comes from. A source is a small const table (sim/source.h); the arithmetic
 * and the states are the engine's (engine.h). Five are built in, further ones are plug-ins, which a sources loads
 * and keeps.
 *
 * Thread: the tables are const; a sources belongs to its owner's thread.
 */
#ifndef TIME_SOURCE_H
#define TIME_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/source.h>

/* Refuses (-EPROTO, with a sentence that names both numbers) a table that this engine cannot use. */
int time_source_check(const struct sim_source_ops *s);

#define TIME_START_MAX_NS (INT64_C(1) << 62) /* above it a reader could compute a time beyond int64_t */

/* The time at which it begins, if selected at real_now_ns. -ERANGE negative, or above TIME_START_MAX_NS. */
int time_source_start(const struct sim_source_ops *s, int64_t real_now_ns, int64_t *ret);

/* A built-in one by name, any letter case, as in JSON under `TimeSource`. -ENOENT with a sentence that lists the names. */
int time_source_by_name(const char *name, const struct sim_source_ops **ret);

/* A built-in one by AWSIM's integer, 0 .. 4. -ENOENT. */
int time_source_by_number(int64_t number, const struct sim_source_ops **ret);

/* Names of the built-in ones, "a, b, c"; what does not fit is left out. */
#define TIME_SOURCE_NAMES_MAX 200
void time_source_names(char ret[TIME_SOURCE_NAMES_MAX]);

struct source_registry;

/* dirs: where plug-ins are looked for, NULL ends; copied. */
int source_registry_create(const char *const *dirs, struct source_registry **ret);
/* Unloads the plug-ins: their tables must be out of use. NULL is fine. */
void source_registry_destroy(struct source_registry *s);

/*
 * By number, by name, or by a plug-in's name: source_<name>.so in one of the folders. A word with a slash is the path of
 * a plug-in, if may_be_path. ret borrows from the sources.
 * Errors: -ENOENT there is none, and the sentence lists all that there are, -EPERM a path, -EPROTO or -ELIBBAD it cannot be used (both numbers named).
 */
int source_registry_find(struct source_registry *s, const char *word, bool may_be_path,
			 const struct sim_source_ops **ret);

#endif
