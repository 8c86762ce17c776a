/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names: what may be one, and globs over channels; names of channels themselves are base's (channel_name.h).
 * Thread: any; nothing is kept.
 */
#ifndef CONFIG_NAMES_H
#define CONFIG_NAMES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "channel_name.h"

#define NAME_PLAIN_MAX 40

#define CLOCK_CHANNEL "/clock" /* simd publishes it, and bridges subscribe to it: it never goes through dispatch */

/* 1..40 of [A-Za-z0-9_.-]: clients, bridges, processes, rigs. */
bool names_plain_ok(const char *s);
/* "pkg/Name", 3..63 characters. */
bool names_type_ok(const char *s);
/* 1..63 printable characters: an exclusive token. */
bool names_token_ok(const char *s);

/* Name and hash of a type's definition, {"name","hash",...}; borrowed from it. -EINVAL with a sentence. */
int names_type_def(const json_t *def, const char **ret_name, const char **ret_hash);

/* '*' any characters, '?' one. */
bool names_glob(const char *pattern, const char *s);
bool names_is_star(const char *pattern); /* of stars alone */
/* Whether there is a name that both match. */
bool names_globs_meet(const char *p, const char *q);

#define PATTERN_MAX (2 * CHANNEL_NAME_MAX + 3)

/* A pattern as a rig writes it, over full names: without a leading slash it is below the prefix. Longer ones are cut. */
void names_pattern_full(const char *prefix, const char *pattern, char ret[PATTERN_MAX + 1]);

#endif
