/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The converter plug-ins of a bridge: their checked tables, in the order of the rig. Thread: main, before the bridge
 * plug-in is created; read-only afterwards.
 */
#ifndef CONVERTER_H
#define CONVERTER_H

#include <jansson.h>

#include <sim/converter.h>

#define CONVERTERS_MAX 256 /* of all plug-ins of a bridge */

struct converters;

/*
 * Load what `names` lists (NULL: nothing): paths where they hold a slash, else converter_<name>.so in `dir`. Errors, each with
 * a sentence: -ENOENT, -ELIBBAD (no symbol, wrong ABI, short or incomplete table), -E2BIG. What is converted
 * twice is logged: the first one wins.
 */
int converters_load(const char *dir, const json_t *names, struct converters **ret);
void converters_unload(struct converters *c);

/* The i-th one for these names, NULL: any. A foreign name with or without "msg/". NULL: there are no more. */
const struct sim_converter *converters_find(const struct converters *c, const char *sim_type, const char *foreign,
					    unsigned i);

#endif
