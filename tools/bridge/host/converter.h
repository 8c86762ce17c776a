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
 * Loads the converter plug-ins that `names` lists (NULL: empty): an entry with a slash is a path, others are
 * converter_<name>.so in `dir`. Errors, each with a reason: -ENOENT, -ELIBBAD (no symbol, wrong ABI, short or
 * incomplete table), -E2BIG. If two convert the same pair of types, the first is used and both are logged.
 */
int converters_load(const char *dir, const json_t *names, struct converters **ret);
void converters_unload(struct converters *c);

/*
 * The i-th converter between these types; a NULL name matches any. The foreign name may omit "msg/". NULL: no further
 * one.
 */
const struct sim_converter *converters_find(const struct converters *c, const char *sim_type, const char *foreign,
					    unsigned i);

#endif
