/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Valid names, and globs over channels; names of channels are in channel_name.h.
 * Thread: any; keeps nothing.
 */
#ifndef CONFIG_NAMES_H
#define CONFIG_NAMES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "channel_name.h"

#define NAME_PLAIN_MAX 40

#define CLOCK_CHANNEL "/clock" /* simd publishes it, and bridges subscribe to it directly, not through dispatch */

/* 1..40 of [A-Za-z0-9_.-]: clients, bridges, processes, rigs. */
bool names_plain_ok(const char *s);
/* "pkg/Name", 3..63 characters. */
bool names_type_ok(const char *s);
/* 1..63 printable characters: an exclusive token. */
bool names_token_ok(const char *s);

/* Name and hash of a type's definition, {"name","hash",...}; borrowed from def. -EINVAL, with err_why() set. */
int names_type_def(const json_t *def, const char **ret_name, const char **ret_hash);

/* '*' matches any characters, '?' one. */
bool names_glob(const char *pattern, const char *s);
bool names_is_star(const char *pattern); /* it consists of stars */
/* Whether some name matches both patterns. */
bool names_globs_meet(const char *p, const char *q);

#define PATTERN_MAX (2 * CHANNEL_NAME_MAX + 3)

/*
 * Converts a rig's pattern to one for full names: puts the prefix before a pattern without a leading slash. A result
 * longer than PATTERN_MAX is truncated.
 */
void names_pattern_full(const char *prefix, const char *pattern, char ret[PATTERN_MAX + 1]);

#endif
